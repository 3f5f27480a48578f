"""HTTP: how machines ask the environment whether it lives and how it fares, and the door without a driver.

    app         the application and the loop that serves it
    encrypted   connections over TLS
    health      /api/livez and /api/readyz
    metrics     /metrics
    access      who asks, and whether a page was behind it
    statements  statements run, and told to one of the next two
    sql         /api/sql
    websocket   /api/experimental/sql
    webhooks    /api/webhook/...: rows for tables FROM WEBHOOK

Everything here runs in the environment's event loop.
"""

"""HTTP: how machines ask the environment whether it lives and how it fares.

    app       the application and the loop that serves it
    health    /api/livez and /api/readyz
    metrics   /metrics

Everything here runs in the environment's event loop.
"""

"""PostgreSQL's wire protocol, version 3, as a set of generators.

    socket ──► server ──► session (a generator of steps) ──► coordinator.api
                             │
                startup      │  SSLRequest, CancelRequest, StartupMessage
                login        │  SCRAM-SHA-256, client certificates
                query        │  a simple query's statements, one after the other
                extended     │  Parse, Bind, Describe, Execute, Close, Sync
                portal       │  a result on its way to the client, suspended or not
                copy         │  COPY in both directions

    steps      what a session may ask of the world: Read, Write, Flush, Secure, Await
    messages   bytes of the server's messages
    codec      bytes of the client's messages
    encode     Arrow batches to DataRow and CopyData, a column at a time
    decode     arguments of Bind to text

Nothing in here but `server` knows of sockets or of an event loop, so a test (or a
fuzzer) drives a whole session with a list of bytes.  What statements mean is the
coordinator's business; what this package promises is the conversation: order,
framing, skipping to Sync after an error, never a traceback, never an unbounded
buffer.
"""

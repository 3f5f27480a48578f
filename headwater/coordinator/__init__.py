"""The coordinator: sessions, timestamps, and what statements do.

    session ──► dispatch ──► sequence/<kind of statement> ──┬──► queries, read     rows
                                                            ├──► tables            rows of plain tables
                                                            └──► ddl ──► catalog   then coordinator.converge

The composition

    api                       what it offers to pgwire and http
    coordinator               catalog, ledger, controller, engine, sessions; `converge`
    beside patience watchdog  the event loop, and what must not keep it; what tries again
    sampling retained_logs    what is measured now and then

A statement on its way

    session transaction variables   one client's state
    dispatch sequence/              which file does what; one file per kind of statement with effects
    rights operator owning naming_roles logins first_superuser   who may do what, and come in
    advisory acting                 what functions do that do something

Reading

    queries read engine         a query planned, given a timestamp and files, run; DuckDB in this process
    timestamps recency waiting  the oracle and the choice of a timestamp; what reads wait for
    resting                     results that are left half read
    system functions progress value_errors   what is computed from memory, and why a table cannot be read
    showing composed            SHOW as a query, and queries put together from pieces of statements

Subscribing

    hubs feed switching         each change is computed once and shared by all subscribers

Writing

    tables rows completion              plain tables
    webhooks webhook_requests webhook_room webhook_conditions webhook_checks webhook_rows
                                requests as rows

DDL

    ddl                         from a statement to updates, one transaction, convergence
    upstreams                   asking upstreams while a statement is planned
    connection_details source_details exports   what the catalog keeps of connections, sources and
                                their tables, and what the cluster is told of them
    carrying renaming           readers of a name that gets another meaning; names in stored texts
    replacing                   what to type for a table that has ended
    widening growing resyncing  tables and sources that change in place
    source_form legacy_sources migration   the legacy syntax, and the way from it
"""

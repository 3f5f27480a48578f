"""The catalog: the durable truth about which objects exist.

    updates.py ----> apply.py ----> state.py          values and pure functions; details.py: what items are
        |                              ^   ^
        v                              |   |
    store.py (durable, audit) ---------+   +-- snapshot.py   names as a session sees them
                                           +-- builtin/      system relations, computed from a state

A DDL statement is planned against a snapshot, becomes updates and requirements, and
is made durable by one `CatalogStore.transact`.  Readers hold a `CatalogState`, which
never changes under them.

`store.py` says what the store promises, `sqlite_store.py` keeps it, `opening.py` chooses.

Nothing in here parses SQL or knows how data is kept; the ledger lives in the same
database file but is nobody's business here.
"""

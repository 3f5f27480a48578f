"""Durable data: the ledger, change files, states.

    upstream --tick--> change files --ledger: binding + files, ONE transaction--> readable
                            |
                            +--fold--> state files --Delta version, then ledger--> shorter tail

    ledger     what exists: bindings, change files, states, snapshots; kept by sqlite_ledger
    store      data files by their paths; kept by local
    opening    which of these a data directory has
    files      Parquet files: written, described
    combine    state + tail = rows: the one definition, as DuckDB SQL
    state      the same rows as a Delta table, for any Delta reader
    secrets    values of secrets, each in an encrypted file
    layout     every path: in the store, and of a process in its data directory
    lock       one environment per data directory
    results    rows of large results on their way from Spark to a client
    aside      rows of results that were left half read
    retention  what may be forgotten, and the sweeper of files nobody names

What the ledger does not name does not exist, whoever wrote it.
"""

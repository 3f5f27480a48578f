"""The metadata database: the one file in which catalog and ledger keep their tables.

Not here: what those tables mean (catalog/sqlite_store.py, persist/sqlite_ledger.py).
"""

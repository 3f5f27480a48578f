"""PostgreSQL's catalog, for its clients; only the session's database is visible here.

One relation per module, each with the attribute `RELATION`; those that never have rows are in `empty.py`.
"""

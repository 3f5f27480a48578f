"""What statements do, one file per kind.

DDL files have `plan(scope, statement) -> Outcome`, pure; the others have a coroutine
that is handed the session.  `coordinator/dispatch.py` says which is which.
"""

"""What exists: objects, columns, clusters, roles.

One relation per module, each with the attribute `RELATION`; those that never have rows are in `empty.py`.
"""

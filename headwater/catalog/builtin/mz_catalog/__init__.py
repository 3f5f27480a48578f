"""What exists: objects, columns, clusters, roles.

One relation per module, each with the attribute `RELATION`.
"""

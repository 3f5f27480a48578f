"""How it is doing: statuses, statistics, frontiers, histories, and what SHOW reads.

One relation per module, each with the attribute `RELATION`.
"""

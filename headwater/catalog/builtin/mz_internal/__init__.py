"""How it is doing: statuses, statistics, frontiers, histories, and what SHOW reads.

One relation per module, each with the attribute `RELATION`; those that never have rows are in `empty.py`.
"""

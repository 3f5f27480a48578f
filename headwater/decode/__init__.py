"""Messages of an upstream as columns: one module for each format, each with a `Format` (contract.py).

Nothing in here knows where messages come from, or what becomes of their columns.
"""

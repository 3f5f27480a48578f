"""Versions of the ledger's tables, one file each (metadata/migrations.py)."""

"""Versions of the catalog's tables, one file each (metadata/migrations.py)."""

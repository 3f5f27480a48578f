"""Headwater: a SQL server that keeps versioned, read-only tables in step with upstream systems."""

__version__ = "0.1.0"

"""A plan in DuckDB's SQL."""

"""A plan in Spark's SQL."""

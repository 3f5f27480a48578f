"""Tests against a real PostgreSQL."""

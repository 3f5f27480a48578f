"""Bytes and text to typed Arrow columns.

arrow    SQL types to Arrow types: the one place that resolves stored forms
"""

"""Kinds of sources that are not ours, installed beside the product as anybody's would be."""

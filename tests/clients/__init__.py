"""Real clients against a real server."""

"""A run record or its events, turned into text; one reporter a file."""

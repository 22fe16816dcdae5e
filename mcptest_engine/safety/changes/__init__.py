"""What changed between two catalogs of a server, and whether clients of the old one still work. Pure functions."""

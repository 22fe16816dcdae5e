"""What changed between two catalogs of a server, and whether whoever used the old one still can. Values in, values out."""

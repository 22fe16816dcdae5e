"""From a server to a suite: catalogs, sample arguments, scaffolds, proposals and their review."""

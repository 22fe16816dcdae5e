"""From a server to a suite: catalogs, synthesised arguments, scaffolds, proposals and their review."""

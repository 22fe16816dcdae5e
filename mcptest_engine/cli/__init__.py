"""The command line: one command a module, each importing only what it needs."""

"""The command line: one module for each command, which imports only what the command needs."""

"""The workbench: a terminal app over the engine, and the console script that holds both."""

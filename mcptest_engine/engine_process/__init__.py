"""The engine in its own process: it reads commands from stdin and writes replies and events to stdout, one JSON object a line.

The workbench starts it (`python -P -m mcptest_engine.engine_process`), so that it can answer keys within milliseconds while
tests run. The process ends when its stdin ends, and all servers that it started end with it.
"""

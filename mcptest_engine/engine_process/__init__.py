"""The engine as a process of its own: commands in and events out, one JSON value a line.

A user interface that must answer keys within milliseconds starts it (`python -P -m mcptest_engine.engine_process`) and listens.
The surprising thing: it ends by itself when its stdin ends, and every server that it started ends with it.
"""

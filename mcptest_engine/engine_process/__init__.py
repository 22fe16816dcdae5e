"""The engine in its own process: commands in and events out, one JSON value a line.

A user interface that must answer keys within milliseconds starts it (`python -P -m mcptest_engine.engine_process`) and reads
its events. It ends by itself when its stdin ends, and all its servers end with it.
"""

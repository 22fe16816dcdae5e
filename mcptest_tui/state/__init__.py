"""View state in plain Python, without Textual: what screens show, moved on by the engine's events."""

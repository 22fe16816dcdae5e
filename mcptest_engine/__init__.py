"""The engine: reads suites, talks to servers, judges, and tells what happened as typed events."""

__version__ = "0.1.0"

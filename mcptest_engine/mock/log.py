"""The mock's log: lines on stderr, never on stdout, which belongs to the protocol.

Not the standard `logging` module: importing it takes longer than serving a call.
"""

from __future__ import annotations

import sys
from enum import IntEnum
from typing import NamedTuple


class LogLevel(IntEnum):
    """How much is logged; each level includes those before it."""

    OFF = 0
    ERROR = 1
    WARNING = 2
    INFO = 3
    DEBUG = 4


LOG_LEVELS = tuple(level.name.lower() for level in LogLevel)


class Log(NamedTuple):
    """Writes `mcptest mock: LEVEL: TEXT` for every message at or under `level`."""

    level: LogLevel = LogLevel.WARNING

    def error(self, text: str) -> None:
        self._say(LogLevel.ERROR, text)

    def warning(self, text: str) -> None:
        self._say(LogLevel.WARNING, text)

    def info(self, text: str) -> None:
        self._say(LogLevel.INFO, text)

    def debug(self, text: str) -> None:
        self._say(LogLevel.DEBUG, text)

    def debug_bytes(self, direction: str, body: bytes) -> None:
        """Log one message as it was sent or received, cut; decoded only when the level is on."""
        if self.level >= LogLevel.DEBUG:
            self._say(LogLevel.DEBUG, f"{direction} {body[:2000].decode('utf-8', 'replace')}")

    def _say(self, level: LogLevel, text: str) -> None:
        if self.level < level:
            return
        from mcptest_engine.core.sanitise import one_line

        try:
            sys.stderr.write(f"mcptest mock: {level.name.lower()}: {one_line(text)}\n")
            sys.stderr.flush()
        except (OSError, ValueError):  # nobody reads stderr any more; the mock goes on serving
            return

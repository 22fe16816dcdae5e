"""Reads single keys from a terminal, and restores the terminal in every case."""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

ESCAPE = "escape"
END = "end"
"""The terminal is closed: no key will ever follow."""
_SEQUENCES = {"[A": "up", "[B": "down", "[C": "right", "[D": "left", "OA": "up", "OB": "down"}
_ENDING = (signal.SIGTERM, signal.SIGHUP)
_REST_SECONDS = 0.05


class Keys:
    """The keys of a terminal, one at a time, without echo."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._before: list[Any] = termios.tcgetattr(descriptor)

    def read(self) -> str:
        """Wait for one key: its character, or "escape", "up", "down", "end"."""
        first = self._byte()
        if first == b"":
            return END
        if first == b"\x1b":
            return self._sequence()
        data, lead = first, first[0]
        following = 3 if lead >= 0xF0 else 2 if lead >= 0xE0 else 1 if lead >= 0xC0 else 0  # bytes of UTF-8
        for _ in range(following):
            data += self._byte()
        return data.decode("utf-8", "replace")

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """Restore the terminal for a program that uses it meanwhile; Ctrl-C goes to that program."""
        interrupted = signal.signal(signal.SIGINT, lambda *_: None)
        self.restore()
        try:
            yield
        finally:
            self.take()
            signal.signal(signal.SIGINT, interrupted)

    def take(self) -> None:
        """Read single keys without echo; Ctrl-C still interrupts, Ctrl-S is a key."""
        now = termios.tcgetattr(self._descriptor)
        now[0] &= ~termios.IXON
        now[3] &= ~(termios.ICANON | termios.ECHO)
        now[6][termios.VMIN], now[6][termios.VTIME] = 1, 0
        termios.tcsetattr(self._descriptor, termios.TCSADRAIN, now)

    def restore(self) -> None:
        """Restore the settings that the terminal had before."""
        termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._before)

    def _byte(self) -> bytes:
        try:
            return os.read(self._descriptor, 1)
        except OSError:
            return b""

    def _sequence(self) -> str:
        """The characters that follow an escape at once belong to its sequence; without them it is the key."""
        rest = ""
        while select.select([self._descriptor], [], [], _REST_SECONDS)[0]:
            byte = self._byte()
            if byte == b"":
                return END
            rest += byte.decode("latin-1")
            if (len(rest) > 1 and rest[-1].isalpha()) or rest[-1] == "~" or (len(rest) == 1 and rest not in "[O"):
                return _SEQUENCES.get(rest, "")
        return ESCAPE


@contextmanager
def keys() -> Iterator[Keys]:
    """The keys of stdin. The terminal is restored also when the process is terminated, and taken again when it continues."""
    descriptor = sys.stdin.fileno()
    taken = Keys(descriptor)

    def end(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    def go_on(_number: int, _frame: FrameType | None) -> None:
        taken.take()

    handlers = {number: signal.signal(number, end) for number in _ENDING}
    # The console script lets Ctrl-C end the process at once; here the terminal must be restored first.
    handlers[signal.SIGINT] = signal.signal(signal.SIGINT, signal.default_int_handler)
    handlers[signal.SIGCONT] = signal.signal(signal.SIGCONT, go_on)
    try:
        taken.take()
        yield taken
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        taken.restore()

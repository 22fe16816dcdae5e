"""Textual's driver for terminals, but for its thread that reads keys: it sleeps until one comes.

Textual's own wakes up ten times a second, which is all that an idle workbench costs, and is waited for at the end.
"""

from __future__ import annotations

import os
from codecs import getincrementaldecoder
from select import select

from textual._xterm_parser import XTermParser
from textual.constants import ESCAPE_DELAY
from textual.drivers.linux_driver import LinuxDriver

MOST_BYTES = 1 << 12
ESCAPE_SECONDS = ESCAPE_DELAY + 0.01
"""After so long without another byte, an escape character is the key."""


class TerminalDriver(LinuxDriver):
    """Bytes that are not UTF-8 (a terminal in Latin-1, an old mouse report) are read as U+FFFD; they end Textual's own."""

    _ends: tuple[int, int] | None = None
    """A pipe: the thread reads keys until the writing end is closed."""

    def start_application_mode(self) -> None:
        """As the base class."""
        if self._ends is None:
            self._ends = os.pipe()
        super().start_application_mode()  # type: ignore[no-untyped-call]

    def disable_input(self) -> None:
        """As the base class, which waits for the thread."""
        if self._ends is not None:
            os.close(self._ends[1])
        super().disable_input()
        if self._ends is not None:
            os.close(self._ends[0])
            self._ends = None

    def run_input_thread(self) -> None:
        """Read keys and send them to the app, until there is no more input to come."""
        assert self._ends is not None
        parser, decode = XTermParser(self._debug), getincrementaldecoder("utf-8")("replace").decode
        stop, wait = self._ends[0], None
        while stop not in (ready := select([self.fileno, stop], [], [], wait)[0]):
            wait = ESCAPE_SECONDS if ready else None
            if ready:
                data = os.read(self.fileno, MOST_BYTES)
                if not data:
                    return
                text = decode(data)
                for message in parser.feed(text) if text else ():
                    self.process_message(message)
            for message in parser.tick():
                self.process_message(message)

"""Textual's driver for terminals, with another thread for keys: it sleeps until a key comes.

Textual's thread wakes up ten times a second, also in a workbench where nothing happens, and quitting waits for the next time.
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
"""An escape character that no byte follows for so long is the key Escape."""


class TerminalDriver(LinuxDriver):
    """Reads bytes that are not UTF-8 (a terminal in Latin-1, an old mouse report) as U+FFFD; Textual's driver ends the app."""

    _ends: tuple[int, int] | None = None
    """The ends of a pipe, to read and to write. The thread stops when the second is closed."""

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

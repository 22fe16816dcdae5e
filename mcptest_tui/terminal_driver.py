"""Textual's driver for terminals, with another thread for keys, and with signals that the event loop handles.

Textual's thread wakes up ten times a second, also in a workbench where nothing happens, and quitting waits for the next time.
Textual stops and starts drawing in the signal handler: it may interrupt a write, whose lock it would then wait for itself.
"""

from __future__ import annotations

import os
import signal
import termios
from codecs import getincrementaldecoder
from contextlib import suppress
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
    _must_resume = False
    """A signal to go on has come, and was not handled yet."""

    def start_application_mode(self) -> None:
        """Create the pipe that stops the key thread, then start as Textual does."""
        if self._ends is None:
            self._ends = os.pipe()
        super().start_application_mode()  # type: ignore[no-untyped-call]

    def disable_input(self) -> None:
        """End the thread that reads keys. What was typed is dropped, unless drawing starts again at once."""
        if self._ends is None:
            return
        signal.signal(signal.SIGWINCH, signal.SIG_DFL)
        self._disable_mouse_support()
        os.close(self._ends[1])
        if self._key_thread is not None:
            self._key_thread.join()
        os.close(self._ends[0])
        self._ends = None
        if not self._must_resume:
            with suppress(termios.error):
                termios.tcflush(self.fileno, termios.TCIFLUSH)

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

    # Ctrl+Z, `fg`, and the signals of a shell

    @property
    def _is_started(self) -> bool:
        return self._writer_thread is not None and self._writer_thread.is_alive()

    def _sigtstp_application(self, *_: object) -> None:
        if self._auto_restart:
            self._loop.call_soon_threadsafe(self._stop)
        else:
            os.kill(os.getpid(), signal.SIGSTOP)  # another program has the terminal, and the loop waits for it

    def _sigcont_application(self, *_: object) -> None:
        if self._auto_restart and not self._must_resume:
            self._must_resume = True
            self._loop.call_soon_threadsafe(self._resume)

    def _stop(self) -> None:
        """Give the terminal back, stop this process, and draw again once it goes on."""
        if self._is_started and self._app.is_running:
            self.suspend_application_mode()
        self._must_resume = True
        os.kill(os.getpid(), signal.SIGSTOP)
        self._resume()

    def _resume(self) -> None:
        """Draw everything again. Nobody was told before a SIGSTOP: then drawing is stopped first."""
        if not self._must_resume or not self._app.is_running or not os.isatty(self.fileno):
            return  # a terminal that was closed is none any more
        if self._is_started:
            self.suspend_application_mode()
        self._must_signal_resume = True
        while self._must_resume and not self._is_started:
            self._must_resume = False
            with suppress(termios.error):  # in the background, the system stops the process here, until `fg`
                termios.tcsetattr(self.fileno, termios.TCSANOW, termios.tcgetattr(self.fileno))
                self.resume_application_mode()

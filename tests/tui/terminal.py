"""The installed command in a pseudo-terminal, as a person's shell starts it: what it draws, and what it leaves behind."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.forked import take_terminal

if TYPE_CHECKING:
    from tests.forked import Forked, Nursery

PATIENCE_SECONDS = 60.0
_ESCAPES = re.compile(r"\x1b\[[0-9;?<>=]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()][A-Z0-9]|\x1b[=>78]")


class Terminal:
    """One program on a terminal of its own."""

    def __init__(
        self,
        argv: list[str],
        *,
        cwd: Path,
        environ: dict[str, str],
        size: tuple[int, int] = (120, 40),
        stderr: Any = None,
        owned: bool = True,
        nursery: Nursery | None = None,
    ) -> None:
        """`owned`: the system tells the program by a signal when the terminal is closed. With `nursery` it is forked there."""
        self.started = time.perf_counter()
        self._screen, inside = pty.openpty()
        self.resize(*size)
        self.before = termios.tcgetattr(inside)
        env = {**environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        self.process: subprocess.Popen[bytes] | Forked
        if nursery is not None:
            self.process = nursery.start_on_terminal(argv, cwd=cwd, env=env, terminal=inside)
        else:
            self.process = subprocess.Popen(
                argv,
                cwd=cwd,
                env=env,
                stdin=inside,
                stdout=inside,
                stderr=inside if stderr is None else stderr,
                start_new_session=True,
                preexec_fn=take_terminal if owned else None,  # noqa: PLW1509 - one thread
            )
        self._inside, self._owned = inside, owned
        self.output = b""

    def resize(self, width: int, height: int) -> None:
        """Change the size, and send SIGWINCH to the program."""
        fcntl.ioctl(self._screen, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def press(self, keys: str | bytes) -> None:
        """Type."""
        os.write(self._screen, keys.encode() if isinstance(keys, str) else keys)

    @property
    def text(self) -> str:
        """All that was drawn so far, without the escapes."""
        return _ESCAPES.sub("", self.output.decode("utf-8", "replace"))

    def read(self, seconds: float) -> bool:
        """Take what is drawn within `seconds`; False when there was nothing."""
        ready, _, _ = select.select([self._screen], [], [], seconds)
        if not ready:
            return False
        try:
            data = os.read(self._screen, 65536)
        except OSError:
            return False
        self.output += data
        return bool(data)

    def wait_for(self, text: str, *, seconds: float = PATIENCE_SECONDS) -> float:
        """Seconds from the start until `text` was drawn. Fails with what was drawn instead."""
        end = time.perf_counter() + seconds
        while text not in self.text:
            if time.perf_counter() > end:
                raise AssertionError(f"{text!r} was not drawn in {seconds} s:\n{self.text[-3000:]}")
            self.read(0.05)
        return time.perf_counter() - self.started

    def wait_for_question(self, text: str) -> None:
        """Until `text` was drawn and the program waits for the answer: a Ctrl-C in between is heard with the next key only."""
        self.wait_for(text)
        status = Path(f"/proc/{self.process.pid}/stat")
        while status.exists() and status.read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "R":
            self.read(0.01)

    def wait_for_end(self, *, seconds: float = PATIENCE_SECONDS) -> int:
        """The exit code, with everything read that was drawn until then."""
        end = time.perf_counter() + seconds
        while self.process.poll() is None:
            self.read(0.01)
            assert time.perf_counter() < end, f"it has not ended:\n{self.text[-2000:]}"
        while self.read(0.05):
            pass
        return self.process.wait()

    @property
    def is_as_before(self) -> bool:
        """Whether the terminal's modes are those that it had, the cursor is shown, and the other screen is left."""
        after = termios.tcgetattr(self._inside)
        return after == self.before and b"\x1b[?1049l" in self.output and b"\x1b[?25h" in self.output

    def hang_up(self) -> None:
        """Close the window, and tell the program as the system would if it owns the terminal."""
        os.close(self._screen)
        self._screen = os.open(os.devnull, os.O_RDONLY)
        os.close(self._inside)
        self._inside = os.open(os.devnull, os.O_RDONLY)
        for number in (signal.SIGHUP, signal.SIGCONT) if self._owned else ():
            os.kill(self.process.pid, number)

    def close(self) -> None:
        """End what is left."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        os.close(self._screen)
        os.close(self._inside)

"""Draws `docs/images/run.svg`: a real run of `docs/images/mcptest.yml`, as a terminal of 112 columns shows it.

`python docs/picture.py` rewrites it. The picture fetches nothing: its text is set in whichever monospaced font is there.
"""

from __future__ import annotations

import fcntl
import io
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.terminal_theme import TerminalTheme
from rich.text import Text

IMAGES = Path(__file__).parent / "images"
PICTURE = IMAGES / "run.svg"
COMMAND = ("mcptest", "run")
COLUMNS = 112
TIMEOUT_SECONDS = 60

THEME = TerminalTheme(
    (22, 24, 33),
    (205, 209, 222),
    [
        (22, 24, 33),
        (240, 113, 120),
        (126, 211, 137),
        (232, 192, 104),
        (122, 170, 247),
        (194, 151, 235),
        (104, 204, 206),
        (205, 209, 222),
    ],
)

SVG = """\
<svg class="mcptest-run" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
  <title>mcptest run: six tests and a prompt, one of which fails, with the place that differs</title>
  <style>
    .{unique_id}-matrix {{
      font-family: ui-monospace, SFMono-Regular, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace;
      font-size: {char_height}px;
      line-height: {line_height}px;
    }}
    .{unique_id}-title {{
      font-family: system-ui, "Segoe UI", Helvetica, Arial, sans-serif;
      font-size: 16px;
    }}
    {styles}
  </style>
  <defs>
    <clipPath id="{unique_id}-clip-terminal">
      <rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
    </clipPath>
    {lines}
  </defs>
  {chrome}
  <g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
    {backgrounds}
    <g class="{unique_id}-matrix">
    {matrix}
    </g>
  </g>
</svg>
"""


def captured() -> str:
    """What the run writes on a terminal, with its colours; without the slowest tests, which only a busy machine has."""
    program = shutil.which(COMMAND[0], path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    assert program is not None
    environ = {key: value for key, value in os.environ.items() if key not in {"CI", "NO_COLOR", "FORCE_COLOR"}}
    with tempfile.TemporaryDirectory(prefix="mcptest-picture-") as scratch:
        for name in ("mcptest.yml", "manifest.yml"):
            shutil.copy(IMAGES / name, scratch)
        (Path(scratch) / ".mcptest").mkdir()
        ours, theirs = os.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
        with subprocess.Popen(
            [program, *COMMAND[1:]],
            cwd=scratch,
            env={**environ, "TERM": "xterm-256color"},
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=subprocess.DEVNULL,
        ) as running:
            os.close(theirs)
            written = _read_to_end(ours)
            running.wait(TIMEOUT_SECONDS)
    return re.sub(r"(?m)^ *slowest\n(?:.+\n)+\n", "", written.decode("utf-8").replace("\r\n", "\n"))


def picture(output: str) -> str:
    """The SVG of a terminal that shows the command and this output."""
    console = Console(record=True, width=COLUMNS + 2, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    prompt = Text.assemble(("$ ", "dim"), (" ".join(COMMAND), "bold"))
    lines = Text.assemble(prompt, "\n\n", Text.from_ansi(output.rstrip("\n")))
    console.print(Padding(lines, (0, 1, 1, 1)))
    return console.export_svg(title="", theme=THEME, code_format=SVG, unique_id="run")


def _read_to_end(terminal: int) -> bytes:
    chunks = []
    while True:
        try:
            chunk = os.read(terminal, 65536)
        except OSError:  # on Linux a terminal that was closed at the other end is an error, not an end
            break
        if not chunk:
            break
        chunks.append(chunk)
    os.close(terminal)
    return b"".join(chunks)


if __name__ == "__main__":
    PICTURE.write_text(picture(captured()), encoding="utf-8")

"""Copying: by the system's own tool when the terminal is on this machine, else through the terminal (OSC 52), else by a file.

Every way fails somewhere (no display over ssh, terminals that ignore OSC 52 or cut it), so the way that was taken is said.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

from mcptest_tui.places import cache_dir

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

OSC52_MOST = 74_000
"""Bytes before encoding; several terminals drop sequences of 100,000 characters and more."""
TOOL_SECONDS = 2.0


class Copied(NamedTuple):
    """How a text got out: `way` such as "OSC 52", and what stands on the clipboard when it is not the text."""

    way: str
    size: int
    file: Path | None = None

    def said(self, what: str) -> tuple[str, str]:
        """Return the message `Copied repro command` and its details `xclip, 84 bytes`."""
        if self.file is not None:
            return f"Copied the path of a file with {what} ({self.size:,} bytes): {self.file}", ""
        return f"Copied {what}", f"{self.way}, {self.size:,} bytes"


def native_tool(environ: Mapping[str, str] = os.environ, platform: str = sys.platform) -> list[str] | None:
    """The command that fills the clipboard of the machine that the person sits at, or None."""
    if environ.get("SSH_CONNECTION") or environ.get("SSH_TTY") or environ.get("MCPTEST_CLIPBOARD") == "osc52":
        return None
    wanted: list[tuple[str, ...]] = []
    if platform == "darwin":
        wanted.append(("pbcopy",))
    if environ.get("WAYLAND_DISPLAY"):
        wanted.append(("wl-copy",))
    if environ.get("DISPLAY"):
        wanted += [("xclip", "-selection", "clipboard"), ("xsel", "--clipboard", "--input")]
    for command in wanted:
        found = shutil.which(command[0], path=environ.get("PATH"))
        if found is not None:
            return [found, *command[1:]]
    return None


async def copy(
    text: str,
    root: Path,
    osc52: Callable[[str], None],
    environ: Mapping[str, str] = os.environ,
    *,
    native: bool = True,
) -> Copied:
    """Copy `text`; without `native`, by the terminal alone. A tool that hangs is given up after a while.

    Raises: OSError when it is too large for the terminal and no file can be written either.
    """
    data = text.encode("utf-8", "replace")
    tool = native_tool(environ) if native else None
    if tool is not None and await asyncio.to_thread(_handed, tool, data):
        return Copied(os.path.basename(tool[0]), len(data))  # noqa: PTH119
    if len(data) <= OSC52_MOST:
        osc52(text)
        return Copied("OSC 52", len(data))
    from mcptest_engine.workspace.atomic import write_atomic
    from mcptest_engine.workspace.files import make_directory

    file = cache_dir(root) / "copied.txt"
    make_directory(file.parent)
    write_atomic(file, data, mode=0o600)
    osc52(str(file))
    return Copied("file", len(data), file)


def _handed(tool: list[str], data: bytes) -> bool:
    try:
        done = subprocess.run(
            tool,
            input=data,
            stdout=subprocess.DEVNULL,  # xclip stays behind to serve the selection: it must not hold a pipe of ours
            stderr=subprocess.DEVNULL,
            timeout=TOOL_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0

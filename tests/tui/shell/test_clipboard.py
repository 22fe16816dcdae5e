"""Copying says how it was done."""

from __future__ import annotations

import asyncio
import os
import sys

import pytest

from mcptest_tui.clipboard import OSC52_MOST, copy, native_tool

pytestmark = pytest.mark.anyio


@pytest.fixture
def tools(tmp_path):
    """A folder with an `xclip` that writes what it is given to a file."""
    folder = tmp_path / "bin"
    folder.mkdir()
    tool = folder / "xclip"
    tool.write_text(
        f"#!{sys.executable}\nimport sys\nopen({str(tmp_path / 'held')!r}, 'wb').write(sys.stdin.buffer.read())\n"
    )
    tool.chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "DISPLAY": ":0"}


async def test_a_local_terminal_uses_the_systems_own_tool(place, tools, tmp_path):
    """And nothing goes through the terminal."""
    sent: list[str] = []
    done = await copy("text", place, sent.append, tools)
    assert (done.way, sent) == ("xclip", [])
    assert (tmp_path / "held").read_bytes() == b"text"
    assert done.said("repro command") == ("Copied repro command", "xclip, 4 bytes")


async def test_a_remote_terminal_uses_osc_52(place, tools):
    """The tool would fill the wrong machine's clipboard."""
    sent: list[str] = []
    done = await copy("text", place, sent.append, {**tools, "SSH_TTY": "/dev/pts/1"})
    assert (done.way, sent) == ("OSC 52", ["text"])


async def test_what_is_too_large_becomes_a_file(place):
    """And its path is copied."""
    sent: list[str] = []
    done = await copy("x" * (OSC52_MOST + 1), place, sent.append, {})
    assert done.file is not None
    assert done.file.read_text() == "x" * (OSC52_MOST + 1)
    assert sent == [str(done.file)]
    assert "Copied the path of a file with the response (74,001 bytes)" in done.said("the response")[0]


async def test_a_tool_that_fails_is_not_believed(place, tools, tmp_path):
    """A display that is gone."""
    (tmp_path / "bin" / "xclip").write_text("#!/bin/sh\nexit 1\n")
    sent: list[str] = []
    assert (await copy("text", place, sent.append, tools)).way == "OSC 52"


def test_each_system_has_its_tool(tools):
    """Wayland before X; none without a display."""
    assert native_tool({}, "linux") is None
    found = native_tool(tools, "linux")
    assert found is not None
    assert found[1:] == ["-selection", "clipboard"]


async def test_a_tool_that_waits_keeps_nobody_waiting(place, tools, tmp_path, monkeypatch):
    """A display that does not answer."""
    monkeypatch.setattr("mcptest_tui.clipboard.TOOL_SECONDS", 20.0)
    held = tmp_path / "answer"
    os.mkfifo(held)
    (tmp_path / "bin" / "xclip").write_text(f"#!/bin/sh\ncat {held}\n")
    sent: list[str] = []
    copying = asyncio.create_task(copy("text", place, sent.append, tools))
    await asyncio.sleep(0)  # its turn: it waits for the tool
    await asyncio.to_thread(held.write_text, "the display answers, because this loop could go on")
    assert (await copying).way == "xclip"

"""The editor on a real terminal: killed while one types, the person's own editor, bursts of keys, control codes in a file."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.tui.edit.test_editor import SUITE
from tests.tui.terminal import PATIENCE_SECONDS, Terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.forked import Nursery

F2, CTRL_S, CTRL_E, CTRL_R, ESCAPE = "\x1bOQ", "\x13", "\x05", "\x12", "\x1b"


@pytest.fixture
def terminal(
    mcptest_command: str, nursery: Nursery, place: Path, clean_environ: dict[str, str]
) -> Iterator[Callable[..., Terminal]]:
    """Start the workbench on a terminal in `place`; what is left of it is ended."""
    opened: list[Terminal] = []

    def start(**environ: str) -> Terminal:
        path = f"{Path(mcptest_command).parent}{os.pathsep}{clean_environ['PATH']}"
        environ = {**clean_environ, "PATH": path, "MCPTEST_THEME": "nightshift", **environ}
        found = Terminal([mcptest_command], cwd=place, environ=environ, size=(100, 30), nursery=nursery)
        opened.append(found)
        return found

    yield start
    for found in opened:
        found.close()


@pytest.fixture
def suite(place: Path) -> Path:
    """A suite in `place`."""
    path = place / "mcptest.yml"
    path.write_text(SUITE)
    return path


def _drafts(place: Path) -> list[Path]:
    return list((place / ".mcptest" / "cache" / "drafts").glob("*.draft.json"))


def _until(found: Terminal, condition: Callable[[], Any], what: str) -> None:
    end = time.perf_counter() + PATIENCE_SECONDS
    while not condition():
        assert time.perf_counter() < end, f"waited for {what}:\n{found.text[-2000:]}"
        found.read(0.05)


def test_what_was_typed_before_a_kill_is_offered_by_the_next_start(
    terminal: Callable[..., Terminal], suite: Path, place: Path
) -> None:
    first = terminal()
    first.wait_for("the service is down")
    first.press(F2)
    first.wait_for("1:1")
    first.press("# not saved yet\r")
    _until(first, lambda: _drafts(place) and "not saved yet" in _drafts(place)[0].read_text(), "the draft")
    os.killpg(first.process.pid, signal.SIGKILL)
    first.process.wait()
    assert suite.read_text() == SUITE
    again = terminal()
    again.wait_for("the service is down")
    again.press(F2)
    again.wait_for("There is unsaved text of mcptest.yml")
    again.press("r")
    again.wait_for("restored")
    again.press(CTRL_S)
    _until(again, lambda: suite.read_text() == "# not saved yet\n" + SUITE, "the save")


def test_the_persons_own_editor_opens_at_the_line_and_what_it_wrote_is_read(
    terminal: Callable[..., Terminal], suite: Path, place: Path
) -> None:
    script = place / "editor.sh"
    script.write_text('#!/bin/sh\necho "$@" > called\nprintf "# by the editor\\n" >> "$2"\n')
    script.chmod(0o755)
    found = terminal(EDITOR=str(script))
    found.wait_for("the service is down")
    found.press(F2)
    found.wait_for("1:1")
    found.press("\x1b[B\x1b[B")
    found.wait_for("3:1")
    found.press(CTRL_E)
    called = place / "called"
    _until(found, lambda: called.exists() and called.read_text().endswith("\n"), "the editor")
    assert called.read_text() == f"+3 {suite}\n"
    found.wait_for("# by the editor")
    assert suite.read_text() == SUITE + "# by the editor\n"


def test_a_burst_of_keys_is_taken_in_its_order(terminal: Callable[..., Terminal], suite: Path) -> None:
    found = terminal()
    found.wait_for("the service is down")
    found.press(F2)
    found.wait_for("1:1")
    found.press("\x1b[1;5F\x1b[A\x1b[Fx\r- { target: result.isE\t, matc\texac\tfalse" + CTRL_S)
    wanted = SUITE.replace(
        "{ contains: broken } }\n",
        '{ contains: broken } }x\n      - { target: "result.isError", matcher: { exact: false } }\n',
    )
    _until(found, lambda: suite.read_text() != SUITE, "the save")
    assert suite.read_text() == wanted


def test_no_control_of_a_file_reaches_the_terminal(terminal: Callable[..., Terminal], suite: Path) -> None:
    suite.write_text(SUITE + "# \x1b]2;owned\x07 \x9b2J \u202e end\n")
    found = terminal()
    found.wait_for("the service is down")
    found.press(F2)
    found.wait_for("]2;owned")
    assert b"\x1b]2;owned" not in found.output
    assert "\x9b2J" not in found.output.decode("utf-8", "replace")
    assert "\u202e" not in found.output.decode("utf-8", "replace")


def test_what_is_typed_before_the_editor_is_drawn_is_in_the_text(
    terminal: Callable[..., Terminal], suite: Path
) -> None:
    found = terminal()
    found.wait_for("the service is down")
    found.press(F2 + "\x1b[B\x1b[F# typed ahead" + CTRL_S)
    _until(found, lambda: suite.read_text() != SUITE, "the save")
    assert suite.read_text() == SUITE.replace("servers:\n", "servers:# typed ahead\n")


def test_what_is_typed_behind_a_key_goes_where_that_key_leads(terminal: Callable[..., Terminal], suite: Path) -> None:
    found = terminal()
    found.wait_for("the service is down")
    found.press(F2)
    found.wait_for("1:1")
    found.press("\x06is down" + "\x1b[18~" + "is off\r" + "\x1b[18~" + ESCAPE)
    found.press(CTRL_S)
    _until(found, lambda: suite.read_text() != SUITE, "the save")
    assert suite.read_text() == SUITE.replace("is down", "is off")

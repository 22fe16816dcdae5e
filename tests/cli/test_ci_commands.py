"""A server whose every text is a command to a CI system: no command of ours prints one."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcptest_engine.reporting.registry import FORMATS

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    Run = Callable[..., subprocess.CompletedProcess[str]]

SERVERS = Path(__file__).resolve().parents[1] / "servers"
AZURE = "##vso[task.setvariable variable=forged]yes"
GITHUB = "::stop-commands::forged"
WICKED = f"a {AZURE} ##[error]forged\n{GITHUB}\n  ::add-mask::forged"
FORGED = re.compile(r"##[A-Za-z.]*\[|^[ \t]*::[^\n]*forged", re.MULTILINE)
TOOL = "get_status"
ANSWER = "result.content[0].text"
SUITE = {
    "tools": [
        {"name": AZURE, "server": "s", "tool": TOOL, "expect": [{"target": ANSWER, "matcher": {"exact": WICKED}}]},
        {"name": "b", "server": "s", "tool": TOOL, "expect": [{"target": ANSWER, "matcher": {"exact": "other"}}]},
        {"name": "c", "server": "s", "tool": "dies", "expect": [{"target": ANSWER, "matcher": {"exact": "x"}}]},
    ],
}


@pytest.fixture
def server(tmp_path: Path) -> list[str]:
    """A server that says `WICKED` as name, description, answer and on stderr, in a folder with a suite for it."""
    script = {
        "tools": [{"name": TOOL, "description": WICKED, "title": WICKED, "inputSchema": {"type": "object"}}],
        "answers": {TOOL: [{"result": {"content": [{"type": "text", "text": WICKED}]}}], "dies": [{"die": 3}]},
    }
    (tmp_path / "script.json").write_text(json.dumps(script))
    shell = (
        f"printf '%s\\n' \"$WICKED\" >&2; exec {sys.executable} -S {SERVERS / 'scripted.py'} {tmp_path / 'script.json'}"
    )
    command = ["sh", "-c", f"WICKED='{WICKED}'; {shell}"]
    (tmp_path / "mcptest.yml").write_text(json.dumps({"servers": {"s": {"command": command}}, **SUITE}))
    return command


def test_no_report_of_a_run_holds_one(server: list[str], mcptest: Run, tmp_path: Path) -> None:
    """The exception is what we mean ourselves: the `github` report is made of such lines, each of our own making."""
    flags = [word for name in FORMATS for word in ("--reporter", f"{name}=out.{name}")]
    assert mcptest("run", *flags).returncode == 1
    for name in FORMATS:
        text = (tmp_path / f"out.{name}").read_text()
        assert "forged" in text, name
        if name == "github":
            text = re.sub(r"^::(error|warning|notice) file=[^\n]*", "", text, flags=re.MULTILINE)
        assert FORGED.search(text) is None, (name, FORGED.search(text))


@pytest.mark.parametrize(
    "command",
    [
        ["tools"],
        ["tools", "--format", "json"],
        ["call", TOOL],
        ["call", TOOL, "--format", "json"],
        ["capabilities"],
        ["doctor"],
        ["security"],
        ["security", "--format", "json"],
        ["run", "--reporter", "pretty"],
        ["run", "--reporter", "github"],
        ["list"],
        ["validate"],
    ],
    ids=" ".join,
)
def test_no_command_prints_one(command: list[str], server: list[str], mcptest: Run) -> None:
    target = [] if command[0] in ("run", "list", "validate") else ["--command", shlex.join(server)]
    done = mcptest(*command, *target)
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 1, 6), done.stderr
    text = re.sub(r"^::(error|warning|notice) file=[^\n]*", "", done.stdout, flags=re.MULTILINE)
    assert FORGED.search(text) is None, FORGED.search(text)
    assert FORGED.search(done.stderr) is None, FORGED.search(done.stderr)

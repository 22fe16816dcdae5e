"""The name of a file, of a test or of a tool begins no line of its own, which a CI system would obey."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

NAME = "n\n::error::x.yml"
SUITE = """\
servers: { s: { command: [mcptest, mock, --preset, demo] } }
tools: [{ name: a, tool: status, expect: [{ target: result.isError, matcher: { exact: true } }] }]
"""
REPORTERS = ("pretty", "minimal", "junit", "tap", "md", "github", "gitlab", "agent", "html", "sarif", "json", "ndjson")


@pytest.mark.parametrize("text", [SUITE, SUITE.replace("tool: status", "tool: status, server: other"), None])
@pytest.mark.parametrize(
    "words",
    [
        ("validate", NAME),
        ("run", NAME),
        *(("run", NAME, "--reporter", form) for form in REPORTERS),
        ("run", NAME, "--filter", NAME),
        ("list", NAME),
        ("mock", NAME),
        ("view", NAME),
        ("init", "--yes", NAME),
        ("report", NAME),
        ("diff", NAME, NAME),
        ("diff-runs", NAME, NAME),
        ("evidence", NAME),
        ("coverage", NAME),
        ("serve", "--cassette", NAME),
        ("tools", "--config", NAME, "--server", NAME),
        ("doctor", "--config", NAME),
        ("propose", NAME, "--config", NAME),
        ("call", NAME, "--config", NAME),
        ("generate", "suite", "--into", NAME),
        ("generate", "suite", "--from", NAME),
        ("mcp-server", "--install-path", NAME),
        ("mcp-server", "--workspace", NAME),
        (NAME,),
    ],
    ids=" ".join,
)
def test_a_name_with_a_newline_begins_no_line(
    mcptest: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, words: tuple[str, ...], text: str | None
) -> None:
    if text is not None:
        (tmp_path / NAME).write_text(text)
    made = mcptest(*words)
    assert made.stdout + made.stderr
    own = [line for line in (made.stdout + made.stderr).splitlines() if line.lstrip().startswith("::error::x")]
    assert own == []

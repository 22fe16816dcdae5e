"""A forked process of mcptest, as most tests of the command line start it, does what the installed command does."""

from __future__ import annotations

import re
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.forked import can_fork

if TYPE_CHECKING:
    from pathlib import Path

    from tests.forked import Nursery

SUITE = """\
servers: { mock: { command: [mcptest, mock, --preset, demo] } }
tools:
  - { name: fails, tool: status, expect: [{ target: "result.content[0].text", matcher: { contains: degraded } }] }
"""


@pytest.mark.parametrize(
    "words",
    [["--version"], ["rn"], ["run", "--reporter", "pretty"], ["validate", "no.yml"], ["list", "--format", "json"]],
)
def test_it_says_and_ends_as_the_installed_command_does(
    nursery: Nursery, mcptest_command: str, clean_environ: dict[str, str], tmp_path: Path, words: list[str]
) -> None:
    (tmp_path / ".mcptest").mkdir()
    (tmp_path / "mcptest.yml").write_text(SUITE, encoding="utf-8")
    argv = [mcptest_command, *words]
    installed = subprocess.run(
        argv,
        executable=mcptest_command,
        cwd=tmp_path,
        env=clean_environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    forked = nursery.run(argv, cwd=tmp_path, env=clean_environ, timeout=60)
    assert forked.returncode == installed.returncode
    assert untimed(forked.stderr) == untimed(installed.stderr)
    assert untimed(forked.stdout) == untimed(installed.stdout)


def untimed(text: str) -> str:
    return re.sub(r"<?\d+(\.\d+)? ?m?s\b", "(time)", re.sub(r"\b01[0-9A-Z]{24}\b", "RUN", text))


def test_it_has_its_own_environment_and_hears_signals(
    nursery: Nursery, mcptest_command: str, clean_environ: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "mcptest.yml").write_text(SUITE.replace("demo]", '"${env.PRESET}"]'), encoding="utf-8")
    argv = [mcptest_command, "validate"]
    assert nursery.run(argv, cwd=tmp_path, env={**clean_environ, "PRESET": "demo"}, timeout=60).returncode == 0
    assert "PRESET" in nursery.run(argv, cwd=tmp_path, env=clean_environ, timeout=60).stderr
    served = nursery.start([mcptest_command, "mock", "--preset", "demo"], cwd=tmp_path, env=clean_environ, stdin=True)
    assert served.poll() is None
    served.kill()
    assert served.wait(60) == served.poll() == -signal.SIGKILL
    for stream in (served.stdin, served.stdout, served.stderr):
        assert stream is not None
        stream.close()


def test_what_an_interpreter_looks_at_when_it_starts_is_not_forked(clean_environ: dict[str, str]) -> None:
    assert can_fork(clean_environ)
    assert not can_fork({**clean_environ, "PYTHONUTF8": "0"})
    assert not can_fork({**clean_environ, "LC_ALL": "none"})

"""What every test shares: where the real servers lie, and the installed command."""

from __future__ import annotations

import compileall
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parent.parent
SERVERS = ROOT / "tests" / "servers"


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile once what some thousand processes load: most of them write no bytecode, so a fresh checkout would stay slow."""
    if not hasattr(session.config, "workerinput"):
        for folder in (ROOT / "mcptest_engine", ROOT / "mcptest_tui", SERVERS):
            compileall.compile_dir(folder, quiet=2)


def pytest_configure() -> None:
    """What the tests start hears every signal, also when they run in the background of a script or under nohup.

    A signal that is ignored is ignored in every child, too; one that has a handler here has none there. This process goes on
    not to be ended by it.
    """
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


@pytest.fixture(scope="session")
def mcptest_command() -> str:
    """The `mcptest` console script of the environment that runs the tests."""
    beside = Path(sys.executable).with_name("mcptest")
    found = str(beside) if beside.exists() else shutil.which("mcptest")
    assert found is not None, "the mcptest command is not installed; run `make setup`"
    return found


@pytest.fixture
def clean_environ(tmp_path: Path) -> dict[str, str]:
    """This environment without what would change a run: CI, colours, the user's home."""
    environ = {key: value for key, value in os.environ.items() if key not in {"CI", "FORCE_COLOR", "NO_COLOR"}}
    return {**environ, "HOME": str(tmp_path / "home"), "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.fixture
def mcptest(
    mcptest_command: str, tmp_path: Path, clean_environ: dict[str, str]
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the installed command in `tmp_path`, with its output captured; bounded at a minute."""

    def run(*arguments: str, cwd: Path = tmp_path, **environ: str) -> subprocess.CompletedProcess[str]:
        (cwd / ".mcptest").mkdir(exist_ok=True)  # a workspace of its own, whatever lies further up
        return subprocess.run(
            [mcptest_command, *arguments],
            cwd=cwd,
            env={**clean_environ, **environ},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )

    return run

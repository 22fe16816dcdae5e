"""Public servers over HTTP: started on a port of their own, ready when they say so, ended with their test."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.processes import free_port
from tests.programs import needs_npm, search_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PUBLIC = Path(__file__).parent.parent.parent / "examples" / "public"
PATIENCE_SECONDS = 60


@pytest.fixture
def public(tmp_path: Path) -> Path:
    """A copy of the suites for public servers, so that nothing is written beside the real ones."""
    copy = tmp_path / "public"
    shutil.copytree(PUBLIC, copy, ignore=shutil.ignore_patterns(".mcptest", "scratch"))
    return copy


@pytest.fixture
def everything(tmp_path: Path) -> Iterator[Callable[[str], int]]:
    """Start server-everything with an HTTP transport (`streamableHttp` or `sse`); gives the port on which it listens."""
    with contextlib.ExitStack() as running:
        yield lambda transport: running.enter_context(_listening(transport, tmp_path))


@contextlib.contextmanager
def _listening(transport: str, home: Path) -> Iterator[int]:
    program = needs_npm("mcp-server-everything")
    for _ in range(5):  # between the choice of a port and its use somebody else may take it
        port = free_port()
        process = subprocess.Popen(
            [program, transport],
            env={**os.environ, "PATH": search_path(), "PORT": str(port), "HOME": str(home)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            if _says(process, f"on port {port}"):
                yield port
                return
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            assert process.stderr is not None
            process.stderr.close()
    pytest.fail(f"mcp-server-everything {transport} found no free port")


def _says(process: subprocess.Popen[str], words: str) -> bool:
    """Whether the text appears on stderr before the process ends. Later output is read and discarded, so that no pipe fills."""
    assert process.stderr is not None
    timer = threading.Timer(PATIENCE_SECONDS, process.kill)
    timer.start()
    said = any(words in line for line in iter(process.stderr.readline, ""))
    timer.cancel()
    if said:
        threading.Thread(target=_drain, args=(process,), daemon=True).start()
    return said


def _drain(process: subprocess.Popen[str]) -> None:
    assert process.stderr is not None
    with contextlib.suppress(ValueError, OSError):  # closed while we were reading: the test is over
        for _ in process.stderr:
            pass

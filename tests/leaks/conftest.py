"""A server that gives back whatever it was sent, and writes it down."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

REFLECTING = Path(__file__).with_name("reflecting.py")


@pytest.fixture(scope="module")
def listening(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """(URL, the log of what was sent to it since it started)."""
    log = tmp_path_factory.mktemp("listener") / "log"
    process = subprocess.Popen([sys.executable, str(REFLECTING), "http", str(log)], stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout is not None
        yield process.stdout.readline().strip(), log
        process.terminate()


@pytest.fixture
def listener(listening: tuple[str, Path]) -> tuple[str, Path]:
    """(URL, the log of what this test sent to it)."""
    listening[1].write_text("")
    return listening

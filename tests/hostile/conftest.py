"""What the hostile servers need to be held in check."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def fifo(tmp_path: Path) -> Iterator[Path]:
    """What a daemon of `hostile.py` holds on to: it ends when this end is closed."""
    path = tmp_path / "fifo"
    os.mkfifo(path)
    descriptor = os.open(path, os.O_RDWR)
    yield path
    os.close(descriptor)

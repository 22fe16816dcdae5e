"""A workspace with runs in it, and `mcptest view` serving it from a process of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.viewer.kept import Viewed, filled, viewing

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def viewed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewed]:
    """The viewer over `filled`; tests leave the runs as they are."""
    with viewing(filled(tmp_path_factory.mktemp("viewed"))) as one:
        yield one

"""Loading a suite from its text, as the tests of this folder need it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from mcptest_engine.suite.load import LoadOptions, load_suite

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mcptest_engine.suite.load import LoadedSuite


@pytest.fixture
def suite_of(tmp_path: Path) -> Callable[..., LoadedSuite]:
    """A loaded suite from its text, written to `mcptest.yml` in `tmp_path`."""

    def load(text: str, **variables: str) -> LoadedSuite:
        path = tmp_path / "mcptest.yml"
        path.write_text(text, encoding="utf-8")
        environ = {key: value for key, value in os.environ.items() if key != "CI"}
        return load_suite(path, LoadOptions(variables=variables, environ=environ, workspace_root=tmp_path))

    return load

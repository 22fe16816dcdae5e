"""What happens to a test whose program is not installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests import programs

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def nothing_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "NODE_MODULES", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CI", raising=False)


@pytest.mark.usefixtures("nothing_installed")
def test_a_missing_program_skips_with_the_command_that_installs_it() -> None:
    """On somebody's own machine."""
    with pytest.raises(pytest.skip.Exception, match="mcp-server-everything is not installed; run `make npm`"):
        programs.needs_npm("mcp-server-everything")
    with pytest.raises(pytest.skip.Exception, match="no-such-program is not installed"):
        programs.needs("no-such-program")


@pytest.mark.usefixtures("nothing_installed")
def test_under_ci_a_missing_program_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or a suite that never runs would stay green for ever."""
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="nothing is skipped: no-such-program is not installed"):
        programs.needs("no-such-program")


def test_a_program_of_this_environment_is_found() -> None:
    """Beside the Python that runs the tests, whatever PATH says."""
    assert programs.needs("mcptest").endswith("mcptest")

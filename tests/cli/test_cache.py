"""`mcptest run --cache` and `mcptest cache` as they are typed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    Run = Callable[..., subprocess.CompletedProcess[str]]


def test_cached_tests_are_counted_and_the_cache_can_be_looked_at_and_cleared(
    mcptest: Run, write: Callable[..., Path], tmp_path: Path
) -> None:
    write()
    drafts = tmp_path / ".mcptest" / "cache" / "drafts"
    drafts.mkdir(parents=True)
    (drafts / "mine.json").write_text("{}")
    first = mcptest("run", "--cache", "--reporter", "agent")
    assert (first.returncode, first.stdout.splitlines()[0].partition("cached")[0]) == (
        1,
        "VERDICT fail 3/4 passed (1 failed, 0 inconclusive, 0 ",
    )
    again = mcptest("run", "--cache", "--reporter", "agent")
    assert again.returncode == 1
    assert "4 cached" in again.stdout.splitlines()[0]
    assert mcptest("cache").stdout.startswith("4 results (")
    assert json.loads(mcptest("cache", "--format", "json").stdout)["results"] == 4
    cleared = mcptest("cache", "clear")
    assert (cleared.returncode, cleared.stdout.startswith("deleted 4 results (")) == (0, True)
    assert "0 cached" in mcptest("run", "--cache", "--reporter", "agent").stdout
    assert (drafts / "mine.json").exists()


def test_a_cache_may_be_kept_elsewhere(mcptest: Run, write: Callable[..., Path], tmp_path: Path) -> None:
    write()
    mcptest("run", "--cache-dir", "kept")
    done = mcptest("run", "--cache", "--cache-dir", "kept", "--reporter", "pretty", "--reporter", "junit=out.xml")
    assert ", cached)" in done.stdout
    assert '<property name="cached" value="true"/>' in (tmp_path / "out.xml").read_text()
    assert not (tmp_path / ".mcptest" / "cache").exists()
    assert mcptest("cache", "clear", "--cache-dir", "kept").stdout.startswith("deleted 4 results")
    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize(
    "flags",
    [("--record", "a"), ("--replay", "a"), ("--update-snapshots",), ("--repeat", "2")],
    ids=lambda flags: flags[0],
)
def test_what_does_not_go_with_the_cache_is_refused(
    mcptest: Run, write: Callable[..., Path], flags: tuple[str, ...]
) -> None:
    write()
    done = mcptest("run", "--cache", *flags)
    assert done.returncode == 2
    assert f"--cache and {flags[0]} do not go together" in done.stderr

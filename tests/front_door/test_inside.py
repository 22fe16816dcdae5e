"""What a verb of the MCP server may open by its name."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from mcptest_engine.core.errors import UsageError
from mcptest_engine.engine_process.files import alternatives
from mcptest_engine.front_door import inside
from mcptest_engine.front_door.inside import named_file, suites_below

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with a suite, a pipe, and links: to the suite, and out of it; beside it lies a file."""
    (tmp_path / "outside.yml").write_text("secret: 1")
    (root := tmp_path / "work").mkdir()
    (root / "mcptest.yml").write_text("servers: {}")
    (root / "link.yml").symlink_to("mcptest.yml")
    (root / "out.yml").symlink_to("../outside.yml")
    (root / "out").symlink_to("..")
    os.mkfifo(root / "pipe.yml")
    return root


@pytest.mark.parametrize("named", ["mcptest.yml", "./mcptest.yml", "link.yml", "{root}/mcptest.yml"])
def test_a_file_of_the_workspace_is_opened(root: Path, named: str) -> None:
    path = named_file(root, named.format(root=root))
    assert path.samefile(root / "mcptest.yml")


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ("../outside.yml", "is outside of this workspace"),
        ("{root}/../outside.yml", "is outside of this workspace"),
        ("out.yml", "is outside of this workspace"),
        ("out/outside.yml", "is outside of this workspace"),
        ("/etc/passwd", "is outside of this workspace"),
        ("nowhere.yml", "there is no file"),
        ("a\0b", "there is no file"),
        ("pipe.yml", "is not a file"),
        (".", "is not a file"),
    ],
)
def test_what_is_no_file_of_the_workspace_is_refused_with_the_reason(root: Path, named: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        named_file(root, named.format(root=root))


@pytest.mark.parametrize(
    "named", ["../*.yml", "{..,out}/*.yml", ".{x,.}/*.yml", "{out,a/{b,..}}/*.yml", "/{etc,tmp}/*"]
)
def test_a_pattern_that_leads_out_of_the_workspace_is_not_looked_up(
    root: Path, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up: list[str] = []

    def look_up(pattern: str, _: Path) -> list[str]:
        looked_up.append(pattern)
        return []

    monkeypatch.setattr(inside, "match_suites", look_up)
    assert suites_below(root, named) == []
    suites_below(root, "{a,b}/*.yml")
    assert looked_up[-2:] == ["a/*.yml", "b/*.yml"]
    assert not [one for one in looked_up if ".." in one or one.startswith("/")]


def test_each_name_in_braces_has_to_lead_to_a_suite(root: Path) -> None:
    (root / "more").mkdir()
    (root / "more" / "shop.yml").write_text("servers: { s: { command: [a] } }\ntools: [{ name: a, tool: b }]\n")
    (root / "mcptest.yml").write_text("servers: { s: { command: [a] } }\ntools: [{ name: a, tool: b }]\n")
    suites = [root / "mcptest.yml", root / "more" / "shop.yml"]
    assert suites_below(root, "{mcptest,more/shop}.yml") == suites_below(root, "{mcptest.yml,more}") == suites
    assert suites_below(root, "{mcptest.yml,more/*.{yml,yaml}}") == suites, "a pattern of several may match none"
    assert suites_below(root, "{mcptest,nowhere}.yml") == suites_below(root, "{n*,no*}.yml") == []


def test_braces_that_stand_for_too_many_patterns_stand_for_themselves() -> None:
    assert alternatives("{a,b/{c,d}}.yml") == ["a.yml", "b/c.yml", "b/d.yml"]
    assert alternatives("{a,b,c}" * 8) == ["{a,b,c}" * 8]

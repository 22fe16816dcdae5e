"""The schema file of the workspace: editors find the schema that a suite names, without a network."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import jsonschema_rs
import pytest

from mcptest_engine.cli.common import check
from mcptest_engine.suite.schema import schema_text
from mcptest_engine.suite.yaml import read_tree
from mcptest_engine.workspace.schema_file import SCHEMA_LINE, with_mended_schema_line, with_schema_line
from mcptest_engine.workspace.suite_file import write_suite
from mcptest_engine.workspace.workspace import find_workspace

if TYPE_CHECKING:
    from pathlib import Path

FORMER = "# yaml-language-server: $schema=https://mcptest.sh/schema/v1.json"
BODY = "servers:\n  one: { command: [python, server.py] }\ntools:\n  - { name: a, tool: status }\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository; `CI` is not set unless a test sets it."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI", raising=False)
    return tmp_path


def suite_in(folder: Path, line: str = SCHEMA_LINE) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "mcptest.yml"
    path.write_text(f"{line}\n{BODY}", encoding="utf-8")
    return path


@pytest.mark.parametrize("folder", ["", "tests", "a/b"])
def test_what_the_schema_line_names_is_the_schema(here: Path, folder: str) -> None:
    """As an editor does: the path is taken from the suite's folder, and the suite is valid under what lies there."""
    path = here / folder / "shop.yml"
    write_suite(path, with_schema_line(f"{SCHEMA_LINE}\n{BODY}", path).encode())
    text = path.read_text(encoding="utf-8")
    named = path.parent / text.splitlines()[0].partition("$schema=")[2]
    assert named.read_text(encoding="utf-8") == schema_text()
    assert jsonschema_rs.is_valid(json.loads(named.read_text(encoding="utf-8")), read_tree(text, file="").value)
    assert named.resolve().parent == here / ".mcptest"
    assert "!/suite.schema.json" not in (here / ".mcptest" / ".gitignore").read_text(encoding="utf-8")


def test_a_hosted_schema_is_named_where_the_setting_says_so(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One variable for a team that has no `.mcptest` in its editors."""
    monkeypatch.setenv("MCPTEST_SCHEMA_URL", "https://schemas.example/suite.schema.json")
    text = with_schema_line(f"{SCHEMA_LINE}\n{BODY}", here / "a" / "b.yml")
    assert text.startswith("# yaml-language-server: $schema=https://schemas.example/suite.schema.json\nservers:")
    write_suite(here / "mcptest.yml", text.encode())
    assert not (here / ".mcptest").exists()


def test_a_suite_that_is_checked_has_its_schema_brought_up_to_date(here: Path) -> None:
    """After an update of mcptest."""
    path = suite_in(here)
    (here / ".mcptest").mkdir()
    (here / ".mcptest" / "suite.schema.json").write_text("{}", encoding="utf-8")
    assert check(path, find_workspace(here), {}).suite is not None
    assert (here / ".mcptest" / "suite.schema.json").read_text(encoding="utf-8") == schema_text()


@pytest.mark.parametrize(
    ("line", "has_folder", "ci"),
    [(SCHEMA_LINE, False, ""), (SCHEMA_LINE, True, "true"), (FORMER, True, ""), ("# a suite", True, "")],
    ids=["no .mcptest", "under CI", "another schema", "no schema"],
)
def test_a_check_writes_nothing_that_nobody_asked_for(
    here: Path, monkeypatch: pytest.MonkeyPatch, line: str, has_folder: bool, ci: str
) -> None:
    """`validate` in CI leaves the checkout as it is."""
    path = suite_in(here, line)
    if has_folder:
        (here / ".mcptest").mkdir()
    monkeypatch.setenv("CI", ci)
    assert check(path, find_workspace(here), {}).suite is not None
    assert not (here / ".mcptest" / "suite.schema.json").exists()


@pytest.mark.parametrize("named", ["../other/.mcptest/suite.schema.json", "sub/.mcptest/suite.schema.json"])
def test_only_the_file_of_the_workspace_is_written(here: Path, named: str) -> None:
    """A suite of somebody else's names a place; that place is not written to."""
    for folder in ("other", "here/sub"):
        (here / folder / ".mcptest").mkdir(parents=True)
    write_suite(here / "here" / "mcptest.yml", f"# yaml-language-server: $schema={named}\n{BODY}".encode())
    assert list(here.rglob("suite.schema.json")) == []


def test_a_linked_folder_is_not_written_to(here: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A cloned repository may hold a `.mcptest` that leads anywhere; the suite is written all the same."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (here / ".mcptest").symlink_to(elsewhere)
    write_suite(here / "mcptest.yml", f"{SCHEMA_LINE}\n{BODY}".encode())
    assert (here / "mcptest.yml").is_file()
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("line", [FORMER, "# yaml-language-server: $schema=../schemas/suite.schema.json"])
def test_the_schema_line_of_a_copied_or_earlier_suite_is_corrected(here: Path, line: str) -> None:
    """By `mcptest fmt`."""
    after = with_mended_schema_line(f"{line}\r\n\n{BODY}", here / "tests" / "shop.yml")
    assert after == f"# yaml-language-server: $schema=../.mcptest/suite.schema.json\r\n\n{BODY}"


def test_a_suite_in_json_names_its_schema_by_a_key(here: Path) -> None:
    suite = (
        '{ "$schema": "PLACE", "servers": { "s": { "command": ["true"] } }, "tools": [{ "name": "a", "tool": "a" }] }'
    )
    path = here / "tests" / "shop.json"
    path.parent.mkdir()
    path.write_text(
        with_mended_schema_line(suite.replace("PLACE", "schemas/suite.schema.json"), path), encoding="utf-8"
    )
    assert path.read_text(encoding="utf-8") == suite.replace("PLACE", "../.mcptest/suite.schema.json")
    (here / ".mcptest").mkdir()
    assert check(path, find_workspace(here), {}).suite is not None
    assert (here / ".mcptest" / "suite.schema.json").read_text(encoding="utf-8") == schema_text()
    own = suite.replace('"$schema": "PLACE"', '"variables": { "schema": { "$schema": "own/suite.schema.json" } }')
    assert with_mended_schema_line(own, path) == own


def test_a_schema_line_that_is_right_stays(here: Path) -> None:
    """A file that is there, and a URL of somebody's own."""
    path = suite_in(here, "# yaml-language-server: $schema=own/suite.schema.json")
    (here / "own").mkdir()
    (here / "own" / "suite.schema.json").write_text("{}", encoding="utf-8")
    for text in (path.read_text(encoding="utf-8"), f"# yaml-language-server: $schema=https://x.example/a\n{BODY}"):
        assert with_mended_schema_line(text, path) == text

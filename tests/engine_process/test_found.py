"""Suites that the workbench finds by what is in them, whatever they are called."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from mcptest_engine.engine_process.files import find_suites, match_suites
from tests.permissions import unreadable

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("block", ["tools", "resources", "prompts", "compliance", "compositions", "agents", "evals"])
def test_each_block_of_tests_makes_a_suite(tmp_path: Path, block: str) -> None:
    (tmp_path / "mine.yml").write_text(f"servers: {{}}\n{block}: []\n", encoding="utf-8")
    assert [found["shown"] for found in find_suites(["."], tmp_path)] == ["mine.yml"]


def test_evals_need_no_server(tmp_path: Path) -> None:
    (tmp_path / "judged.yml").write_text("scorers: []\nevals: []\n", encoding="utf-8")
    (tmp_path / "other.yml").write_text("evals: []\n", encoding="utf-8")
    assert [found["shown"] for found in find_suites(["."], tmp_path)] == ["judged.yml"]


def test_a_suite_that_imports_its_servers_and_one_that_misspells_them_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.yml").write_text("imports: [servers.yml]\ntools: []\n", encoding="utf-8")
    schema = "# yaml-language-server: $schema=.mcptest/suite.schema.json\n"
    (tmp_path / "b.yml").write_text(f"{schema}server: {{}}\ntools: []\n", encoding="utf-8")
    (tmp_path / "servers.yml").write_text(f"{schema}servers: {{}}\n", encoding="utf-8")
    (tmp_path / "c.yml").write_text(f"{schema}servers: {{}}\ntests:\n  - name: a\n", encoding="utf-8")
    assert [found["shown"] for found in find_suites(["."], tmp_path)] == ["a.yml", "b.yml", "c.yml"]


def test_no_suite_is_passed_over_that_begins_late_or_in_another_encoding_or_that_cannot_be_read(
    tmp_path: Path,
) -> None:
    (tmp_path / "late.yml").write_text("tools: []\n" + "# x\n" * 70_000 + "servers: {}\n", encoding="utf-8")
    (tmp_path / "marked.yml").write_text("servers: {}\ntools: []\n", encoding="utf-8-sig")
    (tmp_path / "notepad.yml").write_text("servers: {}\ntools: []\n", encoding="utf-16")
    (tmp_path / "mcptest.yml").symlink_to("nowhere.yml")
    (tmp_path / "notes.yml").symlink_to("nowhere.yml")
    (tmp_path / "unreadable.yml").symlink_to("/proc/self/mem")
    found = [found["shown"] for found in find_suites(["."], tmp_path)]
    assert found == ["mcptest.yml", "late.yml", "marked.yml", "notepad.yml", "unreadable.yml"]


def test_a_folder_that_cannot_be_read_is_among_the_suites(tmp_path: Path) -> None:
    (tmp_path / "a.yml").write_text("servers: {}\ntools: []\n", encoding="utf-8")
    (names_only := tmp_path / "half").mkdir()
    (names_only / "b.yml").write_text("servers: {}\ntools: []\n", encoding="utf-8")
    names_only.chmod(0o444)
    found = ["a.yml", "half", "locked"]
    with unreadable(tmp_path / "locked"):
        assert [one["shown"] for one in find_suites(["."], tmp_path)] == found
        for pattern in ("*", "**", "**/*.yml", f"{tmp_path}/*"):
            assert [os.path.relpath(one, tmp_path) for one in match_suites(pattern, tmp_path)] == found
        for pattern in ("*/*.yml", "*/mcptest.yml"):
            assert match_suites(pattern, tmp_path) == [str(names_only), str(tmp_path / "locked")]
        names_only.chmod(0o755)


def test_a_pattern_with_a_name_that_is_too_long_matches_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "mcptest.yml").touch()
    for pattern in ("x" * 300 + "/*", "*/" + "x" * 300):
        assert match_suites(pattern, tmp_path) == []


def test_a_suite_that_a_pattern_matches_with_its_folder_is_found_once(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "mcptest.yml").touch()
    assert match_suites("**/*", tmp_path) == [str(tmp_path / "a" / "b" / "mcptest.yml")]


def test_suites_in_braces_and_in_json_are_found_as_others_are(tmp_path: Path) -> None:
    suites = {
        "a.yml": '{"name": "a",\n  "servers": {}, "tools": []}\n',
        "b.yml": "\ufeff# a suite\n---\n{servers: {}, tools: []}\n",
        "c.yml": "# yaml-language-server: $schema=suite.schema.json\n{evals: []}\n",
        "d.yml": '{"servers": {}, "tools": [',
        "e.yml": json.dumps({"name": "e", "vars": {"long": "x" * 300_000}, "imports": [], "agents": []}),
    }
    others = {
        "inner.yml": '{"openapi": "3", "servers": [], "paths": {"resources": []}}',
        "large.yml": json.dumps({"openapi": "3", "servers": [], "tags": {"tools": 1}, "info": "x" * 300_000}),
        "list.yml": '[{"servers": {}, "tools": []}]',
        "one.yml": "{servers: {}}",
        "template.yml": "{{- if .on }}\nspec:\n  servers: {}\n  tools: []\n{{- end }}\n",
    }
    for name, text in {**suites, **others}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "named.json").write_text(suites["a.yml"], encoding="utf-8")
    (tmp_path / "data.json").write_text('{"servers": []}', encoding="utf-8")
    assert [found["shown"] for found in find_suites(["."], tmp_path)] == list(suites)
    assert match_suites("*.json", tmp_path) == [str(tmp_path / "named.json")]

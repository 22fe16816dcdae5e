"""Suites that the workbench finds by what is in them, whatever they are called."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from mcptest_engine.running.worker.files import find_suites

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
    assert [found["shown"] for found in find_suites(["."], tmp_path)] == ["a.yml", "b.yml"]


def test_no_suite_is_passed_over_that_begins_late_or_with_a_byte_order_mark_or_that_cannot_be_read(
    tmp_path: Path,
) -> None:
    (tmp_path / "late.yml").write_text("tools: []\n" + "# x\n" * 70_000 + "servers: {}\n", encoding="utf-8")
    (tmp_path / "marked.yml").write_text("servers: {}\ntools: []\n", encoding="utf-8-sig")
    (tmp_path / "mcptest.yml").symlink_to("nowhere.yml")
    (tmp_path / "notes.yml").symlink_to("nowhere.yml")
    (tmp_path / "unreadable.yml").symlink_to("/proc/self/mem")
    found = [found["shown"] for found in find_suites(["."], tmp_path)]
    assert found == ["mcptest.yml", "late.yml", "marked.yml", "unreadable.yml"]


def test_a_folder_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    """Not even root can open a path that is too long."""
    inner = os.open(tmp_path, os.O_RDONLY)
    for _ in range(20):
        os.mkdir("d" * 250, dir_fd=inner)
        outer, inner = inner, os.open("d" * 250, os.O_RDONLY, dir_fd=inner)
        os.close(outer)
    os.close(inner)
    (tmp_path / "a.yml").write_text("servers: {}\ntools: []\n", encoding="utf-8")
    told: list[tuple[str, int | None]] = []
    found = find_suites(["."], tmp_path, all_of_them=True, unread=lambda folder, why: told.append((folder, why.errno)))
    assert [one["shown"] for one in found] == ["a.yml"]
    assert [(folder.startswith(str(tmp_path)), code) for folder, code in told] == [(True, errno.ENAMETOOLONG)]

"""The files of the result cache: bounded, and nobody else's."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from mcptest_engine.workspace import fingerprints, result_cache
from mcptest_engine.workspace.result_cache import CacheSize, ResultCache

if TYPE_CHECKING:
    from pathlib import Path


def key(number: int) -> str:
    return f"{number:064x}"


def put(cache: ResultCache, *numbers: int) -> None:
    for number in numbers:
        data = cache.encode(key(number), {"number": number})
        assert data is not None
        cache.put(key(number), data)
    cache.close()


@pytest.fixture
def cache(tmp_path: Path) -> ResultCache:
    return ResultCache(tmp_path / "a" / "results")


def test_what_was_put_is_got_and_nothing_else(cache: ResultCache) -> None:
    put(cache, 1)
    found = cache.get(key(1))
    assert found is not None
    assert found["number"] == 1
    assert (cache.get(key(2)), cache.damaged) == (None, 0)


def test_an_entry_of_another_version_or_under_the_key_of_another_is_none(cache: ResultCache) -> None:
    put(ResultCache(cache.folder, "mcptest.result/v0"), 1)
    put(cache, 2)
    (cache.folder / f"{key(2)}.json").rename(cache.folder / f"{key(3)}.json")
    assert (cache.get(key(1)), cache.get(key(3)), cache.damaged) == (None, None, 2)


def test_what_would_not_be_read_as_what_it_is_is_no_entry(cache: ResultCache) -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    largest = "x" * result_cache.LARGEST
    assert [cache.encode(key(1), {"number": one}) for one in (float("nan"), (1,), largest, deep)] == [None] * 4


def test_beyond_the_bound_what_was_used_longest_ago_goes(cache: ResultCache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_cache, "MOST_RESULTS", 10)
    put(cache, *range(10))
    for number in range(10):
        os.utime(cache.folder / f"{key(number)}.json", (number, number))
    cache.get(key(0))
    put(cache, 10)
    assert cache.size().results == 9
    assert [number for number in range(11) if cache.get(key(number)) is None] == [1, 2]


def test_the_bytes_are_bounded_too(cache: ResultCache, monkeypatch: pytest.MonkeyPatch) -> None:
    put(cache, *range(10))
    monkeypatch.setattr(result_cache, "MOST_BYTES", cache.size().size)
    put(cache, 10)
    assert cache.size().size <= 0.9 * result_cache.MOST_BYTES


def test_clearing_deletes_results_and_leaves_every_other_file(cache: ResultCache) -> None:
    put(cache, *range(3))
    others = ["notes.txt", "0.json", f"{'g' * 64}.json", f"{'0' * 64}.json.bak"]
    for name in others:
        (cache.folder / name).write_text("mine")
    size = cache.size()
    assert cache.clear() == size
    assert sorted(path.name for path in cache.folder.iterdir()) == sorted(others)
    assert cache.clear() == CacheSize(0, 0)


def test_a_cleared_cache_leaves_no_folder(cache: ResultCache) -> None:
    assert cache.clear() == CacheSize(0, 0)
    put(cache, 1)
    cache.clear()
    assert not cache.folder.exists()


def test_a_killed_process_leaves_nothing_for_long(cache: ResultCache, monkeypatch: pytest.MonkeyPatch) -> None:
    put(cache, 1)
    torn = [cache.folder / f".{'0' * 40}.{pid}.0123456789ab.tmp" for pid in (1, 2)]
    for path in torn:
        path.touch()
    os.utime(torn[0], (1, 1))
    cache.clear()
    assert [path.exists() for path in torn] == [False, True]


def test_a_folder_is_known_by_names_and_contents_and_by_nothing_hidden(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("1")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.py").write_text("2")

    def now(suffixes: frozenset[str] | None = None) -> str:
        return fingerprints.of_folder(tmp_path, skipped={"node_modules"}, suffixes=suffixes)

    first, python = now(), now(frozenset({".py"}))
    (tmp_path / ".hidden").write_text("x")
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "c.py").write_text("x")
    assert (now(), now(frozenset({".py"}))) == (first, python)
    (tmp_path / "report.xml").write_text("x")
    assert (now() == first, now(frozenset({".py"})) == python) == (False, True)
    (tmp_path / "sub" / "b.py").rename(tmp_path / "b.py")
    assert now(frozenset({".py"})) != python


def test_a_link_to_a_folder_is_followed_and_a_circle_of_them_ends(tmp_path: Path) -> None:
    """Where several servers share a folder, it is linked into each."""
    shared, server = tmp_path / "shared", tmp_path / "server"
    (shared / "env").mkdir(parents=True)
    server.mkdir()
    (shared / "words.py").write_text("1")
    (shared / "env" / "pyvenv.cfg").touch()
    (server / "lib").symlink_to(shared)
    (shared / "back").symlink_to(server)
    first = fingerprints.of_folder(server, skipped=())
    (shared / "env" / "installed.py").touch()
    assert fingerprints.of_folder(server, skipped=()) == first
    (shared / "words.py").write_text("2")
    assert fingerprints.of_folder(server, skipped=()) != first


def test_a_file_that_is_none_has_no_fingerprint(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert fingerprints.of_file(tmp_path / "pipe") is None
    assert fingerprints.of_file(tmp_path / "missing") is None
    assert fingerprints.of_file(f"{tmp_path}/a\0b") is None


def test_a_large_file_is_known_by_its_size_and_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fingerprints, "LARGEST_READ", 4)
    path = tmp_path / "program"
    path.write_text("12345")
    os.utime(path, ns=(7, 7))
    assert fingerprints.of_file(path) == "5@7"


CLEAR = """
import sys
from pathlib import Path
from mcptest_engine.workspace.result_cache import ResultCache
sys.stdin.readline()
print(ResultCache(Path(sys.argv[1])).clear().results)
"""


def test_several_processes_that_clear_at_once_delete_each_result_once(tmp_path: Path) -> None:
    cache = ResultCache(tmp_path / ".mcptest" / "cache" / "results")
    put(cache, *range(2_000))
    (tmp_path / ".mcptest" / "cache" / "mine.txt").write_text("not a result")
    command = [sys.executable, "-c", CLEAR, str(cache.folder)]
    processes = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("now\n")
        process.stdin.flush()
    said = [process.communicate(timeout=60) for process in processes]
    assert [errors for _, errors in said] == [""] * 4
    assert sum(int(count) for count, _ in said) == 2_000
    assert [path.name for path in (tmp_path / ".mcptest" / "cache").iterdir()] == ["mine.txt"]

"""A disk that fails at any moment costs what it refuses: what is left of a run can be read, and what is missing is told of."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.cli.main import main
from mcptest_engine.workspace import atomic, files
from mcptest_engine.workspace.cassettes import load_cassette
from mcptest_engine.workspace.snapshots import read_snapshots
from mcptest_engine.workspace.workspace import Workspace
from tests.hostile.runs import LARGE_AND_SNAPSHOT as SUITE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

READERS = [
    ["report", "latest"],
    ["report", "latest", "--format", "html", "--output", "read.html"],
    ["report", "latest", "--format", "junit"],
    ["evidence", "latest"],
    ["diff-runs", "latest", "latest"],
    ["coverage"],
    ["run", "--last-failed"],
]


class FailingDisk:
    """The functions of `os`, of which the ones that change the disk fail: the call with this number, or also those after it."""

    def __init__(self, number: int, *, lasting: bool) -> None:
        self._number, self._lasting = number, lasting
        self.calls = 0
        self.flushed_a_folder = False

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        if name not in ("open", "write", "fsync", "replace", "mkdir"):
            return real

        def called(*args: Any, **options: Any) -> Any:
            if name != "open" or args[1] & os.O_CREAT:
                self.calls += 1
                if self.calls == self._number or (self._lasting and self.calls > self._number):
                    self.flushed_a_folder = name == "fsync" and stat.S_ISDIR(os.fstat(args[0]).st_mode)
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real(*args, **options)

        return called


@contextmanager
def failing(number: int, *, lasting: bool) -> Iterator[FailingDisk]:
    """Every file of the workspace is written to such a disk."""
    disk = FailingDisk(number, lasting=lasting)
    with pytest.MonkeyPatch.context() as patch:
        for module in (atomic, files):
            patch.setattr(module, "os", disk)
        yield disk


@pytest.mark.parametrize("lasting", [False, True], ids=["once", "from then on"])
def test_whatever_is_written_while_the_disk_fails_is_read_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, lasting: bool
) -> None:
    """For every single call that writes, makes, flushes or renames a file. What is left is read if it was not left before."""
    monkeypatch.delenv("CI", raising=False)  # where snapshots are not accepted
    number, lost, incomplete = 0, 0, 0
    seen: set[str] = set()
    while True:
        number += 1
        root = tmp_path / str(number)
        root.mkdir()
        (root / "mcptest.yml").write_text(json.dumps(SUITE))
        monkeypatch.chdir(root)
        with failing(number, lasting=lasting) as disk:
            code = main(["record", "tape", "--update-snapshots", "--reporter", "html=out.html"])
        told = capsys.readouterr().err
        assert "Traceback" not in told
        assert code in (0, 1, 2), told
        workspace = Workspace(root)
        assert not [path for path in root.rglob("*") if path.name.endswith(".tmp")]
        assert not [path for path in root.rglob("*") if path.is_file() and not path.stat().st_size]
        if workspace.runs():
            record = workspace.load_run(workspace.runs()[0])
            incomplete += record["tests"][0]["output"]["$file"] is None
            left = what_is_left(root, record)
            for arguments in READERS if left not in seen else ():
                code_read = main(arguments)
                assert code_read in (0, 1), (arguments, capsys.readouterr().err)
            seen.add(left)
        if (root / ".mcptest" / "cassettes" / "tape.json").exists():
            assert load_cassette(workspace, "tape")["servers"]["echo"]["exchanges"]
        elif disk.calls:
            assert code != 0
        if not (root / "out.html").exists():
            assert code != 0
        accepted = list(workspace.snapshots_dir.glob("*.yml"))
        assert accepted or code != 0
        for path in accepted:
            assert read_snapshots(path)
        lost += not workspace.runs()
        if disk.calls < number:
            break
    assert code == 0, told
    assert number > 10
    assert lost > 0
    assert incomplete > 0 or lasting


def test_a_record_of_several_suites_that_the_disk_does_not_store_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also when it was written, and the disk fails only as it is waited for."""
    suites = ("a.yml", "b.yml")
    said = {"name": "said", "tool": "echo", "args": {"text": "hi"}, "expect": {"text": {"contains": "hi"}}}
    number, stored = 0, []
    while True:
        number += 1
        root = tmp_path / str(number)
        root.mkdir()
        for suite in suites:
            (root / suite).write_text(json.dumps({**SUITE, "tools": [said]}))
        monkeypatch.chdir(root)
        with failing(number, lasting=False) as disk:
            assert main(["run", *suites]) == 0
        told = capsys.readouterr().err
        if disk.calls < number:
            break
        assert told.count("warning: cannot save the run") == (0 if disk.flushed_a_folder else 1), number
        stored.append(len(Workspace(root).runs()))
    assert "warning" not in told
    assert set(stored) == {1, 2}


@pytest.mark.parametrize("suites", [("a.yml",), ("a.yml", "b.yml")])
def test_records_are_on_the_disk_when_the_command_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suites: tuple[str, ...]
) -> None:
    """Each of them, and the folder that names it."""
    flushed: set[int] = set()
    monkeypatch.setattr(os, "fsync", lambda descriptor: flushed.add(os.fstat(descriptor).st_ino))
    monkeypatch.chdir(tmp_path)
    said = {"name": "said", "tool": "echo", "args": {"text": "hi"}, "expect": {"text": {"contains": "hi"}}}
    for suite in suites:
        (tmp_path / suite).write_text(json.dumps({**SUITE, "tools": [said]}))
    assert main(["run", *suites]) == 0
    runs = Workspace(tmp_path).runs_dir
    stored = {path.stat().st_ino for path in runs.glob("*.json")}
    assert len(stored) == len(suites)
    assert {runs.stat().st_ino, *stored} <= flushed


def what_is_left(root: Path, record: dict[str, Any]) -> str:
    """The files, and what a record says of its tests, as text without ids, times and the folder's own name."""
    names = sorted(str(path.relative_to(root)) for path in root.rglob("*"))
    tests = [(test["verdict"], test["output"], test["assertions"]) for test in record["tests"]]
    text = json.dumps([names, tests, record["warnings"]])
    return re.sub(r"\b01[0-9A-Z]{24}\b|[0-9a-f]{32,}|\b\d+\.\d+\b", "_", text).replace(str(root), "")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a disk of its own of 1 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", folder], capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip("only root may mount a disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.parametrize("state", ["full", "read-only"])
def test_recording_on_a_disk_that_takes_nothing_fails(
    small_disk: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], state: str
) -> None:
    (small_disk / "mcptest.yml").write_text(json.dumps({**SUITE, "tools": SUITE["tools"][1:]}))
    if state == "full":
        with (small_disk / "filler").open("wb", buffering=0) as filler, pytest.raises(OSError, match="No space left"):
            while True:
                filler.write(b"x" * 4096)
    else:
        subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    monkeypatch.chdir(small_disk)
    assert main(["record", "tape"]) in (1, 2)
    told = capsys.readouterr().err
    assert "the cassette `tape` was not written" in told or "cannot save the cassette" in told
    assert not list(small_disk.rglob("tape.json"))


def test_a_report_on_a_full_disk_leaves_the_old_one(
    small_disk: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mcptest.yml").write_text(json.dumps(SUITE))
    monkeypatch.chdir(tmp_path)
    (small_disk / "old.html").write_text("the old report")
    with (small_disk / "filler").open("wb") as filler:
        filler.write(b"x" * 1_000_000)
    outputs = [f"html={small_disk / name}" for name in ("new.html", "old.html")]
    assert main(["run", *(word for output in outputs for word in ("--reporter", output))]) == 1
    assert "the html report was not written" in capsys.readouterr().err
    assert sorted(path.name for path in small_disk.iterdir()) == ["filler", "old.html"]
    assert (small_disk / "old.html").read_text() == "the old report"
    assert main(["report", "latest", "--format", "html", "--output", str(small_disk / "new.html")]) == 1
    assert sorted(path.name for path in small_disk.iterdir()) == ["filler", "old.html"]

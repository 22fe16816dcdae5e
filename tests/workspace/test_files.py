"""Files under `.mcptest` may have come with a cloned repository: links, pipes and devices are refused, not followed or read."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcptest_engine.core.errors import RecordError
from mcptest_engine.workspace.atomic import write_atomic
from mcptest_engine.workspace.files import (
    list_files,
    list_states,
    make_directory,
    open_file,
    read_file,
    read_named_file,
    remove_file,
    touch_file,
)
from mcptest_engine.workspace.ulid import new_ulid
from mcptest_engine.workspace.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable

AHEAD = "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder that nothing may reach, with one file from long ago in it."""
    folder = tmp_path / "outside"
    (folder / "runs").mkdir(parents=True)
    for place in (folder, folder / "runs"):
        (place / "a.json").write_text('"theirs"')
        os.utime(place / "a.json", (1, 1))
    return folder


@pytest.fixture(params=["", "runs"], ids=["the data folder", "a folder in it"])
def linked(request: pytest.FixtureRequest, tmp_path: Path, outside: Path) -> Path:
    """`a.json` below a `.mcptest` whose folder leads outside."""
    link = tmp_path / "clone" / ".mcptest" / request.param
    link.parent.mkdir(parents=True)
    link.symlink_to(outside if not request.param else outside / "runs")
    return tmp_path / "clone" / ".mcptest" / "runs" / "a.json"


ACTIONS: list[Callable[[Path], object]] = [
    lambda path: write_atomic(path, b"ours"),
    read_file,
    remove_file,
    touch_file,
    lambda path: make_directory(path.parent / "new"),
]


@pytest.mark.parametrize("act", ACTIONS, ids=["write", "read", "remove", "touch", "make a folder"])
def test_a_linked_folder_is_refused_and_what_it_leads_to_stays(
    linked: Path, outside: Path, act: Callable[[Path], object]
) -> None:
    with pytest.raises(
        OSError, match="is a link, and links are not followed there; replace it with a directory"
    ) as told:
        act(linked)
    assert told.value.errno == errno.ELOOP
    assert list_files(linked.parent) == []
    assert list_states(linked.parent) == []
    assert sorted(str(path.relative_to(outside)) for path in outside.rglob("*")) == ["a.json", "runs", "runs/a.json"]
    assert [(path.read_text(), path.stat().st_mtime) for path in outside.rglob("*.json")] == [('"theirs"', 1)] * 2


def test_a_linked_file_is_replaced_or_removed_and_what_it_leads_to_stays(tmp_path: Path, outside: Path) -> None:
    folder = tmp_path / ".mcptest" / "runs"
    make_directory(folder)
    link = folder / "a.json"
    link.symlink_to(outside / "a.json")
    with pytest.raises(OSError, match=r"a\.json is a link, and links are not followed there; replace it with the file"):
        read_file(link)
    assert list_files(folder) == []
    touch_file(link)
    write_atomic(link, b"ours")
    assert not link.is_symlink()
    assert read_file(link) == b"ours"
    link.unlink()
    link.symlink_to(outside / "a.json")
    assert remove_file(link)
    assert not remove_file(link)
    assert (outside / "a.json").read_text() == '"theirs"'
    assert (outside / "a.json").stat().st_mtime == 1


def test_pipes_devices_sockets_folders_and_large_files_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / ".mcptest"
    folder.mkdir()
    monkeypatch.chdir(folder)  # the name of a socket may not be long
    os.mkfifo("pipe")
    Path("folder").mkdir()
    with Path("large").open("wb") as large:
        large.truncate(1 << 40)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        for name, told in {
            "pipe": "pipe is a pipe, no file",
            "folder": "folder is a directory, no file",
            "socket": "socket is a socket",
            "large": "large is too large: 1,099,511,627,776 bytes, at most 1,073,741,824 are read",
        }.items():
            with pytest.raises(OSError, match=told):
                read_file(folder / name)
    assert list_files(folder) == ["large"]


def test_a_device_that_a_person_names_is_read_up_to_a_limit() -> None:
    with pytest.raises(OSError, match="zero is too large"):
        read_named_file("/dev/zero", largest=1 << 20)


def test_what_a_person_names_elsewhere_may_be_reached_through_links(tmp_path: Path, outside: Path) -> None:
    (tmp_path / "mine").symlink_to(outside)
    (outside / "b.json").symlink_to("a.json")
    assert read_file(tmp_path / "mine" / "b.json") == b'"theirs"'
    write_atomic(tmp_path / "mine" / "c.json", b"1")
    assert (outside / "c.json").read_bytes() == b"1"


def test_the_token_cache_in_the_home_directory_may_be_a_link(
    tmp_path: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".mcptest").symlink_to(outside)
    monkeypatch.setenv("HOME", str(home))
    write_atomic(home / ".mcptest" / "runs" / "b.json", b"1")
    assert (outside / "runs" / "b.json").read_bytes() == b"1"


def test_a_descriptor_is_left_open_by_nothing(tmp_path: Path, linked: Path) -> None:
    folder = tmp_path / "own" / ".mcptest"
    make_directory(folder)
    before = len(list(Path("/dev/fd").iterdir()))
    for path in (linked, folder / "a", folder / "missing" / "a"):
        for act in ACTIONS[:4]:
            try:
                act(path)
            except OSError:
                continue
    with open_file(tmp_path / "outside" / "a.json") as file:
        file.read()
    list_states(folder)
    assert len(list(Path("/dev/fd").iterdir())) == before


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_what_is_no_file_is_no_run(tmp_path: Path, outside: Path, kind: str) -> None:
    workspace = Workspace(tmp_path / "clone")
    saved = workspace.save_run({"run_id": new_ulid(), "suite": {"path": "s.yml"}})
    odd = workspace.runs_dir / f"{new_ulid()}.json"
    match kind:
        case "link":
            odd.symlink_to(outside / "a.json")
        case "pipe":
            os.mkfifo(odd)
        case _:
            odd.mkdir()
    assert workspace.runs() == [saved]
    assert workspace.last_run("s.yml") is not None
    path, notes = workspace.latest_run()
    assert path == saved
    assert len(notes) == 1
    assert notes[0].startswith(f"{odd.name} is not a run record: ")
    with pytest.raises(RecordError, match="cannot read"):
        workspace.load_run(odd.stem)


def test_a_run_dated_in_the_future_is_not_the_latest(tmp_path: Path) -> None:
    """A clock that was wrong once decides nothing for ever; nor is such a run saved for ever."""
    workspace = Workspace(tmp_path, keep_runs=2)
    workspace.save_run({"run_id": AHEAD, "suite": {"path": "s.yml"}})
    assert workspace.latest_run() == (workspace.runs_dir / f"{AHEAD}.json", [])
    first = workspace.save_run({"run_id": new_ulid(), "suite": {"path": "s.yml"}})
    path, notes = workspace.latest_run()
    assert path == first
    assert notes == [f"{AHEAD}.json has a date in the future (10889), so it is not the latest run"]
    assert [path.stem for path in workspace.runs()] == [first.stem, AHEAD]
    last = workspace.last_run("s.yml")
    assert last is not None
    assert last["run_id"] == first.stem
    second = workspace.save_run({"run_id": new_ulid(), "suite": {"path": "s.yml"}})
    assert workspace.runs() == [second, first]

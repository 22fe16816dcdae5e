"""A file on the disk: read, saved whole, kept as it was, and never lost; without a screen."""

from __future__ import annotations

import json
import os
import resource
import signal
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcptest_engine.workspace.suite_file import write_suite
from mcptest_tui.state.drafts import Draft, Drafts
from mcptest_tui.state.editor_model import CannotSave, Disk, look, open_file
from mcptest_tui.state.finding import Hit, find_all, next_of, replacement

if TYPE_CHECKING:
    from collections.abc import Iterator


def _file(tmp_path: Path, data: bytes, mode: int = 0o644) -> str:
    path = tmp_path / "suite.yml"
    path.write_bytes(data)
    path.chmod(mode)
    return str(path)


@pytest.mark.parametrize(
    "data", [b"a: 1\n", b"a: 1\r\nb: 2\r\n", b"\xef\xbb\xbfa: 1\n", b"a", b"", b"a\r\nb\n", "ü ☂\n".encode()]
)
def test_a_saved_file_has_the_bytes_that_were_read(tmp_path: Path, data: bytes) -> None:
    path = _file(tmp_path, data)
    file = open_file(path)
    file.save(file.saved)
    assert Path(path).read_bytes() == data


def test_a_save_keeps_the_mode_and_leaves_nothing_beside_the_file(tmp_path: Path) -> None:
    path = _file(tmp_path, b"a: 1\n", 0o664)
    open_file(path).save("a: 2\n")
    assert (Path(path).read_text(), Path(path).stat().st_mode & 0o777) == ("a: 2\n", 0o664)
    assert [found.name for found in tmp_path.iterdir()] == ["suite.yml"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    path = Path(_file(tmp_path, b"a: 1\n"))
    link = tmp_path / "link.yml"
    link.symlink_to(path)
    open_file(str(link)).save("a: 2\n")
    assert link.is_symlink()
    assert path.read_text() == "a: 2\n"


def test_who_writes_right_behind_a_save_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def formatted(path: str, data: bytes) -> None:
        write_suite(path, data + b"# by a formatter\n")

    file = open_file(_file(tmp_path, b"a: 1\n"))
    monkeypatch.setattr("mcptest_tui.state.editor_model.write_suite", formatted)
    file.save("a: 2\n")
    assert look(file.path).digest != file.disk.digest
    monkeypatch.undo()
    file.save("a: 2\n")
    assert look(file.path).digest == file.disk.digest


def test_a_file_with_a_second_name_keeps_it(tmp_path: Path) -> None:
    path = Path(_file(tmp_path, b"a: 1\n"))
    other = tmp_path / "other.yml"
    other.hardlink_to(path)
    open_file(str(path)).save("a: 2\n")
    assert other.read_text() == "a: 2\n"


def test_a_new_file_is_made_with_its_folders(tmp_path: Path) -> None:
    file = open_file(str(tmp_path / "deep" / "er" / "suite.yml"))
    assert file.is_new
    file.save("a: 1\n")
    assert not file.is_new
    assert not file.is_dirty("a: 1\n")


@pytest.fixture
def little_room() -> Iterator[None]:
    """No file can be larger than two kilobytes: what a full disk does, without one."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_048, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.usefixtures("little_room")
def test_without_room_the_old_file_stays_and_the_message_has_path_and_cause(tmp_path: Path, in_place: bool) -> None:
    path = _file(tmp_path, b"a: 1\n")
    if in_place:
        (tmp_path / "other.yml").hardlink_to(path)
    file = open_file(path)
    with pytest.raises(CannotSave, match=r"suite\.yml: file too large"):
        file.save("x" * 5_000)
    assert Path(path).read_bytes() == b"a: 1\n"
    assert file.is_dirty("x" * 5_000)


def test_what_is_no_text_and_what_is_too_long_can_only_be_read(tmp_path: Path) -> None:
    assert open_file(_file(tmp_path, b"a: \xff\n")).read_only == "the file is not UTF-8"
    assert open_file(_file(tmp_path, b"a\n" * 5_000)).read_only == ("its 5,001 lines would make each key slow")
    assert open_file(_file(tmp_path, b"a\n" * 4_999)).read_only == ""


def test_a_folder_is_not_opened(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="is a folder"):
        open_file(str(tmp_path))


def test_looking_at_the_disk_tells_files_apart_by_what_they_hold(tmp_path: Path) -> None:
    path = _file(tmp_path, b"a: 1\n")
    file = open_file(path)
    assert look(path).digest == file.disk.digest
    Path(path).write_text("a: 2\n")
    assert look(path).digest != file.disk.digest
    assert not look(str(tmp_path / "gone")).exists


# Drafts


@pytest.fixture
def drafts(place: Path) -> Drafts:
    """The drafts of the current directory."""
    return Drafts(place)


def _draft(place: Path, text: str, at: float = 1.0) -> Draft:
    return Draft(str(place / "suite.yml"), text, "digest", at, 3, 4)


def test_a_draft_is_found_again_by_another_process(drafts: Drafts, place: Path) -> None:
    put = drafts.put(_draft(place, "half ü\ud800"))
    assert put is not None
    assert put.parent == place / ".mcptest" / "cache" / "drafts"
    assert put.stat().st_mode & 0o777 == 0o600
    assert Drafts(place).find(str(place / "suite.yml")) == _draft(place, "half ü\ud800")
    assert [draft.text for draft in Drafts(place).left_behind(place)] == ["half ü\ud800"]


def test_a_draft_of_what_is_on_the_disk_by_now_is_not_left_behind(drafts: Drafts, place: Path) -> None:
    (place / "suite.yml").write_text("done\n")
    drafts.put(_draft(place, "done\n"))
    assert drafts.left_behind(place) == []


def test_a_pipe_in_the_place_of_a_drafts_file_is_not_waited_for(drafts: Drafts, place: Path) -> None:
    os.mkfifo(place / "suite.yml")
    drafts.put(_draft(place, "x"))
    assert [draft.text for draft in drafts.left_behind(place)] == ["x"]
    assert look(str(place / "suite.yml")) == Disk()


def test_a_dropped_draft_is_gone(drafts: Drafts, place: Path) -> None:
    drafts.put(_draft(place, "x"))
    drafts.drop(str(place / "suite.yml"))
    assert drafts.find(str(place / "suite.yml")) is None


def test_where_the_workspace_cannot_be_written_the_draft_goes_elsewhere(place: Path) -> None:
    (place / ".mcptest").rmdir()
    (place / ".mcptest").write_text("a file stands in the way")
    put = Drafts(place).put(_draft(place, "kept"))
    assert put is not None
    assert place not in put.parents
    found = Drafts(place).find(str(place / "suite.yml"))
    assert found is not None
    assert found.text == "kept"


@pytest.mark.parametrize("broken", ["", "{", "[]", '{"path": 1}', '{"path": "x", "text": "y"}', "null"])
def test_a_broken_draft_is_no_draft(drafts: Drafts, place: Path, broken: str) -> None:
    put = drafts.put(_draft(place, "x"))
    assert put is not None
    put.write_text(broken)
    assert Drafts(place).find(str(place / "suite.yml")) is None
    assert Drafts(place).left_behind(place) == []


def test_the_text_that_was_not_taken_is_put_aside_as_a_file(drafts: Drafts, place: Path) -> None:
    kept = drafts.keep(str(place / "suite.yml"), "theirs\n", "theirs")
    assert kept is not None
    assert kept.read_text() == "theirs\n"
    assert kept.name.startswith("suite.theirs.")
    assert kept.suffix == ".yml"


def test_nothing_that_is_put_aside_takes_the_place_of_another(
    drafts: Drafts, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcptest_tui.state.drafts.time.strftime", lambda _: "20260101-120000")
    kept = [drafts.keep(str(place / folder / "suite.yml"), text, "theirs") for folder, text in ("a1", "b2", "a3", "a4")]
    assert [path and path.read_text() for path in kept] == ["1", "2", "3", "4"]


def test_what_is_put_aside_has_the_bytes_that_others_wrote(drafts: Drafts, place: Path) -> None:
    kept = drafts.keep(str(place / ("x" * 250 + ".yml")), b"caf\xe9\r\n", "theirs")
    assert kept is not None
    assert kept.read_bytes() == b"caf\xe9\r\n"


# Finding


def test_small_letters_find_both_kinds_and_capitals_only_themselves() -> None:
    lines = ["one One", "ONE"]
    assert find_all(lines, "one")[0] == [Hit(0, 0, 3), Hit(0, 4, 7), Hit(1, 0, 3)]
    assert find_all(lines, "One")[0] == [Hit(0, 4, 7)]
    assert find_all(["a.b axb"], "a.b")[0] == [Hit(0, 0, 3)]


def test_a_pattern_finds_and_its_groups_go_into_the_replacement() -> None:
    hits, wrong = find_all(["x: 12"], r"(\d)(\d)", as_pattern=True)
    assert (hits, wrong) == ([Hit(0, 3, 5)], "")
    assert replacement("x: 12", hits[0], r"(\d)(\d)", r"\2\1", as_pattern=True) == "21"
    assert find_all(["x"], "(", as_pattern=True)[1].startswith("not a pattern")


def test_the_search_goes_around_the_end() -> None:
    hits = [Hit(0, 0, 1), Hit(2, 0, 1)]
    assert [next_of(hits, *place) for place in ((0, 1), (2, 1), (0, 0))] == [1, 0, 0]
    assert [next_of(hits, *place, back=True) for place in ((2, 0), (0, 0))] == [0, 1]
    assert next_of([], 0, 0) is None


@pytest.mark.parametrize("newer", ["here", "at home"])
def test_of_two_drafts_of_a_file_the_newer_is_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, newer: str
) -> None:
    """Where the folder of the workspace could not be written for a time, another has one, too."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    path = str(tmp_path / "mcptest.yml")
    for at, where in ((1.0, {"here": "at home", "at home": "here"}[newer]), (2.0, newer)):
        written = Drafts(tmp_path).put(Draft(path, where, "", at))
        assert written is not None
        if where == "at home":
            other = tmp_path / "state" / "mcptest" / "drafts"
            other.mkdir(parents=True)
            written.rename(other / written.name)
    found = Drafts(tmp_path).find(path)
    assert found is not None
    assert found.text == newer
    assert Drafts(tmp_path).left_behind(tmp_path) == [found]


def test_a_draft_that_another_user_may_have_planted_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name of the temporary folder can be guessed, and everybody may make a folder beside it."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    root, folder = tmp_path / "project", tmp_path / "temporary" / f"mcptest-drafts-{os.getuid()}"
    root.mkdir()
    folder.mkdir(parents=True, mode=0o700)
    draft = Draft(str(root / "mcptest.yml"), "planted: true\n", "", 1.0)
    (folder / "x.draft.json").write_text(json.dumps(draft._asdict()))
    assert Drafts(root).left_behind(root) == [draft]
    folder.chmod(0o777)
    assert Drafts(root).left_behind(root) == []
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").chmod(0o700)
    assert Drafts(root).left_behind(root) == []

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest_engine.core.errors import McptestError, RecordError
from mcptest_engine.workspace.active_runs import ActiveRun, ActiveRunFile
from mcptest_engine.workspace.json_text import is_small, json_pieces, to_json_bytes
from mcptest_engine.workspace.side_files import SideFiles
from mcptest_engine.workspace.ulid import is_ulid, new_ulid
from mcptest_engine.workspace.workspace import Workspace, find_workspace

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)
SAVE_MANY = """
import sys
from pathlib import Path
from mcptest_engine.workspace.ulid import new_ulid
from mcptest_engine.workspace.workspace import Workspace
for _ in range(25):
    print(Workspace(Path(sys.argv[1]), keep_runs=1000).save_run({"run_id": new_ulid()}).name)
"""

FILL = """
import resource, signal, sys
from pathlib import Path
from mcptest_engine.core.errors import McptestError
from mcptest_engine.workspace.workspace import Workspace
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    Workspace(Path(sys.argv[1])).save_run({"run_id": "01KAM6R5N3Z8W4V7X2Y9T1Q0PB", "text": "x" * 100_000})
except McptestError as wrong:
    print(wrong)
"""


def record(suite="s.yml", **members):
    return {"schema_version": "mcptest.run/v1", "run_id": new_ulid(), "suite": {"name": "s", "path": suite}, **members}


@pytest.mark.parametrize("mark", [".mcptest", "mcptest.yaml", "mcptest.yml", ".git"])
def test_the_workspace_is_the_nearest_marked_directory_upwards(tmp_path, mark):
    inner = tmp_path / "a" / "b" / "c"
    inner.mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    (tmp_path / "a" / mark).mkdir()
    assert find_workspace(inner).root == tmp_path / "a"


def test_without_a_mark_the_workspace_is_where_mcptest_was_started(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if not any(
        (parent / mark).exists() for parent in tmp_path.parents for mark in (".git", ".mcptest", "mcptest.yaml")
    ):
        assert find_workspace(tmp_path).root == tmp_path


def test_the_token_cache_in_the_home_directory_marks_no_workspace(tmp_path, monkeypatch):
    """`~/.mcptest` never marks a workspace; other marks there do."""
    home, work = tmp_path / "home", tmp_path / "home" / "work"
    work.mkdir(parents=True)
    (home / ".mcptest").mkdir()
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("HOME", str(home))
    assert find_workspace(work).root == tmp_path
    (home / "mcptest.yml").touch()
    assert find_workspace(work).root == home


def test_a_path_is_shown_relative_to_the_workspace(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "link").symlink_to(root)
    assert Workspace(root).relative(root / "a" / "b.yml") == "a/b.yml"
    assert Workspace(root).relative(tmp_path / "other.yml") == "../other.yml"
    assert Workspace(root).relative(tmp_path / "link" / "b.yml") == "b.yml"


def test_a_saved_run_comes_back_by_id_and_by_path(tmp_path):
    workspace = Workspace(tmp_path)
    saved = record(text="é\n\ud800", number=0.1, nothing=None)
    path = workspace.save_run(saved)
    assert path == tmp_path / ".mcptest" / "runs" / f"{saved['run_id']}.json"
    assert workspace.load_run(saved["run_id"]) == workspace.load_run(saved["run_id"].lower()) == saved
    assert workspace.load_run(path) == saved
    assert [name.name for name in path.parent.iterdir()] == [path.name]


def test_numbers_that_json_does_not_have_are_saved_as_text(tmp_path):
    workspace = Workspace(tmp_path)
    path = workspace.save_run(record(values=[float("nan"), float("-inf"), 1.5]))
    assert json.loads(path.read_text(), parse_constant=pytest.fail)["values"] == ["NaN", "-Infinity", 1.5]


@pytest.mark.parametrize("content", [b"", b'{"run_id": ', b"[1]", b"\xff\xfe", b"[" * 100_000])
def test_a_torn_record_is_one_clear_error(tmp_path, content):
    path = tmp_path / "run.json"
    path.write_bytes(content)
    with pytest.raises(RecordError, match="is not a run record"):
        Workspace(tmp_path).load_run(path)


@pytest.mark.parametrize("name", ["01KAM6R5N3Z8W4V7X2Y9T1Q0PB", "nowhere/run.json"])
def test_a_run_that_is_not_there_is_named(tmp_path, name):
    with pytest.raises(RecordError, match=f'there is no run "{name}" here'):
        Workspace(tmp_path).load_run(name)


HOLD = """
import sys
from pathlib import Path
from mcptest_engine.workspace.side_files import SideFiles
from mcptest_engine.workspace.workspace import Workspace
print(SideFiles(Workspace(Path(sys.argv[1])), sys.argv[2])("x" * 2_000_000, "large")["$file"], flush=True)
sys.stdin.read()
"""


def test_large_outputs_of_a_killed_run_go_with_the_next_run_and_those_of_one_that_goes_on_stay(tmp_path):
    run_id = new_ulid()
    command = [sys.executable, "-c", HOLD, str(tmp_path), run_id]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        place = tmp_path / ".mcptest" / process.stdout.readline().strip()
        minutes_ago = time.time() - 300
        os.utime(place.parent, (minutes_ago, minutes_ago))
        Workspace(tmp_path).save_run(record())
        assert place.stat().st_size == 2_000_002
        process.kill()
        process.wait(timeout=60)
        os.utime(place.parent, (minutes_ago, minutes_ago))
        note = ActiveRunFile(Workspace(tmp_path).data_dir, run_id)
        note.write(ActiveRun(run_id, "on another machine"))
        Workspace(tmp_path).save_run(record())
        assert place.exists()
        note.remove(time.time())
        Workspace(tmp_path).save_run(record())
        assert not place.parent.exists()


def test_a_saved_run_keeps_its_large_outputs_and_holds_nothing_open(tmp_path):
    workspace = Workspace(tmp_path)
    before = len(list(Path("/dev/fd").iterdir()))
    kept = record()
    place = workspace.data_dir / SideFiles(workspace, kept["run_id"])("x" * 2_000_000, "large")["$file"]
    workspace.save_run(kept)
    assert len(list(Path("/dev/fd").iterdir())) == before
    os.utime(place.parent, (1, 1))
    workspace.save_run(record())
    assert place.exists()


def test_runs_are_listed_newest_first_and_strangers_are_left_alone(tmp_path):
    workspace = Workspace(tmp_path)
    assert workspace.runs() == []
    paths = [workspace.save_run(record()) for _ in range(5)]
    (workspace.runs_dir / "notes.json").write_text("{}")
    assert workspace.runs() == paths[::-1]


def test_the_newest_runs_are_kept_and_older_ones_go_with_their_side_files(tmp_path):
    """`runs/` keeps the newest `keep_runs`."""
    workspace = Workspace(tmp_path, keep_runs=3)
    first = workspace.save_run(record())
    aside = first.with_suffix("")
    aside.mkdir()
    (aside / "x.json").write_text("1")
    later = [workspace.save_run(record()) for _ in range(3)]
    assert workspace.runs() == later[::-1]
    assert not aside.exists()


def test_a_run_whose_folder_is_deleted_while_it_is_saved_leaves_no_empty_record(tmp_path):
    workspace = Workspace(tmp_path)
    workspace.make_runs_dir()

    def tests():
        shutil.rmtree(workspace.runs_dir)
        yield {}

    with pytest.raises(McptestError, match="cannot save the run"):
        workspace.save_run(record(tests=tests()))
    assert workspace.runs() == []


def test_the_runs_of_a_command_are_listed_once_and_anew_by_the_next(tmp_path):
    """Each suite of a command asks for its earlier runs: none of those of the same command is among them."""
    workspace = Workspace(tmp_path)
    first, other = workspace.save_run(record()), workspace.save_run(record("other.yml"))
    with workspace.remembered_runs():
        assert list(workspace.run_files_of("s.yml")) == [first]
        second = workspace.save_run(record())
        assert list(workspace.run_files_of("s.yml")) == [first]
        assert list(workspace.run_files_of("other.yml")) == [other]
    assert list(workspace.run_files_of("s.yml")) == [second, first]


def test_a_saved_run_is_looked_at_once_for_all_suites_of_a_command(tmp_path, monkeypatch):
    """Otherwise a thousand saved runs are looked at by each of a hundred suites."""
    workspace = Workspace(tmp_path)
    paths = [f"caf\u00e9 {number}.yml" for number in range(5)]
    saved = [workspace.save_run(record(path)) for path in paths]
    looked_at = []
    lstat = os.lstat

    def noting_lstat(path, **more):
        looked_at.append(path)
        return lstat(path, **more)

    monkeypatch.setattr(os, "lstat", noting_lstat)
    with workspace.remembered_runs():
        assert next(workspace.run_files_of(paths[4])) == saved[4]
        assert [path for path in looked_at if path in saved] == saved[:3:-1], "no further back than is needed"
        for path, file in [*zip(paths, saved, strict=True)] * 2:
            assert list(workspace.run_files_of(path)) == [file]
    assert sorted(path for path in looked_at if path in saved) == saved


def test_what_killed_runs_left_is_cleared_away(tmp_path):
    workspace = Workspace(tmp_path)
    kept = workspace.save_run(record())
    old, young = kept.parent / new_ulid(), kept.parent / new_ulid()
    for directory in (old, young):
        directory.mkdir()
        (directory / "x.json").write_text("1")
    stray = kept.parent / ".x.json.1.abc.tmp"
    stray.write_text("torn")
    for path in (old, stray):
        os.utime(path, (1, 1))
    workspace.save_run(record())
    assert not old.exists()
    assert not stray.exists()
    assert young.exists()


@pytest.mark.parametrize("at", [".mcptest", ".mcptest/runs"])
def test_nothing_is_written_or_deleted_through_a_linked_folder(tmp_path, at):
    """A cloned repository may hold any link."""
    elsewhere = tmp_path / "elsewhere"
    theirs = [elsewhere / "runs" / new_ulid(), elsewhere / new_ulid()]
    for directory in theirs:
        directory.mkdir(parents=True)
        (directory / "precious.txt").write_text("keep me")
        os.utime(directory, (1, 1))
    root = tmp_path / "clone"
    link = root / at
    link.parent.mkdir(parents=True)
    link.symlink_to(elsewhere)
    with pytest.raises(McptestError, match="is a link, and links are not followed there; replace it with a directory"):
        Workspace(root, keep_runs=1).save_run(record())
    assert sorted(path.name for path in elsewhere.iterdir()) == sorted(["runs", theirs[1].name])
    assert [path.name for path in (elsewhere / "runs").iterdir()] == [theirs[0].name]
    assert [(directory / "precious.txt").read_text() for directory in theirs] == ["keep me", "keep me"]


@pytest.mark.parametrize("abandoned", [True, False], ids=["without a record", "beside the oldest record"])
def test_a_link_among_the_runs_is_removed_and_what_it_leads_to_stays(tmp_path, abandoned):
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "precious.txt").write_text("keep me")
    os.utime(victim, (1, 1))
    workspace = Workspace(tmp_path / "clone", keep_runs=1)
    first = workspace.save_run(record())
    link = workspace.runs_dir / ("01ARZ3NDEKTSV4RRFFQ69G5FAV" if abandoned else first.stem)
    link.symlink_to(victim)
    os.utime(link, (1, 1), follow_symlinks=False)
    workspace.save_run(record())
    assert (victim / "precious.txt").read_text() == "keep me"
    assert not link.is_symlink()


def test_several_processes_saving_at_once_lose_nothing(tmp_path):
    processes = [
        subprocess.Popen([sys.executable, "-c", SAVE_MANY, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    names = [name for process in processes for name in process.communicate(timeout=60)[0].split()]
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert sorted(path.name for path in Workspace(tmp_path).runs()) == sorted(names)
    assert len(names) == 75


def test_the_last_run_of_a_suite_is_found_among_others(tmp_path):
    workspace = Workspace(tmp_path)
    assert workspace.last_run("s.yml") is None
    workspace.save_run(record("ü/s.yml"))
    wanted = record("ü/s.yml")
    workspace.save_run(wanted)
    workspace.save_run(record("other.yml", text='"ü/s.yml"'))
    (workspace.runs_dir / f"{new_ulid()}.json").write_text('{"suite": {"path": "ü/s.yml"}, "torn')
    assert workspace.last_run("ü/s.yml") == wanted


@pytest.mark.parametrize("tests", [None, 3, {"id": "t"}, ["t"]])
def test_a_record_whose_tests_are_damaged_is_passed_by(tmp_path, tests):
    workspace = Workspace(tmp_path)
    whole = {"run_id": new_ulid(), "suite": {"path": "s.yml"}, "tests": [{"id": "t", "verdict": "fail"}]}
    workspace.save_run(whole)
    workspace.save_run({**whole, "run_id": new_ulid(), "tests": tests})
    assert workspace.last_run("s.yml") == whole
    assert workspace.last_verdicts("s.yml") == {"t": "fail"}


def test_git_keeps_snapshots_and_cassettes_but_no_runs(tmp_path):
    """What is accepted by people belongs in the repository."""
    subprocess.run(["git", "init", "-q", tmp_path], check=True, env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull})
    workspace = Workspace(tmp_path)
    workspace.save_run(record())
    for name in ("snapshots/s.yml", "snapshots/s.pending.yml", "cassettes/c.json", "cache/x", "inline/y.yml"):
        path = workspace.data_dir / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    seen = subprocess.run(
        ["git", "ls-files", "--others", "--exclude-standard"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert seen.stdout.split() == [".mcptest/.gitignore", ".mcptest/cassettes/c.json", ".mcptest/snapshots/s.yml"]
    (workspace.data_dir / ".gitignore").write_text("mine")
    workspace.save_run(record())
    assert (workspace.data_dir / ".gitignore").read_text() == "mine"


def test_a_place_that_cannot_be_written_is_one_clear_error(tmp_path):
    (tmp_path / ".mcptest").write_text("a file where the directory should be")
    with pytest.raises(McptestError, match=r"cannot save the run as .*: (File exists|Not a directory)"):
        Workspace(tmp_path).save_run(record())


def test_a_disk_that_takes_no_more_is_one_clear_error_and_leaves_nothing_torn(tmp_path):
    """The limit on file sizes fails a write half way, as a full disk does."""
    done = subprocess.run(
        [sys.executable, "-c", FILL, tmp_path], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.startswith("cannot save the run as ")
    assert list((tmp_path / ".mcptest" / "runs").iterdir()) == []


def test_a_result_nested_too_deeply_is_one_clear_error(tmp_path):
    deep: list[Any] = []
    for _ in range(50_000):
        deep = [deep]
    with pytest.raises(McptestError, match="nested too deeply"):
        Workspace(tmp_path).save_run(record(deep=deep))
    assert list((tmp_path / ".mcptest" / "runs").iterdir()) == []


def test_run_ids_sort_in_the_order_they_were_made():
    ids = [new_ulid() for _ in range(5000)]
    assert ids == sorted(set(ids))
    assert all(is_ulid(run_id) for run_id in ids)


def test_run_ids_still_grow_when_the_clock_is_set_back(monkeypatch):
    before = new_ulid()
    monkeypatch.setattr("time.time_ns", lambda: 0)
    assert new_ulid() > before


@given(JSON)
def test_json_in_pieces_reads_back_as_what_was_written(value):
    assert json.loads(b"".join(json_pieces(value))) == json.loads(to_json_bytes(value)) == json.loads(json.dumps(value))


@given(JSON, st.integers(1, 400))
def test_a_small_value_is_never_larger_than_its_limit(value, limit):
    if is_small(value, limit):
        assert len(to_json_bytes(value)) <= limit


def test_a_workspace_that_only_a_folder_above_makes_is_a_stray_one(tmp_path: Path) -> None:
    """Its runs are saved where nobody looks for them, so the command line says where."""
    (tmp_path / ".mcptest").mkdir()
    below = tmp_path / "below"
    below.mkdir()
    workspace = find_workspace(below)
    assert workspace.root == tmp_path
    assert workspace.is_stray_for(below)
    assert not workspace.is_stray_for(tmp_path)
    (tmp_path / "mcptest.yml").write_text("servers: {}\n")
    assert not workspace.is_stray_for(below)

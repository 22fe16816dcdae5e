"""A `.mcptest` that came with a repository, each of whose files and folders is in turn something else than it seems to be."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcptest_engine.cli.main import main
from mcptest_engine.workspace.active_runs import ActiveRun, ActiveRunFile
from mcptest_engine.workspace.agent_files import save_inline
from mcptest_engine.workspace.ulid import new_ulid
from mcptest_engine.workspace.workspace import Workspace
from mcptest_tui.session import SessionFile
from mcptest_tui.state.drafts import Draft, Drafts
from mcptest_tui.suites import DocumentCache
from tests.hostile.runs import ECHO, LARGE_AND_SNAPSHOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SCORER = "import json, sys; json.load(sys.stdin); print(json.dumps({'verdict': 'pass', 'score': 1}))"
SUITE = LARGE_AND_SNAPSHOT | {
    "scorers": [{"name": "fair", "type": "exec", "command": [sys.executable, "-S", "-c", SCORER]}],
    "evals": [{"name": "graded", "prompt": "p", "output": "o", "rubric": "r", "scorers": ["fair"]}],
}
TARGET = ["--command", shlex.join(ECHO["command"]), "--allow", "echo"]
COMMANDS = [
    ["run", "--cache"],
    ["run", "--update-snapshots", "--reporter", "html=out.html"],
    ["record", "tape"],
    ["run", "--replay", "tape"],
    ["eval", "--cache"],
    ["eval"],
    ["report", "latest"],
    ["report", "latest~1"],
    ["diff-runs", "latest~1", "latest"],
    ["coverage"],
    ["evidence", "latest"],
    ["run", "--last-failed"],
    ["propose", "echo", "--args", '{"text": "hi"}', "--server", "echo", "--write", "mcptest.yml", "--single-call"],
    ["review", "--accept-all", "--loosening"],
    ["review", "--undo"],
    ["review", "--reject-all"],
    ["demo"],
    ["generate", "suite", *TARGET, "--output", "generated.yml"],
    ["init", *TARGET, "--yes", "--force", "--output", "made.yml"],
    ["cache", "clear"],
]
REFUSED = [
    "",
    "runs",
    "snapshots",
    "snapshots/mcptest.yml",
    "snapshots/mcptest.pending.yml",
    "cassettes proposals",
    "cache",
]
"""Where some command refuses to go on when that is a link; `cassettes` and `proposals` are used by different ones."""
PASSED_OVER = [
    ".gitignore cache/drafts/DRAFT.draft.json runs/RUN.json cassettes/tape.json proposals/PROPOSAL.json review-undo.json",
    "runs/RUN cache/results/RESULT.json cache/verdicts/VERDICT.json cache/session.json cache/documents.json inline under-way",
    "runs/RUN/large.json cache/drafts under-way/NOTE inline/INLINE.yml",
]
"""Where each command does all its work whatever is a link, so that one link hides nothing of what is done with another."""
REFUSED_BY_CLEAR = ["cache/results", "cache/verdicts"]


def work_at_the_workbench(root: Path) -> None:
    """What the workbench, its engine and the MCP server write without being asked."""
    workspace, session, documents = Workspace(root), SessionFile(root), DocumentCache(root)
    session.load()
    documents.load()
    for act in (
        lambda: session.save(session.text_of({"mode": "run"}) or "{}"),
        lambda: documents.save([]),
        lambda: save_inline(workspace, new_ulid(), "tools: []\n"),
    ):
        try:
            act()
        except Exception as refused:  # noqa: BLE001 - that something is refused is as good as that it is done
            assert "link" in str(refused) or "directory" in str(refused).lower(), refused
    drafts = Drafts(root)
    drafts.put(Draft(path=str(root / "mcptest.yml"), text="unsaved", base="", at=time.time()))
    drafts.keep(str(root / "mcptest.yml"), "theirs", "theirs")
    drafts.left_behind(root)
    drafts.drop(str(root / "mcptest.yml"))
    run_id = new_ulid()
    note = ActiveRunFile(workspace.data_dir, run_id)
    note.write(ActiveRun(run_id, "s"))
    note.touch()
    note.remove(time.time() + 7_200)


@pytest.fixture(scope="module", autouse=True)
def _not_in_ci() -> Iterator[None]:
    """Under CI some of the commands accept nothing and write nothing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("CI", raising=False)
        yield


@pytest.fixture(scope="module")
def worked_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace in which everything that can be kept under `.mcptest` is."""
    root = tmp_path_factory.mktemp("worked")
    (root / "mcptest.yml").write_text(json.dumps(SUITE))
    before = Path.cwd()
    os.chdir(root)
    try:
        for command in COMMANDS[:-1]:
            assert main(command) in (0, 1), command
        assert main(["run", "--cache"]) == 0
        assert main(["eval", "--cache"]) == 0
    finally:
        os.chdir(before)
    data = root / ".mcptest"
    (data / "snapshots" / "mcptest.pending.yml").write_text("small: [1]\n")
    (data / "review-undo.json").write_text('{"written": [], "forgotten": []}')
    (data / "proposals").mkdir(exist_ok=True)
    (data / "proposals" / f"{new_ulid()}.json").write_text("{}")
    (data / "under-way").mkdir(exist_ok=True)
    (data / "under-way" / f"{new_ulid()}.1.json").write_text("{}")
    workspace = Workspace(root)
    save_inline(workspace, new_ulid(), "tools: []\n")
    session = SessionFile(root)
    session.save(session.text_of({"mode": "edit"}) or "")
    DocumentCache(root).save([])
    Drafts(root).put(Draft(path=str(root / "mcptest.yml"), text="x", base="", at=1.0))
    return root


def found(data: Path, entry: str) -> Path:
    """The file or folder that is meant, its name as it is there."""
    place = data
    for part in Path(entry).parts:
        if part in ("RUN", "RUN.json"):
            newest = max(path.name for path in place.iterdir() if path.is_dir())
            place /= newest + part.removeprefix("RUN")
        elif part.split(".")[0].isupper():
            place = max(path for path in place.iterdir() if path.suffix == (Path(part).suffix or ".json"))
        else:
            place /= part
    return place


def state_of(folder: Path) -> dict[str, tuple[int, bytes | None]]:
    """Everything in a folder: when it was changed, and what files hold."""
    return {
        str(path.relative_to(folder)): (path.lstat().st_mtime_ns, path.read_bytes() if path.is_file() else None)
        for path in sorted([folder, *folder.rglob("*")])
    }


def cloned(worked_in: Path, tmp_path: Path) -> Path:
    root = tmp_path / "clone"
    shutil.copytree(worked_in, root)
    return root


@pytest.mark.parametrize("entries", [*REFUSED, *PASSED_OVER, *REFUSED_BY_CLEAR])
def test_whatever_is_a_link_nothing_outside_is_changed_by_any_command(
    worked_in: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entries: str
) -> None:
    root = cloned(worked_in, tmp_path)
    (root / "generated.yml").unlink()  # which is not written over
    outside = tmp_path / "outside"
    outside.mkdir()
    links = [found(root / ".mcptest", entry) for entry in entries.split(" ")]
    for number, link in enumerate(links):
        link.rename(outside / f"theirs-{number}")
        link.symlink_to(outside / f"theirs-{number}")
    for path in (outside, *outside.rglob("*")):  # so old that it would be cleared away
        os.utime(path, (1, 1))
    before = state_of(outside)
    monkeypatch.chdir(root)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    codes = []
    for command in COMMANDS:
        codes.append(main(command))
        assert state_of(outside) == before, command
    assert set(codes) <= {0, 1, 2}
    if entries in PASSED_OVER:
        assert set(codes) == {0}, dict(zip(map(tuple, COMMANDS), codes, strict=True))
    work_at_the_workbench(root)
    assert state_of(outside) == before


@pytest.mark.parametrize("newest", ["a link to /dev/zero", "a pipe", "a link to a pipe", "a link to a record"])
def test_a_newest_record_that_is_no_file_is_passed_over_and_told_of(
    worked_in: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    newest: str,
) -> None:
    root = cloned(worked_in, tmp_path)
    runs = root / ".mcptest" / "runs"
    os.mkfifo(tmp_path / "pipe")
    place = runs / f"{new_ulid()}.json"
    make: Callable[[], object] = {
        "a link to /dev/zero": lambda: place.symlink_to("/dev/zero"),
        "a pipe": lambda: os.mkfifo(place),
        "a link to a pipe": lambda: place.symlink_to(tmp_path / "pipe"),
        "a link to a record": lambda: place.symlink_to(max(runs.glob("*.json"))),
    }[newest]
    make()
    monkeypatch.chdir(root)
    for command in COMMANDS[6:12]:
        capsys.readouterr()
        assert main(command) == 0, command
        told = capsys.readouterr().err
        if "latest" in command:
            assert f"note: {place.name} is not a run record: {place.name} is a" in told
    assert main(["report", place.stem]) == 2
    assert f"{place.name} is a" in capsys.readouterr().err
    assert main(["report", f".mcptest/runs/{place.name}"]) == 2
    assert f"{place.name} is a" in capsys.readouterr().err


def test_reading_takes_no_memory_for_a_file_that_is_too_large(worked_in: Path, tmp_path: Path) -> None:
    """A sparse file takes no room on the disk of whoever sends it."""
    root = cloned(worked_in, tmp_path)
    place = root / ".mcptest" / "runs" / f"{new_ulid()}.json"
    with place.open("wb") as file:
        file.truncate(1 << 42)
    limited = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30)); sys.argv[0] = 'mcptest';"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"{limited} from mcptest_tui.__main__ import main; main()", "report", "latest"],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert f"{place.name} is too large: 4,398,046,511,104 bytes, at most 1,073,741,824 are read" in done.stderr

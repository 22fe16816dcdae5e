"""What the workbench is told of hooks, as they happen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.engine_process.conftest import run
from tests.running.hook_suites import Folder, writing

if TYPE_CHECKING:
    from pathlib import Path

    from tests.engine_process.conftest import Child


def write(folder: Folder, hooks: object) -> None:
    (folder.path / "mcptest.yml").write_text(folder.suite(hooks, writing("one")), encoding="utf-8")


def test_hooks_are_told_in_their_place(child: Child, place: Path) -> None:
    """The timeline of a run: each command begins and ends, with what it wrote, around the test that it is for."""
    folder = Folder(place)
    hooks = {
        "beforeAll": folder.script("all", "echo ready"),
        "beforeEach": folder.script("each"),
        "afterEach": folder.script("after", "echo no >&2; exit 2"),
    }
    write(folder, hooks)
    record = run(child)["record"]
    names = [told["event"] for told in child.told() if told.get("run") == "r"]
    told = [name for name in names if name.startswith(("hook.", "case.")) and name != "case.answered"]
    around = ["hook.started", "hook.finished"]
    assert told == [*around, *around, "case.started", "case.finished", *around]
    first, *_, last = child.events("hook.started")
    assert {key: first[key] for key in ("phase", "command")} == {"phase": "beforeAll", "command": hooks["beforeAll"]}
    assert "test" not in first
    assert last["test"] == "mcptest.yml::tool::one"
    finished = [told["hook"] for told in child.events("hook.finished")]
    assert record["hooks"] == [hook for hook in finished if "test" not in hook or not hook["passed"]]
    assert [(hook["passed"], hook.get("output")) for hook in finished] == [
        (True, "ready\n"),
        (True, None),
        (False, "no\n"),
    ]
    assert child.events("warned")[0]["message"].startswith("one: afterEach failed: ")


def test_of_a_long_output_the_end_is_told(child: Child, place: Path) -> None:
    """Whoever wants all of it reads the record."""
    folder = Folder(place)
    write(folder, {"beforeAll": folder.python("talk.py", "print('x' * 50_000 + ' end')")})
    record = run(child)["record"]
    (hook,) = (told["hook"] for told in child.events("hook.finished"))
    assert hook["output"].endswith("x end\n")
    assert len(hook["output"]) == 2_000
    assert record["hooks"] == [hook]


def test_no_server_is_started_before_a_before_all(child: Child, place: Path) -> None:
    """Not in advance for the next run either: it may read what the hook makes."""
    folder = Folder(place)
    write(folder, {"beforeAll": folder.script("all")})
    for key in ("first", "second"):
        run(child, key)
    assert folder.lines() == ["all", "server starts", "one", "server ends"] * 2

"""The hooks of a run and of a test, in the detail."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_tui.state.hook_rows import SHOWN, hook_lines
from mcptest_tui.state.result_rows import result_lines, summary_lines
from tests.tui.state.making import ended, finished, id_of, item, started, store_of

if TYPE_CHECKING:
    from mcptest_engine.engine_process.workbench_events import WorkbenchEvent


def hook(phase="beforeAll", passed=True, **more):
    return {
        "phase": phase,
        "command": "./seed.sh",
        "passed": passed,
        "duration_ms": 12.4,
        "started_offset_ms": 0.0,
        **more,
    }


def words(lines):
    return [" " * line.at + "".join(piece for piece, _ in line.pieces) for line in lines]


def test_a_failed_hook_says_why_and_shows_the_end_of_what_it_wrote():
    """Hook phases with their output. Text of a program is data."""
    output = "\n".join(f"line {number}" for number in range(30)) + "\n\x1b[2J[red]boom[/]"
    lines = [
        "".join(piece for piece, _ in pieces)
        for _, pieces in hook_lines([hook(passed=False, message="exited with 3", output=output)])
    ]
    assert lines[0] == "✗ beforeAll  ./seed.sh   12 ms"
    assert lines[1] == "exited with 3"
    assert lines[-1] == "│ ␛[2J[red]boom[/]"
    assert "│ line 5" not in lines


def test_of_many_hooks_those_that_failed_are_never_left_out():
    hooks = [hook("beforeEach") for _ in range(100)] + [hook("afterEach", passed=False, message="no")]
    lines = ["".join(piece for piece, _ in pieces) for _, pieces in hook_lines(hooks)]
    assert sum("beforeEach" in line for line in lines) == SHOWN
    assert any("✗ afterEach" in line for line in lines)
    assert lines[-1] == f"and {100 - SHOWN} more"


def test_a_run_tells_its_hooks_and_each_test_those_around_it():
    """A new run forgets those of the last."""
    store = store_of(item("a"), item("b"))
    view = store.run_view
    around = hook("beforeEach", test=id_of("a"))
    events: list[WorkbenchEvent] = [
        started("u1", id_of("a"), id_of("b")),
        {"event": "hook.finished", "run": "u1", "hook": hook()},
        {"event": "hook.finished", "run": "u1", "hook": around},
        finished("u1", id_of("a")),
        ended("u1", hooks=[hook()], metric_rollups=[{"name": "quality", "mean": 2 / 3, "count": 2}]),
    ]
    store.apply_many(events)
    assert view.summary is not None
    told = words(summary_lines(view.summary))
    assert "  ✓ beforeAll  ./seed.sh   12 ms" in told
    assert "  quality  0.667  mean of 2 tests" in told
    assert view.hooks_around(id_of("a")) == [around]
    row = store.rows[id_of("a")]
    assert row.result is not None
    assert "  ✓ beforeEach  ./seed.sh   12 ms" in words(
        result_lines(row, row.result, None, "mcptest run", view.hooks_around(row.id))
    )
    store.apply_many([started("u2", id_of("a"))])
    assert view.hooks_around(id_of("a")) == ()

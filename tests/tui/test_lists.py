"""The cursor of lists in which other rows come: it stays on its row, also between a key and what the key does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from mcptest_engine.running.diagnostics import Diagnostic
from mcptest_tui.screens.scaffold import ScaffoldList
from mcptest_tui.state.conversation_rows import Entry
from mcptest_tui.state.matrix_rows import Matrix, Row
from mcptest_tui.state.scaffolding import Scaffolding
from mcptest_tui.widgets.conversation_view import ConversationView
from mcptest_tui.widgets.lines import Lines
from mcptest_tui.widgets.matrix_view import MatrixView
from mcptest_tui.widgets.outline import Entry as Test
from mcptest_tui.widgets.outline import Outline
from mcptest_tui.widgets.problems import ProblemList

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.anyio
AnyLines = TypeVar("AnyLines", bound=Lines)


async def shown(pilot: Any, listed: AnyLines) -> AnyLines:
    """A list on the screen, with the keys."""
    await pilot.app.screen.mount(listed)
    listed.focus()
    await pilot.pause()
    return listed


def chosen(listed: Lines) -> object:
    """What a screen hears of Enter, as it was when the key was pressed."""
    heard: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(listed, "post_message", heard.append)
        listed.action_choose()
    return heard[0].row


def problem(line: int) -> Diagnostic:
    return Diagnostic("s.yml", line, 1, 2, "error", f"wrong on {line}")


async def enter_goes_to_the_problem_that_was_under_the_cursor(pilot: Any) -> None:
    listed = await shown(pilot, ProblemList())
    listed.show([problem(1), problem(2)], "s.yml")
    listed.action_move(1)
    listed.show([problem(0), problem(1), problem(2)], "s.yml")
    row = chosen(listed)
    listed.show([], "s.yml")
    assert row == problem(2)


async def enter_goes_to_the_test_that_was_under_the_cursor(pilot: Any) -> None:
    listed = await shown(pilot, Outline())
    listed.show([Test(1, "pass", "a"), Test(9, "pass", "b")])
    listed.action_move(1)
    listed.show([Test(1, "pass", "new"), Test(5, "pass", "a"), Test(14, "fail", "b")])
    row = chosen(listed)
    listed.show([])
    assert row == Test(14, "fail", "b")


async def the_cell_stays_when_tests_and_models_come(pilot: Any) -> None:
    grid = await shown(pilot, MatrixView())
    grid.show(Matrix(("m1", "m2"), (Row("a", {}), Row("b", {}))))
    grid.action_move(1)
    grid.action_column(1)
    grid.show(Matrix(("m0", "m1", "m2"), (Row("new", {}), Row("a", {}), Row("b", {}))))
    assert (grid.matrix.rows[grid.cursor].name, grid.matrix.models[grid.column]) == ("b", "m2")


async def a_tick_is_that_of_its_row_when_the_tools_become_known(pilot: Any) -> None:
    listed = await shown(pilot, ScaffoldList(Scaffolding([])))
    listed.move_to(next(at for at, row in enumerate(listed.rows) if row.kind == "option"))
    listed.state.put({"tools": [{"name": name, "class": "destructive"} for name in "abcdef"]})
    listed.rebuilt()
    assert listed.row.kind == "option"


async def a_part_of_a_conversation_stays_when_the_run_before_it_goes_on(pilot: Any) -> None:
    view = await shown(pilot, ConversationView())
    first = [Entry("run", "run 1"), Entry("call", "t")]
    second = [Entry("run", "run 2"), Entry("say", "user", "x\ny")]
    view.show([*first, *second])
    view.action_end(down=True)
    view.show([*first, Entry("say", "assistant", "one\ntwo"), *second], keep=True)
    assert (view.selected, view.cursor) == (second[1], 6)


async def test_the_cursor_stays_on_its_row(workbench: Callable[..., Any]) -> None:
    async with workbench() as pilot:
        for scene in (
            enter_goes_to_the_problem_that_was_under_the_cursor,
            enter_goes_to_the_test_that_was_under_the_cursor,
            the_cell_stays_when_tests_and_models_come,
            a_tick_is_that_of_its_row_when_the_tools_become_known,
            a_part_of_a_conversation_stays_when_the_run_before_it_goes_on,
        ):
            await scene(pilot)
            await pilot.app.focused.remove()

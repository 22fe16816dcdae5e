"""The editor knows the servers: what they list is held against the text, whether they run now or have listed it before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.tui.edit.typing import checked, messages, opened, typed
from tests.tui.pictures import text_of
from tests.tui.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.anyio

SUITE = """\
servers:
  demo: { command: [mcptest, mock, --preset, demo] }
tools:
  - name: known
    tool: get_weather
    args: { city: Oslo }
  - name: misspelt
    tool: get_wether
    outcome: any
    args: { city: Oslo }
"""


async def test_what_a_run_has_listed_marks_a_wrong_name_and_one_key_mends_it(
    place: Path, workbench: Callable[..., Any]
) -> None:
    suite = place / "mcptest.yml"
    suite.write_text(SUITE)
    async with workbench(size=(110, 30)) as pilot:
        app = pilot.app
        screen = await opened(pilot, suite, line=5)
        assert not any("lists no tool" in message for message in messages(screen))  # nobody knows yet
        await pilot.press("ctrl+r")
        await until(pilot, lambda: app.store.counts["pass"] == 1, what="the run")
        screen.current.area.become(
            SUITE.replace("    outcome: any\n", "").replace("city: Oslo }\n  -", "cty: Oslo }\n  -")
        )
        await until(pilot, lambda: any("lists no tool" in message for message in messages(screen)), what="the list")
        assert [line for line in messages(screen) if "by the list of" in line]
        wrong = [problem for problem in screen.current.problems if "by the list of" in problem.message]
        assert [(problem.line, problem.severity) for problem in wrong] == [(6, "warning"), (8, "error")]
        screen.files.open(str(suite), 8, 11)
        await until(pilot, lambda: "get_wether → get_weather" in text_of(app), what="the fix")
        await pilot.press("f9")
        await checked(pilot)
        assert screen.current.area.lines[7] == "    tool: get_weather"
        await pilot.press("f9")  # goes there
        await pilot.press("f9")
        await checked(pilot)
        assert screen.current.area.lines[5] == "    args: { city: Oslo }"
        assert not any("by the list of" in message for message in messages(screen))
        await pilot.press("ctrl+s")

    async with workbench(size=(110, 30)) as pilot:  # another session: nothing has been started
        screen = await opened(pilot, suite)
        screen.current.area.become(SUITE.replace("    outcome: any\n", ""))
        await until(pilot, lambda: any("lists no tool" in message for message in messages(screen)), what="the memory")


async def test_the_last_answer_of_a_test_gives_the_targets_and_their_values(
    place: Path, workbench: Callable[..., Any]
) -> None:
    suite = place / "mcptest.yml"
    suite.write_text(SUITE)
    async with workbench(size=(110, 30)) as pilot:
        app = pilot.app
        screen = await opened(pilot, suite, line=5)
        await pilot.press("ctrl+r")
        await until(pilot, lambda: app.store.counts["pass"] == 1, what="the run")
        screen.files.open(str(suite), 6, 12)
        await pilot.press("end")
        # All before the text is read anew: by its lines of then, the cursor is in the next test.
        await typed(pilot, "\nexpect:\n- \tresult.structuredContent.ci")
        await until(pilot, lambda: '"Oslo"' in text_of(app), what="the answer")
        await pilot.press("tab")
        assert screen.current.area.lines[7].startswith('      - { target: "result.structuredContent.city", matcher: ')


async def test_a_tool_and_its_arguments_are_explained_by_what_the_server_says_of_them(
    place: Path, workbench: Callable[..., Any]
) -> None:
    suite = place / "mcptest.yml"
    suite.write_text(SUITE)
    async with workbench(size=(110, 30)) as pilot:
        app = pilot.app
        screen = await opened(pilot, suite, line=5)
        await pilot.press("ctrl+r")
        await until(pilot, lambda: screen.catalogs.of(screen.current), what="the list")
        screen.files.open(str(suite), 5, 14)
        await pilot.press("ctrl+g")
        await until(pilot, lambda: "Arguments: city (string, required)" in text_of(app), what="the tool")
        assert "unit (celsius | fahrenheit)" in text_of(app)

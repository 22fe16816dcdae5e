"""One count of tests: the list, the bar, the title, the page of the suite and the run agree, also when a run was stopped."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_tui.title import title_text
from tests.conftest import SERVERS
from tests.tui.pictures import text_of
from tests.tui.tests_screen.conftest import ran, row
from tests.tui.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.anyio

HANGING = """\
name: hanging
servers:
  shed: {{ command: {command} }}
tools:
  - {{ name: it answers, tool: say, args: {{ text: hi }} }}
  - name: it differs
    tool: say
    expect: [{{ target: "result.content[0].text", matcher: {{ exact: ho }} }}]
  - {{ name: it is skipped, tool: say, skip: not here }}
  - {{ name: it hangs, tool: hang }}
  - {{ name: it waits, tool: hang }}
  - {{ name: it waits too, tool: hang }}
"""


@pytest.fixture
def hanging(place: Path) -> Path:
    """A suite of six tests: one passes, one fails, one is skipped, and three get no answer."""
    path = place / "mcptest.yml"
    command = json.dumps([sys.executable, "-S", str(SERVERS / "toolshed.py")])
    path.write_text(HANGING.format(command=command), encoding="utf-8")
    return path


def replace_text(path: Path, before: str, after: str) -> None:
    """Save the file with another text in a place."""
    path.write_text(path.read_text(encoding="utf-8").replace(before, after), encoding="utf-8")


async def stopped(pilot: Any) -> None:
    """Run all, and stop when what answers has answered."""
    store = pilot.app.store
    await pilot.press("a")
    await until(pilot, lambda: store.counts["pass"] == 1 and store.counts["fail"] == 1 and store.counts["running"] == 1)
    await ran(pilot, "x")


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_every_count_of_a_stopped_run_is_the_same(
    workbench: Callable[..., Any], hanging: Path, size: tuple[int, int]
) -> None:
    """Issue: 42 not run yet at 20/42; the summary counted tests that had not run by what they came to before."""
    async with workbench(size=size) as pilot:
        await stopped(pilot)
        screen = pilot.app.screen
        await pilot.press("g", "enter")
        page = "6 tests: 1 failed, 1 passed, 1 skipped, 3 not run"
        ended = "1 failed, 1 passed, 1 skipped, 3 not run in"
        await until(pilot, lambda: ended in text_of(pilot.app), what="the suite's page")
        assert page.partition(": ")[2] in screen.workbench.store.run_view.summary.title
        assert "stopped, 3 not run   1 ✓  1 ✗  1 ~  3 ○" in text_of(pilot.app)
        assert title_text(pilot.app.store.counts, running=False).startswith("✗1 ✓1")
        await pilot.press("escape")
        await until(pilot, lambda: re.search(r"mcptest\.yml +1 ✗  1 ✓  1 ~  3 ○", text_of(pilot.app)))


async def test_the_key_of_the_next_failure_stops_at_what_was_stopped(
    workbench: Callable[..., Any], hanging: Path
) -> None:
    async with workbench(size=(80, 24)) as pilot:
        await stopped(pilot)
        screen, seen = pilot.app.screen, []
        for _ in range(5):
            await pilot.press("n")
            await pilot.pause()
            seen.append(screen.test_list.test().name)
        assert seen == ["it differs", "it hangs", "it waits", "it waits too", "it differs"]
        screen.listing.put_filter("is:passed")
        await pilot.press("n")
        await until(pilot, lambda: "no test that is shown has failed, is inconclusive" in text_of(pilot.app))


async def test_only_the_call_that_the_server_has_in_hand_is_shown_as_running(
    workbench: Callable[..., Any], hanging: Path
) -> None:
    async with workbench(size=(80, 24)) as pilot:
        store = pilot.app.store
        await pilot.press("a")
        await until(pilot, lambda: store.counts["running"] == 1 and store.counts["queued"] == 2)
        assert row(pilot, "it hangs").status == "running"
        row(pilot, "it hangs").started -= 75
        await until(pilot, lambda: re.search(r"[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] it hangs +valid +1:1\d", text_of(pilot.app)))
        assert "· it waits" in text_of(pilot.app)
        assert "3 ·" in text_of(pilot.app)


async def test_a_suites_summary_is_a_key_away_on_a_small_terminal(workbench: Callable[..., Any], mixed: Path) -> None:
    async with workbench(size=(80, 24)) as pilot:
        await ran(pilot)
        await pilot.press("g", "h")
        await until(pilot, lambda: "▸ mcptest.yml" in text_of(pilot.app), what="the closed suite")
        await pilot.press("enter")
        await until(pilot, lambda: "▾ mcptest.yml" in text_of(pilot.app), what="the open suite")
        await pilot.press("enter")
        await until(pilot, lambda: "2 failed, 3 passed, 1 skipped in" in text_of(pilot.app), what="its page")
        await pilot.press("escape")
        await until(pilot, lambda: "▾ mcptest.yml" in text_of(pilot.app), what="the list")


async def test_the_keys_of_failures_work_for_a_stopped_test_and_for_a_failed_one_that_runs_again(
    workbench: Callable[..., Any], hanging: Path
) -> None:
    async with workbench(size=(120, 40)) as pilot:
        store = pilot.app.store
        await until(pilot, lambda: store.rows)
        rows = pilot.app.screen.test_list
        rows.select(row(pilot, "it hangs").id)
        await pilot.press("r")
        await until(pilot, lambda: store.counts["running"] == 1)
        await ran(pilot, "x")
        assert (store.counts["stopped"], store.counts["fail"]) == (1, 0)
        assert "n next failure" in text_of(pilot.app)
        rows.select(row(pilot, "it differs").id)
        await ran(pilot, "r")
        assert "f failed" in text_of(pilot.app)
        replace_text(hanging, "  - name: it differs\n    tool: say", "  - name: it differs\n    tool: hang")
        await until(pilot, lambda: row(pilot, "it differs").status == "running", what="the run that the save starts")
        assert "f failed" in text_of(pilot.app)
        await ran(pilot, "x")

"""A suite with failures of several kinds, and the screen of the tests at hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.tui.waiting import until

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

MIXED = """\
name: mixed
servers:
  demo: { command: ["mcptest", "mock", "--preset", "demo"] }

tools:
  - name: the service is operational
    tool: status
    tags: [smoke]
    expect:
      - { target: "result.content[0].text", matcher: { contains: operational } }

  - name: the service is broken
    tool: status
    tags: [smoke]
    expect:
      - { target: result.isError, matcher: { not: { exact: true } } }
      - { target: "result.content[0].text", matcher: { contains: broken } }

  - name: the weather is another
    tool: get_weather
    args: { city: Oslo }
    expect:
      - { target: result.structuredContent, matcher: { exact: { city: Oslo, unit: kelvin, gone: [1, 2] } } }

  - name: echo gives back what was said
    tool: echo
    args: { text: hello }
    expect:
      - { target: "result.content[0].text", matcher: { exact: hello } }

  - name: nothing is deleted
    tool: delete_record
    args: { id: 7 }
    skip: not here

resources:
  - name: the settings name a region
    uri: demo://settings
    expect:
      - { target: "result.contents[0].text", matcher: { contains: eu-north } }
"""


@pytest.fixture
def mixed(place: Path) -> Path:
    """A suite of six tests: three pass, two fail, one is skipped."""
    path = place / "mcptest.yml"
    path.write_text(MIXED, encoding="utf-8")
    return path


async def ran(pilot: Any, key: str = "a") -> None:
    """Press a key that starts a run, or ends one, and wait for its end."""
    app, screen = pilot.app, pilot.app.screen
    before = screen.running.last_asked
    await pilot.press(key)
    await until(pilot, lambda: key == "x" or screen.running.last_asked is not before, what="the key")
    await until(pilot, lambda: not app.store.progress.busy, what="the end of the run")
    await until(pilot, lambda: not any(row.busy for row in app.store.rows.values()))
    await until(
        pilot, lambda: all(one.group != "review.read" or one.is_finished for one in app.workers), what="the count"
    )


def row(pilot: Any, part: str) -> Any:
    """The test whose name holds `part`."""
    return next(row for row in pilot.app.store.rows.values() if part in row.name)


async def on(pilot: Any, part: str) -> Any:
    """The cursor on a test, with the detail about it."""
    screen, wanted = pilot.app.screen, row(pilot, part)
    screen.listing.show_test(wanted)
    await until(pilot, lambda: screen.test_list.current == wanted.id)
    if screen.detail_pane.is_shown:
        await until(pilot, lambda: screen.feed.entry is wanted)
    return wanted


async def from_the_list(pilot: Any, check: Callable[[Any], Awaitable[None]]) -> None:
    """Do a check with the list before it as it is at first, whatever the last one has left."""
    app = pilot.app
    while len(app.screen_stack) > 1:
        await pilot.press("escape")
    app.go("tests")
    await until(pilot, lambda: app.current_mode == "tests")
    screen = app.screen
    screen.remove_class("-detail")
    screen.detail.use_tab("result")
    screen.test_list.focus()
    await pilot.pause()
    await check(pilot)

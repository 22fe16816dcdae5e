"""Proposals to review: a suite whose tests expect something else than the demo server answers, and stored ones."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import yaml
from textual.screen import ModalScreen

from mcptest_engine.workspace.proposals import StoredProposal, save_proposal
from mcptest_engine.workspace.ulid import new_ulid
from mcptest_engine.workspace.workspace import Workspace
from mcptest_tui.state.reviewing import Reviewing
from tests.tui.waiting import until, until_mode

if TYPE_CHECKING:
    from pathlib import Path

SUITE = """\
name: review
servers:
  demo: { command: [mcptest, mock, --preset, demo] }
tools:
  # what a person wrote stays
  - name: echo
    tool: echo
    args: { text: hello }
    expect:
      - { target: "result.content[0].text", matcher: { exact: good-bye } }  # kept
  - name: record
    tool: get_record
    args: { id: 7 }
    expect:
      - { target: "result.structuredContent.id", matcher: { exact: 8 } }
  - { name: passes, tool: status, expect: [{ target: result.isError, matcher: { not: { exact: true } } }] }
"""


def suite_in(place: Path) -> Path:
    """The suite as `mcptest.yml`."""
    path = place / "mcptest.yml"
    path.write_text(SUITE, encoding="utf-8")
    return path


def long_lines_in(place: Path) -> Path:
    """The same tests as `mcptest.yml`, each on one line that is longer than the screen is wide."""
    path = place / "mcptest.yml"
    tests = "".join(f"  - {json.dumps(test)}\n" for test in yaml.safe_load(SUITE)["tools"])
    path.write_text(f"{SUITE.partition('tools:')[0]}tools:\n{tests}", encoding="utf-8")
    return path


def stored(place: Path, name: str, *, expect: Any = None, test: Any = None, **more: Any) -> None:
    """One proposal in `place`, of another `expect` for the test `name`, or of a whole test."""
    proposal = StoredProposal(
        id=new_ulid(),
        made_at="2026-01-01T00:00:00+00:00",
        source="propose",
        suite="mcptest.yml",
        block="tools",
        test_name=name,
        test=test,
        expect=expect,
        **more,
    )
    save_proposal(Workspace(place), proposal)


def new_test(place: Path, number: int, **more: Any) -> None:
    """A proposal to add a test."""
    name = f"added {number}"
    stored(place, name, test={"name": name, "tool": "status", "expect": [_harmless()]}, **more)


def _harmless() -> dict[str, Any]:
    return {"target": "result.content", "matcher": {"type": "array"}}


async def failed(pilot: Any) -> Any:
    """Everything was run, and what failed is proposed."""
    app = pilot.app
    app.watch_mode = "off"
    app.runs.start(None)
    await until(pilot, lambda: app.store.counts["fail"] == 2 and not app.store.progress.busy, what="two failures")
    await until(pilot, lambda: app.reviews.state.items, what="proposals")
    return app.reviews.state


async def reviewing(pilot: Any, count: int | None = None) -> Any:
    """Mode 4, with so many proposals."""
    app = pilot.app
    await pilot.press("f4")
    await until(pilot, lambda: app.current_mode == "review" and app.reviews.is_read)
    if count is not None:
        await until(pilot, lambda: len(app.reviews.state.items) == count, what=f"{count} proposals")
    return app.screen


async def forget_all(pilot: Any, place: Path) -> Path:
    """The suite as it was, and no proposals and decisions, after another check in the same app."""
    app = pilot.app
    while isinstance(app.screen, ModalScreen) or app.screen.has_class("-editing"):
        await pilot.press("escape")
    app.go("tests")
    await until_mode(pilot, "tests")
    for proposal in (place / ".mcptest" / "proposals").glob("*"):
        proposal.unlink()
    path = suite_in(place)
    await app.suites.read([str(path)])
    vars(app.reviews.state).update(vars(Reviewing()))  # the list on the screen has the same
    app.reviews.written = []
    app.watch_mode = "off"
    app.messages.show("")
    return path


async def reviewing_now(pilot: Any, count: int) -> Any:
    """Mode 4, with so many proposals, without waiting for the news of them."""
    await pilot.app.reviews.refresh()
    screen = await reviewing(pilot, count)
    screen.writing.is_asked = False
    screen._focus()
    await pilot.pause()
    return screen

"""A change of a file starts no test that acts or spends; it is shown as waiting, and a key runs it."""

from __future__ import annotations

import json
import shlex
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import SERVERS
from tests.tui.pictures import text_of
from tests.tui.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.anyio

SUITE = """\
servers:
  notes: {{ command: {command} }}
tools:
  - {{ name: it reads, tool: read_note, expect: [{{ target: result.isError, matcher: {{ not: {{ exact: {text} }} }} }}] }}
  - {{ name: it destroys, tool: delete_note, args: {{ text: "{text}" }} }}
  - {{ name: it changes, tool: create_note, args: {{ text: "{text}" }} }}
compositions:
  - {{ name: it ends badly, nodes: [{{ id: a, tool: read_note, args: {{ text: "{text}" }} }}, {{ id: b, tool: delete_note }}] }}
agents:
  - {{ name: it asks, model: gpt-5.4, prompt: tidy up {text}, expect: [{{ target: stop, matcher: {{ exact: end }} }}] }}
"""


def calls(place: Path) -> list[str]:
    diary = place / "diary"
    return diary.read_text().split() if diary.exists() else []


@pytest.mark.parametrize("mode", ["affected", "all"])
async def test_only_what_reads_is_started_by_a_change_of_the_suite(
    workbench: Callable[..., Any], place: Path, mode: str
) -> None:
    """Issue: an open workbench called what destroys, and asked models, when a file was saved elsewhere."""
    tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ("read_note", "delete_note", "create_note")]
    (place / "script.json").write_text(json.dumps({"tools": tools, "answers": {}}))
    words = [sys.executable, "-S", str(SERVERS / "scripted.py"), str(place / "script.json"), str(place / "diary")]
    (place / "server.sh").write_text(f"exec {shlex.join(words)}\n")  # the diary is not a file that a command names
    words = ["sh", "server.sh"]
    suite = place / "mcptest.yml"
    suite.write_text(SUITE.format(command=json.dumps(words), text="one"))
    async with workbench(size=(120, 40)) as pilot:
        store = pilot.app.store
        pilot.app.watch_mode = mode
        await until(pilot, lambda: len(store.rows) == 5, what="the tests")
        await pilot.pause()
        pilot.app.go("edit" if mode == "all" else "tests")
        suite.write_text(SUITE.format(command=json.dumps(words), text="two"))
        await until(pilot, lambda: store.counts["pass"] == 1, what="the run of what reads")
        await until(pilot, lambda: "wait for" in text_of(pilot.app), what="those that wait")
        assert {row.name.partition(" (")[0] for row in store.rows.values() if row.waits} >= {
            "it destroys",
            "it changes",
        }
        assert sum(bool(row.waits) for row in store.rows.values()) == 4
        key = "^r" if mode == "all" else "r"  # in the editor, a letter would be typed
        assert f"4 tests wait for {key}: they change something or cost money" in text_of(pilot.app)
        pilot.app.go("tests")
        assert calls(place) == ["read_note"]
        pilot.app.runs.start(None, [row.id for row in store.rows.values() if row.name in ("it destroys", "it changes")])
        await until(
            pilot, lambda: store.counts["pass"] == 3 and not pilot.app.store.progress.busy, what="those by a key"
        )
        assert sorted(calls(place)) == ["create_note", "delete_note", "read_note"]
        suite.write_text(SUITE.format(command=json.dumps(words), text="three"))
        await until(pilot, lambda: calls(place).count("read_note") == 2, what="the second save")
        await until(pilot, lambda: calls(place).count("create_note") == 2, what="what a key has run before")
        assert calls(place).count("delete_note") == 1

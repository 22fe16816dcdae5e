"""Keys, clicks, sizes and pastes in any order, over suites that are sound, broken, slow and odd."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest
from textual.events import Key, Paste
from textual.keys import _character_to_key

from mcptest_tui.actions import KEYS
from tests.tui.waiting import settled

pytestmark = pytest.mark.anyio
STEPS = 100
SIZES = [(80, 24), (120, 40), (200, 50), (60, 20), (1, 1), (300, 100), (40, 10)]
PASTES = ["[bold]", "\u202e", "\x1b[2J", "漢\x00", "- name: [", "~nobody/x", "x" * 5_000]
LETTERS = "abcdefghijklmnopqrstuvwxzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
"""All but `y`, which says yes."""
ODD = Path(__file__).parents[1] / "servers" / "programs" / "odd.py"
SUITE = """\
servers:
  odd: {{ command: [{python}, -S, {program}, {mode}, {diary}] }}
tools:
  - {{ name: calls echo, tool: echo, timeout_ms: 400 }}
"""


def key_of(name):
    """The event of a key as a terminal sends it."""
    return Key(_character_to_key(name), name) if len(name) == 1 else Key(name, None)


def any_key(rng):
    """Mostly those that do something somewhere."""
    named = [key for keys in KEYS.values() for key in keys if key != "y"]
    return rng.choice([rng.choice(LETTERS), rng.choice(["escape", "enter", "tab", "down", "up"]), rng.choice(named)])


async def do_anything(pilot, rng):
    """One step."""
    what = rng.random()
    if what < 0.02:
        await pilot.resize_terminal(*rng.choice(SIZES))
    elif what < 0.06:
        pilot.app.post_message(Paste(rng.choice(PASTES)))
    else:
        key = any_key(rng)
        for _ in range(rng.choice([1, 1, 1, 1, 5, 20])):
            pilot.app.post_message(key_of(key))
    if rng.random() < 0.2:
        await settled()


@pytest.mark.parametrize("seed", [1, 2])
async def test_no_key_raises_loses_a_file_or_destroys_without_being_told_to(
    workbench, demo, place, tmp_path, monkeypatch, seed
):
    """`workbench` fails where a bug is told. What no suite is stays as it was, and no tool that destroys is called."""
    rng = random.Random(seed)
    for name in ("EDITOR", "VISUAL"):
        monkeypatch.setenv(name, "true")
    diary = tmp_path / "diary"
    (place / "sub").mkdir()
    for mode, folder in (("diary", place / "sub"), ("odd", place), ("dies", place), ("slow", place)):
        text = SUITE.format(python=sys.executable, program=ODD, mode=mode, diary=diary)
        (folder / f"{mode}.yml").write_text(text, encoding="utf-8")
    (place / "broken.yml").write_text("servers: { a: { comand: x } }\ntools:\n  - name: [\n", encoding="utf-8")
    other = {place / name: name for name in ("notes.txt", "README.md", "settings.yaml")}
    for path, text in other.items():
        path.write_text(text, encoding="utf-8")
    suites = set(place.rglob("*.yml"))
    steps = 0
    while steps < STEPS:
        async with workbench() as pilot:
            while steps < STEPS and pilot.app.is_running and not pilot.app._exit:
                await do_anything(pilot, rng)
                steps += 1
            await settled()
    assert {path: path.read_text(encoding="utf-8") for path in other} == other
    assert suites <= set(place.rglob("*.yml"))
    assert "delete_all" not in (diary.read_text(encoding="utf-8") if diary.exists() else "")

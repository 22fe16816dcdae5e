"""The pictures of docs/how-to/workbench.md, drawn by the app itself; MCPTEST_UPDATE_GOLDEN=1 accepts new ones.

They fetch nothing: the text is set in whichever monospaced font is there. What is compared is the words, without times.
"""

from __future__ import annotations

import os
import re
from html import unescape
from pathlib import Path

import pytest

from mcptest_engine.core.environment import shipped
from tests.front_door.conftest import SUITE
from tests.tui.agents.working import agent, asked, watching
from tests.tui.edit.typing import opened
from tests.tui.pictures import UPDATE, left_of, text_of
from tests.tui.servers.driving import connected, form_of, sent
from tests.tui.waiting import until

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).parents[3]
IMAGES = ROOT / "docs" / "images"
SIZE = (112, 32)
FONTS = 'ui-monospace, SFMono-Regular, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace'


@pytest.fixture
def library(place):
    """The suite of the pictures, beside its server's manifest."""
    for name in ("mcptest.yml", "manifest.yml"):
        text = (IMAGES / name).read_text(encoding="utf-8").replace("${CONFIG_DIR}/", "")
        (place / name).write_text(text, encoding="utf-8")
    return place / "mcptest.yml"


async def listed(pilot, library):
    """A run with one failure, and the failure beside the list."""
    app = pilot.app
    app.runs.start(None)
    await until(pilot, lambda: app.store.counts["fail"] == 1 and not app.store.progress.busy)
    await pilot.press("n")
    await until(pilot, lambda: "lent" in text_of(app) and "FAIL" in text_of(app).upper())


async def diff(pilot, library):
    """The difference, in a light theme."""
    app = pilot.app
    app.theme = "paper"
    await listed(pilot, library)
    await pilot.press("right_square_bracket")
    await until(pilot, lambda: "status" in text_of(app) and "here" in text_of(app))


async def edit(pilot, library):
    """A misspelt key, its problem, and the fix that one key applies."""
    text = library.read_text(encoding="utf-8").replace("args: { id: 7 }", "agrs: { id: 7 }", 1)
    library.write_text(text, encoding="utf-8")
    line = next(number for number, row in enumerate(text.splitlines(), 1) if "agrs" in row)
    screen = await opened(pilot, library, line)
    await until(pilot, lambda: any("agrs" in problem.message for problem in screen.current.problems))
    await pilot.press("f8")
    shown = ("did you mean `args`", "agrs → args", "applies", "1 suite with problems")
    await until(pilot, lambda: all(words in text_of(pilot.app) for words in shown))


async def servers(pilot, library):
    """A tool called by hand, and what came back."""
    screen = await connected(pilot, "demo")
    await form_of(pilot, screen, "get_weather")
    await pilot.press(*"Oslo")
    await sent(pilot, screen)
    await until(pilot, lambda: "structuredContent" in text_of(pilot.app))


async def review(pilot, library):
    """What is proposed for the test that has failed."""
    app = pilot.app
    await listed(pilot, library)
    await until(pilot, lambda: app.reviews.state.items)
    await pilot.press("v")
    await until(pilot, lambda: app.current_mode == "review" and "Review 1/" in text_of(app))


async def traffic(pilot, library):
    """What was said on the wire."""
    app = pilot.app
    in_order = "run_options: { concurrency: 1 }\n" + library.read_text(encoding="utf-8")
    library.write_text(in_order, encoding="utf-8")
    await app.suites.read([str(library)])
    app.runs.start(None)
    await until(pilot, lambda: app.store.counts["fail"] == 1 and not app.store.progress.busy)
    await pilot.press("f5")
    opening = "notifications/initialized"  # that of the spare server for the next run is folded away
    await until(pilot, lambda: [row.method for row in app.screen.traffic.shown].count(opening) == 1)


async def palette(pilot, library):
    """The palette over the list."""
    await pilot.press("ctrl+p", *"run")
    await until(pilot, lambda: "Run test" in text_of(pilot.app))


async def graph(pilot, library):
    """A composition that has run, with its times."""
    app = pilot.app
    test = await until(pilot, lambda: next(iter(app.store.rows.values()), None))
    app.screen.listing.show_test(test)
    app.screen.detail.use_tab("graph")
    app.runs.start(None)
    await until(pilot, lambda: app.store.counts["pass"] == 1 and not app.store.progress.busy)
    await until(pilot, lambda: "3 calls" in text_of(app))


async def agents(pilot, library):
    """What an agent did, and what failed of it."""
    app = await watching(pilot)
    suite = library.read_text(encoding="utf-8")
    with agent(library.parent, "--enable-writes") as door:
        await asked(door, "run_tool_test", suite=f"name: first try\n{ANSWERS}")
        await asked(door, "trigger_run")
        await asked(door, "record_cassette", name="library")
        await asked(door, "run_tool_test", suite=SUITE)
    assert library.read_text(encoding="utf-8") == suite
    await pilot.press("6")
    await until(pilot, lambda: app.current_mode == "agents" and len(app.agents.view.rows) == 4)
    await until(pilot, lambda: "run it again" in text_of(app) and "Review •2" in text_of(app))


ANSWERS = (
    "servers: { mock: { command: [mcptest, mock, --preset, demo] } }\ntools: [{ name: it answers, tool: status }]\n"
)
SCENES = {
    "tests": listed,
    **{scene.__name__: scene for scene in (diff, graph, edit, servers, review, traffic, agents, palette)},
}


@pytest.mark.parametrize("name", SCENES)
async def test_a_picture_shows_the_workbench_as_it_is(workbench, library, name):
    """Run with MCPTEST_UPDATE_GOLDEN=1 when a screen looks different."""
    if name == "servers":
        suite = (shipped("examples") / "demo" / "mcptest.yml").read_text(encoding="utf-8")
        library.write_text(suite, encoding="utf-8")
    if name == "graph":
        examples = shipped("examples")
        library.write_text((examples / "composition-pipeline.yml").read_text(encoding="utf-8"), encoding="utf-8")
        (library.parent / "compositions").mkdir()
        manifest = (examples / "compositions" / "manifest.yml").read_text(encoding="utf-8")
        (library.parent / "compositions" / "manifest.yml").write_text(manifest, encoding="utf-8")
    async with workbench(size=SIZE) as pilot:
        await SCENES[name](pilot, library)
        pilot.app.clear_notifications()
        await until(pilot, lambda: not pilot.app.screen.query("Toast"))
        svg = picture(pilot.app)
        pilot.app.theme = "nightshift"
    path = IMAGES / f"workbench-{name}.svg"
    if os.environ.get(UPDATE) and not os.environ.get("CI"):
        path.write_text(svg, encoding="utf-8")
    shown = path.read_text(encoding="utf-8")
    assert words(shown) == words(svg)
    assert re.findall(r"(?<!xmlns=\")https?:|@font-face|@import|url\((?!#)", shown) == []


def picture(app):
    """The screen as an SVG that fetches nothing."""
    svg = app.export_screenshot(title="mcptest", simplify=True)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"@font-face\s*\{.*?\}\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"font-family: Fira Code[^;]*;", f"font-family: {FONTS};", svg)
    return svg if svg.endswith("\n") else svg + "\n"


def words(svg):
    """The texts of a picture, times by their shape only.

    Of what is clipped it is the beginning, since how much is shown goes by the width of a duration beside it.
    """
    texts = [unescape(text).replace("\xa0", " ") for text in re.findall(r"<text[^>]*>([^<]*)</text>", svg)]
    text = re.sub(r"(\d{4}-\d\d-\d\d )?\b\d\d:\d\d(:\d\d)?(\.\d+)?", "CLOCK", " ".join(map(left_of, texts)))
    text = re.sub(r"━+", "BAR", re.sub(r"\b01[0-9A-Z]{24}\b", "RUN", text))
    return re.sub(r"<?\d+(\.\d+)? *m?s\b", "TIME", text).split()

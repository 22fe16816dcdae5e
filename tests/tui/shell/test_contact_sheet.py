"""`docs/images/workbench-sheet.svg`: every screen in every look on one sheet; MCPTEST_UPDATE_GOLDEN=1 draws it anew.

What each picture must keep to is checked here, in each look at each size; and that the sheet has the colours, the modes with
their counts and the keys that are drawn now. That the other words are right is the matter of the other pictures.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from functools import cache
from html import escape

import pytest
from rich.color import ColorType
from rich.terminal_theme import SVG_EXPORT_THEME

from mcptest_tui.words import MARKS
from tests.tui.pictures import UPDATE, drawn, text_of
from tests.tui.shell.test_docs_pictures import FONTS, IMAGES
from tests.tui.tests_screen.conftest import MIXED
from tests.tui.waiting import until, until_mode

pytestmark = pytest.mark.anyio
SHEET = IMAGES / "workbench-sheet.svg"
MOST_BYTES = 400_000
MODES = ("tests", "edit", "servers", "review", "traffic", "agents")
SMALL = (80, 24)
SIZES = {
    "dark": SMALL,
    "light": SMALL,
    "16 colours": SMALL,
    "NO_COLOR": SMALL,
    "120x40": (120, 40),
    "200x50": (200, 50),
}
"""Of each look; the last two are dark."""
ENVIRONS = {
    "dark": {"MCPTEST_THEME": "nightshift"},
    "light": {"MCPTEST_THEME": "paper"},
    "16 colours": {"TERM": "xterm", "COLORTERM": ""},
    "NO_COLOR": {"NO_COLOR": "1"},
}
SEEN_MARKS = ("fail", "pass")
WIDE, HIGH = 6, 12
"""A cell of the terminal, in units of the picture."""


@cache
def hexadecimal(color, *, ink: bool) -> str:
    """A colour of a segment; the terminal's own ones as one terminal has them."""
    if color is None:
        return (SVG_EXPORT_THEME.foreground_color if ink else SVG_EXPORT_THEME.background_color).hex
    return color.get_truecolor(SVG_EXPORT_THEME, foreground=ink).hex


def cells_of(strips):
    """(x, y, text, ink, ground, weight) of each segment; what is reversed is turned round."""
    for y, strip in enumerate(strips):
        x = 0
        for segment in strip:
            style = segment.style
            ink, ground = hexadecimal(style and style.color, ink=True), hexadecimal(style and style.bgcolor, ink=False)
            if style and style.reverse:
                ink, ground = ground, ink
            yield x, y, segment.text, ink, ground, "b" if style and style.bold else ""
            x += segment.cell_length


def picture(strips, width, height):
    """The screen as SVG, as small as can be: one rectangle a ground, one text a run of the same ink."""
    cells = list(cells_of(strips))
    common: Counter[str] = Counter()
    for _, _, text, _, ground, _ in cells:
        common[ground] += len(text)
    base = common.most_common(1)[0][0]
    grounds, texts = [f'<rect width="{width * WIDE}" height="{height * HIGH}" fill="{base}"/>'], []
    for x, y, text, ink, ground, weight in cells:
        if ground != base:
            grounds.append(f'<path fill="{ground}" d="M{x * WIDE} {y * HIGH}h{len(text) * WIDE}v{HIGH}H{x * WIDE}"/>')
        if text.strip():
            start = len(text) - len(text.lstrip(" "))
            shown = escape(text.strip(" "), quote=False).replace("  ", " \u00a0")
            strong = ' class="b"' if weight else ""
            texts.append(f'<text{strong} fill="{ink}" x="{(x + start) * WIDE}" y="{y * HIGH + 9}">{shown}</text>')
    return "".join((*grounds, *texts))


async def draw_looks(workbench, looks):
    """The pictures of all modes in looks that differ in their size only, each checked."""
    found: dict[str, dict[str, str]] = {look: {} for look in looks}
    async with workbench(size=SMALL) as pilot:
        app = pilot.app
        app.runs.start(None)
        await until(pilot, lambda: app.store.counts["fail"] == 2 and not app.store.progress.busy)
        await pilot.press("n")
        await until(pilot, lambda: app.reviews.state.items)
        for mode in MODES:
            app.go(mode)
            await until_mode(pilot, mode)
            app.clear_notifications()
            await until(pilot, lambda: not app.screen.query("Toast"))
            for look in looks:
                size = SIZES[look]
                await pilot.resize_terminal(*size)
                strips = drawn(app)
                check(strips, look, size)
                assert MARKS["fail"] in text_of(app)  # the status bar, whatever the look
                found[look][mode] = picture(strips, *size)
            for size in {*SIZES.values()} - {SIZES[look] for look in looks}:
                await pilot.resize_terminal(*size)
                check(drawn(app), looks[0], size)
    return found


def edges(svg):
    """The colours of a picture, and the texts of its first and its last row, each with its colour and weight."""
    texts = re.findall(r'<text( class="b")? fill="(#\w+)" x="\d+" y="(\d+)">([^<]*)</text>', svg)
    last = max((int(y) for _, _, y, _ in texts), default=0)
    rows = [(weight, ink, text) for weight, ink, y, text in texts if int(y) in {9, last}]
    return set(re.findall(r'fill="(#\w+)"', svg)), rows


def check(strips, look, size):
    """No row is longer than the terminal, and no colour is of another look."""
    assert len(strips) == size[1]
    assert {strip.cell_length for strip in strips} == {size[0]}
    styles = [segment.style for strip in strips for segment in strip if segment.style is not None]
    colours = {color for style in styles for color in (style.color, style.bgcolor) if color is not None}
    if look == "NO_COLOR":
        channels = [color.get_truecolor(SVG_EXPORT_THEME) for color in colours if color.type is ColorType.TRUECOLOR]
        assert [one for one in channels if max(one) - min(one) > 3] == []
        inks = {
            word: [ink for _, _, text, ink, *_ in cells_of(strips) if text.strip() == MARKS[word]]
            for word in SEEN_MARKS
        }
        assert min(inks["fail"], default="") >= max(inks["pass"], default="")  # greys: what failed is no paler
    if look == "16 colours":
        drawn_by_bars = {
            color
            for strip in strips
            for segment in strip
            if segment.style is not None and set(segment.text) <= set(" ▁▂▃▄▅▆▇█")
            for color in (segment.style.color, segment.style.bgcolor)
        }
        assert {color.type for color in colours - drawn_by_bars} <= {ColorType.DEFAULT, ColorType.STANDARD}


async def test_every_screen_is_drawn_in_every_look(workbench, place, monkeypatch):
    """Dark, light, with 16 colours, without any; and the dark one in three sizes."""
    (place / "mcptest.yml").write_text(MIXED, encoding="utf-8")
    pictures: dict[str, dict[str, str]] = {}
    for look, environ in ENVIRONS.items():
        with monkeypatch.context() as patch:
            for name, value in environ.items():
                patch.setenv(name, value)
            pictures |= await draw_looks(workbench, [look, *(SIZES.keys() - ENVIRONS if look == "dark" else ())])
    parts, y, gap = [], 0, 14
    widest = 0
    for look, size in SIZES.items():
        width, height = size[0] * WIDE + gap, size[1] * HIGH
        a_row = 3 if size[0] < 200 else 2
        for at, mode in enumerate(MODES):
            x, row = at % a_row * width, at // a_row
            top = y + row * (height + 2 * gap)
            parts.append(f'<text class="t" x="{x}" y="{top + 10}">{mode}, {look}</text>')
            parts.append(
                f'<svg x="{x}" y="{top + gap}" width="{width - gap}" height="{height}">{pictures[look][mode]}</svg>'
            )
        y += -(-len(MODES) // a_row) * (height + 2 * gap)
        widest = max(widest, a_row * width)
    style = f"text{{font:10px {FONTS};white-space:pre}}.b{{font-weight:bold}}.t{{fill:#808080}}"
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {widest} {y}"><style>{style}</style>{"".join(parts)}</svg>\n'
    if os.environ.get(UPDATE) and not os.environ.get("CI"):
        SHEET.write_text(svg, encoding="utf-8")
    shown = SHEET.read_text(encoding="utf-8")
    on_sheet = {
        (look, mode): edges(svg)
        for mode, look, svg in re.findall(r">(\w+), ([^<]+)</text><svg [^>]*>(.*?)</svg>", shown, re.DOTALL)
    }
    assert on_sheet == {(look, mode): edges(pictures[look][mode]) for look in SIZES for mode in MODES}
    assert max(len(svg.encode()), len(shown.encode())) < MOST_BYTES

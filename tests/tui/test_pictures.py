"""The pictures of screens: what of them is compared."""

from __future__ import annotations

from html import escape

import pytest

from tests.tui.pictures import PICTURES, without_times
from tests.tui.shell.test_docs_pictures import words

TOOK = ("<1 ms", "3 ms", "12 ms", "899.5 ms", "1.2 s")


def framed(*cells):
    """A row of cells as wide as a screen has them, clipped where they are longer."""
    return f"│{'│ │'.join(f'{cell[:39]}…' if len(cell) > 40 else f'{cell:<40}' for cell in cells)}│"


@pytest.mark.parametrize("took", TOOK)
@pytest.mark.parametrize(
    ("cells", "shown"),
    [
        (["answered TIME   4 B   ^s saves"], "│answered (time) 4 B ^s saves│"),
        (["answered TIME", "▌ a row   beside"], f"│answered (time)│ │{'▌ a row   beside':<40}│"),
        (
            ["▾ 2", "✗ fails  TIME  `${report.isError}` is not `true`"],
            f"│{'▾ 2':<40}│ │✗ fails (time) `${{report.isError}}`…│",
        ),
        (["queried TIME then TIME  ━━━━━━"], "│queried (time) then (time)│"),
    ],
)
def test_a_row_is_the_same_however_long_it_took(took, cells, shown):
    assert without_times(framed(*(cell.replace("TIME", took) for cell in cells))) == shown


@pytest.mark.parametrize("took", TOOK)
def test_what_stands_at_the_right_is_the_same_however_long_it_took(took):
    """A name is clipped where its duration begins."""
    name = "what is known of a record by all of its names"
    row = f"▌ {name[: 36 - len(took)]}… {took} "
    assert without_times(f"│{row}│ │ ✓ passed │") == "│▌ what is known of a… (time)│ │ ✓ passed │"
    assert without_times(f" 3 tests  1 ✓  {took:<24}watch: off") == " 3 tests  1 ✓ (time) watch: off"


def test_a_row_without_a_duration_stays_as_it_is():
    rows = "│   ▾ mcptest.yml    1 ✓ │ │ 12 rows … │\n  ━━ 5 items ━━"
    assert without_times(rows) == rows


@pytest.mark.parametrize("path", sorted(PICTURES.rglob("*.txt")), ids=lambda path: path.stem)
def test_the_pictures_that_are_kept_are_as_they_are_compared(path):
    text = path.read_text(encoding="utf-8")
    assert without_times(text) == text


@pytest.mark.parametrize("took", TOOK)
def test_a_picture_of_the_docs_has_the_same_words_however_long_it_took(took):
    name = "a search finds the book by its author"
    row = escape(f"✓ {name[: 34 - len(took)]}…{took:>8}")
    svg = f"<text>{row}</text><text>result.structuredContent</text><text>{escape(took)}</text>"
    assert words(svg) == ["✓", "a", "search", "finds", "the…", "result.structuredContent", "TIME"]

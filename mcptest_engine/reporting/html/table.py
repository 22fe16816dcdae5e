"""Every test as a row, and for readers without a script every test in full.

With a script the rows are drawn anew from the page's data, so that ten thousand of them can be sorted and searched; without one
the rows are there up to `ROWS`, and the details up to `data.WHOLE` bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.core.text import counted, number_text
from mcptest_engine.reporting import facts
from mcptest_engine.reporting.html.data import note_of
from mcptest_engine.reporting.html.markup import Html, badge, block_of, joined, name_text, section, tag
from mcptest_engine.reporting.html.values import Shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcptest_engine.core.results import TestResult
    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.reporting.html.data import Details
    from mcptest_engine.reporting.html.values import Values

ROWS = 1000
_HEADS = (
    ("verdict", "Verdict"),
    ("name", "Test"),
    ("tool", "Tool"),
    ("strength", "Strength"),
    ("kind", "Kind"),
    ("server", "Server"),
    ("score", "Score"),
    ("took", "Time"),
)


def block(record: RunRecord, slugs: Mapping[str, str]) -> Html:
    """The table, under it the place for the script's controls."""
    shown_keys = _keys(record)
    heads = [(key, word) for key, word in _HEADS if key in shown_keys]
    head = tag("tr", *(tag("th", word, scope="col", data_key=key, class_=_class(key)) for key, word in heads))
    shown = record.tests if len(record.tests) <= ROWS else ()
    rows = (_test_row(test, slugs[test.id], shown_keys) for test in shown)
    caption = tag("caption", f"Every test of the run ({len(record.tests):,})", class_="hidden")
    body = tag("table", caption, tag("thead", head), tag("tbody", *rows), class_="tests")
    scroll = tag("div", body, id="scroll", class_="scroll", tabindex="0", role="region", aria_label="All tests, table")
    return section("tests", "All tests", tag("div", id="controls"), _unscripted(record), scroll)


def _keys(record: RunRecord) -> set[str]:
    """The columns that tell the tests of this run apart."""
    tests = record.tests
    told = {
        "tool": any(test.tool is not None for test in tests),
        "strength": any(test.strength is not None for test in tests),
        "kind": len({test.kind for test in tests}) > 1,
        "server": len({test.server for test in tests}) > 1,
        "score": any(test.score is not None for test in tests),
    }
    return {key for key, _ in _HEADS if told.get(key, True)}


def in_full(record: RunRecord, slugs: Mapping[str, str], details: Details) -> Html | None:
    """Every test with all that is known of it, for a browser that runs no script; None where that would be too much."""
    if not details.tests:
        return None
    whole = (
        _whole(test, slugs[test.id], one, details.values) for test, one in zip(record.tests, details.tests, strict=True)
    )
    return tag("noscript", section("in-full", "Every test in full", *whole))


def _unscripted(record: RunRecord) -> Html:
    told = "This page is readable without a script; searching, filtering and sorting need one."
    if len(record.tests) > ROWS:
        count = counted(len(record.tests), "test")
        told = f"The table of {count} needs a script, and this browser runs none. The run record has them all."
    return tag("noscript", tag("p", told, class_="note"))


def _class(key: str) -> str:
    return f"c-{key} num" if key in {"took", "score"} else f"c-{key}"


def _test_row(test: TestResult, slug: str, keys: set[str]) -> Html:
    note, strength = note_of(test), facts.strength_text(test)
    where = " · ".join(filter(None, (name_text(test.tool or ""), strength)))
    told = [tag("span", f"{where} ", class_="where") if where else None, note or None]
    sub = tag("span", *told, class_="sub" if note else "sub where") if any(told) else None
    name = tag("a", name_text(test.name), href=f"#t-{slug}", class_="name")
    cells = {
        "tool": tag("code", name_text(test.tool)) if test.tool is not None else "",
        "strength": strength,
        "kind": test.kind.value,
        "server": name_text(test.server),
        "score": "" if test.score is None else number_text(test.score),
        "took": facts.duration_text(test.duration_ms),
    }
    return tag(
        "tr",
        tag("td", badge(test.verdict), class_="c-verdict"),
        tag("th", name, sub, scope="row", class_="c-name"),
        *(tag("td", cell, class_=_class(key)) for key, cell in cells.items() if key in keys),
    )


def _whole(test: TestResult, slug: str, one: Mapping[str, object], values: Values) -> Html:
    """One test's details as a fold; values stand as they are, on as many lines as they need."""
    parts = (
        joined([tag("h3", name_text(name.replace("_", " "))), _value_html(value, values)])
        for name, value in _parts(one)
    )
    title = tag("summary", badge(test.verdict), " ", name_text(test.name))
    return tag("details", title, *parts, id=f"t-{slug}")


def _parts(one: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """What is short, together as `about`, and whatever else there is under its own name."""
    large = (Shown, dict, list, str)
    yield "about", {key: value for key, value in one.items() if key != "verdict" and not isinstance(value, large)}
    for key, value in one.items():
        if key == "assertions" or (key != "verdict" and isinstance(value, large) and value):
            yield key, value


def _value_html(value: object, values: Values) -> Html:
    if isinstance(value, Shown):
        text, _, length = values[value]
        note = f"cut here: the value has {length:,} characters, and the run record has all" if length else None
        return joined([block_of(text), None if note is None else tag("p", note, class_="note")])
    if isinstance(value, dict):
        rows = (
            tag("div", tag("dt", name.replace("_", " ")), tag("dd", _value_html(item, values)))
            for name, item in value.items()
        )
        return tag("dl", *rows, class_="facts")
    if isinstance(value, list):
        return tag("ol", *(tag("li", _value_html(item, values)) for item in value))
    if isinstance(value, str):
        return block_of(value)
    if value is None or isinstance(value, bool):
        return tag("span", "none" if value is None else "yes" if value else "no")
    return tag("span", str(value))

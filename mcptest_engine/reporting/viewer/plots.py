"""Plots as SVG, drawn here and not by a script, each with a name that says what it shows and a table of the same figures.

The picture is stretched to the width that there is, so it holds lines alone: a dot is a line without length, whose round ends
are not stretched, and words stand beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.reporting.html.markup import Html, joined, plain_table, tag

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

WIDE, HIGH = 1000, 200
_EDGE = 12


class Series(NamedTuple):
    """A line of a plot: None where there is nothing. `kind` is its colour; `marks` gives each dot one of its own."""

    name: str
    kind: str
    values: Sequence[float | None]
    marks: Sequence[str] | None = None


def plot(
    title: str,
    series: Sequence[Series],
    *,
    names: Sequence[Html],
    told: Callable[[float], str],
    top: float | None = None,
) -> Html:
    """A figure: the newest value stands to the right, 0 below, and `top`, or the largest value, above."""
    known = [value for line in series for value in line.values if value is not None]
    highest = max([*known, 0.0]) if top is None else top
    summary = "; ".join(f"{line.name}: {_range_text(line.values, told)}" for line in series)
    shapes = [part for line in series for part in _shapes(line, highest or 1.0)]
    picture = tag(
        "svg", *_grid(), *shapes, viewBox=f"0 0 {WIDE} {HIGH}", preserveAspectRatio="none", role="img", class_="plot-lines",
        aria_label=f"{title}. {summary}",
    )  # fmt: skip
    scale = tag("p", tag("span", told(highest)), tag("span", told(0)), class_="scale", aria_hidden="true")
    keys = [tag("span", tag("span", "", class_=f"key {line.kind}"), " ", line.name) for line in series]
    legend = tag("p", *keys, class_="legend", aria_hidden="true") if len(series) > 1 else None
    axis = tag("p", tag("span", "oldest"), tag("span", "newest"), class_="axis", aria_hidden="true")
    return tag(
        "figure",
        tag("figcaption", tag("strong", title), tag("span", f" {summary}")),
        legend,
        tag("div", scale, picture, axis, class_="plot"),
        _table(title, series, names, told),
    )


def spark(title: str, values: Sequence[float | None], told: Callable[[float], str], *, kind: str, top: float) -> Html:
    """A small picture in a row of text."""
    shapes = _shapes(Series("", kind, values), top or 1.0)
    return tag(
        "svg", *shapes, viewBox=f"0 0 {WIDE} {HIGH}", preserveAspectRatio="none", role="img", class_="spark",
        aria_label=f"{title}: {_range_text(values, told)}",
    )  # fmt: skip


def _shapes(line: Series, highest: float) -> Iterator[Html]:
    count = len(line.values)
    places = [
        None
        if value is None
        else (_across(at, count), HIGH - _EDGE - (HIGH - 2 * _EDGE) * min(max(value / highest, 0.0), 1.0))
        for at, value in enumerate(line.values)
    ]
    pieces, pen = [], "M"
    for place in places:
        if place is None:
            pen = "M"
            continue
        pieces.append(f"{pen}{place[0]:.1f} {place[1]:.1f}")
        pen = "L"
    if pieces:
        yield tag("path", d="".join(pieces), class_=f"line {line.kind}")
    for at, place in enumerate(places):
        if place is not None and (line.marks is not None or count == 1):
            kind = line.kind if line.marks is None else line.marks[at]
            yield tag("path", d=f"M{place[0]:.1f} {place[1]:.1f}h0", class_=f"dot {kind}")


def _across(at: int, count: int) -> float:
    return WIDE / 2 if count == 1 else _EDGE + (WIDE - 2 * _EDGE) * at / (count - 1)


def _grid() -> list[Html]:
    return [tag("path", d=f"M0 {y}H{WIDE}", class_="grid") for y in (_EDGE, HIGH // 2, HIGH - _EDGE)]


def _range_text(values: Sequence[float | None], told: Callable[[float], str]) -> str:
    """`now 98 %, between 90 % and 100 % in 12 runs`."""
    known = [value for value in values if value is not None]
    if not known:
        return "nothing known"
    if len(known) == 1:
        return f"{told(known[0])} in 1 run"
    return f"now {told(known[-1])}, between {told(min(known))} and {told(max(known))} in {len(known)} runs"


def _table(title: str, series: Sequence[Series], names: Sequence[Html], told: Callable[[float], str]) -> Html:
    rows = [
        (name, *("none" if line.values[at] is None else told(line.values[at] or 0.0) for line in series))
        for at, name in reversed(list(enumerate(names)))
    ]
    table = plain_table(f"{title}, run by run", ("Run", *(line.name for line in series)), rows, numbers=len(series))
    return tag("details", tag("summary", "The same as a table"), joined([table]))

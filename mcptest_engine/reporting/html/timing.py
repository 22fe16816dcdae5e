"""When each test and hook ran: a row each while there are few, lanes of what ran side by side when there are many.

It is drawn here and not by the script, so that it is there on paper and without one.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.core.text import counted
from mcptest_engine.reporting import facts
from mcptest_engine.reporting.html.markup import Html, badge, bar, name_text, section, tag

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mcptest_engine.core.run_record import RunRecord

ROWS = 60
LANES = 40
_LANE = 10


class Span(NamedTuple):
    """Something that took time: `kind` is a verdict or "hook", `slug` of the test to open, None of a hook."""

    start: float
    took: float
    kind: str
    name: str
    slug: str | None


def block(record: RunRecord, slugs: Mapping[str, str]) -> Html | None:
    """The waterfall; None where nothing took any time."""
    spans = sorted(_spans(record, slugs), key=lambda span: span.start)
    if not spans:
        return None
    end = max(record.duration_ms, *(span.start + span.took for span in spans), 1.0)
    shown = _timing_rows(spans, end) if len(spans) <= ROWS else _lanes(spans, end)
    return section("timing", "Timing", shown, note="From the start of the run to its end, in the order of starting.")


def _spans(record: RunRecord, slugs: Mapping[str, str]) -> Iterable[Span]:
    for test in record.tests:
        if test.duration_ms > 0 and not test.cached:
            yield Span(
                test.started_offset_ms, test.duration_ms, test.verdict.value, name_text(test.name), slugs[test.id]
            )
    for hook in record.hooks:
        yield Span(hook.started_offset_ms, hook.duration_ms, "hook" if hook.passed else "fail", hook.called, None)


def _timing_rows(spans: Sequence[Span], end: float) -> Html:
    rows = (
        tag(
            "tr",
            tag(
                "th",
                badge(span.kind) if span.kind != "hook" else tag("span", "hook", class_="kind"),
                " ",
                _span_name(span),
                scope="row",
            ),
            tag("td", bar(span.start, span.took, span.kind, total=end), class_="track"),
            tag("td", f"+{facts.duration_text(round(span.start))}", class_="num start"),
            tag("td", facts.duration_text(span.took), class_="num"),
        )
        for span in spans
    )
    heads = ("What", "When", "Began", "Took")
    kinds = (None, None, "num start", "num")
    head = tag("tr", *(tag("th", word, scope="col", class_=kind) for word, kind in zip(heads, kinds, strict=True)))
    caption = tag("caption", "When each test ran and how long it took", class_="hidden")
    return tag("table", caption, tag("thead", head), tag("tbody", *rows), class_="waterfall")


def _span_name(span: Span) -> Html:
    return tag("a", span.name, href=f"#t-{span.slug}") if span.slug is not None else tag("span", span.name)


def _lanes(spans: Sequence[Span], end: float) -> Html:
    """Each span in the first lane that is free; one path a colour, as ten thousand shapes would be slow."""
    free: list[tuple[float, int]] = []
    paths: dict[str, list[str]] = {}
    lanes = 0
    for span in spans:
        if free and free[0][0] <= span.start:
            lane = heapq.heappop(free)[1]
        else:
            lane, lanes = lanes, lanes + 1
        heapq.heappush(free, (span.start + span.took, lane))
        at, wide = 1000 * span.start / end, max(1000 * span.took / end, 0.3)
        row = min(lane, LANES - 1) * _LANE
        paths.setdefault(span.kind, []).append(f"M{at:.2f} {row}h{wide:.2f}v7h{-wide:.2f}z")
    shapes = (tag("path", d="".join(path), class_=kind) for kind, path in sorted(paths.items()))
    told = f"{counted(len(spans), 'span')} in {facts.duration_text(end)}, at most {lanes} side by side"
    height = min(lanes, LANES) * _LANE
    picture = tag(
        "svg", *shapes, viewBox=f"0 0 1000 {height}", preserveAspectRatio="none", class_="lanes", role="img", aria_label=told,
        height=str(max(height, 24)),
    )  # fmt: skip
    axis = tag(
        "p",
        tag("span", "0"),
        tag("span", facts.duration_text(end / 2)),
        tag("span", facts.duration_text(end)),
        class_="axis",
    )
    return tag("figure", picture, axis, tag("figcaption", told))

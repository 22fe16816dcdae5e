"""HTML out of plain values: whatever is not `Html` is text, sanitised and escaped, so nothing can be forgotten.

The page's policy forbids style attributes and event handlers, so there is no way to write one.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from mcptest_engine.core.sanitise import one_line, sanitise

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcptest_engine.core.enums import Verdict

_CLOSED = frozenset({"rect", "path"})
_MARKS = {"pass": "✓", "fail": "✗", "inconclusive": "?", "skip": "\u2013"}
_CODE = re.compile("`([^`]+)`")
NAME_LIMIT = 500


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


def escaped(text: str) -> Html:
    """A text as it may stand in an element or in a quoted attribute; line breaks stay."""
    return Html(html.escape(sanitise(text)))


def tag(name: str, /, *children: str | None, **attributes: str | float | bool | None) -> Html:
    """An element: `class_` and `aria_label` are written as `class` and `aria-label`, True as a bare name, None not at all."""
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _CLOSED:
        return Html(f"<{name}{written}/>")
    return Html(f"<{name}{written}>{joined(children)}</{name}>")


def joined(parts: Iterable[str | None], between: str = "") -> Html:
    """Parts one after another, those that are no `Html` escaped."""
    texts = (part if isinstance(part, Html) else escaped(part) for part in parts if part is not None)
    return Html(between.join(texts))


def block_of(text: str) -> Html:
    """A text of several lines as it is; one that has to be scrolled can be reached with keys."""
    return tag("pre", text, tabindex="0")


def worded(text: str) -> Html:
    """A message of ours, what stands between backticks in it as code."""
    parts = _CODE.split(text)
    return joined(tag("code", part) if at % 2 else part for at, part in enumerate(parts))


def name_text(text: str) -> str:
    """A name on one line, cut where nobody would read on."""
    return one_line(text, NAME_LIMIT)


def badge(verdict: Verdict | str) -> Html:
    """A verdict as mark, colour and word."""
    word = str(verdict)
    mark = tag("span", _MARKS.get(word, "?"), aria_hidden="true")
    return tag("span", mark, tag("span", f" {word}", class_="word"), class_=f"badge {word}")


def section(anchor: str, title: str, *children: str | None, note: str | None = None) -> Html:
    """A block of the page under a heading of its own."""
    about = None if note is None else tag("p", note, class_="note")
    heading = tag("h2", title, id=f"{anchor}-title")
    return tag("section", heading, about, *children, id=anchor, aria_labelledby=f"{anchor}-title")


def facts_list(rows: Iterable[tuple[str, str | None]]) -> Html:
    """Terms with what is known of each; what the record leaves out is said to be unknown."""
    pairs = (
        tag("div", tag("dt", term), tag("dd", tag("span", "not recorded", class_="none") if value is None else value))
        for term, value in rows
    )
    return tag("dl", *pairs, class_="facts")


def plain_table(
    caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: int = 0, extra: int | None = None
) -> Html:
    """A table whose first column names its rows and whose last `numbers` columns are figures.

    It scrolls by itself; on a phone each row is a list of its cells, under the words of the head.

    Column `extra` is left out where there is little room.
    """
    kinds = ["num" if at >= len(heads) - numbers else "extra" if at == extra else None for at in range(len(heads))]
    head = tag("tr", *(tag("th", word, scope="col", class_=kind) for word, kind in zip(heads, kinds, strict=True)))
    body = (
        tag(
            "tr",
            tag("th", row[0], scope="row"),
            *(
                tag("td", tag("div", cell) if cell else "", class_=kind, data_label=word)
                for cell, kind, word in zip(row[1:], kinds[1:], heads[1:], strict=True)
            ),
        )
        for row in rows
    )
    table = tag("table", tag("caption", caption, class_="hidden"), tag("thead", head), tag("tbody", *body))
    return tag("div", table, class_="wide", tabindex="0", role="region", aria_label=f"{caption}, table")


def bar(start: float, width: float, kind: str, *, total: float) -> Html:
    """A stretch of a line `total` long. SVG, as the policy allows no width in a style."""
    scale = 1000 / total if total > 0 else 0
    at, wide = start * scale, max(width * scale, 3 if width else 0)
    shape = tag("rect", x=f"{min(at, 997):.2f}", y="0", width=f"{wide:.2f}", height="10", class_=kind)
    return tag("svg", shape, viewBox="0 0 1000 10", preserveAspectRatio="none", class_="bar", aria_hidden="true")


def _attribute(key: str, value: str | float | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escaped(str(value))}"'

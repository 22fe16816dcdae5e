"""A proposal as lines: the fragment before and after, why, and what was left out. All of it is made safe here."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from mcptest_engine.core.sanitise import one_line
from mcptest_tui.state.diff_rows import differing
from mcptest_tui.state.reviewing import ACCEPT, KINDS, REJECT, RISK_MARKS, SKIP
from mcptest_tui.state.text_lines import BLANK, TextLine, line
from mcptest_tui.words import MARKS, key_of, mark

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mcptest_tui.state.reviewing import Decision, Item

CONTEXT = 3
LONGEST = 4_000
MOST_ROWS = 5_000
INFO_SHOWN = 8
SIGNS = {ACCEPT: ("pass", "accepted"), REJECT: ("fail", "rejected"), SKIP: ("skip", "skipped")}


def decision_pieces(decision: Decision | None, *, draft: bool = False) -> tuple[str, str]:
    """(`✓ accepted, edited`, its ink); ("", "") without one. `draft`: it was edited since, and that is not accepted."""
    if draft:
        return f"{mark('inconclusive')} edited, not accepted", "hint"
    if decision is None:
        return "", ""
    name, word = SIGNS[decision.choice]
    return f"{mark(name)} {word}{', edited' if decision.text is not None else ''}", name


def item_lines(item: Item, decision: Decision | None, *, info: bool = False, stability: bool = False) -> list[TextLine]:
    """Everything about a proposal; `info` says it all, where else a few rows stand for many. `stability` says that too."""
    lines: list[TextLine] = []
    if item.loosens is not None:
        lines += [line((f"{RISK_MARKS['loosens']} loosens  ", "hint"), (_safe(item.loosens), "hint")), BLANK]
    if item.stale:
        lines += [
            line((f"{RISK_MARKS['can only be rejected']} can only be rejected  ", "hint"), (_safe(item.stale), "hint")),
            BLANK,
        ]
    if item.needs_arguments:
        lines += [
            line(
                (f"{RISK_MARKS['needs arguments']} needs arguments  ", "hint"),
                (f"{key_of('review.edit')} edits them", "hint"),
            ),
            BLANK,
        ]
    if item.is_volatile:
        lines += [
            line((f"{RISK_MARKS['volatile']} volatile  ", "hint"), ("a value that changes from call to call", "hint")),
            BLANK,
        ]
    after = decision.text if decision is not None and decision.text is not None else item.after
    lines += diff_lines(item.before, after) if item.before or after else []
    if item.is_cut:
        lines.append(line((f"the rest is too long to show; {key_of('review.source')} opens the suite", "dim")))
    lines.append(BLANK)
    lines += _facts(item, info=info, stability=stability)
    return lines


def file_diff_lines(before: str, after: str, around: int = CONTEXT) -> list[TextLine]:
    """Two texts of a file as one, with the number of the line wherever some are left out."""
    if _rows(before) == _rows(after):
        return [line("no line is different; only how the lines end")]
    return diff_lines(before, after, around, numbered=True)


def written_diff_lines(files: Sequence[Mapping[str, str]]) -> list[TextLine]:
    """Return the difference of each written file, given as `{path, before, after}`."""
    back, on = key_of("review.unwrite"), key_of("app.back")
    lines = [line((f"{back} takes it back, {on} goes on", "dim"))]
    for file in files:
        lines += [BLANK, line(("written to ", "dim"), (_safe(file["path"]), "bold"))]
        lines += file_diff_lines(file["before"], file["after"], 0)
    return lines


def diff_lines(before: str, after: str, around: int | None = None, *, numbered: bool = False) -> list[TextLine]:
    """Both texts as one, what goes marked with `-` and what comes with `+`; what is the same for long is left out.

    `around`: so many rows beside a change are shown; None shows all of a short text. `numbered` says where others are left out.
    """
    old, new = _rows(before), _rows(after)
    if _is_item(old) and _is_item(new):  # its dash would look like the sign of the difference
        old, new = ([row[2:] for row in rows] for rows in (old, new))
    found: list[TextLine] = []
    if around is None:
        around = CONTEXT if len(old) + len(new) > 60 else MOST_ROWS
    matcher = SequenceMatcher(None, old, new, autojunk=len(old) * len(new) >= 4_000_000)
    for group in matcher.get_grouped_opcodes(around):
        if found or (numbered and group[0][3]):
            found.append(line((f"  {MARKS['cut']}{f' line {group[0][3] + 1}' if numbered else ''}", "key")))
        for kind, start, end, other, last in group:
            if kind == "equal":
                found += [_marked(" ", row, 0, 0) for row in old[start:end]]
            elif kind == "replace" and end - start == last - other:
                found += _paired(old[start:end], new[other:last])
            else:
                found += [*_block("-", old[start:end]), *_block("+", new[other:last])]
        if len(found) > MOST_ROWS:
            return [*found[:MOST_ROWS], line(("the rest is left out", "dim"))]
    return found or [_marked(" ", row, 0, 0) for row in new] or [line(("nothing", "dim"))]


def _is_item(rows: Sequence[str]) -> bool:
    """Whether the lines belong to one item of a list."""
    return bool(rows) and rows[0].startswith("- ") and all(row[:2] in ("  ", "") for row in rows[1:])


def _paired(old: Sequence[str], new: Sequence[str]) -> list[TextLine]:
    """As many rows as before: what differs within each is marked too."""
    spans = [differing(left, right) for left, right in zip(old, new, strict=True)]
    return [
        *(_marked("-", row, *ours) for row, (ours, _) in zip(old, spans, strict=True)),
        *(_marked("+", row, *theirs) for row, (_, theirs) in zip(new, spans, strict=True)),
    ]


def _block(sign: str, rows: Sequence[str]) -> list[TextLine]:
    return [_marked(sign, row, 0, 0) for row in rows]


def _marked(sign: str, row: str, start: int, end: int) -> TextLine:
    ink = {"+": "actual", "-": "expected"}.get(sign, "same")
    lead = len(row) - len(row.lstrip(" "))
    start = max(start, min(lead, end))
    if not 0 <= start < end or (start <= lead and end == len(row)):
        return TextLine(0, 2 + min(lead + 2, 20), ((f"{sign} ", ink), (_safe(row), ink)))
    parts = ((row[:start], ink), (row[start:end], f"{ink}-part"), (row[end:], ink))
    told = tuple((_safe(part), name) for part, name in parts if part)
    return TextLine(0, 2 + min(lead + 2, 20), ((f"{sign} ", ink), *told))


def _facts(item: Item, *, info: bool, stability: bool) -> Iterator[TextLine]:
    facts: list[tuple[str, list[str]]] = [
        ("calls", [item.call] if item.call else []),
        ("why", [told for told in (item.why, item.stability if stability and not info else "") if told]),
        ("arguments", list(item.arguments)),
        ("left out", [", ".join(item.left_out)] if item.left_out and not info else list(item.left_out)),
        ("notes", list(item.notes)),
    ]
    if info:
        facts += [
            ("stability", [item.stability] if item.stability else []),
            ("is", [KINDS.get(item.kind, item.kind)]),
            ("from", [item.source] if item.source else []),
            ("in", [item.place]),
            ("runs again", list(item.tests)),
            ("id", [item.id]),
        ]
    width = max((len(name) for name, told in facts if told), default=0) + 2
    for name, told in facts:
        kept = (
            told
            if info or len(told) <= INFO_SHOWN
            else [*told[:INFO_SHOWN], f"{len(told) - INFO_SHOWN} more; {key_of('review.info')} shows all"]
        )
        for at, text in enumerate(kept):
            label = name if at == 0 else ""
            yield TextLine(2, 2 + width, ((f"{label:<{width}}", "dim"), (_safe(text), "")))


def _rows(text: str) -> list[str]:
    return text.replace("\r\n", "\n").rstrip("\n").split("\n") if text.strip() else []


def _safe(text: str) -> str:
    return one_line(text, LONGEST)

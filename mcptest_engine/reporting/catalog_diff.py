"""What changed between two catalogs, as text, as Markdown for a changelog, and as JSON values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.text import counted
from mcptest_engine.reporting.layout import escape_markdown
from mcptest_engine.safety.changes.change import Change, Impact
from mcptest_engine.safety.findings import warning_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcptest_engine.safety.changes.catalogs import Compared

_HEADINGS = {
    Impact.BREAKING: "Breaking",
    Impact.UNKNOWN: "Cannot tell",
    Impact.COMPATIBLE: "Not breaking",
}
_MANY, _NAMED = 3, 10
_COLOURS = {Impact.BREAKING: "1;31", Impact.UNKNOWN: "33", Impact.COMPATIBLE: "32"}


def diff_text(compared: Compared, paint: Callable[[str, str], str]) -> str:
    """By impact, the worst first, each entry with its changes below it; then warnings, and the sums."""
    lines: list[str] = []
    for impact, groups in _grouped(compared):
        lines.append(paint(_COLOURS[impact], _HEADINGS[impact].lower()))
        for title, changes in groups.items():
            if len(changes) == 1:
                lines.append(f"  {title}: {changes[0]}")
            else:
                lines += [f"  {title}", *(f"    {change}" for change in changes)]
        lines.append("")
    if compared.warnings:
        lines.append(paint("33", "warnings about new texts"))
        lines += [f"  {one_line(found.tool)}: {found.rule} {one_line(found.summary)}" for found in compared.warnings]
        lines.append("")
    return "\n".join([*lines, sums(compared)]) + "\n"


def diff_markdown(compared: Compared) -> str:
    """A section for each impact, an entry in bold, its changes as a list."""
    sections = []
    for impact, groups in _grouped(compared):
        lines = [f"### {_HEADINGS[impact]}", ""]
        for title, changes in groups.items():
            if len(changes) == 1:
                lines.append(f"- **{escape_markdown(title)}**: {escape_markdown(changes[0])}")
            else:
                lines += [f"- **{escape_markdown(title)}**", *(f"  - {escape_markdown(change)}" for change in changes)]
        sections.append("\n".join(lines))
    if compared.warnings:
        found = [
            f"- **{escape_markdown(one_line(one.tool))}**: {one.rule} {escape_markdown(one_line(one.summary))}"
            for one in compared.warnings
        ]
        sections.append("\n".join(["### Warnings about new texts", "", *found]))
    return "\n\n".join([f"## Catalog: {sums(compared)}", *sections]) + "\n"


def diff_json(compared: Compared) -> dict[str, object]:
    """`verdict` is "breaking", "unknown", "compatible" or "same"."""
    counts = {impact.value: compared.count(impact) for impact in Impact}
    verdict = next((impact.value for impact in Impact if counts[impact.value]), "same")
    return {
        "verdict": verdict,
        "counts": counts,
        "changes": [change.to_json() for change in compared.changes],
        "warnings": [warning_json(found) for found in compared.warnings],
    }


def sums(compared: Compared) -> str:
    """`2 breaking changes, 1 unclear, 3 others`."""
    if not compared.changes:
        return "no change"
    breaking, unknown, others = (compared.count(impact) for impact in Impact)
    parts = [counted(breaking, "breaking change")]
    if unknown:
        parts.append(f"{unknown} unclear")
    return ", ".join([*parts, counted(others, "other")])


def _grouped(compared: Compared) -> Iterator[tuple[Impact, dict[str, list[str]]]]:
    """By impact, what changed of each entry; what changed alike of many is one group at the end, which names them."""
    for impact in Impact:
        alike: dict[tuple[str, str], dict[str, None]] = {}
        for change in compared.changes:
            if change.impact is impact and change.where:
                alike.setdefault((change.kind, _change_line(change)), {})[_title(change).partition(" ")[2]] = None
        many = {key: tuple(names) for key, names in alike.items() if len(names) >= _MANY}
        groups: dict[str, list[str]] = {}
        for change in compared.changes:
            if change.impact is impact and (change.kind, _change_line(change)) not in many:
                groups.setdefault(_title(change), []).append(_change_line(change))
        for (kind, told), names in many.items():
            more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
            groups.setdefault(f"{len(names)} {kind}s", []).append(f"{told}: {', '.join(names[:_NAMED])}{more}")
        if groups:
            yield impact, groups


def _title(change: Change) -> str:
    server = "" if change.server is None else f"{one_line(change.server, 80)}/"
    return f"{change.kind} {server}{one_line(change.name, 200)}"


def _change_line(change: Change) -> str:
    sides = {"inputSchema": "argument", "outputSchema": "result", "arguments": "argument"}
    if change.path and change.where in sides:
        return f"{sides[change.where]} `{change.path}` {change.message}"
    if change.where in {"inputSchema", "outputSchema"}:
        return change.message if change.where in change.message else f"{sides[change.where]}s: {change.message}"
    return change.message

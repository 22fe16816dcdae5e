"""What changed between two catalogs of one server, entry by entry, and whom it breaks.

Schemas of arguments may only widen: what an old client sends must still be accepted. Schemas of results may only narrow: an old
client must know all that the server sends. Descriptions break nobody; new ones are judged like those of an unknown server.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.values import dataclass
from mcptest_engine.safety.changes.change import Change, Effect, Impact, SchemaChange
from mcptest_engine.safety.changes.schemas import schema_changes
from mcptest_engine.safety.findings import worst_of_each_rule
from mcptest_engine.safety.poisoning import description_warnings, findings_of_tools

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcptest_engine.core.json_types import JsonMapping
    from mcptest_engine.safety.findings import Finding
    from mcptest_engine.safety.tool_surface import Surface

_SAFE = {  # hint -> its default, and the value that promises something
    "readOnlyHint": (False, True),
    "destructiveHint": (True, False),
    "idempotentHint": (False, True),
    "openWorldHint": (True, False),
}
_GRAVE = frozenset({"readOnlyHint", "destructiveHint", "idempotentHint"})
_ALIKE = 0.6


@dataclass(frozen=True, slots=True)
class Compared:
    """The changes, breaking ones first, and the findings of the poisoning rules that are new."""

    changes: tuple[Change, ...]
    warnings: tuple[Finding, ...] = ()

    def count(self, impact: Impact) -> int:
        return sum(change.impact is impact for change in self.changes)

    @property
    def breaks(self) -> bool:
        """Whether an old client may break: a change of unknown impact counts."""
        return any(change.impact is not Impact.COMPATIBLE for change in self.changes)


def catalog_changes(
    old: Mapping[str | None, Surface], new: Mapping[str | None, Surface], *, sections: frozenset[str]
) -> Compared:
    """The differences between two catalogs, by server. `sections` are the lists that both hold; only those are compared.

    Two catalogs of one server each are compared whatever the servers are called.
    """
    changes: list[Change] = []
    warnings: list[Finding] = []
    if len(old) == len(new) == 1:
        pairs: list[tuple[str | None, Surface, Surface]] = [(None, next(iter(old.values())), next(iter(new.values())))]
    else:
        pairs = [(name, old[name], new[name]) for name in old if name in new]
        changes += [_server_change(name, Impact.BREAKING, "was removed") for name in old if name not in new]
        changes += [_server_change(name, Impact.COMPATIBLE, "is new") for name in new if name not in old]
        warnings += [finding for name in new if name not in old for finding in description_warnings(new[name].tools)]
    for name, before, after in pairs:
        changes += _surface_changes(before, after, name, sections)
        warnings += _new_warnings(before, after)
    order = list(Impact)
    return Compared(tuple(sorted(changes, key=lambda change: order.index(change.impact))), tuple(warnings))


def _server_change(name: str | None, impact: Impact, message: str) -> Change:
    return Change(kind="server", name=str(name), impact=impact, message=message)


def _surface_changes(old: Surface, new: Surface, server: str | None, sections: frozenset[str]) -> Iterator[Change]:
    lists = (
        ("tools", "tool", "name", old.tools, new.tools, _tool_changes),
        ("prompts", "prompt", "name", old.prompts, new.prompts, _prompt_changes),
        ("resources", "resource", "uri", old.resources, new.resources, _resource_changes),
        ("resourceTemplates", "resource template", "uriTemplate", old.templates, new.templates, _resource_changes),
    )
    for section, kind, key, before, after, compare in lists:
        if section not in sections:
            continue
        had, has = _index_by(before, key), _index_by(after, key)
        gone, added = [name for name in had if name not in has], [name for name in has if name not in had]
        for name in gone:
            message = "was removed" + _rename_hint(name, had[name], {one: has[one] for one in added})
            yield Change(kind=kind, name=name, impact=Impact.BREAKING, message=message, server=server)
        for name in added:
            yield Change(kind=kind, name=name, impact=Impact.COMPATIBLE, message="is new", server=server)
        ambiguous = _ambiguous_names(before, after, key)
        for name in ambiguous:
            message = "is listed more than once, and differs from before: it is unclear which one is meant"
            yield Change(kind=kind, name=name, impact=Impact.UNKNOWN, message=message, server=server)
        for name in has:
            if name in had and name not in ambiguous and had[name] != has[name]:
                for impact, where, path, message in compare(had[name], has[name]):
                    yield Change(
                        kind=kind, name=name, impact=impact, message=message, where=where, path=path, server=server
                    )
    if "instructions" in sections and old.instructions != new.instructions:
        yield Change(
            kind="server", name=server or "server", impact=Impact.COMPATIBLE, message="instructions changed",
            where="instructions", server=server,
        )  # fmt: skip


_Difference = tuple[Impact, str, str, str]


def _tool_changes(old: Mapping[str, object], new: Mapping[str, object]) -> Iterator[_Difference]:
    yield from _schema_differences(
        "inputSchema", schema_changes(old.get("inputSchema", {}), new.get("inputSchema", {})), _OF_ARGUMENTS
    )
    had, has = "outputSchema" in old, "outputSchema" in new
    if had and has:
        yield from _schema_differences(
            "outputSchema", schema_changes(old["outputSchema"], new["outputSchema"]), _OF_RESULTS
        )
    elif had:
        yield (
            Impact.BREAKING,
            "outputSchema",
            "",
            "`outputSchema` was removed: the shape of results is no longer declared",
        )
    elif has:
        yield Impact.COMPATIBLE, "outputSchema", "", "has an `outputSchema` now"
    yield from _hint_changes(_mapping(old.get("annotations")), _mapping(new.get("annotations")))
    yield from _text_changes(old, new, ("title", "description"))
    known = {"name", "title", "description", "inputSchema", "outputSchema", "annotations"}
    yield from _other_changes(old, new, known)


_OF_ARGUMENTS = {Effect.NARROWED: Impact.BREAKING, Effect.BOTH: Impact.BREAKING, Effect.UNKNOWN: Impact.UNKNOWN}
_OF_RESULTS = {Effect.WIDENED: Impact.BREAKING, Effect.BOTH: Impact.BREAKING, Effect.UNKNOWN: Impact.UNKNOWN}


def _schema_differences(
    where: str, changes: Sequence[SchemaChange], impacts: Mapping[Effect, Impact]
) -> Iterator[_Difference]:
    for change in changes:
        yield impacts.get(change.effect, Impact.COMPATIBLE), where, change.path, change.message


def _hint_changes(old: Mapping[str, object], new: Mapping[str, object]) -> Iterator[_Difference]:
    for hint, (default, promise) in _SAFE.items():
        before, after = (hints.get(hint, default) for hints in (old, new))
        if before == after:
            continue
        lost = before is promise and after is not promise and hint in _GRAVE
        message = f"`{hint}` {_json(before)} became {_json(after)}{'' if hint in new else ' (its default)'}"
        yield Impact.BREAKING if lost else Impact.COMPATIBLE, "annotations", "", message
    yield from _text_changes(old, new, ("title",), where="annotations")
    yield from _other_changes(old, new, {"title", *_SAFE}, where="annotations")


def _prompt_changes(old: Mapping[str, object], new: Mapping[str, object]) -> Iterator[_Difference]:
    had, has = _index_by(_list(old.get("arguments")), "name"), _index_by(_list(new.get("arguments")), "name")
    for name in dict.fromkeys([*has, *had]):
        path = one_line(name, 80)
        needed, needs = (_mapping(held.get(name)).get("required") is True for held in (had, has))
        if name not in has:
            yield Impact.BREAKING, "arguments", path, "was removed"
        elif name not in had:
            message = "is new and required" if needs else "is new, optional"
            yield Impact.BREAKING if needs else Impact.COMPATIBLE, "arguments", path, message
        elif needs != needed:
            message = "is required now" if needs else "is optional now"
            yield Impact.BREAKING if needs else Impact.COMPATIBLE, "arguments", path, message
        if name in had and name in has:
            yield from _text_changes(had[name], has[name], ("title", "description"), where="arguments", path=path)
    yield from _text_changes(old, new, ("title", "description"))
    yield from _other_changes(old, new, {"name", "title", "description", "arguments"})


def _resource_changes(old: Mapping[str, object], new: Mapping[str, object]) -> Iterator[_Difference]:
    before, after = old.get("mimeType"), new.get("mimeType")
    if before != after:
        lost = before is not None
        message = f"`mimeType` {_json(before)} became {_json(after)}"
        yield Impact.BREAKING if lost else Impact.COMPATIBLE, "mimeType", "", message
    yield from _text_changes(old, new, ("name", "title", "description"))
    yield from _other_changes(old, new, {"uri", "uriTemplate", "mimeType", "name", "title", "description"})


def _text_changes(
    old: Mapping[str, object], new: Mapping[str, object], keys: Sequence[str], *, where: str = "", path: str = ""
) -> Iterator[_Difference]:
    for key in keys:
        before, after = old.get(key), new.get(key)
        if before != after:
            what = "is new" if before is None else "was removed" if after is None else f"changed to {_json(after)}"
            yield Impact.COMPATIBLE, where or key, path, f"{key} {what}"


def _other_changes(
    old: Mapping[str, object], new: Mapping[str, object], known: set[str], *, where: str = ""
) -> Iterator[_Difference]:
    for key in dict.fromkeys([*new, *old]):
        if key not in known and _json(old.get(key), None) != _json(new.get(key), None):
            yield Impact.COMPATIBLE, where or one_line(str(key), 80), "", f"`{one_line(str(key), 80)}` changed"


def _rename_hint(name: str, entry: Mapping[str, object], added: Mapping[str, Mapping[str, object]]) -> str:
    """The question " (renamed to `b`?)" where a new entry looks like the removed one; else ""."""
    found = [
        other
        for other, held in added.items()
        if _without_name(held) == _without_name(entry)
        or (held.get("inputSchema") == entry.get("inputSchema") and _likeness(name, other) >= _ALIKE)
        or (held.get("description") is not None and held.get("description") == entry.get("description"))
    ]
    best = max(found, key=lambda other: _likeness(name, other), default=None)
    return "" if best is None else f" (renamed to `{one_line(best, 80)}`?)"


def _without_name(entry: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in entry.items() if key not in {"name", "uri", "uriTemplate", "title"}}


def _likeness(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one[:200], other[:200]).ratio()


def _new_warnings(old: Surface, new: Surface) -> Iterator[Finding]:
    """The findings on the new catalog's tools that the old catalog did not have."""
    known = {(found.tool, found.rule, found.excerpt) for of_tool in findings_of_tools(old.tools) for found in of_tool}
    for of_tool in findings_of_tools(new.tools):
        yield from worst_of_each_rule(
            found for found in of_tool if (found.tool, found.rule, found.excerpt) not in known
        )


def _index_by(entries: Sequence[object], key: str) -> dict[str, Mapping[str, object]]:
    return {
        str(entry[key]): entry for entry in entries if isinstance(entry, Mapping) and isinstance(entry.get(key), str)
    }


def _ambiguous_names(old: Sequence[object], new: Sequence[object], key: str) -> list[str]:
    """The names that one of two lists has more than once, unless both lists have the same entries of that name."""
    found: dict[str, tuple[list[str], list[str]]] = {}
    for side, entries in enumerate((old, new)):
        for entry in entries:
            if isinstance(entry, Mapping) and isinstance(entry.get(key), str):
                found.setdefault(entry[key], ([], []))[side].append(_json(entry, None))
    return [name for name, (one, other) in found.items() if max(len(one), len(other)) > 1 and one != other]


def _json(value: object, limit: int | None = 80) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text if limit is None else one_line(text, limit)


def _mapping(value: object) -> JsonMapping:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []

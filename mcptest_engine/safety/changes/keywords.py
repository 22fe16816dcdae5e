"""Changes of keywords without subschemas: types, values, patterns, `dependentRequired`, and texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from mcptest_engine.core.sanitise import one_line
from mcptest_engine.safety.changes.change import Effect, SchemaChange
from mcptest_engine.safety.changes.reading import (
    JSON_TYPES,
    TEXTS,
    canonical,
    mapping,
    names,
    types_of,
    values_of,
    within,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcptest_engine.safety.changes.reading import Schema


def type_change(old: Schema, new: Schema, path: str) -> Iterator[SchemaChange]:
    before, after = types_of(old), types_of(new)
    if before == after:
        return
    wide = JSON_TYPES
    kept = within(before or wide, after or wide)
    keeps = within(after or wide, before or wide)
    if kept and keeps:
        return
    effect = Effect.WIDENED if kept else Effect.NARROWED if keeps else Effect.BOTH
    yield SchemaChange(
        path,
        "type",
        effect,
        f"type {_types_text(before)} became {_types_text(after)}",
        old.get("type"),
        new.get("type"),
    )


def values_change(old: Schema, new: Schema, path: str) -> Iterator[SchemaChange]:
    before, after = values_of(old), values_of(new)
    if before is None and after is None:
        return
    if before is None or after is None:
        effect = Effect.NARROWED if before is None else Effect.WIDENED
        message = (
            f"is one of {_values_text(after)} now"
            if after is not None
            else f"no longer needs to be one of {_values_text(before)}"
        )
        yield SchemaChange(path, "enum", effect, message, before and list(before), after and list(after))
        return
    gone, added = [text for text in before if text not in after], [text for text in after if text not in before]
    if gone:
        yield SchemaChange(path, "enum", Effect.NARROWED, f"no longer allows {_values_text(gone)}", gone, None)
    if added:
        yield SchemaChange(path, "enum", Effect.WIDENED, f"also allows {_values_text(added)}", None, added)


def _values_text(values: Iterable[str] | None) -> str:
    texts = list(values or ())
    more = f" and {len(texts) - 5} more" if len(texts) > 5 else ""
    return ", ".join(f"`{one_line(text, 60)}`" for text in texts[:5]) + more


def text_keywords(old: Schema, new: Schema, path: str) -> Iterator[SchemaChange]:
    for keyword in ("pattern", "format"):
        before, after = old.get(keyword), new.get(keyword)
        if before == after:
            continue
        if before is None:
            yield SchemaChange(path, keyword, Effect.NARROWED, f"has a `{keyword}` now", before, after)
        elif after is None:
            yield SchemaChange(path, keyword, Effect.WIDENED, f"no longer has a `{keyword}`", before, after)
        else:
            yield SchemaChange(
                path, keyword, Effect.UNKNOWN, f"`{keyword}` changed: cannot tell whether it breaks", before, after
            )


def dependent_required(old: Schema, new: Schema, path: str) -> Iterator[SchemaChange]:
    before, after = mapping(old.get("dependentRequired")), mapping(new.get("dependentRequired"))
    for name in dict.fromkeys([*after, *before]):
        had, has = set(names(before.get(name))), set(names(after.get(name)))
        if has - had:
            yield SchemaChange(
                member(path, name), "dependentRequired", Effect.NARROWED, "requires other properties beside it now"
            )
        if had - has:
            yield SchemaChange(
                member(path, name), "dependentRequired", Effect.WIDENED, "requires fewer properties beside it"
            )


def text_changes(old: Schema, new: Schema, path: str) -> Iterator[SchemaChange]:
    for keyword in TEXTS:
        before, after = old.get(keyword), new.get(keyword)
        if canonical(before) == canonical(after) and (keyword in old) == (keyword in new):
            continue
        became = f" {_shown_default(old)} became {_shown_default(new)}" if keyword == "default" else " changed"
        message = f"{keyword}{became}"
        yield SchemaChange(path, keyword, Effect.NEUTRAL, message, before, after)


def _shown_default(schema: Schema) -> str:
    return f"`{one_line(canonical(schema['default']), 60)}`" if "default" in schema else "(none)"


def member(path: str, name: str) -> str:
    name = one_line(name, 80)
    return f"{path}.{name}" if path else name


def _types_text(types: frozenset[str] | None) -> str:
    return "any" if types is None else one_line(" or ".join(sorted(types)), 120)


def of_type(schema: object) -> str:
    types = types_of(schema) if isinstance(schema, Mapping) else None
    return "" if types is None else f" ({_types_text(types)})"

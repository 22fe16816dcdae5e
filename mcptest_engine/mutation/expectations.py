"""Propose few, strong assertions on one recorded answer: exact values of what is stable, the shape of what changes.

A short answer is asserted as a whole; lists in a longer one are asserted column by column. Nothing is pinned that differed
between two runs, looks like a time, an id or a counter, or is a secret. One run says little about what is stable: of an answer
seen once, only values of arguments, null, booleans and texts without digits are pinned.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from mcptest_engine.authoring.observing import LONGEST_EXACT, Secrets, is_writable, scalars
from mcptest_engine.authoring.shapes import type_of
from mcptest_engine.authoring.targets import untemplated
from mcptest_engine.core.values import dataclass
from mcptest_engine.mutation.killing import Killer
from mcptest_engine.mutation.operators import (
    AGENT,
    BLOCK_LISTS,
    FROM_JSON,
    MISSING,
    Path,
    assertion_path,
    find_copies,
    get_at,
    is_under,
    read_json,
)
from mcptest_engine.mutation.recording import is_likely_volatile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest_engine.core.json_types import JsonDict
    from mcptest_engine.mutation.recording import Recorded

MOST_CHARACTERS = 1_000
"""A value whose JSON is longer is not asserted as a whole."""
MOST_SHAPES = 3
"""The most assertions on values that change in one proposal."""
_MOST_LINES = 4
_LONGEST_LINE = 200
_LONGEST_PATTERN = 200
_VARYING = re.compile(
    r"(?P<uuid>[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})|(?P<hex>\b(?=[a-f]*\d)[0-9a-f]{7,}\b)|(?P<digits>\d+)"
)
_PATTERNS = {"uuid": "[0-9a-fA-F-]{36}", "hex": "[0-9a-f]+", "digits": "[0-9]+"}


def expectations(recorded: Recorded, secrets: Secrets) -> Iterator[Killer]:
    """Yield candidate assertions for an answer, wholes before their parts; the caller judges whether they hold.

    Those with `is_shape` are about values that change.
    """
    return _Answer(recorded, secrets).all()


@dataclass(slots=True)
class _Answer:
    """One answer, and the rules for what in it may be pinned."""

    recorded: Recorded
    secrets: Secrets

    def all(self) -> Iterator[Killer]:
        source = self.recorded.source
        result = source.answer.get("result")
        if source.method == AGENT or self.recorded.call is not None:
            return
        if not isinstance(result, dict):
            yield from self._of_error()
            return
        copied = {copy.block for copy in find_copies(source.answer)}
        if isinstance(result.get("structuredContent"), dict):
            yield from self._of_value(("result", "structuredContent"), result["structuredContent"])
        key = BLOCK_LISTS.get(source.method, "")
        blocks = result.get(key)
        if isinstance(blocks, list):
            if len(blocks) > 1 and not copied:
                yield from (one for one in self._of_value(("result", key), blocks) if not one.is_shape)
            for number, block in enumerate(blocks):
                if isinstance(block, dict) and number not in copied:
                    yield from self._of_block(("result", key, number), block)
            if ("result", key) not in self.recorded.volatile:
                yield self._row(("result", key), {"length": len(blocks)})

    def _of_error(self) -> Iterator[Killer]:
        error = self.recorded.source.answer.get("error")
        if isinstance(error, dict):
            for name in ("code", "message"):
                if name in error and self._is_stable(("error", name), error[name]):
                    yield self._row(("error", name), {"exact": error[name]})

    def _of_block(self, path: Path, block: dict[str, object]) -> Iterator[Killer]:
        for name, value in block.items():
            here = (*path, name)
            if name == "text" and isinstance(value, str):
                held = read_json(value)
                yield from self._of_text(here, value) if held is None else self._of_value((*here, FROM_JSON), held)
            elif name in ("data", "blob") and isinstance(value, str):
                if here not in self.recorded.volatile and self.recorded.again is not None:
                    yield self._row(here, {"length": len(value)})
            elif name in ("resource", "content") and isinstance(value, dict):
                yield from self._of_block(here, value)
            elif name in ("mimeType", "uri", "name", "description") and self._is_stable(here, value):
                yield self._row(here, {"exact": value})

    # --- values

    def _of_value(self, path: Path, value: object) -> Iterator[Killer]:
        """Yield one assertion on an object or list, or on its stable part, if that is short; else assertions on its members."""
        part = self._stable_part(path, value)
        is_whole = part is not MISSING and part == value and _size(part) == _size(value)
        if part not in (MISSING, {}, []) and _size(part) <= MOST_CHARACTERS:
            yield self._row(path, {"exact" if is_whole else "subset": part})
        elif is_whole and not value:
            yield self._row(path, {"exact": value})
        elif isinstance(value, dict):
            yield from self._of_members(path, value, part)
        elif isinstance(value, list):
            yield from self._of_list(path, value)
        if not is_whole and not self._is_declared(path):
            yield from self._shapes(path)

    def _of_members(self, path: Path, value: dict[str, object], part: object) -> Iterator[Killer]:
        """Yield one assertion on the short stable members, and separate ones on the other objects, lists and texts."""
        stable = part if isinstance(part, dict) else {}
        short = {name: one for name, one in stable.items() if _size(one) <= MOST_CHARACTERS // 5}
        if short:
            yield self._row(path, {"subset": short})
        for name, one in value.items():
            if name not in short and isinstance(one, (dict, list)):
                yield from self._of_value((*path, name), one)
            elif name not in short and isinstance(one, str):
                yield from self._of_text((*path, name), one)

    def _of_list(self, path: Path, items: list[Any]) -> Iterator[Killer]:
        """Yield assertions on a long list: its columns, its length and its first items."""
        if path in self.recorded.volatile:
            return
        if items and all(isinstance(item, dict) for item in items):
            for name in items[0]:
                column = [item.get(name) for item in items]
                paths = [(*path, at, name) for at in range(len(items))]
                is_stable = all(self._is_stable(one, cell) for one, cell in zip(paths, column, strict=True))
                if is_stable and _size(column) <= MOST_CHARACTERS and _is_plain(name):
                    yield self._row(path, {"exact": column}, column=name)
        yield self._row(path, {"length": len(items)})
        first: list[Any] = []
        for at, item in enumerate(items):
            part = self._stable_part((*path, at), item)
            if part is MISSING or _size([*first, part]) > MOST_CHARACTERS:
                break
            first.append(part)
        if first:
            yield self._row(path, {"subset": first})
        elif items and isinstance(items[0], (dict, list)):
            yield from self._of_value((*path, 0), items[0])

    def _stable_part(self, path: Path, value: object) -> object:
        """The value without what may not be pinned; MISSING where nothing is left, or nothing of an item of a list."""
        if path in self.recorded.volatile:
            return MISSING
        if isinstance(value, dict):
            parts = {name: self._stable_part((*path, name), one) for name, one in value.items()}
            kept = {name: one for name, one in parts.items() if one is not MISSING}
            return kept if kept or not value else MISSING
        if isinstance(value, list):
            items = [self._stable_part((*path, at), item) for at, item in enumerate(value)]
            return MISSING if any(item is MISSING for item in items) else items
        return value if self._is_stable(path, value) else MISSING

    def _is_stable(self, path: Path, value: object) -> bool:
        if is_under(path, self.recorded.volatile) or isinstance(value, (dict, list)) or not is_writable(value):
            return False
        if isinstance(value, str) and (
            read_json(value) is not None or len(value) > LONGEST_EXACT or self.secrets.holds(value)
        ):
            return False
        name = next((part for part in reversed(path) if isinstance(part, str)), "")
        if self.secrets.under(name, value) or is_likely_volatile(path, value, self._argument_values()):
            return False
        return self.recorded.again is not None or self._is_likely_stable(value)

    def _is_likely_stable(self, value: object) -> bool:
        """Whether a value seen once may be pinned: null, a boolean, the value of an argument, or a text without digits."""
        if value is None or isinstance(value, bool):
            return True
        return repr(value) in self._argument_values() or (isinstance(value, str) and not re.search(r"\d", value))

    def _argument_values(self) -> frozenset[str]:
        params = self.recorded.judged.asked.params or {}
        return scalars(params.get("arguments", params))

    def _is_declared(self, path: Path) -> bool:
        """Whether an output schema asserts the types at this path already."""
        return path[:2] == ("result", "structuredContent") and self.recorded.source.output_schema is not None

    def _shapes(self, path: Path) -> Iterator[Killer]:
        """Yield assertions on the types of values that change: one `schema` for several members of an object, else `type`."""
        groups: dict[Path, dict[Any, str]] = {}
        for here in sorted(self.recorded.volatile, key=lambda one: (len(one), str(one))):
            seen = get_at(self.recorded.source.answer, here)
            if here[: len(path)] == path and seen is not MISSING and not is_under(here[:-1], self.recorded.volatile):
                groups.setdefault(here[:-1], {})[here[-1]] = type_of(seen)
        for above, types in groups.items():
            if len(types) == 1 or not all(isinstance(name, str) for name in types):
                for name, kind in types.items():
                    yield self._row((*above, name), {"type": kind}, is_shape=True)
            else:
                properties = {name: {"type": kind} for name, kind in types.items()}
                schema = {"type": "object", "required": list(types), "properties": properties}
                yield self._row(above, {"schema": schema}, is_shape=True)

    # --- texts

    def _of_text(self, path: Path, text: str) -> Iterator[Killer]:
        if self._is_stable(path, text):
            yield self._row(path, {"exact": text})
            return
        again = None if self.recorded.again is None else get_at(self.recorded.again, path)
        if self.secrets.holds(text) or (again is not None and not isinstance(again, str)):
            yield self._row(path, {"type": "string"}, is_shape=True)
            return
        is_volatile = path in self.recorded.volatile or again is None
        lines = [line for line in text.splitlines() if line.strip() and len(line) <= _LONGEST_LINE]
        if is_volatile:
            if "\n" not in text.strip() and len(text) <= _LONGEST_PATTERN and _VARYING.search(text):
                yield self._row(path, {"regex": _pattern_of(text)}, is_shape=True)
            steady = [line for line in lines if not re.search(r"\d", line) and (again is None or line in again)]
            if steady:
                yield self._row(path, _contains(sorted(steady, key=len)[-_MOST_LINES:], lines), is_shape=True)
            return
        if text[:1].strip() and lines and text.startswith(lines[0]):
            yield self._row(path, {"starts-with": lines[0]})
        numbered = [line for line in lines if re.search(r"\d", line)]
        if numbered:
            yield self._row(path, _contains(numbered[:_MOST_LINES], lines))
        if lines:
            yield self._row(path, {"ends-with": text[-40:]})
        yield self._row(path, {"length": len(text)})

    def _row(self, path: Path, matcher: JsonDict, *, column: str | None = None, is_shape: bool = False) -> Killer:
        target, program = assertion_path(path)
        if column is not None:
            if program is None:
                target = f"{target}[*].{column}"
            else:
                program = f"{program} | [.[].{column}]"
        row: JsonDict = {"target": untemplated(target)}
        if program is not None:
            row["transform"] = {"jq": program}
        return Killer(path, {**row, "matcher": untemplated(matcher)}, column=column, is_shape=is_shape)


def _contains(wanted: list[str], lines: list[str]) -> dict[str, object]:
    ordered = [line for line in lines if line in wanted]
    ordered = list(dict.fromkeys(ordered))
    return {"contains": ordered[0]} if len(ordered) == 1 else {"contains-all": ordered}


def _pattern_of(text: str) -> str:
    """A regular expression that matches a text with other numbers and ids."""
    pattern, at = "", 0
    for found in _VARYING.finditer(text):
        pattern += re.escape(text[at : found.start()]) + _PATTERNS[found.lastgroup or "digits"]
        at = found.end()
    pattern += re.escape(text[at:])
    return "^" + re.sub(r"\\([ \-:,#/'\"])", r"\1", pattern) + "$"


def _is_plain(name: str) -> bool:
    return re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) is not None


def _size(value: object) -> int:
    """The number of characters of the value as JSON."""
    return len(json.dumps(value, ensure_ascii=False, default=str))

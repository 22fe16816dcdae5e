"""Replaces one table of a TOML file, every other byte unchanged.

The standard library reads TOML and does not write it. So the text is edited and then parsed: a result other than the intended
one is not written.
"""

from __future__ import annotations

import json
import re
import tomllib
from typing import TYPE_CHECKING

from mcptest_engine.core.safe_json import json_fault
from mcptest_engine.front_door.json_edit import NotEditable

if TYPE_CHECKING:
    from collections.abc import Mapping


def with_table(text: str, path: tuple[str, str], values: Mapping[str, str | list[str]]) -> str:
    """Put `values` into the table `[path]`; other members of it stay. Raises: NotEditable."""
    try:
        before = tomllib.loads(text)
    except tomllib.TOMLDecodeError as wrong:
        raise NotEditable(f"it is not TOML: {wrong}") from None
    except (ValueError, RecursionError) as wrong:  # a number of thousands of digits, arrays nested thousands of times
        raise NotEditable(str(json_fault(wrong))) from None
    holder, name = path
    tables = before.get(holder, {})
    table = tables.get(name, {}) if isinstance(tables, dict) else None
    if not isinstance(table, dict):
        raise NotEditable(f"`{holder}.{name}` is not a table")
    wanted = {**before, holder: {**tables, name: {**table, **values}}}
    if wanted == before:
        return text
    after = _with_lines(
        text, path, {key: f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in values.items()}
    )
    try:
        is_right = tomllib.loads(after) == wanted
    except tomllib.TOMLDecodeError:
        is_right = False
    if not is_right:
        raise NotEditable(f"`[{holder}.{name}]` is written in a form that mcptest does not edit")
    return after


def _with_lines(text: str, path: tuple[str, str], written: Mapping[str, str]) -> str:
    """Replace the table's lines by those of `written`; a missing table is added at the end."""
    ending = "\r\n" if "\r\n" in text else "\n"  # TOML has only these line ends, and each line keeps its own
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += ending
    written = {key: line + ending for key, line in written.items()}
    header = re.compile(rf"\s*\[\s*{_name(path[0])}\s*\.\s*{_name(path[1])}\s*\]\s*(#.*\s)?")
    at = next((number for number, line in enumerate(lines) if header.fullmatch(line)), None)
    if at is None:
        return "".join([*lines, *([ending] if lines else []), f"[{path[0]}.{path[1]}]{ending}", *written.values()])
    end = next((number for number in range(at + 1, len(lines)) if lines[number].lstrip().startswith("[")), len(lines))
    rest = dict(written)
    body = []
    for line in lines[at + 1 : end]:
        found = re.match(r"\s*([A-Za-z0-9_-]+)\s*=", line)
        body.append(rest.pop(found[1], line) if found else line)
    return "".join([*lines[: at + 1], *rest.values(), *body, *lines[end:]])


def _name(name: str) -> str:
    return rf"""(?:{name}|"{name}"|'{name}')"""

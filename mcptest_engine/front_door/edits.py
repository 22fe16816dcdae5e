"""Edits a suite by its handle: replaced text, or the operations of a JSON Patch; comments stay as they are.

Either all edits of a call are made, each to the text that the ones before it left, or none. The text need not be a valid suite
in between: the answer lists its problems. Source: RFC 6902 (add, replace, remove), RFC 6901.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.errors import UsageError
from mcptest_engine.front_door.handles import handle_of
from mcptest_engine.front_door.paging import LARGEST_PAGE, weight

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcptest_engine.front_door.door import Request
    from mcptest_engine.front_door.verbs import Answer

    Path = tuple[str | int, ...]

_MOST_EDITS = 200
_SHOWN = 120


async def edit_suite(request: Request) -> Answer:
    """{suite, valid, errors, warnings?, lines, text?, notes?}; `text` are the requested lines."""
    from mcptest_engine.front_door.suites import validated

    handles, given = request.door.handles, request.arguments["suite"]
    handle = handle_of(given)
    text = given if handle is None else handles.get(handle)
    edits = request.arguments.get("edits", ())
    text = await asyncio.to_thread(apply_edits, text, edits)
    if handle is None:
        handle = handles.add(text)
    else:
        handles.put(handle, text)
    checked = await validated(request, text)
    lines = text.splitlines()
    answer = {"suite": handle, **checked, "lines": len(lines)}
    if "lines" in request.arguments:
        shown, more = _lines_in_room(lines, request.arguments["lines"])
        answer["text"] = shown
        if more is not None:
            answer["notes"] = [
                *answer.get("notes", ()),
                f"lines {more} and later are not shown; request them with `lines`",
            ]
    return answer


def apply_edits(text: str, edits: Sequence[Mapping[str, object]]) -> str:
    """Apply all edits to the text. Raises: UsageError that names the edit which cannot be made."""
    if len(edits) > _MOST_EDITS:
        raise UsageError(f"{len(edits):,} edits are more than the {_MOST_EDITS} of one call")
    for number, edit in enumerate(edits, 1):
        try:
            text = _replace_text(text, edit) if "op" not in edit else _apply_operation(text, edit)
        except UsageError as wrong:
            message = f"edit {number} of {len(edits)} cannot be made, and none is: {wrong.message}"
            raise UsageError(message, hint=wrong.hint) from None
    return text


def _replace_text(text: str, edit: Mapping[str, Any]) -> str:
    """Replace `old`, which must occur once, by `new`."""
    unknown = edit.keys() - {"old", "new"}
    if unknown or "old" not in edit or "new" not in edit:
        raise UsageError("it has neither `old` and `new` nor `op` and `path`")
    old = edit["old"]
    count = text.count(old) if old else 0
    if count != 1:
        where = "is empty" if not old else f"occurs {count} times" if count else "does not occur in the suite"
        hint = "give more of the text around it, so that it occurs once" if count else _nearest_line(text, old)
        raise UsageError(f"`old` {where}", hint=hint)
    return text.replace(old, edit["new"])


def _nearest_line(text: str, old: str) -> str:
    import difflib

    first = next((line.strip() for line in old.splitlines() if line.strip()), "")
    lines = {line.strip(): number for number, line in enumerate(text.splitlines(), 1) if line.strip()}
    near = difflib.get_close_matches(first[:_SHOWN], [line[:_SHOWN] for line in lines], n=1)
    found = next((number for line, number in lines.items() if near and line.startswith(near[0])), None)
    return "`lines` shows the text" if found is None else f"line {found} is the nearest: {near[0]}"


def _apply_operation(text: str, edit: Mapping[str, Any]) -> str:
    """Apply one operation of a JSON Patch."""
    from mcptest_engine.suite.edit import BLOCKS, append_test, read_value, set_value
    from mcptest_engine.suite.text_edits import EditRefused, apply

    op = edit["op"]
    if "path" not in edit or edit.keys() & {"old", "new"} or (op != "remove") is not ("value" in edit):
        needed = "`path` alone" if op == "remove" else "`path` and `value`"
        raise UsageError(f"the operation {op} takes {needed}")
    try:
        pointer, value = edit["path"], edit.get("value")
        block = pointer.removeprefix("/").removesuffix("/-")
        if op == "add" and pointer == f"/{block}/-" and block in BLOCKS and isinstance(value, dict):
            return apply(text, append_test(text, block, value))  # formatted as a person would write it
        path, value = _operation(read_value(text), op, pointer, value)
        return apply(text, set_value(text, path, value))
    except EditRefused as wrong:
        raise UsageError(wrong.message, hint=wrong.hint or "use `old` and `new`") from None


def _operation(tree: object, op: str, pointer: str, value: object) -> tuple[Path, Any]:
    """The place that an operation changes, and its value afterwards: that of the list or object around it."""
    if not pointer:
        if op == "remove":
            raise UsageError("the whole suite cannot be removed")
        return (), value
    if not pointer.startswith("/"):
        raise UsageError(f"the path `{pointer[:_SHOWN]}` is not a JSON Pointer", hint="such as /tools/0/expect")
    holder: Any = tree
    path: Path = ()
    *above, last = (part.replace("~1", "/").replace("~0", "~") for part in pointer[1:].split("/"))
    for part in above:
        key = _key_of_part(holder, part, path)
        holder, path = holder[key], (*path, key)
    if isinstance(holder, list) and op == "add":
        index = len(holder) if last == "-" else _key_of_part([*holder, None], last, path)
        return path, [*holder[:index], value, *holder[index:]]
    if isinstance(holder, dict) and op == "add":
        return (*path, last), value
    key = _key_of_part(holder, last, path)
    if op == "replace":
        return (*path, key), value
    if isinstance(holder, list):
        return path, [*holder[:key], *holder[key + 1 :]]
    return path, {name: part for name, part in holder.items() if name != key}


def _key_of_part(holder: object, part: str, path: Path) -> Any:
    """The key or index for a part of a pointer. Raises: UsageError with the nearest one."""
    from mcptest_engine.core.errors import did_you_mean
    from mcptest_engine.core.text import pointer

    place = f"`{pointer(path)}`" if path else "the suite"
    if isinstance(holder, dict):
        found = next((key for key in holder if str(key) == part), None)
        if found is not None:
            return found
        known = [str(key) for key in holder]
        hint = did_you_mean(part[:_SHOWN], known) or f"it has {', '.join(known[:20]) or 'nothing'}"
        raise UsageError(f"{place} has no `{part[:_SHOWN]}`", hint=hint)
    if isinstance(holder, list):
        if part.isascii() and part.isdigit() and len(part) < 9 and int(part) < len(holder):
            return int(part)
        raise UsageError(f"{place} has no item `{part[:_SHOWN]}`: it has {len(holder)}, counted from 0")
    raise UsageError(f"{place} is neither a list nor a mapping")


def _lines_in_room(lines: Sequence[str], wanted: Sequence[int]) -> tuple[str, int | None]:
    """The requested lines, as many as fit, and the number of the first that does not."""
    first, last = (*wanted[:2], len(lines))[:2] if wanted else (1, len(lines))
    if not 1 <= first <= max(len(lines), 1):
        raise UsageError(f"`lines` begins with {first}: the suite has {len(lines)}, counted from 1")
    shown: list[str] = []
    room = LARGEST_PAGE // 2  # the other half is for the suite's problems
    for number in range(first, min(last, len(lines)) + 1):
        room -= weight(lines[number - 1])
        if room < 0:
            return "\n".join(shown), number
        shown.append(lines[number - 1])
    return "\n".join(shown), None

"""The target language: how an assertion names the one value it is about.

A target is a path into the answer's envelope: `name`, `.name`, `[3]`, `[-1]`, `["any key"]`, and `[*]` for every element.
The surprising thing is what a path gives that leads nowhere: not None but an `Absent`, because null is a value a server
sends and nothing is not. An `Absent` works out its words only when asked, since `exists: false` wants none.
"""

from __future__ import annotations

import json
import re
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal

from mcptest_engine.core.errors import did_you_mean
from mcptest_engine.core.lazy_patterns import lazy_pattern
from mcptest_engine.core.text import listed
from mcptest_engine.core.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ROOTS = ("result", "error", "json", "duration_ms", "attempt", "request", "notifications", "server_requests", "http")
"""What a target may start with: the members of the envelope, and `json`, its first text read as JSON."""
COMPLIANCE_ROOTS = (*ROOTS, "session")
"""The same in a check of `compliance`, which also sees what was agreed on when the session was opened."""
COMPOSITION_ROOTS = ("composition", "nodes", "output", "cost", "tokens", "duration_ms")
"""The same in a composition: the members of its trace."""
AGENT_GATES = (
    *("equal_function_sets", "tool_selection", "trajectory", "golden_path", "tool_edges", "token_efficiency"),
    "distractors",
)
"""The blocks of a test of `agents` that measure its choice of tools, each a member of its trace."""
AGENT_ROOTS = (
    *("tool_calls", "tool_names", "final_response", "conversation", "duration_ms", "cost"),
    *("model", "models", "stop", "turns"),
    *AGENT_GATES,
    "edges",
)
"""The same in a test of `agents`: the members of its trace."""


class _Every(Enum):
    """The type of `EVERY`; an enum because mypy narrows `is` on its members."""

    EVERY = "[*]"


EVERY: Final = _Every.EVERY
Segment = str | int | Literal[_Every.EVERY]

_NAME = lazy_pattern(r"""[^.\[\]"'\s]+""")
_INDEX = lazy_pattern(r"-?[0-9]+")
_QUOTED = lazy_pattern(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_LONGEST_INDEX = 15  # digits; no array has more elements, and Python refuses to read integers of thousands of digits
_KEYS_SHOWN = 8
_TEXT_OF_TOOL: tuple[Segment, ...] = ("result", "content", 0, "text")
_FIRST_TEXTS: tuple[tuple[str, tuple[Segment, ...]], ...] = (
    ("contents", ("result", "contents", 0, "text")),
    ("messages", ("result", "messages", 0, "content", "text")),
)
"""Where the first text of a resource and of a prompt stands, by the member that their results have."""
_KEY_WIDTH = 60


class TargetSyntaxError(ValueError):
    """A target that cannot be read. `column` is the place of the fault, counted from 1 in code points."""

    def __init__(self, message: str, column: int) -> None:
        super().__init__(f"{message} (column {column})")
        self.message = message
        self.column = column


@dataclass(frozen=True, slots=True)
class Target:
    """A parsed target. `text` is as written; `segments` are keys (str), indexes (int) and `EVERY`."""

    text: str
    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class Absent:
    """A path that leads nowhere.

    `resolved` is the longest part that leads somewhere and `found` what stands there; `missing` is the segment that does
    not resolve, and `remaining` how many segments would have followed it.
    """

    resolved: tuple[Segment, ...]
    missing: Segment
    remaining: int
    found: object

    @property
    def parent_resolves(self) -> bool:
        """Whether all but the last segment lead somewhere, so that only the last thing named is missing."""
        return self.remaining == 0

    @property
    def reason(self) -> str:
        """One line such as "`result.contnet` does not exist; `result` has `content`; did you mean `content`?"."""
        return f"`{_shown_path((*self.resolved, self.missing))}` does not exist; {self.explanation}"

    @property
    def explanation(self) -> str:
        """What stands where the path ends, with the nearest key: "`result` has `content`; did you mean `content`?"."""
        return _explain(self)


class _NotJson(Absent):
    """What `json` is where the text is no JSON."""

    @property
    def reason(self) -> str:
        return f"`json` does not exist; {self.explanation}"

    @property
    def explanation(self) -> str:
        return f"`{_shown_path(self.resolved)}` is not JSON"


class Spread(list[Any]):
    """The list a `[*]` gives when some of its entries are `Absent`; a complete one is a plain list."""

    @property
    def first_absent(self) -> tuple[int, Absent]:
        """The place and value of the first absent entry; there always is one."""
        return next((index, entry) for index, entry in enumerate(self) if isinstance(entry, Absent))


@lru_cache(maxsize=8192)
def parse_target(text: str) -> Target:
    """Read a target such as `result.content[0].text`.

    A leading `.` is allowed, so that what follows a node's id in a template is read by the same function.

    Raises: TargetSyntaxError.
    """
    if not text:
        raise TargetSyntaxError("a target cannot be empty", 1)
    segments: list[Segment] = []
    at = 0
    while at < len(text):
        segment, at = _read_segment(text, at)
        segments.append(segment)
    return Target(text, tuple(segments))


def render(segments: Iterable[Segment]) -> str:
    """The canonical spelling: plain names bare, other keys as `["any key"]`; `parse_target` reads it back."""
    out: list[str] = []
    for segment in segments:
        if segment is EVERY:
            out.append("[*]")
        elif isinstance(segment, int):
            out.append(f"[{segment}]")
        elif _NAME.fullmatch(segment):
            out.append(f".{segment}" if out else segment)
        else:
            out.append(f"[{json.dumps(segment, ensure_ascii=False)}]")
    return "".join(out)


def render_pointer(pointer: str) -> str:
    """A JSON Pointer as targets are spelled: `/notes/1/size` as `notes[1].size`; a number is an index."""
    parts = (part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])
    return render(int(part) if part.isdecimal() and part.isascii() else part for part in parts)


def resolve(target: Target, envelope: object) -> object:
    """The value that `target` leads to in `envelope`, or an `Absent`.

    `[*]` gives a list of every element, flattened where there are several `[*]`; what follows it applies to each element,
    and an element lacking it is an `Absent` entry (the list is then a `Spread`). `[*]` on anything but an array is absent.
    """
    value: Any = envelope
    segments = target.segments
    for segment in segments:  # most lead to a value; the loop below finds where others end
        is_inside = value.__class__ is list and segment.__class__ is int and -len(value) <= segment < len(value)
        if not is_inside and not (value.__class__ is dict and segment in value):
            break
        value = value[segment]
    else:
        return value
    value = envelope
    for depth, segment in enumerate(segments):
        if type(segment) is str:
            if isinstance(value, dict) and segment in value:
                value = value[segment]
                continue
        elif isinstance(value, list):
            if segment is EVERY:
                return _spread(value, segments, depth)
            if -len(value) <= segment < len(value):  # type: ignore[operator]  # neither text nor EVERY: a number
                value = value[segment]  # type: ignore[index]
                continue
        return Absent(segments[:depth], segment, len(segments) - depth - 1, value)
    return value


def resolve_answer(target: Target, envelope: object) -> object:
    """The value that `target` leads to in an answer's envelope, or an `Absent`; `json` is its first text read as JSON."""
    if target.segments[0] != "json" or not isinstance(envelope, dict) or "json" in envelope:
        return resolve(target, envelope)
    result = envelope.get("result")
    path = next((path for member, path in _FIRST_TEXTS if isinstance(result, dict) and member in result), _TEXT_OF_TOOL)
    text = resolve(Target("", path), envelope)
    if isinstance(text, Absent):
        return text
    try:
        value = json.loads(text)  # type: ignore[arg-type]  # whatever a server sent
    except (ValueError, TypeError, RecursionError):
        return _NotJson(path, "json", 0, text)
    return resolve(target, {"json": value})


def _read_segment(text: str, at: int) -> tuple[Segment, int]:
    character = text[at]
    if character == "[":
        return _read_bracket(text, at + 1)
    if character == ".":
        return _read_name(text, at + 1, "a name is expected after `.`")
    if at == 0:
        return _read_name(text, at, "a target starts with a name such as `result`")
    if character == "]":
        raise TargetSyntaxError("`]` closes nothing", at + 1)
    if text[at - 1] == "]":
        raise TargetSyntaxError("`.` or `[` is expected after `]`", at + 1)
    shown = "a space" if character.isspace() else f"`{character}`"
    raise TargetSyntaxError(f'a name cannot contain {shown}; write such a key as `["any key"]`', at + 1)


def _read_name(text: str, at: int, otherwise: str) -> tuple[str, int]:
    found = _NAME.match(text, at)
    if found is None:
        if text.startswith("[", at):
            otherwise += "; write `[…]` without the `.`"
        raise TargetSyntaxError(otherwise, at + 1)
    return found.group(), found.end()


def _read_bracket(text: str, at: int) -> tuple[Segment, int]:
    segment: Segment
    if text.startswith("*", at):
        segment, end = EVERY, at + 1
    elif found := _INDEX.match(text, at):
        if len(found.group()) > _LONGEST_INDEX:
            raise TargetSyntaxError("this index is too large", at + 1)
        segment, end = int(found.group()), found.end()
    elif text.startswith('"', at):
        segment, end = _read_quoted(text, at)
    else:
        raise TargetSyntaxError(
            "an index such as `0` or `-1`, `*`, or a key in double quotes is expected after `[`", at + 1
        )
    if not text.startswith("]", end):
        raise TargetSyntaxError("`]` is expected", end + 1)
    return segment, end + 1


def _read_quoted(text: str, at: int) -> tuple[str, int]:
    found = _QUOTED.match(text, at)
    if found is None:
        raise TargetSyntaxError('the closing `"` is missing', len(text) + 1)
    try:
        key = json.loads(found.group(), strict=False)
    except ValueError as wrong:
        raise TargetSyntaxError("this key is not a JSON string", at + 1 + getattr(wrong, "pos", 0)) from None
    return str(key), found.end()


def _spread(value: list[object], segments: tuple[Segment, ...], depth: int) -> list[object]:
    rest = segments[depth + 1 :]
    if not rest:
        return list(value)
    out: list[Any] = []
    tail = Target("", rest)
    nested = EVERY in rest
    lacking = False
    for index, element in enumerate(value):
        entry = resolve(tail, element)
        if isinstance(entry, Absent):
            lacking = True
            entry = _beneath(entry, (*segments[:depth], index))
        elif nested:
            # Everything behind a further `[*]` is a list of ours: its entries are the ones asked for.
            lacking = lacking or isinstance(entry, Spread)
            prefix = (*segments[:depth], index)
            out.extend(_beneath(item, prefix) if isinstance(item, Absent) else item for item in _entries(entry))
            continue
        out.append(entry)
    return Spread(out) if lacking else out


def _entries(entry: object) -> Sequence[object]:
    assert isinstance(entry, list)
    return entry


def _beneath(entry: Absent, prefix: tuple[Segment, ...]) -> Absent:
    return Absent((*prefix, *entry.resolved), entry.missing, entry.remaining, entry.found)


def _explain(absent: Absent) -> str:
    found, missing = absent.found, absent.missing
    if not absent.resolved:
        return _explain_root(found, missing)
    place = f"`{_shown_path(absent.resolved)}`"
    if isinstance(found, dict):
        return _explain_object(place, found, missing)
    if isinstance(found, list):
        return _explain_array(place, found, missing)
    if found is None:
        return f"{place} is null"
    if isinstance(found, str):
        holds_json = found[:1] in ("{", "[")
        return f"{place} is a string" + ("; `transform: {jq: fromjson}` reads JSON inside a text" if holds_json else "")
    return f"{place} is a {'boolean' if isinstance(found, bool) else 'number'}"


def _explain_root(found: object, missing: Segment) -> str:
    if not isinstance(found, dict) or not isinstance(missing, str):
        return "a target starts with a name such as `result`"
    result = found.get("result")
    if isinstance(result, dict) and missing in result:
        return f"did you mean `{_shown_path(('result', missing))}`?"
    words = "the answer has no result" if missing == "result" else f"a target starts with {_keys_listed(list(found))}"
    return _with_hint(words, missing, found)


def _explain_object(place: str, found: dict[str, object], missing: Segment) -> str:
    if not found:
        return f"{place} is an empty object"
    keys = _keys_listed(list(found))
    if isinstance(missing, str):
        return _with_hint(f"{place} has {keys}", missing, found)
    return f"{place} is an object; it has {keys}"


def _explain_array(place: str, found: list[object], missing: Segment) -> str:
    count = f"{len(found)} element{'' if len(found) == 1 else 's'}" if found else "no elements"
    if isinstance(missing, str):
        way = f"write `[{missing}]`" if missing.isdecimal() else "name one with `[0]`, or all with `[*]`"
        return f"{place} is an array of {count}; {way}"
    return f"{place} has {count}"


def _with_hint(words: str, missing: str, found: dict[str, object]) -> str:
    from mcptest_engine.core.sanitise import one_line  # only when something is to be said

    candidates = [key for key in list(found)[:1000] if len(key) <= _KEY_WIDTH]  # a hint is not worth minutes
    hint = did_you_mean(missing, candidates) if len(missing) <= _KEY_WIDTH and missing not in found else None
    return f"{words}; {one_line(hint)}" if hint else words


def _keys_listed(keys: Sequence[str]) -> str:
    from mcptest_engine.core.sanitise import one_line

    return listed(keys, _KEYS_SHOWN, lambda key: f"`{one_line(key, _KEY_WIDTH)}`")


def _shown_path(segments: tuple[Segment, ...]) -> str:
    from mcptest_engine.core.sanitise import one_line

    return one_line(render(segments), 200)

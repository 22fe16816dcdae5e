"""Mutation operators: each makes a wrong answer from a recorded one by a single change.

An answer is `{"result": …}` or `{"error": …}`, or the trace of an agent test (`AGENT`). A path is a tuple of keys and indexes;
the segment `FROM_JSON` enters the JSON inside a text. Recorded answers are never modified: the containers on the path of a
change are copied.

Servers send structured content twice, as `structuredContent` and as a text block, here called a copy. A change of the
structured content is also made in its copies.
"""

from __future__ import annotations

import json
import re
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from mcptest_engine.core.targets import render
from mcptest_engine.judging.differences import equal

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from mcptest_engine.core.json_types import Json, JsonDict
    from mcptest_engine.judging.matchers import Judge


class _Mark(Enum):
    """Markers that are neither a JSON value nor a key; an enum because mypy narrows `is` on its members."""

    MISSING = "absent"
    FROM_JSON = "fromjson"


MISSING: Final = _Mark.MISSING
"""Stands for the value of an absent member."""
FROM_JSON: Final = _Mark.FROM_JSON
Segment = str | int | Literal[_Mark.FROM_JSON]
Path = tuple[Segment, ...]
Answer = dict[str, Any]

AGENT = "agent"
"""The `Source.method` of an agent test, whose answer is its trace: `{"final_response", "tool_calls"}`."""
UNKNOWN_TYPE = "x-unknown"
ERROR_ANSWER: dict[str, object] = {"error": {"code": -32603, "message": "Internal error"}}
MOST_NUMBERS_IN_TEXT = 5
MOST_ITEMS = 20
"""The most items of a list that are changed one by one: further items would show nothing new."""
DEEPEST = 40
_NUMBER = re.compile(r"(?<![\w.,:/-])-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,15})?(?![\w:/-]|[.,]\d)")
"""A number in a sentence, but not inside a date, a time, a version, a path or a code such as `007`."""
_STYLES: tuple[JsonDict, ...] = tuple(
    {"indent": indent, "separators": separators, "ensure_ascii": ascii_only}
    for indent, separators in ((None, (", ", ": ")), (None, (",", ":")), (2, (",", ": ")), (4, (",", ": ")))
    for ascii_only in (False, True)
)
"""How servers write JSON into texts: as Python, JavaScript and Go do, with or without indentation."""
_IGNORED = frozenset({"_meta", "annotations"})
_NOT_LOOKED_AT = "no client has to look at it: it is metadata, or the protocol does not know it"
_NO_ERROR = "a result without `isError` is not an error either"
_BLOCK_MEMBERS = frozenset(
    {"type", "text", "data", "blob", "mimeType", "uri", "name", "title", "description", "size", "resource", "icons"}
)
BLOCK_LISTS = {"tools/call": "content", "resources/read": "contents", "prompts/get": "messages"}
_RESULT_MEMBERS = {
    "tools/call": frozenset({"content", "structuredContent", "isError", "resultType"}),
    "resources/read": frozenset({"contents", "resultType", "ttlMs", "cacheScope"}),
    "prompts/get": frozenset({"messages", "description", "resultType"}),
}


class Kind(Enum):
    """Which changes a site allows.

    DATA: every change. VALUE: a protocol field, which is not dropped, nulled or given another type. MEDIA: base64.
    IGNORED: clients need not read it, so it is only dropped, and a test that does not notice loses nothing.
    """

    DATA = "data"
    VALUE = "value"
    MEDIA = "media"
    IGNORED = "ignored"


class Site(NamedTuple):
    """A place in an answer, and its value. `is_member`: it is a member of an object, so it can be dropped."""

    path: Path
    value: Json
    kind: Kind
    is_member: bool = False


class Copy(NamedTuple):
    """A text block, by its index, that repeats the value at `source` in the structured content.

    `as_text`: the value is a string, and the block has it as it is, not as JSON.
    """

    block: int
    source: Path
    as_text: bool


class Change(NamedTuple):
    """One change: `before` at `path` becomes `after`; `MISSING` means no value. It is also made in `copies`.

    `ignored` is the reason why no client needs to notice it; None otherwise.
    """

    operator: str
    path: Path
    before: Json
    after: Json
    copies: tuple[Copy, ...] = ()
    ignored: str | None = None


class Source(NamedTuple):
    """A recorded answer to change.

    `others` are different results of the same tool or prompt, or of other resources of the server. `output_schema` judges
    structured content; None where the tool declares no schema.
    """

    method: str
    answer: Answer
    others: tuple[object, ...] = ()
    output_schema: Judge | None = None


class Operator(NamedTuple):
    """A kind of change, made by exactly one of two functions.

    `of_value` yields new values for one site, `of_answer` yields (path, new value) for a whole answer.
    """

    name: str
    about: str
    example: str
    of_value: Callable[[Site], Iterator[object]] | None = None
    of_answer: Callable[[Source], Iterator[tuple[Path, object]]] | None = None


def _flip_is_error(source: Source) -> Iterator[tuple[Path, object]]:
    result = source.answer.get("result")
    if source.method == "tools/call" and isinstance(result, dict):
        yield ("result", "isError"), result.get("isError") is not True


def _give_stale_answer(source: Source) -> Iterator[tuple[Path, object]]:
    result = source.answer.get("result", MISSING)
    if result is not MISSING:
        yield from ((("result",), other) for other in source.others[:1])


def _give_error(source: Source) -> Iterator[tuple[Path, object]]:
    if "result" in source.answer:
        yield (), ERROR_ANSWER


def _set_unknown_type(source: Source) -> Iterator[tuple[Path, object]]:
    result, key = source.answer.get("result"), BLOCK_LISTS.get(source.method)
    blocks = result.get(key) if isinstance(result, dict) and key is not None else None
    if not isinstance(blocks, list) or not blocks or not isinstance(blocks[0], dict):
        return
    assert key is not None
    if source.method == "prompts/get" and isinstance(blocks[0].get("content"), dict):
        yield ("result", key, 0, "content", "type"), UNKNOWN_TYPE
    elif source.method == "tools/call":
        yield ("result", key, 0, "type"), UNKNOWN_TYPE


def _break_output_schema(source: Source) -> Iterator[tuple[Path, object]]:
    """Yield the first wrong content that the declared schema refuses: without members, or with one member as `[[value]]`."""
    result = source.answer.get("result")
    content = result.get("structuredContent") if isinstance(result, dict) else None
    if source.output_schema is None or not isinstance(content, dict):
        return
    wrong: list[JsonDict] = [{}, *({**content, key: [[value]]} for key, value in content.items())]
    for value in wrong:
        if source.output_schema(value) is not None:
            yield ("result", "structuredContent"), value
            return


def _drop_member(site: Site) -> Iterator[object]:
    if site.is_member and site.kind in (Kind.DATA, Kind.IGNORED):
        yield MISSING


def _change_type(site: Site) -> Iterator[object]:
    """Change the type as faulty servers do: a number or boolean to a text, a list to an object, anything else to a list."""
    if site.kind is not Kind.DATA:
        return
    match site.value:
        case bool() | int() | float():
            yield json.dumps(site.value)
        case list():
            yield {"items": site.value}
        case _:
            yield [site.value]


def _set_null(site: Site) -> Iterator[object]:
    if site.kind is Kind.DATA and site.value is not None and not isinstance(site.value, (dict, list)):
        yield None


def _flip_boolean(site: Site) -> Iterator[object]:
    if isinstance(site.value, bool):
        yield not site.value


def _of_number(change: Callable[[Json], Json]) -> Callable[[Site], Iterator[Json]]:
    """Make the `of_value` that changes a number, or up to `MOST_NUMBERS_IN_TEXT` numbers in a text, one at a time."""

    def make(site: Site) -> Iterator[Json]:
        value = site.value
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            yield change(value)
        elif isinstance(value, str) and site.kind is not Kind.MEDIA and read_json(value) is None:
            for number, found in enumerate(_NUMBER.finditer(value)):
                if number == MOST_NUMBERS_IN_TEXT:
                    return
                made = json.dumps(change(json.loads(found.group())))
                yield f"{value[: found.start()]}{made}{value[found.end() :]}"

    return make


def _empty_text(site: Site) -> Iterator[object]:
    if isinstance(site.value, str):
        yield ""


def _truncate_text(site: Site) -> Iterator[object]:
    """Yield the first half; of base64 in whole groups of four, so that it stays base64."""
    if isinstance(site.value, str):
        half = len(site.value) // 2
        yield site.value[: half - half % 4 if site.kind is Kind.MEDIA else half]


def _swap_items(site: Site) -> Iterator[object]:
    """Swap the first item with the next one that differs from it."""
    items = site.value
    if isinstance(items, list):
        other = next((at for at, item in enumerate(items) if not equal(item, items[0])), None)
        if other is not None:
            yield [items[other], *items[1:other], items[0], *items[other + 1 :]]


def _drop_last_item(site: Site) -> Iterator[object]:
    if isinstance(site.value, list):
        yield site.value[:-1]


OPERATORS: tuple[Operator, ...] = (
    Operator(
        "flip-is-error",
        "`isError` of a tool's result has the other value",
        "`false` → `true`",
        of_answer=_flip_is_error,
    ),
    Operator("drop-member", "a member of an object is left out", "`{id: 7, name: x}` → `{id: 7}`", _drop_member),
    Operator("change-type", "a value has another JSON type", "`42` → `'42'`; `x` → `[x]`", _change_type),
    Operator("set-null", "a text, number or boolean is null", "`42` → `null`", _set_null),
    Operator("flip-boolean", "a boolean has the other value", "`true` → `false`", _flip_boolean),
    Operator(
        "number-plus-one", "a number is one more; numbers in a text too", "`42` → `43`", _of_number(lambda n: n + 1)
    ),
    Operator("number-minus-one", "a number is one less", "`42` → `41`", _of_number(lambda n: n - 1)),
    Operator("number-zero", "a number is zero", "`42` → `0`", _of_number(lambda n: n * 0)),
    Operator("number-sign", "a number has the other sign", "`42` → `-42`", _of_number(lambda n: -n)),
    Operator("empty-text", "a text is empty", "`operational` → ``''``", _empty_text),
    Operator("truncate-text", "a text ends in the middle", "`operational` → `opera`", _truncate_text),
    Operator("swap-items", "two items of a list change places", "`[1, 2, 3]` → `[2, 1, 3]`", _swap_items),
    Operator("drop-last-item", "a list lacks its last item", "`[1, 2, 3]` → `[1, 2]`", _drop_last_item),
    Operator(
        "stale-answer",
        "the answer is that to another call of the same tool or prompt, or that of another resource",
        "the weather of Rome for Oslo",
        of_answer=_give_stale_answer,
    ),
    Operator("error-answer", "a JSON-RPC error comes in place of the result", "error -32603", of_answer=_give_error),
    Operator(
        "unknown-content-type",
        "the first content block has a type that no client knows",
        "`text` → `x-unknown`",
        of_answer=_set_unknown_type,
    ),
    Operator(
        "break-output-schema",
        "structured content breaks the tool's `outputSchema`",
        "`{temperature: 4}` → `{}`",
        of_answer=_break_output_schema,
    ),
)
BY_NAME = {operator.name: operator for operator in OPERATORS}


def changes_of(
    source: Source, operators: Collection[Operator] = OPERATORS, *, volatile: Collection[Path] = ()
) -> Iterator[Change]:
    """Yield every change that the operators make to an answer, each once, without those that change nothing.

    Sites at or below a `volatile` path are left out.
    """
    answer = source.answer
    copies = find_copies(answer) if source.method == "tools/call" else ()
    seen: set[tuple[Path, str]] = set()

    def change(
        operator: str, path: Path, before: object, after: object, ignored: str | None = None
    ) -> Iterator[Change]:
        key = (path, repr(after))
        if key not in seen and (before is MISSING or after is MISSING or not equal(before, after)):
            seen.add(key)
            is_inside = path[:2] == ("result", "structuredContent")
            yield Change(operator, path, before, after, copies if is_inside else (), ignored)

    found = [site for site in sites_of(source, copies) if not is_under(site.path, volatile)]
    for operator in operators:
        if operator.of_answer is not None:
            for path, after in operator.of_answer(source):
                before = get_at(answer, path)
                if operator.name == "stale-answer" and not any(_differs(site, {"result": after}) for site in found):
                    continue  # the two answers differ only in volatile values
                yield from change(operator.name, path, before, after)
            continue
        assert operator.of_value is not None
        for site in found:
            if site.kind is not Kind.IGNORED:
                for after in operator.of_value(site):
                    yield from change(operator.name, site.path, site.value, after)
            elif operator.of_value is _drop_member:
                why = _NO_ERROR if site.path == ("result", "isError") else _NOT_LOOKED_AT
                yield from change(operator.name, site.path, site.value, MISSING, why)


def is_under(path: Path, places: Collection[Path]) -> bool:
    """Whether a path is one of `places` or below one. A volatile list includes its items: their indexes may change."""
    return any(path[:end] in places for end in range(1, len(path) + 1)) if places else False


def _differs(site: Site, answer: Answer) -> bool:
    return not isinstance(site.value, (dict, list)) and not equal(site.value, get_at(answer, site.path))


def apply(answer: Answer, change: Change) -> Answer:
    """Return the answer with the change made, also in its copies."""
    made: Answer = put_at(answer, change.path, change.after)
    if not change.copies:
        return made
    content = get_at(made, ("result", "structuredContent"))
    blocks = list(made["result"]["content"])
    for copy in reversed(change.copies):
        value = get_at(content, copy.source)
        if value is MISSING and copy.source and isinstance(copy.source[-1], int):
            del blocks[copy.block]  # the block of a list item that is gone
        elif value is not MISSING:
            blocks[copy.block] = {**blocks[copy.block], "text": _json_like(blocks[copy.block]["text"], value, copy)}
    return put_at(made, ("result", "content"), blocks)  # type: ignore[no-any-return]


def sites_of(source: Source, copies: Sequence[Copy] = ()) -> Iterator[Site]:
    """Yield the places of an answer that can be changed one by one, without the blocks that are `copies`."""
    answer = source.answer
    if source.method == AGENT:
        yield from _trace_sites(answer)
    elif isinstance(error := answer.get("error"), dict):
        for key, value in error.items():
            yield from _data_sites(("error", key), value, Kind.DATA if key == "data" else Kind.VALUE)
    elif isinstance(result := answer.get("result"), dict):
        known = _RESULT_MEMBERS.get(source.method)
        blocks = BLOCK_LISTS.get(source.method)
        copied = {copy.block for copy in copies}
        for key, value in result.items():
            if key in _IGNORED or (known is not None and key not in known):
                yield Site(("result", key), value, Kind.IGNORED, is_member=True)
            elif known is None:
                yield from _data_sites(("result", key), value, Kind.DATA)
            elif key == blocks and isinstance(value, list):
                yield from _block_list_sites(("result", key), value, copied)
            elif key == "structuredContent":
                yield from _members(("result", key), value)
            elif key == "isError" and value is False:
                yield Site(("result", key), value, Kind.IGNORED, is_member=True)
            elif key == "description":
                yield Site(("result", key), value, Kind.VALUE)


def _block_list_sites(path: Path, blocks: list[object], copied: Collection[int]) -> Iterator[Site]:
    """Yield the sites in a list of blocks, without the copies of structured content, which change with that."""
    if not copied:
        yield Site(path, blocks, Kind.VALUE)
    for number, block in enumerate(blocks):
        if number not in copied:
            yield from _block_sites((*path, number), block)


def _trace_sites(trace: Answer) -> Iterator[Site]:
    """Yield the sites of an agent's trace: its final response, and its tool calls with arguments and results."""
    yield from _data_sites(("final_response",), trace["final_response"], Kind.VALUE)
    yield Site(("tool_calls",), trace["tool_calls"], Kind.VALUE)
    for number, call in enumerate(trace["tool_calls"]):
        path: Path = ("tool_calls", number)
        for key in ("name", "is_error"):
            yield Site((*path, key), call[key], Kind.VALUE)
        for key in ("args", "result"):
            yield from _members((*path, key), call.get(key))


def _block_sites(path: Path, block: object) -> Iterator[Site]:
    """Yield the members of a content block, a resource's contents or a prompt's message."""
    if not isinstance(block, dict):
        return
    for key, value in block.items():
        here: Path = (*path, key)
        if key == "text" and isinstance(value, str):
            yield from _data_sites(here, value, Kind.VALUE)
        elif key in ("data", "blob"):
            yield Site(here, value, Kind.MEDIA)
        elif key in ("resource", "content"):
            for number, part in enumerate(value if isinstance(value, list) else [value]):
                yield from _block_sites((*here, number) if isinstance(value, list) else here, part)
        elif key in _IGNORED or (key not in _BLOCK_MEMBERS and key != "role"):
            yield Site(here, value, Kind.IGNORED, is_member=True)
        elif key not in ("type", "role", "icons"):
            yield Site(here, value, Kind.VALUE)


def _data_sites(path: Path, value: object, kind: Kind, *, is_member: bool = False) -> Iterator[Site]:
    """Yield a value as a site of this kind, and then everything in it, which is data."""
    yield Site(path, value, kind, is_member)
    if isinstance(value, str):
        held = read_json(value)
        if held is not None and len(path) < DEEPEST:
            yield from _members((*path, FROM_JSON), held)
    else:
        yield from _members(path, value)


def _members(path: Path, value: object) -> Iterator[Site]:
    if len(path) >= DEEPEST:
        return
    if isinstance(value, dict):
        for key, member in value.items():
            yield from _data_sites((*path, key), member, Kind.DATA, is_member=True)
    elif isinstance(value, list):
        if path[-1] is FROM_JSON:
            yield Site(path, value, Kind.VALUE)
        for number, item in enumerate(value[:MOST_ITEMS]):
            yield from _data_sites((*path, number), item, Kind.DATA)


def read_json(text: str) -> Json:
    """Parse a text that is a JSON object or array; None for other texts, and for JSON in a style we cannot reproduce."""
    return _read_json(text)[0] if text.lstrip()[:1] in ("{", "[") else None


@lru_cache(maxsize=64)
def _read_json(text: str) -> tuple[Json, JsonDict]:
    """The value of a JSON text and the `json.dumps` options that reproduce the text; (None, {}) where no style does."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None, {}
    style = next((style for style in _STYLES if json.dumps(value, **style) == text), None)
    return (None, {}) if style is None else (value, style)


def _json_like(text: str, value: object, copy: Copy | None = None) -> str:
    """Encode a value as JSON in the style of `text`; a string for a copy `as_text` is returned as it is."""
    if copy is not None and copy.as_text and isinstance(value, str):
        return value
    return json.dumps(value, **(_STYLES[0] if read_json(text) is None else _read_json(text)[1]))


def find_copies(answer: Answer) -> tuple[Copy, ...]:
    """Find the text blocks of a tool's result that repeat its structured content, or the one value wrapped in it.

    Source: MCP 2025-06-18 and later, server/tools#structured-content. Structured content is always an object, so servers wrap
    other values as `{"result": …}`; some send one block for each item of a list.
    """
    result = answer.get("result")
    structured = result.get("structuredContent") if isinstance(result, dict) else None
    blocks = result.get("content") if isinstance(result, dict) else None
    if not isinstance(structured, dict) or not isinstance(blocks, list):
        return ()
    texts = [block.get("text") if isinstance(block, dict) else None for block in blocks]
    wrapped = structured.get("result") if set(structured) == {"result"} else MISSING
    if isinstance(wrapped, list) and len(wrapped) == len(texts) and texts:
        found = [_copy_of(at, text, wrapped[at], ("result", at)) for at, text in enumerate(texts)]
        if all(found):
            return tuple(copy for copy in found if copy is not None)
    made = [
        _copy_of(at, text, structured, ()) or (None if wrapped is MISSING else _copy_of(at, text, wrapped, ("result",)))
        for at, text in enumerate(texts)
    ]
    return tuple(copy for copy in made if copy is not None)


def _copy_of(at: int, text: object, value: object, source: Path) -> Copy | None:
    if not isinstance(text, str):
        return None
    if isinstance(value, str):
        return Copy(at, source, as_text=True) if text == value else None
    if isinstance(value, (dict, list)):
        held = read_json(text)
        return Copy(at, source, as_text=False) if held is not None and equal(held, value) else None
    return Copy(at, source, as_text=False) if text == json.dumps(value) else None


def get_at(value: Json, path: Path) -> Json:
    """The value at a path; `MISSING` where there is none."""
    for segment in path:
        if segment is FROM_JSON:
            value = read_json(value) if isinstance(value, str) else None
            if value is None:
                return MISSING
        else:
            try:
                value = value[segment]
            except (LookupError, TypeError):
                return MISSING
    return value


def put_at(value: Json, path: Path, after: Json) -> Json:
    """Return a copy of the value with `after` at a path; `MISSING` removes the entry. What is not on the path is shared."""
    if not path:
        return after
    segment, rest = path[0], path[1:]
    if segment is FROM_JSON:
        return _json_like(value, put_at(read_json(value), rest, after))
    made = value.copy()
    if not rest and after is MISSING:
        del made[segment]
    else:
        made[segment] = put_at(value[segment] if rest else None, rest, after)
    return made


def assertion_path(path: Path) -> tuple[str, str | None]:
    """A path as an assertion's target and the jq program of its transform; None unless it enters JSON in a text."""
    if FROM_JSON not in path:
        return render(segment for segment in path if segment is not FROM_JSON), None
    at = path.index(FROM_JSON)
    program = "fromjson"
    inner = path[at + 1 :]
    while FROM_JSON in inner:
        end = inner.index(FROM_JSON)
        program += f" | {_jq_path(inner[:end])} | fromjson"
        inner = inner[end + 1 :]
    if inner:
        program += f" | {_jq_path(inner)}"
    return assertion_path(path[:at])[0], program


def show_path(path: Path) -> str:
    """A path on one line, such as `result.content[0].text | fromjson | .total`; "answer" for the empty path."""
    target, program = assertion_path(path) if path else ("answer", None)
    return target if program is None else f"{target} | {program}"


def _jq_path(path: Sequence[Segment]) -> str:
    out = ""
    for segment in path:
        if isinstance(segment, int):
            out += f"[{segment}]"
        elif isinstance(segment, str) and re.fullmatch(r"[A-Za-z_]\w*", segment, re.ASCII):
            out += f".{segment}"
        else:
            out += f"[{json.dumps(segment)}]"
    return out if out.startswith(".") else f".{out}"

"""Tests with made-up arguments (`guess`): what an error of their call means, and which arguments would be better.

The surprising thing: an error never lets such a test pass by itself. Valid arguments that are refused leave it open whether the
server is broken; invalid ones are refused for what they are only where the error is about arguments, and no valid arguments got
the same one in the run.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import json
import re
from collections import Counter, deque
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.clipping import describe_error
from mcptest_engine.core.enums import ExpectedOutcome
from mcptest_engine.core.errors import ServerError
from mcptest_engine.core.lazy_patterns import lazy_pattern
from mcptest_engine.judging.answer_text import content_text
from mcptest_engine.safety.tool_classes import ToolClass, classify

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from mcptest_engine.core.results import TestResult
    from mcptest_engine.running.cases import Case, JudgedRequest
    from mcptest_engine.safety.execution_policy import ExecutionPolicy
    from mcptest_engine.servers.session import Session

METHOD_NOT_FOUND, INVALID_PARAMS = -32601, -32602
_LONGEST = 300
_READ = 4_000
LISTING_SECONDS = 60.0
_MOST_SEEN, _MOST_ITEMS = 5_000, 50
_LONGEST_VALUE, _LONGEST_PARSED = 300, 1_000_000
_WORD = lazy_pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_PATH = lazy_pattern(r"(?<![\w:/.~-])(?:/[\w.@+~-]+)+|(?<!\w)[A-Za-z]:\\[\w.\\@+~ -]+")
_LINE = lazy_pattern(r"(?m)^[\s*-]*([A-Za-z][\w ]{0,30}):[ \t]+(\S.{0,200})$")
RESOURCES = "resources/list"
"""The source of a value that no tool returned."""
_ANY = ("*",)
_NOTHING = lazy_pattern(
    r"\b(no|0|zero) (\w+ ){0,2}(results?|match(es)?|entries|items|records|hits|rows|found)\b|\bnothing\b|\bnone found\b"
    r"|\b(not|none were) found\b",
    re.IGNORECASE,
)
"""How a server says that there is nothing of what was asked for."""
SEARCHES = frozenset(("query", "q", "search", "keyword", "term", "text", "pattern", "phrase", "needle"))
"""Arguments that take a part of what is looked for."""
_TITLES = frozenset(("title", "name", "subject", "label", "summary", "headline", "description", "text"))
_GENERIC = frozenset(("id", "name", "key", "number", "uri", "url", "path", "slug", "code", "uuid", "ref", "title"))
"""Names that say nothing of what they belong to."""
_PATHS = frozenset(("path", "dir", "directory", "folder", "file", "root", "cwd"))
_VERBS = frozenset(
    ("get", "list", "read", "find", "search", "show", "fetch", "query", "describe", "lookup", "look", "up", "all")
)

_ABOUT_ARGUMENTS = lazy_pattern(
    r"validation (error|failed|failure)|validationerror|zoderror"
    r"|invalid[ _]?(argument|param(eter)?|input|type|value)"
    r"|-32602|field required|required property|is not of type|additional propert|input ?schema|json schema"
    r"|(unexpected|unknown|unrecogni[sz]ed|missing|extra)( \d+)?( required)?( positional| keyword)?"
    r" (argument|param(eter)?|property|field|key)"
    r"|(argument|param(eter)?|property|field)s? .{0,60}(missing|required|invalid|must|expected|not allowed)",
    re.IGNORECASE,
)
"""Words that validation uses of arguments, and hardly any other error does."""
_FAULT = lazy_pattern(
    r"\b(required|requires|missing|must|invalid|should|expect(ed|s)|allowed|too|least|most|unexpected|unknown|unsupported"
    r"|cannot be|can't be|may not|empty|range|between|undefined|null|none|nan|positive|negative|greater|less|longer|shorter"
    r"|not an?)\b",
    re.IGNORECASE,
)
"""Words that say of a named thing what is wrong with it."""

_TRACE = lazy_pattern(
    r"Traceback \(most recent call last\)|(\b|\\[nt])at [\w.$<>]+ ?\([^()]{1,200}:\d+(:\d+)?\)|goroutine \d+ \[running\]"
)
"""The stack traces of Python, of JavaScript and Java, and of Go, in a text whose line breaks are written as `\\n`."""
_VARYING = lazy_pattern(
    r"(?<![0-9a-f])[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b0x[0-9a-f]+|\b(?=[a-f]*\d)[0-9a-f]{8,}\b"
    r"|(?<!error -)(?<!\d)\d+([.,:]\d+)*",
    re.IGNORECASE,
)
"""What differs between two messages of one error: UUIDs, hexadecimal ids, and numbers, but for the code of the error."""


def refused_guess(asked: JudgedRequest, envelope: Mapping[str, Any], redact: Callable[[Any], Any]) -> str | None:
    """Why a test with made-up arguments is inconclusive after its answer; None where that decides it all the same.

    A success does, unless its text is a stack trace. An error does where the arguments were to be refused and the error is
    about them, and where the server does not know what was called: no arguments would help.
    """
    if envelope["error"] is None and envelope["result"].get("isError") is not True:
        if asked.outcome is ExpectedOutcome.ERROR or not _TRACE.search(_answer_text(envelope)):
            return None
        told = content_text(envelope["result"], _LONGEST, redact)
        return f"the answer to the generated arguments is a stack trace: {told}; replace them"
    told = error_text(envelope, redact)
    if asked.outcome is ExpectedOutcome.ERROR:
        if _is_about_arguments(asked, envelope):
            return None
        return f"the call failed, but not clearly because of its invalid arguments: {told}"
    if _is_unknown(asked, envelope):
        return None
    return f"the generated arguments were refused: {told}; replace them"


def same_error(told: str, others: Iterable[str]) -> str | None:
    """Why a refusal shows nothing: its error `told` is among those of valid arguments, apart from numbers and ids."""
    if _VARYING.sub("#", told) not in {_VARYING.sub("#", other) for other in others}:
        return None
    return f"valid arguments got the same error, so it is not clear that the invalid ones were refused: {told}"


def error_text(envelope: Mapping[str, Any], redact: Callable[[Any], Any]) -> str:
    """The server's own words for an error, on one line."""
    if envelope["error"] is not None:
        return describe_error(envelope["error"], redact)
    return content_text(envelope["result"], _LONGEST, redact) or "(no text)"


def _answer_text(envelope: Mapping[str, Any]) -> str:
    error = envelope["error"]
    if error is None:
        return content_text(envelope["result"], _READ)
    return str(error.get("message", ""))[:_READ] if isinstance(error, dict) else str(error)[:_READ]


def _is_about_arguments(asked: JudgedRequest, envelope: Mapping[str, object]) -> bool:
    """Whether an error is the refusal of arguments: by its code, in the words of validation, or for one that it names."""
    if _is_unknown(asked, envelope):
        return False
    error = envelope["error"]
    if isinstance(error, dict) and error.get("code") == INVALID_PARAMS:
        return True
    words = _answer_text(envelope)
    if _ABOUT_ARGUMENTS.search(words) is not None:
        return True
    arguments = (asked.params or {}).get("arguments")
    names = asked.guess or (tuple(arguments) if isinstance(arguments, dict) else ())
    named = (re.search(rf"(?<!\w){re.escape(name)}(?!\w)", words, re.IGNORECASE) for name in names if name)
    return any(named) and _FAULT.search(words) is not None


def _is_unknown(asked: JudgedRequest, envelope: Mapping[str, object]) -> bool:
    """Whether the server says that it has no such tool or prompt."""
    error, name = envelope["error"], str((asked.params or {}).get("name", ""))
    if isinstance(error, dict) and error.get("code") == METHOD_NOT_FOUND:
        return True
    if not name:
        return False
    called = rf"\W{{0,2}}{re.escape(name)}[^\w\s:]?"  # what comes after "tool price: " is of its own
    unknown = (
        rf"\b(unknown|no such) (tool|prompt)\b|\b(tool|prompt) {called} ?(is |was )?(not found|unknown|does not exist)"
    )
    return re.search(unknown, _answer_text(envelope), re.IGNORECASE) is not None


# --- better arguments


class Explained(NamedTuple):
    """What helps a person to give arguments: the tool's own schema, and arguments made of values that the server returned.

    `sources` names for each argument that was replaced the tool that returned its value.
    """

    schema: Any
    arguments: Mapping[str, Any] | None
    sources: Mapping[str, str]

    def to_json(self) -> dict[str, Any]:
        """As the record has it."""
        told: dict[str, Any] = {} if self.schema is None else {"input_schema": self.schema}
        return told | ({"arguments": self.arguments, "sources": self.sources} if self.arguments is not None else {})


async def list_tools(
    open_session: Callable[[str], Awaitable[Session]],
    servers: Iterable[str],
    known: Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]],
) -> dict[str, dict[str, Mapping[str, Any]]]:
    """The tools of servers by name, asked for where the run has not read them (`known`); none of one that lists none."""
    from mcptest_engine.servers.catalog import list_all

    found: dict[str, dict[str, Mapping[str, Any]]] = {}
    for server in servers:
        tools = known.get(server, {}).get("tools", ())
        with contextlib.suppress(ServerError, TimeoutError):
            if not tools:
                async with asyncio.timeout(LISTING_SECONDS):
                    tools = await list_all(await open_session(server), "tools")
        found[server] = {tool["name"]: tool for tool in tools if isinstance(tool.get("name"), str)}
    return found


def explain(
    case: Case,
    seen: Sequence[Seen],
    tools: Mapping[str, Mapping[str, object]],
    redact: Callable[[Any], Any],
    *,
    besides: Mapping[str, Collection[object]] = MappingProxyType({}),
    kept: Collection[str] = (),
) -> Explained:
    """What is known of a case whose made-up arguments were no good. `seen` are values of the server, `tools` its tools.

    What looks secret is not taken. An empty value stays, since it is what the test is about. The arguments in `besides` get
    another value than those there, also in the place of an empty one; those in `kept` stay.
    """
    tool = tools.get(case.tool or "")
    schema = None if tool is None else redact(tool.get("inputSchema"))
    given = (case.params or {}).get("arguments")
    arguments = dict(given) if isinstance(given, dict) else {}
    if case.outcome is ExpectedOutcome.ERROR or not arguments:
        return Explained(schema, None, {})
    members = schema.get("properties") if isinstance(schema, dict) else None
    sources: dict[str, str] = {}
    for name in case.guess or tuple(arguments):
        if name in kept or (arguments.get(name) in (None, "", [], {}) and name not in besides):
            continue
        about = members.get(name) if isinstance(members, dict) else None
        wanted = _Argument(
            _split_name(name),
            frozenset(_split_name(case.tool or "")) - _VERBS,
            about if isinstance(about, dict) else {},
        )
        value, source = wanted.best(seen, besides=besides.get(name, ()))
        if source and value != arguments[name] and redact({name: value}) == {name: value}:
            arguments[name], sources[name] = value, source
    if not sources or not _is_valid(schema, arguments):
        return Explained(schema, None, {})
    return Explained(schema, arguments, sources)


def split_name(name: str) -> tuple[str, ...]:
    """The words of a name, in lower case and in the singular."""
    return _split_name(name)


def _longest_word(value: str | int) -> str | int:
    """The longest word of a text, the first of several."""
    words = re.findall(r"[^\W\d_]{3,}", value) if isinstance(value, str) else []
    return max(words, key=len) if words else value


class Seen(NamedTuple):
    """A scalar that a tool returned: the words of its name, those of what it lies in and of the tool, and the tool."""

    words: tuple[str, ...]
    around: frozenset[str]
    value: str | int
    tool: str


class _Argument(NamedTuple):
    """An argument: the words of its name, those of the tool that takes it, and its schema."""

    words: tuple[str, ...]
    around: frozenset[str]
    schema: Mapping[str, Any]

    def best(self, seen: Iterable[Seen], *, besides: Collection[object] = ()) -> tuple[Any, str]:
        """The value whose name fits best, the first of several, and the tool that returned it; "" where none fits."""
        found, source, best = None, "", 0
        for one in seen:
            score = self._score(one)
            told = _longest_word(one.value) if self.words[-1:] and self.words[-1] in SEARCHES else one.value
            if score <= best or (value := self._as_typed(told, self.schema)) is None:
                continue
            if value not in besides:
                found, source, best = value, one.tool, score
        return found, source

    def _score(self, one: Seen) -> int:
        *before, last = self.words or ("",)
        shared = not self.around.isdisjoint(one.around)
        if self.words == one.words:
            return 4 if before or last not in _GENERIC else 3 if shared else 1
        if last in _GENERIC and one.words == (last,) and before and one.around.issuperset(before):
            return 4  # `book_id` is the `id` of what `list_books` returned
        if last in _GENERIC and not before and one.words[-1:] == (last,) and self.around.issuperset(one.words[:-1]):
            return 3  # `id` of `get_book` is a `book_id`
        if last not in _GENERIC and one.words[-1:] in (("name",), ("id",)) and (*before, last)[-1] in one.around:
            return 2  # `city` is the `name` of what `list_cities` returned
        if last in SEARCHES and isinstance(one.value, str) and one.words[-1:] and one.words[-1] in _TITLES:
            return 3 if shared else 1  # a word of a title is searched for
        if last in _PATHS and one.words == ("path",):
            return 2
        return 1 if one.words == _ANY and last not in _GENERIC else 0

    def _as_typed(self, value: str | int, schema: Mapping[str, object]) -> Any:
        match schema.get("type"):
            case "integer" | "number":
                return (
                    value if isinstance(value, int) else int(value) if value.isdecimal() and len(value) < 16 else None
                )
            case "array":
                items = schema.get("items")
                one = self._as_typed(value, items if isinstance(items, dict) else {})
                return None if one is None else [one]
            case "string":
                return str(value)
            case None:
                return value
        return None


def found_nothing(answer: object) -> bool:
    """Whether a tool's result found nothing: its lists are empty, it has no text, or says so in a few words."""
    if not isinstance(answer, dict) or answer.get("isError") is True:
        return False
    content = answer.get("content")
    texts = [block.get("text") for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    data = answer.get("structuredContent")
    values = [data] if data is not None else [_literal(text) for text in texts if isinstance(text, str)]
    lists = [one for value in values for one in _lists(value)]
    if lists:
        return not any(lists)
    said = [text for text in texts if isinstance(text, str)]
    return isinstance(content, list) and len(said) == len(content) and all(map(_says_nothing, said))


def _lists(value: object) -> Iterator[list[Any]]:
    if isinstance(value, list):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _lists(one)


def _says_nothing(text: str) -> bool:
    return not text.strip() or (len(text) <= _LONGEST and _NOTHING.search(text) is not None)


def returned(
    server: str,
    results: Iterable[TestResult],
    tools: Mapping[str, Mapping[str, object]],
    policy: ExecutionPolicy | None = None,
) -> Iterator[Seen]:
    """The scalars in the answers of tools that only read, at most `_MOST_SEEN`, in the order of the run.

    These declare `readOnlyHint: true`, or are presumed read-only and allowed by a person under `policy`.
    """
    left = _MOST_SEEN
    for result in results:
        tool = tools.get(result.tool or "")
        if result.server != server or tool is None or not _only_reads(tool, policy):
            continue
        answer = (result.output or {}).get("result")
        if not isinstance(answer, dict) or answer.get("isError") is True or not result.tool:
            continue
        content = answer.get("content")
        texts = [block.get("text") for block in content if isinstance(block, dict)] if isinstance(content, list) else []
        values = [answer.get("structuredContent"), *(_parsed(text) for text in texts if isinstance(text, str))]
        for words, around, value in _scalars(values, left):
            left -= 1
            yield Seen(words, around | frozenset(_split_name(result.tool)) - _VERBS, value, result.tool)


def seen_in_resources(resources: Iterable[Mapping[str, Any]]) -> Iterator[Seen]:
    """The names, URIs and paths of resources, as a server lists them.

    Where several of a kind have a word for a name, that may be an argument of any name: a `table` is one of `schema://orders`.
    """
    known = [(one["uri"], one.get("name")) for one in resources if isinstance(one.get("uri"), str)]
    kinds = Counter(uri.partition("://")[0] for uri, name in known if isinstance(name, str) and name.isidentifier())
    for uri, name in known:
        if len(uri) > _LONGEST_VALUE:
            continue
        scheme, _, path = uri.partition("://")
        around = frozenset(_split_name(scheme))
        short = name if isinstance(name, str) and path.endswith(name) else path
        for word, value in (("uri", uri), ("name", name), ("id", path), ("path", short), ("path", path)):
            if isinstance(value, str) and value:
                yield Seen((word,), around, value, RESOURCES)
        if isinstance(name, str) and name.isidentifier() and kinds[scheme] > 1:
            yield Seen(_ANY, around, name, RESOURCES)


def _only_reads(tool: Mapping[str, object], policy: ExecutionPolicy | None) -> bool:
    tool_class = classify(tool)
    if tool_class is ToolClass.READ_ONLY_PRESUMED and policy is not None:
        return policy.is_allowed(str(tool.get("name")), tool_class)
    return tool_class is ToolClass.READ_ONLY


def _literal(text: str) -> Any:
    """The value of a text that is JSON, or written as Python shows its values; None of another one."""
    if text.lstrip()[:1] in ("{", "[") and len(text) < _LONGEST_PARSED:
        with contextlib.suppress(ValueError, RecursionError):
            return json.loads(text)
        with contextlib.suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            return ast.literal_eval(text.strip())
    return None


def _parsed(text: str) -> Any:
    """What a text says as data: its value, else the paths and the `name: value` lines in it."""
    if (value := _literal(text)) is not None:
        return value
    lines: list[dict[str, str]] = [{"path": path} for path in _PATH.findall(text[:_READ])]
    return [*lines, *({name: value.strip()} for name, value in _LINE.findall(text[:_READ]))]


def _scalars(values: object, most: int) -> Iterator[tuple[tuple[str, ...], frozenset[str], str | int]]:
    """Texts and whole numbers, with the words of their names and of all that they lie in; breadth first."""
    waiting: deque[tuple[tuple[str, ...], frozenset[str], Any]] = deque([((), frozenset(), values)])
    while waiting and most > 0:
        words, around, here = waiting.popleft()
        if isinstance(here, dict):
            inner = around | frozenset(words)
            waiting.extend((_split_name(name), inner, one) for name, one in here.items() if isinstance(name, str))
        elif isinstance(here, list):
            waiting.extend((words, around, one) for one in here[:_MOST_ITEMS])
        elif words and (type(here) is int or (isinstance(here, str) and 0 < len(here) <= _LONGEST_VALUE)):
            most -= 1
            yield words, around, here


def _split_name(name: str) -> tuple[str, ...]:
    """The words of a name, in lower case and in the singular: `recordIds` is `record`, `id`."""
    found = (word.lower() for word in _WORD.findall(name[:200]))
    return tuple(word[:-3] + "y" if word.endswith("ies") else word.removesuffix("s") for word in found)


def _is_valid(schema: object, arguments: Mapping[str, object]) -> bool:
    if not isinstance(schema, dict):
        return True
    from mcptest_engine.core.synthesize.search import judged, readable

    validator = readable(schema)[1]
    return validator is not None and judged(validator, arguments)

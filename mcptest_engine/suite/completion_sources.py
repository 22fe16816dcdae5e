"""The names that a suite's text and a live catalog have for a place: servers, tools, arguments, variables, targets."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.clipping import show
from mcptest_engine.core.enums import TestKind
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.targets import AGENT_GATES, EVERY, render
from mcptest_engine.suite import schema_walk as walk
from mcptest_engine.suite.case_rows import FILLED, WITH_CASES
from mcptest_engine.suite.cursor import Holder, Place, members, unquoted, yaml_under
from mcptest_engine.suite.edit import BLOCKS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

Catalog = dict[str, dict[str, Any]]

_ASKED = frozenset(kind.block for kind in TestKind if kind.may_ask_models)
_TOP = re.compile(r"""["']?(\w+)["']?\s*:""")
_NAMED = re.compile(r"""(?:^\s*-\s+|^\s+|[{,]\s*)name:\s+("[^"]*"|'[^']*'|[^\s,}#][^,}#]*)""")
_GROUPED = re.compile(r"""(?:^\s*-\s+|^\s+|[{,]\s*)group:\s+("[^"]*"|'[^']*'|[^\s,}#][^,}#]*)""")
_TARGETS = {
    "tools": (
        ("result.content[0].text", "The text of the first part of the answer."),
        ("result.structuredContent", "The answer as data."),
        ("json", "The text of the answer, read as JSON."),
        ("result.isError", "Whether the tool reports an error. It may be absent if not."),
        ("result.content", "All parts of the answer."),
    ),
    "resources": (
        ("result.contents[0].text", "The resource as text."),
        ("json", "The resource, read as JSON."),
        ("result.contents[0].mimeType", "Its type."),
        ("result.contents[0].uri", "Its URI."),
        ("result.contents", "All its parts."),
    ),
    "compliance": (
        ("result.serverInfo.name", "The name of the server, in `initialize`."),
        ("result.capabilities", "The capabilities of the server, in `initialize`."),
        ("result.tools[*].name", "The names of the tools, in `tools/list`."),
        ("result.resources[*].uri", "The URIs of the resources, in `resources/list`."),
        ("result.prompts[*].name", "The names of the prompts, in `prompts/list`."),
        ("session.protocol_version", "The negotiated revision."),
        ("session.capabilities", "The capabilities from the handshake."),
        ("session.server_info", "The server info from the handshake."),
    ),
    "compositions": (
        ("composition.ran", "True if no node failed. Skipped nodes are allowed."),
        ("composition.order", "The nodes in the order in which they started."),
        ("output", "The combined output."),
        ("nodes", "The nodes by id, each with `status`, `output` and `duration_ms`."),
        ("cost.total", "The cost of the calls, in US dollars."),
        ("tokens.total", "The tokens of the calls."),
        ("duration_ms", "The duration in milliseconds."),
    ),
    "agents": (
        ("tool_names", "The names of the tools that were called, in order."),
        ("tool_calls", "The calls, each with `name`, `server` and `args`."),
        ("final_response", "The final answer of the model."),
        ("conversation.turns", "The turns of the conversation."),
        ("conversation.tokens.total", "The total number of tokens."),
        ("cost.total", "The cost in US dollars."),
        ("turns", "The number of answers of the model."),
        ("stop", "Why the conversation ended: `end`, `max_turns`, `length`, `refusal` or `budget`."),
        ("model", "The id of the model."),
        ("duration_ms", "The duration in milliseconds."),
    ),
    "prompts": (
        ("result.messages[0].content.text", "The text of the first message."),
        ("result.messages", "All messages."),
        ("result.description", "The description of the prompt."),
    ),
}
_ANY_TARGETS = (
    ("error.message", "The protocol error's message."),
    ("error.code", "The protocol error's code."),
    ("error", "The protocol error; absent when there was none."),
    ("duration_ms", "The duration of the call in milliseconds."),
    ("result", "The whole result."),
    ("attempt", "The number of the attempt, from 1."),
    ("request", "The request as sent."),
    ("notifications", "The notifications during the call."),
    ("server_requests", "The requests of the server to the client."),
    ("http", "Status and headers, for a server with a URL."),
)
_LISTED = {"tool": "tools", "uri": "resources", "prompt": "prompts"}
_MOST_DEPTH = 3
_MOST_USED = 100
_MOST_ANSWERED = 300
_MOST_READ = 64 * 1024
"""So much of a data file is read for the names of its columns."""


class CompletionSources:
    """The names around one place."""

    def __init__(
        self,
        lines: Sequence[str],
        place: Place,
        catalog: Catalog,
        answered: Iterable[tuple[str, str]] = (),
        folder: Path | None = None,
    ) -> None:
        self._lines, self._place, self._answered, self._folder = lines, place, answered, folder
        self._catalog: Mapping[str, Any] = catalog

    def names(self, *, full: bool = False) -> Iterator[tuple[str, str, str]]:
        """(name, kind, what it is) of all that can stand as this value; `full` gives whole descriptions."""
        path = self._place.path
        if not path or path[0] not in BLOCKS:
            return
        last = path[-1]
        if last == "server" or path[-2:-1] == ("servers",):
            for name, told in self.servers():
                yield name, "server", told
        elif len(path) == 3 and last == "group":
            groups = (
                unquoted(match[1].strip()) for line in self._lines if (match := _GROUPED.search(line)) is not None
            )
            yield from ((name, "group", "tests that depend on each other") for name in dict.fromkeys(groups))
        elif path[0] == "evals" and path[-2:-1] == ("scorers",):
            yield from ((name, "scorer", "") for name in self.scorers())
        elif (len(path) > 4 and path[0] in _ASKED and path[2] == "tools" and path[3] in ("allow", "deny", "dry")) or (
            path[0] == "agents" and len(path) > 3 and path[2] in AGENT_GATES and is_tool_of_measure(path[2:])
        ):
            yield from self._listed("tool", full=full, requests=False)
        elif last in _LISTED and len(path) > 2 and (path[0] not in _ASKED or path[2:] == ("call", "tool")):
            yield from self._listed(str(last), full=full, requests=path[0] not in _ASKED)
        elif last == "target":
            yield from self._targets()

    def servers(self) -> list[tuple[str, str]]:
        """The servers of the text and of the catalog, with what they are started by."""
        found = {name: unquoted(value) for name, value in self._top("servers").items()}
        return [(name, self.server_address(name)) for name in dict.fromkeys([*found, *map(str, self._catalog)])]

    def server_address(self, name: str) -> str:
        """The command or URL of a server, as far as it stands on one line."""
        holder = self._top_holder("servers")
        value = self._top("servers").get(name, "") if holder is not None else ""
        if value.strip():
            return value.strip()
        row = self._row_of_key("servers", name)
        settings = (
            members(self._lines, Holder(False, row + 1, _indent(self._lines[row + 1]))) if row is not None else {}
        )
        return next((f"{key}: {settings[key].strip()}" for key in ("command", "url") if settings.get(key)), "")

    def scorers(self) -> list[str]:
        """The names of the suite's scorers."""
        found: dict[str, None] = {}
        inside = False
        for line in self._lines:
            top = _TOP.match(line)
            inside = top[1] == "scorers" if top is not None else inside
            if inside and (match := _NAMED.search(line)) is not None:
                found[unquoted(match[1].strip())] = None
        return list(found)

    def variables(self) -> list[tuple[str, str]]:
        """What can stand between `${` and `}`: the columns of the test's cases, the suite's variables, and its folder."""
        found = [(name, unquoted(value) or "a variable") for name, value in self._top("variables").items()]
        cases = [(f"var.{name}", "a variable of the test's cases") for name in self._columns()]
        return [*cases, *found, ("CONFIG_DIR", "The folder of the suite.")]

    def _columns(self) -> list[str]:
        """The variables that the cases of the test around the place have, in the suite and in their file."""
        path = self._place.path
        if len(path) < 3 or path[0] not in WITH_CASES or path[2] not in (*FILLED, "nodes", "cases"):
            return []
        from mcptest_engine.core.errors import SuiteError
        from mcptest_engine.suite.yaml import read_tree

        holder = self._place.holder(2)
        text = "" if holder is None else yaml_under(self._lines, holder, "cases", without=self._place.row)
        with suppress(SuiteError):  # half typed
            cases = read_tree(text, file="").value if text.strip() else None
            if isinstance(cases, str):
                return self._columns_of_file(cases)
            rows = [row for row in cases if isinstance(row, dict)] if isinstance(cases, list) else []
            names = (name for row in rows if isinstance(row.get("vars"), dict) for name in row["vars"])
            return list(dict.fromkeys(names))
        return []

    def _columns_of_file(self, name: str) -> list[str]:
        from mcptest_engine.core.errors import SuiteError
        from mcptest_engine.suite.case_files import read_columns
        from mcptest_engine.workspace.files import open_file

        if self._folder is None:
            return []
        with suppress(OSError, ValueError, SuiteError), open_file(self._folder / name) as file:
            data = file.read(_MOST_READ)
            if len(data) == _MOST_READ:
                data = data[: data.rfind(b"\n") + 1]
            return list(dict.fromkeys(read_columns(data, file=name)))
        return []

    def argument(self, path: tuple[str | int, ...]) -> tuple[Any, Any] | None:
        """What the catalog says of a place inside of a test's `args`: the whole schema, and the part for this place."""
        depth = self.arguments_depth(path)
        entry = self._entry(self._members_at(depth - 1)) if depth else None
        if entry is None:
            return None
        schema = entry["inputSchema"] if "inputSchema" in entry else _of_prompt(entry)
        part = walk.described(schema, path[depth:])
        return None if part is None else (schema, part)

    def is_about_the_error_flag(self) -> bool:
        """Whether the place is the matcher of an assertion about `isError`, which answers may leave out."""
        path = self._place.path
        if path[-1:] != ("matcher",):
            return False
        return unquoted(self._members_at(len(path) - 1).get("target", "")) == "result.isError"

    def arguments_depth(self, path: tuple[str | int, ...]) -> int:
        """How many parts of a path lead to a test's `args`, itself included; 0 for a path that leads elsewhere."""
        if len(path) >= 3 and path[0] in BLOCKS and path[2] == "args":
            return 3
        if len(path) >= 4 and path[0] == "evals" and path[2:4] == ("call", "args"):
            return 4
        return 5 if len(path) >= 5 and path[0] in BLOCKS and path[2] == "verify" and path[4] == "args" else 0

    def server_of_test(self) -> str:
        """The server that the test around the place calls."""
        return self._server_of(self._members_at(2))

    def _listed(self, key: str, *, full: bool, requests: bool = True) -> Iterator[tuple[str, str, str]]:
        depth = len(self._place.path) - 1
        test = self._members_at(depth)
        server = self._server_of(test) or self._server_of(self._members_at(2))
        kind = {"tool": "tool", "uri": "resource", "prompt": "prompt"}[key]
        offered = self._catalog.get(server)
        name_key = "uri" if key == "uri" else "name"
        for entry in _entries(offered, _LISTED[key]):
            name = entry.get(name_key)
            if isinstance(name, str):
                told = walk.description(entry) or str(entry.get("title") or entry.get("name") or "")
                yield name, kind, told if full else told.strip().partition("\n")[0]
        if not isinstance(offered, dict):
            for name in self._used(key):
                yield name, kind, "used elsewhere in this suite"
        if key == "tool" and requests:
            from mcptest_engine.suite.checks import METHODS_AS_TOOLS

            for name in sorted(METHODS_AS_TOOLS):
                yield name, "value", "The request of that name."

    def _targets(self) -> Iterator[tuple[str, str, str]]:
        block = str(self._place.path[0])
        entry = self._entry(self._members_at(2)) or {}
        yield from ((target, "target", told) for target, told in self._answered)
        listed = dict(_TARGETS.get(block, ()))
        output = entry.get("outputSchema")
        for target, told in listed.items():
            yield target, "target", told
            if target == "result.structuredContent" and isinstance(output, dict):
                yield from ((name, "target", text) for name, text in _inside(output, output, target, 0))
        for target, told in _ANY_TARGETS if block != "agents" else ():
            yield target, "target", told

    def short_targets(self) -> Iterator[tuple[str, str]]:
        """(key, what it is) of the targets that an `expect` can have for keys."""
        from mcptest_engine.suite.short_assertions import short_target

        path = self._place.path
        if len(path) > 2 and path[0] in BLOCKS and path[-1] == "expect":
            for target, _, told in self._targets():
                yield short_target(target, str(path[0])), told

    def signature(self, tool: str) -> str:
        """The arguments of a tool: `city (string, required), unit ("celsius" or "fahrenheit")`."""
        entry = self._entry({**self._members_at(len(self._place.path) - 1), "tool": tool})
        schema = entry.get("inputSchema") if entry is not None else None
        parts = list(walk.alternatives(schema, schema)) if schema is not None else []
        needed = walk.required(parts)
        told = [
            f"{name} ({walk.values_shown(schema, part)}{', required' if name in needed else ''})"
            for name, part in walk.properties(parts).items()
        ]
        return f"Arguments: {', '.join(told)}" if told else ""

    def _used(self, key: str) -> list[str]:
        """What the suite's other tests call."""
        found: dict[str, None] = {}
        word = re.compile(rf"(?:^|[\s{{,-]){key}:\s+([^\s,}}{{#\"'][^\s,}}#]*)")
        for row, line in enumerate(self._lines):
            if key in line and row != self._place.row and (match := word.search(line)) is not None:
                found[match[1]] = None
                if len(found) == _MOST_USED:
                    break
        return list(found)

    def _entry(self, test: Mapping[str, str]) -> dict[str, Any] | None:
        """What the catalog says of the tool or prompt that a test calls."""
        server = self._server_of(test) or self._server_of(self._members_at(2))
        for key in ("tool", "prompt"):
            wanted = unquoted(test.get(key, ""))
            if wanted:
                listed = _entries(self._catalog.get(server), _LISTED[key])
                return next((entry for entry in listed if entry.get("name") == wanted), None)
        return None

    def _server_of(self, test: Mapping[str, str]) -> str:
        named = unquoted(test.get("server", ""))
        if named:
            return named
        names = list(self._top("servers")) or list(self._catalog)
        return names[0] if len(names) == 1 else ""

    def _members_at(self, depth: int) -> dict[str, str]:
        holder = self._place.holder(depth)
        return {} if holder is None else members(self._lines, holder)

    def _top(self, key: str) -> dict[str, str]:
        """The members of a mapping at the top of the file."""
        holder = self._top_holder(key)
        return {} if holder is None else members(self._lines, holder)

    def _top_holder(self, key: str) -> Holder | None:
        for row, line in enumerate(self._lines):
            match = _TOP.match(line) if not line.startswith((" ", "-", "#")) else None
            if match is None or match[1] != key:
                continue
            rest = line[match.end() :]
            if rest.lstrip().startswith("{"):
                return Holder(True, row, match.end() + len(rest) - len(rest.lstrip()))
            for below in range(row + 1, len(self._lines)):
                text = self._lines[below]
                if text.strip() and not text.lstrip().startswith("#"):
                    return Holder(False, below, _indent(text)) if _indent(text) else None
        return None

    def _row_of_key(self, top: str, name: str) -> int | None:
        holder = self._top_holder(top)
        if holder is None or holder.flow:
            return None
        for row in range(holder.row, len(self._lines) - 1):
            line = self._lines[row]
            if line.strip() and _indent(line) < holder.column:
                return None
            if _indent(line) == holder.column and unquoted(line.strip().partition(":")[0]) == name:
                return row
        return None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _entries(offered: object, kind: str) -> list[dict[str, Any]]:
    listed = offered.get(kind) if isinstance(offered, dict) else None
    return [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []


def _of_prompt(entry: Mapping[str, object]) -> dict[str, Any] | None:
    """A prompt's arguments as a schema."""
    listed = entry.get("arguments")
    if not isinstance(listed, list):
        return None
    arguments = [
        argument for argument in listed if isinstance(argument, dict) and isinstance(argument.get("name"), str)
    ]
    return {
        "type": "object",
        "properties": {
            argument["name"]: {"type": "string", "description": argument.get("description")} for argument in arguments
        },
        "required": [argument["name"] for argument in arguments if argument.get("required") is True],
    }


def _inside(root: object, schema: object, path: str, depth: int) -> Iterator[tuple[str, str]]:
    """The targets inside of a tool's structured answer."""
    if depth >= _MOST_DEPTH:
        return
    for part in walk.alternatives(root, schema):
        for name, told in list(walk.properties([part]).items())[:50]:
            if re.fullmatch(r"[A-Za-z_]\w*", name):
                yield f"{path}.{name}", walk.description(told)
                yield from _inside(root, told, f"{path}.{name}", depth + 1)
        if isinstance(part.get("items"), dict):
            yield from _inside(root, part["items"], f"{path}[0]", depth + 1)


def is_tool_of_measure(path: Sequence[object]) -> bool:
    """Whether a place below an agent test names a tool: `tool`, an item of a list, or an end of a hand-off."""
    return path[-1] in ("tool", "to") or type(path[-1]) is int or (path[-1] == "from" and path[0] == "tool_edges")


def targets_in(answer: object) -> list[tuple[str, str]]:
    """Every target of an answer with its value in short, the outer ones first; of a list its first item, and all of them."""
    found: list[tuple[str, str]] = []
    waiting: list[tuple[tuple[Any, ...], Any]] = [((), answer)]
    for path, value in waiting:  # which grows meanwhile
        if path:
            found.append((render(path), one_line(show(value), 80)))
        if len(found) >= _MOST_ANSWERED:
            break
        if isinstance(value, dict):
            waiting += [
                ((*path, key), inner) for key, inner in value.items() if isinstance(key, str) and key[:1] != "$"
            ]
        elif isinstance(value, list) and value:
            waiting.append(((*path, 0), value[0]))
            if isinstance(value[0], dict):
                waiting += [((*path, EVERY, key), f"of each of {len(value)}") for key in value[0] if key[:1] != "$"]
    return found

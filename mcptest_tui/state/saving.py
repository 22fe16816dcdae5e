"""A call made by hand as a test of a suite: what to expect of its answer, where it is to stand, and the text that comes of it.

Nothing is written here. The surprising thing: what looks as if it were different at every call (a time, an id) is proposed too,
but not chosen, so that a saved test does not fail at its first run.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.authoring.stability import is_likely_to_change
from mcptest_engine.core.clipping import compact
from mcptest_engine.core.redaction import MASK
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.targets import render
from mcptest_engine.safety.tool_classes import ToolClass, cautious_class
from mcptest_engine.workspace.schema_file import SCHEMA_LINE, with_schema_line
from mcptest_tui.state.json_rows import is_cut
from mcptest_tui.state.new_suite import declared_target

if TYPE_CHECKING:
    from mcptest_engine.authoring.targets import FreeNames
    from mcptest_engine.running.documents import Document
    from mcptest_tui.state.servers import Server

MOST_LEAVES = 40
LONGEST_EXACT = 200
LONGEST_PART = 80
CONTEXT = 3
_OWN = ("name", "server", "tool", "args", "expect")
BLOCKS = {"tools/call": "tools", "resources/read": "resources", "prompts/get": "prompts"}


@dataclass(slots=True, eq=False)
class Proposal:
    """One assertion. `why` says why it is not chosen at first; `more` is what else it holds, such as its message."""

    target: str
    matcher: Mapping[str, Any]
    chosen: bool = True
    why: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def shown(self) -> str:
        """The matcher and its value on one line."""
        name, value = next(iter(self.matcher.items()))
        if name == "not" and isinstance(value, Mapping) and value:
            inner, value = next(iter(value.items()))
            name = f"not {inner}"
        return f"{name}: {compact(value, 200)}"


class Place(NamedTuple):
    """Where a test can go: a suite and its server there, or a new file (`path` not there yet)."""

    path: str
    server: str
    new: bool
    several: bool = False


class SavedTest(NamedTuple):
    """The file after the edit: `lines` are its lines around the new ones, each (number, text, is new)."""

    path: str
    before: str | None
    after: str
    line: int
    lines: tuple[tuple[int, str, bool], ...]


@dataclass(slots=True, eq=False)
class Saving:
    """What is to be saved, and where. `more` and `limits` are what else a proposed test and its `expect` hold."""

    method: str
    params: Mapping[str, Any]
    name: str
    places: Sequence[Place]
    server: Server | None
    proposals: list[Proposal] = field(default_factory=list)
    at: int = 0
    more: Mapping[str, Any] = field(default_factory=dict)
    limits: Mapping[str, Any] = field(default_factory=dict)
    invalid: str = ""
    """What is wrong with the answer by the protocol: every run of the test fails by it, until the server is mended."""

    @property
    def place(self) -> Place:
        """The suite in which the test will be saved."""
        return self.places[self.at]

    def test(self) -> dict[str, Any]:
        """Return the test as a mapping, with its keys in the usual order."""
        found: dict[str, Any] = {"name": _escaped(self.name)}
        if self.place.several:
            found["server"] = self.place.server
        if self.method == "resources/read":
            found["uri"] = _escaped(self.params.get("uri", ""))
        else:
            found["prompt" if self.method == "prompts/get" else "tool"] = _escaped(self.params.get("name", ""))
        arguments = self.params.get("arguments")
        if isinstance(arguments, dict) and arguments:
            found["args"] = _escaped(arguments)
        found.update(self.more)
        expect: Any = [
            {"target": _escaped(one.target), "matcher": _escaped(one.matcher), **one.more}
            for one in self.proposals
            if one.chosen
        ]
        if self.limits:
            expect = {**({"assertions": expect} if expect else {}), **self.limits}
        return {**found, **({"expect": expect} if expect else {})}

    def with_test(self, before: str | None) -> SavedTest:
        """Return the file with the test added to its text `before`. Raises: EditRefused."""
        from mcptest_engine.suite.edit import append_test
        from mcptest_engine.suite.text_edits import apply

        text = before if before is not None else with_schema_line(self._beginning(), Path(self.place.path))
        edit = append_test(text, BLOCKS[self.method], self.test())
        after = apply(text, edit)
        first = 0 if before is None else edit.start
        first += len(edit.text) - len(edit.text.lstrip("\r\n")) if before is not None else 0
        line = after.count("\n", 0, first) + 1
        last = after.count("\n", 0, edit.start + len(edit.text.rstrip())) + 1
        numbered = list(enumerate(re.split(r"\r?\n", after), 1))[max(line - 1 - CONTEXT, 0) : last + CONTEXT]
        return SavedTest(
            self.place.path, before, after, line, tuple((at, row, line <= at <= last) for at, row in numbered)
        )

    def _beginning(self) -> str:
        """Return the text of a new suite with the server and no test."""
        from mcptest_engine.suite.edit import set_value
        from mcptest_engine.suite.text_edits import apply

        name = self.place.server
        text = f"{SCHEMA_LINE}\nname: {json.dumps(name, ensure_ascii=False)}\nservers: {{}}\n"
        return apply(text, set_value(text, ("servers",), {name: self._declared().settings}))

    @property
    def notes(self) -> tuple[str, ...]:
        """Why the test will fail, and where the file is a new one what a person has to know of the server's secrets."""
        from mcptest_engine.authoring.targets import variable_notes

        red = (f"the test fails until the server is fixed: {self.invalid}",) if self.invalid else ()
        if self.server is None or not self.place.new:
            return red
        declared = self._declared()
        return (*red, *variable_notes(declared.secrets), *declared.notes)

    def _declared(self) -> FreeNames:
        """The server as a suite declares it. A secret of a server that was found is masked here: its variable is named."""
        from mcptest_engine.authoring.targets import FreeNames, with_free_names

        server = self.server
        if server is None:
            return FreeNames({"command": ["your-server"]}, {}, ())
        secrets: dict[str, str] = {}
        if server.transport == "http":
            settings = declared_target({"url": server.target.get("url") or server.shown}, secrets)
            token = server.target.get("bearer_token_env")
            settings.update({"auth": {"bearer_token_env": token}} if token else {})
        else:
            settings = declared_target({"command": server.target.get("command") or server.argv}, secrets)
            if server.cwd:
                settings["cwd"] = _escaped(server.cwd)
            if server.env_names:
                settings["env"] = {name: f"${{{name}}}" for name in server.env_names}
        known = {name: value for name, value in secrets.items() if value != MASK}
        declared = with_free_names(settings, known, os.environ, self.place.server)
        return declared._replace(secrets={**{name: MASK for name in secrets if name not in known}, **declared.secrets})


def saving_of(
    method: str,
    params: Mapping[str, object],
    answer: Mapping[str, object] | None,
    server: Server | None,
    documents: Sequence[Document],
    new_path: str,
    *,
    destructive: bool | None = None,
) -> Saving:
    """What to save of a call, with the places for it, the most fitting first.

    A `destructive` tool, by its name where nobody knows more, was called on a yes to one call: its test carries a `skip:`.
    """
    proposals = list(proposals_of(method, answer)) if answer is not None else []
    name = str(params.get("name", ""))
    if destructive is None:
        destructive = method == "tools/call" and cautious_class(name) is ToolClass.DESTRUCTIVE
    more = {"serial": True, "skip": "review before first run: it destroys something"} if destructive else {}
    places = _places(server, documents, new_path)
    return Saving(method, params, _name(method, params, answer), places, server, proposals, more=more)


def proposed_saving(saving: Saving, test: Mapping[str, object]) -> Saving:
    """The same call with the name, the assertions and all else of a test that the engine proposed: a `skip:` above all."""
    expect = test.get("expect")
    listed = expect.get("assertions") if isinstance(expect, Mapping) else expect
    saving.name = _unescaped(str(test.get("name") or saving.name))
    saving.proposals = [
        Proposal(
            _unescaped(one["target"]),
            _unescaped(one["matcher"]),
            more={key: part for key, part in one.items() if key not in ("target", "matcher")},
        )
        for one in (listed if isinstance(listed, Sequence) else ())
        if isinstance(one, Mapping) and isinstance(one.get("matcher"), Mapping) and isinstance(one.get("target"), str)
    ]
    saving.more = {key: part for key, part in test.items() if key not in _OWN}
    saving.limits = (
        {key: part for key, part in expect.items() if key != "assertions"} if isinstance(expect, Mapping) else {}
    )
    return saving


def proposals_of(method: str, answer: Mapping[str, object]) -> Iterator[Proposal]:
    """Return assertions that hold for this answer, the useful ones chosen."""
    if "error" in answer:
        error = answer["error"]
        if isinstance(error, dict):
            yield Proposal("error.code", {"exact": error.get("code")})
            yield from _text(("error", "message"), error.get("message"), chosen=False)
        return
    result = answer.get("result")
    if not isinstance(result, dict):
        return
    if method == "tools/call":
        is_error = result.get("isError") is True
        yield Proposal("result.isError", {"exact": True} if is_error else {"not": {"exact": True}})
        structured = result.get("structuredContent")
        if isinstance(structured, (dict, list)):
            yield from _leaves(("result", "structuredContent"), structured)
        yield from _blocks(("result", "content"), result.get("content"), chosen=structured is None)
    elif method == "resources/read":
        yield from _blocks(("result", "contents"), result.get("contents"), chosen=True)
    elif method == "prompts/get":
        messages = result.get("messages")
        for at, message in enumerate(messages[:10] if isinstance(messages, list) else ()):
            if isinstance(message, dict):
                path = ("result", "messages", at)
                yield Proposal(render((*path, "role")), {"exact": message.get("role")}, chosen=False)
                content = message.get("content")
                if isinstance(content, dict):
                    yield from _text((*path, "content", "text"), content.get("text"))


def _blocks(path: tuple[str | int, ...], blocks: object, *, chosen: bool) -> Iterator[Proposal]:
    listed = blocks if isinstance(blocks, list) else []
    for at, block in enumerate(listed[:10]):
        if not isinstance(block, dict):
            continue
        if "text" in block:
            yield from _text((*path, at, "text"), block["text"], chosen=chosen)
        elif isinstance(block.get("type"), str):
            yield Proposal(render((*path, at, "type")), {"exact": block["type"]}, chosen=chosen)
        if isinstance(block.get("mimeType"), str):
            yield Proposal(render((*path, at, "mimeType")), {"exact": block["mimeType"]}, chosen=chosen)


def _leaves(path: tuple[str | int, ...], value: object) -> Iterator[Proposal]:
    stack: list[tuple[tuple[str | int, ...], Any]] = [(path, value)]
    found = 0
    while stack and found < MOST_LEAVES:
        at, here = stack.pop()
        if is_cut(here) or isinstance(here, str):
            found += 1
            yield from _text(at, here, named=str(at[-1]))
        elif isinstance(here, dict):
            stack.extend((((*at, key), part) for key, part in reversed(here.items()) if key != "$more"))
        elif isinstance(here, list):
            stack.extend(((*at, index), part) for index, part in reversed(list(enumerate(here))) if not _is_more(part))
        else:
            found += 1
            changing = is_likely_to_change(compact(here, 40), str(at[-1]))
            yield Proposal(render(at), {"exact": here}, not changing, "seems to change" if changing else "")


def _text(path: tuple[str | int, ...], value: object, *, chosen: bool = True, named: str = "") -> Iterator[Proposal]:
    text = value.get("text", "") if isinstance(value, dict) and is_cut(value) else value
    if not isinstance(text, str):
        return
    whole = isinstance(value, str)
    if whole and len(text) <= LONGEST_EXACT and "\n" not in text.strip("\n"):
        matcher: dict[str, Any] = {"exact": text}
        told = text
    else:
        told = next((row.strip() for row in text.split("\n") if row.strip()), "")[:LONGEST_PART].rstrip()
        matcher = {"contains": told}
    if not told and not whole:
        return
    changing = is_likely_to_change(told, named)
    yield Proposal(render(path), matcher, chosen and not changing, "seems to change" if changing else "")


def _is_more(part: object) -> bool:
    return isinstance(part, dict) and len(part) == 1 and "$more" in part


def _places(server: Server | None, documents: Sequence[Document], new_path: str) -> list[Place]:
    found: list[Place] = []
    for document in documents:
        several = len(document.servers) > 1
        for item in document.servers:
            own = server is not None and server.path == document.path and server.name == item.name
            same = server is not None and item.target == server.shown
            if own or same:
                found.insert(0 if own else len(found), Place(document.path, item.name, new=False, several=several))
    return [*found, Place(new_path, server.name if server is not None else "server", new=True)]


_LONGEST_PART, _LONGEST_ARGUMENTS = 30, 60


def _name(method: str, params: Mapping[str, object], answer: Mapping[str, object] | None) -> str:
    what = str(params.get("uri") if method == "resources/read" else params.get("name", ""))
    arguments = params.get("arguments")
    result = (answer or {}).get("result")
    failed = "error" in (answer or {}) or (isinstance(result, dict) and result.get("isError") is True)
    ending = " is refused" if failed else " can be read" if method == "resources/read" else ""
    told: list[str] = []
    given = arguments if isinstance(arguments, dict) else {}
    for key, part in [one for one in given.items() if not isinstance(one[1], (dict, list))][:3]:
        text = one_line(f"{key} {part if isinstance(part, str) else compact(part, _LONGEST_PART)}", 1_000)
        if len(text) <= _LONGEST_PART and "…" not in text and len(", ".join([*told, text])) <= _LONGEST_ARGUMENTS:
            told.append(text)  # nothing is cut: what is too long for a name is left out of it
    return one_line(f"{what}{' with ' if told else ''}{', '.join(told)}{ending}", 1_000)


def _escaped(value: object) -> Any:
    """Return a value in which no text is read as a template."""
    if isinstance(value, str):
        return value.replace("${", "$${")
    if isinstance(value, Mapping):
        return {key: _escaped(part) for key, part in value.items()}
    return [_escaped(part) for part in value] if isinstance(value, (list, tuple)) else value


def _unescaped(value: object) -> Any:
    """Return the value that `_escaped` was given."""
    if isinstance(value, str):
        return value.replace("$${", "${")
    if isinstance(value, Mapping):
        return {key: _unescaped(part) for key, part in value.items()}
    return [_unescaped(part) for part in value] if isinstance(value, (list, tuple)) else value

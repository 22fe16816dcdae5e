"""What the servers of a run list: read once a server, beside its first call, and held against what tests call.

From it come the nearest name of an unknown tool or prompt, what is odd about arguments, and the `outputSchema` of results. A
list that cannot be read fails nothing: that an answer could not be checked is a warning. A name counts as unknown only after
a second look, since a server may list more than it did at first. A list is read again once the server has said that it
changed, and where its server died over it or hung in a call before it.
"""

from __future__ import annotations

import asyncio
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.errors import ServerDied, ServerError, Suggestion, did_you_mean
from mcptest_engine.core.live import TEST
from mcptest_engine.judging.matchers import Context
from mcptest_engine.judging.matchers.json_schema import find_faults, matches_schema
from mcptest_engine.judging.validity import Validity, find_invalidity
from mcptest_engine.running.pool import MOST_DEATHS
from mcptest_engine.servers.catalog import list_all

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping

    from mcptest_engine.judging.matchers import Judge, Reason
    from mcptest_engine.servers.session import Session

LISTS = {"tools/call": "tools", "prompts/get": "prompts"}
_WHAT = {"tools": "tool", "prompts": "prompt"}
LIST_RESULT: Mapping[str, Any] = {"resultType": "complete", "ttlMs": 0, "cacheScope": "public"}
_LATE = "no answer came within the time limit of a call"
_ENDED = "the run was ended before an answer came"
_MOST_FAULTS = 50
_OPEN_ENDED = frozenset(
    {"additionalProperties", "patternProperties", "unevaluatedProperties", "$ref", "allOf", "anyOf"}
)


class ArgumentFault(NamedTuple):
    """What is wrong with the arguments of a call.

    `path` leads from the arguments to what is wrong, or to the container of what is missing.
    `kind` is "unknown", "missing", or the keyword of the schema that refuses, "" where that is not known; `expected` the name
    that is missing, or the allowed values of an `enum`.
    """

    message: str
    hint: str | None
    path: tuple[str | int, ...]
    kind: str
    expected: Any = None


class Entry:
    """One tool or prompt as its server lists it, with what is made of its schemas when first needed."""

    __slots__ = ("_declared", "_input", "_named", "_output", "descriptor", "is_tool")

    def __init__(self, descriptor: Mapping[str, object], *, is_tool: bool) -> None:
        self.descriptor = descriptor
        self.is_tool = is_tool
        self._input: Judge | None = None
        self._output: Judge | None = None
        listed = descriptor.get("arguments")
        self._named = [
            one
            for one in (listed if isinstance(listed, list) else ())
            if isinstance(one, dict) and isinstance(one.get("name"), str)
        ]
        self._declared: set[str] | None = None  # the arguments that may be given; None where any may
        schema = descriptor.get("inputSchema")
        if not is_tool:
            self._declared = {one["name"] for one in self._named}
        elif isinstance(schema, dict):
            properties = schema.get("properties")
            is_closed = schema.get("additionalProperties") is False or _OPEN_ENDED.isdisjoint(schema)
            self._declared = set(properties) if isinstance(properties, dict) and is_closed else None

    @property
    def output_schema(self) -> Judge | None:
        """The judge of `structuredContent`; None where the tool declares no `outputSchema`."""
        schema = self.descriptor.get("outputSchema")
        if self._output is None and self.is_tool and isinstance(schema, dict):
            self._output = matches_schema(schema, Context())
        return self._output

    def find_argument_fault(self, arguments: object) -> tuple[str, str | None] | None:
        """What is wrong with arguments, as (message, hint): one that is not declared, or what the schema refuses."""
        if not self.is_tool or (self._declared is not None and not self._declared.issuperset(arguments)):  # type: ignore[arg-type]
            fault = next(self._find_undeclared(arguments), None)
            return fault and fault[:2]
        reason = self._judge_input(arguments)
        return None if reason is None else (f"{self._refusal}: {reason().message}", None)

    def find_argument_faults(self, arguments: object) -> Iterator[ArgumentFault]:
        """All that is wrong with arguments, each at its place, in the same words; for a text that is being written."""
        misspelt: set[str] = set()
        undeclared = False
        for fault in self._find_undeclared(arguments):
            if fault.kind != "missing" or fault.expected not in misspelt:
                undeclared = True
                misspelt |= {fault.hint.meant} if isinstance(fault.hint, Suggestion) else set()
                yield fault
        reason = self._judge_input(arguments) if self.is_tool else None
        if reason is None:
            return
        schema = self.descriptor["inputSchema"]
        found = list(islice(find_faults(schema, arguments), _MOST_FAULTS))
        for one in found:
            meant = one.kind == "required" and one.expected in misspelt  # what is misspelt lacks for that reason
            is_told = undeclared and not one.path and (one.kind == "additionalProperties" or meant)
            if not is_told:
                kind, value = ("missing", one.expected) if one.kind == "required" else (one.kind, one.expected)
                hint = did_you_mean(str(one.value), map(str, value)) if kind == "enum" else None
                yield ArgumentFault(f"{self._refusal}: {one.message}", hint, one.path, kind, value)
        if not found:
            yield ArgumentFault(f"{self._refusal}: {reason().message}", None, (), "")

    @property
    def _refusal(self) -> str:
        return f'the `inputSchema` of "{self.descriptor["name"]}" does not allow the arguments'

    def _judge_input(self, arguments: object) -> Reason | None:
        schema = self.descriptor.get("inputSchema")
        if not isinstance(schema, dict):
            return None
        if self._input is None:
            self._input = matches_schema(schema, Context())
        return self._input(arguments)

    def _find_undeclared(self, arguments: Any) -> Iterator[ArgumentFault]:
        """Arguments that are not declared; of a prompt, which has no schema, also those that are missing."""
        declared, what, name = self._declared or (), "tool" if self.is_tool else "prompt", self.descriptor["name"]
        for key in arguments if self._declared is not None else ():
            if key not in declared:
                hint = did_you_mean(key, declared) or (
                    f"it has {', '.join(f'`{one}`' for one in sorted(declared)[:8])}" if declared else None
                )
                yield ArgumentFault(f'the {what} "{name}" has no argument `{key}`', hint, (key,), "unknown")
        for one in () if self.is_tool else self._named:
            if one.get("required") is True and one["name"] not in arguments:
                needed = one["name"]
                yield ArgumentFault(f'the prompt "{name}" needs the argument `{needed}`', None, (), "missing", needed)


class Listing:
    """The tools or prompts of one server by name. An entry that comes `twice` counts as it came first."""

    def __init__(self, what: str, descriptors: list[dict[str, Any]]) -> None:
        self.what = what
        self.descriptors = descriptors
        self.entries: dict[str, Entry] = {}
        self.twice: dict[str, None] = {}
        for descriptor in descriptors:
            name = descriptor.get("name")
            if isinstance(name, str) and name in self.entries:
                self.twice[name] = None
            elif isinstance(name, str):
                self.entries[name] = Entry(descriptor, is_tool=what == "tools")

    def unknown(self, server: str, name: str) -> tuple[str, str | None]:
        """That there is no such name, as (message, hint)."""
        what = _WHAT[self.what]
        hint: str | None = did_you_mean(name, self.entries)
        if hint is None and self.entries:
            count = f"1 {what}" if len(self.entries) == 1 else f"{len(self.entries)} {what}s"
            hint = f"it lists {count}; `mcptest {self.what}` shows them"
        return f'server "{server}" lists no {what} "{name}"', hint


class CallFault(NamedTuple):
    """What a server's list has against a call. `fails`: a test whose call succeeds fails for it; else it is a warning."""

    message: str
    hint: str | None
    fails: bool

    @property
    def summary(self) -> str:
        """The message and the hint in one line."""
        return self.message if self.hint is None else f"{self.message}; {self.hint}"


def find_call_fault(
    session: Session, name: str, arguments: object, listing: Listing, entry: Entry | None, *, succeeded: bool
) -> CallFault | None:
    """What the list has against a call of `name`; `entry` is its entry in it, None where there is none."""
    if entry is None:
        message, hint = listing.unknown(session.spec.name, name)
        if succeeded:
            message += ", and answered the call"
            hint = hint or "to call it on purpose, set `run_options: { catalog: off }`"
        return CallFault(message, hint, fails=True)
    fault = entry.find_argument_fault(arguments)
    return None if fault is None else CallFault(*fault, fails=session.spec.is_strict)


def _list_changes(session: Session, what: str) -> int:
    """How often the server has said that its tools, or its prompts, have changed."""
    return session.server_messages.tool_list_changes if what == "tools" else session.server_messages.prompt_list_changes


class RunCatalogs:
    """The lists of a run's servers. `listed` is given each server's tools; `redact` takes secrets out of what is quoted."""

    def __init__(self, *, redact: Callable[[Any], Any], listed: Callable[[str, object], None]) -> None:
        self._redact = redact
        self._listed = listed
        self._listings: dict[tuple[str, str], asyncio.Task[Listing | None]] = {}
        self._began: dict[tuple[str, str], float] = {}
        self._known: dict[tuple[str, str], Listing] = {}
        self._unread: dict[tuple[str, str], str] = {}
        self._deaths: dict[tuple[str, str], int] = {}
        self._changes: dict[tuple[str, str], tuple[Session, int]] = {}
        self._probes: dict[Session, asyncio.Task[bool]] = {}
        self._looked_again: set[tuple[str, str, str]] = set()
        self.warnings: dict[str, None] = {}

    def begin(self, session: Session, method: str) -> None:
        """Have the list read that `method` calls from, unless it has been; the request goes out after those under way."""
        what = LISTS.get(method)
        if what is None or not session.spec.reads_catalog:
            return
        key = (session.spec.name, what)
        if what == "prompts" and "prompts" not in (session.capabilities or {}):
            return
        if key not in self._listings or self._has_changed(key, session):
            self._start(session, what)

    def is_awaited(self, session: Session, method: str) -> bool:
        """Whether the list that `method` calls from was asked for and has not come yet."""
        task = self._listings.get((session.spec.name, LISTS.get(method, "")))
        return task is not None and not task.done()

    def _has_changed(self, key: tuple[str, str], session: Session) -> bool:
        """Whether the server has said so since the list was asked for."""
        reader, changes = self._changes[key]
        return _list_changes(session, key[1]) != (changes if reader is session else 0)

    async def find(
        self,
        session: Session,
        method: str,
        name: str,
        *,
        timeout_seconds: float,
        renew: Callable[[], Awaitable[Session]] | None = None,
    ) -> tuple[Listing, Entry | None] | None:
        """The list that `method` calls from, and the entry `name` of it; None where there is no list to go by.

        A list that has been asked for longer than `timeout_seconds` is not waited for, so that a server that never lists its
        tools holds up a run once and not every test of it. `renew` gives a session to a server that was started again: a list
        that died with its server, or is stuck behind a call that hangs, is asked for over that.
        """
        what = LISTS.get(method)
        key = (session.spec.name, what or "")
        if what is None or not session.spec.reads_catalog:
            return None
        while True:
            task = self._listings.get(key)
            if task is not None and not task.done():
                await self._wait_for(key, task, timeout_seconds)
            listing = self._read_by(key, task)
            if listing is not None or renew is None:
                break
            if self._listings.get(key) is not task:  # it ended with its server, or another test has it read anew
                continue
            if not (key in self._deaths if task is None else self._is_stuck(key, task)):
                break
            try:
                session = await renew()
            except ServerError:
                break
            if self._listings.get(key) is not task:
                continue
            if task is None or session is not self._changes[key][0]:
                if task is not None:
                    task.cancel()
                self._start(session, what)
            elif self._is_stuck(key, task):  # a session of the test's own, which nobody replaces
                break
        if listing is None:
            self._warn_unchecked(key, session, self._unread.get(key, _LATE))
            return None
        if name not in listing.entries and (*key, name) not in self._looked_again and session.alive:
            self._looked_again.add((*key, name))
            session.lists.pop(what, None)
            task = self._start(session, what)
            await self._wait_for(key, task, timeout_seconds)
            listing = self._read_by(key, task) or listing
        return listing, listing.entries.get(name)

    def read(self) -> dict[str, dict[str, list[dict[str, Any]]]]:
        """The lists that have been read, as they were sent: by server, then "tools" or "prompts"."""
        found: dict[str, dict[str, list[dict[str, Any]]]] = {}
        for (server, what), listing in self._known.items():
            found.setdefault(server, {})[what] = listing.descriptors
        return found

    async def close(self) -> None:
        """End what is still being read."""
        for task in self._listings.values():
            task.cancel()
        await asyncio.gather(*self._listings.values(), return_exceptions=True)

    def _start(self, session: Session, what: str) -> asyncio.Task[Listing | None]:
        loop, key = asyncio.get_running_loop(), (session.spec.name, what)
        self._began[key] = loop.time()
        self._changes[key] = session, _list_changes(session, what)
        self._listings[key] = task = loop.create_task(self._read(session, what))
        return task

    def _warn_unchecked(self, key: tuple[str, str], session: Session, reason: str) -> None:
        server, what = key
        if what in (session.capabilities or {}):  # else it never said that it had any
            unchecked = "names, arguments and output schemas" if what == "tools" else "names and arguments"
            told = f'the {what} of server "{server}" could not be listed, so {unchecked} are not checked'
            self.warnings[f"{told}: {reason}"] = None

    async def _wait_for(self, key: tuple[str, str], task: asyncio.Task[Listing | None], timeout_seconds: float) -> None:
        """Wait until the task has read its list, is late, or is stuck behind a call that hangs."""
        loop, reader = asyncio.get_running_loop(), self._changes[key][0]
        deadline = self._began[key] + timeout_seconds
        try:
            while not task.done() and not self._is_stuck(key, task) and (left := deadline - loop.time()) > 0:
                timed_out = loop.create_task(reader.call_timed_out.wait())
                await asyncio.wait((task, timed_out), timeout=left, return_when=asyncio.FIRST_COMPLETED)
                timed_out.cancel()
                if reader.call_timed_out.is_set() and not task.done():
                    await self._probe(reader)
        except asyncio.CancelledError:
            self._warn_unchecked(key, reader, _ENDED)
            raise

    def _read_by(self, key: tuple[str, str], task: asyncio.Task[Listing | None] | None) -> Listing | None:
        """What the task has read, or else what was read before."""
        read = task.result() if task is not None and task.done() and not task.cancelled() else None
        return read or self._known.get(key)

    def _is_stuck(self, key: tuple[str, str], task: asyncio.Task[Listing | None]) -> bool:
        """Whether a list is behind a call that hangs: over this session nothing is answered any more."""
        reader = self._changes[key][0]
        return not task.done() and reader.alive and reader.is_silent

    async def _probe(self, session: Session) -> None:
        """Find out, once for all who wait for its list, whether a server still answers after a call of it timed out."""
        probe = self._probes.get(session)
        if probe is None:
            probe = self._probes[session] = asyncio.get_running_loop().create_task(session.is_responsive())
        await asyncio.wait((probe,))
        self._probes.pop(session, None)
        session.call_timed_out.clear()

    async def _read(self, session: Session, what: str) -> Listing | None:
        server = session.spec.name
        key = (server, what)
        TEST.set("")  # this task's own
        try:
            session.is_listing = True
            found = session.lists.get(what)
            if found is None:
                found = await list_all(session, what)
                if _list_changes(session, what) == self._changes[key][1]:
                    session.lists[what] = found
        except ServerError as error:
            self._unread[key] = self._redact(error.message)
            if isinstance(error, ServerDied):
                self._deaths[key] = self._deaths.get(key, 0) + (not session.was_cut_off)
                if self._deaths[key] < MOST_DEATHS and self._listings.get(key) is asyncio.current_task():
                    del self._listings[key]
            return None
        finally:
            session.is_listing = False
        if what == "tools":
            self._listed(server, found)
        if session.spec.validity != "off":
            validity = Validity(session.protocol_version or "", fails=False)
            fault = find_invalidity(f"{what}/list", {"result": {**LIST_RESULT, what: found}}, validity, self._redact)
            if fault is not None:
                self.warnings[f'server "{server}", {what}/list: {fault[0]}'] = None
        listing = self._known[key] = Listing(what, found)
        for name in listing.twice:
            self.warnings[
                f'server "{server}" lists the {_WHAT[what]} "{name}" more than once; the first one counts'
            ] = None
        return listing

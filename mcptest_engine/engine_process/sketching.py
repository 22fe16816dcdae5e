"""Make tests from a connected server: a scaffold, which calls no tool, or a proposal, which calls one tool if that is allowed.

Catalogs are stored by session, so that selecting other tools does not read the server's lists again.
"""

from __future__ import annotations

import asyncio
from dataclasses import fields
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from mcptest_engine.core.secret_names import is_secret_name
from mcptest_engine.core.text import counted
from mcptest_engine.engine_process.protocol import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mcptest_engine.authoring.propose import Proposed
    from mcptest_engine.authoring.targets import Target
    from mcptest_engine.engine_process.browsing import Browsing, Opened
    from mcptest_engine.engine_process.surroundings import Surroundings
    from mcptest_engine.servers.catalog import Catalog
    from mcptest_engine.servers.session import Session
    from mcptest_engine.suite.load import LoadedSuite

LARGEST_SUITE = 4 * 1024 * 1024


class Sketching:
    """Makes scaffolds and proposals from the sessions of `browsing`."""

    def __init__(self, surroundings: Surroundings, browsing: Browsing) -> None:
        self._surroundings, self._browsing = surroundings, browsing
        self._catalogs: WeakKeyDictionary[Session, Catalog] = WeakKeyDictionary()

    async def scaffold(self, key: str, into: str | None, options: Mapping[str, Any]) -> dict[str, Any]:
        """Make the text of a suite that tests this server, or of the suite `into` with these tests added; nothing is written.

        `options` are the fields of `ScaffoldOptions`, and `allow` for the names of tools that a person has allowed. In the
        returned object, `before` is the present text of `into`, "" for a new suite, and `after` the new text.

        Raises: Refused when the server is not connected, its tools cannot be listed, or `into` cannot be read or added to.
        """
        from mcptest_engine.authoring.scaffold import ScaffoldOptions, scaffold_into, scaffold_suite
        from mcptest_engine.safety.execution_policy import ExecutionPolicy
        from mcptest_engine.safety.findings import warning_json

        opened = await self._browsing.opened(key)
        catalog = await self._catalog(opened)
        target, remarks = await asyncio.to_thread(self._target, opened)
        redact = opened.redactor.redact_text
        try:
            known = {field.name for field in fields(ScaffoldOptions)}
            wanted = {
                **options,
                "all": True,
                "tools": None if options.get("tools") is None else tuple(options["tools"]),
                "policy": ExecutionPolicy(declared_only=True, allowed=frozenset(options.get("allow", ()))),
            }
            chosen = ScaffoldOptions(**{name: value for name, value in wanted.items() if name in known})
        except TypeError as wrong:
            raise Refused(f"`options`: {wrong}", kind="protocol") from None
        before = "" if into is None else await asyncio.to_thread(_read, self._surroundings.absolute(into))
        if into is None:
            made = await asyncio.to_thread(scaffold_suite, catalog, target, chosen, redact=redact)
            after = made.suite
        else:
            after, made = await asyncio.to_thread(scaffold_into, before, catalog, target, chosen, redact=redact)
        return {
            "before": before,
            "after": after,
            "tools": [
                {
                    "name": one.name,
                    "tests": one.tests_generated,
                    "class": one.tool_class,
                    "held_back": one.held_back,
                    "guessed": list(one.guessed),
                }
                for one in made.tools
            ],
            "resources": made.resources_scaffolded,
            "prompts": made.prompts_scaffolded,
            "notes": [*remarks, *made.notes],
            "warnings": [warning_json(one) for one in made.warnings],
        }

    async def propose(
        self,
        key: str,
        tool: str,
        arguments: Mapping[str, object],
        suite: str | None,
        server: str | None,
        *,
        confirmed: bool,
    ) -> dict[str, object]:
        """Call a tool, at most twice, and propose a test of it; with `suite` the proposal is stored for the review.

        Raises: Refused; its kind is "policy" for a tool that may only be called when a person has `confirmed` the call.
        """
        from mcptest_engine.authoring.propose import propose
        from mcptest_engine.core.errors import PolicyDenied
        from mcptest_engine.safety.execution_policy import ExecutionPolicy
        from mcptest_engine.servers.gate import Gate

        opened = await self._browsing.opened(key)
        gate = Gate(ExecutionPolicy(execute_destructive=confirmed))
        seconds = opened.session.spec.timeout_seconds
        named = server or (await asyncio.to_thread(self._target, opened))[0].key
        try:
            made = await propose(opened.session, tool, arguments, gate=gate, server_key=named, timeout_seconds=seconds)
        except PolicyDenied as denied:
            raise Refused(denied.message, hint=denied.hint, kind="policy") from None
        answer: dict[str, Any] = {"calls": made.calls_made, "notes": list(made.notes), "name": made.mapping["name"]}
        if suite is not None:
            answer["name"] = await asyncio.to_thread(
                self._store_proposal, made, self._surroundings.absolute(suite), tool, arguments
            )
        return {**answer, "mapping": made.mapping, "left_out": list(made.excluded_volatile)}

    async def _catalog(self, opened: Opened) -> Catalog:
        from mcptest_engine.servers.catalog import read_catalog

        found = self._catalogs.get(opened.session)
        if found is None:
            found = opened.redactor.redact_registered(await read_catalog(opened.session))
            self._catalogs[opened.session] = found
        return found

    def _target(self, opened: Opened) -> tuple[Target, tuple[str, ...]]:
        """The server as a suite would declare it, without secrets, and notes for the person about it."""
        from mcptest_engine.authoring.targets import (
            TARGET,
            Target,
            declared_command,
            declared_url,
            untemplated,
            variable_notes,
            with_free_names,
        )

        description = opened.description
        if "suite" in description:
            return self._declared(description), ()
        settings: dict[str, Any] = {}
        remarks: list[str] = []
        is_url = bool(description.get("url")) and not description.get("command")
        given: Mapping[str, Any] = {} if is_url else description
        if "found" in description:
            from mcptest_engine.engine_process.found import found_settings

            given = found_settings(str(description["found"]), self._surroundings.start_dir, self._surroundings.environ)
        values = {name: str(value) for name, value in (given.get("env") or {}).items()}
        secrets = {name: value for name, value in values.items() if is_secret_name(name)}
        if "found" in description:
            if given.get("command"):
                settings["command"] = declared_command([str(word) for word in given["command"]], secrets)
            if given.get("url"):
                settings["url"] = declared_url(str(given["url"]), secrets)
            settings.update({"cwd": untemplated(given["cwd"])} if "cwd" in given else {})
            if values:
                remarks.append(f"values are taken from where mcptest runs: {', '.join(values)}")
            if given.get("headers"):
                remarks.append(f"headers are not written down: {', '.join(given['headers'])}")
        elif is_url:
            token = description.get("bearer_token_env")
            settings = {
                "url": declared_url(str(description["url"]), secrets),
                **({"auth": {"bearer_token_env": token}} if token else {}),
            }
        else:
            command = description["command"]
            words = (opened.session.spec.command or ()) if isinstance(command, str) else command
            settings = {"command": declared_command([str(word) for word in words], secrets)}
            settings.update({"cwd": untemplated(str(description["cwd"]))} if description.get("cwd") else {})
            if description.get("url"):
                settings["url"] = declared_url(str(description["url"]), secrets)
                settings.update({"ready": description["ready"]} if description.get("ready") else {})
        if values:
            settings["env"] = {name: f"${{{name}}}" for name in values}
        name = str(description.get("name") or TARGET)
        added = {one: value for one, value in secrets.items() if one not in settings.get("env", ())}
        settings, added, notes = with_free_names(settings, added, self._surroundings.environ, name)
        remarks += [*variable_notes(added), *notes]
        return Target(settings=settings, key=name), tuple(remarks)

    def _declared(self, description: Mapping[str, object]) -> Target:
        from mcptest_engine.authoring.targets import declared_in_suite

        suite = self._surroundings.load(self._surroundings.absolute(str(description["suite"])))
        name = str(description.get("server") or next(iter(suite.servers), ""))
        if name not in suite.servers:
            raise Refused(f"the suite no longer has a server `{name}`", kind="gone")
        return declared_in_suite(suite, name)

    def _store_proposal(self, made: Proposed, path: Path, tool: str, arguments: Mapping[str, object]) -> str:
        """Store the proposal for the review; return the name of its test.

        If the suite has a test of this call, the proposal changes the `expect` of that test; otherwise it adds a test.
        """
        import datetime as dt

        from mcptest_engine.authoring.placing import merged_for, same_call, shared_expect
        from mcptest_engine.workspace.proposals import StoredProposal, save_proposal
        from mcptest_engine.workspace.ulid import new_ulid

        workspace, suite = self._surroundings.workspace, self._surroundings.load(path)
        there = same_call(suite, path, tool, arguments, made.mapping["server"])
        if there is None:
            made = made.named(_free_name(made.mapping["name"], suite))
        else:
            text = suite.data.decode("utf-8")
            shared = shared_expect(text, there.index)
            if shared is not None:
                raise Refused(f"line {there.line} of {path.name} tests this call already, and {shared}")
            made = merged_for(text, made, there)
        name = made.mapping["name"] if there is None else there.name
        proposal = StoredProposal(
            id=new_ulid(),
            made_at=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
            source="workbench",
            suite=workspace.relative(path),
            block="tools",
            test_name=name,
            test=made.mapping if there is None else None,
            expect=None if there is None else made.mapping["expect"],
            text=_without_dash(made.test) if there is None else made.expect_text,
            why=f"`{tool}` was called {counted(made.calls_made, 'time')} for this",
            stability=made.stability,
            left_out=made.excluded_volatile,
            notes=made.notes,
        )
        save_proposal(workspace, proposal)
        return str(name)


def _without_dash(block: str) -> str:
    """Remove the dash and the indentation of a list item in YAML."""
    lines = block.rstrip("\n").split("\n")
    indent = len(lines[0]) - len(lines[0].lstrip(" ")) + 2
    return "\n".join(line[indent:] for line in lines) + "\n"


def _free_name(name: str, suite: LoadedSuite) -> str:
    taken = {entry.data.get("name") for entry in suite.tests}
    number, found = 2, name
    while found in taken:
        found, number = f"{name} ({number})", number + 1
    return found


def _read(path: Path) -> str:
    """Read a suite with its line ends and byte order mark. Raises: Refused for a file that is too large or not readable."""
    try:
        if path.stat().st_size > LARGEST_SUITE:
            raise Refused(f"{path.name} is too large to add to")
        return path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as wrong:
        raise Refused(f"{path.name} cannot be read: {getattr(wrong, 'strerror', None) or wrong}") from None

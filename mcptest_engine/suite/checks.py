"""What can be wrong with a suite whose shape is right: names that lead nowhere, tests that assert nothing, and the like.

Everything is told at once, each thing at its own place, and what the structural check refuses anyway is passed over here.
The surprising thing: the manifest of our own mock server is read, because a misspelt tool name is then known before
anything runs.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any, assert_never

from mcptest_engine.core.enums import TestKind
from mcptest_engine.core.errors import did_you_mean
from mcptest_engine.core.lazy_patterns import lazy_pattern
from mcptest_engine.core.text import NAMES_SHOWN, listed, quoted
from mcptest_engine.suite.assertion_checks import AssertionChecks
from mcptest_engine.suite.compliance import HANDSHAKE_REVISIONS, STATELESS_REVISION
from mcptest_engine.suite.items import ASSERT_SET, assertions_in
from mcptest_engine.suite.places import FOCUSED, check_name
from mcptest_engine.suite.secrets import holds_secret
from mcptest_engine.suite.server_checks import Surroundings, check_server, manifest_tools

if TYPE_CHECKING:
    from mcptest_engine.suite.judged_checks import JudgedChecks
    from mcptest_engine.suite.merge import Merged, Placed, PlacedTest
    from mcptest_engine.suite.other_checks import OtherChecks
    from mcptest_engine.suite.places import Places
    from mcptest_engine.suite.score_checks import ScoreChecks
    from mcptest_engine.suite.yaml import Pointer

METHODS_AS_TOOLS = frozenset(
    {
        "completion/complete",
        "logging/setLevel",
        "ping",
        "prompts/list",
        "resources/list",
        "resources/subscribe",
        "resources/templates/list",
        "resources/unsubscribe",
        "server/discover",
        "tools/list",
    }
)
"""Names of `tool:` that stand for the MCP request of that name; `args` are its parameters."""

_ANSWERED = "a server sends that to its client: write the answer under `client:`"
_OTHER_METHODS = {
    "tools/call": "name the tool itself: `tool: NAME`",
    "resources/read": "use an entry of `resources:` with `uri:`",
    "prompts/get": "use an entry of `prompts:` with `prompt:`",
    "initialize": "mcptest sends it when it opens a session; `mcptest capabilities` shows the answer",
    "subscriptions/listen": "mcptest sends it if `client:` has `subscriptions` or `list_changed`",
    "sampling/createMessage": _ANSWERED,
    "elicitation/create": _ANSWERED,
    "roots/list": _ANSWERED,
}
_SUBSCRIBED = "there, `client: { subscriptions: [URI] }` subscribes to changes"
# The requests that not every revision has, and what 2026-07-28 has instead.
_OF_ONE_ERA = {
    "ping": "use `server/discover`, which every server of that revision answers",
    "logging/setLevel": "there, `client: { log_level: … }` requests log messages",
    "resources/subscribe": _SUBSCRIBED,
    "resources/unsubscribe": _SUBSCRIBED,
    "server/discover": "",
}
_LOSSES = {
    "drop_response": "discards the answer",
    "disconnect": "cuts the connection when the answer comes",
}
_SENT = ("args", "meta")
_ERROR_TEXT = lazy_pattern(
    r"^\W*(error|unknown (tool|resource|prompt)|invalid|fail(ed|ure)|cannot|could not|no such|(access|permission) denied"
    r"|unauthori[sz]ed|forbidden|traceback)\b|error executing|validation error|\bnot found\b|-32\d{3}\b",
    re.IGNORECASE,
)


def check_merged(merged: Merged, places: Places, surroundings: Surroundings) -> None:
    """Tell `places` everything that is wrong with the suite as a whole and with each of its parts."""
    if merged.complete:
        _check_presence(merged, places)
    check_name(merged.name, "a suite's name", 0, ("name",), places)
    _check_no_secret(merged.name, "the suite's name", 0, ("name",), places, surroundings.secrets)
    for name, server in merged.servers.items():
        _check_server(name, server, places, surroundings)
    tests = _TestChecks(merged, places, surroundings)
    tests.check_shared()
    if merged.hooks:
        from mcptest_engine.suite.hook_checks import check_hooks  # few suites have one

        check_hooks(merged.hooks, places)
    for name, floor in (merged.coverage or {}).items():
        _check_floor(name, floor, places)
    for test in merged.tests:
        if type(test.entry) is dict:
            tests.check(test)
    tests.finish()


def _check_presence(merged: Merged, places: Places) -> None:
    if not merged.servers and merged.knows_servers and not _needs_no_server(merged):
        path = ("servers",) if places.raw(0, ("servers",)) is not None else ()
        hint = 'declare a server, for example `servers: { api: { command: ["python", "server.py"] } }`'
        places.report(0, path, "the suite declares no server", hint)
    if not merged.tests and merged.knows_tests:
        places.warn(
            0, (), "the suite has no tests", "add an entry under `tools`, `resources`, `prompts` or `compliance`"
        )


def _needs_no_server(merged: Merged) -> bool:
    """Whether nothing is ever called: a suite of compositions whose nodes are all mocked, and of evals that call nothing."""
    return bool(merged.tests) and all(isinstance(test.entry, dict) and _calls_nothing(test) for test in merged.tests)


def _calls_nothing(test: PlacedTest) -> bool:
    if test.kind is TestKind.EVAL:
        call = test.entry.get("call")  # one that names no server is told of by itself
        named = {"server", "servers"} & test.entry.keys() or (isinstance(call, dict) and "server" in call)
        return not named
    nodes = test.entry.get("nodes")
    return (
        test.kind is TestKind.COMPOSITION
        and isinstance(nodes, list)
        and all(isinstance(node, dict) and "mock" in node for node in nodes)
    )


def _check_server(name: str, server: Placed, places: Places, surroundings: Surroundings) -> None:
    check_name(name, "a server's name", server.file, server.path, places)
    if not name.strip():
        places.report(server.file, server.path, "a server needs a name", "tests name it with `server`", key=True)
    if isinstance(server.value, dict):
        check_server(server, places, surroundings)
        if "client" in server.value:
            _check_client(server.value["client"], server.file, (*server.path, "client"), places)


def _check_client(client: object, file: int, path: Pointer, places: Places) -> None:
    from mcptest_engine.suite.other_checks import check_client  # few suites have one

    check_client(client, file, path, places)


def _check_floor(name: str, floor: Placed, places: Places) -> None:
    value = floor.value
    if isinstance(value, float) and 0 < value <= 1:
        meant = f"write `{name}: {value * 100:g}` for {value * 100:g} %"
        places.warn(floor.file, floor.path, f"this floor is only {value:g} %", meant)


def _check_no_secret(
    text: object, whose: str, file: int, path: tuple[str | int, ...], places: Places, secrets: frozenset[str]
) -> None:
    """Names and tags are what `--filter` and `--tag` go by, so they are never masked and must hold nothing to mask."""
    if type(text) is not str or not any(secret in text for secret in secrets):
        return
    if holds_secret(text, secrets, templated=places.raw(file, path) != text):
        hint = "reports show names and tags unchanged: use other words"
        places.report(file, path, f"{whose} contains the value of a secret variable", hint)


class _TestChecks:
    """Checks tests one by one, and then what they have in common with `finish`."""

    def __init__(self, merged: Merged, places: Places, surroundings: Surroundings) -> None:
        self.assertions = AssertionChecks(places)
        self._places, self._surroundings = places, surroundings
        self._servers = merged.servers
        self._knows_servers = bool(merged.servers) and merged.knows_servers and merged.complete
        self._defaults = merged.default_test
        self._has_hooks = bool(merged.hooks)
        self._retries = self._default("retries", merged.run_options.get("retries", 0))
        self._scores: ScoreChecks | None = None
        self._outcome_by_default = self._default("outcome", merged.run_options.get("outcome"))
        self._silent_by_default = (
            _is_silent(self._default("expect", None)) and "defaultTest" not in surroundings.misspelt
        )
        self._others: OtherChecks | None = None
        self._merged = merged
        self._hints: dict[str, str] = {}
        self._mocks: dict[str, frozenset[str] | None] = {}
        self._groups: dict[str, tuple[int, Pointer, int]] = {}

    def _default(self, key: str, otherwise: object) -> Any:
        return self._defaults[key].value if key in self._defaults else otherwise

    def check_shared(self) -> None:
        """Check `defaultTest`, so that a mistake in it is reported once and not for every test."""
        if not self._defaults:
            return
        expect, server, client = (self._defaults.get(key) for key in ("expect", "server", "client"))
        if expect is not None:
            self._check_expect({"expect": expect.value}, expect.file, expect.path[:-1])
        if server is not None:
            self._check_server({"server": server.value}, server.file, server.path[:-1])
        if client is not None:
            _check_client(client.value, client.file, client.path, self._places)
        self._score_checks().check_shared()

    def finish(self) -> None:
        """What is to be said of all tests together."""
        self.assertions.finish()
        for group, (file, path, count) in self._groups.items():
            if count == 1 and self._merged.complete:
                message = f"the group {quoted(group)} has only one test, so it has no effect"
                others = [name for name in self._groups if name != group]
                self._places.warn(
                    file, path, message, did_you_mean(group, others) or "add the other tests to the group"
                )
        for scorer in self._merged.scorers:  # it stands in the names of tests
            name = scorer.value.get("name") if isinstance(scorer.value, dict) else None
            check_name(name, "a scorer's name", scorer.file, (*scorer.path, "name"), self._places)
        if self._merged.scorers or self._merged.judge:
            self._judged.check_graders(self._merged)
        for opinion, file, path in self.assertions.opinions:
            self._judged.check_judge(opinion, file, path)
            self._judged.check_rubric(opinion.get("rubric"), file, (*path, "rubric"))

    @cached_property
    def _judged(self) -> JudgedChecks:
        from mcptest_engine.suite.judged_checks import JudgedChecks  # few suites have anything judged

        return JudgedChecks(
            self._merged,
            self._places,
            environ=self._surroundings.environ,
            check_expectations=self._other_checks().check_expectations,
            check_server=self._check_known,
        )

    def _other_checks(self) -> OtherChecks:
        from mcptest_engine.suite.other_checks import OtherChecks  # few suites have one

        if self._others is None:
            self._others = OtherChecks(self._places, self.assertions)
        return self._others

    def _score_checks(self) -> ScoreChecks:
        if self._scores is None:
            from mcptest_engine.suite.score_checks import ScoreChecks  # few suites use the score model

            knows_names = "name" not in self._surroundings.misspelt
            self._scores = ScoreChecks(self._defaults, self._places, knows_names=knows_names)
        return self._scores

    def check(self, test: PlacedTest) -> None:
        entry: dict[str, Any] = test.entry
        file, path = test.file, test.path
        name = entry.get("name")
        if (type(name) is str and not name.isprintable()) or self._surroundings.secrets:
            self._check_name_and_tags(entry, file, path, "test")
        shares = test.kind.is_request
        left_out = "server" in self._defaults if shares else "servers" in entry or test.kind is TestKind.EVAL
        if test.kind is not TestKind.COMPOSITION:  # each of its nodes has one
            self._check_server(entry, file, path, may_be_left_out=left_out)
        if entry.get("only") is True and self._surroundings.in_ci:
            self._places.report(file, (*path, "only"), *FOCUSED, key=True)
        if type(group := entry.get("group")) is str:
            check_name(group, "a group's name", file, (*path, "group"), self._places)
            place = self._groups.get(group, (file, (*path, "group"), 0))
            self._groups[group] = (*place[:2], place[2] + (2 if len(entry.get("cases") or ()) > 1 else 1))
        if "fresh" in entry:
            self._check_fresh(entry, file, path)
        if "cache" in entry or "effects" in entry:
            self._check_cache(test)
        if not shares:
            self._check_other(test)
            return
        silent = self._check_expect(entry, file, path) and self._silent_by_default
        if self._uses_scores(entry):
            self._score_checks().check(entry, file, path)
        self._check_outcome(entry, file, path)
        fault = entry.get("fault")
        lost = (type(fault) is str and fault not in _LOSSES) or (
            fault is not None and self._check_fault(entry, silent, file, path)
        )
        if silent and not lost and not entry.get("verify") and not {"outcome", "threshold"} & entry.keys():
            message = "the test has no assertion: it passes if the server answers without an error"
            self._places.warn(file, path, message, "add `expect:` with at least one assertion")
        if test.kind is TestKind.TOOL:
            self._check_tool(entry, self._server_of(entry), file, path)
        if ("args" in entry or "meta" in entry) and self._places.has_templates(file):
            self._check_data(entry, file, path)
        self._check_parts(entry, file, path)

    def _check_parts(self, entry: dict[str, Any], file: int, path: Pointer) -> None:
        """Check the keys that only few tests have."""
        if "client" in entry:
            _check_client(entry["client"], file, (*path, "client"), self._places)
        if "verify" in entry:
            self._check_steps(entry, file, path)
        if type(entry.get("cases")) is list:
            from mcptest_engine.suite.case_checks import CaseChecks

            CaseChecks(self._places, in_ci=self._surroundings.in_ci).check_request(
                entry, file, path, self._check_expect
            )

    def _check_fresh(self, entry: dict[str, Any], file: int, path: Pointer) -> None:
        """A process of its own for a group that is not named, or of a server that somebody else starts."""
        if entry.get("fresh") == "group" and "group" not in entry:
            hint = "add `group: NAME`, or write `fresh: true`"
            self._places.report(file, (*path, "fresh"), "`fresh: group` on a test that is in no group", hint)
        elif (
            entry.get("fresh")
            and "url" in (server := self._settings(self._server_of(entry)) or {})
            and "command" not in server
        ):
            told = "`fresh` has no effect: mcptest does not start this server"
            self._places.warn(file, (*path, "fresh"), told, "remove it, or give the server a `command`", key=True)

    def _check_outcome(self, entry: dict[str, Any], file: int, path: Pointer) -> None:
        """A test that looks for what reads like the text of an error, and does not say that it expects one."""
        if entry.get("guess") and entry.get("outcome") == "any":
            message = (
                "`outcome: any` has no effect beside `guess`: a test with made-up arguments never passes on an error"
            )
            self._places.warn(
                file, (*path, "outcome"), message, "write `error` if they must be refused, or remove `guess`"
            )
        if "outcome" in entry or self._outcome_by_default is not None:
            return
        first = None
        for place, assertion in assertions_in(entry.get("expect"), (*path, "expect")):
            target, matcher = assertion.get("target"), assertion.get("matcher")
            if type(target) is not str or target.lstrip(".").startswith("error") or "isError" in target:
                return
            if first is None and target.lstrip(".").startswith("result.content") and type(matcher) is dict:
                texts = (value for value in matcher.values() if type(value) is str)
                first = place if any(map(_ERROR_TEXT.search, texts)) else None
        if first is not None:
            message = "this looks like the text of an error, but the test passes only if its call succeeds"
            hint = "write `outcome: error` if the call must fail, or `outcome: success` if it is the text of a success"
            self._places.warn(file, (*first, "matcher"), message, hint)

    def _check_cache(self, test: PlacedTest) -> None:
        from mcptest_engine.suite.other_checks import check_cache  # few tests say anything of it

        settings = self._settings(self._server_of(test.entry))
        check_cache(test, settings, hooks=self._has_hooks, places=self._places)

    def _check_other(self, test: PlacedTest) -> None:
        """A test that is no call of a tool, resource or prompt."""
        match test.kind:
            case TestKind.COMPOSITION:
                from mcptest_engine.suite.composition_checks import CompositionChecks

                checks = CompositionChecks(
                    self._places,
                    self.assertions,
                    self._check_server,
                    self._other_checks().check_expectations,
                    self._judged.check_metrics,
                    in_ci=self._surroundings.in_ci,
                )
                checks.check(test)
            case TestKind.COMPLIANCE:
                self._other_checks().check_compliance(test, self._settings(test.entry.get("server")))
            case TestKind.AGENT:
                self._judged.check_agent(test)
            case TestKind.EVAL:
                self._judged.check_eval(test)
            case TestKind.TOOL | TestKind.RESOURCE | TestKind.PROMPT:
                raise AssertionError("`check` looks at requests")
            case _:
                assert_never(test.kind)

    def _server_of(self, entry: dict[str, Any]) -> Any:
        return entry.get("server", self._default("server", None))

    def _uses_scores(self, entry: dict[str, Any]) -> bool:
        if self._scores is not None or "threshold" in entry or "derivedMetrics" in entry:
            return True
        expect = entry.get("expect")
        items = expect.get("assertions") if isinstance(expect, dict) else expect
        return isinstance(items, list) and any(type(item) is dict and ASSERT_SET in item for item in items)

    def _check_name_and_tags(self, entry: dict[str, Any], file: int, path: Pointer, noun: str) -> None:
        """Names and tags are printed and selected by."""
        name = entry.get("name")
        if type(name) is str and not name.isprintable():
            check_name(name, f"a {noun}'s name", file, (*path, "name"), self._places)
        secrets = self._surroundings.secrets
        if secrets:
            _check_no_secret(name, f"the {noun}'s name", file, (*path, "name"), self._places, secrets)
            tags = entry.get("tags")
            for index, tag in enumerate(tags if isinstance(tags, list) else ()):
                _check_no_secret(tag, "the tag", file, (*path, "tags", index), self._places, secrets)

    def _check_data(self, entry: dict[str, Any], file: int, path: Pointer) -> None:
        """What is sent unchanged, its templates replaced."""
        for key in _SENT:
            if type(value := entry.get(key)) is dict:
                self._check_keys(value, file, (*path, key))

    def _check_keys(self, value: object, file: int, path: Pointer) -> None:
        """A template is replaced in values only."""
        if isinstance(value, list):
            for index, item in enumerate(value):
                self._check_keys(item, file, (*path, index))
        for key, item in value.items() if isinstance(value, dict) else ():
            if "${" in key:
                message = f"templates are replaced in values, not in keys: {quoted(key)} is sent unchanged"
                self._places.warn(file, (*path, key), message, key=True)
            if isinstance(item, dict | list):
                self._check_keys(item, file, (*path, key))

    def _check_server(self, entry: dict[str, Any], file: int, path: Pointer, *, may_be_left_out: bool = False) -> None:
        server = entry.get("server")
        if type(server) is str:
            self._check_known(server, file, (*path, "server"))
        elif "server" not in entry and not may_be_left_out and len(self._servers) > 1 and self._knows_servers:
            noun = "node" if "nodes" in path else "test"
            message = f"the {noun} names no server, and the suite declares {len(self._servers)}"
            self._places.report(file, path, message, f"add `server:` with one of {listed(self._servers, NAMES_SHOWN)}")

    def _check_known(self, server: object, file: int, path: Pointer) -> None:
        if type(server) is str and server not in self._servers and self._knows_servers:
            self._places.report(file, path, f"unknown server {quoted(server)}", self._server_hint(server))

    def _server_hint(self, server: str) -> str:
        if server not in self._hints:
            near = did_you_mean(server, self._servers)
            self._hints[server] = near or f"declared: {listed(self._servers, NAMES_SHOWN)}"
        return self._hints[server]

    def _check_expect(self, entry: dict[str, Any], file: int, path: Pointer) -> bool:
        """Check what is expected; gives whether that is nothing."""
        expect = entry.get("expect")
        if type(expect) is list:
            self.assertions.check(expect, file, (*path, "expect"))
        elif type(expect) is dict and type(assertions := expect.get("assertions")) is list:
            self.assertions.check(assertions, file, (*path, "expect", "assertions"))
        return "expect" not in entry or (expect is not None and _is_silent(expect))

    def _check_fault(self, entry: dict[str, Any], silent: bool, file: int, path: Pointer) -> bool:
        """A call whose answer is lost is judged when it is made again, or by what it left behind.

        Tells, and gives True, where neither is so; `silent` says that the test expects nothing of the answer itself.
        """
        loss = _LOSSES.get(fault) if isinstance(fault := entry["fault"], str) else None
        retries = entry.get("retries", self._retries)
        if loss is None or type(retries) is not int or retries > 0:
            return False
        again = "write `retries: 1`" if "retries" in entry else "add `retries: 1`"
        if not silent:
            message = f"`fault: {fault}` {loss}, so there is nothing for `expect` to check"
            hint = f"{again}, so that the call is made again and checked, or move it into a step under `verify:`"
            self._places.report(file, (*path, "expect"), message, hint, key=True)
        elif not entry.get("verify"):
            message = f"`fault: {fault}` {loss}, and no step checks what the call changed"
            hint = f"add `verify:` with a call that checks it, or {again}, so that the call is made again"
            self._places.report(file, (*path, "fault"), message, hint, key=True)
        else:
            return False
        return True

    def _check_steps(self, entry: dict[str, Any], file: int, path: Pointer) -> None:
        steps = entry["verify"]
        for index, step in enumerate(steps if isinstance(steps, list) else ()):
            if isinstance(step, dict):
                self._check_step(step, self._server_of(entry), file, (*path, "verify", index))

    def _check_step(self, step: dict[str, Any], server: object, file: int, path: Pointer) -> None:
        self._check_name_and_tags(step, file, path, "step")
        self._check_server(step, file, path, may_be_left_out=True)
        self._check_outcome(step, file, path)
        if self._check_expect(step, file, path) and "outcome" not in step:
            message = "the step has no assertion: it passes if the server answers without an error"
            self._places.warn(file, path, message, "add `expect:` with at least one assertion")
        if "tool" in step:
            self._check_tool(step, step.get("server", server), file, path)
        elif "args" in step:
            self._check_step_args(step, file, path)
        self._check_data(step, file, path)

    def _check_step_args(self, step: dict[str, Any], file: int, path: Pointer) -> None:
        args = step["args"]
        if "uri" in step:
            message = "`args` has no effect on a step with `uri`; it goes with `tool` or `prompt`"
            self._places.report(file, (*path, "args"), message, "remove it", key=True)
        for name, value in args.items() if "prompt" in step and isinstance(args, dict) else ():
            if not isinstance(value, str):
                from mcptest_engine.suite.problem_messages import found

                message = f"the arguments of a prompt must be text, found {found(value)}"
                self._places.report(file, (*path, "args", name), message, "quote it to make it text")

    def _check_tool(self, entry: dict[str, Any], server: object, file: int, path: Pointer) -> None:
        tool = entry.get("tool")
        if type(tool) is not str:
            return
        if tool in METHODS_AS_TOOLS:
            if tool in _OF_ONE_ERA and not self._expects_an_error(entry):
                self._check_era(tool, server, file, (*path, "tool"))
            return
        if tool in _OTHER_METHODS:
            message = f"{quoted(tool)} is called as a tool with that name, not as the request"
            self._places.warn(file, (*path, "tool"), message, _OTHER_METHODS[tool])
            return
        tools = self._mock_tools(server)
        if tools is not None and tool not in tools and not self._expects_an_error(entry):
            hint = (
                did_you_mean(tool, tools) or f"it has {listed(sorted(tools), NAMES_SHOWN)}"
                if tools
                else "its manifest has no tools"
            )
            message = f"the mock server has no tool {quoted(tool)}"
            self._places.warn(file, (*path, "tool"), message, hint)

    def _expects_an_error(self, entry: dict[str, Any]) -> bool:
        """Whether a test is about a call that fails: an unknown tool may be just its point."""
        outcome = entry.get("outcome", self._outcome_by_default)
        return outcome in ("error", "any") or _asserts_an_error(entry.get("expect"))

    def _check_era(self, method: str, server: object, file: int, path: Pointer) -> None:
        """Each era of the protocol has requests that the other has not."""
        settings = self._settings(server)
        if settings is None:
            return
        protocol = settings.get("protocol")
        if method == "server/discover":
            if protocol is None or protocol in HANDSHAKE_REVISIONS:
                message = (
                    f"{quoted(method)} exists only in revision {STATELESS_REVISION}, which this server is not offered"
                )
                hint = f'give the server `protocol: "{STATELESS_REVISION}"` or `protocol: auto`'
                self._places.warn(file, path, message, hint)
        elif protocol == STATELESS_REVISION:
            message = f"revision {STATELESS_REVISION} has no request {quoted(method)}"
            self._places.warn(file, path, message, _OF_ONE_ERA[method])

    def _settings(self, server: object) -> dict[str, Any] | None:
        """The server of that name, or the only one there is; None where it is not known."""
        if server is None and len(self._servers) == 1:
            server = next(iter(self._servers))
        if type(server) is not str or server not in self._servers:
            return None
        settings = self._servers[server].value
        return settings if isinstance(settings, dict) else None

    def _mock_tools(self, server: object) -> frozenset[str] | None:
        """The tools of a server that is our mock with a readable manifest; None for any other."""
        key = server if type(server) is str else ""
        if key not in self._mocks:
            settings = self._settings(server)
            command = None if settings is None else settings.get("command")
            tools = None
            if isinstance(command, list) and "mock" in command:
                tools = manifest_tools(settings, self._surroundings)
            self._mocks[key] = tools
        return self._mocks[key]


def _is_silent(expect: object) -> bool:
    """Whether nothing is expected; what has the wrong shape is not silent, only wrong."""
    if isinstance(expect, dict):
        return not expect.get("assertions") and expect.keys() <= {"assertions"}
    return expect is None or expect == []


def _asserts_an_error(expect: object) -> bool:
    assertions = expect.get("assertions") if isinstance(expect, dict) else expect
    for assertion in assertions if isinstance(assertions, list) else ():
        if not isinstance(assertion, dict):
            continue
        inner = assertion.get(ASSERT_SET)
        if isinstance(inner, dict) and _asserts_an_error(inner):
            return True
        target, matcher = assertion.get("target"), assertion.get("matcher")
        if target == "result.isError" and matcher == {"exact": True}:
            return True
        about_error = isinstance(target, str) and (target == "error" or target.startswith("error."))
        if about_error and matcher not in ({"exact": None}, {"exists": False}):
            return True
    return False

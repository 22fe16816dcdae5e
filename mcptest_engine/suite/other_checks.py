"""What can be wrong, although its shape is right, with what few suites have: `compliance`, `client`, `cache` and `effects`.

`defaultTest` does not hold for checks of `compliance`, agents, evals and compositions, so what they expect is all there is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest_engine.core.enums import TestKind
from mcptest_engine.core.errors import did_you_mean
from mcptest_engine.core.targets import COMPLIANCE_ROOTS
from mcptest_engine.core.text import quoted
from mcptest_engine.suite.compliance import (
    CHECKS,
    HANDSHAKE_REVISIONS,
    REVISIONS,
    SPEC_VERSIONS,
    STATELESS_REVISION,
    has_request,
    revision_of,
)
from mcptest_engine.suite.items import ASSERT_SET
from mcptest_engine.suite.merge import PIN
from mcptest_engine.suite.score_checks import ScoreChecks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcptest_engine.suite.assertion_checks import AssertionChecks
    from mcptest_engine.suite.merge import PlacedTest
    from mcptest_engine.suite.places import Places
    from mcptest_engine.suite.yaml import Pointer


EXTERNAL = "external"
_MORE_THAN_ONE_ANSWER = ("fault", "verify", "client")
_BESIDE_THE_ANSWER = ("notifications", "server_requests")


class OtherChecks:
    """Checks of such entries; problems in their assertions are reported when `assertions` is finished."""

    def __init__(self, places: Places, assertions: AssertionChecks) -> None:
        self._places = places
        self._assertions = assertions
        self._scores = ScoreChecks({}, places)

    def check_compliance(self, test: PlacedTest, server: Mapping[str, object] | None) -> None:
        """`server` is what the suite says of the entry's server, None where that is not known."""
        entry, file, path = test.entry, test.file, test.path
        self.check_expectations(entry, COMPLIANCE_ROOTS, file, path)
        check, pin = entry.get("check"), entry.get(PIN)
        if check not in CHECKS or (pin is not None and pin not in SPEC_VERSIONS):
            return  # the structural check tells
        revision = revision_of(pin) if pin is not None else None if server is None else server.get("protocol")
        if revision in REVISIONS and not has_request(revision, check):
            hint = "use `server/discover`, which every server of that revision answers"
            if revision in HANDSHAKE_REVISIONS:
                hint = "use `initialize`, which opens a session there"
            message = f"revision {revision} has no request {quoted(check)}"
            self._places.report(file, (*path, "check"), message, hint)
        elif revision is None and server is not None and not has_request(HANDSHAKE_REVISIONS[-1], check):
            message = f"{quoted(check)} exists only in revision {STATELESS_REVISION}, which this server is not offered"
            self._places.warn(file, (*path, "check"), message, f'add `{PIN}: "{STATELESS_REVISION}"`')

    def check_expectations(self, entry: Mapping[str, object], roots: tuple[str, ...], file: int, path: Pointer) -> None:
        """What an entry expects; `roots` is what its targets may start with."""
        expect, path = entry.get("expect"), (*path, "expect")
        items, below = expect, path
        if isinstance(expect, dict):
            items, below = expect.get("assertions"), (*path, "assertions")
        if not isinstance(items, list):
            return
        self._assertions.check(items, file, below, roots)
        if any(isinstance(item, dict) and ASSERT_SET in item for item in items):
            self._scores.check({"expect": expect}, file, path[:-1])


def check_client(client: object, file: int, path: Pointer, places: Places) -> None:
    """Tell `places` what is wrong with the client of a server or test; `path` leads to it in the file."""
    if not isinstance(client, dict):
        return
    roots = client.get("roots")
    for index, root in enumerate(roots if isinstance(roots, list) else ()):
        if isinstance(root, dict):
            _check_root(root.get("uri"), file, (*path, "roots", index, "uri"), places)
        else:
            _check_root(root, file, (*path, "roots", index), places)
    for answer, place in _answers(client.get("sampling"), (*path, "sampling")):
        _check_beside_error(answer, ("model", "role", "stopReason"), file, place, places)
    for answer, place in _answers(client.get("elicitation"), (*path, "elicitation")):
        _check_beside_error(answer, ("content",), file, place, places)
        if "content" in answer and answer.get("action") in ("decline", "cancel"):
            message = f"the specification allows `content` with `accept` only, not with `{answer['action']}`"
            places.warn(file, (*place, "content"), message, "remove it, or keep it: it is sent unchanged", key=True)


def _check_root(uri: object, file: int, path: Pointer, places: Places) -> None:
    """Source: MCP 2025-11-25, client/roots: a root's `uri` is a `file://` URI."""
    if isinstance(uri, str) and uri and not uri.lower().startswith("file://"):
        hint = f"write `file://{uri}`" if uri.startswith("/") else "write a URI such as `file:///data`"
        places.warn(file, path, f"the specification requires a `file://` URI for a root, found {quoted(uri)}", hint)


def _answers(answers: object, path: Pointer) -> Iterator[tuple[dict[str, Any], Pointer]]:
    """The answers that are mappings, one alone or the items of a list."""
    if isinstance(answers, dict):
        yield answers, path
    for index, answer in enumerate(answers if isinstance(answers, list) else ()):
        if isinstance(answer, dict):
            yield answer, (*path, index)


def _check_beside_error(
    answer: dict[str, Any], keys: tuple[str, ...], file: int, path: Pointer, places: Places
) -> None:
    for key in keys if "error" in answer else ():
        if key in answer:
            message = f"`{key}` has no effect beside `error`: the server gets only the error"
            places.report(file, (*path, key), message, "remove one of the two", key=True)


def check_cache(test: PlacedTest, server: Mapping[str, object] | None, *, hooks: bool, places: Places) -> None:
    """Tell of a `cache: always` that cannot be, and of a misspelt effect. `server` is None where it is not known."""
    entry = test.entry
    effects = entry.get("effects")
    for index, effect in enumerate(effects if isinstance(effects, list) else ()):
        if isinstance(effect, str) and effect != EXTERNAL and (near := did_you_mean(effect, (EXTERNAL,))):
            message = f"{quoted(effect)} is not a known effect and does not prevent caching"
            places.warn(test.file, (*test.path, "effects", index), message, near)
    if entry.get("cache") != "always":
        return
    for why in _reasons_against_caching(test, server, hooks=hooks):
        message = f"`cache: always` has no effect: {why}"
        places.warn(test.file, (*test.path, "cache"), message, "remove `cache`, or remove what prevents caching")
        return


def _reasons_against_caching(test: PlacedTest, server: Mapping[str, object] | None, *, hooks: bool) -> Iterator[str]:
    entry = test.entry
    effects = entry.get("effects")
    if hooks:
        yield "nothing is cached in a suite with `hooks`"
    if isinstance(effects, list) and EXTERNAL in effects:
        yield f"a test with `effects: [{EXTERNAL}]` is never cached"
    for key in _MORE_THAN_ONE_ANSWER:
        if key in entry:
            yield f"a test with `{key}` is never cached"
    for target in _targets_in(entry.get("expect")):
        if target.startswith(_BESIDE_THE_ANSWER):
            yield f"a test that checks {quoted(target)} is never cached"
    over_http = server is not None and "url" in server and "server_version" not in server
    if over_http and test.kind is not TestKind.COMPLIANCE:
        yield "a test of a server with `url` and without `server_version` is never cached"


def _targets_in(expect: object) -> Iterator[str]:
    """What a test looks at, as far as its `expect`, which may be of any shape, says so."""
    items = expect.get("assertions") if isinstance(expect, dict) else expect
    for item in items if isinstance(items, list) else ():
        if not isinstance(item, dict):
            continue
        if isinstance(item.get(ASSERT_SET), dict):
            yield from _targets_in(item[ASSERT_SET])
        if isinstance(target := item.get("target"), str):
            yield target

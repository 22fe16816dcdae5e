"""What can be wrong with an entry of `compliance` although its shape is right, and with what any other kind expects.

`defaultTest` does not hold for them, so what they say is all there is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest_engine.core.words import quoted
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
from mcptest_engine.suite.target_roots import COMPLIANCE_ROOTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest_engine.suite.assertion_checks import AssertionChecks
    from mcptest_engine.suite.merge import PlacedTest
    from mcptest_engine.suite.places import Places
    from mcptest_engine.suite.yaml import Pointer


class OtherChecks:
    """Checks of such entries; what their assertions hold is told when `assertions` is finished."""

    def __init__(self, places: Places, assertions: AssertionChecks) -> None:
        self._places = places
        self._assertions = assertions
        self._scores = ScoreChecks({}, places)

    def check_compliance(self, test: PlacedTest, server: Mapping[str, Any] | None) -> None:
        """`server` is what the suite says of the entry's server, None where that is not known."""
        entry, file, path = test.entry, test.file, test.path
        self.check_expectations(entry, COMPLIANCE_ROOTS, file, path)
        check, pin = entry.get("check"), entry.get(PIN)
        if check not in CHECKS or (pin is not None and pin not in SPEC_VERSIONS):
            return  # the structural check tells
        revision = revision_of(pin) if pin is not None else None if server is None else server.get("protocol")
        if revision in REVISIONS and not has_request(revision, check):
            self._tell_no_request(check, revision, file, (*path, "check"))
        elif revision is None and server is not None and not has_request(HANDSHAKE_REVISIONS[-1], check):
            message = f"{quoted(check)} is a request of {STATELESS_REVISION}, which this server is not offered"
            self._places.warn(file, (*path, "check"), message, f'add `{PIN}: "{STATELESS_REVISION}"`')

    def _tell_no_request(self, check: str, revision: str, file: int, path: Pointer) -> None:
        hint = "use `server/discover`: it opens a session there, and every server answers it"
        if revision in HANDSHAKE_REVISIONS:
            hint = "use `initialize`, which opens a session there"
        self._places.tell(file, path, f"revision {revision} has no request {quoted(check)}", hint)

    def check_expectations(self, entry: Mapping[str, Any], roots: tuple[str, ...], file: int, path: Pointer) -> None:
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

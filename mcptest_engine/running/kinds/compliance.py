"""How a check of `compliance` is run: its answer, and the rules that the specification has for it.

The answer of a session's opening has come before any test asks for it, so a check of `initialize` or `server/discover` sends
nothing. Its own assertions come before the rules, and keep the numbers that they have in the suite.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.judging.conformance import assertions_for
from mcptest_engine.servers.calls import Exchange
from mcptest_engine.suite.compliance import OPENINGS, STATELESS_REVISION, has_request

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest_engine.running.cases import Case, Check
    from mcptest_engine.servers.session import Session


class OpenedSession(NamedTuple):
    """What a check looks at of the session over which it was answered."""

    protocol_version: str | None
    capabilities: Mapping[str, Any]
    server_info: Mapping[str, Any] | None


def find_exchange_at_hand(check: Check, method: str, session: Session) -> Exchange | None:
    """Return the exchange that a check judges without sending anything; None where its request is to be sent.

    It has an empty answer where the revision that the session speaks has no such request: there is nothing to ask.
    """
    spoken = STATELESS_REVISION if session.stateless else session.protocol_version
    if spoken is not None and not has_request(spoken, check.name):
        return Exchange(method=method, params=None, answer={}, duration_ms=0.0)
    return session.handshake if check.name in OPENINGS else None


def add_protocol_rules(case: Case, check: Check, envelope: dict[str, Any], session: Session | OpenedSession) -> Case:
    """Return the same case with the rules among what it expects; the envelope gets `session`, which they look at as well."""
    envelope["session"] = {
        "protocol_version": session.protocol_version,
        "capabilities": session.capabilities,
        "server_info": session.server_info,
    }
    sent = "result" in envelope or envelope["error"] is not None
    rules = assertions_for(check.name, envelope, pin=check.pin, sent=sent)
    own = case.expect["assertions"] if sent else ()
    return case._replace(expect={**case.expect, "assertions": [*own, *rules]})

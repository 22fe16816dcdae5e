"""A check of `compliance`: its answer, and the rules that the specification has for it.

The answer of a session's opening has come before any test asks for it, so a check of `initialize` or `server/discover` sends
nothing. Its own assertions come before the rules, and keep the numbers that they have in the suite.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from mcptest_engine.judging.conformance import assertions_for
from mcptest_engine.servers.session import Exchange
from mcptest_engine.suite.compliance import OPENINGS, STATELESS_REVISION, has_request

if TYPE_CHECKING:
    from mcptest_engine.running.caching import Opened
    from mcptest_engine.running.cases import Asked, Case
    from mcptest_engine.servers.session import Session


def exchange_at_hand(asked: Asked, session: Session) -> Exchange | None:
    """The exchange that a check judges without sending anything; None where its request is to be sent.

    It has an empty answer where the revision that the session speaks has no such request: there is nothing to ask.
    """
    assert asked.check is not None
    spoken = STATELESS_REVISION if session.stateless else session.protocol_version
    if spoken is not None and not has_request(spoken, asked.check):
        return Exchange(method=asked.method, params=None, answer={}, duration_ms=0.0)
    return session.handshake if asked.check in OPENINGS else None


def held_to_rules(asked: Asked, envelope: dict[str, Any], session: Session | Opened) -> Asked:
    """The same check with the rules among what it expects; the envelope gets `session`, which they look at as well."""
    check = asked.check
    assert check is not None
    envelope["session"] = {
        "protocol_version": session.protocol_version,
        "capabilities": session.capabilities,
        "server_info": session.server_info,
    }
    sent = "result" in envelope or envelope["error"] is not None
    rules = assertions_for(check, envelope, pin=asked.pin, sent=sent)
    own = asked.expect["assertions"] if sent else ()
    return cast("Case", asked)._replace(expect={**asked.expect, "assertions": [*own, *rules]})

"""How a session is opened, in the handshake lifecycle or the stateless one.

The handshake revisions begin with `initialize`; the stateless one (2026-07-28) begins with `server/discover`, and every request
names its client and its revision. With `auto`, a server that starts slowly looks like one that ignores the probe. So after a
short while `initialize` is sent as well, and the first good answer to one of them decides.
Source: MCP 2025-11-25, basic/lifecycle; MCP 2026-07-28, server/discover.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

import mcptest_engine
from mcptest_engine.core.errors import AuthFailed, ServerDidNotStart, ServerDied
from mcptest_engine.servers.failures import CallFailed
from mcptest_engine.servers.wire import DEFAULT_REVISION, HANDSHAKE_REVISIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcptest_engine.core.json_types import JsonDict, JsonMapping
    from mcptest_engine.servers.calls import Exchange, OpenSession

STATELESS_REVISIONS = ("2026-07-28",)
NEWEST_STATELESS = STATELESS_REVISIONS[-1]
PROBE_SECONDS = 1.0
"""How long `auto` waits for the answer to `server/discover` before it sends `initialize` as well."""

_META = "io.modelcontextprotocol/"


class ProbeFatal(Exception):
    """The server ended when it received `server/discover`: open it again without the probe."""


class Opened(NamedTuple):
    """What the server's answer says about the server, as sent; None for wrong types."""

    exchange: Exchange
    server_info: JsonDict | None
    protocol_version: str | None
    capabilities: JsonDict
    instructions: str | None
    stateless: bool = False


async def open_session(session: OpenSession) -> Opened:
    """Open a session over an open transport, as `session.spec.protocol` asks for.

    Raises: CallFailed, AuthFailed; ProbeFatal when only the probe of `auto` failed.
    """
    revision, seconds = session.spec.protocol, session.spec.connect_timeout_seconds
    if revision == "auto":
        return await _probe(session, seconds)
    if revision in STATELESS_REVISIONS:
        return _discovered(session, await _discover(session, revision, seconds), revision)
    exchange = await _initialize(session, revision or DEFAULT_REVISION, seconds)
    if revision is None and NEWEST_STATELESS in _supported(exchange.answer.get("error")):  # it has no other revision
        found = await _discover(session, NEWEST_STATELESS, seconds)
        if "result" in found.answer:
            session.remarks.add(f'refused `initialize`; mcptest uses the stateless revision "{NEWEST_STATELESS}"')
            return _discovered(session, found, NEWEST_STATELESS)
    return _opened_by_handshake(session, exchange)


def request_meta(client: JsonMapping, revision: str) -> JsonDict:
    """The `_meta` of every request in the stateless lifecycle. Source: MCP 2026-07-28, basic, per-request protocol fields."""
    meta = {
        f"{_META}protocolVersion": revision,
        f"{_META}clientInfo": _client_info(),
        f"{_META}clientCapabilities": declared_capabilities(client),
    }
    if client.get("log_level") is not None:
        meta[f"{_META}logLevel"] = client["log_level"]
    return meta


def declared_capabilities(client: JsonMapping) -> JsonDict:
    """The capabilities that the suite's `client:` declares; its `capabilities` are used as written."""
    declared: JsonDict = {key: {} for key in ("sampling", "elicitation", "roots") if key in client}
    return {**declared, **client.get("capabilities", {})}


def _client_info() -> dict[str, str]:
    return {"name": "mcptest", "version": mcptest_engine.__version__}


async def _initialize(session: OpenSession, offer: str, seconds: float) -> Exchange:
    session.offering(offer, stateless=False)
    capabilities = declared_capabilities(session.spec.client)
    params = {"protocolVersion": offer, "capabilities": capabilities, "clientInfo": _client_info()}
    return await session.send_request("initialize", params, seconds)


async def _discover(session: OpenSession, revision: str, seconds: float) -> Exchange:
    session.offering(revision, stateless=True)
    params = {"_meta": request_meta(session.spec.client, revision)}
    exchange = await session.send_request("server/discover", params, seconds)
    if revision in _supported(exchange.answer.get("error")):
        session.remarks.add(f'refused the protocol version "{revision}" although it offers it, so mcptest asked again')
        exchange = await session.send_request("server/discover", params, seconds)
    return exchange


async def _probe(session: OpenSession, seconds: float) -> Opened:
    """Send `server/discover`, and `initialize` where that fails."""
    from mcptest_engine.core.tasks import retrieve_exception

    probe = asyncio.ensure_future(_discover(session, NEWEST_STATELESS, seconds))
    hello: asyncio.Task[Exchange] | None = None
    try:
        pending: set[asyncio.Task[Exchange]]
        done, pending = await asyncio.wait({probe}, timeout=min(PROBE_SECONDS, seconds))
        if done and _speaks_stateless(session, probe):
            return _discovered(session, probe.result(), NEWEST_STATELESS)
        hello = asyncio.ensure_future(_initialize(session, DEFAULT_REVISION, seconds))
        pending.add(hello)
        while pending:
            done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            if probe in done and _speaks_stateless(session, probe):
                session.offering(NEWEST_STATELESS, stateless=True)
                return _discovered(session, probe.result(), NEWEST_STATELESS)
            if hello in done and "result" in _answer_of(hello):
                break
        if session.spec.command is not None and _is_death(hello.exception()):
            raise ProbeFatal  # it answered the probe with an error and ended
        return _opened_by_handshake(session, hello.result())
    finally:
        for task in (probe, hello):
            if task is not None:
                task.cancel()
                task.add_done_callback(retrieve_exception)


def _answer_of(task: asyncio.Task[Exchange]) -> Mapping[str, object]:
    return {} if task.cancelled() or task.exception() is not None else task.result().answer


def _speaks_stateless(session: OpenSession, probe: asyncio.Task[Exchange]) -> bool:
    """Whether the answer to the probe offers the stateless revision. Any other answer but a refusal leads to `initialize`."""
    failed = probe.exception()
    if isinstance(failed, AuthFailed):
        raise failed
    if failed is not None and _is_death(failed):
        raise ProbeFatal if session.spec.command is not None else failed
    if failed is not None:
        return False
    result = probe.result().answer.get("result") or {}
    versions = result.get("supportedVersions")
    return isinstance(versions, list) and NEWEST_STATELESS in versions


def _is_death(failed: BaseException | None) -> bool:
    return isinstance(failed, CallFailed) and failed.error is ServerDied and failed.ending is not None


def _supported(error: object) -> list[str]:
    data = error.get("data") if isinstance(error, dict) else None
    supported = data.get("supported") if isinstance(data, dict) else None
    return [version for version in supported if isinstance(version, str)] if isinstance(supported, list) else []


def _opened_by_handshake(session: OpenSession, exchange: Exchange) -> Opened:
    if "error" in exchange.answer:
        raise _refused_opening("initialize", exchange.answer["error"], session.spec.redact)
    result = exchange.answer["result"]
    version = result.get("protocolVersion")
    opened = _opened(exchange, result.get("serverInfo"), version)
    # A revision unknown to mcptest causes a remark and no refusal: the suite judges the answers.
    if opened.protocol_version is None:
        fault = "without a `protocolVersion`" if version is None else "with a `protocolVersion` that is not a text"
        session.remarks.add(f"answered `initialize` {fault}")
    elif version not in HANDSHAKE_REVISIONS:
        session.remarks.add(
            f'answered `initialize` with the protocol version "{version}", which mcptest does not support, so that its '
            "results are not checked against the protocol"
        )
    return opened


def _discovered(session: OpenSession, exchange: Exchange, revision: str) -> Opened:
    if "error" in exchange.answer:
        raise _refused_opening("server/discover", exchange.answer["error"], session.spec.redact)
    result = exchange.answer["result"]
    versions = result.get("supportedVersions")
    if not isinstance(versions, list) or revision not in versions:
        listed = ", ".join(f"`{version}`" for version in versions[:10]) if isinstance(versions, list) else "no list"
        clause = f"does not support {revision}: its `supportedVersions` are {listed}"
        hint = "offer one of these with `protocol:`, or leave `protocol:` out"
        raise CallFailed(ServerDidNotStart, clause, hint=hint)
    meta = result.get("_meta")
    info = meta.get(f"{_META}serverInfo") if isinstance(meta, dict) else None
    return _opened(exchange, info, revision)._replace(stateless=True)


def _opened(exchange: Exchange, info: object, version: object) -> Opened:
    result = exchange.answer["result"]
    capabilities, instructions = result.get("capabilities"), result.get("instructions")
    return Opened(
        exchange=exchange,
        server_info=info if isinstance(info, dict) else None,
        protocol_version=version if isinstance(version, str) else None,
        capabilities=capabilities if isinstance(capabilities, dict) else {},
        instructions=instructions if isinstance(instructions, str) else None,
    )


def _refused_opening(method: str, error: Mapping[str, object], redact: Callable[[str], str]) -> CallFailed:
    from mcptest_engine.core.clipping import describe_error

    hint = None
    supported = _supported(error)
    if supported:
        hint = "it speaks " + ", ".join(f"`{version}`" for version in supported[:10]) + ": offer one with `protocol:`"
    elif method == "server/discover":
        hint = "it may know only the handshake revisions: leave `protocol:` out, or use `auto`"
    return CallFailed(ServerDidNotStart, f"refused `{method}`: {describe_error(error, redact)}", hint=hint)

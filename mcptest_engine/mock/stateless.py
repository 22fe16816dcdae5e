"""The stateless lifecycle: the envelope of every request, and the members that every result must have.

A request of 2026-07-28 has its revision and its client's capabilities in `params._meta`; over HTTP it repeats the revision, the
method and its subject in headers that must agree. There is no `initialize`, no session and no `ping`. Imported at the first
such request. Source: MCP 2026-07-28, basic (per-request protocol fields), basic/transports (headers), server/discover,
subscriptions.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.mock.messages import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    MISSING_CAPABILITY,
    UNSUPPORTED_VERSION,
    Listener,
    RpcError,
    invalid,
    notification,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest_engine.core.json_types import JsonDict, JsonMapping
    from mcptest_engine.mock.manifest import Manifest, Tool

STATELESS_VERSIONS = ("2026-07-28",)
META = "io.modelcontextprotocol/"
NAMING = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""The parameter that the header `Mcp-Name` repeats, by method."""
CACHEABLE = frozenset(
    {
        "server/discover",
        "tools/list",
        "resources/list",
        "resources/templates/list",
        "prompts/list",
        "resources/read",
    }
)
ASKED = "asked"
"""The name of the mock's one request in `inputRequests`."""

_LIST_CHANGES = {
    "toolsListChanged": "notifications/tools/list_changed",
    "resourcesListChanged": "notifications/resources/list_changed",
    "promptsListChanged": "notifications/prompts/list_changed",
}


class Envelope(NamedTuple):
    """A request's description of its client. `log_level` None: it wants no log messages."""

    capabilities: JsonMapping
    log_level: str | None


def opened(
    message: Mapping[str, object], headers: Mapping[str, str] | None, repeated: frozenset[str] = frozenset()
) -> Envelope:
    """Check and return the envelope of a request; `headers` (names in lower case) are None where there are none, as over stdio.

    Raises: RpcError for a missing member, a disagreement, or another revision, in this order.
    """
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    if not isinstance(meta, dict):
        invalid(f"Invalid params: `_meta` must contain `{META}protocolVersion` and `{META}clientCapabilities`")
    for key in ("protocolVersion", "clientCapabilities"):
        if META + key not in meta:
            invalid(f"Invalid params: `_meta` lacks `{META}{key}`")
    version, capabilities = meta[f"{META}protocolVersion"], meta[f"{META}clientCapabilities"]
    if headers is not None:
        _check_headers(message, version, headers, repeated)
    if not isinstance(version, str):
        invalid(f"Invalid params: `{META}protocolVersion` must be a string")
    if version not in STATELESS_VERSIONS:
        supported = {"supported": list(STATELESS_VERSIONS), "requested": version}
        raise RpcError(UNSUPPORTED_VERSION, f"Unsupported protocol version: {version}", supported)
    if not isinstance(capabilities, dict):
        invalid(f"Invalid params: `{META}clientCapabilities` must be an object")
    level = meta.get(f"{META}logLevel")
    return Envelope(capabilities=capabilities, log_level=level if isinstance(level, str) else None)


def stamped(method: str, result: Mapping[str, object], manifest: Manifest) -> dict[str, object]:
    """Add the members that the lifecycle requires to a result; members of the manifest stay as they are."""
    meta = result.get("_meta", {})
    if isinstance(meta, dict):
        meta = {f"{META}serverInfo": {"name": manifest.name, "version": manifest.version}, **meta}
    cache = {"ttlMs": 0, "cacheScope": "private"} if method in CACHEABLE else {}
    return {"resultType": "complete", **cache, **result, "_meta": meta}


def discovered(manifest: Manifest, capabilities: Mapping[str, object]) -> dict[str, object]:
    """The result of `server/discover`: revisions, capabilities and instructions."""
    instructions = {} if manifest.instructions is None else {"instructions": manifest.instructions}
    return {"supportedVersions": list(STATELESS_VERSIONS), "capabilities": capabilities, **instructions}


def missing_capability(tool: Tool) -> RpcError:
    """The error for a client that did not declare what the tool asks for."""
    assert tool.ask is not None
    required: JsonDict = {"requiredCapabilities": {tool.ask.capability: {}}}
    return RpcError(MISSING_CAPABILITY, f"Tool {tool.name} needs a client with `{tool.ask.capability}`", required)


def input_required(tool: Tool, params: Mapping[str, object]) -> JsonDict:
    """The result that asks the client. The state is the tool's name: enough to check that it comes back unchanged."""
    assert tool.ask is not None
    request = {"method": tool.ask.method, **({"params": params} if params else {})}
    return {"resultType": "input_required", "inputRequests": {ASKED: request}, "requestState": f"mock:{tool.name}"}


def input_given(tool: Tool, params: Mapping[str, object]) -> object:
    """The client's answer, None when it was not asked yet. Raises: RpcError when the state did not come back."""
    responses = params.get("inputResponses")
    if responses is None:
        return None
    if params.get("requestState") != f"mock:{tool.name}":
        raise RpcError(INVALID_PARAMS, "Invalid params: `requestState` is not as it was sent")
    if not isinstance(responses, dict) or not isinstance(responses.get(ASKED), dict):
        invalid(f"Invalid params: `inputResponses` must contain an object `{ASKED}`")
    return responses[ASKED]


def listener(key: str | float, params: Mapping[str, object], capabilities: JsonMapping) -> tuple[Listener, bytes]:
    """The notifications of a `subscriptions/listen`, and the notification that acknowledges it."""
    wanted = params.get("notifications")
    if not isinstance(wanted, dict):
        invalid("Invalid params: `notifications` must be an object")
    honoured: JsonDict = {
        name: True
        for name in _LIST_CHANGES
        if wanted.get(name) is True and "listChanged" in capabilities.get(name.removesuffix("ListChanged"), {})
    }
    uris = wanted.get("resourceSubscriptions")
    if isinstance(uris, list) and "subscribe" in capabilities.get("resources", {}):
        honoured["resourceSubscriptions"] = [uri for uri in uris if isinstance(uri, str)]
    methods = frozenset(_LIST_CHANGES[name] for name in honoured if name in _LIST_CHANGES)
    heard = Listener(subscription=key, methods=methods, uris=frozenset(honoured.get("resourceSubscriptions", ())))
    meta = {f"{META}subscriptionId": key}
    acknowledgement = notification(
        "notifications/subscriptions/acknowledged", {"_meta": meta, "notifications": honoured}
    )
    return heard, acknowledgement


def _check_headers(message: JsonMapping, version: Any, headers: Mapping[str, str], repeated: frozenset[str]) -> None:
    for name in ("mcp-protocol-version", "mcp-method", "mcp-name"):
        if name in repeated:
            raise RpcError(HEADER_MISMATCH, f"The header {name} is given more than once")
    if headers.get("mcp-protocol-version") != version:
        raise RpcError(HEADER_MISMATCH, f"The header mcp-protocol-version is not the revision in `_meta`: {version}")
    method = message["method"]
    if headers.get("mcp-method") != method:
        raise RpcError(HEADER_MISMATCH, f"The header mcp-method is not the request's method: {method}")
    about = message["params"].get(NAMING[method]) if method in NAMING else None
    if about is not None and _unwrapped(headers.get("mcp-name")) != about:
        raise RpcError(HEADER_MISMATCH, f"The header mcp-name is not the request's `{NAMING[method]}`: {about}")


def check_arguments(schema: object, arguments: Mapping[str, object], headers: Mapping[str, str]) -> None:
    """Check that the headers repeat the arguments that the schema marks with `x-mcp-header`. Raises: RpcError."""
    from mcptest_engine.servers.param_headers import PREFIX, ParamHeaders, annotated_headers

    expected = ParamHeaders()
    expected.learn({"tools": [{"name": "t", "inputSchema": schema}]})
    due = expected.of_call("tools/call", {"name": "t", "arguments": arguments}) or {}
    for name in (PREFIX + token for token in annotated_headers(schema).values()):
        if headers.get(name.lower()) != due.get(name):
            raise RpcError(HEADER_MISMATCH, f"The header {name} does not repeat its argument")


def _unwrapped(value: str | None) -> str | None:
    """Decode a header's text from `=?base64?…?=`, which is used for what a header cannot hold; None when it is invalid."""
    if value is None or not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        return base64.b64decode(value[len("=?base64?") : -2], validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return None

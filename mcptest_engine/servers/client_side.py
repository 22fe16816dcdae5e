"""Answers a server's requests with the canned answers of the suite's `client:`.

The only state is which answer of a list comes next. Nothing is made up: a request that the suite did not declare is refused
with -32601. A bare `accept` is completed with the defaults of the requested schema, as if a person had just pressed Enter.
Source: MCP 2025-11-25, client/sampling, client/elicitation, client/roots; SEP-1034 (elicitation defaults).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest_engine.servers.wire import METHOD_NOT_FOUND

if TYPE_CHECKING:
    from collections.abc import Mapping

CLIENT_METHODS = {"sampling/createMessage": "sampling", "elicitation/create": "elicitation", "roots/list": "roots"}
"""What a server may ask of a client, and the key of `client:` that answers it."""

CANNED_MODEL = "mcptest-canned"


class ClientSide:
    """The canned answers of one session; lists are used in order, and their last answer repeats."""

    def __init__(self, client: Mapping[str, Any]) -> None:
        self._client = client
        self._taken: dict[str, int] = {}

    def declares(self, method: str) -> bool:
        """Whether the suite gives an answer to `method`."""
        return CLIENT_METHODS.get(method) in self._client

    def answer(self, method: str, params: Any) -> dict[str, Any]:
        """Build {"result": …} or {"error": …} for a request of the server."""
        if method == "ping":
            return {"result": {}}
        key = CLIENT_METHODS.get(method)
        if key is None or key not in self._client:
            return {"error": {"code": METHOD_NOT_FOUND, "message": f"mcptest declared no capability for {method!r}"}}
        if key == "roots":
            return {
                "result": {
                    "roots": [{"uri": one} if isinstance(one, str) else dict(one) for one in self._client["roots"]]
                }
            }
        canned = self._next(key)
        if isinstance(canned, dict) and "error" in canned:
            return {"error": canned["error"]}
        return {"result": _sampling_result(canned) if key == "sampling" else _elicitation_result(canned, params)}

    def answers_to(self, requests: Mapping[str, object]) -> dict[str, object] | None:
        """Build the `inputResponses` for a result that asks for input; None when one of them is not declared, or is refused.

        Source: MCP 2026-07-28, SEP-2322.
        """
        inputs = {key: request if isinstance(request, dict) else {} for key, request in requests.items()}
        if not all(self.declares(str(request.get("method"))) for request in inputs.values()):
            return None
        answers = {key: self.answer(request["method"], request.get("params")) for key, request in inputs.items()}
        if any("error" in answer for answer in answers.values()):
            return None
        return {key: answer["result"] for key, answer in answers.items()}

    def _next(self, key: str) -> Any:
        declared = self._client[key]
        if not isinstance(declared, list | tuple):
            return declared
        index = self._taken.get(key, 0)
        self._taken[key] = index + 1
        return declared[min(index, len(declared) - 1)]


def _sampling_result(canned: Any) -> dict[str, Any]:
    """Build a `CreateMessageResult`: a text becomes its content, and missing members are filled in."""
    given = canned if isinstance(canned, dict) else {"content": canned}
    content = given.get("content")
    if isinstance(content, str):
        given = {**given, "content": {"type": "text", "text": content}}
    return {"role": "assistant", "model": CANNED_MODEL, "stopReason": "endTurn", **given}


def _elicitation_result(canned: Any, params: Any) -> dict[str, Any]:
    """Build an `ElicitResult`; `accept` without content takes the defaults of the form."""
    given = dict(canned) if isinstance(canned, dict) else {"action": canned}
    is_form = isinstance(params, dict) and params.get("mode", "form") == "form"
    if given.get("action") == "accept" and is_form:
        given["content"] = {**_defaults(params.get("requestedSchema")), **(given.get("content") or {})}
    return given


def _defaults(schema: object) -> dict[str, object]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        return {}
    return {name: item["default"] for name, item in properties.items() if isinstance(item, dict) and "default" in item}

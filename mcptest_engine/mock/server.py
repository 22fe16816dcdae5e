"""What the mock says: one session of the protocol, from a message in to what is to be done about it.

Nothing here reads, writes, waits or looks at a clock. `Session.receive` returns an Effect, "answer this, 50 ms from
now", and a transport carries it out; that is how calls are served concurrently over stdio without an event loop,
whose import alone would double the time a mock takes to start.

Source: MCP 2025-11-25, basic/lifecycle, basic/utilities, server/tools, server/resources, server/prompts. Of JSON-RPC,
batches are refused: no current revision has them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from mcptest_engine.mock.arguments import BrokenSchema, compile_check
from mcptest_engine.mock.faults import GARBAGE, FaultCounter, FaultKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest_engine.mock.manifest import Case, Manifest, Outcome, Prompt, Tool

PROTOCOL_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32601, -32602, -32603
RESOURCE_NOT_FOUND = -32002

RequestKey = tuple[type, str | int | float]
"""A request's id with its type, so that 1 and "1" are two requests."""


class Answer(NamedTuple):
    """Send `body`, `delay_ms` from now, unless the request `key` is cancelled before; None cannot be cancelled."""

    body: bytes
    key: RequestKey | None = None
    delay_ms: float = 0.0


class Hang(NamedTuple):
    """Never answer the request `key`."""

    key: RequestKey


class Cancel(NamedTuple):
    """Forget the request `key`: its answer is not wanted any more."""

    key: RequestKey


class Silence(NamedTuple):
    """Nothing is due: a notification, or an answer to a request that was never made."""


class Wedge(NamedTuple):
    """Read and answer nothing any more."""


class Crash(NamedTuple):
    """End the process at once, with what is due before it sent."""


Effect = Answer | Hang | Cancel | Silence | Wedge | Crash


class BadMessage(ValueError):
    """Bytes that are no JSON-RPC message; `answer` is the error to send for them."""

    def __init__(self, code: int, message: str, key: str | float | None = None) -> None:
        super().__init__(message)
        self.answer = Answer(body=_encode({"jsonrpc": "2.0", "id": key, "error": {"code": code, "message": message}}))


class RpcError(Exception):
    """The request cannot be served: `error` is the JSON-RPC error object."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message, **({} if data is None else {"data": data})}


def read_message(body: bytes) -> dict[str, Any]:
    """One JSON-RPC message. Raises: BadMessage for anything that is none."""
    try:
        message = json.loads(body.decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as wrong:
        raise BadMessage(PARSE_ERROR, f"Parse error: {wrong}") from None
    if isinstance(message, list):
        raise BadMessage(INVALID_REQUEST, "Invalid request: batches are not supported")
    if not isinstance(message, dict):
        raise BadMessage(INVALID_REQUEST, "Invalid request: a message must be an object")
    key = message.get("id")
    known_key = key if isinstance(key, str | int | float) and not isinstance(key, bool) else None
    if message.get("jsonrpc") != "2.0":
        raise BadMessage(INVALID_REQUEST, 'Invalid request: `jsonrpc` must be "2.0"', known_key)
    if "method" in message and not isinstance(message["method"], str):
        raise BadMessage(INVALID_REQUEST, "Invalid request: `method` must be a string", known_key)
    if "method" not in message and "result" not in message and "error" not in message:
        raise BadMessage(INVALID_REQUEST, "Invalid request: `method` is missing", known_key)
    if "id" in message and known_key is None and "method" in message:
        raise BadMessage(INVALID_REQUEST, "Invalid request: `id` must be a string or a number")
    return message


class Session:
    """One client's session. Response sequences start anew with each; all sessions of a process share `faults`."""

    def __init__(self, manifest: Manifest, faults: FaultCounter) -> None:
        self._manifest = manifest
        self._faults = faults
        self._tools = {tool.name: tool for tool in manifest.tools or ()}
        self._checks: dict[str, Callable[[Mapping[str, Any]], str | None]] = {}
        self._served: dict[int, int] = {}
        self._methods: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "initialize": self._initialize,
            "ping": lambda _params: {},
            **self._declared_methods(),
        }

    def receive(self, message: Mapping[str, Any]) -> Effect:
        """What to do about one message that `read_message` has let through."""
        method = message.get("method")
        if method is None:
            return Silence()
        params = message.get("params", {})
        if "id" not in message:
            return _cancellation(params) if method == "notifications/cancelled" else Silence()
        key = message["id"]
        try:
            if not isinstance(params, dict):
                _invalid("Invalid params: `params` must be an object")
            if method == "tools/call" and self._manifest.tools is not None:
                return self._call(key, params)
            if method not in self._methods:
                raise RpcError(METHOD_NOT_FOUND, f"Method not found: {method}")
            return _success(key, self._methods[method](params))
        except RpcError as wrong:
            return _failure(key, wrong.error)
        except RecursionError:  # arguments that could just be read, and an answer around them that cannot be written
            return _failure(key, {"code": INTERNAL_ERROR, "message": "nested too deeply to be answered"})

    def _declared_methods(self) -> dict[str, Callable[[dict[str, Any]], dict[str, Any]]]:
        offered = self._manifest
        methods: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {}
        if offered.tools is not None:
            methods["tools/list"] = self._lister("tools", offered.tools)
        if offered.resources is not None or offered.resource_templates is not None:
            methods["resources/list"] = self._lister("resources", offered.resources or ())
            methods["resources/templates/list"] = self._lister("resourceTemplates", offered.resource_templates or ())
            methods["resources/read"] = self._read_resource
        if offered.prompts is not None:
            methods["prompts/list"] = self._lister("prompts", offered.prompts)
            methods["prompts/get"] = self._get_prompt
        return methods

    def _initialize(self, params: dict[str, Any]) -> dict[str, Any]:
        offered, manifest = params.get("protocolVersion"), self._manifest
        capabilities = {
            "tools": manifest.tools is not None,
            "resources": manifest.resources is not None or manifest.resource_templates is not None,
            "prompts": manifest.prompts is not None,
        }
        return {
            "protocolVersion": offered if offered in PROTOCOL_VERSIONS else PROTOCOL_VERSIONS[-1],
            "capabilities": {name: {} for name, declared in capabilities.items() if declared},
            "serverInfo": {"name": manifest.name, "version": manifest.version},
            **({} if manifest.instructions is None else {"instructions": manifest.instructions}),
        }

    def _lister(self, member: str, offered: Sequence[Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
        descriptors = [item.descriptor for item in offered]
        size = self._manifest.page_size or max(1, len(descriptors))

        def page(params: dict[str, Any]) -> dict[str, Any]:
            start = _offset(params.get("cursor"), size, len(descriptors))
            following = start + size
            more = {"nextCursor": f"after:{following}"} if following < len(descriptors) else {}
            return {member: descriptors[start:following], **more}

        return page

    def _call(self, key: str | float, params: dict[str, Any]) -> Effect:
        request = (type(key), key)
        match self._faults.next_call():
            case FaultKind.HANG:
                return Hang(request)
            case FaultKind.WEDGED:
                return Wedge()
            case FaultKind.CRASH_AFTER:
                return Crash()
            case FaultKind.GARBAGE:
                return Answer(body=GARBAGE, key=request)
            case FaultKind.SLOW:
                return self._answer_call(key, params, extra_ms=self._faults.fault.number)
            case _:
                return self._answer_call(key, params, extra_ms=0)

    def _answer_call(self, key: str | float, params: dict[str, Any], *, extra_ms: float) -> Effect:
        tool = self._tools.get(name) if isinstance(name := params.get("name"), str) else None
        if tool is None:
            _invalid(f"Unknown tool: {name}" if isinstance(name, str) else "Invalid params: `name` must be a string")
        arguments = params.get("arguments", {})
        if not isinstance(arguments, dict):
            _invalid("Invalid params: `arguments` must be an object")
        if wrong := self._check(tool, arguments):
            return _success(key, _tool_error(f"invalid arguments for tool {tool.name}: {wrong}"), delay_ms=extra_ms)
        case = _fitting(tool.cases, arguments)
        outcome = case.outcome if case else tool.outcome
        delay_ms = extra_ms + (tool.delay_ms if case is None or case.delay_ms is None else case.delay_ms)
        if outcome.error is not None:
            return _failure(key, outcome.error(arguments), delay_ms=delay_ms)
        return _success(key, self._next_result(outcome, arguments), delay_ms=delay_ms)

    def _next_result(self, outcome: Outcome, arguments: Mapping[str, Any]) -> Any:
        turn = self._served.get(id(outcome), 0)
        self._served[id(outcome)] = turn + 1
        return outcome.results[min(turn, len(outcome.results) - 1)](arguments)

    def _check(self, tool: Tool, arguments: Mapping[str, Any]) -> str | None:
        check = self._checks.get(tool.name)
        if check is None:
            try:
                check = compile_check(tool.descriptor.get("inputSchema", True))
            except BrokenSchema as broken:
                raise RpcError(INTERNAL_ERROR, f"the input schema of tool {tool.name} is broken: {broken}") from broken
            self._checks[tool.name] = check
        return check(arguments)

    def _read_resource(self, params: dict[str, Any]) -> dict[str, Any]:
        uri = params.get("uri")
        if not isinstance(uri, str):
            _invalid("Invalid params: `uri` must be a string")
        for resource in self._manifest.resources or ():
            if resource.uri == uri:
                return {"contents": [resource.contents]}
        for template in self._manifest.resource_templates or ():
            if found := template.pattern.fullmatch(uri):
                mime = {} if template.mime_type is None else {"mimeType": template.mime_type}
                return {"contents": [{"uri": uri, **mime, "text": template.text(found.groupdict())}]}
        raise RpcError(RESOURCE_NOT_FOUND, "Resource not found", {"uri": uri})

    def _get_prompt(self, params: dict[str, Any]) -> dict[str, Any]:
        name, arguments = params.get("name"), params.get("arguments", {})
        if not isinstance(name, str):
            _invalid("Invalid params: `name` must be a string")
        if not isinstance(arguments, dict) or not all(isinstance(value, str) for value in arguments.values()):
            _invalid("Invalid params: `arguments` must be an object of strings")
        prompt = next((prompt for prompt in self._manifest.prompts or () if prompt.name == name), None)
        if prompt is None:
            _invalid(f"Unknown prompt: {name}")
        for missing in (required for required in prompt.required if required not in arguments):
            _invalid(f"Missing required argument: {missing}")
        return _rendered(prompt, arguments)


def _rendered(prompt: Prompt, arguments: Mapping[str, str]) -> dict[str, Any]:
    described = {key: value for key, value in prompt.descriptor.items() if key == "description"}
    return {**described, "messages": prompt.messages(arguments)}


def _cancellation(params: Any) -> Effect:
    key = params.get("requestId") if isinstance(params, dict) else None
    return Cancel((type(key), key)) if isinstance(key, str | int | float) else Silence()


def _fitting(cases: Sequence[Case], arguments: Mapping[str, Any]) -> Case | None:
    return next((case for case in cases if _covers(case.args, arguments)), None)


def _covers(wanted: Any, given: Any) -> bool:
    """Whether `given` has all that `wanted` has: members and elements, at any depth; more of either is no matter."""
    match wanted:
        case Mapping():
            return isinstance(given, Mapping) and all(
                key in given and _covers(value, given[key]) for key, value in wanted.items()
            )
        case list():
            return isinstance(given, list) and len(given) >= len(wanted) and all(map(_covers, wanted, given))
        case bool() | None:
            return wanted is given
        case _:
            return not isinstance(given, bool) and bool(wanted == given)


def _offset(cursor: Any, size: int, length: int) -> int:
    if cursor is None:
        return 0
    word, _, number = cursor.partition(":") if isinstance(cursor, str) else ("", "", "")
    offset = int(number) if word == "after" and number.isascii() and number.isdigit() and len(number) < 10 else 0
    if offset <= 0 or offset >= length or offset % size:
        _invalid(f"Invalid cursor: {cursor}")
    return offset


def _tool_error(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": True}


def _success(key: str | float, result: Any, *, delay_ms: float = 0.0) -> Answer:
    body = _encode({"jsonrpc": "2.0", "id": key, "result": result})
    return Answer(body=body, key=(type(key), key), delay_ms=delay_ms)


def _failure(key: str | float, error: Mapping[str, Any], *, delay_ms: float = 0.0) -> Answer:
    body = _encode({"jsonrpc": "2.0", "id": key, "error": error})
    return Answer(body=body, key=(type(key), key), delay_ms=delay_ms)


def _encode(message: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    except UnicodeEncodeError:  # half a surrogate pair came in as an argument; escaped, it can go out again
        return json.dumps(message, separators=(",", ":")).encode("ascii")


def _invalid(message: str) -> NoReturn:
    raise RpcError(INVALID_PARAMS, message)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")

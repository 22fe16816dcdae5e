"""The mock's protocol: one session, from a message to its effect.

Nothing here reads, writes, waits or uses a clock. `Session.receive` returns an Effect ("answer this, 50 ms from now"), and a
transport carries it out. So stdio calls are served concurrently without an event loop, whose import alone would double the
start time of a mock. Both lifecycles are supported: a request that names its revision in `_meta` is a stateless one. Source:
MCP 2025-11-25, basic/lifecycle, basic/utilities, server/tools, server/resources, server/prompts, client/sampling,
client/elicitation, client/roots; MCP 2026-07-28 (see `stateless.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.mock.arguments import BrokenSchema, compile_check
from mcptest_engine.mock.faults import GARBAGE, FaultCounter, FaultKind
from mcptest_engine.mock.manifest import LOG_LEVELS
from mcptest_engine.mock.messages import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    RESOURCE_NOT_FOUND,
    Answer,
    Cancel,
    Change,
    ClientRequest,
    Crash,
    Hang,
    Listen,
    RequestKey,
    RpcError,
    Silence,
    Wedge,
    encode,
    failure,
    invalid,
    notification,
    notification_of,
    success,
    tool_error,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest_engine.core.json_types import JsonDict, JsonMapping
    from mcptest_engine.mock.manifest import Case, Manifest, Prompt, Tool
    from mcptest_engine.mock.messages import Effect
    from mcptest_engine.mock.stateless import Envelope

PROTOCOL_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""The revisions that begin with `initialize`."""

_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
_LIST_CHANGED = "notifications/{}/list_changed"
_UPDATED = "notifications/resources/updated"

Result = dict[str, object]


class _Call(NamedTuple):
    """A `tools/call` with valid arguments."""

    key: str | float
    params: JsonMapping
    tool: Tool
    case: Case | None
    arguments: JsonMapping
    envelope: Envelope | None
    extra_ms: float

    @property
    def delay_ms(self) -> float:
        own = self.case.delay_ms if self.case is not None else None
        return self.extra_ms + (self.tool.delay_ms if own is None else own)


def is_stateless(message: Mapping[str, object]) -> bool:
    """Whether a message names its revision, which only stateless requests do."""
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return isinstance(meta, dict) and _VERSION_KEY in meta


class Session:
    """One client's session.

    Sequences of results start again with each session; all sessions of a process share `faults`. In the stateless lifecycle,
    one session serves every client of an HTTP mock.
    """

    def __init__(self, manifest: Manifest, faults: FaultCounter) -> None:
        self._manifest = manifest
        self._faults = faults
        self._tools = {tool.name: tool for tool in manifest.tools or ()}
        self._checks: dict[str, Callable[[JsonMapping], str | None]] = {}
        self._served: dict[int, int] = {}
        self._capabilities = _capabilities(manifest)
        self._declared: JsonMapping | None = None  # set by the client in `initialize`
        self._log_level: str | None = None
        self._subscribed: set[str] = set()
        self._asked: dict[str, _Call] = {}
        self._questions = 0
        self._shared = self._shared_methods()
        self._methods: dict[str, Callable[[JsonDict], Result]] = {
            "initialize": self._initialize,
            "ping": lambda _params: {},
            **self._shared,
            **self._handshake_methods(),
        }

    def receive(self, message: JsonMapping) -> Effect:
        """The effect of a message that `read_message` has parsed."""
        if "method" not in message:
            return self._answered(message)
        if "id" not in message:
            return self._receive_notification(message["method"], message.get("params", {}))
        if is_stateless(message):
            return self.receive_stateless(message, None)
        return self._guarded(message["id"], lambda: self._request(message, message.get("params", {})))

    def receive_stateless(
        self, message: JsonMapping, headers: Mapping[str, str] | None, repeated: frozenset[str] = frozenset()
    ) -> Effect:
        """The effect of a stateless request; `headers` are those of HTTP, `repeated` those given twice."""
        return self._guarded(message["id"], lambda: self._stateless_request(message, headers, repeated))

    def notification_of(self, change: Change) -> bytes | None:
        """The notification of a change for a client without `subscriptions/listen`, None for nothing."""
        if self._declared is None or (change.uri is not None and change.uri not in self._subscribed):
            return None
        return notification_of(change)

    def _guarded(self, key: str | float, serve: Callable[[], Effect]) -> Effect:
        try:
            return serve()
        except RpcError as wrong:
            return failure(key, wrong.error)
        except RecursionError:  # the arguments could just be parsed; an answer around them cannot be encoded
            return failure(key, {"code": INTERNAL_ERROR, "message": "nested too deeply to be answered"})

    def _request(self, message: JsonMapping, params: Any) -> Effect:
        key, method = message["id"], message["method"]
        if not isinstance(params, dict):
            invalid("Invalid params: `params` must be an object")
        if method == "tools/call" and self._manifest.tools is not None:
            return self._call(key, params, None)
        if method not in self._methods:
            raise RpcError(METHOD_NOT_FOUND, f"Method not found: {method}")
        return success(key, self._methods[method](params))

    def _stateless_request(
        self, message: JsonMapping, headers: Mapping[str, str] | None, repeated: frozenset[str]
    ) -> Effect:
        from mcptest_engine.mock import stateless

        key, method = message["id"], message["method"]
        envelope = stateless.opened(message, headers, repeated)
        params = message["params"]
        if method == "tools/call" and self._manifest.tools is not None:
            return self._call(key, params, envelope, headers)
        if method == "subscriptions/listen":
            listener, body = stateless.listener(key, params, self._capabilities)
            return Listen(body=body, key=(type(key), key), listener=listener)
        if method == "server/discover":
            result = stateless.discovered(self._manifest, self._capabilities)
        elif method in self._shared:
            result = self._shared_result(method, params)
        else:
            raise RpcError(METHOD_NOT_FOUND, f"Method not found: {method}")
        return success(key, stateless.stamped(method, result, self._manifest))

    def _shared_result(self, method: str, params: JsonDict) -> Result:
        try:
            return self._shared[method](params)
        except RpcError as wrong:
            if wrong.error["code"] == RESOURCE_NOT_FOUND:  # a code that the stateless lifecycle no longer uses
                raise RpcError(INVALID_PARAMS, wrong.error["message"], wrong.error["data"]) from None
            raise

    def _receive_notification(self, method: str, params: object) -> Effect:
        """Handle a notification of the client."""
        key = params.get("requestId") if isinstance(params, dict) else None
        if method != "notifications/cancelled" or not isinstance(key, str | int | float):
            return Silence()
        cancelled = (type(key), key)
        self._asked = {name: call for name, call in self._asked.items() if (type(call.key), call.key) != cancelled}
        return Cancel(cancelled)

    def _answered(self, message: Mapping[str, object]) -> Effect:
        """Continue the call that waits for this answer of the client."""
        name = message.get("id")
        call = self._asked.pop(name, None) if isinstance(name, str) else None
        if call is None or call.tool.ask is None:
            return Silence()
        error = message.get("error")
        if isinstance(error, dict):
            error_text = (
                f"the client answered {call.tool.ask.method} with error {error.get('code')}: {error.get('message')}"
            )
            return success(call.key, tool_error(error_text), delay_ms=call.delay_ms)
        return self._guarded(call.key, lambda: self._finish(call, message.get("result"), before=()))

    def _shared_methods(self) -> dict[str, Callable[[dict[str, object]], Result]]:
        """The methods of both lifecycles, except `tools/call`."""
        offered = self._manifest
        methods: dict[str, Callable[[JsonDict], Result]] = {}
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

    def _handshake_methods(self) -> dict[str, Callable[[dict[str, object]], Result]]:
        """The methods of the handshake lifecycle alone."""
        methods: dict[str, Callable[[JsonDict], Result]] = {}
        if "logging" in self._capabilities:
            methods["logging/setLevel"] = self._set_level
        if "subscribe" in self._capabilities.get("resources", {}):
            methods["resources/subscribe"] = self._subscribe
            methods["resources/unsubscribe"] = self._unsubscribe
        return methods

    def _initialize(self, params: dict[str, object]) -> Result:
        offered, manifest, declared = params.get("protocolVersion"), self._manifest, params.get("capabilities")
        self._declared = declared if isinstance(declared, dict) else {}
        return {
            "protocolVersion": offered if offered in PROTOCOL_VERSIONS else PROTOCOL_VERSIONS[-1],
            "capabilities": self._capabilities,
            "serverInfo": {"name": manifest.name, "version": manifest.version},
            **({} if manifest.instructions is None else {"instructions": manifest.instructions}),
        }

    def _set_level(self, params: dict[str, object]) -> Result:
        level = params.get("level")
        if level not in LOG_LEVELS:
            invalid(f"Invalid params: `level` must be one of {', '.join(LOG_LEVELS)}")
        self._log_level = level
        return {}

    def _subscribe(self, params: JsonDict) -> Result:
        self._read_resource(params)
        self._subscribed.add(params["uri"])
        return {}

    def _unsubscribe(self, params: dict[str, object]) -> Result:
        self._read_resource(params)
        self._subscribed.discard(params["uri"])
        return {}

    def _lister(self, member: str, offered: Sequence[Any]) -> Callable[[JsonDict], Result]:
        descriptors = [item.descriptor for item in offered]
        size = self._manifest.page_size or max(1, len(descriptors))

        def page(params: JsonDict) -> JsonDict:
            start = _offset(params.get("cursor"), size, len(descriptors))
            following = start + size
            more = {"nextCursor": f"after:{following}"} if following < len(descriptors) else {}
            return {member: descriptors[start:following], **more}

        return page

    def _call(
        self,
        key: str | float,
        params: dict[str, object],
        envelope: Envelope | None,
        headers: Mapping[str, str] | None = None,
    ) -> Effect:
        request: RequestKey = (type(key), key)
        match self._faults.next_call():
            case FaultKind.HANG:
                return Hang(request)
            case FaultKind.WEDGED:
                return Wedge()
            case FaultKind.CRASH_AFTER:
                return Crash()
            case FaultKind.GARBAGE:
                return Answer(body=GARBAGE, key=request)
            case fault:
                extra_ms = self._faults.fault.number if fault is FaultKind.SLOW else 0
                return self._carry_out(key, params, envelope, headers, extra_ms)

    def _carry_out(
        self,
        key: str | float,
        params: dict[str, object],
        envelope: Envelope | None,
        headers: Mapping[str, str] | None,
        extra_ms: float,
    ) -> Effect:
        tool = self._tools.get(name) if isinstance(name := params.get("name"), str) else None
        if tool is None:
            invalid(f"Unknown tool: {name}" if isinstance(name, str) else "Invalid params: `name` must be a string")
        arguments = params.get("arguments", {})
        if not isinstance(arguments, dict):
            invalid("Invalid params: `arguments` must be an object")
        if headers is not None:
            from mcptest_engine.mock.stateless import check_arguments

            check_arguments(tool.descriptor.get("inputSchema"), arguments, headers)
        fitting = next((case for case in tool.cases if _covers(case.args, arguments)), None)
        call = _Call(key, params, tool, fitting, arguments, envelope, extra_ms)
        if wrong := self._check(tool, arguments):
            refused = tool_error(f"invalid arguments for tool {tool.name}: {wrong}")
            return self._result(call._replace(case=None, tool=tool._replace(delay_ms=0)), refused)
        if tool.ask is None:
            return self._finish(call, None, before=self._notices(call))
        return self._request_input(call) if envelope is None else self._request_input_stateless(call, envelope)

    def _request_input(self, call: _Call) -> Effect:
        question = call.tool.ask
        assert question is not None
        if question.capability not in (self._declared or {}):
            message = f"tool {call.tool.name} asks for {question.method}, which this client did not declare"
            return success(call.key, tool_error(message))
        self._questions += 1
        name = f"mock-{self._questions}"
        self._asked[name] = call
        params = question.params(call.arguments)
        body = encode(
            {"jsonrpc": "2.0", "id": name, "method": question.method, **({"params": params} if params else {})}
        )
        return ClientRequest(body=body, key=(type(call.key), call.key), before=self._notices(call))

    def _request_input_stateless(self, call: _Call, envelope: Envelope) -> Effect:
        from mcptest_engine.mock import stateless

        question = call.tool.ask
        assert question is not None
        if question.capability not in envelope.capabilities:
            raise stateless.missing_capability(call.tool)
        given = stateless.input_given(call.tool, call.params)
        if given is None:
            required = stateless.input_required(call.tool, question.params(call.arguments))
            return success(call.key, stateless.stamped("tools/call", required, self._manifest))
        return self._finish(call, given, before=self._notices(call))

    def _finish(self, call: _Call, asked: object, *, before: tuple[bytes, ...]) -> Answer:
        """The answer of the manifest; `asked` is the client's answer when the tool asks."""
        outcome = call.case.outcome if call.case else call.tool.outcome
        values = (call.arguments,) if call.tool.ask is None else (call.arguments, asked)
        if outcome.error is not None:
            return failure(call.key, outcome.error(*values), delay_ms=call.delay_ms)._replace(before=before)
        turn = self._served.get(id(outcome), 0)
        self._served[id(outcome)] = turn + 1
        result = outcome.results[min(turn, len(outcome.results) - 1)](*values)
        return self._result(call, result)._replace(before=before, changes=_changes(call))

    def _result(self, call: _Call, result: Any) -> Answer:
        if call.envelope is not None:
            from mcptest_engine.mock.stateless import stamped

            result = stamped("tools/call", result, self._manifest)
        return success(call.key, result, delay_ms=call.delay_ms)

    def _notices(self, call: _Call) -> tuple[bytes, ...]:
        """The progress and log messages of a call that its client wants."""
        meta = call.params.get("_meta")
        token = meta.get("progressToken") if isinstance(meta, dict) else None
        sent = []
        if isinstance(token, str | int) and not isinstance(token, bool):
            for step in range(1, call.tool.progress + 1):
                params = {"progressToken": token, "progress": step, "total": call.tool.progress}
                sent.append(notification("notifications/progress", params))
        for line in call.tool.log:
            if self._is_sent_at(line.level, call.envelope):
                named = {} if line.logger is None else {"logger": line.logger}
                params = {"level": line.level, **named, "data": line.data(call.arguments)}
                sent.append(notification("notifications/message", params))
        return tuple(sent)

    def _is_sent_at(self, level: str, envelope: Envelope | None) -> bool:
        """Whether a message of this level is sent. Without a level, all are until 2025-11-25, and none from 2026-07-28 on."""
        least = self._log_level if envelope is None else envelope.log_level
        if least is None:
            return envelope is None
        return least not in LOG_LEVELS or LOG_LEVELS.index(level) >= LOG_LEVELS.index(least)

    def _check(self, tool: Tool, arguments: Mapping[str, object]) -> str | None:
        check = self._checks.get(tool.name)
        if check is None:
            try:
                check = compile_check(tool.descriptor.get("inputSchema", True))
            except BrokenSchema as broken:
                raise RpcError(INTERNAL_ERROR, f"the input schema of tool {tool.name} is broken: {broken}") from broken
            self._checks[tool.name] = check
        return check(arguments)

    def _read_resource(self, params: dict[str, object]) -> Result:
        uri = params.get("uri")
        if not isinstance(uri, str):
            invalid("Invalid params: `uri` must be a string")
        for resource in self._manifest.resources or ():
            if resource.uri == uri:
                return {"contents": [resource.contents]}
        for template in self._manifest.resource_templates or ():
            if found := template.pattern.fullmatch(uri):
                mime = {} if template.mime_type is None else {"mimeType": template.mime_type}
                return {"contents": [{"uri": uri, **mime, "text": template.text(found.groupdict())}]}
        raise RpcError(RESOURCE_NOT_FOUND, "Resource not found", {"uri": uri})

    def _get_prompt(self, params: dict[str, object]) -> dict[str, object]:
        name, arguments = params.get("name"), params.get("arguments", {})
        if not isinstance(name, str):
            invalid("Invalid params: `name` must be a string")
        if not isinstance(arguments, dict) or not all(isinstance(value, str) for value in arguments.values()):
            invalid("Invalid params: `arguments` must be an object of strings")
        prompt = next((prompt for prompt in self._manifest.prompts or () if prompt.name == name), None)
        if prompt is None:
            invalid(f"Unknown prompt: {name}")
        for missing in (required for required in prompt.required if required not in arguments):
            invalid(f"Missing required argument: {missing}")
        return _rendered(prompt, arguments)


def _rendered(prompt: Prompt, arguments: Mapping[str, str]) -> dict[str, object]:
    described = {key: value for key, value in prompt.descriptor.items() if key == "description"}
    return {**described, "messages": prompt.messages(arguments)}


def _capabilities(manifest: Manifest) -> dict[str, dict[str, object]]:
    """The declared capabilities: each primitive of the manifest, and the notifications of its tools."""
    tools = manifest.tools or ()
    changing = {name for tool in tools for name in tool.list_changed}
    offered = {
        "tools": manifest.tools is not None,
        "resources": manifest.resources is not None or manifest.resource_templates is not None,
        "prompts": manifest.prompts is not None,
        "logging": any(tool.log for tool in tools),
    }
    found: dict[str, JsonDict] = {name: {} for name, declared in offered.items() if declared}
    for name in changing & found.keys():
        found[name]["listChanged"] = True
    if "resources" in found and any(tool.touches is not None for tool in tools):
        found["resources"]["subscribe"] = True
    return found


def _changes(call: _Call) -> tuple[Change, ...]:
    lists = tuple(Change(_LIST_CHANGED.format(name)) for name in call.tool.list_changed)
    if call.tool.touches is None:
        return lists
    return (*lists, Change(_UPDATED, call.tool.touches(call.arguments)))


def _covers(wanted: object, given: object) -> bool:
    """Whether `given` contains `wanted`: all its members and elements, at any depth; it may have more."""
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


def _offset(cursor: object, size: int, length: int) -> int:
    if cursor is None:
        return 0
    word, _, number = cursor.partition(":") if isinstance(cursor, str) else ("", "", "")
    offset = int(number) if word == "after" and number.isascii() and number.isdigit() and len(number) < 10 else 0
    if offset <= 0 or offset >= length or offset % size:
        invalid(f"Invalid cursor: {cursor}")
    return offset

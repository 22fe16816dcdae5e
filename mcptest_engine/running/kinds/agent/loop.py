"""The loop of an agent test: a model is asked, what it asks for is called, it is told what came of that, and is asked again.

The loop knows neither sessions nor reports. Whatever a server does wrong is told to the model as a client would tell it, and
kept; only tools that cannot be listed end the test at once. The calls of one turn are made at the same time.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol

from mcptest_engine.core.clipping import describe_error
from mcptest_engine.core.effects import CallDecision, DecidedBy
from mcptest_engine.core.errors import ServerError, UsageError
from mcptest_engine.core.tasks import run_together
from mcptest_engine.judging.providers.values import ModelError, ModelFault, ModelRequest
from mcptest_engine.running.kinds.agent import conversation as stops
from mcptest_engine.running.kinds.agent.conversation import Conversation, ToolCall
from mcptest_engine.running.kinds.agent.distractors import REFUSAL
from mcptest_engine.running.kinds.agent.tool_policy import DENIED, decide_call, stub_result, unknown_names
from mcptest_engine.running.kinds.agent.toolbox import Toolbox, answer_for_model, cut_to_limit
from mcptest_engine.servers.gate import MAX_LISTINGS, restless_list

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcptest_engine.judging.providers.values import ModelReply, ToolOffer, ToolUse
    from mcptest_engine.running.kinds.agent.plan import AgentProgram


_RAW_LIMIT = 2_000
_TOKENS_PER_TURN = 8_192


class LoopServices(Protocol):
    """What the loop needs of the outside."""

    def clock(self) -> float: ...

    async def list_tools(self, server: str) -> Sequence[Mapping[str, Any]]:
        """Every tool that the server lists now. Raises: ServerError."""
        ...

    def is_list_current(self, server: str) -> bool:
        """Whether the server has announced no change of its tools since they were listed last. Asks nobody."""
        ...

    def note_refusal(self, call: ToolCall) -> None:
        """Count a call that is not executed; it is answered already."""
        ...

    async def call_tool(self, call: ToolCall) -> Mapping[str, Any]:
        """The answer of `tools/call`: {"result"} or {"error"}.

        Raises: ServerError when none came, or when the tools are not those any more by which it was decided; UsageError for
        arguments that cannot be sent.
        """
        ...

    async def send(self, request: ModelRequest) -> ModelReply:
        """Send one request to the model. Raises: ModelError."""
        ...

    def on_turn(self, so_far: Conversation) -> None:
        """The model has answered once more."""
        ...

    def redact(self, value: object) -> Any: ...


async def converse(
    program: AgentProgram, services: LoopServices, so_far: Conversation, *, variant: str = ""
) -> Conversation:
    """Carry the conversation to its end, which `so_far.stop` tells; it is whole as far as it came also when this is cancelled.

    `variant` tells apart runs that would ask the same. Raises: ServerError when a server's tools cannot be listed.
    """
    began = services.clock()
    try:
        toolbox = await _toolbox_for(program, services)
        so_far.remarks += toolbox.remarks
        so_far.remarks += unknown_names(program.tools, toolbox.tools, toolbox.servers)
        so_far.surface_tokens = toolbox.surface_tokens
        while True:
            try:
                reply = await services.send(turn_request(program, so_far, toolbox.offers, variant))
            except ModelError as fault:
                so_far.fault = fault
                so_far.stop = stops.BUDGET if fault.fault is ModelFault.CAPPED else stops.ERROR
                return so_far
            stop = await _turn(program, services, so_far, toolbox, reply)
            if stop is not None:
                so_far.stop = stop
                return so_far
    finally:
        so_far.duration_ms = (services.clock() - began) * 1000


async def _turn(
    program: AgentProgram, services: LoopServices, so_far: Conversation, toolbox: Toolbox, reply: ModelReply
) -> str | None:
    """Take the model's answer: make the calls that it asks for. Gives why the conversation ends with it, or None."""
    so_far.take_reply(reply)
    number = len(so_far.replies)
    calls = [_tool_call(use, toolbox, number) for use in reply.uses]
    so_far.calls += calls
    services.on_turn(so_far)
    stop = _stop_reason(program, so_far, reply)
    if stop is not None:
        for call in calls:
            call.error, call.is_error = call.error or "not called: the conversation ended", True
        return stop
    pending = [(use, call) for use, call in zip(reply.uses, calls, strict=True) if call.error is None]
    await _list_anew([call for _, call in pending], toolbox, services)
    for use, call in pending:  # nothing is waited for since the lists were seen to be current
        if call.lost is None:
            _decide(call, toolbox, use, program, so_far)
            if call.decision is not CallDecision.EXECUTED:
                services.note_refusal(call)
    await run_together(_make(call, services) for _, call in pending if call.decision is CallDecision.EXECUTED)
    so_far.take_answers(reply.uses, calls)
    return stops.MAX_TURNS if number >= program.max_turns else None


def _stop_reason(program: AgentProgram, so_far: Conversation, reply: ModelReply) -> str | None:
    """Why nothing more is called after an answer: in providers' own words where it is none of ours."""
    spent = so_far.cost_usd
    if program.budget_usd is not None and spent is not None and spent > program.budget_usd:
        return stops.BUDGET
    return reply.stop if reply.stop in (stops.LENGTH, stops.REFUSAL) or not reply.uses else None


async def _toolbox_for(program: AgentProgram, services: LoopServices) -> Toolbox:
    servers = tuple(dict.fromkeys(program.servers))
    listing = [asyncio.ensure_future(services.list_tools(server)) for server in servers]
    try:
        listed = dict(zip(servers, await asyncio.gather(*listing), strict=True))
        return Toolbox(listed, program.gates.get("distractors"), services.redact)
    except ServerError:
        await asyncio.gather(*listing, return_exceptions=True)
        raise


def turn_request(
    program: AgentProgram, so_far: Conversation, offers: tuple[ToolOffer, ...], variant: str
) -> ModelRequest:
    """The question of the next turn."""
    return ModelRequest(
        model=so_far.model,
        turns=tuple(so_far.turns),
        system=program.system_prompt,
        tools=offers,
        max_tokens=_TOKENS_PER_TURN,
        variant=variant,
    )


def _tool_call(use: ToolUse, toolbox: Toolbox, turn: int) -> ToolCall:
    """The call that is to be made; with an `error` where it cannot be."""
    tool = toolbox.get(use.name)
    name, server = (use.name, None) if tool is None else (tool.name, tool.server)
    raw = use.raw[:_RAW_LIMIT] if use.args is None else None
    call = ToolCall(name=name, server=server, args=use.args, turn=turn, raw=raw)
    if tool is not None and tool.distractor:
        call.distractor, call.server, call.error = True, None, REFUSAL
    elif tool is None:
        call.error = f"there is no tool `{use.name}`"
    elif use.args is None:
        call.error = "the arguments are not a JSON object"
    if call.error is not None:
        call.is_error, call.told = True, f"error: {call.error}"
    return call


async def _list_anew(calls: Sequence[ToolCall], toolbox: Toolbox, services: LoopServices) -> None:
    """Have the tools of `calls` classified by lists that are all current when this returns.

    While one server is listed another may announce a change. Where a server's tools cannot be listed, or change each time,
    none of its calls is made.
    """
    servers = {call.server for call in calls if call.server is not None}
    stale = sorted(servers)
    for _ in range(MAX_LISTINGS):
        for server in stale:
            try:
                toolbox.relist(server, await services.list_tools(server))
            except ServerError as error:
                servers.remove(server)
                _lose(error, [call for call in calls if call.server == server])
        stale = sorted(server for server in servers if not services.is_list_current(server))
        if not stale:
            return
    for server in stale:
        _lose(restless_list(server), [call for call in calls if call.server == server])


def _lose(error: ServerError, calls: Sequence[ToolCall]) -> None:
    """Answer calls that got no answer from their server."""
    for call in calls:
        call.lost, call.error, call.is_error = error, error.message, True
        call.told = cut_to_limit(f"error: {error.message}")


def _decide(call: ToolCall, toolbox: Toolbox, use: ToolUse, program: AgentProgram, so_far: Conversation) -> None:
    """Say what becomes of a call; answer it here where it is not to be executed."""
    tool = toolbox.get(use.name)
    assert tool is not None
    ruling = decide_call(program.tools, tool, toolbox.servers)
    call.tool_class, call.decision, call.decided_by = tool.tool_class, ruling.decision, ruling.by
    if ruling.decision is CallDecision.DRY:
        call.result = stub_result(tool.descriptor)
        call.told = answer_for_model(call.result)
    elif ruling.decision is CallDecision.DENIED:
        call.error, call.is_error, call.told = f"{DENIED}: {ruling.why}", True, f"error: {DENIED}"
        if ruling.by is DecidedBy.POLICY:
            remark = f"the model called `{tool.name}`, which was not executed: {ruling.why}"
            if tool.is_listed:
                remark += "; use `tools: { allow: [...] }` or `dry` to change that"
            so_far.remarks += [] if remark in so_far.remarks else [remark]


async def _make(call: ToolCall, services: LoopServices) -> None:
    """Make one call; whatever comes of it is told to the model."""
    began = services.clock()
    try:
        answer = await services.call_tool(call)
    except ServerError as error:
        _lose(error, [call])
        return
    except UsageError as error:  # arguments that cannot be sent
        call.error, call.is_error = error.message, True
        call.told = cut_to_limit(f"error: {error.message}")
        return
    except asyncio.CancelledError:
        call.error, call.is_error = "interrupted", True
        raise
    finally:
        call.duration_ms = (services.clock() - began) * 1000
    if "result" in answer:
        call.result = answer["result"]
        call.is_error = answer["result"].get("isError") is True
        call.told = answer_for_model(answer["result"])
        return
    call.error, call.is_error = describe_error(answer["error"], services.redact), True
    call.told = cut_to_limit(f"error: {_error_text(answer['error'])}")


def _error_text(error: object) -> str:
    message = error.get("message") if isinstance(error, dict) else None
    return message if isinstance(message, str) and message else describe_error(error)

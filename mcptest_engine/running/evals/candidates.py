"""The answers that are graded: each is got once and shared by the rows that grade it. Source: decisions 6."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.clipping import told_error
from mcptest_engine.core.errors import ServerError
from mcptest_engine.core.results import Failure, FailureKind, Verdict
from mcptest_engine.judging.circumstances import told_texts
from mcptest_engine.running.verdicts import Outcome, failed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from mcptest_engine.running.cases import Case
    from mcptest_engine.running.evals.program import Candidate
    from mcptest_engine.running.sessions import Sessions
    from mcptest_engine.servers.session import Exchange

_TOLD = 300


class Answer(NamedTuple):
    """An answer to grade, or in `failed` why there is none.

    `request` and `output` are the tool call's, as in a test's result; `trace` is the conversation of a model. `spends`: what
    it cost counts in this row, as in no other one. `size` is the number of bytes that the tool's answer came in, `odd` what its
    server's list has against the arguments.
    """

    text: str = ""
    failed: Outcome | None = None
    request: Mapping[str, Any] | None = None
    output: Mapping[str, Any] | None = None
    trace: Mapping[str, Any] | None = None
    model: str | None = None
    size: int = 0
    odd: str | None = None
    spends: bool = True

    @property
    def acted(self) -> bool:
        """Whether a tool or a model was called for it."""
        return self.request is not None or self.trace is not None


class Candidates:
    """The answers of a run. `ask_agent` has a model answer: it is given the case, with the agent's program in it.

    `call_tool` is the run's own.
    """

    def __init__(
        self,
        *,
        redact: Callable[[Any], Any],
        call_tool: Callable[..., Awaitable[tuple[Exchange, str | None]]],
        ask_agent: Callable[[Case, Sessions], Awaitable[Outcome]],
    ) -> None:
        self._redact = redact
        self._call_tool = call_tool
        self._ask_agent = ask_agent
        self._found: dict[str, asyncio.Future[Answer]] = {}

    def has(self, key: str) -> bool:
        """Whether the answer with this key is there, or is being got."""
        return key in self._found

    async def get(self, case: Case, sessions: Sessions, *, anew: bool) -> Answer:
        """The answer that `case` grades. `anew`: one that could not be got is tried for once more."""
        assert case.eval_row is not None
        key = case.eval_row.candidate.key
        found = self._found.get(key)
        if found is not None and not (anew and found.done() and found.result().failed is not None):
            return (await asyncio.shield(found))._replace(spends=False)
        found = self._found[key] = asyncio.get_running_loop().create_future()
        try:
            answer = await self._got(case, case.eval_row.candidate, sessions)
        except BaseException as wrong:
            del self._found[key]
            if isinstance(wrong, asyncio.CancelledError):
                found.cancel()
            else:
                found.set_exception(wrong)
                found.exception()  # seen, although nobody else may wait for it
            raise
        found.set_result(answer)
        return answer

    async def _got(self, case: Case, candidate: Candidate, sessions: Sessions) -> Answer:
        if candidate.output is not None:
            return Answer(candidate.output)
        if candidate.call is not None:
            return await self._called(case, candidate.call, sessions)
        assert candidate.agent is not None
        outcome = await self._ask_agent(case._replace(agent=candidate.agent), sessions)
        trace = outcome.trace or {}
        if outcome.verdict is not Verdict.PASS:
            return Answer(failed=outcome, trace=outcome.trace, model=outcome.model)
        return Answer(str(trace.get("final_response", "")), trace=outcome.trace, model=outcome.model)

    async def _called(self, case: Case, call: Mapping[str, Any], sessions: Sessions) -> Answer:
        server, tool = call["server"], call["tool"]
        params = {"name": tool, "arguments": call.get("args", {})}
        request = {"method": "tools/call", "params": params}
        try:
            exchange, odd = await self._call_tool(
                sessions, server, tool, params["arguments"], timeout_seconds=case.timeout_seconds
            )
        except ServerError as error:
            outcome = failed(error, duration_ms=0.0)
            return Answer(failed=outcome, request=request, output=outcome.output)
        answer = exchange.answer
        output = {key: answer[key] for key in ("result", "error") if answer.get(key) is not None}
        told = self._fault(tool, answer)
        if told is None:
            text = text_of(answer["result"])
            if text is not None:
                return Answer(text, request=request, output=output, size=exchange.size, odd=odd)
            told = f"`{tool}` answered without a text"
        told = f"there is no answer to grade: {told}"
        failure = Failure(kind=FailureKind.ASSERTION, message=told, hint=odd)
        outcome = Outcome(verdict=Verdict.FAIL, duration_ms=0.0, message=told, failure=failure)
        return Answer(failed=outcome, request=request, output=output, size=exchange.size)

    def _fault(self, tool: str, answer: Mapping[str, Any]) -> str | None:
        """Why what came is no answer, in the server's words."""
        if answer.get("error") is not None:
            return f"the server answered {told_error(answer['error'], self._redact)}"
        result = answer.get("result")
        if isinstance(result, dict) and result.get("isError") is True:
            told = told_texts(result, _TOLD, self._redact) or "(no text)"
            return f"`{tool}` reported an error: {told}"
        if isinstance(result, dict) and result.get("resultType") == "input_required":
            return f"`{tool}` asked for input, and an eval answers none"
        return None


def text_of(result: Mapping[str, Any]) -> str | None:
    """The text of a tool's answer: its text blocks, one a line; else its structured content as JSON; None without either."""
    content = result.get("content")
    blocks = content if isinstance(content, list) else []
    texts = [block["text"] for block in blocks if isinstance(block, dict) and isinstance(block.get("text"), str)]
    if texts:
        return "\n".join(texts)
    structured = result.get("structuredContent")
    return None if structured is None else json.dumps(structured, ensure_ascii=False)

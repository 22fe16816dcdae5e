"""Walks a composition: each node as soon as its parents are done, in parallel where the graph allows it.

A cap (`concurrency`) holds for calls, those of fan-outs included; with a cap of one, nodes run in topological order one after
the other. What is skipped costs no task, so that a long tail of skipped nodes is walked at once.
See docs/how-to/compositions.md.
"""

from __future__ import annotations

import asyncio
from heapq import heappop, heappush
from itertools import count, product
from math import prod
from typing import TYPE_CHECKING, Any, Protocol

from mcptest_engine.core.errors import ServerError
from mcptest_engine.core.results import FailureKind
from mcptest_engine.core.targets import EVERY
from mcptest_engine.core.text import counted
from mcptest_engine.running.kinds.composition.spending import total_said, usage_of
from mcptest_engine.running.kinds.composition.trace import (
    BY_BUDGET,
    BY_INTERRUPTION,
    BY_PARENT,
    BY_WHEN,
    ERR,
    OK,
    SKIPPED,
    Call,
    NodeTrace,
    Trace,
)
from mcptest_engine.suite.references import Reference, Unresolved, fill, part_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcptest_engine.running.kinds.composition.plan import Cap, Loop, NodePlan, Row
    from mcptest_engine.running.kinds.composition.spending import Usage


_LONG_TEXT = 4096


class WalkEnvironment(Protocol):
    """What a walk needs of the outside."""

    async def call(
        self, server: str, tool: str, args: Mapping[str, object], timeout_seconds: float
    ) -> tuple[Mapping[str, Any], str | None]:
        """The answer of `tools/call`, {"result"} or {"error"}, and what the server's list has against the call.

        Raises: ServerError when no answer came.
        """
        ...

    async def compute(self, program: str, value: object) -> list[Any]:
        """The outputs of a jq program. Raises: ComputeError."""
        ...

    def frozen(self, node: NodeTrace, call: Call) -> Mapping[str, Any]:
        """The answer that was kept of a call, in the shape of one that comes. Raises: NotFrozen when none was."""
        ...

    def freeze(self, node: NodeTrace) -> None:
        """Keep what came of a node's calls."""
        ...

    def kind_of(self, error: ServerError) -> FailureKind:
        """Whose failure an error is."""
        ...

    def emit_node(self, node: NodeTrace, *, begun: bool) -> None:
        """A node was begun, or has ended."""
        ...

    def redact(self, value: object) -> Any:
        """The value without secrets, for what is quoted of it."""
        ...

    def clock(self) -> float:
        """Seconds, of a clock that only goes forward."""
        ...


class ComputeError(Exception):
    """A jq program that gave nothing usable; the message says why."""


class NotFrozen(Exception):
    """Nothing was kept of a call; `hint` says how to keep it."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


MOST_COMBINATIONS = 1_000_000
_LEAST_WAIT_SECONDS = 0.01
AT_A_TIME = 100
"""Elements of a fan-out that are stood in for without a turn of the loop between them."""


class _Failed(Exception):
    """Why a node failed."""

    def __init__(
        self,
        message: str,
        hint: str | None = None,
        kind: FailureKind | None = None,
        stderr_tail: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message, self.hint, self.kind, self.stderr_tail = message, hint, kind, stderr_tail
        self.item: int | None = None


class Walk:
    """One walk. Whoever cancels `run` ends every call that is under way; nothing goes on after it."""

    def __init__(self, row: Row, services: WalkEnvironment) -> None:
        self._program, self._variables = row.program, row.variables
        self._services = services
        self._nodes = [NodeTrace(plan) for plan in row.program.nodes]
        self._position = {number: at for at, number in enumerate(row.program.order)}
        self._waiting = [len(plan.parents) for plan in row.program.nodes]
        self._ready: list[int] = []
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._left = len(self._nodes)
        self._over = asyncio.Event()
        self._cancelled = False
        cap = row.program.concurrency
        self._calls = None if cap is None else asyncio.Semaphore(cap)
        self._began = 0.0
        self._deadline = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._places = count()

    async def run(self) -> Trace:
        """Run every node that can be run, and tell what came of all."""
        spending = self._program.spending
        self._began = self._services.clock()
        left = spending.seconds_left()
        if left is not None:
            self._deadline = self._began + left
            self._timer = asyncio.get_running_loop().call_later(left, self._out_of_time)
        for number, parents in enumerate(self._waiting):
            if parents == 0:
                heappush(self._ready, self._position[number])
        self._pump()
        spending.stops.add(self._stop)
        try:
            await self._over.wait()
        except asyncio.CancelledError:
            self._cancelled = True
            raise
        finally:
            spending.stops.discard(self._stop)
            if self._timer is not None:
                self._timer.cancel()
            await _cancel_and_wait(self._tasks.values())
        seconds = self._services.clock() - self._began
        spending.took(seconds)
        trace = Trace(self._program, self._nodes, duration_ms=seconds * 1000)
        if spending.tripped is not None:
            trace.tripped, trace.budget_words = spending.tripped, spending.describe_excess()
        await self._assemble(trace)
        return trace

    def so_far(self) -> Trace:
        """What has come of a walk that was cancelled: what was paid for, and what it was at."""
        now = (self._services.clock() - self._began) * 1000
        for node in self._nodes:
            if node.started_ms is not None and node.duration_ms is None:
                node.status, node.reason, node.output = ERR, "ended: the run was interrupted", None
                node.ended_by = BY_INTERRUPTION
                node.duration_ms = now - node.started_ms
            elif node.status == SKIPPED and node.reason is None:
                node.skipped_by, node.reason = BY_INTERRUPTION, "not run: interrupted"
        return Trace(self._program, self._nodes, duration_ms=now, output_problem="the run was interrupted")

    def _pump(self) -> None:
        """Begin what is ready, the earliest in the order first, and settle what is not to be begun."""
        cap = self._program.concurrency
        while self._ready and not self._cancelled and (cap is None or len(self._tasks) < cap):
            number = self._program.order[heappop(self._ready)]
            if self._skip(number):
                self._settle(number)
                continue
            self._tasks[number] = asyncio.ensure_future(self._node(number))

    def _skip(self, number: int) -> bool:
        """Whether a node must be skipped, with the cause noted in it."""
        node = self._nodes[number]
        if self._program.spending.tripped is not None:
            told = f"not run: the budget was used up ({self._program.spending.tripped})"
            node.skipped_by, node.reason = BY_BUDGET, told
            return True
        for parent in node.plan.parents:
            if parent not in node.plan.defaults and self._nodes[parent].status != OK:
                what = "failed" if self._nodes[parent].status == ERR else "was skipped"
                node.skipped_by, node.reason = BY_PARENT, f"`{self._nodes[parent].plan.id}` {what}"
                return True
        return False

    def _settle(self, number: int) -> None:
        """A node is done: its children may be ready now."""
        self._left -= 1
        for child in self._nodes[number].plan.children:
            self._waiting[child] -= 1
            if self._waiting[child] == 0:
                heappush(self._ready, self._position[child])
        if self._left == 0:
            self._over.set()

    def _out_of_time(self) -> None:
        left = self._deadline - self._services.clock()
        if left > 0:  # the clock stood still meanwhile
            self._timer = asyncio.get_running_loop().call_later(max(left, _LEAST_WAIT_SECONDS), self._out_of_time)
            return
        if self._program.spending.tripped is None:
            self._program.spending.tripped = "max_duration_ms"
        self._program.spending.stop()

    def _stop(self) -> None:
        """A cap was crossed: what is under way ends, and nothing is begun any more."""
        current = asyncio.current_task()
        for number, task in self._tasks.items():
            # A task that is cancelled before its first step never takes it; it sees for itself that it is too late.
            if task is not current and self._nodes[number].started_ms is not None:
                task.cancel()

    async def _node(self, number: int) -> None:
        node = self._nodes[number]
        clock = self._services.clock
        if self._skip(number):
            self._done(number)
            return
        started = clock()
        node.started_ms = (started - self._began) * 1000
        node.place = next(self._places)
        self._services.emit_node(node, begun=True)
        try:
            await self._perform(node)
        except _Failed as wrong:
            node.status, node.reason, node.hint, node.kind = ERR, wrong.message, wrong.hint, wrong.kind
            node.stderr_tail, node.item = wrong.stderr_tail, wrong.item
        except Unresolved as wrong:
            node.status, node.reason, node.hint = ERR, wrong.message, wrong.hint
        except asyncio.CancelledError:
            if self._cancelled:
                raise
            tripped = self._program.spending.tripped is not None
            node.status, node.reason = ERR, self._used_up() if tripped else "the call was cancelled"
        except Exception as wrong:  # noqa: BLE001 - one node that trips us must not leave the others waiting
            told = f"this is a bug in mcptest, not in your server: {type(wrong).__name__}: {wrong}"
            node.status, node.reason = ERR, told
        if node.status == SKIPPED:
            node.started_ms = None
        else:
            node.duration_ms = 0.0 if node.plan.stood_in else (clock() - started) * 1000
        if node.status != OK:
            node.output = None
        self._services.emit_node(node, begun=False)
        self._done(number)

    def _done(self, number: int) -> None:
        del self._tasks[number]
        self._settle(number)
        self._pump()

    def _used_up(self) -> str:
        return f"ended: the budget was used up ({self._program.spending.tripped})"

    async def _perform(self, node: NodeTrace) -> None:
        plan = node.plan
        outputs = {parent: self._output_of(plan, parent) for parent in plan.parents}
        by_id = {self._nodes[parent].plan.id: output for parent, output in outputs.items()}
        if plan.when is not None and not await self._holds(plan.when, {"parents": by_id}, "when"):
            node.skipped_by, node.reason = BY_WHEN, "`when` was false"
            return
        failed = None
        try:
            if plan.for_each is None:
                node.output = await self._called(node, by_id)
            else:
                node.output = await self._fanned_out(node, by_id)
        except _Failed as wrong:
            failed = wrong
        cut_short = failed is not None and self._program.spending.tripped is not None
        if plan.freeze == "record" and not cut_short:  # a refusal is kept as well
            self._services.freeze(node)
        if failed is not None:
            raise failed
        node.status = OK

    def _output_of(self, plan: NodePlan, parent: int) -> Any:
        node = self._nodes[parent]
        return node.output if node.status == OK else plan.defaults[parent]

    async def _holds(self, program: str, context: object, key: str) -> bool:
        """By jq's rule everything is true but false and null; no output is false."""
        outputs = await self._computed(program, context, key)
        return bool(outputs) and outputs[-1] is not None and outputs[-1] is not False

    async def _computed(self, program: str, value: object, key: str) -> list[Any]:
        try:
            return await self._services.compute(program, value)
        except ComputeError as wrong:
            raise _Failed(f"`{key}`: {wrong}") from None

    def _elements(self, plan: NodePlan, by_id: Mapping[str, object]) -> tuple[int, Iterable[Any]]:
        """How many elements a fan-out has, and each; of several arrays their combinations, the last one's changing first."""
        arrays = [self._array(key, source, by_id) for key, source in plan.sources.items()]
        if isinstance(plan.for_each, Reference):
            return len(arrays[0]), arrays[0]
        count = prod(map(len, arrays))
        if count > MOST_COMBINATIONS:
            sizes = " x ".join(str(len(array)) for array in arrays)
            raise _Failed(f"`for_each` has {sizes} = {count} combinations, over {MOST_COMBINATIONS}")
        names = tuple(plan.for_each or ())
        return count, (dict(zip(names, values, strict=True)) for values in product(*arrays))

    def _array(self, key: str, source: Reference, by_id: Mapping[str, object]) -> list[Any]:
        is_sugar = EVERY in source.path and source.path.index(EVERY) == len(source.path) - 1  # `${a.b[*]}` is `${a.b}`
        whole = source._replace(path=source.path[:-1]) if is_sugar else source
        elements = self._part(whole, by_id[source.name])
        if isinstance(elements, list):
            return elements
        from mcptest_engine.core.clipping import kind_of

        found = f"`${{{source.text}}}` (node `{source.name}`) is {kind_of(elements)}"
        raise _Failed(f"`{key}` needs an array, and {found}")

    async def _fanned_out(self, node: NodeTrace, by_id: Mapping[str, object]) -> list[Any]:
        most, elements = self._elements(node.plan, by_id)
        outputs: list[Any] = [None] * most
        queue = iter(enumerate(elements))
        failures: list[tuple[int, Exception]] = []

        async def work() -> None:
            for index, element in queue:
                if failures:
                    return
                if node.plan.stood_in and index % AT_A_TIME == 0:
                    await asyncio.sleep(0)  # nothing else gives others their turn, nor hears that it is to end
                try:
                    outputs[index] = await self._called(node, by_id, item=(index, element))
                except Exception as wrong:
                    if isinstance(wrong, _Failed):
                        wrong.item, wrong.message = index, f"item [{index}]: {wrong.message}"
                    failures.append((index, wrong))
                    raise

        count = min(node.plan.max_concurrency, most)
        if count == 1:  # the usual way needs no task of its own
            await work()
            return outputs
        workers = [asyncio.ensure_future(work()) for _ in range(count)]
        try:
            if workers:
                await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            await _cancel_and_wait(workers)
            node.calls.sort(key=lambda call: (call.item or 0, call.iteration or 0, call.attempt))
        if failures:
            raise min(failures, key=lambda failure: failure[0])[1]
        if any(worker.cancelled() for worker in workers):
            raise asyncio.CancelledError
        return outputs

    async def _called(
        self, node: NodeTrace, by_id: Mapping[str, object], item: tuple[int, object] | None = None
    ) -> Any:
        """Call until the loop's condition holds, once where there is none; the last output."""
        loop = node.plan.loop if not node.plan.mock else None
        if loop is None:
            return await self._tried(node, by_id, item, None)
        for iteration in range(1, loop.most + 1):
            if iteration > 1 and loop.delay_seconds:
                await asyncio.sleep(loop.delay_seconds)
            output = await self._tried(node, by_id, item, iteration)
            told = _over_loop(node, loop, item)
            if told is not None:
                raise _Failed(told, kind=FailureKind.BUDGET)
            context = {"output": output, "iteration": iteration, "parents": by_id}
            if await self._holds(loop.until, context, "loop.until"):
                return output
        raise _Failed(f"`loop.until` did not hold within {counted(loop.most, 'call')}")

    async def _tried(
        self, node: NodeTrace, by_id: Mapping[str, object], item: tuple[int, object] | None, iteration: int | None
    ) -> Any:
        """One call, made again where it fails and may be."""
        try:
            args = self._filled(node.plan.args, by_id, item) if node.plan.templated else node.plan.args
        except Unresolved as wrong:
            raise _Failed(wrong.message, wrong.hint) from None
        tries = 1 if node.plan.stood_in else node.plan.retries + 1
        for attempt in range(1, tries + 1):
            if self._program.spending.tripped is not None:
                raise _Failed(self._used_up())
            call = Call(args=args, attempt=attempt, item=None if item is None else item[0], iteration=iteration)
            call.started_ms = (self._services.clock() - self._began) * 1000
            node.calls.append(call)
            try:
                await self._call(node, call, by_id, item)
            except asyncio.CancelledError:
                call.problem = f"ended before it was {'answered' if call.result is None else 'done'}"
                raise
            if call.problem is None:
                return call.output  # what was paid for is kept, also where it was too much
        raise _Failed(str(call.problem), call.hint, call.kind, call.stderr_tail)

    async def _call(
        self, node: NodeTrace, call: Call, by_id: Mapping[str, object], item: tuple[int, object] | None
    ) -> None:
        clock, plan = self._services.clock, node.plan
        if plan.mock:
            try:
                call.result = self._filled(plan.mock[0], by_id, item)
            except Unresolved as wrong:
                call.problem, call.hint = wrong.message, wrong.hint
                return
        elif plan.freeze == "golden":
            try:
                answer = self._services.frozen(node, call)
            except NotFrozen as wrong:
                call.problem, call.hint = wrong.message, wrong.hint
                return
            call.result = answer["result"]
        else:
            if self._calls is not None:
                await self._calls.acquire()
            began = clock()
            call.started_ms = (began - self._began) * 1000
            try:
                if self._program.spending.tripped is not None:  # by the call whose turn it was
                    call.problem = self._used_up()
                    return
                answer, odd = await self._services.call(plan.server, plan.tool, call.args, plan.timeout_seconds)
            except ServerError as error:
                call.problem, call.hint, call.kind = error.message, error.hint, self._services.kind_of(error)
                call.stderr_tail = error.stderr_tail or None
                return
            finally:
                call.duration_ms = (clock() - began) * 1000
                if self._calls is not None:
                    self._calls.release()
            if "result" not in answer:
                from mcptest_engine.core.clipping import describe_error

                refusal = answer.get("error")
                code = refusal.get("code") if isinstance(refusal, dict) else None
                call.refused, call.error_code = True, code if type(code) is int else None
                call.problem, call.hint = f"the server answered {describe_error(refusal, self._services.redact)}", odd
                return
            call.result, call.hint = answer["result"], odd
        call.usage = usage_of(call.result)
        if self._program.spending.add(call.usage):  # at once, before whoever waits for a turn gets it
            self._program.spending.stop()
        call.problem = self._refusal(call.result)
        call.refused = call.problem is not None
        members = ("max_cost_per_call_usd", "max_tokens_per_call")
        if call.problem is None and (over := _over(plan.cap, call.usage, "the call", members)) is not None:
            call.problem, call.kind = over, FailureKind.BUDGET
        if call.problem is None:
            node.odd, call.hint = node.odd or call.hint, None
            call.output = call.result
            if plan.transform is not None:
                call.output, call.problem = await self._made(plan.transform, {"result": call.result}, "transform")
                call.output = share_long_texts(call.output, call.result)

    async def _made(self, program: str, value: object, key: str) -> tuple[Any, str | None]:
        """(the one output of a program, None), or (None, what is wrong with it)."""
        try:
            outputs = await self._computed(program, value, key)
        except _Failed as wrong:
            return None, wrong.message
        if len(outputs) == 1:
            return outputs[0], None
        return None, f"`{key}` must give one value, but gave {len(outputs)}"

    def _filled(self, value: object, by_id: Mapping[str, object], item: tuple[int, object] | None) -> Any:
        def look_up(reference: Reference) -> Any:
            if reference.space == "item":
                return reference if item is None else self._part(reference, item[1])
            if reference.space == "var":
                known = reference.name in self._variables
                return self._part(reference, self._variables[reference.name]) if known else reference
            return self._part(reference, by_id[reference.name]) if reference.space == "node" else reference

        return fill(value, look_up)

    def _part(self, reference: Reference, value: object) -> Any:
        try:
            return part_of(reference, value)
        except Unresolved:
            part_of(reference, self._services.redact(value))  # what it says quotes keys, and cuts them off
            raise

    def _refusal(self, result: object) -> str | None:
        """What a tool that reports an error says."""
        if not isinstance(result, dict) or result.get("isError") is not True:
            return None
        from mcptest_engine.judging.answer_text import content_text

        return f"the tool reported an error: {content_text(result, 300, self._services.redact) or '(no text)'}"

    async def _assemble(self, trace: Trace) -> None:
        output = self._program.output
        if isinstance(output, int):
            trace.output = self._nodes[output].output
            return
        if trace.tripped is not None:
            return
        context = {"nodes": {node.plan.id: node.output for node in self._nodes}}
        trace.output, trace.output_problem = await self._made(output, context, "output.assemble")
        trace.output = share_long_texts(trace.output, context)


def _over_loop(node: NodeTrace, loop: Loop, item: tuple[int, object] | None) -> str | None:
    if loop.cap.cost_usd is None and loop.cap.tokens is None:
        return None
    number = None if item is None else item[0]
    usage = total_said(call.usage for call in node.calls if call.item == number)
    return _over(loop.cap, usage, "the calls of the loop", ("loop.max_cost_usd", "loop.max_tokens"))


def _over(cap: Cap, usage: Usage, what: str, keys: tuple[str, str]) -> str | None:
    """Which cap is crossed, and by what; `keys` are what the suite calls the two. What is unknown holds no cap."""
    if cap.cost_usd is not None and usage.cost_usd is None:
        return f"the cost of {what} is unknown, and may exceed `{keys[0]}: {cap.cost_usd}`"
    if cap.cost_usd is not None and usage.cost_usd is not None and usage.cost_usd > cap.cost_usd:
        return f"{what} cost ${usage.cost_usd}, over `{keys[0]}: {cap.cost_usd}`"
    if cap.tokens is not None and usage.tokens > cap.tokens:
        return f"{what} took {usage.tokens} tokens, over `{keys[1]}: {cap.tokens}`"
    if cap.tokens is not None and not usage.knows_tokens:
        return f"the number of tokens of {what} is unknown, and may exceed `{keys[1]}: {cap.tokens}`"
    return None


async def _cancel_and_wait(tasks: Iterable[asyncio.Task[None]]) -> None:
    """Cancel what is left of them, and wait until all have ended, whoever else wants this to end meanwhile."""
    every = tuple(tasks)
    left = {task for task in every if not task.done()}
    for task in left:
        task.cancel()
    cancelled = False
    while left:
        try:
            _, left = await asyncio.wait(left)
        except asyncio.CancelledError:
            cancelled = True
            left = {task for task in left if not task.done()}
    for task in every:
        if not task.cancelled():
            task.exception()  # whoever failed has said so; asyncio is told that somebody knows
    if cancelled:
        raise asyncio.CancelledError


def share_long_texts(value: object, source: object) -> Any:
    """Return `value` with each long text that also stands in `source` replaced by that one object, so that it is held once.

    `value` is fresh JSON that nobody else holds: it is changed in place.
    """
    if not _long_texts(value):
        return value
    known = {text: text for text in _long_texts(source)}
    top = [value]
    met: list[Any] = [top]
    for container in met:  # which grows meanwhile
        for place, member in container.items() if isinstance(container, dict) else enumerate(container):
            if isinstance(member, (dict, list)):
                met.append(member)
            elif isinstance(member, str) and len(member) >= _LONG_TEXT:
                container[place] = known.get(member, member)
    return top[0]


def _long_texts(source: object) -> list[str]:
    found: list[str] = []
    met = [source]
    for member in met:
        if isinstance(member, str):
            if len(member) >= _LONG_TEXT:
                found.append(member)
        elif isinstance(member, dict):
            met += member.values()
        elif isinstance(member, list):
            met += member
    return found

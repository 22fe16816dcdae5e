"""The one orchestrator: takes a plan and a pool of servers, tells what happens, and returns the run's record.

It never prints, writes or waits for a listener. Workers take cases in declared order; a serial case is a barrier. How one case
comes to its verdict is `attempts.py`'s affair, and `calling.py`'s how one request does.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from dataclasses import field, replace
from typing import TYPE_CHECKING

from mcptest_engine.core.enums import ExpectedOutcome
from mcptest_engine.core.events import (
    CaseAnswered,
    CaseExplained,
    CaseFinished,
    CaseStarted,
    PlannedTest,
    RunFinished,
    RunStarted,
    Warned,
)
from mcptest_engine.core.results import NotRun, TestResult, Verdict
from mcptest_engine.core.run_record import Totals
from mcptest_engine.core.text import counted
from mcptest_engine.core.values import dataclass
from mcptest_engine.running.attempts import Decision, decide, interrupted_at, stopped_by
from mcptest_engine.running.calling import Caller
from mcptest_engine.running.case_results import ResultBuilder, with_line
from mcptest_engine.running.cases import Check
from mcptest_engine.running.verdicts import Outcome, deferred_outcome, with_tool_hint

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from mcptest_engine.core.events import Emit
    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.judging.snapshots import SnapshotStore
    from mcptest_engine.running.caching import Caching
    from mcptest_engine.running.cases import AnswerObserver, Case, Plan
    from mcptest_engine.running.causes import Causes, Held
    from mcptest_engine.running.coverage_extension import CoverageExtension
    from mcptest_engine.running.guessed_cases import GuessedCases
    from mcptest_engine.running.hooks import Hooks, Stop
    from mcptest_engine.running.judged import Judged
    from mcptest_engine.running.kinds.composition.freezing import Freezer
    from mcptest_engine.running.pool import Pool
    from mcptest_engine.running.stored_results import ResultStorage

_REMEMBERED = 256
"""Of so many tests that have ended it is known beside which others they ran."""
_MOST_HELD = 50
"""So many failed tests wait to be tried again, and no other is begun before they have been."""
_MANY = 1_000
"""Results of a run with more tests than these are packed: it costs time, and holds a fraction of the memory."""


class Overlaps:
    """Which tests ran at the same time, by their places in the plan; it is known of those that ended lately."""

    def __init__(self) -> None:
        self._tick = 0
        self._under_way: dict[int, int] = {}
        self._lately: deque[tuple[int, int]] = deque(maxlen=_REMEMBERED)

    def begin(self, place: int) -> int:
        """Record that a test begins; return the tick that `beside` takes as its begin."""
        self._tick = self._under_way[place] = self._tick + 1
        return self._tick

    def end(self, place: int) -> None:
        """Record that a test has ended, and at which tick."""
        del self._under_way[place]
        self._lately.append((self._tick, place))

    def beside(self, place: int, began: int) -> list[int]:
        """The tests that ran beside one that has just ended and began at a tick: those that have ended come first."""
        others = [(tick, other) for other, tick in self._under_way.items()]
        others += [(0, other) for ended, other in self._lately if ended >= began and other != place]
        return [other for _, other in sorted(others)]


@dataclass(slots=True, kw_only=True)
class Run:
    """One run of a plan. `blank` is the record with all but its outcome filled in.

    `execute` may be ended early by cancelling its task: tests under way and not yet begun become skips, the servers are
    closed, and the record and `RunFinished` still come. Hooks are brackets: around the run with its servers, and around each
    test with all its attempts. A bracket once opened is closed, also when the run is ended early. `limits` are those of the
    suite's `effects`; `mutation_scores` those of the last mutation run, by the id of a test. With one worker, `admit` is
    awaited in front of each case, which is not run where it says False.
    """

    plan: Plan
    pool: Pool
    emit: Emit
    storage: ResultStorage
    blank: RunRecord
    conclude: Callable[[RunRecord], RunRecord]
    hooks: Hooks | None = None
    snapshots: SnapshotStore | None = None
    coverage: CoverageExtension | None = None
    cache: Caching | None = None
    freezer: Freezer | None = None
    judged: Judged | None = None
    limits: Mapping[str, int] | None = None
    mutation_scores: Mapping[str, float] = field(default_factory=dict)
    observer: AnswerObserver | None = None
    admit: Callable[[Case], Awaitable[bool]] | None = None
    clock: Callable[[], float] = time.monotonic

    _results: list[TestResult | None] = field(default_factory=list)
    _started: float = 0.0
    _failures: int = 0
    _stopped: str | None = None
    _halted: Stop | None = None
    _warnings: dict[int, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    _places: dict[str, int] = field(default_factory=dict)
    _ended: dict[int, asyncio.Future[None]] = field(default_factory=dict)
    _begun: dict[int, float] = field(default_factory=dict)
    _overlaps: Overlaps = field(default_factory=Overlaps)
    _held: list[Held] = field(default_factory=list)
    _causes: Causes | None = None
    _unlisted: list[str] = field(default_factory=list)
    _guessed: GuessedCases | None = None
    _caller: Caller = field(init=False)
    _builder: ResultBuilder = field(init=False)

    def __post_init__(self) -> None:
        self._caller = Caller(
            snapshots=self.snapshots,
            redact=self.storage.redact,
            clock=self.clock,
            emit=self.emit,
            freezer=self.freezer,
            judged=self.judged,
            observer=self.observer,
        )

    async def execute(self, *, interrupted: bool = False) -> RunRecord:
        """Run every case; the record holds one result for each, in declared order. `interrupted`: run none of them."""
        cases = self.plan.cases
        self._results = [None] * len(cases)
        judged_of = {case.subject for case in cases if case.subject is not None}
        self._places = {case.id: index for index, case in enumerate(cases) if case.id in judged_of}
        self._started = self.clock()
        self._builder = ResultBuilder(
            storage=self.storage,
            started=self._started,
            is_replayed=self.blank.mode == "replayed",
            with_models=self.judged is not None,
            mutation_scores=self.mutation_scores,
        )
        if any(case.guess is not None for case in cases):
            from mcptest_engine.running.guessed_cases import GuessedCases  # few suites have made-up arguments

            self._guessed = GuessedCases(cases, self._caller.errors, self.storage.redact)
        self.pool.expect_groups(cases)
        self.emit(
            RunStarted(
                run_id=self.blank.run_id,
                suite=self.blank.suite,
                tests=tuple(_planned(case) for case in cases),
                workers=self.plan.workers,
            )
        )
        hooks = self.hooks if any(case.begins for case in cases) and not interrupted else None
        if hooks is not None:
            hooks.since = self._started
        try:
            if not interrupted:
                await self._set_up(hooks)
                await self._all(cases, hooks)
                if self.coverage is not None and self._halted is None:
                    await self.coverage.look(self._caller.catalogs.read())
                if self._guessed is not None and self._halted is None and self.blank.mode != "replayed":
                    await self._guessed.explain(self._results, self.pool, self._caller.catalogs.read())
                if self.limits is not None and self._halted is None and self.blank.mode != "replayed":
                    self._unlisted = await self._caller.effects.list_servers(self.pool)
        except asyncio.CancelledError:
            interrupted = True
        duration_ms = (self.clock() - self._started) * 1000
        interrupted = await _bring_to_end(self._close()) or interrupted
        if hooks is not None:
            interrupted = await self._clean_up(hooks, interrupted) or interrupted
            duration_ms = (self.clock() - self._started) * 1000
        record = self._record(duration_ms, interrupted)
        self.emit(RunFinished(record=record))
        return record

    async def _set_up(self, hooks: Hooks | None) -> None:
        """What comes before the servers, and then the servers, if they have waited for it."""
        if self.cache is not None:
            self.pool.warm(_servers_of(self.cache.cases_to_run(self.plan.cases), self.pool))
        if hooks is None or not hooks.opens_run:
            return
        self._halted = await hooks.before_all()
        if self._halted is None:
            self.pool.warm(_servers_of(self.plan.cases, self.pool))

    async def _clean_up(self, hooks: Hooks, interrupted: bool) -> bool:
        """What comes after the servers; true when somebody wanted the run to end meanwhile."""
        failed = sum(result is not None and result.verdict is Verdict.FAIL for result in self._results)
        message = f"{failed} of {counted(len(self._results), 'test')} failed" if failed else None
        if self._halted is not None and self._halted.failed:
            message = self._halted.reason
        if interrupted:
            hooks.shorten_time_limits()
            message = "the run was interrupted"
        wanted_to_end = False
        try:
            await hooks.after_all(Verdict.PASS if message is None else Verdict.FAIL, message)
        except asyncio.CancelledError:
            wanted_to_end = True
        return await _bring_to_end(hooks.close()) or wanted_to_end

    async def _close(self) -> None:
        """End the servers, and what is still read of them."""
        await self._caller.catalogs.close()
        await self.pool.close()

    async def _all(self, cases: Sequence[Case], hooks: Hooks | None) -> None:
        for batch in _batches(cases, self.plan.workers):
            if len(batch) == 1:
                index, case = batch[0]
                if self.admit is None or self._decision_without_run(case) is not None or await self.admit(case):
                    await self._run_between_hooks(index, case, hooks)
                else:
                    self._finish(index, case, _skipped("not run: not requested", NotRun.NOT_ASKED), self.clock())
                continue
            queue = iter(sorted(batch, key=_waits_for_another))
            while True:
                async with asyncio.TaskGroup() as workers:
                    for _ in range(min(self.plan.workers, len(batch))):
                        workers.create_task(self._work(queue))
                if not self._held:
                    break
                await self._settle_held()

    async def _work(self, queue: Iterator[tuple[int, Case]]) -> None:
        for index, case in queue:
            await self._decide(index, case)
            if len(self._held) >= _MOST_HELD or any(held.is_open for held in self._held):
                return  # they are tried again when nothing is under way; whose verdict is open, at once

    async def _settle_held(self) -> None:
        """Find out why tests failed that ran beside others, now that nothing else is under way."""
        from mcptest_engine.running.causes import Causes

        if self._causes is None:
            self._causes = Causes(
                self.plan.cases, pool=self.pool, caller=self._caller, clock=self.clock, snapshots=self.snapshots
            )
        await self._causes.settle(tuple(self._held), self._explain, so_far=self.clock() - self._started)

    def _explain(self, held: Held, decision: Decision, *, is_known: bool = True) -> None:
        """Take what is known by now of a test that waited to be tried again: its verdict, or why it has failed."""
        self._held.remove(held)
        if self.cache is not None and is_known:
            self.cache.note(held.case, decision, listed=held.case.id not in self._caller.unlisted)
        failure = decision.outcome.failure
        if self.snapshots is not None and failure is not None and failure.distrust is not None:
            self.snapshots.distrust(held.case.snapshot_name)
        index, before = held.place, self._results[held.place]
        if before is None:
            decision = decision if self._guessed is None else self._guessed.doubt(held.case, decision)
            self._finish(index, held.case, decision, held.began)
            return
        if decision is held.decision:
            return
        outcome = decision.outcome
        if outcome == held.decision.outcome._replace(failure=outcome.failure, warnings=outcome.warnings):
            result = replace(before, failure=self.storage.redact_failure(with_line(outcome.failure, held.case)))
        else:
            result = self._builder.build(held.case, decision, held.began)
        self._results[index] = result
        self._warn_of(index, held.case, outcome)
        self.emit(CaseExplained(index=index, result=result))
        self._pack(result, outcome)

    def _held_back(self, index: int, case: Case, decision: Decision, began: float, tick: int) -> Held | None:
        """A failed test that is tried again alone: calls of other tests to its servers were under way."""
        failure = decision.outcome.failure
        if failure is None or decision.cached or self.blank.mode == "replayed" or case.id in self._places:
            return None
        servers, others = set(case.servers), self._overlaps.beside(index, tick)
        beside = tuple(other for other in others if not servers.isdisjoint(self.plan.cases[other].servers))
        if not beside:
            return None
        from mcptest_engine.running.causes import DEPENDS_ON_NOBODY, Held

        if failure.kind in DEPENDS_ON_NOBODY or case.kind.may_ask_models:
            return None
        return Held(index, case, decision, began, beside)

    async def _run_between_hooks(self, index: int, case: Case, hooks: Hooks | None) -> None:
        """Bring one case to its verdict between its hooks, where it has any; they decide before it is begun."""
        if (
            hooks is None
            or not hooks.around_tests
            or case.subject is not None
            or self._decision_without_run(case) is not None
        ):
            await self._decide(index, case)
            return
        try:
            stop = await hooks.before_each(case)
            if stop is None:
                await self._decide(index, case)
            else:
                self._finish(index, case, stopped_by(stop), self.clock())
        except asyncio.CancelledError:
            hooks.shorten_time_limits()
            self._finish(
                index, case, interrupted_at(case, self._caller, self._begun.pop(index, None), self.clock), self.clock()
            )
            await self._after(index, case, hooks)
            raise
        await self._after(index, case, hooks)

    async def _after(self, index: int, case: Case, hooks: Hooks) -> None:
        result = self._results[index]
        assert result is not None
        await hooks.after_each(case, result.verdict, result.message)

    def _decision_without_run(self, case: Case) -> Decision | None:
        """What a case comes to without being begun, or None."""
        if case.skip is not None:
            return _skipped(case.skip)
        if self._halted is not None:
            return stopped_by(self._halted)
        if case.deferred is not None:
            return Decision(deferred_outcome(case.deferred), ())
        return None if self._stopped is None else _skipped(self._stopped, NotRun.BAIL)

    async def _decide(self, index: int, case: Case) -> None:
        """Bring one case to its verdict, with as many attempts as it may have."""
        settled = self._decision_without_run(case)
        if settled is not None:
            self._finish(index, case, settled, self.clock())
            return
        if case.subject is not None:
            await self._judge_metric(index, case, case.subject)
            return
        began = self.clock()
        self.emit(CaseStarted(index=index, id=case.id))
        tick = self._overlaps.begin(index)
        self._begun[index] = began
        decision = None if self.cache is None else await self.cache.judged_again(case, self._caller)
        if decision is None:
            decision = await decide(
                case,
                pool=self.pool,
                caller=self._caller,
                stopped=lambda: self._stopped is not None,
                hooks=self.hooks if self.hooks is not None and self.hooks.around_attempts else None,
            )
            del self._caller.spent[case.id]  # the decision has it
        del self._begun[index]
        self._overlaps.end(index)
        held = self._held_back(index, case, decision, began, tick)
        if held is not None:
            self._held.append(held)
            if held.is_open:
                self.emit(CaseAnswered(id=case.id, is_held=True))
                self._release(index)
            else:
                self._finish(index, case, decision, began)
            return
        if self.cache is not None and not decision.cached:
            self.cache.note(case, decision, listed=case.id not in self._caller.unlisted)
        if case.guess is not None and case.outcome is ExpectedOutcome.ERROR:
            decision = await self._compared(index, case, decision)
        self._finish(index, case, decision, began)

    async def _judge_metric(self, index: int, case: Case, subject_id: str) -> None:
        """Have a model judge another case, once that has come to its end. It was begun before this one, so it will."""
        place = self._places.get(subject_id, index)
        subject = await self._result_of(place) if place < index else None
        settled = self._decision_without_run(case)
        began = self.clock()
        if settled is None:
            self.emit(CaseStarted(index=index, id=case.id))
            self._begun[index] = began
            description = None if subject is None else self.plan.cases[place].description
            outcome = await self._caller.bodies.judge_metric(case, subject, description or "")
            settled = Decision(outcome, ())
            del self._begun[index]
        self._finish(index, case, settled, began)

    async def _compared(self, index: int, case: Case, decision: Decision) -> Decision:
        """A refusal of invalid arguments, once the earlier calls of the same with valid ones have ended."""
        assert self._guessed is not None
        if decision.outcome.verdict is Verdict.PASS:
            for place in self._guessed.valid_before(index):
                if not any(held.place == place for held in self._held):
                    await self._wait_for(place)
        return self._guessed.doubt(case, decision)

    async def _result_of(self, place: int) -> TestResult:
        """The result of an earlier case, waited for where it is not there yet."""
        await self._wait_for(place)
        result = self._results[place]
        assert result is not None  # what a model judges is not held back
        return result

    async def _wait_for(self, place: int) -> None:
        """Wait until an earlier case has its result, or waits to be tried again when nothing is under way."""
        if self._results[place] is None:
            ended = self._ended.get(place)
            if ended is None:
                ended = self._ended[place] = asyncio.get_running_loop().create_future()
            await asyncio.shield(ended)  # others may wait for it too

    def _release(self, index: int) -> None:
        """Whoever waits for this case waits no longer."""
        ended = self._ended.pop(index, None)
        if ended is not None and not ended.done():
            ended.set_result(None)

    def _finish(self, index: int, case: Case, decision: Decision, began: float) -> None:
        outcome = decision.outcome
        result = self._results[index] = self._builder.build(case, decision, began)
        self._release(index)
        self.pool.leave_groups(case)
        self._warn_of(index, case, outcome)
        if outcome.verdict is Verdict.FAIL:
            self._failures += 1
            if self.plan.bail is not None and self._failures >= self.plan.bail and self._stopped is None:
                self._stopped = f"not run: stopped after {counted(self._failures, 'failure')} (bail)"
        self.emit(CaseFinished(index=index, result=result))
        self._pack(result, outcome)

    def _warn_of(self, index: int, case: Case, outcome: Outcome) -> None:
        """Tell the warnings of a test, each once."""
        before = self._warnings.pop(index, ())
        if not outcome.warnings:
            return
        redact = self.storage.redact_text
        self._warnings[index] = tuple((redact(case.name), redact(text)) for text in outcome.warnings)
        for name, text in self._warnings[index]:
            if (name, text) not in before:
                self.emit(Warned(message=f"{name}: {text}"))

    def _pack(self, result: TestResult, outcome: Outcome) -> None:
        if outcome.size or len(self.plan.cases) > _MANY:
            result.pack()

    def _record(self, duration_ms: float, interrupted: bool) -> RunRecord:
        for held in tuple(self._held):  # interrupted: nobody knows more of them
            self._explain(held, held.decision, is_known=False)
        for index, case in enumerate(self.plan.cases):
            if self._results[index] is None:
                self._finish(
                    index, case, interrupted_at(case, self._caller, self._begun.get(index), self.clock), self.clock()
                )
        known = dict(self._caller.answered)
        self.pool.listed = self._caller.catalogs.read()
        for server, lists in self.pool.listed.items():
            known[server] = known.get(server, set()) | {str(tool.get("name")) for tool in lists.get("tools", ())}
        tests = tuple(with_tool_hint(result, known) for result in self._results if result is not None)
        hooked = () if self.hooks is None else tuple(self.hooks.warnings)
        judged = _warnings_once(told for index in sorted(self._warnings) for told in self._warnings[index])
        record = replace(
            self.blank,
            tests=tests,
            totals=Totals.of(tests),
            duration_ms=round(duration_ms, 3),
            interrupted=interrupted,
            servers=self.pool.records(),
            effects=self._caller.effects.effects(replayed=self.blank.mode == "replayed", limits=self.limits),
            warnings=(
                *self.blank.warnings,
                *self.pool.warnings(),
                *(self.storage.redact_text(problem) for problem in (*self._unlisted, *self._caller.catalogs.warnings)),
                *judged,
                *hooked,
            ),
            hooks=() if self.hooks is None else tuple(self.hooks.results),
        )
        return self.conclude(record)


async def _bring_to_end(work: Coroutine[Any, Any, None]) -> bool:
    """Do `work` to its end; true when somebody wanted the run to end meanwhile, however often: its report is to come."""
    task, wanted_to_end = asyncio.ensure_future(work), False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            wanted_to_end = True
    task.result()
    return wanted_to_end


def _batches(cases: Sequence[Case], workers: int) -> Iterator[list[tuple[int, Case]]]:
    """Runs of cases that may go at once; a serial case is a batch of its own. One worker takes all in declared order."""
    batch: list[tuple[int, Case]] = []
    for index, case in enumerate(cases):
        if case.serial or workers == 1:
            if batch:
                yield batch
            yield [(index, case)]
            batch = []
        else:
            batch.append((index, case))
    if batch:
        yield batch


def _waits_for_another(item: tuple[int, Case]) -> bool:
    """What is judged by other cases is taken last, so that no worker waits while there is another case to begin."""
    case = item[1]
    return case.subject is not None or (case.guess is not None and case.outcome is ExpectedOutcome.ERROR)


def _planned(case: Case) -> PlannedTest:
    return PlannedTest(id=case.id, name=case.name, kind=case.kind, server=case.server, file=case.file, line=case.line)


def _servers_of(cases: Sequence[Case], pool: Pool) -> dict[str, None]:
    """The servers that are sure to be used, in the order of their first use; a test with its own `client` opens its own."""
    servers: dict[str, None] = {}
    for case in cases:
        if not case.begins:
            continue
        pin = case.body.pin if isinstance(case.body, Check) else None
        own = None if case.request.client is None else case.server
        for server in case.servers:
            if server != own and server not in case.fresh:
                servers[server if pin is None else pool.pinned(server, pin)] = None
    return servers


def _warnings_once(warnings: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Warnings of tests, (name, text), with the first name of each text and how many more tests have it."""
    found: dict[str, list[str]] = {}
    for name, text in warnings:
        found.setdefault(text, []).append(name)
    more = {text: counted(len(names) - 1, "more test") for text, names in found.items()}
    return tuple(f"{names[0]}{f' and {more[text]}' if len(names) > 1 else ''}: {text}" for text, names in found.items())


def _skipped(reason: str, not_run: NotRun | None = None) -> Decision:
    return Decision(Outcome(Verdict.SKIP, 0.0, message=reason, not_run=not_run), ())

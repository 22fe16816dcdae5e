"""Why a test failed while calls of other tests were under way: it is run again alone, and where it passes so, beside another.

Two cases. A test whose call was answered has failed for good, and its result is known before it is run again. If it fails
again, it has failed by itself; if it passes alone, the failure is the server's (`interference`), or the test is flaky, if it
fails alone after all. A test whose call got no answer, because the server died or hung, has no result yet: it passes if it
passes alone and another test is found to be the reason, which fails: the one whose call ends the server again, else the one
that began first. Where a person ended the server, the call that had waited longest fails, and is not made again: it would only
hang once more.

Nothing is called again that may change state, nor what asks a model. See docs/explanation/safety.md.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import cycle, islice
from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.core.enums import FAILS_ALONE, TestKind
from mcptest_engine.core.results import Cause, FailureKind, Verdict
from mcptest_engine.core.text import counted
from mcptest_engine.running.attempts import Decision, decide
from mcptest_engine.running.verdicts import ERROR_HINT
from mcptest_engine.safety.tool_classes import classify
from mcptest_engine.servers.failures import BY_HAND
from mcptest_engine.suite.items import uses_matcher

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from mcptest_engine.judging.snapshots import SnapshotStore
    from mcptest_engine.running.calling import Caller
    from mcptest_engine.running.cases import Case
    from mcptest_engine.running.kinds.composition.plan import Row
    from mcptest_engine.running.pool import Pool
    from mcptest_engine.running.sessions import Broken
    from mcptest_engine.servers.session import Session

MOST_PAIRS = 20
MOST_HANGS = 3
"""So many calls of a run are tried again that timed out and do so again, however long it takes."""
LEAST_SECONDS = 10.0
"""How long tests are tried again at the least; where the run itself has taken longer, as long as that."""
SLOW = frozenset({FailureKind.BUDGET, FailureKind.TIMEOUT})
DEPENDS_ON_NOBODY = frozenset({FailureKind.AUTH, FailureKind.HOOK, FailureKind.SCORER, FailureKind.SUITE})
_FLAKY = "sometimes passes and sometimes fails, even alone: the server or the test is flaky"
_READING = frozenset(
    {
        "tools/list",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "prompts/list",
        "prompts/get",
        "completion/complete",
        "initialize",
        "server/discover",
        "ping",
    }
)


class Held(NamedTuple):
    """A test that failed while others were under way: its place, and those of the others (`beside`), the first begun first."""

    place: int
    case: Case
    decision: Decision
    began: float
    beside: tuple[int, ...]

    @property
    def is_open(self) -> bool:
        """Whether its verdict may still change: its call got no answer."""
        return bool(self.decision.broken)

    def is_victim_of(self, other: Held) -> bool:
        """Whether its call could not be answered because of the other's.

        It was under way when the server died or was ended, or asked when the server had stopped answering anybody.
        """
        at_once = other.place in self.beside or self.place in other.beside
        ends = {(broken.session, broken.hung) for broken in other.decision.broken}
        by_hand = {broken.session for broken in _ends_by_hand(other.decision)}
        return any(
            broken.session is not None
            and (
                (broken.session in by_hand and at_once)
                or ((broken.session, broken.hung) in ends and (broken.session.is_silent if broken.hung else at_once))
            )
            for broken in self.decision.broken
        )


class Causes:
    """Tries failed tests again. `seconds` is how long that may take in all, for what is not a server's death."""

    def __init__(
        self,
        cases: Sequence[Case],
        *,
        pool: Pool,
        caller: Caller,
        clock: Callable[[], float],
        snapshots: SnapshotStore | None,
    ) -> None:
        self._cases, self._pool, self._caller, self._clock, self._snapshots = cases, pool, caller, clock, snapshots
        self._broken: list[Broken] = []
        self._hangs = 0
        self._spent = 0.0
        self._most = LEAST_SECONDS

    async def settle(self, held: Sequence[Held], finish: Callable[[Held, Decision], None], *, so_far: float) -> None:
        """Find out about each, and `finish` it with what it comes to. `so_far` is how many seconds the run has taken.

        Nothing else may be under way meanwhile.
        """
        self._most = max(self._most, so_far)
        ordered = sorted(held, key=lambda one: one.began)
        suspects: dict[int, Held] = {}
        victims: dict[int, list[Held]] = {}
        await self._settle_lost([one for one in ordered if one.is_open], suspects, victims, finish)
        emit, self._caller.emit = self._caller.emit, None  # tests that have ended are run again
        try:
            for one in ordered:
                if one.is_open:
                    continue
                again = await self._try_alone(one)
                if isinstance(again, str):
                    finish(one, _not_tried(one, again))
                elif again.outcome.verdict is Verdict.PASS:
                    suspects[one.place] = one
                else:
                    finish(one, _decided_alone(one, again))
            if self._snapshots is not None:
                self._snapshots.paused = True
            await self._find_partners(suspects, victims, finish)
        finally:
            self._caller.emit = emit
            if self._snapshots is not None:
                self._snapshots.paused = False

    async def _settle_lost(
        self,
        lost: Sequence[Held],
        suspects: dict[int, Held],
        victims: dict[int, list[Held]],
        finish: Callable[[Held, Decision], None],
    ) -> None:
        """Find out whose call ended a server, and `finish` them and their `victims`. `suspects` are those that pass alone."""
        ending: set[int] = set()
        alone = await self._try_lost(lost, ending)
        culprits = [one for one in lost if isinstance(found := alone[one.place], str) or found.broken]
        culprits.sort(key=lambda one: one.place not in ending)
        for one in lost:
            found = alone[one.place]
            if isinstance(found, str) or found.outcome.verdict is not Verdict.PASS:
                continue
            blamed = next((other for other in (*culprits, *suspects.values()) if one.is_victim_of(other)), None)
            if blamed is not None:
                victims.setdefault(blamed.place, []).append(one)
            elif any(end.session is not None and not end.session.was_cut_off for end in one.decision.broken):
                suspects[one.place] = one
                continue
            finish(one, found)
        for one in lost:
            found = alone[one.place]
            if isinstance(found, str):
                finish(one, _not_tried(one, found, victims.get(one.place, [])))
            elif found.outcome.verdict is not Verdict.PASS:
                finish(one, _with_victims(_decided_alone(one, found), victims.get(one.place, [])))

    async def _try_lost(self, lost: Sequence[Held], ending: set[int]) -> Mapping[int, Decision | str]:
        """What each comes to alone, on a server that is well; or why it was not tried. `ending`: those that end the server."""
        self._broken += [broken for one in lost for broken in one.decision.broken]
        if any(broken.session is not None for one in lost for broken in one.decision.broken):
            self._pool.forgive()  # else it had been given up before
        await _probe(self._broken)
        alone: dict[int, Decision | str] = {}
        first: dict[Session | None, Held] = {}
        for one in sorted(lost, key=_last_attempt_at):
            for end in _ends_by_hand(one.decision):
                first.setdefault(end.session, one)
        blamed = {one.place for one in first.values()}
        for one in lost:
            if one.place in blamed:
                alone[one.place] = one.decision
                ending.add(one.place)
                continue
            why_not = self._why_not(one.case)
            if why_not is None and not self._pool.restart:
                why_not = "the suite says `restart: false`"
            hung = any(broken.hung for broken in one.decision.broken)
            if why_not is None and hung and self._hangs >= MOST_HANGS and self._is_over(_seconds(one)):
                why_not = (
                    f"{self._hangs} calls timed out again, and the time for repeats ({self._most:.0f} s) is used up"
                )
            if why_not is not None:
                alone[one.place] = why_not
                continue
            found = alone[one.place] = await self._run_again(one.case)
            self._hangs += any(broken.hung for broken in found.broken)
            if any(end.session is not None and (end.session.is_silent or not end.hung) for end in found.broken):
                ending.add(one.place)
        return alone

    async def _try_alone(self, one: Held) -> Decision | str:
        """What a test whose call was answered comes to alone, or why it was not tried."""
        why_not = self._why_not(one.case)
        if why_not is None and self._is_over(_seconds(one)):
            why_not = f"the time for repeats ({self._most:.0f} s) is used up"
        return await self._run_again(one.case) if why_not is None else why_not

    async def _find_partners(
        self,
        suspects: Mapping[int, Held],
        victims: Mapping[int, list[Held]],
        finish: Callable[[Held, Decision], None],
    ) -> None:
        """Find for each test that passes alone another one beside which it fails, and `finish` it."""
        found: dict[int, tuple[int, int]] = {}
        for one in suspects.values():
            partner, reruns = found.get(one.place) or await self._find_partner(one, victims, suspects, found)
            if partner == one.place:
                finish(one, _with_note(one.decision, _FLAKY, None, victims.get(one.place, [])))
            else:
                finish(one, self._interfered(one, partner, reruns, victims.get(one.place, [])))

    async def _find_partner(
        self,
        one: Held,
        victims: Mapping[int, list[Held]],
        suspects: Mapping[int, Held],
        found: dict[int, tuple[int, int]],
    ) -> tuple[int | None, int]:
        """The place of the test beside which this one fails, None where none was found, and how often it was run again.

        Its own place stands for a test that fails now and then by itself: a pair that failed counts only if the test passes
        alone once more, and then fails beside the same one again. What is likely goes first: who was let down by the same
        server, then who failed too, then who calls the same tool.
        """
        case, kind = one.case, _kind(one.decision)
        hit = {other.place for other in victims.get(one.place, [])}
        others = [index for index in one.beside if self._why_not(self._cases[index]) is None]
        others.sort(key=lambda at: (at not in hit, at not in suspects, self._cases[at].tool != case.tool))
        reruns = 1
        for number, index in enumerate(islice(cycle(others), MOST_PAIRS)):
            if self._is_over(_seconds(one)):
                break
            reruns += 1
            pair = [(one.place, case), (index, self._cases[index])]
            if number // len(others) % 2:
                pair.reverse()  # who comes first may matter
            both = await self._run_pair(pair)
            if any(map(_ends_by_hand, both.values())):
                break
            if _kind(both[one.place]) is not kind:
                continue
            reruns += 1
            alone = (await self._run_again(case)).outcome.verdict
            if alone is Verdict.FAIL:
                return one.place, reruns
            if alone is not Verdict.PASS:
                continue
            reruns += 1
            both = await self._run_pair(pair)
            if _kind(both[one.place]) is kind:
                if index in suspects and _kind(both[index]) is _kind(suspects[index].decision):
                    found[index] = (one.place, reruns)
                return index, reruns
        return None, reruns

    async def _run_pair(self, pair: Sequence[tuple[int, Case]]) -> Mapping[int, Decision]:
        async with asyncio.TaskGroup() as group:
            tasks = {at: group.create_task(self._run_again(which)) for at, which in pair}
        return {at: task.result() for at, task in tasks.items()}

    def _interfered(self, one: Held, partner: int | None, reruns: int, victims: Sequence[Held]) -> Decision:
        """The test as it failed, and why."""
        kind = _kind(one.decision)
        assert kind is not None
        name = None if partner is None else self._cases[partner].name
        failed = [row.target for row in one.decision.outcome.assertions if row.passed is False]
        is_slow = kind in SLOW or (kind is FailureKind.ASSERTION and set(failed) == {"duration_ms"})
        words = _interference_text(kind, name, len(one.beside), reruns, is_slow=is_slow)
        return _with_note(one.decision, words, Cause(kind="interference", beside=name, reruns=reruns), victims)

    async def _run_again(self, case: Case) -> Decision:
        """One more attempt, over sessions that are well."""
        for broken in self._broken:
            if broken.session is None or not broken.session.alive:
                continue
            if not broken.hung:  # over HTTP a new process knows no old session
                await self._pool.renew(broken.name, broken.session)
            elif broken.session.is_silent:
                self._pool.replace(broken.name, broken.session)
        self._broken.clear()
        began = self._clock()
        once = case if case.request.fault is not None else case._replace(retries=0)
        decision = await decide(once, pool=self._pool, caller=self._caller, stopped=lambda: False)
        await _probe(decision.broken)
        self._broken += decision.broken
        self._spent += self._clock() - began
        return decision

    def _is_over(self, seconds: float) -> bool:
        """Whether there is no time for a test that takes so long."""
        return self._spent + seconds > self._most

    def _why_not(self, case: Case) -> str | None:
        """Why a test must not be run again; None where it may."""
        if case.kind.may_ask_models or any(uses_matcher(expect, "llm-judge") for expect in case.expectations()):
            return "it asks a model"
        composition = _composition_of(case)
        if composition is not None and composition.program.spending.has_caps:
            return "its budget is for all cases"
        for server, tool in _tools_of(case):
            tool_class = self._caller.effects.class_of(server, tool) or classify({"name": tool})
            if not tool_class.only_reads:
                return f"`{tool}` may change state"
        methods = [case.method] if composition is None else []
        methods += [step.method for step in case.request.verify]
        other = next((method for method in methods if method != "tools/call" and method not in _READING), None)
        return None if other is None else f"`{other}` may change state"


async def _probe(ends: Iterable[Broken]) -> None:
    """Have every server silent over whose session a call timed out and that answers nothing else, and no other."""
    for session in {end.session for end in ends if end.hung and end.session is not None}:
        if session.alive:
            await session.is_responsive()


def _tools_of(case: Case) -> Iterator[tuple[str, str]]:
    """Each tool that a test calls, with its server."""
    composition = _composition_of(case)
    if composition is not None:
        yield from ((node.server, node.tool) for node in composition.program.nodes if not node.stood_in)
    elif case.tool is not None:
        yield case.server, case.tool
    yield from ((step.server, step.tool) for step in case.request.verify if step.tool is not None)


def _composition_of(case: Case) -> Row | None:
    if case.kind is not TestKind.COMPOSITION:
        return None
    from mcptest_engine.running.kinds.composition.plan import Row

    return case.body if isinstance(case.body, Row) else None


def _seconds(one: Held) -> float:
    """How long it took at first, and may take again."""
    return one.decision.outcome.duration_ms / 1000


def _last_attempt_at(one: Held) -> float:
    """When its last attempt began."""
    return one.began + sum(attempt.duration_ms for attempt in one.decision.attempts[:-1]) / 1000


def _kind(decision: Decision) -> FailureKind | None:
    failure = decision.outcome.failure
    return None if failure is None else failure.kind


def _ends_by_hand(decision: Decision) -> list[Broken]:
    """The sessions under its calls that a person ended."""
    endings = [(end, None if end.session is None else end.session.ending) for end in decision.broken]
    return [end for end, ending in endings if ending is not None and ending.clause == BY_HAND]


def _decided_alone(one: Held, again: Decision) -> Decision:
    """A test that failed alone as well: as it failed at first, but for times, and where it failed otherwise."""
    unasked = next((broken for broken in again.broken if broken.session is None), None)
    if unasked is not None:
        could_at_first = all(broken.session is not None for broken in one.decision.broken)
        return _not_tried(one, unasked.why) if could_at_first else one.decision
    if _ends_by_hand(again):
        return one.decision
    kind = _kind(again)
    if one.is_open and not again.broken:  # its call has an answer now, and that is what is judged
        answered = again._replace(attempts=one.decision.attempts)
        return _failed_alone(answered) if again.outcome.failure is not None else answered
    if again.outcome.verdict is not Verdict.FAIL:
        return _with_note(one.decision, f"run again alone: {again.outcome.verdict}", None, ())
    if kind is _kind(one.decision) and kind is not FailureKind.BUDGET:
        return _failed_alone(one.decision)
    return _failed_alone(again._replace(attempts=one.decision.attempts))


def _failed_alone(decision: Decision) -> Decision:
    """The decision, with the fact that the test fails alone too."""
    outcome = decision.outcome
    assert outcome.failure is not None
    cause = Cause(kind=FAILS_ALONE, beside=None, reruns=1)
    return decision._replace(outcome=outcome._replace(failure=replace(outcome.failure, cause=cause)))


def _not_tried(one: Held, why_not: str, victims: Sequence[Held] = ()) -> Decision:
    """The test as it failed, and why it was not run again."""
    cause = Cause(kind="not_tried", beside=None, reruns=0)
    return _with_note(one.decision, f"not run again alone: {why_not}", cause, victims)


def _with_note(decision: Decision, note: str, cause: Cause | None, victims: Sequence[Held]) -> Decision:
    """The decision with its cause, also in words before those that are there."""
    outcome = decision.outcome
    assert outcome.failure is not None
    own = None if outcome.failure.hint == ERROR_HINT else outcome.failure.hint
    hint = note if own is None else f"{note}; {own}"
    outcome = outcome._replace(failure=replace(outcome.failure, hint=hint, cause=cause))
    return _with_victims(decision._replace(outcome=outcome), victims)


def _with_victims(decision: Decision, victims: Sequence[Held]) -> Decision:
    """The decision with a warning about those whose calls failed because of it."""
    outcome = decision.outcome
    if victims:
        what = "stopped answering" if any(broken.hung for broken in decision.broken) else "ended"
        if _ends_by_hand(decision):
            what = BY_HAND
        were = "was" if len(victims) == 1 else "were"
        told = (
            f"its server {what} while {counted(len(victims), 'other test')} {were} running; "
            f"{'it' if were == 'was' else 'they'} {were} run again on a fresh server"
        )
        outcome = outcome._replace(warnings=(*outcome.warnings, told))
    return decision._replace(outcome=outcome)


def _interference_text(kind: FailureKind, partner: str | None, beside: int, reruns: int, *, is_slow: bool) -> str:
    if is_slow:
        fault = "the server delays concurrent calls; if durations matter, set `serial: true` on it"
    elif kind is FailureKind.SERVER:
        fault = "the server fails on concurrent calls"
    else:
        fault = "the server mixes up concurrent calls"
    if partner is not None:
        return f'passes alone; fails beside "{partner}": {fault}'
    others = "another test was" if beside == 1 else f"{beside} other tests were"
    tried = f", and in {counted(reruns - 1, 'more run')} no pair of tests failed twice" if reruns > 1 else ""
    if kind is FailureKind.SERVER:
        fault += ", or the server ended by itself"
    elif not is_slow:
        fault += ", or this test needs another test to run first (then set `serial: true` on that test)"
    return f"passes alone; failed while {others} running{tried}: {fault}"

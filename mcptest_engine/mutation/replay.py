"""Judge mutants: which tests notice a wrong answer.

Answers are judged as in a run, but in this process and without a server. A mutant is killed where the test that saw the answer
fails on the changed one. A composition is executed again on its recorded answers, so that a changed answer reaches the calls
that follow. Where it then makes a call that was not recorded, the mutant is undecided.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections import defaultdict
from dataclasses import field, replace
from enum import StrEnum
from random import Random
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.authoring.observing import Secrets
from mcptest_engine.core.enums import TestKind, Verdict
from mcptest_engine.core.errors import ServerError, UsageError, did_you_mean
from mcptest_engine.core.values import dataclass
from mcptest_engine.judging.intervals import Interval, wilson_interval
from mcptest_engine.judging.snapshots import SnapshotStore
from mcptest_engine.mutation.killing import Killing
from mcptest_engine.mutation.operators import BY_NAME, OPERATORS, Answer, apply, changes_of
from mcptest_engine.mutation.recording import envelope_with
from mcptest_engine.running.calling import find_call_invalidity
from mcptest_engine.running.kinds.composition.plan import Row
from mcptest_engine.running.kinds.composition.run import RunServices, run_composition
from mcptest_engine.running.slow_work import SlowWork
from mcptest_engine.running.verdicts import Outcome, judge
from mcptest_engine.servers.calls import Exchange
from mcptest_engine.workspace.slug import slug

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from mcptest_engine.core.enums import Strength
    from mcptest_engine.core.json_types import JsonMapping
    from mcptest_engine.core.redaction import Redactor
    from mcptest_engine.mutation.killing import Killer
    from mcptest_engine.mutation.operators import Change, Operator
    from mcptest_engine.mutation.recording import Recorded, RecordedTest, Recording
    from mcptest_engine.suite.load import LoadedSuite
    from mcptest_engine.workspace.workspace import Workspace

CONFIDENCE_PCT = 95.0
DEFAULT_BUDGET = 5_000
MOST_PER_TEST = 200
"""The most mutants of one test that are judged, drawn at random, so that long answers do not dominate the score."""


class Options(NamedTuple):
    """The options of a mutation run. `operators` are names; an empty tuple means all."""

    operators: tuple[str, ...] = ()
    budget: int = DEFAULT_BUDGET
    seed: int = 0


class Status(StrEnum):
    """The result for a mutant.

    EQUIVALENT: not noticed, and no client needs to notice it. UNDECIDED: it needs a model's opinion or an answer that was not
    recorded.
    """

    KILLED = "killed"
    SURVIVED = "survived"
    EQUIVALENT = "equivalent"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Mutant:
    """One wrong answer and its status.

    For a survivor, `assertion` holds for the true answer and fails on this one, and `noticed_by` names another test that got
    the same answer to the same call and kills the mutant; both are None where there is none.
    """

    recorded: Recorded
    change: Change
    status: Status
    assertion: JsonMapping | None = None
    noticed_by: str | None = None

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for the same change of the same answer, whichever test saw it."""
        return self.recorded.identity, self.change.path, repr(self.change.after)


@dataclass(frozen=True, slots=True)
class Score:
    """How many mutants were killed, and how many survived."""

    killed: int
    survived: int

    @property
    def share(self) -> float | None:
        """From 0 to 1; None where there was no mutant."""
        return self.killed / (self.killed + self.survived) if self.killed + self.survived else None

    @property
    def interval(self) -> Interval:
        """The Wilson interval at 95 % confidence."""
        return wilson_interval(self.killed, self.killed + self.survived, CONFIDENCE_PCT)


@dataclass(frozen=True, slots=True, kw_only=True)
class MutatedTest:
    """A test with the `mutants` that were judged. `made` counts all its mutants, judged or not."""

    test: RecordedTest
    strength: Strength
    made: int
    mutants: tuple[Mutant, ...] = ()

    @property
    def score(self) -> Score:
        return score_of(self.mutants)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutated:
    """The result of a mutation run.

    `left_out` has (name, reason) of each test that was not judged, `volatile` is the number of volatile values, `seconds` the
    time that judging took. `is_partial`: it was stopped before all drawn mutants were judged.
    """

    tests: tuple[MutatedTest, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    volatile: int = 0
    is_partial: bool = False
    seconds: float = 0.0
    seed: int = 0

    @property
    def mutants(self) -> tuple[Mutant, ...]:
        return tuple(mutant for test in self.tests for mutant in test.mutants)

    @property
    def made(self) -> int:
        """How many mutants there are, including those that were not judged."""
        return sum(test.made for test in self.tests)

    @property
    def score(self) -> Score:
        """The score of the suite. A wrong answer that several tests saw counts once, as killed if one of them notices it."""
        return score_together(self.mutants)

    @property
    def tools(self) -> dict[str, Score]:
        """The scores by `RecordedTest.tool`, in the order of the suite."""
        found: dict[str, list[Mutant]] = {}
        for test in self.tests:
            found.setdefault(test.test.tool, []).extend(test.mutants)
        return {tool: score_together(mutants) for tool, mutants in found.items()}


def score_of(mutants: Sequence[Mutant]) -> Score:
    """The score of some mutants, each counted separately."""
    counts = [sum(mutant.status is status for mutant in mutants) for status in (Status.KILLED, Status.SURVIVED)]
    return Score(*counts)


def score_together(mutants: Sequence[Mutant]) -> Score:
    """The score of the mutants of several tests; those with the same `key` count once, as killed if one of them is."""
    killed = {mutant.key for mutant in mutants if mutant.status is Status.KILLED}
    survived = {mutant.key for mutant in mutants if mutant.status is Status.SURVIVED}
    return Score(len(killed), len(survived - killed))


def _mark_noticed(tests: Sequence[MutatedTest]) -> tuple[MutatedTest, ...]:
    """Set `noticed_by` of each survivor that another test kills."""
    killers = {
        mutant.key: test.test.case.name for test in tests for mutant in test.mutants if mutant.status is Status.KILLED
    }
    return tuple(
        replace(
            test,
            mutants=tuple(
                replace(mutant, noticed_by=killers.get(mutant.key)) if mutant.status is Status.SURVIVED else mutant
                for mutant in test.mutants
            ),
        )
        for test in tests
    )


@dataclass(slots=True, kw_only=True)
class Replay:
    """Makes and judges the mutants of a recording. `snapshots` are read and never written.

    `budget` is the most mutants to judge in all, drawn by `seed`. `tell(done, total)` is called after each mutant; judging ends
    when `stop()` returns True.
    """

    snapshots: SnapshotStore
    killing: Killing
    operators: Sequence[Operator] = OPERATORS
    budget: int = DEFAULT_BUDGET
    seed: int = 0
    tell: Callable[[int, int], None] = lambda _done, _total: None
    stop: Callable[[], bool] = lambda: False
    _runner: asyncio.Runner = field(default_factory=asyncio.Runner)
    _slow: SlowWork = field(default_factory=SlowWork)

    def run(self, recording: Recording) -> Mutated:
        """Judge the mutants of every test, within the budget."""
        began, done = monotonic(), 0
        left_out, tests = list(recording.left_out), []
        with self._runner:
            for test in recording.tests:
                why = self._why_not_judged(test)
                if why is not None:
                    left_out.append((test.case.name, why))
                else:
                    tests.append((test, self._changes(test)))
            quotas = share_budget([min(len(changes), MOST_PER_TEST) for _, changes in tests], self.budget)
            found = []
            for (test, changes), quota in zip(tests, quotas, strict=True):
                drawn = self._draw(test, changes, quota)
                mutants = []
                for mutant in self._mutants(test, drawn):
                    mutants.append(mutant)
                    done += 1
                    self.tell(done, sum(quotas))
                    if self.stop():
                        break
                found.append(
                    MutatedTest(test=test, strength=test.case.strength, made=len(changes), mutants=tuple(mutants))
                )
                if self.stop():
                    break
        return Mutated(
            tests=_mark_noticed(found),
            left_out=tuple(left_out),
            volatile=recording.volatile,
            is_partial=done < sum(quotas),
            seconds=monotonic() - began,
            seed=self.seed,
        )

    def judge(
        self, test: RecordedTest, recorded: Recorded, answer: Answer
    ) -> tuple[Outcome | None, Mapping[str, object]]:
        """Judge the test as if `recorded` had been `answer`: its outcome, None where undecided, and the changed envelope."""
        if recorded.call is not None:
            rerun = self._runner.run(self._rerun_composition(test, recorded.call, answer))
            return rerun, {} if rerun is None or rerun.trace is None else rerun.trace
        judged = recorded.judged
        envelope = envelope_with(judged, answer)
        outcome = judge(
            judged.asked,
            envelope,
            snapshots=self.snapshots,
            redact=_redact_nothing,
            opinions=judged.opinions,
            validity=judged.validity,
        )
        return None if outcome.verdict is Verdict.INCONCLUSIVE and not _is_guess(outcome) else outcome, envelope

    def _why_not_judged(self, test: RecordedTest) -> str | None:
        """Why the mutants of a test are not judged: its recorded answers do not pass again. None where they do."""
        for recorded in test.answers[:1] if test.case.kind is TestKind.COMPOSITION else test.answers:
            outcome, _ = self.judge(test, recorded, recorded.source.answer)
            if outcome is None:
                return "a model judges it, and its verdict on the recorded answer is not known"
            if outcome.verdict is not Verdict.PASS:
                return "judged again, its recorded answer does not pass"
        return None

    def _changes(self, test: RecordedTest) -> list[tuple[Recorded, Change]]:
        return [
            (recorded, change)
            for recorded in test.answers
            for change in changes_of(recorded.source, self.operators, volatile=recorded.volatile)
        ]

    def _draw(
        self, test: RecordedTest, changes: Sequence[tuple[Recorded, Change]], quota: int
    ) -> Sequence[tuple[Recorded, Change]]:
        """Draw `quota` changes, the same ones for the same seed, without changing their order."""
        if len(changes) <= quota:
            return changes
        drawn = Random(f"{self.seed} {test.case.id}").sample(range(len(changes)), quota)  # noqa: S311
        return [changes[at] for at in sorted(drawn)]

    def _mutants(self, test: RecordedTest, drawn: Sequence[tuple[Recorded, Change]]) -> Iterator[Mutant]:
        """Judge the drawn changes. An assertion found for one survivor is tried first for the next ones."""
        true: dict[int, Mapping[str, object]] = {}
        killers: dict[int, list[Killer]] = defaultdict(list)
        for recorded, change in drawn:
            outcome, wrong = self.judge(test, recorded, apply(recorded.source.answer, change))
            if outcome is None:
                yield Mutant(recorded, change, Status.UNDECIDED)
            elif outcome.verdict is Verdict.FAIL:
                yield Mutant(recorded, change, Status.KILLED)
            elif change.ignored is not None:
                yield Mutant(recorded, change, Status.EQUIVALENT)
            else:
                place = id(recorded)
                if place not in true:
                    true[place] = self.judge(test, recorded, recorded.source.answer)[1]
                known = killers[place]
                killer = self.killing.find(
                    true[place],
                    wrong,
                    at=change.path if recorded.call is None else (),
                    volatile=recorded.volatile,
                    known=known,
                )
                if killer is not None and killer not in known:
                    known.append(killer)
                yield Mutant(recorded, change, Status.SURVIVED, None if killer is None else killer.assertion)

    async def _rerun_composition(self, test: RecordedTest, changed: int, answer: Answer) -> Outcome | None:
        """Execute a composition again on its recorded answers, with `answer` in place of the one at index `changed`.

        Returns None where a call is made that was not recorded, or where the outcome is neither pass nor fail.
        """
        case, row = test.case, test.case.body
        assert isinstance(row, Row)
        nodes = tuple(
            node if node.loop is None else node._replace(loop=node.loop._replace(delay_seconds=0.0))
            for node in row.program.nodes
        )
        program = row.program._replace(nodes=nodes, spending=row.program.spending.anew())
        answers: dict[str, list[int]] = defaultdict(list)
        for at, call in enumerate(test.calls):
            answers[_call_key(call.server, call.tool, call.args)].append(at)
        missed = False

        async def call_tool(
            server: str, tool: str, args: Mapping[str, object], **_: object
        ) -> tuple[Exchange, str | None]:
            nonlocal missed
            known = answers[_call_key(server, tool, args)]
            if not known:
                missed = True
                raise ServerError("this call was not recorded", server=server)
            at = known.pop(0) if len(known) > 1 else known[0]  # a loop may make more calls than were recorded
            given = answer if at == changed else test.calls[at].answer
            find_call_invalidity(given, test.calls[at].validity, server=server, redact=_redact_nothing)
            return Exchange(method="tools/call", params=None, answer=given, duration_ms=0.0), None

        again = row._replace(program=program)
        services = RunServices(
            case, again, slow=self._slow, redact=_redact_nothing, clock=monotonic, emit=None, call_tool=call_tool
        )
        outcome = await run_composition(case, again, services, number=1, snapshots=self.snapshots)
        return None if missed or outcome.verdict in (Verdict.INCONCLUSIVE, Verdict.SKIP) else outcome


def replay_for(
    suite: LoadedSuite,
    workspace: Workspace,
    options: Options,
    *,
    redactor: Redactor,
    tell: Callable[[int, int], None] = lambda _done, _total: None,
    stop: Callable[[], bool] = lambda: False,
) -> Replay:
    """Create the `Replay` for a suite. Raises: UsageError for an unknown operator."""
    name = os.path.splitext(workspace.relative(suite.path))[0]  # noqa: PTH122
    return Replay(
        snapshots=SnapshotStore(workspace.snapshots_dir / f"{slug(name)}.yml", redact=redactor.redact),
        killing=Killing(Secrets(redactor.redact_text)),
        operators=chosen_operators(options.operators),
        budget=options.budget,
        seed=options.seed,
        tell=tell,
        stop=stop,
    )


def chosen_operators(names: Sequence[str]) -> tuple[Operator, ...]:
    """The operators with these names, in the order of `OPERATORS`; all for no names. Raises: UsageError for an unknown one."""
    for name in names:
        if name not in BY_NAME:
            raise UsageError(
                f"there is no operator `{name}`", hint=did_you_mean(name, BY_NAME) or f"there are {', '.join(BY_NAME)}"
            )
    return tuple(operator for operator in OPERATORS if not names or operator.name in names)


def share_budget(wanted: Sequence[int], budget: int) -> list[int]:
    """Split the budget into equal shares, none larger than its entry of `wanted`; what one does not need goes to the others."""
    given = [0] * len(wanted)
    left = budget
    for place, at in enumerate(sorted(range(len(wanted)), key=wanted.__getitem__)):
        given[at] = min(wanted[at], left // (len(wanted) - place))
        left -= given[at]
    return given


def _is_guess(outcome: Outcome) -> bool:
    """Whether the outcome is inconclusive because made-up arguments were answered with an error; a run passes with that."""
    return any(row.implicit == "outcome" and row.passed is None for row in outcome.assertions)


def _call_key(server: str, tool: str, args: Mapping[str, object]) -> str:
    return json.dumps([server, tool, args], sort_keys=True, default=str)


def _redact_nothing(value: object) -> object:
    """Stand in for redaction: no message of a replay is shown."""
    return value

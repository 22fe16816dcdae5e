"""The hooks of a run: which command runs when, what it may change for the ones after it, and whose failure it is.

A phase is its steps in order; the first that fails, or asks to skip, ends it. Before phases decide about tests, after phases
only tell. Patches live in scopes: those of `beforeAll` hold for every later hook of the run, those of `beforeEach` for the
hooks of its test. They never reach a test's own request, which was resolved before the run.

See docs/how-to/hooks.md.
"""

from __future__ import annotations

import asyncio
import shlex
import time
from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.core.events import HookFinished, HookStarted, Warned
from mcptest_engine.core.run_record import HookResult
from mcptest_engine.running.hooks_context import NOTHING, BadAnswer, Patch, context_of, read_patch, secrets_in
from mcptest_engine.servers.command_process import LARGEST_ANSWER_BYTES, OUTPUT_KEPT_BYTES, CommandProcess, NotStarted
from mcptest_engine.servers.failures import duration
from mcptest_engine.suite.hook_checks import PER_TEST, PHASES, steps_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcptest_engine.core.events import Emit
    from mcptest_engine.core.redaction import Redactor
    from mcptest_engine.core.results import Verdict
    from mcptest_engine.running.cases import Case
    from mcptest_engine.suite.load import LoadedSuite

DEFAULT_TIMEOUT_MS = 60_000
AFTER_INTERRUPT_SECONDS = 10.0
"""How long each phase may take that still cleans up, once somebody wants the run to end."""
PHASE_VARIABLE = "MCPTEST_HOOK_PHASE"
ROOM_FOR_OUTPUT = 2 * 1024 * 1024
"""Characters of all output of a run's hooks that its record has room for; beyond that, each keeps its last `LEAST_OUTPUT`."""
LEAST_OUTPUT = 2 * 1024


class Stop(NamedTuple):
    """Why a before phase lets no test run: a hook failed, or else asked to skip."""

    reason: str
    failed: bool


class _Step(NamedTuple):
    """One command; `bound` is its time in words."""

    command: str
    argv: tuple[str, ...]
    is_context: bool
    timeout_seconds: float
    bound: str


class _Ended(NamedTuple):
    """What a command came to; `fault` is a clause without its subject, None when it did well."""

    fault: str | None
    exit_code: int | None = None
    output: str = ""
    patch: Patch = NOTHING
    interrupted: bool = False


class _Scope:
    """What the hooks of the run, or those of one test, share: what was patched in, and what was left running."""

    def __init__(self, env: Mapping[str, str], variables: Mapping[str, object]) -> None:
        self.env = dict(env)
        self.vars = dict(variables)
        self.processes: list[CommandProcess] = []

    def inner(self) -> _Scope:
        return _Scope(self.env, self.vars)

    def apply(self, patch: Patch) -> None:
        self.env.update(patch.env)
        self.vars.update(patch.vars)

    async def close(self) -> None:
        await asyncio.gather(*(process.end() for process in self.processes))
        self.processes.clear()


def hooks_of(suite: LoadedSuite, environ: Mapping[str, str], *, emit: Emit, redactor: Redactor) -> Hooks | None:
    """The hooks of a run of the suite, or None where no phase has any."""
    if not any(suite.hooks.get(phase) for phase in PHASES):
        return None
    return Hooks(suite, environ, emit=emit, redactor=redactor)


class Hooks:
    """The hooks of one run. `close` must be awaited, whatever happened; until then `after_all` may still be asked for.

    `since` is when the run began, by `clock`. `results` holds every command that ran, in order, `warnings` what went wrong
    after tests. A task that is cancelled while it waits for a hook has that hook killed and told first.
    """

    def __init__(
        self,
        suite: LoadedSuite,
        environ: Mapping[str, str],
        *,
        emit: Emit,
        redactor: Redactor,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.since = clock()
        self.results: list[HookResult] = []
        self.warnings: list[str] = []
        self._suite_name = suite.name
        self._environ = {**suite.lookups, **environ}
        self._emit = emit
        self._redactor = redactor
        self._clock = clock
        default_ms = suite.hooks.get("timeout_ms") or DEFAULT_TIMEOUT_MS
        self._is_per_attempt = bool(suite.hooks.get("per_attempt"))
        self._steps = {phase: tuple(_steps(suite.hooks.get(phase), default_ms)) for phase in PHASES}
        self._of_run = _Scope(suite.env, suite.variables)
        self._of_test: _Scope | None = None
        self._hurried = False
        self._room = ROOM_FOR_OUTPUT

    @property
    def opens_run(self) -> bool:
        """Whether something is to be done before anything else, such as starting a server."""
        return bool(self._steps["beforeAll"])

    @property
    def around_tests(self) -> bool:
        """Whether something is done once around each test."""
        return not self._is_per_attempt and any(self._steps[phase] for phase in PER_TEST)

    @property
    def around_attempts(self) -> bool:
        """Whether something is done around each attempt at a test."""
        return self._is_per_attempt and any(self._steps[phase] for phase in PER_TEST)

    async def before_all(self) -> Stop | None:
        """Run the suite's `beforeAll` hooks."""
        return await self._phase("beforeAll", self._of_run)

    async def before_each(self, case: Case) -> Stop | None:
        """Set a test, or an attempt at it, up. `after_each` must follow, whatever came of it."""
        self._of_test = self._of_run.inner()
        return await self._phase("beforeEach", self._of_test, case)

    async def after_each(self, case: Case, verdict: Verdict, message: str | None) -> None:
        """Clean up after a test, or an attempt at it, that came to this."""
        scope = self._of_test or self._of_run.inner()
        try:
            await self._phase("afterEach", scope, case, _result_of(verdict, message))
        finally:
            await scope.close()

    async def after_all(self, verdict: Verdict, message: str | None = None) -> None:
        """Clean up after a run that came to this."""
        await self._phase("afterAll", self._of_run, result=_result_of(verdict, message))

    def shorten_time_limits(self) -> None:
        """Somebody wants the run to end: what is still to be done has a few seconds."""
        self._hurried = True

    async def close(self) -> None:
        """End what the hooks left running."""
        for scope in (self._of_test, self._of_run):
            if scope is not None:
                await scope.close()

    async def _phase(
        self, phase: str, scope: _Scope, case: Case | None = None, result: Mapping[str, object] | None = None
    ) -> Stop | None:
        """Run the steps in order. Setting up ends with the first that fails; cleaning up goes on, while there is time."""
        deadline = self._clock() + AFTER_INTERRUPT_SECONDS if self._hurried else None
        interrupted = False
        for step in self._steps[phase]:
            if deadline is not None and self._clock() >= deadline:
                break
            try:
                told, patch = await self._step(phase, step, scope, case, result, deadline)
            except asyncio.CancelledError:
                if result is None:
                    raise
                interrupted = True
                deadline = deadline or self._clock() + AFTER_INTERRUPT_SECONDS
                continue
            if result is not None:
                self._warn(told, patch, case)
                continue
            if not told.passed:
                return Stop(told.summary, failed=True)
            scope.apply(patch)
            if patch.skip is not None:
                return Stop(patch.skip, failed=False)
        if interrupted:
            raise asyncio.CancelledError
        return None

    async def _step(
        self,
        phase: str,
        step: _Step,
        scope: _Scope,
        case: Case | None,
        result: Mapping[str, object] | None,
        deadline: float | None,
    ) -> tuple[HookResult, Patch]:
        """Run one command and tell how it went."""
        command, test = self._redactor.redact_text(step.command), None if case is None else case.id
        self._emit(HookStarted(phase=phase, command=command, test=test))
        began = self._clock()
        stdin = None
        if step.is_context:
            stdin = context_of(
                phase,
                suite=self._suite_name,
                test=None if case is None else case.name,
                env=scope.env,
                variables=scope.vars,
                result=result,
            )
        if deadline is not None:
            step = _hurried(step, deadline - began)
        ended = await self._ended(phase, step, {**self._environ, **scope.env, PHASE_VARIABLE: phase}, stdin, scope)
        told = HookResult(
            phase=phase,
            test=test,
            command=command,
            passed=ended.fault is None,
            duration_ms=round((self._clock() - began) * 1000, 3),
            started_offset_ms=round((began - self.since) * 1000, 3),
            exit_code=ended.exit_code,
            message=None if ended.fault is None else self._redactor.redact_text(ended.fault),
            output=self._fitted(ended.output),
        )
        self.results.append(told)
        self._emit(HookFinished(result=told))
        if ended.interrupted:
            raise asyncio.CancelledError
        return told, ended.patch

    async def _ended(
        self, phase: str, step: _Step, env: Mapping[str, str], stdin: bytes | None, scope: _Scope
    ) -> _Ended:
        try:
            process = CommandProcess(step.argv, env, kind="hook", name=phase, stdin=stdin)
        except NotStarted as wrong:
            return _Ended(str(wrong))
        scope.processes.append(process)
        interrupted = False
        fault = None
        try:
            if not await process.wait(step.timeout_seconds):
                fault = f"took longer than {step.bound} and was killed"
        except asyncio.CancelledError:
            interrupted = True
            fault = "was killed: the run was interrupted"
        exit_code = process.exit_code if fault is None else None
        answer = bytes(process.answer)
        for secret in secrets_in(answer):
            self._redactor.register(secret)
        patch, bad = _patch(answer)
        fault = fault or _clause(process) or bad
        output = process.output.text(self._redactor.redact_text)
        if fault is not None and answer:
            told = self._redactor.redact_text(answer.decode("utf-8", "replace"))
            if len(answer) > LARGEST_ANSWER_BYTES:
                told = told[: -self._redactor.longest]  # a secret may be cut through there
            output = _joined(told, output)[-OUTPUT_KEPT_BYTES:]
        return _Ended(fault, exit_code, output, NOTHING if fault else patch, interrupted)

    def _warn(self, told: HookResult, patch: Patch, case: Case | None) -> None:
        """What goes wrong after a test fails nothing, and is told all the same."""
        if told.passed and patch.skip is None:
            return
        text = told.summary
        if told.passed:
            late = "the run" if case is None else "the test"
            text = f"{told.called} requested a skip too late: {late} is over"
        warning = text if case is None else f"{case.name}: {text}"
        self.warnings.append(warning)
        self._emit(Warned(message=warning))

    def _fitted(self, output: str) -> str:
        """The end of an output that the record has room for."""
        kept = output[-max(self._room, LEAST_OUTPUT) :]
        self._room -= len(kept)
        return kept


def _steps(phase: object, default_ms: float) -> list[_Step]:
    """The steps of a phase as the suite has it, None for one that it leaves out."""
    steps = []
    for step in [] if phase is None else steps_of(phase):
        command, own_ms = (step, None) if isinstance(step, str) else (step["command"], step.get("timeout_ms"))
        seconds = (default_ms if own_ms is None else own_ms) / 1000
        steps.append(_Step(command, tuple(shlex.split(command)), not isinstance(step, str), seconds, duration(seconds)))
    return steps


def _hurried(step: _Step, seconds: float) -> _Step:
    """The same step for what is left of its phase's time after an interruption."""
    if step.timeout_seconds <= seconds:
        return step
    bound = f"the {duration(AFTER_INTERRUPT_SECONDS)} after an interruption"
    return step._replace(timeout_seconds=seconds, bound=bound)


def _clause(process: CommandProcess) -> str | None:
    """How a command ended that did not do well."""
    if process.signal is not None:
        return f"was ended by {process.signal}"
    return f"exited with {process.exit_code}" if process.exit_code else None


def _patch(answer: bytes) -> tuple[Patch, str | None]:
    """What a hook answered, or what is wrong with that."""
    try:
        return read_patch(answer), None
    except BadAnswer as wrong:
        return NOTHING, str(wrong)


def _result_of(verdict: Verdict, message: str | None) -> dict[str, str]:
    """The `result` of a context."""
    return {"verdict": verdict.value} if message is None else {"verdict": verdict.value, "message": message}


def _joined(answer: str, output: str) -> str:
    """What a failed context hook printed, and what it wrote on stderr."""
    return f"{answer.rstrip()}\n{output}" if output and answer.strip() else answer or output

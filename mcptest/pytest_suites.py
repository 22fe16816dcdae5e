"""Suites as pytest sees them: a file is a collector, each of its tests an item.

A file is one run of the engine, as `mcptest run` makes it, with its servers, hooks and gates. A test begins when pytest reaches
it, one at a time: so `-x`, `--lf` and plugins that reorder tests work. A run goes through its tests in one direction. Where
pytest goes back, as with a plugin that repeats failed tests, another run begins.
"""

from __future__ import annotations

import asyncio
import textwrap
from typing import TYPE_CHECKING, Any

import pytest

from mcptest.suites import McptestWarning, load
from mcptest_engine.core.enums import Verdict
from mcptest_engine.core.errors import McptestError, Severity
from mcptest_engine.running.settings import RunSettings, Selection
from mcptest_engine.workspace.workspace import find_workspace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mcptest_engine.core.results import TestResult
    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.running.cases import Case


class SuiteFile(pytest.File):
    """One suite file."""

    _run: _SuiteRun | None = None

    def collect(self) -> Iterator[pytest.Item]:
        """Collect the tests of the suite. Raises: CollectError with every problem of the suite."""
        from mcptest_engine.cli.common import parse_variables
        from mcptest_engine.running.plan import make_plan

        try:
            variables = parse_variables(self.config.getoption("mcptest_var"), flag="--mcptest-var")
            suite = load(self.path, variables=variables)
            self.workspace = find_workspace(self.path.parent)
            plan = make_plan(suite, RunSettings(workers=1), relative=self.workspace.relative)
        except McptestError as wrong:
            raise self.CollectError("\n".join(filter(None, (str(wrong), wrong.hint)))) from None
        self.suite, self.order = suite, {case.id: place for place, case in enumerate(plan.cases)}
        self.runnable = {case.id for case in plan.cases if case.skip is None}
        for problem in suite.warnings:
            if problem.severity is Severity.WARNING:
                self.warn(McptestWarning(str(problem)))
        for case in plan.cases:
            yield SuiteItem.from_parent(self, name=case.name, case=case)

    def result_of(self, case_id: str) -> TestResult:
        """Run one test and return its result. Raises: McptestError when the run cannot be made."""
        if self._run is None or not self._run.may_still(case_id):
            self.end_run()
            wanted = {item.case.id for item in self._items() if self.order[item.case.id] >= self.order[case_id]}
            self._run = _SuiteRun(self, frozenset(wanted | {case_id}))
        return self._run.result_of(case_id)

    def _items(self) -> list[SuiteItem]:
        return [item for item in self.session.items if isinstance(item, SuiteItem) and item.parent is self]

    def teardown(self) -> None:
        """End the run and its servers. Fails when a gate of the suite fails, such as its coverage."""
        record = self.end_run()
        if record is None:
            gates = " and ".join(f"`{name}`" for name in ("coverage", "effects") if getattr(self.suite, name))
            if gates and {item.case.id for item in self._items()} >= self.runnable:
                why = "pytest ran the tests of the suite in another order, or in several processes"
                self.warn(McptestWarning(f"the limits of {gates} are not checked: {why}"))
            return
        from mcptest_engine.reporting import facts

        reason, warnings = facts.run_reason(record), facts.warning_texts(record)
        if reason is not None:
            pytest.fail("\n".join([f"{self.path.name}: {reason}", *warnings]), pytrace=False)
        for warning in warnings:
            self.warn(McptestWarning(warning))

    def end_run(self) -> RunRecord | None:
        """End the current run; return its record when every test of the file was run, else None."""
        run, self._run = self._run, None
        return None if run is None else run.end(keep=run.begun == self.runnable)


class SuiteItem(pytest.Item):
    """One test of a suite."""

    parent: SuiteFile

    def __init__(self, *, case: Case, **given: Any) -> None:
        super().__init__(**given)
        self.case = case
        self.add_marker("mcptest")
        if case.skip is not None:
            self.add_marker(pytest.mark.skip(reason=case.skip))
        for tag in case.tags:
            if tag.isidentifier():
                self.config.addinivalue_line("markers", f"{tag}: a tag of mcptest suites")
                self.add_marker(tag)
            self.extra_keyword_matches.add(tag)
        if case.group is not None:  # pytest-xdist keeps them together with `--dist loadgroup`
            self.add_marker(pytest.mark.xdist_group(f"{self.parent.nodeid}::{case.group}"))

    def runtest(self) -> None:
        """Run the test; a failed one fails with its report."""
        try:
            result = self.parent.result_of(self.case.id)
        except McptestError as wrong:
            pytest.fail("\n".join(filter(None, (wrong.message, wrong.hint))), pytrace=False)
        if result.verdict is Verdict.FAIL:
            pytest.fail(_report(result, self.parent), pytrace=False)
        if result.verdict is Verdict.SKIP:
            pytest.skip(result.message or "skipped by the suite")
        if result.verdict is Verdict.INCONCLUSIVE:
            pytest.skip(f"inconclusive: {result.message or 'no verdict'}")

    def reportinfo(self) -> tuple[Path, int, str]:
        """The place of the test, for reports."""
        file = self.parent.workspace.root / self.case.file if self.case.file else self.path
        return file, max(self.case.line - 1, 0), self.name


class _SuiteRun:
    """A run of the engine that goes on while a test is requested, and pauses in between.

    The coroutine that `asyncio.Runner` runs returns None: the runner formats its result each time, for an error that nobody
    sees.
    """

    def __init__(self, file: SuiteFile, wanted: frozenset[str]) -> None:
        from mcptest_engine.running.launch import launch

        self._order, self._workspace = file.order, file.workspace
        whole = wanted >= file.runnable
        settings = RunSettings(
            selection=Selection() if whole else Selection(ids=wanted),
            workers=1,
            update_snapshots=file.config.getoption("mcptest_update_snapshots"),
        )
        self.begun: set[str] = set()
        self._latest = -1
        self._results: dict[str, TestResult] = {}
        self._asked: asyncio.Queue[str | None] = asyncio.Queue()
        self._next: str | None = None
        self._is_ending = False
        self._finished = asyncio.Event()
        self._runner = asyncio.Runner()

        async def begin() -> asyncio.Task[RunRecord]:
            running = launch(file.suite, settings, workspace=file.workspace, emit=self._heard, admit=self._admit)
            return asyncio.create_task(running, name=f"run of {file.path.name}")

        self._task = self._runner.run(begin())
        self._task.add_done_callback(lambda _: self._finished.set())

    def may_still(self, case_id: str) -> bool:
        """Whether the run has not passed this test."""
        is_going_on = not self._task.done() and not self._task.cancelling()
        return is_going_on and self._latest < self._order[case_id]

    def result_of(self, case_id: str) -> TestResult:
        self.begun.add(case_id)
        self._latest = max(self._latest, self._order[case_id])
        self._asked.put_nowait(case_id)
        try:
            self._runner.run(self._until(case_id))
        except BaseException:  # Ctrl-C, or a plugin's timeout: nobody waits for the answer any longer
            self._task.cancel()
            raise
        return self._results[case_id]

    def end(self, *, keep: bool) -> RunRecord | None:
        """Finish the run, and close its servers. With `keep`, its record is saved and returned."""
        self._asked.put_nowait(None)
        try:
            self._runner.run(self._rest())
        finally:
            self._runner.close()
        record = None if self._task.cancelled() or self._task.exception() is not None else self._task.result()
        if record is None or not keep:
            return None
        self._workspace.save_run(record.to_json(streamed=True))
        return record

    async def _rest(self) -> None:
        await asyncio.gather(self._task, return_exceptions=True)

    async def _until(self, case_id: str) -> None:
        """Continue until this test has its result. Raises: what the run raised."""
        while case_id not in self._results:
            if self._task.done():
                self._task.result()
                raise McptestError("the run ended without a result of this test")
            self._finished.clear()
            await self._finished.wait()

    def _heard(self, event: object) -> None:
        from mcptest_engine.core.events import CaseFinished

        if isinstance(event, CaseFinished):
            self._results[event.result.id] = event.result
            self._finished.set()

    async def _admit(self, case: Case) -> bool:
        """Wait until pytest requests this test, or a later one."""
        if self._is_ending:
            return False
        if self._next is None:
            self._next = await self._asked.get()
            self._is_ending = self._next is None
        if self._next != case.id:
            return False
        self._next = None
        return True


def _report(result: TestResult, file: SuiteFile) -> str:
    """Why a test failed, as in the `pretty` report."""
    from dataclasses import replace
    from datetime import UTC, datetime

    from mcptest_engine.reporting.layout import Ink
    from mcptest_engine.reporting.pretty_failures import failure_blocks
    from mcptest_engine.reporting.registry import RenderOptions
    from mcptest_engine.running.execution import blank_record

    record = blank_record(file.suite, file.workspace, {}, started=datetime.now(UTC))
    _title, place, *lines = failure_blocks(replace(record, tests=(result,)), RenderOptions(), Ink(on=False))
    return textwrap.dedent("\n".join([*lines, place]))  # the first line repeats pytest's summary

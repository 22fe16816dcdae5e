"""The run itself, once its servers are on their way: plan, runner, record, and everything that they need imported."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine import __version__
from mcptest_engine.core.enums import TestKind, Verdict
from mcptest_engine.core.environment import is_ci
from mcptest_engine.core.run_record import RunRecord, SuiteInfo
from mcptest_engine.core.text import counted, utc_text
from mcptest_engine.judging.matchers import Context, preload
from mcptest_engine.judging.snapshots import SnapshotStore
from mcptest_engine.judging.validity import preload as preload_validity
from mcptest_engine.running.active_run import ActiveRunListener
from mcptest_engine.running.conclude import WORDS, concluded
from mcptest_engine.running.coverage_extension import CoverageExtension, coverage_extension_for
from mcptest_engine.running.extensions import Extension, with_warnings
from mcptest_engine.running.ledger import LedgerExtension
from mcptest_engine.running.mutation_scores import read_mutation_scores
from mcptest_engine.running.plan import make_plan
from mcptest_engine.running.runner import Run
from mcptest_engine.running.stored_results import ResultStorage
from mcptest_engine.suite.items import assertions_of, matchers_in, uses_matcher
from mcptest_engine.workspace.side_files import SideFiles
from mcptest_engine.workspace.slug import slug
from mcptest_engine.workspace.source import Source
from mcptest_engine.workspace.ulid import is_ulid, new_ulid

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from mcptest_engine.core.events import Emit
    from mcptest_engine.core.redaction import Redactor
    from mcptest_engine.running.caching import Caching
    from mcptest_engine.running.cases import AnswerObserver, Case, JudgedRequest, Plan
    from mcptest_engine.running.cassettes import CassetteWriter
    from mcptest_engine.running.judged import Judged
    from mcptest_engine.running.kinds.composition.freezing import Freezer
    from mcptest_engine.running.pool import Pool
    from mcptest_engine.running.settings import RunSettings
    from mcptest_engine.suite.load import LoadedSuite
    from mcptest_engine.workspace.workspace import Workspace


async def execute(
    suite: LoadedSuite,
    settings: RunSettings,
    *,
    workspace: Workspace,
    emit: Emit,
    pool: Pool,
    interrupted: bool = False,
    observer: AnswerObserver | None = None,
    admit: Callable[[Case], Awaitable[bool]] | None = None,
    source: Source | None = None,
) -> RunRecord:
    """Plan the run, decide its cases, close the pool, and give the record.

    Raises UsageError for a selection that makes no sense or snapshots that cannot be read; nothing was called then.
    """
    started = datetime.now(UTC)
    source = source or Source(workspace.root)
    plan = make_plan(suite, settings, relative=workspace.relative)
    pool.restart = plan.restart
    redactor = pool.redactor
    blank = _record_of_run(plan, suite, settings, workspace, redactor, started)
    files = RunFiles(SideFiles(workspace, blank.run_id), source)
    extensions = _open_extensions(plan, suite, settings, workspace, pool, files, has_ledger=observer is None)
    plan = extensions.before(plan)
    hooks = None
    if suite.hooks:
        from mcptest_engine.running.hooks import hooks_of  # few suites have any

        hooks = hooks_of(suite, settings.environ, emit=emit, redactor=redactor)
    snapshots, judged = extensions.snapshots, extensions.judged

    def conclude(record: RunRecord) -> RunRecord:
        return concluded(
            extensions.finish(record),
            performance=suite.performance,
            empty_is_fine=settings.selection.shard is not None and plan.selected > 0,
            missed=plan.missed,
            cost_gate=settings.cost_gate,
            failing=_failing(suite, settings),
            only_skips=all(case.skip is not None for case in plan.cases),
            not_ready=pool.not_ready,
            capped=judged is not None and (judged.budget.reached or judged.budget.overrun is not None),
            unaffordable=() if pool.gate is None else sorted(pool.gate.unaffordable),
        )

    listener = ActiveRunListener(workspace, emit)
    run = Run(
        plan=plan,
        hooks=hooks,
        pool=pool,
        emit=listener,
        storage=ResultStorage(redactor, files.side_files),
        blank=blank,
        snapshots=snapshots.store if snapshots.is_used else None,
        coverage=extensions.coverage,
        limits=suite.effects or None,
        mutation_scores=read_mutation_scores(suite, workspace),
        cache=extensions.cache,
        freezer=extensions.freezer,
        judged=judged,
        observer=observer,
        admit=admit,
        conclude=conclude,
    )
    try:
        return await run.execute(interrupted=interrupted)
    finally:
        listener.close()
        if judged is not None:
            await judged.aclose()
        if hooks is not None:
            await hooks.close()


class _Extensions(NamedTuple):
    """What wraps a run, the outermost first; None where this run has no use for it."""

    ledger: LedgerExtension | None
    snapshots: Snapshots
    files: RunFiles
    cache: Caching | None
    freezer: Freezer | None
    cassette: CassetteWriter | None
    judged: Judged | None
    coverage: CoverageExtension | None

    def before(self, plan: Plan) -> Plan:
        for extension in self:
            if extension is not None:
                plan = extension.before(plan)
        return plan

    def finish(self, record: RunRecord) -> RunRecord:
        for extension in reversed(self):
            if extension is not None:
                record = extension.finish(record)
        return record


def _open_extensions(
    plan: Plan,
    suite: LoadedSuite,
    settings: RunSettings,
    workspace: Workspace,
    pool: Pool,
    files: RunFiles,
    *,
    has_ledger: bool,
) -> _Extensions:
    """The extensions of a run, and what its matchers and checks need imported. Most runs need few of them."""
    redactor = pool.redactor
    expectations = [expect for case in plan.cases for expect in case.expectations()]
    preload(key for expect in expectations for row in assertions_of(expect["assertions"]) for key in row["matcher"])
    for spec in pool.specs.values():
        if spec.validity != "off":
            preload_validity(spec.protocol)
    matchers = matchers_in(expectations)
    cache = judged = cassette = ledger = None
    if settings.cache:
        from mcptest_engine.running.caching import caching_for

        cache = caching_for(suite, plan, settings, pool, workspace)
    if "llm-judge" in matchers or any(case.kind.may_ask_models for case in plan.cases):
        from mcptest_engine.running.judged import Judged

        judged = Judged(suite, settings, workspace, redactor)
    if settings.record is not None:
        from mcptest_engine.running.cassettes import CassetteWriter

        recorded_answers = None if judged is None else judged.recorded_answers
        cassette = CassetteWriter(pool, suite, settings.record, workspace, recorded_answers)
    if has_ledger:
        ledger = LedgerExtension(suite, settings, workspace, redactor.redact_text, files.source.programs)
    return _Extensions(
        ledger=ledger,
        snapshots=Snapshots(suite, settings, workspace, redactor.redact, is_used="snapshot" in matchers),
        files=files,
        cache=cache,
        freezer=_open_freezer(plan, suite, settings, workspace, pool),
        cassette=cassette,
        judged=judged,
        coverage=coverage_extension_for(plan, suite.coverage, tuple(suite.servers), settings.selection.shard, pool),
    )


class Snapshots(Extension):
    """The snapshots of a suite: a test that may store a new one runs alone, and what is new is saved at the end."""

    def __init__(
        self,
        suite: LoadedSuite,
        settings: RunSettings,
        workspace: Workspace,
        redact: Callable[[Any], Any],
        *,
        is_used: bool,
    ) -> None:
        self.is_used = is_used
        name = os.path.splitext(workspace.relative(suite.path))[0]  # noqa: PTH122
        self.store = SnapshotStore(
            workspace.snapshots_dir / f"{slug(name)}.yml",
            redact=redact,
            update=settings.update_snapshots,
            create=settings.interactive and not settings.ci,
            keep_pending=not settings.ci,
        )

    def before(self, plan: Plan) -> Plan:
        if not self.is_used:
            return plan
        self.store.lookup("")  # a file that cannot be read is reported before anything is called
        return plan._replace(cases=tuple(self._alone_if_it_takes_snapshots(case) for case in plan.cases))

    def finish(self, record: RunRecord) -> RunRecord:
        store, warnings = self.store, []
        try:
            store.save()
        except (OSError, RecursionError) as wrong:
            reason = getattr(wrong, "strerror", None) or wrong
            return replace(with_warnings(record, [f"the snapshots were not saved: {reason}"]), unsaved_snapshots=True)
        if store.taken:
            place = os.path.relpath(store.path)
            warnings.append(f"{counted(len(store.taken), 'snapshot')} written to {place}: check it and commit it")
        warnings += [f"the snapshot `{name}` is not updated: {reason}" for name, reason in store.untrusted.items()]
        if store.waiting:
            changes = f"{counted(store.waiting, 'snapshot change')} {'needs' if store.waiting == 1 else 'need'} review"
            warnings.append(f"{changes}: mcptest review")
        return with_warnings(record, warnings)

    def _alone_if_it_takes_snapshots(self, case: Case) -> Case:
        """The case as one that runs alone where it may store a new value: nothing would show that it was another call's."""
        calls: tuple[JudgedRequest, ...] = (case, *case.request.verify)
        for request in calls:
            for row in assertions_of(request.expect["assertions"]):
                if not uses_matcher({"assertions": [row]}, "snapshot"):
                    continue
                options = row["matcher"].get("snapshot")
                named = options.get("name") if isinstance(options, dict) else None
                if self.store.takes(named or Context(None, request.snapshot_name, row["target"]).snapshot_name):
                    return case._replace(serial=True)
        return case


class RunFiles(Extension):
    """The side files of a run, and the state of the repository that it ran in, which is read in the background."""

    def __init__(self, side_files: SideFiles, source: Source) -> None:
        self.side_files, self.source = side_files, source

    def finish(self, record: RunRecord) -> RunRecord:
        problem = self.side_files.problem
        return replace(with_warnings(record, [] if problem is None else [problem]), source=self.source.read())


def _open_freezer(
    plan: Plan, suite: LoadedSuite, settings: RunSettings, workspace: Workspace, pool: Pool
) -> Freezer | None:
    """The stored results of composition nodes, where a node has `freeze:`."""
    if not any(case.kind is TestKind.COMPOSITION for case in plan.cases):
        return None
    from mcptest_engine.running.kinds.composition.plan import Row

    rows = (case.body for case in plan.cases if isinstance(case.body, Row))
    if not any(node.freeze is not None for row in rows for node in row.program.nodes):
        return None
    from mcptest_engine.running.kinds.composition.freezing import Freezer

    name = os.path.splitext(workspace.relative(suite.path))[0]  # noqa: PTH122
    return Freezer(workspace, name, suite, redactor=pool.redactor, keeps=settings.replay is None)


def _failing(suite: LoadedSuite, settings: RunSettings) -> dict[Verdict, str]:
    """The verdicts that fail the run besides "fail", with what says so."""
    failing = {verdict: f"--fail-on-{WORDS[verdict]}" for verdict in settings.fail_on}
    if suite.run_options.get("inconclusive", {}).get("treat_as") == "fail":
        failing[Verdict.INCONCLUSIVE] = "run_options.inconclusive.treat_as: fail"
    return failing


def _record_of_run(
    plan: Plan, suite: LoadedSuite, settings: RunSettings, workspace: Workspace, redactor: Redactor, started: datetime
) -> RunRecord:
    """The record of a run that begins: what was asked of it, and no result yet."""
    blank = blank_record(suite, workspace, settings.environ, started=started, warnings=plan.warnings)
    return replace(
        blank,
        run_id=settings.run_id or blank.run_id,
        mode=settings.mode,
        cassette=settings.record if settings.record is not None else settings.replay,
        requested_by=None if settings.requested_by is None else redactor.redact(settings.requested_by),
        shard=settings.selection.shard,
        places=plan.places,
        selection=plan.selection,
        flags=tuple(redactor.redact_text(word) for word in settings.flags),
    )


def blank_record(
    suite: LoadedSuite,
    workspace: Workspace,
    environ: Mapping[str, str],
    *,
    started: datetime,
    warnings: tuple[str, ...] = (),
) -> RunRecord:
    """A record that says what ran, where and when, with no result yet."""
    return RunRecord(
        run_id=new_ulid(),
        mcptest_version=__version__,
        started_at=utc_text(started),
        duration_ms=0.0,
        verdict=Verdict.FAIL,
        suite=SuiteInfo(name=_name_of(suite), path=workspace.relative(suite.path), sha256=suite.sha256),
        source={"repo": None, "branch": None, "commit": None, "dirty": None},
        environment=_environment(environ),
        servers=(),
        tests=(),
        warnings=warnings,
    )


def _name_of(suite: LoadedSuite) -> str:
    """The suite's name; one that came as text and has none is called after its servers, and not after its run."""
    if not is_ulid(suite.name) or suite.path.stem != suite.name:
        return suite.name
    return f"suite of {', '.join(suite.servers)}" if suite.servers else "suite without a name"


def _environment(environ: Mapping[str, str]) -> dict[str, Any]:
    system = os.uname()
    return {
        "os": system.sysname.lower(),
        "arch": system.machine,
        "python": sys.version.split()[0],
        "ci": is_ci(environ),
    }

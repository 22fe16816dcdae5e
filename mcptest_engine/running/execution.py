"""The run itself, once its servers are on their way: plan, runner, record, and everything that they need imported."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from mcptest_engine import __version__
from mcptest_engine.core.errors import McptestError
from mcptest_engine.core.results import Verdict
from mcptest_engine.core.run_record import RunRecord, SuiteInfo
from mcptest_engine.core.words import counted
from mcptest_engine.judging.matchers import Context, preload
from mcptest_engine.judging.snapshots import SnapshotStore
from mcptest_engine.judging.validity import preload as preload_validity
from mcptest_engine.running.conclude import WORDS, concluded
from mcptest_engine.running.noting import Noting
from mcptest_engine.running.plan import plan_of
from mcptest_engine.running.runner import Run
from mcptest_engine.running.settings import UNSAVED_SNAPSHOTS
from mcptest_engine.running.stored_results import ResultStorage
from mcptest_engine.suite.items import assertions_of, uses_matcher
from mcptest_engine.workspace.side_files import SideFiles
from mcptest_engine.workspace.slug import slug
from mcptest_engine.workspace.source import Source
from mcptest_engine.workspace.ulid import new_ulid

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest_engine.core.events import Emit
    from mcptest_engine.running.caching import Caching
    from mcptest_engine.running.cases import Asked, Case, Plan
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
) -> RunRecord:
    """Plan the run, decide its cases, close the pool, and give the record.

    Raises UsageError for a selection that makes no sense or snapshots that cannot be read; nothing was called then.
    """
    started = datetime.now(UTC)
    source = Source(workspace.root)
    plan = plan_of(suite, settings, relative=workspace.relative)
    pool.restart = plan.restart
    blank = blank_record(suite, workspace, settings.environ, started=started, warnings=plan.warnings)
    redactor = pool.redactor
    flags = tuple(redactor.redact_text(word) for word in settings.flags)
    run_id = settings.run_id or blank.run_id
    blank = replace(
        blank,
        run_id=run_id,
        mode=settings.mode,
        cassette=settings.record if settings.record is not None else settings.replay,
        requested_by=None if settings.requested_by is None else redactor.redact(settings.requested_by),
        shard=settings.selection.shard,
        places=plan.places,
        selection=plan.selection,
        flags=flags,
    )
    snapshots = SnapshotStore(
        workspace.snapshots_dir / f"{slug(os.path.splitext(workspace.relative(suite.path))[0])}.yml",  # noqa: PTH122
        redact=redactor.redact,
        update=settings.update_snapshots,
        create=settings.interactive and not settings.ci,
        keep_pending=not settings.ci,
    )
    expectations = [expect for case in plan.cases for expect in case.expectations()]
    preload(key for expect in expectations for row in assertions_of(expect["assertions"]) for key in row["matcher"])
    for spec in pool.specs.values():
        if spec.validity != "off":
            preload_validity(spec.protocol)
    if any(uses_matcher(expect, "snapshot") for expect in expectations):
        snapshots.lookup("")  # a file that cannot be read is told before anything is called
        plan = plan._replace(cases=tuple(_alone_if_it_takes_snapshots(case, snapshots) for case in plan.cases))
    freezer = _freezer(plan, suite, settings, workspace, pool)
    side_files = SideFiles(workspace, blank.run_id)
    conclude = partial(
        concluded,
        performance=suite.performance,
        empty_is_fine=settings.selection.shard is not None and plan.selected > 0,
        missed=plan.missed,
        cost_gate=settings.cost_gate,
        failing=_failing(suite, settings),
        only_skips=all(case.skip is not None for case in plan.cases),
    )
    hooks = None
    if suite.hooks:
        from mcptest_engine.running.hooks import hooks_of  # few suites have any

        hooks = hooks_of(suite, settings.environ, emit=emit, redactor=redactor)
    survey = None
    if suite.coverage is not None or any(case.method == "tools/list" for case in plan.cases):
        from mcptest_engine.running.survey import survey_of  # few suites have need of it

        survey = survey_of(plan, suite.coverage, tuple(suite.servers), settings.selection.shard)
    cache = None
    if settings.cache:
        from mcptest_engine.running.caching import caching_for

        cache = caching_for(suite, plan, settings, pool, workspace)
    judged = _judged(plan, suite, settings, workspace, pool)
    if any(
        case.agent is not None
        or ((row := case.eval_row) is not None and (row.scorer is None or row.candidate.agent is not None))
        for case in plan.cases
    ):
        from mcptest_engine.running.kinds.agent.deferring import with_deferred

        assert judged is not None
        plan = with_deferred(plan, judged.models)
    noting = Noting(workspace, emit)
    run = Run(
        plan=plan,
        hooks=hooks,
        pool=pool,
        emit=noting,
        storage=ResultStorage(redactor, side_files),
        blank=blank,
        snapshots=snapshots,
        survey=survey,
        limits=suite.effects or None,
        cache=cache,
        freezer=freezer,
        judged=judged,
        conclude=lambda record: conclude(
            _completed(
                _kept(
                    _frozen(
                        _taped(
                            _spent(record if survey is None else survey.seen(record, pool), judged),
                            pool,
                            suite,
                            judged,
                            settings,
                            workspace,
                        ),
                        freezer,
                    ),
                    cache,
                ),
                source,
                side_files,
                snapshots,
            ),
            not_ready=pool.not_ready,
            capped=judged is not None and (judged.budget.reached or judged.budget.overrun is not None),
            unaffordable=() if pool.gate is None else sorted(pool.gate.unaffordable),
        ),
    )
    try:
        return await run.execute(interrupted=interrupted)
    finally:
        noting.close()
        if judged is not None:
            await judged.aclose()
        if hooks is not None:
            await hooks.close()


def _taped(
    record: RunRecord,
    pool: Pool,
    suite: LoadedSuite,
    judged: Judged | None,
    settings: RunSettings,
    workspace: Workspace,
) -> RunRecord:
    """The record, and the cassette of its run where one was wanted; without `cassette` when the disk refused it."""
    if settings.record is None:
        return record
    from mcptest_engine.running.tapes import save_tape

    try:
        models = None if judged is None or judged.recording is None else judged.recording.section()
        said = save_tape(pool, suite, settings.record, record, workspace, models=models)
    except McptestError as wrong:
        return replace(record, mode="live", cassette=None, warnings=(*record.warnings, wrong.message))
    return replace(record, warnings=(*record.warnings, said))


def _freezer(plan: Plan, suite: LoadedSuite, settings: RunSettings, workspace: Workspace, pool: Pool) -> Freezer | None:
    """What keeps the results of nodes, where one asks for it; a file that cannot be read is told before anything is called."""
    rows = (case.composition for case in plan.cases if case.composition is not None)
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


def _judged(plan: Plan, suite: LoadedSuite, settings: RunSettings, workspace: Workspace, pool: Pool) -> Judged | None:
    """The models and scorers of the run, where something is asked or graded; few suites have any."""
    if not any(
        case.agent is not None
        or case.eval_row is not None
        or case.metric_row is not None
        or any(uses_matcher(expect, "llm-judge") for expect in case.expectations())
        for case in plan.cases
    ):
        return None
    from mcptest_engine.running.judged import Judged

    return Judged(suite, settings, workspace, pool.redactor, plan)


def _alone_if_it_takes_snapshots(case: Case, snapshots: SnapshotStore) -> Case:
    """The case as one that runs alone where it may store a new value: nothing would show that it was another call's."""
    calls: tuple[Asked, ...] = (case, *case.verify)
    for asked in calls:
        for row in assertions_of(asked.expect["assertions"]):
            if not uses_matcher({"assertions": [row]}, "snapshot"):
                continue
            options = row["matcher"].get("snapshot")
            named = options.get("name") if isinstance(options, dict) else None
            if snapshots.takes(named or Context(None, asked.snapshot_name, row["target"]).snapshot_name):
                return case._replace(serial=True)
    return case


def _spent(record: RunRecord, judged: Judged | None) -> RunRecord:
    """The record, with what models and scorers left to be told."""
    if judged is None:
        return record
    judged.close()
    return replace(record, warnings=(*record.warnings, *judged.warnings))


def _frozen(record: RunRecord, freezer: Freezer | None) -> RunRecord:
    """The record, once what its nodes gave is kept where that was wanted."""
    if freezer is None:
        return record
    said: list[str] = []
    try:
        said.extend(freezer.save(record))
    except McptestError as wrong:
        said.append(wrong.message)
    return replace(record, warnings=(*record.warnings, *said)) if said else record


def _kept(record: RunRecord, cache: Caching | None) -> RunRecord:
    """The record, and its results in the cache where one was wanted."""
    if cache is None:
        return record
    cache.save()
    return replace(record, warnings=(*record.warnings, *cache.warnings))


def _completed(record: RunRecord, source: Source, side_files: SideFiles, snapshots: SnapshotStore) -> RunRecord:
    """The record with what is known only at the end; a disk that refuses a file costs a warning, never the record."""
    lost = [] if side_files.problem is None else [side_files.problem]
    try:
        snapshots.save()
    except (OSError, RecursionError) as wrong:
        lost.append(f"{UNSAVED_SNAPSHOTS}: {getattr(wrong, 'strerror', None) or wrong}")
    else:
        if snapshots.taken:
            place = os.path.relpath(snapshots.path)
            lost.append(f"{counted(len(snapshots.taken), 'snapshot')} written to {place}: look at it and commit it")
        lost += [f"the snapshot `{name}` is not updated: {reason}" for name, reason in snapshots.untrusted.items()]
        if snapshots.waiting:
            changes = f"{counted(snapshots.waiting, 'snapshot change')} {'waits' if snapshots.waiting == 1 else 'wait'}"
            lost.append(f"{changes}: mcptest review")
    return replace(record, source=source.read(), warnings=(*record.warnings, *lost))


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
        started_at=started.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        duration_ms=0.0,
        verdict=Verdict.FAIL,
        suite=SuiteInfo(name=suite.name, path=workspace.relative(suite.path), sha256=suite.sha256),
        source={"repo": None, "branch": None, "commit": None, "dirty": None},
        environment=_environment(environ),
        servers=(),
        tests=(),
        warnings=warnings,
    )


def _environment(environ: Mapping[str, str]) -> dict[str, Any]:
    system = os.uname()
    return {
        "os": system.sysname.lower(),
        "arch": system.machine,
        "python": sys.version.split()[0],
        "ci": environ.get("CI", "").lower() not in {"", "0", "false"},
    }

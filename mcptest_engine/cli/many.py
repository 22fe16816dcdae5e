"""Several suites in one command: finding them by files, folders and globs, and one report over their runs.

Each suite has its own run, with its servers, its snapshots and its history. Flags that select tests select among all suites:
one without a match is left out, as long as another has a match.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mcptest_engine.cli.common import load, note_stray, save_record, show_error, show_problems, suite_path
from mcptest_engine.cli.selection import failed_tests
from mcptest_engine.core.errors import ExitCode, SuiteError, UsageError
from mcptest_engine.core.lazy_patterns import lazily_compiled
from mcptest_engine.core.sanitise import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from concurrent.futures import Future

    from mcptest_engine.cli.sinks import Sink
    from mcptest_engine.core.run_record import RunRecord, SuiteNotRun
    from mcptest_engine.running.settings import RunSettings
    from mcptest_engine.suite.load import LoadedSuite
    from mcptest_engine.workspace.workspace import Workspace

_FLUSHERS = 4
"""How many records are flushed at the same time: a disk takes longer to store one than to run many a suite."""
_ONE_AT_A_TIME = ("watch", "cost_baseline", "save_cost_baseline", "estimate_cost", "scheduler")


def suite_paths(named: Sequence[str], config: str | None) -> list[Path]:
    """The suites of files, folders and globs, without repetition; the one of this folder where none is named.

    Includes folders that cannot be read, since they may hold suites. Links to one file in several folders are several suites:
    `${CONFIG_DIR}` and relative paths differ. Raises: UsageError for a folder or a glob without a suite.
    """
    if len(named) < 2:
        one = suite_path(named[0] if named else None, config)
        if not os.path.isdir(one) and not _is_glob(str(one)) and "{" not in str(one):  # noqa: PTH112 - never raises
            return [one]
        named = [str(one)]
    elif config is not None:
        raise UsageError("suites are named as FILE and with `--config`", hint="name each as FILE")
    found: dict[tuple[str, str], Path] = {}
    for name in named:
        below = [path for word in _alternatives(name) for path in _suites_below(word)]
        if not below:
            raise _no_suite_error(name)
        for path in below:
            found.setdefault((os.path.realpath(path.parent), os.path.realpath(path)), path)
    return list(found.values())


def _suites_below(name: str) -> Iterator[Path]:
    """The suites of a file, a folder or a glob, none for a glob that matches none. Raises: UsageError."""
    files = [name]
    if os.path.isdir(name):  # noqa: PTH112
        from mcptest_engine.engine_process.files import find_suites

        files = [one["path"] for one in find_suites([name], Path.cwd(), all_of_them=True)]
    elif _is_glob(name):
        from mcptest_engine.engine_process.files import match_suites

        files = match_suites(name, Path.cwd())
    if not files and not _is_glob(name):
        raise _no_suite_error(name)
    here = os.getcwd()  # noqa: PTH109
    for file in files:
        inside = os.path.abspath(file).startswith(here + os.sep)  # noqa: PTH100
        yield Path(os.path.relpath(file) if inside and file != name else file)


def _no_suite_error(name: str) -> UsageError:
    return UsageError(f"there is no suite in `{one_line(name)}`", hint="a suite has `servers` and a block of tests")


def _is_glob(name: str) -> bool:
    return any(sign in name for sign in "*?[") and not os.path.lexists(name)


def _alternatives(name: str) -> list[str]:
    """The names of one with `{a,b}`; each without a glob must exist, so that a typo is an error."""
    if "{" not in name or os.path.lexists(name):
        return [name]
    from mcptest_engine.engine_process.files import alternatives

    return alternatives(name)


def refuse_for_many(flags: Mapping[str, object]) -> None:
    """Raises: UsageError for flags that work with one suite only."""
    for name in _ONE_AT_A_TIME:
        if flags.get(name):
            raise UsageError(f"`--{name.replace('_', '-')}` takes one suite", hint="name a single FILE")


def load_all(
    paths: Sequence[Path], workspace: Workspace, variables: dict[str, str], *, strict: bool
) -> tuple[list[LoadedSuite], list[SuiteNotRun]]:
    """Load the suites; return those that load and the others, whose problems are printed on stderr."""
    suites: list[LoadedSuite] = []
    broken: list[SuiteNotRun] = []
    for path in paths:
        try:
            suites.append(load(path, workspace, variables, strict=strict))
        except SuiteError as wrong:
            show_problems(wrong.problems, running=False)
            from mcptest_engine.reporting.many import invalid_suite

            broken.append(invalid_suite(path, wrong.problems, workspace))
    return suites, broken


def select_all(
    suites: Sequence[LoadedSuite], settings: RunSettings, workspace: Workspace, *, last_failed: bool
) -> list[tuple[LoadedSuite, RunSettings]]:
    """The suites with tests to run, each with its settings. Raises: UsageError for a selection that is invalid in all."""
    with lazily_compiled():
        from mcptest_engine.running.plan import make_plan

    chosen = [(suite, settings) for suite in suites]
    if last_failed:
        found = [(suite, failed_tests(suite, workspace)) for suite in suites]
        failed = [
            (suite, settings._replace(selection=settings.selection._replace(ids=ids))) for suite, ids in found if ids
        ]
        if not failed:
            is_new = all(ids is None for _, ids in found)
            why = "no earlier run of these suites is saved here" if is_new else "no test failed when it last ran"
            sys.stderr.write(f"{why}: running the whole suites\n")
        chosen = failed or chosen
    taken, wrong = [], None
    for suite, own in chosen:
        try:
            takes_any = own.selection.takes_all or not suite.tests
            if takes_any or make_plan(suite, own, relative=workspace.relative).selected:
                taken.append((suite, own))
        except UsageError as unknown:  # a server or a case that another suite may have
            wrong = unknown
    if not taken and wrong is not None:
        raise wrong
    return taken or chosen[:1]


def run_many(
    chosen: Sequence[tuple[LoadedSuite, RunSettings]],
    broken: Sequence[SuiteNotRun],
    workspace: Workspace,
    sinks: Sequence[Sink],
    *,
    execute: Callable[..., None],
) -> int:
    """Run suites by `execute`, save the record of each, and write one report; return the worst exit code."""
    from concurrent.futures import ThreadPoolExecutor

    from mcptest_engine.cli.sinks import write_reports
    from mcptest_engine.reporting.many import ended_suites, join_records

    records: list[RunRecord] = []
    runs = [(suite, _with_cassette(settings, suite, workspace)) for suite, settings in chosen]
    with ThreadPoolExecutor(_FLUSHERS) as flushers:

        def save(record: RunRecord) -> None:
            records.append(record)
            path = save_record(workspace, record, is_last=False)
            if path is not None:
                flushed.append(flushers.submit(workspace.flush_run, path))

        flushed: list[Future[None]] = []
        execute(runs, workspace, sinks, save)
    for flushing in flushed:
        if (wrong := flushing.exception()) is not None:
            show_error(wrong, "warning")
    workspace.prune_runs()
    note_stray(workspace)
    joined = join_records(
        records, not_run=[*broken, *ended_suites((suite for suite, _ in chosen[len(records) :]), workspace)]
    )
    lost = write_reports(joined, sinks, workspace=workspace)
    return joined.exit_code or (ExitCode.FAILED if lost else ExitCode.PASSED)


def _with_cassette(settings: RunSettings, suite: LoadedSuite, workspace: Workspace) -> RunSettings:
    """Use the suite's own cassette."""
    path = workspace.relative(suite.path)
    return settings._replace(
        record=settings.record and name_cassette(settings.record, path),
        replay=settings.replay and name_cassette(settings.replay, path),
    )


def name_cassette(name: str, path: str) -> str:
    """The cassette of one of several suites: `NAME-SUITE`."""
    from mcptest_engine.workspace.slug import slug

    return f"{name}-{slug(os.path.splitext(path)[0])}"  # noqa: PTH122

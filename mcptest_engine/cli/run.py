"""`mcptest run`: reads flags, loads, launches, reports, and exits with the record's code."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mcptest_engine.cli.common import (
    find_here,
    is_terminal,
    load,
    parse_variables,
    refresh_schema,
    save_record,
    suites_options,
)
from mcptest_engine.cli.selection import models_of, models_option, selection_of, selection_options, with_last_failed
from mcptest_engine.core.enums import Verdict
from mcptest_engine.core.errors import ExitCode, PolicyDenied, SuiteError, UsageError
from mcptest_engine.core.lazy_patterns import lazily_compiled
from mcptest_engine.core.sanitise import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
    from typing import Unpack

    from mcptest_engine.cli.selection import SelectionFlags
    from mcptest_engine.cli.sinks import Sink
    from mcptest_engine.core.events import Emit
    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.reporting.progress import Progress
    from mcptest_engine.running.cases import AnswerObserver
    from mcptest_engine.running.settings import RunSettings
    from mcptest_engine.suite.load import LoadedSuite
    from mcptest_engine.workspace.workspace import Workspace

    class RunFlags(SelectionFlags):
        """The flags of `mcptest run`. Only for the type checker: creating the class at each start would take a millisecond."""

        files: tuple[str, ...]
        config: str | None
        variables: tuple[str, ...]
        models: str | None
        max_cost: float | None
        reporters: tuple[str, ...]
        output: str | None
        workers: int | None
        retries: int | None
        repeat: int
        bail: str | None
        server_command: str | None
        protocol: str | None
        wait_for_ready: str | None
        record: str | None
        replay: str | None
        cache: bool
        cache_dir: str | None
        strict: bool
        fail_on_inconclusive: bool
        fail_on_skipped: bool
        dry_run: bool
        estimate_cost: bool
        cost_baseline: str | None
        cost_tolerance: float | None
        save_cost_baseline: str | None
        executor: str
        scheduler: str | None
        watch: bool
        update_snapshots: bool
        allow_update_in_ci: bool
        agent_budget: int
        no_color: bool


T = TypeVar("T")
_MOST_INTERPRETED = 5
"""For more suites than this, compiling the schema takes less time than interpreting it for each."""


def _no_nan(_ctx: click.Context, _option: click.Parameter, value: float | None) -> float | None:
    """Refuse NaN: every range accepts it, and no value is above it."""
    if value is not None and value != value:
        raise click.BadParameter("nan is not a number")
    return value


max_cost_option = click.option(
    "--max-cost",
    type=click.FloatRange(min=0, min_open=True),
    callback=_no_nan,
    metavar="USD",
    help="Limit the cost of models and scorers. At the limit, the other rows are skipped, and the exit code is 5.",
)


def other_server_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags that replace a suite's servers, or the revision that they are offered."""
    command = click.option(
        "--command", "server_command", metavar="ARGV", help="Start this program instead of every server of the suite."
    )
    earlier_name = click.option("--server-command", "server_command", hidden=True)
    protocol = click.option("--protocol", metavar="REV", help="Offer this protocol revision to every server.")
    return command(earlier_name(protocol(function)))


@click.command()
@suites_options
@selection_options
@models_option
@max_cost_option
@click.option(
    "--reporter",
    "reporters",
    multiple=True,
    metavar="FMT[=PATH]",
    help="pretty (for people), minimal (one line), json (the run record), ndjson (one line a test), junit (for CI), "
    "tap (for TAP tools), md (for pull requests), matrix (tests by model), html (page for review), github (annotations), "
    "sarif (code scanning), gitlab (code quality), openinference (for tracing), agent (for coding agents); repeatable. "
    "[default: pretty; with --models: matrix, except in a terminal]",
)
@click.option("--output", type=click.Path(), metavar="PATH", help="Write the report to this file instead of stdout.")
@click.option(
    "-n",
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Run N tests at once; 1 keeps the order of the suite. [default: 8]",
)
@click.option("--retries", type=click.IntRange(min=0), metavar="N", help="Retry a failed test up to N times.")
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    default=1,
    metavar="N",
    help="Run every test N times, to find flaky ones.",
)
@click.option(
    "--bail", is_flag=False, flag_value="1", metavar="[N]", help="Stop after N failures (1 without a number)."
)
@other_server_options
@click.option(
    "--wait-for-ready",
    metavar="DURATION",
    help="Wait this long for servers with a URL, such as 60s; exit 3 if they are not ready.",
)
@click.option("--record", metavar="NAME", help="Record the answers of the servers in a cassette of this name.")
@click.option("--replay", metavar="NAME", help="Replay this cassette instead of starting the servers.")
@click.option("--cache", is_flag=True, help="Reuse the saved results of calls whose inputs have not changed.")
@click.option("--cache-dir", type=click.Path(), metavar="DIR", help="The same, with the results saved in DIR.")
@click.option(
    "--strict",
    is_flag=True,
    help="Refuse a suite with warnings; fail the run for unknown arguments and for faults of the server process.",
)
@click.option("--fail-on-inconclusive", is_flag=True, help="Exit 1 if a test is inconclusive.")
@click.option("--fail-on-skipped", is_flag=True, help="Exit 1 if a test is skipped.")
@click.option("--dry-run", is_flag=True, help="Show what would run; start nothing.")
@click.option("--estimate-cost", is_flag=True, help="With --dry-run: what the compositions may cost.")
@click.option("--cost-baseline", metavar="FILE", help="Exit 6 if the run costs more than this baseline.")
@click.option(
    "--cost-tolerance",
    type=click.FloatRange(min=0),
    callback=_no_nan,
    metavar="PERCENT",
    help="How much more than the baseline a run may cost. [default: 10]",
)
@click.option("--save-cost-baseline", metavar="FILE", help="Save the cost of the run as a baseline, if it passed.")
@click.option(
    "--executor",
    type=click.Choice(["local", "dask"]),
    default="local",
    show_default=True,
    help="Where tests run: here, or on the workers of a Dask cluster.",
)
@click.option(
    "--scheduler", metavar="ADDRESS", help="With --executor dask: the scheduler, such as tcp://10.0.0.1:8786."
)
@click.option("--watch", is_flag=True, help="Run again whenever the suite, its imports or a server's file is saved.")
@click.option("--update-snapshots", is_flag=True, help="Accept the current answers as snapshots.")
@click.option("--allow-update-in-ci", is_flag=True, help="Let --update-snapshots work under CI.")
@click.option(
    "--agent-budget",
    type=click.IntRange(min=0),
    default=1024,
    metavar="TOKENS",
    show_default=True,
    help="Limit the size of the agent report.",
)
@click.option("--no-color", is_flag=True, help="No colour; NO_COLOR does the same.")
@click.pass_context
def command(ctx: click.Context, /, **flags: Unpack[RunFlags]) -> None:
    """Run suites: start the servers, make the calls, check the answers and report the verdicts.

    FILE may be a suite, a folder or a pattern such as 'servers/**/*.yml'; there may be several. One report
    covers all of them.

    \b
    Example:
      mcptest run mcptest.yaml --filter "status reports operational" --reporter agent
    """
    if flags["no_color"]:
        os.environ["NO_COLOR"] = "1"
    from mcptest_engine.cli.many import refuse_for_many, suite_paths

    bail, files = read_bail(flags["bail"], flags["files"])
    paths = suite_paths(files, flags["config"])
    if len(paths) > 1:
        refuse_for_many(flags)
    options = RunOptions(flags, bail)
    if flags["watch"]:
        from mcptest_engine.cli.watch import watch

        _refuse_machine_reporters(options.sinks)
        ctx.exit(watch(paths[0], options.settings, options.workspace, options.sinks, flags))
    ctx.exit(_run_suites(paths, options) if len(paths) > 1 else _run_suite(paths[0], options))


class RunOptions:
    """The flags of one `mcptest run`, checked, and what they name. Raises: UsageError, PolicyDenied under CI."""

    def __init__(self, flags: RunFlags, bail: int | None) -> None:
        from mcptest_engine.cli.sinks import default_format, make_sinks

        self.flags = flags
        self.variables = parse_variables(flags["variables"])
        self.settings = settings_of(flags, bail)
        _check_executor(flags)
        if flags["estimate_cost"] and not flags["dry_run"]:
            raise UsageError("--estimate-cost calls nothing", hint="add --dry-run")
        default = default_format(models=flags["models"], output=flags["output"], watch=flags["watch"])
        self.sinks = make_sinks(
            flags["reporters"], flags["output"], default=default, agent_budget=flags["agent_budget"]
        )
        self.workspace = find_here()


def _run_suite(path: Path, options: RunOptions) -> int:
    """Load one suite, run it or show its plan, and return the exit code. Raises: SuiteError."""
    flags, sinks, workspace = options.flags, options.sinks, options.workspace
    try:
        suite = load(path, workspace, options.variables, strict=flags["strict"])
    except SuiteError as wrong:
        from mcptest_engine.cli.sinks import annotate_invalid
        from mcptest_engine.reporting.many import invalid_suite

        annotate_invalid([invalid_suite(path, wrong.problems, workspace)], sinks, workspace)
        raise
    settings = with_last_failed(options.settings, suite, workspace, wanted=flags["last_failed"])
    if flags["dry_run"]:
        as_json = any(sink.path is None and sink.format in {"json", "ndjson"} for sink in sinks)
        if flags["estimate_cost"]:
            from mcptest_engine.cli.estimate import show_estimate

            return show_estimate(suite, settings, workspace, as_json=as_json)
        from mcptest_engine.cli.list import show

        return show(suite, settings, workspace, form="json" if as_json else "table")
    saved_costs = flags["save_cost_baseline"]
    if (scheduler := flags["scheduler"]) is not None:
        from mcptest_engine.cli.cluster.dask import run_on_cluster

        with _live_progress(sinks) as progress:
            record = run_on_cluster(
                suite, settings, workspace, scheduler=scheduler, variables=options.variables, progress=progress
            )
        return _report_run(record, settings, workspace, sinks, saved_costs=saved_costs)
    code, _ = run_and_report(suite, settings, workspace, sinks, saved_costs=saved_costs)
    return code


def _run_suites(paths: Sequence[Path], options: RunOptions) -> int:
    """Load several suites, run them or show their plans, and return the exit code of the worst."""
    from mcptest_engine.cli.many import load_all, run_many, select_all

    flags, sinks, workspace = options.flags, options.sinks, options.workspace
    if len(paths) > _MOST_INTERPRETED:
        from mcptest_engine.suite.problems import expect_many

        expect_many()
    suites, broken = load_all(paths, workspace, options.variables, strict=flags["strict"])
    if not suites:
        from mcptest_engine.cli.sinks import annotate_invalid

        annotate_invalid(broken, sinks, workspace)
        return ExitCode.INVALID
    chosen = select_all(suites, options.settings, workspace, last_failed=flags["last_failed"])
    if flags["dry_run"]:
        from mcptest_engine.cli.list import show_many

        return show_many(chosen, workspace, form="table", broken=bool(broken))
    return run_many(chosen, broken, workspace, sinks, execute=_execute_suites)


def run_and_report(
    suite: LoadedSuite,
    settings: RunSettings,
    workspace: Workspace,
    sinks: Sequence[Sink],
    *,
    saved_costs: str | None = None,
    observer: AnswerObserver | None = None,
) -> tuple[int, RunRecord]:
    """Run one suite, save its record and write the reports, also after Ctrl-C. Return the exit code and the record.

    `saved_costs` is the file in which the cost of the run is saved. `observer` gets every answer that is judged.
    """
    record = _execute_suite(suite, settings, workspace, sinks, observer)
    code = _report_run(record, settings, workspace, sinks, saved_costs=saved_costs)
    refresh_schema(suite)  # updated again: the first run of a workspace has just created its `.mcptest`
    return code, record


def _execute_suite(
    suite: LoadedSuite,
    settings: RunSettings,
    workspace: Workspace,
    sinks: Sequence[Sink],
    observer: AnswerObserver | None,
) -> RunRecord:
    """Run one suite and return its record, neither saved nor reported. A terminal shows the progress."""
    with lazily_compiled():
        from mcptest_engine.running.launch import launch

    with _listening(sinks) as emit:
        return _run_loop(launch(suite, settings, workspace=workspace, emit=emit, observer=observer), sinks)


def _execute_suites(
    chosen: Sequence[tuple[LoadedSuite, RunSettings]],
    workspace: Workspace,
    sinks: Sequence[Sink],
    done: Callable[[RunRecord], None],
) -> None:
    with lazily_compiled():
        from mcptest_engine.running.launch import launch_suites

    with workspace.remembered_runs():
        _run_loop(launch_suites(chosen, workspace=workspace, listen=lambda: _listening(sinks), done=done), sinks)


@contextmanager
def _listening(sinks: Sequence[Sink]) -> Iterator[Emit]:
    """The listeners of one run: the progress, if a terminal shows it."""
    from mcptest_engine.running.listening import Listeners

    with _live_progress(sinks) as progress:
        yield Listeners([] if progress is None else [progress.on_event])


@contextmanager
def _live_progress(sinks: Sequence[Sink]) -> Iterator[Progress | None]:
    from mcptest_engine.cli.sinks import live_progress

    progress = live_progress(sinks)
    try:
        yield progress
    finally:
        if progress is not None:
            progress.close()


def _report_run(
    record: RunRecord,
    settings: RunSettings,
    workspace: Workspace,
    sinks: Sequence[Sink],
    *,
    saved_costs: str | None,
) -> int:
    """Save the record, write the reports, and return the exit code."""
    from mcptest_engine.cli.sinks import write_reports

    save_record(workspace, record)
    lost = write_reports(record, sinks, workspace=workspace)
    if saved_costs is not None:
        from mcptest_engine.cli.cost_baseline import save_baseline

        lost = not save_baseline(saved_costs, record, whole=settings.selection.takes_all) or lost
    if settings.update_snapshots and record.unsaved_snapshots:
        sys.stderr.write("error: the snapshots were not saved; the warnings of the run say why\n")
        lost = True
    if settings.record is not None and record.cassette is None:
        sys.stderr.write(
            f"error: the cassette `{one_line(str(settings.record))}` was not written; the warnings of the run say why\n"
        )
        lost = True
    return record.exit_code or (ExitCode.FAILED if lost else ExitCode.PASSED)


def _run_loop(work: Coroutine[object, object, T], sinks: Sequence[Sink]) -> T:
    """Run to the end, or until a signal ends it."""
    import asyncio

    from mcptest_engine.cli.ending import ending_on_signals
    from mcptest_engine.cli.sinks import preload
    from mcptest_engine.running.launch import TURNS_TO_SPAWN

    async def main() -> T:
        task = asyncio.ensure_future(work)
        with ending_on_signals(task):
            for _ in range(TURNS_TO_SPAWN + 2):
                await asyncio.sleep(0)
            preload(sinks)  # while the servers start
            return await task

    try:
        return asyncio.run(main())
    except asyncio.CancelledError:  # before the run had begun
        raise KeyboardInterrupt from None


def read_bail(value: str | None, files: tuple[str, ...]) -> tuple[int | None, tuple[str, ...]]:
    """The number of failures to stop at, and the suites: in `--bail suite.yml`, the value is the suite. Raises: UsageError."""
    if value is None:
        return None, files
    if value.isdigit() and int(value) > 0:
        return int(value), files
    if not files and not value.lstrip("-").isdigit():
        return 1, (value,)
    raise UsageError(f"`--bail {value}` is not a number of failures", hint="for example: --bail 3")


def settings_of(flags: RunFlags, bail: int | None) -> RunSettings:
    """The settings that the flags name. Raises: UsageError for flags that exclude each other, PolicyDenied under CI."""
    from mcptest_engine.running.settings import RunSettings

    settings = RunSettings(
        selection=selection_of(flags),
        workers=flags["workers"],
        retries=flags["retries"],
        repeat=flags["repeat"],
        bail=bail,
        server_command=_argv(flags["server_command"]),
        environ=dict(os.environ),  # each of many suites would read all of it
        protocol=flags["protocol"],
        wait_for_ready_seconds=_duration(flags["wait_for_ready"]),
        update_snapshots=flags["update_snapshots"],
        flags=_repeated_flags(flags),
        interactive=is_terminal(sys.stdin) and is_terminal(sys.stdout),
        record=flags["record"],
        replay=flags["replay"],
        cache=flags["cache"] or flags["cache_dir"] is not None,
        cache_dir=None if flags["cache_dir"] is None else Path(flags["cache_dir"]).absolute(),
        models=models_of(flags["models"]),
        max_cost_usd=flags["max_cost"],
        strict=flags["strict"],
        fail_on=tuple(
            verdict
            for verdict, asked in (
                (Verdict.INCONCLUSIVE, flags["fail_on_inconclusive"]),
                (Verdict.SKIP, flags["fail_on_skipped"]),
            )
            if asked
        ),
    )
    _check_cassette_options(flags)
    settings = _with_cost_gate(settings, flags)
    if settings.cache:
        _check_cache(flags)
    if settings.update_snapshots and settings.ci and not flags["allow_update_in_ci"]:
        raise PolicyDenied(
            "--update-snapshots is refused under CI, because nobody reviews the change",
            hint="run it on your machine and commit the snapshots, or add --allow-update-in-ci",
        )
    return settings


def _check_executor(flags: RunFlags) -> None:
    """Raises: UsageError for flags that do not go together."""
    if flags["executor"] != "dask":
        if flags["scheduler"] is not None:
            raise UsageError("--scheduler without a cluster", hint="add --executor dask")
        return
    if flags["scheduler"] is None:
        raise UsageError(
            "--executor dask without a scheduler", hint="add --scheduler ADDRESS, such as tcp://127.0.0.1:8786"
        )
    if flags["watch"]:
        raise UsageError("--watch and --executor dask do not go together")


def _with_cost_gate(settings: RunSettings, flags: RunFlags) -> RunSettings:
    """Raises: UsageError for a baseline that cannot be read, and for flags that do not go together."""
    if flags["save_cost_baseline"] is not None and flags["watch"]:
        raise UsageError("--save-cost-baseline and --watch do not go together")
    if flags["cost_baseline"] is None:
        if flags["cost_tolerance"] is not None:
            raise UsageError("--cost-tolerance without a baseline", hint="add --cost-baseline FILE")
        return settings
    from mcptest_engine.cli.cost_baseline import read_gate
    from mcptest_engine.running.cost_gate import DEFAULT_TOLERANCE

    tolerance = flags["cost_tolerance"]
    gate = read_gate(flags["cost_baseline"], DEFAULT_TOLERANCE if tolerance is None else tolerance)
    return settings._replace(cost_gate=gate)


def _check_cassette_options(flags: Mapping[str, object]) -> None:
    """Raises: UsageError for flags that do not go with recording or replaying."""
    if flags["record"] is not None and flags["replay"] is not None:
        raise UsageError("--record and --replay are given", hint="use one of them")
    for flag in ("--record", "--replay"):
        if flags[flag.removeprefix("--")] is None:
            continue
        if flags["watch"]:
            raise UsageError(f"{flag} and --watch do not go together")
        if flag == "--replay" and flags["server_command"]:
            raise UsageError("--replay and --command do not go together")


_NOT_CACHED = {
    "record": "a recording needs the current answers of the servers",
    "replay": "a replay starts no server",
    "update_snapshots": "new snapshots need the current answers of the servers",
    "repeat": "repeats need the current answers of the servers",
}


def _check_cache(flags: Mapping[str, object]) -> None:
    """Raises: UsageError for flags that do not go with saved results."""
    for name, why in _NOT_CACHED.items():
        if flags[name] and (name, flags[name]) != ("repeat", 1):
            raise UsageError(f"--cache and --{name.replace('_', '-')} do not go together", hint=why)


def _duration(text: str | None) -> float | None:
    if text is None:
        return None
    from mcptest_engine.core.text import seconds_of

    try:
        return seconds_of(text)
    except ValueError as wrong:
        raise UsageError(f"--wait-for-ready: {wrong}") from None


def _repeated_flags(flags: RunFlags) -> tuple[str, ...]:
    """The flags that a `repro` line repeats, because the test would run differently without them."""
    words = [word for pair in flags["variables"] for word in ("--var", pair)]
    for name in ("server_command", "protocol", "replay", "models"):
        value = flags[name]
        if value is not None:
            words += [f"--{name.replace('_', '-')}", value]
    return tuple(words)


def _argv(text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    import shlex

    try:
        argv = tuple(shlex.split(text))
    except ValueError as wrong:
        raise UsageError(f"the command `{text}` cannot be split: {wrong}", hint="quote it as for a shell") from None
    if not argv:
        raise UsageError("an empty command", hint='for example: --command "python server.py"')
    return argv


def _refuse_machine_reporters(sinks: Sequence[Sink]) -> None:
    for sink in sinks:
        if sink.path is None and sink.format not in {"pretty", "minimal"}:
            raise UsageError(
                f"with --watch, `{sink.format}` on stdout would be many reports in one stream",
                hint=f"write it to a file, which each run overwrites: --reporter {sink.format}=PATH",
            )

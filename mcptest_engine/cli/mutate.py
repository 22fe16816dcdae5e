"""`mcptest mutate`: how many wrong answers a suite notices, and which assertions it lacks."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from mcptest_engine.cli.common import (
    find_here,
    is_terminal,
    json_text,
    load,
    parse_variables,
    suites_options,
    supports_colour,
    write_out,
)
from mcptest_engine.core.errors import ExitCode, McptestError
from mcptest_engine.core.sanitise import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypedDict, Unpack

    from mcptest_engine.core.events import Event
    from mcptest_engine.core.redaction import Redactor
    from mcptest_engine.core.run_record import SuiteNotRun
    from mcptest_engine.mutation.recording import Recording
    from mcptest_engine.mutation.replay import Mutated, Options
    from mcptest_engine.suite.load import LoadedSuite
    from mcptest_engine.workspace.workspace import Workspace

    class MutateFlags(TypedDict):
        """The flags of `mcptest mutate`."""

        files: tuple[str, ...]
        config: str | None
        variables: tuple[str, ...]
        cassettes: tuple[str, ...]
        operators: str | None
        budget: int
        seed: int
        threshold: float | None
        no_proposals: bool
        form: str
        output: str | None


_BAR_COLUMNS = 30


@click.command()
@suites_options
@click.option(
    "--record",
    "cassettes",
    multiple=True,
    metavar="FILE",
    help="Use the answers of this cassette, a name or a file, and start no server. "
    "A second cassette shows which values change. "
    "With several suites, the cassette of each is NAME-SUITE, as in `mcptest record`.",
)
@click.option(
    "--operators",
    metavar="NAME,NAME",
    help="Make only wrong answers of these kinds; docs/how-to/mutation.md lists them.",
)
@click.option(
    "--budget",
    type=click.IntRange(min=1),
    default=5_000,
    show_default=True,
    help="Judge at most this many mutants of each suite.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="The seed for choosing mutants if there are more.")
@click.option(
    "--threshold",
    type=click.FloatRange(0, 100),
    metavar="PERCENT",
    help="Exit with 6 if the score of a suite is lower.",
)
@click.option("--no-proposals", is_flag=True, help="Propose no assertions for `mcptest review`.")
@click.option("--format", "form", type=click.Choice(["text", "json", "md", "html"]), default="text", show_default=True)
@click.option("--output", metavar="FILE", help="Write to this file instead of stdout.")
@click.pass_context
def command(ctx: click.Context, /, **flags: Unpack[MutateFlags]) -> None:
    """Measure how many wrong answers suites notice.

    The suite runs first; tests that change nothing on a server run twice. Then one recorded answer at a time is made wrong,
    and the tests that got it check it again. A wrong answer that still passes is listed with the assertion that would
    notice it; `mcptest review` adds the assertion.

    FILE may be a suite, a folder or a pattern such as 'servers/**/*.yml'; there may be several. One report covers
    all of them, with the score of each and the score of all together.

    \b
    Example:
      mcptest mutate mcptest.yaml --threshold 80
    """
    from mcptest_engine.cli.many import load_all, name_cassette, suite_paths
    from mcptest_engine.core.redaction import Redactor
    from mcptest_engine.mutation.replay import Options, chosen_operators
    from mcptest_engine.mutation.report import join_reports, to_json

    names = tuple(name.strip() for name in (flags["operators"] or "").split(",") if name.strip())
    chosen_operators(names)
    paths, workspace = suite_paths(flags["files"], flags["config"]), find_here()
    variables = parse_variables(flags["variables"])
    broken: Sequence[SuiteNotRun] = ()
    if len(paths) == 1:
        suites = [load(paths[0], workspace, variables)]
    else:
        suites, broken = load_all(paths, workspace, variables, strict=False)
        if not suites:
            ctx.exit(ExitCode.INVALID)
    options, bar = Options(names, flags["budget"], flags["seed"]), _Bar()
    cassettes = flags["cassettes"]
    reports: list[dict[str, Any]] = []
    proposals: dict[str, int] = {}
    for suite in suites:
        redactor, path = Redactor(suite.secrets), workspace.relative(suite.path)
        named = cassettes if len(paths) == 1 else tuple(name_cassette(one, path) for one in cassettes)
        try:
            recording = _record_answers(suite, workspace, named, bar)
            mutated = _judge(recording, suite, workspace, options, redactor, bar)
        except KeyboardInterrupt:
            if not reports:
                raise
            reports[-1]["partial"] = True
            break
        finally:
            bar.clear()
        made = _save_results(workspace, suite, mutated, options, None if flags["no_proposals"] else redactor)
        if made:
            proposals[path] = made
        reports.append(to_json(mutated, suite=path, redact=redactor.redact))
        if mutated.is_partial:
            break
    report = reports[0] if len(paths) == 1 else join_reports(reports, broken=[one.path for one in broken])
    output = flags["output"]
    write_out(_render(report, flags["form"], proposals=proposals, to_file=output is not None), output)
    ctx.exit(_exit_code(report, reports, flags["threshold"]))


class _Bar:
    """A progress bar on the stderr of a terminal; nothing elsewhere."""

    def __init__(self) -> None:
        self._is_shown = is_terminal(sys.stderr) and os.environ.get("TERM") != "dumb"
        self._last = ""

    def show(self, what: str, done: int, total: int) -> None:
        filled = _BAR_COLUMNS * done // max(total, 1)
        line = f"{'█' * filled}{'░' * (_BAR_COLUMNS - filled)} {what}"
        if self._is_shown and line != self._last:
            self._last = line
            sys.stderr.write(f"\r\x1b[K{line} {done:,} of {total:,}")
            sys.stderr.flush()

    def clear(self) -> None:
        if self._last:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _record_answers(suite: LoadedSuite, workspace: Workspace, cassettes: tuple[str, ...], bar: _Bar) -> Recording:
    """Run the suite, or the cassettes. Ctrl-C ends the whole command, since there is nothing to report yet."""
    import asyncio

    from mcptest_engine.cli.ending import ending_on_signals
    from mcptest_engine.core.events import CaseFinished, RunStarted
    from mcptest_engine.mutation.recording import record_answers
    from mcptest_engine.running.settings import RunSettings

    runs = len(cassettes) or 2
    run = done = total = 0

    def show_tests(event: Event) -> None:
        nonlocal run, done, total
        match event:
            case RunStarted(tests=tests):
                run, done, total = run + 1, 0, len(tests)
            case CaseFinished():
                done += 1
                bar.show(f"run {run} of {runs}: tests", done, total)

    async def main() -> Recording | None:
        task = asyncio.ensure_future(
            record_answers(suite, RunSettings(), workspace=workspace, emit=show_tests, cassettes=cassettes)
        )
        with ending_on_signals(task):
            return await task

    try:
        recording = asyncio.run(main())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    if recording is None:
        sys.stderr.write("interrupted: no mutant was judged yet\n")
        raise KeyboardInterrupt
    return recording


def _judge(
    recording: Recording, suite: LoadedSuite, workspace: Workspace, options: Options, redactor: Redactor, bar: _Bar
) -> Mutated:
    """Judge the mutants; Ctrl-C ends that with the results so far."""
    import signal

    from mcptest_engine.mutation.replay import replay_for

    stopped = False

    def stop(*_: object) -> None:
        nonlocal stopped
        stopped = True

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        return replay_for(
            suite,
            workspace,
            options,
            redactor=redactor,
            tell=lambda done, total: bar.show("mutants", done, total),
            stop=lambda: stopped,
        ).run(recording)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _save_results(
    workspace: Workspace, suite: LoadedSuite, mutated: Mutated, options: Options, redactor: Redactor | None
) -> int:
    """Store the scores and, with a `redactor`, the proposals; return the number of proposals."""
    from mcptest_engine.mutation.proposing import save_proposals, save_scores

    try:
        save_scores(workspace, suite, mutated, options)
        return 0 if redactor is None else save_proposals(workspace, mutated, redactor=redactor).tests
    except OSError as wrong:
        raise McptestError(f"the scores and proposals were not saved: {wrong.strerror or wrong}") from None


def _render(report: Mapping[str, object], form: str, *, proposals: Mapping[str, int], to_file: bool) -> str:
    import shutil

    from mcptest_engine.mutation import report as forms

    match form:
        case "json":
            return json_text(report)
        case "md":
            return forms.render_markdown(report)
        case "html":
            return forms.render_html(report)
    terminal = not to_file and is_terminal(sys.stdout)
    size = shutil.get_terminal_size() if terminal else None
    return forms.render_text(
        report,
        color=not to_file and supports_colour(sys.stdout),
        width=size.columns if size else 0,
        height=size.lines if size else None,
        proposals=proposals,
    )


def _exit_code(report: Mapping[str, Any], reports: Sequence[Mapping[str, Any]], threshold: float | None) -> ExitCode:
    if report["partial"]:
        return ExitCode.INTERRUPTED
    if report.get("broken"):
        return ExitCode.INVALID
    if report["score"] is None:
        return ExitCode.NO_TESTS
    low = [one for one in reports if one["score"] is not None and 100 * one["score"] < (threshold or 0)]
    for one in low if len(reports) > 1 else ():
        sys.stderr.write(f"{one_line(one['suite'], 200)}: the score is below {threshold:g} %\n")
    return ExitCode.GATE if low else ExitCode.PASSED

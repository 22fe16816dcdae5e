"""Where reports are written: the format and the file or stream of each, and the progress of a run."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.cli.common import is_terminal, supports_colour
from mcptest_engine.core.errors import UsageError, did_you_mean
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.workspace.workspace import SUITE_FILES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

    from mcptest_engine.core.run_record import RunRecord, SuiteNotRun
    from mcptest_engine.reporting.progress import Progress
    from mcptest_engine.reporting.registry import RenderOptions
    from mcptest_engine.workspace.workspace import Workspace

DEFAULT_FORMAT = "pretty"
_WATCHED = frozenset({DEFAULT_FORMAT, "eval"})
SUMMARISED = "github"
"""The format for the summary of a CI job."""


class Sink(NamedTuple):
    """One report: its format, its file (None: stdout), and the most tokens of an `agent` report."""

    format: str
    path: Path | None = None
    agent_budget: int = 1024

    @property
    def is_page(self) -> bool:
        """Whether the report is HTML, which no terminal shows."""
        from mcptest_engine.reporting.registry import format_of

        found = format_of(self.format)
        return found is not None and found.is_page


def make_sinks(
    reporters: Sequence[str], output: str | None, *, default: str = DEFAULT_FORMAT, agent_budget: int = 1024
) -> tuple[Sink, ...]:
    """The reports of `--reporter FMT[=PATH]` and `--output`; without a `--reporter`, one in the `default` format.

    Raises: UsageError for an unknown format, two reports on stdout, or an `--output` without a report for it.
    """
    named = [_sink(text) for text in reporters] or [Sink(format=default)]
    sinks = [sink._replace(agent_budget=agent_budget) for sink in named]
    open_ended = [sink for sink in sinks if sink.path is None]
    if output is not None:
        if not open_ended:
            raise UsageError("--output has no effect: each --reporter names its own file")
        last = open_ended.pop()
        sinks[sinks.index(last)] = last._replace(path=Path(output))
    page = next((sink.format for sink in open_ended if sink.is_page), None)
    if page is not None and is_terminal(sys.stdout):
        raise UsageError(f"the report `{page}` is a page of HTML", hint=f"give it a file: --reporter {page}=run.html")
    if len(open_ended) > 1:
        names = " and ".join(f"`{sink.format}`" for sink in open_ended)
        raise UsageError(
            f"the reports {names} would both go to stdout",
            hint=f"give one a file: --reporter {open_ended[-1].format}=PATH",
        )
    paths = [sink.path.absolute() for sink in sinks if sink.path is not None]
    if len(set(paths)) < len(paths):
        raise UsageError("two reports go to the same file", hint="give each its own")
    return tuple(sinks)


def default_format(*, models: str | None, output: str | None, watch: bool) -> str:
    """The format where none is named: with `--models` the HTML grid, except on a terminal, which cannot show it."""
    if models is None or watch or (output is None and is_terminal(sys.stdout)):
        return DEFAULT_FORMAT
    return "matrix"


def _sink(text: str) -> Sink:
    from mcptest_engine.reporting.registry import FORMATS

    name, equals, path = text.partition("=")
    if name not in FORMATS:
        known = ", ".join(FORMATS)
        raise UsageError(f"unknown reporter `{name}`", hint=did_you_mean(name, FORMATS) or f"there are {known}")
    if equals and not path:
        raise UsageError(f"`--reporter {text}` names no file", hint=f"for example: --reporter {name}=report.txt")
    return Sink(format=name, path=Path(path) if path else None)


def live_progress(sinks: Sequence[Sink]) -> Progress | None:
    """Progress on stderr while a person waits at a terminal; otherwise nothing."""
    watched = any(sink.path is None and sink.format in _WATCHED for sink in sinks)
    if not watched or os.environ.get("TERM") == "dumb" or not is_terminal(sys.stderr):
        return None
    from mcptest_engine.reporting.progress import Progress

    return Progress(sys.stderr, color=supports_colour(sys.stderr))


def render_options(sink: Sink, *, config: str, default_config: bool) -> RenderOptions:
    """The options for rendering a report; a file gets neither colour nor a terminal's width."""
    from mcptest_engine.reporting.registry import RenderOptions

    width = 0
    if sink.path is None and is_terminal(sys.stdout):
        import shutil

        width = shutil.get_terminal_size().columns
    return RenderOptions(
        color=sink.path is None and supports_colour(sys.stdout),
        width=width,
        agent_budget=sink.agent_budget,
        config=config,
        default_config=default_config,
    )


def preload(sinks: Sequence[Sink]) -> None:
    """Import what the reports need, while the run waits for a server."""
    from importlib import import_module

    from mcptest_engine.reporting.registry import format_of

    for sink in sinks:
        found = format_of(sink.format)
        assert found is not None
        import_module(f"mcptest_engine.reporting.{found.module}")


def config_of(record: RunRecord, workspace: Workspace) -> tuple[str, bool]:
    """The suite of a record as a `repro` line names it, and whether the default would find it."""
    path = os.path.relpath(workspace.root / record.suite.path)
    return path, path == next((name for name in SUITE_FILES if Path(name).is_file()), None)


def _write(stream: TextIO, text: str) -> None:
    stream.write(text)
    stream.flush()


def write_reports(record: RunRecord, sinks: Sequence[Sink], *, workspace: Workspace) -> bool:
    """Render and write every report; true when one could not be written. The others are written nevertheless."""
    from mcptest_engine.reporting.registry import RenderOptions, render
    from mcptest_engine.workspace.suite_file import write_suite

    config, default_config = config_of(record, workspace)
    lost = []
    for sink in sinks:
        rendered = render(sink.format, record, render_options(sink, config=config, default_config=default_config))
        if sink.format == SUMMARISED:
            for_summary = RenderOptions(config=config, default_config=default_config)
            add_to_summary(render("md", record, for_summary).text)
        if sink.path is None:
            _write(sys.stdout, rendered.stdout)
            _write(sys.stderr, rendered.stderr)
            continue
        try:
            write_suite(sink.path, rendered.text.encode())
        except OSError as wrong:
            lost.append(f"the {sink.format} report was not written to `{sink.path}`: {wrong.strerror or wrong}")
    if all(sink.path is not None or sink.is_page for sink in sinks):  # people and logs want the result
        options = render_options(Sink("minimal"), config=config, default_config=default_config)
        _write(sys.stderr, render("minimal", record, options).text)
    for line in lost:
        _write(sys.stderr, f"error: {one_line(line)}\n")
    return bool(lost)


def annotate_invalid(suites: Sequence[SuiteNotRun], sinks: Sequence[Sink], workspace: Workspace) -> None:
    """Write the annotations of suites that did not load, when nothing was run and no other report is written."""
    for sink in sinks:
        if sink.format == SUMMARISED:
            from mcptest_engine.cli.common import write_out
            from mcptest_engine.reporting.github import problem_lines
            from mcptest_engine.workspace.source import Source

            source = Source(workspace.root).read()
            lines = (line for suite in suites for line in problem_lines(suite, source))
            write_out("".join(f"{line}\n" for line in lines), None if sink.path is None else str(sink.path))


SUMMARY_VARIABLE = "GITHUB_STEP_SUMMARY"
MOST_SUMMARY_BYTES = 1024 * 1024


def add_to_summary(text: str) -> None:
    """Append Markdown to the summary of a GitHub job, if there is one; a failure causes only a warning.

    GitHub accepts at most 1 MiB from each step and drops a larger summary completely, so that is not written.
    """
    named = os.environ.get(SUMMARY_VARIABLE)
    if not named:
        return
    data = f"{text}\n".encode()
    try:
        with Path(named).open("ab") as file:
            if file.tell() + len(data) > MOST_SUMMARY_BYTES:
                _warn_of_summary("it would be larger than the 1 MiB that GitHub shows of a step")
                return
            file.write(data)
    except OSError as wrong:
        _warn_of_summary(wrong.strerror or str(wrong))


def _warn_of_summary(why: str) -> None:
    sys.stderr.write(f"warning: the job summary was not written: {why}\n")

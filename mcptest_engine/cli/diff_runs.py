"""`mcptest diff-runs`: compare the tests of two runs."""

from __future__ import annotations

import sys

import click

from mcptest_engine.cli.common import colours, json_text, write_out
from mcptest_engine.cli.report import read_record
from mcptest_engine.core.errors import ExitCode


@click.command()
@click.argument("before", default="latest~1")
@click.argument("after", default="latest")
@click.option("--format", "form", type=click.Choice(["text", "json", "markdown"]), default="text", show_default=True)
@click.option("--output", type=click.Path(), metavar="PATH", help="Write the output to this file instead of stdout.")
@click.option(
    "--slower-ratio",
    type=click.FloatRange(min=1),
    default=1.5,
    show_default=True,
    help="Count a test as slower if it takes this many times as long.",
)
@click.option(
    "--slower-floor",
    type=click.FloatRange(min=0),
    default=50.0,
    show_default=True,
    metavar="MS",
    help="It must also take at least this many milliseconds longer.",
)
@click.pass_context
def command(
    ctx: click.Context, before: str, after: str, form: str, output: str | None, slower_ratio: float, slower_floor: float
) -> None:
    """Compare two runs: a file, a run id, `latest` or `latest~1` (the one before). Exit 1 if a test newly fails.

    \b
    Example:
      mcptest diff-runs latest~1 latest --format markdown
    """
    from mcptest_engine.reporting.compare import Thresholds, compare_runs
    from mcptest_engine.reporting.run_diff import run_diff_markdown, run_diff_text

    limits = Thresholds(ratio=slower_ratio, floor_ms=slower_floor)
    compared = compare_runs(read_record(before), read_record(after), limits)
    if form == "json":
        text = json_text(compared.to_json())
    elif form == "markdown":
        text = run_diff_markdown(compared)
    else:
        text = run_diff_text(compared, colours(sys.stdout) if output is None else lambda _code, plain: plain)
    write_out(text, output)
    ctx.exit(ExitCode.FAILED if compared.newly_failing else ExitCode.PASSED)

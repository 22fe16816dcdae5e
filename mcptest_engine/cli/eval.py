"""`mcptest eval`: run what scorers and models grade in a suite; print each grading with its reason and its cost."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, cast

import click

from mcptest_engine.cli.common import find_here, load, parse_variables, suite_options, suite_path
from mcptest_engine.cli.run import max_cost_option, other_server_options, read_bail, run_and_report, settings_of
from mcptest_engine.cli.selection import models_option, selection_options, with_last_failed

if TYPE_CHECKING:
    from mcptest_engine.cli.run import RunFlags

_DEFAULTS = {
    "repeat": 1,
    "wait_for_ready": None,
    "update_snapshots": False,
    "allow_update_in_ci": False,
    "watch": False,
    "cost_baseline": None,
    "cost_tolerance": None,
    "save_cost_baseline": None,
    "fail_on_skipped": False,
}
"""The values of the flags of `run` that `eval` does not have."""


@click.command()
@suite_options
@selection_options
@models_option
@max_cost_option
@click.option("--explain", is_flag=True, help="Show what would be graded, and by which scorer or model; start nothing.")
@click.option("--cache", is_flag=True, help="Save verdicts and answers of models, and reuse them for equal questions.")
@click.option("--cache-dir", type=click.Path(), metavar="DIR", help="The same, with the results of tests saved in DIR.")
@click.option(
    "--reporter",
    "reporters",
    multiple=True,
    metavar="FMT[=PATH]",
    help="A report as in `run`, in place of a line for each grading; repeatable.",
)
@click.option("--output", type=click.Path(), metavar="PATH", help="Write the report to this file instead of stdout.")
@click.option(
    "-n",
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Make N gradings at once; 1 keeps the order of the suite. [default: 8]",
)
@click.option("--retries", type=click.IntRange(min=0), metavar="N", help="Retry a failed row up to N times.")
@click.option(
    "--bail", is_flag=False, flag_value="1", metavar="[N]", help="Stop after N failures (1 without a number)."
)
@other_server_options
@click.option("--record", metavar="NAME", help="Record the answers of servers and models in a cassette of this name.")
@click.option("--replay", metavar="NAME", help="Replay this cassette instead of asking servers and models.")
@click.option("--fail-on-inconclusive", is_flag=True, help="Exit 1 if a test is inconclusive.")
@click.option("--strict", is_flag=True, help="Refuse a suite with warnings.")
@click.option("--no-color", is_flag=True, help="No colour; NO_COLOR does the same.")
@click.pass_context
def command(ctx: click.Context, /, **flags: Any) -> None:
    """Grade answers: run the `evals:` of a suite, and the other tests that a model grades.

    \b
    Example:
      mcptest eval --config mcptest.yaml --max-cost 0.50
    """
    if flags["no_color"]:
        os.environ["NO_COLOR"] = "1"
    bail, files = read_bail(flags["bail"], tuple(filter(None, [flags["file"]])))
    path = suite_path(files[0] if files else None, flags["config"])
    settings = settings_of(cast("RunFlags", {**_DEFAULTS, **flags}), bail)
    settings = settings._replace(selection=settings.selection._replace(judged=True))
    from mcptest_engine.cli.sinks import make_sinks

    sinks = make_sinks(flags["reporters"], flags["output"], default="eval")
    workspace = find_here()
    suite = load(path, workspace, parse_variables(flags["variables"]), strict=flags["strict"])
    settings = with_last_failed(settings, suite, workspace, wanted=flags["last_failed"])
    if flags["explain"]:
        from mcptest_engine.cli.explain import show_plan

        ctx.exit(show_plan(suite, settings, workspace, as_json=any(sink.format == "json" for sink in sinks)))
    code, _ = run_and_report(suite, settings, workspace, sinks)
    ctx.exit(code)

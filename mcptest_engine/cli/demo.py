"""`mcptest demo`: the example suite on the embedded mock server, from a checkout or from an installed wheel."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import click

from mcptest_engine.cli.common import find_here, load
from mcptest_engine.core.errors import UsageError
from mcptest_engine.workspace.suite_file import LESSON_TAG, demo_suite


@click.command()
@click.option("--headless", is_flag=True, help="Print the report, even in a terminal.")
@click.pass_context
def command(ctx: click.Context, headless: bool) -> None:  # noqa: ARG001 - where it is not given, a terminal gets the workbench
    """Run the demo suite against the mock server. It needs no setup.

    The suite is written to mcptest-demo.yml here, unless the file exists. One of its tests is wrong on purpose, for
    you to correct; this command does not run it. In a terminal, the workbench opens with the suite.

    \b
    Example:
      mcptest demo
    """
    from mcptest_engine.cli.run import run_and_report
    from mcptest_engine.cli.sinks import make_sinks
    from mcptest_engine.running.settings import RunSettings, Selection

    try:
        suite_file = demo_suite(Path.cwd())
    except OSError as wrong:
        why = wrong.strerror or type(wrong).__name__
        raise UsageError(f"{wrong.filename} cannot be written: {why}", hint="run the demo in another folder") from None
    workspace = find_here()
    suite = load(suite_file, workspace, {})
    settings = RunSettings(selection=Selection(skip_tags=frozenset({LESSON_TAG})))
    code, _ = run_and_report(suite, settings, workspace, make_sinks((), None))
    near = shlex.quote(_near(str(suite_file)))
    has_lesson = LESSON_TAG in suite_file.read_text(encoding="utf-8")
    lesson = " One test in it is wrong on purpose and was left out: correct it." if has_lesson else ""
    sys.stderr.write(
        f"\nThe suite is {near}.{lesson} Read it, change it, and run it again with:\n  {_own_name()} run {near}\n"
    )
    ctx.exit(code)


def _own_name() -> str:
    """How to call this command from here: by its name alone when PATH finds this one."""
    import shutil

    own = os.path.realpath(sys.argv[0])
    found = shutil.which("mcptest")
    return "mcptest" if found is not None and os.path.realpath(found) == own else shlex.quote(_near(own))


def _near(path: str) -> str:
    shown = os.path.relpath(path)
    return path if shown.startswith("..") else shown

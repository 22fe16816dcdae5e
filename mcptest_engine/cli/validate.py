"""`mcptest validate`: every problem of a suite, nothing started, nothing called."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from mcptest_engine.cli.common import check, find_here, parse_variables, show_problems, suite_path
from mcptest_engine.core.errors import ExitCode, Problem, Severity


@click.command()
@click.argument("files", nargs=-1, type=click.Path())
@click.option("--config", type=click.Path(), metavar="FILE", help="The suite; the same as FILE.")
@click.option("--var", "variables", multiple=True, metavar="K=V", help="Set a suite variable.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--strict", is_flag=True, help="Warnings fail as well.")
@click.pass_context
def command(
    ctx: click.Context, files: tuple[str, ...], config: str | None, variables: tuple[str, ...], form: str, strict: bool
) -> None:
    """Check suites against the language: every problem at once, with its place and a hint.

    \b
    Example:
      mcptest validate mcptest.yaml --format json
    """
    paths = [Path(file) for file in files] or [suite_path(None, config)]
    workspace, given = find_here(), parse_variables(variables)
    problems: list[Problem] = []
    counts = []
    for path in paths:
        checked = check(path, workspace, given)
        problems.extend(checked.problems)
        counts.append(f"{path}: valid, {_counted(len(checked.suite.tests))}" if checked.suite is not None else None)
    bad = [problem for problem in problems if strict or problem.severity is Severity.ERROR]
    if form == "json":
        _print_document(bad)
    else:
        show_problems(problems, running=False)
        if not bad:
            sys.stdout.write("".join(f"{line}\n" for line in counts if line is not None))
    ctx.exit(ExitCode.INVALID if bad else ExitCode.PASSED)


def _print_document(problems: list[Problem]) -> None:
    """Source: agent-interface, validate_suite."""
    import json

    errors = [{"path": problem.pointer, "message": problem.message, "hint": problem.hint} for problem in problems]
    json.dump({"valid": not errors, "errors": errors}, sys.stdout, ensure_ascii=False, indent=2)
    sys.stdout.write("\n")


def _counted(tests: int) -> str:
    return f"{tests} test{'' if tests == 1 else 's'}"

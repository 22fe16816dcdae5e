"""`mcptest validate`: every problem of a suite; nothing is started or called."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from mcptest_engine.cli.common import check, find_here, json_text, parse_variables, show_problems, suite_path
from mcptest_engine.core.errors import ExitCode, Problem, Severity, UsageError
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.text import counted

if TYPE_CHECKING:
    from pathlib import Path

    from mcptest_engine.suite.load import LoadedSuite


@click.command()
@click.argument("files", nargs=-1, type=click.Path())
@click.option("--config", type=click.Path(), metavar="FILE", help="The suite; the same as FILE.")
@click.option("--var", "variables", multiple=True, metavar="K=V", help="Set a suite variable.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--strict", is_flag=True, help="Fail if there are warnings.")
@click.pass_context
def command(
    ctx: click.Context, files: tuple[str, ...], config: str | None, variables: tuple[str, ...], form: str, strict: bool
) -> None:
    """Check suites without running them. All problems are listed, each with its place and a hint.

    \b
    Example:
      mcptest validate mcptest.yaml --format json
    """
    if files and config is not None and set(files) != {config}:
        raise UsageError(
            f"both suites as FILE and `--config {config}` are given", hint="name each as FILE; `validate` takes several"
        )
    from mcptest_engine.cli.many import suite_paths

    paths = suite_paths(files, None) if files else [_default_path(config)]
    workspace, given = find_here(), parse_variables(variables)
    problems: list[Problem] = []
    bad: list[Problem] = []
    valid = []
    for path in paths:
        checked = check(path, workspace, given)
        faults = [problem for problem in checked.problems if strict or problem.severity is Severity.ERROR]
        problems += checked.problems
        bad += faults
        if checked.suite is not None and not faults:
            valid.append(f"{one_line(str(path))}: valid, {counted(_count_tests(checked.suite), 'test')}\n")
    if form == "json":
        others = [problem for problem in problems if problem not in bad]
        _print_document(bad, others, has_places=len(paths) > 1)
    else:
        show_problems(problems, running=False)
        sys.stdout.write("".join(valid))
    ctx.exit(ExitCode.INVALID if bad else ExitCode.PASSED)


def _count_tests(suite: LoadedSuite) -> int:
    """The number of tests in a run: an entry with models, runs, graders or cases is several."""
    from mcptest_engine.running.declared_tests import Shared, all_declared_tests

    shared = Shared.of(suite, ())
    return sum(1 for entry in suite.tests for _ in all_declared_tests(entry.kind, entry.data, "", shared))


def _default_path(config: str | None) -> Path:
    try:
        return suite_path(None, config)
    except UsageError as unnamed:
        unnamed.hint = "name one: mcptest validate FILE"
        raise


def _print_document(errors: list[Problem], warnings: list[Problem], *, has_places: bool) -> None:
    """Print the problems as JSON; with `has_places`, each has its file, line and column too."""
    tell = _with_place if has_places else Problem.to_json
    document: dict[str, Any] = {"valid": not errors, "errors": [tell(problem) for problem in errors]}
    if warnings:
        document["warnings"] = [tell(problem) for problem in warnings]
    sys.stdout.write(json_text(document))


def _with_place(problem: Problem) -> dict[str, object]:
    span = problem.span
    place = {"file": problem.file, "line": span and span.line, "column": span and span.column}
    return {**problem.to_json(), **place}

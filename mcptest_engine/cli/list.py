"""`mcptest list`: what a run would take, after filters; starts nothing."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from mcptest_engine.cli.common import find_here, json_text, load, parse_variables, suite_options, suite_path
from mcptest_engine.cli.run import selection_of, selection_options, with_last_failed
from mcptest_engine.core.errors import ExitCode
from mcptest_engine.core.words import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest_engine.running.cases import Case, Plan
    from mcptest_engine.running.settings import RunSettings
    from mcptest_engine.suite.load import LoadedSuite
    from mcptest_engine.workspace.workspace import Workspace


@click.command()
@suite_options
@selection_options
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
@click.pass_context
def command(ctx: click.Context, /, **flags: Any) -> None:
    """Show the tests that a run would take, in declared order, with what each calls.

    \b
    Example:
      mcptest list mcptest.yaml --tag smoke --format json
    """
    from mcptest_engine.running.settings import RunSettings

    path = suite_path(flags["file"], flags["config"])
    workspace = find_here()
    suite = load(path, workspace, parse_variables(flags["variables"]))
    settings = RunSettings(selection=selection_of(flags))
    settings = with_last_failed(settings, suite, workspace, wanted=flags["last_failed"])
    ctx.exit(show(suite, settings, workspace, form=flags["form"]))


def show(suite: LoadedSuite, settings: RunSettings, workspace: Workspace, *, form: str) -> int:
    """Print the plan; the exit code is the one of a run that selects nothing, where it selects nothing."""
    from mcptest_engine.running.plan import plan_of

    plan = plan_of(suite, settings, relative=workspace.relative)
    if form == "json":
        _print_json(suite, plan)
    else:
        _print_table(suite, plan)
    return ExitCode.PASSED if plan.cases or settings.selection.shard is not None else ExitCode.NO_TESTS


def _print_json(suite: LoadedSuite, plan: Plan) -> None:
    from mcptest_engine.core.redaction import Redactor

    redact = Redactor(suite.secrets).redact
    tests = [
        {
            "id": case.id,
            "name": case.name,
            "kind": case.kind.value,
            "server": case.server,
            "method": case.method or None,
            "params": redact(case.params),
            "description": redact(case.description),
            "tags": list(case.tags),
            "serial": case.serial,
            "skip": redact(case.skip),
            "file": case.file,
            "line": case.line,
        }
        for case in plan.cases
    ]
    sys.stdout.write(json_text({"suite": suite.name, "declared": plan.declared, "tests": tests}))


def _print_table(suite: LoadedSuite, plan: Plan) -> None:
    from mcptest_engine.core.redaction import Redactor
    from mcptest_engine.core.sanitise import one_line

    redact = Redactor(suite.secrets).redact_text
    write = sys.stdout.write
    write(f"{one_line(suite.name)}: {_chosen(plan)}\n")
    for server in dict.fromkeys(case.server for case in plan.cases):
        write(f"\n{one_line(server)}\n")
        cases = [case for case in plan.cases if case.server == server]
        width = min(48, max(len(one_line(case.name)) for case in cases))
        for case in cases:
            write(
                f"  {one_line(case.name):<{width}}  {one_line(redact(_call(case)))}{one_line(redact(_notes(case)))}\n"
            )
            if case.description:
                write(f"    {one_line(redact(case.description))}\n")
    for warning in plan.warnings:
        write(f"\n{warning}\n")


def _chosen(plan: Plan) -> str:
    chosen, tests = len(plan.cases), counted(plan.declared, "test")
    return tests if chosen == plan.declared else f"{chosen} of {tests}"


def _call(case: Case) -> str:
    params = case.params or {}
    about = params.get("name") or params.get("uri")
    return case.method if about is None else f"{case.method} {about}"


def _notes(case: Case) -> str:
    notes: Sequence[str] = (
        *(f"#{tag}" for tag in case.tags),
        *(("serial",) if case.serial else ()),
        *((f"skip: {case.skip}",) if case.skip else ()),
        *((case.deferred,) if case.deferred and not case.skip else ()),
    )
    return f"  [{', '.join(notes)}]" if notes else ""

"""`mcptest list`: the tests that a run would select; starts nothing."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from mcptest_engine.cli.common import find_here, json_text, load, parse_variables, suites_options
from mcptest_engine.cli.selection import models_of, models_option, selection_of, selection_options, with_last_failed
from mcptest_engine.core.enums import TestKind, is_weak
from mcptest_engine.core.errors import ExitCode, UsageError
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Unpack

    from mcptest_engine.cli.selection import SelectionFlags
    from mcptest_engine.running.cases import Case, Plan
    from mcptest_engine.running.kinds.composition.plan import Program
    from mcptest_engine.running.settings import RunSettings
    from mcptest_engine.suite.load import LoadedSuite
    from mcptest_engine.workspace.workspace import Workspace

    class ListFlags(SelectionFlags):
        """The flags of `mcptest list`."""

        files: tuple[str, ...]
        config: str | None
        variables: tuple[str, ...]
        models: str | None
        form: str
        graph: str | None


@click.command()
@suites_options
@selection_options
@models_option
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
@click.option(
    "--graph",
    is_flag=False,
    flag_value="mermaid",
    metavar="[mermaid|dot]",
    help="Draw the compositions that would run; Mermaid by default.",
)
@click.pass_context
def command(ctx: click.Context, /, **flags: Unpack[ListFlags]) -> None:
    """List the tests that would run, in the order of the suite, with the call of each.

    \b
    Example:
      mcptest list mcptest.yaml --tag smoke --format json
    """
    from mcptest_engine.cli.many import load_all, select_all, suite_paths
    from mcptest_engine.running.settings import RunSettings

    graph, files = _read_graph(flags["graph"], flags["files"])
    form = graph or flags["form"]
    paths = suite_paths(files, flags["config"])
    workspace, variables = find_here(), parse_variables(flags["variables"])
    settings = RunSettings(selection=selection_of(flags), models=models_of(flags["models"]))
    if len(paths) > 1:
        suites, broken = load_all(paths, workspace, variables, strict=False)
        if not suites:
            ctx.exit(ExitCode.INVALID)
        chosen = select_all(suites, settings, workspace, last_failed=flags["last_failed"])
        ctx.exit(show_many(chosen, workspace, form=form, broken=bool(broken)))
    suite = load(paths[0], workspace, variables)
    settings = with_last_failed(settings, suite, workspace, wanted=flags["last_failed"])
    ctx.exit(show(suite, settings, workspace, form=form))


def _read_graph(value: str | None, files: tuple[str, ...]) -> tuple[str | None, tuple[str, ...]]:
    """Read `--graph`: the graph language, and the suites: in `--graph suite.yml`, it is the suite. Raises: UsageError."""
    if value is None or value in {"mermaid", "dot"}:
        return value, files
    if not files and value.endswith((".yml", ".yaml")):
        return "mermaid", (value,)
    raise UsageError(f"`--graph {value}` is not a known format", hint="use `mermaid` or `dot`")


def show_many(
    chosen: Sequence[tuple[LoadedSuite, RunSettings]], workspace: Workspace, *, form: str, broken: bool
) -> int:
    """Print the plans of several suites one after another; with "json", as one list."""
    if form == "json":
        from mcptest_engine.running.plan import make_plan

        plans = [(suite, make_plan(suite, own, relative=workspace.relative)) for suite, own in chosen]
        sys.stdout.write(json_text([_document(suite, plan, workspace) for suite, plan in plans]))
        codes = [ExitCode.PASSED if any(plan.cases for _, plan in plans) else ExitCode.NO_TESTS]
    else:
        codes = []
        for number, (suite, own) in enumerate(chosen):
            blank = "\n" if number else ""
            sys.stdout.write(f"{blank}{one_line(workspace.relative(suite.path))}\n")
            codes.append(ExitCode(show(suite, own, workspace, form=form)))
    if broken:
        return ExitCode.INVALID
    return ExitCode.PASSED if ExitCode.PASSED in codes else codes[0]


def show(suite: LoadedSuite, settings: RunSettings, workspace: Workspace, *, form: str) -> int:
    """Print the plan, or a graph of its compositions; the exit code is 7 when nothing is selected."""
    from mcptest_engine.running.plan import make_plan

    plan = make_plan(suite, settings, relative=workspace.relative)
    if form in {"mermaid", "dot"}:
        return _draw(suite, plan, form)
    if form == "json":
        sys.stdout.write(json_text(_document(suite, plan, workspace)))
    else:
        _print_table(suite, plan)
    return ExitCode.PASSED if plan.cases or settings.selection.shard is not None else ExitCode.NO_TESTS


def _draw(suite: LoadedSuite, plan: Plan, form: str) -> int:
    """Print the compositions among the cases as a graph."""
    from mcptest_engine.core.redaction import Redactor
    from mcptest_engine.running.kinds.composition.drawing import dot, mermaid
    from mcptest_engine.running.kinds.composition.plan import Row

    rows = [case.body for case in plan.cases if isinstance(case.body, Row)]
    chosen = list({id(row.program): row.program for row in rows}.values())
    if not chosen:
        sys.stderr.write("no composition is selected\n")
        return ExitCode.NO_TESTS
    redact = Redactor(suite.secrets).redact_text
    sys.stdout.write(mermaid(chosen, redact=redact) if form == "mermaid" else dot(chosen, suite.name, redact=redact))
    return ExitCode.PASSED


def _document(suite: LoadedSuite, plan: Plan, workspace: Workspace) -> dict[str, object]:
    from mcptest_engine.core.redaction import Redactor
    from mcptest_engine.running.mutation_scores import read_mutation_scores

    redact, scores = Redactor(suite.secrets).redact, read_mutation_scores(suite, workspace)
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
            "strength": case.strength.value,
            **({} if (score := scores.get(case.id)) is None else {"mutation_score": score}),
            **({} if case.group is None else {"group": case.group}),
            **({"fresh": "group" if any(case.fresh.values()) else True} if case.fresh else {}),
            "serial": case.serial,
            "skip": redact(case.skip),
            "file": case.file,
            "line": case.line,
            **({} if case.row_name is None else {"case": case.row_name}),
            **({} if (program := _program_of(case)) is None else {"nodes": redact(_nodes(program))}),
            **redact(case.body.list_members(case)),
            **({} if case.subject is None else {"subject": redact(case.subject)}),
        }
        for case in plan.cases
    ]
    return {"suite": suite.name, "declared": plan.declared, "tests": tests}


def _print_table(suite: LoadedSuite, plan: Plan) -> None:
    from mcptest_engine.core.redaction import Redactor
    from mcptest_engine.core.sanitise import one_line

    redact = Redactor(suite.secrets).redact_text
    write = sys.stdout.write
    chosen = "" if len(plan.cases) == plan.declared else f"{len(plan.cases)} of "
    write(f"{one_line(suite.name)}: {chosen}{counted(plan.declared, 'test')}\n")
    for server in dict.fromkeys(case.server for case in plan.cases):
        write(f"\n{one_line(server) or '(no server)'}\n")
        cases = [case for case in plan.cases if case.server == server]
        width = min(48, max(len(one_line(case.name)) for case in cases))
        drawn: set[int] = set()
        for case in cases:
            call = one_line(redact(case.body.call_text(case)))
            write(f"  {one_line(case.name):<{width}}  {call}{one_line(redact(_notes(case)))}\n")
            program = _program_of(case)
            is_shown = case.subject is not None or (program is not None and id(program) in drawn)
            if case.description and not is_shown:
                write(f"    {one_line(redact(case.description))}\n")
            if program is not None and not is_shown:
                drawn.add(id(program))
                write("".join(f"    {one_line(redact(line))}\n" for line in _node_lines(program)))
    for warning in plan.warnings:
        write(f"\n{warning}\n")


def _program_of(case: Case) -> Program | None:
    """The nodes of a composition; None for other cases."""
    if case.kind is not TestKind.COMPOSITION:
        return None
    from mcptest_engine.running.kinds.composition.plan import Row

    return case.body.program if isinstance(case.body, Row) else None


def _nodes(program: Program) -> list[dict[str, object]]:
    from mcptest_engine.running.kinds.composition.drawing import marks_of

    return [
        {
            "id": node.id,
            "server": node.server,
            "tool": node.tool,
            "needs": [program.nodes[parent].id for parent in node.parents],
            **({"optional": [program.nodes[parent].id for parent in node.defaults]} if node.defaults else {}),
            **({"notes": notes} if (notes := list(marks_of(node))) else {}),
        }
        for node in program.nodes
    ]


def _node_lines(program: Program) -> Iterator[str]:
    """`readme: get_readme, after search [when …]` for each node, in execution order.

    With its server where there are several: `readme: get_readme (index), after search`.
    """
    from mcptest_engine.running.kinds.composition.drawing import marks_of

    several = len({node.server for node in program.nodes}) > 1
    for number in program.order:
        node = program.nodes[number]
        tool = f"{node.tool} ({node.server})" if several else node.tool
        parents = ", ".join(
            program.nodes[parent].id + (" (optional)" if parent in node.defaults else "") for parent in node.parents
        )
        notes = "; ".join(marks_of(node))
        yield f"{node.id}: {tool}{f', after {parents}' if parents else ''}{f'  [{notes}]' if notes else ''}"


def _notes(case: Case) -> str:
    notes: Sequence[str] = (
        *(f"#{tag}" for tag in case.tags),
        *((f"group {case.group}",) if case.group is not None else ()),
        *(("serial",) if case.serial and case.group is None else ()),
        *((f"skip: {case.skip}",) if case.skip else ()),
        *((f"deferred: {case.deferred}",) if case.deferred and not case.skip else ()),
        *((f"weak: {case.strength}",) if is_weak(case.strength) else ()),
    )
    return f"  [{', '.join(notes)}]" if notes else ""

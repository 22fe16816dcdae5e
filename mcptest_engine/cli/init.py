"""`mcptest init`: write a first suite that runs, by a few questions or by flags.

Only the chosen server is started, and only its lists are read. No tool is called before a person has agreed to run the suite,
and then only tools that declare to be read-only or were allowed. Nothing is written to the disk before the complete suite.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mcptest_engine.cli.common import is_terminal
from mcptest_engine.cli.first_run import FirstRun, save_suite, say
from mcptest_engine.cli.policy_flags import allowing_options, check_allowed, policy_options, take_policy
from mcptest_engine.core.enums import ExpectedOutcome
from mcptest_engine.core.errors import AuthFailed, ExitCode, McptestError, ServerError, UsageError
from mcptest_engine.core.text import counted
from mcptest_engine.core.values import dataclass
from mcptest_engine.safety.tool_classes import ToolClass
from mcptest_engine.workspace.workspace import SUITE_FILES

if TYPE_CHECKING:
    from mcptest_engine.authoring.scaffold import Scaffold, ScaffoldedTool
    from mcptest_engine.cli.choosing import Chosen
    from mcptest_engine.cli.ci_files import Pipeline
    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.safety.execution_policy import ExecutionPolicy
    from mcptest_engine.servers.agent_configs import FoundServer
    from mcptest_engine.servers.catalog import Catalog

DEFAULT_OUTPUT = "mcptest.yml"
ALL_OUTPUT = "mcptest"
_WARNINGS_SHOWN = 5
_HELD_SHOWN = 200
_CHANGING_SHOWN = 10
_LONGEST_ARGUMENTS = 80


@click.command()
@click.option("--url", metavar="URL", help="A Streamable HTTP endpoint.")
@click.option("--command", "argv", metavar="ARGV", help="A stdio server: program and arguments in one string.")
@click.option(
    "--from-config",
    is_flag=False,
    flag_value="",
    metavar="[NAME|FILE[#NAME]]",
    help="A server from the settings of a coding agent on this machine, or from a file: settings of any agent, a "
    "server.json of the MCP registry, or an MCP bundle (manifest.json, .mcpb). NAME may be left out if there is only one.",
)
@click.option(
    "--all-from",
    metavar="FILE",
    help="A suite for each server of such a file, in the folder --output. [default: mcptest]",
)
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="K=V",
    help="A value that the file asks for: a variable, an argument, or a setting. A secret is not written.",
)
@click.option(
    "--env",
    "env",
    multiple=True,
    metavar="K=V",
    help="An environment variable for --command. A secret is not written; `${NAME}` reads the environment.",
)
@click.option("--bearer-token-env", metavar="NAME", help="The variable that holds the token for --url.")
@click.option("--auth", type=click.Choice(["bearer", "oauth2", "custom-header"]), help="How to authenticate to --url.")
@click.option("--auth-env", metavar="NAME", help="With --auth bearer: the same as --bearer-token-env.")
@click.option("--header-name", metavar="H", help="With --auth custom-header: the header.")
@click.option("--header-env", metavar="NAME", help="With --auth custom-header: the variable that holds its value.")
@click.option(
    "--wait-for-ready", metavar="TIME", help="How long a run waits for --url, such as 60s; written into the suite."
)
@click.option("--protocol", metavar="REV", help="The protocol revision to offer; written into the suite.")
@click.option("--tools", metavar="A,B", help="Write tests for these tools only. [default: all]")
@click.option(
    "--output", type=click.Path(), metavar="FILE", help=f"Write the suite to this file. [default: {DEFAULT_OUTPUT}]"
)
@click.option("--force", is_flag=True, help="Overwrite an existing suite.")
@click.option("--yes", is_flag=True, help="Ask no questions, and run the suite unless --no-run is given.")
@click.option("--run", "run_all", is_flag=True, help="Run the suite without asking first.")
@click.option("--no-run", is_flag=True, help="Only write the suite.")
@click.option(
    "--ci",
    type=click.Choice(["github", "gitlab"]),
    help="Also write a pipeline that runs the suite on every push. An existing one is not changed.",
)
@click.option(
    "--install-from",
    metavar="SOURCE",
    help="With --ci: what pip installs mcptest from there, such as a git URL, a wheel or a name of your index. "
    "[default: where this mcptest comes from]",
)
@click.option(
    "--timeout",
    "timeout_seconds",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="The time limit for each answer.",
)
@allowing_options
@policy_options
@click.pass_context
def command(ctx: click.Context, /, **flags: Any) -> None:
    """Write a first suite for your server. Options name the server; in a terminal you are asked for it.

    The server is started, and its tools, resources and prompts are listed. No tool is called unless you run the suite, and then
    only tools that declare `readOnlyHint: true` and tools that you allow. The others are listed with the reason, and their
    tests are skipped (`skip:`).

    \b
    Examples:
      mcptest init
      mcptest init --command "python server.py" --yes
      mcptest init --command "python server.py" --yes --presumed --allow create_note
      mcptest init --url https://mcp.example.com/mcp --bearer-token-env MCP_TOKEN --no-run
      mcptest init --from-config server.json --input API_KEY=… --yes
      mcptest init --all-from .cursor/mcp.json --yes --no-run
      mcptest init --command "python server.py" --yes --ci github
    """
    if flags["no_run"] and flags["run_all"]:
        raise UsageError("--run runs the suite and --no-run does not", hint="use only one of them")
    if flags["install_from"] is not None and flags["ci"] is None:
        raise UsageError("--install-from requires --ci")
    from mcptest_engine.cli.choosing import check_flags, chosen_by_flags, file_of

    policy = take_policy(flags)
    person = _Person(asks=is_terminal(sys.stdin) and is_terminal(sys.stderr) and not flags["yes"])
    check_flags(flags)
    file = None if flags["from_config"] is None else file_of(flags["from_config"])
    if flags["inputs"] and file is None and flags["all_from"] is None:
        raise UsageError("--input requires --from-config FILE or --all-from FILE")
    if flags["all_from"] is not None:
        ctx.exit(_write_all(ctx, flags, person, policy))
    chosen = chosen_by_flags(flags) if file is None else _chosen_in_file(ctx, *file, flags, person)
    if chosen is None and not person.asks:
        raise UsageError(
            "no server is named, and there is no terminal for a question",
            hint='name one: --command "python server.py", --url URL, or --from-config NAME',
        )
    pipeline = None
    if flags["ci"] is not None:
        from mcptest_engine.cli.ci_files import pipeline_for

        pipeline = pipeline_for(flags["ci"], Path.cwd())
    output = Path(flags["output"] or DEFAULT_OUTPUT)
    if not (person.asks and flags["output"] is None):
        _check_free(output, force=flags["force"])
    if chosen is None:
        chosen = _choose_server(person)
    if person.asks and flags["output"] is None:
        output = _choose_output(person, force=flags["force"])
    ctx.exit(_write_suite(chosen, output, flags, person, policy, pipeline))


def _write_suite(
    chosen: Chosen,
    output: Path,
    flags: dict[str, Any],
    person: _Person,
    policy: ExecutionPolicy,
    pipeline: Pipeline | None,
) -> int:
    """List what the server offers, write a suite for it, and run it where that is wanted; return the exit code."""
    catalog, chosen = _introspected(chosen, flags["timeout_seconds"], person)
    if person.asks and not flags["no_run"]:
        policy = _with_presumed(person, catalog, flags, policy)
    if (not person.asks and not (flags["yes"] or flags["run_all"])) or flags["no_run"]:
        # the flag is for a run by this command, and there is none
        policy = replace(policy, execute_destructive=False)
    found = _scaffolded(catalog, chosen, flags, policy)
    save_suite(output, found.suite)
    _print_summary(output, found, chosen, catalog, flags)
    if pipeline is not None:
        _write_pipeline(pipeline, output, found, chosen, flags["install_from"])
    code, record, proposals = int(ExitCode.PASSED), None, 0
    if _has_live_tests(found) and _should_run(found, flags, person):
        run = FirstRun(output, chosen, policy, found)
        code, record = run.all()
        if not record.interrupted:
            code, record = run.again(catalog, record)
        _print_checked(record)
        if not record.interrupted:
            proposals = run.learn(record)
    _print_next_steps(output, chosen, catalog, found, record, proposals=proposals)
    return code


# --- servers of a file


def _chosen_in_file(ctx: click.Context, path: Path, name: str, flags: dict[str, Any], person: _Person) -> Chosen:
    """The server of a file, with its values, after a person has agreed to start it. Raises: UsageError."""
    from mcptest_engine.cli.choosing import chosen_in_file, server_in_file
    from mcptest_engine.cli.common import parse_variables
    from mcptest_engine.servers.server_files import opened_server_file

    inputs = parse_variables(flags["inputs"], flag="--input")
    while True:
        found = ctx.with_resource(opened_server_file(path, os.environ, inputs))
        server = server_in_file(found, path, name)
        if not (server.missing and person.asks):
            break
        for missing in server.missing:
            while not inputs.get(missing):
                inputs[missing] = person.answer(f"{missing}, which `{server.name}` needs")
    if flags["all_from"] is None:
        for problem in found.problems:
            sys.stderr.write(f"warning: {path}: {problem}\n")
    chosen = chosen_in_file(server, path, flags)
    _require_leave(server, path, person, flags)
    return chosen


def _require_leave(server: FoundServer, path: Path, person: _Person, flags: dict[str, object]) -> None:
    """Require that a person sees and accepts a server from a file before it is started. Raises: UsageError, click.Abort."""
    from mcptest_engine.core.sanitise import one_line

    shown = f"{one_line(server.name, 80)}: {one_line(server.shown, 300)}"
    if person.asks:
        if not person.agrees(f"`{path}` names {shown}\nstart it, or send requests to it?", default=False):
            sys.stderr.write("nothing was started\n")
            raise click.Abort
    elif not flags["yes"]:
        raise UsageError(f"nothing was started: `{path}` names {shown}", hint="start it with --yes")


def _write_all(ctx: click.Context, flags: dict[str, Any], person: _Person, policy: ExecutionPolicy) -> int:
    """Write a suite for each server of a file; if one fails, the others are still written. Return the worst exit code."""
    from mcptest_engine.cli.choosing import key_of
    from mcptest_engine.cli.common import parse_variables
    from mcptest_engine.core.sanitise import one_line
    from mcptest_engine.servers.server_files import opened_server_file

    if flags["ci"] is not None:
        raise UsageError(
            "--ci is for one suite", hint="write the suites first; then `mcptest run FOLDER` runs all of them"
        )
    path, folder = Path(flags["all_from"]), Path(flags["output"] or ALL_OUTPUT)
    if not path.is_file():
        raise UsageError(f"there is no file `{path}`")
    inputs = parse_variables(flags["inputs"], flag="--input")
    found = ctx.with_resource(opened_server_file(path, os.environ, inputs))
    servers = [server for server in found.servers if server.enabled]
    problems = [*found.problems, *(f"`{one.name}` is turned off" for one in found.servers if not one.enabled)]
    if not servers:
        raise UsageError(f"`{path}` names no server that can be started", hint="; ".join(problems[:5]) or None)
    for problem in problems:
        sys.stderr.write(f"warning: {one_line(f'{path}: {problem}')}\n")
    outputs: list[Path] = []
    taken: set[str] = set()  # in lower case, because some file systems ignore case
    for server in servers:
        key, number = key_of(server.name), 1
        while (own := key if number == 1 else f"{key}-{number}").lower() in taken:
            number += 1
        taken.add(own.lower())
        outputs.append(folder / f"{own}.yml")
    for output in outputs:
        _check_free(output, force=flags["force"])
    worst = int(ExitCode.PASSED)
    for server, output in zip(servers, outputs, strict=True):
        sys.stdout.write(f"--- {one_line(server.name)}\n")
        sys.stdout.flush()
        try:
            chosen = _chosen_in_file(ctx, path, server.name, flags, person)
            code = _write_suite(chosen, output, flags, person, policy, None)
        except click.Abort:
            continue
        except McptestError as wrong:
            if isinstance(wrong, UsageError) and not flags["yes"] and not person.asks:
                raise
            sys.stderr.write(f"error: {wrong.message}\n" + (f"  {wrong.hint}\n" if wrong.hint else ""))
            code = int(ExitCode.FAILED)
        worst = worst or code
    return worst


# --- questions


@dataclass(frozen=True, slots=True)
class _Person:
    """The person at the terminal; without one, nothing is asked."""

    asks: bool

    def answer(self, question: str, default: str = "") -> str:
        """What the person typed, `default` for an empty line. Raises: click.Abort at the end of input."""
        suffix = f" [{default}]" if default else ""
        sys.stderr.write(f"{question}{suffix}: ")
        sys.stderr.flush()
        line = sys.stdin.readline()
        if not line:
            sys.stderr.write("\nnothing was written\n")
            raise click.Abort
        return line.strip() or default

    def agrees(self, question: str, *, default: bool) -> bool:
        """Whether the person agrees; `default` for an empty line, false when nobody can be asked."""
        both = "Y/n" if default else "y/N"
        while self.asks:
            typed = self.answer(question, both)
            if typed == both:
                return default
            if typed.lower() in ("y", "yes"):
                return True
            if typed.lower() in ("n", "no"):
                return False
            sys.stderr.write("  y or n\n")
        return False


def _choose_server(person: _Person) -> Chosen:
    from mcptest_engine.cli.choosing import find_candidates, parse_choice
    from mcptest_engine.cli.start_commands import StartCommand
    from mcptest_engine.core.sanitise import one_line
    from mcptest_engine.servers.token_store import shown_path

    offers = find_candidates(Path.cwd())
    sys.stderr.write("Which server is the suite for? It starts when you have chosen it.\n")
    for number, offer in enumerate(offers, 1):
        if isinstance(offer, StartCommand):
            what, source = offer.shown, f"{offer.source} here"
        else:
            what, source = f"{offer.name}: {offer.shown}", f"{offer.client}, {shown_path(Path(offer.source_path))}"
        sys.stderr.write(f"  {number}  {one_line(what, 90)}  ({one_line(source, 90)})\n")
    question = "a number, a command or a URL" if offers else 'a command such as "python server.py", or a URL'
    while True:
        typed = person.answer(question, "1" if offers else "")
        if not typed:
            continue
        try:
            return parse_choice(typed, offers)
        except UsageError as wrong:
            sys.stderr.write(
                f"  {one_line(wrong.message)}" + (f": {one_line(wrong.hint)}" if wrong.hint else "") + "\n"
            )


def _choose_output(person: _Person, *, force: bool) -> Path:
    """A new file, or one that may be overwritten."""
    from mcptest_engine.core.sanitise import one_line

    default = next(
        (name for name in ("mcptest.yml", "first.yml", "generated.yml") if force or not _taken(Path(name))), ""
    )
    while True:
        typed = person.answer("write it to", default)
        if not typed:
            continue
        output = Path(typed)
        if output.suffix not in (".yml", ".yaml"):
            sys.stderr.write("  a suite ends in .yml or .yaml\n")
        elif _taken(output) and not force:
            sys.stderr.write(f"  {one_line(str(output), 200)} exists already: name another file\n")
        else:
            return output


def _with_presumed(
    person: _Person, catalog: Catalog, flags: dict[str, object], policy: ExecutionPolicy
) -> ExecutionPolicy:
    """The policy with `presumed`, if a person who has seen the tools agrees."""
    from mcptest_engine.core.sanitise import one_line
    from mcptest_engine.safety.execution_policy import Decision, Purpose
    from mcptest_engine.safety.tool_classes import classify

    named, skipped = _named_tools(flags), []
    for tool in catalog.tools:
        name = str(tool.get("name"))
        decision = policy.decide_tool(name, classify(tool), Purpose.GENERATE)
        if decision is Decision.GENERATE_ONLY and (named is None or name in named):
            skipped.append((name, classify(tool)))
    presumed = [name for name, tool_class in skipped if tool_class is ToolClass.READ_ONLY_PRESUMED]
    if not presumed:
        return policy
    sys.stderr.write("these tools do not declare that they are read-only:\n")
    for name, tool_class in skipped[:_HELD_SHOWN]:
        sys.stderr.write(f"  {one_line(name, 60)}: {tool_class.described}\n")
    if len(skipped) > _HELD_SHOWN:
        sys.stderr.write(f"  and {counted(len(skipped) - _HELD_SHOWN, 'more tool')}\n")
    question = f"also call those that are presumed read-only, {len(presumed)} of {len(skipped)}?"
    return replace(policy, presumed=True) if person.agrees(question, default=False) else policy


def _taken(output: Path) -> bool:
    """Whether the file exists, or the other spelling of the default name."""
    return os.path.lexists(output) or (
        str(output) in SUITE_FILES and any(os.path.lexists(name) for name in SUITE_FILES)
    )


def _check_free(output: Path, *, force: bool) -> None:
    if output.is_dir():
        raise UsageError(f"--output `{output}` is a directory", hint="name a file in it, such as mcptest.yml")
    if output.suffix == ".json":
        raise UsageError(f"--output `{output}`: a suite is written in YAML", hint=f"name it `{output.stem}.yml`")
    if force or not _taken(output):
        return
    there = output if os.path.lexists(output) else next(name for name in SUITE_FILES if os.path.lexists(name))
    hint = "overwrite it with --force, or write elsewhere with --output FILE"
    if str(there) != str(output):
        hint = "write elsewhere with --output FILE: with both, commands take `mcptest.yaml`"
    raise UsageError(f"`{there}` exists already", hint=hint)


# --- from the server to the suite


def _introspected(chosen: Chosen, timeout_seconds: float | None, person: _Person) -> tuple[Catalog, Chosen]:
    """List what the server offers; if it requires a token, ask for its variable."""
    from mcptest_engine.cli.target import with_session
    from mcptest_engine.core.sanitise import sanitise
    from mcptest_engine.servers.catalog import read_catalog

    while True:
        spec = chosen.spec(timeout_seconds)
        sys.stderr.write(f"{'starting' if 'command' in chosen.settings else 'asking'} the server …\n")
        sys.stderr.flush()
        try:
            return with_session(spec, read_catalog), chosen
        except AuthFailed as refused:
            has_own = any(key in chosen.settings for key in ("auth", "headers"))
            if not person.asks or has_own:
                raise
            sys.stderr.write(f"{sanitise(refused.message)}\n")
            variable = person.answer("the variable that contains the token (empty: none)")
            if not variable:
                raise UsageError("nothing was written", hint="get a token, or log in with `mcptest login`") from None
            chosen = chosen.with_token(variable)
        except ServerError as wrong:
            closer = f"nothing was written; find the cause with: {chosen.doctor(spec.redact)}"
            wrong.hint = f"{wrong.hint}\n  {closer}" if wrong.hint else closer
            raise


def _named_tools(flags: dict[str, Any]) -> tuple[str, ...] | None:
    """The names of --tools, None without it."""
    if flags["tools"] is None:
        return None
    return tuple(name.strip() for name in flags["tools"].split(",") if name.strip())


def _scaffolded(catalog: Catalog, chosen: Chosen, flags: dict[str, object], policy: ExecutionPolicy) -> Scaffold:
    """The scaffold. Raises: McptestError when there is nothing to test, UsageError for a tool that the server does not have."""
    from mcptest_engine.authoring.scaffold import ScaffoldOptions, scaffold_suite
    from mcptest_engine.core.errors import did_you_mean

    tools = _named_tools(flags)
    known = {str(tool.get("name")) for tool in catalog.tools}
    if tools is not None and not known & set(tools):
        hint = did_you_mean(tools[0], known) if tools else "name them with commas between, as `mcptest tools` does"
        raise UsageError(f"the server has no tool `{tools[0] if tools else ''}`", hint=hint)
    check_allowed(policy, known)
    if not (catalog.tools or catalog.resources or catalog.prompts):
        message = "the server offers no tools, resources or prompts: there is nothing to write tests for"
        raise ServerError(message, server=chosen.target.key, hint="nothing was written")
    redact = chosen.spec(None).redact
    options = ScaffoldOptions(tools=tools, all=True, policy=policy)
    return scaffold_suite(catalog, chosen.target, options, redact=redact)


def _write_pipeline(
    pipeline: Pipeline, output: Path, found: Scaffold, chosen: Chosen, install_from: str | None
) -> None:
    """Write the pipeline, and print what it does and what it needs. Raises: McptestError."""
    from mcptest_engine.cli.ci_files import SOURCE_VARIABLE, own_source, variables_in, write

    source = install_from or own_source()
    changes = (ToolClass.MUTATING, ToolClass.DESTRUCTIVE)
    skips = any(tool.tool_class in changes for tool in found.tools) and _has_live_tests(found)
    write(pipeline, output.absolute(), chosen.target.settings, skips_mutating=skips, source=source)
    say(f"wrote {os.path.relpath(pipeline.path)}: runs the suite on every push")
    if skips:
        say("note: it leaves out tests that change something; remove `--skip-tag mutating` if the server is disposable")
    if source is None:
        where = "variable of the repository" if pipeline.kind == "github" else "CI/CD variable of the project"
        say(
            f"note: set {SOURCE_VARIABLE} as a {where}: what pip installs mcptest from, such as a git URL or a wheel "
            "(where this mcptest was installed from is not known, or it is a folder of this machine)"
        )
    names = sorted(variables_in(chosen.target.settings))
    if names:
        where = "secrets of the repository" if pipeline.kind == "github" else "CI/CD variables of the project"
        say(f"note: set as {where}: {', '.join(names)}")


def _should_run(found: Scaffold, flags: dict[str, object], person: _Person) -> bool:
    """Whether the flags or the person want the suite to run now."""
    if flags["run_all"] or flags["no_run"] or flags["yes"]:
        return not flags["no_run"]
    question, changing = "run it now? It calls the tools that are not held back", len(_changing(found))
    if changing:
        question += f", {changing} of which {'changes' if changing == 1 else 'change'} something"
    return person.agrees(question, default=not changing)


def _has_live_tests(found: Scaffold) -> bool:
    """Whether any test is not skipped."""
    live = any(_is_live(tool) for tool in found.tools)
    return bool(found.resources_scaffolded or found.prompts_scaffolded) or live


def _is_live(tool: ScaffoldedTool) -> bool:
    """Whether this run calls the tool."""
    return tool.single_call or (tool.held_back is None and tool.tests_generated > 0)


def _has_reading(found: Scaffold) -> bool:
    """Whether any test only reads."""
    others = found.resources_scaffolded + found.prompts_scaffolded
    return bool(others) or len(_changing(found)) < _tested(found)


def _tested(found: Scaffold) -> int:
    return sum(tool.tests_generated > 0 for tool in found.tools)


# --- output


def _print_summary(output: Path, found: Scaffold, chosen: Chosen, catalog: Catalog, flags: dict[str, object]) -> None:
    """Print what was written, what is skipped and why, and other notes."""
    from mcptest_engine.core.sanitise import one_line

    name = one_line(str(catalog.server_info.get("name") or "the server"), 60)
    counts = [(_tested(found), "tool")]
    counts += [(found.resources_scaffolded, "resource"), (found.prompts_scaffolded, "prompt")]
    parts = ", ".join(counted(number, word) for number, word in counts if number)
    say(f"wrote {one_line(str(output), 200)}: tests for {parts} of {name}")
    skipped = [tool for tool in found.tools if tool.held_back is not None and not tool.single_call]
    if skipped:
        say("held back until you have checked them and removed their `skip:`:")
        for tool in skipped[:_HELD_SHOWN]:
            say(f"  {one_line(tool.name, 60)}: {one_line(tool.held_back or '', 160)}")
        if len(skipped) > _HELD_SHOWN:
            say(f"  and {counted(len(skipped) - _HELD_SHOWN, 'more tool')}")
        say("or allow them: --allow TOOL for one, --presumed for all that are presumed read-only")
        if any(tool.tool_class is ToolClass.DESTRUCTIVE for tool in skipped):
            say(
                "a destructive tool also needs --execute-destructive, and --yes or --run: it is called once, by "
                "this run"
            )
    for why, single_call in (
        ("these tools change something when the suite runs", False),
        ("these tools destroy something; they are called once if the suite runs now, and held back after that", True),
    ):
        names = [one_line(tool.name, 60) for tool in _changing(found) if tool.single_call is single_call]
        if names:
            more = ", …" if len(names) > _CHANGING_SHOWN else ""
            say(f"{why}: {', '.join(names[:_CHANGING_SHOWN])}{more}")
    for finding in found.warnings[:_WARNINGS_SHOWN]:
        say(f"warning: {one_line(finding.tool, 80)}: {finding.rule} {one_line(finding.summary)}")
    if len(found.warnings) > _WARNINGS_SHOWN:
        say(f"and {counted(len(found.warnings) - _WARNINGS_SHOWN, 'more warning')}; `mcptest security` shows them")
    from mcptest_engine.cli.choosing import local_remarks

    notes = [*chosen.notes, *local_remarks(chosen.target.settings), *found.notes]
    if flags["auth"] == "oauth2" and chosen.url is not None:
        from mcptest_engine.servers.urls import login_command

        notes.append(f"a run uses the token that `{login_command(chosen.url)}` stores")
    for note in notes:
        say(f"note: {one_line(note, 300)}")
    sys.stdout.flush()


def _print_checked(record: RunRecord) -> None:
    """Print how many tests have checked something, and how many failed because of made-up arguments."""
    needing = _needing(record)
    unclear = sum(test.undecided == ExpectedOutcome.ERROR for test in record.tests)
    parts = [f"{record.totals.passed + record.totals.failed} checked"]
    if needing:
        parts.append(f"{needing} {'needs' if needing == 1 else 'need'} arguments")
    if unclear:
        parts.append(f"{unclear} failed for a reason other than invalid arguments")
    say("\n" + ", ".join(parts))
    sys.stdout.flush()


def _needing(record: RunRecord) -> int:
    return sum(test.undecided == ExpectedOutcome.SUCCESS for test in record.tests)


def _print_next_steps(
    output: Path, chosen: Chosen, catalog: Catalog, found: Scaffold, record: RunRecord | None, *, proposals: int
) -> None:
    """Print the next steps, in the usual order."""
    import shlex

    file = "" if str(output) in SUITE_FILES else f" {shlex.quote(str(output))}"
    config = f" --config {shlex.quote(str(output))}" if file else ""
    steps = [("run it again" if record is not None else "run it", f"mcptest run{file}")]
    if record is not None and _needing(record) and not proposals:
        steps.insert(0, ("give arguments", f"mcptest review{file}"))
    if _changing(found) and _has_reading(found):
        steps.append(("run only read-only tests", f"mcptest run{file} --skip-tag {ToolClass.MUTATING}"))
    if proposals:
        steps.insert(0, ("accept the proposals", f"mcptest review{file}"))
        steps.append(("measure the suite", f"mcptest mutate{file}"))
    learn = None if proposals else _worth_learning(catalog, found)
    if learn is not None:
        words = ["mcptest", "propose", *learn, "--server", chosen.target.key]
        steps.append(("propose assertions", shlex.join(words) + config))
    steps.append(("see and edit it", f"mcptest tui{file}"))
    width = max(len(why) for why, _ in steps)
    sys.stderr.write("\nnext:\n" + "".join(f"  {why:<{width}}  {step}\n" for why, step in steps))
    sys.stderr.flush()


def _changing(found: Scaffold) -> list[ScaffoldedTool]:
    """The called tools that change or destroy something; the developer must clean up after them."""
    changes = (ToolClass.MUTATING, ToolClass.DESTRUCTIVE)
    return [tool for tool in found.tools if _is_live(tool) and tool.tool_class in changes]


def _worth_learning(catalog: Catalog, found: Scaffold) -> list[str] | None:
    """Arguments of `mcptest propose` for a tool that only reads, has no finding, and has arguments that match its schema."""
    import json

    from mcptest_engine.authoring.catalog_texts import suspected
    from mcptest_engine.core.synthesize import arguments_for

    classes = (ToolClass.READ_ONLY, ToolClass.READ_ONLY_PRESUMED)
    reading = {tool.name for tool in found.tools if tool.tool_class in classes}
    for tool in catalog.tools:
        name = str(tool.get("name"))
        if name in reading and name.isascii() and name.isprintable() and not name.startswith("-"):
            arguments = arguments_for(tool)
            text = json.dumps(arguments.value)
            if arguments.problem is None and len(text) <= _LONGEST_ARGUMENTS and not suspected([tool]):
                return [name, "--args", text]
    return None

"""`mcptest generate suite|conformance|redteam|eval`: write a suite from the lists of a server. No tool is ever called."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mcptest_engine.cli.common import announce_new_folder, json_text, read_json
from mcptest_engine.cli.policy_flags import allowing_options, check_allowed, take_policy
from mcptest_engine.cli.target import declared_target, target_options, target_spec, with_session
from mcptest_engine.core.errors import McptestError, UsageError, did_you_mean
from mcptest_engine.core.text import counted
from mcptest_engine.core.values import dataclass
from mcptest_engine.safety.tool_classes import ToolClass, classify

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mcptest_engine.authoring.agent_cases import AgentScaffold
    from mcptest_engine.authoring.paging import ScaffoldOptions
    from mcptest_engine.authoring.scaffold import Scaffold
    from mcptest_engine.authoring.targets import Target
    from mcptest_engine.safety.execution_policy import ExecutionPolicy
    from mcptest_engine.safety.findings import Finding
    from mcptest_engine.servers.catalog import Catalog
    from mcptest_engine.servers.session import Session

    Redact = Callable[[str], str]


@click.group()
def group() -> None:
    """Write a suite from the lists of a server. No tool is called.

    \b
    Example:
      mcptest generate suite --command "node server.js" --output mcptest.yml
    """


def source_options(function: Callable[..., object]) -> Callable[..., object]:
    """Add the options for the catalog's source and the suite's destination."""
    options = (
        click.option(
            "--from",
            "saved",
            type=click.Path(),
            metavar="CATALOG.json",
            help="Read a saved catalog (`mcptest tools --format json`) instead of asking the server.",
        ),
        click.option(
            "--output", type=click.Path(), metavar="FILE", help="Write the suite to this file. [default: stdout]"
        ),
        click.option(
            "--into",
            type=click.Path(),
            metavar="SUITE",
            help="Add the tests to this suite, and change nothing else. --server is a server of it, unless "
            "--config is given.",
        ),
        click.option("--force", is_flag=True, help="Overwrite the file of --output."),
        click.option(
            "--format",
            "form",
            type=click.Choice(["yaml", "json"]),
            default="yaml",
            show_default=True,
            help="`json` has the suite as a text, and notes about it.",
        ),
    )
    for option in reversed(options):
        function = option(function)
    return target_options(function)


def page_options(function: Callable[..., object]) -> Callable[..., object]:
    """Add the options that select the tools to cover."""
    options = (
        click.option("--tools", metavar="A,B", help="Only these tools, and no resources or prompts."),
        click.option("--all", "everything", is_flag=True, help="All tools at once. By default, 25 at a time."),
        click.option("--cursor", metavar="N", help="Continue after the last page."),
    )
    for option in reversed(options):
        function = option(function)
    return function


@group.command("suite", short_help="tests of valid and invalid calls, for every tool")
@source_options
@page_options
@click.option("--no-edge", is_flag=True, help="Write no tests of the limits of schemas.")
@click.option("--no-violation", is_flag=True, help="Write no tests with invalid arguments.")
@click.option("--probe", is_flag=True, help="Write all further tests of limits and of invalid arguments.")
@allowing_options
def suite(saved: str | None, **flags: object) -> None:
    """Write a first suite: for every tool a call that should work, one at a limit, one that must be refused.

    Tests of tools that do not declare `readOnlyHint: true` have a `skip:`. They run after you have removed it, or if
    you give --allow or --presumed. Tests of destructive tools always have a `skip:`.

    \b
    Example:
      mcptest generate suite --command "mcptest mock --preset demo" --output mcptest.yml
    """
    from dataclasses import replace

    place = _Destination.of(flags)
    policy = take_policy(flags)
    options = replace(_options(flags), policy=policy)
    catalog, target, notes, redact = _learn(saved, flags, options)
    check_allowed(policy, {str(tool.get("name")) for tool in catalog.tools})
    from mcptest_engine.authoring.scaffold import scaffold_into, scaffold_suite

    after = None
    if place.before is None:
        found = scaffold_suite(catalog, target, options, redact=redact)
    else:
        after, found = scaffold_into(place.before, catalog, target, options, redact=redact)
    all_notes = [*notes, *found.notes]
    answer: dict[str, Any] = {
        "suite": found.suite,
        "tools": [{"name": tool.name, "tests_generated": tool.tests_generated} for tool in found.tools],
        "resources_scaffolded": found.resources_scaffolded,
        "prompts_scaffolded": found.prompts_scaffolded,
        "notes": all_notes,
    }
    if found.next_cursor is not None:
        answer["next_cursor"] = found.next_cursor
    skipped = [f"held back: {tool.name}: {tool.held_back}" for tool in found.tools if tool.held_back is not None]
    if skipped:
        skipped.append("to run them: --allow TOOL, or --presumed for all that are presumed read-only")
    skipped += _not_released(catalog, policy, "remove the `skip:` of its tests")
    answer = _warned(answer, found.warnings)
    place.put(answer, _counts(found), after, lambda: _print_notes(all_notes, skipped, found.warnings))


@group.command("conformance", short_help="checks of the protocol; no model is needed")
@source_options
def conformance(saved: str | None, **flags: object) -> None:
    """Write checks of the protocol for what the server declares. They need no model.

    \b
    Example:
      mcptest generate conformance --url http://127.0.0.1:8000/mcp --output conformance.yml
    """
    place = _Destination.of(flags)
    catalog, target, notes, _ = _learn(saved, flags)
    from mcptest_engine.authoring.conformance import scaffold_conformance

    found = scaffold_conformance(catalog, target, into=place.before)
    answer: dict[str, Any] = {
        "suite": found.suite,
        "checks_scaffolded": found.checks_scaffolded,
        "notes": [*notes, *found.notes],
    }
    summary = counted(found.checks_scaffolded, "check")
    place.put(answer, summary, found.into, lambda: _print_notes(answer["notes"], (), ()))


@group.command("redteam", short_help="does a model obey hidden instructions?")
@source_options
@page_options
@allowing_options
def redteam(saved: str | None, **flags: object) -> None:
    """Write a probe for every tool: does an agent obey an instruction that is hidden in its data?

    When the suite runs, a stub answers for tools that do not declare `readOnlyHint: true`, unless --allow or
    --presumed allows them.

    \b
    Example:
      mcptest generate redteam --server api --config mcptest.yml --output redteam.yml
    """
    from mcptest_engine.authoring.redteam import scaffold_redteam

    _agents(scaffold_redteam, saved, flags)


@group.command("eval", short_help="does a model find and use the right tool?")
@source_options
@page_options
@allowing_options
def evaluation(saved: str | None, **flags: object) -> None:
    """Write a task for every tool: does a model find and use the tool? Another model grades the answer.

    When the suite runs, a stub answers for tools that do not declare `readOnlyHint: true`, unless --allow or
    --presumed allows them.

    \b
    Example:
      mcptest generate eval --command "python server.py" --output eval.yml
    """
    from mcptest_engine.authoring.evals import scaffold_eval

    _agents(scaffold_eval, saved, flags)


def _agents(scaffold: Callable[..., AgentScaffold], saved: str | None, flags: dict[str, object]) -> None:
    from dataclasses import replace

    place = _Destination.of(flags)
    policy = take_policy(flags)
    options = replace(_options(flags), policy=policy)
    catalog, target, notes, redact = _learn(saved, flags, options)
    check_allowed(policy, {str(tool.get("name")) for tool in catalog.tools})
    found = scaffold(catalog, target, options, redact=redact, into=place.before)
    all_notes = [*notes, *found.notes]
    answer: dict[str, Any] = {"suite": found.suite, "tools_covered": found.tools_covered, "notes": all_notes}
    if found.next_cursor is not None:
        answer["next_cursor"] = found.next_cursor
    answer = _warned(answer, found.warnings)
    skipped = _not_released(catalog, policy, "move it from `dry` to `allow` and remove the `skip:` of its case")
    place.put(
        answer,
        counted(found.tools_covered, "case"),
        found.into,
        lambda: _print_notes(all_notes, skipped, found.warnings),
    )


def _not_released(catalog: Catalog, policy: ExecutionPolicy, how: str) -> list[str]:
    """A line for each destructive tool that `--allow` names: its test stays skipped."""
    destructive = {str(tool.get("name")) for tool in catalog.tools if classify(tool) is ToolClass.DESTRUCTIVE}
    return [
        f"--allow {name} is not enough for a destructive tool: {how} if the server's data may be destroyed, "
        f"or call it once with `mcptest init --run --allow {name} --execute-destructive`"
        for name in sorted(policy.allowed & destructive)
    ]


def _learn(
    saved: str | None, flags: dict[str, object], options: ScaffoldOptions | None = None
) -> tuple[Catalog, Target, tuple[str, ...], Redact]:
    """Read what the server offers, how a suite declares it, the notes about that, and its secrets' redaction.

    Raises: UsageError when `options` names tools and the server has none of them; and what listing raises.
    """
    from mcptest_engine.cli.choosing import local_remarks

    catalog, target, notes, redact = _learnt(saved, flags)
    if options is not None:
        check_tools(catalog, options.tools)
    if flags["server"] is None or flags["into"] is None or flags["config"] not in (None, flags["into"]):
        # otherwise the destination suite declares the server already
        notes = (*notes, *local_remarks(target.settings))
    return catalog, target, notes, redact


def _learnt(saved: str | None, flags: dict[str, Any]) -> tuple[Catalog, Target, tuple[str, ...], Redact]:
    optional = flags.get("into") is None  # an existing suite names its variables already
    if saved is not None:
        from mcptest_engine.core.redaction import Redactor

        catalog = _saved(saved)
        try:
            target, notes, _ = declared_target(flags, optional_secrets=optional)
        except UsageError as wrong:
            if not any(flags[flag] for flag in ("url", "argv", "config", "server")):
                wrong.hint = (
                    "a catalog does not contain its server: name the server for `servers:`, "
                    "with --command ARGV or --url URL"
                )
            raise
        return catalog, target, notes, Redactor().redact_text
    spec = target_spec(flags)
    target, notes, _ = declared_target(flags, optional_secrets=optional)

    async def read_lists(session: Session) -> Catalog:
        from mcptest_engine.servers.catalog import read_catalog

        return await read_catalog(session, timeout_seconds=flags["timeout_seconds"])

    return with_session(spec, read_lists), target, notes, spec.redact


def _saved(path: str) -> Catalog:
    """Read a saved catalog: lists under their member names in the protocol, also inside a `result`."""
    from mcptest_engine.servers.catalog import Catalog

    hint = "save one with `mcptest tools --format json --output CATALOG.json`"
    found = read_json(path, hint=hint)
    if isinstance(found, dict) and isinstance(found.get("result"), dict):
        found = found["result"]
    if isinstance(found, list):
        found = {"tools": found}
    lists = {
        name: found.get(name) if isinstance(found, dict) else None
        for name in ("tools", "resources", "resourceTemplates", "prompts")
    }
    if all(entries is None for entries in lists.values()):
        raise UsageError(f"`{path}` has no list `tools`", hint=hint)
    for name, entries in lists.items():
        if entries is not None and not (isinstance(entries, list) and all(isinstance(one, dict) for one in entries)):
            raise UsageError(f"`{path}`: `{name}` is not a list of objects", hint=hint)
    capabilities: dict[str, Any] = {name: {} for name in ("tools", "resources", "prompts") if lists[name] is not None}
    info, revision = found.get("serverInfo"), found.get("protocolVersion")
    return Catalog(
        tools=tuple(lists["tools"] or ()),
        resources=tuple(lists["resources"] or ()),
        templates=tuple(lists["resourceTemplates"] or ()),
        prompts=tuple(lists["prompts"] or ()),
        capabilities=capabilities,
        server_info=info if isinstance(info, dict) else {},
        protocol_version=revision if isinstance(revision, str) else None,
    )


def check_tools(catalog: Catalog, named: Sequence[str] | None) -> None:
    """Raises: UsageError when the server has none of the named tools."""
    known = {str(tool.get("name")) for tool in catalog.tools}
    if not named or known & set(named):
        return
    hint = did_you_mean(named[0], known) or "`mcptest tools` lists them"
    raise UsageError(f"the server has no tool `{named[0]}`", hint=hint)


def _options(flags: dict[str, Any]) -> ScaffoldOptions:
    from mcptest_engine.authoring.paging import ScaffoldOptions, cursor_of

    named = flags.pop("tools")
    tools = None if named is None else tuple(name.strip() for name in named.split(",") if name.strip())
    if tools == ():
        raise UsageError("--tools names no tool", hint="for example: --tools search,get_record")
    cursor = flags.pop("cursor")
    return ScaffoldOptions(
        tools=tools,
        include_edge=not flags.pop("no_edge", False),
        include_violation=not flags.pop("no_violation", False),
        probe=flags.pop("probe", False),
        all=flags.pop("everything"),
        cursor=0 if cursor is None else cursor_of(cursor),
    )


def _suite_text(path: str) -> str:
    """The text of a suite that will be extended, with its line ends."""
    from mcptest_engine.suite.yaml import decode, file_bytes

    data = file_bytes(Path(path), file=path)
    decode(data, file=path)
    return data.decode("utf-8")


def _put_into(path: str, before: str, after: str, secrets: Mapping[str, str]) -> None:
    """Write the suite, unless it would no longer load with the variables of `secrets` set. Raises: McptestError."""
    from mcptest_engine.cli.common import find_here, load_options
    from mcptest_engine.core.errors import Severity
    from mcptest_engine.suite.load import check_text
    from mcptest_engine.suite.text_edits import EditRefused
    from mcptest_engine.workspace.suite_file import write_suite

    place = Path(path)
    options = load_options(place, find_here(), {}, secrets=secrets)

    def errors(text: str) -> list[str]:
        problems = check_text(text, options, name=place.name, base_dir=place.parent).problems
        return [str(problem) for problem in problems if problem.severity is Severity.ERROR]

    wrong = errors(after)
    if wrong and not errors(before):
        raise EditRefused(f"`{path}` would not load with the new tests, so nothing was written", hint=wrong[0])
    if after == before:
        return
    try:
        write_suite(place, after.encode("utf-8"))
    except OSError as failed:
        raise McptestError(f"`{path}` was not written: {failed.strerror or failed}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Destination:
    """Where the suite goes: stdout, a new file, or an existing suite, whose text is `before`."""

    output: str | None
    into: str | None
    form: str
    flags: Mapping[str, Any]
    before: str | None = None

    @classmethod
    def of(cls, flags: dict[str, Any]) -> _Destination:
        """Read the flags before the server is asked: an existing file is not overwritten. Raises: McptestError."""
        output, into, form, force = (flags.pop(name) for name in ("output", "into", "form", "force"))
        if into is not None and output is not None:
            raise UsageError(
                "both --into and --output are given", hint="--into changes that suite; --output writes a new one"
            )
        if output is not None and form != "json" and Path(output).suffix == ".json":
            raise UsageError(
                f"--output `{output}`: a suite is written in YAML", hint=f"name it `{Path(output).stem}.yml`"
            )
        if output is not None and Path(output).exists() and not force:
            raise UsageError(f"`{output}` exists", hint="--force overwrites it; --into adds the tests to it")
        before = None if into is None else _suite_text(into)
        flags["into"] = into
        if into is not None and not any(flags[flag] for flag in ("url", "argv", "config")):
            flags["config"] = into
        return cls(output=output, into=into, form=form, flags=flags, before=before)

    def put(self, answer: Mapping[str, object], said: str, after: str | None, tell: Callable[[], None]) -> None:
        """Write the suite, and print about it: `said` in short, `tell` at length. `after` is the extended suite."""
        if self.into is None or self.before is None or after is None:
            tell()
            _put(answer, self.form, self.output, said)
            return
        _put_into(self.into, self.before, after, declared_target(self.flags).secrets)
        tell()
        is_new = after != self.before
        _say(f"{self.into}: {said} added" if is_new else f"{self.into}: nothing was added: every test exists already")
        if self.form == "json":
            sys.stdout.write(json_text(answer))


def _put(answer: Mapping[str, Any], form: str, output: str | None, said: str) -> None:
    from mcptest_engine.workspace.schema_file import with_schema_line

    suite = with_schema_line(answer["suite"], Path(output or "mcptest.yml"))
    text = json_text({**answer, "suite": suite}) if form == "json" else suite
    if output is None:
        sys.stdout.write(text)
        return
    from mcptest_engine.workspace.suite_file import write_suite

    announce_new_folder(Path(output))
    try:
        write_suite(output, text.encode("utf-8"))
    except OSError as wrong:
        raise McptestError(f"`{output}` was not written: {wrong.strerror or wrong}") from None
    _say(f"{output}: {said}; run it with `mcptest run {output}`" if form == "yaml" else f"{output}: {said}")


def _counts(found: Scaffold) -> str:
    tests = sum(tool.tests_generated for tool in found.tools)
    counts = [f"{counted(tests, 'test')} of {counted(len(found.tools), 'tool')}"] if tests else []
    counts += [counted(found.resources_scaffolded, "resource")] if found.resources_scaffolded else []
    counts += [counted(found.prompts_scaffolded, "prompt")] if found.prompts_scaffolded else []
    return ", ".join(counts) or "1 test"


def _warned(answer: dict[str, object], warnings: Iterable[Finding]) -> dict[str, object]:
    """Add `warnings` to the answer when there are any."""
    from mcptest_engine.safety.findings import warning_json

    members = [warning_json(finding) for finding in warnings]
    return {**answer, "warnings": members} if members else answer


def _print_notes(notes: Iterable[str], skipped: Iterable[str], warnings: Iterable[Finding]) -> None:
    from mcptest_engine.core.sanitise import one_line

    for note in notes:
        _say(f"note: {one_line(note)}")
    for line in skipped:
        _say(one_line(line))
    for finding in warnings:
        _say(f"warning: {one_line(finding.tool, 80)}: {finding.rule} {finding.summary}")


def _say(text: str) -> None:
    from mcptest_engine.core.sanitise import one_line

    sys.stderr.write(f"{one_line(text)}\n")

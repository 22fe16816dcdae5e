"""`mcptest security`: find what a server's definitions try to make a model do. No tool is ever called."""

from __future__ import annotations

import datetime as dt
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from mcptest_engine import __version__
from mcptest_engine.cli.common import colours, find_here, json_text, read_json, refuse_under_ci, write_out
from mcptest_engine.cli.target import listed_surface, target_options
from mcptest_engine.core.errors import ExitCode, McptestError, UsageError
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.text import counted
from mcptest_engine.core.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from mcptest_engine.safety.accepted import Acceptance
    from mcptest_engine.safety.findings import Finding
    from mcptest_engine.safety.tool_surface import Surface

LEVELS = ("critical", "high", "medium", "low", "info")
_COLOURS = {"critical": "1;31", "high": "31", "medium": "33", "low": "36", "info": "2"}
_DAYS = 90  # for which a finding is accepted, unless a date is given
_NAMED = 4  # tools in a line of low findings


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One finding, the server of its snapshot, and the entry that accepts it."""

    finding: Finding
    server: str | None = None
    accepted: Acceptance | None = None


@click.command()
@click.argument("file", required=False, type=click.Path())
@click.option(
    "--catalog", type=click.Path(), metavar="FILE", help="A saved catalog instead of a server; the same as FILE."
)
@target_options
@click.option(
    "--fail-on",
    type=click.Choice([*LEVELS, "none"]),
    default="high",
    show_default=True,
    help="Exit 1 for findings of this severity or higher.",
)
@click.option(
    "--write-baseline",
    is_flag=True,
    help="Accept the current findings: write them to .mcptest/security.yml. Requires --reason.",
)
@click.option("--reason", metavar="TEXT", help="With --write-baseline: why the findings are accepted.")
@click.option(
    "--expires",
    metavar="DAY",
    help="With --write-baseline: accept them until this day, such as 2027-06-30. [default: in 90 days]",
)
@click.option("--allow-update-in-ci", is_flag=True, help="Let --write-baseline work under CI.")
@click.option("--format", "form", type=click.Choice(["text", "json", "sarif"]), default="text", show_default=True)
@click.option("--output", type=click.Path(), metavar="PATH", help="Write the output to this file instead of stdout.")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    file: str | None,
    catalog: str | None,
    fail_on: str,
    form: str,
    output: str | None,
    write_baseline: bool,
    reason: str | None,
    expires: str | None,
    allow_update_in_ci: bool,
    **flags: object,
) -> None:
    """Find hidden instructions, secrets and weak schemas in a server's lists, or in a saved catalog.

    \b
    Example:
      mcptest security --command "mcptest mock --preset demo" --fail-on medium
    """
    last_day = _last_day(write_baseline, reason, expires, allow_update_in_ci)
    saved = _saved(file, catalog, flags)
    path = find_here().data_dir / "security.yml"
    acceptances = _acceptances(path)
    from mcptest_engine.safety.saved_catalog import surfaces_in
    from mcptest_engine.safety.tool_surface import inspect

    surfaces: Mapping[str | None, Surface]
    if saved is None:
        surfaces = {None: listed_surface(flags).surface}
    else:
        hint = "save a catalog with: mcptest tools --format json --output FILE"
        surfaces = surfaces_in(read_json(saved, hint=hint), file=f"`{saved}`")

    found = [Found(finding=one, server=name) for name, surface in surfaces.items() for one in inspect(surface)]
    found.sort(key=lambda one: LEVELS.index(one.finding.severity))
    found = _with_acceptances(found, acceptances)
    if write_baseline:
        found = _baseline(path, found, acceptances, fail_on=fail_on, reason=reason or "", expires=last_day)
    found = _without_repeats(found)
    failed = any(_fails(one, fail_on) for one in found)
    if form == "json":
        text = json_text(_document(found, surfaces, fail_on=fail_on, failed=failed))
    elif form == "sarif":
        text = json_text(_sarif(found, saved))
    else:
        text = _findings_text(found, surfaces, colours(sys.stdout) if output is None else lambda _code, plain: plain)
    write_out(text, output)
    ctx.exit(ExitCode.FAILED if failed else ExitCode.PASSED)


def _without_repeats(found: Sequence[Found]) -> list[Found]:
    """The first finding of each rule on a tool that is not accepted, and all accepted ones.

    An acceptance covers one place: no other place may be left out before it is known which are accepted.
    """
    seen: set[tuple[str | None, str, str]] = set()
    shown = []
    for one in found:
        key = (one.server, one.finding.tool, one.finding.rule)
        if one.accepted is not None or key not in seen:
            shown.append(one)
        if one.accepted is None:
            seen.add(key)
    return shown


def _fails(one: Found, fail_on: str) -> bool:
    return one.accepted is None and fail_on != "none" and _rank(one) <= LEVELS.index(fail_on)


def _last_day(write_baseline: bool, reason: str | None, expires: str | None, allowed_in_ci: bool) -> dt.date:
    today = dt.datetime.now().astimezone().date()
    if not write_baseline:
        if reason is not None or expires is not None:
            raise UsageError("--reason and --expires require --write-baseline")
        return today
    if not reason or not reason.strip():
        raise UsageError("--write-baseline needs a reason", hint='say why: --reason "the vendor\'s wording, reviewed"')
    refuse_under_ci(
        "--write-baseline is refused under CI, because nobody reviews the change",
        hint="run it on your machine and commit .mcptest/security.yml, or add --allow-update-in-ci",
        allowed=allowed_in_ci,
    )
    if expires is None:
        return today + dt.timedelta(days=_DAYS)
    try:
        last = dt.date.fromisoformat(expires)
    except ValueError:
        raise UsageError(f"--expires `{expires}` is not a day", hint="a day such as 2027-06-30") from None
    if last < today:
        raise UsageError(f"--expires `{expires}` is past")
    return last


def _acceptances(path: Path) -> tuple[Acceptance, ...]:
    """The entries of `.mcptest/security.yml`. Raises: SuiteError for a file of another shape."""
    from mcptest_engine.workspace.files import read_file

    try:
        data = read_file(path)
    except FileNotFoundError:
        return ()
    except OSError as wrong:
        raise UsageError(f"`.mcptest/security.yml` cannot be read: {wrong.strerror or wrong}") from None
    from mcptest_engine.safety.accepted import read_acceptances

    return read_acceptances(data)


def _with_acceptances(found: Sequence[Found], acceptances: Sequence[Acceptance]) -> list[Found]:
    """Match the findings with the entries that accept them; print expired and unused entries on stderr."""
    if not acceptances:
        return list(found)
    from mcptest_engine.safety.accepted import FILE, find_acceptance

    today = dt.datetime.now().astimezone().date()
    for one in acceptances:
        covers = any(one.covers(held.finding, held.server) for held in found)
        line = f":{one.span.line}" if one.span else ""
        about = f"{one.rule} of {one_line(one.tool)}"
        if one.expires < today and covers:
            click.echo(f"warning: {FILE}{line}: expired on {one.expires}: {about} counts again", err=True)
        elif one.expires < today:
            click.echo(
                f"warning: {FILE}{line}: expired on {one.expires}, and {about} is no longer found: delete it", err=True
            )
    return [replace(one, accepted=find_acceptance(acceptances, one.finding, one.server, today=today)) for one in found]


def _baseline(
    path: Path,
    found: Sequence[Found],
    acceptances: Sequence[Acceptance],
    *,
    fail_on: str,
    reason: str,
    expires: dt.date,
) -> list[Found]:
    """Add the failing findings to the file, besides its unexpired entries. Raises: McptestError when that fails."""
    from mcptest_engine.safety.accepted import FILE, Acceptance, dump_acceptances
    from mcptest_engine.workspace.atomic import write_atomic
    from mcptest_engine.workspace.files import make_directory

    today = dt.datetime.now().astimezone().date()
    made = [
        replace(
            one,
            accepted=Acceptance(
                rule=one.finding.rule,
                tool=one.finding.tool,
                server=one.server,
                where=one.finding.where,
                fingerprint=one.finding.fingerprint,
                reason=reason,
                expires=expires,
            ),
        )
        if _fails(one, fail_on)
        else one
        for one in found
    ]
    new = [one.accepted for one, before in zip(made, found, strict=True) if one.accepted and not before.accepted]
    if new:
        unexpired = [one for one in acceptances if one.expires >= today]
        try:
            make_directory(path.parent)
            write_atomic(path, dump_acceptances([*unexpired, *new]).encode())
        except OSError as wrong:
            raise McptestError(f"`{FILE}` was not written: {wrong.strerror or wrong}") from None
    click.echo(f"{counted(len(new), 'finding')} accepted until {expires} in {FILE}", err=True)
    return made


def _saved(file: str | None, catalog: str | None, flags: Mapping[str, object]) -> str | None:
    if file is not None and catalog is not None and file != catalog:
        raise UsageError(f"two catalogs are named: `{file}` and `{catalog}`", hint="name one")
    saved = file or catalog
    if saved is None:
        return None
    if any(flags[name] for name in ("url", "argv", "server", "config", "env", "bearer_token_env")):
        raise UsageError(
            "both a saved catalog and a server are named", hint="name one: FILE, or --url, --command, --server"
        )
    if saved.endswith((".yml", ".yaml")):
        hint = f"check a server of it: mcptest security --config {saved} --server NAME"
        raise UsageError(f"`{saved}` looks like a suite, but a catalog is JSON", hint=hint)
    return saved


def _document(
    found: Sequence[Found], surfaces: Mapping[str | None, Surface], *, fail_on: str, failed: bool
) -> dict[str, object]:
    return {
        "findings": [
            {
                **({} if one.server is None else {"server": one.server}),
                "tool": one.finding.tool,
                "rule": one.finding.rule,
                "name": one.finding.name,
                "severity": str(one.finding.severity),
                "summary": one.finding.summary,
                "where": one.finding.where,
                "excerpt": one.finding.excerpt,
                "full_excerpt": one.finding.full_excerpt,
                "fingerprint": one.finding.fingerprint,
                **({} if one.accepted is None else {"accepted": _acceptance_json(one.accepted)}),
            }
            for one in found
        ],
        "counts": _counts(found),
        "checked": _checked(surfaces),
        "fail_on": fail_on,
        "failed": failed,
    }


def _acceptance_json(accepted: Acceptance) -> dict[str, str]:
    return {"reason": accepted.reason, "expires": accepted.expires.isoformat()}


def _counts(found: Sequence[Found]) -> dict[str, int]:
    return {level: sum(one.finding.severity == level for one in found) for level in LEVELS}


def _checked(surfaces: Mapping[str | None, Surface]) -> dict[str, int]:
    held = surfaces.values()
    return {
        "tools": sum(len(surface.tools) for surface in held),
        "prompts": sum(len(surface.prompts) for surface in held),
        "resources": sum(len(surface.resources) + len(surface.templates) for surface in held),
    }


def _sarif(found: Sequence[Found], saved: str | None) -> dict[str, object]:
    from mcptest_engine.reporting.sarif import SarifResult, SarifRule, sarif_log
    from mcptest_engine.safety.findings import RULES

    fired = {one.finding.rule for one in found}
    rules = [
        SarifRule(
            id=rule.id,
            name=rule.name,
            severity=rule.severity,
            text=f"{rule.name}: {rule.says.format('the definition')}",
            help=rule.advice,
        )
        for rule in RULES.values()
        if rule.id in fired
    ]
    results = [
        SarifResult(
            rule=one.finding.rule,
            severity=one.finding.severity,
            message=f"{_owner(one)}: {one.finding.summary}",
            place=f"{_owner(one)}.{one.finding.where}",
            file=saved,
            properties={"excerpt": one.finding.full_excerpt, "fingerprint": one.finding.fingerprint},
            accepted_because=one.accepted.reason if one.accepted else None,
        )
        for one in found
    ]
    return sarif_log(version=__version__, rules=rules, results=results)


def _findings_text(
    found: Sequence[Found], surfaces: Mapping[str | None, Surface], paint: Callable[[str, str], str]
) -> str:
    """Findings by tool, the worst first, each rule with its fix; those of low severity are grouped by rule."""
    accepted = sum(one.accepted is not None for one in found)
    found = [one for one in found if one.accepted is None]
    checked = _checked(surfaces)
    summary = ", ".join(counted(number, what[:-1]) for what, number in checked.items() if number) or "no tools"
    if any(surface.instructions for surface in surfaces.values()):
        summary += ", server instructions"
    summary += f" checked, {counted(accepted, 'finding')} accepted" if accepted else " checked"
    if not found:
        return f"nothing found: {summary}\n"
    grave = [one for one in found if _rank(one) <= LEVELS.index("medium")]
    lines: list[str] = []
    for owner in dict.fromkeys(map(_owner, grave)):
        lines.append(paint("1", owner))
        for one in grave:
            if _owner(one) == owner:
                lines += _finding_lines(one.finding, paint)
        lines.append("")
    lines += _gathered([one for one in found if one not in grave], paint)
    counts = ", ".join(f"{number} {level}" for level, number in _counts(found).items() if number)
    lines.append(f"{counted(len(found), 'finding')} ({counts}): {summary}")
    return "\n".join(lines) + "\n"


def _finding_lines(finding: Finding, paint: Callable[[str, str], str]) -> list[str]:
    from mcptest_engine.safety.findings import RULES

    level = paint(_COLOURS[finding.severity], f"{finding.severity!s:<8}")
    return [
        f"  {level}  {finding.rule}  {one_line(finding.summary)}",
        f"            at {one_line(finding.where)}",
        f"            do: {RULES[finding.rule].advice}",
    ]


def _gathered(found: Sequence[Found], paint: Callable[[str, str], str]) -> list[str]:
    """A line for each rule, with the first tools that it found; the JSON has all of them."""
    from mcptest_engine.safety.findings import RULES

    lines = []
    for rule in dict.fromkeys(one.finding.rule for one in found):
        owners = [_owner(one) for one in found if one.finding.rule == rule]
        named = ", ".join(owners[:_NAMED]) + (f" and {len(owners) - _NAMED} more" if len(owners) > _NAMED else "")
        about = RULES[rule]
        level = paint(_COLOURS[about.severity], f"{about.severity!s:<8}")
        lines += [
            f"{level}  {rule}  {about.name} in {counted(len(owners), 'tool')}: {named}",
            f"          do: {about.advice}",
        ]
    return [*lines, ""] if lines else []


def _owner(one: Found) -> str:
    tool = one_line(one.finding.tool)
    return tool if one.server is None else f"{one_line(one.server)}/{tool}"


def _rank(one: Found) -> int:
    return LEVELS.index(one.finding.severity)

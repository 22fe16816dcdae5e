"""`mcptest doctor`: find what is wrong, layer by layer, with one server or with mcptest on this machine."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from mcptest_engine.cli.common import find_here, json_text, load_options
from mcptest_engine.cli.target import target_options, target_spec
from mcptest_engine.core.errors import ExitCode, UsageError
from mcptest_engine.workspace.workspace import SUITE_FILES

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from mcptest_engine.safety.description_quality import Quality
    from mcptest_engine.servers.catalog import Catalog
    from mcptest_engine.servers.diagnosis.checks import Check, Report
    from mcptest_engine.servers.spec import ServerSpec

_TLS_OR_TCP_SECONDS = 10.0
_STDERR_LINES = 20
_LONGEST_NAME = 60
_WEAK = 0.5  # heuristics with a lower score are named


@click.command()
@target_options
@click.option(
    "--from-file",
    metavar="FILE[#NAME]",
    help="A server.json of the MCP registry, an MCP bundle, or settings of an agent: start each server that it names, and "
    "compare its name and version with those of the file. Requires --yes.",
)
@click.option("--input", "inputs", multiple=True, metavar="K=V", help="A value that the file asks for.")
@click.option("--yes", is_flag=True, help="Start the servers that the file names.")
@click.option(
    "--lint-descriptions",
    is_flag=True,
    help="Also grade the descriptions of the server's tools (exit 6 if they are too bad).",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="A text for people, or a JSON document.",
)
@click.pass_context
def command(ctx: click.Context, /, form: str, lint_descriptions: bool, **flags: Any) -> None:
    """Find out why a server does not work, layer by layer. Without a server, check mcptest, the suite and this machine.

    With --url, --command or --server, mcptest connects to the server as a run does, and stops at the first layer that
    fails. No tool is called. The exit code is 1 if a check failed.

    \b
    Examples:
      mcptest doctor
      mcptest doctor --url https://mcp.example.com/mcp --bearer-token-env MCP_TOKEN
      mcptest doctor --command "python server.py"
      mcptest doctor --command "python server.py" --lint-descriptions
      mcptest doctor --from-file server.json --yes
    """
    explicit = ctx.get_parameter_source("timeout_seconds") is ParameterSource.COMMANDLINE
    timeout_seconds = flags["timeout_seconds"] if explicit else None
    quality: Quality | None = None
    if flags["from_file"] is not None:
        report = _of_file(flags, timeout_seconds, form)
    elif flags["inputs"] or flags["yes"]:
        raise UsageError("--input and --yes require --from-file")
    elif not lint_descriptions and flags["url"] is None and flags["argv"] is None and flags["server"] is None:
        for flag, name in (("--bearer-token-env", "bearer_token_env"), ("--env", "env"), ("--protocol", "protocol")):
            if flags[name]:
                raise UsageError(
                    f"{flag} requires a server", hint="name one: --url URL, --command ARGV or --server NAME"
                )
        report = _of_machine(flags["config"], form)
    else:
        report, quality = _of_server(flags, timeout_seconds, form, lint_descriptions=lint_descriptions)
    if form == "json":
        described = {} if quality is None else {"descriptions": quality.to_json()}
        sys.stdout.write(json_text({**report.as_json(), **described}))
    if not report.ok:
        ctx.exit(ExitCode.FAILED)
    ctx.exit(ExitCode.GATE if quality is not None and quality.misses() else ExitCode.PASSED)


# --- a server


def _of_server(
    flags: Mapping[str, object], timeout_seconds: float | None, form: str, *, lint_descriptions: bool
) -> tuple[Report, Quality | None]:
    """Check a server, and the quality of its tools' descriptions where that was requested and they could be listed."""
    from mcptest_engine.servers.diagnosis.checks import Report
    from mcptest_engine.servers.diagnosis.target import diagnose

    spec = target_spec(flags)
    if timeout_seconds is not None:
        spec = replace(spec, timeout_seconds=timeout_seconds, connect_timeout_seconds=timeout_seconds)
    spec = replace(spec, wait_for_ready=None)  # a problem of the server is what the command looks for
    target = _target_json(spec, flags)
    printer = _Printer(form, width=8)
    printer.title(" ".join(f"{name} {value}" for name, value in target.items()))
    network_seconds = timeout_seconds or min(_TLS_OR_TCP_SECONDS, spec.connect_timeout_seconds)
    learnt: list[Catalog] = []
    _run(diagnose(spec, printer.report, network_seconds=network_seconds, learn=learnt.append))
    report = Report(checks=tuple(printer.checks), target=target)
    quality = _description_quality(learnt[0], spec) if lint_descriptions and learnt else None
    if quality is not None:
        printer.print_quality(quality)
    printer.conclude(report, quality)
    return report, quality


def _of_file(flags: Mapping[str, Any], timeout_seconds: float | None, form: str) -> Report:
    """Check that each server of a file starts, and has the name and version of the file. Raises: UsageError."""
    from mcptest_engine.cli.choosing import chosen_in_file, file_of, server_in_file
    from mcptest_engine.cli.common import parse_variables
    from mcptest_engine.core.sanitise import one_line
    from mcptest_engine.servers.diagnosis.checks import Check, Report, Status
    from mcptest_engine.servers.diagnosis.target import diagnose
    from mcptest_engine.servers.server_files import compare_identity, opened_server_file

    path, name = file_of(flags["from_file"]) or (Path(flags["from_file"]), "")
    if not path.is_file():
        raise UsageError(f"there is no file `{path}`")
    if any(flags[name] for name in ("url", "argv", "server", "config", "env", "bearer_token_env")):
        raise UsageError("--from-file names the servers itself", hint="leave the other server out")
    printer = _Printer(form, width=8)
    with opened_server_file(path, os.environ, parse_variables(flags["inputs"], flag="--input")) as found:
        servers = found.servers
        if name or not (servers or found.problems):
            servers = (server_in_file(found, path, name),)
        shown = "; ".join(
            f"{one_line(one.name, 80)}: {one_line(one.shown, 300)}" for one in servers if one.enabled or name
        )
        if shown and not flags["yes"]:
            raise UsageError(f"nothing was started: `{path}` names {shown}", hint="start it with --yes")
        printer.title(str(path) if path.name == found.kind else f"{path} ({found.kind})")
        for problem in () if name else found.problems:
            printer.report(Check(layer="suite", name="file", status=Status.FAILED, detail=problem))
        for server in servers:
            printer.server = server.name
            printer.title(f"{one_line(server.name, 80)}: {one_line(server.shown, 300)}")
            if not (server.enabled or name):
                printer.report(Check(layer="suite", name="file", status=Status.SKIPPED, detail="turned off"))
                continue
            if server.missing:
                names = ", ".join(f"`{name}`" for name in server.missing)
                hint = f"give it: --input {server.missing[0]}=VALUE"
                detail = f"it needs a value for {names}"
                printer.report(Check(layer="suite", name="inputs", status=Status.FAILED, detail=detail, hint=hint))
                continue
            spec = chosen_in_file(server, path, _NO_EXTRAS).spec(timeout_seconds)
            seconds = timeout_seconds or min(_TLS_OR_TCP_SECONDS, spec.connect_timeout_seconds)
            learnt: list[Catalog] = []
            _run(diagnose(spec, printer.report, network_seconds=seconds, learn=learnt.append))
            if learnt and found.name is not None:
                for check in compare_identity(found, learnt[0].server_info):
                    printer.report(check)
        report = Report(checks=tuple(printer.checks), target={"file": str(path)})
    printer.conclude(report, None)
    return report


_NO_EXTRAS: Mapping[str, object] = MappingProxyType(
    dict.fromkeys(("auth_env", "bearer_token_env", "header_name", "header_env", "wait_for_ready"))
)


def _description_quality(catalog: Catalog, spec: ServerSpec) -> Quality:
    from mcptest_engine.core.sanitise import one_line
    from mcptest_engine.safety.description_quality import assess

    return assess(catalog.tools, show=lambda name: one_line(spec.redact(name), _LONGEST_NAME))


def _target_json(spec: ServerSpec, flags: Mapping[str, Any]) -> dict[str, str]:
    """The server as shown, without secrets."""
    import shlex

    from mcptest_engine.servers.urls import shown_url
    from mcptest_engine.suite.secrets import command_without_secrets

    named = {} if flags["server"] is None else {"server": str(flags["server"])}
    url = {} if spec.url is None else {"url": spec.redact(shown_url(spec.url))}
    if spec.command is None:
        return {**named, **url}
    words = tuple(spec.command or ())
    masked = command_without_secrets(words, {})
    typed = flags["argv"] if masked == words else None
    return {**named, "command": spec.redact(typed or shlex.join(masked)), **url}


# --- this machine


def _of_machine(config: str | None, form: str) -> Report:
    from mcptest_engine.core.redaction import Redactor
    from mcptest_engine.judging.providers.checking import check_models
    from mcptest_engine.servers.diagnosis.checks import Report
    from mcptest_engine.servers.diagnosis.project import check_here
    from mcptest_engine.suite.load import check_suite

    workspace, environ = find_here(), dict(os.environ)
    path = (
        Path(config) if config is not None else next((Path(name) for name in SUITE_FILES if Path(name).is_file()), None)
    )
    if path is not None and not path.is_file():
        raise UsageError(f"there is no suite `{path}`")
    checked = None if path is None else check_suite(path, load_options(path, workspace, {}))
    suite = None if checked is None else checked.suite
    redactor = Redactor(() if suite is None else suite.secrets)

    printer = _Printer(form, width=15, redact=redactor.redact_text)
    _run(
        check_here(
            printer.report,
            environ=environ,
            own=os.path.abspath(sys.argv[0]),  # noqa: PTH100 - `resolve` would follow the link that was used
            data_dir=workspace.data_dir,
            root=Path.cwd(),
            path=path,
            checked=checked,
            encoding=_terminal_encoding(),
        )
    )
    check_models(printer.report, environ if suite is None else {**suite.lookups, **suite.env})
    report = Report(checks=tuple(printer.checks))
    printer.conclude(report)
    return report


def _run(work: Coroutine[object, object, None]) -> None:
    """Run the coroutine. Raises: KeyboardInterrupt on Ctrl-C, when all its processes have ended."""
    import asyncio

    from mcptest_engine.cli.ending import ending_on_signals

    async def main() -> None:
        task = asyncio.ensure_future(work)
        with ending_on_signals(task):
            await task

    try:
        asyncio.run(main())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


# --- output


class _Printer:
    """Collects the checks; as text, each is printed as soon as it is done, under the title of its part."""

    def __init__(self, form: str, *, width: int, redact: Callable[[str], str] | None = None) -> None:
        from mcptest_engine.cli.common import colours
        from mcptest_engine.core.sanitise import one_line

        self.checks: list[Check] = []
        self.server: str | None = None
        self._text = form == "text"
        self._width = width
        self._paint = colours(sys.stdout)
        self._one_line = one_line
        self._redact = redact
        self._group = ""
        self._encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
        self._marks = {status: self._encodable(mark) or plain for status, (mark, plain, _) in _MARKS.items()}

    def title(self, text: str) -> None:
        """Print the title of what is checked."""
        self._write(self._paint("1", self._one_line(text)))

    def report(self, check: Check) -> None:
        """Store one check, and print it."""
        if self._redact is not None:
            hint = check.hint and self._redact(check.hint)
            check = replace(check, detail=self._redact(check.detail), hint=hint)
        self.checks.append(check if self.server is None else replace(check, server=self.server))
        if not self._text:
            return
        if self.server is None and check.layer in _GROUPS and check.layer != self._group:
            self._group = check.layer
            self._write(("\n" if len(self.checks) > 1 else "") + self._paint("1", _GROUPS[check.layer]))
        mark, code = self._marks[check.status], _MARKS[check.status][2]
        took = "" if check.duration_ms is None else f" ({_duration_text(check.duration_ms)})"
        name = self._one_line(check.name, 40)
        self._write(
            f"  {self._paint(code, mark)} {name:<{self._width}} {self._one_line(check.detail, 400)}{took}".rstrip()
        )
        indent = " " * (self._width + 5)
        if check.hint and check.status != "skipped":
            self._write(f"{indent}{self._one_line(check.hint, 600)}")
        if check.output.strip():
            from mcptest_engine.core.sanitise import sanitise

            self._write(f"{indent}it wrote on stderr:")
            for line in sanitise(check.output).splitlines()[-_STDERR_LINES:]:
                self._write(f"{indent}  {line}".rstrip())

    def print_quality(self, quality: Quality) -> None:
        """Print a line for each tool, the worst first, with its findings; then why the quality gate fails."""
        from mcptest_engine.safety.description_quality import RULES, Weight

        self._write("\n" + self._paint("1", "descriptions"))
        if not quality.tools:
            self._write("  there are no tools")
            return
        width = max((len(tool.tool) for tool in quality.tools), default=0)
        for tool in sorted(quality.tools, key=lambda one: one.score):
            grave = any(found.severity is Weight.CRITICAL for found in tool.findings)
            status = "failed" if grave else "warning" if tool.findings else "ok"
            mark, code = self._marks[status], _MARKS[status][2]
            weak = ", ".join(f"{name} {score:.2f}" for name, score in tool.scores.items() if score < _WEAK)
            self._write(f"  {self._paint(code, mark)} {tool.tool:<{width}} {tool.score:.2f}  {weak}".rstrip())
            for found in tool.findings:
                finding_text = f"{found.rule} {RULES[found.rule].name}: {found.message}"
                self._write(f"      {self._one_line(finding_text, 400)}")
        counts = f"{quality.count(Weight.CRITICAL)} critical, {quality.count(Weight.WARNING)} warnings"
        self._write(f"  lowest {quality.min_score:.2f}, mean {quality.mean_score:.2f}, {counts}")

    def conclude(self, report: Report, quality: Quality | None = None) -> None:
        """Print the last line: the overall result, and the layer that failed or what the descriptions lack."""
        from mcptest_engine.core.text import counted
        from mcptest_engine.servers.diagnosis.checks import Status

        warnings = report.count(Status.WARNING)
        also = f", {counted(warnings, 'warning')}" if warnings else ""
        failed, misses = report.failed, () if quality is None else quality.misses()
        if failed is None and misses:
            line = self._paint("31", self._one_line(f"the descriptions are below the gate: {'; '.join(misses)}", 400))
        elif failed is None:
            line = self._paint("33" if warnings else "32", f"nothing failed{also}")
        elif report.target is None:
            line = self._paint("31", f"{counted(report.count(Status.FAILED), 'check')} failed{also}")
        else:
            first = self._one_line(failed.detail.split("\n", 1)[0], 200)
            of_server = "" if failed.server is None else f"{self._one_line(failed.server, 80)}: "
            line = self._paint("31", f"{of_server}failed at {failed.name.strip()}: {first}")
        self._write(f"\n{line}")

    def _encodable(self, mark: str) -> str:
        """The mark where the terminal's encoding has it, else ""."""
        return mark.encode(self._encoding, "ignore").decode(self._encoding)

    def _write(self, line: str) -> None:
        if self._text:
            printable = line.encode(self._encoding, "backslashreplace").decode(self._encoding)
            sys.stdout.write(f"{printable}\n")
            sys.stdout.flush()


_GROUPS = {
    "environment": "this machine",
    "suite": "suite",
    "tokens": "stored logins",
    "agents": "coding agents",
    "models": "models",
}
_MARKS = {
    "ok": ("✓", "+", "32"),
    "warning": ("!", "!", "33"),
    "failed": ("✗", "x", "31"),
    "skipped": ("-", "-", "2"),
}
"""Status: (mark, its replacement where the terminal lacks that character, colour)."""


def _duration_text(duration_ms: float) -> str:
    return "<1ms" if duration_ms < 1 else f"{duration_ms:.0f}ms" if duration_ms < 1000 else f"{duration_ms / 1000:.2f}s"


def _terminal_encoding() -> str:
    """The terminal's encoding, or the one of the environment where output goes to a file or a pipe."""
    import locale

    return sys.stdout.encoding if sys.stdout.isatty() else locale.getpreferredencoding(False)

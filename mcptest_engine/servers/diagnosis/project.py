"""Checks the current directory: the suite and its servers, the tokens of `mcptest login`, the settings of coding agents.

No server is started and no request is sent. Files are read, and no secret in them is shown.
"""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mcptest_engine.core.errors import Severity, SuiteError
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.text import counted
from mcptest_engine.servers.diagnosis.checks import Check, Status
from mcptest_engine.servers.diagnosis.machine import check_machine, check_programs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mcptest_engine.core.json_types import JsonMapping
    from mcptest_engine.servers.agent_configs import FoundServer
    from mcptest_engine.servers.diagnosis.checks import Tell
    from mcptest_engine.suite.load import CheckedSuite, LoadedSuite

_SCRIPTS = (".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".sh", ".jar")


def check_suite_here(tell: Tell, checked: CheckedSuite | None, path: Path | None, environ: Mapping[str, str]) -> None:
    """Check the suite and each server that it declares; `checked` is None when there is no suite."""
    if checked is None or path is None:
        detail = "none here; `mcptest init` writes one"
        tell(Check(layer="suite", name="suite", status=Status.SKIPPED, detail=detail))
        return
    errors = checked.errors
    suite = checked.suite
    if suite is None or errors:
        first = (errors or checked.problems)[0]
        place = f":{first.span.line}:{first.span.column}" if first.span is not None else ""
        detail = f"{path} does not load: {counted(len(errors), 'problem')}, the first{place}: {first.message}"
        tell(
            Check(
                layer="suite",
                name="suite",
                status=Status.FAILED,
                detail=detail,
                hint=first.hint or "see `mcptest validate`",
            )
        )
        return
    warnings = [problem for problem in checked.problems if problem.severity is Severity.WARNING]
    detail = f"{path}: {counted(len(suite.tests), 'test')}, {counted(len(suite.servers), 'server')}"
    if warnings:
        detail += f", {counted(len(warnings), 'warning')}, the first: {warnings[0].message}"
    status = Status.WARNING if warnings else Status.OK
    tell(Check(layer="suite", name="suite", status=status, detail=detail, hint=warnings[0].hint if warnings else None))
    for name, settings in suite.servers.items():
        tell(_server_check(name, settings, suite, environ))


def _server_check(name: str, settings: JsonMapping, suite: LoadedSuite, environ: Mapping[str, str]) -> Check:
    from mcptest_engine.servers.spec import spec_from_settings
    from mcptest_engine.servers.urls import shown_url

    def done(status: Status, detail: str, hint: str | None = None) -> Check:
        return Check(layer="suite", name=name, status=status, detail=detail, hint=hint)

    unset = [variable for variable in _variables(settings) if not suite.lookups.get(variable)]
    if unset:
        names = ", ".join(f"`{variable}`" for variable in unset)
        them = "it" if len(unset) == 1 else "them"
        hint = f"export {them}, or write {them} into `.env` beside the suite"
        return done(Status.FAILED, f"env var {names}, which it names, is not set or is empty", hint)
    try:
        spec = spec_from_settings(
            name, settings, suite_env=suite.env, environ=environ, lookups=suite.lookups, config_dir=suite.path.parent
        )
    except SuiteError as wrong:
        return done(Status.FAILED, wrong.problems[0].message, wrong.problems[0].hint)
    if spec.url is not None and spec.command is None:
        try:
            fine = urlsplit(spec.url).scheme in ("http", "https") and bool(urlsplit(spec.url).hostname)
        except ValueError:
            fine = False
        if not fine:
            return done(Status.FAILED, f"`{shown_url(spec.url)}` is not an http or https URL")
        return done(Status.OK, f"{shown_url(spec.url)}, not asked; try: mcptest doctor --server {name}")
    assert spec.command is not None
    command = settings.get("command") or ()
    if command and command[0] == "mcptest":
        return done(Status.OK, "this mcptest itself")
    path = spec.env.get("PATH")
    fault = command_fault(spec.command, path=path, folder=Path(spec.cwd or "."))
    if fault is not None:
        return done(*fault)
    found = shutil.which(spec.command[0], path=path or os.defpath) or spec.command[0]
    return done(Status.OK, f"{found}, not started")


def command_fault(words: Sequence[str], *, path: str | None, folder: Path) -> tuple[Status, str, str | None] | None:
    """Why the command cannot be started here: (status, what, hint); None when no reason is found. Nothing is started."""
    program = words[0]
    if not folder.is_dir():
        return Status.FAILED, f"its folder is not there: {folder}", None
    if "/" in program:
        file = folder / program
        if not file.exists():
            return (
                Status.FAILED,
                f"the program `{program}` is not there",
                "paths are relative to where mcptest is started",
            )
        if file.is_dir():
            return Status.FAILED, f"`{program}` is a directory, not a program", None
        if not os.access(file, os.X_OK):
            return Status.FAILED, f"`{program}` is not executable", "make it so with `chmod +x`"
    elif shutil.which(program, path=path or os.defpath) is None:
        hint = f'a file here is named by its path: ["./{program}"]' if (folder / program).is_file() else None
        return (
            Status.FAILED,
            f"the program `{one_line(program)}` was not found on PATH",
            hint or "install it, or name it by its path",
        )
    for word in words[1:]:
        if word.startswith("-"):
            continue
        if word.endswith(_SCRIPTS) and not (folder / word).exists():
            return Status.FAILED, f"the file `{word}` is not there", "paths are relative to where mcptest is started"
        break
    return None


def _variables(settings: JsonMapping) -> Iterator[str]:
    """The variables that hold the server's secrets."""
    auth = settings.get("auth") or {}
    named = [auth.get("bearer_token_env"), (auth.get("oauth") or {}).get("client_secret_env")]
    named += [value.get("env") for value in (settings.get("headers") or {}).values() if isinstance(value, dict)]
    yield from (variable for variable in named if isinstance(variable, str) and variable)


def check_tokens(tell: Tell) -> None:
    """Check each token that `mcptest login` stored on this machine."""
    from mcptest_engine.servers import token_store
    from mcptest_engine.servers.urls import login_command, shown_url

    listed, unreadable = token_store.stored()
    if not listed and not unreadable:
        tell(
            Check(
                layer="tokens",
                name="login",
                status=Status.SKIPPED,
                detail="none stored; `mcptest login URL` stores one",
            )
        )
    for path in unreadable:
        detail = f"{token_store.shown_path(path)} contains no token of mcptest"
        tell(Check(layer="tokens", name="login", status=Status.WARNING, detail=detail, hint="remove the file"))
    for token in listed:
        end, status, hint = token.expires_at_unix, Status.OK, None
        if end is not None and end <= time.time():
            validity = "has expired, and is refreshed when it is next used"
            if not token.can_be_refreshed:
                status, validity, hint = Status.WARNING, "has expired", f"log in again with: {login_command(token.url)}"
        else:
            validity = "valid until the server revokes it" if end is None else f"valid for {_span(end - time.time())}"
        detail = f"{shown_url(token.url)}: {validity}"
        tell(Check(layer="tokens", name="login", status=status, detail=detail, hint=hint))


def _span(seconds: float) -> str:
    if seconds < 5400:
        return counted(max(1, round(seconds / 60)), "more minute")
    if seconds < 36 * 3600:
        return counted(round(seconds / 3600), "more hour")
    return counted(round(seconds / 86400), "more day")


def check_agents(tell: Tell, start_dir: Path, environ: Mapping[str, str]) -> None:
    """Check each settings file of a coding agent, and the servers in it."""
    from mcptest_engine.servers.agent_configs import find_agent_servers
    from mcptest_engine.servers.token_store import shown_path

    found = find_agent_servers(start_dir, environ)
    if not found.read and not found.problems:
        tell(Check(layer="agents", name="settings", status=Status.SKIPPED, detail="no agent's settings were found"))
    files = dict.fromkeys((*found.read, *(problem.path for problem in found.problems)))
    for path in files:
        servers = [server for server in found.servers if server.source_path == path]
        faults = [problem for problem in found.problems if problem.path == path]
        clients = [server.client for server in servers] + [problem.client for problem in faults]
        client = clients[0] if clients else "settings"
        shown = shown_path(Path(path))
        has_own = any(_is_mcptest(server) for server in servers)
        if faults:
            more = len(faults) - 1
            detail = f"{shown}: {faults[0].message}" + (f" ({counted(more, 'more problem')})" if more else "")
            tell(Check(layer="agents", name=client, status=Status.WARNING, detail=detail))
        if path in found.read and (servers or not faults):
            own = ", mcptest among them" if has_own else ""
            detail = f"{shown}: {counted(len(servers), 'server')}{own}"
            tell(Check(layer="agents", name=client, status=Status.OK, detail=detail))
        for server in servers:
            tell(_agent_server(server, environ))


def _is_mcptest(server: FoundServer) -> bool:
    return bool(server.words) and Path(server.words[0]).name == "mcptest" and "mcp-server" in server.words


def _agent_server(server: FoundServer, environ: Mapping[str, str]) -> Check:
    def done(status: Status, detail: str, hint: str | None = None) -> Check:
        return Check(layer="agents", name=f"  {server.name}", status=status, detail=detail, hint=hint)

    if not server.enabled:
        return done(Status.SKIPPED, f"{server.shown}, turned off")
    if server.missing:
        names = ", ".join(f"`{name}`" for name in server.missing)
        return done(
            Status.WARNING,
            f"{server.shown}: {names} has no value here",
            "the agent asks for it; or export it",
        )
    if "url" in server.target:
        return done(Status.OK, f"{server.shown}, not asked")
    env = {**environ, **(server.target.get("env") or {})}
    folder = Path(server.target.get("cwd") or ".")
    fault = command_fault(server.target["command"], path=env.get("PATH"), folder=folder)
    if fault is not None:
        return done(Status.WARNING, f"{server.shown}: {fault[1]}", fault[2])
    return done(Status.OK, f"{server.shown}, not started")


async def check_here(
    tell: Tell,
    *,
    environ: Mapping[str, str],
    own: str,
    data_dir: Path,
    root: Path,
    path: Path | None,
    checked: CheckedSuite | None,
    encoding: str | None,
) -> None:
    """Run all checks of this machine and directory. `own` is the running program; `path` and `checked` are the suite's."""
    check_machine(tell, environ=environ, own=own, data_dir=data_dir, encoding=encoding)
    await check_programs(tell, environ)
    check_suite_here(tell, checked, path, environ)
    check_tokens(tell)
    check_agents(tell, root, environ)

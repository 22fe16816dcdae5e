"""Checks one server from the outside in: the connection, then MCP itself, then its health.

A session is opened once, as a run opens it. Which layer failed is read from what that left: an HTTP response, an exit code, a
line that is no message. So the messages are those of a run, and the server receives nothing that a run would not send. No tool
is ever called.
"""

from __future__ import annotations

import errno
import os
import shlex
import shutil
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from mcptest_engine.core.errors import AuthFailed, ServerDidNotStart, ServerError
from mcptest_engine.core.text import counted
from mcptest_engine.servers.catalog import read_catalog
from mcptest_engine.servers.diagnosis.checks import Check, Status
from mcptest_engine.servers.diagnosis.network import check_network
from mcptest_engine.servers.failures import duration
from mcptest_engine.servers.http_failures import media_type
from mcptest_engine.servers.remarks import noise_text
from mcptest_engine.servers.session import connect
from mcptest_engine.servers.spec import is_own
from mcptest_engine.servers.urls import login_command, shown_url
from mcptest_engine.servers.wire import DEFAULT_REVISION, HANDSHAKE_REVISIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest_engine.core.json_types import JsonDict
    from mcptest_engine.servers.catalog import Catalog
    from mcptest_engine.servers.diagnosis.checks import Tell
    from mcptest_engine.servers.session import Session
    from mcptest_engine.servers.spec import ServerSpec

    Learn = Callable[[Catalog], None]

_PATIENCE_AT_END_SECONDS = 2.0
_GATEWAY = frozenset({502, 503, 504})
_REMARK_HINT = "other output belongs on stderr: check where libraries write their logs"


async def diagnose(spec: ServerSpec, tell: Tell, *, network_seconds: float, learn: Learn | None = None) -> None:
    """Check each layer of the server of `spec`, up to the first that fails. Never raises for what a server does.

    `network_seconds` holds for each step below HTTP; above, the spec's own times hold. `learn` receives the catalog, where that
    could be read.
    """

    def redacted(check: Check) -> None:
        tell(
            replace(
                check,
                name=spec.redact(check.name),
                detail=spec.redact(check.detail),
                hint=check.hint and spec.redact(check.hint),
                output=spec.redact(check.output),
            )
        )

    if spec.command is not None and spec.url is not None:
        if _check_program(spec, redacted):
            await _over_http(spec, redacted, learn)
        return
    if spec.url is not None:
        if await check_network(spec, redacted, seconds=network_seconds):
            await _over_http(spec, redacted, learn)
        return
    if _check_program(spec, redacted):
        await _over_stdio(spec, redacted, learn)


# --- over HTTP


async def _over_http(spec: ServerSpec, tell: Tell, learn: Learn | None) -> None:
    made: list[Session] = []
    began = perf_counter()
    try:
        session = await connect(spec, made=made.append)
    except AuthFailed as refused:
        if refused.http is not None:
            tell(_http_check(Status.OK, _http_answer(refused.http), began))
        tell(_auth_refused(spec, refused))
        await _report_token_source(spec, refused, tell)
        return
    except ServerError as wrong:
        if isinstance(wrong, ServerDidNotStart) and spec.command is not None and wrong.http is None:
            _report_start_failure(wrong, made[-1], tell)
            return
        _report_http_failure(wrong, made[-1] if made else None, began, tell)
        return
    try:
        http = (session.handshake and session.handshake.http) or {}
        if session.transport == "sse":
            detail = "HTTP+SSE of 2024-11-05, which Streamable HTTP replaced"
            tell(
                _http_check(
                    Status.WARNING, detail, began, "serve Streamable HTTP as well: newer clients know only that"
                )
            )
        else:
            tell(_http_check(Status.OK, _http_answer(http), began))
        tell(_auth_accepted(spec, session))
        _report_protocol(session, tell)
        await _report_catalog(session, tell, learn)
    finally:
        await session.close()


def _http_check(status: Status, detail: str, began: float, hint: str | None = None) -> Check:
    took = (perf_counter() - began) * 1000
    return Check(layer="http", name="HTTP", status=status, detail=detail, hint=hint, duration_ms=took)


def _http_answer(http: dict[str, object]) -> str:
    return f"HTTP {http.get('status', '?')}, {media_type(http) or 'no content type'}"


def _report_http_failure(wrong: ServerError, session: Session | None, began: float, tell: Tell) -> None:
    """Report a failed HTTP request; false when HTTP worked and only its content was wrong."""
    clause, http = wrong.clause, wrong.http or {}
    spoke = session is not None and session.traffic.last_received(since=0.0) is not None
    status = http.get("status")
    if spoke or (
        isinstance(status, int) and status < 300 and media_type(http) in ("application/json", "text/event-stream")
    ):
        if status is not None:
            tell(_http_check(Status.OK, _http_answer(http), began))
        tell(Check(layer="protocol", name="MCP", status=Status.FAILED, detail=clause, hint=wrong.hint))
        return
    hint = wrong.hint
    if status is None:
        if wrong.timed_out:
            hint = hint or "the port accepts connections, but nothing answers: is it an HTTP server, and is it stuck?"
    else:
        clause, hint = _status_detail(http, clause, hint)
    tell(_http_check(Status.FAILED, clause, began, hint))


def _status_detail(http: JsonDict, clause: str, hint: str | None) -> tuple[str, str | None]:
    status = int(http["status"])
    if status < 300 and media_type(http) in ("text/html", "application/xhtml+xml"):
        return f"answers HTML (HTTP {status}): this is a web page, not an MCP endpoint", hint
    if status in _GATEWAY:
        return clause, "a gateway answers, but the server behind it does not: check whether the server runs"
    if status >= 500:
        return clause, "see the log of the server"
    if status == 429:
        return clause, "there were too many requests: wait, or ask the operator of the server"
    return clause, hint


# --- auth


def _auth_refused(spec: ServerSpec, refused: AuthFailed) -> Check:
    """Report the refusal, without the command that diagnoses it."""
    refusal, detail, hint = refused.refusal, refused.clause, refused.hint
    if refusal is not None:
        detail = f"HTTP {refusal.status}, server advertises {refusal.advertised}"
        hint = f"{refusal.sent}; {refusal.remedy}"
        if refusal.may_log_in:
            hint += f", or try: {login_command(spec.url or '')}"
    return Check(layer="auth", name="auth", status=Status.FAILED, detail=detail, hint=hint)


def _auth_accepted(spec: ServerSpec, session: Session) -> Check:
    variable = spec.bearer_token_env
    status, hint = Status.OK, None
    if variable and "authorization" not in spec.secret_headers:
        status = Status.WARNING
        detail = f"env var `{variable}` is not set or is empty, and the server answers without a token"
        hint = "it may ask for one when a tool is called: export a token into it"
    elif variable:
        detail = f"the token in env var `{variable}` was sent, and not refused"
    elif session.auth == "oauth":
        whose = "client credentials (`auth.oauth`)" if spec.oauth is not None else "the token stored by `mcptest login`"
        detail = f"{whose}: accepted"
    elif spec.secret_headers:
        detail = f"sent {', '.join(f'`{name}`' for name in sorted(spec.secret_headers))}, and not refused"
    else:
        detail = "not required"
    return Check(layer="auth", name="auth", status=status, detail=detail, hint=hint)


async def _report_token_source(spec: ServerSpec, refused: AuthFailed, tell: Tell) -> None:
    """Report what the metadata of the protected resource says about authorization servers. Source: RFC 9728."""
    from mcptest_engine.servers.auth import challenge_parameter

    challenge = ((refused.http or {}).get("headers") or {}).get("www-authenticate")
    where = challenge_parameter(challenge, "resource_metadata")
    if where is None:
        return
    import httpx2

    from mcptest_engine.servers.oauth_http import OAuthHttp, OAuthTrouble, json_object

    began = perf_counter()
    status, hint = Status.WARNING, "without it, `mcptest login` does not know where to log in"
    try:
        async with OAuthHttp(spec.http, spec.connect_timeout_seconds) as http:
            response = await http.send(httpx2.Request("GET", where), "resource metadata")
        found = json_object(response) if response.status_code == 200 else None
        servers = found.get("authorization_servers") if found is not None else None
        if found is None:
            detail = f"{shown_url(where)} answered with HTTP {response.status_code} and no metadata"
        elif not isinstance(servers, list) or not servers:
            detail = f"{shown_url(where)} names no authorization server"
        else:
            status, hint = Status.OK, "log in with: mcptest login " + shlex.quote(shown_url(spec.url or ""))
            detail = "tokens come from " + ", ".join(shown_url(str(one)) for one in servers[:3])
            scopes = found.get("scopes_supported")
            if isinstance(scopes, list) and scopes:
                detail += f", for {', '.join(f'`{scope}`' for scope in scopes[:10])}"
    except (OAuthTrouble, httpx2.InvalidURL) as wrong:
        detail = str(wrong)
    took = (perf_counter() - began) * 1000
    tell(Check(layer="auth", name="tokens", status=status, detail=detail, hint=hint, duration_ms=took))


# --- over stdio


def _check_program(spec: ServerSpec, tell: Tell) -> bool:
    """Check that the program exists and may be run; only starting it shows whether it fits this machine."""
    assert spec.command is not None
    program = spec.command[0]
    if spec.cwd is not None and not Path(spec.cwd).is_dir():
        detail = f"its `cwd` is not a directory: {spec.cwd}"
        tell(Check(layer="program", name="program", status=Status.FAILED, detail=detail))
        return False
    found = shutil.which(program, path=spec.env.get("PATH", os.defpath))
    if found is None and "/" in program and Path(spec.cwd or "", program).exists():
        found = program
    may_run = found is None or (os.access(path := Path(spec.cwd or "", found), os.X_OK) and not path.is_dir())
    if found is not None and may_run:
        detail = "this mcptest itself" if is_own(spec.command) else found
        tell(Check(layer="program", name="program", status=Status.OK, detail=detail))
        return True
    from mcptest_engine.servers.failures import could_not_spawn

    code = errno.ENOENT if may_run else errno.EACCES
    wrong = could_not_spawn(spec, OSError(code, os.strerror(code), program))
    detail = wrong.clause
    tell(Check(layer="program", name="program", status=Status.FAILED, detail=detail, hint=wrong.hint))
    return False


async def _over_stdio(spec: ServerSpec, tell: Tell, learn: Learn | None) -> None:
    made: list[Session] = []
    patient = replace(spec, grace_seconds=max(spec.grace_seconds, _PATIENCE_AT_END_SECONDS))
    try:
        session = await connect(patient, made=made.append)
    except ServerError as wrong:
        _report_start_failure(wrong, made[-1], tell)
        return
    try:
        tell(Check(layer="start", name="start", status=Status.OK, detail="runs and answers"))
        _report_protocol(session, tell)
        await _report_catalog(session, tell, learn)
        _report_stdout(session, tell)
    finally:
        ended_before = session.ending is not None
        began = perf_counter()
        await session.close()
    if not ended_before:
        tell(_shutdown(spec, session, perf_counter() - began))


def _report_start_failure(wrong: ServerError, session: Session, tell: Tell) -> None:
    clause, output = wrong.clause, wrong.stderr_tail
    if not len(session.traffic):  # nothing was sent: it was never started
        tell(Check(layer="start", name="start", status=Status.FAILED, detail=clause, hint=wrong.hint))
        return
    noisy = session.remarks.noise_count > 0
    if wrong.ended:
        hint = wrong.hint or _hint_for_end(wrong, session)
        tell(Check(layer="start", name="start", status=Status.FAILED, detail=clause, hint=hint, output=output))
        return
    tell(Check(layer="start", name="start", status=Status.OK, detail="runs"))
    if noisy:
        first = session.remarks.noise[0][1]
        detail = f"{clause}; it wrote {noise_text(session.remarks.noise_count)} to stdout, such as: {first}"
        hint = _REMARK_HINT
        tell(Check(layer="stdout", name="stdout", status=Status.FAILED, detail=detail, hint=hint, output=output))
        return
    hint = wrong.hint
    if hint is None and wrong.timed_out:
        hint = "does it read JSON-RPC from stdin? a server for HTTP needs --url; one that is slow to start, a longer --timeout"
    tell(Check(layer="protocol", name="MCP", status=Status.FAILED, detail=clause, hint=hint, output=output))


def _hint_for_end(wrong: ServerError, session: Session) -> str | None:
    if wrong.exit_code == 0:
        return "a server runs until its stdin is closed: check the command"
    if session.remarks.noise_count and not wrong.stderr_tail:
        return f"it wrote on stdout: {session.remarks.noise[0][1]}"
    return None


def _report_stdout(session: Session, tell: Tell) -> None:
    if not session.remarks.noise_count:
        tell(Check(layer="stdout", name="stdout", status=Status.OK, detail="only messages"))
        return
    detail = f"{noise_text(session.remarks.noise_count)}, such as: {session.remarks.noise[0][1]}"
    tell(Check(layer="stdout", name="stdout", status=Status.WARNING, detail=detail, hint=_REMARK_HINT))


def _shutdown(spec: ServerSpec, session: Session, took_seconds: float) -> Check:
    how_far = session.ending.how_far if session.ending is not None else ""
    waited, status, hint = duration(_PATIENCE_AT_END_SECONDS), Status.OK, None
    if how_far in ("SIGTERM", "SIGKILL"):
        waited = duration(max(spec.grace_seconds, _PATIENCE_AT_END_SECONDS))
        detail = f"did not exit within {waited} after its stdin was closed, and was ended by {how_far}"
        status, hint = (
            Status.WARNING,
            "a server should exit when its stdin is closed: a run must kill each one that does not",
        )
    else:
        detail = "exits when its stdin is closed"
        if took_seconds > spec.grace_seconds:
            status = Status.WARNING
            hint = f"a run waits {duration(spec.grace_seconds)}: give it more with `shutdown_grace_ms`"
            detail += ", but takes its time"
    return Check(
        layer="shutdown", name="shutdown", status=status, detail=detail, hint=hint, duration_ms=took_seconds * 1000
    )


# --- MCP


def _report_protocol(session: Session, tell: Tell) -> None:
    info, version = session.server_info or {}, session.protocol_version
    offered = session.spec.protocol or DEFAULT_REVISION
    name = " ".join(str(info[key]) for key in ("name", "version") if info.get(key))
    detail = version or "no protocol version"
    detail += f", server {name}" if name else ", a server that does not give its name"
    if version is not None and version != offered and offered != "auto":
        detail += f" (offered {offered})"
    status, hint = Status.OK, None
    if session.remarks.texts:
        hint = "; ".join(session.remarks.texts)
    if version is None or (version not in HANDSHAKE_REVISIONS and not session.stateless):
        status = Status.WARNING
    took = None if session.handshake is None else session.handshake.duration_ms
    tell(Check(layer="protocol", name="MCP", status=status, detail=detail, hint=hint, duration_ms=took))


async def _report_catalog(session: Session, tell: Tell, learn: Learn | None) -> None:
    began = perf_counter()

    def done(status: Status, detail: str, hint: str | None = None, output: str = "") -> None:
        took = (perf_counter() - began) * 1000
        tell(
            Check(
                layer="catalog",
                name="catalog",
                status=status,
                detail=detail,
                hint=hint,
                duration_ms=took,
                output=output,
            )
        )

    try:
        catalog = await read_catalog(session)
    except AuthFailed as refused:
        tell(_auth_refused(session.spec, refused))
        return
    except ServerError as wrong:
        done(Status.FAILED, wrong.clause, wrong.hint, wrong.stderr_tail)
        return
    if learn is not None:
        learn(catalog)
    counts = [(len(catalog.tools), "tool"), (len(catalog.resources), "resource")]
    counts += [(len(catalog.templates), "resource template"), (len(catalog.prompts), "prompt")]
    detail = ", ".join(counted(number, word) for number, word in counts if number or word == "tool")
    if catalog.errors:
        done(Status.WARNING, detail, "; ".join(catalog.errors.values()))
    elif not any(number for number, _ in counts):
        done(Status.WARNING, "it offers no tools, resources or prompts", "there is nothing to test yet")
    else:
        done(Status.OK, detail)

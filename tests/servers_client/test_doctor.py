"""`doctor` over real sockets and processes: each way to fail is told at the layer where it lies, and no tool is called."""

from __future__ import annotations

import datetime as dt
import http.server
import socket
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.core.redaction import Redactor
from mcptest_engine.servers.diagnosis.checks import Check, Report, Status
from mcptest_engine.servers.diagnosis.target import diagnose
from mcptest_engine.servers.failures import duration
from mcptest_engine.servers.spec import HttpOptions, ServerSpec, spec_from_settings
from tests.processes import longer
from tests.servers_client.conftest import SERVERS
from tests.servers_client.http_scripts import CLOSE, HANG, HostileServer, scripted, web, whole
from tests.servers_client.test_http_tls import pem, private_pem, signed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def look(run: Callable[..., Any]) -> Callable[[ServerSpec], Report]:
    """Diagnose a server; gives the report."""

    def work(spec: ServerSpec) -> Report:
        checks: list[Check] = []
        run(diagnose(spec, checks.append, network_seconds=min(10.0, spec.connect_timeout_seconds)))
        return Report(checks=tuple(checks))

    return work


@pytest.fixture(scope="module")
def hostile() -> Iterator[HostileServer]:
    yield from scripted()


def layers(report: Report) -> list[str]:
    return [check.layer for check in report.checks]


def failed(report: Report) -> Check:
    """The check that failed, which is the only one and the last but for how the process ended."""
    assert report.failed is not None
    assert report.count(Status.FAILED) == 1
    return report.failed


@pytest.fixture
def closed_port() -> Iterator[int]:
    """One that is bound, so that nobody else takes it, and not listened on."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield int(bound.getsockname()[1])


# --- below HTTP


@pytest.mark.parametrize(
    ("url", "told", "hint"),
    [
        ("localhost:8000/mcp", "`localhost:8000/mcp` is not an http or https URL", "begin with http:// or https://"),
        ("ws://localhost/mcp", "`ws://localhost/mcp` is not an http or https URL", "uses http and https"),
        ("http:///mcp", "`http:///mcp` names no host", ""),
        ("http://localhost:0/mcp", "`http://localhost:0/mcp` has the port 0", ""),
        ("http://localhost:99999/mcp", "is not a URL: port out of range", ""),
        ("http://[::1/mcp", "is not a URL: invalid IPv6 URL", ""),
        ("http://local host/mcp", "contains a space", ""),
        ("http://x\x07/mcp", "contains a space or a control character", ""),
    ],
)
def test_what_is_no_url_fails_at_the_url(url: str, told: str, hint: str, look: Callable) -> None:
    """Nothing else is looked at."""
    report = look(web(url))
    assert layers(report) == ["url"]
    assert told in failed(report).detail
    assert hint in (failed(report).hint or "")


def test_a_name_that_nobody_knows_fails_at_the_name(look: Callable) -> None:
    """RFC 2606: `.invalid` is never found."""
    report = look(web("http://nowhere.invalid/mcp"))
    assert layers(report) == ["url", "dns"]
    assert failed(report).detail.startswith("name not found: `nowhere.invalid`")


def test_a_port_where_nobody_listens_fails_at_tcp(closed_port: int, look: Callable) -> None:
    """`doctor` names the failing layer ("connection refused")."""
    report = look(web(f"http://127.0.0.1:{closed_port}/mcp"))
    assert layers(report) == ["url", "dns", "tcp"]
    assert failed(report).detail == f"connection refused at 127.0.0.1:{closed_port}"
    assert "is the server running" in (failed(report).hint or "")


def test_every_address_of_a_name_is_tried(hostile: HostileServer, look: Callable) -> None:
    """A name may have an address on which nothing listens."""
    report = look(web(hostile.url(host="localhost")))
    assert report.checks[2].status is Status.OK
    assert "connected to 127.0.0.1" in report.checks[2].detail


def test_a_token_that_would_travel_in_the_clear_stops_before_the_network(look: Callable) -> None:
    """Tokens go only to https or to this machine."""
    report = look(web("http://nowhere.invalid/mcp", auth="bearer", secret_headers=frozenset({"authorization"})))
    assert layers(report) == ["url", "auth"]
    assert "tokens go only to https" in failed(report).detail


def test_a_proxy_that_is_not_there_is_told_as_the_proxys(closed_port: int, look: Callable) -> None:
    """What fails below HTTP is then the proxy's."""
    report = look(web("http://example.invalid/mcp", http=HttpOptions(proxy=f"http://127.0.0.1:{closed_port}")))
    assert layers(report) == ["url", "proxy", "dns", "tcp"]
    assert "as `http.proxy` says" in report.checks[1].detail
    assert failed(report).detail == f"connection refused at 127.0.0.1:{closed_port}"


# --- TLS


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`authority.pem`, and signed by it `server.pem`, valid for a day, and `expired.pem`, valid until yesterday."""
    from cryptography.hazmat.primitives.asymmetric import ec

    folder = tmp_path_factory.mktemp("doctor-certificates")
    own_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    (folder / "authority.pem").write_bytes(pem(signed(own_key.public_key(), own_key, "authority", authority=True)))
    good = signed(key.public_key(), own_key, "server", authority=False)
    (folder / "server.pem").write_bytes(pem(good) + private_pem(key))
    (folder / "expired.pem").write_bytes(pem(_expired(good, own_key)) + private_pem(key))
    return folder


def _expired(certificate: Any, signing_key: Any) -> Any:
    """The same certificate, over since yesterday."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    now = dt.datetime.now(dt.UTC)
    builder = x509.CertificateBuilder(
        certificate.issuer, certificate.subject, certificate.public_key(), x509.random_serial_number()
    )
    builder = builder.not_valid_before(now - dt.timedelta(days=9)).not_valid_after(now - dt.timedelta(days=1))
    for extension in certificate.extensions:
        builder = builder.add_extension(extension.value, extension.critical)
    return builder.sign(signing_key, hashes.SHA256())


@pytest.fixture(scope="module")
def secure(certificates: Path) -> Iterator[HostileServer]:
    yield from scripted(certificates / "server.pem")


def test_a_certificate_of_nobody_known_fails_at_tls(secure: HostileServer, look: Callable) -> None:
    """The reason is OpenSSL's, the way on ours."""
    report = look(web(secure.url()))
    assert layers(report) == ["url", "dns", "tcp", "tls"]
    assert failed(report).detail == "unable to get local issuer certificate"
    assert "`http.verify` of a suite's server" in (failed(report).hint or "")
    assert "--url alone has no such setting" in (failed(report).hint or "")


def test_an_expired_certificate_fails_at_tls_by_that_name(certificates: Path, look: Callable) -> None:
    """The cause in words."""
    with HostileServer(certificates / "expired.pem") as server:
        report = look(web(server.url(), http=HttpOptions(verify=str(certificates / "authority.pem"))))
    assert failed(report).layer == "tls"
    assert failed(report).detail == "certificate has expired"
    assert "renew" in (failed(report).hint or "")


def test_a_certificate_for_another_host_fails_at_tls(secure: HostileServer, certificates: Path, look: Callable) -> None:
    """Whoever signed it."""
    options = HttpOptions(verify=str(certificates / "authority.pem"))
    check = failed(look(web(secure.url(host="localhost"), http=options)))
    assert check.detail.startswith("Hostname mismatch")
    assert "is for another host" in (check.hint or "")


def test_a_certificate_that_ends_soon_is_a_warning(secure: HostileServer, certificates: Path, look: Callable) -> None:
    """And the layers above are looked at all the same."""
    report = look(web(secure.url(), http=HttpOptions(verify=str(certificates / "authority.pem"))))
    (tls,) = [check for check in report.checks if check.layer == "tls"]
    assert tls.status is Status.WARNING
    assert "certificate for 127.0.0.1, valid for 0 more days" in tls.detail
    assert "http" in layers(report)


def test_a_port_without_tls_fails_at_tls_with_the_url_to_try(hostile: HostileServer, look: Callable) -> None:
    """Plain HTTP behind an https URL."""
    check = failed(look(web(hostile.url().replace("http:", "https:"))))
    assert check.layer == "tls"
    assert check.detail.startswith("the answer is not TLS")
    assert check.hint == "it may use plain HTTP: try an http URL"


def test_an_authority_file_that_is_not_there_fails_at_tls(secure: HostileServer, look: Callable) -> None:
    """As a run would fail, before the handshake."""
    check = failed(look(web(secure.url(), http=HttpOptions(verify="/nowhere/ca.pem"))))
    assert check.detail == '`http.verify` names "/nowhere/ca.pem", which does not exist'


def test_a_certificate_that_is_not_looked_at_is_a_warning(secure: HostileServer, look: Callable) -> None:
    """It is the suite's wish, and worth a word."""
    report = look(web(secure.url(), http=HttpOptions(verify=False)))
    (tls,) = [check for check in report.checks if check.layer == "tls"]
    assert (tls.status, "is not checked" in tls.detail) == (Status.WARNING, True)


# --- HTTP


@pytest.mark.parametrize(
    ("steps", "told", "hint"),
    [
        (
            whole("404 Not Found", "nothing here"),
            "answered with HTTP 404 Not Found: nothing here",
            "try http://127.0.0.1",
        ),
        (whole("405 Method Not Allowed", ""), "answered with HTTP 405 Method Not Allowed", "check the path"),
        (whole("500 Oops", "boom"), "answered with HTTP 500 Oops: boom", "see the log of the server"),
        (whole("502 Bad Gateway", ""), "answered with HTTP 502 Bad Gateway", "a gateway answers"),
        (
            whole("200 OK", "<html>Welcome</html>", "text/html"),
            "this is a web page, not an MCP endpoint",
            "check the path",
        ),
        (whole("200 OK", "hello"), 'HTTP 200 with the content type "text/plain": hello', "check the path"),
        ([{"send": "SSH-2.0-OpenSSH_9.6\r\n\r\n"}, CLOSE], "answered with something other than HTTP", ""),
        ([CLOSE], "closed the connection without an answer", "https URL"),
        (whole("301 Moved", "", Location="https://other.invalid/mcp"), "redirect (HTTP 301)", "use this `url`"),
    ],
    ids=["404", "405", "500", "502", "html", "text", "ssh", "closed", "redirect"],
)
def test_what_answers_without_mcp_fails_at_http(
    steps: list[Any], told: str, hint: str, hostile: HostileServer, look: Callable
) -> None:
    """Status, content type and what it says, with where to look next."""
    url = hostile.url({"initialize": [steps], "GET": [whole("405 No", "")]})
    report = look(web(url))
    assert layers(report) == ["url", "dns", "tcp", "tls", "http"]
    assert told in failed(report).detail
    assert hint in (failed(report).hint or "")


def test_a_port_that_takes_connections_and_says_nothing_fails_at_http(hostile: HostileServer, look: Callable) -> None:
    """After the time that was given, and no later."""
    for seconds in longer(0.3):
        report = look(web(hostile.url({"initialize": [[HANG]]}), connect_timeout_seconds=seconds))
        if failed(report).layer == "http":  # else there was not even time to connect
            break
    assert failed(report).layer == "http"
    assert failed(report).detail == f'did not answer "initialize" within {duration(seconds)}'
    assert "nothing answers" in (failed(report).hint or "")


def test_a_refusal_in_json_rpc_fails_at_the_protocol(hostile: HostileServer, look: Callable) -> None:
    """Also under HTTP 400: what answers is an MCP server."""
    body = '{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no such revision"}}'
    report = look(web(hostile.url({"initialize": [whole("400 Bad Request", body, "application/json")]})))
    assert failed(report).layer == "protocol"
    assert failed(report).detail.startswith("refused `initialize`: ")


def test_json_that_is_no_answer_fails_at_the_protocol(hostile: HostileServer, look: Callable) -> None:
    """HTTP did its part."""
    report = look(web(hostile.url({"initialize": [whole("200 OK", '{"hello": 1}', "application/json")]})))
    assert failed(report).layer == "protocol"
    assert [check.status for check in report.checks if check.layer == "http"] == [Status.OK]


# --- auth


class _Guarded(http.server.BaseHTTPRequestHandler):
    """401 to everything; the metadata where RFC 9728 puts them."""

    server: http.server.HTTPServer

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(401)
        where = f"http://127.0.0.1:{self.server.server_port}/.well-known/oauth-protected-resource"
        self.send_header("WWW-Authenticate", f'Bearer realm="mcp", resource_metadata="{where}"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        body = b'{"authorization_servers": ["https://auth.example.com/"], "scopes_supported": ["read"]}'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def guarded() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Guarded) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
        server.shutdown()
        thread.join()


def bearer(url: str, **environ: str) -> ServerSpec:
    redactor = Redactor(environ.values())
    settings = {"url": url, "auth": {"bearer_token_env": "MCP_TOKEN"}}
    return spec_from_settings("web", settings, suite_env={}, environ=environ, redactor=redactor)


@pytest.mark.parametrize(
    ("environ", "hint"),
    [
        ({}, "env var `MCP_TOKEN` (named by `bearer_token_env`) is not set or is empty in this process; export"),
        (
            {"MCP_TOKEN": ""},
            "env var `MCP_TOKEN` (named by `bearer_token_env`) is not set or is empty in this process;",
        ),
        (
            {"MCP_TOKEN": "wrong-token"},
            "the token in env var `MCP_TOKEN` (named by `bearer_token_env`) was not accepted;",
        ),
    ],
    ids=["unset", "empty", "rejected"],
)
def test_a_refused_token_fails_at_auth_with_what_to_set(
    environ: dict[str, str], hint: str, guarded: str, look: Callable
) -> None:
    """Agent interface, "Auth failures"; and the authorization servers are named."""
    report = look(bearer(guarded, **environ))
    assert layers(report) == ["url", "dns", "tcp", "tls", "http", "auth", "auth"]
    check = failed(report)
    assert check.layer == "auth"
    assert check.detail.startswith('HTTP 401, server advertises Bearer (realm="mcp", resource_metadata=')
    assert (check.hint or "").startswith(hint)
    assert "doctor" not in (check.hint or "")
    assert "wrong-token" not in repr(report)
    assert report.checks[-1].detail == "tokens come from https://auth.example.com/, for `read`"
    assert report.checks[-1].hint == f"log in with: mcptest login {guarded}"


def test_no_token_at_all_is_told_with_the_login(guarded: str, look: Callable) -> None:
    """Both ways on: a variable, or a login."""
    hint = failed(look(web(guarded))).hint or ""
    assert hint.startswith("no token was sent; name the env var that holds one with `bearer_token_env`")
    assert f"mcptest login {guarded}" in hint


def test_a_variable_that_is_not_set_is_a_warning_where_no_token_is_asked_for(
    hostile: HostileServer, look: Callable
) -> None:
    """The server may ask for it later."""
    (auth,) = [check for check in look(bearer(hostile.url())).checks if check.layer == "auth"]
    assert auth.status is Status.WARNING
    assert "`MCP_TOKEN` is not set or is empty" in auth.detail


# --- stdio


def stdio(name: str, *arguments: object, **settings: Any) -> ServerSpec:
    command = [sys.executable, "-S", str(SERVERS / f"{name}.py"), *map(str, arguments)]
    environ = {"PATH": "/usr/bin:/bin", "DATABASE_URL": "postgres://here"}
    settings = {"command": command, "connect_timeout_ms": 30_000, **settings}
    return spec_from_settings("local", settings, suite_env={}, environ=environ)


def test_a_program_that_is_not_there_fails_at_the_program(look: Callable) -> None:
    """With the name that may have been meant."""
    spec = spec_from_settings("local", {"command": ["pyhton3", "x"]}, suite_env={}, environ={"PATH": "/usr/bin"})
    report = look(spec)
    assert layers(report) == ["program"]
    assert failed(report).detail == 'the program "pyhton3" was not found on PATH'
    assert failed(report).hint == "did you mean `python3`?"


def test_a_program_that_may_not_be_run_fails_at_the_program(tmp_path: Path, look: Callable) -> None:
    """What the system says when it is started, in our words."""
    (tmp_path / "server.py").write_text("print(1)\n")
    spec = spec_from_settings("local", {"command": [str(tmp_path / "server.py")]}, suite_env={}, environ={})
    check = failed(look(spec))
    assert check.layer == "program"
    assert "is not executable" in check.detail
    assert "chmod +x" in (check.hint or "")
    assert layers(look(spec)) == ["program"]


def test_a_folder_is_no_program(tmp_path: Path, look: Callable) -> None:
    """One check says so, and none before it that the program is there."""
    report = look(spec_from_settings("local", {"command": [str(tmp_path)]}, suite_env={}, environ={}))
    assert layers(report) == ["program"]
    assert failed(report).detail == f'"{tmp_path}" is a directory, not a program'


def test_a_text_without_an_interpreter_is_found_and_fails_at_the_start(tmp_path: Path, look: Callable) -> None:
    (tmp_path / "server").write_text("print(1)\n")
    (tmp_path / "server").chmod(0o755)
    report = look(spec_from_settings("local", {"command": [str(tmp_path / "server")]}, suite_env={}, environ={}))
    assert layers(report) == ["program", "start"]
    assert "it has no `#!` line" in failed(report).detail


def test_a_program_that_sends_back_what_it_gets_is_told_as_one(look: Callable) -> None:
    report = look(spec_from_settings("local", {"command": ["cat"]}, suite_env={}, environ={"PATH": "/usr/bin:/bin"}))
    assert layers(report) == ["program", "start", "protocol"]
    assert failed(report).detail == 'sends its input back: the request "initialize" itself came back'
    assert "check the command" in (failed(report).hint or "")


@pytest.mark.parametrize(
    ("arguments", "told", "hint"),
    [
        (("exit", 3, "cannot open the database"), "exited with code 3", ""),
        (("exit", 0), "exited with code 0", "a server runs until its stdin is closed"),
        (("signal", "SIGKILL"), "was ended by SIGKILL", ""),
        (("needs", "DATABASE_URL"), "exited with code 1", "`DATABASE_URL` is set here but is not passed to the server"),
        (("close-stdout",), "closed its stdout", ""),
    ],
    ids=lambda value: str(value[0]) if isinstance(value, tuple) else "",
)
def test_a_server_that_does_not_stay_fails_at_the_start(
    arguments: tuple[object, ...], told: str, hint: str, look: Callable
) -> None:
    """With its exit code or signal, and what it wrote on stderr."""
    report = look(stdio("bad_start", *arguments))
    assert layers(report) == ["program", "start"]
    assert told in failed(report).detail
    assert hint in (failed(report).hint or "")
    if len(arguments) > 2:
        assert failed(report).output.strip() == str(arguments[2])


def test_a_server_that_never_answers_fails_at_the_protocol(look: Callable) -> None:
    """It runs, so it is not the start that failed."""
    report = look(stdio("bad_start", "silent", connect_timeout_ms=300))
    assert layers(report) == ["program", "start", "protocol"]
    assert failed(report).detail == 'did not answer "initialize" within 300 ms'


def test_noise_in_place_of_an_answer_fails_at_stdout(tmp_path: Path, look: Callable) -> None:
    """The usual mistake: a banner, and no server behind it."""
    script = tmp_path / "banner.py"
    script.write_text("import sys\nprint('listening on port 3000', flush=True)\nsys.stdin.read()\n")
    for seconds in longer(0.2):
        settings = {"command": [sys.executable, "-S", str(script)], "connect_timeout_ms": seconds * 1000}
        report = look(spec_from_settings("local", settings, suite_env={}, environ={}))
        if failed(report).layer == "stdout":  # else it had no time to say anything
            break
    assert failed(report).layer == "stdout"
    assert "listening on port 3000" in failed(report).detail
    assert "stderr" in (failed(report).hint or "")


def test_noise_beside_the_answers_is_a_warning(look: Callable) -> None:
    """A run copes with it, other clients may not."""
    report = look(stdio("noisy", "stdout"))
    (noise,) = [check for check in report.checks if check.layer == "stdout"]
    assert noise.status is Status.WARNING
    assert "starting up..." in noise.detail


def test_a_sound_server_passes_every_layer_and_no_tool_is_called(tmp_path: Path, look: Callable) -> None:
    """The server writes down what it is asked."""
    log = tmp_path / "log"
    report = look(stdio("echo", "--log-messages", log, shutdown_grace_ms=60_000))
    assert report.ok
    assert [(check.layer, check.status) for check in report.checks] == [
        (layer, Status.OK) for layer in ("program", "start", "protocol", "catalog", "stdout", "shutdown")
    ]
    assert "tool" in report.checks[3].detail
    assert "tools/list" in log.read_text()
    assert "tools/call" not in log.read_text()


def test_a_server_that_does_not_go_is_a_warning_at_the_shutdown(tmp_path: Path, look: Callable) -> None:
    """And it is gone afterwards."""
    for seconds in longer(0.1):
        report = look(stdio("stubborn", "eof", tmp_path / "pids", shutdown_grace_ms=seconds * 1000))
        if "SIGTERM" in report.checks[-1].detail:  # else it was killed before it could go
            break
    assert report.checks[-1].layer == "shutdown"
    assert report.checks[-1].status is Status.WARNING
    assert "was ended by SIGTERM" in report.checks[-1].detail


def test_a_secret_that_a_server_repeats_is_not_told(look: Callable) -> None:
    """Neither its stderr nor its words may carry it."""
    redactor = Redactor(["hunter2-hunter2"])
    command = [sys.executable, "-S", str(SERVERS / "bad_start.py"), "exit", "3", "bad key hunter2-hunter2"]
    spec = spec_from_settings("local", {"command": command}, suite_env={}, environ={}, redactor=redactor)
    assert "hunter2" not in repr(look(spec))

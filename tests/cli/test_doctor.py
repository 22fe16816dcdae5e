"""`mcptest doctor` as it is typed: this machine and what stands here, a server, both faces, and the exit code."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.servers.diagnosis.machine import check_machine
from tests.conftest import SERVERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from mcptest_engine.servers.diagnosis.checks import Check

    Run = Callable[..., subprocess.CompletedProcess[str]]

DEMO = "mcptest mock --preset demo"
TESTS = "tools: [{ name: t, tool: x, args: {}, expect: [{ target: result.isError, matcher: { exact: false } }] }]\n"


def report(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.stderr == ""
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def checks(done: subprocess.CompletedProcess[str], layer: str) -> dict[str, dict[str, Any]]:
    """The checks of one layer, by name."""
    return {check["name"].strip(): check for check in report(done)["checks"] if check["layer"] == layer}


# --- this machine


def test_without_a_server_the_machine_is_looked_at(mcptest: Run) -> None:
    """An empty folder and an empty home are no trouble."""
    done = mcptest("doctor")
    assert done.returncode == 0
    for line in ("this machine", "suite", "stored logins", "coding agents"):
        assert f"{line}\n" in done.stdout
    assert "  - suite           none here; `mcptest init` writes one" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("nothing failed")


def test_the_json_report_is_one_stable_document(mcptest: Run) -> None:
    """{ok, checks: [{layer, name, status, detail, hint?, duration_ms?}]}."""
    found = report(mcptest("doctor", "--format", "json"))
    assert list(found) == ["mcptest_version", "ok", "target", "failed_layer", "summary", "checks"]
    assert (found["ok"], found["target"], found["failed_layer"]) == (True, None, None)
    assert list(found["summary"]) == ["ok", "warning", "failed", "skipped"]
    assert sum(found["summary"].values()) == len(found["checks"])
    for check in found["checks"]:
        assert {"layer", "name", "status", "detail"} <= set(check)
        assert set(check) <= {"layer", "name", "status", "detail", "hint", "duration_ms", "output"}


def test_what_mcptest_runs_on_is_told(mcptest: Run) -> None:
    """Python, platform, where it writes, and what servers are started with."""
    found = checks(mcptest("doctor", "--format", "json"), "environment")
    assert set(found) >= {"mcptest", "platform", "PATH", "locale", "temporary files", "workspace", "disk", "open files"}
    assert set(found) >= {"node", "npx", "uv", "uvx", "docker"}
    assert sys.executable in found["mcptest"]["detail"]


def test_another_mcptest_on_path_is_a_warning(mcptest: Run, tmp_path: Path) -> None:
    """It is that one which a shell would start."""
    other = tmp_path / "bin" / "mcptest"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    found = checks(mcptest("doctor", "--format", "json", PATH=f"{other.parent}:/usr/bin:/bin"), "environment")
    assert found["PATH"]["status"] == "warning"
    assert str(other) in found["PATH"]["detail"]
    assert checks(mcptest("doctor", "--format", "json", PATH="/nowhere"), "environment")["PATH"]["status"] == "warning"


def test_a_terminal_without_utf_8_is_a_warning_and_no_traceback(mcptest: Run) -> None:
    """Also where the marks themselves cannot be written."""
    done = mcptest("doctor", PYTHONIOENCODING="ascii", PYTHONUTF8="0", LC_ALL="C")
    assert "Traceback" not in done.stderr
    assert done.returncode == 0
    assert "may look wrong" in done.stdout


def test_a_workspace_that_is_a_link_fails(mcptest: Run, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".mcptest").symlink_to("elsewhere")
    found = checks(mcptest("doctor", "--format", "json"), "environment")["workspace"]
    assert (found["status"], ".mcptest is a link, and links are not followed" in found["detail"]) == ("failed", True)


def test_a_workspace_that_is_a_file_fails(mcptest: Run, tmp_path: Path) -> None:
    """Nothing could be kept there."""
    (tmp_path / "deep").mkdir()
    assert checks(mcptest("doctor", "--format", "json"), "environment")["workspace"]["status"] == "ok"
    data_dir = tmp_path / "deep" / ".mcptest"
    data_dir.write_text("")
    told: list[Check] = []
    check_machine(told.append, environ={}, own="mcptest", data_dir=data_dir, encoding="utf-8")
    (workspace,) = [check for check in told if check.name == "workspace"]
    assert (workspace.status, "cannot be written: Not a directory" in workspace.detail) == ("failed", True)


# --- the suite here


def suite(folder: Path, servers: str, tests: str = TESTS) -> None:
    (folder / "mcptest.yml").write_text(f"servers:\n{servers}{tests}")


def test_each_server_of_the_suite_is_looked_at_and_none_is_started(mcptest: Run, tmp_path: Path) -> None:
    """A program that is there, one that is not, a script that is not, a URL that nobody asks."""
    diary = tmp_path / "diary"
    argv = json.dumps([sys.executable, "-S", str(SERVERS / "diary.py"), str(diary)])
    suite(
        tmp_path,
        f"  fine: {{ command: {argv} }}\n"
        "  own: { command: [mcptest, mock, --preset, demo] }\n"
        "  gone: { command: [nonono-server] }\n"
        "  script: { command: [python3, missing.py] }\n"
        "  web: { url: 'http://127.0.0.1:9/mcp' }\n",
        TESTS.replace("tool: x", "server: own, tool: x"),
    )
    done = mcptest("doctor", "--format", "json")
    assert done.returncode == 1
    found = checks(done, "suite")
    assert found["fine"]["detail"] == f"{sys.executable}, not started"
    assert found["own"]["status"] == "ok"
    assert found["gone"] == {
        "layer": "suite",
        "name": "gone",
        "status": "failed",
        "detail": "the program `nonono-server` was not found on PATH",
        "hint": "install it, or name it by its path",
    }
    assert found["script"]["detail"] == "the file `missing.py` is not there"
    assert found["web"]["detail"].startswith("http://127.0.0.1:9/mcp, not asked")
    assert report(done)["failed_layer"] == "suite"
    assert not diary.exists()


def test_a_variable_that_a_server_names_and_that_is_not_set_fails(mcptest: Run, tmp_path: Path) -> None:
    """`bearer_token_env`, `client_secret_env` and `{ env: NAME }`; one that is set is not shown."""
    suite(
        tmp_path,
        "  a: { url: 'https://a.example/mcp', auth: { bearer_token_env: A_TOKEN } }\n"
        "  b: { url: 'https://b.example/mcp', headers: { X-Key: { env: B_KEY } } }\n"
        "  c: { url: 'https://c.example/mcp', auth: { bearer_token_env: C_TOKEN } }\n",
        TESTS.replace("tool: x", "server: a, tool: x"),
    )
    done = mcptest("doctor", "--format", "json", C_TOKEN="hunter2-hunter2")
    found = checks(done, "suite")
    assert found["a"]["detail"] == "env var `A_TOKEN`, which it names, is not set or is empty"
    assert found["b"]["detail"] == "env var `B_KEY`, which it names, is not set or is empty"
    assert found["c"]["status"] == "ok"
    assert "hunter2" not in done.stdout


def test_a_suite_that_does_not_load_is_told_with_its_first_problem(mcptest: Run, tmp_path: Path) -> None:
    """And how many there are."""
    suite(tmp_path, "  a: { command: [x] }\n", TESTS.replace("tool: x", "tool: x, arg: {}"))
    done = mcptest("doctor")
    assert done.returncode == 1
    assert "✗ suite" in done.stdout
    assert "mcptest.yml does not load: 1 problem, the first:3:" in done.stdout


def test_config_names_another_suite(mcptest: Run, tmp_path: Path) -> None:
    """One that is not there is a wrong command line."""
    (tmp_path / "other.yml").write_text(f"servers: {{ a: {{ command: [nonono] }} }}\n{TESTS}")
    assert "nonono" in mcptest("doctor", "--config", "other.yml").stdout
    done = mcptest("doctor", "--config", "missing.yml")
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no suite `missing.yml`" in done.stderr


# --- tokens and agents


def store_token(home: Path, url: str, **more: Any) -> None:
    import hashlib

    folder = home / ".mcptest" / "auth"
    folder.mkdir(parents=True, exist_ok=True)
    token = {"url": url, "access_token": "hunter2-hunter2", "last_refreshed": 1.0, **more}
    (folder / f"{hashlib.sha256(url.encode()).hexdigest()}.json").write_text(json.dumps(token))


def test_stored_logins_are_told_with_how_long_they_hold(mcptest: Run, tmp_path: Path) -> None:
    """An expired one is a warning with the command that renews it; the token itself is not shown."""
    home = tmp_path / "home"
    store_token(home, "https://a.example/mcp", expires_at_unix=time.time() + 7200)
    store_token(home, "https://b.example/mcp", expires_at_unix=time.time() - 5)
    (home / ".mcptest" / "auth" / "torn.json").write_text("{")
    done = mcptest("doctor")
    assert done.returncode == 0
    assert "✓ login           https://a.example/mcp: valid for 2 more hours" in done.stdout
    assert "! login           https://b.example/mcp: has expired" in done.stdout
    assert "log in again with: mcptest login https://b.example/mcp" in done.stdout
    assert "torn.json contains no token of mcptest" in done.stdout
    assert "hunter2" not in done.stdout


def test_agents_settings_are_told_without_their_secrets(mcptest: Run, tmp_path: Path) -> None:
    """Each file, each server of it, and whether mcptest is among them; nothing is started."""
    diary = tmp_path / "diary"
    servers = {
        "fine": {"command": sys.executable, "args": ["-S", str(SERVERS / "diary.py"), str(diary)]},
        "gone": {"command": "nonono", "args": ["--api-key", "hunter2-hunter2"], "env": {"KEY": "hunter3-hunter3"}},
        "asks": {"command": "true", "env": {"TOKEN": "${NOT_SET_HERE}"}},
        "mcptest": {"command": "mcptest", "args": ["mcp-server"]},
    }
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".cursor" / "mcp.json").write_text('{"mcpServers": {')
    done = mcptest("doctor", "--format", "json")
    assert done.returncode == 0
    found = checks(done, "agents")
    assert found["Claude Code"]["detail"].endswith(".mcp.json: 4 servers, mcptest among them")
    assert found["Cursor"]["status"] == "warning"
    assert found["fine"]["status"] == "ok"
    assert "the program `nonono` was not found on PATH" in found["gone"]["detail"]
    assert "`NOT_SET_HERE` has no value here" in found["asks"]["detail"]
    assert "hunter" not in done.stdout
    assert not diary.exists()


def test_text_of_settings_cannot_steer_the_terminal(mcptest: Run, tmp_path: Path) -> None:
    """What is foreign is shown, not obeyed."""
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {"\x1b[2J\nx": {"command": "a\x1b[31m"}}}))
    for form in ("text", "json"):
        assert "\x1b" not in mcptest("doctor", "--format", form).stdout


# --- a server


def test_a_server_of_the_suite_is_looked_at_by_its_name(mcptest: Run, tmp_path: Path) -> None:
    """`--server NAME`, as the suite declares it."""
    suite(tmp_path, "  demo: { command: [mcptest, mock, --preset, demo] }\n")
    done = mcptest("doctor", "--server", "demo", "--format", "json")
    found = report(done)
    assert done.returncode == 0
    assert found["target"]["server"] == "demo"
    assert [check["layer"] for check in found["checks"]] == [
        "program",
        "start",
        "protocol",
        "catalog",
        "stdout",
        "shutdown",
    ]


def test_a_failing_layer_is_named_in_text_and_json(mcptest: Run) -> None:
    """Exit code 1."""
    done = mcptest("doctor", "--url", "http://127.0.0.1:9/mcp")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "failed at TCP: connection refused at 127.0.0.1:9"
    done = mcptest("doctor", "--url", "http://127.0.0.1:9/mcp", "--format", "json")
    found = report(done)
    assert done.returncode == 1
    assert (found["ok"], found["failed_layer"], found["target"]) == (False, "tcp", {"url": "http://127.0.0.1:9/mcp"})


def test_what_a_server_writes_cannot_steer_the_terminal(mcptest: Run) -> None:
    """Its stderr is shown with its escapes made visible."""
    command = shlex.join([sys.executable, "-S", str(SERVERS / "bad_start.py"), "exit", "3", "\x1b[31mred\x07"])
    done = mcptest("doctor", "--command", command)
    assert "␛[31mred␇" in done.stdout
    assert "\x1b" not in done.stdout


def test_a_secret_among_the_command_s_words_is_not_shown(mcptest: Run) -> None:
    """Neither where the command is named nor where the server says it, in either face."""
    words = [sys.executable, "-S", str(SERVERS / "bad_start.py"), "exit", "3", "key is hunter2-hunter2"]
    command = shlex.join([*words, "--api-key", "hunter2-hunter2", "--token=hun"])
    for flags in ((), ("--format", "json")):
        done = mcptest("doctor", "--command", command, *flags)
        assert "hun" not in done.stdout + done.stderr
        assert "[REDACTED]" in done.stdout


def test_a_secret_in_the_path_of_a_suite_s_url_is_not_shown(mcptest: Run, tmp_path: Path) -> None:
    """Issue: the first line, and `url` in JSON, held what a `from_env` variable had read."""
    suite = tmp_path / "v.yml"
    suite.write_text(
        "variables: { tok: { from_env: SOMETOK } }\n"
        'servers: { web: { url: "http://127.0.0.1:1/${var.tok}/mcp" } }\ntools: [{ name: a, tool: a }]\n'
    )
    for flags in ((), ("--format", "json")):
        done = mcptest("doctor", "--config", str(suite), "--server", "web", *flags, SOMETOK="numbat-plain-opaque")
        assert "http://127.0.0.1:1/[REDACTED]/mcp" in done.stdout
        assert "numbat" not in done.stdout + done.stderr


def test_a_secret_given_as_env_is_not_shown(mcptest: Run) -> None:
    """Not even when the server repeats it."""
    command = shlex.join([sys.executable, "-S", str(SERVERS / "bad_start.py"), "exit", "3", "key is hunter2-hunter2"])
    done = mcptest("doctor", "--command", command, "--env", "API_KEY=hunter2-hunter2")
    assert "key is [REDACTED]" in done.stdout
    assert "hunter2" not in done.stdout


def test_the_timeout_holds_for_each_layer(mcptest: Run) -> None:
    """A server that says nothing is not waited for longer."""
    command = shlex.join([sys.executable, "-S", str(SERVERS / "bad_start.py"), "silent"])
    done = mcptest("doctor", "--command", command, "--timeout", "0.5")
    assert 'did not answer "initialize" within 500 ms' in done.stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--from-file", "x.json"), "there is no file `x.json`"),
        (("--from-file", "x.json#y"), "there is no file `x.json`"),
        (("--yes",), "--input and --yes require --from-file"),
        (("--bearer-token-env", "T"), "--bearer-token-env requires a server"),
        (("--env", "K=V"), "--env requires a server"),
        (("--server", "x"), "no server is named"),
        (("--url", "http://me:pw@x/mcp"), "must not contain a user name or password"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_wrong_command_line_is_refused(arguments: tuple[str, ...], told: str, mcptest: Run) -> None:
    """With exit code 2, and nothing on stdout."""
    done = mcptest("doctor", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr


def test_a_server_of_a_config_file_is_looked_at(mcptest: Run, tmp_path: Path) -> None:
    mock = {"command": "mcptest", "args": ["mock", "--preset", "demo"]}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"demo": mock, "gone": {"command": "no-such"}}}))
    for name, ok in (("demo", True), ("gone", False)):
        looked = ("doctor", "--from-file", f"mcp.json#{name}", "--format", "json")
        assert "nothing was started: `mcp.json` names" in mcptest(*looked).stderr
        done = mcptest(*looked, "--yes")
        assert (json.loads(done.stdout)["ok"], done.returncode) == (ok, 0 if ok else 1)


def test_each_server_of_a_registry_file_is_told_apart(mcptest: Run, tmp_path: Path) -> None:
    """One that starts, one whose secret is on stderr when it ends, and a remote whose variable has no value."""
    packages = [
        {"registryType": "pypi", "identifier": name, "runtimeHint": "python", "environmentVariables": variables}
        for name, variables in (("shop", []), ("leaking", [{"name": "KEY", "isSecret": True}]))
    ]
    remotes = [{"type": "streamable-http", "url": "http://{host}/"}]
    document = {"name": "me/shop", "version": "1.0", "packages": packages, "remotes": remotes}
    (tmp_path / "server.json").write_text(json.dumps(document), encoding="utf-8")
    (tmp_path / "leaking.py").write_text("import os, sys\nsys.exit(os.environ['KEY'])\n", encoding="utf-8")
    for name in ("shop.py", "minimcp.py"):
        (tmp_path / name).write_text((SERVERS / name).read_text("utf-8"), encoding="utf-8")
    looked = ("doctor", "--from-file", "server.json", "--input", "KEY=very-secret-key", "--yes")
    done = mcptest(*looked, "--format", "json", PYTHONPATH=str(tmp_path))
    checks = json.loads(done.stdout)["checks"]
    failed = [(one["server"], one["name"], one["detail"]) for one in checks if one["status"] == "failed"]
    assert failed == [
        ("shop-pypi-2", "start", 'exited with code 1 before it answered "initialize"'),
        ("shop-remote", "inputs", "it needs a value for `host`"),
    ]
    assert "very-secret-key" not in done.stdout
    text = mcptest(*looked, PYTHONPATH=str(tmp_path)).stdout
    assert "shop-remote: http://{host}/\n  ✗ inputs   it needs a value for `host`\n" in text
    assert text.endswith('shop-pypi-2: failed at start: exited with code 1 before it answered "initialize"\n')


# --- the message that leads here


@pytest.fixture(scope="module")
def guarded_url(mcptest_command: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The demo behind a bearer token."""
    import os

    with subprocess.Popen(
        [mcptest_command, "mock", "--preset", "demo", "--http", "0", "--require-bearer-env", "THE_TOKEN"],
        cwd=tmp_path_factory.mktemp("guarded"),
        env={**os.environ, "THE_TOKEN": "right-right"},
        stdin=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        yield next(word for word in process.stdout.readline().split() if word.startswith("http://"))
        process.terminate()
        process.communicate()


COMMANDS = [("tools",), ("generate", "suite"), ("propose", "status", "--args", "{}")]
NOT_SET = "env var `MY_TOKEN` (named by `bearer_token_env`) is not set or is empty in this process;"
REFUSED = "the token in env var `MY_TOKEN` (named by `bearer_token_env`) was not accepted;"


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
@pytest.mark.parametrize(
    ("environ", "what"),
    [({}, NOT_SET), ({"MY_TOKEN": ""}, NOT_SET), ({"MY_TOKEN": "wrong-wrong"}, REFUSED)],
    ids=["unset", "empty", "rejected"],
)
def test_the_command_that_a_refusal_names_is_there_and_tells_more(
    words: tuple[str, ...], environ: dict[str, str], what: str, guarded_url: str, mcptest: Run
) -> None:
    """Agent interface, "Auth failures": three lines, the last ending in the command, which fails at the same layer."""
    done = mcptest(*words, "--url", guarded_url, "--bearer-token-env", "MY_TOKEN", **environ)
    assert done.returncode == 1
    first, second, third = done.stderr.splitlines()[-3:]
    assert first == f'error: auth failed: HTTP 401 from {guarded_url}, server advertises Bearer (realm="mcptest-mock").'
    assert second == what
    command = f"mcptest doctor --url {guarded_url} --bearer-token-env MY_TOKEN"
    assert third == f"export a valid token into it. Diagnose with: {command}"
    looked = mcptest(*shlex.split(command)[1:], **environ)
    assert looked.returncode == 1
    assert "✓ TCP" in looked.stdout
    assert "✗ auth     HTTP 401, server advertises Bearer" in looked.stdout
    assert what.rstrip(";") in looked.stdout
    assert looked.stdout.splitlines()[-1].startswith("failed at auth: HTTP 401")
    assert "wrong-wrong" not in looked.stdout


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_no_token_at_all_is_told_with_the_input_to_set(words: tuple[str, ...], guarded_url: str, mcptest: Run) -> None:
    """The same three lines."""
    done = mcptest(*words, "--url", guarded_url)
    assert done.stderr.splitlines()[-3:] == [
        f'error: auth failed: HTTP 401 from {guarded_url}, server advertises Bearer (realm="mcptest-mock").',
        "no token was sent;",
        f"name the env var that holds one with `bearer_token_env`. Diagnose with: mcptest doctor --url {guarded_url}",
    ]


@pytest.fixture(scope="module")
def echo_origin() -> Iterator[str]:
    """`http_echo.py`, whose path chooses how it behaves."""
    with subprocess.Popen(
        [sys.executable, "-S", str(SERVERS / "http_echo.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        process.communicate()


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_a_403_is_told_as_a_401_is(words: tuple[str, ...], echo_origin: str, mcptest: Run) -> None:
    """Agent interface: "answers 401 or 403"."""
    url = f"{echo_origin}/forbidden"
    done = mcptest(*words, "--url", url, "--bearer-token-env", "MY_TOKEN", MY_TOKEN="wrong-wrong")
    assert done.stderr.splitlines()[-3:] == [
        f"error: auth failed: HTTP 403 from {url}, server advertises no scheme.",
        REFUSED,
        f"export a valid token into it. Diagnose with: mcptest doctor --url {url} --bearer-token-env MY_TOKEN",
    ]
    looked = mcptest("doctor", "--url", url, "--bearer-token-env", "MY_TOKEN", MY_TOKEN="wrong-wrong")
    assert looked.stdout.splitlines()[-1] == "failed at auth: HTTP 403, server advertises no scheme"


def test_the_way_to_log_in_names_the_url_unless_it_may_hold_a_secret(guarded_url: str, mcptest: Run) -> None:
    assert f"or try: mcptest login {guarded_url}\n" in mcptest("doctor", "--url", guarded_url).stdout
    told = mcptest("doctor", "--url", f"{guarded_url}?key=sesame-sesame").stdout
    assert "or try: mcptest login URL\n" in told
    assert "sesame" not in told


def test_a_good_token_passes_every_layer(guarded_url: str, mcptest: Run) -> None:
    """And is not shown."""
    done = mcptest("doctor", "--url", guarded_url, "--bearer-token-env", "MY_TOKEN", MY_TOKEN="right-right")
    assert done.returncode == 0, done.stdout
    assert "the token in env var `MY_TOKEN` was sent, and not refused" in done.stdout
    assert "12 tools, 3 resources" in done.stdout
    assert "right-right" not in done.stdout


# --- descriptions


TERSE = """\
mock_server:
  tools:
    - { name: "\\e[31mget_record", description: record, input_schema: { type: object, properties: { id: {} } } }
"""


def test_descriptions_below_the_gate_end_with_the_code_of_a_gate(mcptest: Run, tmp_path: Path) -> None:
    """Scores, findings and gate as text and as JSON; no tool is called."""
    (tmp_path / "terse.yaml").write_text(TERSE)
    told = mcptest("doctor", "--command", "mcptest mock --tools-from terse.yaml", "--lint-descriptions")
    assert told.returncode == 6
    assert "DESC-001 one-word-description: its description is one word" in told.stdout
    assert told.stdout.splitlines()[-1].startswith("the descriptions are below the gate: min_score 0.11 < 0.50")
    assert "\x1b" not in told.stdout
    done = mcptest(
        "doctor", "--command", "mcptest mock --tools-from terse.yaml", "--lint-descriptions", "--format", "json"
    )
    assert done.returncode == 6
    found = report(done)
    assert found["ok"] is True
    assert found["descriptions"]["passed"] is False
    assert {one["rule"] for one in found["descriptions"]["findings"]} >= {"DESC-001", "DESC-003", "DESC-004"}


def test_descriptions_need_a_server(mcptest: Run) -> None:
    done = mcptest("doctor", "--lint-descriptions")
    assert done.returncode == 2
    assert "no server is named" in done.stderr


def test_a_server_that_cannot_be_asked_is_a_failure_and_no_gate(mcptest: Run) -> None:
    done = mcptest("doctor", "--lint-descriptions", "--command", "false")
    assert done.returncode == 1
    assert "descriptions" not in done.stdout

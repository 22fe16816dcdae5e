"""Who may have what started."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from mcptest_engine.core.redaction import Redactor
from mcptest_engine.front_door.door import Door as EngineDoor
from mcptest_engine.front_door.server import Client
from mcptest_engine.workspace.workspace import find_workspace
from tests.conftest import SERVERS
from tests.front_door.conftest import DEMO, SUITE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.front_door.conftest import Door

GATED = {"run_tool_test", "propose_assertions", "trigger_run"}
DECLARED = "servers: { demo: { command: [mcptest, mock, --preset, demo] } }\ntools: [{ name: ok, tool: status }]\n"


def names(door: Door) -> set[str]:
    return {tool["name"] for tool in door.ask("tools/list")["tools"]}


def test_writers_are_listed_only_with_writes_enabled(open_door: Callable[..., Door]) -> None:
    assert not names(open_door()) & GATED
    assert names(open_door("--enable-writes")) >= GATED


def test_initialize_and_the_list_of_tools_say_whether_writes_are_enabled(open_door: Callable[..., Door]) -> None:
    for flags, enabled in (((), False), (("--enable-writes",), True)):
        door = open_door(*flags)
        assert door.opening["capabilities"]["experimental"] == {"mcptest": {"writesEnabled": enabled}}
        assert door.ask("tools/list")["_meta"] == {"mcptest/writesEnabled": enabled}


def test_a_writer_is_refused_read_only_although_its_name_is_known(reader: Door) -> None:
    for verb, arguments in (("run_tool_test", {"suite": SUITE}), ("trigger_run", {})):
        assert "--enable-writes" in reader.refused(verb, **arguments)


def test_an_undeclared_command_is_refused_with_both_ways_to_unlock_it(
    open_door: Callable[..., Door], tmp_path: Path
) -> None:
    diary = tmp_path / "diary"
    words = open_door().refused("list_tools", command=["python3", str(SERVERS / "diary.py"), str(diary)])
    assert "--enable-writes" in words
    assert "mcptest.yml" in words
    assert not diary.exists()


@pytest.mark.parametrize("file", ["mcptest.yml", "mcptest.yaml"])
def test_a_declared_argv_runs_read_only(open_door: Callable[..., Door], tmp_path: Path, file: str) -> None:
    (tmp_path / file).write_text(DECLARED)
    assert {tool["name"] for tool in open_door().call("list_tools", command=DEMO)["tools"]} >= {"status"}


OTHERS = (
    [*DEMO, "--fault", "hang"],
    DEMO[:3],
    ["mcptest", "mock", "--preset", "evil"],
    ["env", *DEMO],
    [*DEMO, ""],
    ["mcptest", "--preset", "demo", "mock"],
    ["./mcptest", *DEMO[1:]],
    ["MCPTEST", *DEMO[1:]],
    ["mcptest mock --preset demo"],
    ["sh", "-c", "mcptest mock --preset demo"],
    ["sh", "-c", *DEMO],
    ["mcptest", "mock", "--preset", "${var.preset}"],
    ["mcptest", "mock", "--preset", "${preset}"],
    ["mcptest", "mock", "--preset", "$PRESET"],
    ["mcptest", "mock", "--preset", "demo\n"],
    ["mcptest", "mock", "--preset", "\u202edemo"],
)


def test_other_words_than_the_declared_ones_are_refused(open_door: Callable[..., Door], tmp_path: Path) -> None:
    """Templates are the file's: what a caller writes is compared with what they stand for, and expands to nothing."""
    text = DECLARED.replace("demo]", '"${preset}"]') + "variables: { preset: demo }\n"
    (tmp_path / "mcptest.yml").write_text(text)
    door = open_door(PRESET="demo")
    for argv in OTHERS:
        words = door.refused("get_capabilities", command=argv)
        assert "is not run" in words
        assert "\u202e" not in words
    assert door.call("get_capabilities", command=DEMO)["serverInfo"]


def test_leave_to_run_is_what_the_file_says_now(open_door: Callable[..., Door], tmp_path: Path) -> None:
    declared = tmp_path / "mcptest.yml"
    declared.write_text(DECLARED)
    door = open_door()
    assert door.call("list_tools", command=DEMO)["tools"]
    declared.write_text(DECLARED.replace("demo]", "evil]"))
    assert "is not run" in door.refused("list_tools", command=DEMO)


def test_a_declaration_that_lies_elsewhere_gives_no_leave(open_door: Callable[..., Door], tmp_path: Path) -> None:
    (tmp_path / "inner" / ".mcptest").mkdir(parents=True)
    (tmp_path / "elsewhere.yml").write_text(DECLARED)
    (tmp_path / "inner" / "mcptest.yml").symlink_to(tmp_path / "elsewhere.yml")
    words = open_door(cwd=tmp_path / "inner").refused("list_tools", command=DEMO)
    assert "leads out of this workspace" in words


def test_of_two_servers_with_one_argv_the_environment_says_which(
    open_door: Callable[..., Door], tmp_path: Path
) -> None:
    server = f"command: [{sys.executable}, {SERVERS / 'recorder.py'}, diary]"
    (tmp_path / "mcptest.yml").write_text(
        f"servers:\n  one: {{ {server}, env: {{ WHO: one }} }}\n  two: {{ {server}, env: {{ WHO: two, API_KEY: k }} }}\n"
        "tools: [{ name: ok, server: one, tool: t }]\n"
    )
    door = open_door()
    command = [sys.executable, str(SERVERS / "recorder.py"), "diary"]
    made = door.call("scaffold_suite", command=command, env={"WHO": "two", "API_KEY": "k"})["suite"]
    assert "WHO: two" in made
    assert 'API_KEY: "${var.API_KEY}"' in made
    assert "WHO: one" in door.call("scaffold_suite", command=command)["suite"]
    for env in ({"WHO": "three"}, {"WHO": "one", "LD_PRELOAD": "./evil.so"}, {"LD_PRELOAD": "./evil.so"}):
        assert "`env` differs" in door.refused("scaffold_suite", command=command, env=env)


def test_a_declared_command_takes_no_environment_of_the_callers(open_door: Callable[..., Door], tmp_path: Path) -> None:
    (tmp_path / "mcptest.yml").write_text(DECLARED)
    door = open_door()
    assert "env" in door.refused("list_tools", command=DEMO, env={"PYTHONPATH": "/somewhere"})
    assert door.call("list_tools", command=DEMO, env={})["tools"]


def test_a_suite_that_does_not_load_declares_nothing(open_door: Callable[..., Door], tmp_path: Path) -> None:
    (tmp_path / "mcptest.yml").write_text(DECLARED + "serverz: 1\n")
    assert "does not load" in open_door().refused("list_tools", command=DEMO)


@pytest.mark.parametrize(
    "variable",
    [
        "ANTHROPIC_API_KEY",
        "openai_api_key",
        "HEROKU_API_KEY",
        "PGPASSWORD",
        "ACTIONS_RUNTIME_TOKEN",
        "PATH",
        "MY_MCP_TOKEN",
    ],
)
def test_a_variable_that_nothing_declares_is_sent_to_no_server(open_door: Callable[..., Door], variable: str) -> None:
    words = open_door(**{variable: "secret-of-something-else"}).refused(
        "list_tools", url="http://127.0.0.1:9/mcp", bearer_token_env=variable
    )
    assert f"the environment variable `{variable}` is not sent to http://127.0.0.1:9/mcp" in words
    assert f"mcptest mcp-server --allow-env {variable}" in words
    assert "secret-of-something-else" not in words


@pytest.mark.parametrize("variable", ["MCP_TOKEN", "MCPTEST_STAGING", "HUB_KEY"])
def test_a_variable_that_is_named_for_it_or_was_allowed_is_sent(open_door: Callable[..., Door], variable: str) -> None:
    words = open_door("--allow-env", "OTHER", "--allow-env", "HUB_KEY", **{variable: "value-of-the-token"}).refused(
        "list_tools", url="http://127.0.0.1:9/mcp", bearer_token_env=variable
    )
    assert "is not sent" not in words
    assert "did not start" in words or "cannot be reached" in words or "refused" in words


def test_a_variable_that_a_server_here_declares_goes_to_its_origin_alone(
    open_door: Callable[..., Door], tmp_path: Path
) -> None:
    server = "{ url: http://127.0.0.1:9/mcp, auth: { bearer_token_env: GITHUB_TOKEN } }"
    (tmp_path / "mcptest.yml").write_text(f"servers: {{ hub: {server} }}\ntools: [{{ name: ok, tool: t }}]\n")
    door = open_door(GITHUB_TOKEN="ghp_test")
    words = door.refused("list_tools", url="http://127.0.0.1:9/other", bearer_token_env="GITHUB_TOKEN")
    assert "did not start" in words or "cannot be reached" in words or "refused" in words
    assert "is not sent" not in words
    for url in ("http://127.0.0.1:10/mcp", "http://localhost:9/mcp", "https://127.0.0.1:9/mcp"):
        assert "is not sent" in door.refused("list_tools", url=url, bearer_token_env="GITHUB_TOKEN")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "neither `url` nor `command`"),
        ({"url": "file:///etc/passwd", "command": ["x"]}, "not an http or https URL"),
        ({"command": DEMO, "bearer_token_env": "T"}, "requires `url`"),
        ({"url": "file:///etc/passwd"}, "not an http or https URL"),
        ({"url": "http://me:pw@127.0.0.1:9/mcp"}, "user name or password"),
        ({"url": "http://127.0.0.1:9/mcp", "env": {"A": "b"}}, "requires `command`"),
        ({"command": []}, "command"),
        ({"comand": ["x"]}, "did you mean `command`?"),
        ({"command": "node server.js"}, "its arguments, as a list"),
    ],
)
def test_a_target_that_is_none_is_refused_in_words(writer: Door, arguments: dict[str, object], told: str) -> None:
    assert told in writer.refused("list_tools", **arguments)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (".mcp.json", '{"mcpServers": {"s": {"url": "URL", "headers": {"Authorization": "Bearer ${HUB_KEY}"}}}}'),
        (".cursor/mcp.json", '{"mcpServers": {"s": {"url": "URL", "headers": {"X-Key": "${env:HUB_KEY}"}}}}'),
        (".vscode/mcp.json", '{"servers": {"s": {"url": "URL", "headers": {"X-Key": "${env:HUB_KEY}"}}}}'),
        (".codex/config.toml", '[mcp_servers.s]\nurl = "URL"\nbearer_token_env_var = "HUB_KEY"\n'),
    ],
)
def test_a_variable_that_an_agents_settings_here_declare_goes_to_its_origin_alone(
    open_door: Callable[..., Door], tmp_path: Path, file: str, text: str
) -> None:
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text(text.replace("URL", "http://127.0.0.1:9/mcp?key=${OTHER}"))
    door = open_door(HUB_KEY="value-of-the-key", OTHER="another-value")
    assert "is not sent" not in door.refused("list_tools", url="http://127.0.0.1:9/x", bearer_token_env="HUB_KEY")
    assert "is not sent" in door.refused("list_tools", url="http://127.0.0.1:10/x", bearer_token_env="HUB_KEY")
    assert "is not sent" in door.refused("list_tools", url="http://127.0.0.1:9/x", bearer_token_env="OTHER")


def test_settings_that_are_a_link_out_of_the_workspace_declare_nothing(
    open_door: Callable[..., Door], tmp_path: Path
) -> None:
    inner = tmp_path / "inner"
    (inner / ".mcptest").mkdir(parents=True)
    text = '{"mcpServers": {"s": {"url": "http://127.0.0.1:9/", "headers": {"X": "${HUB_KEY}"}}}}'
    (tmp_path / "theirs.json").write_text(text)
    (inner / ".mcp.json").symlink_to(tmp_path / "theirs.json")
    door = open_door(cwd=inner, HUB_KEY="value-of-the-key")
    assert "is not sent" in door.refused("list_tools", url="http://127.0.0.1:9/x", bearer_token_env="HUB_KEY")


def test_an_env_file_that_is_a_link_out_of_the_workspace_is_not_read(
    open_door: Callable[..., Door], tmp_path: Path
) -> None:
    inner = tmp_path / "inner"
    (inner / ".mcptest").mkdir(parents=True)
    (tmp_path / "theirs").write_text("ZZ=value-of-another\nno setting at all\n")
    (inner / ".env").symlink_to(tmp_path / "theirs")
    suite = '{"servers": {"a": {"command": ["x"]}}, "tools": [{"name": "t", "tool": "x", "args": {"a": "${env.ZZ}"}}]}'
    told = json.dumps(open_door(cwd=inner).call("validate_suite", suite=suite))
    assert "link to a place outside of this workspace" in told
    assert "expected NAME=value" not in told
    assert 'environment variable \\"ZZ\\" is not set' in told


def test_settings_of_an_agent_outside_of_the_workspace_declare_nothing(
    open_door: Callable[..., Door], tmp_path: Path
) -> None:
    inner = tmp_path / "inner"
    (inner / ".mcptest").mkdir(parents=True)
    text = '{"mcpServers": {"s": {"url": "http://127.0.0.1:9/", "headers": {"X": "${HUB_KEY}"}}}}'
    (tmp_path / ".mcp.json").write_text(text)
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".cursor" / "mcp.json").write_text(text)
    door = open_door(cwd=inner, HUB_KEY="value-of-the-key", HOME=str(tmp_path))
    assert "is not sent" in door.refused("list_tools", url="http://127.0.0.1:9/x", bearer_token_env="HUB_KEY")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_token_follows_no_redirect_to_another_origin(open_door: Callable[..., Door], status: int) -> None:
    heard: list[str] = []

    class Elsewhere(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            heard.append(str(self.headers))
            self.send_error(404)

        do_GET = do_POST  # noqa: N815 - the library's names

        def log_message(self, *_: object) -> None:
            """Nothing."""

    elsewhere = ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere)
    sent: list[str] = []

    class Here(Elsewhere):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            sent.append(str(self.headers))
            self.send_response(status)
            self.send_header("Location", f"http://127.0.0.1:{elsewhere.server_address[1]}/mcp")
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_POST  # noqa: N815

    here = ThreadingHTTPServer(("127.0.0.1", 0), Here)
    for server in (elsewhere, here):
        Thread(target=server.serve_forever, daemon=True).start()
    try:
        door = open_door(MCP_TK="value-of-the-token")
        told = door.refused(
            "list_tools", url=f"http://127.0.0.1:{here.server_address[1]}/mcp", bearer_token_env="MCP_TK"
        )
    finally:
        for server in (elsewhere, here):
            server.shutdown()
            server.server_close()
    assert any("value-of-the-token" in headers for headers in sent)
    assert not any("value-of-the-token" in headers for headers in heard)
    assert "value-of-the-token" not in told


def test_a_scaffold_of_a_server_with_secrets_validates_as_it_is(open_door: Callable[..., Door]) -> None:
    door = open_door("--enable-writes")
    env = {"API_KEY": "caller-secret-7", "MODE": "${literal}"}
    for verb in ("scaffold_suite", "scaffold_conformance"):
        made = door.call(verb, command=DEMO, env=env)
        assert "caller-secret-7" not in made["suite"]
        assert any("`API_KEY` is not written:" in note for note in made["notes"])
        assert door.call("validate_suite", suite=made["suite"])["errors"] == []


def test_a_scaffold_keeps_the_names_of_the_variables_that_the_declaration_reads(
    open_door: Callable[..., Door], tmp_path: Path
) -> None:
    env = '{ API_TOKEN: "${MYSECRET_TOKEN}", DB: "${var.db}", SIGNING_KEY: "literal-key-5", WHERE: "${PLACE}/x", MODE: fast }'
    (tmp_path / "mcptest.yml").write_text(
        f"variables: {{ db: {{ from_env: DATABASE_URL }} }}\nservers: {{ demo: {{ command: {DEMO}, env: {env} }} }}\n"
        "tools: [{ name: ok, tool: status }]\n"
    )
    environ = {"MYSECRET_TOKEN": "mine-secret-1", "DATABASE_URL": "postgres://a:b3cret@db/x", "PLACE": "some-place"}
    door = open_door(**environ)
    made = door.call("scaffold_suite", command=DEMO)["suite"]
    assert 'API_TOKEN: "${MYSECRET_TOKEN}"' in made
    assert 'WHERE: "${PLACE}/x"' in made
    assert "MODE: fast" in made
    for value in (*environ.values(), "literal-key-5"):
        assert value not in made
    assert door.call("validate_suite", suite=made)["errors"] == []


def suite_with(token: str) -> str:
    return f"servers: {{ s: {{ command: [x], env: {{ API_TOKEN: {json.dumps(token)} }} }} }}\ntools: [{{ name: n, tool: t }}]\n"


def test_a_secret_of_one_request_is_none_of_the_next(open_door: Callable[..., Door]) -> None:
    """It may be any word of another server; what the server itself is given is taken out."""
    words = "The weather of a city"
    door = open_door("--enable-writes")
    first, second = (
        door.begin("tools/call", {"name": name, "arguments": arguments})
        for name, arguments in (("validate_suite", {"suite": suite_with(words)}), ("list_tools", {"command": DEMO}))
    )
    assert "result" in door.answer_to(first)
    assert words in json.dumps(door.answer_to(second))
    assert words in json.dumps(door.call("list_tools", command=DEMO))
    assert words not in json.dumps(door.call("list_tools", command=DEMO, env={"API_TOKEN": words}))
    assert words in json.dumps(door.call("list_tools", command=DEMO))


def test_no_secret_of_a_request_is_left_after_it(tmp_path: Path) -> None:
    """However many come: what was learned would be looked for in every answer."""
    door = EngineDoor(workspace=find_workspace(tmp_path), environ={})
    client = Client(door, lambda _body: None)

    async def ask(count: int) -> int:
        for number in range(count):
            suite = suite_with(f"token-{number:05}-of-this-request")
            params = {"name": "validate_suite", "arguments": {"suite": suite}}
            body = await client.answer({"id": number, "method": "tools/call", "params": params})
            assert not json.loads(body or b"")["result"]["isError"]
        gc.collect()
        return sum(isinstance(one, Redactor) for one in gc.get_objects())

    few = asyncio.run(ask(3))
    assert asyncio.run(ask(300)) == few
    assert door.known_secrets.redact_registered("token-00001-of-this-request") == "token-00001-of-this-request"


def test_a_program_that_serves_http_needs_the_leave_of_a_command(open_door: Callable[..., Door]) -> None:
    """A URL beside a command makes no command allowed."""
    target = {"command": [*DEMO, "--http", "{port}"], "url": "http://127.0.0.1:0/mcp"}
    assert "--enable-writes" in open_door().refused("list_tools", **target)
    tools = open_door("--enable-writes").call("list_tools", **target)["tools"]
    assert {tool["name"] for tool in tools} >= {"status"}

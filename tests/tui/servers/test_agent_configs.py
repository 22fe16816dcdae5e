"""The servers in the settings of coding agents: every place, every spelling, and no secret."""

from __future__ import annotations

import json

import pytest

from mcptest_engine.engine_process.found import found_servers, found_settings
from mcptest_engine.engine_process.protocol import Refused
from mcptest_engine.servers.agent_configs import find_agent_servers


@pytest.fixture
def machine(tmp_path):
    """`put(path, text)` below a home with a project in it, and `find()`."""
    home = tmp_path / "home"
    project = home / "code" / "app"
    project.mkdir(parents=True)
    (project / ".git").mkdir()

    class Machine:
        environ = {"HOME": str(home), "TOKEN": "s3cret-from-here"}  # noqa: RUF012
        folder = project

        def put(self, path, value, *, here=False):
            place = (project if here else home) / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(value if isinstance(value, str) else json.dumps(value))

        def find(self, platform="linux", start=project):
            return find_agent_servers(start, self.environ, platform=platform)

    return Machine()


STDIO = {"command": "npx", "args": ["-y", "server"]}
PROJECT = [
    (".mcp.json", "mcpServers", "Claude Code"),
    (".claude/mcp.json", "mcpServers", "Claude Code"),
    (".cursor/mcp.json", "mcpServers", "Cursor"),
    (".vscode/mcp.json", "servers", "VS Code"),
    (".gemini/settings.json", "mcpServers", "Gemini CLI"),
    ("opencode.json", "mcp", "opencode"),
    (".zed/settings.json", "context_servers", "Zed"),
]
USER = [
    (".claude.json", "mcpServers", "Claude Code", "linux"),
    (".cursor/mcp.json", "mcpServers", "Cursor", "linux"),
    (".config/Code/User/mcp.json", "servers", "VS Code", "linux"),
    ("Library/Application Support/Code/User/mcp.json", "servers", "VS Code", "darwin"),
    (".config/Claude/claude_desktop_config.json", "mcpServers", "Claude Desktop", "linux"),
    ("Library/Application Support/Claude/claude_desktop_config.json", "mcpServers", "Claude Desktop", "darwin"),
    (".codeium/windsurf/mcp_config.json", "mcpServers", "Windsurf", "linux"),
    (".config/zed/settings.json", "context_servers", "Zed", "linux"),
    (".gemini/settings.json", "mcpServers", "Gemini CLI", "linux"),
    (".config/opencode/opencode.json", "mcp", "opencode", "linux"),
]


@pytest.mark.parametrize(("path", "member", "client"), PROJECT)
def test_settings_of_a_project(machine, path, member, client):
    """Found from a folder inside it too, and run in the project's."""
    machine.put(path, {member: {"db": STDIO}}, here=True)
    inside = machine.folder / "src"
    inside.mkdir()
    (found,) = machine.find(start=inside).servers
    assert (found.name, found.client, found.shown) == ("db", client, "npx -y server")
    assert found.source_path == str(machine.folder / path)
    assert found.target["cwd"] == str(machine.folder)


@pytest.mark.parametrize(("path", "member", "client", "platform"), USER)
def test_settings_of_a_user(machine, path, member, client, platform):
    """Wherever the agent keeps them on this system."""
    machine.put(path, {member: {"db": STDIO}})
    (found,) = machine.find(platform).servers
    assert (found.client, found.target["command"]) == (client, ["npx", "-y", "server"])


def test_codex_keeps_them_in_toml(machine):
    """With its own names for headers and tokens."""
    machine.put(
        ".codex/config.toml",
        '[mcp_servers.db]\ncommand = "db"\nargs = ["--fast"]\nenv = { A = "1" }\n'
        '[mcp_servers.web]\nurl = "https://x.test/mcp"\nbearer_token_env_var = "TOKEN"\n'
        'env_http_headers = { X-Key = "NOT_SET" }\n',
    )
    db, web = machine.find().servers
    assert (db.target["command"], db.env_names) == (["db", "--fast"], ("A",))
    assert web.target["headers"] == {"Authorization": "Bearer s3cret-from-here"}
    assert (web.variables, web.missing) == (("TOKEN",), ("NOT_SET",))


def test_claude_code_has_servers_for_a_folder_too(machine):
    """Only those of the folder that one is in."""
    projects = {str(machine.folder): {"mcpServers": {"near": STDIO}}, "/elsewhere": {"mcpServers": {"far": STDIO}}}
    machine.put(".claude.json", {"mcpServers": {"all": STDIO}, "projects": projects})
    assert [server.name for server in machine.find().servers] == ["all", "near"]


def test_every_spelling_of_a_url(machine):
    """url, serverUrl, httpUrl; with headers."""
    machine.put(
        ".cursor/mcp.json",
        {
            "mcpServers": {
                "a": {"url": "https://a.test/mcp", "headers": {"X": "1"}},
                "b": {"serverUrl": "https://b.test"},
                "c": {"httpUrl": "https://c.test", "disabled": True},
            }
        },
    )
    found = machine.find().servers
    assert [server.target["url"] for server in found] == ["https://a.test/mcp", "https://b.test", "https://c.test"]
    assert [server.enabled for server in found] == [True, True, False]
    assert found[0].header_names == ("X",)


def test_zeds_nested_command_and_opencodes_list(machine):
    """Two more ways to write a command."""
    machine.put(
        ".config/zed/settings.json",
        {"context_servers": {"z": {"command": {"path": "z", "args": ["1"], "env": {"E": 2}}}}},
    )
    machine.put(
        "opencode.json", {"mcp": {"o": {"type": "local", "command": ["o", "2"], "environment": {"F": "x"}}}}, here=True
    )
    o, z = machine.find().servers
    assert (z.target["command"], z.target["env"]) == (["z", "1"], {"E": "2"})
    assert (o.target["command"], o.env_names) == (["o", "2"], ("F",))


def test_variables_are_put_in_for_starting_and_shown_as_they_are_written(machine):
    """A value from the environment is never on the screen."""
    machine.put(
        ".mcp.json",
        {
            "mcpServers": {
                "a": {
                    "command": "${workspaceFolder}/run",
                    "args": ["--key=${TOKEN}", "${env:NOPE}", "${X:-ok}", "${input:id}"],
                }
            }
        },
        here=True,
    )
    (found,) = machine.find().servers
    assert found.target["command"] == [
        f"{machine.folder}/run",
        "--key=s3cret-from-here",
        "${env:NOPE}",
        "ok",
        "${input:id}",
    ]
    assert found.missing == ("NOPE", "id")
    assert found.variables == ("TOKEN",)
    assert "s3cret" not in found.shown
    assert "s3cret" not in repr(found)


SECRET = "hunter2hunter2hunter2"


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "x", "args": ["--api-key", SECRET]},
        {"command": "x", "args": [f"--token={SECRET}"]},
        {"command": "x", "args": ["run", "--key", SECRET, "--pass", SECRET, "--pat", SECRET]},
        {"command": "x", "args": [f"--key={SECRET}", f"--pass={SECRET}", f"-pat={SECRET}"]},
        {"command": "x", "args": ["--db", f"postgres://me:{SECRET}@db/x"]},
        {"command": "x", "args": ["--other", SECRET], "env": {"WHATEVER": SECRET}},
        {"url": f"https://me:{SECRET}@x.test/mcp"},
        {"url": "https://x.test", "headers": {"Authorization": f"Bearer {SECRET}"}},
    ],
    ids=str,
)
def test_no_secret_leaves_the_worker(machine, entry):
    """Neither in what is shown, nor in any member of what the workbench is told."""
    machine.put(".mcp.json", {"mcpServers": {"a": entry}}, here=True)
    told = found_servers(machine.folder, machine.environ)
    assert len(told["servers"]) == 1
    assert SECRET not in json.dumps(told)
    assert SECRET not in repr(machine.find())


def test_a_found_server_is_started_by_its_key(machine):
    """Its settings are read again where it is started, secrets included."""
    machine.put(".mcp.json", {"mcpServers": {"a": {"command": "x", "env": {"KEY": SECRET}}}}, here=True)
    (told,) = found_servers(machine.folder, machine.environ)["servers"]
    assert found_settings(told["key"], machine.folder, machine.environ)["env"] == {"KEY": SECRET}
    assert found_settings(told["key"], machine.folder, machine.environ, agreed=told["digest"])["command"] == ["x"]
    with pytest.raises(Refused, match="have changed since"):
        found_settings(told["key"], machine.folder, machine.environ, agreed="y")
    with pytest.raises(Refused, match="is no longer in the settings"):
        found_settings("other", machine.folder, machine.environ)


@pytest.mark.parametrize(
    "changed",
    [
        {"args": ["s.js", "--token", "other"]},
        {"env": {"PORT": "2"}},
        {"env": {"PORT": "1", "NODE_OPTIONS": "--require /tmp/x.js"}},
        {"cwd": "/elsewhere"},
        {"url": "https://x.test", "headers": {"Authorization": "Bearer x"}},
    ],
    ids=str,
)
def test_a_yes_is_for_the_settings_as_they_were_also_for_what_is_not_shown(machine, changed):
    """Words that are masked, values of `env`, the folder."""
    entry = {"command": "node", "args": ["s.js", "--token", "one"], "env": {"PORT": "1"}}
    machine.put(".mcp.json", {"mcpServers": {"a": entry}}, here=True)
    (told,) = found_servers(machine.folder, machine.environ)["servers"]
    assert found_settings(told["key"], machine.folder, machine.environ, agreed=told["digest"])["env"] == {"PORT": "1"}
    machine.put(".mcp.json", {"mcpServers": {"a": {**entry, **changed}}}, here=True)
    with pytest.raises(Refused, match="have changed since"):
        found_settings(told["key"], machine.folder, machine.environ, agreed=told["digest"])


def test_a_yes_is_for_the_headers_as_they_were(machine):
    """Their values too."""
    machine.put(".mcp.json", {"mcpServers": {"a": {"url": "https://x.test", "headers": {"X": "1"}}}}, here=True)
    (before,) = machine.find().servers
    machine.put(".mcp.json", {"mcpServers": {"a": {"url": "https://x.test", "headers": {"X": "2"}}}}, here=True)
    (after,) = machine.find().servers
    assert (before.shown, before.digest == after.digest) == (after.shown, False)


def test_a_folder_in_the_home_of_nobody_is_a_problem_of_its_entry(machine):
    """The other entries are given."""
    entries = {"a": {"command": "x", "cwd": "~nosuchuser-here/y"}, "b": {"command": "y"}}
    machine.put(".mcp.json", {"mcpServers": entries}, here=True)
    found = machine.find()
    assert [server.name for server in found.servers] == ["b"]
    assert [told.message for told in found.problems] == [
        "`a`: `cwd` names the home of a user who does not exist on this machine"
    ]


def test_what_is_missing_is_said_before_it_is_started(machine):
    """A `${…}` never reaches a server as it stands."""
    machine.put(".mcp.json", {"mcpServers": {"a": {"command": "x", "args": ["${NOPE}"]}}}, here=True)
    (told,) = found_servers(machine.folder, machine.environ)["servers"]
    with pytest.raises(Refused, match="its settings need `NOPE`"):
        found_settings(told["key"], machine.folder, machine.environ)


def test_comments_and_trailing_commas_are_taken(machine):
    """As editors write their settings."""
    machine.put(".vscode/mcp.json", '{ // mine\n "servers": {"a": {"command": "x",},}, /* end */ }', here=True)
    assert [server.name for server in machine.find().servers] == ["a"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"mcpServers": {"a": {"command": "x"}', "line 1, column 16: this `{` is never closed"),
        ("[]", "expected an object"),
        ('{"mcpServers": []}', "`mcpServers` is not an object"),
        ('{"mcpServers": {"a": {}}}', "`a`: names neither a command nor a URL"),
        ('{"mcpServers": {"a": {"command": "x", "args": "y"}}}', "`a`: `args` is not a list"),
        ('{"mcpServers": {"a": 3}}', "`a`: expected an object"),
        ("[" * 100_000, "line 1, column 202: nested too deeply"),
    ],
    ids=str,
)
def test_a_broken_file_is_told_and_the_others_are_read(machine, text, told):
    """Where it is broken, and nothing else."""
    machine.put(".mcp.json", text, here=True)
    machine.put(".cursor/mcp.json", {"mcpServers": {"fine": STDIO}}, here=True)
    found = machine.find()
    assert [server.name for server in found.servers] == ["fine"]
    assert [(problem.client, problem.message) for problem in found.problems] == [("Claude Code", told)]


def test_binary_and_unreadable_settings_are_told(machine):
    """Not UTF-8; and no rights, where that means something."""
    (machine.folder / ".mcp.json").write_bytes(b"\xff\xfe{}")
    assert [problem.message for problem in machine.find().problems] == ["not UTF-8"]


def test_an_empty_machine_has_none(machine):
    """And no problem."""
    assert machine.find() == ((), (), ())

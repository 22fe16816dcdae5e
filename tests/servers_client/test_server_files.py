"""The servers that a file names: settings of any agent, a `server.json`, an MCP bundle; nothing is started."""

from __future__ import annotations

import json
import stat
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.cli.choosing import chosen_in_file, local_remarks
from mcptest_engine.cli.doctor import _NO_EXTRAS
from mcptest_engine.core.errors import UsageError
from mcptest_engine.servers.server_files import compare_identity, opened_server_file

if TYPE_CHECKING:
    from mcptest_engine.servers.agent_configs import FoundServer
    from mcptest_engine.servers.server_files import ServerFile

HOME = {"HOME": "/home/me"}


def read(path: Path, content: Any, **inputs: str) -> ServerFile:
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    with opened_server_file(path, HOME, inputs) as found:
        return found


def targets(found: ServerFile) -> dict[str, Any]:
    return {server.name: server.target.get("command") or server.target["url"] for server in found.servers}


STDIO = {"command": "npx", "args": ["-y", "a"]}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("claude_desktop_config.json", {"mcpServers": {"a": STDIO, "b": {"url": "http://h/mcp"}}}),
        (
            "mcp.json",
            '{ // VS Code\n "servers": {"a": {"command": "npx", "args": ["-y", "a",]}, "b": {"url": "http://h/mcp"}}}',
        ),
        ("settings.json", {"mcp": {"servers": {"a": STDIO, "b": {"url": "http://h/mcp"}}}}),
        ("mcp_config.json", {"mcpServers": {"a": STDIO, "b": {"serverUrl": "http://h/mcp"}}}),
        (
            "zed.json",
            {"context_servers": {"a": {"command": {"path": "npx", "args": ["-y", "a"]}}, "b": {"url": "http://h/mcp"}}},
        ),
        ("opencode.json", {"mcp": {"a": {"command": ["npx", "-y", "a"]}, "b": {"url": "http://h/mcp"}}}),
        ("x.toml", '[mcp_servers.a]\ncommand = "npx"\nargs = ["-y", "a"]\n[mcp_servers.b]\nurl = "http://h/mcp"\n'),
    ],
)
def test_settings_of_any_agent_at_any_path(tmp_path: Path, name: str, content: Any) -> None:
    assert targets(read(tmp_path / name, content)) == {"a": ["npx", "-y", "a"], "b": "http://h/mcp"}


def test_an_entry_that_names_no_server_is_told_and_the_others_are_given(tmp_path: Path) -> None:
    found = read(tmp_path / "x.json", {"mcpServers": {"a": STDIO, "b": {}}})
    assert (list(targets(found)), found.problems) == (["a"], ("`b`: names neither a command nor a URL",))


def test_what_an_editor_would_ask_for_is_asked_for(tmp_path: Path) -> None:
    content = {"servers": {"a": {"command": "x", "env": {"K": "${input:key}"}}}}
    assert read(tmp_path / "x.json", content).servers[0].missing == ("key",)
    assert read(tmp_path / "x.json", content, key="v").servers[0].target["env"] == {"K": "v"}


PACKAGES: list[dict[str, Any]] = [
    {"registryType": "npm", "identifier": "@me/s", "version": "1.2.0", "transport": {"type": "stdio"}},
    {
        "registryType": "pypi",
        "identifier": "s",
        "version": "1.2.0",
        "runtimeArguments": [{"type": "named", "name": "--quiet"}],
    },
    {
        "registryType": "oci",
        "identifier": "docker.io/me/s",
        "version": "1.2.0",
        "environmentVariables": [{"name": "MODE", "default": "fast"}, {"name": "UNUSED"}],
        "packageArguments": [
            {"type": "named", "name": "--root", "value": "{root}", "variables": {"root": {"default": "/d"}}}
        ],
    },
    {
        "registryType": "nuget",
        "identifier": "S",
        "version": "1.2.0",
        "packageArguments": [{"type": "positional", "valueHint": "mode", "default": "all"}],
    },
    {
        "registryType": "npm",
        "identifier": "web",
        "packageArguments": [{"type": "named", "name": "--port", "default": "8080"}],
        "transport": {"type": "streamable-http", "url": "http://localhost:{port}/mcp"},
    },
    {"registryType": "mcpb", "identifier": "https://h/s.mcpb"},
]


def test_packages_and_remotes_of_a_server_json(tmp_path: Path) -> None:
    remote = {
        "type": "streamable-http",
        "url": "https://{tenant}.example.com/mcp",
        "variables": {"tenant": {"default": "eu"}},
        "headers": [{"name": "X-Key", "isRequired": True, "isSecret": True}],
    }
    document = {"name": "io.github.me/s", "version": "1.2.0", "packages": PACKAGES, "remotes": [remote]}
    found = read(tmp_path / "server.json", document)
    assert targets(found) == {
        "s-npm": ["npx", "-y", "@me/s@1.2.0"],
        "s-pypi": ["uvx", "--quiet", "s@1.2.0"],
        "s-oci": ["docker", "run", "-i", "--rm", "-e", "MODE", "docker.io/me/s:1.2.0", "--root", "/d"],
        "s-nuget": ["dnx", "S@1.2.0", "--yes", "--", "all"],
        "s-npm-2": ["npx", "-y", "web", "--port", "8080"],
        "s-remote": "https://eu.example.com/mcp",
    }
    assert found.servers[4].target["url"] == "http://localhost:8080/mcp"
    assert found.servers[5].missing == ("X-Key",)
    assert found.problems == ("packages[5]: a package of `mcpb` is not started; name the file of the bundle itself",)


def declared(server: FoundServer, path: Path) -> dict[str, Any]:
    return dict(chosen_in_file(server, path, _NO_EXTRAS).target.settings)


def test_secrets_become_variables_wherever_they_stand(tmp_path: Path) -> None:
    """Also where nothing in a name promises one, and in the middle of an argument."""
    package = {
        **PACKAGES[0],
        "environmentVariables": [{"name": "PHRASE", "isRequired": True, "isSecret": True}],
        "packageArguments": [
            {"type": "named", "name": "--db=", "value": "pg://{pw}@h", "variables": {"pw": {"isSecret": True}}}
        ],
    }
    path, given = tmp_path / "server.json", {"PHRASE": "open sesame", "pw": "hunter2hunter2"}
    found = read(path, {"name": "me/s", "packages": [package]}, **given)
    settings = declared(found.servers[0], path)
    assert "hunter2" not in str(settings)
    assert settings["env"] == {"PHRASE": "${PHRASE}"}
    assert settings["command"][-1] == "--db=pg://${env.PW}@h"
    assert not any(value in found.servers[0].shown for value in given.values())
    with pytest.raises(UsageError, match="needs a value for `PHRASE`"):
        declared(read(path, {"name": "me/s", "packages": [package]}).servers[0], path)


MANIFEST = {
    "manifest_version": "0.3",
    "name": "notes",
    "version": "1.0.0",
    "server": {
        "type": "python",
        "entry_point": "server.py",
        "mcp_config": {
            "command": "python",
            "args": ["${__dirname}/server.py", "${user_config.folders}", "--level=${user_config.level}"],
            "env": {"TOKEN_OF_IT": "${user_config.token}", "PLACE": "${HOME}${/}notes"},
            "platform_overrides": {"linux": {"command": "python3"}, "darwin": {"command": "python3"}},
        },
    },
    "user_config": {
        "folders": {"type": "directory", "multiple": True, "required": True},
        "level": {"type": "number", "default": 3},
        "token": {"type": "string", "sensitive": True, "required": True},
    },
}


def test_a_manifest_of_a_bundle(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    (server,) = read(path, MANIFEST, folders="/a,/b", token="abcdefgh1234").servers
    assert server.target["command"] == ["python3", f"{tmp_path}/server.py", "/a", "/b", "--level=3"]
    assert declared(server, path)["env"] == {"TOKEN_OF_IT": "${TOKEN}", "PLACE": "/home/me/notes"}
    assert read(path, MANIFEST).servers[0].missing == ("folders", "token")


def read_bundle(path: Path) -> None:
    with opened_server_file(path, HOME, {}):
        pass


def test_a_bundle_is_unpacked_into_a_temporary_folder_and_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "notes.mcpb"
    with zipfile.ZipFile(path, "w") as bundle:
        bundle.writestr("manifest.json", json.dumps(MANIFEST))
        bundle.writestr("lib/server.py", "print()")
    with opened_server_file(path, HOME, {"folders": "/a", "token": "abcdefgh1234"}) as found:
        script = Path(found.servers[0].target["command"][1])
        assert (script.parent / "lib" / "server.py").read_text() == "print()"
        assert declared(found.servers[0], path)["command"][1] == "${env.MCPB_DIR}/server.py"
    assert not script.parent.exists()
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("entry", ["../out.txt", "/out.txt", "a/../../out.txt", "..\\out.txt", "C:\\out.txt", "link"])
def test_a_bundle_cannot_write_outside_of_its_folder(tmp_path: Path, entry: str) -> None:
    path = tmp_path / "evil.mcpb"
    with zipfile.ZipFile(path, "w") as bundle:
        told = zipfile.ZipInfo(entry)
        told.external_attr = (stat.S_IFLNK | 0o777 if entry == "link" else stat.S_IFREG | 0o644) << 16
        bundle.writestr(told, "/etc/passwd")
        bundle.writestr("manifest.json", json.dumps(MANIFEST))
    with pytest.raises(UsageError, match="is not unpacked"), opened_server_file(path, HOME, {}):
        pass
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("places", "reason"),
    [
        ((6, 8), "compressed patched data"),
        ((8, 10), "compression method is not supported"),
        ((), "while decompressing data"),
    ],
)
def test_a_bundle_that_cannot_be_unpacked_says_why(tmp_path: Path, places: tuple[int, ...], reason: str) -> None:
    path = tmp_path / "broken.mcpb"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bundle:
        bundle.writestr("manifest.json", json.dumps(MANIFEST))
    data = bytearray(path.read_bytes())
    for start, place in zip((b"PK\x03\x04", b"PK\x01\x02"), places, strict=False):
        data[data.find(start) + place] = 99
    if not places:
        data[60:80] = b"\xff" * 20
    path.write_bytes(data)
    with pytest.raises(UsageError, match=rf"broken\.mcpb` cannot be unpacked: .*{reason}"):
        read_bundle(path)


def test_a_bundle_without_a_manifest_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bare.mcpb"
    with zipfile.ZipFile(path, "w") as bundle:
        bundle.writestr("server.py", "print()")
    with pytest.raises(UsageError, match=r"bare\.mcpb` has no `manifest\.json`"):
        read_bundle(path)


@pytest.mark.parametrize("content", ["{", "[]", '{"mcpServers": []}', '{"manifest_version": "0.3"}', "\x00"])
def test_a_file_that_says_nothing_is_refused_with_the_reason(tmp_path: Path, content: str) -> None:
    with pytest.raises(UsageError):
        read(tmp_path / "x.json", content)


@pytest.mark.parametrize(
    ("remote", "missing"),
    [
        ({"url": "http://{host}/"}, ("host",)),
        ({"url": "http://{host}/", "variables": {"host": {"isRequired": False}}}, ("host",)),
        ({"url": "http://{host}/", "variables": {"host": {"default": "h"}}}, ()),
        ({"url": "http://h/", "headers": [{"name": "Authorization", "value": "Bearer {token}"}]}, ("token",)),
    ],
)
def test_a_variable_of_a_remote_without_a_value_is_asked_for(
    tmp_path: Path, remote: dict[str, Any], missing: tuple[str, ...]
) -> None:
    """Whether the file declares it or not: nobody is called `{host}`."""
    content = {"name": "x/y", "remotes": [{"type": "streamable-http", **remote}]}
    assert read(tmp_path / "server.json", content).servers[0].missing == missing
    (server,) = read(tmp_path / "server.json", content, host="h", token="t").servers
    assert (server.missing, "{" in json.dumps(server.target["url"])) == ((), False)


SMALL_MANIFEST: dict[str, Any] = {
    "manifest_version": "0.3",
    "name": "n",
    "server": {"mcp_config": {"command": "node", "args": ["${user_config.k}"], "env": {}, "platform_overrides": {}}},
    "user_config": {"k": {"type": "string"}},
}
SMALL_PACKAGE: dict[str, Any] = {
    "name": "x/y",
    "packages": [
        {
            "registryType": "npm",
            "identifier": "a",
            "transport": {"type": "sse", "url": "http://{port}/"},
            "packageArguments": [
                {"type": "named", "name": "--port", "value": "{n}", "variables": {"n": {"default": "1"}}}
            ],
        }
    ],
    "remotes": [{"type": "sse", "url": "http://{h}/", "variables": {"h": {"default": "h"}}}],
}


def _places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in items for place in _places(item, (*path, key)))]


@pytest.mark.parametrize("wrong", [None, 5, "x", [], {}, [1], {"a": 1}, True, [None], {"h": "x"}], ids=repr)
def test_a_file_with_another_shape_anywhere_is_read_or_refused_with_the_reason(tmp_path: Path, wrong: Any) -> None:
    for document in (SMALL_MANIFEST, SMALL_PACKAGE):
        for *above, last in filter(None, _places(document)):
            changed = json.loads(json.dumps(document))
            inside = changed
            for key in above:
                inside = inside[key]
            inside[last] = wrong
            try:
                servers = read(tmp_path / "server.json", changed).servers
            except UsageError as refused:
                assert "server.json` " in str(refused)
                continue
            words = [word for one in servers for word in one.target.get("command", [one.target.get("url")])]
            assert all(isinstance(word, str) for word in words)


def test_an_identifier_that_is_an_option_is_not_started(tmp_path: Path) -> None:
    content = {
        "packages": [{"registryType": "npm", "identifier": "--call=rm"}, {"registryType": "mcpb", "identifier": "u"}]
    }
    found = read(tmp_path / "server.json", content)
    assert (found.servers, found.problems) == (
        (),
        (
            "packages[0]: the identifier `--call=rm` begins with `-`, as an option does",
            "packages[1]: a package of `mcpb` is not started; name the file of the bundle itself",
        ),
    )


def test_whether_a_server_is_the_one_that_its_file_says(tmp_path: Path) -> None:
    found = read(
        tmp_path / "server.json", {"name": "io.github.me/my-server", "version": "1.2.0", "packages": PACKAGES[:1]}
    )
    same = [check.status for check in compare_identity(found, {"name": "My Server", "version": "1.2.0"})]
    other = [(check.status, check.detail) for check in compare_identity(found, {"name": "x", "version": "1.1.0"})]
    assert same == ["ok", "ok"]
    assert other == [
        ("warning", "the file says `io.github.me/my-server`, the server says `x`"),
        ("failed", "the file says 1.2.0, the server says 1.1.0"),
    ]


def test_what_holds_on_this_machine_alone_is_remarked() -> None:
    """U11."""
    assert "on this machine" in local_remarks({"url": "http://localhost:3000/mcp"})[0]
    assert local_remarks({"url": "http://127.0.0.1:0/mcp", "command": ["a"]}) == ()
    assert (
        "/home/me/s.py: a path of this machine" in local_remarks({"command": ["/usr/bin/python", "/home/me/s.py"]})[0]
    )
    assert local_remarks({"command": "python /home/me/s.py"})[0].startswith("/home/me/s.py: ")

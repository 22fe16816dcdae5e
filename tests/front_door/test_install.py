"""`mcptest mcp-server --install`."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING

import pytest

from mcptest_engine.core.lenient_json import loads
from mcptest_engine.front_door.json_edit import NotEditable, with_member
from tests.conftest import ROOT

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

ENTRY = {"command": "mcptest", "args": ["mcp-server"]}


def test_a_first_install_makes_the_file(
    mcptest: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    done = mcptest("mcp-server", "--install", "--enable-writes")
    assert done.returncode == 0, done.stderr
    told = json.loads((tmp_path / ".claude" / "mcp.json").read_text())
    assert told["mcpServers"]["mcptest"]["args"] == ["mcp-server", "--enable-writes"]
    assert ".mcp.json" in done.stdout


def test_every_other_entry_and_byte_stays(
    mcptest: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    text = '// mine\n{\n\t"mcpServers": {\n\t\t"other": { "command": "x" }, // keep\n\t},\n\t"theme": "dark",\n}\n'
    (tmp_path / "mcp.json").write_text(text)
    assert mcptest("mcp-server", "--install-path", "mcp.json").returncode == 0
    after = (tmp_path / "mcp.json").read_text()
    assert [line for line in text.splitlines() if line not in after.splitlines()] == []
    assert loads(after)["mcpServers"]["other"] == {"command": "x"}
    assert loads(after)["mcpServers"]["mcptest"]["args"] == ["mcp-server"]
    assert (tmp_path / "mcp.json.before-mcptest").read_text() == text


def test_installing_again_changes_nothing(
    mcptest: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    mcptest("mcp-server", "--install")
    before = (tmp_path / ".claude" / "mcp.json").read_bytes()
    again = mcptest("mcp-server", "--install")
    assert "nothing to change" in again.stdout
    assert (tmp_path / ".claude" / "mcp.json").read_bytes() == before


def test_the_copy_of_the_first_change_is_never_overwritten(
    mcptest: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    (tmp_path / "mcp.json").write_text('{"mcpServers": {}}')
    mcptest("mcp-server", "--install-path", "mcp.json")
    mcptest("mcp-server", "--install-path", "mcp.json", "--enable-writes")
    assert (tmp_path / "mcp.json.before-mcptest").read_text() == '{"mcpServers": {}}'
    assert json.loads((tmp_path / "mcp.json").read_text())["mcpServers"]["mcptest"]["args"][-1] == "--enable-writes"


@pytest.mark.parametrize("text", ["{ broken", "[1, 2]", '{"mcpServers": 3}', '{"mcpServers": {"a": 1} "b": 2}'])
def test_a_file_that_is_no_configuration_is_not_touched(
    mcptest: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, text: str
) -> None:
    (tmp_path / "mcp.json").write_text(text)
    done = mcptest("mcp-server", "--install-path", "mcp.json")
    assert done.returncode == 2
    assert "is not changed" in done.stderr
    assert (tmp_path / "mcp.json").read_text() == text


def test_vs_code_says_servers(mcptest: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path) -> None:
    mcptest("mcp-server", "--install-path", ".vscode/mcp.json")
    told = json.loads((tmp_path / ".vscode" / "mcp.json").read_text())
    assert told["servers"]["mcptest"]["type"] == "stdio"


def test_a_configuration_elsewhere_names_the_workspace(
    mcptest: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    mcptest("mcp-server", "--install-path", str(tmp_path / "user.json"), cwd=inner)
    told = json.loads((tmp_path / "user.json").read_text())
    assert told["mcpServers"]["mcptest"]["args"] == ["mcp-server", "--workspace", str(inner)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "{ }\n",
        '{"a": 1}',
        '{"mcpServers": {}}',
        '{"mcpServers":{"a":{"command":"x"}}}',
        '{\n  "mcpServers": {\n  }\n}\n',
        '{\n    "mcpServers": {\n        "a": {}\n    }\n}\n',
        '{\r\n\t"mcpServers": {\r\n\t\t"a": {"b": [1, 2,],},\r\n\t},\r\n}\r\n',
        "{\n  // nothing yet\n}\n",
        '{\n  "mcpServers": { /* none */ }\n}\n',
        '{\n  "mcpServers": {\n    "mcptest": { "command": "old" } // mine\n  }\n}\n',
        '{ "mcpServers": { "a": {} } }',
    ],
)
def test_a_member_is_put_in_and_the_rest_kept(text: str) -> None:
    after = with_member(text, ("mcpServers", "mcptest"), ENTRY)
    before = loads(text) if text.strip() else {}
    servers = {**before.get("mcpServers", {}), "mcptest": ENTRY}
    assert loads(after) == {**before, "mcpServers": servers}
    for comment in ("// nothing yet", "/* none */", "// mine"):
        assert (comment in text) == (comment in after)


def test_what_is_in_the_way_is_said() -> None:
    with pytest.raises(NotEditable):
        with_member('{"mcpServers": [1]}', ("mcpServers", "mcptest"), ENTRY)


def test_installing_keeps_what_the_entry_says_besides(
    mcptest: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    entry = {"command": "old", "args": ["x"], "env": {"MCP_TOKEN": "t", "HTTP_PROXY": "p"}, "disabled": False}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"mcptest": entry}}))
    done = mcptest("mcp-server", "--install-path", "mcp.json", "--allow-env", "SHOP_TOKEN")
    assert done.returncode == 0, done.stderr
    after = json.loads((tmp_path / "mcp.json").read_text())["mcpServers"]["mcptest"]
    assert after["env"] == entry["env"]
    assert after["disabled"] is False
    assert after["args"] == ["mcp-server", "--allow-env", "SHOP_TOKEN"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        'model = "x"\n',
        '# mine\nmodel = "x"\n\n[mcp_servers.other]\ncommand = "y" # its\nargs = ["a"]\n',
        '[mcp_servers.mcptest]\ncommand = "old"\nargs = ["x"]\nenv = { A = "b" }\n\n[tools]\nweb = true\n',
        '[mcp_servers."mcptest"] # here\nenv = { A = "b" }\n[mcp_servers.mcptest.more]\nx = 1\n',
        'a = 1\r\n[mcp_servers.mcptest]\r\ncommand = "old"\r\n',
    ],
)
def test_codex_gets_a_table_of_its_toml(
    mcptest: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, text: str
) -> None:
    file = tmp_path / ".codex" / "config.toml"
    file.parent.mkdir()
    file.write_bytes(text.encode())
    done = mcptest("mcp-server", "--install-path", ".codex/config.toml", "--enable-writes")
    assert done.returncode == 0, done.stderr
    before, after = tomllib.loads(text), tomllib.loads(file.read_bytes().decode())
    servers = before.get("mcp_servers", {})
    entry = {**servers.get("mcptest", {}), "command": "mcptest", "args": ["mcp-server", "--enable-writes"]}
    found = after["mcp_servers"]["mcptest"].pop("command")
    assert found.endswith("mcptest")
    entry.pop("command")
    assert after == {**before, "mcp_servers": {**servers, "mcptest": entry}}
    lines = file.read_bytes().decode().splitlines()
    replaced = ('command = "old"', 'args = ["x"]')
    assert [line for line in text.splitlines() if line not in lines and line not in replaced] == []
    written = file.read_bytes()
    assert (
        "nothing to change" in mcptest("mcp-server", "--install-path", ".codex/config.toml", "--enable-writes").stdout
    )
    assert file.read_bytes() == written


@pytest.mark.parametrize(
    "text",
    [
        "{ broken",
        f"x = {'9' * 5000}\n",
        f"x = {'[' * 5000}{']' * 5000}\n",
        "mcp_servers = 3\n",
        'mcp_servers = { mcptest = { command = "old" } }\n',
        '[mcp_servers]\nmcptest.command = "old"\n',
        '[mcp_servers.mcptest]\nargs = [\n  "x",\n]\n',
    ],
)
def test_a_toml_file_that_would_not_come_out_right_is_not_touched(
    mcptest: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, text: str
) -> None:
    (tmp_path / "config.toml").write_text(text)
    done = mcptest("mcp-server", "--install-path", "config.toml")
    assert done.returncode == 2
    assert "is not changed" in done.stderr
    assert "[mcp_servers.mcptest]" in done.stderr
    assert (tmp_path / "config.toml").read_text() == text


def test_a_toml_file_keeps_each_end_of_a_line_and_what_is_none(
    mcptest: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    """U+2028, U+0085 and a form feed end no line in TOML."""
    text = '# a\u2028[b]\r\nnote = "x\u0085y"\n# form\x0cfeed\n[mcp_servers.mcptest]\ncommand = "old" # why\n[c]\nd = 1'
    text = text.replace("\x0c", "\u2029")
    file = tmp_path / "config.toml"
    file.write_bytes(text.encode())
    done = mcptest("mcp-server", "--install-path", "config.toml")
    assert done.returncode == 0, done.stderr
    before, _, after = text.partition('command = "old" # why\n')
    written = file.read_bytes().decode()
    assert written.startswith(before)
    assert written.endswith(after + "\r\n")
    assert tomllib.loads(written)["mcp_servers"]["mcptest"]["args"][0] == "mcp-server"


def test_the_ready_made_entries_only_read() -> None:
    for name in ("mcp.json", "vscode-mcp.json"):
        text = (ROOT / "examples" / "mcp-server-config" / name).read_text()
        assert "--enable-writes" not in text


FOREIGN = '{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "touch pwned"}]}]}}'
INIT = ["init", "--command", "python3 server.py", "--yes", "--output", "made.yml", "--ci"]


@pytest.mark.parametrize(
    ("words", "link", "inner"),
    [
        (["mcp-server", "--install"], ".claude/mcp.json.before-mcptest", "settings.json"),
        (["mcp-server", "--install"], ".claude", ""),
        (["mcp-server", "--install"], ".claude/mcp.json", "mcp.json"),
        (["skill", "--install"], ".claude", ""),
        (["skill", "--install"], ".claude/skills", ""),
        (["skill", "--install"], ".claude/skills/mcptest/SKILL.md", "SKILL.md"),
        ([*INIT, "github"], ".github", ""),
        ([*INIT, "github"], ".github/workflows", ""),
        ([*INIT, "gitlab"], ".gitlab-ci.yml", "ci.yml"),
    ],
)
def test_nothing_is_written_through_a_link_that_came_with_the_repository(
    mcptest: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, words: list[str], link: str, inner: str
) -> None:
    outside, repository = tmp_path / "home", tmp_path / "repository"
    outside.mkdir()
    place = repository / link
    place.parent.mkdir(parents=True)
    place.symlink_to(outside / inner)
    if link.endswith("before-mcptest"):
        (place.parent / "mcp.json").write_text(FOREIGN)
    done = mcptest(*words, cwd=repository)
    assert done.returncode == 2, done.stdout + done.stderr
    assert " link" in done.stderr or "exists already" in done.stderr
    assert list(outside.iterdir()) == []
    assert place.is_symlink()


def test_the_copy_of_the_first_change_is_readable_by_those_who_could_read_the_file(
    mcptest: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    file = tmp_path / "mcp.json"
    file.write_text('{"mcpServers": {}}')
    file.chmod(0o600)
    assert mcptest("mcp-server", "--install-path", "mcp.json").returncode == 0
    assert (tmp_path / "mcp.json.before-mcptest").stat().st_mode & 0o777 == 0o600


def test_a_configuration_that_a_person_names_is_written_through_its_link(
    mcptest: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    dotfiles, work = tmp_path / "dotfiles", tmp_path / "work"
    dotfiles.mkdir()
    work.mkdir()
    (dotfiles / "mine.json").write_text("{}")
    (work / "mine.json").symlink_to(dotfiles / "mine.json")
    assert mcptest("mcp-server", "--install-path", "mine.json", cwd=work).returncode == 0
    assert "mcptest" in json.loads((dotfiles / "mine.json").read_text())["mcpServers"]
    assert (work / "mine.json").is_symlink()

"""The servers of the list: where they come from, what becomes of them, and in which words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcptest_engine.running.documents import document_of
from mcptest_tui.state.about import consent_lines, item_lines, server_lines
from mcptest_tui.state.catalog import Item
from mcptest_tui.state.processes import processes_of
from mcptest_tui.state.servers import Heading, Server, Servers, state_text
from mcptest_tui.widgets.server_list import ServerList

if TYPE_CHECKING:
    from mcptest_engine.engine_process.workbench_events import RunningProcess


def text_of(lines):
    """Lines as text."""
    return "\n".join("".join(text for text, _ in told.pieces) for told in lines)


def typed_in(servers, text, **more):
    """The server of what was typed."""
    server = servers.add(text, **more)
    assert server is not None
    return server


def named(servers, name):
    """The server that goes by a name."""
    server = servers.named(name)
    assert server is not None
    return server


def names(servers):
    """The rows: a heading's title, a server's name."""
    return [row.title if isinstance(row, Heading) else row.name for row in servers.rows]


def state(key, name, **more):
    """An event."""
    return {"event": "server.state", "session": key, "state": name, **more}


FOUND = {
    "key": "k",
    "name": "db",
    "client": "Cursor",
    "source": "/home/me/.cursor/mcp.json",
    "transport": "stdio",
    "target": "db --key [REDACTED]",
    "digest": "d1",
    "argv": ["db", "--key", "[REDACTED]"],
    "cwd": None,
    "env_names": ["A"],
    "header_names": [],
    "variables": ["TOKEN"],
    "missing": [],
    "enabled": True,
}


def test_servers_stand_under_where_they_come_from(tmp_path):
    """Suites, what was typed, what was found; files that cannot be read last."""
    path = tmp_path / "mcptest.yml"
    path.write_text("servers:\n  one: { command: [a] }\n  two: { url: 'http://x.test/mcp' }\ntools: []\n")
    servers = Servers()
    assert servers.rows == []
    problem = {"path": "/x/mcp.json", "client": "Zed", "message": "broken"}
    servers.put_found({"servers": [FOUND], "problems": [problem]})
    servers.put_suites([document_of(path, start_dir=tmp_path, environ={})])
    servers.add("python server.py")
    servers.add("http://localhost:8000/mcp")
    assert [getattr(row, "title", getattr(row, "name", getattr(row, "client", ""))) for row in servers.rows] == [
        "Suites",
        "one",
        "two",
        "Typed here",
        "localhost",
        "server",
        "Found on this machine",
        "db",
        "Zed",
    ]


def test_a_connected_server_stays_when_its_suite_is_gone(tmp_path):
    """Until it is disconnected."""
    path = tmp_path / "mcptest.yml"
    path.write_text("servers:\n  one: { command: [a] }\n  two: { command: [b] }\ntools: []\n")
    servers = Servers()
    servers.put_suites([document_of(path, start_dir=tmp_path, environ={})])
    one = named(servers, "one")
    servers.apply([state(one.key, "ready")], 0.0)
    servers.put_suites([])
    assert names(servers) == ["Suites", "one"]


def test_states_follow_the_engine():
    """Starting, ready, failed with everything that helps; closed is off again."""
    servers = Servers()
    server = typed_in(servers, "x")
    servers.apply([state(server.key, "starting")], 10.0)
    assert state_text(server, 13.2) == "starting 3 s"
    servers.apply([state(server.key, "ready", server_info={"name": "n", "version": 1}, protocol="2025-11-25")], 11.0)
    assert (state_text(server, 0), server.own_name) == ("connected", "n 1")
    server.catalog = {"tools": [{}, {}]}
    assert state_text(server, 0) == "connected, 2 tools"
    gone = state(server.key, "failed", message="it exited with code 3", short="exited 3", hint="look", stderr="a\nb\n")
    servers.apply([gone, state(server.key, "closed")], 12.0)
    assert (server.state, state_text(server, 0), server.catalog) == ("failed", "exited 3", None)
    said = text_of(server_lines(server, 0.0, []))
    assert "it exited with code 3" in said
    assert "look" in said
    assert "b" in said
    servers.apply([state(server.key, "ready"), state(server.key, "closed")], 13.0)
    assert state_text(server, 0) == "not started"


def test_commands_that_others_wrote_are_asked_about_once():
    """Found ones, and those of an earlier session; never what was typed now."""
    servers = Servers()
    servers.put_found({"servers": [FOUND]})
    found, typed, restored = named(servers, "db"), typed_in(servers, "a"), typed_in(servers, "b", ask=True)
    assert [servers.needs_consent(one) for one in (found, typed, restored)] == [True, False, True]
    servers.agree(found.consent)
    assert not servers.needs_consent(found)
    servers.put_found({"servers": [{**FOUND, "digest": "d2"}]})  # though it is shown with the very same words
    assert servers.needs_consent(found)
    servers.put_found({"servers": [FOUND]})
    told = "\n".join(consent_lines(found))
    assert "/home/me/.cursor/mcp.json" in told
    assert "db --key" in told
    assert "A" in told
    assert "TOKEN" in told


def test_a_long_command_shows_every_word():
    """None hides behind the edge."""
    words = ["sh", "-c", "x" * 60, "; rm -rf ~"]
    told = consent_lines(Server("k", "n", "found", {}, "", argv=tuple(words), origin="Cursor", source="f"))
    assert [line.strip() for line in told if line.startswith("  ")] == ["sh", "-c", "x" * 60, "'; rm -rf ~'"]


def test_what_looks_like_a_secret_is_not_remembered():
    """The session is a file."""
    servers = Servers()
    for typed in (
        "a --api-key=abc",
        "b --token xyz",
        "b --key 8f1c2d3e",
        "b --pass=8f1c2d3e",
        "c ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "http://x.test/mcp",
    ):
        servers.add(typed)
    servers.add("http://y.test?api%5Fkey=abc $MYT")
    assert servers.recent() == ["http://x.test/mcp"]


@pytest.mark.parametrize(
    ("typed", "name", "shown"),
    [
        ("py s.py --api-key hidden-1 --verbose", "s", "py s.py --api-key '${env.API_KEY}' --verbose"),
        ("py s.py -H 'X-Api-Key:hidden-1'", "s", "py s.py -H 'X-Api-Key:${env.X_API_KEY}'"),
        ("http://127.0.0.1:1?api_key=hidden-1", "server", "http://127.0.0.1:1?api_key=${env.API_KEY}"),
        ("http://x.test/mcp?api%5Fkey=hidden-1 $T", "x-test", "http://x.test/mcp?api%5Fkey=${env.API_KEY}"),
    ],
)
def test_a_secret_that_was_typed_is_in_nothing_that_is_shown_or_kept(typed, name, shown):
    """Issue: it became the server's name and stood in the session's file; the server itself gets it."""
    servers = Servers()
    server = typed_in(servers, typed)
    assert (server.name, server.shown) == (name, shown)
    assert "hidden-1" in repr(server.target)
    kept = (server.key, server.name, server.shown, server.origin, server.argv, server.consent, servers.recent())
    assert "hidden-1" not in repr(kept)
    again = typed_in(servers, typed.replace("hidden-1", "hidden-2"))
    assert "hidden-2" in repr(again.target)


def test_typed_servers_are_kept_up_to_a_number():
    """Newest first; one that is connected is kept."""
    servers = Servers()
    first = typed_in(servers, "first")
    servers.apply([state(first.key, "ready")], 0.0)
    for at in range(20):
        servers.add(f"c{at}")
    kept = names(servers)[1:]
    assert kept[0] == "c19"
    assert "first" in kept
    assert "c0" not in kept


def test_what_a_server_says_is_data():
    """Controls become visible, and nothing is cut silently."""
    data = {"name": "t\x1b[2J", "description": "a\x1b]0;x\x07\nb\tc", "annotations": {"x\x9b": "\u202e"}}
    said = text_of(item_lines(Item("tools", data)))
    assert not any(ord(char) < 32 and char != "\n" for char in said)
    assert "\x9b" not in said
    assert "\u202e" not in said
    assert "␛[2J" in said
    raw = text_of(item_lines(Item("tools", data), raw=True))
    assert "\\u001b" in raw
    assert "\x9b" not in raw


def test_a_url_is_typed_with_the_variable_that_holds_its_token():
    """The name alone is kept, in the session too; the value stays where it is."""
    servers = Servers()
    for typed in ("https://x.test/mcp $MY_TOKEN", "https://x.test/mcp  ${MY_TOKEN}"):
        server = typed_in(servers, typed)
        assert server.target == {"url": "https://x.test/mcp", "bearer_token_env": "MY_TOKEN"}
        assert server.shown == "https://x.test/mcp"
        assert typed in servers.recent()


@pytest.mark.parametrize("typed", ["ftp://x/y", "ws://localhost/mcp", "https://x y z", "http://x $1", "HTTPX://a"])
def test_an_address_of_another_kind_is_no_command(typed):
    """A server's URL begins with http:// or https://."""
    assert Servers().add(typed) is None


def test_typed_servers_of_one_host_are_told_apart():
    """By what was typed, which stands beside the name."""
    servers = Servers()
    origins = {typed_in(servers, f"http://127.0.0.1:{port}/mcp").origin for port in (8000, 8001)}
    assert origins == {"http://127.0.0.1:8000/mcp", "http://127.0.0.1:8001/mcp"}


def test_a_new_suite_says_how_many_tests_it_will_have_in_all():
    """Findings: the dialog said 31 tests, and the list then had 42: those of resources and prompts were not counted."""
    from mcptest_tui.state.scaffolding import Scaffolding

    state = Scaffolding(())
    tools = [{"name": "a", "class": "read", "tests": 20}, {"name": "b", "class": "read", "tests": 11}]
    state.put({"tools": tools, "resources": 7, "prompts": 4})
    assert state.summary()[0] == "42 tests: 31 of 2 tools, 7 of resources, 4 of prompts. No tool is called."
    state.put({"tools": tools[:1]})
    assert state.summary()[0].startswith("20 tests of 2 tools.")


def test_a_new_suite_no_longer_says_that_it_asks_for_tools_that_cannot_be_listed():
    from mcptest_tui.state.scaffolding import Scaffolding

    state = Scaffolding(())
    assert state.rows()[0].text == "asking the server for its tools …"
    state.failed("the result has no list `tools`")
    assert state.rows()[0].text == "the tools could not be listed"


def test_suites_of_one_name_are_told_apart_by_their_folders(tmp_path):
    """Three suites were all called "mcptest.yml"; also in the list of servers and of processes."""
    paths = [tmp_path / folder / "mcptest.yml" for folder in ("a", "b")]
    for path in paths:
        path.parent.mkdir()
        path.write_text("servers: { shed: { command: [a] } }\ntools: []\n")
    servers = Servers()
    servers.put_suites([document_of(path, start_dir=tmp_path, environ={}) for path in paths])
    assert [server.origin for server in servers.by_key.values()] == ["a/mcptest.yml", "b/mcptest.yml"]
    row: RunningProcess = {
        "number": 1, "role": "spare", "pid": 9, "name": "shed", "shown": "a", "suite": str(paths[0]), "session": "",
        "since": 0.0, "waits": [],
    }  # fmt: skip
    (process,) = processes_of([row], map(str, paths))
    assert process.title == "shed, spare server of a/mcptest.yml"


@pytest.mark.parametrize("width", [30, 40, 46, 60, 100])
def test_a_server_with_a_long_command_has_its_state_beside_it(width):
    """What is longer than the row is not drawn: with one cell too many the state was missing."""
    servers = Servers()
    servers.add("mcptest mock --preset demo --and-a-long-word")
    listed = ServerList(servers, lambda: 0.0)
    at = next(at for at, row in enumerate(servers.rows) if isinstance(row, Server))
    row = "".join(text for text, _ in listed.pieces(at, width))
    assert row.endswith(" not started")
    assert len(row) == width

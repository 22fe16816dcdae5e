"""What is typed to name a server, and what a new suite for it is called."""

from __future__ import annotations

import pytest

from mcptest_tui.state.new_suite import free_path, server_name, target_of, target_problem


def test_what_was_typed_is_a_command_or_a_url():
    """Or neither."""
    assert target_of(" https://x.test/mcp ") == {"url": "https://x.test/mcp"}
    assert target_of("npx -y 'a b'") == {"command": ["npx", "-y", "a b"]}
    assert target_of("") is None
    assert target_of("'open") is None


def test_a_new_suite_gets_a_name_that_nothing_has(tmp_path):
    """A link that leads nowhere has it too."""
    (tmp_path / "mcptest.yml").symlink_to(tmp_path / "nowhere")
    (tmp_path / "mcptest-2.yml").touch()
    assert free_path(tmp_path) == tmp_path / "mcptest-3.yml"


def test_a_server_gets_a_short_name():
    """From its program or its host."""
    assert server_name({"command": ["python", "/a/My Server.py"]}) == "my-server"
    assert server_name({"url": "http://Weather.test:80/mcp"}) == "weather-test"
    assert server_name({"command": ["---"]}) == "server"


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("", "neither a command nor a URL"),
        ("ftp://host", "neither a command nor a URL"),
        ("localhost:8000/mcp", "a URL begins with http:// or https://, for example  http://localhost:8000/mcp"),
        ("127.0.0.1:8000", "a URL begins with http:// or https://, for example  http://127.0.0.1:8000"),
        ("KEY=1 python server.py", "variables come after the program `env`, for example  env KEY=1 python server.py"),
        ("env KEY=1 python server.py", None),
        ("python server.py", None),
        ("./server", None),
        ("../bin/server --port 80", None),
        ("http://localhost:8000/mcp $TOKEN", None),
    ],
)
def test_what_names_no_server_is_told_with_what_to_type(typed, told):
    assert target_problem(typed) == told

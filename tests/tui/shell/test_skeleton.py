"""A first suite from what a server says of its tools."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from mcptest_engine.running.documents import document_of
from mcptest_tui.state.skeleton import free_path, server_name, skeleton, target_of

TOOLS = [
    {
        "name": "add",
        "inputSchema": {"required": ["a", "b"], "properties": {"a": {"type": "integer"}, "b": {"default": 7}}},
    },
    {"name": 'odd: "name" #1', "inputSchema": {"required": ["c"], "properties": {"c": {"enum": ["x", "y"]}}}},
    {"name": "wipe", "annotations": {"destructiveHint": True}},
]


def document(text, folder):
    return document_of(folder / "mcptest.yml", text, start_dir=folder, environ={})


def test_a_skeleton_loads_with_one_test_a_tool(tmp_path):
    """What calls itself destructive is a comment."""
    text = skeleton({"command": ["python", "server.py"]}, TOOLS)
    made = document(text, tmp_path)
    assert made.sound, made.diagnostics
    assert [test.tool for test in made.tests] == ["add", 'odd: "name" #1']
    assert 'args: {"a": 1, "b": 7}' in text
    assert 'args: {"c": "x"}' in text
    assert '  # - name: "wipe answers"' in text


def test_without_tools_it_is_still_a_suite(tmp_path):
    """The server did not answer."""
    assert document(skeleton({"url": "http://localhost:1/mcp"}, []), tmp_path).sound


@settings(max_examples=50, deadline=None)
@example(["${", "$${x}"])
@given(st.lists(st.text(min_size=1), max_size=4, unique=True))
def test_whatever_tools_are_called_the_text_loads(tmp_path_factory, names):
    """Names are data, escapes and quotes included."""
    made = document(skeleton({"command": ["x"]}, [{"name": name} for name in names]), tmp_path_factory.mktemp("s"))
    unsafe = [name for name in names if any(0xD800 <= ord(character) <= 0xDFFF for character in name)]
    assert unsafe or made.sound, made.diagnostics
    assert unsafe or [test.tool for test in made.tests] == names


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

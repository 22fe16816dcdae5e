"""Generated tests in a suite that is there already: every other byte is kept, and nothing is written twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.authoring.conformance import scaffold_conformance
from mcptest_engine.authoring.evals import scaffold_eval
from mcptest_engine.authoring.redteam import scaffold_redteam
from mcptest_engine.authoring.scaffold import ScaffoldOptions, scaffold_into, scaffold_suite
from mcptest_engine.authoring.targets import Target, declared_in_suite
from mcptest_engine.core.errors import Severity, UsageError
from mcptest_engine.suite.load import LoadOptions, load_suite
from mcptest_engine.suite.text_edits import EditRefused
from tests.authoring.catalogs import TARGET, catalog, problems, text_tool, tool, written

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SUITE = """\
# my suite
name: mine
servers:
  api: { command: ["node", "server.js"] }   # the one
  other:
    command: [other]

tools:
  # keep me
  - name: mine
    server: api
    tool: get_page
    expect: &ok
      - { target: error, matcher: { exact: null } }

  - { name: theirs, server: other, tool: get_page, expect: *ok }   # and me
# the end of the tools
run_options:
  concurrency: 2
"""
EXPECT = "expect: [{ target: error, matcher: { exact: null } }]"
SERVER = "servers: { a: { command: [x] } }"
PLAIN = ScaffoldOptions(include_edge=False, include_violation=False)


def kept(before: str, after: str) -> bool:
    """Whether every line of `before` is in `after`, in order."""
    lines = iter(after.splitlines(keepends=True))
    return all(line in lines for line in before.splitlines(keepends=True))


def test_the_tests_stand_at_the_end_of_the_block_with_their_comments() -> None:
    after, found = scaffold_into(SUITE, catalog(text_tool(description="A page.")), TARGET, PLAIN)
    assert kept(SUITE, after)
    assert (
        'expect: *ok }   # and me\n\n  # get_page: A page.\n  - name: "get_page: valid arguments"\n    server: api\n'
    ) in after
    assert problems(after) == ()
    assert found.tools[0].tests_generated == 1
    assert found.suite in after.replace("\n\n\n", "\n\n") or found.suite.startswith("tools:")


def test_a_server_that_is_declared_alike_is_used_under_its_key() -> None:
    after, _ = scaffold_into(SUITE, catalog(tool()), TARGET, PLAIN)
    assert list(written(after)["servers"]) == ["api", "other"]
    assert written(after)["tools"][-1]["server"] == "api"


def test_another_server_is_added_under_a_key_that_is_free() -> None:
    once, _ = scaffold_into(SUITE, catalog(tool()), Target(settings={"url": "http://127.0.0.1:1/mcp"}), PLAIN)
    twice, _ = scaffold_into(once, catalog(tool("b")), Target(settings={"url": "http://127.0.0.1:2/mcp"}), PLAIN)
    assert list(written(twice)["servers"]) == ["api", "other", "target", "target-2"]
    assert written(twice)["tools"][-1]["server"] == "target-2"
    assert kept(SUITE, twice)
    assert problems(twice) == ()


def test_tests_that_name_no_server_still_mean_the_one_there_was() -> None:
    """A second server would else leave it open which one they mean."""
    suite = f'servers: {{ api: {{ command: ["x"] }} }}\ntools:\n  - {{ name: a, tool: b, {EXPECT} }}\n'
    after, _ = scaffold_into(suite, catalog(tool()), TARGET, PLAIN)
    assert written(after)["defaultTest"] == {"server": "api"}
    assert problems(after) == ()


def test_entries_of_other_blocks_that_name_no_server_still_mean_the_one_there_was() -> None:
    """`defaultTest` does not hold for them, so each of them says it."""
    suite = (
        'servers: { api: { command: ["x"] } }\n'
        "compliance:\n  - { name: a, check: ping }   # mine\n  - name: b\n    check: ping\n"
        "agents:\n  - { name: c, prompt: Hello, servers: [api], expect: [{ target: tool_calls, matcher: { length: 0 } }] }\n"
    )
    after, _ = scaffold_into(suite, catalog(tool()), TARGET, PLAIN)
    tree = written(after)
    assert [check["server"] for check in tree["compliance"]] == ["api", "api"]
    assert "server" not in tree["agents"][0]
    assert "defaultTest" not in tree
    assert "# mine" in after
    assert [str(problem) for problem in problems(after) if problem.severity is Severity.ERROR] == []


def test_nodes_evals_and_grouped_checks_that_name_no_server_still_mean_the_one_there_was() -> None:
    """A node without a server would be an error, and the model of an eval would have no tools any more."""
    suite = (
        'servers: { api: { command: ["x"] } }\n'
        "compliance:\n  spec_version: 2025-11-25\n  checks:\n    - { name: a, check: ping }\n"
        "compositions:\n  - name: b\n"
        "    nodes: [{ id: one, tool: t }, { id: two, tool: t, mock: { result: 1 } }]\n"
        "evals:\n  - { name: c, call: { tool: t }, rubric: r }\n  - { name: d, prompt: Hello, rubric: r }\n"
        "  - { name: e, output: x, rubric: r }\n  - { name: f, call: { tool: t, server: api }, rubric: r }\n"
    )
    after, _ = scaffold_into(suite, catalog(tool()), TARGET, PLAIN)
    tree = written(after)
    assert [check.get("server") for check in tree["compliance"]["checks"]] == ["api"]
    assert [node.get("server") for node in tree["compositions"][0]["nodes"]] == ["api", None]
    assert [one.get("server") for one in tree["evals"]] == ["api", "api", None, None]
    assert [str(problem) for problem in problems(after) if problem.severity is Severity.ERROR] == []


@pytest.mark.parametrize("scaffold", [scaffold_conformance, scaffold_redteam, scaffold_eval])
def test_every_kind_can_be_added_once(scaffold: Callable[..., Any]) -> None:
    listed = catalog(tool("b"), text_tool("c"))
    first = scaffold(listed, TARGET, into=SUITE)
    assert kept(SUITE, first.into)
    assert [str(problem) for problem in problems(first.into) if problem.severity is Severity.ERROR] == []
    added = {**written(first.into)}.keys() - written(SUITE).keys()
    assert added in ({"compliance"}, {"agents"})
    assert {entry["server"] for entry in written(first.into)[added.pop()]} == {"api"}
    again = scaffold(listed, TARGET, into=first.into)
    assert again.into == first.into


def test_what_is_there_already_is_not_written_again() -> None:
    first, _ = scaffold_into(SUITE, catalog(text_tool()), TARGET)
    second, found = scaffold_into(first, catalog(text_tool()), TARGET)
    assert second == first
    assert found.tools[0].tests_generated == 0


def test_a_generated_suite_can_be_continued_by_its_next_page() -> None:
    listed = catalog(*(tool(f"tool_{number:02}") for number in range(30)))
    first = scaffold_suite(listed, TARGET)
    assert first.next_cursor is not None
    after, _ = scaffold_into(first.suite, listed, TARGET, ScaffoldOptions(cursor=first.next_cursor))
    assert len(written(after)["tools"]) == 30
    assert problems(after) == ()


@pytest.mark.parametrize(
    "suite",
    [
        "",
        "# only a comment\n",
        "name: x\n",
        "servers: {}\n",
        f"{SERVER}\ntools: []\n",
        f"{SERVER}\ntools: [{{ name: a, server: a, tool: b, {EXPECT} }}]\n",
        f"{SERVER}\ntools:\n- name: a\n  server: a\n  tool: b\n  {EXPECT}",
        '{"servers": {"a": {"command": ["x"]}}}',
        f"{SERVER}\ntools:\n    -   name: a\n        server: a\n        tool: b\n        {EXPECT}\n",
        "\ufeffname: x\n",
        "name: x\n...\n",
    ],
)
def test_every_style_of_suite_can_be_added_to(suite: str) -> None:
    after, _ = scaffold_into(suite, catalog(text_tool(), resources=({"uri": "a://b"},)), TARGET)
    assert problems(after) == ()
    tree = written(after)
    assert "get_page: valid arguments" in [test["name"] for test in tree["tools"]]
    assert tree["resources"][0]["uri"] == "a://b"


def test_lines_end_as_the_suite_ends_them() -> None:
    after, _ = scaffold_into(SUITE.replace("\n", "\r\n"), catalog(text_tool()), TARGET)
    assert "\n" not in after.replace("\r\n", "")


def test_a_suite_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(EditRefused, match="cannot be read"):
        scaffold_into("tools: [", catalog(tool()), TARGET)


@pytest.mark.parametrize("suite", ["- a\n", "servers: { a: { command: [x] } }\ntools: 7\n"])
def test_a_suite_of_another_shape_is_refused(suite: str) -> None:
    with pytest.raises(EditRefused):
        scaffold_into(suite, catalog(tool()), TARGET)


def test_a_server_that_no_file_declares_any_more_is_refused_and_its_secrets_are_not_taken_for_its_text(
    tmp_path: Path,
) -> None:
    path = tmp_path / "mcptest.yml"
    path.write_text("servers: { s: { command: [srv, '${env.TOKEN_OF_IT}'] } }\ntools: []\n", encoding="utf-8")
    environ = {"TOKEN_OF_IT": "hunter2-hunter2"}
    suite = load_suite(path, LoadOptions(variables={}, environ=environ, workspace_root=tmp_path))
    assert declared_in_suite(suite, "s").settings == {"command": ["srv", "${env.TOKEN_OF_IT}"]}
    path.write_text("servers: {", encoding="utf-8")
    with pytest.raises(UsageError, match=r'the server "s" is no longer in mcptest\.yml'):
        declared_in_suite(suite, "s")

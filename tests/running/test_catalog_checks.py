"""What servers list, held against a text that is being written: the words of a run, its weight, a place, and a fix."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.running.diagnostics import edits_of, fixes_of, put_missing
from mcptest_engine.running.documents import document_of
from mcptest_engine.suite.text_edits import apply
from mcptest_engine.workspace.catalogs import recall_catalogs, remember_catalog

if TYPE_CHECKING:
    from pathlib import Path

    from mcptest_engine.running.documents import Diagnostic

HEAD = 'servers: { notes: { command: ["notes"] } }\n'
TOOLS = [
    {
        "name": "list_notes",
        "inputSchema": {
            "type": "object",
            "properties": {
                "limit": {"type": "integer"},
                "state": {"enum": ["open", "closed"]},
                "due": {"type": "string", "format": "date"},
                "all": {"type": "boolean"},
            },
        },
    },
    {
        "name": "add_note",
        "inputSchema": {
            "type": "object",
            "properties": {"title": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}},
            "required": ["title"],
        },
    },
]
PROMPTS = [{"name": "greet", "arguments": [{"name": "name", "required": True}]}]
CATALOG: dict[str, Any] = {
    "capabilities": {"tools": {}, "prompts": {}, "resources": {}},
    "tools": TOOLS,
    "prompts": PROMPTS,
    "resources": [{"uri": "notes://today", "name": "today"}],
}
EXPECT = "    expect: [{ target: result, matcher: { type: object } }]\n"


def problems(text: str, place: Path, catalog: dict[str, Any] = CATALOG) -> list[Diagnostic]:
    """What the list has against a suite, without what is wrong with it anyway."""
    path, surroundings = place / "mcptest.yml", {"start_dir": place, "environ": {}}
    before = set(document_of(path, HEAD + text, **surroundings).diagnostics)  # type: ignore[arg-type]
    found = document_of(path, HEAD + text, **surroundings, catalogs={"notes": catalog})  # type: ignore[arg-type]
    return [one for one in found.diagnostics if one not in before]


@pytest.mark.parametrize(
    ("test", "message", "severity", "marked", "fixed"),
    [
        ("tool: list_nots", 'server "notes" lists no tool "list_nots"', "error", "list_nots", "tool: list_notes"),
        (
            "tool: list_notes\n    args: { limt: 3 }",
            'the tool "list_notes" has no argument `limt`',
            "warning",
            "limt",
            "tool: list_notes\n    args: { limit: 3 }",
        ),
        (
            'tool: list_notes\n    args: { limit: "3" }',
            '"3" is not of type "integer"',
            "warning",
            '"3"',
            "tool: list_notes\n    args: { limit: 3 }",
        ),
        (
            "tool: list_notes\n    args: { state: opne }",
            '"opne" is not one of "open" or "closed"',
            "warning",
            "opne",
            "tool: list_notes\n    args: { state: open }",
        ),
        (
            "tool: list_notes\n    args: { due: tomorrow }",
            '"tomorrow" is not a "date"',
            "warning",
            "tomorrow",
            None,
        ),
        (
            "tool: list_notes\n    args: { all: yes }",
            '"yes" is not of type "boolean"',
            "warning",
            "yes",
            "tool: list_notes\n    args: { all: true }",
        ),
        (
            "tool: add_note",
            '"title" is a required property',
            "warning",
            "add_note",
            'tool: add_note\n    args: { title: "" }',
        ),
        (
            "tool: add_note\n    args:\n      tags: [a]",
            '"title" is a required property',
            "warning",
            "args",
            'tool: add_note\n    args:\n      tags: [a]\n      title: ""',
        ),
        (
            "tool: add_note\n    args: { title: 5 }",
            '5 is not of type "string"',
            "warning",
            "5",
            'tool: add_note\n    args: { title: "5" }',
        ),
    ],
)
def test_a_wrong_call_is_marked_in_the_words_of_a_run_and_mended_by_one_key(
    test: str, message: str, severity: str, marked: str, fixed: str | None, tmp_path: Path
) -> None:
    text = f"tools:\n  - name: one\n    {test}\n" + EXPECT
    (found,) = problems(text, tmp_path)
    assert message in found.message
    assert found.severity == severity
    lines = (HEAD + text).split("\n")
    assert lines[found.line - 1][found.column - 1 : found.end_column - 1] == marked
    assert document_of(tmp_path / "mcptest.yml", HEAD + text, start_dir=tmp_path, environ={}).sound
    mended, _ = put_missing(
        apply(HEAD + text, edits_of(fixes_of([found], found.file), lines, "\n")), [found], found.file
    )
    assert mended == HEAD + (text if fixed is None else text.replace(test, fixed).replace(EXPECT, EXPECT))
    if fixed is not None:
        assert problems(mended.removeprefix(HEAD), tmp_path) == []


@pytest.mark.parametrize(
    "test",
    [
        "tool: list_nots\n    outcome: error",
        'tool: list_nots\n    expect: [{ target: "error.code", matcher: { exact: -32602 } }]',
        "tool: tools/list",
        "tool: list_notes\n    args: { limit: 3, due: 2026-01-31 }",
        'tool: list_notes\n    args: { limit: "${unknown}" }',
    ],
)
def test_nothing_is_said_of_a_call_that_is_to_fail_nor_of_what_only_a_run_knows(test: str, tmp_path: Path) -> None:
    assert problems(f"tools:\n  - name: one\n    {test}\n", tmp_path) == []


def test_nothing_is_said_where_a_run_reads_no_list(tmp_path: Path) -> None:
    text = "tools:\n  - name: one\n    tool: list_nots\n"
    assert problems(text, tmp_path)
    assert problems(text + "run_options: { catalog: off }\n", tmp_path) == []
    for catalog in ({**CATALOG, "errors": {"tools": "no answer"}}, {**CATALOG, "capabilities": {}}):
        assert problems(text, tmp_path, catalog) == []


def test_a_test_that_is_half_written_does_not_hide_what_is_wrong_with_another(tmp_path: Path) -> None:
    text = "tools:\n  - name: one\n    tool: list_nots\n  - name: two\n    too: x\n    expect: [{ target: ]\n"
    assert problems(text, tmp_path) == []  # no YAML: nothing is known
    text = "tools:\n  - name: one\n    tool: list_nots\n  - name: two\n    too: x\n    expect: [{ target: 1 }]\n"
    assert [one.line for one in problems(text, tmp_path)] == [4]


def test_every_other_place_that_names_a_tool_is_looked_at(tmp_path: Path) -> None:
    text = """\
tools:
  - name: one
    tool: list_notes
    verify: [{ tool: lst_notes }]
prompts:
  - { name: two, prompt: gret }
  - { name: three, prompt: greet }
resources:
  - { name: four, uri: "notes://toda" }
compositions:
  - name: five
    nodes:
      - { id: a, tool: list_notes, args: { limit: three } }
      - { id: b, tool: list_ntes, mock: { result: {} } }
      - { id: c, tool: list_ntes }
agents:
  - name: six
    server: notes
    prompt: go
    model: claude-x
    tools: { allow: [lst_notes] }
    tool_selection: { tool: ad_note }
    trajectory: { calls: [{ tool: list_notes, args: { tags: [zzz] } }, nothing] }
evals:
  - { name: seven, call: { tool: list_nots } }
"""
    found = problems(text, tmp_path)
    assert [(one.line - 1, one.severity) for one in found] == [
        (4, "error"),
        (6, "error"),
        (7, "warning"),
        (9, "warning"),
        (13, "warning"),
        (15, "error"),
        (21, "warning"),
        (22, "warning"),
        (23, "warning"),
        (25, "error"),
    ]


def test_a_list_that_is_remembered_is_named_by_its_time_and_is_of_the_same_server_only(tmp_path: Path) -> None:
    data_dir = tmp_path / ".mcptest"
    assert remember_catalog(data_dir, "/x/mcptest.yml", "notes", "notes --all", CATALOG)
    assert remember_catalog(
        data_dir, "/x/mcptest.yml", "notes", "notes --all", {"tools": [], "capabilities": {"tools": {}}}
    )
    assert recall_catalogs(data_dir, "/x/mcptest.yml", [("notes", "notes --none")]) == {}
    (known,) = recall_catalogs(data_dir, "/x/mcptest.yml", [("notes", "notes --all"), ("other", "x")]).values()
    assert known["tools"] == []
    assert known["prompts"] == PROMPTS  # which the second reading did not ask for
    (found,) = problems("tools:\n  - name: one\n    tool: list_notes\n" + EXPECT, tmp_path, known)
    assert found.message == f'server "notes" lists no tool "list_notes" (by the list of {known["read_at"]})'


def test_a_secret_argument_is_not_quoted(tmp_path: Path) -> None:
    text = 'tools:\n  - name: one\n    tool: list_notes\n    args: { limit: "${env.API_TOKEN}" }\n' + EXPECT
    found = document_of(
        tmp_path / "mcptest.yml",
        HEAD + text,
        start_dir=tmp_path,
        environ={"API_TOKEN": "hush-hush-hush"},
        catalogs={"notes": CATALOG},
    ).diagnostics
    assert "is not of type" in found[-1].message
    assert "hush-hush" not in found[-1].message


NODE = {
    "type": "object",
    "properties": {"next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]}},
    "required": ["next"],
}
END = {"type": "string"}
SHARED = {
    f"L{level}": {
        "type": "object",
        "properties": {side: {"$ref": f"#/$defs/L{level + 1}"} for side in "abcd"},
        "required": list("abcd"),
    }
    for level in range(60)
}
DOUBLED = {f"L{level}": {"anyOf": [{"$ref": f"#/$defs/L{level + 1}"}] * 8} for level in range(60)}


@pytest.mark.parametrize(
    ("defs", "argument"),
    [
        ({"Node": NODE}, {"$ref": "#/$defs/Node"}),
        ({}, {"$ref": "#"}),
        ({**SHARED, "L60": END}, {"$ref": "#/$defs/L0"}),
        ({**DOUBLED, "L60": END}, {"$ref": "#/$defs/L0"}),
    ],
    ids=["itself or null", "the whole", "shared", "doubled"],
)
def test_an_argument_whose_schema_refers_to_itself_is_missed_and_given_a_small_value(
    defs: dict[str, Any], argument: dict[str, Any], tmp_path: Path
) -> None:
    schema = {"type": "object", "properties": {"x": argument}, "required": ["x"], "$defs": defs}
    text = "tools:\n  - name: one\n    tool: deep\n" + EXPECT
    (found,) = problems(text, tmp_path, {**CATALOG, "tools": [{"name": "deep", "inputSchema": schema}]})
    assert '"x" is a required property' in found.message
    assert found.fix is not None
    assert len(found.fix.text) < 400
    if defs == {"Node": NODE}:
        assert found.fix.text.strip() == "args: { x: { next: null } }"


@pytest.mark.parametrize("value", [".inf", "-.inf", ".nan", "1e999", '"1e999"', '"nan"'])
def test_a_number_without_an_end_is_refused_and_never_proposed(value: str, tmp_path: Path) -> None:
    text = f"tools:\n  - name: one\n    tool: list_notes\n    args: {{ limit: {value} }}\n" + EXPECT
    found = problems(text, tmp_path)
    assert all("limit" in one.message or "integer" in one.message for one in found)
    assert [one.fix for one in found] == [None] * len(found)


@pytest.mark.parametrize(
    "tool",
    [
        {"name": "odd", "inputSchema": {"type": "object", "required": [None, 5]}},
        {"name": "odd", "inputSchema": {"$ref": "#"}},
        {"name": "odd", "inputSchema": {"type": "object", "properties": {"n": {"$ref": "nowhere"}}}},
        {"name": "odd", "inputSchema": {"type": 5, "properties": []}},
    ],
    ids=["required", "a circle", "nowhere", "no schema"],
)
def test_whatever_a_server_lists_other_calls_are_still_looked_at(tool: dict[str, Any], tmp_path: Path) -> None:
    text = "tools:\n  - { name: a, tool: odd, args: { n: 1 } }\n  - { name: b, tool: nothing }\n"
    found = problems(text, tmp_path, {**CATALOG, "tools": [tool]})
    assert any('lists no tool "nothing"' in one.message for one in found)
    assert not any(one.fix and "None" in one.fix.text for one in found)


@pytest.mark.parametrize("catalog", [{"errors": [1]}, {"capabilities": [1]}, {"errors": 5}, {"capabilities": 5}])
def test_a_catalog_of_another_shape_says_nothing(catalog: dict[str, Any], tmp_path: Path) -> None:
    assert problems("tools:\n  - { name: a, tool: nothing }\n", tmp_path, {**CATALOG, **catalog}) == []


@pytest.mark.parametrize("arguments", [[{"required": True}], [{"name": 5, "required": True}], 5])
def test_an_argument_of_a_prompt_without_a_name_is_not_asked_for(arguments: Any, tmp_path: Path) -> None:
    catalog = {**CATALOG, "prompts": [{"name": "greet", "arguments": arguments}]}
    assert problems("prompts:\n  - { name: a, prompt: greet }\n", tmp_path, catalog) == []


@pytest.mark.parametrize("damage", [{"errors": None}, {"errors": []}, {"capabilities": [1]}, {"read_at": 5}])
def test_a_damaged_file_of_a_list_counts_as_not_there_and_is_written_anew(
    damage: dict[str, Any], tmp_path: Path
) -> None:
    assert remember_catalog(tmp_path, "/x/mcptest.yml", "notes", "notes", CATALOG)
    (file,) = (tmp_path / "cache" / "catalogs").iterdir()
    file.write_text(json.dumps({**json.loads(file.read_text()), **damage}))
    assert recall_catalogs(tmp_path, "/x/mcptest.yml", [("notes", "notes")]) == {}
    assert remember_catalog(tmp_path, "/x/mcptest.yml", "notes", "notes", CATALOG)
    assert recall_catalogs(tmp_path, "/x/mcptest.yml", [("notes", "notes")])["notes"]["tools"] == TOOLS

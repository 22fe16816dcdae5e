"""What is offered at a cursor, marked here by `¦`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcptest_engine.suite.completion import Completions, complete, hover
from tests.suite_edit.writing import written

if TYPE_CHECKING:
    from pathlib import Path

CATALOG: dict[str, Any] = {
    "demo": {
        "tools": [
            {
                "name": "get_weather",
                "description": "The weather.\nOf a city.",
                "inputSchema": {
                    "type": "object",
                    "properties": {
                        "city": {"type": "string", "description": "Where"},
                        "unit": {"enum": ["celsius", "fahrenheit"]},
                        "options": {"$ref": "#/$defs/Options"},
                    },
                    "required": ["city"],
                    "$defs": {"Options": {"type": "object", "properties": {"deep": {"type": "boolean"}}}},
                },
                "outputSchema": {
                    "properties": {"wind": {"type": "object", "properties": {"speed": {"type": "number"}}}}
                },
            },
            {"name": "echo"},
        ],
        "prompts": [{"name": "greet", "arguments": [{"name": "who", "required": True}]}],
        "resources": [{"uri": "file:///a", "name": "A"}],
    }
}
HEAD = "name: x\nservers:\n  demo: { command: [a, b] }\nvariables:\n  city: Oslo\n"
TEST = "tools:\n  - name: one\n    tool: get_weather\n"
SPREAD = TEST + "    expect:\n      - target: x\n        matcher: "
SCORERS = "scorers:\n  - name: polite\n    type: exec\n  - { type: exec, name: 'brief one' }\n"
FLOW = TEST + "    expect:\n      - { target: "


def _at(marked: str, head: str = HEAD) -> tuple[str, int, int]:
    before, after = (head + marked).split("¦")
    return before + after, before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


def _offered(marked: str, head: str = HEAD, catalog: Any = CATALOG) -> Completions:
    return complete(*_at(marked, head), catalog)


def _labels(marked: str, head: str = HEAD) -> list[str]:
    return [item.label for item in _offered(marked, head).items]


def _after(marked: str, label: str) -> str:
    """The text once an item was taken, with `¦` where the cursor then stands."""
    text, line, column = _at(marked)
    found = complete(text, line, column, CATALOG)
    item = next(item for item in found.items if item.label == label)
    lines = text.split("\n")
    row, start, end = found.replace_span
    told = item.insert[: len(item.insert) - item.back] + "¦" + item.insert[len(item.insert) - item.back :]
    lines[row - 1] = lines[row - 1][: start - 1] + told + lines[row - 1][end - 1 :]
    return "\n".join(lines).removeprefix(HEAD)


@pytest.mark.parametrize(
    ("marked", "first"),
    [
        ("¦", ["description"]),
        ("to¦", ["tools"]),
        ("tools:\n  ¦", ["- name:"]),
        ("tools:\n  - ¦", ["name", "tool", "description", "args", "server", "expect"]),
        ("tools:\n- na¦", ["name"]),
        (TEST + "    ¦", ["description", "args", "server", "expect"]),
        ("tools:\n  - name: x\n    tool: ¦", ["get_weather", "echo"]),
        ("tools:\n  - { name: x, tool: e¦", ["echo"]),
        (TEST + "    args: { ¦ }", ["city", "unit", "options"]),
        (TEST + "    args: { city: Oslo, un¦ }", ["unit"]),
        (TEST + "    args: { unit: ¦ }", ["celsius", "fahrenheit"]),
        (TEST + "    args:\n      unit: f¦", ["fahrenheit"]),
        (TEST + "    args:\n      city: Oslo\n      ¦", ["unit", "options"]),
        (TEST + "    args:\n      options:\n        ¦", ["deep"]),
        (TEST + "    expect:\n      - ¦", ["{ target, matcher }", "target", "matcher"]),
        (TEST + "    expect:\n      ¦", ["- { target, matcher }", "assertions"]),
        (TEST + '    expect:\n      - { target: "result.c¦', ["result.content[0].text", "result.content"]),
        (TEST + '    expect:\n      - { target: "result.structuredContent.¦" }', ["result.structuredContent.wind"]),
        (TEST + "    expect:\n      - { target: x, matcher: { con¦ } }", ["contains", "contains-all", "contains-any"]),
        (TEST + "    expect:\n      - target: x\n        matcher: ¦", ["exact", "not"]),
        (TEST + "    expect:\n      - target: x\n        matcher:\n          starts¦", ["starts-with"]),
        (TEST + "    verify:\n      - tool: get_weather\n        args: { ci¦", ["city"]),
        ("tools: [\n  { name: x, tool: get_weather,\n    args: {\n      city: a,\n      ¦", ["unit", "options"]),
        ('{"servers": {"demo": {}}, "tools": [{"tool": "get_weather", "args": {¦', ["city"]),
        (TEST + "    server: ¦", ["demo"]),
        (TEST + "    serial: t¦", ["true"]),
        (TEST + "    fresh: ¦", ["true", "false", "group"]),
        (TEST + "    fre¦", ["fresh"]),
        (TEST + "    fault: ¦", ["drop_response", "disconnect"]),
        ("prompts:\n  - name: x\n    prompt: ¦", ["greet"]),
        ("prompts:\n  - name: x\n    prompt: greet\n    args: { ¦ }", ["who"]),
        ("prompts:\n  - name: x\n    expect:\n      - { target: ¦", ["result.messages[0].content.text"]),
        ("resources:\n  - name: x\n    uri: ¦", ["file:///a"]),
        ("run_options:\n  con¦", ["concurrency", "connect_timeout_ms"]),
        ("ev¦", ["evals"]),
        ("evals:\n  - name: x\n    call:\n      tool: ¦", ["get_weather", "echo"]),
        ("evals:\n  - name: x\n    call: { tool: get_weather, args: { ci¦", ["city"]),
        ("evals:\n  - name: x\n    judge: { ¦ }", ["model", "models", "jury", "guarded"]),
        (SCORERS + "evals:\n  - name: x\n    scorers: [¦]", ["polite", "brief one"]),
        (SCORERS + "evals:\n  - name: x\n    scorers:\n      - br¦", ["brief one"]),
        (TEST + "    group: accounts\n  - name: two\n    group: ¦", ["accounts"]),
        (TEST + "    group: accounts\ncompositions:\n  - { name: two, group: a¦ }", ["accounts"]),
        ("scorers:\n  - { name: x, type: exec, ¦ }", ["command", "env", "cwd"]),
        ("agents:\n  - name: x\n    tool_selection: { tool: ¦ }", ["get_weather", "echo"]),
        ("agents:\n  - name: x\n    trajectory:\n      calls: [get_weather, e¦]", ["echo"]),
        ("agents:\n  - name: x\n    equal_function_sets: [[¦]]", ["get_weather", "echo"]),
        ("agents:\n  - name: x\n    trajectory: { mode: su¦ }", ["subsequence", "superset", "subset"]),
        ("agents:\n  - name: x\n    tool_edges: { delegation: [{ from: ¦ }] }", ["get_weather", "echo"]),
        ("agents:\n  - name: x\n    distractors: { of: [¦] }", ["get_weather", "echo"]),
        ("agents:\n  - name: x\n    distractors: { from: ¦ }", ["catalog", "near_duplicate"]),
        ("agents:\n  - name: x\n    tools: { ¦ }", ["allow", "deny", "dry"]),
        ("agents:\n  - name: x\n    tools: { dry: [¦] }", ["get_weather", "echo"]),
        ("evals:\n  - name: x\n    tools:\n      deny:\n        - ¦", ["get_weather", "echo"]),
        (
            TEST + "    expect:\n      - { target: x, matcher: { llm-judge: { ¦ } } }",
            ["rubric", "threshold", "model", "models", "jury"],
        ),
        ("tools:\n  - name: ${¦", ["city", "CONFIG_DIR"]),
        ('tools:\n  - name: "in ${ci¦}"', ["city"]),
        (TEST + "    args: &a { ¦", ["city"]),
    ],
)
def test_what_fits_is_offered_and_the_most_useful_comes_first(marked: str, first: list[str]) -> None:
    assert _labels(marked)[: len(first)] == first


@pytest.mark.parametrize(
    "marked",
    [
        "tools:\n  - name: x # tool¦",
        "tools:\n  - name: |\n      tool: ¦",
        "tools:\n  - name: >-\n      a\n      to¦",
        "tools:\n  -¦",
        "tools:\n  - name: anything ¦",
        TEST + "    skip: |\n      yes\n    # exp¦",
    ],
)
def test_where_nothing_can_be_said_nothing_is_offered(marked: str) -> None:
    assert _labels(marked) == []


def test_a_bracket_in_a_text_far_above_swallows_nothing() -> None:
    assert _labels("tools:\n  - name: |\n      { [ ,\n    tool: e¦")[0] == "echo"


@pytest.mark.parametrize(
    ("marked", "label", "after"),
    [
        ("to¦", "tools", "tools:\n  - ¦"),
        (TEST + "    ex¦", "expect", TEST + "    expect:\n      - ¦"),
        (TEST + "    a¦", "args", TEST + "    args: { ¦ }"),
        (TEST + "    to¦ol: echo", "tool", None),
        (TEST + "    expect:\n      - ¦", "{ target, matcher }", TEST + '    expect:\n      - { target: "¦", matcher: {  } }'),
        (SPREAD + "¦", "contains", SPREAD + "{ contains: ¦ }"),
        (FLOW + "re¦, matcher: {} }", "result.content[0].text", FLOW + '"result.content[0].text"¦, matcher: {} }'),
        ("tools:\n  - name: ${ci¦", "city", "tools:\n  - name: ${city}¦"),
        ("tools:\n  - name: ${ci¦}", "city", "tools:\n  - name: ${city¦}"),
        ("resources:\n  - name: x\n    uri: ¦", "file:///a", 'resources:\n  - name: x\n    uri: "file:///a"¦'),
        ('resources:\n  - name: x\n    uri: "f¦"', "file:///a", 'resources:\n  - name: x\n    uri: "file:///a¦"'),
    ],
)  # fmt: skip
def test_what_was_chosen_takes_the_place_of_what_was_typed(marked: str, label: str, after: str | None) -> None:
    if after is None:
        assert label not in _labels(marked.replace("to¦ol", "zz¦ol"))
    else:
        assert _after(marked, label) == after


def test_keys_that_are_there_already_are_not_offered_again() -> None:
    assert not {"name", "tool"} & set(_labels(TEST + "    ¦"))
    assert "target" not in _labels(TEST + "    expect:\n      - { target: x, ¦ }")
    assert _labels(TEST + "    expect:\n      - { target: x, matcher: { exact: 1, ¦ } }") == []


def test_tools_of_a_server_that_is_not_known_are_those_that_the_suite_uses() -> None:
    labels = [item.label for item in _offered(TEST + "  - name: two\n    tool: ¦", catalog={}).items]
    assert labels[0] == "get_weather"


def test_every_server_has_its_own_tools() -> None:
    head = "servers:\n  one: { command: [a] }\n  two:\n    command: [b]\n"
    catalog = {"one": {"tools": [{"name": "first"}]}, "two": {"tools": [{"name": "second"}]}}
    text, line, column = _at("tools:\n  - server: two\n    tool: ¦", head)
    assert complete(text, line, column, catalog).items[0].label == "second"


@pytest.mark.parametrize(
    ("marked", "title", "part"),
    [
        (TEST + "    exp¦ect: []", "expect", "The expectations"),
        (TEST + "    args: { un¦it: celsius }", "unit", ""),
        (TEST + "    args: { city: Oslo¦ }", "city", "Where"),
        ("tools:\n  - tool: get_wea¦ther", "get_weather", "Of a city."),
        ("tools:\n  - server: de¦mo", "demo", "command: [a, b]"),
        (TEST + '    expect:\n      - { target: "result.isErr¦or" }', "result.isError", "Whether the tool"),
        (TEST + "    expect:\n      - { matcher: { conta¦ins: x } }", "contains", "A substring"),
        ("tools:\n  - name: ${ci¦ty}", "${city}", "Oslo"),
        ("ser¦vers2: {}", None, ""),
        ("# no¦thing", None, ""),
    ],
)
def test_the_word_under_the_cursor_is_explained(marked: str, title: str | None, part: str) -> None:
    told = hover(*_at(marked), CATALOG)
    assert (None if told is None else told.title) == title
    assert told is None or part in told.text


def test_an_explanation_says_what_a_key_takes_and_shows_examples() -> None:
    told = hover(*_at(TEST + "    fau¦lt: x"), CATALOG)
    assert told is not None
    assert told.takes == "drop_response | disconnect"
    assert told.examples == ("fault: drop_response", "fault: { delay_ms: 250 }")


WORDS = "tools: name: args: get_weather expect: servers: demo: { } [ ] , ' > # ${ : &a *a !t \\ é 💥 - ? | \""
PIECES = st.sampled_from([*WORDS.split(), " ", "- ", "\n", "\n  ", "\n    ", "\t", "\r\n"])
KEYWORDS = st.sampled_from(
    "type properties items enum $ref anyOf required name inputSchema description arguments args examples const then".split()  # noqa: SIM905
)
SCHEMAS = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.sampled_from(["#", "#/properties", "object", "string", ""])),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYWORDS, inner, max_size=4)),
    max_leaves=20,
)
PLACES = st.sampled_from(
    [
        TEST + "    args: { ¦ }",
        "tools:\n  - tool: ¦",
        TEST + '    expect:\n      - { target: "¦"',
        TEST + "    args:\n      a:\n        b: ¦",
    ]
)


@given(pieces=st.lists(PIECES, max_size=30), line=st.integers(-2, 20), column=st.integers(-2, 40))
@settings(deadline=None, max_examples=150)
def test_no_half_typed_text_breaks_it(pieces: list[str], line: int, column: int) -> None:
    assert _unusable(HEAD + "".join(pieces), line, column, CATALOG) == []


@given(catalog=SCHEMAS, place=PLACES)
@settings(deadline=None, max_examples=150)
def test_no_catalog_breaks_it(catalog: Any, place: str) -> None:
    text, line, column = _at(place)
    tool = {"name": "get_weather", "inputSchema": catalog, "outputSchema": catalog}
    assert _unusable(text, line, column, {"demo": catalog}) == []
    assert _unusable(text, line, column, {"demo": {"tools": [tool]}}) == []


@given(suite=written(), data=st.data())
@settings(deadline=None, max_examples=60)
def test_no_place_of_a_suite_breaks_it(suite: Any, data: Any) -> None:
    at = data.draw(st.integers(0, len(suite.text)))
    before = suite.text[:at]
    assert _unusable(suite.text, before.count("\n") + 1, len(before) - before.rfind("\n"), CATALOG) == []


def _unusable(text: str, line: int, column: int, catalog: Any) -> list[object]:
    """The span, the items and the help at a place that an editor could not use."""
    found = complete(text, line, column, catalog)
    row, start, end = found.replace_span
    told = hover(text, line, column, catalog)
    return [
        *([] if row == line and start <= end else [found.replace_span]),
        *(one for one in found.items if not (one.label and one.insert and 0 <= one.back <= len(one.insert))),
        *([] if told is None or told.title else [told]),
    ]


@pytest.mark.parametrize(
    "marked",
    [
        FLOW + '"result.isError", matcher: { ¦ } }',
        SPREAD.replace("target: x", "target: result.isError") + "\n          ¦",
    ],
)
def test_for_a_flag_that_answers_may_leave_out_the_matcher_that_holds_without_it_comes_first(marked: str) -> None:
    assert _labels(marked)[0] == "not: { exact: true }"
    assert "not: { exact: true }" not in _labels(marked.replace("result.isError", "result.content"))


def test_the_columns_of_a_tests_own_cases_are_offered_where_they_have_a_value(tmp_path: Path) -> None:
    (tmp_path / "cities.csv").write_text('name,city,"least, most"\nnorth,Oslo,1\n')
    (tmp_path / "cities.jsonl").write_text('{"town": "Oslo"}\n{"town": "Rome", "deep": {"x": 1}}\n')
    (tmp_path / "broken.json").write_text("[{")
    inline = (
        "    cases:\n      - { name: a, vars: { query: ada } }\n      - name: b\n        vars:\n          least: 1\n"
    )
    other = "  - name: other\n    tool: echo\n    cases: [{ name: a, vars: { elsewhere: 1 } }]\n"

    def offered(marked: str) -> list[str]:
        found = complete(*_at(marked), CATALOG, folder=tmp_path).items
        return [item.insert for item in found if item.label.startswith("var.")]

    own = ["var.query}", "var.least}"]
    assert offered(TEST + '    args: { city: "${¦\n' + inline + other) == own
    assert offered(TEST + '    args:\n      city: "${var.¦\n' + inline + other) == own
    assert offered(TEST + '    args: { city: "${var.l¦}" }\n' + inline) == ["var.least}"]
    assert offered(TEST + inline + '    expect:\n      structured.x: { between: [0, "${var.¦') == own
    assert offered(TEST + inline + '      - { name: c, expect: { text: "${var.¦') == own
    assert offered(TEST + '    args: { city: "${var.¦\n    cases: cities.csv # of the north\n') == [
        "var.name}",
        "var.city}",
        "var.least, most}",
    ]
    assert offered('resources:\n  - { name: r, cases: cities.jsonl, uri: "${var.¦') == ["var.town}", "var.deep}"]
    for nothing in ("missing.csv", "broken.json", "odd.txt", ".", "[", "3", "[[a], { vars: 3 }]", '"a\\0b.csv"'):
        assert offered(TEST + f'    args: {{ city: "${{var.¦\n    cases: {nothing}\n') == []
    assert offered(TEST + inline + '    timeout_ms: "${var.¦') == []

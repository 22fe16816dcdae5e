"""`mcptest fmt --short` and `--long`: assertions in the other form, everything else byte for byte as it was."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from mcptest_engine.cli.main import main
from mcptest_engine.suite.assertion_forms import with_assertions
from mcptest_engine.suite.items import normalised_expect
from mcptest_engine.suite.short_assertions import with_long_assertions
from mcptest_engine.suite.text_edits import EditRefused
from mcptest_engine.suite.yaml import read_tree

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").rglob("*.yml"))

LONG = """# a comment
tools:
  - name: a   # beside a name
    tool: t
    expect:
      # above an assertion
      - { target: "result.content[0].text", matcher: { contains: 'x' } }  # behind it
      - target: result.structuredContent.total
        matcher:
          schema:
            type: object

      - { target: "result.content[1].text", matcher: { exact: "two" } }
    tags: [ x,y ]
  - name: b
    tool: t
    expect: [{ target: error.code, matcher: { exact: -32602 } }, { target: "result.tools[0].name", matcher: { type: string } }]
  - name: c
    tool: t
    expect:
      max_duration_ms: 5
      assertions:
        - { target: result.isError, matcher: { exact: true } }
  - name: d
    tool: t
    expect:
    - { target: "result.content[0].text", matcher: { contains: x } }
    - { target: "result.content[0].text", matcher: { regex: y } }
"""
TWO_APART = """- { target: error, matcher: { exists: true } }
      - { target: result, matcher: { exists: false } }
      - { target: error, matcher: { type: object } }"""
SHORT = """# a comment
tools:
  - name: a   # beside a name
    tool: t
    expect:
      # above an assertion
      text: { contains: 'x' }  # behind it
      structured.total:
        schema:
          type: object

      result.content[1].text: "two"
    tags: [ x,y ]
  - name: b
    tool: t
    expect: { error.code: -32602, "result.tools[0].name": { type: string } }
  - name: c
    tool: t
    expect:
      max_duration_ms: 5
      result.isError: true
  - name: d
    tool: t
    expect:
      text: { contains: x, regex: y }
"""


def test_the_short_form_is_written_where_the_long_one_stood() -> None:
    found = with_assertions(LONG, short=True)
    assert (found.text, found.changed, found.left) == (SHORT, 4, ())


def test_the_long_form_comes_back() -> None:
    found = with_assertions(SHORT, short=False)
    assert found.changed == 4
    indented = LONG.replace("\n    - { target", "\n      - { target")
    assert found.text == indented


def test_line_ends_and_the_byte_order_mark_stay() -> None:
    text = "\ufeff" + LONG.replace("\n", "\r\n")
    found = with_assertions(text, short=True).text
    assert found == "\ufeff" + SHORT.replace("\n", "\r\n")


@pytest.mark.parametrize(
    ("items", "reason"),
    [
        (
            "- { target: error, matcher: { exists: false }, name: n }",
            "an assertion has `name`, which the short form lacks",
        ),
        ("- assert-set: { assertions: [] }", "an assertion has `assert-set`, which the short form lacks"),
        ("- target: error  # why\n        matcher: { exists: false }", "a comment, an anchor or a tag"),
        (
            "- { target: error, matcher: { exists: true } }\n      - { target: error, matcher: { exists: true } }",
            "two matchers for `error` have the same name",
        ),
        (
            TWO_APART,
            "other assertions stand between those on `error`",
        ),
        ("- &one { target: error, matcher: { exists: false } }", "a comment, an anchor or a tag"),
    ],
)
def test_what_the_short_form_cannot_say_stays_with_a_reason(items: str, reason: str) -> None:
    text = f"tools:\n  - name: a\n    tool: t\n    expect:\n      {items}\n"
    found = with_assertions(text, short=True)
    assert (found.text, found.changed) == (text, 0)
    ((line, told),) = found.left
    assert line == 4
    assert reason in told


def test_an_expect_that_others_share_stays() -> None:
    text = """tools:
  - { name: a, tool: t, expect: &e [{ target: error, matcher: { exists: false } }] }
  - { name: b, tool: t, expect: *e }
"""
    found = with_assertions(text, short=True)
    assert found.text == text
    assert [told for _, told in found.left] == ["it is shared by an anchor"] * 2


def test_a_text_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(EditRefused):
        with_assertions("tools: [", short=True)


def meant(text: str) -> Any:
    """A suite with every `expect` in the long form, in one order of keys."""

    def normalised(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                key: sorted(normalised_expect(part).items(), key=str) if key == "expect" else normalised(part)
                for key, part in value.items()
            }
        return [normalised(part) for part in value] if isinstance(value, list) else value

    return normalised(with_long_assertions(read_tree(text, file="")).value)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_example_means_the_same_in_both_forms(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    short = with_assertions(text, short=True).text
    long = with_assertions(short, short=False).text
    assert meant(text) == meant(short) == meant(long)
    assert with_assertions(short, short=True).text == short


VALUES = (
    "1",
    "true",
    "'it''s'",
    '"a # b"',
    "a, b",
    "[x, {y: 1}]",
    "|\n            two\n            lines",
    "plain words",
    "-5.0",
)


def test_any_shape_of_values_and_indentation_means_the_same_in_both_forms() -> None:
    for seed in range(150):
        pick = random.Random(seed)
        lines = []
        for _ in range(pick.randint(1, 4)):
            target = pick.choice(["text", "structured.a", "json.b[0]", "error.code", "result.isError"])
            value, indent = pick.choice(VALUES), " " * 6
            is_flow = "\n" not in value and value != "a, b" and pick.random() < 0.5
            lines += [f"{indent}# note\n"] if pick.random() < 0.3 else []
            lines += [
                f'{indent}- {{ target: "{target}", matcher: {{ exact: {value} }} }}\n'
                if is_flow
                else f'{indent}- target: "{target}"\n{indent}  matcher:\n{indent}    exact: {value}\n'
            ]
        text = f"tools:\n  - name: n\n    tool: t\n    expect:\n{''.join(lines)}    tags: [a]\n"
        short = with_assertions(text, short=True).text
        long = with_assertions(short, short=False).text
        assert meant(text) == meant(short) == meant(long), text
        assert short.count("# note") == long.count("# note") == text.count("# note")


def test_the_command_converts_checks_and_lists_what_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite = tmp_path / "s.yml"
    suite.write_text(LONG, encoding="utf-8")
    assert main(["fmt", "--short", "--check", str(suite)]) == 1
    assert suite.read_text(encoding="utf-8") == LONG
    assert main(["fmt", "--short", str(suite)]) == 0
    assert suite.read_text(encoding="utf-8") == SHORT
    assert main(["fmt", "--short", "--check", str(suite)]) == 0
    told = capsys.readouterr().out
    assert "would be changed: the assertions in 4 places to the short form" in told
    assert "nothing to change" in told


@pytest.mark.parametrize("form", [[], ["--short"]])
def test_the_command_names_the_file_that_it_cannot_format_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], form: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("broken.yml").write_text("tools:\n  - {\n", encoding="utf-8")
    Path("cr.yml").write_bytes(b"tools: []\rname: x\r")
    Path("s.yml").write_text(LONG, encoding="utf-8")
    assert main(["fmt", *form, "broken.yml", "nowhere.yml", "cr.yml", "s.yml"]) == 2
    out, err = capsys.readouterr()
    assert "broken.yml:2:5: the `{` opened here is not closed" in err
    assert "nowhere.yml: there is no such file" in err
    assert form or "cr.yml: tabs and lone carriage returns cannot be formatted" in err
    assert "s.yml: " in out


def test_one_test_alone_can_be_converted() -> None:
    found = with_assertions(SHORT, short=False, test=("tools", 2))
    changed = (
        "      max_duration_ms: 5\n      assertions:\n        - { target: result.isError, matcher: { exact: true } }\n"
    )
    assert found.text == SHORT.replace("      max_duration_ms: 5\n      result.isError: true\n", changed)


def test_a_suite_in_json_stays_json() -> None:
    test = {"name": "a", "tool": "t", "expect": [{"target": "result.content[0].text", "matcher": {"contains": "x"}}]}
    budget = {"max_duration_ms": 5, "assertions": [{"target": "result.a b", "matcher": {"exact": 1}}]}
    text = json.dumps({"tools": [test, {"name": "b", "tool": "t", "expect": budget}]}, indent=2)
    short = with_assertions(text, short=True).text
    assert [one["expect"] for one in json.loads(short)["tools"]] == [
        {"text": {"contains": "x"}},
        {"max_duration_ms": 5, "result.a b": 1},
    ]
    assert json.loads(with_assertions(short, short=False).text) == json.loads(text)

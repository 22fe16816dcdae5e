"""What edits of a suite look like, and what is refused."""

from __future__ import annotations

import json

import pytest

from mcptest_engine.suite.edit import add_assertion, append_test, place_of_test, replace_expect, set_value
from mcptest_engine.suite.text_edits import EditRefused, apply, edit_between
from mcptest_engine.suite.yaml import read_tree
from mcptest_engine.suite.yaml_nodes import Node, compose

SUITE = """\
# A suite.
name: weather
servers:
  weather: { command: [python, server.py] }

tools:
  - name: one   # the first
    tool: get_weather
    args: { city: Oslo }

  - name: two
    tool: get_weather
    expect:
      - { target: result.isError, matcher: { exact: false } }  # kept
      # and this too

# the end
"""
TEST = {
    "name": "three",
    "tool": "alerts",
    "expect": [{"target": "result.content[0].text", "matcher": {"contains": "sun"}}],
}


def test_a_test_is_written_as_people_write_them_with_the_gap_that_the_others_have() -> None:
    after = apply(SUITE, append_test(SUITE, "tools", TEST))
    assert after == SUITE.replace(
        "# kept\n",
        "# kept\n"
        "\n"
        "  - name: three\n"
        "    tool: alerts\n"
        "    expect:\n"
        '      - { target: "result.content[0].text", matcher: { contains: sun } }\n',
    )


def test_a_block_that_is_not_there_is_made_at_the_end() -> None:
    after = apply(SUITE, append_test(SUITE, "prompts", {"name": "greets", "prompt": "hello"}))
    assert after == SUITE + "\nprompts:\n  - name: greets\n    prompt: hello\n"


def test_the_text_of_a_test_keeps_its_comments_and_its_quotes() -> None:
    told = "name: 'three'  # mine\ntool: alerts\n\n# why\nargs:\n    days: 3\n"
    after = apply(SUITE, append_test(SUITE, "tools", told))
    assert "  - name: 'three'  # mine\n    tool: alerts\n\n    # why\n    args:\n        days: 3\n" in after


def test_the_text_of_a_test_may_be_that_of_a_list_of_one() -> None:
    told = "  - name: three\n    tool: alerts\n"
    assert append_test(SUITE, "tools", told) == append_test(SUITE, "tools", {"name": "three", "tool": "alerts"})


def test_a_list_without_tests_becomes_a_block() -> None:
    after = apply(
        "tools: []  # none yet\nname: x\n",
        append_test("tools: []  # none yet\nname: x\n", "tools", {"name": "a", "tool": "t"}),
    )
    assert after == "tools:  # none yet\n  - name: a\n    tool: t\nname: x\n"


def test_an_empty_file_gets_its_first_block_behind_its_comments() -> None:
    assert (
        apply("# mine\n", append_test("# mine\n", "tools", {"name": "a", "tool": "t"}))
        == "# mine\ntools:\n  - name: a\n    tool: t\n"
    )


def test_json_stays_json() -> None:
    text = '{\n  "name": "x",\n  "tools": [\n    {"name": "a", "tool": "t"}\n  ]\n}\n'
    after = apply(text, append_test(text, "tools", {"name": "b", "tool": "t"}))
    assert after == text.replace('"t"}\n', '"t"},\n    {"name": "b", "tool": "t"}\n')


def test_an_assertion_is_added_to_the_test_on_a_line() -> None:
    after = apply(SUITE, add_assertion(SUITE, 13, "result.content[0].text", {"contains": "rain"}))
    assert after == SUITE.replace(
        "# and this too\n",
        '# and this too\n      - { target: "result.content[0].text", matcher: { contains: rain } }\n',
    )


def test_a_test_without_expectations_gets_its_first() -> None:
    after = apply(SUITE, add_assertion(SUITE, 7, "result.isError", {"exact": False}, name="ok", message="why"))
    assert after == SUITE.replace(
        "Oslo }\n",
        "Oslo }\n    expect:\n"
        '      - { target: "result.isError", matcher: { exact: false }, name: ok, message: why }\n',
    )


def test_an_assertion_goes_where_the_budgets_are() -> None:
    text = "tools:\n- name: a\n  tool: t\n  expect:\n    max_duration_ms: 5 # slow\n"
    after = apply(text, add_assertion(text, ("tools", 0), "error", {"exists": False}))
    assert after == text + '    assertions:\n      - { target: "error", matcher: { exists: false } }\n'


def test_assertions_spread_over_lines_get_one_that_is_spread_too() -> None:
    text = "tools:\n- name: a\n  tool: t\n  expect:\n  -   target: error\n      matcher:\n        exists: false\n"
    after = apply(text, add_assertion(text, 2, "result", {"exists": True}))
    assert after == text + '  -   target: "result"\n      matcher: { exists: true }\n'


def test_a_replaced_expectation_keeps_every_comment_beside_it() -> None:
    after = apply(
        SUITE, replace_expect(SUITE, ("tools", 1), [{"target": "result.isError", "matcher": {"exact": True}}])
    )
    assert after == SUITE.replace("exact: false", "exact: true")


NOTED = """\
tools:
  - name: one
    expect:
      # of a
      - { target: a, matcher: { exact: 1 } }  # A

      # of b
      - { target: b, matcher: { exact: 2 } }  # B

      # of c
      - target: c
        matcher: { exact: 3 }  # C
        # more of c
  # of two
  - name: two
"""
A, B, C = ({"target": name, "matcher": {"exact": number}} for number, name in enumerate("abc", 1))
OF_A = "      # of a\n      - { target: a, matcher: { exact: 1 } }  # A\n"
OF_B = "      # of b\n      - { target: b, matcher: { exact: 2 } }  # B\n"
OF_C = "      # of c\n      - target: c\n        matcher: { exact: 3 }  # C\n        # more of c\n"


@pytest.mark.parametrize(
    ("expect", "parts"),
    [
        ([B, C], [OF_B, OF_C]),
        ([A, C], [OF_A, OF_C]),
        ([A, B], [OF_A, OF_B]),
        ([B], [OF_B]),
        ([{"target": "b", "matcher": {"exact": 9}}], [OF_B.replace("2", "9")]),
        ([{"target": "x"}, A, B], ['      - { target: "x" }\n', OF_A, OF_B]),
        ([A, {"target": "x"}, B, C], [OF_A, '      - target: "x"\n', OF_B, OF_C]),
        ([A, B, {"target": "x"}, C], [OF_A, OF_B, '      - target: "x"\n', OF_C]),
    ],
)
def test_comments_stay_with_the_items_that_they_are_about(expect: list[object], parts: list[str]) -> None:
    head, tail = NOTED.split(OF_A)[0], "  # of two\n  - name: two\n"
    assert apply(NOTED, replace_expect(NOTED, ("tools", 0), expect)) == head + "\n".join(parts) + tail


def test_what_one_of_many_items_forbids_is_refused_without_trying_every_way_for_all_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each of them can be taken away in two ways, and the first, which an alias names, in none."""
    rows = "\n\n".join(f"      - {'&a ' * (number == 0)}{{ target: t{number} }}" for number in range(40))
    text = f"tools:\n  - name: a\n    expect:\n{rows}\n  - name: b\n    expect: [*a]\n"
    tried: list[str] = []

    def counting(told: str) -> Node | None:
        tried.append(told)
        assert len(tried) < 300
        return compose(told)

    monkeypatch.setattr("mcptest_engine.suite.edit.compose", counting)
    with pytest.raises(EditRefused, match="without changing something else"):
        replace_expect(text, ("tools", 0), [{"target": "t20"}])


def test_new_lines_end_as_the_others_do() -> None:
    text = SUITE.replace("\n", "\r\n")
    edit = append_test(text, "tools", TEST)
    assert apply(text, edit) == apply(SUITE, append_test(SUITE, "tools", TEST)).replace("\n", "\r\n")


def test_one_line_end_of_two_characters_is_no_gap() -> None:
    text = "tools:\r\n  - name: a\r\n    tool: t\r\n  - name: b\r\n    tool: t\r\n"
    after = apply(text, append_test(text, "tools", {"name": "c", "tool": "t"}))
    assert after == text + "  - name: c\r\n    tool: t\r\n"


def test_a_line_between_tests_belongs_to_none() -> None:
    assert [place_of_test(SUITE, line) for line in (1, 7, 9, 10, 14, 15, 17)] == [
        None,
        ("tools", 0),
        ("tools", 0),
        None,
        ("tools", 1),
        None,
        None,
    ]
    assert place_of_test("tools: [", 1) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tools: &a\n  - {name: x, tool: t}\nprompts: *a\n", "without changing something else"),
        ("x: &a\n  - {name: x, tool: t}\ntools: *a\n", "without changing something else"),
        ("tools: here\n", "`tools` contains something other than a list of tests"),
        ("tools: [\n", "the file cannot be read"),
        ("- a\n", "`tools` contains something other than a list of tests"),
    ],
)
def test_what_cannot_be_done_without_changing_something_else_is_refused(text: str, message: str) -> None:
    with pytest.raises(EditRefused, match=message):
        append_test(text, "tools", {"name": "a", "tool": "t"})


def test_an_anchor_that_nobody_uses_is_in_nobodys_way() -> None:
    text = "tools: &all\n  - &first\n    name: x\n    tool: t\n"
    after = apply(text, append_test(text, "tools", {"name": "a", "tool": "t"}))
    assert after == text + "  - name: a\n    tool: t\n"


def test_a_key_that_was_merged_in_can_be_overridden() -> None:
    text = "base: &b { tool: t, expect: [] }\ntools:\n  - <<: *b\n    name: x\n"
    after = apply(text, set_value(text, ("tools", 0, "tool"), "u"))
    assert after == text + "    tool: u\n"


def test_the_same_again_is_no_edit() -> None:
    assert apply(SUITE, set_value(SUITE, ("tools", 0, "tool"), "get_weather")) == SUITE


def test_a_difference_never_parts_a_line_end() -> None:
    before, after = "a\r\nb\r\n", "a\r\nx\r\nb\r\n"
    edit = edit_between(before, after)
    assert apply(before, edit) == after
    assert before[: edit.start].endswith(("\r\n", "")) and not before[: edit.start].endswith("\r")


LISTED = """\
tools:
  - name: a
    tool: x
    expect:  # of all
      # before
      - { target: a, matcher: { exact: 1 } }  # beside
      # between
      - target: b
        matcher:
          # inside
          not: { contains: leak }
      # after
  # about b
  - { name: b, tool: y }
"""
KEPT = [{"target": "a", "matcher": {"exact": 1}}, {"target": "b", "matcher": {"not": {"contains": "leak"}}}]
MORE = {"target": "c", "matcher": {"exact": 2}}


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_list_of_assertions_becomes_the_long_form_with_every_comment_where_it_was(newline: str) -> None:
    text = LISTED.replace("\n", newline)
    after = apply(text, replace_expect(text, ("tools", 0), {"assertions": [*KEPT, MORE], "max_duration_ms": 100}))
    assert (
        after.replace(newline, "\n")
        == """\
tools:
  - name: a
    tool: x
    expect:  # of all
      assertions:
        # before
        - { target: a, matcher: { exact: 1 } }  # beside
        # between
        - target: b
          matcher:
            # inside
            not: { contains: leak }
        # after
        - target: "c"
          matcher: { exact: 2 }
      max_duration_ms: 100
  # about b
  - { name: b, tool: y }
"""
    )


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        (
            "    expect: [ { target: a, matcher: { exact: 1 } } ]  # flow\n",
            "    expect:\n      assertions: [ { target: a, matcher: { exact: 1 } } ]  # flow\n      max_duration_ms: 100\n",
        ),
        (
            "    expect: [\n      { target: a, matcher: { exact: 1 } },  # leak\n    ]\n",
            (
                "    expect:\n      assertions: [\n        { target: a, matcher: { exact: 1 } },  # leak\n      ]\n"
                "      max_duration_ms: 100\n"
            ),
        ),
        (
            "    expect:\n    # one\n    - { target: a, matcher: { exact: 1 } }\n",
            (
                "    expect:\n      assertions:\n      # one\n      - { target: a, matcher: { exact: 1 } }\n"
                "      max_duration_ms: 100\n"
            ),
        ),
    ],
)
def test_other_styles_of_a_list_become_the_long_form_as_well(written: str, wanted: str) -> None:
    head, tail = "tools:\n  - name: a\n    tool: x\n", "  - { name: b, tool: y }\n"
    text = head + written + tail
    expect = {"assertions": KEPT[:1], "max_duration_ms": 100}
    assert apply(text, replace_expect(text, ("tools", 0), expect)) == head + wanted + tail


def test_json_becomes_the_long_form_in_json() -> None:
    text = '{"tools": [{"name": "a", "expect": [{"target": "a", "matcher": {"exact": 1}}]}]}\n'
    after = apply(text, replace_expect(text, ("tools", 0), {"assertions": KEPT[:1], "max_duration_ms": 100}))
    assert json.loads(after)["tools"][0]["expect"] == {"assertions": KEPT[:1], "max_duration_ms": 100}


def test_a_block_of_many_tests_is_replaced_whole() -> None:
    text = "tools:\n" + "".join(f"  - {{ name: {name}, tool: x }}\n" for name in "abcd")
    assert read_tree(apply(text, set_value(text, ("tools",), [None])), file="").value == {"tools": [None]}

"""What edits of a suite look like, and what is refused."""

from __future__ import annotations

import pytest

from mcptest_engine.suite.edit import (
    EditRefused,
    add_assertion,
    append_test,
    apply,
    edit_between,
    place_of_test,
    replace_expect,
    set_value,
)

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
        "# kept\n", '# kept\n      - { target: "result.content[0].text", matcher: { contains: rain } }\n'
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
        ("tools: here\n", "`tools` holds something else than a list of tests"),
        ("tools: [\n", "the file cannot be read"),
        ("- a\n", "`tools` holds something else than a list of tests"),
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

"""Editing one test of many without reading the others again: the same text, or none, as the whole reading gives."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcptest_engine.suite import edit as editing
from mcptest_engine.suite.edit import append_test, replace_expect
from mcptest_engine.suite.text_edits import EditRefused, apply
from mcptest_engine.suite.windows import window
from mcptest_engine.suite.yaml import read_tree

EXPECT = {
    "assertions": [{"target": "result.content[0].text", "matcher": {"exact": "new"}, "message": "m"}],
    "max_duration_ms": 100,
}
STYLES = {
    "plain": "  - name: test {n}\n    tool: status\n    expect:\n      - {{ target: result.a, matcher: {{ exact: {n} }} }}\n",
    "comments": "  # above {n}\n  - name: test {n}  # behind\n    # inside\n    tool: status\n    expect:\n"
    '      # why\n      - target: "result.a"  # here\n        matcher: {{ exact: {n} }}\n  # below {n}\n',
    "odd": "\n  -   name: 'test {n}'\n      tool:   status\n\n      expect:\n      - target: \"result.a\"\n        matcher:\n"
    "              exact: {n}\n",
    "flow": "  - {{ name: test {n}, tool: status, expect: [ {{ target: result.a,\n matcher: {{ exact: {n} }} }} ] }}\n",
    "json": '  - {{"name": "test {n}", "tool": "status", "expect": [{{"target": "result.a", "matcher": {{"exact": {n}}}}}]}}\n',
    "dash alone": "  -\n    name: test {n}\n    tool: status\n    expect: []\n",
    "block text": "  - name: test {n}\n    tool: status\n    description: |+\n      - name: no test\n\n    expect: []\n\n",
    "quoted over lines": '  - name: "test {n}\n  - name: no test\n  "\n    tool: status\n    expect: []\n',
    "own anchor": "  - name: &n{n} test {n}\n    tool: status\n    description: *n{n}\n    expect: []\n",
    "far anchor": "  - name: test {n}\n    tool: status\n    args: *shared\n    expect:\n"
    "      - {{ target: result.a, matcher: *equal }}\n",
    "merge": "  - <<: *test\n    name: test {n}\n    expect: []\n",
    "no expect": "  - name: test {n}\n    tool: status\n",
}
HEAD = (
    "name: many\nvariables:\n  shared: &shared {{ a: 1 }}\n  equal: &equal {{ exact: 1 }}\n"
    "  test: &test {{ tool: status, tags: [a] }}\nservers:\n  mock: {{ command: [cat] }}\n"
)
TAILS = {
    "nothing": "",
    "a key": "prompts:\n  - {{ name: p, prompt: x }}\n",
    "a comment": "# the end\n",
    "an end": "...\n",
}


def suite(styles: list[str], tail: str, *, newline: str, bom: bool, tools_first: bool = False) -> str:
    tests = "tools:\n" + "".join(STYLES[style].format(n=n) for n, style in enumerate(styles))
    head = HEAD.format()
    text = (tests + head if tools_first and not uses_anchors(styles) else head + tests) + TAILS[tail].format()
    return ("\ufeff" if bom else "") + text.replace("\n", newline)


def uses_anchors(styles: list[str]) -> bool:
    return bool({"far anchor", "merge"} & set(styles))


@st.composite
def suites(draw: st.DrawFn) -> tuple[str, int]:
    styles = draw(st.lists(st.sampled_from(sorted(STYLES)), min_size=1, max_size=5))
    text = suite(
        styles,
        draw(st.sampled_from(sorted(TAILS))),
        newline=draw(st.sampled_from(["\n", "\r\n"])),
        bom=draw(st.booleans()),
        tools_first=draw(st.booleans()),
    )
    return text, draw(st.integers(0, len(styles) - 1))


@given(made=suites())
@settings(deadline=None, max_examples=int(os.environ.get("WINDOW_EXAMPLES", "150")))
def test_after_a_replacement_only_the_expectation_of_that_test_differs(made: tuple[str, int]) -> None:
    text, index = made
    edit = replace_expect(text, ("tools", index), EXPECT)
    after = apply(text, edit)
    before_tree, tree = read_tree(text, file="").value, read_tree(after, file="").value
    wanted = [{**test, "expect": EXPECT} if at == index else test for at, test in enumerate(before_tree["tools"])]
    assert repr(tree) == repr({**before_tree, "tools": wanted}) or "<<" in text
    assert tree == {**before_tree, "tools": wanted}
    assert after.startswith("\ufeff") == text.startswith("\ufeff")
    if "\r\n" in text:
        assert "\n" not in after.replace("\r\n", "")
    places = read_tree(text, file="")
    offset = int(text.startswith("\ufeff"))
    start = places.index(("tools", index))
    end = places.index(("tools", index + 1))
    assert start is not None
    assert edit.start >= start + offset
    assert end is None or edit.end <= end + offset


@given(made=suites())
@settings(deadline=None, max_examples=100)
def test_a_window_gives_the_very_text_that_reading_everything_gives(made: tuple[str, int]) -> None:
    text, index = made
    fast = apply(text, replace_expect(text, ("tools", index), EXPECT))
    fast_added = apply(text, append_test(text, "tools", {"name": "new", "tool": "status"}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(editing, "window", lambda *_: None)
        assert apply(text, replace_expect(text, ("tools", index), EXPECT)) == fast
        assert apply(text, append_test(text, "tools", {"name": "new", "tool": "status"})) == fast_added


@pytest.mark.parametrize("tail", ["nothing", "a key"])
@pytest.mark.parametrize("style", list(STYLES))
def test_every_usual_style_has_a_window(style: str, tail: str) -> None:
    tree = read_tree(suite(["plain", style, "plain"], tail, newline="\n", bom=False), file="")
    assert all(window(tree, "tools", at, at + 1) is not None for at in range(3))


@pytest.mark.parametrize(
    "text",
    [
        "tools: [{ name: a, tool: t }]\n",
        "tools: &a\n  - { name: a, tool: t }\nprompts: *a\n",
        "x: &a\n  - { name: a, tool: t }\ntools: *a\n",
        "x: &a { tools: [{ name: a }] }\n<<: *a\n",
        "tools:\n  - &t { name: a, tool: t }\nprompts:\n  - *t\n",
        "tools:\n  - { name: &n a, tool: t }\nprompts:\n  - { name: *n }\n",
        "v: &v 1\nx: &v 2\ntools:\n  - { name: *v }\n",
        "tools:\n  - name: a\n    tool: &v t\nx: &v 2\n",
        "{ tools: [{ name: a }] }\n",
        "tools:\n  - - name: a\n",
    ],
)
def test_where_a_change_could_show_elsewhere_there_is_no_window(text: str) -> None:
    tree = read_tree(text, file="")
    found = window(tree, "tools", 0, 1)
    assert found is None or text.startswith("tools:\n  - -")


def test_a_value_that_is_used_elsewhere_is_not_changed() -> None:
    first = "  - name: a\n    tool: t\n    expect: &e [{ target: result, matcher: { exact: 1 } }]\n"
    text = f"tools:\n{first}  - {{ name: b, tool: t, expect: *e }}\n"
    with pytest.raises(EditRefused):
        replace_expect(text, ("tools", 0), EXPECT)
    after = read_tree(apply(text, replace_expect(text, ("tools", 1), EXPECT)), file="").value
    assert after["tools"][0]["expect"][0]["matcher"] == {"exact": 1}
    assert after["tools"][1]["expect"] == EXPECT


def test_a_test_is_found_by_any_of_its_lines() -> None:
    text = suite(["plain", "odd", "flow"], "a key", newline="\n", bom=False)
    first = text.split("\n").index("  -   name: 'test 1'") + 1
    edits = {replace_expect(text, line, EXPECT) for line in range(first, first + 7)}
    assert edits == {replace_expect(text, ("tools", 1), EXPECT)}
    with pytest.raises(EditRefused, match="there is no test on line 1"):
        replace_expect(text, 1, EXPECT)

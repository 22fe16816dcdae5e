"""Laws of `suite/edit.py`: the edited text reads as the edited tree, nothing else changes, and every edit can be taken back."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from mcptest_engine.core.errors import SuiteError
from mcptest_engine.suite.edit import add_assertion, append_test, replace_expect, set_value
from mcptest_engine.suite.text_edits import EditRefused, TextEdit, apply
from mcptest_engine.suite.yaml import read_tree
from tests.suite_edit.writing import ASSERTIONS, EXPECTS, SOME_TOOLS, TESTS, VALUES, Written, written

SLOW = settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None, max_examples=60
)


def _read(text: str) -> Any:
    return read_tree(text, file="").value


def _readable(suite: Written) -> Any:
    try:
        tree = _read(suite.text)
    except SuiteError:
        assume(False)
    assume(isinstance(tree, dict))
    return tree


def _notes(text: str) -> list[str]:
    return re.findall(r"# note \d+ \[\{", text)


def _holds(suite: Written, edit: TextEdit, wanted: Any) -> None:
    after = apply(suite.text, edit)
    assert repr(_read(after)) == repr(wanted)
    assert _notes(after) == _notes(suite.text)
    assert after.startswith("\ufeff") == suite.text.startswith("\ufeff")
    if "\r\n" in suite.text:
        assert not set("\r\n") & set(after.replace("\r\n", ""))


@given(suite=written(), test=TESTS, block=st.sampled_from(["tools", "resources"]))
@SLOW
def test_an_appended_test_is_the_last_of_its_block_and_nothing_else_changes(
    suite: Written, test: Any, block: str
) -> None:
    tree = _readable(suite)
    try:
        edit = append_test(suite.text, block, test)
    except EditRefused:
        assert _ends_in_a_text_block(suite.text)
        return
    _holds(suite, edit, {**tree, block: [*(tree.get(block) or ()), test]})


@given(suite=written(SOME_TOOLS), assertion=ASSERTIONS)
@SLOW
def test_an_added_assertion_is_the_last_of_its_test(suite: Written, assertion: Any) -> None:
    tree = _readable(suite)
    index = len(tree["tools"]) - 1
    try:
        edit = add_assertion(suite.text, ("tools", index), **assertion)
    except EditRefused:
        assert _ends_in_a_text_block(suite.text)
        return
    assertion = {key: assertion[key] for key in ("target", "matcher", "name") if key in assertion}
    test = dict(tree["tools"][index])
    expect = test.get("expect")
    if isinstance(expect, dict):
        test["expect"] = {**expect, "assertions": [*(expect.get("assertions") or ()), assertion]}
    else:
        test["expect"] = [*(expect or ()), assertion]
    _holds(suite, edit, {**tree, "tools": [*tree["tools"][:index], test]})


@given(suite=written(SOME_TOOLS), expect=EXPECTS)
@SLOW
def test_a_replaced_expect_leaves_the_rest_of_the_suite_alone(suite: Written, expect: Any) -> None:
    tree = _readable(suite)
    try:
        edit = replace_expect(suite.text, ("tools", 0), expect)
    except EditRefused:
        assert _ends_in_a_text_block(suite.text)
        return
    after = apply(suite.text, edit)
    assert repr(_read(after)) == repr({**tree, "tools": [{**tree["tools"][0], "expect": expect}, *tree["tools"][1:]]})


@given(
    rows=st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans(), st.booleans()), min_size=2, max_size=6),
    flow=st.booleans(),
    newline=st.sampled_from(["\n", "\r\n"]),
)
@SLOW
def test_items_that_are_taken_away_take_their_comments_along_and_no_others(
    rows: list[tuple[bool, bool, bool, bool]], flow: bool, newline: str
) -> None:
    """Each row: whether it is kept, spread over lines, has a comment above and one behind it."""
    assume(any(kept for kept, *_ in rows))
    told = [(kept, _item_with_comments(number, *style, flow=flow)) for number, (kept, *style) in enumerate(rows)]
    head, tail = ("expect: [", "      ]") if flow else ("expect:", "  - name: last")

    def text_of(parts: list[str]) -> str:
        return "\n".join(["tools:", "  - name: a", f"    {head}", *parts, tail, ""]).replace("\n", newline)

    before = text_of([part for _, part in told])
    kept = [part for is_kept, part in told if is_kept]
    expect = [{"target": f"t{number}"} for number, (is_kept, _) in enumerate(told) if is_kept]
    after = apply(before, replace_expect(before, ("tools", 0), expect))
    assert after == text_of(kept)


def _item_with_comments(number: int, spread: bool, above: bool, behind: bool, *, flow: bool) -> str:
    if flow:
        return f"      {{ target: t{number} }},{f'  # behind {number}' if behind else ''}"
    dash = "-\n        " if spread else "- "
    lead = f"      # above {number}\n" if above else ""
    return f"{lead}      {dash}target: t{number}{f'  # behind {number}' if behind else ''}"


@given(suite=written(), value=VALUES, data=st.data())
@SLOW
def test_any_value_can_be_put_anywhere(suite: Written, value: Any, data: Any) -> None:
    tree = _readable(suite)
    path = data.draw(st.sampled_from(list(_paths(tree))))
    try:
        edit = set_value(suite.text, path, value)
    except EditRefused:
        assert _ends_in_a_text_block(suite.text)
        return
    after = apply(suite.text, edit)
    assert repr(_read(after)) == repr(_with(tree, path, value))


@given(text=st.text(max_size=200), test=TESTS)
@SLOW
def test_no_text_whatever_breaks_the_editing(text: str, test: Any) -> None:
    try:
        edit = append_test(text, "tools", test)
    except EditRefused:
        return
    tree = _read(apply(text, edit))
    assert tree["tools"][-1] == test


@given(
    before=st.text(alphabet="ab\r\n", max_size=12),
    edits=st.lists(st.tuples(st.integers(0, 12), st.integers(0, 4), st.text(max_size=3)), max_size=4),
)
def test_several_edits_at_once_are_the_same_as_one_by_one_from_the_end(
    before: str, edits: list[tuple[int, int, str]]
) -> None:
    taken, at = [], 0
    for skip, length, text in edits:
        start = min(at + skip, len(before))
        end = min(start + length, len(before))
        taken.append(TextEdit(start, end, text))
        at = end
    one_by_one = before
    for edit in reversed(taken):
        one_by_one = apply(one_by_one, edit)
    assert apply(before, taken) == one_by_one


def _ends_in_a_text_block(text: str) -> bool:
    """A block scalar at the end of a file without a last line break: one more line would change it."""
    lines = text.splitlines()
    return not text.endswith("\n") and any(re.search(r"[|>][-+]?\s*$", line) for line in lines[-2:-1])


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Any:
    if path:
        yield path
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _paths(part, (*path, key))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _paths(part, (*path, index))


def _with(tree: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    if isinstance(tree, dict):
        return {**tree, path[0]: _with(tree[path[0]], path[1:], value)}
    return [*tree[: path[0]], _with(tree[path[0]], path[1:], value), *tree[path[0] + 1 :]]

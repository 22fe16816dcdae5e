"""The target language."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest_engine.core.targets import (
    EVERY,
    Absent,
    Spread,
    TargetSyntaxError,
    parse_target,
    render,
    resolve,
)

ENVELOPE = {
    "result": {
        "content": [{"type": "text", "text": "one"}, {"type": "image"}, {"type": "text", "text": "three"}],
        "a.b": {"": None},
        "0": "zero",
    },
    "error": None,
}
KEYS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
SEGMENTS = st.lists(st.one_of(KEYS, st.integers(-999, 999), st.just(EVERY)), min_size=1, max_size=8)


def at(text: str, envelope: object = ENVELOPE) -> object:
    return resolve(parse_target(text), envelope)


@pytest.mark.parametrize(
    ("text", "segments"),
    [
        ("result", ("result",)),
        (".result.x", ("result", "x")),
        ("result.content[0].text", ("result", "content", 0, "text")),
        ("result.content[-1]", ("result", "content", -1)),
        ('result["any key"]', ("result", "any key")),
        (r'["a\"b\\"].c', ('a"b\\', "c")),
        ("result.content[*].text", ("result", "content", EVERY, "text")),
        ("a[1][*][-2]", ("a", 1, EVERY, -2)),
        ("wörter.isError-x", ("wörter", "isError-x")),
    ],
)
def test_a_target_is_read_as_its_segments(text, segments):
    """The grammar."""
    assert parse_target(text).segments == segments


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("", 1, "cannot be empty"),
        ("result.", 8, "a name is expected after `.`"),
        ("result..x", 8, "a name is expected after `.`"),
        ("result.[0]", 8, "write `[…]` without the `.`"),
        ("result.content[", 16, "is expected after `[`"),
        ("result.content[0", 17, "`]` is expected"),
        ("result.content[abc]", 16, "a key in double quotes"),
        ("result['a']", 8, "a key in double quotes"),
        ('result["a]', 11, 'the closing `"` is missing'),
        (r'result["\q"]', 9, "not a JSON string"),
        ("result]", 7, "`]` closes nothing"),
        ("result[0]x", 10, "`.` or `[` is expected after `]`"),
        ("result.a b", 9, "a name cannot contain a space"),
        (" result", 1, "starts with a name"),
        ("result.a'b", 9, "a name cannot contain `'`"),
        (f"a[{'9' * 5000}]", 3, "too large"),
    ],
)
def test_a_syntax_error_names_the_column_of_the_fault(text, column, words):
    """A load error with the column of the fault."""
    with pytest.raises(TargetSyntaxError) as refused:
        parse_target(text)
    assert refused.value.column == column
    assert words in refused.value.message


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("error", None),
        ("result.content[0].text", "one"),
        ("result.content[-1].text", "three"),
        ('result["a.b"]', {"": None}),
        ('result["a.b"][""]', None),
        ("result.0", "zero"),
        ("result.content[*].type", ["text", "image", "text"]),
    ],
)
def test_a_target_leads_to_its_value(text, value):
    assert at(text) == value


@pytest.mark.parametrize(
    ("text", "parent_resolves"),
    [
        ("result.isError", True),
        ("result.contnet[0].text", False),
        ("result.content[3]", True),
        ("result.content[-4]", True),
        ("result.content.text", True),
        ("result.content[0].text.x", True),
        ("error.code", True),
        ("error.data.x", False),
        ("result[*]", True),
        ("result[0]", True),
        ("reslut.content", False),
    ],
)
def test_what_leads_nowhere_is_absent_and_knows_whether_its_parent_is_there(text, parent_resolves):
    """`[*]` on a non-array does not exist; `not` asks whether all but the last segment resolve."""
    found = at(text)
    assert isinstance(found, Absent)
    assert found.parent_resolves is parent_resolves


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "result.contnet[0].text",
            "`result.contnet` does not exist; `result` has `content`, `a.b`, `0`; did you mean `content`?",
        ),
        ("result.content[3].text", "`result.content[3]` does not exist; `result.content` has 3 elements"),
        (
            "result.content.text",
            (
                "`result.content.text` does not exist; `result.content` is an array of 3 elements;"
                " name one with `[0]`, or all with `[*]`"
            ),
        ),
        (
            "result.content.0",
            "`result.content.0` does not exist; `result.content` is an array of 3 elements; write `[0]`",
        ),
        ("error.code", "`error.code` does not exist; `error` is null"),
        ("result.content[0].text.x", "`result.content[0].text.x` does not exist; `result.content[0].text` is a string"),
        ("content", "`content` does not exist; did you mean `result.content`?"),
        ("resutl", "`resutl` does not exist; a target starts with `result`, `error`; did you mean `result`?"),
    ],
)
def test_an_absent_value_says_what_is_there_instead(text, reason):
    """The longest prefix that resolves, what is there, and the nearest key."""
    found = at(text)
    assert isinstance(found, Absent)
    assert found.reason == reason


def test_a_text_that_holds_json_hints_at_the_transform():
    found = at("result.text.id", {"result": {"text": '{"id": 1}'}})
    assert isinstance(found, Absent)
    assert "`transform: {jq: fromjson}`" in found.reason


def test_keys_of_a_server_are_shown_safely_and_not_all():
    """Every string from a server passes the sanitiser."""
    found = at("result.x", {"result": {"\x1b[31m": 1, **{f"k{n}": 1 for n in range(50)}}})
    assert isinstance(found, Absent)
    assert "\x1b" not in found.reason
    assert "and 43 more" in found.reason


def test_an_element_that_lacks_the_member_is_an_absent_entry():
    found = at("result.content[*].text")
    assert isinstance(found, Spread)
    assert [entry for entry in found if not isinstance(entry, Absent)] == ["one", "three"]
    index, entry = found.first_absent
    assert index == 1
    assert entry.reason == "`result.content[1].text` does not exist; `result.content[1]` has `type`"
    assert entry.parent_resolves


def test_several_stars_give_one_flat_list():
    """A further `[*]` streams on, as in JSONPath."""
    value = {"a": [{"b": [1, 2]}, {"b": []}, {"b": [3]}]}
    assert at("a[*].b[*]", value) == [1, 2, 3]
    assert at("a[*].b", value) == [[1, 2], [], [3]]


def test_an_absent_entry_beneath_several_stars_names_its_whole_path():
    found = at("a[*].b[*].c", {"a": [{"b": [{"c": 1}]}, {"b": [{"c": 2}, {}]}, {}]})
    assert isinstance(found, Spread)
    assert [getattr(entry, "reason", entry) for entry in found] == [
        1,
        2,
        "`a[1].b[1].c` does not exist; `a[1].b[1]` is an empty object",
        "`a[2].b` does not exist; `a[2]` is an empty object",
    ]


def test_a_star_over_an_empty_array_is_an_empty_list():
    assert at("a[*].b", {"a": []}) == []


def test_a_path_of_ten_thousand_segments_resolves_without_recursion():
    value: object = "deep"
    for _ in range(10_000):
        value = [value]
    assert at("a" + "[0]" * 10_000, {"a": value}) == "deep"


@given(SEGMENTS)
def test_reading_what_was_rendered_gives_the_same_segments(segments):
    """Law: parse after render is the identity."""
    assert parse_target(render(segments)).segments == tuple(segments)


@given(st.text(max_size=20))
def test_any_text_is_a_target_or_an_error_inside_it(text):
    """Law: no text does anything else."""
    try:
        parsed = parse_target(text)
    except TargetSyntaxError as refused:
        assert 1 <= refused.column <= len(text) + 1
    else:
        assert parse_target(render(parsed.segments)).segments == parsed.segments

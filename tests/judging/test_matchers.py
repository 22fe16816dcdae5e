"""Each matcher: what it holds for, and its exact words for what it does not."""

from __future__ import annotations

import math
from typing import Any

import pytest

from mcptest_engine.core.jq import run_program
from mcptest_engine.core.patterns import search
from mcptest_engine.core.targets import parse_target, resolve
from mcptest_engine.judging.matchers import MATCHERS, compile_matcher

ABSENT = "does not exist: `result` has `here`"
NAN = float("nan")
INF = float("inf")

HOLDS = [
    ({"exact": 1}, 1.0),
    ({"exact": 1.0}, 1),
    ({"exact": None}, None),
    ({"exact": {"a": [1, {"b": None}]}}, {"a": [1.0, {"b": None}]}),
    ({"exact": NAN}, NAN),
    ({"exact": 2**53 + 1}, 2**53 + 1),
    ({"one-of": [1, "a", None]}, None),
    ({"one-of": [[1]]}, [1.0]),
    ({"subset": {"a": {"b": [1]}}}, {"a": {"b": [1, 2], "c": 3}, "d": 4}),
    ({"subset": [{}, {"a": 1}]}, [{"x": 1}, {"a": 1, "b": 2}, 3]),
    ({"subset": "a"}, "a"),
    ({"contains": ""}, ""),
    ({"contains": {"a": 1}}, [{"a": 1.0}]),
    ({"contains": {"a": 1, "b": [2]}}, {"a": 1, "b": [2], "c": 3}),
    ({"contains": None}, [None]),
    ({"icontains": "STRASSE"}, "in der Straße"),
    ({"icontains": "B"}, ["a", "b"]),
    ({"contains-all": ["a", "b"]}, "cab"),
    ({"contains-all": []}, []),
    ({"contains-all": [{"a": 1}, {"b": 2}]}, {"a": 1, "b": 2}),
    ({"contains-any": ["x", "b"]}, "cab"),
    ({"contains-any": [{"a": 2}, {"b": 2}]}, {"a": 1, "b": 2}),
    ({"starts-with": "a"}, "ab"),
    ({"ends-with": "b"}, "ab"),
    ({"regex": "^b"}, "b"),
    ({"regex": "(?m)^b"}, "a\nb"),
    ({"lt": 2}, 1.5),
    ({"lt": INF}, 10**400),
    ({"lte": 2}, 2),
    ({"gt": 2}, INF),
    ({"gte": 2}, 2.0),
    ({"between": [1, 2]}, 1),
    ({"approx": {"value": 3, "tolerance": 0.1}}, 3.1),
    ({"approx": {"value": 0.3, "tolerance": 0}}, 0.3),
    ({"approx": {"value": INF, "tolerance": 1}}, INF),
    ({"approx": {"value": 10**400, "tolerance": 5}}, 10**400 + 5),
    ({"approx": {"value": 0.5, "tolerance": 10**400}}, 10**400),
    ({"approx": {"value": 3, "tolerance": 10**400}}, 4),
    ({"length": 3}, "äöü"),
    ({"length": 2}, {"a": 1, "b": 2}),
    ({"length": {"between": [0, 2]}}, []),
    ({"type": "integer"}, 3),
    ({"type": "number"}, 3),
    ({"type": "null"}, None),
    ({"type": "boolean"}, True),
    ({"type": "array"}, []),
    ({"type": "object"}, {}),
    ({"type": "string"}, ""),
    ({"exists": True}, None),
    ({"schema": {"type": "string", "format": "date"}}, "2026-01-31"),
    ({"schema": True}, None),
    ({"not": {"exact": 1}}, True),
    ({"all-of": []}, 1),
    ({"any-of": [{"exact": 1}, {"exact": 2}]}, 2),
    ({"each": {"type": "integer"}}, []),
    ({"some": {"exact": 1}}, [0, 1]),
    ({"jq": "false, true"}, 0),
    ({"jq": "0"}, 0),
]

FAILS = [
    ({"exact": 1}, True, "expected `1`, got `true`"),
    ({"exact": True}, 1, "expected `true`, got `1`"),
    ({"exact": 5}, "5", 'expected `5`, got `"5"`'),
    ({"exact": 2**53}, 2**53 + 1, "expected `9007199254740992`, got `9007199254740993`"),
    ({"exact": 2.0**53}, 2**53 + 1, "expected `9007199254740992.0`, got `9007199254740993`"),
    ({"exact": [1, 2]}, [1], "differs at `[1]`: expected `2`, got nothing"),
    ({"exact": [1]}, [1, 2], "differs at `[1]`: expected nothing, got `2`"),
    ({"exact": {"a": 1}}, {"a": 1, "b": None}, "differs at `b`: expected nothing, got `null`"),
    ({"exact": {"a/b": {"~": 1}}}, {"a/b": {"~": 2}}, "differs at `a/b.~`: expected `1`, got `2`"),
    ({"exact": {}}, [], "expected `{}`, got `[]`"),
    ({"one-of": [1, "1"]}, True, '`true` is none of `1`, `"1"`'),
    ({"subset": {"a": [1, 2]}}, {"a": [1]}, "differs at `a[1]`: expected `2`, got nothing"),
    ({"subset": {"a": {}}}, {"a": []}, "differs at `a`: expected `{}`, got `[]`"),
    ({"contains": 5}, "5", "a string can contain only strings, but `5` is a number; the value is `5`"),
    ({"contains": 1}, [True], "element `1` not found in `[true]`"),
    ({"contains": {"a": 1}}, {"a": 2}, "pair `a: 1` not found: the value there is `2`"),
    ({"contains": {"a": 1}}, {"b": 2}, 'pair `a: 1` not found in `{"b":2}`'),
    ({"contains": "a"}, {"a": 2}, 'an object can contain only pairs, but `"a"` is a string; the value is `{"a":2}`'),
    ({"contains": "a"}, 7, "expected a string, an array or an object, got a number, `7`"),
    ({"contains": "a"}, None, "expected a string, an array or an object, got null"),
    ({"icontains": "a"}, {"a": 1}, 'expected a string or an array, got an object, `{"a":1}`'),
    ({"icontains": "a"}, ["b", 1], 'element `"a"`, in any case, not found in `["b",1]`'),
    ({"contains-all": ["a", "x"]}, "cab", "substring `x` not found in `cab`"),
    ({"contains-all": ["x", "y"]}, "cab", 'substrings `"x"`, `"y"` not found in `cab`'),
    ({"contains-all": [1]}, 1, "expected a string, an array or an object, got a number, `1`"),
    ({"contains-any": []}, "a", "none of the substrings  found in `a`"),
    ({"contains-any": [1]}, True, "expected a string, an array or an object, got a boolean, `true`"),
    ({"starts-with": "a"}, 1, "expected a string, got a number, `1`"),
    ({"ends-with": "x\n"}, "x", "`x` does not end with `x\\n`"),
    ({"ends-with": "b"}, ["b"], 'expected a string, got an array, `["b"]`'),
    ({"regex": "1"}, 1, "expected a string, got a number, `1`"),
    ({"lt": 2}, "1", 'expected a number, got a string, `"1"`'),
    ({"lt": 2}, False, "expected a number, got a boolean, `false`"),
    ({"gt": 2}, NAN, "`NaN` is not greater than `2`"),
    ({"between": [1, 2]}, NAN, "`NaN` is not between `1` and `2`"),
    ({"between": [1, 2]}, None, "expected a number, got null"),
    ({"approx": {"value": 3, "tolerance": 0.1}}, 3.11, "`3.11` is not within `0.1` of `3`"),
    ({"approx": {"value": 3, "tolerance": 1}}, NAN, "`NaN` is not within `1` of `3`"),
    ({"approx": {"value": 3.5, "tolerance": 1}}, INF, "`Infinity` is not within `1` of `3.5`"),
    ({"approx": {"value": 3, "tolerance": 1}}, "3", 'expected a number, got a string, `"3"`'),
    ({"length": 2}, [1], "length is `1`, not `2`: `[1]`"),
    ({"length": 2}, 12, "expected a string, an array or an object, which have a length, got a number, `12`"),
    ({"type": "integer"}, 1.5, "expected an integer, got a number, `1.5`"),
    ({"type": "integer"}, True, "expected an integer, got a boolean, `true`"),
    ({"type": "integer"}, NAN, "expected an integer, got a number, `NaN`"),
    ({"type": "number"}, None, "expected a number, got null"),
    ({"type": "null"}, False, "expected null, got a boolean, `false`"),
    ({"type": "object"}, [], "expected an object, got an array, `[]`"),
    (
        {"schema": {"type": "string", "format": "date"}},
        "2026-02-31",
        '"2026-02-31" is not a "date" (`/format` in the schema)',
    ),
    ({"schema": {"$ref": "http://127.0.0.1:9/x"}}, 1, None),
    ({"schema": {"type": "string"}}, NAN, 'null is not of type "string" (`/type` in the schema)'),
    ({"schema": {}}, "\ud800", "the value contains half a character (a lone surrogate), which a schema cannot check"),
    ({"not": {"not": {"exact": 1}}}, 2, '`not: {"exact":1}` must not hold, but it does: it is `2`'),
    ({"all-of": [{"gt": 0}, {"lt": 5}]}, 7, "`7` is not less than `5`"),
    ({"any-of": []}, 1, "none of 0 holds: "),
    ({"each": {"each": {"gt": 0}}}, [[1], [1, 0]], "element [1]: element [1]: `0` is not greater than `0`"),
    ({"each": {"gt": 0}}, {"a": 1}, 'expected an array, got an object, `{"a":1}`'),
    ({"some": {"gt": 0}}, [], "no element fits: the array is empty"),
    ({"some": {"gt": 0}}, "ab", 'expected an array, got a string, `"ab"`'),
    ({"jq": "empty"}, 1, "jq `empty` gave no output"),
    ({"jq": "true, null"}, 1, "jq `true, null` gave `null` for `1`"),
    ({"jq": ".a"}, 1, 'jq `.a` failed: Cannot index number with string ("a")'),
    ({"jq": "nope"}, 1, "jq `nope` failed: nope/0 is not defined (line 1, column 1)"),
    ({"jq": "def f: f; f"}, 1, "jq `def f: f; f` was stopped after 1 s"),
    ({"snapshot": True}, 1, "snapshots are not available here"),
]

ARGUMENTS = {
    "one-of": [1], "not": {"not": {"exact": 1}}, "all-of": [{"exact": 1}], "any-of": [{"exact": 1}], "contains-all": [1],
    "contains-any": [1], "between": [1, 2], "approx": {"value": 1, "tolerance": 1}, "type": "null", "exists": True,
    "schema": True, "each": {"exists": False}, "some": {"exact": 1}, "jq": "true", "snapshot": True,
}  # fmt: skip


@pytest.mark.parametrize(("matcher", "value"), HOLDS, ids=lambda part: repr(part)[:60])
def test_a_matcher_holds(why, matcher, value):
    assert why(matcher, value) is None


@pytest.mark.parametrize(("matcher", "value", "message"), FAILS, ids=lambda part: repr(part)[:60])
def test_a_matcher_fails_with_these_words(why, matcher, value, message):
    """Each matcher's failure message is tested."""
    told = why(matcher, value)
    assert told is not None
    if message is not None:
        assert told == message


@pytest.mark.parametrize("name", [name for name in MATCHERS if name != "not"])
def test_no_matcher_but_not_holds_for_a_path_that_leads_nowhere(why, absent, name):
    """Absent is not null; the message names what is there."""
    assert why({name: ARGUMENTS.get(name, "1")}, absent) == ABSENT


def test_null_is_not_absent(why, absent):
    """`exact: null` on an absent path fails; `exists: false` passes."""
    assert why({"exact": None}, absent) == ABSENT
    assert why({"exists": False}, absent) is None
    assert why({"exists": True}, absent) == ABSENT
    assert why({"exists": False}, None) == "is present: `null`"


def test_not_holds_for_a_missing_member_and_not_for_a_misspelt_path(why, absent):
    """Only if all but the path's last segment resolve."""
    assert why({"not": {"exact": True}}, absent) is None
    lost = resolve(parse_target("result.contnet[0].text"), {"result": {"content": []}})
    assert why({"not": {"contains": "x"}}, lost) == "does not exist: `result` has `content`; did you mean `content`?"
    assert why({"not": {"exists": False}}, absent) == "`exists: false` must not hold, but it does: it is absent"


DEEP_REGEX = ({"regex": "^(a|a)*$"}, "a" * 5_000 + "!")
UNJUDGED = [
    (*DEEP_REGEX, "pattern `^(a|a)*$` could not be judged: "),
    ({"jq": "[range(1e9)] | length > 5"}, {}, "was stopped after 0.2 s"),
    ({"jq": ".temp > 50 | error"}, {"temp": 60}, "failed: "),
    ({"jq": "nope"}, 1, "failed: nope/0 is not defined (line 1, column 1)"),
    ({"gt": 50}, "99", 'expected a number, got a string, `"99"`'),
    ({"between": [1, 2]}, None, "expected a number, got null"),
    ({"approx": {"value": 3, "tolerance": 1}}, "3", 'expected a number, got a string, `"3"`'),
    ({"regex": "x"}, {"text": "x"}, "expected a string, got an object"),
    ({"starts-with": "x"}, ["x"], "expected a string, got an array"),
    ({"length": {"gt": 2}}, 7, "which have a length, got a number, `7`"),
    ({"each": {"contains": "error"}}, "error", 'expected an array, got a string, `"error"`'),
    ({"some": {"contains": "error"}}, "error", 'expected an array, got a string, `"error"`'),
    ({"each": {"gt": 5}}, [7, "9"], 'element [1]: expected a number, got a string, `"9"`'),
    ({"some": {"gt": 5}}, [1, "9"], "none of 2 elements fits"),
    ({"any-of": [{"gt": 50}, {"lt": 0}]}, "99", "none of 2 holds"),
    ({"any-of": [{"exact": 1}, {"gt": 0}]}, "99", "none of 2 holds"),
    ({"all-of": [{"type": "string"}, {"gt": 0}]}, "99", 'expected a number, got a string, `"99"`'),
    ({"length": {"regex": "1"}}, "a", "expected a string, got a number, `1`"),
    ({"snapshot": True}, 1, "snapshots are not available here"),
    ({"schema": {"$ref": "http://127.0.0.1:9/x"}}, 1, "the schema cannot be used"),
    ({"schema": {}}, "\ud800", "which a schema cannot check"),
]


@pytest.mark.parametrize(("matcher", "value", "words"), UNJUDGED, ids=lambda part: repr(part)[:60])
def test_what_could_not_be_judged_does_not_hold_within_not_either(why, matcher, value, words, monkeypatch):
    """Green means checked: how often ever it is negated, and the reason is told."""
    for limited in (search, run_program):
        monkeypatch.setitem(limited.__kwdefaults__, "timeout_seconds", 0.2)
    assert words in why(matcher, value)
    for negated in ({"not": matcher}, {"not": {"not": matcher}}, {"any-of": [{"not": matcher}]}):
        told = why(negated, value)
        assert "could not be judged: " in told
        assert words in told
    assert words in why({"each": {"not": matcher}}, [value])


@pytest.mark.parametrize(
    ("matcher", "value"),
    [
        ({"gt": 50}, 49),
        ({"each": {"gt": 5}}, ["9", 4]),
        ({"each": {"gt": 5}}, [4, "9"]),
        ({"all-of": [{"gt": 5}, {"exact": 7}]}, "9"),
        ({"all-of": [{"exact": 7}, {"gt": 5}]}, "9"),
        ({"type": "string"}, 7),
        ({"exact": "7"}, 7),
        ({"contains": "error"}, None),
        ({"contains": "error"}, 7),
        ({"icontains": "error"}, {"a": 1}),
        ({"length": 3}, "ab"),
        ({"jq": ".[] | select(. > 5)"}, [1, 2]),
        ({"schema": {"type": "string"}}, 7),
    ],
    ids=lambda part: repr(part)[:60],
)
def test_not_holds_of_what_was_judged(why, matcher, value):
    """One thing that is certain decides, wherever it stands beside what could not be judged."""
    assert why({"not": matcher}, value) is None


def test_not_sees_a_member_that_no_element_has(why):
    """A misspelt name below a star; where only some lack it, those are judged that have it."""
    value = {"content": [{"text": "error"}, {"text": "fine"}, {}]}
    misspelt = resolve(parse_target("content[*].txet"), value)
    told = "element [0] does not exist: `content[0]` has `text`; did you mean `text`?"
    for matcher in ({"not": {"contains": "error"}}, {"not": {"not": {"contains": "error"}}}):
        assert why(matcher, misspelt) == told
    assert why({"some": {"not": {"contains": "error"}}}, misspelt) == told
    assert why({"some": {"all-of": [{"not": {"contains": "error"}}]}}, misspelt) == told
    assert why({"some": {"exists": False}}, misspelt) is None
    errors = resolve(parse_target("content[*].text"), {"content": [{"text": "error"}, {}]})
    assert "none of 2 elements fits" in why({"some": {"not": {"contains": "error"}}}, errors)
    found = resolve(parse_target("content[*].text"), value)
    assert why({"not": {"contains": "lost"}}, found) is None
    assert "could not be judged: element [2] does not exist" in why({"not": {"schema": {}}}, found)


def test_not_sees_misspelt_paths_behind_a_star(why):
    """The same rule for every element."""
    value = {"items": [{"a": {"b": 1}}, {}]}
    lost = resolve(parse_target("items[*].x.b"), value)
    assert why({"not": {"some": {"exact": 1}}}, lost) == "element [0] does not exist: `items[0]` has `a`"
    missing = resolve(parse_target("items[*].a"), value)
    assert why({"not": {"some": {"exact": 1}}}, missing) is None


def test_each_fails_on_an_absent_entry_whatever_is_asked_of_it(why):
    entries: Any = resolve(parse_target("a[*].b"), {"a": [{"b": 1}, {"c": 2}]})
    for matcher in ({"gt": 0}, {"not": {"exact": 1}}, {"exists": False}, {"any-of": [{"exact": 1}, {"exists": False}]}):
        assert why({"each": matcher}, [entries[1]]) == "element [0] does not exist: `a[1]` has `c`"
    assert why({"each": {"gt": 0}}, entries) == "element [1] does not exist: `a[1]` has `c`"
    assert why({"some": {"gt": 0}}, entries) is None
    assert why({"exact": [1, None]}, entries) == "differs at `[1]`: expected `null`, got nothing: `a[1]` has `c`"
    assert why({"schema": {}}, entries) == why({"jq": "true"}, entries) == "element [1] does not exist: `a[1]` has `c`"


def test_the_pointer_leads_to_the_first_place_that_differs():
    """Design: a JSON Pointer into the value judged."""
    value = [{"a": 1}, {"a": {"b": [1, 2]}}]
    matchers = (
        {"each": {"subset": {"a": 1}}},
        {"exact": [{"a": 1}, {"a": {"b": [1, 3]}}]},
        {"schema": {"items": {"properties": {"a": {"type": "integer"}}}}},
    )
    mismatches = [compile_matcher(matcher)(value) for matcher in matchers]
    assert [found and found.pointer for found in mismatches] == ["/1/a", "/1/a/b/1", "/1/a"]


def test_an_unknown_matcher_is_refused_with_the_nearest_name():
    with pytest.raises(ValueError, match="unknown matcher `contians`; did you mean `contains`"):
        compile_matcher({"contians": "x"})
    with pytest.raises(ValueError, match="one key"):
        compile_matcher({"exact": 1, "contains": 2})


@pytest.mark.parametrize("name", [name for name in MATCHERS if name != "llm-judge"])
def test_a_value_nested_ten_thousand_levels_deep_is_judged_or_refused_clearly(why, deep, name):
    """Issue: bounded with a clear mismatch, never a crash."""
    argument = {**ARGUMENTS, "exact": deep, "subset": deep, "contains": deep}.get(name, 1)
    if name in ("icontains", "starts-with", "ends-with", "regex"):
        argument = "1"
    told = why({name: argument}, deep)
    assert told is None or len(told) < 1000


@pytest.mark.timeout(60)
def test_a_schema_whose_references_double_each_other_is_refused_and_never_followed(why):
    """A server writes its output schema, and its author copies it: 2 to the 60th visits in native code end never."""
    links = {f"d{level}": {"allOf": [{"$ref": f"#/$defs/d{level + 1}"}] * 2} for level in range(60)}
    schema = {"$defs": {**links, "d60": {"type": "object"}}, "$ref": "#/$defs/d0"}
    assert "cannot be checked by this schema" in why({"schema": schema}, {})


def test_equal_values_of_any_depth_are_equal(why, deep):
    assert why({"exact": deep}, deep) is None
    assert "differs at" in why({"exact": deep}, deep[0])


@pytest.mark.parametrize(
    "made",  # by the test alone: each process that collects would hold them to its end
    [
        lambda: ({"contains": "needle"}, "x" * 10_000_000),
        lambda: ({"exact": "x" * 10_000_000}, "x" * 9_999_999 + "y"),
        lambda: ({"regex": "need+le"}, "x" * 2_000_000),
        lambda: ({"exact": list(range(200_000))}, [*range(199_999), -1]),
        lambda: ({"contains": -1}, list(range(200_000))),
        lambda: ({"each": {"gte": 0}}, [*range(199_999), -1]),
        lambda: ({"some": {"exact": -1}}, list(range(200_000))),
    ],
    ids=["contains", "exact", "regex", "exact array", "contains in array", "each", "some"],
)
@pytest.mark.timeout(60)
def test_huge_values_are_judged_and_their_messages_short(why, made):
    """Linear time, messages clipped."""
    assert len(why(*made())) < 1000


def test_long_texts_are_shown_where_they_differ(why):
    told = why({"exact": "a" * 1000 + "b" + "c" * 500}, "a" * 1000 + "x")
    assert told == (
        f"texts of 1501 and 1001 characters differ from character 1001 on: expected `…{'a' * 30}b{'c' * 69}`,"
        f" got `…{'a' * 30}x`"
    )


def test_server_text_cannot_forge_lines(why):
    """`assert:` is escaped to one line."""
    told = why({"contains": "x"}, "a\nVERDICT pass\x1b[2J")
    assert told == "substring `x` not found in `a\\nVERDICT pass␛[2J`"


def test_no_number_is_near_nothing(why):
    assert why({"approx": {"value": math.pi, "tolerance": 1e-9}}, 10**400) is not None

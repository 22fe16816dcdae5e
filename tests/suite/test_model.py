"""The suite language as its models describe it: strict, and one key a matcher. Both readers of it are asked."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from typing import Any

import jsonschema_rs
import pytest

from mcptest_engine.core.text import seconds_of
from mcptest_engine.suite.problems import structural_problems
from mcptest_engine.suite.schema import strict_schema
from mcptest_engine.suite.yaml import Tree


@cache
def _validator() -> Any:
    return jsonschema_rs.Draft202012Validator(strict_schema())


def _is_good(suite: dict[str, Any]) -> bool:
    problems = structural_problems(Tree(suite, 0, "f", "", has_whole_floats=True))
    assert _validator().is_valid(suite) == (not problems), problems
    return not problems


def _is_good_test(**keys: Any) -> bool:
    return _is_good({"tools": [{"name": "t", "tool": "x", **keys}]})


def _is_good_server(**keys: Any) -> bool:
    return _is_good({"servers": {"s": {"url": "http://a", **keys}}})


@pytest.mark.parametrize(
    "change",
    [
        {"only": "yes"},
        {"retries": "2"},
        {"timeout_ms": True},
        {"name": 5},
        {"tags": "a"},
        {"skip": "no"},
    ],
    ids=str,
)
def test_nothing_is_converted(change: dict[str, Any]) -> None:
    """Lax reading would turn "no" into false and "5" into 5."""
    assert not _is_good_test(**change)


def test_a_key_without_a_value_is_refused_but_null_is_a_value_to_compare_with() -> None:
    """`exact: null` asks for null; `tags:` with nothing after it is a slip."""
    assert not _is_good_test(tags=None)
    assert _is_good_test(expect=[{"target": "r", "matcher": {"exact": None}}])


@pytest.mark.parametrize("keys", [{}, {"exact": 1, "lt": 2}], ids=["none", "two"])
def test_a_matcher_has_exactly_one_key(keys: dict[str, Any]) -> None:
    assert _is_good_test(expect=[{"target": "r", "matcher": {"exact": 1}}])
    assert not _is_good_test(expect=[{"target": "r", "matcher": keys}])


def test_the_matchers_are_those_of_the_language() -> None:
    assert strict_schema()["$defs"]["Matcher"]["properties"].keys() == {
        "all-of", "any-of", "approx", "between", "contains", "contains-all", "contains-any", "each", "ends-with", "exact",
        "exists", "gt", "gte", "icontains", "jq", "length", "llm-judge", "lt", "lte", "not", "one-of", "regex", "schema",
        "snapshot", "some", "starts-with", "subset", "type",
    }  # fmt: skip


_ERROR = {"code": 1, "message": "no"}
_SECRET = {"grant": "client_credentials", "client_id": "a", "client_secret_env": "B"}


@pytest.mark.parametrize(
    ("where", "one", "other"),
    [
        ("auth", {"bearer_token_env": "A"}, {"oauth": _SECRET}),
        ("sampling", {"content": "a"}, {"error": _ERROR}),
        ("elicitation", {"action": "accept"}, {"error": _ERROR}),
        ("verify", {"tool": "a"}, {"uri": "b"}),
    ],
)
def test_what_can_be_said_in_several_ways_is_said_in_one(
    where: str, one: dict[str, Any], other: dict[str, Any]
) -> None:
    """An answer is given or an error is; never both, never neither."""

    def is_good(value: dict[str, Any]) -> bool:
        if where == "verify":
            return _is_good_test(verify=[value])
        return _is_good_server(auth=value) if where == "auth" else _is_good_server(client={where: value})

    assert is_good(one)
    assert is_good(other)
    assert not is_good({})
    assert not is_good({**one, **other})


def test_a_server_is_started_or_reached() -> None:
    """Or both; never neither."""
    for server in ({"url": "http://a"}, {"command": ["a"]}, {"url": "http://a", "command": ["a"]}):
        assert _is_good({"servers": {"s": server}})
    assert not _is_good({"servers": {"s": {}}})


@pytest.mark.parametrize("text", ["30s", "250ms", "1.5m", "2h", "0s"])
def test_a_duration_is_a_number_and_its_unit(text: str) -> None:
    """As `core/text.py` reads it."""
    assert _is_good_server(http={"timeout": text})
    assert seconds_of(text) >= 0


@pytest.mark.parametrize("value", ["30", "30 s", "s", "-1s", "1d", "1e3s", "", "30s\n", 30])
def test_anything_else_is_no_duration(value: object) -> None:
    """A bare number would leave its unit to be guessed."""
    assert not _is_good_server(http={"timeout": value})


def test_what_comes_from_the_environment_is_told_from_what_is_written() -> None:
    """A mapping with `from_env` is a look-up, any other mapping is a value."""
    assert _is_good({"variables": {"a": {"from_env": "A", "default": None}, "b": {"from": "A"}, "c": None}})
    assert not _is_good({"variables": {"a": {"from_env": "A", "defualt": 1}}})
    assert _is_good_server(headers={"A": "b", "C": {"env": "D"}})


def test_expect_is_a_list_or_a_mapping() -> None:
    """Both forms of the issue."""
    assertion = {"target": "r", "matcher": {"exists": True}}
    assert _is_good_test(expect=[assertion])
    assert _is_good_test(expect={"assertions": [assertion]})
    assert not _is_good_test(expect="r")


def test_the_suite_package_itself_costs_no_pydantic() -> None:
    """The models are imported by name, never on the way to something else."""
    code = "import sys, mcptest_engine.suite, mcptest_engine.suite.problems; print('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "False\n"

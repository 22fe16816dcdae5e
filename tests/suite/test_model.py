"""The suite language as values: strict, frozen, and one key a matcher."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from mcptest_engine.core.durations import seconds_of
from mcptest_engine.suite.model import (
    Auth,
    Elicitation,
    Expect,
    FromEnv,
    HeaderFromEnv,
    Http,
    Matcher,
    Sampling,
    Server,
    Suite,
    ToolTest,
    VerifyStep,
)

if TYPE_CHECKING:
    from mcptest_engine.suite.model.base import Part


def test_a_suite_is_read_into_frozen_values() -> None:
    """Lists become tuples, and nothing can be changed."""
    suite = Suite.model_validate(
        {"servers": {"s": {"command": ["a", "b"]}}, "tools": [{"name": "t", "tool": "x", "tags": ["q"]}]}
    )
    assert suite.servers["s"].command == ("a", "b")
    assert suite.tools[0].tags == ("q",)
    with pytest.raises(ValidationError, match="frozen"):
        suite.name = "other"


@pytest.mark.parametrize(
    "change",
    [
        {"only": "yes"},
        {"retries": "2"},
        {"retries": 2.0},
        {"timeout_ms": True},
        {"name": 5},
        {"tags": "a"},
        {"skip": "no"},
    ],
    ids=str,
)
def test_nothing_is_converted(change: dict[str, Any]) -> None:
    """Lax reading would turn "no" into false and "5" into 5."""
    with pytest.raises(ValidationError):
        ToolTest.model_validate({"name": "t", "tool": "x", **change})


def test_a_key_without_a_value_is_refused_but_null_is_a_value_to_compare_with() -> None:
    """`exact: null` asks for null; `tags:` with nothing after it is a slip."""
    with pytest.raises(ValidationError, match="`tags` has no value"):
        ToolTest.model_validate({"name": "t", "tool": "x", "tags": None})
    matcher = Matcher.model_validate({"exact": None})
    assert matcher.model_fields_set == {"exact"}


@pytest.mark.parametrize("keys", [{}, {"exact": 1, "lt": 2}], ids=["none", "two"])
def test_a_matcher_has_exactly_one_key(keys: dict[str, Any]) -> None:
    """Decisions 3."""
    with pytest.raises(ValidationError, match="exactly one key"):
        Matcher.model_validate(keys)


def test_the_matchers_are_those_of_the_language() -> None:
    """Decisions 3."""
    keys = {field.alias or name for name, field in Matcher.model_fields.items()}
    assert keys == {
        "all-of", "any-of", "approx", "between", "contains", "contains-all", "contains-any", "each", "ends-with", "exact",
        "exists", "gt", "gte", "icontains", "jq", "length", "llm-judge", "lt", "lte", "not", "one-of", "regex", "schema",
        "snapshot", "some", "starts-with", "subset", "type",
    }  # fmt: skip


_ERROR = {"code": 1, "message": "no"}
_SECRET = {"grant": "client_credentials", "client_id": "a", "client_secret_env": "B"}


@pytest.mark.parametrize(
    ("model", "one", "other"),
    [
        (Auth, {"bearer_token_env": "A"}, {"oauth": _SECRET}),
        (Sampling, {"content": "a"}, {"error": _ERROR}),
        (Elicitation, {"action": "accept"}, {"error": _ERROR}),
        (VerifyStep, {"tool": "a"}, {"uri": "b"}),
    ],
)
def test_what_can_be_said_in_several_ways_is_said_in_one(
    model: type[Part], one: dict[str, Any], other: dict[str, Any]
) -> None:
    """A server is started or reached, an answer is given or an error is; never both, never neither."""
    for way in (one, other):
        assert model.model_validate(way).model_fields_set == set(way)
    for wrong in ({}, {**one, **other}):
        with pytest.raises(ValidationError, match=f"either `{next(iter(one))}` or "):
            model.model_validate(wrong)


@pytest.mark.parametrize("text", ["30s", "250ms", "1.5m", "2h", "0s"])
def test_a_duration_is_a_number_and_its_unit(text: str) -> None:
    """As `core/durations.py` reads it."""
    assert Http.model_validate({"timeout": text}).timeout == text
    assert seconds_of(text) >= 0


@pytest.mark.parametrize("value", ["30", "30 s", "s", "-1s", "1d", "1e3s", "", "30s\n", 30])
def test_anything_else_is_no_duration(value: object) -> None:
    """A bare number would leave its unit to be guessed."""
    with pytest.raises(ValidationError):
        Http.model_validate({"timeout": value})


def test_what_comes_from_the_environment_is_told_from_what_is_written() -> None:
    """A mapping with `from_env` is a look-up, any other mapping is a value."""
    suite = Suite.model_validate(
        {"variables": {"a": {"from_env": "A", "default": None}, "b": {"from": "A"}, "c": None}}
    )
    assert suite.variables == {"a": FromEnv(from_env="A", default=None), "b": {"from": "A"}, "c": None}
    with pytest.raises(ValidationError, match="defualt"):
        Suite.model_validate({"variables": {"a": {"from_env": "A", "defualt": 1}}})
    server = Server.model_validate({"url": "http://a", "headers": {"A": "b", "C": {"env": "D"}}})
    assert server.headers == {"A": "b", "C": HeaderFromEnv(env="D")}


def test_expect_is_a_list_or_a_mapping() -> None:
    """Both forms of the issue."""
    assertion = {"target": "r", "matcher": {"exists": True}}
    as_list = ToolTest.model_validate({"name": "t", "tool": "x", "expect": [assertion]}).expect
    as_mapping = ToolTest.model_validate({"name": "t", "tool": "x", "expect": {"assertions": [assertion]}}).expect
    assert isinstance(as_list, tuple)
    assert isinstance(as_mapping, Expect)
    assert as_mapping.assertions == as_list


def test_the_suite_package_itself_costs_no_pydantic() -> None:
    """The models are imported by name, never on the way to something else."""
    code = "import sys, mcptest_engine.suite, mcptest_engine.suite.problems; print('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "False\n"

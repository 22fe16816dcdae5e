"""The published schema: made from the models, fit for an editor, and of one opinion with what explains a wrong suite."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcptest_engine.suite.model.generate import models
from mcptest_engine.suite.problems import _is_valid, structural_problems
from mcptest_engine.suite.schema import MESSAGES_PATH, schema_text, strict_schema
from mcptest_engine.suite.yaml import Tree, read_file

SUITES = Path(__file__).parent / "good"


def test_the_shipped_files_are_what_the_models_give() -> None:
    """Run `python -m mcptest_engine.suite.model.generate` after a change of the models.

    In a process of its own: `typing` gives out an equal `Literal` of another package, in that one's order.
    """
    code = (
        "import sys; from mcptest_engine.suite.model.generate import generate, generate_messages, generated_text\n"
        "sys.stdout.write(generated_text(generate()) + generated_text(generate_messages()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert schema_text() + MESSAGES_PATH.read_text(encoding="utf-8") == done.stdout


def test_the_schema_is_a_schema() -> None:
    """JSON Schema 2020-12, by its own meta-schema."""
    schema = json.loads(schema_text())
    assert "$id" not in schema  # a copy of it may stand anywhere, and no host is ours
    jsonschema_rs.meta.validate(schema)


def test_reading_the_schema_needs_no_pydantic() -> None:
    """`mcptest schema` prints a file."""
    code = (
        "import sys; from mcptest_engine.suite.schema import schema_text, strict_schema; schema_text(); strict_schema()\n"
        "print('pydantic' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "False\n"


def _parts() -> list[tuple[str, dict[str, Any]]]:
    schema = json.loads(schema_text())
    return [("Suite", schema), *((name, part) for name, part in schema["$defs"].items() if name != "Template")]


def test_every_key_is_explained() -> None:
    """An editor shows it on hover."""
    for name, part in _parts():
        assert part["description"], name
        assert name == "Matchers" or "about" in vars(models()[name]), f"{name}: messages and docs have no words for it"
        for key, described in part["properties"].items():
            assert described.get("description"), f"{name}.{key}"


def test_every_part_refuses_unknown_keys_and_says_nothing_twice() -> None:
    """Unknown keys are refused at every level; no noise titles, no nulls that mean absent."""
    for name, part in _parts():
        assert part["additionalProperties"] is (name == "OtherScorer"), (
            name
        )  # a scorer of another build has keys of its own
        for key, described in part["properties"].items():
            assert "title" not in described, f"{name}.{key}"
            assert {"type": "null"} not in described.get("anyOf", ()), f"{name}.{key}"
            assert described.get("default", 0) is not None, f"{name}.{key}"


def _published() -> Any:
    return jsonschema_rs.Draft202012Validator(json.loads(schema_text()))


def test_an_editor_accepts_a_template_for_a_number_but_a_loaded_suite_does_not() -> None:
    """A template that stands alone takes its value's type."""
    test = {"name": "a", "tool": "b", "args": "${var.args}", "tags": "${var.tags}", "timeout_ms": "${var.t}"}
    suite = {"run_options": {"concurrency": "${var.many}", "bail": "${var.bail}"}, "tools": [test]}
    assert _published().is_valid(suite)
    assert not _strict().is_valid(suite)
    assert not _published().is_valid({"run_options": {"concurrency": "many ${var.many}"}})
    assert not _published().is_valid({"tools": "${var.tools}"})


@pytest.mark.parametrize(
    "server",
    [
        {"url": "${BASE}/mcp"},
        {"url": "http://a", "wait_for_ready": "${BASE}/health"},
        {"url": "http://a", "wait_for_ready": "${var.wait}"},
        {"url": "http://a", "wait_for_ready": {"url": "${BASE}/health", "timeout": "${var.wait}"}},
        {"url": "http://a", "http": {"timeout": "${var.wait}", "proxy": "${PROXY}", "verify": "${var.verify}"}},
        {"url": "http://a", "client": {"log_level": "${level}", "elicitation": "${var.answer}", "roots": "${roots}"}},
        {"url": "http://a", "client": {"capabilities": "${var.all}", "list_changed": "${var.yes}"}},
    ],
)
def test_a_form_may_be_left_to_a_template_until_the_suite_is_loaded(server: dict[str, Any]) -> None:
    """An editor knows no values; what is run must have its form, or reading it would fail in the middle of a run."""
    suite = {"servers": {"a": server}}
    assert _published().is_valid(suite)
    accepted = _strict().is_valid(suite)
    assert accepted == (set(server.get("http", {})) == {"verify"})


@cache
def _strict() -> Any:
    return jsonschema_rs.Draft202012Validator(strict_schema())


@cache
def _good() -> list[Any]:
    return [read_file(path, file=path.name).value for path in sorted(SUITES.glob("*.yaml"))]


def test_the_good_suites_are_good() -> None:
    """The mutations below start from them."""
    assert len(_good()) >= 3
    for suite in _good():
        assert _strict().is_valid(suite)


_STRANGE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.integers(-2, 5),
    st.floats(allow_nan=False, allow_infinity=False).filter(lambda number: not number.is_integer()),
    st.sampled_from(["", "x", "no", "True", "string", "fail", "http://a", "HTTP://a", "${x}", "[]", "\n"]),
    st.sampled_from(
        ["30s", "30s\n", "1.5h", "30", "accept", "error", "drop_response", "client_credentials", "file:///a"]
    ),
    st.sampled_from([{"error": {"code": 1, "message": "a"}}, {"content": "a"}, {"action": "accept"}, {"tool": "a"}]),
    st.sampled_from([{"uri": "a"}, {"delay_ms": 1}, {"url": "http://a"}, {"content": {"a": [None]}}, ["accept", {}]]),
    st.sampled_from(
        [[], {}, [None], [1, 2], ["a", "b"], [{}], {"a": 1}, {"exact": 1}, {"lt": 1, "gt": 2}, {"env": "A"}]
    ),
    st.sampled_from([{"from_env": "A"}, {"from_env": 1}, {"budget": 1}, {"value": 1, "tolerance": 0}, {"jq": "."}]),
).map(copy.deepcopy)
_KEYS = st.sampled_from(
    sorted({key for _, part in _parts() for key in part["properties"]} | {"xyz", "", "contains_all", "not_", "schema_"})
)


def _containers(value: Any) -> list[Any]:
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    own = [value] if isinstance(value, (dict, list)) else []
    return [*own, *(found for member in members for found in _containers(member))]


@st.composite
def _mutated(draw: st.DrawFn) -> Any:
    suite = copy.deepcopy(draw(st.sampled_from(_good())))
    for _ in range(draw(st.integers(1, 3))):
        box = draw(st.sampled_from(_containers(suite)))
        places = list(box) if isinstance(box, dict) else list(range(len(box)))
        action = draw(st.sampled_from(["replace", "remove", "add"] if places else ["add"]))
        if action == "add":
            if isinstance(box, dict):
                box[draw(_KEYS)] = draw(_STRANGE)
            else:
                box.append(draw(_STRANGE))
            continue
        place = draw(st.sampled_from(places))
        if action == "remove":
            del box[place]
        else:
            box[place] = draw(_STRANGE)
    return suite


@settings(max_examples=200, deadline=None)
@given(_mutated())
def test_schema_and_explanation_agree(suite: Any) -> None:
    """One language: what one of them accepts, the other accepts."""
    by_schema = _strict().is_valid(suite)
    explained = structural_problems(Tree(suite, 0, "f", "", has_whole_floats=True))
    assert by_schema == (not explained), explained
    # As the load of a long suite does it, with no more of the schema than the suite needs.
    assert by_schema == _is_valid(suite)

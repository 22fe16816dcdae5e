"""What is wrong with a suite's shape: the exact messages, that none is missed, and that looking costs no pydantic."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcptest_engine.core.errors import Problem, Span, SuiteError
from mcptest_engine.core.schemas import refuse_to_fetch
from mcptest_engine.suite import problems as suite_problems
from mcptest_engine.suite.problems import structural_problems
from mcptest_engine.suite.schema import messages, messages_of, strict_schema
from mcptest_engine.suite.yaml import Tree, read_file, read_tree

BAD_SUITES = Path(__file__).parent.parent / "suites" / "bad"
EVERYTHING = Path(__file__).parent / "good" / "everything.yaml"
CASES = sorted([*BAD_SUITES.glob("struct-*.yaml"), *BAD_SUITES.glob("yaml-*.yaml")])


def _problems_of(path: Path) -> list[Problem]:
    try:
        tree = read_file(path, file="suite.yaml", keep_going=True)
    except SuiteError as refused:
        return list(refused.problems)
    problems = [*tree.problems, *structural_problems(tree)]
    return sorted(problems, key=lambda problem: problem.span or Span(0, 0))


def _told(text: str) -> list[str]:
    return [str(problem) for problem in structural_problems(read_tree(text, file="suite.yaml"))]


@pytest.mark.parametrize("suite", CASES, ids=lambda path: path.stem)
def test_a_bad_suite_is_told_in_exactly_these_words(suite: Path) -> None:
    """Each message stands beside its suite."""
    told = "".join(f"{problem}\n" for problem in _problems_of(suite))
    assert told == suite.with_suffix(".txt").read_text(encoding="utf-8")


def test_the_corpus_is_there() -> None:
    """A glob that finds nothing would check nothing."""
    assert len(CASES) > 70


def test_a_good_suite_has_no_problems() -> None:
    """Every kind of entry, each in a form that authors use."""
    tree = read_file(EVERYTHING, file="f")
    assert structural_problems(tree) == []
    odd = replace(tree, has_whole_floats=True)
    assert structural_problems(odd) == []


def test_a_number_such_as_5_0_is_fine_where_a_number_is_asked_for() -> None:
    """`5.0` is no whole number, but it is a number."""
    assertion = "tools: [{name: a, tool: b, expect: [{target: r, matcher: {lt: 5.0}}]}]\n"
    assert _told(assertion) == []
    assert _told("run_options: {retries: 5.0}\n") == [
        "suite.yaml:1:24: expected a whole number, found the number 5.0\n  at /run_options/retries\n  write `5`"
    ]


def test_the_walk_knows_every_word_of_the_schema() -> None:
    """A short suite is settled by the walk alone: a word that it passes over would let something pass."""
    known = {"type", "properties", "additionalProperties", "required", "minProperties", "items", "minItems", "maxItems"}
    known |= {
        "enum",
        "const",
        "not",
        "pattern",
        "minimum",
        "maximum",
        "minLength",
        "anyOf",
        "oneOf",
        "if",
        "then",
        "else",
    }
    told = {"$ref", "$defs", "$schema", "$id", "title", "description", "default", "examples"}
    found: set[str] = set()

    def look(schema: Any) -> None:
        if not isinstance(schema, dict):
            return
        found.update(schema)
        for word in ("properties", "$defs"):
            for part in schema.get(word, {}).values():
                look(part)
        for word in ("additionalProperties", "items", "not", "if", "then", "else"):
            look(schema.get(word))
        for word in ("anyOf", "oneOf"):
            for part in schema.get(word, ()):
                look(part)

    look(strict_schema())
    assert found - told - known == {"maxProperties"}
    matcher = strict_schema()["$defs"]["Matcher"]
    assert (matcher["minProperties"], matcher["maxProperties"]) == (1, 1), "which the walk knows of matchers"


def test_a_list_that_is_too_long_is_told() -> None:
    """No list of the language but that of a judge's models has a longest length."""
    models = ", ".join(f"m{number}" for number in range(100))
    assert _told(f"judge: {{ models: [{models}] }}\n") == [
        "suite.yaml:1:18: `models`: at most 99 items, found 100\n  at /judge/models"
    ]


def test_looking_at_a_good_suite_imports_no_pydantic() -> None:
    """Nor anything else that only explaining needs."""
    code = (
        "import sys\n"
        "from mcptest_engine.suite.yaml import read_tree\n"
        "from mcptest_engine.suite.problems import structural_problems\n"
        "assert structural_problems(read_tree('tools: []', file='f')) == []\n"
        "heavy = {'pydantic', 'difflib', 'jsonschema', 'mcptest_engine.suite.problem_messages',\n"
        "         'mcptest_engine.suite.yaml_faults'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
        "assert structural_problems(read_tree('toolz: 1', file='f'))\n"
        "print(sorted({'pydantic'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n[]\n"


def test_the_schema_fetches_nothing() -> None:
    """Neither over the network nor from a file."""
    with pytest.raises(ValueError, match="is fetched"):
        refuse_to_fetch("http://127.0.0.1:9/schema.json")


def test_a_foreign_word_and_a_word_of_a_later_version_are_no_keys_of_their_place() -> None:
    """Whoever adds a key takes the word out of the hints."""
    definitions = {"Suite": strict_schema(), **strict_schema()["$defs"]}
    assert set(messages()["mappings"]) <= set(definitions)
    for name in messages()["mappings"]:
        words, known = messages_of(name), set(definitions[name]["properties"])
        assert set(words.get("aliases", {}).values()) <= known, name
        assert not {*words.get("aliases", {}), *words.get("later", "").split()} & known, name


def test_control_characters_of_a_key_are_shown_as_stand_ins() -> None:
    """A suite may come from somebody else."""
    assert "\x1b" not in _told('"\\e[31mred": 1\n')[0]


_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(["x", "5s", "yes", "no", "tool:echo", "http://a", "a: b", "${x}", "true", "null", ""])
)
_PARTS = (strict_schema(), *filter(None, strict_schema()["$defs"].values()))
_ODD_KEYS = ("cmd", "equals", "max_duration", "weight", "compositions", "xyz", "", "from_env", "a:b")
_KEYS = st.sampled_from(sorted({*_ODD_KEYS, *(key for part in _PARTS for key in part["properties"])}))
_ANY = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_KEYS | st.text(), inner, max_size=5),
    max_leaves=30,
)


@settings(max_examples=100, deadline=None)
@given(_ANY)
def test_any_tree_gives_a_list_of_problems(value: object) -> None:
    """No value crashes the explanation, and what the schema refuses is always explained."""
    tree = Tree(value, 0, "f", "x", has_whole_floats=True, has_non_finite=True)
    problems = structural_problems(tree)
    assert all(problem.message and "\n" not in f"{problem.message}{problem.hint}" for problem in problems)
    if not suite_problems._is_valid(value):
        assert problems

"""Templates: what `${…}` comes to, and what is said when it comes to nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest_engine.suite.templates import Declared, Fault, Templates


def templates_of(variables: dict[str, Any], *, given: dict[str, str] | None = None, **environ: str) -> Templates:
    declared = {name: Declared(value=value, file=0, config_dir="/suite") for name, value in variables.items()}
    templates = Templates(environ=environ, declared=declared, given=given or {})
    templates.resolve_variables()
    return templates


def expanded(document: Any, variables: dict[str, Any] | None = None, **environ: str) -> Any:
    value, faults = templates_of(variables or {}, given=None, **environ).expand_document(document, config_dir="/suite")
    assert faults == []
    return value


def faults_of(document: Any, variables: dict[str, Any] | None = None, **environ: str) -> list[Fault]:
    return templates_of(variables or {}, given=None, **environ).expand_document(document, config_dir="/suite")[1]


def arg(text: Any, variables: dict[str, Any] | None = None, **environ: str) -> Any:
    return expanded({"tools": [{"args": {"x": text}}]}, variables, **environ)["tools"][0]["args"]["x"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${var.text}", "t"),
        ("${text}", "t"),
        ("${ var.text }", "t"),
        ("${number}", 5),
        ("${yes}", True),
        ("${nothing}", None),
        ("${list}", [1, "t"]),
        ("a ${text} b ${number}", "a t b 5"),
        ("${number}${number}", "55"),
        ("-${yes} ${nothing} ${list} ${half}", '-true null [1, "t"] 0.5'),
        ("$${text}", "${text}"),
        ("$${${text}}", "${t}"),
        ("$text $ {text}", "$text $ {text}"),
        ("${env.HOME}", "/home/a"),
        ("${CONFIG_DIR}/x", "/suite/x"),
        ({"deep": [["${number}"]]}, {"deep": [[5]]}),
    ],
)
def test_a_template_comes_to_its_value(text: Any, value: Any) -> None:
    """A whole template keeps its type, mixed text is JSON spelling, `$${` is literal."""
    variables = {
        "text": "t",
        "number": 5,
        "yes": True,
        "nothing": None,
        "half": 0.5,
        "list": [1, "${text}"],
    }
    assert arg(text, variables, HOME="/home/a") == value


def test_in_an_env_map_a_bare_name_is_the_environment() -> None:
    document = {
        "env": {"A": "${X}", "B": "${var.X}"},
        "servers": {"s": {"env": {"A": "${X}"}, "url": "${X}"}},
    }
    value = expanded(document, {"X": "variable"}, X="environment")
    assert value["env"] == {"A": "environment", "B": "variable"}
    assert value["servers"]["s"] == {"env": {"A": "environment"}, "url": "variable"}


def test_schema_regex_and_jq_are_never_expanded() -> None:
    """`$` means something there."""
    matchers = [
        {"regex": "^${x}$"},
        {"schema": {"const": "${x}"}},
        {"jq": '. == "${x}"'},
        {"not": {"regex": "${x}"}},
        {"any-of": [{"regex": "${x}"}]},
    ]
    expect = [{"target": "result", "matcher": matcher, "transform": {"jq": "${x}"}} for matcher in matchers]
    document = {"tools": [{"expect": expect}, {"expect": {"assertions": expect}}]}
    assert expanded(document) == document


def test_other_matchers_are_expanded_also_where_data_has_a_member_named_schema() -> None:
    """The matchers are meant, not members of that name."""
    document = {
        "tools": [
            {
                "args": {"regex": "${x}"},
                "expect": [{"target": "${x}", "matcher": {"not": {"exact": {"schema": "${x}"}}}}],
            }
        ]
    }
    test = expanded(document, {"x": "t"})["tools"][0]
    assert test["args"] == {"regex": "t"}
    assert test["expect"] == [{"target": "t", "matcher": {"not": {"exact": {"schema": "t"}}}}]


def test_a_step_under_verify_is_expanded_as_a_test_is() -> None:
    """Its `regex` is left alone; a member of its arguments by that name is not."""
    expect = [{"target": "${x}", "matcher": {"regex": "^${x}$"}}]
    step = {"tool": "${x}", "args": {"regex": "${x}"}, "expect": expect}
    test = expanded({"tools": [{"verify": [step, {"uri": "plain"}]}]}, {"x": "t"})["tools"][0]
    assert test["verify"] == [
        {"tool": "t", "args": {"regex": "t"}, "expect": [{"target": "t", "matcher": {"regex": "^${x}$"}}]},
        {"uri": "plain"},
    ]


def test_what_a_client_answers_and_what_goes_as_meta_is_expanded() -> None:
    """On a server and on a test."""
    client = {"sampling": ["${x}", {"content": "a ${x}"}], "roots": ["file://${CONFIG_DIR}"]}
    come_to = {"sampling": ["t", {"content": "a t"}], "roots": ["file:///suite"]}
    document = {"servers": {"a": {"client": client}}, "tools": [{"client": client, "meta": {"progressToken": "${x}"}}]}
    assert expanded(document, {"x": "t"}) == {
        "servers": {"a": {"client": come_to}},
        "tools": [{"client": come_to, "meta": {"progressToken": "t"}}],
    }


def test_what_holds_no_template_is_not_copied() -> None:
    """The walk is on the way of every run."""
    entry: dict[str, Any] = {"name": "a", "args": {"b": [1, {"c": "$5"}]}, "expect": [{"matcher": {"exact": 1}}]}
    entry["verify"] = [{"tool": "b", "expect": [{"matcher": {"regex": "${x}"}}]}]
    other = {"name": "${x}"}
    tests = expanded({"tools": [entry, other]}, {"x": "n"})["tools"]
    assert tests[0] is entry
    assert tests[1] == {"name": "n"}
    assert other == {"name": "${x}"}


def test_variables_and_imports_stay_as_they_are() -> None:
    """Variables are resolved on their own, imports before there are any."""
    document = {"variables": {"a": "${nope}"}, "imports": ["${nope}"]}
    assert expanded(document) == document


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("${regoin}", 'unknown variable "regoin"', "did you mean `region`?"),
        ("${var.zzz}", 'unknown variable "zzz"', "declare it under `variables:`, or write `$${` for a literal `${`"),
        (
            "${region.name}",
            'unknown variable "region.name"',
            "a template names a whole variable; it cannot name a part",
        ),
        ("${HOME}", 'unknown variable "HOME"', "`${env.HOME}` reads the environment"),
        ("${env.HOMEE}", 'environment variable "HOMEE" is not set', "did you mean `HOME`?"),
        ("${env.region}", 'environment variable "region" is not set', "`${var.region}` is the variable with this name"),
        ("${env.Q}", 'environment variable "Q" is not set', "set it, or write it to `.env` beside the suite"),
        ("a ${open", "`${` is not closed by `}`", "write `$${` for a literal `${`"),
        ("${}", "an empty template", "name a variable, such as `${var.NAME}`, or write `$${` for a literal `${`"),
        ("a${env.}", "an empty template", "name a variable, such as `${var.NAME}`, or write `$${` for a literal `${`"),
    ],
)
def test_a_template_that_comes_to_nothing_says_what_was_meant(text: str, message: str, hint: str) -> None:
    """Unresolved is a load error."""
    (fault,) = faults_of({"tools": [{"args": {"x": text}}]}, {"region": {"name": "eu"}}, HOME="/h")
    assert fault.path == ("tools", 0, "args", "x")
    assert fault.message == message
    assert fault.hint
    assert fault.hint.startswith(hint)


def test_every_fault_of_a_text_is_told_at_its_own_place() -> None:
    """All problems at once."""
    faults = faults_of({"name": "a ${x} and ${y}"})
    assert [(fault.message, fault.offset) for fault in faults] == [
        ('unknown variable "x"', 2),
        ('unknown variable "y"', 11),
    ]


def test_a_text_that_cannot_be_expanded_stays_as_it_was() -> None:
    """So that later checks can go on."""
    value, _ = templates_of({"a": "1"}).expand_document({"name": "${a} ${x}"}, config_dir="/")
    assert value == {"name": "${a} ${x}"}


def test_a_given_variable_wins_over_a_declared_one() -> None:
    """`--var K=V` over the files."""
    templates = templates_of({"a": "file", "b": "${a}!"}, given={"a": "line", "c": "new"})
    assert templates.variables == {"a": "line", "b": "line!", "c": "new"}


@pytest.mark.parametrize(
    ("declared", "text", "value"),
    [
        ("text", "5", "5"),
        (1, "5", 5),
        (1.5, "2", 2),
        (False, "true", True),
        ([1], "[2, 3]", [2, 3]),
        ({"a": 1}, '{"b": 2}', {"b": 2}),
        (None, "5", "5"),
        ({"from_env": "X"}, "5", "5"),
        ({"from_env": "X", "default": 1}, "5", 5),
    ],
)
def test_a_given_text_is_read_as_the_type_that_is_declared(declared: Any, text: str, value: Any) -> None:
    """decisions: `--var` is text, but a declared literal of another type says how to read it."""
    assert templates_of({"a": declared}, given={"a": text}).variables == {"a": value}


@pytest.mark.parametrize(
    ("declared", "text", "message"),
    [
        (5, "five", "`--var a` must be a number, like its value in the suite"),
        (True, "1", "`--var a` must be true or false, like its value in the suite"),
        ([1], "{}", "`--var a` must be a list in JSON, like its value in the suite"),
        (5, "NaN", "`--var a` must be a number, like its value in the suite"),
        (5, "1e999", "`--var a` must be a number, like its value in the suite"),
    ],
)
def test_a_given_text_of_another_type_is_refused(declared: Any, text: str, message: str) -> None:
    """Said once, and not again where the variable is used."""
    templates = templates_of({"a": declared}, given={"a": text})
    assert [(file, fault.message) for file, fault in templates.variable_faults] == [(None, message)]
    _, faults = templates.expand_document({"name": "${a}"}, config_dir="/")
    assert [fault.message for fault in faults] == [None]


@pytest.mark.parametrize(
    ("variable", "environ", "value"),
    [
        ({"from_env": "X"}, {"X": "5"}, "5"),
        ({"from_env": "X", "default": "d"}, {}, "d"),
        ({"from_env": "X", "default": "d"}, {"X": ""}, ""),
        ({"from_env": "X", "default": None}, {}, None),
        ({"from_env": "X", "default": 8080}, {"X": "9090"}, 9090),
        ({"from_env": "X", "default": "${env.Y}"}, {"Y": "y"}, "y"),
    ],
)
def test_a_variable_can_come_from_the_environment(variable: Any, environ: dict[str, str], value: Any) -> None:
    """A default that is no text also says how to read what is set."""
    assert templates_of({"a": variable}, given=None, **environ).variables == {"a": value}


def test_a_variable_whose_source_is_not_set_is_told_at_its_place() -> None:
    ((file, fault),) = templates_of({"a": {"from_env": "NOPE"}}).variable_faults
    assert (file, fault.path) == (0, ("variables", "a", "from_env"))
    assert fault.message == 'environment variable "NOPE" is not set'


def test_variables_may_use_each_other_in_any_order() -> None:
    """What counts is that there is no circle."""
    assert templates_of({"c": "${b}!", "b": "${var.a}?", "a": "x"}).variables == {"a": "x", "b": "x?", "c": "x?!"}


def test_variables_in_a_circle_are_one_error_that_names_the_circle() -> None:
    """One clear error."""
    templates = templates_of({"a": "${b}", "b": "${c}", "c": "x${a}", "d": "${a}", "e": "fine"})
    told = [fault.message for _, fault in templates.variable_faults if fault.message]
    assert told == ["variables refer to each other in a circle: `a` → `b` → `c` → `a`"]
    assert templates.variables == {"e": "fine"}


def test_a_variable_that_refers_to_itself_is_a_circle() -> None:
    """One clear error."""
    told = [fault.message for _, fault in templates_of({"a": "${a}"}).variable_faults if fault.message]
    assert told == ["variables refer to each other in a circle: `a` → `a`"]


def test_a_long_chain_of_variables_is_refused() -> None:
    """Bounded, also where each one is declared after its use."""
    variables = {f"v{number}": f"${{v{number + 1}}}" for number in range(5000)} | {"v5000": "end"}
    told = [fault.message for _, fault in templates_of(variables).variable_faults if fault.message]
    assert "more than 50 variables refer to each other here" in told


@pytest.mark.parametrize("double", ["${v%d}${v%d}", ["${v%d}", "${v%d}"]], ids=["text", "list"])
def test_variables_that_double_each_other_end_in_one_error(double: Any) -> None:
    """A chain of forty would be a trillion characters."""
    variables: dict[str, Any] = {"v0": "ab"}
    for number in range(40):
        link = [part % number for part in double] if isinstance(double, list) else double % (number, number)
        variables[f"v{number + 1}"] = link
    templates = templates_of(variables)
    _, faults = templates.expand_document({"name": "${v40}"}, config_dir="/")
    told = [fault.message for _, fault in templates.variable_faults if fault.message]
    assert told == ["the templates of this suite expand to more than 10 million characters"]
    assert [fault.message for fault in faults] == [None]


def test_one_large_variable_used_often_is_refused_too() -> None:
    """The bound is on the whole suite."""
    faults = faults_of({"tools": [{"args": {"x": "${big}"}}] * 30}, {"big": "x" * 1_000_000})
    assert [fault.message for fault in faults if fault.message] == [
        "the templates of this suite expand to more than 10 million characters"
    ]


def test_values_of_secret_names_are_collected() -> None:
    """They are redacted everywhere."""
    templates = templates_of({"a": {"from_env": "MY_TOKEN"}}, MY_TOKEN="t0k", DB_PASSWORD="pass", PLAIN="p")
    templates.expand_document({"name": "${env.DB_PASSWORD} ${env.PLAIN}"}, config_dir="/")
    assert templates.secrets == {"t0k", "pass"}


@pytest.mark.parametrize(
    ("declared", "read"),
    [
        ({"from_env": "A"}, {"given"}),
        ({"from_env": "A", "default": "x"}, {"given"}),
        ("${env.A}", {"given"}),
        ("https://${env.A}/", {"given"}),
        (["${env.A}"], {'["given"]'}),
        ("${var.b}", {"given"}),
        ("${b}!", {"given"}),
        ("${var.a}", set()),
        ("plain $${env.A}", set()),
        ("${var.c}", set()),
    ],
)
def test_a_given_text_is_as_secret_as_what_it_takes_the_place_of(declared: Any, read: set[str]) -> None:
    given = '["given"]' if isinstance(declared, list) else "given"
    others = {"b": {"from_env": "B", "default": ""}, "c": "plain"}
    assert templates_of({"a": declared, **others}, given={"a": given}).read == read


def test_a_given_text_in_place_of_one_under_a_secret_name_is_a_secret_however_short() -> None:
    assert templates_of({"a": {"from_env": "MY_TOKEN"}}, given={"a": "t0k"}).secrets == {"t0k"}


@given(st.recursive(st.text(alphabet="${}var.env abX", max_size=20) | st.integers(), st.lists, max_leaves=8))
def test_any_value_is_expanded_or_told(value: Any) -> None:
    """Nothing raises, and what is not told has no template left that was one before."""
    document = {"tools": [{"args": {"x": value}}]}
    _, faults = templates_of({"a": "1", "b": value}).expand_document(document, config_dir="/")
    assert all(fault.path[:4] == ("tools", 0, "args", "x") for fault in faults)

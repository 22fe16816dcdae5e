"""`.env` files: the quoting that dotenv readers agree on, and warnings for the rest."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest_engine.core.errors import Severity, Span
from mcptest_engine.suite.dotenv import parse_dotenv


def values_of(text: str, **environ: str) -> dict[str, str]:
    values, problems = parse_dotenv(text, file=".env", environ=environ)
    assert problems == []
    return values


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("A=b", "b"),
        ("A = b", "b"),
        ("  A=b  ", "b"),
        ("export A=b", "b"),
        ("A=", ""),
        ("A= ", ""),
        ("A=b c", "b c"),
        ("A=b # comment", "b"),
        ("A=b#c", "b#c"),
        ("A= # comment", ""),
        ("A='b # c'", "b # c"),
        ("A='b'  # comment", "b"),
        ("A='it\\'s \\\\ \\n'", "it's \\ \\n"),
        ('A="b\\nc\\t\\"d\\""', 'b\nc\t"d"'),
        ('A="one\ntwo"', "one\ntwo"),
        ("A='one\ntwo'", "one\ntwo"),
        ('A="\\q"', "\\q"),
        ("A=a=b", "a=b"),
        ("\ufeffA=b", "b"),
        ("A.B-C=d", "d"),
    ],
)
def test_a_value_is_read_as_dotenv_readers_read_it(line: str, value: str) -> None:
    """The rules of the common dotenv readers."""
    assert list(values_of(line).values()) == [value]


def test_comments_and_blank_lines_say_nothing() -> None:
    """The rules of the common dotenv readers."""
    assert values_of("# one\n\n  # two\r\nA=1\r\n\r\nB=2") == {"A": "1", "B": "2"}


def test_the_last_assignment_of_a_name_wins() -> None:
    """The rules of the common dotenv readers."""
    assert values_of("A=1\nA=2") == {"A": "2"}


def test_a_look_up_asks_the_environment_before_the_file() -> None:
    """`.env` never overrides what is set."""
    assert values_of("A=file\nB=${A}", A="set")["B"] == "set"
    assert values_of("A=file\nB=${A}")["B"] == "file"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("A=${X:-default}", "default"),
        ("A=${X}", ""),
        ('A="-${H}-"', "-home-"),
        ("A='${H}'", "${H}"),
        ('A="\\${H}"', "${H}"),
        ("A=$H", "$H"),
        ("A=${H:-other}", "home"),
        ("A=${E:-default}", "default"),  # as in a shell
        ("A=${E}", ""),
    ],
)
def test_look_ups_work_unquoted_and_in_double_quotes(text: str, value: str) -> None:
    """The rules of the common dotenv readers."""
    assert values_of(text, H="home", E="")["A"] == value


@pytest.mark.parametrize(
    ("text", "message", "span"),
    [
        ("A=1\nnonsense\nB=2", "expected NAME=value", Span(2, 1)),
        ("A=1\n  1X=2", "expected NAME=value", Span(2, 3)),
        ("A=1\nB='open", "a value starts with ', but does not end with it", Span(2, 3)),
        ("A=1\n\nB='x' y", "text after the closing quote is ignored", Span(3, 6)),
    ],
)
def test_a_line_that_makes_no_sense_is_a_warning_and_the_rest_is_read(text: str, message: str, span: Span) -> None:
    """The file belongs to other tools too: nothing in it ends a run."""
    values, problems = parse_dotenv(text, file=".env", environ={})
    assert values["A"] == "1"
    assert [(problem.message, problem.span, problem.severity) for problem in problems] == [
        (message, span, Severity.WARNING)
    ]


@given(st.text(alphabet="A=1'\"\\ #\n\r\t${}:-export", max_size=60) | st.text(max_size=60))
def test_any_text_gives_values_or_warnings(text: str) -> None:
    """No text ends in an exception, and each warning stands in the text."""
    values, problems = parse_dotenv(text, file=".env", environ={})
    assert all(isinstance(value, str) for value in values.values())
    assert all(problem.span and 1 <= problem.span.line <= text.count("\n") + 1 for problem in problems)

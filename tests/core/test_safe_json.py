"""JSON as it is printed: the same value, and nothing in it that a terminal obeys."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest_engine.core.safe_json import JsonFault, load_json, safe_json
from mcptest_engine.core.sanitise import sanitise

ANY_TEXT = st.text(st.characters(exclude_categories=()))
UNSAFE = [
    "\x1b",
    "\x7f",
    "\x9b",
    "\u202e",
    "\u2028",
    "\ud800",
    "\ufeff",
    "\uffff",
    "\U000e0041",
    "\U0001d173",
    "a\\\x7f",
]


def strict(text: str) -> Any:
    def refuse(word: str) -> NoReturn:
        raise ValueError(word)

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize("text", UNSAFE)
@pytest.mark.parametrize("indent", [None, 2])
def test_what_a_terminal_obeys_is_written_as_an_escape_and_reads_the_same(text: str, indent: int | None) -> None:
    written = safe_json({"a": text}, indent=indent)
    assert text[-1] not in written
    assert strict(written) == {"a": text}


@given(st.lists(ANY_TEXT), st.none() | st.just(2))
def test_whatever_is_printed_is_safe_and_reads_back_as_it_was(texts: list[str], indent: int | None) -> None:
    """One class of unsafe characters for every way of showing them."""
    written = safe_json(texts, indent=indent)
    assert sanitise(written) == written
    assert strict(written) == texts or any("\ud800" <= character <= "\udfff" for text in texts for character in text)


def test_numbers_that_json_has_no_word_for_are_written_as_their_names() -> None:
    """Python's reader lets NaN in; a document with NaN in it is not JSON."""
    written = safe_json([float("nan"), float("inf"), {"a": -float("inf")}, 0.1])
    assert strict(written) == ["NaN", "Infinity", {"a": "-Infinity"}, 0.1]


def test_what_is_too_deep_for_indentation_stands_on_one_line() -> None:
    value: list[Any] = []
    for _ in range(600):
        value = [value]
    assert strict(safe_json(value, indent=2)) == value


@pytest.mark.parametrize("indent", [None, 2])
def test_a_ci_command_is_written_as_an_escape_and_reads_the_same(indent: int | None) -> None:
    value = {"##vso[a]": ["x ##[group]", "####[a", "## Usage [docs]"]}
    written = safe_json(value, indent=indent)
    assert re.search(r"##[a-z]*\[", written) is None
    assert "## Usage" in written
    assert strict(written) == value


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"9" * 5000, "it contains an integer of more than 4,300 digits, too many to read"),
        (b"[" * 100_000, "it is nested too deeply to be read"),
        (b"[NaN]", "it is not JSON: NaN is not a JSON value"),
        (b"-Infinity", "it is not JSON: -Infinity is not a JSON value"),
        (b"1e400", "it contains a number that is too large to read: 1e400"),
        (b'"\xff"', "it is not UTF-8"),
        (b"{", "it is not JSON: Expecting property name enclosed in double quotes in line 1, column 2"),
        (b"", "it is not JSON: Expecting value in line 1, column 1"),
    ],
)
def test_what_cannot_be_read_has_its_reason(data: bytes, told: str) -> None:
    """Each in words of our own: none names a setting of Python's."""
    with pytest.raises(JsonFault) as refused:
        load_json(data)
    assert str(refused.value) == told


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_a_file_is_read_in_the_encoding_that_its_beginning_tells(encoding: str) -> None:
    """A shell of Windows writes UTF-16 when output is redirected."""
    assert load_json('{"a": "é"}'.encode(encoding)) == {"a": "é"}

"""A proposed test as a YAML block for `tools:`: one key a line, every text in double quotes.

The form is fixed to the character, as docs/how-to/propose-assertions.md shows it. `reads_back` proves that a suite reads the
block as the value from which it was made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest_engine.core.errors import SuiteError
from mcptest_engine.core.sanitise import replace_unsafe
from mcptest_engine.suite.yaml import read_tree
from mcptest_engine.suite.yaml_text import WIDTH, Unwritable, in_flow, scalar

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest_engine.core.json_types import JsonMapping

BUDGET_COMMENT = "# latency budget: 2x the slowest observed call, rounded up to the nearest 50 ms, floor 100 ms"
_BUDGET = "max_duration_ms"


def test_block(test: JsonMapping, *, comments: tuple[str, ...] = ()) -> str:
    """The lines of a test as an item of a list whose dash stands at column 2, `comments` (with their `#`) behind its name.

    Raises: Unwritable, RecursionError.
    """
    lines: list[str] = []
    for at, (key, value) in enumerate(test.items()):
        if at == 1:
            lines += comments
        lines += expect_lines(value) if key == "expect" else _entry(key, value)
    first, *rest = lines
    return "".join(f"{line}\n" for line in (f"  - {first}", *(f"    {line}" for line in rest)))


def expect_lines(expect: Mapping[str, object]) -> list[str]:
    """The lines of `expect: …` at column 0, with the derivation of the latency budget above it."""
    lines = ["expect:"]
    for key, value in expect.items():
        if key == _BUDGET:
            lines.append(f"  {BUDGET_COMMENT}")
        lines += [f"  {line}" for line in _entry(key, value)]
    return lines


def expect_text(expect: Mapping[str, object]) -> str:
    """The value of an `expect` as YAML text, comments included."""
    return "".join(f"{line[2:]}\n" for line in expect_lines(expect)[1:])


def reads_back(text: str, value: object) -> bool:
    """Whether a suite reads `text` as exactly `value`."""
    try:
        back = read_tree(text, file="").value
    except (SuiteError, RecursionError):
        return False
    return bool(back == value) and repr(back) == repr(value)  # 1, 1.0 and true are equal to Python


def _entry(key: str, value: object) -> list[str]:
    head = f"{_key(key)}:"
    if not isinstance(value, (dict, list)) or not value or _fits(head, value):
        return [f"{head} {_flow(value)}"]
    return [head, *(f"  {line}" for line in _lines(value))]


def _lines(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [line for key, member in value.items() for line in _entry(key, member)]
    return [line for member in value for line in _item(member)]


def _item(value: object) -> list[str]:
    if not isinstance(value, (dict, list)) or not value or _fits("-", value):
        return [f"- {_flow(value)}"]
    first, *rest = _lines(value)
    return [f"- {first}", *(f"  {line}" for line in rest)]


def _fits(head: str, value: object) -> bool:
    """Whether a list of scalars fits on one line."""
    if not isinstance(value, list) or any(isinstance(member, (dict, list)) and member for member in value):
        return False
    return len(head) + len(_flow(value)) < WIDTH


def _flow(value: object) -> str:
    return spell_unsafe(in_flow(value, as_json=True) if isinstance(value, (dict, list)) else scalar(value, quoted=True))


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise Unwritable("a key must be text")
    return spell_unsafe(scalar(key))


def spell_unsafe(text: str) -> str:
    r"""Escape invisible characters; they are in double quotes, where `\u` is read."""
    return replace_unsafe(text, lambda char: f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}")

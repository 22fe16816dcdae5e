"""Suites written in every style that people use, for property tests: block and flow, odd indentation, comments, CRLF, a BOM."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from hypothesis import strategies as st

from mcptest_engine.suite.yaml_text import scalar

WORDS = st.sampled_from(
    [
        "alpha",
        "two words",
        "no",
        "12",
        "",
        "a: b",
        "- x",
        "it's",
        'say "hi"',
        "ü ☂ 💥",
        "#no",
        "tab\there",
        "${x}",
        "*a",
    ]
)
SCALARS = st.one_of(
    WORDS, st.integers(-9, 10_000), st.booleans(), st.none(), st.floats(allow_nan=False, width=16), st.text(max_size=6)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(WORDS, inner, max_size=3)),
    max_leaves=6,
)
MATCHERS = st.dictionaries(st.sampled_from(["exact", "contains", "subset"]), VALUES, min_size=1, max_size=1)
TARGETS = st.sampled_from(["result.content[0].text", "result.isError", 'result["a b"]', "duration_ms"])
ASSERTIONS = st.fixed_dictionaries({"target": TARGETS, "matcher": MATCHERS}, optional={"name": WORDS})
EXPECTS = st.one_of(
    st.lists(ASSERTIONS, max_size=3),
    st.none(),
    st.fixed_dictionaries(
        {}, optional={"assertions": st.lists(ASSERTIONS, max_size=2), "max_duration_ms": st.integers(1, 99)}
    ),
)
TESTS = st.fixed_dictionaries(
    {"name": WORDS, "tool": WORDS}, optional={"args": st.dictionaries(WORDS, VALUES, max_size=2), "expect": EXPECTS}
)
ANY_TOOLS = st.one_of(st.none(), st.lists(TESTS, max_size=3))
REST = st.fixed_dictionaries(
    {"name": WORDS},
    optional={
        "description": st.text(max_size=20),
        "prompts": st.lists(TESTS, max_size=1),
        "run_options": st.dictionaries(WORDS, VALUES, max_size=2),
    },
)
SOME_TOOLS = st.lists(TESTS, min_size=1, max_size=3)


class Written(NamedTuple):
    """A suite's tree, and one text of it."""

    tree: dict[str, Any]
    text: str


class _Writer:
    """Draws a style for every node."""

    def __init__(self, draw: Any) -> None:
        self._draw = draw
        self._comments = draw(st.booleans())
        self.notes = 0

    def _one_of(self, *choices: Any) -> Any:
        return self._draw(st.sampled_from(choices))

    def note(self) -> str:
        if not self._comments or not self._one_of(True, False, False):
            return ""
        self.notes += 1
        return f" # note {self.notes} [{{"

    def scalar(self, value: Any, *, in_flow: bool = False) -> str:
        if isinstance(value, str) and self._one_of(True, False) and value.isprintable():
            return "'" + value.replace("'", "''") + "'"
        if isinstance(value, str) and in_flow:
            return scalar(value, quoted=True)
        return scalar(value)

    def flow(self, value: Any) -> str:
        if isinstance(value, dict):
            pad = self._one_of("", " ")
            members = [f"{self.scalar(key, in_flow=True)}: {self.flow(part)}" for key, part in value.items()]
            tail = self._one_of("", ",") if members else ""
            return "{" + pad + ", ".join(members) + tail + pad + "}"
        if isinstance(value, list):
            return "[" + self._one_of(", ", ",").join(map(self.flow, value)) + self._one_of("", " ") + "]"
        return self.scalar(value, in_flow=True)

    def wide(self, value: Any, indent: int) -> str:
        """Flow over several lines, as JSON is printed."""
        return json.dumps(value, indent=2, ensure_ascii=False).replace("\n", "\n" + " " * indent)

    def value(self, value: Any, indent: int) -> str:
        """What stands behind `key:` or `-`, with its line end; lines below it are indented by more than `indent`."""
        simple = isinstance(value, str) and value.isascii() and value.isprintable() and value == value.strip() != ""
        if simple and self._one_of(True, False, False):
            style = self._one_of("|-", ">-")
            return f" {style}\n{' ' * (indent + 2)}{value}\n"
        if value is None:
            return self._one_of("", " ~", " null") + self.note() + "\n"
        if not isinstance(value, (dict, list)) or not value or self._one_of(True, False, False):
            return f" {self.flow(value)}{self.note()}\n"
        if self._one_of(True, False, False, False) and _is_json(value):
            return f" {self.wide(value, indent + 1)}{self.note()}\n"
        inner = indent + self._one_of(2, 2, 4, 1, 3)
        return self.note() + "\n" + self.block(value, inner)

    def block(self, value: Any, indent: int) -> str:
        blank = self._one_of("", "", "\n")
        lines = []
        if isinstance(value, dict):
            for key, part in value.items():
                lines.append(f"{' ' * indent}{self.scalar(key)}:{self.value(part, indent)}")
        else:
            for part in value:
                gap = self._one_of(1, 1, 3)
                inside = indent + 1 + gap
                if isinstance(part, dict) and part and self._one_of(True, True, False):
                    lines.append(f"{' ' * indent}-{' ' * gap}{self.block(part, inside).lstrip(' ')}")
                else:
                    lines.append(f"{' ' * indent}-{self.value(part, indent)}")
        return blank.join(lines)


def _is_json(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_is_json, value.values()))
    if isinstance(value, list):
        return all(map(_is_json, value))
    return not isinstance(value, str) or (value.isprintable() and "💥" not in value)


@st.composite
def written(draw: Any, tools: Any = ANY_TOOLS) -> Written:
    """A suite in a random style."""
    tree = draw(REST)
    if tools is not ANY_TOOLS or draw(st.booleans()):
        tree = {**tree, "tools": draw(tools)}
    tree = dict(draw(st.permutations(list(tree.items()))))
    writer = _Writer(draw)
    whole = draw(st.sampled_from(["block", "block", "block", "flow", "json"]))
    if whole == "block":
        text = writer.note().lstrip() + "\n" + writer.block(tree, 0)
    else:
        text = writer.flow(tree) if whole == "flow" else json.dumps(tree, indent=draw(st.sampled_from([None, 2])))
        text += "\n"
    text = text.lstrip("\n")
    if draw(st.booleans()):
        text = text.rstrip("\n")
    if draw(st.sampled_from([True, False, False])):
        text = text.replace("\n", "\r\n")
    if draw(st.sampled_from([True, False, False, False])):
        text = "\ufeff" + text
    return Written(tree, text)

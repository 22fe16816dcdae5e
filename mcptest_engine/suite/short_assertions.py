"""The short form of assertions: `expect: { text: { contains: "ok" } }` stands for a list of `target` and `matcher`.

A file's tree is rewritten to the long form when it is read, so that everything else knows only that one. Every part of it
keeps the place of what was written for it. The surprising thing: assertions in the long form come first, so that their
numbers are those of the list in the file.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.lazy_patterns import lazy_pattern
from mcptest_engine.core.targets import AGENT_ROOTS, COMPLIANCE_ROOTS, COMPOSITION_ROOTS, ROOTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mcptest_engine.suite.yaml import Pointer, Tree

SHORT_TARGETS = {"text": "result.content[0].text", "structured": "result.structuredContent"}
"""Short names of targets, in the test of a tool. `json` and `error` are targets themselves."""
EXPECT_KEYS = frozenset({"assertions", "max_duration_ms", "max_response_tokens", "max_cost_usd"})
"""What a mapping under `expect` has besides the short form."""
_TEXT_OF = {"resources": "result.contents[0].text", "prompts": "result.messages[0].content.text"}
ROOTS_OF = {
    "tools": ROOTS,
    "resources": ROOTS,
    "prompts": ROOTS,
    "compliance": COMPLIANCE_ROOTS,
    "compositions": COMPOSITION_ROOTS,
    "agents": AGENT_ROOTS,
}
_DESCRIBED = {
    "text": "The text of the answer's first part, with its matchers or the exact value.",
    "structured": "`structuredContent`, or a path in it such as `structured.total`, with its matchers or the exact value.",
    "json": "The first text of the answer read as JSON, or a path in it such as `json.total`, with its matchers or the "
    "exact value.",
    "error": "The protocol error, or a path in it such as `error.code`, with its matchers or the exact value.",
}
HEAD = lazy_pattern(r"[^.\[]+")
"""The name that a target starts with."""
_Node = tuple[Any, Any]
"""A value and its marks."""


def short_roots(block: str) -> tuple[str, ...]:
    """What a key of the short form may start with in a test of `block`."""
    roots = ROOTS_OF.get(block, ROOTS)
    return roots if block in ("compositions", "agents") else (*SHORT_TARGETS, *roots)


def long_target(written: str, block: str = "tools") -> str | None:
    """The target that a key of the short form stands for; None where the key starts with no known name."""
    head = HEAD.match(written)
    if head is None or head[0] not in short_roots(block):
        return None
    full = SHORT_TARGETS.get(head[0]) if block not in ("compositions", "agents") else None
    if head[0] == "text":
        full = _TEXT_OF.get(block, full)
    return written if full is None else full + written[head.end() :]


def short_target(target: str, block: str = "tools") -> str:
    """The shortest key that stands for a target: the target itself where there is no short name for it."""
    for short in SHORT_TARGETS if block not in ("compositions", "agents") else ():
        full = long_target(short, block)
        if full is not None and target.startswith(full) and target[len(full) : len(full) + 1] in ("", ".", "["):
            return short + target[len(full) :]
    return target


def has_short_form(expect: object) -> bool:
    """Whether an `expect`, as the file has it, holds assertions in the short form."""
    return isinstance(expect, dict) and not expect.keys() <= EXPECT_KEYS


def block_of_step(step: Mapping[str, object]) -> str:
    """The block whose short form a step under `verify` has."""
    return "resources" if "uri" in step else "prompts" if "prompt" in step else "tools"


def long_form_assertions(expect: object, block: str) -> Iterator[tuple[Pointer, Any]]:
    """The assertions of an `expect` as the file has it, in the order of a run and in the long form.

    Each comes with its path below `expect`: of one in the short form that is its key.
    """
    if not isinstance(expect, dict):
        yield from (((number,), one) for number, one in enumerate(expect if isinstance(expect, list) else ()))
        return
    listed = expect.get("assertions")
    yield from ((("assertions", number), one) for number, one in enumerate(listed if isinstance(listed, list) else ()))
    for key, written in expect.items():
        no_places: Any = [0, *([0, 0] * len(written))] if isinstance(written, dict) else 0
        for target, matcher, _ in _short_rows(key, written, no_places, block):
            yield (key,), {"target": target, "matcher": matcher}


def with_long_assertions(tree: Tree) -> Tree:
    """The tree with each assertion in the short form as a `target` with a `matcher`; itself where there is none."""
    value, marks = tree.value, tree.marks
    if type(value) is not dict:
        return tree
    for block in value.keys() & {*ROOTS_OF, "defaultTest"}:
        value, marks = _changed(value, marks, block, partial(_block, block))
    return tree if value is tree.value else replace(tree, value=value, marks=marks)


def _block(block: str, value: object, marks: object) -> _Node:
    if block == "defaultTest":
        return _test("tools", value, marks)
    if type(value) is dict:
        return _changed(value, marks, "checks", partial(_block, block))
    return _each(partial(_test, block), value, marks)


def _test(block: str, value: object, marks: object) -> _Node:
    if type(value) is not dict:
        return value, marks
    if not has_short_form(value.get("expect")) and "cases" not in value and "verify" not in value:
        return value, marks
    value, marks = _changed(value, marks, "expect", partial(_expect, block))
    value, marks = _changed(value, marks, "cases", partial(_each, partial(_case, block)))
    return _changed(value, marks, "verify", partial(_each, _step))


def with_long_cases(tree: Tree, block: str) -> Tree:
    """The same for a list of cases, which are those of a test of `block`."""
    value, marks = _each(partial(_case, block), tree.value, tree.marks)
    return tree if value is tree.value else replace(tree, value=value, marks=marks)


def _case(block: str, value: object, marks: object) -> _Node:
    return _changed(value, marks, "expect", partial(_expect, block))


def _step(value: object, marks: object) -> _Node:
    if type(value) is not dict:
        return value, marks
    return _changed(value, marks, "expect", partial(_expect, block_of_step(value)))


def _changed(value: Any, marks: Any, key: str, change: Callable[[Any, Any], _Node]) -> _Node:
    """A mapping with the value under `key` changed; itself where there is none, or the change is none."""
    if type(value) is not dict or key not in value:
        return value, marks
    place = 2 + 2 * list(value).index(key)
    new, new_marks = change(value[key], marks[place])
    if new is value[key]:
        return value, marks
    return {**value, key: new}, [*marks[:place], new_marks, *marks[place + 1 :]]


def _each(change: Callable[[Any, Any], _Node], value: Any, marks: Any) -> _Node:
    """A list with every item changed; itself where no change is one."""
    if type(value) is not list:
        return value, marks
    nodes = [change(item, places) for item, places in zip(value, marks[1:], strict=True)]
    if all(new is item for (new, _), item in zip(nodes, value, strict=True)):
        return value, marks
    return [new for new, _ in nodes], [marks[0], *(places for _, places in nodes)]


def _expect(block: str, value: object, marks: Any) -> _Node:
    if type(value) is not dict or value.keys() <= EXPECT_KEYS:
        return value, marks
    rows: list[Any] = []
    row_marks: list[Any] = []
    others: dict[str, Any] = {}
    other_marks: list[Any] = []
    for number, (key, written) in enumerate(value.items()):
        key_mark, places = marks[1 + 2 * number], marks[2 + 2 * number]
        found = list(_short_rows(key, written, places, block))
        if not found:
            others[key] = written  # for the structural check
            other_marks += [key_mark, places]
        for target, matcher, matcher_marks in found:
            rows.append({"target": target, "matcher": matcher})
            row_marks.append([key_mark, key_mark, key_mark, key_mark, matcher_marks])
    listed, listed_marks = others.get("assertions", []), [marks[0]]
    if not rows or type(listed) is not list:
        return value, marks
    if "assertions" in others:
        place = 2 * list(others).index("assertions") + 1
        listed_marks = other_marks[place]
        others["assertions"] = [*listed, *rows]
        other_marks[place] = [*listed_marks, *row_marks]
        return others, [marks[0], *other_marks]
    first = row_marks[0][0]
    return {"assertions": rows, **others}, [marks[0], first, [first, *row_marks], *other_marks]


def _short_rows(key: str, written: object, places: object, block: str) -> Iterator[tuple[str, Any, Any]]:
    """The target, the matcher and the matcher's marks of each assertion that a key under `expect` stands for."""
    target = None if key in EXPECT_KEYS else long_target(key, block)
    if target is None or (target == "duration_ms" and type(written) is not dict):
        return  # a plain `duration_ms` is meant as a limit
    for matcher, matcher_marks in _matchers(written, places):
        yield target, matcher, matcher_marks


def _matchers(written: Any, places: Any) -> list[_Node]:
    """The matchers of one key: each of a mapping by itself, and `exact` for a plain value."""
    if written is None:
        return [({}, [places])]
    if type(written) is dict and len(written) < 2:
        return [(written, places)]
    if type(written) is not dict:
        own = places[0] if type(places) is list else places
        return [({"exact": written}, [own, own, places])]
    return [
        ({name: operand}, [places[0], places[1 + 2 * number], places[2 + 2 * number]])
        for number, (name, operand) in enumerate(written.items())
    ]


def pattern_properties(block: str) -> dict[str, Any]:
    """The keys of the short form as JSON Schema has them, for a test of `block`. Only editors see them."""
    takes = {"anyOf": [{"$ref": "#/$defs/Matchers"}, {"not": {"type": ["object", "null"]}}]}
    roots = short_roots(block) if block == "agents" else (*short_roots("compliance"), *COMPOSITION_ROOTS)
    found = {root: text for root, text in _DESCRIBED.items() if root in roots}
    others = "|".join(dict.fromkeys(root for root in roots if root not in found))
    found[f"({others})"] = "A target, with its matchers or the exact value."
    return {rf"^{root}([.\[].*)?$": {"description": text, **takes} for root, text in found.items()}

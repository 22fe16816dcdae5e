"""What can be wrong with an assertion although its shape is right: its target, its regex, its schema, its jq program.

The surprising thing is the order: one pass over all assertions only remembers what needs a library, and the distinct
regexes, schemas and programs are compiled at the end, so that a suite without them imports and starts nothing. Nothing is
ever fetched for a schema.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.errors import Suggestion, did_you_mean
from mcptest_engine.core.lazy_patterns import lazy_pattern
from mcptest_engine.core.targets import AGENT_GATES, AGENT_ROOTS, ROOTS, TargetSyntaxError, parse_target
from mcptest_engine.core.text import quoted
from mcptest_engine.suite.items import ASSERT_SET, NESTING_MATCHERS
from mcptest_engine.suite.places import MOST_PROBLEMS
from mcptest_engine.suite.short_assertions import long_target

if TYPE_CHECKING:
    from mcptest_engine.suite.places import Places
    from mcptest_engine.suite.yaml import Pointer

_OF_TOOLS = ("content", "structuredContent", "isError", "tools")
_OF_OTHERS = ("contents", "resources", "resourceTemplates", "messages", "description", "prompts", "nextCursor", "_meta")
_RESULT_MEMBERS = (*_OF_TOOLS, *_OF_OTHERS)
_OTHER_MEMBERS = {
    "body": "http",
    "code": "error",
    "data": "error",
    "headers": "http",
    "method": "request",
    "retries": "http",
    "status": "http",
}
MAY_ALWAYS_HOLD = frozenset(
    ("contains", "icontains", "contains-all", "contains-any", "starts-with", "ends-with", "subset")
)
"""The matchers that hold for every value of a kind if what they compare with is empty."""
LOOK_INTO_ARRAYS = frozenset(("contains", "icontains", "contains-all", "contains-any"))
"""Of these, the matchers that look for an element of an array: with `not`, that no element is empty says something."""
_NEEDS_A_LOOK = frozenset(
    (*MAY_ALWAYS_HOLD, *NESTING_MATCHERS, "regex", "schema", "jq", "between", "snapshot", "llm-judge")
)
_EMPTY_TEXTS = {
    "contains": 'every text contains ""',
    "icontains": 'every text contains ""',
    "starts-with": 'every text starts with ""',
    "ends-with": 'every text ends with ""',
}
_EMPTY_OBJECTS = {"contains": "every object contains `{}`", "subset": "`{}` is a subset of every object"}
_END = lazy_pattern(r"(?<!\\)\$\Z")
_LOOKS_AROUND = lazy_pattern(r"[$^]|\\[AZzbBGmMK]|\(\?(?:<?[=!]|\()")
_PLAIN_REGEX = lazy_pattern(r"[^\\.^$*+?{}\[\]|()]*")
_JSON_TYPES = ("string", "number", "integer", "boolean", "object", "array", "null")
_Spot = tuple[int, "Pointer"]


class AssertionChecks:
    """Looks at assertions one by one with `check`, and at what they hold in common with `finish`."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._good: dict[tuple[str, ...], set[str]] = {}
        self._regexes: dict[str, list[_Spot]] = {}
        self._programs: dict[str, list[_Spot]] = {}
        self._schemas: dict[str, tuple[Any, list[_Spot]]] = {}
        self.opinions: list[tuple[dict[str, Any], int, Pointer]] = []
        """What is asked of a model, each with its file and place, for whoever checks judges."""

    def check(self, assertions: list[Any], file: int, path: Pointer, roots: tuple[str, ...] = ROOTS) -> None:
        """Judge the assertions of one test, those inside sets included; `path` leads to their list in the file.

        `roots` is what their targets may start with.
        """
        good = self._good.setdefault(roots, set())
        for index, assertion in enumerate(assertions):
            if type(assertion) is not dict:
                continue
            if ASSERT_SET in assertion:
                inner = assertion[ASSERT_SET]
                found = inner.get("assertions") if isinstance(inner, dict) else None
                if type(found) is list:
                    self.check(found, file, (*path, index, ASSERT_SET, "assertions"), roots)
                continue
            target = assertion.get("target")
            if type(target) is str and target not in good:
                self._target(target, file, (*path, index, "target"), roots)
            matcher = assertion.get("matcher")
            if type(matcher) is dict:
                for name in matcher:
                    if name in _NEEDS_A_LOOK:
                        self._matcher(name, matcher[name], file, (*path, index, "matcher", name))
            if "transform" in assertion and isinstance(transform := assertion["transform"], dict):
                self.check_program(transform.get("jq"), file, (*path, index, "transform", "jq"))

    def finish(self) -> None:
        """Compile what `check` came across."""
        self._compile_regexes()
        self._compile_schemas()
        self._compile_programs()

    def _target(self, target: str, file: int, path: Pointer, roots: tuple[str, ...]) -> None:
        try:
            first = parse_target(target).segments[0]
        except TargetSyntaxError as wrong:
            message = f"the target {quoted(target)} cannot be read: {wrong.message}"
            self._places.report(file, path, message, inside=(target, wrong.column - 1))
            return
        if first in roots:
            self._good[roots].add(target)
            return
        shown = quoted(first) if isinstance(first, str) else f"`{target[:40]}`"
        full = long_target(target, str(path[0])) if roots is ROOTS else None
        hint = Suggestion(target, full) if full is not None else _root_hint(first, target, roots)
        self._places.report(file, path, f"a target cannot start with {shown}", hint)

    def _matcher(self, name: str, operand: object, file: int, path: Pointer) -> None:
        if (name in MAY_ALWAYS_HOLD or name in ("schema", "length")) and not (
            name in LOOK_INTO_ARRAYS and "not" in path
        ):
            self._warn_if_always_true(name, operand, file, path)
        if name in ("not", "each", "some", "length"):
            self._nested(operand, file, path)
        elif name in ("all-of", "any-of"):
            for index, inner in enumerate(operand if isinstance(operand, list) else ()):
                self._nested(inner, file, (*path, index))
        elif name == "regex" and isinstance(operand, str):
            if not operand or not _PLAIN_REGEX.fullmatch(operand):
                self._regexes.setdefault(operand, []).append((file, path))
        elif name == "jq":
            self.check_program(operand, file, path)
        elif name == "schema" and isinstance(operand, dict):
            self._schemas.setdefault(repr(operand), (operand, []))[1].append((file, path))
        elif name == "between":
            self._between(operand, file, path)
        elif name == "snapshot" and isinstance(operand, dict):
            self._ignored(operand.get("ignore"), file, (*path, "ignore"))
        elif name == "llm-judge" and isinstance(operand, dict):
            self.opinions.append((operand, file, path))

    def _warn_if_always_true(self, name: str, operand: Any, file: int, path: Pointer) -> None:
        if (told := always_holds(name, operand)) is not None:
            self._places.warn(file, path, *told)
        elif name in ("contains-all", "contains-any"):
            for index, inner in enumerate(operand if isinstance(operand, list) else ()):
                self._warn_if_always_true("contains", inner, file, (*path, index))

    def _nested(self, matcher: object, file: int, path: Pointer) -> None:
        if isinstance(matcher, dict):
            for name, operand in matcher.items():
                if name in _NEEDS_A_LOOK:
                    self._matcher(name, operand, file, (*path, name))

    def check_program(self, program: object, file: int, path: Pointer) -> None:
        """Remember a jq program to compile; what is no text is the structural check's."""
        if isinstance(program, str):
            self._programs.setdefault(program, []).append((file, path))

    def _between(self, bounds: object, file: int, path: Pointer) -> None:
        if not isinstance(bounds, list) or len(bounds) != 2:
            return
        low, high = bounds
        if not (_is_number(low) and _is_number(high)):
            return
        if low > high:
            message = f"no number lies between {low} and {high}"
            self._places.report(file, path, message, f"put the smaller number first: `[{high}, {low}]`")

    def _ignored(self, targets: object, file: int, path: Pointer) -> None:
        for index, target in enumerate(targets if isinstance(targets, list) else ()):
            if not isinstance(target, str):
                continue
            try:
                parse_target(target)
            except TargetSyntaxError as wrong:
                message = f"the target {quoted(target)} cannot be read: {wrong.message}"
                self._places.report(file, (*path, index), message, inside=(target, wrong.column - 1))

    def _compile_regexes(self) -> None:
        if not self._regexes:
            return
        from mcptest_engine.core.patterns import PatternError, check_pattern

        for pattern, spots in self._regexes.items():
            try:
                check_pattern(pattern)
                if (told := always_holds("regex", pattern)) is not None:
                    for file, path in spots:
                        self._places.warn(file, path, *told)
                continue
            except PatternError as wrong:
                message = f"the regex does not compile: {wrong.message}"
                inside = None if wrong.column is None else (pattern, wrong.column - 1)
            for file, path in spots:
                self._places.report(file, path, message, inside=inside)

    def _compile_programs(self) -> None:
        if not self._programs:
            return
        from mcptest_engine.core.jq import JqProgramError, JqRunError, check_program

        for program, spots in self._programs.items():
            inside = None
            try:
                check_program(program)
                continue
            except JqProgramError as wrong:
                message = f"the jq program does not compile: {wrong.message}"
                if wrong.line == 1 and wrong.column is not None:
                    inside = (program, wrong.column - 1)
            except JqRunError as wrong:
                message = f"the jq program cannot be checked: {wrong.message}"
            for file, path in spots:
                self._places.report(file, path, message, inside=inside)

    def _compile_schemas(self) -> None:
        if not self._schemas:
            return
        from mcptest_engine.core.schema_keywords import ineffective_parts, missing_type

        listed = 0
        for schema, spots in self._schemas.values():
            wrong = _schema_fault(schema)
            if wrong is not None:
                below, message, hint = wrong
                for file, path in spots:
                    self._places.report(file, (*path, *below), message, hint)
                continue
            if (forgotten := missing_type(schema)) is not None:
                told = f"this schema accepts every value that is not an {forgotten}, such as a text"
                for file, path in spots:
                    self._places.warn(file, path, told, f"add `type: {forgotten}`")
            for part in islice(ineffective_parts(schema), MOST_PROBLEMS + 1 - listed):
                listed += 1
                for file, path in spots:
                    self._places.warn(file, (*path, *part.path), part.message, part.hint, key=part.is_key)


def always_holds(name: str, operand: Any) -> tuple[str, str] | None:
    """Why a matcher holds for every value of its kind, and what to write instead; None where it does not."""
    any_text = "write the text that is expected; `length: { gt: 0 }` holds for any text that is not empty"
    if operand == "" and name in _EMPTY_TEXTS:
        return _EMPTY_TEXTS[name], any_text
    if operand == {} and name in _EMPTY_OBJECTS:
        return _EMPTY_OBJECTS[name], "write the members that are expected; `type: object` holds for any object"
    if operand == [] and name == "subset":
        return (
            "`[]` is a subset of every array",
            "write the elements that are expected; `type: array` holds for any array",
        )
    if name == "schema" and operand == {}:
        return "this schema accepts every value", "describe the value; `exists: true` holds for any value"
    if name == "regex" and isinstance(operand, str) and _is_found_everywhere(operand):
        return "the regex is found in every text", any_text
    if name == "length" and operand in ({"gte": 0}, {"gt": -1}):
        return "every length is at least 0", "write `{ gt: 0 }`, or the length that is expected"
    return None


def _is_found_everywhere(pattern: str) -> bool:
    """Whether a regex surely matches "" at the beginning or end of every text."""
    anywhere = pattern[1:] if pattern.startswith("^") else _END.sub("", pattern)
    if _LOOKS_AROUND.search(anywhere.replace("[^", "[")) is not None:
        return False
    from mcptest_engine.core.patterns import PatternError, PatternTimeout, search

    try:
        return search(pattern, "")
    except (PatternError, PatternTimeout):
        return False


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _root_hint(first: object, target: str, roots: tuple[str, ...]) -> str:
    if isinstance(first, str) and roots is AGENT_ROOTS:
        if near := did_you_mean(first, roots):
            return near
        if first in (*ROOTS, *_RESULT_MEMBERS):
            return "an agent test makes many calls: use `tool_calls`, or `final_response` for the answer of the model"
    elif isinstance(first, str):
        plain = target.removeprefix(".")
        if first in _RESULT_MEMBERS:
            return Suggestion(plain, f"result.{plain}")
        if first in _OTHER_MEMBERS:
            return Suggestion(plain, f"{_OTHER_MEMBERS[first]}.{plain}")
        if near := did_you_mean(first, roots):
            return near
        if near := did_you_mean(first, _RESULT_MEMBERS):
            return Suggestion(near.written, f"result.{near.meant}")
    return "it starts with one of " + ", ".join(
        f"`{root}`" for root in roots if root not in AGENT_GATES and root != "edges"
    )


def _schema_fault(schema: dict[str, Any]) -> tuple[Pointer, str, str | None] | None:
    """The place inside the schema, the message and the hint; None when it is a schema that needs nothing from outside."""
    import jsonschema_rs

    from mcptest_engine.core.schemas import refuse_to_fetch

    try:
        # Never `meta.validate`, which fetches an unknown `$schema` over the network.
        jsonschema_rs.validator_for(schema, retriever=refuse_to_fetch, validate_formats=True)
    except jsonschema_rs.ValidationError as wrong:
        return _explain_schema(schema, wrong)
    except (ValueError, jsonschema_rs.ReferencingError, RecursionError, OverflowError, TypeError) as wrong:
        return (), f"the schema cannot be used: {_first_line(wrong)}", None
    return None


def _explain_schema(schema: dict[str, Any], wrong: Any) -> tuple[Pointer, str, str | None]:
    place, rule = tuple(wrong.instance_path), list(wrong.schema_path)
    message = _first_line(wrong)
    if message.startswith("Unknown meta-schema"):
        hint = "remove `$schema` to use draft 2020-12, or name one of JSON Schema's own drafts"
        return ("$schema",), f"{quoted(str(schema.get('$schema')))} is not a known meta-schema", hint
    if "not present in a registry" in message or message.startswith("Pointer "):
        return _explain_reference(schema, message)
    if rule[-2:] == ["type", "anyOf"]:
        value = _at(schema, place)
        near = did_you_mean(value, _JSON_TYPES) if isinstance(value, str) else None
        shown = quoted(value) if isinstance(value, str) else "this"
        return place, f"{shown} is not a JSON Schema type", near or "types are " + ", ".join(_JSON_TYPES)
    return place, f"not a valid JSON Schema: {message}", None


def _explain_reference(schema: dict[str, Any], message: str) -> tuple[Pointer, str, str | None]:
    hint = "put what it refers to under `$defs` and write `#/$defs/…`"
    inside = message.startswith("Pointer ")
    for place, reference in _references(schema, ()):
        if reference.startswith("#") is inside and (not inside or _quoted_part(message) in reference):
            reason = (
                "points to nothing in the schema"
                if inside
                else "points outside the schema, and mcptest never fetches a schema"
            )
            return place, f"the reference {quoted(reference)} {reason}", hint
    return (), f"the schema cannot be used: {message}", hint


def _references(value: Any, path: Pointer) -> list[tuple[Pointer, str]]:
    """Every `$ref` and `$dynamicRef` with its path, in order."""
    found: list[tuple[Pointer, str]] = []
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        if key in ("$ref", "$dynamicRef") and isinstance(item, str):
            found.append(((*path, key), item))
        elif isinstance(item, dict | list):
            found += _references(item, (*path, key))
    return found


def _at(value: Any, path: Pointer) -> Any:
    for part in path:
        value = value[part]
    return value


def _quoted_part(message: str) -> str:
    return message.partition("'")[2].partition("'")[0]


def _first_line(wrong: Exception) -> str:
    from mcptest_engine.core.sanitise import one_line

    return one_line(getattr(wrong, "message", None) or str(wrong).partition("\n")[0], 200)

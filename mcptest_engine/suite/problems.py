"""What is wrong with the shape of a suite: every unknown key, wrong type and missing part, exactly placed.

A suite of many tests that is right is settled by the compiled schema alone, in microseconds a test. One that is not is walked
here, over the same schema, because validators name the whole test where one key is wrong; and so are the first short ones,
because a walk through one takes a tenth of what importing the validator and compiling the schema would. Neither way imports
pydantic. A test holds both to the same opinion.
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
from dataclasses import field
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.errors import Problem, Span, Suggestion, did_you_mean
from mcptest_engine.core.lazy_patterns import lazy_pattern
from mcptest_engine.core.schemas import refuse_to_fetch
from mcptest_engine.core.text import pointer
from mcptest_engine.core.values import dataclass
from mcptest_engine.suite.places import MOST_PROBLEMS, TooManyProblems
from mcptest_engine.suite.schema import messages_of, strict_schema

_FEW = 8

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcptest_engine.suite.yaml import Pointer, Tree


def structural_problems(tree: Tree) -> list[Problem]:
    """Every problem with the shape of a suite whose templates are replaced, in file order; [] for a good one.

    What `tree.problems` tells already is not told again.
    """
    # The compiled schema lets some odd numbers pass.
    walk_decides = tree.has_non_finite or tree.has_whole_floats or _walking.pays(tree.value)
    if not walk_decides and _is_valid(tree.value):
        return []
    problems = _Walk(tree).problems()
    if not problems and not walk_decides and not tree.problems:
        # The walk and the schema disagree, which is our mistake; the suite is refused all the same.
        problems.append(Problem(message="the suite does not match the schema", file=tree.file, span=tree.span(())))
    return problems


class _Walking:
    """How many more values this process may walk through before the validator is the quicker way.

    So a command that looks at a few short suites never imports it, and what looks at them again and again soon does.
    """

    def __init__(self, values: int) -> None:
        self._left = values

    def pays(self, value: object) -> bool:
        """Whether to walk through this value, which then counts."""
        waiting, count = [value], 1
        while waiting:
            one = waiting.pop()
            if isinstance(one, (dict, list)):
                count += len(one)
                if count > self._left:
                    return False
                waiting += one.values() if isinstance(one, dict) else one
        self._left -= count
        return True

    def stop(self) -> None:
        """Settle what comes by the validator."""
        self._left = 0


_walking = _Walking(2_000)


def expect_many() -> None:
    """Settle the suites of this process by the compiled schema: there are many, and it needs the validator anyway."""
    _walking.stop()


def _is_valid(value: object) -> bool:
    try:
        keys = value.keys() & _strict()["properties"].keys() if isinstance(value, dict) else ()
        return bool(_validator(frozenset(keys)).is_valid(value))
    except (ValueError, OverflowError, TypeError):
        return False  # a value that the validator cannot take: the walk finds out


_strict = cache(strict_schema)


@lru_cache(maxsize=64)
def _validator(keys: frozenset[str]) -> Any:
    """The compiled schema for a suite with these keys at its top. All of it takes ten times as long to compile as most need."""
    import jsonschema_rs

    schema = _strict()
    used = {key: part for key, part in schema["properties"].items() if key in keys}
    found: dict[str, Any] = {}
    waiting = _mentioned(used)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = schema["$defs"][name]
            if isinstance(found[name], dict):
                waiting += _mentioned(found[name])
    pruned = {**schema, "properties": used, "$defs": found}
    return jsonschema_rs.Draft202012Validator(pruned, retriever=refuse_to_fetch)


@dataclass(slots=True)
class _Place:
    """Where the walk is: the path, the key it stands under, and the definitions gone through from the root."""

    path: Pointer
    key: str = ""
    within: tuple[str, ...] = ()

    def at(self, part: str | int, key: str) -> _Place:
        return _Place((*self.path, part), key, self.within)


@dataclass(slots=True)
class _Walk:
    """One walk over one tree. Same value, same place: an aliased mistake is reported once."""

    tree: Tree
    _schema: dict[str, Any] = field(default_factory=_strict)
    _found: dict[tuple[Span | None, str], Problem] = field(default_factory=dict)
    _near: dict[tuple[str, str], str | None] = field(default_factory=dict)

    def problems(self) -> list[Problem]:
        with suppress(TooManyProblems):
            self._check(self._schema, self.tree.value, _Place((), within=("Suite",)), "Suite")
        if self.tree.has_non_finite:
            self._non_finite(self.tree.value, (), {span for span, _ in self._found})
        told = {problem.span for problem in self.tree.problems}
        new = [problem for problem in self._found.values() if problem.span is None or problem.span not in told]
        return sorted(new, key=lambda problem: problem.span or Span(0, 0))

    def _check(self, schema: Any, value: Any, place: _Place, definition: str | None = None) -> None:
        """Check one value against one piece of schema; `definition` is the piece's name where it has one."""
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            within = (*place.within, name)
            self._check(self._schema["$defs"][name], value, _Place(place.path, place.key, within), name)
        elif "anyOf" in schema and "properties" not in schema:
            self._check_one_of(schema["anyOf"], value, place)
        elif "if" in schema:
            self._check_if(schema, value, place)
        elif not _fits(schema, value):
            self._wrong_type([(schema, definition)], value, place)
        elif isinstance(value, dict):
            self._check_mapping(schema, value, place, definition)
        elif isinstance(value, list):
            self._check_list(schema, value, place)
        else:
            self._check_scalar(schema, value, place)

    def _check_if(self, schema: Any, value: Any, place: _Place) -> None:
        """A mapping with the keys of `if` is held to `then`, whatever else to `else`."""
        if isinstance(value, dict) and _has_keys(schema["if"], value):
            then = schema["then"]
            name = None if "$ref" in then else "FromEnv"
            within = place.within if name is None else (*place.within, name)
            self._check(then, value, _Place(place.path, place.key, within), name)
        elif "else" in schema:
            self._check(schema["else"], value, place)

    def _check_one_of(self, branches: list[Any], value: object, place: _Place) -> None:
        """Hold the value to the branch that its own kind points at: that is the one the author meant."""
        meant = []
        for branch in branches:
            schema, name = self._resolved(branch)
            if schema is False:
                continue  # a template, of which none is left
            if _fits(schema, value):
                words = schema.get("enum") or ([schema["const"]] if "const" in schema else [])
                if words and value not in words and {"type": "boolean"} in branches:
                    self._wrong_word(words, value, place)
                else:
                    self._check(branch, value, place)
                return
            meant.append((schema, name))
        self._wrong_type(meant, value, place)

    def _wrong_word(self, allowed: list[Any], value: object, place: _Place) -> None:
        """Report a text that is none of the words that may stand in place of true and false."""
        from mcptest_engine.suite import problem_messages as words

        message = f"expected {words.either(['true or false', *(f'`{word}`' for word in allowed)])}"
        hint = words.boolean_hint(value) or words.enum_hint(value, allowed)
        self._report(place, f"{message}, found {words.found(value)}", hint)

    def _resolved(self, schema: Any) -> tuple[Any, str | None]:
        if "$ref" not in schema:
            return schema, None
        name = schema["$ref"].rpartition("/")[2]
        return self._schema["$defs"][name], name

    def _check_mapping(self, schema: Any, value: dict[str, Any], place: _Place, definition: str | None) -> None:
        properties, others = schema.get("properties", {}), schema.get("additionalProperties", True)
        meant: set[str] = set()
        is_plain_row = definition == "Case" and "vars" not in value
        for key, member in value.items():
            below = place.at(key, key if key in properties else "")
            if key in properties:
                self._check_member(properties[key], member, below)
            elif others is False:
                if key == "matcher" and "target" in value and definition in _EXPECTS:
                    continue  # its `target` has the hint for both
                if is_plain_row and "name" in meant:
                    continue  # the first value of the row has the hint for all
                meant.add(self._unknown_key(key, member, properties, place, definition, is_plain_row=is_plain_row))
                if definition == "Assertion" and (_is_a_set(key) or _is_short(key, place)):
                    meant |= {"target", "matcher"}
            elif others is not True:
                self._check_member(others, member, below)
        for key in schema.get("required", ()):
            if key not in value and key not in meant:
                self._report(place, f"`{key}` is missing", messages_of(definition).get("missing", {}).get(key))
        if definition == "Matcher":
            self._one_matcher(value, place)
        elif "oneOf" in schema or "anyOf" in schema:
            ways = [branch["required"][0] for branch in schema.get("oneOf") or schema["anyOf"]]
            if "oneOf" in schema or not any(way in value for way in ways):
                self._one_way(ways, value, meant, place, definition or "")
        elif len(value) < schema.get("minProperties", 0):
            from mcptest_engine.suite import problem_messages as words

            shown = words.either([f"`{key}`" for key in properties]) if properties else ""
            told = f": it needs {shown}" if shown else ""
            hint = "write one of them" if shown else "write an entry, or remove the key"
            self._report(place, f"an empty mapping has no effect here{told}", hint)

    def _check_member(self, schema: Any, value: object, place: _Place) -> None:
        may_be_null = not any(word in schema for word in ("$ref", "anyOf", "type", "enum", "const"))
        if value is not None or may_be_null:
            self._check(schema, value, place)
            return
        from mcptest_engine.suite import problem_messages as words

        target, _ = self._resolved(schema)
        if "anyOf" in target:
            target, _ = self._resolved(target["anyOf"][0])
        hint = words.enum_hint(None, target["enum"]) if "enum" in target else None
        self._report(place, f"`{place.path[-1]}` has no value", hint or words.null_hint(target, place.key))

    def _check_list(self, schema: Any, value: list[Any], place: _Place) -> None:
        self._check_bounds(schema, value, place)
        items = schema.get("items", {})
        if items:
            for number, item in enumerate(value):
                self._check(items, item, place.at(number, place.key))

    def _check_scalar(self, schema: Any, value: Any, place: _Place) -> None:
        if _is_allowed(schema, value):
            self._check_bounds(schema, value, place)
            return
        from mcptest_engine.suite import problem_messages as words

        if "enum" in schema and value not in schema["enum"]:
            message = f"expected {words.expected(schema, place.key, None)}, found {words.found(value)}"
            self._report(place, message, words.enum_hint(value, schema["enum"]))
        elif "const" in schema and value != schema["const"]:
            message = f"expected {words.expected(schema, place.key, None)}, found {words.found(value)}"
            self._report(place, message, words.const_hint(schema["const"]))
        elif "not" in schema and value in schema["not"]["enum"]:
            message = f"expected true or false, or a reason, found {words.found(value)}"
            self._report(place, message, words.boolean_hint(value))
        else:
            self._report(place, *words.wrong_form(schema["pattern"], value, place.key))

    def _check_bounds(self, schema: Any, value: Any, place: _Place) -> None:
        if _is_within_bounds(schema, value):
            return
        from mcptest_engine.suite import problem_messages as words

        message = words.bound_message(schema, value)
        if message is not None:
            self._report(place, f"`{place.key}`: {message}" if place.key else message)

    def _wrong_type(self, meant: list[tuple[Any, str | None]], value: Any, place: _Place) -> None:
        from mcptest_engine.suite import problem_messages as words

        spelling = self._spelling(place)
        phrases = [words.expected(schema, place.key, name) for schema, name in meant]
        hints = (words.type_hint(schema, value, place.key, name, spelling) for schema, name in meant)
        message = f"expected {words.either(phrases)}, found {words.found(value)}"
        hint = next((hint for hint in hints if hint is not None), None)
        if not place.path:
            hint = "a suite starts with keys such as `servers:` and `tools:`"
        elif place.key == "expect" and isinstance(value, str):
            hint = "write a list of assertions, each with `target` and `matcher`"
        self._report(place, message, hint)

    def _spelling(self, place: _Place) -> str:
        """The scalar as the file has it, since `1.10` and `1.1` are one number but not one text."""
        index = self.tree.index(place.path)
        found = None if index is None else _TOKEN.match(self.tree.text, index)
        return found.group() if found else ""

    def _unknown_key(
        self,
        key: str,
        value: Any,
        properties: Any,
        place: _Place,
        definition: str | None,
        *,
        is_plain_row: bool = False,
    ) -> str:
        """Report a key that does not belong; returns the key of this place that it stands for, or ""."""
        name = definition or ""
        matcher = name == "Matcher"
        shown = ""
        if key in messages_of(name).get("later", "").split():
            noun = "matcher" if matcher else "key"
            message, hint, meant = f"the {noun} `{key}` is not supported by this version of mcptest yet", None, ""
        else:
            hint, meant = self._key_hint(key, value, properties, place, name)
            if is_plain_row and not meant:
                hint, meant = f"write the values under `vars`: `{{ name: NAME, vars: {{ {_plain(key)}: … }} }}`", "name"
            message = f"Additional properties are not allowed ('{_plain(key)}' was unexpected)"
            shown = f"unknown key `{_plain(key)}`"
            if matcher:
                message, shown = f'unknown matcher "{_plain(key)}"', ""
        span = self.tree.span((*place.path, key), key=True, nearest=True)
        found = Problem(
            message=message, pointer=pointer(place.path), file=self.tree.file, span=span, hint=hint, words=shown
        )
        self._add(found)
        return meant

    def _key_hint(
        self, key: str, value: object, properties: Mapping[str, object], place: _Place, name: str
    ) -> tuple[str | None, str]:
        """The hint for an unknown key, and the key of this place that it stands for."""
        from mcptest_engine.suite.problem_messages import alias_hint

        head, colon, tail = key.partition(":")
        if colon and tail and head in properties:
            return f"a space is missing after the colon: write `{head}: {_plain(tail)}`", head
        if name == "Assertion" and _is_a_set(key):
            inside = "AssertSet" in place.within
            hint = "a set contains assertions and no other set: put it beside this one" if inside else None
            return hint or Suggestion(key, "assert-set"), ""
        if name == "Assertion" and _is_short(key, place):
            meant = self._assertion_meant(key, value, properties, place)
            shown = meant.meant if isinstance(meant, Suggestion) else _plain(key)
            return f"the short form has no `- `: write `{shown}:` under `expect:`", ""
        if name in _EXPECTS and (meant := self._assertion_meant(key, value, properties, place)):
            return meant, ""
        aliases = messages_of(name).get("aliases", {})
        alias = aliases.get(key)
        if alias is not None and alias in properties:
            return alias_hint(key, alias, name, value), alias
        word = self._nearest(key, properties, name)
        near = aliases.get(word, word) if word is not None else None
        if word is not None and near is not None and _closeness(key, word) >= 0.8:
            return Suggestion(key, near), near
        if name == "AssertSetItem":
            return "a set is an item of its own: put `- ` before the next line", ""
        if name == "Assertion" and "matcher" in properties:
            inner = self._matcher_meant(key.removeprefix("matcher."), value)
            if inner is not None:
                return f"a matcher belongs under `matcher`: write `matcher: {{ {inner} }}`", "matcher"
        if name == "Server" and key in ("type", "transport"):
            return "remove it: `command` or `url` decides how to connect to the server", ""
        elsewhere = self._elsewhere(key, place, name)
        if elsewhere is not None:
            return f"`{key}` {elsewhere}", ""
        if near is None and len(properties) == 1:
            (near,) = properties
        if near is None and 1 < len(properties) <= _FEW:
            return f"known here: {', '.join(f'`{one}`' for one in properties)}", ""
        return (Suggestion(key, near), near) if near is not None else (None, "")

    def _matcher_meant(self, key: str, value: object) -> str | None:
        """The matcher that a key is the name of, here or in another tool, with its value."""
        matchers = self._schema["$defs"]["Matcher"]["properties"]
        inner, shown = messages_of("Matcher")["aliases"].get(key, key), _one_scalar(value)
        if inner == "not" and key != inner:
            shown = f"{{ {'contains' if 'contains' in key else 'exact'}: {shown} }}"
        return f"{inner}: {shown}" if inner in matchers else None

    def _assertion_meant(self, key: str, value: object, properties: Mapping[str, object], place: _Place) -> str | None:
        """The hint for an unknown key of an `expect` that belongs to an assertion in the long or in the short form."""
        from mcptest_engine.suite.short_assertions import HEAD, short_roots

        if key in ("target", "matcher"):
            return "an assertion is an item of a list: put `- ` before `target`"
        block = str(place.path[0]) if place.path else ""
        if key.startswith(("isError", "structuredContent", "content")) and block not in _ANSWERS:
            return Suggestion(key, f"result.{key}")
        if (matcher := self._matcher_meant(key, value)) is not None:
            target = _ANSWERS.get(block, "text")
            return f"a matcher needs a target: write `{target}: {{ {matcher} }}`"
        head, roots = HEAD.match(key[:100]), short_roots(block)
        if head is None or head[0] in roots:
            return None
        near = did_you_mean(head[0], [*roots, *(properties if head[0] == key else ())])
        if near is None or near.meant not in roots:
            return None
        return Suggestion(key, f"{near.meant}{key[head.end() :]}")

    def _nearest(self, key: str, properties: Mapping[str, object], name: str) -> str | None:
        """The word most like the key, among the keys of this place and other tools' words for them."""
        if (key, name) not in self._near:
            foreign = messages_of(name).get("aliases", {})
            hint = did_you_mean(key, [*foreign, *properties]) if len(key) <= 100 else None
            self._near[key, name] = hint.meant if hint else None
        return self._near[key, name]

    def _elsewhere(self, key: str, place: _Place, name: str) -> str | None:
        """Where in the suite this key does stand: below this place, then above it, then anywhere."""
        if key in _COMMON_KEYS:
            return None
        definitions = {"Suite": self._schema, **self._schema["$defs"]}
        known = definitions.get(name, {}).get("properties", {})
        below = _mentioned(definitions.get(name))
        other = [home for home in definitions if home != "Matcher" or not _OF_ASSERTIONS.isdisjoint(known)]
        other.sort(key=lambda home: messages_of(home).get("is_rare", False))
        for home in (*below, *reversed(place.within), *other):
            belongs = messages_of(home).get("place")
            if belongs and belongs != messages_of(name).get("place") and key in definitions[home].get("properties", {}):
                return str(belongs)
        return None

    def _one_matcher(self, value: dict[str, Any], place: _Place) -> None:
        keys = list(value)
        if not keys:
            self._report(place, "the matcher is empty", 'write exactly one, such as `contains: "text"`')
        elif len(keys) > 1:
            shown = " and ".join(f"`{_plain(key)}`" for key in keys)
            inner = ", ".join(f"{{ {_plain(key)}: … }}" for key in keys)
            message, hint = f"a matcher has exactly one key, found {shown}", f"write `all-of: [{inner}]`"
            self._report(_Place((*place.path, keys[1])), message, hint, key=True)

    def _one_way(self, ways: list[str], value: dict[str, Any], meant: set[str], place: _Place, definition: str) -> None:
        present = [key for key in value if key in ways]
        if len(present) == 1 or (not present and meant & set(ways)):
            return
        from mcptest_engine.suite import problem_messages as words

        noun, hint = messages_of(definition)["choice"]
        shown = words.either([f"`{way}`" for way in ways])
        if present:
            found = words.either([f"`{way}`" for way in present], "and")
            at, two = _Place((*place.path, present[1])), len(present) == 2
            message = (
                f"{noun} has {'either' if len(ways) == 2 else 'one of'} {shown}, found {'both ' if two else ''}{found}"
            )
            self._report(at, message, "remove one of the two" if two else "keep one of them", key=True)
        else:
            self._report(place, f"{noun} needs {shown}", hint)

    def _non_finite(self, value: object, path: Pointer, told: set[Span | None]) -> None:
        members: Iterable[tuple[str | int, Any]] = ()
        if isinstance(value, dict):
            members = value.items()
        elif isinstance(value, list):
            members = enumerate(value)
        elif isinstance(value, float) and not math.isfinite(value):
            from mcptest_engine.suite.problem_messages import found
            from mcptest_engine.suite.schema_walk import of_suite, types

            allowed = {name for schema in of_suite(path) for name in types(schema)}
            is_text = "string" in allowed or allowed.isdisjoint(("number", "integer"))
            if self.tree.span(path, nearest=True) not in told:
                message = f"JSON cannot express {found(value)}"
                hint = "write a finite number" + (", or quote it if text is meant" if is_text else "")
                self._report(_Place(path), message, hint)
        for key, member in members:
            if isinstance(member, (dict, list, float)):
                self._non_finite(member, (*path, key), told)

    def _report(self, place: _Place, message: str, hint: str | None = None, *, key: bool = False) -> None:
        span = self.tree.span(place.path, key=key, nearest=True)
        self._add(Problem(message=message, pointer=pointer(place.path), file=self.tree.file, span=span, hint=hint))

    def _add(self, problem: Problem) -> None:
        self._found.setdefault((problem.span, problem.message), problem)
        if len(self._found) > MOST_PROBLEMS:
            raise TooManyProblems


# Many places have these: to say where else one of them belongs would say nothing.
_COMMON_KEYS = frozenset({"name", "description", "value", "default", "env", "mode", "message"})
# What has one of these may be where a matcher was meant.
_OF_ASSERTIONS = frozenset({"expect", "assertions", "matcher"})
_EXPECTS = ("Expect", "AgentExpect")
_ANSWERS = {"agents": "final_response", "compositions": "output", "compliance": "result"}
"""What a matcher is most often for, in blocks whose tests have no `text`."""


def _is_a_set(key: str) -> bool:
    word = re.sub(r"[^a-z]", "", key.lower())
    return word.startswith("as") and _closeness(word, "assertset") > 0.85


def _is_short(key: str, place: _Place) -> bool:
    """Whether a key of an assertion in a list is a target, which only the short form has as a key."""
    from mcptest_engine.suite.short_assertions import long_target

    block = str(place.path[0]) if place.path else ""
    return ("." in key and not key.startswith("matcher.")) or long_target(key[:100], block) is not None


_TOKEN = lazy_pattern(r"[^\s,\[\]{}#]+|[\[{].?")
_KINDS: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
}


def _fits(schema: Any, value: object) -> bool:
    """Whether the value is of the JSON type that the schema names; `true` is no number, `5.0` no integer."""
    kind = schema.get("type")
    if kind is None:
        return True
    if isinstance(value, bool):
        return bool(kind == "boolean")
    return isinstance(value, _KINDS[kind])


def _is_allowed(schema: Any, value: Any) -> bool:
    """Whether a scalar of the right type is one of those that the schema lists, or matches its pattern."""
    if "enum" in schema and value not in schema["enum"]:
        return False
    if "const" in schema and value != schema["const"]:
        return False
    if "not" in schema and value in schema["not"]["enum"]:
        return False
    return "pattern" not in schema or _matches(schema["pattern"], value)


def _is_within_bounds(schema: Any, value: Any) -> bool:
    """Whether a number, a text or a list of the right type is neither too small nor too large."""
    if isinstance(value, (int, float)):
        return not (value < schema.get("minimum", value) or value > schema.get("maximum", value))
    if isinstance(value, str):
        return not len(value) < schema.get("minLength", 0)
    if isinstance(value, list):
        return not (len(value) < schema.get("minItems", 0) or len(value) > schema.get("maxItems", len(value)))
    return True


def _has_keys(condition: Any, value: Mapping[str, Any]) -> bool:
    """Whether the keys that a condition names are there, and texts where it says of which text they are not."""
    others = {key: part["not"]["const"] for key, part in condition.get("properties", {}).items()}
    return all(key in value for key in condition["required"]) and all(
        isinstance(value[key], str) and value[key] != other for key, other in others.items()
    )


def _mentioned(schema: object) -> list[str]:
    """The definitions that a piece of schema leads to, without going into them."""
    if isinstance(schema, dict):
        ref = schema.get("$ref")
        inner = [name for key, part in schema.items() if key != "$defs" for name in _mentioned(part)]
        return [*([ref.rpartition("/")[2]] if isinstance(ref, str) else []), *inner]
    if isinstance(schema, list):
        return [name for part in schema for name in _mentioned(part)]
    return []


def _closeness(left: str, right: str) -> float:
    from difflib import SequenceMatcher

    return SequenceMatcher(None, left.casefold(), right.casefold()).ratio()


def _plain(key: str) -> str:
    from mcptest_engine.core.sanitise import one_line

    return one_line(key, 60)


def _one_scalar(value: object) -> str:
    import json

    from mcptest_engine.core.sanitise import one_line

    return "…" if isinstance(value, (dict, list)) else one_line(json.dumps(value, ensure_ascii=False), 40)


def _matches(pattern: str, value: str) -> bool:
    """As the compiled schema reads the pattern: there `$` is the very end, in Python a last line break may follow it."""
    return re.search(pattern, f"{value}\n" if value.endswith("\n") else value) is not None

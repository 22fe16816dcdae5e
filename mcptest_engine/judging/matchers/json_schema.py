"""`schema`: the value is valid under a JSON Schema. References lead nowhere but into the schema itself."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.clipping import LIMIT, show
from mcptest_engine.core.results import Mismatch
from mcptest_engine.core.schemas import DEEPEST, SchemaError, compile_schema, nested_deeper_than, refers
from mcptest_engine.core.text import pointer
from mcptest_engine.judging.matchers.equality import show_place
from mcptest_engine.judging.matchers.reasons import absent_entry, unjudged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jsonschema_rs import ValidationError, Validator

    from mcptest_engine.judging.matchers import Context, Judge, Reason


def matches_schema(schema: object, _: Context) -> Judge:
    """Valid under the schema, formats included."""
    try:
        validator = compile_schema(schema)
    except SchemaError as wrong:
        message = f"the schema cannot be used: {wrong}"
        return lambda _: unjudged(message)
    is_too_heavy = _weight_check(schema)

    def judge(actual: object) -> Reason | None:
        lacking = absent_entry(actual)
        if lacking is not None:
            return lacking
        if nested_deeper_than(actual, DEEPEST):
            return unjudged(f"the value is nested more than {DEEPEST} levels deep, too deep for a schema")
        if is_too_heavy is not None and is_too_heavy(actual):
            return unjudged("the value cannot be checked by this schema: its references repeat each other too often")
        return _schema_reason(validator, actual)

    return judge


def _weight_check(schema: object) -> Callable[[object], bool] | None:
    """As `schema_weight.weight_check`, which is imported only where a schema refers to another."""
    if not refers(schema):
        return None
    from mcptest_engine.core.schema_weight import weight_check

    return weight_check(schema)


def _schema_reason(validator: Validator, actual: object) -> Reason | None:
    try:
        if validator.is_valid(actual):
            return None
    except UnicodeEncodeError:
        return unjudged("the value contains half a character (a lone surrogate), which a schema cannot check")
    except (ValueError, OverflowError) as wrong:
        words = f"the value cannot be checked by a schema: {wrong}"
        return unjudged(words)
    return lambda: _explained(validator, actual)


def _explained(validator: Validator, actual: object) -> Mismatch:
    found = first_fault(validator, actual)
    if found is None:
        return Mismatch(message=f"`{show(actual)}` is not valid under the schema")
    return Mismatch(message=found.summary, pointer=found.place)


class Fault(NamedTuple):
    """What of a value breaks a schema: its JSON Pointer in the value, the validator's words, the rule's JSON Pointer."""

    place: str
    words: str
    rule: str

    @property
    def summary(self) -> str:
        """The place, the words and the rule in one line."""
        from mcptest_engine.core.sanitise import one_line

        where = f"at `{show_place(self.place)}`: " if self.place else ""
        return f"{where}{self.words} (`{one_line(self.rule, LIMIT)}` in the schema)"


class PlacedFault(NamedTuple):
    """The same for a program: the place as a path, the keyword that refuses, the value there, and what was expected of it.

    `expected` is the name that `required` misses, or the values of `enum`.
    """

    message: str
    path: tuple[str | int, ...]
    kind: str
    value: Any
    expected: Any


def find_faults(schema: object, actual: object) -> Iterator[PlacedFault]:
    """Every fault of a value, in the words of `matches_schema`, which has judged the value before."""
    import jsonschema_rs

    try:
        for error in compile_schema(schema).iter_errors(actual):
            fault = Fault(pointer(error.instance_path), _error_text(error), pointer(error.schema_path))
            kind = error.kind.name
            expected = {"required": "property", "enum": "options"}.get(kind, "")
            yield PlacedFault(
                fault.summary, tuple(error.instance_path), kind, error.instance, getattr(error.kind, expected, None)
            )
    except (SchemaError, ValueError, OverflowError, jsonschema_rs.ValidationError):
        return


def first_fault(validator: Validator, actual: object) -> Fault | None:
    """The first fault of a value; None where the validator finds none, or cannot quote it (half a character)."""
    import jsonschema_rs

    try:
        validator.validate(actual)  # stops at the first; `iter_errors` makes all of them before it gives one
    except jsonschema_rs.ValidationError as error:
        return Fault(pointer(error.instance_path), _error_text(error), pointer(error.schema_path))
    except ValueError:
        return None
    return None


def _error_text(error: ValidationError) -> str:
    """The validator's words, the value in them shown as we show values: it writes out whole megabytes."""
    instance = error.instance
    kind = error.kind.name if hasattr(error.kind, "name") else ""
    said = str(error.message)
    if kind == "enum" and said.endswith("other candidates"):  # which the validator names only two of
        options = ", ".join(map(json.dumps, getattr(error.kind, "options", ())))
        said = f"{show(instance)} is not one of {options}" if len(options) <= _OPTIONS else said
    if kind == "pattern" or said.count("\n"):
        said = said.partition("\n")[0]
    if isinstance(instance, (dict, list, str)) and len(said) > 120:
        for phrase in _PHRASES:
            at = said.rfind(phrase)
            if at > 0:
                return f"`{show(instance)}`{show_tail(said[at:])}"
    return show_tail(said)


def show_tail(text: str) -> str:
    """Words of the validator, safe and short, their article mended."""
    from mcptest_engine.core.sanitise import one_line

    return one_line(_ARTICLE.sub(r" is not an \1", text), 300)


_OPTIONS = 160
"""How many characters the allowed values may take to be named all."""
_ARTICLE = re.compile(r' is not a ("[aeio])(?=[\w-]*"$)')


_PHRASES = (
    " is not of type",
    " is not one of",
    " is not valid under",
    " is valid under",
    " has less than",
    " has more than",
    " has too",
    " has non-unique",
    " is longer than",
    " is shorter than",
    " does not match",
    " does not have",
    " does not contain",
    " is not a ",
    " is not allowed",
    " was expected",
)

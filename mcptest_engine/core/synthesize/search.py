"""From attempts to a valid value: the validator says where an attempt is wrong, and the next one decides otherwise there.

Bounded by counted steps, never by a clock: the same schema gives the same value on every machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.schema_document import Document
from mcptest_engine.core.schema_weight import too_heavy
from mcptest_engine.core.schemas import DEEPEST, SchemaError, compile_schema, nested_deeper_than
from mcptest_engine.core.synthesize.build import Attempt, DeadEnd, Exhausted, Fuel
from mcptest_engine.core.synthesize.values import Synthesis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jsonschema_rs import Validator

    from mcptest_engine.core.synthesize.build import Path, Taken

_STEPS = 20_000
_STEPS_AN_ATTEMPT = 30
_MOST_REFERENCES = 3_000
_ATTEMPTS = 300
_DIALECTS = ("http://json-schema.org/draft-07/schema#", "http://json-schema.org/draft-04/schema#")
TOO_HEAVY = "its references lead too far or multiply: judging a value by it would take too long"
NOT_WITHIN_STEPS = "no valid value was found within the steps allowed"


def find_value(schema: object, *more: dict[str, object]) -> Synthesis:
    """A value that is valid under the schema and built to fit `more` too, or the best attempt and why it is not."""
    if nested_deeper_than(schema, DEEPEST):
        return Synthesis(value=_fallback(schema, *more), problem="the schema is nested too deeply")
    document, validator, problem = readable(schema)
    fuel = Fuel(_STEPS)
    path: Path
    rule: Path
    plan: list[int] | None = []
    best: Synthesis | None = None
    first_wrong = ""
    for _ in range(_ATTEMPTS):
        if plan is None:
            break
        attempt = Attempt(document, plan, fuel)
        try:
            value = attempt.build([document.root, *more])
        except DeadEnd as end:
            path, rule, wrong = end.path, (), f"{_at(end.path)}{end}"
        except Exhausted:
            first_wrong = first_wrong or NOT_WITHIN_STEPS
            break
        else:
            found = Synthesis(value=value, guessed=guesses(attempt.guessed), problem=problem)
            if validator is None:
                return found
            if too_heavy(document, value):
                return Synthesis(value=value, guessed=found.guessed, problem=TOO_HEAVY)
            fault = _fault(validator, value)
            if fault is None:
                return found
            path, rule, wrong = fault
            best = best or found
        first_wrong = first_wrong or wrong
        plan = _next_plan(attempt.taken, path, document.chain(rule))
        fuel.left -= _STEPS_AN_ATTEMPT
    value = best.value if best else _fallback(schema, *more)
    return Synthesis(value=value, guessed=best.guessed if best else (), problem=problem or first_wrong)


def readable(schema: object) -> tuple[Document, Validator | None, str | None]:
    """The schema as it is read (the document's `root`), its validator, and why there is none.

    A schema without `$schema` that is not one of 2020-12 is often one of an older draft: it is read as such then.
    """
    document = Document(schema)
    if document.reference_count > _MOST_REFERENCES:
        return document, None, f"the schema has more than {_MOST_REFERENCES} references"
    try:
        return document, compile_schema(schema), None
    except SchemaError as wrong:
        problem = one_line(f"the schema cannot be used: {wrong}", 300)
    if isinstance(schema, dict) and "$schema" not in schema:
        for dialect in _DIALECTS:
            read = {"$schema": dialect, **schema}
            try:
                return Document(read), compile_schema(read), None
            except SchemaError:
                continue
    return document, None, problem


def judged(validator: Validator, value: object) -> bool:
    try:
        return validator.is_valid(value)
    except (ValueError, OverflowError):
        return False


def _fault(validator: Validator, value: object) -> tuple[Path, Path, str] | None:
    """Where the value is wrong, by which rule of the schema, and why; or None."""
    import jsonschema_rs

    try:
        validator.validate(value)
    except jsonschema_rs.ValidationError as error:
        path = tuple(error.instance_path)
        return path, tuple(error.schema_path), f"{_at(path)}{one_line(str(error.message), 200)}"
    except (ValueError, OverflowError) as error:
        return (), (), str(error)
    return None


def _next_plan(taken: Sequence[Taken], path: Path, chain: Sequence[int]) -> list[int] | None:
    """The decisions for the next attempt: another one by a schema that led to the broken rule (`chain`, outermost first),
    else one at the fault, else below it, else in what stands around it.
    """
    depth = {owner: at for at, owner in enumerate(chain)}
    ranks = [
        -1 - depth[decision.owner]
        if decision.owner in depth and path[: len(decision.path)] == decision.path
        else _rank(decision.path, path)
        for decision in taken
    ]
    for rank in sorted(set(ranks)):
        for at in range(len(taken) - 1, -1, -1):
            if ranks[at] == rank and taken[at].index + 1 < taken[at].count:
                return [*(decision.index for decision in taken[:at]), taken[at].index + 1]
    return None


def _rank(place: Path, fault: Path) -> int:
    if place == fault:
        return 0
    if place[: len(fault)] == fault:
        return 1
    if fault[: len(place)] == place:
        return 2 + len(fault) - len(place)
    return 1_000


def guesses(paths: Sequence[Path]) -> tuple[str, ...]:
    """Paths as `Synthesis.guessed` has them."""
    from mcptest_engine.core.text import pointer

    names = [path[0] if len(path) == 1 and isinstance(path[0], str) else pointer(path) for path in paths]
    return tuple(dict.fromkeys(names))


def _at(path: Path) -> str:
    from mcptest_engine.core.text import pointer

    return f"at `{one_line(pointer(path), 60)}`: " if path else ""


def _fallback(*schemas: object) -> object:
    """Something of the right type where nothing was found."""
    named = next((schema["type"] for schema in schemas if isinstance(schema, dict) and "type" in schema), None)
    kind = named[0] if isinstance(named, list) and named else named
    empty: dict[object, object] = {"array": [], "string": "", "integer": 0, "number": 0, "boolean": True, "null": None}
    return empty.get(kind, {}) if isinstance(kind, str) else {}

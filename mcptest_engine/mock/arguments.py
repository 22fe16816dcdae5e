"""Checks the arguments of a call against the tool's input schema.

`jsonschema_rs` is imported at the first call of a tool whose schema demands anything, because most mocks are called with
schemas that do not; each schema is compiled once. A `$ref` to anything outside the schema is refused: a mock reads nothing from
the network or the disk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcptest_engine.core.json_types import JsonMapping

MAX_FAULTS = 5


class BrokenSchema(ValueError):
    """The manifest's input schema is no JSON Schema, or refers to something outside it."""


def compile_check(schema: Any) -> Callable[[JsonMapping], str | None]:
    """Make a function that returns what is wrong with the arguments in one line, or None. Raises: BrokenSchema."""
    if _accepts_anything(schema):
        return lambda _arguments: None
    import jsonschema_rs

    from mcptest_engine.core.schemas import refuse_to_fetch

    try:
        validator = jsonschema_rs.validator_for(schema, retriever=refuse_to_fetch)
    except (ValueError, jsonschema_rs.ReferencingError) as wrong:
        raise BrokenSchema(str(wrong).partition("\n")[0]) from wrong

    def check(arguments: Mapping[str, object]) -> str | None:
        try:
            if validator.is_valid(arguments):
                return None
            faults = [_spell(fault) for fault in validator.iter_errors(arguments)]
        except UnicodeEncodeError:
            return "the arguments contain half a character (a lone surrogate)"
        more = f"; and {len(faults) - MAX_FAULTS} more" if len(faults) > MAX_FAULTS else ""
        return "; ".join(faults[:MAX_FAULTS]) + more

    return check


def _accepts_anything(schema: object) -> bool:
    """Whether the schema accepts all arguments; that they are an object is checked before."""
    if not isinstance(schema, dict):
        return schema is True
    return schema.get("type", "object") == "object" and schema.keys() <= {"type", "title", "description"}


def _spell(fault: Any) -> str:
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in fault.instance_path).lstrip(".")
    return f"`{place}`: {fault.message}" if place else str(fault.message)

"""The published JSON Schema of the run record, shipped beside this module as `record.schema.json`.

It is written by hand, because it is read by people; a test holds it equal to the classes of the record (`core/run_record.py`,
`core/results.py` and what they hold).
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from jsonschema_rs import Validator

    from mcptest_engine.core.json_types import JsonDict

_FILE = Path(__file__).with_name("record.schema.json")
_DEEPEST = 250  # levels; an output has 200 at most, and what shows one follows it by recursion


def schema_text() -> str:
    """The schema as published: JSON Schema 2020-12, for `mcptest schema --record`."""
    return _FILE.read_text(encoding="utf-8")


def record_fault(data: object) -> str | None:
    """What is wrong with a record's JSON values, and where; None when they are as the schema says."""
    import jsonschema_rs

    from mcptest_engine.core.sanitise import one_line
    from mcptest_engine.core.text import pointer

    try:
        if not _shallow().is_valid(data):
            return f"it is nested more than {_DEEPEST} levels deep"
        _validator().validate(data)
    except jsonschema_rs.ValidationError as wrong:
        return f"`{one_line(pointer(wrong.instance_path), 200)}`: {one_line(str(wrong.message), 200)}"
    except UnicodeEncodeError:  # half a character, which JSON may hold: it says nothing about the rest
        return record_fault(json.loads(json.dumps(data, ensure_ascii=False).encode("utf-8", "replace")))
    return None


@lru_cache(maxsize=1)
def _validator() -> Validator:
    from mcptest_engine.core.schemas import compile_schema

    return compile_schema(record_schema())


@lru_cache(maxsize=1)
def _shallow() -> Validator:
    """Holds for what is not nested too deep: looking at every value from Python is a tenth of the time of a merge."""
    from mcptest_engine.core.schemas import compile_schema

    levels: dict[str, object] = {str(_DEEPEST): {"not": {"type": ["object", "array"]}}}
    for level in range(_DEEPEST):
        below = {"$ref": f"#/$defs/{level + 1}"}
        levels[str(level)] = {"additionalProperties": below, "items": below}
    return compile_schema({"$ref": "#/$defs/0", "$defs": levels})


@lru_cache(maxsize=1)
def record_schema() -> JsonDict:
    """The schema as JSON values; not to be changed by the caller."""
    return cast("dict[str, Any]", json.loads(schema_text()))

"""JSON as it is printed: nothing in it that a terminal or CI system obeys or a reader could not see, and all of it JSON.

Unsafe characters are written as JSON escapes, so that unlike in sanitised text the value stays the same.
"""

from __future__ import annotations

import json
import math
from typing import Any

from mcptest_engine.core.sanitise import CI_COMMAND_IN_LINE, replace_unsafe


def safe_json(value: Any, *, indent: int | None = None) -> str:
    """`value` as JSON: floats shortest round-trip, NaN and the infinities as texts.

    With `indent` one member a line; a value too deep for that comes on one line. Raises: RecursionError when it is nested
    deeper than the interpreter can follow at all.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    except ValueError:
        text = json.dumps(finite(value), ensure_ascii=False, indent=indent)
    except RecursionError:
        if indent is None:
            raise
        return safe_json(value)
    if "##" in text:  # only ever inside of a string
        text = CI_COMMAND_IN_LINE.sub(r"#\\u0023", text)
    if text.isascii() and "\x7f" not in text:  # the encoder has escaped the other controls
        return text
    return replace_unsafe(text, _escaped)


def finite(value: Any) -> Any:
    """`value` with NaN and the infinities, which JSON has no word for, as the texts "NaN", "Infinity" and "-Infinity"."""
    if isinstance(value, float) and not math.isfinite(value):
        return json.dumps(value)
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    return value


def _escaped(character: str) -> str:
    return json.dumps(character)[1:-1]

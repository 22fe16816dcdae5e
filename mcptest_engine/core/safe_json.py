"""JSON as it is read from others, strictly, and as it is printed, so that no terminal or CI system obeys anything in it.

Unsafe characters are written as JSON escapes, so that unlike in sanitised text the value stays the same. What cannot be read is
one error with one reason: JSON's grammar allows more than Python reads (integers of over 4,300 digits, any depth), and Python
reads what is no JSON (NaN).
"""

from __future__ import annotations

import json
import math
import sys
from typing import TYPE_CHECKING, Never

from mcptest_engine.core.sanitise import CI_COMMAND_IN_LINE, replace_unsafe

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest_engine.core.json_types import Json


class JsonFault(ValueError):
    """A text that is not read as JSON. `str()` is a clause: `reason` with the `place`, its line and column, where known.

    With `syntax` both begin with "it is not JSON: ", and `detail` is the clause without that.
    """

    def __init__(self, reason: str, place: tuple[int, int] | None = None, *, syntax: bool = False) -> None:
        self.detail = reason if place is None else f"{reason} in line {place[0]}, column {place[1]}"
        super().__init__(f"it is not JSON: {self.detail}" if syntax else self.detail)
        self.reason = f"it is not JSON: {reason}" if syntax else reason
        self.place = place


def load_json(data: bytes | str) -> Json:
    """The JSON value of a file or an answer: as UTF-8, or as a byte order mark says. Raises: JsonFault for anything else."""
    try:
        return decode_json(data if isinstance(data, str) else data.decode(json.detect_encoding(data)))
    except (ValueError, RecursionError, MemoryError) as wrong:
        raise json_fault(wrong) from None


def json_fault(wrong: Exception) -> JsonFault:
    """Why a JSON text could not be read, from the exception that it caused."""
    match wrong:
        case JsonFault():
            return wrong
        case json.JSONDecodeError():
            return JsonFault(wrong.msg, (wrong.lineno, wrong.colno), syntax=True)
        case UnicodeDecodeError():
            return JsonFault("it is not UTF-8")
        case RecursionError():
            return JsonFault("it is nested too deeply to be read")
        case MemoryError():
            return JsonFault("it takes more memory than there is")
        case ValueError() if "int_max_str_digits" in str(wrong):
            limit = sys.get_int_max_str_digits()
            return JsonFault(f"it contains an integer of more than {limit:,} digits, too many to read")
    reason = str(wrong).partition("\n")[0] or type(wrong).__name__
    return JsonFault(f"it could not be read: {reason}")


def _refuse_constant(name: str) -> Never:
    raise JsonFault(f"{name} is not a JSON value", syntax=True)


def _finite_number(text: str) -> float:
    value = float(text)
    if value - value:  # infinity less infinity is NaN, which counts as true; any other number gives 0.0
        raise JsonFault(f"it contains a number that is too large to read: {text[:40]}")
    return value


def json_decoder(members: Callable[[list[tuple[str, object]]], object] | None = None) -> Callable[[str], object]:
    """What gives the value of a JSON text, each object as `members` makes it; NaN and the infinities, also as 1e999, are none.

    It raises what `json_fault` knows the reason of.
    """
    return json.JSONDecoder(
        object_pairs_hook=members, parse_constant=_refuse_constant, parse_float=_finite_number
    ).decode


decode_json = json_decoder()


def safe_json(value: object, *, indent: int | None = None) -> str:
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
    return replace_unsafe(text, lambda character: json.dumps(character)[1:-1])


def finite(value: object) -> object:
    """`value` with NaN and the infinities, which JSON has no word for, as the texts "NaN", "Infinity" and "-Infinity"."""
    if isinstance(value, float) and not math.isfinite(value):
        return json.dumps(value)
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    return value

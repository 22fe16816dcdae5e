"""What a plain scalar means under the core schema of YAML 1.2, where `no`, `on`, `1_000` and dates are text.

Source: YAML 1.2.2, section 10.3.2.
"""

from __future__ import annotations

import math

from mcptest_engine.core.lazy_patterns import lazy_pattern

MAYBE_NO_TEXT = frozenset("0123456789+-.~nNtTfF")
"""A plain scalar that starts with none of these is text, whatever follows: one set look-up spares the patterns."""

_MAX_DIGITS = 4000
_MAX_BITS = 13_287  # of 4,000 decimal digits
_WORDS = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
}  # fmt: skip
_INT = lazy_pattern(r"[-+]?[0-9]+")
_BASED = lazy_pattern(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = lazy_pattern(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_INFINITE = lazy_pattern(r"[-+]?\.(?:inf|Inf|INF)")
_NAN = frozenset({".nan", ".NaN", ".NAN"})


def resolve(text: str) -> str | int | float | bool | None:
    """The value that a plain scalar stands for. Raises: ValueError for an integer of more than 4,000 digits."""
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        return int(_short(text))
    if _BASED.fullmatch(text):
        value = int(_short(text)[2:], 8 if text[1] == "o" else 16)
        if value.bit_length() > _MAX_BITS:
            raise ValueError("too many digits")
        return value
    if _FLOAT.fullmatch(text):
        return float(text)
    if _INFINITE.fullmatch(text):
        return -math.inf if text[0] == "-" else math.inf
    return math.nan if text in _NAN else text


def _short(digits: str) -> str:
    """Refused here, because Python and JSON readers refuse or round such numbers later, each at its own length."""
    if len(digits) > _MAX_DIGITS:
        raise ValueError("too many digits")
    return digits

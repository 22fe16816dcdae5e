"""Durations as a suite or a flag writes them: a number with its unit, such as "250ms", "30s", "1.5m" or "1h"."""

from __future__ import annotations

from mcptest_engine.core.lazy_patterns import lazy_pattern

DURATION_PATTERN = r"^[0-9]{1,9}(\.[0-9]{1,3})?(ms|s|m|h)$"

_DURATION = lazy_pattern(DURATION_PATTERN)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def seconds_of(text: str) -> float:
    """The seconds that `text` stands for. Raises: ValueError for anything without a unit or with another one."""
    found = _DURATION.fullmatch(text)
    if found is None:
        raise ValueError(f'"{text}" is not a duration: write a number and its unit, such as `30s`, `250ms` or `2m`')
    unit = found.group(2)
    return float(text.removesuffix(unit)) * _SECONDS[unit]

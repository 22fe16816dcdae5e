"""Regular expressions that are compiled when they are first used.

Compiling one takes from a tenth of a millisecond to five. Of those that stand in what the start of a command imports, most
meet no text in it: they wait here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, AnyStr

if TYPE_CHECKING:
    from re import Pattern


def lazy_pattern(pattern: AnyStr, flags: int = 0) -> Pattern[AnyStr]:
    """What `re.compile` gives, as far as its methods go; a bad pattern is told when it is used."""
    return LazyPattern(pattern, flags)  # type: ignore[return-value]


class LazyPattern:
    """Stands for a pattern. What was asked for once stays as an attribute of its own: no later use passes here again."""

    def __init__(self, pattern: Any, flags: int) -> None:
        self._source = (pattern, flags)

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(*self._source), name)
        setattr(self, name, found)
        return found

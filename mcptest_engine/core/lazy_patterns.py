"""Regular expressions that are compiled when they are first used.

Compiling one takes from a tenth of a millisecond to five. Of those that stand in what the start of a command imports, most
meet no text in it: they wait here.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from threading import get_ident
from typing import TYPE_CHECKING, Any, AnyStr

if TYPE_CHECKING:
    from collections.abc import Iterator
    from re import Pattern

_compile_now = re.compile


def lazy_pattern(pattern: AnyStr, flags: int = 0) -> Pattern[AnyStr]:
    """What `re.compile` gives, as far as its methods go; a bad pattern raises when it is used."""
    return LazyPattern(pattern, flags)  # type: ignore[return-value]


@contextmanager
def lazily_compiled() -> Iterator[None]:
    """Let the modules that this thread imports meanwhile compile their patterns when they first use them."""
    own = get_ident()

    def compile_later(pattern: Any, flags: int = 0) -> Any:
        return (lazy_pattern if get_ident() == own else _compile_now)(pattern, flags)

    re.compile = compile_later
    try:
        yield
    finally:
        re.compile = _compile_now


class LazyPattern:
    """Stands for a pattern, also as an argument of the functions of `re`.

    What was asked for once stays as an attribute of its own: no later use passes here again.
    """

    def __init__(self, pattern: Any, flags: int) -> None:
        self._source = (pattern, flags)

    @property  # type: ignore[misc]
    def __class__(self) -> type[re.Pattern[Any]]:  # type: ignore[override]
        return re.Pattern

    def __reduce__(self) -> tuple[type[LazyPattern], tuple[Any, int]]:
        return LazyPattern, self._source  # a copy that has no attribute yet would look for it for ever

    def __getattr__(self, name: str) -> Any:
        found = getattr(_compile_now(*self._source), name)
        setattr(self, name, found)
        return found

"""One text for two: what a program took over from a result as it was is held once, and not beside it a second time."""

from __future__ import annotations

from typing import Any

_LONG = 4096


def sharing(value: Any, source: Any) -> Any:
    """`value`, fresh JSON that nobody else holds, its long texts being those of `source` wherever one there is equal."""
    if not _long_texts(value):
        return value
    known = {text: text for text in _long_texts(source)}
    top = [value]
    met: list[Any] = [top]
    for container in met:  # which grows meanwhile
        for place, member in container.items() if isinstance(container, dict) else enumerate(container):
            if isinstance(member, (dict, list)):
                met.append(member)
            elif isinstance(member, str) and len(member) >= _LONG:
                container[place] = known.get(member, member)
    return top[0]


def _long_texts(source: Any) -> list[str]:
    found: list[str] = []
    met = [source]
    for member in met:
        if isinstance(member, str):
            if len(member) >= _LONG:
                found.append(member)
        elif isinstance(member, dict):
            met += member.values()
        elif isinstance(member, list):
            met += member
    return found

"""Finds the recorded answer to a request: by method and params, the first one that is not used yet.

Recording and replaying normalize alike, so that values which differ in every run (a UUID, a time, a progress token, the
client's name) do not make another request. An opening is found by its method alone.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcptest_engine.core.json_types import JsonMapping

OPENINGS = frozenset({"initialize", "server/discover"})
_AS_OFTEN_AS_ASKED = OPENINGS | {"tools/list", "prompts/list", "resources/list", "resources/templates/list"}
_CHANGING = (
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.IGNORECASE), "<uuid>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"), "<time>"),
)


class RecordedExchanges:
    """The exchanges of one server. Each is used once; for an opening or a list, the last answer is repeated."""

    def __init__(self, exchanges: Iterable[JsonMapping]) -> None:
        self._waiting: dict[tuple[str, str], list[JsonMapping]] = {}
        for exchange in exchanges:
            self._waiting.setdefault(_exchange_key(exchange["method"], exchange.get("params")), []).append(exchange)
        for found in self._waiting.values():
            found.reverse()  # popped from the end
        self.methods = frozenset(method for method, _ in self._waiting)

    def take(self, method: str, params: object) -> JsonMapping | None:
        """Take the recorded exchange for a request; None when there is none left."""
        waiting = self._waiting.get(_exchange_key(method, params))
        if not waiting:
            return None
        return waiting[-1] if method in _AS_OFTEN_AS_ASKED and len(waiting) == 1 else waiting.pop()

    def near(self, method: str, params: object) -> str:
        """Why a request has no answer, as a sentence."""
        name = params.get("name") or params.get("uri") if isinstance(params, dict) else None
        what = f'"{method}"' + (f" of `{name}`" if isinstance(name, str) else "")
        alike = [key for key in self._waiting if key[0] == method]
        if not alike:
            return f"the cassette has no {what}"
        used_up = _exchange_key(method, params) in self._waiting
        return (
            f"every recorded answer to this {what} has been used"
            if used_up
            else f"the cassette has no {what} with these params"
        )


def normalised(value: object) -> Any:
    """Return `value` without the parts that differ in every run."""
    if isinstance(value, str):
        for pattern, mark in _CHANGING:
            value = pattern.sub(mark, value)
        return value
    if isinstance(value, dict):
        return {key: normalised(part) for key, part in value.items() if key != "_meta"}
    return [normalised(part) for part in value] if isinstance(value, (list, tuple)) else value


def _exchange_key(method: str, params: object) -> tuple[str, str]:
    if method in OPENINGS:
        return method, ""
    return method, json.dumps(normalised(params or {}), sort_keys=True, ensure_ascii=False, default=str)

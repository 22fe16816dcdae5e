"""Handing events to their listeners: a plain call each, and none can end the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest_engine.core.events import Emit, Event


class Listeners:
    """Passes each event to every listener; one that raises is told to the others and dropped."""

    def __init__(self, listeners: Sequence[Emit]) -> None:
        self._listeners = list(listeners)

    def __call__(self, event: Event) -> None:
        for listener in tuple(self._listeners):
            if listener not in self._listeners:  # dropped meanwhile
                continue
            try:
                listener(event)
            except Exception as wrong:  # noqa: BLE001 - a broken listener must not end the run
                from mcptest_engine.core.events import Warned

                self._listeners.remove(listener)
                name = getattr(listener, "__qualname__", type(listener).__name__)
                self(Warned(message=f"a listener failed and was dropped ({name}): {type(wrong).__name__}: {wrong}"))

"""Work beside the handlers: a coroutine is made only when its turn comes, so that one given up before leaves nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual.screen import Screen

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine


class Working(Screen[None]):
    """A mixin."""

    def in_background(self, make: Callable[[], Coroutine[Any, Any, None]], group: str) -> None:
        """Do it; what is still going on in this group is given up."""
        self.run_worker(make, group=group, exclusive=True, exit_on_error=False)  # type: ignore[arg-type]

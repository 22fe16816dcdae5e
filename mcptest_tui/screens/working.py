"""Work beside the handlers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from textual.screen import Screen


def in_background(screen: Screen[Any], make: Callable[[], Coroutine[Any, Any, object]], group: str) -> None:
    """Do it as a worker of a screen; what is still going on in this group is given up.

    The coroutine is made only when its turn comes, so that one given up before leaves nothing.
    """
    screen.run_worker(make, group=group, exclusive=True, exit_on_error=False)  # type: ignore[arg-type]

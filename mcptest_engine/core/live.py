"""Everything that this process has started and that still runs, with what it is for; sessions over HTTP are listed too.

Whoever starts a process lists it before anything else can happen to it, and takes it off when it is reaped. What belongs to a
run, to a spare server or to a person's own session is known only to who had it started, so that is an `Owner` in a context
variable.
"""

from __future__ import annotations

import time
from contextvars import ContextVar
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_OWNED = frozenset({"server", "hook", "scorer"})  # the others serve whoever comes
_numbers = count(1)


class Owner:
    """Whom a process belongs to. `role` is "run", "spare" or "hand"; `suite` a path, `session` the key of a person's session.

    `redact` takes the secrets of its suite out of a text.
    """

    __slots__ = ("_role", "redact", "session", "suite")

    def __init__(
        self, role: str, suite: str = "", session: str = "", redact: Callable[[str], str] | None = None
    ) -> None:
        self._role, self.suite, self.session, self.redact = role, suite, session, redact

    @property
    def role(self) -> str:
        return self._role

    @role.setter
    def role(self, role: str) -> None:
        if role != self._role:
            self._role = role
            _notify_change()


TEST: ContextVar[str] = ContextVar("test", default="")
"""The id of the test for which something is asked of a server; "" for what no test asks."""
OWNER: ContextVar[Owner | None] = ContextVar("live_owner", default=None)
"""Whom what is started from here on belongs to."""


class Live:
    """One process, or one session over HTTP (`pid` None). `kind` is "server", "hook", "scorer", "jq" or "guardian".

    `waiting` gives (what is waited for, since when in monotonic seconds) of each open request; `end` ends it, and may be called
    more than once.
    """

    __slots__ = ("end", "kind", "name", "number", "owner", "pid", "shown", "started", "waiting")

    def __init__(
        self,
        kind: str,
        name: str,
        pid: int | None,
        shown: str,
        end: Callable[[], None],
        waiting: Callable[[], Iterable[tuple[str, float]]] | None,
    ) -> None:
        self.number, self.started = next(_numbers), time.monotonic()
        self.owner = OWNER.get() if kind in _OWNED else None
        self.kind, self.name, self.pid, self.shown, self.end, self.waiting = kind, name, pid, shown, end, waiting


_live: dict[int, Live] = {}
_listener: Callable[[], None] | None = None


def start_listing(
    kind: str,
    name: str,
    *,
    pid: int | None,
    shown: str | Sequence[str],
    end: Callable[[], None],
    waiting: Callable[[], Iterable[tuple[str, float]]] | None = None,
) -> Live:
    """List what was just started; `shown` is its command or its URL."""
    one = Live(kind, name, pid, shown if isinstance(shown, str) else " ".join(shown), end, waiting)
    _live[one.number] = one
    _notify_change()
    return one


def stop_listing(one: Live | None) -> None:
    """It is gone; nothing happens when it is off the list already."""
    if one is not None and _live.pop(one.number, None) is not None:
        _notify_change()


def live() -> tuple[Live, ...]:
    """All that runs, oldest first."""
    return tuple(_live.values())


def on_change(listener: Callable[[], None] | None) -> None:
    """Have `listener` called, from any thread, when something starts, ends or changes hands."""
    global _listener  # noqa: PLW0603 - one process has one list
    _listener = listener


def _notify_change() -> None:
    if _listener is not None:
        _listener()

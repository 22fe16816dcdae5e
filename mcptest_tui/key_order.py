"""Keys one after the other: the next one goes out when what the one before it did is done.

Textual sends a key to the widget that has the focus when the key is read. Letters are taken there; bound keys travel up to the
app first. In a burst (a slow line, a pasted text, a fast typist) letters overtake the keys before them, and what was typed
behind `ctrl+f` lands in the text. So a mark follows each key that is no letter along its way, and the next key waits for it.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, cast

from textual import events
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS, IGNORE_SEQUENCE
from textual.message import Message

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from textual.app import App
    from textual.timer import Timer
    from textual.widget import Widget

PATIENCE_SECONDS, MOST_LOOKS = 0.5, 20
"""A mark can be lost with the widget that it was sent to; then the next key goes on without it. One that is only slow to come
is waited for: a machine that is busy takes its time, and no letter may overtake a key for that.
"""
HELD_SECONDS = 0.01
_ROUNDS = 2
"""What a key did may be a message that follows it; the second mark follows that one."""

# Escape and a digit that come at once: Textual makes a character of them, such as `™`, for one terminal on macOS.
cast("dict[str, object]", ANSI_SEQUENCES_KEYS).update({f"\x1b{digit}": IGNORE_SEQUENCE for digit in "0123456789"})


class KeyDone(Message):
    """Posted behind a key, to learn when that has been handled."""

    def __init__(self, target: Widget, left: int) -> None:
        super().__init__()
        self.target, self.left = target, left


class KeyQueue:
    """The keys of an app that wait. A screen with `holds_keys` gets none until it is ready for them."""

    def __init__(self, app: App[Any], deliver: Callable[[events.Event], Awaitable[None]]) -> None:
        """`deliver` does with an event what Textual does."""
        self._app, self._deliver = app, deliver
        self._waiting: deque[events.Key | events.Paste] = deque()
        self._mark: KeyDone | None = None
        self._watchdog: Timer | None = None
        self._holding = False
        self._looks = 0
        self.key_time = 0.0
        """When the key was pressed that was sent last."""

    @property
    def is_typing(self) -> bool:
        """Whether keys wait, or one is being handled."""
        return bool(self._waiting) or self._mark is not None

    async def handle(self, event: events.Event) -> None:
        """Deliver an event; keys and pasted text in their turn, and not at the end, when no screen takes them."""
        if not isinstance(event, (events.Key, events.Paste)):
            await self._deliver(event)
        elif not self._app.screen_stack:
            return
        elif event.is_forwarded:
            await self._deliver(event)
        else:
            if isinstance(event, events.Key) and event.key.startswith("alt+"):
                event.character = None  # Textual's fields type whatever has a character
            self._waiting.append(event)
            if self._mark is None:
                await self._send_next()
            else:
                self._start_watchdog()

    async def key_done(self, event: KeyDone) -> None:
        """Send the mark once more, or after its last round the next key."""
        event.stop()
        if event is not self._mark:
            return
        if event.left:
            self._send_mark(event.target, event.left - 1)
        else:
            self._app.call_later(self._go_on)  # behind the focus that the key may have given to somebody else

    def _start_watchdog(self) -> None:
        if self._watchdog is None:
            self._watchdog = self._app.set_timer(PATIENCE_SECONDS, self._look_for_mark)

    async def _look_for_mark(self) -> None:
        self._looks += 1
        if self._mark is not None and self._mark.target.is_attached and self._looks < MOST_LOOKS:
            self._watchdog = self._app.set_timer(PATIENCE_SECONDS, self._look_for_mark)
        else:
            await self._go_on()

    async def _go_on(self) -> None:
        self._mark, self._looks = None, 0
        if self._watchdog is not None:
            self._watchdog.stop()
            self._watchdog = None
        await self._send_next()

    async def _send_next(self) -> None:
        if not self._waiting or self._holding or not self._app.screen_stack:
            return
        if getattr(self._app.screen, "holds_keys", False):
            self._holding = True
            self._app.set_timer(HELD_SECONDS, self._release)
            return
        while self._waiting and self._is_letter(self._waiting[0]):
            await self._send(self._waiting.popleft())
        if not self._waiting:
            return
        await self._send(self._waiting.popleft())
        self._send_mark(self._app.focused or self._app.screen, _ROUNDS - 1)
        if self._waiting:
            self._start_watchdog()

    async def _send(self, event: events.Key | events.Paste) -> None:
        self.key_time = event.time
        await self._deliver(event)

    def _is_letter(self, event: events.Key | events.Paste) -> bool:
        """Whether the focused widget takes the key as text, so that nothing behind it need wait."""
        focused = self._app.focused
        return (
            isinstance(event, events.Key)
            and focused is not None
            and focused.check_consume_key(event.key, event.character)
        )

    async def _release(self) -> None:
        self._holding = False
        if self._mark is None:
            await self._send_next()

    def _send_mark(self, target: Widget, left: int) -> None:
        self._mark = KeyDone(target, left)
        if not target.post_message(self._mark):
            self._app.call_later(self._go_on)

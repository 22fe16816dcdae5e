"""Keys one after the other: the next one goes out when what the one before it did is done.

Textual sends a key to the widget that has the focus when the key is read. Letters are taken there; bound keys travel up to the
app first. In a burst (a slow line, a pasted text, a fast typist) letters overtake the keys before them, and what was typed
behind `ctrl+f` lands in the text. So a mark follows each key that is no letter along its way, and the next key waits for it.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, cast

from textual import events
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS, IGNORE_SEQUENCE
from textual.app import App
from textual.message import Message

if TYPE_CHECKING:
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
    """The mark behind a key."""

    def __init__(self, target: Widget, left: int) -> None:
        super().__init__()
        self.target, self.left = target, left


class KeyOrder(App[int]):
    """A mixin of `Workbench`. A screen with `holds_keys` gets none until it is ready for them."""

    def __init__(self) -> None:
        super().__init__()
        self._typed: deque[events.Key | events.Paste] = deque()
        self._mark: KeyDone | None = None
        self._watchdog: Timer | None = None
        self._holding = False
        self._looks = 0
        self.key_time = 0.0
        """When the key was pressed that was sent last."""

    @property
    def is_typing(self) -> bool:
        """Whether keys wait, or one is on its way."""
        return bool(self._typed) or self._mark is not None

    async def on_event(self, event: events.Event) -> None:
        """As the base class, but for keys and pasted text, which stand in a queue."""
        if isinstance(event, (events.Key, events.Paste)) and not self.screen_stack:
            return  # at the end, when nothing takes keys any more
        if isinstance(event, (events.Key, events.Paste)) and not event.is_forwarded:
            if isinstance(event, events.Key) and event.key.startswith("alt+"):
                event.character = None  # Textual's fields type whatever has a character
            self._typed.append(event)
            if self._mark is None:
                await self._send_next()
            elif self._watchdog is None:
                self._watchdog = self.set_timer(PATIENCE_SECONDS, self._look_for_mark)
        else:
            await super().on_event(event)

    async def on_key_done(self, event: KeyDone) -> None:
        """A mark has come all the way."""
        event.stop()
        if event is not self._mark:
            return
        if event.left:
            self._send_mark(event.target, event.left - 1)
        else:
            self.call_later(self._go_on)  # behind the focus that the key may have given to somebody else

    async def _look_for_mark(self) -> None:
        self._looks += 1
        if self._mark is not None and self._mark.target.is_attached and self._looks < MOST_LOOKS:
            self._watchdog = self.set_timer(PATIENCE_SECONDS, self._look_for_mark)
        else:
            await self._go_on()

    async def _go_on(self) -> None:
        self._mark, self._looks = None, 0
        if self._watchdog is not None:
            self._watchdog.stop()
            self._watchdog = None
        await self._send_next()

    async def _send_next(self) -> None:
        if not self._typed or self._holding or not self.screen_stack:
            return
        if getattr(self.screen, "holds_keys", False):
            self._holding = True
            self.set_timer(HELD_SECONDS, self._look_again)
            return
        while self._typed and self._is_letter(self._typed[0]):
            await self._send(self._typed.popleft())
        if not self._typed:
            return
        await self._send(self._typed.popleft())
        self._send_mark(self.focused or self.screen, _ROUNDS - 1)
        if self._typed and self._watchdog is None:
            self._watchdog = self.set_timer(PATIENCE_SECONDS, self._look_for_mark)

    async def _send(self, event: events.Key | events.Paste) -> None:
        self.key_time = event.time
        await super().on_event(event)

    def _is_letter(self, event: events.Key | events.Paste) -> bool:
        """Whether the focused widget takes the key as text, so that nothing behind it need wait."""
        focused = self.focused
        return (
            isinstance(event, events.Key)
            and focused is not None
            and focused.check_consume_key(event.key, event.character)
        )

    async def _look_again(self) -> None:
        self._holding = False
        if self._mark is None:
            await self._send_next()

    def _send_mark(self, target: Widget, left: int) -> None:
        self._mark = KeyDone(target, left)
        if not target.post_message(self._mark):
            self.call_later(self._go_on)

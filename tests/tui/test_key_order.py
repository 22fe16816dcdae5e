"""A burst of keys: each does what it would have done had a person waited for the one before."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from textual import events
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.screen import Screen
from textual.widgets import Input

from mcptest_tui.key_order import KeyDone, KeyQueue
from tests.tui.waiting import until

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

pytestmark = pytest.mark.anyio


class Holding(Screen[None]):
    """Wants no keys at first."""

    holds_keys = True

    def compose(self) -> ComposeResult:
        """One field, which has the focus only later."""
        yield Input(id="late")


class Slow(Input):
    """What a busy machine takes its time for."""

    async def key_f6(self) -> None:
        """To the second field, but only when the mark behind the key was looked for some times."""
        assert isinstance(self.app, Fields)
        await self.app.often_looked.wait()
        self.app.query_one("#second").focus()


class Queue(KeyQueue):
    """A queue that counts how often it looked for a mark."""

    looked = 0

    async def _look_for_mark(self) -> None:
        self.looked += 1
        if self.looked > 3:
            assert isinstance(self._app, Fields)
            self._app.often_looked.set()
        await super()._look_for_mark()


class Fields(App[int]):
    """Two fields, and keys that lead from one to the other."""

    AUTO_FOCUS = "#first"
    BINDINGS: ClassVar[list[BindingType]] = [
        ("f2", "to_second", ""),
        ("f3", "drop_first", ""),
        ("f4", "hold", ""),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.key_queue = Queue(self, super().on_event)
        self.often_looked = asyncio.Event()

    async def on_event(self, event: events.Event) -> None:
        """Into the queue."""
        await self.key_queue.handle(event)

    async def on_key_done(self, event: KeyDone) -> None:
        """Out of it."""
        await self.key_queue.key_done(event)

    def compose(self) -> ComposeResult:
        """The fields."""
        yield Slow(id="first")
        yield Input(id="second")

    def action_to_second(self) -> None:
        """To the second field."""
        self.query_one("#second").focus()

    def action_drop_first(self) -> None:
        """The field that the key was sent to is gone before its mark has come through."""
        self.query_one("#first").remove()
        self.query_one("#second").focus()

    def action_hold(self) -> None:
        """A screen that is not ready."""
        self.push_screen(Holding())


async def _burst(pilot: Any, *keys: str) -> None:
    for key in keys:
        pilot.app.post_message(events.Key(key, key if len(key) == 1 else None))
    await until(pilot, lambda: not pilot.app.key_queue.is_typing, what="the keys")


def _value(app: Any, name: str) -> str:
    return str(app.screen.query_one(f"#{name}", Input).value)


async def test_letters_behind_a_key_wait_for_where_it_leads() -> None:
    async with Fields().run_test() as pilot:
        await _burst(pilot, "a", "b", "f2", "c", "left", "d", "backspace", "e")
        assert (_value(pilot.app, "first"), _value(pilot.app, "second")) == ("ab", "ec")


async def test_a_pasted_text_keeps_its_place_among_the_keys() -> None:
    async with Fields().run_test() as pilot:
        app = pilot.app
        app.post_message(events.Key("a", "a"))
        app.post_message(events.Key("f2", None))
        app.post_message(events.Paste("pasted"))
        await _burst(pilot, "home", "b")
        assert (_value(app, "first"), _value(app, "second")) == ("a", "bpasted")


async def test_a_key_whose_widget_is_gone_holds_up_nothing() -> None:
    async with Fields().run_test() as pilot:
        await _burst(pilot, "a", "f3", "x", "f2", "y")
        assert _value(pilot.app, "second") == "xy"


async def test_letters_behind_a_key_that_takes_long_wait_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcptest_tui.key_order.PATIENCE_SECONDS", 0.01)
    async with Fields().run_test() as pilot:
        await _burst(pilot, "a", "f6", "b", "left", "c")
        assert (_value(pilot.app, "first"), _value(pilot.app, "second")) == ("a", "cb")


async def test_a_screen_that_is_not_ready_gets_its_keys_later() -> None:
    async with Fields().run_test() as pilot:
        app: Any = pilot.app
        for key in ("f4", "x", "y"):
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        await until(pilot, lambda: isinstance(app.screen, Holding) and app.screen.query("#late"))
        assert app.key_queue.is_typing
        app.screen.query_one("#late").focus()
        await pilot.pause()
        app.screen.holds_keys = False
        await until(pilot, lambda: not app.key_queue.is_typing)
        assert _value(app, "late") == "xy"


@pytest.mark.parametrize("digit", "0123456789")
def test_escape_and_a_digit_that_come_at_once_type_nothing(digit: str) -> None:
    keys = [event for event in XTermParser().feed(f"\x1b{digit}x") if isinstance(event, events.Key)]
    assert [key.character for key in keys if key.is_printable] == ["x"]


async def test_a_key_that_waits_when_the_app_ends_goes_nowhere() -> None:
    """Nothing is shown any more that could take it."""
    app = Fields()
    async with app.run_test():
        app.exit()
    app.key_queue._waiting.append(events.Key("a", "a"))
    await app.key_queue._release()
    event = events.Key("b", "b")
    event._forwarded = True
    await app.on_event(event)
    assert app.key_queue._waiting

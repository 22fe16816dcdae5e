"""Events reach every listener that can take them."""

from __future__ import annotations

from mcptest_engine.core.events import Event, ServerStarting, Warned
from mcptest_engine.running.listening import Listeners


def broken(_: Event) -> None:
    raise ValueError("no")


def test_a_listener_that_raises_is_told_and_dropped() -> None:
    """Design 2: a listener that raises is reported and dropped."""
    heard: list[Event] = []
    tell = Listeners([broken, heard.append])
    tell(ServerStarting(server="a"))
    tell(ServerStarting(server="b"))
    warned, *told = heard
    assert isinstance(warned, Warned)
    assert "ValueError: no" in warned.message
    assert told == [ServerStarting(server="a"), ServerStarting(server="b")]


def test_several_broken_listeners_end_nothing() -> None:
    """None of them can end the run."""
    heard: list[Event] = []

    def also_broken(_: Event) -> None:
        raise KeyError("x")

    tell = Listeners([broken, also_broken, heard.append])
    tell(ServerStarting(server="a"))
    assert heard[-1] == ServerStarting(server="a")

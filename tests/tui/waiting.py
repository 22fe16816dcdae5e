"""Waiting for something that will be true, without a clock of one's own."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import textual.app
import textual.pilot
from textual._compositor import Compositor
from textual._context import visible_screen_stack
from textual.geometry import Region

from tests.tui.pictures import Drawings, text_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

PATIENCE_SECONDS = 60.0
"""Longer than any machine takes: nobody waits so long but for what never comes."""
STEP_SECONDS, LONGEST_STEP_SECONDS = 0.005, 0.04
"""Between two looks; longer each time, because a look costs what the engine could be working with."""
FRAME_SECONDS = 0.02
"""A timer that is due within this time belongs to what a key has begun, such as Textual's own that draws the screen."""
THREAD_SECONDS, LONGEST_THREAD_SECONDS = 0.001, 10.0
BUSY_SECONDS, MOST_FRAMES = 0.5, 30
"""What never rests is left after so much work of this thread, and after so many timers. A busy machine may take any time over
them: a bound in seconds of the clock would leave what isn't done yet, and a test would look too early.
"""


async def until_shown(pilot: Any, text: str) -> None:
    """Let the app work until the screen shows `text`."""
    await until(pilot, lambda: text in text_of(pilot.app), what=text)


async def until_mode(pilot: Any, mode: str) -> None:
    """Let the app work until it is in `mode`, whatever is open above it."""
    await until(pilot, lambda: pilot.app.work_screen is not None and mode == pilot.app.work_screen.MODE, what=mode)


async def until(pilot: Any, condition: Callable[[], Any], *, seconds: float = PATIENCE_SECONDS, what: str = "") -> Any:
    """Let the app work until `condition()` is true, and return what it gave. Fails with the screen's text after `seconds`.

    What follows from it at once is done as well. What has changed on the screen is drawn then, so that a pane that cannot be
    drawn fails the test.
    """
    clock = asyncio.get_running_loop().time
    end, step = clock() + seconds, STEP_SECONDS
    while True:
        await pilot.pause()
        before = Drawings.count
        value = condition()
        if value:
            await _nothing_ready(asyncio.get_running_loop())
            if Drawings.count == before and pilot.app.is_running and not pilot.app._exit:
                draw_panes(pilot.app, changed=True)
            return value
        if clock() > end:
            raise AssertionError(f"waited {seconds} s for {what or condition}; on the screen:\n{text_of(pilot.app)}")
        await asyncio.sleep(step)
        step = min(2 * step, LONGEST_STEP_SECONDS)


async def settled(min_sleep: float = 0, max_sleep: float = 1) -> None:
    """Until nothing is ready to run, no thread is at work, and no timer is due soon.

    Textual's own `wait_for_idle`, which this stands for in tests, looks at the processor's time: it sleeps for 20 ms at
    least, twice a key, and takes a process that the system lets wait for one that has nothing to do. What never rests is left
    after `max_sleep` seconds of work.
    """
    loop: Any = asyncio.get_running_loop()
    end = time.thread_time() + max_sleep
    await asyncio.sleep(min_sleep)
    for _ in range(MOST_FRAMES):
        await _nothing_ready(loop)
        now = loop.time()
        soon = [one._when for one in loop._scheduled if not one._cancelled and one._when <= now + FRAME_SECONDS]
        if not soon or time.thread_time() > end:
            return
        await asyncio.sleep(max(0, min(soon) - now))


async def _nothing_ready(loop: Any) -> None:
    """Also nothing in a pipe, because the loop looks there in each round. An app that is never idle is not waited for."""
    rounds, end, patience = 0, time.thread_time() + BUSY_SECONDS, loop.time() + LONGEST_THREAD_SECONDS
    while rounds < 2 or (loop._ready and time.thread_time() < end):
        rounds += 1
        await asyncio.sleep(0)
        while _a_thread_works(loop) and loop.time() < patience:
            await asyncio.sleep(THREAD_SECONDS)
            rounds = 0


def hold_threads(patch: pytest.MonkeyPatch) -> None:
    """For a test that holds a thread up itself: nobody waits for what works beside the loop."""
    patch.setattr("tests.tui.waiting.LONGEST_THREAD_SECONDS", 0.0)


def stop_clocks(patch: pytest.MonkeyPatch) -> None:
    """Nothing goes from the screen because time has passed: a busy machine would take it away before anybody has looked."""
    for name in ("SECONDS", "ERROR_SECONDS", "STATUS_SECONDS"):
        patch.setattr(f"mcptest_tui.messages.{name}", 3600)
    patch.setattr("mcptest_tui.tips.SECONDS", 3600)


def _a_thread_works(loop: Any) -> bool:
    executor = loop._default_executor
    if executor is None:
        return False
    return executor._work_queue.qsize() > 0 or len(executor._threads) > executor._idle_semaphore._value


async def _screen_settled(pilot: Any) -> bool:
    """In the place of a message to each widget of the screen: when nothing is ready to run, every message was taken."""
    await _nothing_ready(asyncio.get_running_loop())
    return pilot.app._exception is None


def _not_drawn(self: Compositor, full: bool = False, screen_stack: Any = None, simplify: bool = False) -> Any:
    """Replaces `render_update`, whose picture is not seen without a terminal and which is half of a test's work."""
    if full:
        return _render_update(self, full=True, screen_stack=screen_stack, simplify=simplify)  # a picture was asked for
    return None  # what is to be drawn adds up until somebody looks


_render_update = Compositor.render_update


def draw_panes(app: Any, *, changed: bool = False) -> None:
    """Draw every visible pane, or those that overlap the changed region, without composing them."""
    compositor = app.screen._compositor
    visible_screen_stack.set(app._background_screens)
    regions = set(compositor._dirty_regions)
    compositor._dirty_regions.clear()
    if changed and not regions:
        return
    room = compositor.size.region
    for _ in compositor._get_renders(Region.from_union(regions).intersection(room) if changed else room):
        pass


def quicken(patch: pytest.MonkeyPatch) -> None:
    """Wait for what is to be waited for and not for a clock, and draw what is looked at and not every frame."""
    patch.setattr(textual.app, "wait_for_idle", settled)
    patch.setattr(textual.pilot, "wait_for_idle", settled)
    patch.setattr(textual.pilot.Pilot, "_wait_for_screen", _screen_settled)
    patch.setattr(Compositor, "render_update", _not_drawn)


def draw_every_frame(patch: pytest.MonkeyPatch) -> None:
    """For tests of what happens while it is drawn."""
    patch.setattr(Compositor, "render_update", _render_update)

"""The filter above the list."""

from __future__ import annotations

import pytest
from textual.screen import Screen

from mcptest_tui.screens.tests_list import FAILURES
from mcptest_tui.state.tree_rows import TO_SEE
from tests.tui.pictures import assert_picture, text_of
from tests.tui.tests_screen.conftest import ran
from tests.tui.waiting import until

pytestmark = pytest.mark.anyio


def shown(pilot):
    return [getattr(entry, "name", entry.id) for entry in pilot.app.screen.rows.entries if hasattr(entry, "verdict")]


async def typed(pilot, text):
    await pilot.press("slash", *("space" if key == " " else "colon" if key == ":" else key for key in text))


async def test_every_letter_filters_and_enter_only_applies(workbench, mixed):
    """Source: microsoft/playwright#21893: Enter in the filter box must not run anything."""
    async with workbench() as pilot:
        await typed(pilot, "serv")
        assert shown(pilot) == ["the service is operational", "the service is broken"]
        assert "Tests 2 of 6" in text_of(pilot.app)
        await pilot.press("enter")
        assert pilot.app.screen.focused is pilot.app.screen.test_list
        assert not pilot.app.store.progress.busy
        assert "Tests 2 of 6" in text_of(pilot.app)
        await pilot.press("escape")
        assert len(shown(pilot)) == 6


async def test_letters_that_come_while_the_list_is_filtered_are_kept(workbench, mixed, monkeypatch):
    """Several keys before the first of them is answered; none of them lays the screen out anew."""
    async with workbench() as pilot:
        await pilot.press("slash")
        words = "tab is:  tag:  server:  tool:  file:  slow:"
        await until(pilot, lambda: words in text_of(pilot.app), what="the words, before a letter")
        layouts = []
        lay_out = Screen._refresh_layout

        def count_layout(*args, **rest):
            layouts.append(args)
            lay_out(*args, **rest)

        monkeypatch.setattr(Screen, "_refresh_layout", count_layout)
        field = pilot.app.screen.listing.filter_bar.query_one("FilterInput")
        seen: list[str] = []
        pilot.app.screen.watch(field, "value", lambda value: seen.append(value), init=False)  # noqa: PLW0108 - Textual wants a function
        for letter in "weather":
            field.insert_text_at_cursor(letter)
        await until(pilot, lambda: shown(pilot) == ["the weather is another"])
        await pilot.pause()
        assert pilot.app.screen.listing.filter_bar.text == "weather"
        assert seen == sorted(seen, key=len), "what is typed is never taken back"
        assert not layouts


async def test_a_filter_that_is_longer_than_its_line_is_seen_also_in_another_size(workbench, mixed):
    """And Tab completes what stands there by now, also where a click leads back to it."""
    async with workbench(size=(80, 24)) as pilot:
        await typed(pilot, f"{'abcdefghi ' * 9}ENDE")
        for size in ((60, 24), (120, 40)):
            await pilot.resize_terminal(*size)
            await pilot.press("E")
            await until(pilot, lambda: "efghi ENDE" in text_of(pilot.app), what="the end of the filter")
        pilot.app.screen.listing.filter_bar.put("is:f")
        pilot.app.screen.test_list.focus()
        await pilot.pause()
        await pilot.click("FilterInput")
        await until(pilot, lambda: "tab failed  flaky" in text_of(pilot.app), what="the words that fit")


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=str)
async def test_words_that_fit_are_offered_and_tab_takes_one(workbench, mixed, size):
    async with workbench(size=size) as pilot:
        await ran(pilot, "a")
        await typed(pilot, "is:f")
        await until(pilot, lambda: "tab failed  flaky" in text_of(pilot.app), what="the words that fit")
        assert_picture(pilot.app, "filter", folder="tests_screen", masks=((r"│ │.*", "│ │"),))
        await pilot.press("tab")
        assert pilot.app.screen.listing.filter_bar.text == "is:failed "
        assert len(shown(pilot)) == 2


async def test_a_typo_says_the_nearest_word(workbench, mixed):
    async with workbench() as pilot:
        await typed(pilot, "tag:smoek")
        assert "did you mean `smoke`?" in text_of(pilot.app)
        assert "No test matches tag:smoek" in text_of(pilot.app)
        assert "esc clears" in text_of(pilot.app)


async def test_a_runs_what_the_filter_shows_and_says_so(workbench, mixed):
    """Source: vitest-dev/vitest#9496: a filter means exactly what it shows."""
    async with workbench() as pilot:
        await typed(pilot, "tag:smoke")
        await pilot.press("enter")
        await pilot.press("a")
        assert "running the 2 tests that the filter shows" in text_of(pilot.app)
        await until(pilot, lambda: not pilot.app.store.progress.busy and not pilot.app.store.counts["queued"])
        assert sum(row.status != "new" for row in pilot.app.store.rows.values()) == 2


async def test_failures_only_is_a_filter_that_one_sees(workbench, mixed):
    async with workbench() as pilot:
        await ran(pilot, "a")
        await pilot.press("exclamation_mark")
        assert len(shown(pilot)) == 2
        assert "is:failed" in text_of(pilot.app)
        screen, store = pilot.app.screen, pilot.app.store
        to_see = [row for row in store.rows.values() if row.standing in TO_SEE]
        assert screen.rows.shown_tests(store) == to_see
        await pilot.press("n")
        await until(pilot, lambda: str(screen.detail.border_title) != "Tests", what="the detail of a test")
        screen.listing.put_filter("is:failed is:passed")
        assert str(screen.detail.border_title) == "Tests"
        screen.listing.put_filter(FAILURES)
        await pilot.press("exclamation_mark")
        assert len(shown(pilot)) == 6


async def test_a_filter_stays_over_a_run_and_a_restart(workbench, mixed):
    """Unless nothing is left of it; and the test that comes back under the cursor doesn't hide the summary of a first run."""
    async with workbench() as pilot:
        await typed(pilot, "echo")
        await pilot.press("enter")
        await ran(pilot, "a")
        assert shown(pilot) == ["echo gives back what was said"]
        pilot.app.session.save()
    async with workbench() as pilot:
        await until(pilot, lambda: shown(pilot) == ["echo gives back what was said"])
        await pilot.press("escape")
        assert len(shown(pilot)) == 6
        screen = pilot.app.screen
        screen.listing.put_filter("is:stopped")
        assert shown(pilot) == []
        pilot.app.session.save()
    async with workbench() as pilot:
        await until(pilot, lambda: len(shown(pilot)) == 6)
        screen = pilot.app.screen
        assert (screen.rows.filter.text, screen.listing.filter_bar.text) == ("", "")
        test = next(row for row in pilot.app.store.rows.values() if row.name.startswith("echo"))
        screen.listing.show_test(test)
        await ran(pilot, "a")
        await until(pilot, lambda: screen.test_list.test() is None and "6 tests" in text_of(pilot.app))
        screen.listing.show_test(test)
        await ran(pilot, "r")
        assert screen.test_list.test() is test  # only a run of all has a summary to show

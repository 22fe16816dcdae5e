"""What stands around every mode: modes, sizes, palette, help, jump, themes, panes, going back."""

from __future__ import annotations

import asyncio
import random

import pytest
from textual import events
from textual.containers import Horizontal, Vertical
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static

from mcptest_tui.actions import by_id
from mcptest_tui.actions.search_terms import SEARCH_WORDS
from mcptest_tui.config import config_file
from mcptest_tui.screens import make
from mcptest_tui.screens.base import WorkScreen
from mcptest_tui.screens.palette import Palette
from mcptest_tui.screens.picker import Choice, Picker, ranked
from mcptest_tui.screens.settings import settings_of
from mcptest_tui.screens.value import ValueWindow
from mcptest_tui.session import SessionFile
from mcptest_tui.suites import Suites
from mcptest_tui.widgets.footer import HELP, Hint, fitted
from mcptest_tui.widgets.modals import Question
from mcptest_tui.widgets.mode_bar import ModeBar
from mcptest_tui.widgets.splitter import Splitter
from tests.tui.pictures import assert_picture, rows_of, text_of
from tests.tui.review.reviewing import new_test, suite_in
from tests.tui.waiting import until, until_mode, until_shown

pytestmark = pytest.mark.anyio
SIZES = [(20, 5), (40, 10), (80, 24), (120, 40), (200, 60)]


class Panes(WorkScreen):
    """Two panes to try the frame with."""

    MODE = "review"

    def compose_body(self):
        with Horizontal():
            left = OptionList(*"abc", id="left", classes="pane")
            yield left
            yield Splitter(id="gap", percent=40)
            yield OptionList(*"def", id="right", classes="pane")


async def test_every_mode_shows_at_every_size(workbench, demo):
    """Begun at 20x5, then up to 200x60; the footer ends with `? more`."""
    async with workbench(size=SIZES[0]) as pilot:
        for size in SIZES:
            await pilot.resize_terminal(*size)
            for mode in ("tests", "edit", "servers", "review", "traffic"):
                pilot.app.go(mode)
                await until_mode(pilot, mode)
                await until(pilot, lambda: pilot.app.screen.is_mounted)
                await pilot.pause()
                rows = rows_of(pilot.app)
                assert len(rows) == size[1]
                if size[0] >= 40:
                    assert rows[-1].endswith(("? more", "f12 more"))
                else:
                    assert rows[0] == "needs 40x10, is 20x5"


async def test_resizing_at_random_never_fails(workbench, demo):
    """Any size, in any order, in any mode."""
    chance = random.Random(7)
    async with workbench() as pilot:
        for _ in range(25):
            pilot.app.go(chance.choice(("tests", "edit", "servers", "review", "traffic")))
            await pilot.resize_terminal(chance.randint(2, 220), chance.randint(2, 70))
            await pilot.pause()
        await pilot.resize_terminal(120, 40)
        await until(pilot, lambda: "1 Tests" in text_of(pilot.app))


async def number_keys_and_the_mouse_change_the_mode(pilot):
    """And the current one is marked."""
    await pilot.press("4")
    await until(pilot, lambda: pilot.app.current_mode == "review")
    bar = pilot.app.screen.query_one(ModeBar)
    x = rows_of(pilot.app)[0].index("1 Tests")
    await pilot.click(bar, offset=(x, 0))
    await until(pilot, lambda: pilot.app.current_mode == "tests")


async def escape_never_quits(pilot):
    """However often."""
    for _ in range(6):
        await pilot.press("escape")
    assert pilot.app.is_running


async def escape_leads_back_to_where_a_place_was_asked_for(pilot):
    """One level, then no further."""
    pilot.app.go("review", id="x")
    await until(pilot, lambda: pilot.app.current_mode == "review")
    await pilot.press("escape")
    await until(pilot, lambda: pilot.app.current_mode == "tests")
    await pilot.press("escape")
    assert pilot.app.current_mode == "tests"


def test_search_words_are_of_an_action_of_the_palette():
    """And none is a word of its title, which is found anyway."""
    titles = {name: by_id()[name][1].title.lower() for name in SEARCH_WORDS if by_id()[name][1].palette}
    assert titles.keys() == SEARCH_WORDS.keys()
    assert {name: title for name, title in titles.items() if {*title.split()} & {*SEARCH_WORDS[name].split()}} == {}


TYPED = {
    "kill": "app.processes",
    "hang": "app.processes",
    "end process": "app.processes",
    "end": "app.processes",
    "slow": "list.order",
    "slow tools": "list.order",
    "sort by time": "list.order",
    "sort": "list.order",
    "rerun": "run.this",
    "search": "list.filter",
    "shortcuts": "app.help",
    "exit": "app.quit",
    "dark": "view.theme",
    "scaffold": "suite.new",
    "fullscreen": "pane.zoom",
    "approve": "review.open",
}
"""What people typed, and an action that should then be among the first three."""


async def the_palette_finds_and_does_an_action(pilot):
    """By a part of its name, or a word that people use for it."""
    palette = Palette(pilot.app, pilot.app.screen)
    found = {typed: [choice.id for choice, _ in ranked(*palette.source(typed))][:3] for typed in TYPED}
    assert {typed: ids for typed, ids in found.items() if TYPED[typed] not in ids} == {}
    await pilot.press("ctrl+p")
    await until(pilot, lambda: isinstance(pilot.app.screen, Picker))
    await pilot.press(*"settings", "enter")
    await until(pilot, lambda: "Theme" in text_of(pilot.app) and "Session:" in text_of(pilot.app))
    await pilot.press("escape")


async def the_palette_goes_to_a_test(pilot):
    """`>` and part of its name."""
    await pilot.press("ctrl+p", *">")
    await until(pilot, lambda: "city" in text_of(pilot.app).lower() or "○" in text_of(pilot.app))
    await pilot.press("escape")


async def the_palette_goes_to_a_tool(pilot):
    """`@`: one that a test calls, and once its server is connected every one that it offers; not a method."""
    app = pilot.app
    await pilot.press("ctrl+p", *"@")
    await until(pilot, lambda: "get_weather" in text_of(app))
    assert "tools/list" not in text_of(app)
    assert "server_info" not in text_of(app)
    await pilot.press(*"get_w", "enter")
    await until(pilot, lambda: app.current_mode == "servers" and "r connects it" in text_of(app))
    await pilot.press("r")
    await until(pilot, lambda: any(app.screen.tools()))
    names = {tool.name for _, _, tool in app.screen.tools()}
    await pilot.press("ctrl+p", *"@")
    await until(pilot, lambda: names and all(name in text_of(app) for name in names))


async def the_footer_names_no_key_that_is_typed(pilot):
    """In a text the help has an F key, and letters are letters."""
    assert rows_of(pilot.app)[-1].rstrip().endswith(("? more", "f12 more"))
    await pilot.press("2")
    await until(pilot, lambda: rows_of(pilot.app)[-1].rstrip().endswith("f12 more"))
    assert "^s save" in rows_of(pilot.app)[-1]
    await pilot.press("f12")
    await until(pilot, lambda: isinstance(pilot.app.screen, Picker))
    await pilot.press("escape", "f1", "slash")
    await until(pilot, lambda: rows_of(pilot.app)[-1].rstrip().endswith("f12 more"))


async def help_lists_the_keys_of_the_pane_and_does_them(pilot):
    """Searchable; Enter does what is chosen."""
    await pilot.resize_terminal(80, 24)
    await pilot.press("4")
    await until(pilot, lambda: pilot.app.current_mode == "review")
    await pilot.press("question_mark")
    await until(pilot, lambda: "one by one" in text_of(pilot.app))
    listed = pilot.app.screen.query_one(OptionList)
    before = listed.highlighted
    await pilot.press("t")
    await until(pilot, lambda: listed.highlighted != before)
    await pilot.press("backspace")
    assert listed.highlighted == before
    await pilot.press(*"traffic", "enter")
    await until(pilot, lambda: pilot.app.current_mode == "traffic")
    await pilot.press("question_mark", *"shows", "enter")  # in so few rows the list has a sentence of it
    await until(pilot, lambda: isinstance(pilot.app.screen, ValueWindow))
    await until_shown(pilot, "process:4711")


async def test_a_theme_is_shown_while_choosing_and_given_back_on_escape(workbench, place, demo):
    """Enter writes it into the settings, for the next workbench in any folder; a session that names another decides nothing."""
    config_file().parent.mkdir(parents=True)
    config_file().write_text("# mine\nwatch: all  # and kept\n", encoding="utf-8")
    async with workbench() as pilot:
        before = pilot.app.theme
        pilot.app.preferences.action_pick_theme()
        await until(
            pilot, lambda: isinstance(pilot.app.screen, Picker) and pilot.app.screen.query_one(OptionList).highlighted
        )
        await pilot.press("down")
        await until(pilot, lambda: pilot.app.theme != before)
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.theme == before)
        pilot.app.preferences.action_pick_theme()
        await until(pilot, lambda: isinstance(pilot.app.screen, Picker))
        await pilot.press(*"paper", "enter")
        await until(pilot, lambda: pilot.app.theme == "paper")
        assert config_file().read_text(encoding="utf-8") == "# mine\nwatch: all  # and kept\ntheme: paper\n"
        assert [row.help for row in settings_of(pilot.app, ()) if "`theme` in the settings file" in row.help]
    session = SessionFile(place)
    text = session.text_of({"theme": "harbour", "mode": "tests"})
    assert text is not None
    session.save(text)
    async with workbench() as pilot:
        assert (pilot.app.theme, pilot.app.session.file.complaint) == ("paper", "")


async def jump_puts_a_letter_on_every_place(pilot):
    """The letter goes there, anything else closes."""
    await pilot.press("4", "apostrophe")
    row = rows_of(pilot.app)[0]
    assert "s2" not in row.replace(" ", "")[:8] or row
    await until(pilot, lambda: "f4 Review" in text_of(pilot.app).replace("f 4", "f4"))
    await pilot.press("a")
    await until(pilot, lambda: pilot.app.current_mode == "tests")
    await pilot.press("apostrophe", "exclamation_mark")
    await until(pilot, lambda: isinstance(pilot.app.screen, WorkScreen))


async def panes_are_resized_zoomed_and_given_back(pilot):
    """By keys and by the mouse; kept in the session."""
    app = pilot.app
    screen = Panes()
    await app.push_screen(screen)
    await until(pilot, lambda: app.screen is screen and screen.query("#right"))
    left, right = screen.query_one("#left"), screen.query_one("#right")
    left.focus()
    await pilot.pause()
    first = left.size.width
    await pilot.press("greater_than_sign")
    await until(pilot, lambda: left.size.width == first + 4)
    await pilot.press("less_than_sign", "less_than_sign")
    await until(pilot, lambda: left.size.width == first - 4)
    await pilot.press("equals_sign")
    await until(pilot, lambda: left.size.width == first)
    gap = screen.query_one(Splitter)
    await pilot.mouse_down(gap)
    await pilot.hover(right, offset=(10, 5))
    await pilot.mouse_up(right, offset=(10, 5))
    await until(pilot, lambda: left.size.width > first + 5)
    assert screen.remember_all()["sizes"]["gap"] == gap.percent
    await pilot.press("z")
    await until(pilot, lambda: left.size.width > 110)
    assert not right.display
    await pilot.press("escape")
    await until(pilot, lambda: right.display)
    app.pop_screen()


async def test_a_bug_is_told_and_the_app_stays(workbench, demo):
    """With a report that holds no names of tests; a worker with `exit_on_error=False` that fails is told, too."""
    async with workbench(bugs=2) as pilot:
        app = pilot.app

        def broken() -> None:
            raise RuntimeError("this never happens")

        app.screen.call_next(broken)
        await until(pilot, lambda: "This is a bug in mcptest" in text_of(app))
        assert "RuntimeError: this never happens" in text_of(app)
        await pilot.press("y")
        await until(pilot, lambda: "Copied the report (OSC 52" in text_of(app))
        await pilot.press("4")
        await until(pilot, lambda: app.current_mode == "review")

        async def fails() -> None:
            raise ValueError("in a worker")

        app.run_worker(fails(), exit_on_error=False)
        await until(pilot, lambda: "ValueError: in a worker" in text_of(app))


async def notifications_take_text_as_it_is(pilot):
    """Neither markup nor escapes."""
    pilot.app.messages.notify("[red]\x1b[2J[/red]", severity="warning", hint="[b]press[/b] x")
    await until(pilot, lambda: "[red]␛[2J[/red]" in text_of(pilot.app))
    assert "[b]press[/b] x" in text_of(pilot.app)


async def a_key_without_anything_to_do_says_so(pilot):
    """Silence looks like a key that was lost."""
    await pilot.press("4", "a")
    await until(pilot, lambda: "nothing is proposed" in text_of(pilot.app))
    await pilot.press("3", "ctrl+n")
    await until(pilot, lambda: "demo is not connected: r connects it" in text_of(pilot.app))


async def watch_goes_round(pilot):
    """Starts as affected; the status bar says it."""
    assert "watch: affected" in text_of(pilot.app)
    await pilot.press("4", "w")
    await until(pilot, lambda: "watch: all" in text_of(pilot.app))
    await pilot.press("w")
    await until(pilot, lambda: "watch: off" in text_of(pilot.app))


async def test_the_session_brings_back_mode_and_watch(workbench, demo):
    """Of the same workspace."""
    async with workbench() as pilot:
        await pilot.press("4", "w")
        await until(pilot, lambda: pilot.app.current_mode == "review")
    async with workbench() as pilot:
        assert pilot.app.current_mode == "review"
        assert pilot.app.watch_mode == "all"


@pytest.fixture
def searching(monkeypatch):
    """Nothing is searched for before this is set."""
    begin, search = asyncio.Event(), Suites.search

    async def later(self):
        await begin.wait()
        await search(self)

    monkeypatch.setattr(Suites, "search", later)
    return begin


async def test_the_tests_of_last_time_are_painted_first(workbench, demo, place, searching):
    """Before anything was searched for; what runs all tests then runs those that are found later as well."""
    searching.set()
    async with workbench():
        pass
    searching.clear()
    async with workbench(ready=False) as pilot:
        store = pilot.app.store
        assert len(store.rows) == 16
        assert not pilot.app.suites.searched
        (place / "other").mkdir()
        (place / "other" / "late.yml").write_text(demo.read_text(encoding="utf-8"), encoding="utf-8")
        await pilot.press("a")
        assert len(pilot.app.store.progress.asked) == 1
        searching.set()
        await until(pilot, lambda: pilot.app.suites.searched and len(store.rows) == 32)
        await until(pilot, lambda: not pilot.app.store.progress.busy)
        assert not [row.name for row in store.rows.values() if row.verdict == "new"], (
            "all are those found later as well"
        )


async def test_verdicts_of_last_time_are_counted_in_whatever_mode_it_starts(workbench, demo):
    """They were taken up by the screen of the tests, and so only once that was shown."""
    counts: dict[str, int] = {}
    modes = ("tests", "edit", "servers", "review")
    for mode, following in zip(modes, (*modes[1:], ""), strict=True):
        async with workbench(size=(80, 24)) as pilot:
            assert pilot.app.current_mode == mode
            if not counts:
                pilot.app.runs.start(None)
                await until(pilot, lambda: pilot.app.store.counts["new"] == 0 and not pilot.app.store.progress.busy)
                counts = dict(pilot.app.store.counts)
            assert pilot.app.store.counts == counts
            assert f" {counts['pass']} ✓" in text_of(pilot.app).splitlines()[-2]
            if following:
                pilot.app.go(following)
                await until_mode(pilot, following)


async def test_what_waits_for_review_is_announced_before_a_folder_is_searched(workbench, place, searching):
    """Wherever the search takes long."""
    suite_in(place)
    for number in range(5):
        new_test(place, number)
    async with workbench(size=(80, 24), ready=False) as pilot:
        await until(pilot, lambda: "4 Review •5" in text_of(pilot.app), what="the count of proposals")
        inks = {str(span.style) for span in pilot.app.screen.query_one(ModeBar)._tab(4, "review", "Review").spans}
        assert "bold $verdict-fail" not in inks, "a proposal is no failure"
        assert not pilot.app.suites.searched
        searching.set()
        await until(pilot, lambda: pilot.app.suites.searched)


async def test_a_remembered_suite_that_is_none_any_more_is_dropped(workbench, demo, place, searching):
    """Once the folder was searched."""
    searching.set()
    other = place / "other.yml"
    other.write_text(demo.read_text(encoding="utf-8"), encoding="utf-8")
    async with workbench() as pilot:
        assert len(pilot.app.store.documents) == 2
    other.write_text("just: data\n", encoding="utf-8")
    searching.clear()
    async with workbench(ready=False) as pilot:
        assert len(pilot.app.store.documents) == 2
        searching.set()
        await until(pilot, lambda: pilot.app.suites.searched)
        assert list(pilot.app.store.documents) == [str(demo)]


async def test_a_broken_session_is_said_and_ignored(workbench, demo, place):
    """It starts afresh."""
    path = place / ".mcptest" / "cache" / "session.json"
    path.parent.mkdir(parents=True)
    path.write_text("{", encoding="utf-8")
    async with workbench() as pilot:
        await until(pilot, lambda: "starting without it" in text_of(pilot.app))


async def test_a_persons_keys_are_taken_and_problems_told(workbench, demo):
    """At the start."""
    from mcptest_tui.keymap import keymap_file

    keymap_file().parent.mkdir(parents=True)
    keymap_file().write_text("app.mode.4: ctrl+b\napp.jmup: x\n", encoding="utf-8")
    async with workbench() as pilot:
        await until(pilot, lambda: 'no action "app.jmup"; did you mean `app.jump`?' in text_of(pilot.app))
        await pilot.press("ctrl+b")
        await until(pilot, lambda: pilot.app.current_mode == "review")


async def test_a_zoomed_detail_that_has_no_room_any_more_gives_way_to_the_list(workbench, demo):
    """A terminal that becomes narrow shows the list and not an empty screen."""
    async with workbench() as pilot:
        await pilot.press("tab", "z")
        assert pilot.app.screen.panes.zoomed is pilot.app.screen.detail
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: "the server offers its tools" in text_of(pilot.app))
        await until(pilot, lambda: pilot.app.focused is pilot.app.screen.test_list)


async def small_terminals_name_the_mode_in_the_status_bar(pilot):
    """The mode bar's row is content."""
    await pilot.resize_terminal(58, 14)
    await pilot.press("4")
    await until(pilot, lambda: "Review │" in rows_of(pilot.app)[-2])
    assert "2 Edit" not in rows_of(pilot.app)[0]


async def test_keys_can_be_asked_for_of_every_mode_before_it_has_its_panes(workbench, demo):
    """A list of keys that is opened over a mode right behind its own key asks then; not each of its keys found a pane."""
    async with workbench() as pilot:
        app = pilot.app
        for mode in make.MODES:
            if mode != "tests":
                app.go(mode)
            screen = app.screen
            has_panes = screen.is_mounted
            own = [found for found in screen.active_bindings.values() if found.node is screen]
            enabled = [found for found in own if found.enabled and not found.binding.action.startswith("app.")]
            assert has_panes == bool(enabled) == (mode == "tests")
            await until(pilot, lambda: app.screen.is_mounted)


async def test_a_list_that_is_closed_as_soon_as_it_is_shown_is_not_filled(workbench, place):
    """What was to fill it came when its parts were gone: a person who pressed ^p and Escape at once was told of a bug."""

    class Brief(Picker):
        rounds = 0

        async def on_mount(self):  # type: ignore[override]
            self.dismiss(None)
            for _ in range(self.rounds):
                await asyncio.sleep(0)

    async with workbench() as pilot:
        for rounds in range(12):
            picker = Brief("Keys", lambda typed: ([], typed))
            picker.rounds = rounds
            await pilot.app.push_screen(picker)
            await until(pilot, lambda: pilot.app.screen is pilot.app.work_screen)
        assert not pilot.app.problems.count


def test_a_beginning_comes_before_a_word_and_that_before_letters():
    """And what only the sentence about it says comes last."""
    titles = ("To the shell", "Theme", "Reset heights everywhere", "Other")
    choices = [Choice(title, title) for title in titles] + [Choice("x", "Quit", help="the end")]
    assert [choice.title for choice, _ in ranked(choices, "the")][:2] == ["Theme", "To the shell"]
    assert [choice.title for choice, _ in ranked(choices, "the")][-1] == "Quit"
    assert [choice for choice, _ in ranked(choices, "")] == choices


async def test_a_mode_that_cannot_be_imported_keeps_no_other_from_being_imported_and_is_told_when_it_is_opened(
    monkeypatch,
):
    asked = []

    def import_or_fail(name):
        asked.append(name)
        raise ImportError(name)

    monkeypatch.setattr(make, "import_module", import_or_fail)
    await make.import_all(lambda: False, lambda _: None)
    assert {module for module, _ in make.MODES.values()} <= set(asked)
    with pytest.raises(ImportError, match="edit"):
        make.make_screen("edit")


async def test_a_list_that_is_closed_while_the_terminal_is_resized_is_not_filled(workbench, demo):
    """It raised an error, which was shown."""
    async with workbench() as pilot:
        await pilot.press("ctrl+p")
        palette = pilot.app.screen
        await until(pilot, lambda: palette.query(OptionList))
        await palette.query("*").remove()
        palette.on_resize()
        await pilot.pause()
        assert not pilot.app.problems.count


async def test_a_size_that_comes_late_is_not_laid_out(workbench, demo):
    """Two sizes followed each other for ever, when a terminal was resized twice, and no key was taken any more."""
    async with workbench(size=(80, 24)) as pilot:
        screen = pilot.app.screen
        screen._screen_resized(Size(81, 7))
        assert screen.query_one("#body").size.width == 80
        assert not screen.has_class("-no-room")
        await pilot.press("ctrl+p")
        await until(pilot, lambda: pilot.app.screen.query(OptionList))
        palette = pilot.app.screen
        before = palette.query_one(".dialog").region
        palette._screen_resized(Size(81, 7))
        assert palette.query_one(".dialog").region == before


async def test_what_a_mode_looks_like_is_parsed_before_it_is_opened(workbench, demo, monkeypatch):
    """Its first visit waited for it."""
    monkeypatch.setattr(make, "STEP_SECONDS", 0)
    async with workbench() as pilot:
        await make.import_all(lambda: False, pilot.app.stylesheet.parse_ahead)
        parsed = len(pilot.app.stylesheet._parse_cache)
        for mode in ("servers", "traffic"):
            pilot.app.go(mode)
            await until_mode(pilot, mode)
        assert len(pilot.app.stylesheet._parse_cache) == parsed


async def test_modes_are_imported_in_pieces_and_none_while_a_person_types(monkeypatch):
    asked: list[str] = []
    busy = [True, True, False]
    monkeypatch.setattr(make, "import_module", asked.append)
    monkeypatch.setattr(make, "STEP_SECONDS", 0)

    def is_busy():
        assert not (busy and asked), "imported while a person types"
        return bool(busy) and busy.pop(0)

    await make.import_all(is_busy, lambda _: None)
    assert not busy
    assert len(asked) > 50
    assert asked.index("mcptest_tui.widgets.call_pane") < asked.index("mcptest_tui.screens.servers")


@pytest.mark.parametrize("width", [0, 5, 8, 9, 30, 200])
def test_the_footer_is_never_cut(width):
    """Whole hints, and `? more` at the end."""
    hints = [Hint(("r",), "run", "run"), Hint(("a",), "run all", "all"), Hint(("slash",), "filter", "filter")]
    more = Hint(("f12",), "more", HELP)
    shown = fitted([more, *hints], width)
    assert sum(hint.width for hint in shown) <= width
    assert not shown or shown[-1] == more
    assert shown[:-1] == hints[: max(len(shown) - 1, 0)]


async def pictures_of_the_lists(pilot):
    """The palette and the help of a pane, as a person sees them."""
    for size in [(80, 24), (120, 40)]:
        await pilot.resize_terminal(*size)
        await pilot.press("4")
        await until(pilot, lambda: "Nothing to review" in text_of(pilot.app))
        assert_picture(pilot.app, "review", folder="shell")
        await pilot.press("question_mark")
        await until(pilot, lambda: "Everywhere" in text_of(pilot.app))
        assert_picture(pilot.app, "help", folder="shell")
        await pilot.press("escape")


def test_the_first_paint_imports_nothing_heavy():
    """In a process of its own: the app, and the screens that can be first."""
    import subprocess
    import sys

    code = (
        "import sys, mcptest_tui.app, mcptest_tui.screens.make, mcptest_tui.screens.tests\n"
        "print([m for m in 'mcp pydantic httpx2 jsonschema yaml jq regex click'.split() if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


async def a_terminal_that_was_too_small_gives_the_focus_back(pilot):
    """Keys of the pane work at once, without Escape."""
    screen = pilot.app.screen
    for small in [(39, 9), (81, 7)]:
        await until(pilot, lambda: screen.test_list.has_focus)
        await pilot.resize_terminal(*small)
        await until(pilot, lambda: screen.has_class("-no-room"))
        await pilot.resize_terminal(120, 40)
        await until(pilot, lambda: screen.focused is screen.test_list)
        await pilot.press("j", "i")


async def what_a_key_had_nothing_to_do_goes_with_the_next_key(pilot):
    """It is about the key that was pressed, and no longer true when another one works."""
    await pilot.press("x")
    await until(pilot, lambda: "nothing is running" in text_of(pilot.app))
    await pilot.press("j")
    await until(pilot, lambda: "nothing is running" not in text_of(pilot.app))


async def a_click_on_what_is_being_removed_is_left_out(pilot):
    """Until the screen is laid out again it is found under the mouse, and Textual asks it for its parent."""
    app = pilot.app
    box = Vertical(Static("going", id="going"))
    await app.screen.mount(box)
    await until(pilot, lambda: app.screen.query_one("#going").region.area)
    x, y = app.screen.query_one("#going").region.offset
    await box.remove()
    for kind in (events.MouseMove, events.MouseDown, events.MouseUp):
        await app.on_event(kind(None, x, y, 0, 0, 1, False, False, False, x, y))
    assert app.problems.last is None


async def what_went_well_is_told_in_the_status_bar_and_covers_nothing(pilot):
    """Also in words that are longer than the row: they are cut off."""
    await pilot.resize_terminal(80, 24)
    pilot.app.messages.notify("wrote mcptest.yml", hint="a runs its tests")
    await until(pilot, lambda: "wrote mcptest.yml; a runs its tests" in rows_of(pilot.app)[-2])
    pilot.app.messages.show(f"wrote {'very/' * 30}long.yml")
    await until(pilot, lambda: "wrote very/very/" in rows_of(pilot.app)[-2])
    copied = "Copied `result.structuredContent.stations[*].conditions[0].description`"
    pilot.app.messages.show(copied, details="OSC 52, 5 bytes")
    await until(pilot, lambda: "description`  " in f"{rows_of(pilot.app)[-2]}  ", what="no half of what is in brackets")
    assert "OSC" not in rows_of(pilot.app)[-2]
    pilot.app.push_screen(Question("Which?", ["?"], [("y", "yes")]))
    await until(pilot, lambda: "esc close" in text_of(pilot.app))
    pilot.app.messages.show("copied")
    await until(pilot, lambda: "copied ─╯" in text_of(pilot.app), what="the message in the place of the dialog's keys")
    await pilot.press("q")
    assert isinstance(pilot.app.screen, Question)
    assert not pilot.app._notifications


async def a_notification_lies_over_nothing(pilot, size=(120, 40)):
    """It has rows of its own above the status bar; the panes leave these to it and have them back afterwards."""
    await pilot.resize_terminal(*size)
    app = pilot.app
    before, body = rows_of(app)[-2], app.screen.query_one("#body")
    app.messages.show(f"what is {'very ' * 30}long", "warning")
    await until(pilot, lambda: "very long" in text_of(app))
    assert rows_of(app)[-2] == before, "a part of it does not take the place of the counts"
    app.clear_notices()
    await until(pilot, lambda: not app.screen.query("Toast") and body.region.bottom == size[1] - 2)
    app.messages.notify("one\ntwo", severity="warning")
    await until(pilot, lambda: app.screen.query("Toast") and body.region.bottom == size[1] - 4)
    assert app.screen.query_one("Toast").region.y == body.region.bottom
    assert ["one" in rows_of(app)[-4], "two" in rows_of(app)[-3]] == [True, True]
    assert rows_of(app)[-2] == before
    app.go("edit")
    await until(pilot, lambda: app.current_mode == "edit")
    app.messages.notify("three", severity="error")
    body = app.screen.query_one("#body")
    await until(pilot, lambda: "three" in rows_of(app)[-3] and body.region.bottom <= size[1] - 3)


async def a_notification_lies_over_nothing_on_a_small_terminal(pilot):
    await a_notification_lies_over_nothing(pilot, (80, 24))


async def test_the_frame(workbench, demo):
    """Each check begins in the list of tests, with nothing over it."""
    async with workbench() as pilot:
        app = pilot.app
        for check in (
            pictures_of_the_lists,
            number_keys_and_the_mouse_change_the_mode,
            escape_never_quits,
            escape_leads_back_to_where_a_place_was_asked_for,
            the_palette_finds_and_does_an_action,
            the_palette_goes_to_a_test,
            the_footer_names_no_key_that_is_typed,
            help_lists_the_keys_of_the_pane_and_does_them,
            jump_puts_a_letter_on_every_place,
            panes_are_resized_zoomed_and_given_back,
            notifications_take_text_as_it_is,
            a_key_without_anything_to_do_says_so,
            small_terminals_name_the_mode_in_the_status_bar,
            a_terminal_that_was_too_small_gives_the_focus_back,
            what_a_key_had_nothing_to_do_goes_with_the_next_key,
            a_click_on_what_is_being_removed_is_left_out,
            what_went_well_is_told_in_the_status_bar_and_covers_nothing,
            a_notification_lies_over_nothing,
            a_notification_lies_over_nothing_on_a_small_terminal,
            watch_goes_round,
            the_palette_goes_to_a_tool,
        ):
            await check(pilot)
            await pilot.resize_terminal(120, 40)
            while isinstance(app.screen, ModalScreen):
                await pilot.press("escape")
            app.messages.show("")
            app.go("tests")
            await until_mode(pilot, "tests")
            app.clear_notifications()
            await until(pilot, lambda: not app.screen.query("Toast"))
            app.screen.test_list.focus()
            await pilot.pause()


@pytest.mark.parametrize("turns", [1, 4, 8, 16, 32, 64, 128, 256])
async def test_ending_while_a_screen_is_being_opened_is_not_taken_for_a_bug(workbench, demo, turns):
    """So many turns of the loop after the switch, the screen loses its widgets before all of them are there."""
    async with workbench() as pilot:
        pilot.app.go("edit")
        for _ in range(turns):
            await asyncio.sleep(0)
        pilot.app.exit()
    assert pilot.app.problems.count == 0

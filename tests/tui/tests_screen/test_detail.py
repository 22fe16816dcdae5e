"""The detail of a test: its tabs, its trees, and adding an assertion from a value."""

from __future__ import annotations

import asyncio
import re
from functools import partial
from pathlib import Path

import pytest

from mcptest_tui.screens.add_assertion import AddAssertion
from mcptest_tui.widgets.text_view import TextView
from tests.tui.pictures import assert_picture, text_of
from tests.tui.tests_screen.conftest import MIXED, from_the_list, on, ran, row
from tests.tui.waiting import until

pytestmark = pytest.mark.anyio
SIZES = [(80, 24), (120, 40)]
TABS = ("result", "diff", "request", "response", "log")
NO_LIST = ((r"(?m)^│[▌ ].*?│ │", "│"), (r"(?m)^╰─*╯ ╰", "╰"))


def filled(pilot):
    """Whether the tree that is shown, if one is, has its value."""
    tree = pilot.app.screen.detail.json_tree
    return tree is None or tree.nodes is not None


async def opened(pilot, part, tab="result"):
    """A test's detail on a tab, filled."""
    test = await on(pilot, part)
    screen = pilot.app.screen
    await pilot.press("enter")
    screen.detail.use_tab(tab)
    await until(pilot, lambda: screen.detail.view.has_focus and (test.verdict == "new" or filled(pilot)))
    return test


async def every_tab_shows_its_part(pilot):
    """Of a test that ran alone: beside others its result says what it waited for, and whether it fails alone too."""
    await on(pilot, "another")
    await ran(pilot, "r")
    await opened(pilot, "another")
    for tab in TABS:
        pilot.app.screen.detail.use_tab(tab)
        await until(pilot, lambda: filled(pilot))
        assert_picture(pilot.app, tab, folder="tests_screen", masks=NO_LIST)


async def the_tabs_go_round_by_their_keys_from_the_list_too(pilot):
    await on(pilot, "broken")
    for tab in (*TABS[1:], "history", "result"):
        await pilot.press("right_square_bracket")
        assert pilot.app.screen.detail.tab == tab
    await pilot.press("left_square_bracket")
    assert pilot.app.screen.detail.tab == "history"
    await pilot.click("TabLine", offset=(2, 0))
    assert pilot.app.screen.detail.tab == "result"


@pytest.mark.parametrize("parallel_server", ["stdio", "http, stateless"], indirect=True)
async def test_a_failure_beside_other_calls_shows_its_cause(workbench, place, mixing_suite):
    (place / "mcptest.yml").write_text(mixing_suite, encoding="utf-8")
    async with workbench(size=(140, 40)) as pilot:
        await ran(pilot, "a")
        (wrong,) = (test for test in pilot.app.store.rows.values() if test.verdict == "fail")
        await opened(pilot, wrong.name)
        other = {"ann": "bob", "bob": "ann"}[wrong.name]
        await until(pilot, lambda: f'passes alone; fails beside "{other}"' in text_of(pilot.app))


@pytest.mark.parametrize("parallel_server", ["stdio", "http, stateless"], indirect=True)
async def test_a_failure_is_shown_while_other_tests_go_on(workbench, place, mixing_suite):
    """What runs beside it never ends by itself."""
    (place / "mcptest.yml").write_text(f"{mixing_suite}  - {{ name: slow, tool: dawdle, timeout_ms: 600000 }}\n")
    async with workbench() as pilot:
        await pilot.press("a")
        store = pilot.app.store.rows
        await until(pilot, lambda: sorted(test.status for test in store.values()) == ["fail", "pass", "running"])
        await ran(pilot, "x")
        assert row(pilot, "slow").verdict == "new"
        assert [test.verdict for test in store.values()].count("fail") == 1


async def the_detail_follows_the_cursor(pilot):
    await on(pilot, "operational")
    await pilot.press("j")
    await until(pilot, lambda: 'expected  "broken"' in text_of(pilot.app))


async def on_a_narrow_terminal_enter_opens_it_and_escape_goes_back(pilot):
    await opened(pilot, "broken")
    assert 'expected  "broken"' in text_of(pilot.app)
    assert "▾ tools" not in text_of(pilot.app)
    await pilot.press("escape")
    assert "▾ tools" in text_of(pilot.app)
    assert pilot.app.screen.test_list.test().name == "the service is broken"


async def a_terminal_that_is_resized_shows_the_detail_or_the_reason_without_a_key(pilot):
    await on(pilot, "broken")
    await pilot.resize_terminal(130, 40)
    await until(pilot, lambda: 'expected  "broken"' in text_of(pilot.app), what="the detail")
    await on(pilot, "another")
    await pilot.resize_terminal(80, 24)
    await until(pilot, lambda: "Tests   ✗ failed: " in text_of(pilot.app), what="the reason")
    await on(pilot, "broken")
    await pilot.resize_terminal(130, 40)
    await until(pilot, lambda: 'expected  "broken"' in text_of(pilot.app), what="the detail of the other test")


async def the_difference_can_stand_side_by_side(pilot):
    await opened(pilot, "another", "diff")
    await pilot.press("d")
    assert_picture(pilot.app, "sides", folder="tests_screen", masks=NO_LIST)


async def rows_that_are_left_out_of_the_difference_are_shown_at_a_key(pilot):
    await pilot.resize_terminal(120, 50)
    await opened(pilot, "same", "diff")
    assert "28 rows the same, then text" in text_of(pilot.app)
    assert '"a20": 20' not in text_of(pilot.app)
    await pilot.press("L")
    assert '"a20": 20' in text_of(pilot.app)
    await pilot.press("L")
    assert "28 rows the same" in text_of(pilot.app)


async def the_frame_says_what_an_assertion_calls_the_value_under_the_cursor(pilot):
    await opened(pilot, "operational", "response")
    await pilot.press("G")
    assert "result.content[0].text" in text_of(pilot.app)
    await pilot.press("Y")
    await until(pilot, lambda: pilot.app.clipboard == "result.content[0].text")
    await pilot.press("y")
    await until(pilot, lambda: pilot.app.clipboard == "status: operational")
    await pilot.press("h")
    assert pilot.app.screen.detail.json_tree.target == "result.content[0]"


async def a_search_finds_what_is_folded_and_n_goes_on(pilot):
    await opened(pilot, "operational", "response")
    await pilot.press("H", "slash", *"text", "enter")
    tree = pilot.app.screen.detail.json_tree
    assert tree.has_focus
    assert "1 of 2" in tree.searching
    first = tree.path
    await pilot.press("n")
    assert tree.path != first
    await pilot.press("n")
    assert tree.path == first


async def space_opens_the_whole_value(pilot):
    await opened(pilot, "operational", "response")
    await pilot.press("G", "i")
    await until(pilot, lambda: "y copy" in text_of(pilot.app))
    assert "status: operational" in text_of(pilot.app)
    await pilot.press("escape")
    assert pilot.app.screen is not None
    await pilot.press("t")
    assert '"text": "status: operational"' in text_of(pilot.app)


async def plus_adds_an_assertion_that_holds(pilot, mixed):
    """Shown before it is written; the save runs the test again."""
    test = await opened(pilot, "operational", "response")
    await pilot.press("G", "plus")
    await until(pilot, lambda: "Add an assertion" in text_of(pilot.app))
    assert "status: operational" in text_of(pilot.app)
    before, run_id = mixed.read_text(encoding="utf-8"), test.run_id
    await pilot.press("enter")
    await until(pilot, lambda: mixed.read_text(encoding="utf-8") != before)
    await until(pilot, lambda: test.run_id != run_id and not test.busy)
    assert (test.status, len(test.result["assertions"])) == ("pass", 4)  # with that on the outcome


async def an_assertion_is_chosen_and_seen_whole_at_the_place_where_it_goes(pilot, mixed):
    """The lines that come have a colour of their own, as in Review, and wrap where they are too long."""
    await opened(pilot, "another", "response")
    await until(pilot, lambda: " + assert" in text_of(pilot.app), what="the key in the footer")
    await pilot.press("G", "plus")
    await until(pilot, lambda: isinstance(pilot.app.screen, AddAssertion))
    place = mixed.read_text(encoding="utf-8").split("\n").index("  - name: echo gives back what was said")
    await until(pilot, lambda: f"mcptest.yml, line {place}" in text_of(pilot.app))
    for size in SIZES:
        await pilot.resize_terminal(*size)
        assert_picture(pilot.app, "assert", folder="tests_screen", masks=NO_LIST)
    for matcher in ({"exact": "cloudy"}, {"contains": "cloudy"}, {"type": "string"}, {"exists": True}):
        ((name, argument),) = matcher.items()
        shown = re.sub(r"[│\s]+", "", text_of(pilot.app))
        assert f"matcher:{{{name}:{str(argument).lower()}}}}}" in shown
        await pilot.press("down")
    new = next(line for line in pilot.app.screen.query_one(TextView).lines if line.pieces[1][0] == "+ ")
    assert {ink for _, ink in new.pieces[1:]} == {"actual"}
    await pilot.press("up", "up", "enter")
    await until(pilot, lambda: "conditions[0]" in mixed.read_text(encoding="utf-8"))
    assert "matcher: { type: string }" in mixed.read_text(encoding="utf-8").split("\n")[place - 1]


async def test_an_assertion_is_added(workbench, mixed):
    async with workbench(size=(80, 24)) as pilot:
        await ran(pilot, "a")
        for check in (
            an_assertion_is_chosen_and_seen_whole_at_the_place_where_it_goes,
            plus_adds_an_assertion_that_holds,
            an_assertion_goes_into_what_is_unsaved_in_edit,
        ):
            await from_the_list(pilot, partial(check, mixed=mixed))


async def test_a_suite_behind_a_link_gets_its_assertion_there(workbench, mixed):
    real = mixed.rename(mixed.with_name("real.txt"))
    mixed.symlink_to(real)
    async with workbench() as pilot:
        await on(pilot, "operational")
        await ran(pilot, "r")
        await opened(pilot, "operational", "response")
        before = real.read_text(encoding="utf-8")
        await pilot.press("G", "plus")
        await until(pilot, lambda: "Add an assertion" in text_of(pilot.app))
        await pilot.press("enter")
        await until(pilot, lambda: mixed.read_text(encoding="utf-8") != before)
        assert mixed.is_symlink()
        assert real.read_text(encoding="utf-8") != before


async def escape_leaves_the_suite_as_it_is(pilot):
    await opened(pilot, "operational", "response")
    suite = Path(row(pilot, "operational").file).read_text
    before = suite(encoding="utf-8")
    await pilot.press("G", "plus")
    await until(pilot, lambda: "Add an assertion" in text_of(pilot.app))
    await pilot.press("escape")
    assert suite(encoding="utf-8") == before


async def an_assertion_goes_into_what_is_unsaved_in_edit(pilot, mixed):
    """At the test's place there, which is another line than on the disk, where nothing is written."""
    app, before, mine = pilot.app, mixed.read_text(encoding="utf-8"), "# mine\n" * 9
    app.go("edit")
    await until(pilot, lambda: getattr(app.screen, "current", None) is not None)
    doc = app.screen.current
    doc.area.insert(mine, (0, 0))
    app.go("tests")
    await opened(pilot, "broken", "response")
    await pilot.press("G", "plus")
    await until(pilot, lambda: isinstance(app.screen, AddAssertion))
    await pilot.press("enter")
    await until(pilot, lambda: doc.text != mine + before, what="the assertion")
    assert mixed.read_text(encoding="utf-8") == before
    line = before.partition("contains: broken } }\n")
    assert doc.text.startswith(mine + line[0] + line[1] + "      - ")
    assert doc.text.endswith(line[2])


async def test_a_history_grows_with_every_run_also_where_it_was_asked_for_before_one_ended(
    workbench, mixed, monkeypatch
):
    async with workbench() as pilot:
        await ran(pilot, "a")
        await opened(pilot, "broken", "history")
        await until(pilot, lambda: "1 run" in text_of(pilot.app))
        answers, held = pilot.app.screen.feed.answers, asyncio.get_running_loop().create_future()
        request = answers.request

        async def late(do, **arguments):
            answer = await request(do, **arguments)
            if do == "history" and not held.done():
                await asyncio.shield(held)  # the screen's own asking may be cancelled meanwhile
            return answer

        monkeypatch.setattr(answers, "request", late)
        asked = asyncio.ensure_future(answers.read_history(row(pilot, "broken").id))
        await ran(pilot, "r")
        held.set_result(None)
        await asked
        await until(pilot, lambda: "verdict  ✗✗" in text_of(pilot.app))
        assert "failing  since" in text_of(pilot.app)
        pilot.app.go("edit")  # what ends while another screen is shown is there as well
        await pilot.pause()
        before = row(pilot, "broken").result
        pilot.app.runs.start(None, [row(pilot, "broken").id])
        await until(pilot, lambda: row(pilot, "broken").result is not before and not pilot.app.store.progress.busy)
        pilot.app.go("tests")
        await until(pilot, lambda: "verdict  ✗✗✗" in text_of(pilot.app))


async def c_copies_the_command_that_runs_the_test(pilot):
    await on(pilot, "broken")
    await pilot.press("c")
    await until(pilot, lambda: pilot.app.clipboard == 'mcptest run --filter "the service is broken"')
    await pilot.press("g", "c")
    await until(pilot, lambda: pilot.app.clipboard == "mcptest run")


async def y_offers_what_else_there_is_to_copy(pilot):
    wanted = await on(pilot, "broken")

    async def copied(text):
        await until(pilot, lambda: text in pilot.app.clipboard, what=text)

    for key, holds in (
        ("n", "the service is broken"),
        ("p", f"mcptest.yml:{wanted.result['failure']['line']}"),
        ("i", wanted.id),
        ("t", "name: the service is broken"),
        ("w", "broken"),
        ("q", '"method": "tools/call"'),
        ("r", "operational"),
    ):
        pilot.app._clipboard = ""
        await pilot.press("y")
        await until(pilot, lambda: pilot.app.screen is not pilot.app.work_screen)
        await pilot.press(key, "enter")
        await copied(holds)


async def of_a_test_that_never_ran_no_answer_is_offered(pilot):
    await on(pilot, "broken")
    await pilot.press("y")
    await until(pilot, lambda: "Its text" in text_of(pilot.app))
    assert "The response" not in text_of(pilot.app)


async def test_a_groups_page_counts_along_while_it_runs(workbench, place):
    many = "".join(f"  - {{ name: slow {n}, tool: slow_report }}\n" for n in range(200))
    (place / "mcptest.yml").write_text(MIXED.split("tools:")[0] + "tools:\n" + many, encoding="utf-8")
    async with workbench() as pilot:
        await pilot.press("g", "a")
        await until(pilot, lambda: "passed" in text_of(pilot.app) and pilot.app.store.progress.busy)
        await pilot.press("x")
        await until(pilot, lambda: not pilot.app.store.progress.busy)


async def a_test_that_never_ran_says_what_the_keys_do(pilot):
    await on(pilot, "broken")
    assert "not run yet" in text_of(pilot.app)
    assert "runs it" in text_of(pilot.app)
    await pilot.press("g")
    await until(pilot, lambda: "runs all 6 (1 server will start)" in text_of(pilot.app))


async def after_a_run_the_suite_says_what_came_of_it(pilot):
    await pilot.press("g")
    await until(pilot, lambda: "2 failed, 3 passed, 1 skipped in" in text_of(pilot.app))
    assert "slowest" in text_of(pilot.app)


async def e_opens_the_editor_at_the_test_and_s_its_server(pilot):
    await on(pilot, "broken")
    await pilot.press("e")
    await until(pilot, lambda: pilot.app.current_mode == "edit")
    await pilot.press("f1")
    await until(pilot, lambda: pilot.app.current_mode == "tests")
    await pilot.press("S")
    await until(pilot, lambda: pilot.app.current_mode == "servers")


async def a_test_can_be_gone_to_from_elsewhere(pilot):
    pilot.app.go("traffic")
    pilot.app.go("tests", id=row(pilot, "region").id)
    await until(
        pilot, lambda: pilot.app.screen.MODE == "tests" and pilot.app.screen.test_list.test() is row(pilot, "region")
    )


WORDS = [" ".join(f"w{row:02}{number:02}" for number in range(20)) for row in range(20)]


async def no_text_is_lost_under_a_scroll_bar(pilot):
    """Expected and actual differ in texts that are as wide as any pane; a tree is longer than its pane."""
    await pilot.resize_terminal(80, 24)
    await opened(pilot, "wide", "diff")
    assert pilot.app.screen.detail.view.show_vertical_scrollbar
    shown = re.sub(r'[^a-z0-9"]', "", text_of(pilot.app))
    assert '""'.join(WORDS[:2]).replace(" ", "") in shown.replace("-", "")
    pilot.app.screen.detail.use_tab("request")
    await until(pilot, lambda: filled(pilot))
    tree = pilot.app.screen.detail.json_tree
    await pilot.press("H", *"ljjljjl")
    await until(pilot, lambda: tree.show_vertical_scrollbar)
    rows = [row for row in text_of(pilot.app).split("\n") if '{"a":' in row]
    assert len(rows) > 10 and all("3 keys" in row for row in rows)


async def a_search_finds_what_was_not_loaded_yet(pilot):
    """Findings: of 160,000 items the last was not found, because only the first 200 were here."""
    await opened(pilot, "long", "request")
    tree = pilot.app.screen.detail.json_tree
    await pilot.press("slash", *"19999", "enter")
    await until(pilot, lambda: tree.target.endswith("list[19999]"), what="the last item")
    assert tree.value() == 19_999
    assert '"19999" 1 of 1' in tree.searching


async def test_the_detail_of_what_is_long_or_wide(workbench, place):
    same = "".join(f"a{n}: {n}, " for n in range(30))
    many = ", ".join(f"k{number:02}: {{a: {'x' * 90}, b: 2, c: 3}}" for number in range(40))
    (place / "mcptest.yml").write_text(
        f"""
servers:
  demo: {{ command: ["mcptest", "mock", "--preset", "demo"] }}
tools:
  - name: same
    tool: echo
    args: {{ {same} text: x }}
    expect: [{{ target: request.params.arguments, matcher: {{ exact: {{ {same} text: y }} }} }}]
  - name: wide
    tool: echo
    args: {{ text: "x", {many} }}
    expect: [{{ target: "result.content[0].text", matcher: {{ exact: {WORDS} }} }}]
  - name: long
    tool: echo
    args: {{ text: x, deep: {{ list: {list(range(20_000))} }} }}
""",
        encoding="utf-8",
    )
    async with workbench() as pilot:
        await ran(pilot, "a")
        for check in (
            a_search_finds_what_was_not_loaded_yet,
            rows_that_are_left_out_of_the_difference_are_shown_at_a_key,
            no_text_is_lost_under_a_scroll_bar,
        ):
            await from_the_list(pilot, check)


NEVER_RAN = (
    a_test_that_never_ran_says_what_the_keys_do,
    c_copies_the_command_that_runs_the_test,
    of_a_test_that_never_ran_no_answer_is_offered,
    a_test_can_be_gone_to_from_elsewhere,
    e_opens_the_editor_at_the_test_and_s_its_server,
)
AFTER_A_RUN = (
    every_tab_shows_its_part,
    the_detail_follows_the_cursor,
    the_tabs_go_round_by_their_keys_from_the_list_too,
    the_difference_can_stand_side_by_side,
    the_frame_says_what_an_assertion_calls_the_value_under_the_cursor,
    a_search_finds_what_is_folded_and_n_goes_on,
    space_opens_the_whole_value,
    escape_leaves_the_suite_as_it_is,
    y_offers_what_else_there_is_to_copy,
)
NARROW = (
    every_tab_shows_its_part,
    on_a_narrow_terminal_enter_opens_it_and_escape_goes_back,
    a_terminal_that_is_resized_shows_the_detail_or_the_reason_without_a_key,
)


async def test_the_detail_of_a_test_that_never_ran_and_of_one_that_did(workbench, mixed):
    async with workbench(size=(120, 40)) as pilot:
        for check in NEVER_RAN:
            await from_the_list(pilot, check)
        await from_the_list(pilot, ran)
        await from_the_list(pilot, after_a_run_the_suite_says_what_came_of_it)
        await pilot.resize_terminal(80, 24)
        for check in NARROW:
            await from_the_list(pilot, check)
        await pilot.resize_terminal(120, 40)
        for check in AFTER_A_RUN:
            await from_the_list(pilot, check)

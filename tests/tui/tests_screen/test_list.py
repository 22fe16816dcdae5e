"""The list: what it shows, running, finding, marking, and that nothing in it jumps."""

from __future__ import annotations

import json
import sys
from functools import partial

import pytest

from mcptest_tui.keymap import keymap_file
from mcptest_tui.widgets.row_list import RowList
from tests.conftest import SERVERS
from tests.tui.pictures import assert_picture, drawn, rows_of, text_of
from tests.tui.tests_screen.conftest import MIXED, from_the_list, on, ran, row
from tests.tui.waiting import until, until_shown

pytestmark = pytest.mark.anyio
SIZES = [(80, 24), (120, 40)]


def verdicts(pilot):
    return {row.name.split()[-1]: row.status for row in pilot.app.store.rows.values()}


async def test_the_start_shows_every_test_before_any_run(workbench, demo):
    async with workbench(size=SIZES[0]) as pilot:
        for size in SIZES:
            await pilot.resize_terminal(*size)
            text = text_of(pilot.app)
            for test in pilot.app.store.rows.values():
                assert test.name[:24] in text
            assert_picture(pilot.app, "start", folder="tests_screen")


async def a_run_gives_every_test_its_mark(pilot):
    """A passing row reads `✓ name`."""
    for size in SIZES:
        await pilot.resize_terminal(*size)
        await on(pilot, "operational")
        text = text_of(pilot.app)
        assert "✓ the service is operational" in text
        assert "✗ the service is broken" in text
        assert "~ nothing is deleted" in text
        assert_picture(pilot.app, "ran", folder="tests_screen")
        if size[0] == 80:  # where no detail stands beside it, the title tells why
            for name, why in (("another", "✗ failed: "), ("deleted", "~ skipped: ")):
                await on(pilot, name)
                await until_shown(pilot, f"Tests   {why}")


async def test_r_runs_what_is_under_the_cursor(workbench, mixed):
    """A test, then its block."""
    async with workbench() as pilot:
        await on(pilot, "operational")
        await ran(pilot, "r")
        assert [name for name, status in verdicts(pilot).items() if status != "new"] == ["operational"]
        screen = pilot.app.screen
        screen.test_list.select(screen.rows.parent_of(row(pilot, "region")))
        await ran(pilot, "r")
        assert verdicts(pilot)["region"] == "pass"
        assert verdicts(pilot)["broken"] == "new"


async def f_runs_the_failed_ones_and_only_those(pilot):
    before = {row.name: row.run_id for row in pilot.app.store.rows.values()}
    await ran(pilot, "f")
    again = {row.name for row in pilot.app.store.rows.values() if row.run_id != before[row.name]}
    assert again == {"the service is broken", "the weather is another"}


async def marked_tests_are_what_r_runs(pilot):
    await on(pilot, "operational")
    await pilot.press("space", "space")
    assert "2 tests marked" in text_of(pilot.app)
    await ran(pilot, "r")
    assert [name for name, status in verdicts(pilot).items() if status != "new"] == ["operational", "broken"]
    await pilot.press("escape")
    assert not pilot.app.screen.test_list.marked


async def v_marks_from_here_to_the_cursor(pilot):
    await on(pilot, "operational")
    await pilot.press("V", "j", "j", "V", "j")
    assert len(pilot.app.screen.test_list.marked) == 3
    await pilot.press("escape")


async def n_goes_from_failure_to_failure_and_round(pilot):
    visited = []
    for key in ("n", "n", "n", "N"):
        await pilot.press(key)
        visited.append(pilot.app.screen.test_list.test().name.split()[-1])
    assert visited == ["broken", "another", "broken", "another"]


async def the_footer_names_no_next_failure_where_the_failed_tests_are_gone(pilot, mixed):
    await pilot.resize_terminal(80, 24)
    await until(pilot, lambda: "n next failure" in rows_of(pilot.app)[-1])
    text = mixed.read_text(encoding="utf-8")
    failing = text[text.index("  - name: the service is broken") : text.index("  - name: echo gives")]
    mixed.write_text(text.replace(failing, ""), encoding="utf-8")
    pilot.app.watch_mode = "off"
    pilot.app.documents_changed([str(mixed)])
    await until(pilot, lambda: len(pilot.app.store.rows) == 4)
    await until(pilot, lambda: "next failure" not in rows_of(pilot.app)[-1], what="the footer")


async def test_a_rerun_keeps_selection_scroll_and_focus(workbench, place):
    many = "".join(f"  - {{ name: test {n}, tool: status }}\n" for n in range(100))
    (place / "mcptest.yml").write_text(MIXED.split("tools:")[0] + "tools:\n" + many, encoding="utf-8")
    async with workbench(size=(80, 24)) as pilot:
        screen = pilot.app.screen
        screen.test_list.select(row(pilot, "test 60").id)
        await pilot.press("up", "up")
        place_before = (screen.test_list.current, screen.test_list.scroll_offset.y, screen.focused)
        await ran(pilot, "a")
        assert (screen.test_list.current, screen.test_list.scroll_offset.y, screen.focused) == place_before
        assert verdicts(pilot)["99"] == "pass"


async def test_a_step_draws_the_rows_that_come_into_view(workbench, place, monkeypatch):
    """And the two that the cursor leaves and reaches; what stands there is what drawing everything gives."""
    many = "".join(f"  - {{ name: test {n}, tool: status }}\n" for n in range(100))
    (place / "mcptest.yml").write_text(MIXED.split("tools:")[0] + "tools:\n" + many, encoding="utf-8")
    async with workbench(size=(80, 24)) as pilot:
        await ran(pilot, "a")
        tests = pilot.app.screen.test_list
        drawn_rows = []

        def pieces(at, width):
            drawn_rows.append(at)
            return RowList.pieces(tests, at, width)

        monkeypatch.setattr(tests, "pieces", pieces)
        for key in ("g", "G", *["k"] * 30, "space", "pageup", *["j"] * 30, "ctrl+d", "h", "l", "V", *["down"] * 30):
            top = tests.scroll_offset.y
            drawn_rows.clear()
            await pilot.press(key)
            shown = drawn(pilot.app)
            if key == "j" and tests.scroll_offset.y == top + 1:
                assert set(drawn_rows) == {tests.cursor - 1, tests.cursor}
            tests.refresh()
            assert [list(strip) for strip in drawn(pilot.app)] == [list(strip) for strip in shown], key


async def test_an_edit_above_keeps_the_selected_test_where_it_is_on_the_screen(workbench, mixed):
    async with workbench(size=(80, 24)) as pilot:
        wanted = await on(pilot, "echo")
        at = next(number for number, text in enumerate(rows_of(pilot.app)) if text.startswith("▌"))
        new = "  - { name: the first one, tool: status }\n"
        mixed.write_text(MIXED.replace("tools:\n", f"tools:\n{new}", 1), encoding="utf-8")
        await until(pilot, lambda: "the first one +" in text_of(pilot.app) or "✓ the first one" in text_of(pilot.app))
        assert pilot.app.screen.test_list.current == wanted.id
        assert abs(next(number for number, text in enumerate(rows_of(pilot.app)) if text.startswith("▌")) - at) <= 1


async def groups_fold_by_key_and_by_mouse(pilot):
    await on(pilot, "echo")
    await pilot.press("h", "h")
    assert "▸ tools" in text_of(pilot.app)
    assert "echo gives" not in "\n".join(text[:48] for text in rows_of(pilot.app))
    await pilot.press("l")
    assert "▾ tools" in text_of(pilot.app)
    await pilot.press("H")
    assert "▸ resources" in text_of(pilot.app)
    await pilot.press("L")
    at = next(number for number, text in enumerate(rows_of(pilot.app)) if "▾ tools" in text)
    await pilot.click(offset=(4, at))
    assert "▸ tools" in text_of(pilot.app)
    await pilot.press("L")


async def a_click_selects_and_two_open_the_detail(pilot):
    await pilot.resize_terminal(80, 24)
    at = next(number for number, text in enumerate(rows_of(pilot.app)) if "echo gives" in text)
    await pilot.click(offset=(20, at))
    assert pilot.app.screen.test_list.test().name.startswith("echo")
    assert not pilot.app.screen.detail_pane.is_shown
    await pilot.click(offset=(20, at), times=2)
    await until(pilot, lambda: pilot.app.screen.detail_pane.is_shown)


async def slowest_first_is_another_order_and_back(pilot):
    await pilot.resize_terminal(80, 20)
    await pilot.press("G", "o")
    assert "slowest first" in text_of(pilot.app)
    shown = pilot.app.screen.test_list
    assert shown.scroll_offset.y == max(shown.cursor - shown.page + 1, 0)  # the slowest are in view, where they can be
    rows = pilot.app.screen.rows.entries
    times = [entry.own_ms for entry in rows]
    assert times == sorted(times, reverse=True)
    await pilot.press("o", "o")
    assert len(pilot.app.screen.rows.entries) > len(rows)


async def test_b_stops_a_run_at_its_first_failure(workbench, place):
    many = "".join(f"  - {{ name: slow {n}, tool: slow_report }}\n" for n in range(40))
    first = "  - { name: broken, tool: status, expect: [{ target: result.x, matcher: { exists: true } }] }\n"
    (place / "mcptest.yml").write_text(
        MIXED.split("tools:")[0] + "run_options: { concurrency: 1 }\ntools:\n" + first + many, encoding="utf-8"
    )
    file = keymap_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("run.bail: alt+b\nrun.this: alt+z\n", encoding="utf-8")
    async with workbench() as pilot:
        await until(pilot, lambda: "alt+z  runs these 41 tests" in text_of(pilot.app), what="a key of one's own")
        await pilot.press("alt+b")
        assert "stops at the first failure" in text_of(pilot.app)
        await ran(pilot, "a")
        statuses = verdicts(pilot)
        assert statuses["broken"] == "fail"
        assert statuses["39"] == "stopped"
        assert "stopped at the first failure; alt+b lets runs go on" in pilot.app.messages.current.text


async def a_row_that_is_too_long_is_cut(pilot):
    """Its last piece was left out whole."""
    rows = pilot.app.screen.test_list
    rows.pieces = lambda at, width: (
        [("mark ", ""), ("a" * (width - 5) + "   ", ""), ("", "")] if at else [("b" * 300, "")]
    )
    try:
        first, second = rows.render_line(0).text.rstrip(), rows.render_line(1).text.rstrip()
    finally:
        del rows.pieces
    assert first.endswith("bbb…")
    assert second.endswith("aaa")
    assert len(first) == len(second)


def hanging():
    """A suite with a test that never ends by itself, and one that waits for it."""
    tests = [{"name": f"slow {n}", "tool": "hang", "serial": True, "timeout_ms": 600_000} for n in range(2)]
    servers = {"s": {"command": [sys.executable, str(SERVERS / "toolshed.py")]}}
    return f"servers: {json.dumps(servers)}\ntools: {json.dumps(tests)}\n"


async def test_x_stops_the_run(workbench, place):
    (place / "mcptest.yml").write_text(hanging(), encoding="utf-8")
    async with workbench() as pilot:
        await pilot.press("a")
        await until(pilot, lambda: any(row.status == "running" for row in pilot.app.store.rows.values()))
        await until(pilot, lambda: "x stop" in rows_of(pilot.app)[-1])
        await ran(pilot, "x")
        assert any(row.status == "stopped" for row in pilot.app.store.rows.values())
        assert "x stop" not in rows_of(pilot.app)[-1]


async def test_x_stops_one_run_and_the_next_begins_and_capital_x_stops_all(workbench, place):
    for name in ("a.yml", "b.yml", "c.yml"):
        (place / name).write_text(hanging(), encoding="utf-8")
    async with workbench() as pilot:
        app = pilot.app
        progress = app.store.progress
        await pilot.press("a")
        await until(pilot, lambda: app.store.running and len(progress.waiting) == 2)
        assert "slow" in rows_of(app)[-2]
        first = progress.run
        await pilot.press("x")
        await until(pilot, lambda: progress.run not in (first, None))
        assert not progress.stopping
        assert "X stops the 2 others too" in text_of(pilot.app)
        await pilot.press("X")
        await until(pilot, lambda: not progress.busy)
        await until(pilot, lambda: "X stops the" not in text_of(pilot.app))
        assert not app.store.running


async def test_a_suite_that_was_made_meanwhile_is_found_when_the_terminal_is_looked_at_again(workbench, mixed):
    async with workbench() as pilot:
        app = pilot.app
        app.app_focus = False
        (mixed.parent / "other.yml").write_text(MIXED, encoding="utf-8")
        app.app_focus = True
        await until(pilot, lambda: "other.yml" in text_of(app))
        (mixed.parent / "third.yml").write_text(MIXED, encoding="utf-8")
        await pilot.press("R")
        await until(pilot, lambda: "found 1 suite more" in text_of(app))


async def test_x_stops_what_the_engine_has_not_heard_of_yet(workbench, mixed):
    """Pressed in the same moment as the key that runs."""
    async with workbench() as pilot:
        app = pilot.app
        app.runs.start(None)
        app.runs.cancel()
        await until(pilot, lambda: not app.store.progress.busy)
        assert all(row.status == "stopped" for row in app.store.rows.values())
        assert "cancelled before" not in text_of(app)


async def test_a_suite_that_does_not_load_is_left_out_of_a_run_and_named(workbench, mixed):
    (mixed.parent / "broken.yml").write_text("servers: {}\ntools: [{ nme: x }]\n", encoding="utf-8")
    async with workbench() as pilot:
        await ran(pilot, "a")
        assert "pass" in verdicts(pilot).values()
        assert "without broken.yml, which has problems" in text_of(pilot.app)


async def following_goes_to_each_failure(pilot):
    await pilot.press("F")
    await ran(pilot, "a")
    assert pilot.app.screen.test_list.test().verdict == "fail"
    await pilot.press("F")


async def test_verdicts_of_the_last_session_are_shown_dim_until_they_are_confirmed(workbench, mixed):
    async with workbench() as pilot:
        await ran(pilot, "a")
        await on(pilot, "broken")
        pilot.app.session.save()
    async with workbench(size=(80, 24)) as pilot:
        await until(pilot, lambda: verdicts(pilot)["broken"] == "fail")
        assert row(pilot, "broken").remembered
        assert pilot.app.screen.test_list.test().name.endswith("broken")
        await until(pilot, lambda: "✗ failed: substring `broken`" in text_of(pilot.app), what="the stored reason")
        await ran(pilot, "a")
        assert not row(pilot, "broken").remembered


async def test_tests_that_failed_of_one_cause_are_run_together(workbench, place):
    """Findings: of one crash many tests fail, and none of the others is to be run again."""
    tests = "".join(
        f"  - name: {name}\n    tool: status\n    expect:\n"
        f'      - {{ target: "result.content[0].text", matcher: {{ contains: {word} }} }}\n'
        for name, word in (("one", "broken"), ("two", "broken"), ("three", "missing"), ("four", "operational"))
    )
    head = "name: s\nservers:\n  demo: { command: [mcptest, mock, --preset, demo] }\ntools:\n"
    (place / "mcptest.yml").write_text(head + tests, encoding="utf-8")
    async with workbench() as pilot:
        await ran(pilot, "a")
        screen = pilot.app.screen
        assert "✗ 2 tests  one, two" in text_of(pilot.app)
        assert "* on one of them runs these alone" in text_of(pilot.app)
        await on(pilot, "two")
        await pilot.press("asterisk")
        assert screen.running.last_asked == (None, [row(pilot, name).id for name in ("one", "two")])
        await until(pilot, lambda: not pilot.app.store.progress.busy)


async def test_before_a_run(workbench, mixed):
    async with workbench() as pilot:
        for check in (
            v_marks_from_here_to_the_cursor,
            groups_fold_by_key_and_by_mouse,
            a_click_selects_and_two_open_the_detail,
            marked_tests_are_what_r_runs,
            a_row_that_is_too_long_is_cut,
        ):
            await from_the_list(pilot, check)
            await pilot.resize_terminal(120, 40)


async def test_after_a_run(workbench, mixed):
    async with workbench(size=SIZES[0]) as pilot:
        await ran(pilot, "a")
        for check in (
            a_run_gives_every_test_its_mark,
            n_goes_from_failure_to_failure_and_round,
            slowest_first_is_another_order_and_back,
            f_runs_the_failed_ones_and_only_those,
            following_goes_to_each_failure,
            partial(the_footer_names_no_next_failure_where_the_failed_tests_are_gone, mixed=mixed),
        ):
            await from_the_list(pilot, check)

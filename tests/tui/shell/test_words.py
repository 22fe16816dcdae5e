"""What is said in few cells: the status bar, names of tests, keys that have nothing to do, problems in the editor."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from mcptest_engine.suite.completion import Help
from mcptest_tui.actions import by_id
from mcptest_tui.base_app import idle_text
from mcptest_tui.safe import shortened_name
from mcptest_tui.screens.edit_help import problem_help
from mcptest_tui.screens.review import empty_hints, empty_text
from mcptest_tui.widgets.status_bar import Status, laid_out
from mcptest_tui.words import took_shown

AFTER_A_RUN = Status(text="15 tests", counts=(("pass", 10), ("fail", 5)), elapsed=0.2, watch="affected")
LONG = "nothing is proposed for look_up_everything_there_is: valid arguments"


def test_the_bar_says_what_it_knows():
    assert laid_out(AFTER_A_RUN, 80).plain == " 15 tests   10 ✓  5 ✗   0.2 s" + " " * 35 + "watch: affected "


def test_a_message_takes_the_place_of_what_does_not_fit_beside_it():
    assert laid_out(AFTER_A_RUN._replace(message="nothing to do"), 80).plain.endswith("watch: affected ")
    assert (
        laid_out(AFTER_A_RUN._replace(message=LONG[:45]), 80).plain.rstrip().endswith(f"0.2 s   {LONG[:45]}".rstrip())
    )
    assert laid_out(AFTER_A_RUN._replace(message=LONG), 80).plain.strip() == LONG


def test_while_a_run_is_on_its_counters_stay_beside_a_message():
    told = laid_out(AFTER_A_RUN._replace(message=LONG, running=True, text="running", done=3, total=15), 80).plain
    assert told.startswith(" ● running 3/15   10 ✓  5 ✗   nothing is proposed for")


@given(st.text(max_size=120), st.booleans(), st.booleans(), st.integers(40, 200))
def test_the_bar_is_never_wider_than_its_row(message, running, tiny, width):
    status = AFTER_A_RUN._replace(message=message, running=running, done=3, total=9, mode="Tests", spent="$1")
    assert laid_out(status, width, tiny=tiny).cell_length <= width


def test_a_name_that_is_too_long_keeps_what_tells_it_from_others():
    long = "look_up_everything_there_is_to_know_about_a_customer"
    assert shortened_name(f"{long}: valid arguments", 40) == "look_up_everything_the…: valid arguments"
    assert shortened_name(long, 20) == "look_up_everything_…"


@given(st.text(max_size=80), st.integers(6, 60))
def test_a_name_is_no_wider_than_its_column(name, width):
    assert cell_len(shortened_name(name, width)) <= width


def test_a_key_that_has_nothing_to_do_says_what_it_is_for():
    assert idle_text("x", by_id()["run.stop"][1]) == "nothing is running"
    assert idle_text("f9", by_id()["edit.fix"][1]) == "no automatic fix for this problem"
    assert idle_text("percent_sign", by_id()["app.jump"][1]) == "% does nothing here: jump"


def test_a_problem_is_explained_whole_and_so_is_its_word():
    told = problem_help(
        "unknown key `expecct`", "did you mean `expect`?", Help("expect", "What is expected.", "list", ("x",))
    )
    assert told == Help(
        "unknown key `expecct`", "did you mean `expect`?\n\nexpect   list\nWhat is expected.", "", ("x",)
    )
    assert problem_help("no colon", None, None) == Help("no colon", "")


def test_an_empty_review_says_why_when_tests_have_failed():
    assert empty_text(0, "")[1] == empty_hints()
    lines, hints = empty_text(2, "")
    assert lines[-1].startswith("2 tests failed, but")
    assert hints[0] == ("1", "n goes to what failed, ⏎ shows why, e opens the test in the editor")
    assert empty_text(2, "no engine")[0][-1] == "It could not be read: no engine"


@pytest.mark.parametrize(
    ("duration_ms", "told"), [(0.4, "<1 ms"), (12, "12 ms"), (999.7, "1.0 s"), (16_284, "16.3 s"), (125_000, "2:05")]
)
def test_what_took_long_is_told_in_seconds(duration_ms, told):
    assert took_shown(duration_ms) == told

"""The terminal's title and its progress mark."""

from __future__ import annotations

import pytest

from mcptest_tui.title import GIVE_BACK, NO_PROGRESS, Title, takes_progress
from tests.tui.state.making import finished, started, store_of


def told(*, progress):
    """A title, the store that it shows, and what it wrote."""
    written: list[str] = []
    return Title(progress=progress), store_of(), written


def test_a_run_is_in_the_title_and_in_the_progress_mark():
    """Written only when something is different, and given back."""
    title, store, written = told(progress=True)
    state = store.progress
    title.show({}, state, written.append)
    title.show({}, state, written.append)
    assert [text[-12:] for text in written] == ["\x1b]2;mcptest\x07"]
    store.apply_many([started("u1", "a", "b", "c", "d"), finished("u1", "a", "fail")])
    title.show({"fail": 1}, state, written.append)
    assert written[1:] == ["\x1b]2;● ✗1 mcptest\x07", "\x1b]9;4;2;25\x07"]
    title.give_back(written.append)
    assert written[-1] == GIVE_BACK + NO_PROGRESS
    title.give_back(written.append)
    assert len(written) == 4


@pytest.mark.parametrize(
    ("environ", "takes"),
    [
        ({"TERM_PROGRAM": "ghostty"}, True),
        ({"WT_SESSION": "1"}, True),
        ({"TERM_PROGRAM": "iTerm.app"}, False),
        ({"TERM_PROGRAM": "ghostty", "TMUX": "/tmp/x"}, False),
        ({}, False),
    ],
)
def test_only_terminals_that_are_known_to_take_it_are_sent_progress(environ, takes):
    """Others show any OSC 9 as a notification."""
    assert takes_progress(environ) == takes

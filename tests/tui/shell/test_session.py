"""The session file: whole, versioned, and never in the way."""

from __future__ import annotations

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest_engine import __version__
from mcptest_engine.running.documents import document_of
from mcptest_tui.places import state_file
from mcptest_tui.session import Saved, SessionFile, read_state, theme_at_start
from mcptest_tui.suites import DocumentCache
from mcptest_tui.themes import ThemeError, read_theme


def test_a_session_comes_back(place):
    """And is written only when it is different."""
    file = SessionFile(place)
    assert file.load() == {}
    text = file.text_of({"mode": "edit", "screens": {"tests": {"filter": "is:failed"}}})
    assert text is not None
    file.save(text)
    assert file.text_of({"mode": "edit", "screens": {"tests": {"filter": "is:failed"}}}) is None
    again = SessionFile(place)
    assert again.load()["screens"] == {"tests": {"filter": "is:failed"}}
    assert again.complaint == ""
    assert (place / ".mcptest" / ".gitignore").is_file()


def test_a_broken_or_newer_session_is_ignored_and_said(place):
    """Torn, of another version, not a mapping, far too large."""
    for text in ('{"version": 1,', json.dumps({"version": 99}), "[]", "x" * 2_000_000):
        file = SessionFile(place)
        file.path.parent.mkdir(parents=True, exist_ok=True)
        file.path.write_text(text, encoding="utf-8")
        assert file.load() == {}
        assert "starting without it" in file.complaint


def test_the_settings_alone_decide_which_theme_is_on(place, monkeypatch):
    """Unless the environment names one."""
    assert theme_at_start("") == ""
    assert theme_at_start("meadow") == "meadow"
    monkeypatch.setenv("MCPTEST_THEME", "lantern")
    assert theme_at_start("meadow") == "lantern"


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"tips": 1', "x" * 2_000_000])
def test_what_is_remembered_for_all_workspaces_may_be_broken(place, text):
    """The workbench starts without it."""
    state_file().write_text(text, encoding="utf-8")
    assert read_state() == {}


def test_a_pipe_in_the_place_of_what_is_remembered_is_not_waited_for(place):
    """Nor is one in the place of a theme."""
    state_file().unlink()
    os.mkfifo(state_file())
    assert read_state() == {}
    os.mkfifo(place / "mine.yml")
    with pytest.raises(ThemeError, match="is a pipe"):
        read_theme(place / "mine.yml")


@given(st.dictionaries(st.sampled_from(Saved._fields), ANYTHING))
def test_a_session_of_any_shape_gives_something_to_rely_on(value):
    """Edited by hand, or by a version to come."""
    saved = Saved.of(value)
    assert isinstance(saved.mode, str)
    assert saved.watch in ("", "off", "affected", "all")
    assert all(isinstance(file, str) for file in saved.files)
    assert isinstance(saved.screens, dict)


def test_suites_are_remembered_for_the_first_paint(place, demo):
    """As they were read; anything else in the file is as good as nothing."""
    cache = DocumentCache(place)
    document = document_of(demo, start_dir=place, environ={})
    cache.save([document])
    assert DocumentCache(place).load() == {document.path: document}
    for text in ("{", "[]", '{"version": "0"}', json.dumps({"version": __version__, "documents": [{"path": 1}]})):
        cache.path.write_text(text, encoding="utf-8")
        assert DocumentCache(place).load() == {}

"""Files that the servers under test write themselves."""

from __future__ import annotations

from mcptest_tui.state.written import WrittenFiles


def test_a_file_that_changes_with_every_run_is_given_up_at_the_third():
    written = WrittenFiles()
    assert [written.changed("/w/server.log", during_run=True) for _ in range(3)] == [False, False, True]
    assert written.given_up == {"/w/server.log"}


def test_a_save_between_two_runs_begins_the_count_again():
    written = WrittenFiles()
    told = [written.changed("/w/notes.txt", during_run=during) for during in (True, True, False, True, True)]
    assert told == [False] * 5


def test_sources_and_suites_are_saved_by_persons():
    written = WrittenFiles()
    for path in ("/w/server.py", "/w/mcptest.yml", "/w/.env"):
        assert not any(written.changed(path, during_run=True) for _ in range(9))

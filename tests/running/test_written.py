"""Files that the servers under test write themselves."""

from __future__ import annotations

from mcptest_engine.running.watch import FilesChangedByRuns


def test_a_file_that_changes_with_every_run_is_given_up_at_the_third():
    written = FilesChangedByRuns()
    assert [written.changed("/w/server.log", run=run) for run in (1, 2, 3)] == [False, False, True]
    assert written.given_up == {"/w/server.log"}


def test_a_save_between_two_runs_begins_the_count_again():
    written = FilesChangedByRuns()
    assert not any(written.changed("/w/notes.txt", run=run) for run in (1, 2, None, 3, 4))


def test_several_saves_during_one_run_count_once():
    written = FilesChangedByRuns()
    assert not any(written.changed("/w/data.json", run=run) for run in (1, 1, 1, 2, 2))


def test_a_file_that_was_given_up_and_changes_without_a_run_is_a_persons_again():
    written = FilesChangedByRuns()
    assert [written.changed("/w/data.json", run=run) for run in (1, 2, 3, 3, 4, None, 5)] == [
        False,
        False,
        True,
        True,
        True,
        False,
        False,
    ]
    assert written.given_up == set()


def test_sources_and_suites_are_saved_by_persons():
    written = FilesChangedByRuns()
    for path in ("/w/server.py", "/w/mcptest.yml", "/w/.env"):
        assert not any(written.changed(path, run=run) for run in range(9))

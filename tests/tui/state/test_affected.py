"""What a save runs."""

from __future__ import annotations

from mcptest_engine.running.documents import ServerItem
from mcptest_engine.safety.tool_classes import ToolClass
from mcptest_tui.state.affected import affected, due, why_it_waits
from tests.tui.state.making import (
    PATH,
    cancelled,
    document,
    ended,
    finished,
    id_of,
    item,
    problem,
    ran,
    started,
    store_of,
)


def names(ids):
    return {test.rpartition("::")[2] for test in ids}


def test_an_edited_test_is_affected_though_it_never_ran():
    store = store_of(item("a"), item("b"))
    store.put_document(document(item("a", digest="d2"), item("b")))
    assert names(due(store, [PATH])) == {"a"}


def test_a_new_test_is_affected():
    store = store_of(item("a"))
    store.put_document(document(item("a"), item("b")))
    assert names(due(store, [PATH])) == {"b"}


def test_a_save_that_changes_nothing_affects_nothing():
    store = store_of(item("a"))
    store.put_document(document(item("a")))
    assert due(store, [PATH]) == []


def test_all_tests_of_a_new_suite_are_affected():
    new = document(item("a"), item("b"))
    assert names(affected({}, {PATH: new}, [PATH])) == {"a", "b"}


def test_a_file_of_a_server_concerns_the_suites_that_start_it():
    servers = (ServerItem("demo", "stdio", "python server.py", ("/suites/server.py",)),)
    store = store_of(item("a"), servers=servers)
    store.put_document(document(item("a", digest="d2"), servers=servers))
    assert names(due(store, ["/suites/server.py"])) == {"a"}
    assert due(store, ["/suites/other.py"]) == []


def test_a_result_of_an_older_text_is_due_at_the_next_save():
    store = store_of(item("a"), item("b"))
    ran(store, "u1", a="pass", b="pass")
    store.put_document(document(item("a", digest="a2"), item("b")))  # nobody ran it
    store.put_document(document(item("a", digest="a2"), item("b", digest="b2")))
    assert names(due(store, [PATH])) == {"a", "b"}


def test_a_text_whose_run_was_stopped_is_due_though_an_older_one_was_decided():
    store = store_of(item("a"))
    store.queue("u1", [id_of("a")])
    store.apply_many([started("u1", id_of("a"))])
    store.put_document(document(item("a", digest="a2")))
    store.queue("u2", due(store, [PATH]))
    store.apply_many([finished("u1", id_of("a")), ended("u1")])
    assert due(store, [PATH]) == []
    store.apply_many([cancelled("u2")])
    assert names(due(store, [PATH])) == {"a"}


def test_what_waits_for_a_run_of_this_text_is_not_asked_for_twice():
    store = store_of(item("a"))
    store.put_document(document(item("a", digest="a2")))
    store.queue("u1", due(store, [PATH]))
    assert due(store, [PATH]) == []
    store.put_document(document(item("a", digest="a3")))
    assert names(due(store, [PATH])) == {"a"}


def test_a_test_that_ran_as_it_stands_is_not_due_when_the_same_save_is_told_twice():
    store = store_of(item("a"))
    edited = document(item("a", digest="a2"))
    store.put_document(edited)
    ran(store, "u1", a="fail")
    store.put_document(edited)
    assert due(store, [PATH]) == []


def test_a_save_that_breaks_the_suite_runs_nothing_and_the_next_one_runs_the_edit():
    store = store_of(item("a"), item("b"))
    store.put_document(document(item("a", digest=""), sound=False, problems=(problem(),)))
    assert due(store, [PATH]) == []
    store.put_document(document(item("a", digest="a2"), item("b")))
    assert names(due(store, [PATH])) == {"a"}
    assert id_of("a") in due(store, [PATH])


def test_what_destroys_or_spends_waits_for_a_key_and_what_changes_something_for_the_first():
    destroying = (("demo", "get_note"), ("demo", "delete_note"))
    tests = (
        item("reads", calls=(("demo", "get_note"),)),
        item("destroys", calls=destroying),
        item("changes", calls=(("demo", "create_note"),)),
        item("asks", spends=True),
    )
    rows = store_of(*tests).rows

    def waiting(listed, run_by_key=()):
        return names(test for test, row in rows.items() if why_it_waits(row, listed, run_by_key))

    assert waiting({}) == {"destroys", "changes", "asks"}
    assert waiting({}, set(rows)) == {"destroys", "asks"}
    assert waiting({(PATH, "demo", "delete_note"): ToolClass.READ_ONLY}, set(rows)) == {"asks"}
    assert waiting({(PATH, "demo", "get_note"): ToolClass.DESTRUCTIVE}, set(rows)) == {"reads", "destroys", "asks"}

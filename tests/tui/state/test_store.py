"""The tests that are shown, moved on by documents and events."""

from __future__ import annotations

from mcptest_tui.state.filters import parse_filter
from mcptest_tui.state.result_rows import busy_text
from mcptest_tui.state.tree_rows import TreeRows
from mcptest_tui.widgets.row_list import RowList
from mcptest_tui.words import strength_shown
from tests.tui.state.making import (
    PATH,
    cancelled,
    case_started,
    document,
    ended,
    failed,
    finished,
    id_of,
    item,
    problem,
    ran,
    started,
    store_of,
)


def statuses(store):
    return {row.name: row.status for row in store.rows.values()}


def test_a_document_gives_its_tests_in_the_order_of_its_blocks():
    store = store_of(item("a"), item("r", block="resources"), item("b"))
    assert [store.rows[test].name for test in store.order] == ["a", "b", "r"]
    assert store.counts["new"] == 3


def test_a_run_moves_its_tests_from_queued_to_running_to_their_verdict():
    store = store_of(item("a"), item("b"))
    store.queue("u1", [id_of("a")])
    assert statuses(store) == {"a": "queued", "b": "new"}
    delta = store.apply_many([started("u1", id_of("a")), case_started("u1", id_of("a"))])
    assert statuses(store)["a"] == "running"
    assert delta.began
    assert delta.run == "u1"
    delta = store.apply_many([finished("u1", id_of("a"), "fail")])
    assert delta.finished == (id_of("a"),)
    assert statuses(store) == {"a": "fail", "b": "new"}
    assert store.rows[id_of("a")].run_id == "R-u1"
    assert store.counts == {
        "new": 1,
        "stopped": 0,
        "queued": 0,
        "running": 0,
        "pass": 0,
        "fail": 1,
        "inconclusive": 0,
        "skip": 0,
    }


def test_what_a_run_did_not_come_to_is_as_before_when_it_ends():
    store = store_of(item("a"), item("b"))
    ran(store, "u1", a="pass")
    store.queue("u2", [id_of("a"), id_of("b")])
    store.apply_many([started("u2", id_of("a"), id_of("b")), failed("u2", "no")])
    assert statuses(store) == {"a": "pass", "b": "new"}


def test_a_test_that_was_asked_for_and_is_not_in_the_run_does_not_wait_for_it():
    store = store_of(item("a"), item("b"))
    store.queue("u1", [id_of("a"), id_of("b")])
    store.apply_many([started("u1", id_of("a"))])
    assert statuses(store) == {"a": "queued", "b": "new"}


def test_a_test_that_a_run_was_ended_before_is_stopped_and_its_last_verdict_is_known():
    store = store_of(item("a"), item("b"))
    ran(store, "u1", a="fail")
    ids = [id_of("a"), id_of("b")]
    left_out = [finished("u2", test, "skip", message="not run: interrupted", not_run="interrupted") for test in ids]
    store.apply_many([started("u2", *ids), *left_out, ended("u2")])
    row = store.rows[id_of("a")]
    assert statuses(store) == {"a": "stopped", "b": "stopped"}
    assert (row.verdict, row.standing, row.message) == ("fail", "stopped", "not run: interrupted")
    store.queue("u3", [row.id])
    assert row.standing == "fail"


def test_a_run_that_is_cancelled_before_it_begins_stops_its_tests():
    store = store_of(item("a"), item("b"))
    store.queue("u1", [id_of("a")])
    store.apply_many([cancelled("u1")])
    assert statuses(store) == {"a": "stopped", "b": "new"}


def test_a_result_is_of_the_text_that_its_run_was_asked_for():
    """A save while a run is on queues another; the first one's result is not of the new text."""
    store = store_of(item("a", digest="1"))
    row, ids = store.rows[id_of("a")], [id_of("a")]
    store.queue("u1", ids)
    store.apply_many([started("u1", *ids)])
    store.put_document(document(item("a", digest="2")))
    store.queue("u2", ids)
    store.apply_many([finished("u1", ids[0]), ended("u1")])
    assert (row.ran_digest, row.outdated) == ("1", False)  # the run of this text is to come
    store.apply_many([cancelled("u2")])
    assert (row.ran_digest, row.outdated) == ("1", True)


def test_a_run_that_begins_leaves_the_newer_one_that_waits():
    store = store_of(item("a", digest="1"))
    row, ids = store.rows[id_of("a")], [id_of("a")]
    store.queue("u1", ids)
    store.put_document(document(item("a", digest="2")))
    store.queue("u2", ids)
    store.apply_many([started("u1", *ids), case_started("u1", ids[0])])
    store.apply_many([cancelled("u1")])
    assert (row.status, row.asked_digest) == ("queued", "2")
    store.apply_many([started("u2", *ids), finished("u2", ids[0]), ended("u2")])
    assert (row.status, row.ran_digest, row.asked_digest) == ("pass", "2", "")


def test_the_end_of_one_run_leaves_what_waits_for_the_next():
    store = store_of(item("a"))
    store.queue("u1", [id_of("a")])
    store.queue("u2", [id_of("a")])
    store.apply_many([failed("u1", "cancelled")])
    assert statuses(store) == {"a": "queued"}


def test_an_engine_that_is_gone_takes_runs_along_and_no_results():
    store = store_of(item("a"), item("b"))
    store.queue("u1", [id_of("a"), id_of("b")])
    store.apply_many([started("u1", id_of("a"), id_of("b")), finished("u1", id_of("a"))])
    store.interrupt()
    assert statuses(store) == {"a": "pass", "b": "stopped"}


def test_a_suite_that_does_not_load_any_more_keeps_the_tests_of_its_last_good_load():
    store = store_of(item("a", line=4), item("b", line=9))
    ran(store, "u1", a="pass", b="fail")
    store.put_document(document(item("a", line=6, digest=""), sound=False, problems=(problem(),)))
    assert statuses(store) == {"a": "pass", "b": "fail"}
    assert store.stale == {PATH: 1_000.0}
    assert store.rows[id_of("a")].line == 6
    store.put_document(document(item("a", digest="d2")))
    assert store.stale == {}
    assert statuses(store) == {"a": "pass"}
    assert store.rows[id_of("a")].outdated


def test_a_suite_that_never_loaded_shows_what_can_be_seen_of_it():
    store = store_of(item("a", digest=""), sound=False, problems=(problem(),))
    assert statuses(store) == {"a": "new"}
    store.put_document(document(item("a")))
    assert not store.rows[id_of("a")].added


def test_a_test_that_is_new_in_an_open_suite_is_marked_until_it_ran():
    store = store_of(item("a"))
    store.put_document(document(item("a"), item("b")))
    assert [row.added for row in store.rows.values()] == [False, True]
    ran(store, "u1", b="pass")
    assert not store.rows[id_of("b")].added


def test_a_result_of_a_test_that_no_document_tells_of_is_a_row_too():
    store = store_of(item("a"))
    delta = store.apply_many([started("u1", id_of("a"), id_of("made")), finished("u1", id_of("made"), "fail")])
    assert [row.name for row in delta.added] == ["made"]
    assert statuses(store)["made"] == "fail"
    assert store.rows[id_of("made")].path == PATH


def test_what_is_being_tested_is_known_at_any_moment():
    store = store_of(item("a"), item("b"), item("c"))
    ids = [id_of("a"), id_of("b"), id_of("c")]
    store.apply_many([started("u1", *ids), *(case_started("u1", test) for test in ids)])
    assert list(store.running) == ids[:1]  # the others wait behind it
    store.apply_many([finished("u1", ids[0])])
    store.put_document(document(item("a"), item("b")))
    assert list(store.running) == [ids[1]]
    store.interrupt()
    assert not store.running


def begun(*ids):
    return [started("u1", *ids), *(case_started("u1", test) for test in ids)]


def test_tests_whose_calls_wait_behind_another_of_their_server_wait():
    """In a hang eight rows turned alike, though seven of them only waited."""
    store = store_of(item("a"), item("b"), item("c"), item("d", server="other"))
    ids = [id_of(name) for name in "abcd"]
    delta = store.apply_many(begun(*ids))
    assert statuses(store) == {"a": "running", "b": "queued", "c": "queued", "d": "running"}
    store.rows[ids[1]].started = 0.0
    delta = store.apply_many([finished("u1", ids[0], "fail", failure={"kind": "timeout"})])
    assert statuses(store) == {"a": "fail", "b": "running", "c": "queued", "d": "running"}
    assert store.rows[ids[1]].started == 1_000.0  # its turn came only now
    assert {moved.row.name for moved in delta.moved} == {"a", "b"}
    store.apply_many([finished("u1", ids[2], "fail", failure={"kind": "timeout"})])  # that shows nothing of the order
    assert statuses(store)["b"] == "running"


def test_a_server_that_answers_out_of_turn_works_on_several_calls_at_once():
    store = store_of(item("a"), item("b"), item("c"), item("d"))
    ids = [id_of(name) for name in "abc"]
    store.apply_many([*begun(*ids), finished("u1", ids[1])])
    assert statuses(store) == {"a": "running", "b": "pass", "c": "running", "d": "new"}
    store.apply_many([case_started("u1", id_of("d"))])
    assert statuses(store)["d"] == "running"


def test_a_test_that_makes_several_calls_waits_behind_none():
    store = store_of(item("a"), item("b", block="compositions"))
    store.apply_many(begun(id_of("a"), id_of("b", "compositions")))
    assert statuses(store) == {"a": "running", "b": "running"}


def test_the_turn_comes_to_the_next_when_a_test_is_taken_out_of_its_suite():
    store = store_of(item("a"), item("b"))
    store.queue("u1", [id_of("a"), id_of("b")])
    store.apply_many(begun(id_of("a"), id_of("b")))
    store.put_document(document(item("b")))
    assert statuses(store) == {"b": "running"}


def test_a_test_that_is_taken_out_while_it_runs_does_not_come_back():
    store = store_of(item("a"), item("b"), item("c"))
    store.queue("u1", [id_of("a"), id_of("b"), id_of("c")])
    store.put_document(document(item("a"), item("c")))
    store.apply_many([started("u1", id_of("a"), id_of("b"), id_of("c"))])
    store.put_document(document(item("a")))
    delta = store.apply_many([finished("u1", id_of("b")), finished("u1", id_of("c")), finished("u1", id_of("a"))])
    assert delta.finished == (id_of("a"),)
    assert list(store.rows) == [id_of("a")]
    store.apply_many([ended("u1")])
    assert statuses(store) == {"a": "pass"}


def test_a_suite_whose_file_is_gone_takes_its_tests_along():
    store = store_of(item("a"))
    store.drop_document(PATH)
    assert (store.rows, store.order, store.counts["new"]) == ({}, [], 0)


def test_verdicts_of_an_earlier_session_count_while_the_test_is_the_same():
    store = store_of(item("a", digest="1"), item("b", digest="2"))
    store.remember(
        {id_of("a"): ["fail", 12, "1"], id_of("b"): ["pass", 3, "other"], "gone": ["pass", 1, "x"], "odd": 7}
    )
    assert statuses(store) == {"a": "fail", "b": "new"}
    assert store.rows[id_of("a")].remembered
    assert (store.counts["fail"], store.counts["new"]) == (1, 1)
    ran(store, "u1", a="pass")
    assert not store.rows[id_of("a")].remembered


def test_verdicts_of_an_earlier_session_are_there_for_a_suite_that_is_read_later():
    before = store_of(item("a", digest="1"), item("b", digest="2"))
    ran(before, "u1", a="pass", b="fail")
    store = store_of()
    store.remember(before.verdicts())
    store.put_document(before.documents[PATH])
    assert statuses(store) == {"a": "pass", "b": "fail"}
    assert store.counts == before.counts
    assert store.verdicts() == before.verdicts()


def test_counts_are_those_of_the_rows_whatever_happens():
    store = store_of(*(item(f"t{n}") for n in range(20)))
    ids = list(store.order)
    store.queue("u1", ids)
    store.apply_many(
        [started("u1", *ids), *(finished("u1", test, "fail" if n % 3 else "skip") for n, test in enumerate(ids))]
    )
    store.apply_many([started("u2", *ids[:5]), finished("u2", ids[0]), ended("u2")])
    counted = dict.fromkeys(store.counts, 0)
    for row in store.rows.values():
        counted[row.status] += 1
    assert store.counts == counted


def test_a_case_is_found_at_its_row_of_data():
    """In the suite, which the editor opens there, and in another file."""
    store = store_of(item("a", row=(PATH, 7)), item("b", row=("/suites/rows.csv", 3)), item("c"))
    assert [row.own_place for row in store.rows.values()] == [(PATH, 7), ("/suites/rows.csv", 3), (PATH, 1)]
    assert [row.line_at_fault for row in store.rows.values()] == [7, 1, 1]


def test_the_call_that_hangs_is_shown_as_running_and_not_the_one_that_was_answered_before_it():
    """The verdict of the first waits for the server's list, which waits behind the second on a server that answers in turn."""
    store = store_of(item("quick"), item("hangs"), item("waits"))
    ids = list(store.order)
    store.queue("u1", ids)
    begun = [case_started("u1", test) for test in ids]
    store.apply_many([started("u1", *ids), *begun])
    assert statuses(store) == {"quick": "running", "hangs": "queued", "waits": "queued"}
    store.apply_many([{"event": "case.answered", "run": "u1", "id": id_of("quick"), "waits_for": "list"}])
    assert statuses(store) == {"quick": "queued", "hangs": "running", "waits": "queued"}
    quick = store.rows[id_of("quick")]
    assert busy_text(quick) == f"answered, waits for the server's list of {quick.block}"
    assert busy_text(store.rows[id_of("waits")]) == "waiting"
    assert RowList(TreeRows())._badges(quick) == f" waits for {quick.block}/list"
    assert parse_filter("is:waiting").select(store.rows.values()) == [quick]
    store.apply_many([finished("u1", id_of("quick"))])
    assert statuses(store) == {"quick": "pass", "hangs": "running", "waits": "queued"}
    store.apply_many([{"event": "case.answered", "run": "u1", "id": id_of("hangs"), "waits_for": "alone"}])
    assert statuses(store) == {"quick": "pass", "hangs": "queued", "waits": "running"}
    hangs = store.rows[id_of("hangs")]
    assert "it runs again alone" in busy_text(hangs)
    assert RowList(TreeRows())._badges(hangs) == " runs again alone"


def test_a_time_as_wide_as_its_column_stands_apart_from_the_strength():
    store = store_of(item("one", strength="value"))
    (one,) = store.rows.values()
    store.apply_many([started("u1", one.id), finished("u1", one.id, strength="value", duration_ms=802.0)])
    for width in (50, 76, 140):
        row = "".join(text for text, _ in RowList(TreeRows())._test(one, width, 0))
        assert row.endswith("value 802 ms" if "value" in row else " 802 ms")
        assert len(row) == width


def test_the_strength_of_a_test_is_that_of_its_text_until_a_result_tells_more():
    """A mutation run elsewhere is told by the next result, or by the suite when it is read anew."""
    store = store_of(item("one", strength="value"), item("two", strength="valid"))
    one, two = (store.rows[id_of(name)] for name in ("one", "two"))
    assert [row.is_weak for row in (one, two)] == [False, True]
    store.apply_many([started("u1", one.id), finished("u1", one.id, strength="value", mutation_score=0.4)])
    assert strength_shown(one.strength, one.mutation_score) == "value 40 %"
    assert one.is_weak
    store.put_document(document(item("one"), item("two", strength="shape", digest="e"), digest="broken"))
    assert [row.strength for row in (one, two)] == ["value", "shape"]
    assert strength_shown(two.strength, two.mutation_score) == "shape"

"""The rows of the list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_tui.safe import name_among
from mcptest_tui.state.test_row import TestRow
from mcptest_tui.state.tree_rows import Group, Note, TreeRows, group_id, suite_title
from mcptest_tui.widgets.row_list import RowList
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

if TYPE_CHECKING:
    from mcptest_tui.state.store import Store


def built(store: Store, text: str = "") -> TreeRows:
    rows = TreeRows()
    rows.use_filter(text)
    rows.build(store)
    return rows


def shown(rows: TreeRows) -> list[str]:
    return [
        f"{'  ' * entry.depth}{entry.title}"
        if isinstance(entry, Group)
        else f"! {entry.text}"
        if isinstance(entry, Note)
        else f"- {entry.name}"
        for entry in rows.entries
    ]


def counts(rows: TreeRows, name: str) -> dict[str, int]:
    group = next(entry for entry in rows.entries if entry.id == name)
    assert isinstance(group, Group)
    return {status: count for status, count in group.counts.items() if count}


def test_tests_stand_below_their_block_below_their_suite():
    rows = built(store_of(item("a"), item("r", block="resources")))
    assert shown(rows) == ["s.yml", "  tools", "- a", "  resources", "- r"]


def test_suites_of_the_same_name_are_told_apart_by_their_folder():
    store = store_of(item("a"))
    store.put_document(document(item("b", path="/suites/x/s.yml"), path="/suites/x/s.yml"))
    assert [entry.title for entry in built(store).entries if isinstance(entry, Group) and not entry.depth] == [
        "suites/s.yml",
        "x/s.yml",
    ]


def test_groups_count_while_rows_stay_where_they_are():
    store = store_of(item("a"), item("b"))
    rows = built(store)
    before = list(rows.entries)
    delta = store.apply_many([started("u1", id_of("a"), id_of("b")), finished("u1", id_of("b"), "fail")])
    assert rows.update(delta.moved, delta.finished, store) is False
    assert rows.entries == before
    assert counts(rows, group_id(PATH)) == {"queued": 1, "fail": 1}
    assert counts(rows, group_id(PATH, "tools")) == {"queued": 1, "fail": 1}


def test_what_was_counted_when_the_rows_were_built_is_not_counted_again():
    """Tests are asked for, or their engine is gone, before the events that say so are applied."""
    store = store_of(item("a"), item("b"))
    rows = built(store)
    store.queue("u1", [id_of("a"), id_of("b")])
    rows.build(store)
    delta = store.apply_many([started("u1", id_of("a"), id_of("b"))])
    rows.update(delta.moved, delta.finished, store)
    assert counts(rows, group_id(PATH)) == {"queued": 2}
    store.interrupt()
    rows.build(store)
    delta = store.apply_many([])
    rows.update(delta.moved, delta.finished, store)
    assert counts(rows, group_id(PATH)) == {"stopped": 2}


def test_a_failure_opens_its_group_once_a_run_and_never_one_that_the_person_closed():
    store = store_of(*(item(f"t{n}") for n in range(400)))
    store.put_document(document(item("x", path="/o.yml"), path="/o.yml"))
    rows = built(store)
    assert shown(rows) == ["s.yml", "o.yml"]
    failed = store.apply_many([started("u1", id_of("t1")), finished("u1", id_of("t1"), "fail")])
    assert rows.update(failed.moved, failed.finished, store)
    rows.build(store)
    assert rows.position(id_of("t1")) is not None
    rows.fold(group_id(PATH, "tools"), True)
    rows.build(store)
    again = store.apply_many([started("u2", id_of("t2")), finished("u2", id_of("t2"), "fail")])
    assert rows.update(again.moved, again.finished, store) is False


def test_folding_hides_and_is_remembered():
    store = store_of(item("a"), item("r", block="resources"))
    rows = built(store)
    rows.fold(group_id(PATH, "tools"))
    rows.build(store)
    assert shown(rows) == ["s.yml", "  tools", "  resources", "- r"]
    later = TreeRows()
    later.restore(rows.remember())
    later.build(store)
    assert shown(later) == shown(rows)
    rows.fold_all(False)
    rows.build(store)
    assert shown(rows) == ["s.yml", "  tools", "- a", "  resources", "- r"]


def test_a_filter_shows_what_matches_whatever_is_folded():
    store = store_of(item("a"), item("b"))
    rows = built(store)
    rows.fold(group_id(PATH, "tools"))
    rows.use_filter("b")
    rows.build(store)
    assert shown(rows) == ["s.yml", "  tools", "- b"]
    assert (rows.shown, rows.total) == (1, 2)


def test_under_a_filter_by_verdict_rows_come_and_go():
    store = store_of(item("a"), item("b"))
    rows = built(store, "is:failed")
    delta = store.apply_many([started("u1", id_of("a")), finished("u1", id_of("a"), "fail")])
    assert rows.update(delta.moved, delta.finished, store)
    rows.build(store)
    assert shown(rows) == ["s.yml", "  tools", "- a"]
    again = store.apply_many([started("u2", id_of("a"))])
    assert not rows.update(again.moved, again.finished, store)


def test_a_suite_that_does_not_load_shows_its_problems_and_its_old_tests():
    store = store_of(item("a"))
    store.put_document(document(sound=False, problems=(problem("unknown key `expct`", 12),)))
    rows = built(store)
    assert shown(rows) == ["s.yml", "! unknown key `expct`", "! did you mean `expect`?", "  tools", "- a"]
    group = rows.entries[0]
    assert isinstance(group, Group)
    assert (group.problems, group.stale) == (1, 1_000.0)


def test_a_suite_without_tests_is_a_row_too():
    assert shown(built(store_of())) == ["s.yml"]


def next_failure(rows, after, step, store):
    row = rows.next_failure(after, step, store)
    return row and row.name


def test_the_next_failure_comes_after_the_cursor_and_then_from_the_top():
    store = store_of(item("a"), item("b"), item("c"))
    ran(store, "u1", a="fail", b="pass", c="fail")
    rows = built(store)
    assert next_failure(rows, None, 1, store) == "a"
    assert next_failure(rows, id_of("a"), 1, store) == "c"
    assert next_failure(rows, id_of("c"), 1, store) == "a"
    assert next_failure(rows, id_of("b"), -1, store) == "a"
    assert next_failure(rows, group_id(PATH, "tools"), 1, store) == "a"


def test_the_next_failure_is_also_what_is_inconclusive_or_was_stopped():
    store = store_of(item("a"), item("b"), item("c"))
    ran(store, "u1", a="pass", b="inconclusive", c="pass")
    store.queue("u2", [id_of("c")])
    store.apply_many([cancelled("u2")])
    rows = built(store)
    assert next_failure(rows, None, 1, store) == "b"
    assert next_failure(rows, id_of("b"), 1, store) == "c"
    assert next_failure(rows, id_of("c"), 1, store) == "b"


def test_slowest_first_is_one_flat_list():
    store = store_of(item("a"), item("b"), item("c"))
    store.apply_many(
        [finished("u1", id_of("a"), duration_ms=1), finished("u1", id_of("b"), duration_ms=9), ended("u1")]
    )
    rows = TreeRows()
    rows.order = "slowest"
    rows.build(store)
    assert [entry.name for entry in rows.entries if isinstance(entry, TestRow)] == ["b", "a", "c"]


def test_slowest_first_shows_the_times_that_it_sorts_by():
    """Tests that waited for a slow one showed its time too, in an order that looked like none."""
    store = store_of(item("a"), item("b"), item("c"))
    waits = [{"ms": ms, "tool": "b"} for ms in (801.0, 790.0)]
    store.apply_many(
        [
            finished("u1", id_of("a"), duration_ms=803.0, behind=waits[0]),
            finished("u1", id_of("b"), duration_ms=801.0),
            finished("u1", id_of("c"), duration_ms=804.0, behind=waits[1]),
            ended("u1"),
        ]
    )
    rows = TreeRows()
    rows.order = "slowest"
    rows.build(store)
    shown = RowList(rows)
    tests = [row for row in rows.entries if isinstance(row, TestRow)]
    assert len(tests) == len(rows.entries)
    assert [(row.name, shown._time(row)) for row in tests] == [("b", "801 ms"), ("c", "14 ms"), ("a", "2 ms")]


def test_the_tests_of_a_group_are_those_that_are_shown():
    store = store_of(item("a"), item("b"), item("r", block="resources"))
    rows = built(store, "-b")
    assert [row.name for row in rows.tests_of(group_id(PATH), store)] == ["a", "r"]
    assert [row.name for row in rows.tests_of(group_id(PATH, "tools"), store)] == ["a"]
    assert [row.name for row in rows.tests_of(id_of("b"), store)] == ["b"]


def test_rows_that_come_at_the_end_are_put_there():
    store = store_of(item("a"))
    rows = built(store)
    delta = store.apply_many([started("u1", id_of("a"), id_of("made")), finished("u1", id_of("made"), "fail")])
    assert not delta.structure_changed
    assert rows.update(delta.moved, delta.finished, store) is False
    assert rows.grow(delta.added)
    again = built(store)
    assert shown(rows) == shown(again) == ["s.yml", "  tools", "- a", "- made"]
    assert counts(rows, group_id(PATH)) == counts(again, group_id(PATH)) == {"queued": 1, "fail": 1}


def test_suites_of_one_name_are_told_apart_by_their_folders():
    """Findings: three suites were all called "mcptest.yml"."""
    paths = ["/w/mcptest.yml", "/w/a/api/mcptest.yml", "/w/b/api/mcptest.yml", "/w/other.yml"]
    assert [suite_title(path, paths) for path in paths] == [
        "w/mcptest.yml",
        "a/api/mcptest.yml",
        "b/api/mcptest.yml",
        "other.yml",
    ]


def test_no_two_rows_look_the_same():
    """Long names that begin alike are shown from the word on in which they differ."""
    first = "get_weather_forecast returns what it says for a city in the north of Europe"
    names = [first, first.replace("north", "south")]
    shown = [name_among(name, names, 40) for name in names]
    assert all(len(one) <= 40 for one in shown)
    assert ["north of Europe" in shown[0], "south of Europe" in shown[1]] == [True, True]
    assert name_among(first, [first, "short"], 40).startswith("get_weather_forecast")

"""The ring of messages: pairs, filters, pausing, and keeping ten thousand."""

from __future__ import annotations

import pytest

from mcptest_tui.state.traffic import MOST_ROWS, Filter, Traffic, essence


def row(n, kind="request", **more):
    """A row as the engine tells it."""
    told = {"n": n, "at": 1000.0 + n, "server": "demo", "sent": kind == "request", "kind": kind, "size": 10, "text": ""}
    return {**told, "stream": more.get("server", "demo"), "pid": None, **more}


def call(n, call_id, method="tools/call", **answer):
    """A request and its response."""
    return [row(n, id=call_id, method=method), row(n + 1, "response", id=call_id, method=method, ms=5.0, **answer)]


def told(*rows, **more):
    """One event."""
    return {"event": "traffic", "rows": list(rows), **more}


def numbers(traffic):
    """What is shown."""
    return [row.n for row in traffic.shown]


def answers(traffic):
    """By what is shown, the number of its answer."""
    return {row.n: row.answer and row.answer.n for row in traffic.shown}


def test_a_response_is_folded_into_its_request():
    """Whatever comes between them; and unfolded again."""
    traffic = Traffic()
    first, second = call(1, 7), call(3, 8)
    traffic.apply([told(first[0], second[0], row(9, "notification"), second[1], first[1])])
    assert numbers(traffic) == [1, 3, 9]
    assert answers(traffic) == {1: 2, 3: 4, 9: None}
    assert traffic.shown[0].took == 5.0
    traffic.turn_pairs()
    assert numbers(traffic) == [1, 2, 3, 4, 9]


def test_ids_of_both_directions_and_of_servers_are_told_apart():
    """A server's own request 1 is not ours."""
    traffic = Traffic()
    theirs = row(2, id=1, method="sampling/createMessage", sent=False)
    other = row(3, id=1, method="ping", server="other")
    traffic.apply([told(row(1, id=1, method="a"), theirs, other)])
    traffic.apply(
        [told(row(4, "response", id=1, sent=True), row(5, "response", id=1), row(6, "response", id=1, server="other"))]
    )
    assert answers(traffic) == {1: 5, 2: 4, 3: 6}


def test_a_row_is_found_though_times_run_backwards():
    """Lines of stderr are read later than messages that were sent after them; rows stand in the order of their times."""
    traffic = Traffic()
    rows = [row(n, id=n, at=1000.0 - n) for n in range(1, 20)]
    traffic.apply([told(*rows)])
    assert [traffic.place(one) for one in traffic.rows] == list(range(19))
    assert numbers(traffic) == list(range(19, 0, -1))
    traffic.show("id:12")
    traffic.apply([told(row(20, id=12, at=980.0))])
    assert numbers(traffic) == [20, 12]


def test_many_errors_in_a_filtered_log_cost_one_look_at_it(monkeypatch):
    """A request that is wanted for its response has to be put in among others; not once for each."""
    traffic = Traffic()
    traffic.show("is:error")
    looks = []
    rebuild = traffic.rebuild

    def look(_):
        looks.append(1)
        rebuild()

    monkeypatch.setattr(Traffic, "rebuild", look)
    traffic.apply([told(*(part for n in range(0, 200, 2) for part in call(n + 1, n, error=True)))])
    assert len(traffic.shown) == 100
    assert len(looks) == 1


def test_sessions_of_one_server_have_ids_of_their_own():
    """Two workers of a run, or a run and a server that is browsed, ask with the same ids at the same time."""
    traffic = Traffic()
    asked = [row(1, id=3, stream=1), row(2, id=3, stream=2)]
    answered = [row(3, "response", id=3, stream=1), row(4, "response", id=3, stream=2)]
    traffic.apply([told(*asked, *answered)])
    assert answers(traffic) == {1: 3, 2: 4}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", [1, 3, 5, 6]),
        ("method:list", [3]),
        ("is:error", [3]),
        ("-is:error", [1, 3, 5, 6]),
        ("is:open", [5]),
        ("is:stderr", [6]),
        ("server:oth", [5]),
        ("id:7", [1]),
        ("warn", [6]),
        ('"two words"', [1]),
        ("slow:>4", [1, 3]),
        ("server:demo method:call", [1]),
    ],
)
def test_a_filter_means_what_it_says(text, wanted):
    """A request is wanted for its response too."""
    traffic = Traffic()
    first, second = call(1, 7), call(3, 8, method="tools/list", error=True)
    first[1]["text"] = "has two words"
    traffic.apply([told(*first, *second, row(5, id=9, method="ping", server="other"), row(6, "stderr", text="WARN x"))])
    traffic.show(text)
    assert traffic.filter.problem == ""
    if text != "-is:error":
        assert numbers(traffic) == wanted


def test_a_call_that_waited_behind_a_slow_one_is_not_slow():
    """Three calls at once to a server that answers one after the other: each has its own time, and what it was behind."""
    traffic = Traffic()
    names = ("stock_report", "price", "name")
    asked = [row(n, id=n, at=1000.0, method="tools/call", about=name) for n, name in enumerate(names)]
    answered = [row(n + 3, "response", id=n, at=1000.9 + n / 100, ms=900.0 + 10 * n) for n in range(3)]
    traffic.apply([told(*asked, *answered)])
    assert [one.own_ms for one in traffic.shown] == pytest.approx([900, 10, 10])
    assert [one.behind and one.behind["tool"] for one in traffic.shown] == [None, "stock_report", "stock_report"]
    traffic.show("slow:>100")
    assert numbers(traffic) == [0]
    traffic.turn_pairs()
    assert numbers(traffic) == [0, 3]  # and a response that is shown by itself is as slow as its call
    traffic.apply([told(*call(7, 9), row(11, "end"))])
    asked_first = traffic.rows[-1].asked
    assert asked_first is not None
    assert asked_first.behind is None


def test_a_filter_sees_what_comes_later():
    """An error that comes to a request which was not wanted before."""
    traffic = Traffic()
    traffic.show("is:error")
    asked, answer = call(1, 7, error=True)
    assert not traffic.apply([told(asked)])
    assert numbers(traffic) == []
    assert traffic.apply([told(answer)])
    assert numbers(traffic) == [1]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("is:eror", "`is:eror` is not known; did you mean `error`?"),
        ("methd:x", "`methd:` is not known; did you mean `method`?"),
        ("slow:x", "`slow:` needs a number, such as `slow:>100`"),
    ],
)
def test_a_filter_that_is_not_understood_says_so(text, problem):
    """With the nearest word."""
    assert Filter(text).problem == problem


def test_a_url_is_a_text():
    """Not a qualifier."""
    assert Filter("http://x").problem == ""


def test_pausing_keeps_everything():
    """Rows stand still, and all come after."""
    traffic = Traffic()
    traffic.apply([told(row(1, id=1))])
    traffic.pause(True)
    assert not traffic.apply([told(row(2, id=2), row(3, "response", id=1))])
    assert (numbers(traffic), traffic.missed) == ([1], 2)
    traffic.pause(False)
    assert (numbers(traffic), traffic.missed) == ([1, 2], 0)


def test_as_many_errors_are_counted_as_the_filter_for_them_shows():
    """Those of spare servers, which are not shown, are not counted; what was never answered is."""
    traffic = Traffic()
    spare = [{**one, "spare": True} for one in call(20, 9, error=True)]
    waiting = row(6, id=3, method="tools/call", stream=1)
    traffic.apply([told(*call(1, 7, error=True), *call(3, 8), waiting, *spare, row(30, "end", stream=1, at=1040.0))])
    assert traffic.errors == 2
    traffic.show("is:error")
    assert numbers(traffic) == [1, 6]


def test_the_ring_keeps_the_newest():
    """Ten thousand, and what is shown is among them."""
    traffic = Traffic()
    for start in range(0, 25_000, 250):
        traffic.apply([told(*(row(start + at, id=start + at, error=True) for at in range(250)))])
    assert MOST_ROWS <= len(traffic.rows) <= MOST_ROWS + 500
    assert traffic.rows[-1].n == 24_999
    assert traffic.shown[0] in traffic.rows
    assert traffic.errors == len(traffic.rows)
    assert traffic.place(traffic.shown[5_000]) == 5_000


def test_a_response_whose_request_fell_out_is_shown_by_itself():
    """Nothing points to a row that is gone."""
    traffic = Traffic()
    asked, answer = call(1, "old")
    traffic.apply([told(asked)])
    traffic.apply([told(*(row(at, "notification") for at in range(3, 10_400)))])
    traffic.apply([told({**answer, "n": 10_400, "at": 99_999.0})])
    assert traffic.rows[-1].asked is not None
    traffic.apply([told(*(row(at, "notification", at=100_000.0 + at) for at in range(10_401, 10_800)))])
    assert traffic.rows[0].n != 1
    assert [one.n for one in traffic.shown if one.kind == "response"] == [10_400]


def test_a_new_engine_has_none_of_the_old_bodies():
    """Its numbers begin again."""
    traffic = Traffic()
    traffic.apply([told(row(1, id=1))])
    traffic.lost()
    traffic.apply([told(row(1, id=1, at=2000.0), row(2, "response", id=1, at=2001.0))])
    assert [(one.n, one.gone, one.answer is not None) for one in traffic.shown] == [(1, True, False), (1, False, True)]


def test_a_request_of_a_session_that_has_ended_waits_no_longer():
    """And is as slow as the session's end was late; the same id of another session still waits."""
    traffic = Traffic()
    rows = [row(1, id=1, stream=1), row(2, id=1, stream=2), row(3, id=2, stream=1), row(4, "response", id=2, stream=1)]
    traffic.apply([told(*rows)])
    traffic.show("slow:>100")
    assert numbers(traffic) == []
    traffic.apply([told(row(5, "end", stream=1, at=1001.5), row(6, "end", stream=1, at=1009.0))])
    assert [(one.n, one.is_unanswered, one.took) for one in traffic.shown] == [(1, True, 500.0)]
    traffic.show("is:error")
    assert numbers(traffic) == [1]
    traffic.show("is:open")
    assert numbers(traffic) == [2]
    assert len(traffic.rows) == 4
    traffic.lost()
    assert [one.waits for one in traffic.rows] == [False] * 4


@pytest.mark.parametrize(
    ("text", "told_of"),
    [
        ('{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"x"}}', '{"name":"x"}'),
        ('{"jsonrpc":"2.0","id":8,"result":{"a":1}}', '{"a":1}'),
        ('{"result":{"a":1},"id":8,"jsonrpc":"2.0"}', '{"result":{"a":1},"id":8,"jsonrpc":"2.0"}'),
        ('{"jsonrpc":"2.0","id":"a\\"b","error":{"code":1', '"error":{"code":1'),
        ('{"jsonrpc":"2.0","method":"notifications/initialized"}', ""),
        ("plain text }", "plain text }"),
    ],
)
def test_the_text_of_a_row_is_without_what_has_columns(text, told_of):
    """Also where it was cut off."""
    assert essence(text) == told_of


def test_what_is_said_with_a_spare_server_stands_in_nobodys_way():
    """It is counted, and shown to whoever asks for it, or for its process."""
    traffic = Traffic()
    handshake = [{**one, "pid": 8, "spare": True} for one in call(1, 1, "initialize")]
    traffic.apply([told(*handshake, *({**one, "pid": 7} for one in call(3, 1)))])
    assert numbers(traffic) == [3]
    assert traffic.spare == 2
    for wanted, shown in (("is:spare", [1]), ("process:8", [1]), ("process:7", [3]), ("-is:spare", [3])):
        traffic.show(wanted)
        assert numbers(traffic) == shown
    assert traffic.spare == 2


def test_a_response_belongs_to_the_test_that_asked():
    """`test:` finds both, folded or not."""
    traffic = Traffic()
    asked, answered = call(1, 1)
    traffic.apply([told({**asked, "test": "a.yml::tool::rain"}, answered, *call(3, 2))])
    traffic.show("test:rain")
    assert numbers(traffic) == [1]
    traffic.turn_pairs()
    assert numbers(traffic) == [1, 2]

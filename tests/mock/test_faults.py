"""Each fault, seen from the wire; `ping` shows what still works."""

from __future__ import annotations

import pytest

from mcptest_engine.core.errors import UsageError
from mcptest_engine.mock.faults import SPELLINGS, Fault, FaultCounter, FaultKind, parse_fault

TOOL = 'mock_server: { tools: [{ name: t, response: { content: [{ type: text, text: "${args.n}" }] } }] }\n'


def test_no_fault_changes_nothing(serve):
    """`none` is the default."""
    assert serve(TOOL, "--fault", "none").text("t", n="a") == "a"


def test_hang_answers_no_call_and_everything_else(serve):
    """`hang`: the calls before the ping stay unanswered, also when they are cancelled."""
    mock = serve(TOOL, "--fault", "hang")
    hung = mock.post_call("t", n="a")
    mock.notify("notifications/cancelled", {"requestId": hung})
    mock.post_call("unknown")
    assert mock.request("tools/list")["result"]["tools"][0]["name"] == "t"
    assert mock.request("ping")["result"] == {}
    mock.close_stdin()
    assert mock.line() == b""
    assert mock.wait() == 0


def test_wedged_answers_nothing_once_a_call_has_come_and_still_ends_with_stdin(serve):
    """`wedged`: not even `ping`."""
    mock = serve(TOOL, "--fault", "wedged")
    assert mock.request("ping")["result"] == {}
    mock.post_call("t", n="a")
    mock.post("ping")
    mock.close_stdin()
    assert mock.line() == b""
    assert mock.wait() == 0


def test_wedged_can_be_terminated(serve):
    """A signal ends even a wedged server."""
    mock = serve(TOOL, "--fault", "wedged", "--log-level", "info")
    mock.post_call("t", n="a")
    assert "wedged on purpose" in mock.stderr_line()
    mock.process.terminate()
    assert mock.wait() == 0


def test_slow_calls_are_overtaken_by_everything_else(serve):
    """`slow:<ms>`: only calls are slow."""
    mock = serve(TOOL, "--fault", "slow:200")
    call = {"method": "tools/call", "params": {"name": "t", "arguments": {"n": "a"}}}
    mock.send_together({"jsonrpc": "2.0", "id": "slow", **call}, {"jsonrpc": "2.0", "id": "ping", "method": "ping"})
    assert [mock.receive()["id"], mock.receive()["id"]] == ["ping", "slow"]


def test_recover_after_hangs_the_first_calls_and_answers_the_later_ones(serve):
    """`recover-after:<n>`: n calls hang."""
    mock = serve(TOOL, "--fault", "recover-after:2")
    mock.post_call("t", n="first")
    mock.post_call("t", n="second")
    assert mock.text("t", n="third") == "third"


@pytest.mark.parametrize("answered", [0, 2])
def test_crash_after_answers_so_many_calls_and_then_dies(serve, answered):
    """`crash-after:<n>`: the call after those ends the process with code 1, what was answered before having been sent."""
    mock = serve(TOOL, "--fault", f"crash-after:{answered}")
    for number in range(answered + 1):
        mock.post_call("t", n=str(number))
    assert [mock.receive()["id"] for _ in range(answered)] == list(range(1, answered + 1))
    assert mock.line() == b""
    assert mock.wait() == 1


def test_garbage_is_neither_text_nor_json_and_serving_goes_on(serve):
    """`garbage`: noise where the answer to a call is due."""
    mock = serve(TOOL, "--fault", "garbage")
    mock.post_call("t", n="a")
    line = mock.line()
    with pytest.raises(UnicodeDecodeError):
        line.decode("utf-8")
    assert mock.request("ping")["result"] == {}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_documented_spelling_is_read(spelling):
    """What the help and the error message list is what is accepted."""
    assert parse_fault(spelling.replace("<ms>", "5").replace("<n>", "5")).kind.value == spelling.partition(":")[0]


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("hnag", 'unknown fault "hnag"', "did you mean `hang`?"),
        ("flood", 'unknown fault "flood"', f"known faults: {', '.join(SPELLINGS)}"),
        ("slow", 'fault "slow" needs a whole number, such as `slow:3`, found "slow"', None),
        (
            "crash-after:-1",
            'fault "crash-after" needs a whole number, such as `crash-after:3`, found "crash-after:-1"',
            None,
        ),
        ("hang:3", 'fault "hang" takes no number, found "hang:3"', None),
    ],
)
def test_a_fault_that_cannot_be_read_says_what_would_be_right(text, message, hint):
    """An error tells what happened and how to fix it."""
    with pytest.raises(UsageError) as refused:
        parse_fault(text)
    assert (refused.value.message, refused.value.hint) == (message, hint)


def test_the_counter_is_shared_by_all_who_hold_it():
    """Sessions of one process share one fate."""
    counter = FaultCounter(Fault(FaultKind.RECOVER_AFTER, 1))
    assert [counter.next_call() for _ in range(3)] == [FaultKind.HANG, FaultKind.NONE, FaultKind.NONE]

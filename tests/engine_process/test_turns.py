"""What the user interface is told of a conversation: each turn as it happens, and of the whole no more than a screen needs."""

from __future__ import annotations

from mcptest_engine.core.events import AgentTurn
from mcptest_engine.core.run_record import ServerRecord
from mcptest_engine.engine_process.event_lines import record_shown, result_shown, turn_event
from tests.reporting.conftest import make_record, make_test


def test_a_turn_is_told_with_what_it_asks_for_and_what_it_all_cost():
    turn = AgentTurn(test="a", turn=2, text="let me see", tools=("say",) * 50, tokens=240, cost_usd=None)
    told = turn_event(turn, "r")
    assert {key: told[key] for key in ("id", "turn", "text", "tokens", "cost_usd")} == {
        "id": "a",
        "turn": 2,
        "text": "let me see",
        "tokens": 240,
        "cost_usd": None,
    }
    assert (len(told["tools"]), "trial" in told) == (20, False)


def test_a_long_conversation_is_cut_down_for_the_screen():
    turns = [{"role": "tool", "name": "a", "content": "x" * 100_000}] * 200
    trace = {"conversation": {"turns": turns, "tokens": {}}, "tool_calls": [], "stop": "end"}
    trials = ({"verdict": "pass", "duration_ms": 1, "trace": trace},) * 5
    shown = result_shown(make_test("a", trace=trace, trials=trials))
    assert len(str(shown)) < 2_000_000
    assert shown["trace"]["stop"] == "end"


def test_of_a_long_stderr_the_end_is_told_as_text():
    """The tab "Server log" showed `{'$cut': 65536, 'text': …}`."""
    server = ServerRecord(
        name="s", transport="stdio", stderr_tail="".join(f"line {number}\n" for number in range(9_000))
    )
    (told,) = record_shown(make_record(servers=(server,)))["servers"]
    assert told["stderr_tail"].endswith("line 8998\nline 8999\n")
    assert len(told["stderr_tail"]) < 5_000

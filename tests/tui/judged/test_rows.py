"""The state behind it, from records of any shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from mcptest_tui.state.conversation_rows import entries_of, live_entries, missing_parts
from mcptest_tui.state.judged_rows import answer_lines, cost_lines, gate_lines, judgement_lines, shown_as, trial_lines
from mcptest_tui.state.matrix_rows import Several, matrix_of
from mcptest_tui.state.result_rows import outcome_lines
from mcptest_tui.state.spending import RunCost
from mcptest_tui.state.store import Store
from tests.tui.state.making import PATH, document, finished, id_of, item, started

if TYPE_CHECKING:
    from mcptest_engine.engine_process.workbench_events import AgentTurn

ODD: list[Any] = [
    None,
    1,
    "text",
    [],
    [1],
    {},
    {"$more": 3},
    [{"$more": 3}],
    {"$cut": 9, "text": "beg"},
    True,
    [None, {"a": 1}],
]


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_a_record_of_any_shape_is_shown_as_far_as_it_goes(odd: Any) -> None:
    trace = dict.fromkeys(("conversation", "tool_calls", "stop", "turns", "cost", "models", "trajectory"), odd)
    members = ("score", "threshold", "reasoning", "criteria", "path", "jury", "extra", "input", "output", "model")
    judgement = {"verdict": "pass", "by": odd, **dict.fromkeys(members, odd)}
    result = {"verdict": "fail", "trace": trace, "judgement": judgement, "trials": odd if isinstance(odd, list) else []}
    assert outcome_lines(result)
    outcome_lines({**result, "trace": odd, "judgement": odd})
    assert entries_of(result)
    talk = {"conversation": {"turns": [odd, {"role": odd, "content": odd, "tool_calls": odd}]}, "tool_calls": [odd]}
    entries_of({"trace": talk})
    missing_parts({"trace": talk, "trials": odd})
    list(judgement_lines({"criteria": [{"name": odd, "score": odd}], "jury": [{"score": odd}], "path": [{"ask": odd}]}))
    answer_lines(judgement)
    gate_lines({"trajectory": {"passed": odd, "score": odd}})
    trial_lines([{"verdict": odd, "tokens": odd}])
    cost_lines({"trace": {"models": [{"model": odd, "cost_usd": odd, "calls": odd, "tokens": odd}]}})


def test_a_price_that_is_not_known_is_told_beside_what_is() -> None:
    spent = RunCost()
    assert spent.text == ""
    spent.turn(
        {
            "event": "agent.turn",
            "run": "r",
            "id": "a",
            "turn": 1,
            "text": "",
            "tools": [],
            "tokens": 5,
            "cost_usd": 0.001,
        }
    )
    assert spent.text == "$0.0010"
    spent.finish("a", {"tokens": 9, "cost_usd": 0.002})
    spent.finish("b", {"tokens": 9, "cost_usd": None})
    assert spent.text == "$0.0020 + price unknown"
    scored = {"judgement": {"by": "exec", "cost_usd": 0.5}}
    spent.finish("c", {**scored, "cached": True})
    spent.finish("d", scored)
    assert spent.text == "$0.5020 + price unknown"


def test_the_matrix_has_a_row_for_a_test_and_a_column_for_a_model() -> None:
    names = [f"a [{model}] #{run}" for model in ("m1", "m2") for run in (1, 2)]
    metric = item("flow [case]: rubric", block="evals", line=50)
    store = Store()
    tests = [
        *(item(name, block="agents") for name in names),
        item("flow [case]", block="compositions", line=50),
        metric,
    ]
    store.put_document(document(*tests))
    several = Several()
    assert several.paths(store) == {PATH}
    ids = [id_of(name, "agents") for name in names]
    store.apply_many([started("r", *ids)])
    spent: dict[str, Any] = {"kind": "agent", "tokens": 5, "cost_usd": 0.001}
    store.apply_many([finished("r", ids[0], **spent), finished("r", ids[1], "fail", **spent)])
    store.apply_many([finished("r", ids[2], "inconclusive", deferred="no model provider: X is not set")])
    matrix = matrix_of(store, PATH)
    assert matrix.models == ("m1", "m2")
    assert [told.name for told in matrix.rows] == ["a"]
    one, two = matrix.rows[0].cells.values()
    assert (one.status, one.remark, one.first.id) == ("fail", "1/2 $0.0020", ids[1])
    assert (two.status, two.tests[0].shown) == ("queued", "deferred")


def test_deferred_is_not_any_inconclusive() -> None:
    assert shown_as({"verdict": "inconclusive", "deferred": "no model provider"}) == "deferred"
    assert shown_as({"verdict": "inconclusive", "message": "2 of 3 runs passed"}) == "inconclusive"


def test_turns_of_several_runs_are_told_run_by_run() -> None:
    talk: list[AgentTurn] = [
        {"event": "agent.turn", "run": "r", "id": "a", "turn": 1, "trial": trial, "text": "x", "tools": ["t"],
         "tokens": 3, "cost_usd": None}
        for trial in (2, 1)
    ]  # fmt: skip
    assert [(entry.kind, entry.text or entry.label) for entry in live_entries(talk)] == [
        ("run", "run 1"), ("say", "x"), ("call", "t"), ("run", "run 2"), ("say", "x"), ("call", "t")
    ]  # fmt: skip

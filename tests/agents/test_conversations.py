"""Agent tests against real servers and a local model endpoint: what the model gets, what the trace holds, who is at fault."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import pytest

from mcptest_engine.core.events import AgentTurn
from mcptest_engine.core.results import Verdict
from mcptest_engine.reporting.registry import render
from tests.agents.conftest import CLAUDE, GPT, SERVERS, holds, shed
from tests.servers.model_endpoint import Reply, Use


def told_last(models):
    """The text that the model was told last."""
    return models.questions[-1].last


# the loop


@pytest.mark.parametrize("model", [CLAUDE, GPT])
def test_a_conversation_goes_on_until_the_model_ends_it(agent, models, model):
    models.answers(Reply("let me see", uses=[Use("say", {"text": "19 degrees"})]), "It is 19 degrees.")
    test = agent(
        model=model,
        system_prompt="be brief",
        expect=[
            holds("tool_names", {"exact": ["say"]}),
            holds("tool_calls[0].args.text", {"exact": "19 degrees"}),
            holds("tool_calls[0].server", {"exact": "shed"}),
            holds("tool_calls[0].result.content[0].text", {"contains": "19"}),
            holds("final_response", {"contains": "19"}),
            holds("conversation.tokens.total", {"exact": 240}),
            holds("conversation.turns[1].content", {"exact": "let me see"}),
            holds("turns", {"exact": 2}),
            holds("stop", {"exact": "end"}),
            holds("cost.total", {"gt": 0}),
        ],
    )
    assert test.message is None
    assert test.verdict is Verdict.PASS
    assert (test.model, test.tokens, test.output) == (model, 240, {"output": "It is 19 degrees."})
    assert models.questions[0].system == "be brief"
    assert told_last(models) == "19 degrees"
    roles = [turn["role"] for turn in test.trace["conversation"]["turns"]]
    assert roles == ["user", "assistant", "tool", "assistant"]
    assert test.trace["conversation"]["turns"][1]["tool_calls"] == [{"name": "say", "args": {"text": "19 degrees"}}]


def test_a_secret_of_a_server_does_not_reach_the_model(record_of, models):
    """The provider is nobody that the suite gave it to; what a server issues itself is told as it is."""
    secret = "plain-opaque-7x1"
    models.answers(Reply(uses=[Use("say", {"text": f"{secret} and id-4711"})]), "done")
    server = {"command": json.loads(shed()), "env": {"API_TOKEN": secret}}
    asks = {"name": "t", "model": GPT, "prompt": "go"}
    record = record_of({"servers": {"shed": server}, "agents": [asks]})
    assert record.tests[0].verdict is Verdict.PASS
    assert told_last(models) == "[REDACTED] and id-4711"


def test_the_calls_of_one_turn_are_made_at_the_same_time(agent, models):
    """Each waits for the others."""
    models.answers(Reply(uses=[Use("meet", {"party": 3}, id=f"m{n}") for n in range(3)]), "done")
    test = agent(expect=[holds("tool_calls", {"length": 3})])
    assert test.verdict is Verdict.PASS
    assert told_last(models) == "3 at once\n3 at once\n3 at once"


def test_a_model_that_never_ends_is_ended_by_max_turns(agent, models):
    models.answer_with(lambda _: Reply(uses=[Use("say", {"text": "again"})]))
    test = agent(max_turns=3)
    assert (test.verdict, test.trace["stop"], test.trace["turns"]) == (Verdict.FAIL, "max_turns", 3)
    assert test.message == "the conversation did not end by itself: `max_turns` (3) was reached"
    assert len(test.trace["tool_calls"]) == 3


def test_what_was_not_said_is_not_judged(agent, models):
    """A `not` would hold of an answer that never came."""
    models.answer_with(lambda _: Reply(uses=[Use("say", {})]))
    test = agent(max_turns=2, expect=[holds("final_response", {"not": {"contains": "secret"}})])
    assert test.verdict is Verdict.FAIL
    assert "`max_turns` (2) was reached" in test.message


def test_a_choice_of_tools_can_be_judged_after_a_single_turn(agent, models):
    models.answers(Reply(uses=[Use("say", {"text": "a"})]))
    test = agent(max_turns=1, expect=[holds("tool_names", {"contains": "say"})])
    assert (test.verdict, test.trace["tool_calls"][0]["result"]["content"][0]["text"]) == (Verdict.PASS, "a")


def test_a_test_that_looks_at_stop_knows_what_it_does(agent, models):
    models.answers(Reply("cut", stop="max_tokens"))
    test = agent(expect=[holds("stop", {"exact": "length"}), holds("final_response", {"exact": "cut"})])
    assert test.verdict is Verdict.PASS


def test_a_refusal_without_assertions_is_no_pass(agent, models):
    models.answers(Reply("I cannot", stop="refusal"))
    test = agent()
    assert (test.verdict, test.trace["stop"]) == (Verdict.FAIL, "refusal")
    models.answers(Reply("I cannot", stop="refusal"))
    assert agent(expect=[holds("final_response", {"not": {"contains": "BANANA"}})]).verdict is Verdict.PASS


# what the model is told


@pytest.mark.parametrize(
    ("tool", "told"),
    [
        ("picture", "[image image/png, 4 characters of base64]\n[resource_link a file:///a.txt]"),
        ("record", '{"city": "Oslo", "degrees": 19}'),
        ("both", "in words"),
        ("nothing", "(the tool returned no content)"),
        ("refuse", "I would rather not"),
        ("reject", "error: these arguments are wrong"),
    ],
)
def test_every_kind_of_answer_is_told_as_text(agent, models, tool, told):
    models.answers(Reply(uses=[Use(tool, {})]), "done")
    test = agent()
    assert (test.verdict, told_last(models)) == (Verdict.PASS, told)
    assert test.trace["tool_calls"][0]["is_error"] == (tool in ("refuse", "reject"))


def test_a_long_answer_is_cut_off_for_the_model_and_whole_for_targets(agent, models):
    models.answers(Reply(uses=[Use("long", {})]), "done")
    test = agent(expect=[holds("tool_calls[0].result.content[0].text", {"length": 300_000})])
    assert test.verdict is Verdict.PASS
    assert told_last(models).endswith("… (cut off: 300000 characters)")


@pytest.mark.parametrize("raw", ["{no json", "[1]", '"text"', '{"text": NaN}', '{"text": 1e999}'])
def test_malformed_arguments_are_told_and_kept(agent, models, raw):
    models.answers(Reply(uses=[Use("say", raw=raw)]), "sorry")
    test = agent(model=GPT)
    (call,) = test.trace["tool_calls"]
    assert (call["args"], call["raw"], call["is_error"]) == (None, raw, True)
    assert told_last(models) == "error: the arguments are not a JSON object"
    assert test.verdict is Verdict.PASS


def test_a_tool_that_does_not_exist_is_told_and_kept(agent, models):
    models.answers(Reply(uses=[Use("sya", {"text": "a"}, id="t1"), Use("say", {"text": "b"}, id="t2")]), "sorry")
    test = agent()
    calls = test.trace["tool_calls"]
    assert [(call["name"], call["server"], call.get("error")) for call in calls] == [
        ("sya", None, "there is no tool `sya`"),
        ("say", "shed", None),
    ]
    assert told_last(models) == "error: there is no tool `sya`\nb"


# several servers


def test_two_servers_with_the_same_tools_are_told_apart(agent, models):
    models.answers(Reply(uses=[Use("two__say", {"text": "b"}), Use("one__say", {"text": "a"})]), "done")
    test = agent(
        servers={"one": shed(), "two": shed("--extra", "own")},
        expect=[holds("tool_names", {"exact": ["say", "say"]}), holds("tool_calls[0].server", {"exact": "two"})],
    )
    assert test.verdict is Verdict.PASS
    offered = models.questions[0].tools
    assert {"one__say", "two__say", "two__own"} <= set(offered)
    assert "one__own" not in offered


def test_hundreds_of_tools_in_pages_are_all_offered(agent, models):
    models.answers(Reply(uses=[Use("tool-349", {"text": "far down"})]), "done")
    test = agent(servers={"shed": shed("--many", 350)}, expect=[holds("tool_names", {"exact": ["tool-349"]})])
    assert test.verdict is Verdict.PASS
    assert len(models.questions[0].tools) == 362


def test_a_name_that_no_provider_takes_is_spelled_otherwise_and_read_back(agent, models):
    models.answers(Reply(uses=[Use("odd_name_here", {"text": "found"})]), "done")
    test = agent(expect=[holds("tool_names", {"exact": ["odd/name.here"]})])
    assert (test.verdict, told_last(models)) == (Verdict.PASS, "found")


def test_a_server_without_tools_offers_none(agent, models):
    models.answers("nothing to do")
    assert agent(servers={"shed": shed("--without-tools")}).verdict is Verdict.PASS
    assert models.questions[0].tools == ()


# servers at fault


def test_a_server_that_dies_is_told_and_the_test_goes_on(agent, models):
    models.answers(Reply(uses=[Use("die", {})]), Reply(uses=[Use("say", {"text": "well again"})]), "done")
    record = agent(expect=[holds("tool_names", {"contains": "say"})], suite={"tools": [{"name": "t", "tool": "say"}]})
    test = next(test for test in record.tests if test.kind.value == "agent")
    assert test.verdict is Verdict.PASS
    assert "exited with code 3" in test.trace["tool_calls"][0]["error"]
    assert any("the call of `die` got no answer" in text for text in record.warnings)
    assert record.servers[0].restarts == 1


def test_without_assertions_a_call_that_got_no_answer_fails_the_test(agent, models):
    models.answers(Reply(uses=[Use("die", {})]), "never mind")
    test = agent()
    assert (test.verdict, test.failure.kind.value) == (Verdict.FAIL, "server")
    assert "exited with code 3" in test.message
    assert "something broke" in test.failure.stderr_tail


def test_a_call_that_takes_too_long_is_told(agent, models):
    models.answers(Reply(uses=[Use("hang", {})]), "never mind")
    test = agent(timeout_ms=50, expect=[holds("tool_calls[0].is_error", {"exact": True})])
    assert (test.verdict, test.trace["tool_calls"][0]["error"]) == (
        Verdict.PASS,
        'server "shed" did not answer "tools/call" within 50 ms',
    )
    assert told_last(models).startswith("error: ")


def test_a_server_that_does_not_start_fails_the_test_and_asks_no_model(agent, models):
    test = agent(servers={"good": shed(), "bad": '["/nowhere/to/be/found"]'})
    assert (test.verdict, test.failure.kind.value, models.questions) == (Verdict.FAIL, "server", [])


# models at fault


def test_a_provider_that_fails_is_told_as_that_and_not_as_a_server(record_of, models):
    models.answer_with(lambda _: Reply("no such model", status=404))
    tests = [{"name": "t", "model": CLAUDE, "prompt": "go"}]
    record = record_of({"servers": {"s": {"command": json.loads(shed())}}, "agents": tests})
    text = render("pretty", record).text
    assert "(model provider failure)" in text
    assert "server" not in text
    assert f"`{CLAUDE}`: the model provider answered HTTP 404" in record.tests[0].message


def test_a_key_that_is_refused_is_an_auth_failure(agent, models):
    models.answers(Reply(status=401))
    test = agent()
    assert (test.verdict, test.failure.kind.value) == (Verdict.FAIL, "auth")
    assert "sk-ant" not in json.dumps(test.to_json())


@pytest.mark.parametrize("fault", ["error_mid", "garbage"])
def test_an_answer_that_breaks_off_fails_the_test_in_the_providers_name(agent, models, fault):
    """What came before it is kept: a server was asked."""
    models.when("go", Reply(uses=[Use("say", {"text": "a"})]))
    models.answer_with(
        lambda _: Reply("half of an answer is none", fault=fault, error=("invalid_request_error", "it broke"))
    )
    test = agent()
    assert (test.verdict, test.failure.kind.value) == (Verdict.FAIL, "server")
    assert test.message.endswith("(after 1 turn)")
    assert (test.trace["stop"], test.trace["tool_names"]) == ("error", ["say"])


def test_a_model_that_is_busy_is_asked_again(agent, models):
    models.answers(Reply(status=429, headers={"retry-after": "0"}), "here I am")
    assert agent(expect=[holds("final_response", {"exact": "here I am"})]).verdict is Verdict.PASS


def test_without_a_provider_a_test_is_deferred_and_nothing_is_started(agent, models):
    test = agent(settings={"environ": {}}, expect=[holds("final_response", {"not": {"contains": "x"}})])
    assert (test.verdict, test.trace) == (Verdict.INCONCLUSIVE, None)
    assert test.message.startswith("deferred: no model provider")


# budgets


def test_a_budget_that_is_crossed_ends_the_conversation(agent, models):
    models.answer_with(lambda _: Reply(uses=[Use("say", {})], usage=(1_000_000, 0)))
    test = agent(budget={"per_test_usd_cents": 350}, expect=[holds("tool_names", {"contains": "say"})])
    assert (test.verdict, test.failure.kind.value, test.trace["stop"]) == (Verdict.FAIL, "budget", "budget")
    assert test.message == "budget exceeded: the model cost 4.0000 USD, 3.5 are allowed (per_test_usd_cents)"
    assert len(models.questions) == 2


def test_the_cost_of_a_conversation_can_be_held_to_a_budget(agent, models):
    models.answers(Reply("dear", usage=(1_000_000, 0)), Reply("dear", usage=(1_000_000, 0)))
    expect = {"max_cost_usd": 1, "assertions": [holds("final_response", {"exact": "dear"})]}
    test = agent(expect=expect)
    assert (test.verdict, test.failure.kind.value, test.trace["stop"]) == (Verdict.FAIL, "budget", "end")
    assert test.message == "cost budget exceeded: 2.0000 > 1 USD"
    assert agent(expect={**expect, "max_cost_usd": 2}).verdict is Verdict.PASS


def test_the_budget_of_a_suite_holds_its_tests_together(record_of, models):
    models.answer_with(lambda _: Reply("dear", usage=(1_000_000, 0)))
    tests = [{"name": f"t{n}", "model": CLAUDE, "prompt": f"go {n}"} for n in range(3)]
    suite = {"servers": {"s": {"command": json.loads(shed())}}, "agents": tests, "budget": {"per_suite_usd_cents": 400}}
    record = record_of(suite, workers=1)
    assert [test.verdict.value for test in record.tests] == ["pass", "pass", "skip"]
    assert record.tests[2].message == "not run: budget.per_suite_usd_cents 4 USD is spent"
    assert record.exit_code == 5, "as with --max-cost"


@pytest.mark.parametrize("more", [{"budget": {"per_suite_usd_cents": 300}}, {}])
def test_what_a_cap_breaks_off_is_skipped_whichever_cap_it_is(record_of, models, more):
    """What the model would have said is missing: an assertion on it says nothing."""
    models.answer_with(lambda _: Reply(uses=[Use("say", {})], usage=(2_000_000, 0)))
    test = {"name": "t", "model": CLAUDE, "prompt": "go", "expect": [holds("final_response", {"contains": "x"})]}
    suite = {"servers": {"s": {"command": json.loads(shed())}}, "agents": [test], **more}
    record = record_of(suite, max_cost_usd=None if more else 3.0)
    (broken_off,) = record.tests
    assert (broken_off.verdict.value, record.exit_code, len(models.questions)) == ("skip", 5, 1)
    assert "3 USD is spent (after 1 turn)" in broken_off.message


def test_a_conversation_whose_first_turn_the_cap_cannot_hold_asks_nobody(record_of, models, tmp_path):
    """A turn may cost its output limit: 8,192 tokens at 10 USD for a million, and what it reads."""
    tests = [{"name": "t", "model": CLAUDE, "prompt": "go"}]
    record = record_of({"servers": {"s": {"command": json.loads(shed())}}, "agents": tests}, max_cost_usd=0.05)
    assert (record.tests[0].verdict.value, record.exit_code, models.questions) == ("skip", 5, [])
    assert record.tests[0].message.startswith(
        f"not run: --max-cost 0.05 USD has 0.05 USD left, and a call of `{CLAUDE}` may cost 0.08"
    )


@pytest.mark.parametrize("workers", [1, 16])
def test_a_model_without_a_price_is_asked_once_under_a_cap(record_of, models, workers):
    models.answer_with(lambda _: Reply("hi"))
    environ = {"OPENAI_BASE_URL": models.openai["OPENAI_BASE_URL"]}
    tests = [{"name": f"t{n}", "model": "local", "prompt": f"go {n}"} for n in range(5)]
    suite = {"servers": {"s": {"command": json.loads(shed())}}, "agents": tests}
    record = record_of(suite, workers=workers, max_cost_usd=1.0, environ=environ)
    assert [test.verdict.value for test in record.tests].count("pass") == len(models.questions) == 1
    told = {test.message for test in record.tests if test.verdict.value == "skip"}
    assert told == {"not run: --max-cost 1 USD cannot limit `local`, whose first call reported no cost"}
    assert (
        record_of(
            {**suite, "prices": {"local": {"input_usd_per_mtok": 0, "output_usd_per_mtok": 0}}},
            environ=environ,
            max_cost_usd=1.0,
        ).exit_code
        == 0
    )


def test_what_max_cost_keeps_back_is_skipped(record_of, models):
    models.answer_with(lambda _: Reply("dear", usage=(1_000_000, 0)))
    tests = [{"name": f"t{n}", "model": CLAUDE, "prompt": f"go {n}"} for n in range(2)]
    record = record_of(
        {"servers": {"s": {"command": json.loads(shed())}}, "agents": tests}, workers=1, max_cost_usd=2.0
    )
    assert [test.verdict.value for test in record.tests] == ["pass", "skip"]
    assert "--max-cost" in record.tests[1].message
    assert record.exit_code == 5


def test_a_price_that_nobody_knows_is_told_where_a_budget_hangs_on_it(agent, models):
    models.answers("hello")
    record = agent(
        model="local-model", budget={"per_test_usd_cents": 1}, suite={"tools": [{"name": "t", "tool": "say"}]}
    )
    assert any("the price of `local-model` is not known" in text for text in record.warnings)
    assert record.tests[-1].cost_usd is None or record.tests[0].cost_usd is None


def test_a_cost_that_nobody_knows_is_no_pass_of_a_cap_on_it(agent, models):
    """Unless something else fails the test, or what is known is over the cap by itself."""
    models.answer_with(lambda _: Reply("hello"))
    expect = {"max_cost_usd": 0.001, "assertions": [holds("final_response", {"exact": "hello"})]}
    test = agent(model="local-model", expect=expect)
    words = "`max_cost_usd` cannot be checked: the price of `local-model` is not known (see `prices:`)"
    assert (test.verdict, test.message) == (Verdict.INCONCLUSIVE, words)
    expect["assertions"] = [holds("final_response", {"exact": "other"})]
    assert agent(model="local-model", expect=expect).failure.kind.value == "assertion"


def test_a_cap_that_held_nothing_is_named(record_of, models):
    models.answer_with(lambda _: Reply("hello"))
    tests = [{"name": "t", "model": "local-model", "prompt": "go"}]
    record = record_of({"servers": {"s": {"command": json.loads(shed())}}, "agents": tests}, max_cost_usd=0.01)
    (warning,) = record.warnings
    assert warning.startswith(
        "the price of 1 call of models is not known, so no total includes it, and `--max-cost` does not limit it"
    )


def test_the_final_response_is_what_max_response_tokens_counts(agent, models):
    models.answers("x" * 41)
    test = agent(expect={"max_response_tokens": 10})
    assert (test.verdict, test.failure.kind.value) == (Verdict.FAIL, "budget")


# runs and trials


def test_each_run_is_a_row_and_asks_anew(record_of, models):
    tests = [{"name": "asks", "model": CLAUDE, "prompt": "go", "runs": 3}]
    record = record_of({"servers": {"s": {"command": json.loads(shed())}}, "agents": tests})
    assert [test.name for test in record.tests] == ["asks #1", "asks #2", "asks #3"]
    assert len(models.questions) == 3


def test_a_rate_over_runs_fails_the_run_that_makes_it_unreachable(record_of, models):
    """Two of four miss, and one may."""
    models.answers(Reply(uses=[Use("say", {})]), "no", Reply(uses=[Use("say", {})]), "no")
    gate = {"tool": "say", "min_rate": 0.75}
    tests = [{"name": "asks", "model": CLAUDE, "prompt": "go", "max_turns": 1, "runs": 4, "tool_selection": gate}]
    record = record_of({"servers": {"s": {"command": json.loads(shed())}}, "agents": tests}, workers=1)
    assert [test.verdict.value for test in record.tests] == ["pass", "pass", "pass", "fail"]
    assert record.tests[3].failure.kind.value == "metric"
    assert record.tests[3].message == "tool_selection: `say` was not called; 2 of 4 runs missed; at most 1 may miss"
    assert [(one.name, one.mean) for one in record.metric_rollups] == [("tool_selection.selected", 0.5)]


def trials(agent, models, *answers, **members):
    models.answers(*answers)
    options = {"run_options": {"inconclusive": {"on": True}}}
    return agent(runs=len(answers), suite=options, expect=[holds("final_response", {"contains": "yes"})], **members)


def test_runs_are_decided_together_by_their_interval(agent, models):
    test = trials(agent, models, *["yes"] * 9, "no")
    assert (test.verdict, test.name) == (Verdict.PASS, "asks")
    assert test.message == "9 of 10 runs passed (95 % interval 0.71 to 1.00)"
    assert [trial["verdict"] for trial in test.trials].count("pass") == 9
    assert test.tokens == sum(trial["tokens"] for trial in test.trials) == 1200
    assert all(row.passed for row in test.assertions)


def test_what_judged_each_of_the_runs_is_paid(agent, models):
    """Not only of the one whose assertions stand in the record."""
    models.when("Is kind.", json.dumps({"reasoning": "it is", "score": 0.9}))
    models.answers(*["yes 1", "yes 2", "yes 3"])
    options = {"run_options": {"inconclusive": {"on": True, "min_trials": 3}}, "judge": {"model": CLAUDE}}
    expect = [holds("final_response", {"llm-judge": {"rubric": "Is kind."}})]
    test = agent(runs=3, suite=options, expect=expect)
    assert (test.verdict, len(models.questions), test.tokens) == (Verdict.PASS, 6, 720)


def test_runs_that_leave_it_open_are_inconclusive(agent, models):
    test = trials(agent, models, *["yes"] * 3, *["no"] * 2)
    assert (test.verdict, test.failure) == (Verdict.INCONCLUSIVE, None)
    assert test.message.startswith("3 of 5 runs passed (95 % interval")


def test_too_few_runs_are_inconclusive(agent, models):
    assert trials(agent, models, "yes", "yes").message == "2 of 2 runs passed: too few; 5 are needed"


def test_runs_that_fail_say_how_the_first_one_did(agent, models):
    test = trials(agent, models, *["no"] * 6)
    assert (test.verdict, test.failure.kind.value) == (Verdict.FAIL, "assertion")
    assert test.message.startswith(
        "0 of 6 runs passed (95 % interval 0.00 to 0.00); the first that failed: assertion 1"
    )


# models by the command line


def test_models_of_the_command_line_replace_those_of_the_suite(record_of, models):
    tests = [{"name": "asks", "model": "claude-opus-4-1", "prompt": "go", "expect": [holds("model", {"exists": True})]}]
    record = record_of({"servers": {"s": {"command": json.loads(shed())}}, "agents": tests}, models=(CLAUDE, GPT))
    assert [(test.name, test.model) for test in record.tests] == [(f"asks [{CLAUDE}]", CLAUDE), (f"asks [{GPT}]", GPT)]
    assert {question.api for question in models.questions} == {"anthropic", "openai"}


# gates


def test_a_measure_gates_and_can_be_looked_at(agent, models):
    models.answers(Reply(uses=[Use("say", {}, id="a"), Use("nothing", {}, id="b")]), "done")
    test = agent(trajectory={"calls": ["say"], "mode": "strict"}, expect=[holds("turns", {"exact": 2})])
    assert (test.failure.kind.value, test.message) == (
        "metric",
        "trajectory: the calls do not match (strict): `nothing` was not expected",
    )
    models.answers(Reply(uses=[Use("say", {}, id="a"), Use("nothing", {}, id="b")]), "done")
    looked = agent(trajectory={"calls": ["say"]}, expect=[holds("trajectory.extra", {"exact": ["nothing"]})])
    assert looked.verdict is Verdict.PASS


# what is kept, told, and left when it is interrupted


def test_secrets_in_what_tools_and_models_say_are_kept_out_of_the_record(agent, models):
    secret = "ghp_" + "a1B2" * 9
    models.answers(Reply(f"the token is {secret}", uses=[Use("say", {"text": secret})]), f"it was {secret}")
    test = agent()
    text = json.dumps(test.to_json())
    assert secret not in text
    assert "[REDACTED]" in test.trace["final_response"]
    assert told_last(models) == secret


def test_a_large_conversation_is_put_aside_and_its_outline_kept(agent, models, tmp_path):
    models.answer_with(lambda question: "done" if len(question.body["messages"]) > 9 else Reply(uses=[Use("long", {})]))
    test = agent()
    assert set(test.trace["whole"]) >= {"$file"}
    assert len(json.dumps(test.trace)) < 600_000
    whole = json.loads((tmp_path / ".mcptest" / test.trace["whole"]["$file"]).read_text())
    assert len(whole["tool_calls"][0]["result"]["content"][0]["text"]) == 300_000


def test_turns_are_told_as_they_happen(run_of, models):
    models.answers(Reply("let me see", uses=[Use("say", {"text": "a"})]), "done")
    events: list[Any] = []
    suite = {
        "servers": {"s": {"command": json.loads(shed())}},
        "agents": [{"name": "asks", "model": CLAUDE, "prompt": "go"}],
    }
    asyncio.run(run_of(suite, emit=events.append))
    turns = [event for event in events if isinstance(event, AgentTurn)]
    assert [(turn.turn, turn.text, turn.tools, turn.tokens) for turn in turns] == [
        (1, "let me see", ("say",), 120),
        (2, "done", (), 240),
    ]


def test_an_interrupted_conversation_keeps_what_was_said(run_of, models):
    models.answers(Reply("first", uses=[Use("hang", {})]))
    suite = {
        "servers": {"s": {"command": json.loads(shed())}},
        "agents": [{"name": "asks", "model": CLAUDE, "prompt": "go"}],
    }

    async def main():
        answered = asyncio.Event()
        emit = lambda event: answered.set() if isinstance(event, AgentTurn) else None  # noqa: E731
        run = asyncio.ensure_future(run_of(suite, emit=emit))
        await asyncio.wait_for(answered.wait(), 20)
        run.cancel()
        return await run

    (test,) = asyncio.run(main()).tests
    assert (test.verdict, test.trace["stop"], test.trace["tool_names"]) == (Verdict.SKIP, "interrupted", ["hang"])
    assert test.tokens == 120


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize(
    "tool", ["wrong_output", "no_output", "number_as_text", "bad_uri", "empty", "task", "unknown_block"]
)
def test_an_answer_that_breaks_the_protocol_fails_the_test_whatever_it_asserts(record_of, models, tool, revision):
    """Ruling A2: the model is told that there was no answer, and may finish well all the same."""
    models.answer_with(
        lambda question: Reply("done", uses=[] if len(question.body["messages"]) > 1 else [Use(tool, {})])
    )
    command = [sys.executable, "-S", str(SERVERS / "breaking.py")]
    agent = {"name": "a", "model": CLAUDE, "prompt": "go", "tools": {"allow": [tool]}}
    expect = [holds("final_response", {"contains": "done"}), holds("turns", {"gte": 1})]
    suite = {"servers": {"s": {"command": command, "protocol": revision}}, "agents": [{**agent, "expect": expect}]}
    (test,) = record_of(suite).tests
    assert test.failure is not None
    assert test.failure.kind.value == "invalid"

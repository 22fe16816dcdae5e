"""Equal questions are asked once with the cache on: at the same time, and from run to run. What is spent is capped."""

from __future__ import annotations

import asyncio
import json
import stat
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcptest_engine.core.redaction import Redactor
from mcptest_engine.judging.providers.documents import request_document, request_key
from mcptest_engine.judging.providers.model_calls import ModelCalls
from mcptest_engine.judging.providers.prices import PRICES, PriceList
from mcptest_engine.judging.providers.saved_answers import AnswerCache
from mcptest_engine.judging.providers.values import (
    ModelError,
    ModelFault,
    Role,
    ToolAnswer,
    ToolOffer,
    ToolUse,
    Turn,
)
from mcptest_engine.judging.spending import CostBudget
from mcptest_engine.workspace.result_cache import open_cache
from mcptest_engine.workspace.workspace import Workspace
from tests.models.conftest import CLAUDE, GPT, question
from tests.servers.model_endpoint import Reply, Use

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / ".mcptest").mkdir()
    return Workspace(tmp_path)


def cached(workspace: Workspace, *secrets: str) -> AnswerCache:
    return AnswerCache(workspace, Redactor(secrets).redact)


def all_of(models, *requests, **options):
    """The answers to questions that are asked at the same time."""

    async def run():
        asking = ModelCalls(None, models.environ, first_pause_seconds=0.0, **options)
        async with asyncio.timeout(180):
            found = await asyncio.gather(*map(asking.send, requests), return_exceptions=True)
        asking.settle()
        await asking.close()
        return found

    return asyncio.run(run())


def test_equal_questions_at_once_are_asked_once_and_paid_once(models, model, workspace):
    replies = all_of(models, *[question(model=model)] * 5, question("another", model=model), keep=cached(workspace))
    assert len(models.questions) == 2
    assert [reply.kept for reply in replies] == [False, True, True, True, True, False]
    assert len({reply.text for reply in replies[:5]}) == 1


def test_without_a_cache_everybody_asks_so_that_costs_do_not_hang_on_who_is_quick(models, model):
    replies = all_of(models, *[question(model=model)] * 3)
    assert len(models.questions) == 3
    assert not any(reply.kept for reply in replies)


def test_what_is_to_be_asked_anew_says_so_by_its_variant(models, model, workspace):
    all_of(models, *(question(model=model, variant=f"juror {number}") for number in range(3)), keep=cached(workspace))
    assert len(models.questions) == 3


def test_a_failure_is_told_to_all_who_wait_and_the_next_asks_anew(ask, models, model, workspace):
    models.answers(Reply("wrong key", status=401), "18")
    found = all_of(models, question(model=model), question(model=model), keep=cached(workspace))
    assert [wrong.fault for wrong in found] == [ModelFault.AUTH] * 2
    assert found[0] is not found[1]
    assert ask(question(model=model)).text == "18"


def test_a_kept_answer_is_the_answer_and_costs_nothing_more(models, model, workspace):
    tools = (ToolOffer("get_weather", "", {}),)
    models.answers(
        Reply("I look", uses=[Use("get_weather", {"city": "Oslo"}), Use("get_weather", raw="{")], thinking="x")
    )
    budget = CostBudget(5.0)
    (first,) = all_of(models, question(model=model, tools=tools), keep=cached(workspace), budget=budget)
    spent = budget.spent
    (again,) = all_of(models, question(model=model, tools=tools), keep=cached(workspace), budget=budget)
    assert again == first._replace(kept=True, duration_ms=round(first.duration_ms, 3))
    assert len(models.questions) == 1
    assert budget.spent == spent == first.cost_usd


def test_a_kept_answer_is_for_its_owner_alone_and_whole(models, workspace):
    all_of(models, question(), keep=cached(workspace))
    (path,) = open_cache(workspace, "models").folder.iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_text(path.read_text()[:-20])
    (reply,) = all_of(models, question(), keep=cached(workspace))
    assert (reply.kept, len(models.questions)) == (False, 2)


@pytest.mark.parametrize("answer", [None, {}, {"text": 4}, {"text": "x", "stop": "end", "tokens_in": "7"}, []])
def test_a_file_that_holds_no_answer_counts_as_none(models, workspace, answer):
    all_of(models, question(), keep=cached(workspace))
    (path,) = open_cache(workspace, "models").folder.iterdir()
    path.write_text(json.dumps({**json.loads(path.read_text()), "answer": answer}))
    (reply,) = all_of(models, question(), keep=cached(workspace))
    assert not reply.kept


def test_an_answer_with_a_secret_in_it_is_not_kept(models, workspace):
    models.answer_with(lambda _: Reply("the token is hunter2-hunter2"))
    for _ in range(2):
        all_of(models, question(), keep=cached(workspace, "hunter2-hunter2"))
    assert len(models.questions) == 2
    assert not open_cache(workspace, "models").folder.exists()


def test_a_disk_that_keeps_nothing_costs_a_word_and_no_answer(models, workspace):
    open_cache(workspace, "models").folder.parent.mkdir(parents=True)
    open_cache(workspace, "models").folder.write_text("in the way")
    cache = cached(workspace)
    (reply,) = all_of(models, question(), keep=cache)
    assert reply.text
    assert "answers of models were not saved" in str(cache.problem)


def test_another_endpoint_another_answer(models, workspace):
    keep = cached(workspace)
    assert request_key(question(), "https://a.example") != request_key(question(), "https://b.example")
    all_of(models, question(model=GPT), keep=keep)
    environ = {"OPENAI_BASE_URL": f"http://localhost:{models.port}/v1"}

    async def run():
        asking = ModelCalls(None, environ, keep=cached(workspace))
        reply = await asking.send(question(model=GPT))
        await asking.close()
        return reply

    assert not asyncio.run(run()).kept


def test_the_ids_that_providers_make_up_are_no_part_of_a_question():
    def conversation(one: str, two: str):
        uses = (ToolUse(one, "a", {}), ToolUse(two, "b", {}))
        answers = (ToolAnswer(two, "2"), ToolAnswer(one, "1"))
        turns = (Turn(Role.USER, "hi"), Turn(Role.ASSISTANT, "", uses), Turn(Role.TOOL, answers=answers))
        return question()._replace(turns=turns)

    assert request_document(conversation("toolu_x", "toolu_y")) == request_document(conversation("call_9", "call_1"))
    swapped = conversation("a", "b")
    other = Turn(Role.TOOL, answers=(ToolAnswer("a", "2"), ToolAnswer("b", "1")))
    assert request_document(swapped) != request_document(swapped._replace(turns=(*swapped.turns[:2], other)))


_QUESTIONS = st.builds(
    question,
    st.sampled_from(["one", "two"]),
    model=st.sampled_from([CLAUDE, GPT]),
    system=st.sampled_from([None, "be fair"]),
    variant=st.sampled_from(["", "juror 2"]),
    temperature=st.sampled_from([None, 0.0]),
)


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(runs=st.lists(st.lists(_QUESTIONS, max_size=8), min_size=1, max_size=3))
def test_no_question_is_asked_twice_with_the_cache_on(models, tmp_path_factory, runs):
    """The figure of the issue: no model call is made twice for one (prompt, model, judge), at once or from run to run."""
    models.reset()
    folder = tmp_path_factory.mktemp("cache")
    (folder / ".mcptest").mkdir()
    for requests in runs:
        budget = CostBudget()
        replies = all_of(models, *requests, keep=cached(Workspace(folder)), budget=budget)
        told = sum((Decimal(repr(reply.cost_usd)) for reply in replies if not reply.kept), Decimal(0))
        assert Decimal(repr(budget.spent)) == told
    distinct = {request for requests in runs for request in requests}
    assert len(models.questions) == len(distinct)


@pytest.mark.parametrize("count", [1, 7])
def test_nothing_is_asked_beyond_the_cap(models, model, count):
    models.answer_with(lambda _: Reply("18", usage=(100_000, 100_000)))  # more than a dollar
    budget = CostBudget(1.0)
    found = all_of(models, *(question(f"number {number}", model=model) for number in range(count)), budget=budget)
    answered = [reply for reply in found if not isinstance(reply, ModelError)]
    assert len(answered) == len(models.questions) == 1
    assert all(wrong.fault is ModelFault.CAPPED for wrong in found if isinstance(wrong, ModelError))
    assert budget.reached == (count > 1)


def test_a_kept_answer_is_given_beyond_the_cap(models, workspace):
    all_of(models, question(), keep=cached(workspace))
    (reply,) = all_of(models, question(), keep=cached(workspace), budget=CostBudget(0.0))
    assert reply.kept


_USD = st.decimals(min_value=0, max_value=1000, places=6).map(float)
_TOKENS = st.integers(0, 10**9)


@given(_USD, _USD, _TOKENS, _TOKENS)
def test_a_cost_is_exact(usd_in, usd_out, tokens_in, tokens_out):
    prices = PriceList({"m": {"input_usd_per_mtok": usd_in, "output_usd_per_mtok": usd_out}})
    exact = (Decimal(repr(usd_in)) * tokens_in + Decimal(repr(usd_out)) * tokens_out) / 10**6
    assert prices.cost("m", tokens_in, tokens_out) == float(exact)


@given(_TOKENS, _TOKENS)
def test_a_model_that_nobody_has_priced_costs_what_nobody_knows(tokens_in, tokens_out):
    assert PriceList().cost("house-model", tokens_in, tokens_out) is None


def test_a_price_is_found_by_id_then_by_longest_prefix_then_as_listed():
    def usd(amount):
        return {"input_usd_per_mtok": amount, "output_usd_per_mtok": amount}

    prices = PriceList({"gpt-*": usd(1), "gpt-5*": usd(2), "gpt-5.4": usd(3), "claude-opus-5": usd(0)})
    found = [prices.price(name) for name in ("gpt-5.4", "gpt-5.4-mini", "gpt-4o")]
    assert [price and price.tokens_in for price in found] == [3, 2, 1]
    assert prices.cost("claude-opus-5", 10, 10) == 0.0
    assert prices.price("claude-sonnet-5-5") == PRICES["claude-sonnet-5-5"]


@pytest.mark.parametrize(
    ("model_id", "known"),
    [
        ("claude-haiku-4-5-20251001", "claude-haiku-4-5"),
        ("gpt-5.4-mini-2026-03-17", "gpt-5.4-mini"),
        ("gpt-5.4-pro", None),
        ("gpt-5.40", None),
        ("claude-opus", None),
        ("", None),
    ],
)
def test_a_state_of_a_model_costs_what_the_model_does_and_another_model_does_not(model_id, known):
    assert PriceList().price(model_id) == (None if known is None else PRICES[known])


def test_a_state_with_a_price_of_its_own_goes_by_that():
    """The first state of this model was never made cheaper."""
    assert PriceList().cost("gpt-4o-2024-05-13", 1_000_000, 0) == 5.0
    assert PriceList().cost("gpt-4o-2024-08-06", 1_000_000, 0) == 2.5


def test_long_prompts_cost_what_is_listed_for_them_or_what_nobody_knows():
    assert PriceList().cost("claude-haiku-5-5", 100_000, 0) == 0.01
    assert PriceList().cost("claude-haiku-5-5", 100_001, 0) == 0.0500005
    assert PriceList().cost("gpt-6-sol", 500_000, 100_000) == 3.5
    assert PriceList().cost("gpt-5.5", 272_001, 0) is None


SUITE = """\
servers: { mock: { command: [mcptest, mock, --preset, demo] } }
agents:
  - name: it asks for the weather
    server: mock
    prompt: How warm is it in Oslo?
    expect: [{ target: tool_names, matcher: { contains: get_weather } }]
"""


def test_a_second_run_with_the_cache_on_asks_nothing(mcptest, models, tmp_path):
    (tmp_path / "mcptest.yml").write_text(SUITE)
    models.answers(Reply(uses=[Use("get_weather", {"city": "Oslo"})]), "19 degrees")
    for _ in range(2):
        run = mcptest("run", "--cache", "--reporter", "json", MCPTEST_MODEL=GPT, **models.openai)
        (test,) = json.loads(run.stdout)["tests"]
        assert (test["verdict"], test["trace"]["final_response"]) == ("pass", "19 degrees")
    assert len(models.questions) == 2


def test_what_an_sdk_warns_of_neither_ends_a_run_nor_stands_in_its_output(mcptest, models, tmp_path):
    """The SDK says of models that their end is near."""
    (tmp_path / "mcptest.yml").write_text(SUITE)
    models.answers(Reply(uses=[Use("get_weather", {"city": "Oslo"})]), "19 degrees")
    environ = {"MCPTEST_MODEL": "claude-opus-4-20250514", "PYTHONWARNINGS": "error", **models.anthropic}
    run = mcptest("run", **environ)
    assert (run.returncode, "deprecated" in run.stdout + run.stderr) == (0, False)

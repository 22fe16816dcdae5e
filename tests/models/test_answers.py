"""What comes of a model's answer, through either API, from a real endpoint on loopback."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from mcptest_engine.judging.providers import model_calls
from mcptest_engine.judging.providers.model_calls import ModelCalls
from mcptest_engine.judging.providers.values import Role, ToolAnswer, ToolOffer, ToolUse, Turn
from tests.models.conftest import CLAUDE, GPT, question
from tests.servers.model_endpoint import Reply, Use

WEATHER = ToolOffer("get_weather", "how it is", {"type": "object", "properties": {"city": {"type": "string"}}})
SCHEMA = {
    "type": "object",
    "properties": {"score": {"type": "number", "minimum": 0, "maximum": 1}},
    "required": ["score"],
}


def test_a_text_comes_whole_with_what_it_cost(ask, models, model):
    models.answers(Reply("18 °C in Oslo, 晴れ ☀", usage=(1_000, 200)))
    reply = ask(question(model=model))
    assert (reply.text, reply.stop, reply.uses) == ("18 °C in Oslo, 晴れ ☀", "end", ())
    assert (reply.tokens_in, reply.tokens_out, reply.tokens) == (1_000, 200, 1_200)
    assert reply.cost_usd == {CLAUDE: 0.004, GPT: 0.0055}[model]
    assert reply.model == model
    assert not reply.kept
    assert models.questions[0].body["stream"] is True


def test_tool_calls_come_in_parallel_with_arguments_put_together_from_their_pieces(ask, models, model):
    uses = [Use("get_weather", {"city": f"Oslo {number}", "ü": [number]}) for number in range(3)]
    models.answers(Reply("I look", uses=uses, piece=3))
    reply = ask(question(model=model, tools=(WEATHER,)))
    assert [(use.name, use.args) for use in reply.uses] == [(use.name, use.args) for use in uses]
    assert len({use.id for use in reply.uses}) == 3
    assert (reply.text, reply.stop) == ("I look", "tools")
    assert models.questions[0].tools == ("get_weather",)


@pytest.mark.parametrize(
    "raw", ['{"city": ', "[1]", "nonsense", '"text"', "[" * 5_000, '{"a": NaN}', '{"a": [-Infinity]}', '{"a": 1e999}']
)
def test_arguments_that_are_no_json_object_are_kept_as_they_were_written(ask, models, model, raw):
    models.answers(Reply(uses=[Use("get_weather", raw=raw), Use("get_weather", {"city": "Oslo"})], piece=500))
    first, second = ask(question(model=model, tools=(WEATHER,))).uses
    assert (first.args, first.raw) == (None, raw)
    assert second.args == {"city": "Oslo"}


def test_no_arguments_at_all_are_an_empty_object(ask, models, model):
    models.answers(Reply(uses=[Use("get_weather", raw="")]))
    assert ask(question(model=model, tools=(WEATHER,))).uses[0].args == {}


def test_a_conversation_goes_on_with_what_its_tools_answered(ask, models, model):
    uses = (ToolUse("a", "get_weather", {"city": "Oslo"}), ToolUse("b", "get_weather", None, "{bad"))
    turns = (
        Turn(Role.USER, "how warm?"),
        Turn(Role.ASSISTANT, "", uses),
        Turn(Role.TOOL, answers=(ToolAnswer("a", "18"), ToolAnswer("b", "no such city", is_error=True))),
    )
    ask(question(model=model, tools=(WEATHER,), system="be brief")._replace(turns=turns))
    told = models.questions[0]
    assert told.system == "be brief"
    if model == CLAUDE:
        assert told.body["messages"][2]["content"][1] == {
            "type": "tool_result",
            "tool_use_id": "b",
            "content": "no such city",
            "is_error": True,
        }
        assert told.body["messages"][1]["content"][1]["input"] == {"unreadable": "{bad"}
    else:
        assert told.body["messages"][-1] == {"role": "tool", "tool_call_id": "b", "content": "no such city"}
        json.loads(told.body["messages"][2]["tool_calls"][1]["function"]["arguments"])


def test_what_a_model_thought_goes_back_to_it_with_its_turn(ask, models):
    models.answers(Reply("I look", uses=[Use("get_weather", {})], thinking="which city?"), "18 degrees")
    first = question(tools=(WEATHER,))
    reply = ask(first)
    assert "which city?" not in reply.text
    answered = Turn(Role.TOOL, answers=(ToolAnswer(reply.uses[0].id, "18"),))
    ask(first._replace(turns=(*first.turns, reply.as_turn(), answered)))
    thought = models.questions[1].body["messages"][1]["content"][0]
    assert thought == {"type": "thinking", "thinking": "which city?", "signature": "c2lnbmVk"}


@pytest.mark.parametrize(
    ("told", "stop"),
    [
        ({CLAUDE: "max_tokens", GPT: "length"}, "length"),
        ({CLAUDE: "refusal", GPT: "content_filter"}, "refusal"),
        ({CLAUDE: "pause_turn", GPT: "moon_phase"}, None),
        ({CLAUDE: "stop_sequence", GPT: "stop"}, "end"),
    ],
)
def test_why_a_model_stopped_is_said_in_one_way_or_in_its_own_word(ask, models, model, told, stop):
    models.answers(Reply("so far", stop=told[model]))
    assert ask(question(model=model)).stop == (stop or told[model])


def test_a_refusal_is_an_answer_that_says_so(ask, models):
    models.answers(Reply(refusal="I will not"))
    reply = ask(question(model=GPT))
    assert (reply.text, reply.stop) == ("I will not", "refusal")


def test_calls_make_a_stop_that_waits_for_them_whatever_the_endpoint_calls_it(ask, models):
    models.answers(Reply(uses=[Use("get_weather", {})], stop="stop"))
    assert ask(question(model=GPT, tools=(WEATHER,))).stop == "tools"


def test_tokens_that_are_not_told_are_none_and_the_cost_is_not_known(ask, models, model):
    models.answers(Reply("18", usage=None))
    reply = ask(question(model=model))
    assert (reply.tokens, reply.cost_usd) == (0, None)


def test_a_model_without_a_price_costs_what_nobody_knows_and_a_suite_may_say(ask, models):
    one = ask(question(model="llama-7"))
    assert (one.cost_usd, one.tokens) == (None, 120)
    told = ask(question(model="llama-7"), prices={"llama-*": {"input_usd_per_mtok": 0.1, "output_usd_per_mtok": 0.3}})
    assert told.cost_usd == 0.000016


@pytest.mark.parametrize("usage", [{}, {"usage": (7, 3)}])
def test_an_endpoint_that_does_not_stream_is_understood(ask, models, model, usage):
    models.answers(Reply("18", uses=[Use("get_weather", {"city": "Oslo"})], streams=False, **usage))
    reply = ask(question(model=model, tools=(WEATHER,)))
    assert (reply.text, reply.uses[0].args, reply.stop) == ("18", {"city": "Oslo"}, "tools")
    assert reply.tokens == sum(usage.get("usage", (100, 20)))


def test_an_answer_of_a_form_is_asked_for_by_the_means_of_its_provider(ask, models, model):
    models.answers('{"score": 0.5}')
    assert json.loads(ask(question(model=model, schema=SCHEMA)).text) == {"score": 0.5}
    body = models.questions[0].body
    told = body["output_config"]["format"] if model == CLAUDE else body["response_format"]
    assert told["type"] == "json_schema"
    assert "score" in json.dumps(told)


def test_a_form_that_an_endpoint_refuses_is_asked_for_in_words_from_then_on(ask, models, model):
    parameter = "output_config" if model == CLAUDE else "response_format"
    models.refusing(parameter, f"{parameter}: this model does not support it")
    written = 'Here you are:\n```json\n{"score": 0.5}\n```\nBye.'
    models.answers(written, '{"score": 1}')
    one, two = ask(question(model=model, schema=SCHEMA, system="be fair"), question("2", model=model, schema=SCHEMA))
    assert (one.text, two.text) == (written, '{"score": 1}'), "who asked decides what of an answer counts"
    assert [parameter in asked.body for asked in models.questions] == [True, False, False]
    assert '"score"' in models.questions[1].system
    assert models.questions[1].system.startswith("be fair")


def test_a_temperature_goes_along_only_where_one_is_given_and_taken(ask, models, model):
    models.refusing("temperature", "`temperature` is not supported by this model")
    ask(question(model=model), question("2", model=model, temperature=0.0), question("3", model=model, temperature=0.5))
    assert [asked.body.get("temperature") for asked in models.questions] == [None, 0.0, None, None]


@pytest.mark.parametrize(
    ("model_id", "limit"),
    [("gpt-5.4", "max_completion_tokens"), ("o3", "max_completion_tokens"), ("llama", "max_tokens")],
)
def test_the_limit_of_tokens_has_the_name_that_the_model_knows(ask, models, model_id, limit):
    ask(question(model=model_id, max_tokens=77))
    assert {name: value for name, value in models.questions[0].body.items() if "tokens" in name} == {limit: 77}


def test_a_limit_of_tokens_that_is_refused_is_told_by_its_other_name(ask, models):
    models.refusing("max_tokens", "Unsupported parameter: 'max_tokens'; use 'max_completion_tokens' instead")
    assert ask(question(model="house-model", max_tokens=77)).text
    assert models.questions[1].body["max_completion_tokens"] == 77


def test_an_endpoint_that_knows_no_stream_options_is_asked_without(ask, models):
    models.refusing("stream_options", "extra fields not permitted: stream_options")
    reply = ask(question(model="house-model"))
    assert (reply.text, reply.cost_usd) == ("you said: how warm is it?", None)


def test_names_of_tools_that_no_provider_takes_are_told_otherwise_and_back(ask, models, model):
    tools = (ToolOffer("files.read/all", "", {}), ToolOffer("files_read_all", "", {}), ToolOffer("ü" * 80, "", {}))
    models.answer_with(lambda asked: Reply(uses=[Use(name, {}) for name in asked.tools]))
    reply = ask(question(model=model, tools=tools))
    assert [use.name for use in reply.uses] == [tool.name for tool in tools]
    assert len({*models.questions[0].tools}) == 3
    assert all(name.isascii() and len(name) <= 64 and "." not in name for name in models.questions[0].tools)


def test_keys_go_in_their_header_and_an_endpoint_of_ones_own_needs_none(ask, models):
    environ = {"OPENAI_BASE_URL": models.openai["OPENAI_BASE_URL"]}
    ask(question(model="llama"), environ=environ)
    assert "authorization" not in models.questions[0].headers
    ask(question(model=CLAUDE))
    assert models.anthropic["ANTHROPIC_API_KEY"] in {
        value.removeprefix("Bearer ") for value in models.questions[1].headers.values()
    }


def test_an_empty_answer_is_an_answer(ask, models, model):
    models.answers(Reply(""))
    assert ask(question(model=model)).text == ""


def test_first_questions_that_come_at_once_share_one_provider_which_is_closed(models, model, monkeypatch):
    made, closed = [], []
    import_provider = model_calls._imported

    def import_counted(sdk):
        provider: Any = import_provider(sdk)

        class Counted(provider):
            def __init__(self, *arguments):
                super().__init__(*arguments)
                made.append(self)

            async def close(self):
                closed.append(self)
                await super().close()

        return Counted

    monkeypatch.setattr(model_calls, "_imported", import_counted)

    async def ask_four():
        opened = ModelCalls({}, models.environ)
        await asyncio.gather(*(opened.prepare(model) for _ in range(4)))
        await opened.close()

    asyncio.run(ask_four())
    assert len(made) == 1
    assert closed == made

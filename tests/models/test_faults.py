"""Every way in which a provider gives no answer: told in words that help, asked again where that helps, without a secret."""

from __future__ import annotations

import asyncio
import json
import socket

import pytest

from mcptest_engine.core.redaction import Redactor
from mcptest_engine.judging.providers import http, model_calls
from mcptest_engine.judging.providers.model_calls import ModelCalls
from mcptest_engine.judging.providers.saved_answers import AnswerCache
from mcptest_engine.judging.providers.values import ModelError, ModelFault
from mcptest_engine.workspace.workspace import Workspace
from tests.models.conftest import CLAUDE, GPT, question
from tests.servers.model_endpoint import ANTHROPIC_KEY, OPENAI_KEY, Reply

AT_ONCE = {"retry-after": "0"}


@pytest.mark.parametrize(
    ("status", "fault", "asked"),
    [
        (400, ModelFault.REFUSED, 1),
        (401, ModelFault.AUTH, 1),
        (403, ModelFault.AUTH, 1),
        (404, ModelFault.REFUSED, 1),
        (418, ModelFault.BAD_ANSWER, 1),
        (302, ModelFault.BAD_ANSWER, 1),
        (429, ModelFault.RATE_LIMITED, 4),
        (500, ModelFault.PROVIDER, 4),
        (503, ModelFault.PROVIDER, 4),
        (529, ModelFault.PROVIDER, 4),
    ],
)
def test_a_status_says_whose_fault_it_is_and_whether_to_ask_again(ask, models, model, status, fault, asked):
    models.answer_with(lambda _: Reply("because of the moon", status=status))
    wrong = ask(question(model=model))
    assert isinstance(wrong, ModelError)
    assert wrong.fault is fault
    assert len(models.questions) == asked
    assert wrong.message.startswith(f"`{model}`: the model provider answered HTTP {status}")
    assert "127.0.0.1" in wrong.message
    assert ("because of the moon" in wrong.message) == (status != 302)
    assert ("asked 4 times" in wrong.message) == (asked == 4)


def test_a_busy_provider_that_recovers_is_no_failure(ask, models, model):
    models.answers(Reply(status=429, headers=AT_ONCE), Reply(status=529), Reply(status=500), "18 degrees")
    assert ask(question(model=model)).text == "18 degrees"


def test_who_asks_to_be_left_alone_for_long_is_not_waited_for(ask, models, model):
    models.answers(Reply(status=429, headers={"retry-after": "3600"}))
    wrong = ask(question(model=model))
    assert wrong.fault is ModelFault.RATE_LIMITED
    assert "to wait 3600s" in wrong.message
    assert "--workers" in wrong.hint


@pytest.mark.parametrize("huge", ["99999999999999", "1e300", "inf"])
def test_however_long_it_asks_to_be_left_alone_it_is_not_asked_at_once(ask, models, model, huge):
    models.answer_with(lambda _: Reply(status=429, headers={"retry-after": huge}))
    wrong = ask(question(model=model))
    assert (wrong.fault, len(models.questions)) == (ModelFault.RATE_LIMITED, 1)


@pytest.mark.parametrize("unreadable", ["Wed, 21 Oct 99999999999999999999 07:28:00 GMT", "-5", "nan", "soon"])
def test_a_time_to_wait_that_is_none_is_passed_over(ask, models, model, unreadable):
    models.answers(Reply(status=429, headers={"retry-after": unreadable}), "18 degrees")
    assert ask(question(model=model)).text == "18 degrees"


def test_no_pause_goes_beyond_the_time_that_a_call_may_take(ask, models, model):
    models.answers(Reply(status=529, headers={"retry-after": "30"}))
    assert ask(question(model=model, timeout_seconds=20)).fault is ModelFault.PROVIDER
    assert len(models.questions) == 1


def test_a_quota_that_is_used_up_is_not_asked_again(ask, models):
    body = json.dumps({"error": {"code": "insufficient_quota", "type": "insufficient_quota", "message": "pay first"}})
    models.answers(Reply(status=429, body=body))
    wrong = ask(question(model=GPT))
    assert (wrong.fault, len(models.questions)) == (ModelFault.RATE_LIMITED, 1)


@pytest.mark.parametrize("fault", ["reset", "truncate", "reset_mid"])
def test_a_connection_that_ends_early_is_tried_again_and_then_told(ask, models, model, fault):
    models.answers(Reply("a long enough answer " * 9, fault=fault), "18 degrees")
    assert ask(question(model=model)).text == "18 degrees"
    models.answer_with(lambda _: Reply("a long enough answer " * 9, fault=fault))
    wrong = ask(question(model=model))
    assert wrong.fault is ModelFault.PROVIDER
    assert "in the middle of its answer" in wrong.message


def test_an_error_in_the_middle_of_an_answer_is_tried_again_and_then_told(ask, models, model):
    models.answers(Reply("half of it " * 20, fault="error_mid"), "18 degrees")
    assert ask(question(model=model)).text == "18 degrees"
    broken = Reply("half of it " * 20, fault="error_mid", error=("invalid_request_error", "it is \x1b[31mtoo much"))
    models.answers(broken)
    wrong = ask(question(model=model))
    assert wrong.fault is ModelFault.REFUSED
    assert "it is ␛[31mtoo much" in wrong.message
    assert "in the middle of its answer" in wrong.message


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (
            Reply(body="<!DOCTYPE html><title>Sign in</title>", content_type="text/html"),
            "a page of HTML that says Sign in",
        ),
        (Reply(body="<html>\x1b]0;owned\x07", content_type="text/event-stream"), ""),
        (Reply(body="not json"), "that is not JSON"),
        (Reply(body="[1, 2]"), "JSON that is not an object"),
        (Reply(body="{}"), "JSON without `content`|no `choices`"),
        (Reply(body='{"choices": [], "content": 4}'), "JSON without `content`|no `choices`"),
        (Reply(body='{"choices": "x", "content": "y"}'), "JSON without `content`|no `choices`"),
        (Reply(body="", content_type="text/plain"), "`text/plain` that is not JSON"),
        (Reply("18", fault="garbage"), "events are not JSON"),
        (Reply("18", fault="no_choices"), ""),
    ],
)
def test_what_is_no_answer_is_told_as_what_it_is(ask, models, model, reply, words):
    models.answer_with(lambda _: reply)
    wrong = ask(question(model=model))
    assert isinstance(wrong, ModelError)
    assert wrong.fault in {ModelFault.BAD_ANSWER, ModelFault.PROVIDER}
    assert any(word in wrong.message for word in words.split("|"))
    assert "\x1b" not in wrong.message


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (Reply(body="{}" + " " * (5 << 20)), "more than 4 MiB"),
        (Reply(body="data: " + "x" * (3 << 20), content_type="text/event-stream"), "more than 2 MiB"),
        (Reply(body=f"data: {'{}'}{' ' * 60_000}\n\n" * 90, content_type="text/event-stream"), "more than 4 MiB"),
        (Reply(body="x" * (5 << 20), content_type="text/html", status=400), "more than 4 MiB"),
    ],
)
def test_an_answer_without_end_is_cut_off(ask, models, model, reply, told, monkeypatch):
    """The limits are smaller here, so that the endpoint has less to send."""
    monkeypatch.setattr(http, "LARGEST_BODY", 4 << 20)
    monkeypatch.setattr(http, "LARGEST", 2 << 20)
    models.answer_with(lambda _: reply)
    wrong = ask(question(model=model))
    assert (wrong.fault, told in wrong.message) == (ModelFault.BAD_ANSWER, True)
    assert len(models.questions) == 1


def test_json_that_fills_the_memory_is_not_read(ask, models, model):
    models.answer_with(lambda _: Reply(body="[" + "{}," * (13 << 20) + "1]"))
    assert "takes more memory than an answer may" in ask(question(model=model)).message


def test_a_page_of_html_as_an_error_is_told_by_its_title(ask, models, model):
    page = "<html><head><title>502 Bad Gateway</title></head><body>" + "x" * 50_000
    models.answer_with(lambda _: Reply(status=502, body=page, content_type="text/html"))
    wrong = ask(question(model=model))
    assert "a page of HTML" in wrong.message
    assert "502 Bad Gateway" in wrong.message
    assert len(wrong.message) < 600


@pytest.mark.parametrize("fault", ["hang", "hang_mid"])
def test_a_call_has_a_time_of_its_own_and_leaves_no_connection_behind(ask, models, model, fault):
    models.answers(Reply("a long enough answer " * 9, fault=fault))
    wrong = ask(question(model=model, timeout_seconds=0.3))
    assert wrong.fault is ModelFault.TIMEOUT
    assert "did not finish its answer within 0.3s" in wrong.message
    models.wait_for(lambda: models.left_early == len(models.questions))


def test_a_question_that_nobody_waits_for_any_more_closes_its_connection(models, model, tmp_path):
    """With the cache equal questions are asked once, and the last one who waits for it ends it."""
    models.answers(Reply("a long enough answer " * 9, fault="hang_mid"))

    async def run() -> None:
        asked = ModelCalls(None, models.environ, keep=AnswerCache(Workspace(tmp_path), Redactor(()).redact))
        one, two = (asyncio.ensure_future(asked.send(question(model=model))) for _ in range(2))
        await models.until(lambda: len(models.questions) == 1)
        one.cancel()
        await asyncio.wait((one,))
        assert models.left_early == 0
        two.cancel()
        await asyncio.wait((two,))
        await models.until(lambda: models.left_early == 1)
        await asked.close()

    asyncio.run(run())


def test_an_endpoint_that_is_not_there_cannot_be_reached(ask, models, model):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # not listened on
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        wrong = ask(
            question(model=model), environ={**models.environ, "ANTHROPIC_BASE_URL": url, "OPENAI_BASE_URL": url}
        )
    assert wrong.fault is ModelFault.UNREACHABLE
    assert "cannot be reached" in wrong.message


def test_a_model_that_does_not_exist_is_told_with_its_id(ask, models, model):
    models.answers(Reply(f"model: {model}", status=404))
    wrong = ask(question(model=model))
    assert f"check the model id `{model}`" in wrong.hint


@pytest.mark.parametrize(("model_id", "key"), [(CLAUDE, ANTHROPIC_KEY), (GPT, OPENAI_KEY)])
def test_no_key_stands_in_a_message(ask, models, model_id, key):
    models.answer_with(lambda _: Reply(f"bad key {key}", status=401))
    wrong = ask(question(model=model_id))
    assert key not in wrong.message
    assert "bad key [REDACTED]" in wrong.message
    assert "_API_KEY, and whether it may use" in wrong.hint


def test_keys_are_told_to_the_redactor_before_any_is_sent(models):
    told: list[str] = []
    ModelCalls(None, models.environ, keep_secret=told.append)
    assert told == [ANTHROPIC_KEY, OPENAI_KEY]


@pytest.mark.parametrize(
    "base", ["http://models.example.com/v1", "http://10.0.0.7:8000", "http://localhost.example.com"]
)
def test_a_key_goes_to_no_other_machine_in_the_clear(ask, models, model, base):
    wrong = ask(question(model=model), environ={**models.environ, "ANTHROPIC_BASE_URL": base, "OPENAI_BASE_URL": base})
    assert wrong.fault is ModelFault.AUTH
    assert "keys go only to https or to this machine" in wrong.message


def test_a_redirect_takes_no_key_elsewhere(ask, models, model):
    models.answers(Reply(status=307, headers={"location": f"{models.url}/elsewhere"}, body=""))
    wrong = ask(question(model=model))
    assert "a redirect, which is not followed" in wrong.message
    assert len(models.questions) == 1


@pytest.mark.parametrize("base", ["models.example.com", "ftp://models.example.com", "http://", "::"])
def test_a_base_that_is_no_url_is_told_by_the_name_of_its_variable(ask, models, base):
    wrong = ask(question(), environ={**models.environ, "ANTHROPIC_BASE_URL": base})
    assert "ANTHROPIC_BASE_URL is not a URL" in wrong.message


def test_a_key_with_what_no_header_takes_is_told_without_it(ask, models):
    wrong = ask(question(), environ={**models.environ, "ANTHROPIC_API_KEY": "sk-ant\nX-Evil: 1"})
    assert wrong.fault is ModelFault.AUTH
    assert "Evil" not in wrong.message


def test_a_huge_answer_is_not_taken_whole(ask, models, model):
    models.answers(Reply("x" * (17 * 1024 * 1024), piece=1024 * 1024))
    wrong = ask(question(model=model))
    assert wrong.fault is ModelFault.BAD_ANSWER
    assert "more than 16 MiB" in wrong.message


def test_a_proxy_of_the_environment_is_not_used_for_this_machine(ask, models, model, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert ask(question(model=model)).text == "you said: how warm is it?"


_ODD = ["null", "[]", "4", '"x"', "{}", "[[1]]", "[{}]", '{"a": null}', "1e999", "-1", '"' + "x" * 10_000 + '"', "true"]
_MEMBERS = {
    CLAUDE: (
        "message_start message",
        "content_block_start content_block",
        "content_block_start index",
        "content_block_delta delta",
        "content_block_delta index",
        "message_delta delta",
        "message_delta usage",
    ),
    GPT: ("choices", "usage", "delta", "tool_calls", "function", "finish_reason", "error"),
}


def _events(model: str, member: str, odd: str) -> str:
    if model == CLAUDE:
        kind, name = member.split()
        return (
            f'event: {kind}\ndata: {{"type": "{kind}", "{name}": {odd}}}\n\n'
            f"event: {kind}\ndata: {odd}\n\n"
            'event: message_stop\ndata: {"type": "message_stop"}\n\n'
        )
    choice = {
        "choices": f'"choices": {odd}',
        "usage": f'"choices": [], "usage": {odd}',
        "delta": f'"choices": [{{"index": 0, "delta": {odd}}}]',
        "tool_calls": f'"choices": [{{"delta": {{"tool_calls": {odd}}}, "finish_reason": "stop"}}]',
        "function": f'"choices": [{{"delta": {{"tool_calls": [{{"function": {odd}}}]}}, "finish_reason": "stop"}}]',
        "finish_reason": f'"choices": [{{"delta": {{"content": {odd}}}, "finish_reason": {odd}}}]',
        "error": f'"error": {odd}',
    }[member]
    return f"data: {{{choice}}}\n\ndata: {odd}\n\ndata: [DONE]\n\n"


def test_events_of_any_shape_are_an_answer_or_a_failure_and_never_an_accident(ask, models, model, monkeypatch):
    monkeypatch.setattr(model_calls, "MOST_ATTEMPTS", 1)
    bodies = [_events(model, member, odd) for member in _MEMBERS[model] for odd in _ODD]
    models.answer_with(lambda asked: Reply(body=bodies[int(asked.last)], content_type="text/event-stream"))
    found = ask(*(question(str(number), model=model, timeout_seconds=20) for number in range(len(bodies))))
    assert len(found) == len(models.questions) == len(bodies)

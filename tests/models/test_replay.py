"""Models on a cassette: recorded once, replayed without a key or a network, refused in words where a question has changed."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.core.errors import UsageError
from mcptest_engine.core.redaction import Redactor
from mcptest_engine.judging.providers.model_calls import ModelCalls
from mcptest_engine.judging.providers.saved_answers import Recording, Replay
from mcptest_engine.judging.providers.values import (
    ModelError,
    ModelFault,
    ModelReply,
    ModelRequest,
    Role,
    ToolAnswer,
    ToolOffer,
    Turn,
)
from mcptest_engine.workspace.cassettes import read_cassette
from tests.models.conftest import CLAUDE, GPT, question
from tests.servers.model_endpoint import OPENAI_KEY, Reply, Use

if TYPE_CHECKING:
    from pathlib import Path

    from tests.servers.model_endpoint import ModelEndpoint

WEATHER = ToolOffer("get_weather", "how it is", {"type": "object"})


def recorded(models: ModelEndpoint, *requests: ModelRequest, secrets: tuple[str, ...] = ()) -> dict[str, Any]:
    """The section of a cassette with the answers to these, as it is read back from the disk."""
    recording = Recording()

    async def run() -> None:
        asking = ModelCalls(None, models.environ, keep=recording)
        assert asking.chosen(None, judging=True) == CLAUDE
        for request in requests:
            await asking.send(request)
        await asking.close()

    asyncio.run(run())
    return json.loads(json.dumps(Redactor(secrets).redact(recording.section())))


def replayed(section: dict[str, Any] | None, *requests: ModelRequest, secrets: tuple[str, ...] = ()) -> Any:
    """What each question gives, without a key, and without a network that could be asked."""

    async def run() -> list[ModelReply | ModelError]:
        asking = ModelCalls(None, {}, keep=Replay(section, name="tape", redact=Redactor(secrets).redact))
        found: list[ModelReply | ModelError] = []
        for request in requests:
            try:
                found.append(await asking.send(request))
            except ModelError as wrong:
                found.append(wrong)
        await asking.close()
        return found

    found = asyncio.run(run())
    return found[0] if len(found) == 1 else found


def conversation(reply: ModelReply, text: str = "18 degrees", **members: Any) -> ModelRequest:
    first = question(tools=(WEATHER,), **members)
    answered = Turn(Role.TOOL, answers=tuple(ToolAnswer(use.id, text) for use in reply.uses))
    return first._replace(turns=(*first.turns, reply.as_turn(), answered))


def test_a_conversation_is_replayed_as_it_was_without_a_key(models):
    models.answers(Reply("I look", uses=[Use("get_weather", {"city": "Oslo"})], thinking="hm"), "it is 18 degrees")
    section = recorded(models, question(tools=(WEATHER,)))
    reply = replayed(section, question(tools=(WEATHER,)))
    section = recorded(models, conversation(reply))
    again = replayed(section, conversation(reply._replace(uses=(reply.uses[0]._replace(id="call_other"),))))
    assert (again.text, again.kept, again.cost_usd, again.tokens) == ("it is 18 degrees", False, 0.0004, 120)


def test_equal_questions_at_once_are_each_recorded_and_replayed(models):
    recording = Recording()

    async def run() -> None:
        asking = ModelCalls(None, models.environ, keep=recording)
        await asyncio.gather(*(asking.send(question()) for _ in range(3)))
        await asking.close()

    asyncio.run(run())
    replies = replayed(json.loads(json.dumps(recording.section())), *[question()] * 3)
    assert [reply.cost_usd for reply in replies] == [0.0004] * 3
    assert len(models.questions) == 3


def test_equal_questions_get_their_answers_in_order_and_no_more_than_there_are(models):
    models.answers("one", "two")
    section = recorded(models, question(), question())
    first, second, third = replayed(section, question(), question(), question())
    assert (first.text, second.text) == ("one", "two")
    assert third.fault is ModelFault.NOT_RECORDED
    assert "every recorded answer to this question has been used" in third.message


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (question(model=GPT), "has only answers of `claude-sonnet-5-5`: the model id has changed"),
        (question("how cold is it?"), "the prompt has changed: recorded `how warm is it?`, asked `how cold is it?`"),
        (question(system="be brief"), "the system prompt has changed: recorded ``, asked `be brief`"),
        (question(tools=(WEATHER,)), "the tools offered have changed (new: `get_weather`)"),
        (question(max_tokens=7), "`max_tokens` has changed"),
        (question(variant="2"), "the recording has fewer answers to this question"),
        (
            question("how cold is it?", system="be brief"),
            "the system prompt has changed: recorded ``, asked `be brief`; the prompt has changed",
        ),
    ],
)
def test_a_question_that_has_changed_is_refused_with_what_has_changed(models, asked, words):
    wrong = replayed(recorded(models, question(), question("a quite other one", system="x")), asked)
    assert wrong.fault is ModelFault.NOT_RECORDED
    assert words in wrong.message
    assert wrong.message.startswith(f"`{asked.model}` is replayed from `tape`, and ")
    assert wrong.hint == "record it again: mcptest run --record tape"


def test_a_changed_rubric_is_told_by_the_question_that_is_nearest(models):
    """Not by that of whichever eval was recorded first."""

    def judging(rubric: str, answer: str) -> ModelRequest:
        asked = f"# Rubric\n\n{rubric}\n\n<graded:answer>\n{answer}\n</graded:answer>"
        return question(asked, system="You grade.", schema={"type": "object"})

    section = recorded(models, judging("Says it is out.", "Dune is out."), judging("Names the author.", "Herbert."))
    wrong = replayed(section, judging("Names the writer.", "Herbert."))
    assert r"the question to the judge has changed: recorded `# Rubric\n\nNames the author." in wrong.message
    assert r"asked `# Rubric\n\nNames the writer." in wrong.message


def test_what_a_tool_answered_otherwise_is_told_as_that(models):
    models.answers(Reply(uses=[Use("get_weather", {"city": "Oslo"})]), "it is 18 degrees")
    first = question(tools=(WEATHER,))
    reply = replayed(recorded(models, first), first)
    section = recorded(models, first, conversation(reply))
    wrong = replayed(section, conversation(reply, "19 degrees"))
    assert "the answers of its tools in turn 3 has changed: recorded `18 degrees`, asked `19 degrees`" in wrong.message
    tools_gone = conversation(reply)._replace(tools=(WEATHER._replace(description="other"),))
    assert "the tools offered have changed (changed: `get_weather`)" in replayed(section, tools_gone).message


def test_moments_and_uuids_are_no_difference(models):
    section = recorded(models, question("at 2026-01-02T03:04:05Z by 0b5ec0de-0000-4000-8000-000000000001"))
    later = question("at 2026-11-22T13:14:15Z by 0b5ec0de-0000-4000-8000-00000000000f")
    assert replayed(section, later).text


def test_secrets_are_on_no_tape_and_no_difference(models):
    asked = question("the token is hunter2-hunter2", system="hunter2-hunter2")
    models.answers("you said hunter2-hunter2")
    section = recorded(models, asked, secrets=("hunter2-hunter2",))
    assert "hunter2" not in json.dumps(section)
    assert replayed(section, asked, secrets=("hunter2-hunter2",)).text == "you said [REDACTED]"


def test_the_model_that_was_taken_is_taken_again(models):
    section = recorded(models, question())
    asking = ModelCalls(None, {}, keep=Replay(section, name="tape", redact=lambda value: value))
    assert asking.chosen(None, judging=True) == CLAUDE
    assert asking.missing(None) is None


def test_a_tape_without_models_defers_as_its_run_did(models):
    asking = ModelCalls(None, models.environ, keep=Replay(None, name="tape", redact=lambda value: value))
    told = "no model provider: the cassette `tape` has no answer of a model"
    assert asking.missing("claude-opus-5-5") == asking.missing(None) == told
    assert models.questions == []


_GOOD: dict[str, Any] = {
    "request": {"model": "m"},
    "answer": {"text": "", "stop": "end", "tokens_in": 0, "tokens_out": 0, "cost_usd": None},
    "duration_ms": 1,
}


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ([], "`models` has no `exchanges`"),
        ({}, "`models` has no `exchanges`"),
        ({"exchanges": {}}, "`models` has no `exchanges`"),
        ({"exchanges": [], "chosen": []}, "`chosen` or `tools` that is not an object"),
        ({"exchanges": [_GOOD, 4]}, "exchange 1 of `models` has no `request`"),
        ({"exchanges": [{**_GOOD, "request": {}}]}, "exchange 0 of `models` has no `request` with a `model`"),
        ({"exchanges": [{**_GOOD, "duration_ms": "x"}]}, "has no `duration_ms`"),
        ({"exchanges": [{**_GOOD, "answer": {}}]}, "has no `answer` of a model"),
    ],
)
def test_a_tape_whose_models_are_not_as_they_should_be_is_no_cassette(tmp_path: Path, section, words):
    path = tmp_path / "tape.json"
    path.write_text(json.dumps({"schema_version": "mcptest.cassette/v1", "servers": {}, "models": section}))
    with pytest.raises(UsageError) as refused:
        read_cassette(path)
    assert words in refused.value.message


@pytest.mark.parametrize("answer", [{"text": 4}, {"uses": [4]}, {"uses": [{"id": 1, "name": 2}]}, {"tokens_in": "x"}])
def test_an_answer_on_a_tape_that_is_none_is_told_when_it_is_its_turn(answer):
    section = {"exchanges": [{**_GOOD, "request": {"model": CLAUDE}, "answer": {**_GOOD["answer"], **answer}}]}
    request = {"model": CLAUDE, "turns": [{"role": "user", "text": "how warm is it?"}], "max_tokens": 4096}
    section["exchanges"][0]["request"] = request
    wrong = replayed(section, question())
    assert wrong.fault is ModelFault.NOT_RECORDED


# --- the command


SUITE = """\
servers: { mock: { command: [mcptest, mock, --preset, demo] } }
agents:
  - name: it asks for the weather
    server: mock
    system_prompt: be brief
    prompt: How warm is it in Oslo?
    expect: [{ target: tool_names, matcher: { contains: get_weather } }]
"""


@pytest.fixture(scope="module")
def tape(model_endpoint, mcptest_command, tmp_path_factory):
    """A run on tape, once for the module: its record, and its cassette."""
    folder = tmp_path_factory.mktemp("taped")
    (folder / ".mcptest").mkdir()
    (folder / "mcptest.yml").write_text(SUITE)
    model_endpoint.reset()
    model_endpoint.answers(Reply(uses=[Use("get_weather", {"city": "Oslo"})]), "19 degrees")
    environ = {**os.environ, **model_endpoint.openai, "MCPTEST_MODEL": GPT}
    run = subprocess.run(
        [mcptest_command, "run", "--record", "tape", "--reporter", "json"],
        cwd=folder,
        env=environ,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=True,
    )
    assert len(model_endpoint.questions) == 2
    return json.loads(run.stdout), (folder / ".mcptest" / "cassettes" / "tape.json").read_text()


@pytest.fixture
def taped(tape, tmp_path):
    """The same suite and its cassette, without key or endpoint; gives the record of the run that was recorded."""
    (tmp_path / "mcptest.yml").write_text(SUITE)
    folder = tmp_path / ".mcptest" / "cassettes"
    folder.mkdir(parents=True)
    (folder / "tape.json").write_text(tape[1])
    return tape[0]


def test_an_agent_is_recorded_once_and_replayed_without_key_or_network(mcptest, models, tmp_path, taped):
    run = mcptest("run", "--replay", "tape", "--reporter", "json")
    assert run.returncode == 0
    (before,), (after,) = taped["tests"], json.loads(run.stdout)["tests"]
    assert after["trace"]["final_response"] == before["trace"]["final_response"] == "19 degrees"
    assert after["trace"]["tool_names"] == ["get_weather"]
    assert (after["cost_usd"], after["tokens"]) == (before["cost_usd"], before["tokens"]) == (0.0011, 240)
    assert models.questions == []
    assert OPENAI_KEY not in (tmp_path / ".mcptest" / "cassettes" / "tape.json").read_text()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("Oslo?", "Bergen?", "the prompt has changed"),
        ("be brief", "be long", "the system prompt has changed: recorded `be brief`, asked `be long`"),
        ("server: mock", "server: mock\n    model: claude-opus-5-5", "the model id has changed"),
    ],
)
def test_a_suite_that_has_changed_is_not_replayed(mcptest, tmp_path, taped, old, new, words):
    suite = tmp_path / "mcptest.yml"
    suite.write_text(SUITE.replace(old, new))
    run = mcptest("run", "--replay", "tape")
    assert run.returncode == 1
    assert words in run.stdout


def test_a_tape_with_models_still_stands_in_for_its_server(mcptest, taped):
    run = mcptest("call", "get_weather", "--args", '{"city": "Oslo"}', "--command", "mcptest serve --cassette tape")
    assert (run.returncode, "Oslo" in run.stdout) == (0, True), run.stderr


SECRETS = """\
servers: { mock: { command: [mcptest, mock, --preset, demo] } }
agents:
  - name: it repeats what it was told
    server: mock
    prompt: What is the commit at ${env.PLACE}?
    expect:
      - { target: "tool_calls[0].args.text", matcher: { regex: "^[0-9a-f]{40}$" } }
      - { target: final_response, matcher: { regex: "^[0-9a-f]{40}, not [0-9a-f]{40}, at " } }
      - { target: final_response, matcher: { contains: ", at ${env.PLACE}" } }
      - { target: final_response, transform: { jq: "split(\\", not \\") | .[0] == .[1][:40]" }, matcher: { exact: false } }
"""


@pytest.mark.parametrize("place", ["a-shop-in-town", "another-shop"])
def test_an_answer_with_secrets_is_judged_again_as_it_was(mcptest, model_endpoint, tmp_path, place):
    """Each secret has a value of its shape in its place, and a variable the value that it has now."""
    sha, other = "9d1c7e" + ("4f2a" * 10)[6:], "1d1c7e" + ("4f2a" * 10)[6:]
    (tmp_path / "mcptest.yml").write_text(SECRETS)
    model_endpoint.reset()
    says = f"{sha}, not {other}, at a-shop-in-town"
    model_endpoint.answers(Reply(uses=[Use("echo", {"text": sha})]), says)
    environ = {**model_endpoint.openai, "MCPTEST_MODEL": GPT, "PLACE": "a-shop-in-town"}
    live = mcptest("run", "--record", "tape", **environ)
    assert live.returncode == 0, live.stdout
    tape = (tmp_path / ".mcptest" / "cassettes" / "tape.json").read_text()
    assert [secret for secret in (sha, other, "a-shop-in-town") if secret in tape] == []
    again = mcptest("run", "--replay", "tape", PLACE=place)
    assert again.returncode == 0, again.stdout

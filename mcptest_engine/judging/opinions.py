"""What models answered about values in one test, and which questions are open. Pure: whoever runs the test asks the models.

A test is judged as often as it takes: each time the `llm-judge` matchers that nothing else decides note what they want to know,
and the next time they find it here. Everything is kept and asked over redacted values: a provider is told no secret.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.costs import added_up
from mcptest_engine.judging.matchers import Undecided

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcptest_engine.core.json_types import JsonMapping


class Question(NamedTuple):
    """What is to be asked: the matcher's argument, and the value as text."""

    key: str
    argument: JsonMapping
    text: str


class Answer(NamedTuple):
    """The answer of a model. `passed` is None without a verdict, and `words` say why; `judgement` is for the record.

    `deferred` says why no model could be asked; None if one was.
    """

    passed: bool | None
    words: str
    judgement: JsonMapping | None = None
    deferred: str | None = None


class Opinions:
    """The opinions that one test needs. `waiting` holds the questions without an answer, in their order."""

    def __init__(self, redact: Callable[[object], Any]) -> None:
        self._redact = redact
        self._answers: dict[str, Answer] = {}
        self._used: dict[str, Answer] = {}
        self._paid: set[str] = set()
        self.waiting: dict[str, Question] = {}

    def begin(self) -> None:
        """Forget which answers were used: the assertions of the test are judged again."""
        self._used.clear()
        self._paid.clear()

    def of(self, argument: Mapping[str, object], value: object) -> Opinion:
        """The answer about a value. Raises: Undecided without an answer; a new question is added to those that wait."""
        told, shown = self._redact(argument), self._redact(value)
        key = json.dumps([told, shown], sort_keys=True)
        answer = self._answers.get(key)
        if answer is None:
            text = shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False)
            self.waiting.setdefault(key, Question(key, told, text))
            raise Undecided("not judged yet")
        self._used[key] = answer
        if answer.passed is None:
            raise Undecided(answer.words, deferred=answer.deferred)
        return Opinion(answer.passed, answer.words)

    def answer(self, question: Question, answer: Answer) -> None:
        """Store the answer of a model to a waiting question."""
        self.waiting.pop(question.key, None)
        self._answers[question.key] = answer

    def paid(self) -> list[JsonMapping]:
        """The costs of all answers so far, as rows of models."""
        judgements = (answer.judgement for answer in self._answers.values() if answer.judgement is not None)
        return [row for judgement in judgements for row in judgement.get("models", ())]

    def used(self) -> JsonMapping | None:
        """The answers that were used since the last time: one judgement, with the costs of all.

        It is one that fails the value or has no verdict, if there is one. The first assertion that uses an answer has its cost.
        """
        told = sorted(self._used.items(), key=lambda one: one[1].passed is True)
        self._used.clear()
        judgements = [answer.judgement for _, answer in told if answer.judgement is not None]
        if not judgements:
            return None
        models = [
            row
            for key, answer in told
            if answer.judgement is not None and key not in self._paid
            for row in answer.judgement.get("models", ())
        ]
        self._paid.update(key for key, _ in told)
        return {**judgements[0], "models": added_up(models)}


class Opinion(NamedTuple):
    """A verdict of a model, and its reason."""

    passed: bool
    words: str

"""What models said of values in one test, and what is still to be asked. Pure: whoever runs the test does the asking.

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


class Question(NamedTuple):
    """What is to be asked: the matcher's argument, and the value as text."""

    key: str
    argument: Mapping[str, Any]
    text: str


class Said(NamedTuple):
    """What a model said. `passed` is None where it came to no verdict, and `words` say why; `judgement` is for the record.

    `deferred` says why no model could be asked, None where one was.
    """

    passed: bool | None
    words: str
    judgement: Mapping[str, Any] | None = None
    deferred: str | None = None


class Opinions:
    """The opinions that one test asks for. `waiting` holds what nobody has answered yet, in the order in which it came up."""

    def __init__(self, redact: Callable[[Any], Any]) -> None:
        self._redact = redact
        self._said: dict[str, Said] = {}
        self._used: dict[str, Said] = {}
        self._paid: set[str] = set()
        self.waiting: dict[str, Question] = {}

    def begin(self) -> None:
        """The assertions of the test are judged, once more perhaps."""
        self._used.clear()
        self._paid.clear()

    def of(self, argument: Mapping[str, object], value: object) -> Opinion:
        """What was said of a value. Raises: Undecided, with the question put among those that wait where it is new."""
        told, shown = self._redact(argument), self._redact(value)
        key = json.dumps([told, shown], sort_keys=True)
        said = self._said.get(key)
        if said is None:
            text = shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False)
            self.waiting.setdefault(key, Question(key, told, text))
            raise Undecided("not judged yet")
        self._used[key] = said
        if said.passed is None:
            raise Undecided(said.words, deferred=said.deferred)
        return Opinion(said.passed, said.words)

    def answer(self, question: Question, said: Said) -> None:
        """Take down what was said."""
        self.waiting.pop(question.key, None)
        self._said[question.key] = said

    def paid(self) -> list[Mapping[str, Any]]:
        """The rows of models of all that was said so far."""
        judgements = (said.judgement for said in self._said.values() if said.judgement is not None)
        return [row for judgement in judgements for row in judgement.get("models", ())]

    def used(self) -> Mapping[str, Any] | None:
        """What was said of the values that were looked at since the last time: one judgement, with the costs of all.

        One that is against the value, or came to no verdict, comes before the others. What an opinion cost stands in the first
        assertion that goes by it.
        """
        told = sorted(self._used.items(), key=lambda one: one[1].passed is True)
        self._used.clear()
        judgements = [said.judgement for _, said in told if said.judgement is not None]
        if not judgements:
            return None
        models = [
            row
            for key, said in told
            if said.judgement is not None and key not in self._paid
            for row in said.judgement.get("models", ())
        ]
        self._paid.update(key for key, _ in told)
        return {**judgements[0], "models": added_up(models)}


class Opinion(NamedTuple):
    """A verdict of a model, and its words for a reason."""

    passed: bool
    words: str

"""The cases of one run whose arguments are made up: what its other results say of theirs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.enums import ExpectedOutcome
from mcptest_engine.core.results import Verdict
from mcptest_engine.judging.answer_text import call_error_text
from mcptest_engine.running.calling import call_of
from mcptest_engine.running.guesses import explain, list_tools, returned, same_error
from mcptest_engine.running.verdicts import doubted_outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mcptest_engine.core.results import TestResult
    from mcptest_engine.running.attempts import Decision
    from mcptest_engine.running.cases import Case
    from mcptest_engine.running.pool import Pool


class GuessedCases:
    """Doubts refusals of invalid arguments, and explains those of guesses. `errors` are those of valid calls so far."""

    def __init__(
        self,
        cases: Sequence[Case],
        errors: Mapping[tuple[str, str, str], set[str]],
        redact: Callable[[Any], Any],
    ) -> None:
        self._cases, self._errors, self._redact = cases, errors, redact
        self._valid: dict[tuple[str, str, str], list[int]] = {}
        for place, case in enumerate(cases):
            if case.outcome is ExpectedOutcome.SUCCESS:
                self._valid.setdefault(call_of(case), []).append(place)

    def valid_before(self, place: int) -> list[int]:
        """The earlier cases with the same call as the one at a place that are to succeed."""
        return [earlier for earlier in self._valid.get(call_of(self._cases[place]), ()) if earlier < place]

    def doubt(self, case: Case, decision: Decision) -> Decision:
        """The decision about made-up arguments: a refusal of invalid ones shows nothing where valid ones met the same error."""
        if (
            case.guess is None
            or case.outcome is not ExpectedOutcome.ERROR
            or decision.outcome.verdict is not Verdict.PASS
        ):
            return decision
        told = decision.outcome.output and call_error_text(decision.outcome.output, self._redact)
        doubt = same_error(told, self._errors.get(call_of(case), ())) if told else None
        return decision if doubt is None else decision._replace(outcome=doubted_outcome(decision.outcome, doubt))

    async def explain(
        self,
        results: list[TestResult | None],
        pool: Pool,
        lists: Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]],
    ) -> None:
        """Add to the results of refused guesses what helps a person to give arguments; their servers list their tools."""
        refused = [
            (place, case, result)
            for place, case in enumerate(self._cases)
            if case.guess is not None and (result := results[place]) is not None and result.undecided is not None
        ]
        if not refused:
            return
        tools = await list_tools(pool.session, dict.fromkeys(case.server for _, case, _ in refused), lists)
        done = [result for result in results if result is not None]
        for place, case, result in refused:
            known = tools[case.server]
            told = explain(case, tuple(returned(case.server, done, known)), known, self._redact).to_json()
            if told:
                results[place] = replace(result, guess=told)

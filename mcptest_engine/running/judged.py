"""What the tests of a run share that a model answers or something grades: models, scorers, and the money for both.

A run without such tests imports none of it. Models are opened when the first is needed: a suite whose scorers grade literal
answers has none.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from mcptest_engine.judging.scorers.scorer_runs import Scorers
from mcptest_engine.judging.spending import MAX_COST, CostBudget
from mcptest_engine.running.cases import DEFAULT_MODEL_TIMEOUT_MS
from mcptest_engine.running.extensions import Extension, with_warnings
from mcptest_engine.suite.secrets import inherited_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from mcptest_engine.core.redaction import Redactor
    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.judging.providers.model_calls import ModelCalls
    from mcptest_engine.judging.providers.saved_answers import AnswerCache, Recording, Replay
    from mcptest_engine.running.cases import Plan
    from mcptest_engine.running.judged_rows import RowJudges
    from mcptest_engine.running.settings import RunSettings
    from mcptest_engine.suite.load import LoadedSuite
    from mcptest_engine.workspace.workspace import Workspace

_PER_SUITE = "per_suite_usd_cents"
SUITE_BUDGET = f"budget.{_PER_SUITE}"


class Judged(Extension):
    """The scorers and models of one run. `before` defers tests whose model cannot be asked."""

    def __init__(self, suite: LoadedSuite, settings: RunSettings, workspace: Workspace, redactor: Redactor) -> None:
        self.budget = _budget(suite, settings)
        self.recording: Recording | None = None
        self._suite = suite
        self._settings = settings
        self._workspace = workspace
        self._redactor = redactor
        self.environ = {**suite.lookups, **settings.environ, **suite.env}

    @cached_property
    def scorers(self) -> Scorers:
        """The programs that grade. They are given the whole environment, and may quote of it what they like."""
        for secret in inherited_secrets(self.environ):
            self._redactor.register(secret)
        cache = None
        if self._settings.cache:
            from mcptest_engine.workspace.result_cache import open_cache

            cache = open_cache(self._workspace, "verdicts")
        return Scorers(
            environ=self.environ,
            declared={*self._suite.env, *(self._suite.lookups.keys() - self._settings.environ.keys())},
            redactor=self._redactor,
            budget=self.budget,
            cache=cache,
        )

    @cached_property
    def models(self) -> ModelCalls:
        """The models that answer and judge."""
        from mcptest_engine.judging.providers.model_calls import ModelCalls

        return ModelCalls(
            self._suite.prices,
            self.environ,
            budget=self.budget,
            keep=self._keep(),
            redact=self._redactor.redact_text,
            keep_secret=self._redactor.register,
        )

    def scorer_place(self, name: str) -> str:
        """Where the suite declares a scorer: "mcptest.yml:4"."""
        path, line = self._suite.scorer_places[name]
        return f"{self._workspace.relative(path)}:{line}"

    def _keep(self) -> AnswerCache | Recording | Replay | None:
        """Where answers of models are kept, or come from."""
        settings, redact = self._settings, self._redactor.redact
        if settings.replay is not None:
            from mcptest_engine.judging.providers.saved_answers import Replay
            from mcptest_engine.running.cassettes import restore_values_in_answers
            from mcptest_engine.workspace.cassettes import open_cassette

            cassette = open_cassette(self._workspace, settings.replay)
            stand_ins = cassette.get("stand_ins", ())
            section = restore_values_in_answers(cassette.get("models"), stand_ins, self._suite, self._redactor)
            return Replay(section, name=settings.replay, redact=redact)
        if settings.record is not None:
            from mcptest_engine.judging.providers.saved_answers import Recording

            self.recording = Recording()
            return self.recording
        if settings.cache:
            from mcptest_engine.judging.providers.saved_answers import AnswerCache

            return AnswerCache(self._workspace, redact)
        return None

    async def aclose(self) -> None:
        """End what models are still asked, and close their connections."""
        if "models" in self.__dict__:
            await self.models.close()

    @cached_property
    def row_judges(self) -> RowJudges:
        """Who decides the assertions that a model is to decide."""
        from mcptest_engine.running.judged_rows import RowJudges

        own_ms = self._suite.run_options.get("model_timeout_ms", DEFAULT_MODEL_TIMEOUT_MS)
        return RowJudges(self.models, self._suite.judge, own_ms / 1000)

    def before(self, plan: Plan) -> Plan:
        """Defer each test that begins with a model which cannot be asked, and what is judged of such a test. Asks nobody.

        An eval whose judge cannot be asked is deferred as well: its answer would be got for nobody, whatever that changes or
        costs.
        """
        reasons: dict[str, str] = {}
        for case in plan.cases:
            reason = case.body.deferral_reason(self.models) if case.kind.may_ask_models else None
            if reason is None and case.subject is not None:
                reason = reasons.get(case.subject)
            if reason is not None:
                reasons[case.id] = reason
        if not reasons:
            return plan
        deferred = (case._replace(deferred=reasons[case.id]) if case.id in reasons else case for case in plan.cases)
        return plan._replace(cases=tuple(deferred))

    def recorded_answers(self) -> Mapping[str, Any] | None:
        """What models answered, for the cassette that is recorded; None where none is, or no model was opened."""
        return None if self.recording is None else self.recording.section()

    def finish(self, record: RunRecord) -> RunRecord:
        """Close the scorers, and add what was not as it should be, and what kept the run from judging all of it."""
        return with_warnings(record, self._settle())

    def _settle(self) -> Iterator[str]:
        if "scorers" in self.__dict__:
            self.scorers.close()
            yield from self.scorers.warnings
        if "models" in self.__dict__:
            yield from self.models.settle()
            if self._settings.replay is not None and self._settings.max_cost_usd is not None:
                yield f"a replay asks no model, so `{MAX_COST}` limits only scorers"
        if self.budget.overrun is not None:
            yield self.budget.overrun
        for name, (cost, most) in sorted(self.budget.exceeded.items()):
            yield f"a call of {name} cost {cost:g} USD, which is more than the {most:g} USD reserved for it"
        if self.budget.unpriced:
            yield self._unpriced()

    def _unpriced(self) -> str:
        count = self.budget.unpriced
        calls = f"{count} call{'s' if count > 1 else ''} of models"
        held = (
            "no total includes it"
            if self.budget.cap_usd is None
            else f"no total includes it, and `{self.budget.cap_name}` does not limit it"
        )
        return f"the price of {calls} is not known, so {held}; set it with `prices:` in the suite"


def _budget(suite: LoadedSuite, settings: RunSettings) -> CostBudget:
    """The lower cap of `--max-cost` and the suite's budget holds; a test may put one on the whole suite as well."""
    budgets = (suite.budget, *(entry.data.get("budget", {}) for entry in suite.tests))
    own = min((budget[_PER_SUITE] / 100 for budget in budgets if _PER_SUITE in budget), default=None)
    given = settings.max_cost_usd
    if own is not None and (given is None or own < given):
        return CostBudget(own, cap_name=SUITE_BUDGET)
    return CostBudget(given, cap_name=MAX_COST)

"""The scorers of one run: how many of each run at once, what they cost, and the verdicts that are kept.

A verdict is kept as soon as it is there, since it may have cost money, and never where the scorer's files changed meanwhile.
What is kept is what the record shows: secrets are out of it. An error is never kept.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine import __version__
from mcptest_engine.core.enums import Verdict
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.judging.scorers.exec import grade_by_program, request_bytes
from mcptest_engine.judging.scorers.values import ScorerError, ScorerFault, ScorerVerdict
from mcptest_engine.judging.scorers.verdicts import VERDICTS, is_cost, is_score
from mcptest_engine.judging.scorers.versions import scorer_version
from mcptest_engine.judging.single_flight import SingleFlight
from mcptest_engine.judging.spending import Payer

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from mcptest_engine.core.redaction import Redactor
    from mcptest_engine.judging.scorers.values import Scorer
    from mcptest_engine.judging.spending import CostBudget
    from mcptest_engine.workspace.result_cache import ResultCache


_NOT_STARTED = (ScorerFault.SPAWN, ScorerFault.UNKNOWN_TYPE)


def payer_of(scorer: Scorer) -> Payer:
    """A scorer as the budget knows it."""
    return Payer(f"scorer `{one_line(scorer.name, 80)}`", scorer.max_cost_usd)


class Graded(NamedTuple):
    """A verdict; `kept`: nobody was asked, since the same was asked before."""

    verdict: ScorerVerdict
    kept: bool = False


class Scorers:
    """Asks the scorers of a run. `environ` is the environment they are started with, `declared` the names in it that the suite
    sets; `cache` None keeps nothing, and with a cache equal requests at the same time start one program.

    `warnings` are for the record.
    """

    def __init__(
        self,
        *,
        environ: Mapping[str, str],
        redactor: Redactor,
        budget: CostBudget,
        declared: Collection[str] = (),
        cache: ResultCache | None = None,
    ) -> None:
        self.warnings: list[str] = []
        self._environ = environ
        self._declared = declared
        self._redactor = redactor
        self._budget = budget
        self._cache = cache
        self._versions: dict[str, str] = {}
        self._limits: dict[str, asyncio.Semaphore] = {}
        self._flights: SingleFlight[Graded] = SingleFlight()

    async def grade(
        self, scorer: Scorer, *, prompt: str, output: str, criteria: str, metadata: Mapping[str, object]
    ) -> Graded:
        """What a scorer says of `output`. Raises: ScorerError; Capped, when nothing more may be spent."""
        request = request_bytes(prompt=prompt, output=output, criteria=criteria, metadata=metadata)
        if self._cache is None:
            return Graded(await self._run_scorer(scorer, request))
        version = self._version(scorer)
        key = _verdict_key(scorer, version, request)
        if key in self._flights:
            self._budget.give_back()
        graded, first = await self._flights.join(key, lambda: self._looked_up(scorer, request, version, key))
        return graded if first else graded._replace(kept=True)

    async def _looked_up(self, scorer: Scorer, request: bytes, version: str, key: str) -> Graded:
        """The stored verdict, or a new one, which is stored."""
        stored = self._find(key)
        if stored is not None:
            return Graded(stored, kept=True)
        said = await self._run_scorer(scorer, request)
        if scorer_version(scorer, self._environ, self._declared) == version:
            self._keep(key, scorer, said)
        return Graded(said)

    async def _run_scorer(self, scorer: Scorer, request: bytes) -> ScorerVerdict:
        """The verdict of a program that is started now. Secrets are out of it."""
        async with self._budget.reserve(payer_of(scorer)) as call, self._limit(scorer):
            try:
                said = await grade_by_program(scorer, request, environ=self._environ, redact=self._redactor.redact_text)
            except ScorerError as wrong:
                if wrong.fault in _NOT_STARTED:
                    call.cancel()
                raise
            call.charge(said.cost_usd)
        redact = self._redactor.redact
        return said._replace(reasoning=redact(said.reasoning), extra=redact(said.extra))

    def _version(self, scorer: Scorer) -> str:
        """As it was when it was first needed: whoever is graded later is looked up under the same."""
        if scorer.name not in self._versions:
            self._versions[scorer.name] = scorer_version(scorer, self._environ, self._declared)
        return self._versions[scorer.name]

    def close(self) -> None:
        """What is to be done once nothing more is graded."""
        if self._cache is None:
            return
        self._cache.close()
        if self._cache.damaged:
            self.warnings.append(
                f"{self._cache.damaged} saved verdicts could not be read, so these answers were graded again"
            )

    def _limit(self, scorer: Scorer) -> Any:
        if scorer.concurrency is None:
            return nullcontext()
        if scorer.name not in self._limits:
            self._limits[scorer.name] = asyncio.Semaphore(scorer.concurrency)
        return self._limits[scorer.name]

    def _find(self, key: str) -> ScorerVerdict | None:
        assert self._cache is not None
        entry = self._cache.get(key)
        return None if entry is None else _read_verdict(entry.get("verdict"))

    def _keep(self, key: str, scorer: Scorer, said: ScorerVerdict) -> None:
        assert self._cache is not None
        try:
            data = self._cache.encode(key, {"scorer": scorer.name, "verdict": said._asdict()})
            if data is not None:
                self._cache.put(key, data)
        except OSError as wrong:
            warning = f"verdicts of scorers were not saved: {wrong.strerror or wrong}"
            if warning not in self.warnings:
                self.warnings.append(warning)


def _verdict_key(scorer: Scorer, version: str, request: bytes) -> str:
    parts = json.dumps([__version__, scorer.name, version]).encode()
    return hashlib.sha256(parts + b"\n" + request).hexdigest()


def _read_verdict(data: object) -> ScorerVerdict | None:
    """Read a stored verdict by the rules of one that a scorer printed; anything else counts as none."""
    try:
        said: Any = ScorerVerdict(**data)._replace(verdict=Verdict(data["verdict"]))  # type: ignore[arg-type,index]
    except (TypeError, ValueError, KeyError):
        return None
    sound = said.verdict in VERDICTS and isinstance(said.reasoning, str) and isinstance(said.extra, dict)
    scored = said.verdict is Verdict.INCONCLUSIVE if said.score is None else is_score(said.score)
    return said if sound and scored and is_cost(said.cost_usd) else None

"""What the servers of a run offer, and how much of that its tests have exercised: the run's coverage, with its floors.

Servers are asked for their lists only where the suite has a `coverage` block and all of its tests run, or one shard of them;
then once, when the last test is over. Otherwise the coverage is that of the lists that the run has read anyway, to check what
tests call, or that its own tests have asked for.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.coverage import DIMENSIONS, SHARDED, TOLD_AS, Dimension, short_lines
from mcptest_engine.core.errors import ServerError
from mcptest_engine.core.values import dataclass
from mcptest_engine.running.coverage import ServerLists, coverage_of, lists_of_tests
from mcptest_engine.running.extensions import Extension

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcptest_engine.core.results import TestResult
    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.running.cases import Plan
    from mcptest_engine.running.pool import Pool

LISTING_SECONDS = 60.0
_OFFERED = frozenset({"tools", "resources", "prompts"})
_UNASKED = ServerLists(tools=None, resources=None, prompts=None)


def coverage_extension_for(
    plan: Plan, floors: Mapping[str, float] | None, servers: Sequence[str], shard: tuple[int, int] | None, pool: Pool
) -> CoverageExtension:
    """The coverage of a run. `servers` are all of the suite's."""
    whole = plan.selected == plan.declared
    if floors is None or not whole or not plan.cases:
        note = None
        if floors and not whole and plan.cases:
            note = (
                f"{TOLD_AS}its floors are not checked, because {plan.selected} of {plan.declared} tests were selected"
            )
        return CoverageExtension(pool=pool, servers=tuple(servers), note=note)
    split = shard is not None and shard[1] > 1
    note = SHARDED if floors and split else None
    return CoverageExtension(pool=pool, servers=tuple(servers), floors=floors, asks=True, judges=not split, note=note)


@dataclass(slots=True, kw_only=True)
class CoverageExtension(Extension):
    """Looks at the servers of one run. `judges` is false where floors are for somebody else to judge."""

    pool: Pool
    servers: tuple[str, ...]
    floors: Mapping[str, float] | None = None
    asks: bool = False
    judges: bool = False
    note: str | None = None
    _offered: dict[str, ServerLists] | None = None
    _unknown: str | None = None

    async def look(self, known: Mapping[str, Mapping[str, Sequence[Mapping[str, object]]]]) -> None:
        """Ask every server for its lists, but for those that the run has read: by server, then "tools" or "prompts".

        A server that does not give them leaves a floor unreached, and ends nothing.
        """
        if not self.asks:
            offered = {
                name: ServerLists(tools=lists["tools"], resources=None, prompts=lists.get("prompts"))
                for name, lists in known.items()
                if "tools" in lists
            }
            self._offered = offered or None
            return
        found = await asyncio.gather(*(self._read_lists(name, known.get(name, {})) for name in self.servers))
        self._offered = dict(zip(self.servers, found, strict=True))

    def finish(self, record: RunRecord) -> RunRecord:
        """The record with its coverage, as far as that is known."""
        rows = () if record.interrupted else self._rows(record)
        notes = [] if self.note is None else [self.note]
        if self.floors and self.judges and not rows and not record.interrupted:
            notes.append(f"{TOLD_AS}its floors are not checked, because no test was started")
        idle = (row for row in rows if row.name in _OFFERED and row.floor and not row.total and row.unknown is None)
        notes += (
            f"{TOLD_AS}the servers offer no {row.name}, so the floor of {row.floor:g} % has no effect" for row in idle
        )
        return replace(
            record, coverage=rows, coverage_notes=(*short_lines(rows), *notes), warnings=(*record.warnings, *notes)
        )

    async def _read_lists(self, name: str, known: Mapping[str, Sequence[Mapping[str, object]]]) -> ServerLists:
        from mcptest_engine.servers.catalog import read_catalog

        try:
            async with asyncio.timeout(LISTING_SECONDS):
                catalog = await read_catalog(await self.pool.session(name), known=known)
        except ServerError as error:
            self._unknown = self._unknown or self.pool.redactor.redact_text(error.message)
            return _UNASKED
        except TimeoutError:
            self._unknown = (
                self._unknown or f'server "{name}" did not answer the list requests within {LISTING_SECONDS:g} s'
            )
            return _UNASKED
        if catalog.errors:
            self._unknown = self._unknown or self.pool.redactor.redact_text(next(iter(catalog.errors.values())))
        return ServerLists.of(catalog)

    def _rows(self, record: RunRecord) -> tuple[Dimension, ...]:
        if self.asks and self._offered is None:
            return ()  # `beforeAll` let no test begin
        offered = self._offered
        if offered is None:
            offered = lists_of_tests(map(_request_facts, record.tests))
        if not self.asks and (not offered or any(server.name not in offered for server in record.servers)):
            return ()
        redact, several = self.pool.redactor.redact_text, len(self.servers) > 1
        rows = {
            row.name: row
            for row in coverage_of(offered, map(_request_facts, record.tests), redact=redact, several=several)
        }
        for name, floor in (self.floors or {}).items():
            row = rows.get(name) or Dimension(name=name, unknown=self._unknown or "its lists are unknown")
            rows[name] = replace(row, floor=floor, judged=self.judges)
        return tuple(rows[name] for name in DIMENSIONS if name in rows)


def _request_facts(test: TestResult) -> Mapping[str, Any]:
    """A test's requests and their answers, as they stand in the record; of a plain success only that it was one."""
    request, plain = test.request, False
    if request is not None and request.get("method") == "tools/call":
        for row in reversed(test.assertions):
            if row.implicit == "outcome":
                plain = row.actual == "success"
                break
    asked: dict[str, Any] = {
        "name": test.name,
        "kind": test.kind,
        "server": test.server,
        "verdict": test.verdict,
        "strength": test.strength,
        "request": request,
        "output": {"result": {}} if plain else test.output,  # reading each answer takes far longer
        "trace": test.trace,
        "trials": test.trials,
    }
    if verify := test.verify:
        asked["verify"] = [
            {"server": step.server, "verdict": step.verdict.value, "request": step.request, "output": step.output}
            for step in verify
        ]
    return asked

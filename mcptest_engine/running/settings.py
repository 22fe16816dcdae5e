"""What whoever starts a run may ask for.

Named tuples, because a frozen dataclass takes about a millisecond to define, and this is imported before a server is started.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.environment import is_ci

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mcptest_engine.core.enums import Verdict
    from mcptest_engine.running.cost_gate import CostGate
    from mcptest_engine.safety.execution_policy import ExecutionPolicy


class Selection(NamedTuple):
    """Which of a suite's tests a run takes; every condition given must hold.

    `filter` is a whole name, a part of one, or `re:` and a regular expression. `shard` is (i, n), counted from 1. `ids` are
    those of the tests to run, such as what `--last-failed` found; None means all. `rows` are names of compositions' cases: of
    no other tests then. `judged`: only what a scorer or a model grades, and what that is graded of. `dealt`: tests go to the
    shards in turn, so that all are of one size; without it a test stays in its shard whatever other tests there are.
    """

    filter: str | None = None
    tags: frozenset[str] = frozenset()
    skip_tags: frozenset[str] = frozenset()
    servers: frozenset[str] = frozenset()
    shard: tuple[int, int] | None = None
    ids: frozenset[str] | None = None
    rows: frozenset[str] = frozenset()
    judged: bool = False
    dealt: bool = False

    @property
    def takes_all(self) -> bool:
        """True when nothing narrows the run, so that every server that the suite uses will be needed."""
        return self == Selection()


class RunSettings(NamedTuple):
    """What whoever starts a run may ask for; None leaves it to the suite.

    `flags` are the words of the command line that a `repro` line must repeat. `server_command` replaces the command of every
    server. `interactive` lets a missing snapshot be written; `ci` forbids it. `run_id` is a ULID for the run, one of its own
    when None. `record` and `replay` name a cassette: to be written by this run, or to answer in the servers' place.
    `requested_by` is what the record says of who asked for the run, where that is an agent of the MCP server; `earlier_runs`
    are the ids of the runs of the same suite in its session.
    `cache`: results are replayed from `cache_dir`, None for the workspace's own, and kept there.
    `cost_gate` is what the run's costs are held against. `models` are asked in place of those that agent tests name;
    `max_cost_usd` is what models and scorers may cost in all, beyond which nothing more is asked (exit code 5).
    `fail_on` holds the verdicts that fail the run besides "fail". `strict`: unknown arguments and servers that
    misbehave beside their answers fail too.
    `policy` holds for every tool call of a run that no person asked for test by test; a test whose call it refuses is skipped.
    """

    selection: Selection = Selection()
    workers: int | None = None
    retries: int | None = None
    repeat: int = 1
    bail: int | None = None
    server_command: tuple[str, ...] | None = None
    protocol: str | None = None
    wait_for_ready_seconds: float | None = None
    update_snapshots: bool = False
    interactive: bool = False
    environ: Mapping[str, str] = os.environ
    flags: tuple[str, ...] = ()
    run_id: str | None = None
    record: str | None = None
    replay: str | None = None
    requested_by: Mapping[str, Any] | None = None
    earlier_runs: tuple[str, ...] = ()
    cache: bool = False
    cache_dir: Path | None = None
    cost_gate: CostGate | None = None
    models: tuple[str, ...] = ()
    max_cost_usd: float | None = None
    policy: ExecutionPolicy | None = None
    fail_on: tuple[Verdict, ...] = ()
    strict: bool = False

    @property
    def mode(self) -> str:
        """How the servers were reached, as the record tells it."""
        return "recorded" if self.record is not None else "replayed" if self.replay is not None else "live"

    @property
    def ci(self) -> bool:
        """Whether this runs under CI."""
        return is_ci(self.environ)

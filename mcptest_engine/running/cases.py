"""A case: one test, ready to run, holding all it needs.

Cases are plain data. Filters, shards, repeats and other executors only change the list of cases or who runs them; a server
is named here and described elsewhere, so that a case can travel without secrets. Named tuples, because a large suite makes
thousands, and a frozen dataclass of so many fields takes four times as long to make.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest_engine.core.results import TestKind


class Case(NamedTuple):
    """One test to run.

    `id` is `suite-path::kind::full name`, with ` #2` for a repeat of the same; `method` and `params` are what goes on the
    wire; `expect` is the mapping form of the suite's `expect`. `skip` is the reason for not running it, or None. A serial
    case runs alone: earlier ones finish first, later ones follow. One that is `slow_to_judge` runs jq programs.
    `base_name` is what snapshots go by where it is not the name: without the number of a repeat, with that of a namesake.
    """

    id: str
    name: str
    kind: TestKind
    server: str
    method: str
    params: Mapping[str, Any] | None
    expect: Mapping[str, Any]
    timeout_seconds: float
    file: str
    line: int
    tool: str | None = None
    retries: int = 0
    serial: bool = False
    slow_to_judge: bool = False
    only: bool = False
    skip: str | None = None
    tags: tuple[str, ...] = ()
    description: str | None = None
    base_name: str | None = None


class Plan(NamedTuple):
    """The cases of a run in declared order; of `declared` ones, `selected` were chosen before sharding and repeating."""

    cases: tuple[Case, ...]
    declared: int
    selected: int
    workers: int
    bail: int | None = None
    restart: bool = True
    warnings: tuple[str, ...] = ()

"""A mutation run from a loaded suite to its figures: what the command line and the MCP server share."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.authoring.observing import Secrets
from mcptest_engine.core.errors import UsageError, did_you_mean
from mcptest_engine.judging.snapshots import SnapshotStore
from mcptest_engine.mutation.killing import Killing
from mcptest_engine.mutation.operators import BY_NAME, OPERATORS
from mcptest_engine.mutation.replay import Replay
from mcptest_engine.workspace.slug import slug

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcptest_engine.core.redaction import Redactor
    from mcptest_engine.mutation.operators import Operator
    from mcptest_engine.suite.load import LoadedSuite
    from mcptest_engine.workspace.workspace import Workspace

DEFAULT_BUDGET = 5_000


class Options(NamedTuple):
    """What whoever starts it may ask for. `operators` are names; none of them means all."""

    operators: tuple[str, ...] = ()
    budget: int = DEFAULT_BUDGET
    seed: int = 0


def replay_for(
    suite: LoadedSuite,
    workspace: Workspace,
    options: Options,
    *,
    redactor: Redactor,
    tell: Callable[[int, int], None] = lambda _done, _total: None,
    stop: Callable[[], bool] = lambda: False,
) -> Replay:
    """What judges the mutants of the suite's answers. Raises: UsageError for an operator that there is not."""
    name = os.path.splitext(workspace.relative(suite.path))[0]  # noqa: PTH122
    return Replay(
        snapshots=SnapshotStore(workspace.snapshots_dir / f"{slug(name)}.yml", redact=redactor.redact),
        killing=Killing(Secrets(redactor.redact_text)),
        operators=chosen_operators(options.operators),
        budget=options.budget,
        seed=options.seed,
        tell=tell,
        stop=stop,
    )


def chosen_operators(names: Sequence[str]) -> tuple[Operator, ...]:
    """The operators of these names, in the order of the table; all of them for none. Raises: UsageError."""
    for name in names:
        if name not in BY_NAME:
            raise UsageError(
                f"there is no operator `{name}`", hint=did_you_mean(name, BY_NAME) or f"there are {', '.join(BY_NAME)}"
            )
    return tuple(operator for operator in OPERATORS if not names or operator.name in names)

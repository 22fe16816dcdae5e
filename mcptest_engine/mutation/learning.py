"""What a first run has seen, as proposals: the tests that change nothing run once more, and what held still is proposed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.core.redaction import Redactor
from mcptest_engine.mutation.proposing import INIT, save_proposals
from mcptest_engine.mutation.recording import record_again
from mcptest_engine.mutation.replay import Options, replay_for

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from mcptest_engine.mutation.recording import Observed, Recording
    from mcptest_engine.running.settings import RunSettings
    from mcptest_engine.suite.load import LoadedSuite
    from mcptest_engine.workspace.workspace import Workspace

    Await = Callable[[Coroutine[None, None, Recording | None]], Recording | None]


class Learnt(NamedTuple):
    """How many tests have a proposal, and the share of wrong answers that the suite notices without and with them."""

    proposals: int
    score: float | None
    accepted_score: float | None


def learn_expectations(
    suite: LoadedSuite,
    settings: RunSettings,
    observed: Observed,
    *,
    workspace: Workspace,
    run: Await = asyncio.run,
) -> Learnt | None:
    """Propose for each passed test what its answers showed. None when the second run was interrupted. Raises: OSError."""
    recording = run(record_again(suite, settings, observed, workspace=workspace, emit=lambda _event: None))
    if recording is None:
        return None
    redactor = Redactor(suite.secrets)
    mutated = replay_for(suite, workspace, Options(), redactor=redactor).run(recording)
    saved = save_proposals(workspace, mutated, redactor=redactor, source=INIT)
    return Learnt(saved.tests, mutated.score.share, saved.score)

"""Suites from Python: load one, run one. The record that comes back is the one that every report is made of."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.errors import SuiteError, UsageError
from mcptest_engine.running.settings import RunSettings, Selection
from mcptest_engine.workspace.workspace import find_workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from mcptest_engine.core.events import Emit
    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.suite.load import LoadedSuite
    from mcptest_engine.workspace.workspace import Workspace


class McptestWarning(UserWarning):
    """Something odd that fails nothing: a warning of a suite, of a run, or of a call."""


def load(
    path: str | os.PathLike[str], *, variables: Mapping[str, str] | None = None, strict: bool = False
) -> LoadedSuite:
    """Load a suite and check it. `variables` are those of `--var`; with `strict`, warnings are errors.

    Raises: SuiteError with every problem of the suite.
    """
    from mcptest_engine.suite.load import LoadOptions, check_suite

    file = Path(path)
    options = LoadOptions(
        variables=dict(variables or {}),
        environ=dict(os.environ),
        workspace_root=_workspace_of(file).root,
        allow_outside=file.is_absolute(),
    )
    checked = check_suite(file, options)
    if checked.suite is None or (strict and checked.problems):
        raise SuiteError(checked.problems)
    return checked.suite


def run(suite: str | os.PathLike[str] | LoadedSuite, **options: Any) -> RunRecord:
    """Run a suite and return its record. The options are those of `run_async`.

    Raises: SuiteError for a suite with errors, UsageError for a selection that makes no sense, or where an event loop runs in
    this thread already. Failed tests raise nothing: look at `verdict` and `tests`.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(run_async(suite, **options))
    raise UsageError("an event loop runs in this thread already", hint="use `await mcptest.run_async(…)`")


async def run_async(
    suite: str | os.PathLike[str] | LoadedSuite,
    *,
    filter: str | None = None,  # noqa: A002 - the name of the flag
    tags: Iterable[str] = (),
    skip_tags: Iterable[str] = (),
    servers: Iterable[str] = (),
    variables: Mapping[str, str] | None = None,
    workers: int | None = None,
    retries: int | None = None,
    repeat: int = 1,
    bail: int | None = None,
    strict: bool = False,
    update_snapshots: bool = False,
    save: bool = True,
    on_event: Callable[[Any], None] | None = None,
) -> RunRecord:
    """Run a suite and return its record; the options mean what the flags of `mcptest run` mean.

    `save` keeps the record under `.mcptest/runs`, where `mcptest report` and the workbench find it. `on_event` is called with
    each event of the run as it happens. Raises as `run` does.
    """
    from mcptest_engine.running.launch import launch

    loaded = suite if not isinstance(suite, str | os.PathLike) else load(suite, variables=variables, strict=strict)
    settings = RunSettings(
        selection=Selection(
            filter=filter, tags=frozenset(tags), skip_tags=frozenset(skip_tags), servers=frozenset(servers)
        ),
        workers=workers,
        retries=retries,
        repeat=repeat,
        bail=bail,
        strict=strict,
        update_snapshots=update_snapshots,
    )
    workspace = _workspace_of(loaded.path)
    emit: Emit = (lambda _event: None) if on_event is None else on_event
    record = await launch(loaded, settings, workspace=workspace, emit=emit)
    if save:
        workspace.save_run(record.to_json(streamed=True))
    return record


def _workspace_of(file: Path) -> Workspace:
    return find_workspace(file.absolute().parent)

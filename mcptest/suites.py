"""Suites from Python: load one, run one or several. The returned record is the one that reports are made from."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from pathlib import Path
from reprlib import repr as clipped
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.errors import SuiteError, UsageError
from mcptest_engine.core.text import quoted
from mcptest_engine.running.settings import RunSettings, Selection
from mcptest_engine.workspace.workspace import find_workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcptest_engine.core.errors import Problem
    from mcptest_engine.core.events import Emit
    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.suite.load import LoadedSuite
    from mcptest_engine.workspace.workspace import Workspace

    OneSuite = str | os.PathLike[str] | LoadedSuite


class McptestWarning(UserWarning):
    """An oddity that fails nothing: a warning of a suite, of a run, or of a call."""


class WrongType(UsageError, TypeError):
    """An argument has the wrong type."""


def load(
    path: str | os.PathLike[str], *, variables: Mapping[str, str] | None = None, strict: bool = False
) -> LoadedSuite:
    """Load a suite and check it. `variables` are those of `--var`; with `strict`, warnings are errors. Raises: SuiteError with
    every problem of the suite, UsageError for a variable that is not a text.
    """
    from mcptest_engine.suite.load import LoadOptions, check_suite

    file = Path(path)
    if variables is not None and not isinstance(variables, Mapping):
        raise WrongType(f"`variables` is a mapping, found {clipped(variables)}")
    for name, value in (variables or {}).items():
        if not isinstance(name, str):
            raise WrongType(f"the name of a variable is a text, found {clipped(name)}")
        if not isinstance(value, str):
            raise WrongType(f"the variable `{name}` is a text, found {clipped(value)}", hint=f"write `{str(value)!r}`")
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


def run(suite: OneSuite | Iterable[OneSuite], **options: Any) -> RunRecord:
    """Run suites and return one record. The suites and the options are those of `run_async`.

    Raises: SuiteError for a suite with errors, UsageError for an invalid option, or when an event loop runs in this thread
    already. Failed tests raise nothing: look at `verdict` and `tests`. Ctrl-C raises KeyboardInterrupt when the servers have
    ended.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(run_async(suite, **options))
    raise UsageError("an event loop runs in this thread already", hint="use `await mcptest.run_async(…)`")


async def run_async(
    suite: OneSuite | Iterable[OneSuite],
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
    """Run suites and return one record; the options mean what the flags of `mcptest run` mean.

    `suite` is a loaded suite, a file, a folder or a pattern such as `servers/**/*.yml`, or several of these. The record over
    several suites has one entry for each in `suites`, and in `not_run` for each folder that cannot be read.

    `save` stores the record of each suite under `.mcptest/runs`, where `mcptest report` and the workbench find it. `on_event`
    is called with each event of a run as it happens. Raises as `run` does, before the first test. Cancelling ends the servers
    and raises CancelledError; the record so far is saved, and in the last event.
    """
    from mcptest_engine.reporting.many import ended_suites, invalid_suite, join_records
    from mcptest_engine.running.launch import launch_suites

    if filter is not None and not isinstance(filter, str):
        raise WrongType(f"`filter` is a text, found {clipped(filter)}")
    if on_event is not None and not callable(on_event):
        raise WrongType(f"`on_event` is a function that takes an event, found {clipped(on_event)}")
    for name, number, least in (
        ("workers", workers, 1),
        ("retries", retries, 0),
        ("repeat", repeat, 1),
        ("bail", bail, 1),
    ):
        is_left_out = number is None and name != "repeat"
        if not is_left_out and (type(number) is not int or number < least):
            wrong = UsageError if type(number) is int else WrongType
            raise wrong(f"`{name}` is a whole number of at least {least}, found {number!r}")
    loaded, unread = _load_all(suite, variables, strict=strict)
    settings = RunSettings(
        selection=Selection(
            filter=filter,
            tags=_texts("tags", tags),
            skip_tags=_texts("skip_tags", skip_tags),
            servers=_texts("servers", servers),
        ),
        workers=workers,
        retries=retries,
        repeat=repeat,
        bail=bail,
        strict=strict,
        update_snapshots=update_snapshots,
    )
    chosen = [(loaded[0], settings)]
    workspace = _workspace_of(*(one.path for one in loaded))
    if len(loaded) > 1:
        from mcptest_engine.cli.many import select_all

        chosen = select_all(loaded, settings, workspace, last_failed=False)
    emit: Emit = (lambda _event: None) if on_event is None else on_event
    records: list[RunRecord] = []

    def done(record: RunRecord) -> None:
        records.append(record)
        if save:
            workspace.save_run(record.to_json(streamed=True))

    task = asyncio.current_task()
    cancellations = 0 if task is None else task.cancelling()
    await launch_suites(chosen, workspace=workspace, listen=lambda: nullcontext(emit), done=done)
    if task is not None and task.cancelling() > cancellations:
        raise asyncio.CancelledError  # the run handled it as its end
    not_run = [invalid_suite(path, problems, workspace) for path, problems in unread]
    if len(loaded) == 1 and not not_run:
        return records[0]
    ended = ended_suites((one for one, _ in chosen[len(records) :]), workspace)
    return join_records(records, not_run=[*not_run, *ended])


def _texts(name: str, words: object) -> frozenset[str]:
    if isinstance(words, str):  # a text would be a tag for each letter
        raise WrongType(f"`{name}` is a list, found the text {quoted(words)}", hint=f"write `{name}=[{words!r}]`")
    given = list(words) if isinstance(words, Iterable) else [words]
    texts = [word for word in given if isinstance(word, str)]
    if len(texts) < len(given):
        odd = next(word for word in given if not isinstance(word, str))
        raise WrongType(f"`{name}` is a list of texts, found {clipped(odd)}")
    return frozenset(texts)


def _load_all(
    suite: OneSuite | Iterable[OneSuite], variables: Mapping[str, str] | None, *, strict: bool
) -> tuple[Sequence[LoadedSuite], Sequence[tuple[Path, Sequence[Problem]]]]:
    """The requested suites, without repetition, and the folders among them that cannot be read, each with the reason.

    Raises: SuiteError with the problems of all, UsageError when there is none.
    """
    from mcptest_engine.cli.many import suite_paths
    from mcptest_engine.suite.load import LoadedSuite

    is_one = isinstance(suite, str | bytes | os.PathLike | LoadedSuite) or not isinstance(suite, Iterable)
    given: list[Any] = [suite] if is_one else list(suite)  # type: ignore[arg-type] # narrowed by `is_one`
    for one in given:
        if not isinstance(one, str | os.PathLike | LoadedSuite):
            raise WrongType(f"a suite is a path or a loaded suite, found {clipped(one)}")
    loaded = [one for one in given if isinstance(one, LoadedSuite)]
    names = [os.fspath(one) for one in given if not isinstance(one, LoadedSuite)]
    problems: list[Problem] = []
    unread: list[tuple[Path, Sequence[Problem]]] = []
    for path in suite_paths(names, None) if names else ():
        try:
            loaded.append(load(path, variables=variables, strict=strict))
        except SuiteError as wrong:
            if os.path.isdir(path):  # noqa: PTH112 - never raises
                unread.append((path, wrong.problems))
            else:
                problems.extend(wrong.problems)
    if problems or (unread and not loaded):
        raise SuiteError([*problems, *(problem for _, reasons in unread for problem in reasons)])
    if not loaded:
        raise UsageError("no suite is named", hint="name a file, a folder or a pattern, or pass a loaded suite")
    return loaded, unread


def _workspace_of(*files: Path) -> Workspace:
    """The workspace of a suite; of several, that of the folder that contains them all."""
    return find_workspace(Path(os.path.commonpath([file.absolute().parent for file in files])))

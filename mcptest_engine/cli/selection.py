"""The flags that select tests and models, shared by `run`, `list` and the watch mode."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from mcptest_engine.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypedDict

    from mcptest_engine.running.settings import RunSettings, Selection
    from mcptest_engine.suite.load import LoadedSuite
    from mcptest_engine.workspace.workspace import Workspace

    class SelectionFlags(TypedDict):
        """The flags of `selection_options`."""

        name_filter: str | None
        rows: tuple[str, ...]
        tags: tuple[str, ...]
        skip_tags: tuple[str, ...]
        servers: tuple[str, ...]
        shard: str | None
        last_failed: bool


def selection_options(function: Callable[..., object]) -> Callable[..., object]:
    """The flags that narrow a run, shared by `run` and `list`."""
    options = (
        click.option(
            "--filter",
            "name_filter",
            metavar="TEXT|re:…",
            help="Tests with this name, or with TEXT in their name, or a regex.",
        ),
        click.option(
            "--case", "rows", multiple=True, metavar="NAME", help="Only this case of tests with `cases`; repeatable."
        ),
        click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only tests with this tag (any of several)."),
        click.option("--skip-tag", "skip_tags", multiple=True, metavar="TAG", help="No tests with this tag."),
        click.option("--server", "servers", multiple=True, metavar="NAME", help="Only tests of this server."),
        click.option("--shard", metavar="I/N", help="The I-th of N parts, by a stable hash of each test's id."),
        click.option(
            "--last-failed",
            is_flag=True,
            help="Only tests whose latest result is a failure; all tests if there is none.",
        ),
    )
    for option in reversed(options):
        function = option(function)
    return function


models_option = click.option(
    "--models", metavar="ID,ID", help="Ask these models in place of those that agent tests and evals name."
)


def models_of(text: str | None) -> tuple[str, ...]:
    """The ids in `--models a,b`. Raises: UsageError where one is empty."""
    if text is None:
        return ()
    models = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    if "" in models:
        raise UsageError(f"`--models {text}` has an empty entry", hint="for example: --models gpt-5,claude-sonnet-4-5")
    return models


def selection_of(flags: SelectionFlags) -> Selection:
    """The tests that the flags select. Raises: UsageError for a shard that is not I/N."""
    from mcptest_engine.running.settings import Selection

    return Selection(
        filter=flags["name_filter"],
        tags=frozenset(flags["tags"]),
        skip_tags=frozenset(flags["skip_tags"]),
        servers=frozenset(flags["servers"]),
        rows=frozenset(flags["rows"]),
        shard=_shard(flags["shard"]),
    )


def with_last_failed(settings: RunSettings, suite: LoadedSuite, workspace: Workspace, *, wanted: bool) -> RunSettings:
    """Select the tests of the suite whose latest result is a failure; unchanged when not `wanted`."""
    if not wanted:
        return settings
    ids = failed_tests(suite, workspace)
    if not ids:
        why = "no earlier run of this suite is saved here" if ids is None else "no test failed when it last ran"
        sys.stderr.write(f"{why}: running the whole suite\n")
        return settings
    return settings._replace(selection=settings.selection._replace(ids=ids))


def failed_tests(suite: LoadedSuite, workspace: Workspace) -> frozenset[str] | None:
    """The ids of the tests whose latest result is a failure; None if no run of the suite is saved."""
    from mcptest_engine.core.costs import base_id

    verdicts = workspace.last_verdicts(workspace.relative(suite.path))
    failed = frozenset(base_id(test_id) for test_id, verdict in verdicts.items() if verdict == "fail")
    return failed if verdicts else None


def _shard(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    index, slash, count = text.partition("/")
    if slash and index.isdigit() and count.isdigit() and 1 <= int(index) <= int(count):
        return int(index), int(count)
    raise UsageError(f"`--shard {text}` is not of the form I/N with 1 ≤ I ≤ N", hint="for example: --shard 2/4")

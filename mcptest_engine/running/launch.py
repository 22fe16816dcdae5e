"""From a loaded suite to a record: the one way in for the command line, watch mode, the workbench and the MCP server.

Servers are started first, and what the run itself needs is imported while they start: for an ordinary server that takes
longer than all the importing, so that none of it is waited for.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, assert_never

from mcptest_engine.core.enums import TestKind
from mcptest_engine.running.fresh import fresh_groups, fresh_of
from mcptest_engine.running.pool import Pool
from mcptest_engine.suite.compliance import revision_of
from mcptest_engine.suite.server_checks import ONLY_WITH

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from contextlib import AbstractContextManager

    from mcptest_engine.core.events import Emit
    from mcptest_engine.core.redaction import Redactor
    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.running.cases import AnswerObserver, Case
    from mcptest_engine.running.settings import RunSettings
    from mcptest_engine.running.shared_servers import SharedServers
    from mcptest_engine.servers.session import Session
    from mcptest_engine.servers.spec import ServerSpec
    from mcptest_engine.suite.load import LoadedSuite, TestEntry
    from mcptest_engine.workspace.source import Source
    from mcptest_engine.workspace.workspace import Workspace

    Connect = Callable[[ServerSpec], Awaitable[Session]]
    Heard = Callable[[Callable[[], Redactor], Connect], Connect]

TURNS_TO_SPAWN = 3
SUITES_AHEAD = 4
"""Of so many suites after the one that runs the servers are started."""
URL_ONLY = frozenset({"url", "ready", *ONLY_WITH["url"]})


def server_specs(
    suite: LoadedSuite,
    settings: RunSettings,
    *,
    redact: Callable[[str], str],
    keep_secret: Callable[[str], None],
) -> dict[str, ServerSpec]:
    """How each of the suite's servers is started or reached.

    `redact` takes secrets out of what they are quoted with, `keep_secret` is told those that are got during the run.
    """
    from mcptest_engine.servers.spec import is_http_program, spec_from_settings

    specs = {}
    for name, declared in suite.servers.items():
        server = declared
        if settings.server_command is not None:
            dropped = frozenset[str]() if is_http_program(declared) else URL_ONLY
            kept = {key: value for key, value in declared.items() if key not in dropped}
            server = {**kept, "command": list(settings.server_command)}
        if settings.protocol is not None:
            server = {**server, "protocol": settings.protocol}
        spec = spec_from_settings(
            name,
            server,
            suite_env=suite.env,
            environ=settings.environ,
            lookups=suite.lookups,
            config_dir=suite.path.parent,
            wait_for_ready_seconds=settings.wait_for_ready_seconds,
            run_options=suite.run_options,
            is_strict=settings.strict,
        )
        specs[name] = replace(spec, redact=redact, keep_secret=keep_secret)
    return specs


def open_pool(
    suite: LoadedSuite,
    settings: RunSettings,
    workspace: Workspace | None = None,
    heard: Heard | None = None,
    shared: SharedServers | None = None,
) -> Pool:
    """A pool over the suite's servers, none of them started yet. Recording and replaying need the workspace.

    `heard` makes a `connect` whose sessions somebody listens to, with the run's secrets taken out. `shared` has the servers of
    all suites of the command.
    Raises: UsageError for a cassette that cannot be replayed.
    """
    from mcptest_engine.servers.session import connect

    @cache
    def redactor() -> Redactor:  # made when there is something to redact: its patterns take milliseconds to compile
        from mcptest_engine.core.redaction import Redactor

        return Redactor(suite.secrets)

    specs = server_specs(
        suite,
        settings,
        redact=lambda text: redactor().redact_text(text),
        keep_secret=lambda secret: redactor().register(secret),
    )
    pool = Pool(specs, connect if heard is None else heard(redactor, connect), redactor)
    if settings.policy is not None:
        from mcptest_engine.servers.gate import Gate

        pool.gate = Gate(settings.policy)
    if settings.mode != "live":
        from mcptest_engine.running.cassettes import use_cassette

        use_cassette(pool, suite, settings, workspace)
    elif shared is not None and not suite.hooks:  # which may prepare what a server reads when it starts
        can_share = [spec for spec in specs.values() if not suite.servers[spec.name].get("fresh") and _can_share(spec)]
        pool.shared = shared.join(os.path.relpath(suite.path), can_share, suite.secrets)
    return pool


def _can_share(spec: ServerSpec) -> bool:
    """Not a program that serves HTTP, nor a server whose tokens are got during the run."""
    return spec.oauth is None and (spec.command is None or spec.url is None)


async def launch(
    suite: LoadedSuite,
    settings: RunSettings,
    *,
    workspace: Workspace,
    emit: Emit,
    pool: Pool | None = None,
    observer: AnswerObserver | None = None,
    admit: Callable[[Case], Awaitable[bool]] | None = None,
    source: Source | None = None,
    needed: Sequence[str] | None = None,
) -> RunRecord:
    """Run a suite and return its record, which `emit` gets as well, in the closing `RunFinished`.

    `observer` is given every answer that is judged. With one worker, `admit` decides when each test is begun, and whether.
    `source` is the state of the checkout and `needed` what `needed_servers` gives, where somebody has asked for it already.

    Cancelling the task ends the run early, with its record. Raises UsageError for a selection that makes no sense.
    """
    if pool is None:
        pool = open_pool(suite, settings, workspace)
    pool.emit = emit
    interrupted = False
    try:
        pool.warm(needed_servers(suite, settings, pool) if needed is None else needed)
        try:
            for _ in range(TURNS_TO_SPAWN):
                await asyncio.sleep(0)
        except asyncio.CancelledError:
            interrupted = True  # the report of a run that was cut short here still comes
        from mcptest_engine.running.execution import execute

        return await execute(
            suite,
            settings,
            workspace=workspace,
            emit=emit,
            pool=pool,
            interrupted=interrupted,
            observer=observer,
            admit=admit,
            source=source,
        )
    except BaseException:
        await pool.close()  # a run that came to its end has closed it
        raise


async def launch_suites(
    chosen: Sequence[tuple[LoadedSuite, RunSettings]],
    *,
    workspace: Workspace,
    listen: Callable[[], AbstractContextManager[Emit]],
    done: Callable[[RunRecord], None],
) -> None:
    """Run suites one after another, with servers that are shared where their settings are the same.

    The servers of the next suites start beside the run, unless it keeps to one worker. `listen` gives the listener of a run,
    `done` is given its record. `bail` counts the failures of all suites. Cancelling the task ends the run that is on, and
    begins no other. Raises: SuiteError, UsageError, before anything has run.
    """
    from mcptest_engine.running.shared_servers import SharedServers
    from mcptest_engine.workspace.source import Source

    shared, pools, source = SharedServers(), list[Pool](), None
    begun = ahead = failed = 0
    try:
        for suite, settings in chosen:
            pools.append(open_pool(suite, settings, workspace, shared=shared))
        needed = [needed_servers(*one, pool) for one, pool in zip(chosen, pools, strict=True)]
        commands: set[tuple[str, ...] | None] = {None}
        for (suite, settings), pool in zip(chosen, pools, strict=True):
            own = settings if settings.bail is None else settings._replace(bail=settings.bail - failed)
            with listen() as emit:
                pool.emit = emit
                pool.warm(needed[begun])
                commands.update(spec.command for spec in pool.specs.values())
                if (own.workers or suite.run_options.get("concurrency")) != 1:
                    for later in range(max(begun + 1, ahead), min(begun + 1 + SUITES_AHEAD, len(pools))):
                        _start_ahead(needed[later], pools[later], commands)
                        ahead = later + 1
                source = source or Source(workspace.root)
                begun += 1
                record = await launch(
                    suite, own, workspace=workspace, emit=emit, pool=pool, source=source, needed=needed[begun - 1]
                )
            done(record)
            failed += record.totals.failed
            if record.interrupted or (settings.bail is not None and failed >= settings.bail):
                return
    finally:
        await asyncio.gather(*(pool.close() for pool in pools[begun:]))


def _start_ahead(needed: Sequence[str], pool: Pool, commands: set[tuple[str, ...] | None]) -> None:
    """Begin to start the servers of a suite that comes later, but nothing that may be in the way of what runs.

    That is another process of one of `commands`, which have been started already, or a program that has one port.
    """
    for name in needed:
        spec = pool.specs.get(name)
        if spec is not None and spec.command not in commands and not spec.has_fixed_port:
            commands.add(spec.command)
            pool.warm((name,))


def needed_servers(suite: LoadedSuite, settings: RunSettings, pool: Pool) -> tuple[str, ...]:
    """The sessions that this run is sure to use, before it is planned: all of its tests', unless something narrows it.

    None of them where `beforeAll` comes first: it may make what a server reads when it starts. None with a cache either,
    which may spare every one of them.
    """
    if settings.cache and not suite.hooks:
        return ()
    focused = any(data.get("only") for entry in suite.tests for data in (entry.data, *entry.data.get("cases", ())))
    if not settings.selection.takes_all or focused or suite.hooks.get("beforeAll"):
        return ()
    sure = (entry for entry in suite.tests if not entry.data.get("skip") and _may_run(suite, entry, settings))
    groups = fresh_groups(suite)
    return tuple(dict.fromkeys(name for entry in sure for name in shared_sessions(suite, entry, pool, groups)))


def _may_run(suite: LoadedSuite, entry: TestEntry, settings: RunSettings) -> bool:
    """False for a test that will be deferred, so that no server is started for it. Asks nobody."""
    if not entry.kind.may_ask_models or settings.replay is not None:
        return True
    from mcptest_engine.judging.providers.setup import Setup  # few suites need a model
    from mcptest_engine.running.kinds.eval.plan import JudgedTests

    setup = Setup({**suite.lookups, **settings.environ, **suite.env})
    bodies = JudgedTests(suite).bodies(entry, settings.models)
    return any(body.deferral_reason(setup) is None for body in bodies)


def shared_sessions(suite: LoadedSuite, entry: TestEntry, pool: Pool, groups: frozenset[str]) -> list[str]:
    """The sessions that a test shares with others; one with its own `client` or a fresh process opens it itself.

    `groups` are those that have fresh processes.
    """
    names = _sessions_of(suite, entry, pool)
    return [name for name in names if not fresh_of(entry.data, suite.servers.get(name, {}), groups)]


def _sessions_of(suite: LoadedSuite, entry: TestEntry, pool: Pool) -> list[str]:
    data = entry.data
    match entry.kind:
        case TestKind.TOOL | TestKind.RESOURCE | TestKind.PROMPT:
            own = "client" in data
            steps = [step.get("server", entry.server) for step in data.get("verify", ())]
            return [name for name in ([] if own else [entry.server]) + steps if not own or name != entry.server]
        case TestKind.COMPLIANCE:
            pin = data.get("spec_version")
            return [entry.server if pin is None else pool.pinned(entry.server, revision_of(pin))]
        case TestKind.COMPOSITION:
            called = (node for node in data["nodes"] if "mock" not in node and node.get("freeze") != "golden")
            return [node.get("server", entry.server) for node in called]
        case TestKind.AGENT | TestKind.EVAL:
            from mcptest_engine.running.kinds.eval.plan import JudgedTests

            return [name for body in JudgedTests(suite).bodies(entry) for name in body.servers]
        case _:
            assert_never(entry.kind)

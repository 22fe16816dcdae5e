"""The commands by name: each line of input is one command, which is answered when it is done.

Modules are imported by the first command that needs them, so that `hello` is answered at once. After it, a thread imports the
rest, so that the first run does not wait.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import threading
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from mcptest_engine import __version__
from mcptest_engine.engine_process.processes import Processes
from mcptest_engine.engine_process.protocol import Refused
from mcptest_engine.engine_process.surroundings import Surroundings

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from mcptest_engine.engine_process.agents import Agents
    from mcptest_engine.engine_process.browsing import Browsing
    from mcptest_engine.engine_process.files import Watching
    from mcptest_engine.engine_process.protocol import Output
    from mcptest_engine.engine_process.results import Results
    from mcptest_engine.engine_process.reviewing import Reviewing
    from mcptest_engine.engine_process.runs import Runs
    from mcptest_engine.engine_process.sketching import Sketching
    from mcptest_engine.engine_process.traffic import TrafficLog
    from mcptest_engine.engine_process.workbench_events import CommandFailed, RunningProcess

MOST_HISTORY = 200
SPARE_SECONDS = 600.0
"""How long a spare server waits for a run before it is ended."""


class Service:
    """Carries out commands; `close` ends everything that they started."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._unnumbered: set[asyncio.Task[None]] = set()
        self.processes = Processes(output.send, lambda: self.__dict__.get("runs"))
        self._spare_seconds = SPARE_SECONDS
        self._surroundings = Surroundings()
        self._commands: dict[str, Callable[..., object]] = {
            name.removeprefix("do_"): getattr(self, name) for name in dir(self) if name.startswith("do_")
        }

    def received(self, line: bytes) -> None:
        """Carry out the command of one line of input."""
        if not line.strip():
            return
        try:
            command = json.loads(line)
        except (ValueError, RecursionError):
            command = None
        if not isinstance(command, dict) or not isinstance(command.get("do"), str):
            self._refuse(None, "", Refused("a line must be a JSON object with `do`", kind="protocol"))
            return
        number, name = command.pop("ask", None), command.pop("do")
        if not isinstance(number, int | None):
            self._refuse(None, name, Refused("`ask` must be a number", kind="protocol"))
            return
        if name not in self._commands:
            self._refuse(number, name, Refused(f"there is no command `{name}`", kind="protocol"))
            return
        self._begin(number, name, command)

    async def close(self) -> None:
        """End runs and sessions, with their servers."""
        for task in (*self._tasks.values(), *self._unnumbered):
            task.cancel()
        parts = [part for part in ("runs", "browsing") if part in self.__dict__]
        await asyncio.gather(*(getattr(self, part).close() for part in parts), return_exceptions=True)

    def _begin(self, number: int | None, name: str, arguments: dict[str, object]) -> None:
        """Start a command: a plain function runs now, a coroutine function in a task. Commands start in the order of lines."""
        command = self._commands[name]
        try:
            inspect.signature(command).bind(**arguments)
        except TypeError as wrong:
            self._refuse(number, name, Refused(f"`{name}`: {wrong}", kind="protocol"))
            return
        if not inspect.iscoroutinefunction(command):
            with self._answering(number, name):
                self._answer(number, command(**arguments))
            return
        task = asyncio.ensure_future(self._carry_out(number, name, command(**arguments)))
        if number is None:
            self._unnumbered.add(task)
            task.add_done_callback(self._unnumbered.discard)
        else:
            self._tasks[number] = task
            task.add_done_callback(lambda _: self._tasks.pop(number, None))

    async def _carry_out(self, number: int | None, name: str, value: Coroutine[object, object, object]) -> None:
        with self._answering(number, name):
            self._answer(number, await value)

    def _answer(self, number: int | None, value: object) -> None:
        if number is not None:
            self._output.send({"reply": number, "ok": {} if value is None else value})

    @contextmanager
    def _answering(self, number: int | None, name: str) -> Iterator[None]:
        """Turn every exception into the error reply of the command."""
        from mcptest_engine.core.errors import McptestError

        try:
            yield
        except Refused as refused:
            self._refuse(number, name, refused)
        except McptestError as wrong:
            self._refuse(number, name, Refused(wrong.message, hint=wrong.hint))
        except asyncio.CancelledError:
            self._refuse(number, name, Refused("given up", kind="gone"))
        except Exception as bug:  # noqa: BLE001 - one command that fails must not end the others
            self._refuse(number, name, Refused(f"this is a bug in mcptest: {type(bug).__name__}: {bug}", kind="bug"))

    def _refuse(self, number: int | None, name: str, refused: Refused) -> None:
        if number is not None:
            self._output.send({"reply": number, "error": refused.to_json()})
        else:
            failed: CommandFailed = {"event": "command.failed", "do": name, **refused.to_json()}
            self._output.send(failed)

    # --- the parts, made when they are first needed

    @cached_property
    def results(self) -> Results:
        from mcptest_engine.engine_process.results import Results

        return Results(self._surroundings)

    @cached_property
    def traffic(self) -> TrafficLog:
        from mcptest_engine.engine_process.traffic import TrafficLog

        return TrafficLog(self._output)

    @cached_property
    def runs(self) -> Runs:
        from mcptest_engine.engine_process.runs import Runs

        runs = Runs(self._surroundings, self._output.send, self.results, lambda: self.traffic)
        runs.use_spares(self._spare_seconds)
        return runs

    @cached_property
    def browsing(self) -> Browsing:
        from mcptest_engine.engine_process.browsing import Browsing

        return Browsing(self._surroundings, self._output.send, self.results, lambda: self.traffic)

    @cached_property
    def watching(self) -> Watching:
        from mcptest_engine.engine_process.files import Watching

        return Watching(self._output.send)

    @cached_property
    def agents(self) -> Agents:
        from mcptest_engine.engine_process.agents import Agents

        return Agents(self._surroundings)

    @cached_property
    def reviewing(self) -> Reviewing:
        from mcptest_engine.engine_process.reviewing import Reviewing

        return Reviewing(self._surroundings)

    @cached_property
    def sketching(self) -> Sketching:
        from mcptest_engine.engine_process.sketching import Sketching

        return Sketching(self._surroundings, self.browsing)

    # --- the commands

    def do_hello(self, cwd: str | None = None, environ: dict[str, str] | None = None) -> dict[str, object]:
        self._surroundings.settle(cwd, environ)
        threading.Thread(target=_preload, daemon=True).start()
        return {"version": __version__, "pid": os.getpid()}

    async def do_processes(self) -> list[RunningProcess]:
        return await self.processes.measured()

    def do_end_process(self, number: int) -> None:
        self.processes.end(number)

    def do_restart_process(self, number: int) -> None:
        self.processes.restart(number)

    def do_spare_servers(self, seconds: float) -> None:
        """Set how long servers started for the next run wait for it; 0 starts none."""
        self._spare_seconds = seconds
        if "runs" in self.__dict__:
            self.runs.use_spares(seconds)

    def do_forget(self, number: int) -> None:
        """Cancel the command with this number: nobody waits for its answer."""
        if number in self._tasks:
            self._tasks[number].cancel()

    async def do_find(self, paths: list[str]) -> list[dict[str, str]]:
        from mcptest_engine.engine_process.files import find_suites

        return await asyncio.to_thread(find_suites, paths, self._surroundings.start_dir)

    async def do_load(self, path: str, text: str | None = None) -> dict[str, object]:
        from mcptest_engine.running.documents import document_of

        start_dir, environ = self._surroundings.start_dir, self._surroundings.environ
        document = await asyncio.to_thread(document_of, path, text, start_dir=start_dir, environ=environ)
        return document.to_json()

    def do_run(
        self,
        run: str,
        path: str,
        ids: list[str] | None = None,
        variables: dict[str, str] | None = None,
    ) -> None:
        wanted = None if ids is None else frozenset(ids)
        self.runs.queue(run, self._surroundings.absolute(path), wanted, variables or {})

    def do_cancel(self, run: str | None = None) -> dict[str, object]:
        return {"cancelled": self.runs.cancel(run)}

    async def do_detail(self, id: str, run_id: str | None = None) -> dict[str, object]:  # noqa: A002 - the protocol's words
        return await self.results.detail(id, run_id)

    async def do_graph(self, path: str, id: str) -> list[dict[str, object]]:  # noqa: A002 - the protocol's words
        from mcptest_engine.running.documents import read_composition_graph

        here = self._surroundings
        return await asyncio.to_thread(read_composition_graph, path, id, here.start_dir, here.environ)

    async def do_expand(
        self,
        id: str,  # noqa: A002
        path: list[object],
        run_id: str | None = None,
        start: int = 0,
        key: str | int | None = None,
    ) -> object:
        return await self.results.expand(id, run_id, path, start, key)

    async def do_search(
        self,
        id: str,  # noqa: A002 - the protocol's words
        path: list[object],
        text: str,
        run_id: str | None = None,
    ) -> list[list[str | int]]:
        return await self.results.find(id, run_id, path, text)

    async def do_value(self, id: str, path: list[object], run_id: str | None = None) -> str:  # noqa: A002
        return await self.results.value(id, run_id, path)

    async def do_history(self, id: str, limit: int = 20) -> list[dict[str, object]]:  # noqa: A002
        return await self.results.past(id, max(1, min(limit, MOST_HISTORY)))

    async def do_agents(self, newest: int | None = None) -> dict[str, object]:
        return await self.agents.listed(newest)

    async def do_agents_run(self, run_id: str) -> dict[str, object]:
        return await self.agents.run(run_id)

    async def do_agents_verdicts(self, run_id: str) -> dict[str, object]:
        return await self.agents.verdicts(run_id)

    def do_watch(self, paths: list[str]) -> None:
        self.watching.watch(self._surroundings.absolute(path) for path in paths)

    async def do_servers(self, path: str) -> list[dict[str, object]]:
        from mcptest_engine.running.documents import Document

        document = Document.from_json(await self.do_load(path))
        return [server._asdict() for server in document.servers]

    async def do_found(self) -> object:
        from mcptest_engine.engine_process.found import found_servers

        return await asyncio.to_thread(found_servers, self._surroundings.start_dir, self._surroundings.environ)

    async def do_connect(self, session: str, target: dict[str, object]) -> None:
        await self.browsing.connect(session, target)

    async def do_disconnect(self, session: str) -> None:
        await self.browsing.disconnect(session)

    async def do_restart(self, session: str) -> None:
        await self.browsing.restart(session)

    async def do_catalog(self, session: str, refresh: bool = False) -> dict[str, object]:
        return await self.browsing.catalog(session, refresh=refresh)

    async def do_call(
        self,
        session: str,
        method: str,
        params: dict[str, object] | None = None,
        timeout_seconds: float | None = None,
    ) -> dict[str, object]:
        return await self.browsing.call(session, method, params, timeout_seconds)

    def do_traffic_on(self, on: bool, since: int | None = None) -> dict[str, object]:
        return {"n": self.traffic.turn(on=on, since=since)}

    def do_traffic_body(self, n: int) -> str:
        return self.traffic.body(n)

    def do_traffic_http(self, n: int) -> dict[str, object] | None:
        return self.traffic.http(n)

    # --- proposals, and tests made from a server

    async def do_review_list(self, suites: list[str] | None = None) -> dict[str, object]:
        return await self.reviewing.listed(suites)

    async def do_review_check(self, id: str, text: str) -> dict[str, object]:  # noqa: A002 - the protocol's words
        return await self.reviewing.check(id, text)

    async def do_review_whole(self, id: str, text: str | None = None) -> dict[str, object]:  # noqa: A002
        return await self.reviewing.whole(id, text)

    async def do_review_decide(self, decisions: list[dict[str, object]]) -> dict[str, object]:
        return await self.reviewing.decide(decisions)

    async def do_review_undo(self) -> dict[str, object]:
        return await self.reviewing.undo()

    async def do_scaffold(
        self, session: str, into: str | None = None, options: dict[str, object] | None = None
    ) -> dict[str, object]:
        return await self.sketching.scaffold(session, into, options or {})

    async def do_propose(
        self,
        session: str,
        tool: str,
        arguments: dict[str, object] | None = None,
        suite: str | None = None,
        server: str | None = None,
        confirmed: bool = False,
    ) -> dict[str, object]:
        return await self.sketching.propose(session, tool, arguments or {}, suite, server, confirmed=confirmed)


def _preload() -> None:
    """Import what the first run will need, then exempt all of it from garbage collection: modules are never freed."""
    import gc

    import mcptest_engine.engine_process.browsing
    import mcptest_engine.engine_process.event_lines
    import mcptest_engine.engine_process.runs
    import mcptest_engine.engine_process.traffic
    import mcptest_engine.running.execution
    import mcptest_engine.running.launch
    import mcptest_engine.servers.opening
    import mcptest_engine.servers.session
    import mcptest_engine.servers.stdio
    import mcptest_engine.suite.load  # noqa: F401

    gc.freeze()

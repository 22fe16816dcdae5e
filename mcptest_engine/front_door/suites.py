"""Suites for an agent: checked, run as text, or run from the workspace; each run has the same answer."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from mcptest_engine.core.errors import McptestError, Severity, SuiteError, UsageError
from mcptest_engine.core.results import Verdict
from mcptest_engine.front_door.handles import MOST_TEXT, handle_of
from mcptest_engine.front_door.inside import check_places, named_file, own_suite, suites_below
from mcptest_engine.front_door.paging import page, presentable
from mcptest_engine.front_door.resources import output_uri
from mcptest_engine.workspace.slug import Slugs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from mcptest_engine.core.errors import Problem
    from mcptest_engine.core.events import Event
    from mcptest_engine.core.json_types import JsonDict
    from mcptest_engine.core.results import TestResult
    from mcptest_engine.core.run_record import RunRecord, SuiteNotRun
    from mcptest_engine.front_door.door import Door, Request
    from mcptest_engine.front_door.verbs import Answer
    from mcptest_engine.running.settings import RunSettings, Selection
    from mcptest_engine.suite.load import LoadedSuite, LoadOptions
    from mcptest_engine.workspace.workspace import Workspace

_T = TypeVar("_T")

_MEMBERS_OF_MUTATION = {
    "": (
        *("suite", "score", "interval", "killed", "survived", "equivalent", "undecided"),
        *("made", "volatile", "partial", "seed", "proposals"),
    ),
    "tests": ("name", "score", "killed", "survived", "strength"),
    "tools": ("name", "score", "killed", "survived"),
    "left_out": ("test", "reason"),
    "mutants": ("test", "tool", "operator", "path", "status", "change", "assertion"),
}
"""The members of a mutation report that an agent needs, by its parts; `mcptest mutate --format json` has the rest."""

ROOM_FOR_RESULTS = 24_000
ROOM_FOR_FAILURES = 24_000
ROOM_FOR_ERRORS = 40_000
ROOM_FOR_WARNINGS = 8_000
LONGEST_NAME = 500
_LONGEST_REPRO = 2_000
_LONGEST_POINTER = 4_000
_LONGEST_MESSAGE = 2_000
_LONGEST_REASON = 500


async def validate_suite(request: Request) -> Answer:
    """{valid, errors: [{path, message, hint, line?, column?}]} and `warnings` alike, as `mcptest validate --format json`."""
    return await validated(request, text_of(request))


async def validated(request: Request, text: str) -> JsonDict:
    """The problems of a suite's text, as many as fit."""
    from mcptest_engine.suite.load import check_text

    options = _options(request.door)
    checked = await asyncio.to_thread(check_text, text, options, base_dir=request.workspace.root)
    request.door.keep_secrets(() if checked.suite is None else checked.suite.secrets)
    shown, more = page(checked.errors, 0, room=ROOM_FOR_ERRORS, show=_problem_json)
    answer: JsonDict = {"valid": not checked.errors, "errors": shown}
    notes = [] if more is None else [f"{len(checked.errors) - more:,} more errors are not shown: correct these first"]
    warnings = [problem for problem in checked.problems if problem.severity is Severity.WARNING]
    if warnings:
        answer["warnings"], more = page(warnings, 0, room=ROOM_FOR_WARNINGS, show=_problem_json)
        notes += [] if more is None else [f"{len(warnings) - more:,} more warnings are not shown"]
    return {**answer, "notes": notes} if notes else answer


def text_of(request: Request) -> str:
    """The text of `suite`, which is a text itself or a handle. Raises: UsageError for an unknown handle."""
    given: str = request.arguments["suite"]
    handle = handle_of(given)
    if handle is not None:
        return request.door.handles.get(handle)
    if len(given) > MOST_TEXT:
        raise UsageError(f"the suite has {len(given):,} characters", hint="write it to a file and use trigger_run")
    return given


async def run_tool_test(request: Request) -> Answer:
    """Run a suite that is sent as text, now or before, and return its results."""
    return await _run_one(request, _sent_suite(request, text_of(request)))


async def trigger_run(request: Request) -> Answer:
    """Run a suite of the workspace, or each suite of a folder or a pattern."""
    from mcptest_engine.running.plan import make_plan
    from mcptest_engine.running.settings import RunSettings

    config, workspace = request.arguments.get("config"), request.workspace
    found = () if config is None or handle_of(config) is not None else suites_below(workspace.root, config)
    if not found:
        return await _run_one(request, _suite_of(request))
    several = [_Named(path, config=workspace.relative(path)) for path in found]
    folders = [named for named in several if named.path.is_dir()]  # folders that cannot be read
    suites = [(named, await _load(request, named)) for named in several if named not in folders]
    if not suites:
        await _load(request, folders[0])  # it says why
    settings = RunSettings(selection=_selection(request))
    chosen = [one for one in suites if make_plan(one[1], settings, relative=workspace.relative).selected] or suites[:1]
    return await _run_all(request, chosen, not_run=[_unreadable(named.path, workspace) for named in folders])


def _unreadable(folder: Path, workspace: Workspace) -> SuiteNotRun:
    from mcptest_engine.reporting.many import invalid_suite
    from mcptest_engine.suite.yaml import file_bytes

    problems: tuple[Problem, ...] = ()
    try:
        file_bytes(folder, file=workspace.relative(folder))
    except SuiteError as wrong:
        problems = wrong.problems
    return invalid_suite(folder, problems, workspace)


class _Named(NamedTuple):
    """A suite that a request names.

    One that was sent as text has a handle, and is saved in `path` under the id of its run. `config` is the path of one of
    several.
    """

    path: Path
    run_id: str | None = None
    handle: str | None = None
    config: str | None = None

    def again(self, request: Request, test: str) -> dict[str, object]:
        """The arguments of the call that repeats one of its tests."""
        if self.handle is not None:
            return {"name": "run_tool_test", "arguments": {"suite": self.handle, "filter": test}}
        config = self.config or request.arguments.get("config")
        return {
            "name": "trigger_run",
            "arguments": {**({} if config is None else {"config": config}), "filter": test},
        }


class _Ran(NamedTuple):
    """A suite with the record of its run, and why that was not saved."""

    named: _Named
    record: RunRecord
    save_problem: str | None


def _sent_suite(request: Request, text: str) -> _Named:
    """Retain a text under its handle, and save it under `.mcptest/inline` for the `repro` lines of a run."""
    from mcptest_engine.workspace.agent_files import save_inline
    from mcptest_engine.workspace.ulid import new_ulid

    run_id = new_ulid()
    check_places(request.workspace)
    handle = request.door.handles.add(text)
    return _Named(save_inline(request.workspace, run_id, text), run_id, handle)


def _suite_of(request: Request) -> _Named:
    """The suite of `config`, by its path or handle, or the workspace's own. Raises: UsageError, PolicyDenied."""
    config, root = request.arguments.get("config"), request.workspace.root
    if config is not None:
        handle = handle_of(config)
        return (
            _Named(named_file(root, config))
            if handle is None
            else _sent_suite(request, request.door.handles.get(handle))
        )
    path = own_suite(root)
    if path is None:
        raise UsageError("there is no mcptest.yaml or mcptest.yml in this workspace", hint="name a suite as `config`")
    return _Named(path)


async def record_cassette(request: Request) -> Answer:
    """Run a suite of the workspace, and store the answers of its servers."""
    from mcptest_engine.workspace.cassettes import cassette_path

    name = request.arguments["name"]
    cassette_path(request.workspace, name)  # a bad name is reported before anything is run
    return await _run_one(request, _suite_of(request), record=name)


async def _run_one(request: Request, named: _Named, *, record: str | None = None) -> Answer:
    return await _run_all(request, [(named, await _load(request, named))], record=record)


def _selection(request: Request) -> Selection:
    from mcptest_engine.running.settings import Selection

    return Selection(filter=request.arguments.get("filter"))


async def _run_all(
    request: Request,
    suites: Sequence[tuple[_Named, LoadedSuite]],
    *,
    record: str | None = None,
    not_run: Sequence[SuiteNotRun] = (),
) -> dict[str, object]:
    """Run suites with shared servers, save the record of each, and build one answer for all."""
    from contextlib import nullcontext

    from mcptest_engine.running.launch import launch_suites
    from mcptest_engine.workspace.agent_files import remove_inline

    door, progress, runs = request.door, _ProgressSender(request), list[_Ran]()

    def done(ran: RunRecord) -> None:  # also the part of a cancelled run
        runs.append(_Ran(suites[len(runs)][0], ran, _save_record(request, ran)))

    chosen = [(suite, _settings(request, named, suite, record)) for named, suite in suites]
    work = launch_suites(chosen, workspace=request.workspace, listen=lambda: nullcontext(progress), done=done)
    try:
        await _awaited(door.runs.begin(work), progress, door)
    except McptestError:  # nothing was run
        for named, _ in suites:
            if named.run_id is not None:
                remove_inline(named.path)
        raise
    if record is not None and runs[0].record.cassette is None:
        raise McptestError(f"the cassette was not written: {'; '.join(runs[0].record.warnings)}"[:1000])
    return _run_answer(request, runs, not_run)


def _settings(request: Request, named: _Named, suite: LoadedSuite, record: str | None) -> RunSettings:
    """The settings of a new run."""
    from mcptest_engine.running.settings import RunSettings
    from mcptest_engine.workspace.ulid import new_ulid

    door = request.door
    path = None if named.run_id is not None else request.workspace.relative(named.path)
    run_id = named.run_id or new_ulid()
    lineage, earlier_runs = door.lineages.begin(suite, run_id, path=path, handle=named.handle)
    requested_by = {
        "via": "mcp-server",
        **({} if request.client is None else {"client": request.client}),
        "session": door.lineages.session,
        "lineage": lineage,
    }
    return RunSettings(
        selection=_selection(request),
        environ=door.environ,
        run_id=run_id,
        record=record,
        requested_by=requested_by,
        earlier_runs=earlier_runs,
        models=tuple(request.arguments.get("models", ())),
        max_cost_usd=request.arguments.get("max_cost_usd"),
    )


async def _load(request: Request, named: _Named) -> LoadedSuite:
    """Load the suite, and register its secrets. Raises: UsageError with the first of its problems; then nothing is saved."""
    from mcptest_engine.suite.load import load_suite
    from mcptest_engine.workspace.agent_files import remove_inline

    check_places(request.workspace)
    try:
        suite = await asyncio.to_thread(load_suite, named.path, _options(request.door))
    except SuiteError as broken:
        if named.run_id is not None:
            remove_inline(named.path)
        errors = [problem for problem in broken.problems if problem.severity is Severity.ERROR]
        inline = named.path if named.run_id is not None else None
        problems = "; ".join(_in_a_line(problem, request, inline=inline) for problem in errors[:5])
        hint = "use validate_suite to see every problem"
        if named.handle is not None:
            hint = f"the suite is `{named.handle}`: correct it with edit_suite"
        raise UsageError(f"the suite does not load: {problems}", hint=hint) from None
    request.door.keep_secrets(suite.secrets)
    return suite


async def mutate_suite(request: Request) -> Answer:
    """Measure how many wrong answers a suite of the workspace notices; assertions that notice the others wait for review."""
    from threading import Event as Flag

    from mcptest_engine.core.redaction import Redactor
    from mcptest_engine.mutation.proposing import save_proposals, save_scores
    from mcptest_engine.mutation.recording import record_answers
    from mcptest_engine.mutation.replay import DEFAULT_BUDGET, Options, replay_for
    from mcptest_engine.mutation.report import to_json
    from mcptest_engine.running.settings import RunSettings
    from mcptest_engine.workspace.agent_files import remove_inline
    from mcptest_engine.workspace.cassettes import load_cassette

    door, given, workspace = request.door, request.arguments, request.workspace
    named = _suite_of(request)
    suite = await _load(request, named)
    cassette = given.get("cassette")
    if cassette is not None:
        load_cassette(workspace, cassette)  # by its name only: a file may be anywhere
    options = Options(tuple(given.get("operators", ())), given.get("budget", DEFAULT_BUDGET), given.get("seed", 0))
    redactor, called_off, progress = Redactor(suite.secrets), Flag(), _ProgressSender(request)
    replay = replay_for(suite, workspace, options, redactor=redactor, stop=called_off.is_set)

    async def measure() -> JsonDict:
        settings = RunSettings(environ=door.environ)
        cassettes = () if cassette is None else (cassette,)
        recording = await record_answers(suite, settings, workspace=workspace, emit=progress, cassettes=cassettes)
        if recording is None:
            raise asyncio.CancelledError
        try:
            mutated = await asyncio.to_thread(replay.run, recording)
        except asyncio.CancelledError:
            called_off.set()
            raise
        save_scores(workspace, suite, mutated, options)
        report = to_json(mutated, suite=workspace.relative(suite.path), redact=redactor.redact)
        saved = 0 if named.handle is not None else save_proposals(workspace, mutated, redactor=redactor).tests
        return {**report, "proposals": saved}

    try:
        return _mutation_answer(await _awaited(door.runs.begin(measure()), progress, door), named.handle)
    finally:
        if named.run_id is not None:
            remove_inline(named.path)


def _mutation_answer(report: JsonDict, handle: str | None) -> Answer:
    """The parts of a mutation report for an agent. `handle` is that of a suite that was sent as text."""
    from mcptest_engine.mutation.report import survivor_groups

    survivors = [mutant for group in survivor_groups(report) for mutant in group.mutants]
    parts = {
        "tests": (report["tests"], ROOM_FOR_RESULTS),
        "tools": (report["tools"], ROOM_FOR_WARNINGS),
        "left_out": (report["left_out"], ROOM_FOR_WARNINGS),
        "mutants": (survivors, ROOM_FOR_FAILURES),
    }
    shown = {
        key: page([_only_members(entry, _MEMBERS_OF_MUTATION[key]) for entry in entries], 0, room=room)
        for key, (entries, room) in parts.items()
    }
    answer = _only_members(report, _MEMBERS_OF_MUTATION[""]) | {key: entries for key, (entries, _) in shown.items()}
    notes = ["`mutants` are the survivors, those of the weakest tests first"]
    if any(more is not None for _, more in shown.values()):
        notes.append("not all are shown here: `mcptest mutate --format json` has everything")
    if handle is not None:
        notes.append(f"edit_suite adds the `assertion` of a survivor to `{handle}`")
    if report["proposals"]:
        notes.append("the assertions are saved as proposals: a person accepts them with `mcptest review`")
    return {**answer, "notes": notes}


def _only_members(entry: Mapping[str, object], names: Iterable[str]) -> JsonDict:
    """Reduce the entry to these members."""
    found: JsonDict = presentable({name: entry[name] for name in names if name in entry})
    return found


def _in_a_line(problem: Problem, request: Request, *, inline: Path | None) -> str:
    """A problem in one line, its file by the path that the agent knows: a suite that was sent as text is "suite"."""
    from pathlib import Path

    file = problem.file
    if file is not None:
        file = "suite" if file == str(inline) else request.workspace.relative(Path(file))
    return ", ".join(line.strip() for line in str(replace(problem, file=file)).splitlines())


def _save_record(request: Request, record: RunRecord) -> str | None:
    """Save the record; return why that failed, None when it did not."""
    try:
        request.workspace.save_run(record.to_json(streamed=True))
    except McptestError as wrong:
        return wrong.message
    return None


async def _awaited(run: asyncio.Task[_T], progress: _ProgressSender, door: Door) -> _T:
    """Wait for the run; when it is cancelled, or its client is gone, end the run and its servers in order."""
    try:
        while not run.done():
            await asyncio.wait((run, progress.news()), return_when=asyncio.FIRST_COMPLETED)
            await progress.send()
        return run.result()
    except BaseException:
        door.runs.call_off(run)
        raise


class _ProgressSender:
    """Listens to a run's events, and sends how many of its tests have a verdict, whenever `send` is called."""

    def __init__(self, request: Request) -> None:
        self._progress = request.progress
        self._total = self._done = self._sent = 0
        self._last = ""
        self._news = asyncio.Event()
        self._waiting: asyncio.Task[bool] | None = None

    def __call__(self, event: Event) -> None:
        from mcptest_engine.core.events import CaseFinished, RunStarted

        if isinstance(event, RunStarted):
            self._total += len(event.tests)
        elif isinstance(event, CaseFinished):
            self._done += 1
            self._last = f"{event.result.verdict.value} {event.result.name}"
            self._news.set()

    def news(self) -> asyncio.Task[bool]:
        if self._waiting is None or self._waiting.done():
            self._waiting = asyncio.ensure_future(self._news.wait())
        return self._waiting

    async def send(self) -> None:
        self._news.clear()
        if self._done > self._sent:
            self._sent = self._done
            await self._progress(float(self._done), float(self._total), self._last)


def _run_answer(request: Request, runs: list[_Ran], not_run: Sequence[SuiteNotRun]) -> JsonDict:
    """The answer for runs of one suite or of several; some may not have run."""
    from mcptest_engine.core.sanitise import one_line
    from mcptest_engine.reporting.facts import unchecked_text
    from mcptest_engine.reporting.ledger import ledger_lines
    from mcptest_engine.reporting.many import join_records

    is_one = len(runs) == 1 and not not_run
    record = runs[0].record if is_one else join_records([run.record for run in runs], not_run=not_run)
    tests: list[tuple[_Ran, TestResult, str]] = []  # each with the resource of its whole output
    for run in runs:
        slugs = Slugs()
        tests += [(run, test, output_uri(run.record.run_id, slugs.take(test.name))) for test in run.record.tests]
    failed = [one for one in tests if one[1].verdict is Verdict.FAIL]
    shown, more = page(tests, 0, room=ROOM_FOR_RESULTS, show=lambda one: _result_row(one[0].named, one[1]))
    shown_failures, more_failures = page(
        failed, 0, room=ROOM_FOR_FAILURES, show=lambda one: _failure_row(request, one[0].named, one[0].record, *one[1:])
    )
    handle, suites, totals = runs[0].named.handle, _suite_rows(runs, not_run), record.totals
    answer: JsonDict = {
        "verdict": record.verdict.value,
        **({"suites": suites} if suites else {"run_id": record.run_id}),
        **({} if handle is None else {"suite": handle}),
        "total": totals.total,
        "passed": totals.passed,
        "failed": totals.failed,
        "inconclusive": totals.inconclusive,
        "skipped": totals.skipped,
        "results": shown,
        "failures": shown_failures,
    }
    spending = record.spending
    if spending is not None:
        answer["spending"] = {"cost_usd": spending.cost_usd, "tokens": spending.tokens}
    if record.effects is not None and (effects := record.effects.summary()):
        answer["effects"] = effects
    unchecked = unchecked_text(record)
    texts = (*([unchecked] if unchecked else ()), *ledger_lines(record), *record.warnings)
    notes = [one_line(text, 300) for text in (*texts, *(run.save_problem for run in runs if run.save_problem))][:10]
    if more is not None or more_failures is not None:
        notes.append("not all are shown: get_run returns the rest, in pages")
    if notes:
        answer["notes"] = notes
    return answer


def _suite_rows(runs: list[_Ran], not_run: Sequence[SuiteNotRun]) -> list[JsonDict]:
    """A row for each of several suites with its verdict; none for a single suite."""
    rows: list[JsonDict] = [
        {
            "config": run.named.config,
            "run_id": run.record.run_id,
            "verdict": run.record.verdict.value,
            "passed": run.record.totals.passed,
            "failed": run.record.totals.failed,
        }
        for run in runs
        if run.named.config is not None
    ]
    for suite in not_run:
        reason = "; ".join(problem["message"] for problem in suite.problems)
        rows.append({"config": suite.path, "verdict": Verdict.FAIL.value, "reason": reason})
    return rows


def _result_row(named: _Named, test: TestResult) -> JsonDict:
    """The row of one test.

    `reason` says why it is inconclusive or skipped. `better_arguments` are there where made-up arguments were refused and the
    server returned others that fit.
    """
    from mcptest_engine.core.sanitise import one_line
    from mcptest_engine.reporting.facts import inconclusive_text, remark

    name = presentable(one_line(test.name, LONGEST_NAME))
    row: JsonDict = {"name": name, "verdict": test.verdict.value, "duration_ms": round(test.duration_ms)}
    if named.config is not None:
        row["config"] = named.config
    undecided = test.verdict is Verdict.INCONCLUSIVE
    reason = inconclusive_text(test) if undecided else remark(test) if test.verdict is Verdict.SKIP else ""
    if reason:
        row["reason"] = presentable(one_line(reason, _LONGEST_REASON))
    better = (test.guess or {}).get("arguments")
    if better is not None:
        row["better_arguments"] = presentable(better)
    return row


def _failure_row(request: Request, named: _Named, record: RunRecord, test: TestResult, uri: str) -> JsonDict:
    """The failure as in the agent reporter, and limited: names are as long as a suite makes them.

    `repro_call` are the parameters of the `tools/call` that does what the command line `repro` does.
    """
    from mcptest_engine.reporting.agent import agent_failure
    from mcptest_engine.reporting.registry import RenderOptions
    from mcptest_engine.reporting.repro import filter_name

    failure = agent_failure(record, test, RenderOptions())
    row: JsonDict = {"test": failure.test[:LONGEST_NAME], "assert": failure.assert_, "line": test.line}
    if failure.actual is not None:
        row["actual"] = failure.actual
    if failure.clipped:
        row["full"] = uri
    repro = failure.repro
    if len(repro) > _LONGEST_REPRO:
        repro = f"{repro.partition(' --filter ')[0]} --last-failed"
    row["repro"] = repro
    if len(name := filter_name(test)) <= LONGEST_NAME:
        row["repro_call"] = named.again(request, name)
    found: JsonDict = presentable(row)
    return found


def _options(door: Door) -> LoadOptions:
    from mcptest_engine.suite.load import LoadOptions

    root = door.workspace.root
    return LoadOptions(environ=door.environ, workspace_root=root, start_dir=root, only_own_files=True)


def _problem_json(problem: Problem) -> JsonDict:
    longest = {"path": _LONGEST_POINTER, "message": _LONGEST_MESSAGE, "hint": _LONGEST_MESSAGE}
    members = {key: part[: longest[key]] if isinstance(part, str) else part for key, part in problem.to_json().items()}
    found: JsonDict = presentable(members)
    return found

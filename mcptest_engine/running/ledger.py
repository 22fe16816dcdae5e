"""The session ledger of a run: its tests and tools held against the earlier runs of the same suite.

The earlier records are read while the servers start. A run of the command line looks back as far as it must to know each of its
tests from an earlier run; a run of an agent's session looks at the whole session.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.enums import Strength, Verdict
from mcptest_engine.core.errors import RecordError
from mcptest_engine.core.lazy_patterns import lazy_pattern
from mcptest_engine.core.run_record import RunRecord
from mcptest_engine.running.extensions import Extension, with_warnings
from mcptest_engine.workspace.files import DATA_DIR
from mcptest_engine.workspace.json_beginnings import head_of

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping, Sequence

    from mcptest_engine.core.ledger import Ledger, LedgerTool, TestChange, Turn, TurnCause
    from mcptest_engine.core.results import TestResult, VerifyResult
    from mcptest_engine.core.run_record import ServerRecord
    from mcptest_engine.running.cases import Plan
    from mcptest_engine.running.settings import RunSettings
    from mcptest_engine.suite.load import LoadedSuite
    from mcptest_engine.workspace.workspace import Workspace

MOST_RUNS = 20
"""How many earlier runs are looked at."""
MOST_BYTES = 16 * 1024 * 1024
"""How many bytes of their records are read: more would take too much time and memory of a run."""
MOST_FILES = 20
_DIGITS = 16
_INTERPRETERS = frozenset(
    {"python", "pypy", "node", "deno", "bun", "ruby", "perl", "lua", "php", "java", "dotnet", "uv", "uvx", "npm", "npx"}
)
"""What a command may begin with, and is not the program of the server; a version may follow."""
_VARIABLE = lazy_pattern(rb"\$\{(?!CONFIG_DIR\})")
_NAMES_SHOWN = 5
_AS_TEXT = f"{DATA_DIR}/inline/"
_DECIDED = frozenset({Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE})
_DEMANDS_MORE = frozenset({"assertion_added", "assertion_strengthened"})
_OF_A_ROW = ("target", "matcher", "implicit", "transform", "weight")


_Programs = dict[tuple[tuple[str, ...], str], tuple[tuple[str, ...], dict[str, str]]]


class LedgerExtension(Extension):
    """Adds the ledger to the record of a run, and to its servers what they were started from."""

    def __init__(
        self,
        suite: LoadedSuite,
        settings: RunSettings,
        workspace: Workspace,
        redact: Callable[[str], str],
        programs: _Programs,
    ) -> None:
        self._suite, self._settings, self._workspace, self._redact = suite, settings, workspace, redact
        self._programs = programs
        self._here = os.getcwd()  # noqa: PTH109
        self._reached: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {}
        self._earlier: list[dict[str, Any]] = []
        self._subset: tuple[int, int] | None = None
        self._thread: Thread | None = None

    def before(self, plan: Plan) -> Plan:
        if plan.selected != plan.declared or self._settings.selection.shard is not None:
            self._subset = (len(plan.cases), plan.declared)
        wanted = {_key(case.id) for case in plan.cases if case.begins}
        skipped = {_key(case.id) for case in plan.cases if case.skip is not None}
        has_programs = all(self._command_of(declared) in self._programs for declared in self._suite.servers.values())
        if has_programs and self._needs_no_record():
            self._look(wanted, skipped)  # which takes less time than a thread to start
        else:
            self._thread = Thread(target=self._look, args=(wanted, skipped), name="earlier runs", daemon=True)
            self._thread.start()
        return plan

    def finish(self, record: RunRecord) -> RunRecord:
        if self._thread is not None:
            self._thread.join()
        servers = tuple(self._with_program(server) for server in record.servers)
        record = replace(record, servers=servers, subset=self._subset)
        if self._settings.selection.shard is not None or record.interrupted:
            return record
        session, reported = _session_of(record.requested_by), {record.run_id}
        if session is None:
            self._leave_out_unchanged(record)
        earlier = []
        for data in self._earlier:
            with suppress(RecordError):
                earlier.append(RunRecord.from_json(data))
                if session is not None and _session_of(earlier[-1].requested_by) == session:
                    reported.add(earlier[-1].run_id)
        try:
            return replace(record, ledger=ledger_of([*earlier, record], reported))
        except Exception:  # noqa: BLE001 - whatever is in an earlier record must not cost this one
            return with_warnings(record, ["the run is not compared with earlier ones: their records are damaged"])

    def _leave_out_unchanged(self, record: RunRecord) -> None:
        """Leave out of the earlier records what passed last and passes now unchanged, since most tests are such.

        What this run did not select is only counted among the tests of its tool.
        """
        if not self._earlier:
            return
        results = {_key(test.id): test for test in record.tests}
        newest: dict[str, bool] = {}
        for data in self._earlier:
            for test in data["tests"]:
                key = _key(str(test.get("id")))
                if key not in newest and test.get("verdict") in _DECIDED:
                    newest[key] = key in results and _passes_unchanged(test, results[key])
        for data in self._earlier:
            tests = [test for test in data["tests"] if not newest.get(_key(str(test.get("id"))))]
            for test in tests if record.subset is not None else ():
                if _key(str(test.get("id"))) not in results:
                    test |= {"assertions": [], "failure": None}
            data["tests"] = tests

    def _look(self, wanted: set[str], skipped: set[str]) -> None:
        """Look at the programs of the servers, then at the earlier records, while the servers start."""
        import mcptest_engine.core.ledger  # noqa: F401 - nothing waits for it now

        with suppress(Exception):  # what is not known is not compared
            self._reached = {name: self._reach(declared) for name, declared in self._suite.servers.items()}
            if self._settings.selection.shard is None:
                self._read(wanted, skipped)

    def _command_of(self, declared: Mapping[str, object]) -> tuple[tuple[str, ...], str]:
        """The words by which a server is reached, and the folder that a command is started in."""
        command = self._settings.server_command or declared.get("command")
        if not isinstance(command, (list, tuple)):
            return (str(declared.get("url", "")),), ""
        words = tuple(str(word) for word in (*command, *([declared["url"]] if "url" in declared else [])))
        cwd = declared.get("cwd")
        return words, cwd if isinstance(cwd, str) else self._here

    def _reach(self, declared: Mapping[str, object]) -> tuple[tuple[str, ...], dict[str, str]]:
        """The words by which a server is reached, and the digests of the files that they stand for."""
        command = self._command_of(declared)
        known = self._programs.get(command)
        if known is None:
            known = self._programs[command] = self._read_program(*command)
        return known

    def _read_program(self, words: tuple[str, ...], cwd: str) -> tuple[tuple[str, ...], dict[str, str]]:
        if not cwd:
            return words, {}
        from mcptest_engine.running.server_sources import server_sources
        from mcptest_engine.suite.secrets import command_without_secrets
        from mcptest_engine.workspace.fingerprints import of_file

        files = server_sources(words, Path(cwd))
        folders: dict[str, str] = {}  # as the record names them: a program has many files in few
        digests = {}
        for file in files:
            folder, name = os.path.split(file)
            if name.removesuffix(".exe").rstrip("0123456789.") not in _INTERPRETERS:
                if folder not in folders:
                    shown = self._workspace.relative(Path(folder))
                    folders[folder] = "" if shown == "." else f"{shown}/"
                digests[f"{folders[folder]}{name}"] = _digits(of_file(file) or "")
        if len(digests) > MOST_FILES:
            whole = "\n".join(f"{name} {told}" for name, told in sorted(digests.items()))
            digests = {f"{len(digests)} files": _digits(f"@{whole}")}
        return command_without_secrets(words, {}), digests

    def _with_program(self, server: ServerRecord) -> ServerRecord:
        words, digests = self._reached.get(server.name, ((), {}))
        program = {self._redact(name): told for name, told in digests.items()}
        return replace(server, reached=tuple(map(self._redact, words)), program=program)

    def _read(self, wanted: set[str], skipped: set[str]) -> None:
        """Read the earlier records, from the newest to the oldest that is needed.

        Of the tests `wanted` a decided result is needed, of those that are `skipped` now any.
        """
        session = _session_of(self._settings.requested_by)
        passed = self._whole_pass if session is None else None
        if passed is not None:
            self._earlier.append({**passed, "tests": []})
            return
        for data in self._records():
            tests, asked = data.get("tests"), data.get("requested_by")
            if not isinstance(tests, list) or not all(isinstance(test, dict) for test in tests):
                continue
            if not (wanted or skipped) and (session is None or _session_of(asked) != session):
                break
            self._earlier.append({**data, "tests": [_without_output(test) for test in tests]})
            verdicts = {_key(str(test.get("id"))): test.get("verdict") for test in tests}
            if "subset" not in data:
                wanted &= verdicts.keys()  # the others are new
                skipped.clear()
            skipped -= verdicts.keys()
            wanted -= {key for key, verdict in verdicts.items() if verdict in _DECIDED}
            if len(self._earlier) == MOST_RUNS or (session is None and not (wanted or skipped)):
                break

    def _needs_no_record(self) -> bool:
        """Whether there is no earlier run to read, or its head says enough."""
        if self._settings.selection.shard is not None:
            return True
        if _session_of(self._settings.requested_by) is not None:
            return False
        path = self._workspace.relative(self._suite.path)
        return next(self._workspace.run_files_of(path), None) is None or self._whole_pass is not None

    @cached_property
    def _whole_pass(self) -> dict[str, Any] | None:
        """The head of the newest run, if it was of this very suite and all of its tests passed: then none can have turned.

        None where something outside of the file may decide what a test demands: an import or a variable.
        """
        if len(self._suite.files) > 1 or _VARIABLE.search(self._suite.data) is not None:
            return None
        path, flags = self._workspace.relative(self._suite.path), list(self._settings.flags)
        for file in self._workspace.run_files_of(path):
            head = head_of(file, "tests")
            suite = None if head is None else head.get("suite")
            if head is None or not isinstance(suite, dict) or suite.get("path") != path:
                continue
            totals = head.get("totals")
            whole = (
                isinstance(totals, dict) and totals.get("passed") == totals.get("total") and bool(totals.get("total"))
            )
            same = suite.get("sha256") == self._suite.sha256 and head.get("flags", []) == flags
            return head if whole and same and "subset" not in head and "shard" not in head else None
        return None

    def _records(self) -> Iterator[Mapping[str, Any]]:
        """The records of this suite as they are stored, the newest first: of the session, and of the same file."""
        known = self._settings.earlier_runs
        for run_id in reversed(known):
            try:
                yield self._workspace.load_run(run_id)
            except RecordError:
                continue
        path = self._workspace.relative(self._suite.path)
        for data in self._workspace.recent_runs(path, most_bytes=MOST_BYTES):
            if data.get("run_id") not in known:
                yield data


def ledger_of(runs: Sequence[RunRecord], reported: set[str] | None = None) -> Ledger:
    """What became of the tests and tools of one suite over its runs, from the oldest to the newest.

    Only what changed in the runs of `reported` is there; None means all. A suite that came as text may hold only some of its
    tests, so a test that is not in it is no longer in the suite only if it failed.
    """
    from mcptest_engine.core.ledger import Ledger

    tests: dict[str, _Known] = {}
    turns: list[_Reported] = []
    ordered = sorted(runs, key=lambda run: run.run_id)
    for run in ordered:
        results = {_key(test.id): test for test in run.tests}
        is_whole = run.subset is None and not run.interrupted
        if is_whole:
            _follow_renames(tests, results)
        for key, result in results.items():
            if turns:
                turns = [one if one.key != key else again for one in turns if (again := _seen_again(one, result, run))]
            known = tests.get(key)
            turn = None if known is None else _turn_of(known, result, run)
            if known is not None and turn is not None:
                turns.append(_Reported(key, turn, known.red or known.judged or known.last))
            tests[key] = _known_after(known, result, run)
        is_text = run.suite.path.startswith(_AS_TEXT)
        for key, known in tests.items() if is_whole else ():
            version = known.red if is_text else known.red or known.judged
            if key not in results and not known.is_gone and version is not None:
                turns.append(_Reported(key, _removal(known, run), version))
                tests[key] = known._replace(is_gone=True)
    newest = [known.last for known in tests.values() if not known.is_gone]
    return Ledger(
        runs=tuple(run.run_id for run in ordered),
        tools=_tools_of(newest, ordered),
        turns=tuple(one.turn for one in turns if reported is None or one.turn.to_run in reported),
    )


class _Reported(NamedTuple):
    """A turn of the test `key`, and the version of the test before it."""

    key: str
    turn: Turn
    before: TestResult


class _Known(NamedTuple):
    """What is known of a test. `last` is its newest result, `judged` the newest that was decided, in `run`.

    `red` is the first failing result since it last passed, in `red_run`. `is_gone`: the suite no longer has the test.
    """

    last: TestResult
    judged: TestResult | None
    run: RunRecord
    red: TestResult | None
    red_run: RunRecord
    is_gone: bool = False


def _known_after(known: _Known | None, result: TestResult, run: RunRecord) -> _Known:
    if result.verdict not in _DECIDED:
        if known is None:
            return _Known(result, None, run, None, run)
        return known._replace(last=result, is_gone=False)
    if result.verdict is not Verdict.FAIL:
        return _Known(result, result, run, None, run)
    if known is not None and known.red is not None:
        return known._replace(last=result, judged=result, run=run, is_gone=False)
    return _Known(result, result, run, result, run)


def _turn_of(known: _Known, result: TestResult, run: RunRecord) -> Turn | None:
    """What a result says about the test that was not so before; None where there is nothing to say."""
    from mcptest_engine.core.ledger import Turn, TurnCause
    from mcptest_engine.running.test_changes import compare_tests, earlier_version_passes

    before = known.red or known.judged
    if before is None:
        return None
    is_left_out = result.verdict is Verdict.SKIP and "skip" in (result.definition or {})
    if not is_left_out and result.verdict is not Verdict.PASS:
        return None
    if is_left_out and "skip" in (known.last.definition or {}):
        return None
    run_before = known.red_run if known.red is not None else known.run
    changes = compare_tests(before, result)
    server_changes: tuple[str, ...] = ()
    if before.verdict is not Verdict.FAIL:
        changes = tuple(change for change in changes if change.weakens)
        if not changes:
            return None
        cause = TurnCause.TEST
    elif is_left_out:
        cause = TurnCause.TEST
    else:
        server = _server_change(run_before, run, {before.server, result.server})
        server_changes = server.lines
        cause = _cause(changes, earlier_version_passes(before, result) if changes else True, server)
    return Turn(
        test=result.name,
        server=result.server,
        tool=result.tool,
        before=before.verdict,
        after=result.verdict,
        from_run=run_before.run_id,
        to_run=run.run_id,
        cause=cause,
        changes=changes,
        server_changes=server_changes,
    )


def _cause(changes: Sequence[TestChange], would_pass: bool | None, server: _ServerChange) -> TurnCause:
    """`would_pass`: whether the earlier version passes on the new answer; None where that is not known."""
    from mcptest_engine.core.ledger import TurnCause

    if would_pass is None:  # then a test that only demands more is not what made it green
        would_pass = all(change.kind in _DEMANDS_MORE for change in changes)
    if not would_pass:
        return TurnCause.TEST
    if server.is_replaced:
        return TurnCause.REPLACED
    if server.lines:
        return TurnCause.SERVER
    return TurnCause.NEITHER if server.is_known else TurnCause.ANSWER


def _removal(gone: _Known, run: RunRecord) -> Turn:
    from mcptest_engine.core.ledger import ChangeKind, TestChange, Turn, TurnCause

    before = gone.red or gone.judged or gone.last
    return Turn(
        test=before.name,
        server=before.server,
        tool=before.tool,
        before=before.verdict,
        after=None,
        from_run=(gone.red_run if gone.red is not None else gone.run).run_id,
        to_run=run.run_id,
        cause=TurnCause.TEST,
        changes=(TestChange(kind=ChangeKind.REMOVED, weakens=True),),
    )


def _seen_again(reported: _Reported, result: TestResult, run: RunRecord) -> _Reported | None:
    """A turn once its test has a further result: restored where the test demands again what it demanded before.

    That it was skipped or gone is over then, and None is returned.
    """
    from mcptest_engine.running.test_changes import compare_tests

    turn = reported.turn
    if result.verdict not in _DECIDED or not turn.is_by_test:
        return reported
    if turn.after is not Verdict.PASS:
        return None
    if any(change.kind not in _DEMANDS_MORE for change in compare_tests(reported.before, result)):
        return reported
    return reported._replace(turn=replace(turn, restored_in=run.run_id))


def _follow_renames(tests: dict[str, _Known], results: Mapping[str, TestResult]) -> None:
    """Take a test that is gone and a new one that asks the same for one test with another name."""
    gone = [key for key, known in tests.items() if key not in results and not known.is_gone]
    new = [key for key in results if key not in tests] if gone else []
    for key in gone:
        before = tests[key].judged
        if before is None or before.request is None:
            continue
        asked = (before.kind, before.server, before.request)
        same = [other for other in new if (results[other].kind, results[other].server, results[other].request) == asked]
        if len(same) == 1:
            tests[same[0]] = tests.pop(key)
            new.remove(same[0])


class _ServerChange(NamedTuple):
    """What is different about the servers of a test, one line each.

    `is_replaced`: another command, URL or cassette answers. `is_known`: their programs are known in both runs.
    """

    lines: tuple[str, ...]
    is_replaced: bool
    is_known: bool


def _server_change(before: RunRecord, after: RunRecord, names: set[str]) -> _ServerChange:
    lines: list[str] = []
    is_known, is_replaced = True, False
    for name in sorted(names):
        one, other = (next((found for found in run.servers if found.name == name), None) for run in (before, after))
        if one is None or other is None:
            is_known = False
            continue
        is_known = is_known and bool(one.program and other.program)
        is_replaced = is_replaced or bool(one.reached and other.reached and one.reached != other.reached)
        lines += [f'server "{name}": {line}' if len(names) > 1 else line for line in _differences(one, other)]
    if before.mode != after.mode and "replayed" in (before.mode, after.mode):
        lines.append(f"the first run was {before.mode}, the second {after.mode}")
        is_replaced = is_replaced or after.mode == "replayed"
    return _ServerChange(tuple(lines), is_replaced, is_known)


def _differences(one: ServerRecord, other: ServerRecord) -> Iterator[str]:
    if one.reached and other.reached and one.reached != other.reached:
        yield f"started as `{' '.join(other.reached)}`, before as `{' '.join(one.reached)}`"
    elif one.program and other.program:
        files = dict.fromkeys((*one.program, *other.program))
        changed = [name for name in files if one.program.get(name) != other.program.get(name)]
        if changed:
            yield f"{_names(changed)} changed"
    versions = [(server.server_info or {}).get("version") for server in (one, other)]
    if versions[0] != versions[1] and None not in versions:
        yield f"its version was {versions[0]}, now {versions[1]}"
    if one.tools is not None and other.tools is not None:
        for word, ours, theirs in (
            ("offers now", other.tools, one.tools),
            ("no longer offers", one.tools, other.tools),
        ):
            names = [name for name in ours if name not in theirs]
            if names:
                yield f"{word} {_names(names)}"


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    return ", ".join(f"`{name}`" for name in names[:_NAMES_SHOWN]) + more


def _tools_of(tests: Sequence[TestResult], runs: Sequence[RunRecord]) -> tuple[LedgerTool, ...]:
    """Each tool by server: what the newest list of its server has, then what tests call beside that."""
    from mcptest_engine.core.ledger import LedgerTool, ToolStatus
    from mcptest_engine.suite.checks import METHODS_AS_TOOLS

    listed: dict[str, tuple[str, ...]] = {}
    for run in runs:
        listed |= {server.name: server.tools for server in run.servers if server.tools is not None}
    callers: dict[tuple[str, str], list[TestResult]] = {
        (server, tool): [] for server, tools in listed.items() for tool in tools
    }
    for test in tests:
        for called in _tools_called(test, METHODS_AS_TOOLS):
            callers.setdefault(called, []).append(test)
    levels, found = list(Strength), []
    for (server, tool), own in callers.items():
        passed = [test for test in own if test.verdict is Verdict.PASS]
        status = ToolStatus.PASSED if passed else ToolStatus.FAILED
        if passed and any(test.verdict is Verdict.FAIL for test in own):
            status = ToolStatus.PARTLY
        if not own:
            status = ToolStatus.UNTOUCHED
        elif all(test.verdict is Verdict.SKIP for test in own):
            status = ToolStatus.SKIPPED
        strengths = [test.strength for test in passed if test.strength is not None]
        strongest = max(strengths, key=levels.index, default=None)
        offered = tool in listed[server] if server in listed else None
        found.append(
            LedgerTool(server=server, tool=tool, status=status, tests=len(own), strength=strongest, offered=offered)
        )
    return tuple(found)


def _tools_called(test: TestResult, not_tools: Container[str]) -> dict[tuple[str, str], None]:
    """The tools that a test calls, by server."""
    found: dict[tuple[str, str], None] = {}
    verify, trace = test.verify, test.trace
    asked: tuple[TestResult | VerifyResult, ...] = (test, *verify)
    for each in asked:
        if each.tool is not None and each.tool not in not_tools:
            found[each.server, each.tool] = None
    if trace is None:
        return found
    nodes = trace.get("nodes")
    for node in nodes.values() if isinstance(nodes, dict) else ():
        if node.get("tool") and not node.get("mocked"):
            found[str(node.get("server") or test.server), str(node["tool"])] = None
    calls = trace.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, dict) and "result" in call:
            found[str(call.get("server") or test.server), str(call.get("name"))] = None
    return found


def _key(test_id: str) -> str:
    """What is the same for a test in each run: its id without the path of its suite."""
    return test_id.partition("::")[2]


def _without_output(test: Mapping[str, object]) -> dict[str, Any]:
    """A test of an earlier record without the answer, of which nothing is needed but that it was a result."""
    output = test.get("output")
    return {**test, "output": {"result": {}} if isinstance(output, dict) and "result" in output else None}


def _digits(fingerprint: str) -> str:
    """The beginning of a SHA-256; of what is none, such as the size and time of a large file, that of the text."""
    digest = hashlib.sha256(fingerprint.encode()).hexdigest() if "@" in fingerprint else fingerprint
    return digest[:_DIGITS]


def _session_of(asked: object) -> object:
    return asked.get("session") if isinstance(asked, dict) else None


def _passes_unchanged(before: Mapping[str, object], after: TestResult) -> bool:
    """Whether a test passed, as the record has it, and passes now without a change; false where a longer look is needed."""
    if before.get("verdict") != "pass" or after.verdict is not Verdict.PASS:
        return False
    if any(
        before.get(name) != getattr(after, name) for name in ("server", "tool", "request", "definition", "threshold")
    ):
        return False
    if "verify" in before or "trace" in before or after.verify or after.trace is not None:
        return False
    rows, old = after.assertions, before.get("assertions")
    return (
        isinstance(old, list)
        and len(old) == len(rows)
        and all(
            row.set is None and all(one.get(name) == getattr(row, name) for name in _OF_A_ROW)
            for one, row in zip(old, rows, strict=True)
        )
    )

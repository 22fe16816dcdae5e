"""What somebody who audits a run asks first: what was tested and how strongly, what was not, what acted, what is unusual."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.core.effects import CLASSES, UNLISTED, CallDecision
from mcptest_engine.core.enums import Strength
from mcptest_engine.core.results import TestKind, Verdict
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.text import counted
from mcptest_engine.reporting import facts
from mcptest_engine.reporting.ledger import change_lines, turn_text
from mcptest_engine.suite.items import is_about_error

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcptest_engine.core.effects import Effect
    from mcptest_engine.core.json_types import JsonMapping
    from mcptest_engine.core.ledger import Turn
    from mcptest_engine.core.results import TestResult
    from mcptest_engine.core.run_record import RunRecord

MODES = {
    "live": ("live", "live: every answer came from a server during this run"),
    "recorded": ("live", "recorded: the servers answered, and their answers were saved in a cassette"),
    "replayed": ("replayed", "replayed: every answer was read from a cassette; no server was asked"),
}
"""Of each mode where its answers come from, and what is said when all do."""
_LEVELS = tuple(Strength)
_NAME_LIMIT = 100
_COMMIT_LENGTH = 10


class ToolRow(NamedTuple):
    """A tool that tests of the run called: how many, how many of them passed, and the most that one of these demands."""

    server: str
    tool: str
    tests: int
    passed: int
    failed: int
    strength: Strength | None


def tool_rows(record: RunRecord) -> tuple[ToolRow, ...]:
    """Each tool that a test called, those with failed tests first, else in the order of the tests."""
    found: dict[tuple[str, str], list[TestResult]] = {}
    for test in record.tests:
        for called in dict.fromkeys(_called(test)):
            found.setdefault(called, []).append(test)
    rows = []
    for (server, tool), tests in found.items():
        passed = [test for test in tests if test.verdict is Verdict.PASS]
        strengths = [test.strength for test in passed if test.strength is not None]
        failed = sum(test.verdict is Verdict.FAIL for test in tests)
        strongest = max(strengths, key=_LEVELS.index, default=None)
        rows.append(ToolRow(server, tool, len(tests), len(passed), failed, strongest))
    return tuple(sorted(rows, key=lambda row: (row.failed == 0, row.passed > 0)))


def _called(test: TestResult) -> Iterator[tuple[str, str]]:
    """The (server, tool) of what a test called, or was to call where it was skipped."""
    if test.kind is TestKind.TOOL and test.tool is not None and "/" not in test.tool:  # such as `tools/list`
        yield one_line(test.server, _NAME_LIMIT), one_line(test.tool, _NAME_LIMIT)
    for step in test.verify:
        if step.tool is not None:
            yield one_line(step.server, _NAME_LIMIT), one_line(step.tool, _NAME_LIMIT)
    trace = test.trace or {}
    nodes, calls = trace.get("nodes"), trace.get("tool_calls")
    rows = [node for node in nodes.values() if isinstance(node, dict)] if isinstance(nodes, dict) else []
    asked = [(row, "tool") for row in rows if "started_ms" in row and not row.get("mocked") and not row.get("frozen")]
    asked += [(call, "name") for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    for call, key in asked:
        if call.get(key) is not None:
            yield one_line(str(call.get("server")), _NAME_LIMIT), one_line(str(call[key]), _NAME_LIMIT)


class Tools(NamedTuple):
    """How many tools the servers offer and how many a passing test covers; `untouched` are those that no test called."""

    offered: int
    covered: int
    untouched: tuple[str, ...]


def tools_of_servers(record: RunRecord) -> Tools | None:
    """What is known of the servers' tools; None where the run did not know their lists."""
    row = next((row for row in record.coverage if row.name == "tools" and row.unknown is None), None)
    if row is None:
        return None
    called = {name for one in tool_rows(record) if one.tests for name in (one.tool, f"{one.server}/{one.tool}")}
    missing = (one_line(name, _NAME_LIMIT) for name in row.missing)
    return Tools(row.total, row.covered, tuple(name for name in missing if name not in called))


def passed_on_errors(record: RunRecord) -> tuple[TestResult, ...]:
    """The tests that passed although the server answered with an error, and that do not demand one."""
    found = (test for test in facts.tests_with(record, Verdict.PASS) if test.kind.is_request)
    return tuple(test for test in found if facts.is_error(test) and not _expects_error(test))


def _expects_error(test: TestResult) -> bool:
    if any(row.implicit == "outcome" for row in test.assertions):
        return True  # it passed, so that an error was wanted
    leaves = (leaf for row in test.assertions if row.implicit is None for leaf in row.leaves())
    return any(is_about_error({"target": leaf.target, "matcher": leaf.matcher}) for leaf in leaves)


def error_text(test: TestResult) -> str:
    """What the server said in the error that it answered with."""
    output: JsonMapping = test.output or {}
    error = output.get("error")
    if isinstance(error, dict):
        return one_line(str(error.get("message", "")), facts.MESSAGE_LIMIT)
    result = output.get("result")
    content = result.get("content") if isinstance(result, dict) else None
    texts = (part.get("text") for part in (content if isinstance(content, list) else ()) if isinstance(part, dict))
    return one_line(next((text for text in texts if isinstance(text, str)), ""), facts.MESSAGE_LIMIT)


def acting_calls(record: RunRecord) -> tuple[Effect, ...]:
    """The calls that changed something or could have, and those that were not executed as asked for; the worst first."""
    notable = (
        () if record.effects is None else (row for row in record.effects.calls if row.is_notable or is_unlisted(row))
    )
    return tuple(sorted(notable, key=lambda row: -CLASSES.index(row.limited_as or row.tool_class)))


def is_unlisted(row: Effect) -> bool:
    """Whether nobody knows what kind of call this was."""
    return row.tool_class == UNLISTED and row.decision is CallDecision.EXECUTED


def run_moment(record: RunRecord) -> str:
    """`2026-01-02 03:04 UTC`, when the run started."""
    return f"{one_line(record.started_at, 40)[:16].replace('T', ' ')} UTC"


def mode_text(record: RunRecord) -> str:
    """The mode, and how many answers came from where unless all did from where the mode says."""
    own, text = MODES.get(record.mode, ("", record.mode))
    found = facts.answer_origins(record)
    told = [f"{count:,} {origin}" for origin, count in found.items() if count or origin == own]
    if not own or (found[own] and len(told) == 1):
        return text
    return f"{record.mode} run, {counted(sum(found.values()), 'answer')}: {', '.join(told)}"


def origin_text(record: RunRecord) -> str:
    """Where the results come from, in one line: how servers answered, what they say they are, who asked, which commit."""
    asked = (record.requested_by or {}).get("client") or {}
    source = record.source
    servers = ", ".join(filter(None, (_said(server.server_info) for server in record.servers)))
    commit = source.get("commit")
    branch = f" on {one_line(str(source['branch']), _NAME_LIMIT)}" if source.get("branch") else ""
    parts = (
        one_line(record.mode, 40),
        servers,
        f"asked for by {one_line(str(asked.get('name') or 'an agent'), _NAME_LIMIT)}" if record.requested_by else "",
        f"commit {one_line(str(commit), 40)[:_COMMIT_LENGTH]}{branch}" if commit else "no commit recorded",
    )
    return " · ".join(filter(None, parts))


def _said(info: Mapping[str, object] | None) -> str:
    known = info or {}
    return " ".join(one_line(str(known[key]), _NAME_LIMIT) for key in ("name", "version") if known.get(key))


def remarkable(record: RunRecord) -> tuple[str, ...]:
    """What is unusual about where the results come from, a line each; () for an ordinary run of a committed suite."""
    source, restarts, mode = record.source, sum(server.restarts for server in record.servers), mode_text(record)
    silent = [server for server in record.servers if server.protocol_version is None]
    lines = (
        (record.interrupted, "the run was interrupted: not every test was run"),
        (mode != MODES["live"][1] and any(facts.answer_origins(record).values()), mode),
        (source.get("dirty") is True, "the repository had changes that were not committed"),
        (bool(record.flags), f"options changed the tests: {one_line(' '.join(record.flags), 200)}"),
        (record.shard is not None, "one shard of a run: the other tests are in other reports"),
        (restarts > 0, f"{counted(restarts, 'restart')} of servers"),
        (bool(silent), f"{counted(len(silent), 'server')} agreed on no protocol"),
    )
    return tuple(text for holds, text in lines if holds)


def uncovered_text(record: RunRecord) -> str:
    """Why it is not known what was never tested."""
    row = next((row for row in record.coverage if row.name == "tools"), None)
    known = row is not None and row.unknown is not None
    why = (
        one_line(str(row.unknown), facts.MESSAGE_LIMIT)
        if row is not None and known
        else "the run knew no list of tools"
    )
    return f"No coverage measured: {why}."


def weakened_tests(record: RunRecord) -> tuple[Turn, ...]:
    """The tests that show less since this run, or since an earlier one of its session; those that had failed first."""
    turns = () if record.ledger is None else record.ledger.turns
    return tuple(
        sorted((turn for turn in turns if turn.needs_review), key=lambda turn: turn.before is not Verdict.FAIL)
    )


def weakened_text(turn: Turn) -> str:
    """What became of such a test, and what was changed."""
    changes = "; ".join(change_lines(turn))
    return f"{turn_text(turn)}: {changes}" if changes else turn_text(turn)

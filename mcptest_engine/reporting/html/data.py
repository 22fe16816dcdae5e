"""The data of the page: columns for the table, and a line of details for each test.

A report stays a file that a browser can open: when the details come to more than `ROOM` bytes, long values are cut until they
fit, each with a note of how long it was. The run record has them whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.core.enums import Verdict
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.reporting import facts
from mcptest_engine.reporting.html.details import details_of
from mcptest_engine.reporting.html.markup import name_text
from mcptest_engine.reporting.html.summary import doubts_by_test
from mcptest_engine.reporting.html.values import Values, bytes_of, cleaned, data_line, needs_cleaning
from mcptest_engine.reporting.repro import repro_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcptest_engine.core.json_types import JsonDict, JsonMapping
    from mcptest_engine.core.results import TestResult
    from mcptest_engine.core.run_record import HookResult, RunRecord
    from mcptest_engine.reporting.registry import RenderOptions

ROOM = 12_500_000
WHOLE = 1_000_000
"""The most bytes of details that are also written out for readers without a script."""
NOTE_LIMIT = 200


def columns(record: RunRecord, slugs: Mapping[str, str]) -> dict[str, object]:
    """The table by columns: a value for each test, and for words that repeat the number of the word in `words`."""
    words: dict[str, int] = {}

    def number(word: str) -> int:
        return words.setdefault(word, len(words))

    tests = record.tests
    out: JsonDict = {
        "slug": [slugs[test.id] for test in tests],
        "name": [name_text(test.name) for test in tests],
        "note": [note_of(test) for test in tests],
        "verdict": [number(test.verdict.value) for test in tests],
        "kind": [number(test.kind.value) for test in tests],
        "server": [number(name_text(test.server)) for test in tests],
        "tool": [number(one_line(test.tool or "", 100)) for test in tests],
        "strength": [number(facts.strength_text(test)) for test in tests],
        "tags": [[number(one_line(tag, 100)) for tag in test.tags] for test in tests],
        "took": [test.duration_ms for test in tests],
        "own": [test.own_ms for test in tests],
        "score": [test.score for test in tests] if any(test.score is not None for test in tests) else None,
    }
    return {"words": list(words), **out}


def note_of(test: TestResult) -> str:
    """What stands under a test's name: its first reason, or what else is to be said of it."""
    text = facts.reasons(test)[0].text if test.verdict is Verdict.FAIL else facts.listed_remark(test)
    if test.cached:
        text = f"{text}; from the cache" if text else "from the cache"
    if behind := facts.behind_text(test):
        behind = f"{facts.duration_text(test.duration_ms)}, {behind}"
        text = f"{text}; {behind}" if text else behind
    return one_line(text, NOTE_LIMIT)


class Details(NamedTuple):
    """The details of every test as lines of the page's data, and the values that they name by number.

    `tests` are the same details as plain data; None where they are too much to be written out.
    """

    lines: str
    values: Values
    tests: tuple[JsonMapping, ...] | None


def all_details(record: RunRecord, options: RenderOptions, slugs: Mapping[str, str]) -> Details:
    """The details of every test, with values cut where all of them are too much for one page."""
    around: dict[str, list[HookResult]] = {}
    for hook in record.hooks:
        if hook.test is not None:
            around.setdefault(hook.test, []).append(hook)
    values = Values()
    tests: list[JsonMapping] | None = []
    lines, size = [], 0
    doubts = doubts_by_test(record, slugs)
    for test in record.tests:
        about = doubts.get(slugs[test.id], ())
        details, line = _details(record, test, values, hooks=around.get(test.id, ()), doubts=about, options=options)
        lines.append(line)
        size += bytes_of(line) + 1
        if tests is not None:
            tests.append(details)
            tests = tests if size + values.size <= WHOLE else None
    if size + values.size > ROOM:
        values.cut(ROOM - size)
    return Details("\n".join(lines), values, None if tests is None else tuple(tests))


def _details(
    record: RunRecord,
    test: TestResult,
    values: Values,
    *,
    hooks: Sequence[HookResult],
    doubts: Sequence[str],
    options: RenderOptions,
) -> tuple[JsonMapping, str]:
    repro = repro_line(record, test, options) if test.verdict in {Verdict.FAIL, Verdict.INCONCLUSIVE} else None
    details = details_of(test.to_json(), values, hooks=[hook.to_json() for hook in hooks], repro=repro)
    if doubts:
        details["doubts"] = [*doubts]
    line = data_line(details)
    if needs_cleaning(line):
        details = cleaned(details)
        line = data_line(details)
    return details, line

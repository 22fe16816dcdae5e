"""What did not hold up, and what passed and needs a look, as the block "Review first". A run without either has no such block.

See docs/how-to/audit-an-agent.md.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.results import Verdict
from mcptest_engine.core.text import counted
from mcptest_engine.reporting import compositions, facts, hook_facts, overview
from mcptest_engine.reporting.html.markup import Html, badge, block_of, joined, name_text, section, tag, worded
from mcptest_engine.reporting.repro import repro_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from mcptest_engine.core.results import TestResult
    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.reporting.registry import RenderOptions

SHOWN = 100
LONGEST = 2_000


def block(record: RunRecord, slugs: Mapping[str, str], options: RenderOptions) -> Html | None:
    """Every failed hook, then every failing and every inconclusive test, then those that were weakened, that passed on an
    error, that are weak, or that were skipped; None where there are none.
    """
    setup = hook_facts.setup_failure(record)
    doubted = [
        test
        for verdict in (Verdict.FAIL, Verdict.INCONCLUSIVE)
        for test in facts.tests_with(record, verdict)
        if setup is None or not hook_facts.is_blocked_by_hook(test)
    ]
    hooks, groups = hook_facts.hook_failures(record), [part for part in _groups(record, slugs) if part is not None]
    if not doubted and not hooks and not groups:
        return None
    items = [_hook(told) for told in hooks]
    items += [_test_item(record, test, slugs[test.id], options) for test in doubted[:SHOWN]]
    more = len(doubted) - SHOWN
    left = tag("p", f"{counted(more, 'more test')} did not pass either; the table has them all.", class_="note")
    note = "Read these before you rely on the rest."
    return section("review", "Review first", *items, left if more > 0 else None, *groups, note=note)


def _groups(record: RunRecord, slugs: Mapping[str, str]) -> Iterator[Html | None]:
    """What is a line or two each."""
    by_name = {test.name: slugs[test.id] for test in record.tests}
    yield _group(
        "Weakened or replaced since an earlier run",
        overview.weakened_tests(record),
        lambda turn: _review_line(turn.test, by_name.get(turn.test), turn.tool, overview.weakened_text(turn)),
    )
    parts: tuple[tuple[str, tuple[TestResult, ...], Callable[[TestResult], str]], ...] = (
        ("Passed on an error", overview.passed_on_errors(record), _error_summary),
        ("Weak tests that passed", facts.weak_tests(record), facts.weak_text),
        ("Flaky", facts.flaky_tests(record), facts.flaky_text),
        ("Skipped", facts.tests_with(record, Verdict.SKIP), lambda test: facts.remark(test) or "no reason given"),
    )
    for title, tests, told in parts:
        yield _group(title, tests, partial(_test_line, slugs, told))


def _group(title: str, found: Sequence[object], line_of: Callable[[Any], Html]) -> Html | None:
    if not found:
        return None
    more = tag("li", f"and {len(found) - SHOWN:,} more; the table has them all") if len(found) > SHOWN else None
    return joined(
        [tag("h3", f"{title} ({len(found):,})"), tag("ul", *map(line_of, found[:SHOWN]), more, class_="told")]
    )


def _test_line(slugs: Mapping[str, str], told: Callable[[TestResult], str], test: TestResult) -> Html:
    return _review_line(test.name, slugs[test.id], test.tool, told(test))


def _review_line(name: str, slug: str | None, tool: str | None, text: str) -> Html:
    shown = name_text(name) if slug is None else tag("a", name_text(name), href=f"#t-{slug}")
    called = None if tool is None else joined([" ", tag("code", name_text(tool))])
    return tag("li", shown, called, tag("span", worded(text), class_="sub"))


def _error_summary(test: TestResult) -> str:
    return f"the server answered with an error, which the test does not expect: {overview.error_text(test)}"


def diff_block(lines: Iterable[str]) -> Html:
    """A unified diff, its lines coloured; the signs at their beginnings say the same."""
    return tag(
        "pre",
        *(tag("span", f"{line}\n", class_={"+": "add", "-": "del", "@": "hunk"}.get(line[:1])) for line in lines),
        class_="diff",
        tabindex="0",
    )


def _hook(told: hook_facts.FailedHook) -> Html:
    title = tag("h3", badge(Verdict.FAIL), " ", tag("span", "hook", class_="kind"), " ", told.title)
    return tag("article", title, block_of("\n".join(told.lines)) if told.lines else None, class_="doubt fail")


def _test_item(record: RunRecord, test: TestResult, slug: str, options: RenderOptions) -> Html:
    link = tag("a", name_text(test.name), href=f"#t-{slug}")
    failure = "" if test.failure is None else f" · {test.failure.kind.value} failure"
    called = f"{test.kind.value} · server {name_text(test.server)}{failure} · {facts.place(test)}"
    about = called if test.tool is None else joined([tag("code", name_text(test.tool)), f" · {called}"])
    body = (
        _why_failed(test)
        if test.verdict is Verdict.FAIL
        else [tag("p", worded(facts.inconclusive_text(test)), class_="why")]
    )
    command = tag(
        "p",
        tag("span", "Run it again: ", class_="muted"),
        tag("code", repro_line(record, test, options)),
        class_="repro",
    )
    head = tag("h3", badge(test.verdict), " ", link)
    exchange = _exchange(test)
    return tag(
        "article", head, tag("p", about, class_="about"), *body, exchange, command, class_=f"doubt {test.verdict.value}"
    )


def _exchange(test: TestResult) -> Html | None:
    """What was sent and what came, one click away; long ones are cut, and the opened test has the whole."""
    if test.request is None:
        return None
    parts = [tag("h4", "Request"), block_of(_json(test.request)), tag("h4", "Response")]
    parts.append(tag("p", "nothing came", class_="none") if test.output is None else block_of(_json(test.output)))
    return tag("details", tag("summary", "Request and response"), *parts)


def _json(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return (
        text if len(text) <= LONGEST else f"{text[:LONGEST]}\n… {len(text) - LONGEST:,} more characters; open the test"
    )


def _why_failed(test: TestResult) -> Iterator[Html]:
    for text, assertion in facts.reasons(test):
        yield tag("p", worded(text), class_="why")
        if assertion is not None and (lines := facts.diff_lines(assertion)):
            yield diff_block(lines)
    if lines := compositions.graph_lines(test) if "composition" in (test.trace or {}) else []:
        yield block_of("\n".join(lines))
    if lines := facts.stderr_lines(test):
        yield tag("p", f"stderr of {facts.failed_server(test)}:", class_="about")
        yield block_of("\n".join(lines))
    if test.failure is not None and test.failure.rerun_text:
        yield tag("p", test.failure.rerun_text, class_="about")
    if test.failure is not None and test.failure.hint:
        yield tag("p", tag("strong", "Hint: "), worded(test.failure.hint), class_="hint")

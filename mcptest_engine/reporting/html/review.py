"""What did not hold up, as the block "Review first", before anything else. A run in which all passed has no such block.

Source: agent-interface, Auditing an agent run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.core.results import Verdict
from mcptest_engine.core.words import counted
from mcptest_engine.reporting import compositions, facts, hook_facts
from mcptest_engine.reporting.html.markup import Html, badge, name_text, section, tag, worded
from mcptest_engine.reporting.repro import repro_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mcptest_engine.core.results import TestResult
    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.reporting.registry import RenderOptions

SHOWN = 100


def block(record: RunRecord, slugs: Mapping[str, str], options: RenderOptions) -> Html | None:
    """Every failed hook, then every failing and every inconclusive test; None where there are none."""
    setup = hook_facts.setup_failure(record)
    doubted = [
        test
        for verdict in (Verdict.FAIL, Verdict.INCONCLUSIVE)
        for test in facts.tests_with(record, verdict)
        if setup is None or not hook_facts.is_kept(test)
    ]
    hooks = hook_facts.told_hooks(record)
    if not doubted and not hooks:
        return None
    items = [_hook(told) for told in hooks]
    items += [_item(record, test, slugs[test.id], options) for test in doubted[:SHOWN]]
    more = len(doubted) - SHOWN
    left = tag("p", f"{counted(more, 'more test')} did not hold up either; the table has them all.", class_="note")
    note = "The run did not hold up here. Read these before you rely on the rest."
    return section("review", "Review first", *items, left if more > 0 else None, note=note)


def diff_block(lines: Iterable[str]) -> Html:
    """A unified diff, its lines coloured; the signs at their beginnings say the same."""
    return tag("pre", *(tag("span", f"{line}\n", class_=_diff_class(line)) for line in lines), class_="diff")


def _diff_class(line: str) -> str | None:
    return {"+": "add", "-": "del", "@": "hunk"}.get(line[:1])


def _hook(told: hook_facts.ToldHook) -> Html:
    title = tag("h3", badge(Verdict.FAIL), " ", tag("span", "hook", class_="kind"), " ", told.title)
    return tag("article", title, tag("pre", "\n".join(told.lines)) if told.lines else None, class_="doubt fail")


def _item(record: RunRecord, test: TestResult, slug: str, options: RenderOptions) -> Html:
    link = tag("a", name_text(test.name), href=f"#t-{slug}")
    failure = "" if test.failure is None else f" · {test.failure.kind.value} failure"
    about = f"{test.kind.value} · server {name_text(test.server)}{failure} · {facts.place(test)}"
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
    return tag("article", head, tag("p", about, class_="about"), *body, command, class_=f"doubt {test.verdict.value}")


def _why_failed(test: TestResult) -> Iterator[Html]:
    for text, assertion in facts.reasons(test):
        yield tag("p", worded(text), class_="why")
        if assertion is not None and (lines := facts.diff_lines(assertion)):
            yield diff_block(lines)
    if lines := compositions.graph_lines(test) if "composition" in (test.trace or {}) else []:
        yield tag("pre", "\n".join(lines))
    if lines := facts.stderr_lines(test):
        yield tag("p", f"stderr of {facts.failed_server(test)}:", class_="about")
        yield tag("pre", "\n".join(lines))
    if test.failure is not None and test.failure.rerun_words:
        yield tag("p", test.failure.rerun_words, class_="about")
    if test.failure is not None and test.failure.hint:
        yield tag("p", tag("strong", "Hint: "), worded(test.failure.hint), class_="hint")

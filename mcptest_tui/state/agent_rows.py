"""What an agent did, as lines: who, when, which suite, and of a run each test. All of it is made safe here."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.text import counted
from mcptest_engine.reporting.repro import inline_repro
from mcptest_tui.state.agents import INLINE, PROPOSAL, RUN
from mcptest_tui.state.hook_rows import hook_lines
from mcptest_tui.state.result_rows import outcome_lines
from mcptest_tui.state.run_view import repro_command
from mcptest_tui.state.text_lines import BLANK, TextLine, line
from mcptest_tui.words import MARKS, key_of, mark, took_shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcptest_tui.state.agents import AgentRow

LONGEST = 400
ABOUT = {
    INLINE: "This suite came as text and has no result: it is running, it is not valid, or its run was interrupted.",
    PROPOSAL: "This needs your decision: u reviews it. Nothing is written before you decide.",
    "unreadable": "This file cannot be read: it is damaged, or not written by mcptest.",
}


def clock_shown(at: float, now: float, *, seconds: bool) -> str:
    """Return a time as `12:41:07` or `12:41` if it is today, else as `21 Nov`."""
    then = time.localtime(at)
    is_today = then[:3] == time.localtime(now)[:3]
    clock = "%H:%M:%S" if seconds else "%H:%M"
    return time.strftime(clock, then) if is_today else f"{then.tm_mday} {time.strftime('%b', then)}"


def repro_of(row: AgentRow, test: str) -> str:
    """The command that runs one test of a run again, as the agent got it."""
    return inline_repro(row.suite, test) if row.inline else repro_command(row.suite, test)


def whole_repro(row: AgentRow) -> str:
    """The command that runs all of it again; "" for what cannot be run."""
    suite = f".mcptest/inline/{row.id}.yml" if row.kind == INLINE else row.suite
    if row.kind not in (RUN, INLINE):
        return ""
    return inline_repro(suite)


def detail_lines(row: AgentRow, told: Mapping[str, object] | str | None) -> list[TextLine]:
    """All about a row; `told` is the engine's answer about a run, a message where there is none, None while it is awaited."""
    took = f"   {row.duration_ms:,.0f} ms" if row.kind == RUN else ""
    lines = [line((f"{mark(row.status)} {row.outcome}", row.status), took), BLANK, *_facts(row, told)]
    if row.kind != RUN:
        size = f" ({row.bytes:,} bytes)" if row.bytes else ""
        return [*lines, BLANK, line((f"{ABOUT[row.kind]}{size}", "dim"))]
    if told is None:
        return [*lines, BLANK, line(("reading …", "dim"))]
    if isinstance(told, str):
        return [*lines, BLANK, line((_safe(told), "inconclusive"))]
    return [*lines, *_tests(row, told), *_others(told), *_warnings(told)]


def _facts(row: AgentRow, told: Mapping[str, object] | str | None) -> Iterator[TextLine]:
    record = told.get("record") if isinstance(told, dict) else None
    servers = record.get("servers") if isinstance(record, dict) else None
    names = ", ".join(str(one.get("name")) for one in servers or () if isinstance(one, dict))
    came = row.inline or row.kind == INLINE
    suite, more = ("came as text", f"   {key_of('agents.edit')} opens it") if came else (row.suite, "")
    file = f".mcptest/inline/{row.id}.yml" if came else row.file
    facts = (
        ("agent", f"{row.client} {row.version}".strip() or ("not known" if row.kind == RUN else ""), ""),
        ("proposed by", row.source, ""),
        ("when", time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(row.at)), ""),
        ("suite", suite, more),
        ("servers", names, ""),
        ("cassette", row.cassette, f"   {row.mode}"),
        ("run" if row.kind == RUN else "file", row.id if row.kind in (RUN, PROPOSAL) else file, ""),
    )
    shown = [fact for fact in facts if fact[1]]
    width = max(len(name) for name, _, _ in shown)
    for name, text, more in shown:
        yield line((f"{name:<{width}}  ", "dim"), _safe(text), (more, "dim"))


def _warnings(told: Mapping[str, object]) -> Iterator[TextLine]:
    record = told.get("record")
    record = record if isinstance(record, dict) else {}
    for text in _listed(record.get("warnings")):
        yield BLANK
        yield line((f"{MARKS['inconclusive']} ", "hint"), _safe(text))
    hooks = [hook for hook in _listed(record.get("hooks")) if isinstance(hook, dict) and hook.get("passed") is False]
    if hooks:
        yield BLANK
        yield line(("hooks that failed", "bold"))
        yield from (line(*pieces, at=at) for at, pieces in hook_lines(hooks))


def _tests(row: AgentRow, told: Mapping[str, Any]) -> Iterator[TextLine]:
    for test in _listed(told.get("tests")):
        verdict, name = str(test.get("verdict")), str(test.get("name"))
        yield BLANK
        yield line((f"{mark(verdict)} ", verdict), (_safe(name), "bold"), (_took(test.get("duration_ms")), "dim"))
        yield from (one._replace(at=one.at + 2, hang=one.hang + 2) for one in outcome_lines(test))
        yield line(("run it again", "dim"), at=2)
        yield line(_safe(repro_of(row, name)), at=2)  # on a row of its own: it is long, and is read to be typed
    if told.get("left_out"):
        yield BLANK
        yield line((f"and {counted(int(told['left_out']), 'more test')} that did not pass", "dim"))


def _others(told: Mapping[str, object]) -> Iterator[TextLine]:
    for at, (verdict, name, took) in enumerate(_listed(told.get("others"))):
        if at == 0:
            yield BLANK
        yield line((f"{mark(verdict)} ", str(verdict)), _safe(name), (_took(took), "dim"))


def _took(duration: object) -> str:
    return f"   {took_shown(duration)}" if isinstance(duration, (int, float)) else ""


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _safe(text: object) -> str:
    return one_line(str(text), LONGEST)

"""Which of a suite's cases a run takes: by name, tag, server, row and shard; and the same case again for `--repeat`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mcptest_engine.core.costs import REPEAT_MARK
from mcptest_engine.core.enums import TestKind
from mcptest_engine.core.errors import UsageError, did_you_mean
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.text import counted
from mcptest_engine.suite.items import uses_matcher

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mcptest_engine.running.cases import Case
    from mcptest_engine.running.settings import Selection

ROWS_NAMED = 8


def select(cases: Sequence[Case], selection: Selection, *, servers: Iterable[str]) -> list[Case]:
    known = tuple(servers)
    for server in sorted(selection.servers):
        if server not in known:
            raise UsageError(
                f"the suite has no server `{one_line(server)}`",
                hint=did_you_mean(server, known) or f"it has {', '.join(f'`{name}`' for name in known) or 'none'}",
            )
    if selection.takes_all:
        return list(cases)
    _check_rows(selection.rows, cases)
    wanted = _name_test(selection.filter, {case.name for case in cases})
    judged_of = {case.subject for case in cases if case.subject is not None}
    subjects = {case.id: case for case in cases if case.id in judged_of}
    taken = [
        case
        for case in cases
        if (wanted(case.name) or (selection.judged and wanted(_subject(case, subjects).name)))
        and (not selection.judged or _is_judged(case))
        and (not selection.tags or not selection.tags.isdisjoint(case.tags))
        and selection.skip_tags.isdisjoint(case.tags)
        and (not selection.rows or case.row_name in selection.rows)
        and (not selection.servers or not selection.servers.isdisjoint(_subject(case, subjects).servers))
        and (selection.ids is None or case.id in selection.ids)
    ]
    needed = {case.subject for case in taken if case.subject is not None} - {case.id for case in taken}
    if needed:
        needed.update(case.id for case in taken)
        taken = [case for case in cases if case.id in needed]
    return with_groups(taken, [case for case in cases if selection.skip_tags.isdisjoint(case.tags)])


def with_groups(taken: list[Case], cases: Sequence[Case]) -> list[Case]:
    """The cases that were taken with all others of their groups, in declared order."""
    groups = {case.group for case in taken if case.group is not None}
    if not groups:
        return taken
    ids = {case.id for case in taken}
    return [case for case in cases if case.id in ids or case.group in groups]


def why_none(cases: Sequence[Case], selection: Selection) -> str:
    """Why nothing was selected of `cases`, with the nearest name where a filter is misspelt."""
    if selection.judged and not any(map(_is_judged, cases)):
        return f"nothing in the suite is graded: it has no evals; `mcptest run` runs its {counted(len(cases), 'test')}"
    told = f"the selection matched none of {counted(len(cases), 'test')}"
    names = [case.name for case in cases if not selection.judged or _is_judged(case)]
    if selection.filter is None or selection.filter.startswith("re:"):
        return told
    near = did_you_mean(selection.filter, names)
    return told if near is None else f"{told}; {near}"


def _is_judged(case: Case) -> bool:
    """Whether a scorer or a model grades something of the case."""
    return case.kind is TestKind.EVAL or any(uses_matcher(expect, "llm-judge") for expect in case.expectations())


def _subject(case: Case, subjects: Mapping[str, Case]) -> Case:
    """The case itself, or the one of which a model judges a metric."""
    return case if case.subject is None else subjects.get(case.subject, case)


def _shard_key(case: Case, subject: Case) -> str:
    """What a case is put into a shard by: its group, the budget that it shares, its subject, or the answer that it grades."""
    from mcptest_engine.running.kinds.composition.plan import Row
    from mcptest_engine.running.kinds.eval.plan import EvalRow

    if case.group is not None:
        return f"group {case.group}"
    if isinstance(subject.body, Row) and subject.body.program.spending.of_all:
        return f"budget of {subject.body.program.name}"
    if case.subject is not None:
        return case.subject
    return case.body.candidate.key if isinstance(case.body, EvalRow) else case.id


def _check_rows(wanted: Iterable[str], cases: Sequence[Case]) -> None:
    """Raises: UsageError for a case that no test has."""
    known = tuple(dict.fromkeys(case.row_name for case in cases if case.row_name is not None))
    for row in sorted(wanted):
        if row not in known:
            more = ", …" if len(known) > ROWS_NAMED else ""
            has = (
                f"there are {', '.join(f'`{one}`' for one in known[:ROWS_NAMED])}{more}"
                if known
                else "none has `cases:`"
            )
            raise UsageError(f"no test of the suite has a case `{row}`", hint=did_you_mean(row, known) or has)


def _name_test(text: str | None, names: set[str]) -> Callable[[str], bool]:
    """A filter equal to a whole name takes just that test; else it is a part of the name, or `re:` and an expression."""
    if text is None:
        return lambda _: True
    if text in names:
        return lambda name: name == text
    if text.startswith("re:"):
        try:
            re.compile(text[3:])
        except re.error as wrong:
            raise UsageError(
                f"the filter `{text}` is not a regular expression: {wrong}",
                hint="without `re:` a filter is plain text",
            ) from None
        return lambda name: _matches(text[3:], name)
    base, hash_mark, number = text.rpartition(" #")
    if hash_mark and number.isdigit() and base in names:
        return lambda name: name == base
    return lambda name: text in name


def _matches(pattern: str, name: str) -> bool:
    from mcptest_engine.core.patterns import PatternTimeout, search

    try:
        return search(pattern, name)
    except PatternTimeout as wrong:
        raise UsageError(
            f"the filter `re:{pattern[:80]}` cannot be used for `{one_line(name, 80)}`: {wrong}",
            hint="avoid repeats inside of repeats; without `re:`, a filter is plain text",
        ) from None


def shard_of(cases: Iterable[Case], shard: tuple[int, int], *, dealt: bool) -> list[Case]:
    """By a stable hash of the id, so that adding a test moves no other one. Runs that are counted together stay together."""
    from zlib import crc32

    from mcptest_engine.running.kinds.agent.plan import AgentProgram, runs_id

    cases = tuple(cases)
    programs = [(case.id, case.body) for case in cases if isinstance(case.body, AgentProgram)]
    counted = {case_id: runs_id(case_id, program.run) for case_id, program in programs if program.counts_runs}
    index, count = shard
    subjects = {case.id: case for case in cases}
    kept = [_shard_key(case, _subject(case, subjects)) for case in cases]
    keys = [counted.get(key, key) for key in kept]
    places = {key: at for at, key in enumerate(dict.fromkeys(keys))} if dealt else {}
    return [
        case
        for case, key in zip(cases, keys, strict=True)
        if (places[key] if dealt else crc32(key.encode())) % count == index - 1
    ]


def repeated(case: Case, number: int) -> Case:
    """The case of the `number`-th repeat of the run."""
    from mcptest_engine.running.kinds.composition.plan import Row

    mark = f"{REPEAT_MARK}{number}"
    return case._replace(
        id=f"{case.id}{mark}",
        name=f"{case.name} #{number}",
        base_name=case.base_name or case.name,
        body=case.body.for_repeat(number),
        serial=case.serial or (isinstance(case.body, Row) and case.body.shares_budget),
        subject=case.subject and f"{case.subject}{mark}",
        fresh={server: key and f"{key}{mark}" for server, key in case.fresh.items()} or case.fresh,
    )

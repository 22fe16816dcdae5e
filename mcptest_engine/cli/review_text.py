"""How `mcptest review` prints open items and the result of decisions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mcptest_engine.core.errors import ExitCode
from mcptest_engine.core.sanitise import one_line, sanitise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from mcptest_engine.authoring.review import Reviewed, ReviewItem
    from mcptest_engine.workspace.workspace import Workspace

SHORTEST_ID = 6


def item_lines(items: Sequence[ReviewItem], *, paint: Callable[[str, str], str]) -> Iterator[str]:
    """Format every item as a diff with its notes, safe for a terminal."""
    ids = short_ids(items)
    for item in items:
        yield paint("1", f"{ids[item.id]}  {item_headline(item)}")
        yield from (f"  {line}" for line in item_notes(item))
        place = one_line(item.suite) if item.line is None else f"{one_line(item.suite)}:{item.line}"
        yield f"--- {place}" if item.before else "--- /dev/null"
        yield f"+++ {place}"
        yield paint("36", f"@@ {one_line(item.title)} @@")
        yield from diff_lines(item, paint=paint)
        yield ""


def item_headline(item: ReviewItem) -> str:
    """`weather.yaml:41 forecast returns rain  (assertion, seen once)`."""
    place = item.suite if item.line is None else f"{item.suite}:{item.line}"
    part = item.about if "matcher" in item.path else ""  # one of several differences of the test
    about = ", ".join(told for told in (item.kind, part, item.stability) if told)
    return one_line(f"{place} {item.title}  ({about})", 400)


def item_notes(item: ReviewItem) -> Iterator[str]:
    """Notes, a line each: why it is proposed, what it would loosen, what was left out."""
    if item.needs_arguments:
        yield "needs     arguments: edit the item, or accept the current ones"
    if item.loosens is not None:
        yield f"loosens   {one_line(item.loosens)}"
    if item.why:
        yield f"why       {one_line(item.why)}"
    for line in item.arguments:
        yield f"argument  {one_line(line)}"
    for target in item.left_out:
        yield f"left out  {one_line(target)}"
    for note in item.notes:
        yield f"note      {one_line(note)}"


def diff_lines(item: ReviewItem, *, paint: Callable[[str, str], str]) -> Iterator[str]:
    """Format `before` and `after` as a diff."""
    from mcptest_engine.authoring.review import changed_lines

    codes = {"-": "31", "+": "32"}
    for mark, line in changed_lines(item):
        text = f"{mark}{sanitise(line)}"
        yield paint(codes[mark], text) if mark in codes else text


def short_ids(items: Iterable[ReviewItem]) -> dict[str, str]:
    """The shortest beginning of each id that is unique."""
    ids = [item.id for item in items]
    length = SHORTEST_ID
    while length < max(map(len, ids), default=0) and len({one[:length] for one in ids}) < len(set(ids)):
        length += 1
    return {one: one[:length] for one in ids}


def write_outcome(reviewed: Reviewed, workspace: Workspace, *, write: Callable[[str], object]) -> int:
    """Print what was written and how to go on; return the exit code."""
    counts = [
        f"{len(items)} {word}"
        for items, word in (
            (reviewed.accepted, "accepted"),
            (reviewed.rejected, "rejected"),
            (reviewed.skipped, "skipped"),
            (reviewed.refused, "refused"),
        )
        if items
    ]
    write(f"{', '.join(counts) or 'nothing decided'}\n")
    for file in reviewed.written:
        write(f"  wrote {one_line(workspace.relative(Path(file.path)))}\n")
    for refused in reviewed.refused:
        write(f"  refused {one_line(refused.item.title)}: {one_line(refused.reason)}\n")
    if reviewed.to_rerun:
        write("run the changed tests:\n")
        for suite, names in reviewed.to_rerun.items():
            write(f"  {_run_command(suite, names)}\n")
    if reviewed.written or reviewed.forgotten:
        write("undo:\n  mcptest review --undo\n")
    return ExitCode.FAILED if reviewed.refused else ExitCode.PASSED


def _run_command(suite: str, names: Sequence[str]) -> str:
    """The command that runs one test by its name; for several tests the suite, because a filter of all names is too long."""
    from mcptest_engine.reporting.repro import quoted_name

    command = f"mcptest run {quoted_name(one_line(suite)) if ' ' in suite else one_line(suite)}"
    return f"{command} --filter {quoted_name(one_line(names[0]))}" if len(names) == 1 else command

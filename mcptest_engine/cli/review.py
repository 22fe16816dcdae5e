"""`mcptest review`: all items that wait for a person, one at a time on a terminal, or by flags for agents and CI."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mcptest_engine.cli.common import colours, find_here, is_terminal, json_text, refuse_under_ci
from mcptest_engine.cli.review_text import item_headline, item_lines, short_ids, write_outcome
from mcptest_engine.core.errors import ExitCode, UsageError, did_you_mean
from mcptest_engine.core.sanitise import one_line, sanitise
from mcptest_engine.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcptest_engine.authoring.review import ReviewItem, Waiting
    from mcptest_engine.workspace.workspace import Workspace

_COMMANDS = """\
use one of these instead
    mcptest review --diff         show the open items as diffs; --format json for programs
    mcptest review --list         the same, a line each
    mcptest review --accept ID    accept one; --reject ID drops it
    mcptest review --accept ID --args JSON   give a test real arguments for its made-up ones
    mcptest review --accept-like ID   accept it and all like it
    mcptest review --accept-all   accept all that neither loosen a test, nor look volatile, nor need arguments
    mcptest review --reject-all   drop all
    mcptest review --undo         undo the last write"""


@click.command()
@click.argument("files", nargs=-1, type=click.Path(), metavar="[FILE]...")
@click.option("--diff", is_flag=True, help="Print all open items as diffs; decide nothing.")
@click.option("--list", "listing", is_flag=True, help="Print all open items, one line each.")
@click.option("--accept", multiple=True, metavar="ID", help="Accept an item; the beginning of its id is enough.")
@click.option(
    "--accept-like",
    multiple=True,
    metavar="ID",
    help="Accept an item and all of the same kind, target and matcher, except those that loosen a test or look "
    "volatile.",
)
@click.option(
    "--args",
    metavar="JSON",
    help="With --accept ID of a test whose made-up arguments were refused: the real ones.",
)
@click.option("--reject", multiple=True, metavar="ID", help="Reject an item.")
@click.option(
    "--accept-all",
    is_flag=True,
    help="Accept all items, except those that loosen a test, look volatile or need arguments.",
)
@click.option(
    "--loosening",
    is_flag=True,
    help="With --accept-all or --accept-like: also accept items that loosen a test or look volatile.",
)
@click.option("--reject-all", is_flag=True, help="Reject all items.")
@click.option("--snapshots", is_flag=True, help="Look at changed snapshots only.")
@click.option("--undo", is_flag=True, help="Undo the last write of a review.")
@click.option("--exit-code", is_flag=True, help="With --diff or --list: exit with 1 if there are open items.")
@click.option("--allow-update-in-ci", is_flag=True, help="Allow accepting items under CI.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.pass_context
def command(ctx: click.Context, /, **flags: Any) -> None:
    """Review open items: made-up arguments, proposed tests, changed expectations and changed snapshots.

    In a terminal you accept, reject or skip them one by one. FILE selects suites. No tool is called and no test runs.

    \b
    Example:
      mcptest review --diff --format json
      mcptest review --accept 394a8b --args '{"id": "b-7741"}'
    """
    _check_flags(flags)
    workspace = find_here()
    if flags["undo"]:
        ctx.exit(_undo(workspace))
    suites = [_existing(file) for file in flags["files"]] or None
    accepting = bool(flags["accept"] or flags["accept_like"] or flags["accept_all"])
    deciding = accepting or bool(flags["reject"] or flags["reject_all"])
    reading = flags["diff"] or flags["listing"]
    if not (deciding or reading) and not (is_terminal(sys.stdin) and is_terminal(sys.stdout)):
        raise UsageError("`mcptest review` needs a terminal", hint=_COMMANDS)
    if not reading and (accepting or not deciding):
        refuse_under_ci(
            "accepting is refused under CI, because nobody reviews the change",
            hint="review on your machine and commit the suites, or add --allow-update-in-ci",
            allowed=flags["allow_update_in_ci"],
        )
    from mcptest_engine.authoring.review import look

    waiting = look(workspace, suites, only_snapshots=flags["snapshots"])
    _print_problems(waiting)
    if reading:
        _print(waiting, form=flags["form"], listing=flags["listing"])
        ctx.exit(ExitCode.FAILED if flags["exit_code"] and waiting.items else ExitCode.PASSED)
    if deciding:
        ctx.exit(_decide(workspace, waiting, flags))
    from mcptest_engine.cli.review_session import review_on_terminal

    ctx.exit(review_on_terminal(workspace, waiting))


def _check_flags(flags: Mapping[str, object]) -> None:
    reading = [name for name, key in (("--diff", "diff"), ("--list", "listing"), ("--undo", "undo")) if flags[key]]
    all_of = [name for name, key in (("--accept-all", "accept_all"), ("--reject-all", "reject_all")) if flags[key]]
    single = [name for name in ("--accept", "--accept-like", "--reject") if flags[name[2:].replace("-", "_")]]
    modes = [*reading, *all_of, *(["/".join(single)] if single else [])]
    if len(modes) > 1:
        raise UsageError(f"`{modes[0]}` and `{modes[1]}` do not go together", hint="use one of them")
    if flags["args"] is not None and not flags["accept"]:
        raise UsageError("`--args` belongs to `--accept ID`")
    if flags["loosening"] and not (flags["accept_all"] or flags["accept_like"]):
        raise UsageError("`--loosening` belongs to `--accept-all` or `--accept-like`")
    if flags["exit_code"] and not (flags["diff"] or flags["listing"]):
        raise UsageError("`--exit-code` belongs to `--diff` or `--list`")
    if flags["form"] == "json" and not (flags["diff"] or flags["listing"]):
        raise UsageError("`--format json` belongs to `--diff` or `--list`")


def _existing(file: str) -> Path:
    path = Path(file)
    if not path.exists():
        raise UsageError(f"there is no file `{file}`")
    return path


def _print_problems(waiting: Waiting) -> None:
    for problem in waiting.problems:
        sys.stderr.write(f"{sanitise(problem)}\n")
    for item, reason in waiting.stale:
        sys.stderr.write(
            f"left out: {one_line(item.suite)} {one_line(item.title)}: {one_line(reason)}; "
            f"reject it with `mcptest review --reject {item.id}`\n"
        )


def _print(waiting: Waiting, *, form: str, listing: bool) -> None:
    if form == "json":
        items = [_json_of(item) for item in waiting.items]
        stale = [{**_json_of(item), "reason": reason} for item, reason in waiting.stale]
        sys.stdout.write(json_text({"items": items, "stale": stale, "problems": list(waiting.problems)}))
        return
    if not waiting.items:
        sys.stdout.write("nothing to review\n")
        return
    if listing:
        ids = short_ids(waiting.items)
        for item in waiting.items:
            loosens = "  needs arguments" if item.needs_arguments else "" if item.loosens is None else "  loosens"
            sys.stdout.write(f"{ids[item.id]}  {item_headline(item)}{loosens}\n")
        return
    sys.stdout.write("".join(f"{line}\n" for line in item_lines(waiting.items, paint=colours(sys.stdout))))
    sys.stdout.write(f"{counted(len(waiting.items), 'open item')}; decide with `mcptest review`\n")


def _json_of(item: ReviewItem) -> dict[str, object]:
    return {
        "id": item.id,
        "kind": item.kind,
        "suite": item.suite,
        "line": item.line,
        "title": item.title,
        "about": item.about,
        "source": item.source,
        "why": item.why,
        "stability": item.stability,
        "volatile": item.is_volatile,
        "needs_arguments": item.needs_arguments,
        "arguments": list(item.arguments),
        "loosens": item.loosens,
        "left_out": list(item.left_out),
        "notes": list(item.notes),
        "before": item.before,
        "after": item.after,
        "tests": list(item.tests),
    }


def _decide(workspace: Workspace, waiting: Waiting, flags: Mapping[str, Any]) -> int:
    from mcptest_engine.authoring.review import Choice, decide

    decisions: list[tuple[ReviewItem, Choice, str | None]] = []
    stale = [item for item, _ in waiting.stale]
    if flags["accept_all"]:
        taken = [item for item in waiting.items if item.is_safe or flags["loosening"]]
        _print_left(len(waiting.items) - len(taken))
        decisions = [(item, Choice.ACCEPT, None) for item in taken]
    elif flags["reject_all"]:
        decisions = [(item, Choice.REJECT, None) for item in (*waiting.items, *stale)]
    else:
        accepted = _items_named(flags["accept"], waiting.items)
        if flags["args"] is not None:
            accepted = [_with_arguments(accepted, flags["args"])]
        accepted += [item for item in _alike(flags, waiting.items) if item not in accepted]
        rejected = _items_named(flags["reject"], (*waiting.items, *stale))
        both = {item.id for item in accepted} & {item.id for item in rejected}
        if both:
            raise UsageError(f"`{both.pop()}` is both accepted and rejected")
        decisions = [(item, Choice.ACCEPT, None) for item in accepted]
        decisions += [(item, Choice.REJECT, None) for item in rejected]
    if not decisions:
        sys.stdout.write("nothing decided\n")
        return ExitCode.PASSED
    return write_outcome(decide(workspace, decisions), workspace, write=sys.stdout.write)


def _with_arguments(accepted: Sequence[ReviewItem], text: str) -> ReviewItem:
    """The single item of `--accept` with the arguments of `--args`. Raises: UsageError."""
    from dataclasses import replace

    from mcptest_engine.core.safe_json import JsonFault, load_json

    if len(accepted) != 1 or accepted[0].kind != "arguments":
        raise UsageError("`--args` is for one test", hint="accept one item of the kind `arguments` with it")
    try:
        given = load_json(text)
    except JsonFault as wrong:
        raise UsageError(f"`--args`: {wrong}") from None
    if not isinstance(given, dict):
        raise UsageError("`--args` is not a JSON object", hint="""write it as --args '{"id": 7}'""")
    return replace(accepted[0], value={**accepted[0].value, "args": given})


def _alike(flags: Mapping[str, Any], items: Sequence[ReviewItem]) -> list[ReviewItem]:
    """The items of `--accept-like` and all similar ones that are safe; with `--loosening` the others too."""
    named = _items_named(flags["accept_like"], items)
    likes = {item.likeness for item in named}
    alike = [item for item in items if item.likeness in likes]
    taken = [item for item in alike if item in named or item.is_safe or flags["loosening"]]
    _print_left(len(alike) - len(taken))
    return taken


def _print_left(left: int) -> None:
    if left:
        reason = "loosens a test, looks volatile or needs arguments"
        if left > 1:
            reason = "loosen a test, look volatile or need arguments"
        sys.stderr.write(f"{counted(left, 'item')} left: {reason}; --loosening takes them too\n")


def _items_named(words: Sequence[str], items: Sequence[ReviewItem]) -> list[ReviewItem]:
    """The items whose ids begin so; one word may list several, with commas. Raises: UsageError."""
    found: dict[str, ReviewItem] = {}
    for word in (part.strip().lower() for joined in words for part in joined.split(",") if part.strip()):
        meant = [item for item in items if item.id.startswith(word)]
        if not meant:
            hint = did_you_mean(word, [item.id for item in items]) or "`mcptest review --list` shows the open items"
            raise UsageError(f"no open item has the id `{word}`", hint=hint)
        if len({item.id for item in meant}) > 1:
            ids = ", ".join(f"`{item.id}`" for item in meant[:4])
            raise UsageError(f"`{word}` is ambiguous: {ids}", hint="write more of the id")
        found[meant[0].id] = meant[0]
    return list(found.values())


def _undo(workspace: Workspace) -> int:
    from mcptest_engine.authoring.review import undo

    try:
        undone = undo(workspace)
    except OSError as wrong:
        raise UsageError(f"the last write cannot be undone: {wrong.strerror or wrong}") from None
    for file, reason in undone.refused:
        sys.stderr.write(f"{one_line(file)}: {one_line(reason)}\n")
    if undone.refused:
        sys.stderr.write("nothing was undone\n")
        return ExitCode.FAILED
    for file in undone.restored:
        sys.stdout.write(f"restored {one_line(file)}\n")
    return ExitCode.PASSED

"""The review on a terminal: one item at a time, one key each; nothing is written before the end.

It prints downwards and never redraws, so that earlier decisions can be scrolled back to, and any terminal works.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mcptest_engine.authoring.review import Choice, decide, preview
from mcptest_engine.cli.common import colours
from mcptest_engine.cli.keys import END, ESCAPE, Keys, keys
from mcptest_engine.cli.review_text import diff_lines, item_headline, item_notes, short_ids, write_outcome
from mcptest_engine.core.errors import ExitCode
from mcptest_engine.core.sanitise import one_line, sanitise
from mcptest_engine.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest_engine.authoring.review import ReviewItem, Waiting
    from mcptest_engine.workspace.workspace import Workspace

_KEYS = ("a accept", "r reject", "s skip", "e edit", "d whole diff", "i info", "j/k move", "u undo")
_MORE_KEYS = ("l accept all like this", "A R S accept, reject, skip the rest", "w write now", "q leave")
_WORDS = {Choice.ACCEPT: "accepted", Choice.REJECT: "rejected", Choice.SKIP: "skipped"}
_AROUND = 9
"""Lines of the screen that are not for the diff."""
_SAVE = "\x13"


def review_on_terminal(workspace: Workspace, waiting: Waiting) -> int:
    """Show all items that wait, and return the exit code."""
    if not waiting.items:
        sys.stdout.write("nothing to review\n")
        return ExitCode.PASSED
    with keys() as typed:
        return _Session(workspace, waiting.items, typed).run()


class _Session:
    def __init__(self, workspace: Workspace, items: Sequence[ReviewItem], typed: Keys) -> None:
        self._workspace = workspace
        self._items = list(items)
        self._keys = typed
        self._at = 0
        self._decided: dict[str, tuple[Choice, str | None]] = {}
        self._order: list[list[str]] = []
        self._edited: dict[str, str] = {}
        self._paint = colours(sys.stdout)
        self._code: int = ExitCode.PASSED
        self._has_written = False

    def run(self) -> int:
        self._show()
        while True:
            key = self._keys.read()
            if key in ("q", ESCAPE, END):
                if self._leave(key):
                    return self._code
            elif key in ("w", _SAVE):
                self._write()
                if not self._items:
                    return self._code
                self._show()
            elif self._handle(key) and len(self._decided) == len(self._items):
                self._write()
                return self._code

    def _handle(self, key: str) -> bool:
        """Carry out one command; return whether it decided an item."""
        match key:
            case "a":
                self._decide([self._item], Choice.ACCEPT)
            case "r":
                self._decide([self._item], Choice.REJECT)
            case "s":
                self._decide([self._item], Choice.SKIP)
            case "A" | "R" | "S":
                choice = {"A": Choice.ACCEPT, "R": Choice.REJECT, "S": Choice.SKIP}[key]
                return self._decide_many(self._left(), choice, "left")
            case "l" | "L":
                alike = [item for item in self._left() if item.likeness == self._item.likeness]
                return self._decide_many(alike, Choice.ACCEPT, "like this")
            case "e":
                self._edit()
                return False
            case "u":
                self._undo()
                return False
            case _:
                self._look(key)
                return False
        return True

    def _look(self, key: str) -> None:
        match key:
            case "j" | "n" | "down" | "right":
                self._move(1)
            case "k" | "p" | "up" | "left":
                self._move(-1)
            case "d":
                self._show(whole=True)
            case "i":
                self._info()
            case "?" | "h":
                self._say(_help())
            case "\n" | "\r" | " " | "":
                pass
            case _:
                self._say(f"no such key `{one_line(key)}`\n{_help()}")

    @property
    def _item(self) -> ReviewItem:
        return self._items[self._at]

    def _left(self) -> list[ReviewItem]:
        return [item for item in self._items if item.id not in self._decided]

    def _say(self, text: str) -> None:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()

    def _move(self, step: int) -> None:
        self._at = (self._at + step) % len(self._items)
        self._show()

    def _show(self, *, whole: bool = False) -> None:
        item, size = self._item, shutil.get_terminal_size()
        lines = ["", *self._painted("1", f"[{self._at + 1}/{len(self._items)}] {item_headline(item)}", inner=2)]
        lines += [one for line in item_notes(item) for one in self._painted("33", f"  {line}", inner=12)]
        edited = self._edited.get(item.id)
        diff = list(diff_lines(item if edited is None else replace(item, after=edited), paint=self._paint))
        room = max(size.lines - _AROUND - len(lines), 4)
        if not whole and len(diff) > room:
            more = len(diff) - room
            diff = [*diff[:room], self._paint("2", f"  … {counted(more, 'more line')}; d shows them")]
        lines += diff
        if item.id in self._decided:
            lines.append(self._paint("1", f"  {_WORDS[self._decided[item.id][0]]}; decide again, or u"))
        left, files = len(self._left()), self._files()
        suffix = f"; writes {', '.join(files)} at the end" if files else ""
        lines += ["", *self._painted("2", f"{left} left{suffix}", inner=2)]
        lines += [self._paint("2", line) for line in _in_rows((*_KEYS, "? more"))]
        self._say("\n".join(lines))

    def _painted(self, code: str, text: str, *, inner: int) -> list[str]:
        return [self._paint(code, line) for line in _folded(text, inner)]

    def _files(self) -> list[str]:
        """The files that would be written now."""
        accepted = [item for item in self._items if self._decided.get(item.id, (None,))[0] is Choice.ACCEPT]
        files = dict.fromkeys(item.origin if item.kind == "snapshot" else item.suite for item in accepted)
        return [one_line(file, 60) for file in files]

    def _info(self) -> None:
        item = self._item
        facts = [
            f"id        {item.id} ({short_ids(self._items)[item.id]} is enough)",
            f"from      {one_line(item.source)} {one_line(item.origin)}",
            *(f"test      {one_line(name)}" for name in item.tests),
        ]
        lines = (one for line in (*facts, *item_notes(item)) for one in _folded(f"  {line}", 12))
        self._say("\n".join(lines))

    def _decide(self, items: Sequence[ReviewItem], choice: Choice) -> None:
        for item in items:
            self._decided[item.id] = (choice, self._edited.get(item.id) if choice is Choice.ACCEPT else None)
        self._order.append([item.id for item in items])
        first = items[0]
        self._say(
            f"  {_WORDS[choice]}" + ("" if len(items) == 1 else f" {len(items)}") + f": {one_line(first.title, 60)}"
        )
        following = [*range(self._at + 1, len(self._items)), *range(self._at)]
        open_ones = [at for at in following if self._items[at].id not in self._decided]
        if open_ones:
            self._at = open_ones[0]
            self._show()

    def _decide_many(self, left: Sequence[ReviewItem], choice: Choice, which: str) -> bool:
        """Ask once, and decide about all of these; `which` describes them."""
        if not left:
            self._say("  nothing like this is left")
            return False
        safe = [item for item in left if item.is_safe] if choice is Choice.ACCEPT else list(left)
        files = sorted({one_line(item.suite, 60) for item in left})
        shown = ", ".join(files[:4]) + (f" and {len(files) - 4} more" if len(files) > 4 else "")
        verb = choice.value
        if len(safe) == len(left):
            self._print(f"{verb} the {len(left)} {which}, in {shown}? y/n")
            taken = list(left) if self._keys.read() in ("y", "Y") else []
        else:
            odd = len(left) - len(safe)
            loosen = "loosens a test, looks volatile or needs arguments"
            if odd > 1:
                loosen = "loosen a test, look volatile or need arguments"
            self._print(f"{verb} the {len(left)} {which}, in {shown}? {odd} of them {loosen}:")
            others = f"y {verb} the other {len(safe)}, " if safe else ""
            self._print(f"{others}! {verb} all {len(left)}, n none")
            answer = self._keys.read()
            taken = list(left) if answer == "!" else safe if answer in ("y", "Y") else []
        if not taken:
            self._say("  nothing decided")
            return False
        self._decide(taken, choice)
        return True

    def _print(self, text: str) -> None:
        self._say("\n".join(_folded(text, 2)))

    def _undo(self) -> None:
        if not self._order:
            self._say("  nothing to undo")
            return
        ids = self._order.pop()
        word = next((_WORDS[self._decided[one][0]] for one in ids if one in self._decided), "decided")
        for one in ids:
            self._decided.pop(one, None)
        title = next((item.title for item in self._items if item.id == ids[0]), "")
        many = "" if len(ids) == 1 else f" {len(ids)}"
        self._say(f"  taken back: {word}{many}: {one_line(title, 60)}")
        self._at = next((at for at, item in enumerate(self._items) if item.id == ids[0]), self._at)
        self._show()

    def _edit(self) -> None:
        """Edit the item's `after` in an editor, until it is valid or the person stops."""
        item = self._item
        text = self._edited.get(item.id, item.after)
        while True:
            new = self._in_editor(item.to_edit.removesuffix(item.after) + text)
            if new is None:
                return
            new = item.undescribed(new)
            if new.strip() == text.strip() and item.id not in self._edited:
                self._say("  unchanged")
                return
            text = new
            problem = preview(self._workspace, item, text)
            if problem is None:
                self._edited[item.id] = text.rstrip("\n")
                self._show()
                return
            self._say(f"  this cannot be accepted: {sanitise(problem)}\ne edit again, any other key discards the edit")
            if self._keys.read() != "e":
                self._show()
                return

    def _in_editor(self, text: str) -> str | None:
        """Return the text as edited; None without an editor, or when it failed."""
        named = os.environ.get("VISUAL") or os.environ.get("EDITOR") or shutil.which("vi") or ""
        try:
            argv = shlex.split(named)
        except ValueError:
            argv = []
        if not argv:
            self._say("  no editor: set EDITOR")
            return None
        with tempfile.TemporaryDirectory(prefix="mcptest-review-") as folder:
            path = Path(folder) / "change.yml"
            path.write_text(f"{text}\n", encoding="utf-8")
            try:
                with self._keys.suspended():
                    code = subprocess.run([*argv, str(path)], check=False).returncode
                new = path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as wrong:
                self._say(f"  the editor failed: {sanitise(str(wrong))}")
                return None
        if code != 0:
            self._say(f"  the editor ended with {code}; its text was discarded")
            return None
        return new.rstrip("\n")

    def _leave(self, key: str) -> bool:
        """Whether to leave; with unsaved decisions, a second key chooses whether they are saved."""
        open_ones = [one for one, (choice, _) in self._decided.items() if choice is not Choice.SKIP]
        if open_ones and key != END:
            self._say(
                f"{counted(len(open_ones), 'decision')} not written: "
                "w write them, q quit without writing, any other key continues"
            )
            answer = self._keys.read()
            if answer == "w":
                self._write()
                return True
            if answer not in ("q", ESCAPE, END):
                self._show()
                return False
        suffix = "" if self._has_written else "; nothing was written"
        self._say(f"{counted(len(self._items), 'item')} left as before{suffix}")
        return True

    def _write(self) -> None:
        """Write the decisions so far; the other items stay."""
        decisions = [(item, *self._decided[item.id]) for item in self._items if item.id in self._decided]
        if not decisions:
            self._say("  nothing decided yet")
            return
        reviewed = decide(self._workspace, decisions)
        self._has_written = self._has_written or bool(reviewed.written or reviewed.forgotten)
        self._code = max(self._code, write_outcome(reviewed, self._workspace, write=sys.stdout.write))
        sys.stdout.flush()
        here = self._item.id
        self._items = [item for item in self._items if item.id not in self._decided]
        self._decided.clear()
        self._order.clear()
        self._at = next((at for at, item in enumerate(self._items) if item.id == here), 0)


def _width() -> int:
    return max(shutil.get_terminal_size().columns, 20)


def _folded(text: str, inner: int) -> list[str]:
    """Wrap a text to the terminal's width; all lines but the first begin at column `inner`."""
    return textwrap.wrap(
        text, _width(), subsequent_indent=" " * inner, break_on_hyphens=False, replace_whitespace=False
    ) or [text]


def _in_rows(parts: Sequence[str]) -> list[str]:
    """Join short texts to lines, as many on each as fit."""
    rows = [parts[0]]
    for part in parts[1:]:
        if len(rows[-1]) + 2 + len(part) <= _width():
            rows[-1] += f"  {part}"
        else:
            rows.append(part)
    return rows


def _help() -> str:
    return "\n".join((*_in_rows(_KEYS), *_in_rows(_MORE_KEYS)))

"""Mode 4: what is proposed is accepted, rejected or left for another time, one by one; written when a person says so.

The list is the app's (`reviews.py`), because the mode bar counts it. Leaving keeps every decision; only writing carries it out.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from rich.cells import cell_len
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Static

from mcptest_engine.core.text import counted
from mcptest_tui.engine_client import EngineError
from mcptest_tui.keymap import bindings_for
from mcptest_tui.safe import name_among, one_line, shown
from mcptest_tui.screens.base import WorkScreen
from mcptest_tui.screens.review_editing import Editing
from mcptest_tui.screens.review_writing import Writing
from mcptest_tui.screens.working import in_background
from mcptest_tui.state.review_rows import decision_pieces, item_lines, written_lines
from mcptest_tui.state.reviewing import ACCEPT, REJECT, RISK_MARKS, SKIP, file_names_text, rest_question
from mcptest_tui.state.text_lines import BLANK, line, safe
from mcptest_tui.widgets.empty import Empty
from mcptest_tui.widgets.frame import show_titles
from mcptest_tui.widgets.review_view import HELP, NEARBY, FragmentEditor, ReviewList, ReviewView
from mcptest_tui.widgets.splitter import Splitter
from mcptest_tui.words import key_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from textual.binding import BindingType
    from textual.widget import Widget

    from mcptest_tui.state.reviewing import Item, Reviewing
    from mcptest_tui.widgets.lines import Lines

OF_A_PROPOSAL = (
    "accept",
    "reject",
    "skip",
    "editing.edit",
    "whole",
    "open",
    "source",
    "info",
    "rest",
    "rest('accept')",
    "alike",
)
"""What is done with the proposal that is shown."""
INKS = {"pass": "$verdict-pass", "fail": "$verdict-fail", "skip": "$verdict-skip"}
EMPTY_TITLE = "Nothing to review"
EMPTY_LINES = (
    "Here you accept or reject proposed tests and expectations, one by one. Nothing is written before you say so.",
)


def empty_hints(*, failed: bool = False) -> tuple[tuple[str, str], ...]:
    """What to do where nothing is proposed."""
    first = (
        f"{key_of('fail.next')} goes to what failed, {key_of('open.detail')} shows why, "
        f"{key_of('open.edit')} opens the test in the editor"
        if failed
        else "run the tests: the answers of failed tests become proposals"
    )
    return (
        (key_of("app.mode.1"), first),
        (
            key_of("app.mode.3"),
            f"{key_of('test.propose')} on a tool proposes a test of it, {key_of('suite.new')} a whole suite for the server",
        ),
        ("$", "`mcptest propose TOOL --write SUITE` proposes another `expect`"),
    )


def empty_text(failed: int, problem: str) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """What stands there without a proposal, and what to do: where tests have failed, that nothing can be proposed for them."""
    if problem:
        return (*EMPTY_LINES, f"It could not be read: {problem}"), empty_hints()
    if not failed:
        return EMPTY_LINES, empty_hints()
    told = f"{counted(failed, 'test')} failed, but the answers of the server cannot be expected in their place."
    return (*EMPTY_LINES, told), empty_hints(failed=True)


class _ItemPane(Vertical):
    """The pane of the proposal. Its title is cut to its width, which is known only once it is laid out."""

    def on_resize(self) -> None:
        """Another width, another title."""
        if isinstance(self.screen, ReviewScreen):
            self.screen.show_item(keep=True)


class ReviewScreen(WorkScreen):
    """The list at the left, the proposal beside it; at narrow sizes the proposal alone."""

    MODE = "review"
    CSS_PATH = "review.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings_for("review")
    HELP = HELP

    def __init__(self) -> None:
        super().__init__()
        self.info = False
        self._shown: str | None = None
        self.editing = Editing(self, self._decide, self._leave_written, self._focus)
        self.writing = Writing(self, self._show_counts)
        self._arriving: tuple[str, str] | None = None

    def compose_body(self) -> Iterable[Widget]:
        """The two panes, the counts, and what stands there when nothing waits."""
        yield Empty(EMPTY_TITLE, EMPTY_LINES, empty_hints(), id="review-empty")
        with Horizontal(id="review"):
            with Vertical(id="review-list-pane", classes="pane"):
                yield ReviewList(self.state, id="review-list")
            yield Splitter(id="list-item", percent=38)
            with _ItemPane(id="review-pane", classes="pane"):
                yield ReviewView(id="review-item")
                yield FragmentEditor(id="review-editor")
        yield Static("", id="review-counts")

    def on_mount(self) -> None:
        """What is known; and ask again."""
        super().on_mount()
        show_titles(self.query_one("#review-list-pane"), Content("Proposals"))
        self.set_class(not self.state.items, "-empty")
        self.workbench.reviews.read()

    def on_screen_resume(self) -> None:
        """Shown: something may have been proposed meanwhile."""
        super().on_screen_resume()
        self.workbench.reviews.read()

    # The parts

    @property
    def state(self) -> Reviewing:
        """The list and the decisions."""
        return self.workbench.reviews.state

    @property
    def view(self) -> ReviewView:
        """The proposal."""
        return self.query_one(ReviewView)

    @property
    def listed(self) -> ReviewList:
        """All of them."""
        return self.query_one(ReviewList)

    # What comes from the app

    def caught_up(self) -> None:
        """The list was read, or this is shown again."""
        self.editing.caught_up()
        if self._arriving is not None:
            self._go_to_test(*self._arriving)
        self.show_all()

    def arrive(self, **where: Any) -> None:
        """From a test: its proposals. What was made just now is not in the list yet: it is read once more."""
        self.workbench.reviews.written = []
        suite, test = self._arriving = (str(where.get("suite") or ""), str(where.get("test") or ""))
        if suite and self.state.find(suite, test) is None:
            self.workbench.reviews.read()
        self._go_to_test(suite, test)
        self.show_all()

    def _go_to_test(self, suite: str, test: str) -> None:
        if not suite:
            self._arriving = None
            return
        at = self.state.find(suite, test)
        if at is not None:
            self._arriving = None
            self.state.go(at)
        elif not self.workbench.reviews.is_reading:
            self._arriving = None
            self.workbench.say(f"nothing is proposed for {one_line(test, 60)}")

    def back(self) -> bool:
        """Out of the editor, or of the details."""
        if self.editing.back():
            self.show_all()
            return True
        if self._leave_written():
            return True
        if self.info:
            self.action_info()
            return True
        return False

    def key_title(self, action: str) -> str | None:
        """Leave out of the footer what is done with a proposal, while what was written is shown in its place."""
        return None if self.workbench.reviews.written and action in OF_A_PROPOSAL else super().key_title(action)

    def hints_first(self) -> dict[str, str]:
        """What works while that is shown."""
        if not self.workbench.reviews.written:
            return {}
        return {"app.back": "next proposal" if self.state.items else "close", "review.unwrite": ""}

    def status_text(self) -> Content:
        """How many wait."""
        waiting = len(self.state.items)
        return Content(f"{counted(waiting, 'proposal')}") if waiting else Content("")

    # Showing

    def show_all(self) -> None:
        """The list, the item, the counts; and which of them there are."""
        if not self.is_mounted:
            return
        written = self.workbench.reviews.written
        empty = not self.state.items and not written
        alone = not self.state.items
        moved = (self.has_class("-empty"), self.has_class("-alone")) != (empty, alone)
        self.set_class(empty, "-empty")
        self.set_class(alone, "-alone")
        problem = self.workbench.reviews.problem
        lines, hints = empty_text(self.workbench.store.counts.get("fail", 0), problem)
        title = EMPTY_TITLE if self.workbench.reviews.is_read or problem else "Looking for proposals …"
        self.query_one("#review-empty", Empty).show(title, lines, hints)
        risks = self.state.risks
        marks = Content("  ".join(f"{RISK_MARKS[risk]} {risk}" for risk in risks))
        show_titles(self.query_one("#review-list-pane"), Content("Proposals"), marks)
        self.listed.changed(cursor=self.state.at)
        self.listed.show_row(self.state.at)
        self.show_item(keep=True)
        if moved or self.focused is None or not self.focused.display:
            self._focus()

    def show_item(self, *, keep: bool = False) -> None:
        """The proposal under the cursor, from its top unless it is the one that was shown."""
        item = self.state.current
        pane = self.query_one("#review-pane")
        if written := self.workbench.reviews.written:
            item = None
            self.view.show(written_lines(written), keep=True)
            show_titles(pane, Content("Written"), Content(""))
        elif item is None:
            self.view.show([])
            show_titles(pane, Content(""), Content(""))
        else:
            narrow = self.has_class("-narrow")
            lines = item_lines(item, self.state.decision(item), info=self.info, stability=narrow)
            title = self._title(item)
            if (name := safe(item.title)) not in title.plain:
                lines = [line((name, "bold")), BLANK, *lines]
            self.view.show(lines, keep=keep and item.id == self._shown)
            show_titles(pane, title, Content("") if narrow else shown(one_line(item.stability, 40)))
        self._shown = item.id if item is not None else None
        self._show_counts()
        self.refresh_bindings()

    def _title(self, item: Item) -> Content:
        width = max(self.query_one("#review-pane").size.width - 2, 30)
        told, ink = decision_pieces(self.state.decision(item), draft=item.id in self.state.drafts)
        number = f"Review {self.state.at + 1}/{len(self.state.items)}"
        room = width - cell_len(number) - cell_len(told) - 8
        wanted = cell_len(one_line(item.title, room)) if room > 0 else 0
        place = one_line(item.place, max(room // 2, room - wanted, 10))
        near = self.state.items[max(self.state.at - NEARBY, 0) : self.state.at + NEARBY + 1]
        title = name_among(item.title, [*dict.fromkeys(one.title for one in near)], max(room - cell_len(place), 8))
        parts = [Content(number), Content.styled(told, INKS.get(ink, "")), shown(place), shown(title, style="bold")]
        return Content("  ").join([part for part in parts if part.cell_length])

    def _show_counts(self) -> None:
        counts = self.state.counts
        pieces = [
            Content.styled(f"{counts[ACCEPT]} accepted", INKS["pass"]),
            Content.styled(f"{counts[REJECT]} rejected", INKS["fail"]),
            *([Content.styled(f"{counts[SKIP]} skipped", INKS["skip"])] if counts[SKIP] else []),
            Content(f"{counts['left']} left"),
        ]
        left = Content("  ").join(pieces)
        files = self.state.files()
        why = ""
        if self.workbench.reviews.is_writing:
            told = "writing …"
        elif files:
            why, told = "nothing written yet: ", f"{key_of('review.write')} writes {counted(len(files), 'file')}"
        elif self.state.unwritten:
            why, told = "nothing written yet: ", f"{key_of('review.write')} forgets what was rejected"
        else:
            told = (
                f"{key_of('review.unwrite')} takes the last write back"
                if self.workbench.reviews.can_undo
                else f"nothing is written before {key_of('review.write')}"
            )
        width = max(self.app.size.width - 2, 20)
        room = width - left.cell_length - 3
        right = f"{why}{told}" if cell_len(f"{why}{told}") <= room else one_line(told, room) if room >= 12 else ""
        gap = max(width - left.cell_length - cell_len(right), 0)
        self.query_one("#review-counts", Static).update(
            left + Content(" " * gap) + shown(right, style="$foreground 65%")
        )

    def _focus(self) -> None:
        if self.has_class("-empty"):
            self.query_one("#review-empty").focus()
        elif not self.editing.is_open:
            (self.view if self.has_class("-narrow") or self.has_class("-alone") else self.listed).focus()

    def fit(self) -> None:
        super().fit()
        if self.is_mounted and self.state.items and self.focused is self.listed and self.has_class("-narrow"):
            self.view.focus()

    # Moving

    def on_lines_cursor_moved(self, event: Lines.CursorMoved) -> None:
        """Another one is looked at."""
        event.stop()
        if event.lines is self.listed and self.state.go(event.at):
            self.workbench.reviews.written = []
            self.show_item()

    def on_lines_chosen(self, event: Lines.Chosen) -> None:
        """Two clicks open the test."""
        event.stop()
        self.action_open()

    def action_step(self, steps: int) -> None:
        """Another one, without deciding."""
        if self.state.move(steps) or self.workbench.reviews.written:
            self._moved()

    def _leave_written(self) -> bool:
        """From what was written back to the proposal, which nobody decides about unseen; False where that is shown."""
        if not self.workbench.reviews.written:
            return False
        self.workbench.reviews.written = []
        self.show_all()
        return True

    def _moved(self) -> None:
        self.workbench.reviews.written = []
        self.listed.changed(cursor=self.state.at)
        self.listed.show_row(self.state.at)
        self.show_item()

    # Deciding

    def action_accept(self) -> None:
        """Take it."""
        if self._leave_written():
            return
        item = self.state.current
        before = self.state.decision(item) if item is not None else None
        text = before.text if before is not None else None
        if item is not None and not self._refuse(item, text):
            self._decide(ACCEPT, text)

    def _refuse(self, item: Item, text: str | None) -> bool:
        """Say why a proposal cannot be accepted with this text; False when it can."""
        if item.stale:
            told = f"it can only be rejected: {item.stale}"
        elif item.is_missing_arguments(text):
            told = f"it needs arguments that the server accepts: {key_of('review.edit')} gives them, then it can be accepted"
        else:
            return False
        self.workbench.say(told, "warning")
        return True

    def action_reject(self) -> None:
        """Do not take it."""
        self._decide(REJECT)

    def action_skip(self) -> None:
        """Another time."""
        self._decide(SKIP)

    def _decide(self, choice: str, text: str | None = None) -> None:
        if self.state.current is None or self._leave_written():
            return
        self.state.decide(choice, text)
        self._moved()
        self.writing.ask_when_complete()

    def action_undo(self) -> None:
        """Take the last decision back."""
        if self.state.undo() is None:
            self.workbench.say(
                "nothing was decided yet"
                + (f"; {key_of('review.unwrite')} takes the last write back" if self.workbench.reviews.can_undo else "")
            )
            return
        self.writing.is_asked = False
        self._moved()

    def action_rest(self, choice: str) -> None:
        """All that are left, after one question."""
        chosen, title, lines, left = rest_question(self.state, choice)
        if not chosen:
            told = "; ".join(left)
            self.workbench.say(f"nothing is left to {choice} at once{': ' + told if told else ''}")
            return
        self._decide_many(chosen, choice, title, lines)

    def action_alike(self) -> None:
        """All that change the same."""
        item = self.state.current
        if item is None or self._refuse(item, None):
            return
        chosen = self.state.alike(item)
        if len(chosen) < 2:
            self.workbench.say("no other undecided proposal makes the same change")
            return
        lines = [f"They make the same change in other tests, in {file_names_text(self.state.files(chosen))}."]
        self._decide_many(chosen, ACCEPT, f"Accept {counted(len(chosen), 'proposal')} that are alike?", lines)

    def _decide_many(self, items: Sequence[Item], choice: str, title: str, lines: Sequence[str]) -> None:
        from mcptest_tui.widgets.modals import Question

        def answered(answer: str | None) -> None:
            if answer == "y":
                there = {item.id for item in self.state.items}
                self.state.decide_all([item for item in items if item.id in there], choice)
                self._moved()
                self.writing.ask_when_complete()

        self.app.push_screen(Question(title, lines, [("y", f"yes, {choice}"), ("n", "no")]), answered)

    # Looking closer

    def action_info(self) -> None:
        """More, or less."""
        self._leave_written()
        self.info = not self.info
        self.show_item(keep=True)

    def action_open(self) -> None:
        """The result of the test; of one that has none, the suite."""
        item, rows = self.state.current, self.workbench.store.rows.values()
        tests = [row.id for row in rows if item is not None and item.is_about(row.path, row.name)]
        if tests:
            self.workbench.go("tests", id=tests[0], result=True)
        else:
            self.action_source()

    def action_source(self) -> None:
        """The test in the editor."""
        item = self.state.current
        if item is not None:
            self.workbench.go("edit", path=item.file, line=item.line or 1)

    def action_look_again(self) -> None:
        """Ask."""
        self.workbench.reviews.read()

    def action_whole(self) -> None:
        """The whole file."""
        item = self.state.current
        if item is not None:
            in_background(self, partial(self._whole, item), "review.whole")

    async def _whole(self, item: Item) -> None:
        from mcptest_tui.screens.difference import Difference

        decision = self.state.decision(item)
        text = decision.text if decision is not None else None
        try:
            found = await self.workbench.engine.ask("review_whole", id=item.id, text=text)
        except EngineError as wrong:
            self.workbench.tell(wrong.message, severity="warning", hint=wrong.hint)
            return
        self.app.push_screen(
            Difference(
                one_line(found["path"], 60), found["before"], found["after"], "as it is", "as it would be", whole=True
            )
        )

    # What applies

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What there is nothing to do for is left out of the footer."""
        reviews = self.workbench.reviews
        if action.partition("(")[0] in OF_A_PROPOSAL:
            return reviews.state.current is not None and not self.editing.is_open
        if action == "undo":
            return bool(reviews.state.decisions) and not self.editing.is_open
        return super().check_action(action, parameters)

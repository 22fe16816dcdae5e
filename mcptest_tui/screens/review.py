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
from mcptest_tui.screens.base import Controller, WorkScreen, in_background
from mcptest_tui.screens.review_editing import Editing
from mcptest_tui.screens.review_writing import Deciding, Writing
from mcptest_tui.state.review_rows import decision_pieces, item_lines, written_diff_lines
from mcptest_tui.state.reviewing import ACCEPT, REJECT, RISK_MARKS, SKIP
from mcptest_tui.state.text_lines import BLANK, line, safe
from mcptest_tui.widgets.frame import Empty, show_titles
from mcptest_tui.widgets.review_view import HELP, NEARBY, FragmentEditor, ReviewList, ReviewView
from mcptest_tui.widgets.splitter import Splitter
from mcptest_tui.words import key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from textual.binding import BindingType
    from textual.widget import Widget

    from mcptest_tui.reviews import Reviews
    from mcptest_tui.state.reviewing import Item, Reviewing
    from mcptest_tui.widgets.lines import Lines

INKS = {"pass": "$verdict-pass", "fail": "$verdict-fail", "skip": "$verdict-skip"}
EMPTY_TITLE = "Nothing to review"
EMPTY_LINES = (
    "Here you accept or reject proposed tests and expectations, one by one. Nothing is written before you say so.",
)


def empty_hints(*, failed: bool = False) -> tuple[tuple[str, str], ...]:
    """Return hints on what to do when there are no proposals."""
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


class ReviewScreen(WorkScreen):
    """The list at the left, the proposal beside it; at narrow sizes the proposal alone."""

    MODE = "review"
    CSS_PATH = "review.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings_for("review")
    HELP = HELP

    def __init__(self) -> None:
        super().__init__()
        self.state = self.workbench.reviews.state
        self.listed = ReviewList(self.state, id="review-list")
        self.proposal = ProposalPane(self, self.close_written, self.show_counts)
        self.writing = Writing(self, self.show_counts)
        self.deciding = Deciding(self, self.writing, self._moved, self.close_written)
        self.editing = Editing(self, self.deciding.decide, self.close_written, self._focus)
        self._arriving: tuple[str, str] | None = None

    def compose_body(self) -> Iterable[Widget]:
        """The two panes, the counts, and what stands there when nothing waits."""
        yield Empty(EMPTY_TITLE, EMPTY_LINES, empty_hints(), id="review-empty")
        with Horizontal(id="review"):
            with Vertical(id="review-list-pane", classes="pane"):
                yield self.listed
            yield Splitter(id="list-item", percent=38)
            with _ItemPane(self.proposal.show):
                yield self.proposal.view
                yield FragmentEditor(id="review-editor")
        yield Static("", id="review-counts")

    def on_mount(self) -> None:
        """Set the title of the list; without proposals, show the empty text."""
        show_titles(self.query_one("#review-list-pane"), Content("Proposals"))
        self.set_class(not self.state.items, "-empty")

    def on_screen_resume(self) -> None:
        """Read what may have been proposed meanwhile."""
        self.workbench.reviews.read()

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
            self.workbench.messages.show(f"nothing is proposed for {one_line(test, 60)}")

    def back(self) -> bool:
        """Close the fragment editor, or else the written changes, or else the details."""
        if self.editing.back():
            self.show_all()
            return True
        return self.close_written() or self.proposal.back()

    def key_title(self, action: str) -> str | None:
        """Leave out of the footer what is done with a proposal, while what was written is shown in its place."""
        of_a_proposal = action.startswith(("deciding.", "proposal.", "editing.")) and action != "deciding.undo"
        return None if self.workbench.reviews.written and of_a_proposal else super().key_title(action)

    def hints_first(self) -> dict[str, str]:
        """The footer's first keys while the written changes are shown."""
        if not self.workbench.reviews.written:
            return {}
        return {"app.back": "next proposal" if self.state.items else "close", "review.unwrite": ""}

    def status_text(self) -> Content:
        """Return the number of proposals for the status bar; empty without any."""
        waiting = len(self.state.items)
        return Content(f"{counted(waiting, 'proposal')}") if waiting else Content("")

    # Showing

    def show_all(self) -> None:
        """Draw the list, the proposal and the counts again."""
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
        self.proposal.show(keep=True)
        if moved or self.focused is None or not self.focused.display:
            self._focus()

    def show_counts(self) -> None:
        """Show how many are decided, and what writing would do."""
        text = counts_text(self.workbench.reviews, max(self.app.size.width - 2, 20))
        self.query_one("#review-counts", Static).update(text)

    def _focus(self) -> None:
        if self.has_class("-empty"):
            self.query_one("#review-empty").focus()
        elif not self.editing.is_open:
            (self.proposal.view if self.has_class("-narrow") or self.has_class("-alone") else self.listed).focus()

    def fit(self) -> None:
        super().fit()
        if self.is_mounted and self.state.items and self.focused is self.listed and self.has_class("-narrow"):
            self.proposal.view.focus()

    # Moving

    def on_lines_cursor_moved(self, event: Lines.CursorMoved) -> None:
        """Show the proposal that the cursor of the list has moved to."""
        event.stop()
        if event.lines is self.listed:
            self.workbench.reviews.written = []
            self.proposal.show()

    def on_lines_chosen(self, event: Lines.Chosen) -> None:
        """Show the result of the proposal's test, or open its suite without one."""
        event.stop()
        self.proposal.action_open()

    def action_step(self, steps: int) -> None:
        """Move the cursor by `steps` proposals, without deciding about any."""
        if self.state.move(steps) or self.workbench.reviews.written:
            self._moved()

    def close_written(self) -> bool:
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
        self.proposal.show()

    def action_look_again(self) -> None:
        """Read the proposals again, in the background."""
        self.workbench.reviews.read()


class _ItemPane(Vertical):
    """The pane of the proposal. Its title is cut to its width, which is known only once it is laid out."""

    def __init__(self, show: Callable[..., None]) -> None:
        super().__init__(id="review-pane", classes="pane")
        self._show = show

    def on_resize(self) -> None:
        """Draw the proposal again, because its title is cut to the new width."""
        self._show(keep=True)


class ProposalPane(Controller):
    """Shows the proposal under the cursor, or what was written last. `on_show` is called afterwards."""

    def __init__(self, screen: WorkScreen, close_written: Callable[[], bool], on_show: Callable[[], None]) -> None:
        super().__init__(screen)
        self._reviews, self._close_written, self._on_show = self.workbench.reviews, close_written, on_show
        self._state = self._reviews.state
        self.view = ReviewView(id="review-item")
        self._has_details = False
        self._shown: str | None = None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        """Enable the actions only for a proposal that is not being edited."""
        return self._state.current is not None and not self.screen.has_class("-editing")

    def show(self, *, keep: bool = False) -> None:
        """The proposal under the cursor, from its top unless it is the one that was shown."""
        item = self._state.current
        pane = self.screen.query_one("#review-pane")
        if written := self._reviews.written:
            item = None
            self.view.show(written_diff_lines(written), keep=True)
            show_titles(pane, Content("Written"), Content(""))
        elif item is None:
            self.view.show([])
            show_titles(pane, Content(""), Content(""))
        else:
            narrow = self.screen.has_class("-narrow")
            lines = item_lines(item, self._state.decision(item), info=self._has_details, stability=narrow)
            title = title_of(self._state, item, max(pane.size.width - 2, 30))
            if (name := safe(item.title)) not in title.plain:
                lines = [line((name, "bold")), BLANK, *lines]
            self.view.show(lines, keep=keep and item.id == self._shown)
            show_titles(pane, title, Content("") if narrow else shown(one_line(item.stability, 40)))
        self._shown = item.id if item is not None else None
        self._on_show()
        self.screen.refresh_bindings()

    def back(self) -> bool:
        """Hide the details; return False when they are not shown."""
        if self._has_details:
            self.action_info()
            return True
        return False

    def action_info(self) -> None:
        """Show all details, or fewer."""
        self._close_written()
        self._has_details = not self._has_details
        self.show(keep=True)

    def action_open(self) -> None:
        """Show the result of the proposal's test, or open its suite without one."""
        item, rows = self._state.current, self.workbench.store.rows.values()
        tests = [row.id for row in rows if item is not None and item.is_about(row.path, row.name)]
        if tests:
            self.workbench.go("tests", id=tests[0], result=True)
        else:
            self.action_source()

    def action_source(self) -> None:
        """Open the test in the editor."""
        item = self._state.current
        if item is not None:
            self.workbench.go("edit", path=item.file, line=item.line or 1)

    def action_whole(self) -> None:
        """Show the whole file, as it is and as it would be."""
        item = self._state.current
        if item is not None:
            in_background(self.screen, partial(self._show_whole, item), "review.whole")

    async def _show_whole(self, item: Item) -> None:
        from mcptest_tui.screens.difference import Difference

        decision = self._state.decision(item)
        text = decision.text if decision is not None else None
        try:
            found = await self.workbench.engine.request("review_whole", id=item.id, text=text)
        except EngineError as wrong:
            self.workbench.messages.notify(wrong.message, severity="warning", hint=wrong.hint)
            return
        self.workbench.push_screen(
            Difference(
                one_line(found["path"], 60), found["before"], found["after"], "as it is", "as it would be", whole=True
            )
        )


def title_of(state: Reviewing, item: Item, width: int) -> Content:
    """Number, decision, place and name of a proposal, as much of them as there is room for."""
    decision, ink = decision_pieces(state.decision(item), draft=item.id in state.drafts)
    number = f"Review {state.at + 1}/{len(state.items)}"
    room = width - cell_len(number) - cell_len(decision) - 8
    wanted = cell_len(one_line(item.title, room)) if room > 0 else 0
    place = one_line(item.place, max(room // 2, room - wanted, 10))
    near = state.items[max(state.at - NEARBY, 0) : state.at + NEARBY + 1]
    title = name_among(item.title, [*dict.fromkeys(one.title for one in near)], max(room - cell_len(place), 8))
    parts = [Content(number), Content.styled(decision, INKS.get(ink, "")), shown(place), shown(title, style="bold")]
    return Content("  ").join([part for part in parts if part.cell_length])


def counts_text(reviews: Reviews, width: int) -> Content:
    """How many proposals are decided; at the right what writing would do, if there is room for it."""
    state = reviews.state
    counts = state.counts
    pieces = [
        Content.styled(f"{counts[ACCEPT]} accepted", INKS["pass"]),
        Content.styled(f"{counts[REJECT]} rejected", INKS["fail"]),
        *([Content.styled(f"{counts[SKIP]} skipped", INKS["skip"])] if counts[SKIP] else []),
        Content(f"{counts['left']} left"),
    ]
    left = Content("  ").join(pieces)
    files = state.files()
    why = ""
    if reviews.is_writing:
        then = "writing …"
    elif files:
        why, then = "nothing written yet: ", f"{key_of('review.write')} writes {counted(len(files), 'file')}"
    elif state.unwritten:
        why, then = "nothing written yet: ", f"{key_of('review.write')} deletes the rejected proposals"
    else:
        then = (
            f"{key_of('review.unwrite')} undoes the last write"
            if reviews.can_undo
            else f"nothing is written before {key_of('review.write')}"
        )
    room = width - left.cell_length - 3
    right = f"{why}{then}" if cell_len(f"{why}{then}") <= room else one_line(then, room) if room >= 12 else ""
    gap = max(width - left.cell_length - cell_len(right), 0)
    return left + Content(" " * gap) + shown(right, style="$foreground 65%")

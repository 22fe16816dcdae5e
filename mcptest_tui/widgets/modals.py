"""The small screens that lie over a mode: a question, one line to type, an error with its report."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from rich.cells import cell_len
from textual import events
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.suggester import Suggester
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from mcptest_tui.keymap import bindings_for
from mcptest_tui.problems import Sturdy, title_of
from mcptest_tui.safe import one_line, shown
from mcptest_tui.widgets.footer import HELP, hints_of
from mcptest_tui.widgets.frame import size_classes
from mcptest_tui.widgets.line import Prompt
from mcptest_tui.words import key_of, key_shown, keys_now

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.geometry import Size

    from mcptest_tui.messages import Message

CLOSE = "cancel"
Answer = TypeVar("Answer")


class Modal(Sturdy, ModalScreen[Answer], Generic[Answer]):
    """A screen over the mode's; Escape closes it with None. On small terminals it takes all the room."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("dialog")

    ENTER = ""
    """What Enter does in a list, which has no key of its own for it."""

    def on_mount(self) -> None:
        """Set the first sizes, and remove messages of the screen before."""
        self.app.clear_notices()  # type: ignore[attr-defined]
        self.update_classes(size_classes(self.app.size), animate=False)
        self.bindings_updated_signal.subscribe(self, lambda _: self.show_keys())
        self.call_after_refresh(self.show_keys)

    def on_resize(self) -> None:
        self.update_classes(size_classes(self.app.size), animate=False)
        self.show_keys()

    def _screen_resized(self, size: Size) -> None:  # noqa: ARG002
        """As that of a mode: in the size that the terminal has now."""
        super()._screen_resized(self.app.size)

    def show_keys(self) -> None:
        """The keys that work, on the frame: as many as fit; in their place what the app has to say."""
        message: Message = self.app.messages.current  # type: ignore[attr-defined]
        if message.text:
            style = {"error": "$verdict-fail", "warning": "$verdict-inconclusive"}.get(message.severity, "")
            for dialog in self.query(".dialog"):
                room = (dialog.size.width or self.app.size.width - 6) - 2
                dialog.border_subtitle = shown(one_line(message.text, max(room, 1)), style=style)
            return
        keys = [f"{key_shown('enter')} {self.ENTER}"] if self.ENTER else []
        found = [hint for hint in hints_of(self) if hint.action != HELP]
        to_the_next = ("next_field", "turn_focus")
        found.sort(
            key=lambda one: (one.action not in ("submit", "write"), one.action in to_the_next, one.node is not self)
        )
        told = [(hint.action, f"{hint.shown} {hint.title}") for hint in found]
        keys += [text for action, text in told if action != CLOSE]
        close = "   ".join(text for action, text in told if action == CLOSE)
        for dialog in self.query(".dialog"):
            room = (dialog.size.width or self.app.size.width - 6) - cell_len(close) - 3
            dialog.border_subtitle = Content("   ".join(filter(None, (keys_that_fit(keys, max(room, 1)), close))))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """There is nothing to go to where one thing has the focus for good."""
        if action in ("next_field", "previous_field"):
            return len(self.focus_chain) > 1
        return super().check_action(action, parameters)

    def action_next_field(self) -> None:
        """Move the focus to the next field of the window."""
        self.focus_next()

    def action_previous_field(self) -> None:
        """Move the focus to the previous field of the window."""
        self.focus_previous()

    def action_cancel(self) -> None:
        """Close the window; its caller gets None as the answer."""
        self.dismiss(None)


class Question(Modal[str]):
    """A question with a few answers, each with its own key; the answer is the key's name. `yes` names the action whose key is
    the first answer too: what the question asks about is what that key does.
    """

    ENTER = "choose"

    def __init__(self, title: str, lines: Sequence[str], choices: Sequence[tuple[str, str]], *, yes: str = "") -> None:
        super().__init__(classes="question")
        self._title, self._lines, self._choices = title, lines, choices
        self._yes = keys_now(yes) if yes else ()

    def compose(self) -> ComposeResult:
        """Lay out the question and the list of answers."""
        with Vertical(classes="dialog"):
            yield Static(shown(self._title, style="bold"), classes="dialog-title")
            yield Static(shown("\n".join(self._lines)), classes="dialog-text")
            yield OptionList(
                *(Option(shown(f" {key}  {what}"), id=key) for key, what in self._choices), markup=False, compact=True
            )

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Close with the answer that Enter or the mouse has selected."""
        self.dismiss(event.option.id)

    def on_key(self, event: events.Key) -> None:
        if event.key in self._yes:
            self.dismiss(self._choices[0][0])
        elif event.character in {key for key, _ in self._choices}:
            self.dismiss(event.character)


class _Suggesting(Suggester):
    """A function as Textual's `Input` wants it; asked anew each time, since files come and go."""

    def __init__(self, suggest: Callable[[str], str | None]) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self._suggest = suggest

    async def get_suggestion(self, value: str) -> str | None:
        """Return what the typed line may become, None without a suggestion."""
        return self._suggest(value)


class TextPrompt(Modal[str]):
    """One line to type. `check` gives what is wrong with it, or None; `suggest` what it may become, which Tab takes.

    `entered` is what was entered before, the newest first, to be recalled; what is entered now is put there.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("dialog.ask")

    def __init__(
        self,
        title: str,
        hint: str = "",
        *,
        value: str = "",
        check: Callable[[str], str | None] | None = None,
        suggest: Callable[[str], str | None] | None = None,
        entered: list[str] | None = None,
    ) -> None:
        super().__init__(classes="question")
        self._title, self._hint, self._value, self._check = title, hint, value, check
        self._suggest, self._entered = suggest, [] if entered is None else entered

    def compose(self) -> ComposeResult:
        """Lay out the title, the line, and a hint on what to type."""
        with Vertical(classes="dialog"):
            yield Static(shown(self._title, style="bold"), classes="dialog-title")
            yield Prompt(
                self._value,
                enter="take",
                entered=self._entered,
                suggester=None if self._suggest is None else _Suggesting(self._suggest),
                select_on_focus=self._value not in self._entered,  # what was entered before is corrected
            )
            yield Static(shown(self._hint, style="$muted"), id="ask-hint")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable completing where no suggestions are made."""
        return self._suggest is not None if action == "complete" else super().check_action(action, parameters)

    def action_complete(self) -> None:
        """Replace the typed text by its suggestion, if there is one."""
        field = self.query_one(Prompt)
        longer = self._suggest(field.value) if self._suggest is not None else None
        if longer is not None:
            field.value = longer
            field.cursor_position = len(longer)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Close with the typed text, or show what is wrong with it."""
        wrong = self._check(event.value) if self._check else None
        if wrong is None:
            self._entered[:] = [event.value, *(one for one in self._entered if one != event.value)]
            self.dismiss(event.value)
        else:
            self.query_one("#ask-hint", Static).update(shown(wrong, style="$verdict-fail"))


class PressKey(Modal[str]):
    """Waits for one key, whatever that does elsewhere; Escape cancels."""

    def __init__(self, name: str) -> None:
        super().__init__(classes="question")
        self._name = name

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(shown(f"Press the key for {self._name}", style="bold"), classes="dialog-title")
            yield Static(shown(f"{key_of('dialog.close')} cancel"), classes="dialog-text")

    async def on_event(self, event: events.Event) -> None:
        """Close with the pressed key, before any binding can act on it."""
        if isinstance(event, events.Key):
            event.stop()
            event.prevent_default()
            self.dismiss(None if event.key == "escape" else event.key)
            return
        await super().on_event(event)


class ErrorPanel(Modal[str]):
    """A bug of ours: what happened, that the app goes on, and the report to copy."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("dialog.error")

    def __init__(self, error: BaseException, report: str) -> None:
        super().__init__(classes="question")
        self._error, self._report = error, report

    def compose(self) -> ComposeResult:
        """Lay out what happened, the error and the report."""
        with Vertical(classes="dialog -large"):
            yield Static(shown("This is a bug in mcptest; your files are untouched.", style="bold $verdict-fail"))
            yield Static(shown(title_of(self._error)))
            with VerticalScroll(can_focus=True):
                yield Static(shown(self._report))

    def action_copy(self) -> None:
        """Close with the answer "copy"; the caller copies the report."""
        self.dismiss("copy")


def keys_that_fit(keys: Sequence[str], width: int) -> str:
    """Return the first of these hints that fit `width`, none of them cut."""
    told = ""
    for key in keys:
        longer = f"{told}   {key}" if told else key
        if cell_len(longer) > width:
            break
        told = longer
    return told

"""Typing in the editor as a person does, and waiting until it has been looked at."""

# ruff: noqa: ASYNC240 - files of a few lines, and nobody else on the loop
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual import events
from textual.keys import _character_to_key

from tests.tui.waiting import until

if TYPE_CHECKING:
    from pathlib import Path


async def typed(pilot: Any, text: str) -> None:
    """Type a text as fast as a terminal sends it, and wait until it is taken; `\n` is Enter.

    An app that is one widget has no queue of keys.
    """
    app, queue = pilot.app, getattr(pilot.app, "key_queue", None)
    for character in text:
        app.post_message(
            events.Key("enter", "\r") if character == "\n" else events.Key(_character_to_key(character), character)
        )
    await until(pilot, lambda: queue is None or not queue.is_typing, what="the keys")
    await pilot.pause()


async def opened(pilot: Any, path: Any = None, line: int | None = None) -> Any:
    """The editor's screen with a file open and looked at."""
    app = pilot.app
    if path is None:
        app.go("edit")
    else:
        app.go("edit", path=str(path), **({"line": line} if line else {}))
    await until(pilot, lambda: _editor(pilot).MODE == "edit" and _editor(pilot).current, what="the editor")
    return await checked(pilot)


async def opened_anew(pilot: Any, path: Path, text: str, line: int | None = None) -> Any:
    """The same with a file that has this text, and no other, after another check in the same app."""
    app = pilot.app
    app.go("edit")
    await until(pilot, lambda: _editor(pilot).MODE == "edit", what="the editor")
    screen = _editor(pilot)
    while app.screen is not screen:
        await pilot.press("escape")
    app.messages.show("")
    for doc in [*screen.files.docs.values()]:
        doc.area.load_text(doc.file.saved)  # nobody is asked, and nothing is put aside
        screen.drafting.drop(doc)
        screen.saving.close(doc)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
        await app.suites.read([str(path)])
    return await opened(pilot, path, line)


async def checked(pilot: Any) -> Any:
    """The editor once its text was looked at."""
    screen = _editor(pilot)
    await until(pilot, lambda: screen.current.checked == screen.current.text, what="the look at the text")
    return screen


def text_of_file(screen: Any) -> str:
    """The text in the editor."""
    return str(screen.current.text)


def messages(screen: Any) -> list[str]:
    """The messages of the problems."""
    return [problem.message for problem in screen.current.problems]


def _editor(pilot: Any) -> Any:
    """The mode's screen, below whatever lies over it."""
    return pilot.app.screen_stack[0]

"""What the parts of the editor's screen know of each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_tui.screens.base import WorkScreen

if TYPE_CHECKING:
    from mcptest_engine.suite.completion import Completions
    from mcptest_tui.screens.edit_docs import OpenDoc
    from mcptest_tui.state.drafts import Drafts
    from mcptest_tui.widgets.completion import Completing


class EditBase(WorkScreen):
    """The state, and the steps that one part asks of another; each stands in the part that its name speaks of."""

    docs: dict[str, OpenDoc]
    current: OpenDoc | None
    drafts: Drafts
    completing: Completing

    if TYPE_CHECKING:
        # edit.py
        def show_doc(self, doc: OpenDoc) -> None: ...
        def refresh_tabs(self) -> None: ...
        def title_of(self, doc: OpenDoc) -> str: ...
        def go_to(self, path: str, line: int, column: int) -> None: ...

        # edit_files.py
        def open_path(
            self, path: str, line: int | None = None, column: int | None = None, *, quiet: bool = False
        ) -> None: ...
        async def save(self, doc: OpenDoc, *, over: str = "") -> bool: ...
        async def tell_of_save(self, doc: OpenDoc) -> None: ...

        # edit_checks.py
        def check_soon(self, doc: OpenDoc) -> None: ...
        async def check_now(self, doc: OpenDoc) -> None: ...
        def refresh_marks(self, doc: OpenDoc) -> None: ...
        def refresh_problem_line(self, doc: OpenDoc) -> None: ...
        def test_at_cursor(self, doc: OpenDoc) -> str | None: ...
        def explained(self, words: str) -> None: ...

        # edit_help.py
        def offer(self, explicit: bool) -> Completions: ...

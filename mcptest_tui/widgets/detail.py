"""The pane beside the list: tabs about the result of a test, or one page about a group of tests.

It only shows what it is given; `TabShown` says which page is looked at, so that nothing is fetched for the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from mcptest_tui.problems import Sturdy
from mcptest_tui.safe import one_line, shown
from mcptest_tui.widgets.frame import show_titles
from mcptest_tui.widgets.text_view import TextView

if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual import events
    from textual.app import ComposeResult
    from textual.widgets import Input

    from mcptest_tui.widgets.conversation_view import ConversationView
    from mcptest_tui.widgets.diff_view import DiffView
    from mcptest_tui.widgets.graph_view import GraphView
    from mcptest_tui.widgets.json_tree import JsonTree
    from mcptest_tui.widgets.lines import Lines

TABS = (
    ("result", "Result", "Res"),
    ("graph", "Graph", "Graph"),
    ("conversation", "Conversation", "Conv"),
    ("answer", "Answer", "Ans"),
    ("diff", "Diff", "Diff"),
    ("request", "Request", "Req"),
    ("response", "Response", "Resp"),
    ("log", "Server log", "Log"),
    ("history", "History", "Hist"),
)
NAMES = tuple(name for name, _, _ in TABS)
_OF_FEW = {"graph", "conversation", "answer"}
OF_CALLS = frozenset(NAMES) - _OF_FEW
"""The tabs of a test that makes one call."""
OF_COMPOSITIONS = OF_CALLS | {"graph"}
"""Those of a test that makes many: its "request" is the node that is looked at."""
OF_AGENTS = OF_CALLS | {"conversation"}
"""Those of a model with tools: its "request" is the call that is looked at, its "response" all that targets see."""
OF_EVALS = frozenset({"result", "answer", "response", "history"})
"""Those of what is judged: its "response" is the judgement."""
OF_TALKING_EVALS = OF_EVALS | {"conversation", "request"}
"""The same where the answer that is judged came of a conversation."""
_OTHER_TITLES = {
    OF_COMPOSITIONS: {"request": ("Node", "Node")},
    OF_AGENTS: {"request": ("Call", "Call"), "response": ("Trace", "Trace")},
    OF_EVALS: {"response": ("Judgement", "Judged")},
    OF_TALKING_EVALS: {"request": ("Call", "Call"), "response": ("Judgement", "Judged")},
}


class TabLine(Widget):
    """The names of the tabs; a click shows one."""

    DEFAULT_CSS = "TabLine { height: 1; }"

    @dataclass
    class Clicked(Message):
        """Posted when a tab was clicked or reached by the jump overlay."""

        tab: str

    def __init__(self) -> None:
        super().__init__()
        self.current = NAMES[0]
        self.counts: dict[str, str] = {}
        self.offered = OF_CALLS

    def show(self, current: str, offered: frozenset[str]) -> None:
        """Mark another tab as current, and show other tabs to choose from."""
        if (current, offered) != (self.current, self.offered):
            self.current, self.offered = current, offered
            self.refresh()

    def render(self) -> Content:
        parts = [
            Content.styled(text, "bold underline $primary" if name == self.current else "$foreground 65%")
            for name, _, text in self._placed()
        ]
        return Content(" ") + Content("  ").join(parts)

    def on_click(self, event: events.Click) -> None:
        """Post `Clicked` for the tab under the pointer."""
        for name, x, text in self._placed():
            if x <= event.x < x + len(text):
                self.post_message(self.Clicked(name))

    def jump_targets(self) -> Iterator[tuple[int, int, object]]:
        """Every tab, for the jump overlay."""
        for name, x, _ in self._placed():
            yield x, 0, lambda name=name: self.post_message(self.Clicked(name))

    def _placed(self) -> list[tuple[str, int, str]]:
        others = _OTHER_TITLES.get(self.offered, {})
        tabs = [(name, *others.get(name, (title, short))) for name, title, short in TABS if name in self.offered]
        wide = sum(len(title) + 2 for _, title, _ in tabs) + 1 <= self.size.width
        placed, x = [], 1
        for name, title, short in tabs:
            text = title if wide else short
            placed.append((name, x, text))
            x += cell_len(text) + 2
        return placed


class Detail(Sturdy, Vertical):
    """`head`, `page(…)`, and the views of the tabs, each of which is made when it is first asked for."""

    DEFAULT_CSS = """
    Detail {
        & > Lines { height: 1fr; display: none; }
        & > Lines.-shown { display: block; }
        & > TabLine { display: none; }
        &.-tabs > TabLine { display: block; }
        & > #json-search { dock: bottom; height: 1; border: none; padding: 0 1 !important; background: $panel; display: none; }
        & > #json-search:focus { background-tint: $foreground 0%; border: none; }
        &.-searching > #json-search { display: block; }
    }
    """

    @dataclass
    class TabShown(Message):
        """Posted when another tab is shown."""

        tab: str

    @dataclass
    class Searched(Message):
        """Posted for each search in the shown tree; `done` when Enter ended it."""

        text: str
        done: bool

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes="pane")
        self.tab = NAMES[0]
        self.offered = OF_CALLS
        self._wanted = NAMES[0]
        self._paged = True
        self._head = ("", "")

    def compose(self) -> ComposeResult:
        """Lay out the tabs and the page that is shown first."""
        yield TabLine()
        yield TextView(id="detail-page", classes="-shown")

    # What is shown

    def head(self, title: str, subtitle: str = "") -> None:
        """Show title and subtitle, which may be untrusted text, in the frame."""
        self._head = title, subtitle
        room = max((self.size.width or self.app.size.width) - 8, 10)
        if self.screen.has_class("-narrow") or self.screen.has_class("-short"):  # the frame has no lower edge there
            tail = one_line(subtitle, room - 12)
            parts = (one_line(title, max(room - cell_len(tail) - 3, 8)), tail)
            show_titles(self, shown("   ".join(filter(None, parts))))
        else:
            show_titles(self, shown(one_line(title, room)), shown(one_line(subtitle, room)))

    def on_resize(self) -> None:
        """Draw the title and the subtitle again, cut to the new width."""
        self.head(*self._head)

    def use_tabs(self, tabs: bool) -> None:
        """Show the tabs of a test, or a page without tabs."""
        if tabs != (not self._paged):
            self._paged = not tabs
            self.set_class(tabs, "-tabs")
            self._switch()

    def offer(self, tabs: frozenset[str]) -> None:
        """Other tabs to choose from; where the one that was chosen is not among them, the first is shown meanwhile."""
        if tabs != self.offered:
            self.offered = tabs
            tab = self._wanted if self._wanted in tabs else NAMES[0]
            self.query_one(TabLine).show(tab, tabs)
            if tab != self.tab:
                self.tab = tab
                self._switch()

    def use_tab(self, tab: str) -> None:
        """Show one of the tabs."""
        if tab in NAMES:
            self._wanted = tab
        if tab in self.offered and tab != self.tab:
            self.tab = tab
            self.query_one(TabLine).show(tab, self.offered)
            self._switch()
            self.post_message(self.TabShown(tab))

    def step_tab(self, step: int) -> None:
        """Show the next tab, or the previous one."""
        if not self._paged:
            names = [name for name in NAMES if name in self.offered]
            self.use_tab(names[(names.index(self.tab) + step) % len(names)])

    @property
    def page(self) -> TextView:
        """The view of whatever is not a test, such as a suite."""
        return self.query_one("#detail-page", TextView)

    @property
    def json_tree(self) -> JsonTree | None:
        """The tree that is shown now; None on other tabs."""
        return self.json(self.shown) if self.shown in ("request", "response") else None

    @property
    def shown(self) -> str:
        """The name of the tab that is shown; "page" without tabs."""
        return "page" if self._paged else self.tab

    @property
    def view(self) -> Lines:
        """The view of the tab or page that is shown."""
        return self.of(self.shown)

    def of(self, tab: str) -> Lines:
        """Return the view of a tab, created when it is first needed."""
        for view in self.query(f"#detail-{tab}"):
            return view  # type: ignore[return-value]
        made = _make_view(tab)
        self.mount(made)
        return made

    def text(self, tab: str) -> TextView:
        """Return the view of a tab that shows text."""
        return self.of(tab)  # type: ignore[return-value]

    def json(self, tab: str) -> JsonTree:
        """Return the view of a tab that shows a tree."""
        return self.of(tab)  # type: ignore[return-value]

    @property
    def graph(self) -> GraphView:
        """The view of a composition's graph."""
        return self.of("graph")  # type: ignore[return-value]

    @property
    def conversation(self) -> ConversationView:
        """The view of an agent test's conversation."""
        return self.of("conversation")  # type: ignore[return-value]

    @property
    def diff(self) -> DiffView:
        """The view of the difference between expected and actual value."""
        return self.of("diff")  # type: ignore[return-value]

    def _switch(self) -> None:
        before = [view for view in self.query(".-shown") if view is not self.view]
        focused = any(view.has_focus for view in before)
        self.view.add_class("-shown")
        for view in before:
            view.remove_class("-shown")
        if focused:
            self.view.focus()

    def on_tab_line_clicked(self, event: TabLine.Clicked) -> None:
        event.stop()
        self.use_tab(event.tab)

    # Searching

    def open_search(self) -> None:
        """Show the search line, empty and focused."""
        from mcptest_tui.widgets.line import Line

        self.add_class("-searching")
        for field in self.query(Line):
            field.value = ""
            field.focus()
            return
        line = Line(enter="to the tree", escape="close", placeholder="search keys and values", id="json-search")
        self.mount(line)
        line.focus()

    def close_search(self) -> bool:
        """Hide the search line; return False when it was not shown."""
        if not self.has_class("-searching"):
            return False
        self.remove_class("-searching")
        self.view.focus()
        return True

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self.has_class("-searching"):
            self.post_message(self.Searched(event.value, False))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Search for the text on Enter, and go back to the tree."""
        event.stop()
        self.post_message(self.Searched(event.value, True))
        self.close_search()


def _make_view(tab: str) -> Lines:
    name = f"detail-{tab}"
    match tab:
        case "graph":
            from mcptest_tui.widgets.graph_view import GraphView

            return GraphView(id=name)
        case "conversation":
            from mcptest_tui.widgets.conversation_view import ConversationView

            return ConversationView(id=name)
        case "diff":
            from mcptest_tui.widgets.diff_view import DiffView

            return DiffView(id=name)
        case "request" | "response":
            from mcptest_tui.widgets.json_tree import JsonTree

            return JsonTree(id=name, assertions=tab == "response")
    return TextView(id=name)

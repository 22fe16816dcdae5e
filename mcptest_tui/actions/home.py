"""The first screen of a folder without a suite: four ways to begin, each a digit."""

from __future__ import annotations

from mcptest_tui.actions import Action

ACTIONS: tuple[Action, ...] = (
    Action(
        "home.demo",
        "Demo",
        "demo",
        "demo",
        "Write the demo suite into this folder, and run it.",
        palette=False,
    ),
    Action(
        "home.new", "New suite", "add", "making.new_suite", "A suite from a server's command or URL.", palette=False
    ),
    Action("home.servers", "Servers", "go to Servers", "servers", "Servers found on this machine.", palette=False),
    Action("home.open", "Open a file", "open a file", "open_file", "A suite in another folder.", palette=False),
)

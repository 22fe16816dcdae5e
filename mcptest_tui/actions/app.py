"""What works everywhere: modes, palette, help, panes, watching, leaving."""

from __future__ import annotations

from mcptest_tui.actions import Action

ACTIONS: tuple[Action, ...] = (
    Action(
        "app.mode.1",
        "Tests",
        "go to Tests",
        "go('tests')",
        "The suites and what their tests came to.",
        show=False,
        group="modes",
    ),
    Action("app.mode.2", "Edit", "go to Edit", "go('edit')", "The editor for suites.", show=False, group="modes"),
    Action(
        "app.mode.3",
        "Servers",
        "go to Servers",
        "go('servers')",
        "Servers, their tools, and calls by hand.",
        show=False,
        group="modes",
    ),
    Action(
        "app.mode.4",
        "Review",
        "go to Review",
        "go('review')",
        "Proposed tests and expectations, one by one.",
        show=False,
        group="modes",
    ),
    Action(
        "app.mode.5",
        "Traffic",
        "go to Traffic",
        "go('traffic')",
        "Every message to and from a server.",
        show=False,
        group="modes",
    ),
    Action(
        "app.mode.6",
        "Agents",
        "go to Agents",
        "go('agents')",
        "What coding agents did in this workspace.",
        show=False,
        group="modes",
    ),
    Action("run.watch", "Watch", "watch", "watch", "What a save runs: nothing, what is affected, or all.", show=False),
    Action("app.palette", "Palette", "palette", "command_palette", "Every action, by name; >test and @tool."),
    Action("app.help", "Help", "help", "help", "The keys of the focused pane.", show=False),
    Action("app.jump", "Jump", "jump", "jump", "A letter on every place to go to."),
    Action("app.back", "Back", "back", "back", "Close, clear, leave zoom, one level up; never quits.", show=False),
    Action("pane.next", "Next pane", "next pane", "screen.next_pane", "Focus the next pane.", show=False),
    Action(
        "pane.previous", "Previous pane", "previous pane", "screen.previous_pane", "Focus the pane before.", show=False
    ),
    Action("pane.zoom", "Zoom", "zoom", "screen.zoom", "The focused pane alone, and back.", show=False),
    Action("pane.grow", "Wider", "wider", "screen.resize(4)", "Make the focused pane larger.", show=False),
    Action("pane.shrink", "Narrower", "narrower", "screen.resize(-4)", "Make it smaller.", show=False),
    Action(
        "pane.reset", "Reset sizes", "reset sizes", "screen.resize(0)", "All panes at their first sizes.", show=False
    ),
    Action("view.theme", "Theme", "", "pick_theme", "Choose colours, with a live preview.", show=False),
    Action("app.settings", "Settings", "settings", "settings", "Themes, keys, files, versions.", show=False),
    Action(
        "app.keys", "Edit the keymap", "", "edit_keymap", "Open keymap.yml; it is read again at every save.", show=False
    ),
    Action("app.keys.press", "Press a key", "", "press_key", "Give an action the key that you press.", show=False),
    Action(
        "app.config",
        "Edit the settings file",
        "",
        "edit_config",
        "Open config.yml; it is read when mcptest starts.",
        show=False,
    ),
    Action(
        "app.commands", "Command log", "command log", "commands", "The commands that do what was done here.", show=False
    ),
    Action(
        "app.processes",
        "Live processes",
        "live processes",
        "processes",
        "What mcptest has started; end it, start it again.",
        show=False,
    ),
    Action("app.about", "About", "", "about", "Versions, terminal, files, and the names of keys.", show=False),
    Action("suite.open", "Open a file", "open a file", "open_file", "Open a suite by its path.", show=False),
    Action("app.redraw", "Redraw", "redraw", "redraw", "Repaint what something else drew over.", show=False),
    Action("app.suspend", "To the shell", "shell", "suspend_process", "Back with `fg`.", show=False),
    Action("app.quit", "Quit", "quit", "quit", "Asks only when text is unsaved or a run is on."),
)

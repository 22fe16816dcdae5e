"""What can be done with servers: connecting, looking at what they offer, calling it, and keeping a call as a test."""

from __future__ import annotations

from mcptest_tui.actions import Action

_SCREEN: tuple[Action, ...] = (
    Action("server.connect", "Connect", ("c",), "connect", "Start the server, or ask its URL, and see what it offers."),
    Action("servers.filter", "Filter", ("slash", "ctrl+f"), "filter", "Show some of what is offered: words, -words."),
    Action("test.save", "Save as test", ("s", "ctrl+s"), "save", "Keep the call that was made as a test of a suite."),
    Action(
        "test.propose",
        "Propose",
        ("P", "ctrl+g"),
        "propose",
        "Call the tool as safely as can be, and propose a test of it.",
    ),
    Action(
        "suite.new",
        "New suite",
        ("N",),
        "new_suite",
        "A suite for this server: choose its tools, see the text, write it.",
    ),
    Action("server.add", "Add", ("plus",), "add", "Look at a server by its command or its URL."),
    Action("server.disconnect", "Disconnect", ("d",), "disconnect", "End the server's session.", show=False),
    Action("server.restart", "Restart", ("R",), "restart", "End the session and open another."),
    Action("servers.refresh", "Refresh", ("r",), "refresh", "Ask again what the server offers.", show=False),
    Action("servers.tab.next", "Next list", ("right_square_bracket",), "kind(1)", "Tools, resources, prompts.", False),
    Action("servers.tab.previous", "List before", ("left_square_bracket",), "kind(-1)", "The list before.", show=False),
    Action(
        "servers.details", "Details", ("i",), "details", "Read what the cursor is on: description, schema, last words."
    ),
    Action("servers.raw", "As JSON", ("t",), "raw", "The description as the JSON that was sent, and back."),
    Action("servers.edit", "Edit", ("e",), "edit", "The suite of this server in the editor.", show=False),
    Action("servers.traffic", "Traffic", ("T",), "traffic", "What is said with this server.", show=False),
    Action("servers.copy", "Copy", ("y",), "copy", "Copy the line of what is under the cursor.", show=False),
    Action("server.ping", "Ping", ("p",), "ping", "Ask whether the server answers, and how fast.", show=False),
    Action("server.log_level", "Log level", ("v",), "log_level", "From which level on the server logs.", show=False),
    Action("server.subscribe", "Subscribe", ("u",), "subscribe", "Be told when the resource is updated.", show=False),
)
_LISTS: tuple[Action, ...] = (
    Action("servers.open", "Open", ("enter",), "choose", "See what the server offers.", where="servers.list"),
    Action("servers.in", "Open", ("right", "l"), "choose", "The same.", False, where="servers.list", palette=False),
    Action("catalog.open", "Call", ("enter",), "choose", "Open the form for a call.", where="catalog"),
    Action("catalog.in", "Call", ("right", "l"), "choose", "The same.", False, where="catalog", palette=False),
    Action("about.open", "Open", ("enter",), "choose", "The call's form, or what it offers.", where="about"),
    Action("catalog.back", "Servers", ("left", "h"), "leave", "Back to the servers.", False, where="catalog"),
)
_FORM: tuple[Action, ...] = (
    Action("call.send", "Send", ("ctrl+r",), "send", "Make the call; wrong arguments are told first.", where="form"),
    Action("call.json", "JSON or form", ("ctrl+t",), "turn", "All arguments as one JSON text, and back.", where="form"),
    Action(
        "call.complete", "Propose", ("ctrl+@", "ctrl+space"), "screen.complete_argument",
        "Ask the server for values of this argument.", False, where="form",
    ),
    Action("call.clear", "Clear", (), "clear", "Empty all fields.", show=False, where="form"),
    Action("call.field.next", "Next field", ("down",), "field(1)", "To the next field.", False, where="form", palette=False),
    Action("call.field.previous", "Field before", ("up",), "field(-1)", "", False, where="form", palette=False),
)  # fmt: skip
_CHOICE: tuple[Action, ...] = (
    Action("choice.next", "Next value", ("right", "space", "l"), "step(1)", "", False, where="choice", palette=False),
    Action("choice.previous", "Value before", ("left", "h"), "step(-1)", "", False, where="choice", palette=False),
    Action("choice.clear", "No value", ("backspace", "delete"), "clear", "", False, where="choice", palette=False),
)
ACTIONS: tuple[Action, ...] = (*_SCREEN, *_LISTS, *_FORM, *_CHOICE)

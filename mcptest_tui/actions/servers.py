"""What can be done with servers: connecting, looking at what they offer, calling it, and keeping a call as a test."""

from __future__ import annotations

from mcptest_tui.actions import Action

_SCREEN: tuple[Action, ...] = (
    Action(
        "server.connect",
        "Connect",
        "run",
        "connections.connect",
        "Start the server (or restart it), or connect to its URL.",
    ),
    Action("servers.filter", "Filter", "find", "browser.filter", "Filter the list: words, -words."),
    Action("test.save", "Save as test", "save as test", "calls.save", "Save the call as a test of a suite."),
    Action(
        "test.propose",
        "Propose test",
        "propose",
        "proposing.propose",
        "Call the tool safely, and propose a test.",
    ),
    Action(
        "suite.new",
        "New suite",
        "new suite",
        "connections.new_suite",
        "Write a suite for this server: choose its tools, check the text.",
    ),
    Action("server.add", "Add", "add", "connections.add", "Add a server by its command or URL."),
    Action(
        "server.disconnect",
        "End",
        "stop",
        "connections.disconnect",
        "End the session and the processes of the server.",
        idle="no process of this server is running",
    ),
    Action(
        "servers.refresh", "Reload", "reload", "connections.refresh", "Read the lists of the server again.", show=False
    ),
    Action(
        "servers.tab.previous",
        "Previous list",
        "previous tab",
        "browser.kind(-1)",
        "The previous list.",
        False,
        group="lists",
    ),
    Action(
        "servers.tab.next",
        "Next list",
        "next tab",
        "browser.kind(1)",
        "Tools, resources, prompts.",
        False,
        group="lists",
    ),
    Action(
        "servers.details",
        "Details",
        "details",
        "browser.details",
        "Show the description, the schema, or the end of stderr.",
    ),
    Action("servers.raw", "As JSON", "as text", "browser.raw", "The description as the JSON that was sent, and back."),
    Action("servers.edit", "Edit", "edit", "connections.edit", "The suite of this server in the editor.", show=False),
    Action(
        "servers.traffic",
        "Traffic",
        "traffic",
        "connections.traffic",
        "The messages to and from this server.",
        show=False,
    ),
    Action("servers.copy", "Copy", "copy", "browser.copy", "Copy the line of what is under the cursor.", show=False),
    Action("server.ping", "Ping", "ping", "requests.ping", "Send a ping, and show the time of the answer.", show=False),
    Action(
        "server.log_level",
        "Log level",
        "",
        "requests.log_level",
        "Set the lowest level of the server's log messages.",
        show=False,
    ),
    Action(
        "server.subscribe",
        "Subscribe",
        "follow",
        "requests.subscribe",
        "Subscribe to changes of the resource.",
        show=False,
    ),
)
_LISTS: tuple[Action, ...] = (
    Action("servers.open", "Open", "choose", "choose", "Show its tools, resources and prompts.", where="servers.list"),
    Action("servers.in", "Open", "right", "choose", "The same.", False, where="servers.list", palette=False),
    Action("catalog.open", "Call", "choose", "choose", "Open the form for a call.", where="catalog"),
    Action("catalog.in", "Call", "right", "choose", "The same.", False, where="catalog", palette=False),
    Action("about.open", "Open", "choose", "choose", "The form for a call, or the lists of the server.", where="about"),
    Action("catalog.back", "Servers", "left", "leave", "Back to the servers.", False, where="catalog"),
)
_FORM: tuple[Action, ...] = (
    Action("call.send", "Send", "run", "send", "Send the call; invalid arguments are shown first.", where="form"),
    Action("call.save", "Save as test", "save", "screen.calls.save", "Save the call as a test.", where="form", palette=False),
    Action("call.json", "JSON or form", "as text", "turn", "Edit all arguments as one JSON text, and back.", where="form"),
    Action(
        "call.complete", "Complete value", "complete", "screen.requests.complete",
        "Ask the server for values of this argument.", False, where="form",
    ),
    Action("call.clear", "Clear form", "clear", "clear", "Empty all fields.", where="form"),
    Action("call.item.add", "Add item", "add", "add_item", "Add an item to this list.", where="form"),
    Action("call.item.remove", "Remove item", "remove", "remove_item", "Remove this item from the list.", where="form"),
    Action("call.field.next", "Next field", "down", "field(1)", "Go to the next field.", False, where="form", palette=False),
    Action("call.field.go", "Next field", "choose", "go_on", "The same.", False, where="form", palette=False),
    Action("call.field.previous", "Previous field", "up", "field(-1)", "", False, where="form", palette=False),
    *(
        Action(f"call.text.{name}", title, "", action, "", False, where="form.text", palette=name == "all", text_keys=keys)
        for name, title, action, keys in (
            ("all", "Select all", "select_all", ("ctrl+a",)),
            ("top", "Begin of the text", "cursor_end(False)", ("ctrl+home",)),
            ("bottom", "End of the text", "cursor_end(True)", ("ctrl+end",)),
        )
    ),
)  # fmt: skip
_CHOICE: tuple[Action, ...] = (
    Action("choice.turn", "Next value", "mark", "step(1)", "", False, where="choice", palette=False),
    Action("choice.next", "Next value", "right", "step(1)", "", False, where="choice", palette=False),
    Action("choice.previous", "Previous value", "left", "step(-1)", "", False, where="choice", palette=False),
    Action("choice.clear", "No value", "no value", "clear", "", False, where="choice", palette=False),
)
_PART: tuple[Action, ...] = (
    Action(
        "part.turn",
        "Send it empty",
        "mark",
        "turn",
        "Leave the field out, or send it empty.",
        False,
        where="part",
        palette=False,
    ),
    Action("part.clear", "Leave it out", "no value", "clear", "", False, where="part", palette=False),
)
ACTIONS: tuple[Action, ...] = (*_SCREEN, *_LISTS, *_FORM, *_CHOICE, *_PART)

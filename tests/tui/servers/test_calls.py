"""Calling by hand: the form, what is wrong with it, the answer as a tree, and keeping it as a test."""

from __future__ import annotations

import re
import shlex
import sys

import pytest
from textual import events

from mcptest_tui.screens.picker import Picker
from mcptest_tui.screens.save_test import AssertionList, SaveTest
from mcptest_tui.screens.value import ValueWindow
from mcptest_tui.widgets.modals import Question
from tests.tui.pictures import assert_picture, rows_of, text_of
from tests.tui.servers.driving import (
    ODD,
    at_catalog,
    connected,
    connected_anew,
    form_of,
    fresh_form,
    odd,
    sent,
    suite_of,
)
from tests.tui.waiting import until

pytestmark = pytest.mark.anyio
SIZES = [(80, 24), (120, 40)]


async def paste(pilot, text):
    """As a terminal does it."""
    pilot.app.screen.focused.post_message(events.Paste(text))
    await pilot.pause()


async def alt_and(pilot, letter):
    """As Textual reads what a terminal sends for it, which is escape and the letter: with a character."""
    pilot.app.post_message(events.Key(f"alt+{letter}", letter))
    await pilot.pause()


async def alt_and_a_letter_is_a_key_and_no_text(pilot, path):
    """In the form, in its box of JSON, in a line of a window, and in the editor."""
    app, screen = pilot.app, await connected_anew(pilot, "shop")
    call = await form_of(pilot, screen, "place_order")
    await pilot.press(*"Ada")
    await alt_and(pilot, "x")
    assert [one.raw for one in call.form.rows() if one.raw] == ["Ada"]
    await alt_and(pilot, "c")  # clears the form
    await until(pilot, lambda: not any(one.raw for one in call.form.rows()), what="the form to be empty")
    await pilot.press("ctrl+t")
    await until(pilot, lambda: screen.calls.call.form.whole is not None)
    before = screen.calls.call.form.whole.raw
    await alt_and(pilot, "x")
    assert screen.calls.call.form.whole.raw == before
    await pilot.press("ctrl+o")
    await alt_and(pilot, "x")
    assert app.screen.query_one("Input").value == ""
    await pilot.press("escape")
    app.go("edit", path=str(path))
    await until(pilot, lambda: app.current_mode == "edit" and app.screen.current is not None)
    await alt_and(pilot, "z")
    assert not app.screen.saving.unsaved_names()


async def letters_and_digits_on_a_field_that_is_no_text_stay_in_the_form(pilot, screen):
    """No ping, no other mode, nothing saved as a test, and the footer names none of these keys."""
    app = pilot.app
    call = await fresh_form(pilot, screen, "get_weather")
    await pilot.press("down")
    choice = screen.focused
    await pilot.press(*"p1sqwzT")
    await until(pilot, lambda: not app.key_queue.is_typing)
    assert (app.current_mode, app.screen, screen.focused, app.messages.current.text) == ("servers", screen, choice, "")
    await pilot.press("f")
    assert choice.value == '"fahrenheit"'
    await pilot.press("h")
    assert choice.value == '"celsius"'
    await pilot.press("r")
    await until(pilot, lambda: "city" in call.form.problems, what="r to send, as the footer says")


async def letters_on_a_form_without_arguments_stay_in_it(pilot, screen):
    await fresh_form(pilot, screen, "none")
    await pilot.press(*"p1s")
    await until(pilot, lambda: not pilot.app.key_queue.is_typing)
    assert (pilot.app.current_mode, pilot.app.screen, pilot.app.messages.current.text) == ("servers", screen, "")


async def the_form_names_the_way_out(pilot, screen):
    await fresh_form(pilot, screen, "get_weather")
    for _ in range(2):  # a text, and a choice
        await until(pilot, lambda: "send  esc back  f1-f6 modes" in rows_of(pilot.app)[-1])
        await pilot.press("down")


async def a_tool_is_called_and_its_answer_read(pilot, screen):
    """One row for each argument, the answer below."""
    await fresh_form(pilot, screen, "get_weather")
    assert_picture(pilot.app, "call-form", folder="servers")
    await pilot.press(*"Oslo", "enter", "right", "right")
    call = await sent(pilot, screen)
    assert call.params["arguments"] == {"city": "Oslo", "unit": "fahrenheit"}
    assert call.answer["result"]["structuredContent"]["unit"] == "fahrenheit"
    await until(pilot, lambda: 'unit: "fahrenheit"' in text_of(pilot.app))
    assert_picture(pilot.app, "call-answer", folder="servers")


async def what_is_wrong_is_told_and_can_be_sent_all_the_same(pilot, screen):
    """The first ^r tells, the second sends: that is how one sees what the server does with it."""
    await fresh_form(pilot, screen, "get_record")
    await pilot.press(*"seven", "ctrl+r")
    await until(pilot, lambda: "`seven` is not a whole number" in text_of(pilot.app))
    assert screen.calls.call.params == {}
    assert "^r again sends it anyway" in text_of(pilot.app)
    call = await sent(pilot, screen)
    assert call.params["arguments"] == {"id": "seven"}
    assert call.answer is not None
    await until(pilot, lambda: "sends it anyway" not in text_of(pilot.app), what="the warning to go")


async def a_warning_is_not_said_of_another_call(pilot, screen):
    """A form without fields has no help of its own to take its place."""
    await fresh_form(pilot, screen, "get_record")
    await pilot.press("ctrl+r")
    await until(pilot, lambda: "sends it anyway" in text_of(pilot.app))
    await pilot.press("escape")
    await form_of(pilot, screen, "queue_depth")
    assert "sends it anyway" not in text_of(pilot.app)


async def a_form_without_fields_says_send_as_the_footer_does(pilot, screen):
    await fresh_form(pilot, screen, "queue_depth")
    await until(pilot, lambda: "No arguments. r sends the request." in text_of(pilot.app))
    assert rows_of(pilot.app)[-1].startswith(" r send ")


async def a_problem_goes_when_it_is_put_right(pilot, screen):
    """While one types."""
    await fresh_form(pilot, screen, "get_record")
    await pilot.press("ctrl+r")
    await until(pilot, lambda: "required" in text_of(pilot.app))
    await pilot.press("7")
    assert screen.calls.call.form.problems == {}
    await until(pilot, lambda: not screen.calls.pane.form.query(".field-problem.-on"), what="the problem to go")
    call = await sent(pilot, screen)
    assert call.params["arguments"] == {"id": 7}


async def json_that_is_pasted_fills_the_form(pilot, screen):
    """Forgiving JSON; an argument that is not known has a field of its own, and the nearest name."""
    await fresh_form(pilot, screen, "get_weather")
    await paste(pilot, "{city: 'Oslo', unit: 'farenheit', // x\n}")
    await until(pilot, lambda: screen.calls.call.form.named("city").raw == "Oslo")
    assert screen.calls.call.form.problems["unit"].endswith("did you mean `fahrenheit`?")
    await until(pilot, lambda: 'not one of "celsius", "fahrenheit"' in text_of(pilot.app))
    await pilot.press("ctrl+t")
    await until(pilot, lambda: screen.calls.call.form.whole is not None)
    assert '"unit": "farenheit"' in text_of(pilot.app)
    await pilot.press("ctrl+t")
    await until(pilot, lambda: screen.calls.call.form.whole is None)


async def pasted_arguments_take_the_place_of_what_is_there(pilot, screen):
    """Also in a field that is not empty, and of the JSON text as a whole; a carriage return is the end of a line."""
    await fresh_form(pilot, screen, "get_weather")
    await pilot.press(*"Rome")
    await paste(pilot, '{"city": "Oslo",\r"unit": "celsius"}')
    await until(pilot, lambda: screen.calls.call.form.named("city").raw == "Oslo")
    await pilot.press("ctrl+t")
    await until(pilot, lambda: screen.calls.call.form.whole is not None and '"Oslo"' in text_of(pilot.app))
    await paste(pilot, '{"arguments": {\r\n"city": "Bern"}}')
    await until(pilot, lambda: "Bern" in screen.calls.call.form.whole.raw)
    assert screen.calls.call.form.params()["arguments"] == {"city": "Bern"}


async def keys_of_the_json_text_and_an_empty_form(pilot, screen):
    """To both ends, all of it, and away with all that was typed."""
    await fresh_form(pilot, screen, "get_weather")
    await pilot.press(*"Rome", "ctrl+t")
    await until(pilot, lambda: screen.calls.call.form.whole is not None)
    box = pilot.app.screen.focused
    await pilot.press("ctrl+end")
    assert box.cursor_location == box.document.end
    await pilot.press("ctrl+home")
    assert box.cursor_location == (0, 0)
    await pilot.press("ctrl+a")
    assert box.selected_text == box.text
    await pilot.press("ctrl+t")
    await until(pilot, lambda: screen.calls.call.form.whole is None)
    assert screen.calls.call.form.named("city").raw == "Rome"
    await pilot.press("alt+c")
    await until(pilot, lambda: screen.calls.call.form.named("city").raw == "" and "Rome" not in text_of(pilot.app))


async def a_text_of_several_lines_gets_a_box(pilot, screen):
    """Nothing of it is lost, and its controls are not obeyed."""
    await fresh_form(pilot, screen, "echo")
    await paste(pilot, "one\ntwo \x1b[2J")
    await until(pilot, lambda: screen.calls.call.form.named("text").kind == "json")
    await until(pilot, lambda: "\\u001b" in text_of(pilot.app))
    call = await sent(pilot, screen)
    assert call.params["arguments"] == {"text": "one\ntwo \x1b[2J"}
    assert "\x1b" not in text_of(pilot.app)


async def objects_and_lists_are_filled_by_keys_alone(pilot, screen):
    """Members and items are rows; items are added and removed; the problem stands at its row; JSON and back loses nothing."""
    await fresh_form(pilot, screen, "place_order")
    form = screen.calls.pane.form
    await pilot.press(*"Ada", "enter", "enter", *"Oslo", "enter", "plus")
    await until(pilot, lambda: form.at == "lines[0].sku")
    await pilot.press(*"ab", "alt+a")
    await until(pilot, lambda: form.at == "lines[1].sku")
    await pilot.press(*"C", "enter", "right", "right", "enter", *'red, "a, b"', "enter", "right")
    await until(pilot, lambda: form.at == "payment" and screen.calls.call.form.named("payment.number"))
    await pilot.press("tab", "tab", *"42", "ctrl+r")
    await until(pilot, lambda: form.at == "lines[0].sku")
    assert screen.calls.call.params == {}
    assert '"ab" does not match "^[A-Z]+$"' in text_of(pilot.app)
    for size in SIZES:
        await pilot.resize_terminal(*size)
        assert_picture(pilot.app, "call-nested", folder="servers")
    await pilot.press("backspace", "backspace", *"AB", "ctrl+t")
    await until(pilot, lambda: screen.calls.call.form.whole is not None and '"sku": "AB"' in text_of(pilot.app))
    await pilot.press("ctrl+t")
    await until(pilot, lambda: screen.calls.call.form.whole is None and form.at == "customer.name")
    call = await sent(pilot, screen)
    expected = {
        "customer": {"name": "Ada", "address": {"city": "Oslo"}},
        "lines": [{"sku": "AB"}, {"sku": "C", "size": "L"}],
        "tags": ["red", "a, b"],
        "payment": {"kind": "card", "number": "42"},
    }
    assert call.params["arguments"] == expected
    form.focus_field("lines[1].sku")
    await pilot.press("alt+r")
    await until(pilot, lambda: form.at == "lines[0]")
    assert screen.calls.call.form.arguments()["lines"] == [{"sku": "AB"}]
    await pilot.press("minus", "space")
    await until(pilot, lambda: form.at == "lines")
    await pilot.press("backspace")
    await until(pilot, lambda: "lines" not in screen.calls.call.form.arguments())
    await pilot.press("alt+c")
    await until(pilot, lambda: screen.calls.call.form.arguments() == {})


async def json_pasted_into_an_object_fills_that_object(pilot, screen):
    await fresh_form(pilot, screen, "place_order")
    await pilot.press(*"Ada", "enter", "enter")
    await paste(pilot, "{city: 'Oslo'}")
    await until(pilot, lambda: screen.calls.call.form.named("customer.address.city").raw == "Oslo")
    assert screen.calls.call.form.named("customer.name").raw == "Ada"


async def escape_right_after_clear_leaves_the_focus_in_the_list(pilot, screen):
    """The form is still being drawn then; the next Enter opens it."""
    await fresh_form(pilot, screen, "place_order")
    await pilot.press(*"Ada")
    screen.calls.pane.action_clear()
    screen.back()
    await until(pilot, lambda: not screen.calls.call.form.arguments())
    await pilot.pause()
    assert (screen.calls.is_shown, screen.focused) == (False, screen.browser.catalog_list)
    await pilot.press("enter")
    await until(pilot, lambda: screen.calls.is_shown and screen.calls.pane.form.has_focus_within)


async def a_tool_that_destroys_asks_once(pilot):
    """By its name here; no is no."""
    screen = await connected_anew(pilot, "one")
    await form_of(pilot, screen, "delete_all")
    await pilot.press("ctrl+r")
    await until(pilot, lambda: isinstance(pilot.app.screen, Question))
    await pilot.press("n")
    assert screen.calls.call.params == {}
    await pilot.press("ctrl+r")
    await until(pilot, lambda: isinstance(pilot.app.screen, Question))
    await pilot.press("y")
    await until(pilot, lambda: screen.calls.call.answer)
    screen.calls.call.called = None
    await sent(pilot, screen)
    assert screen.calls.call.answer is not None


async def errors_are_told_apart(pilot, screen):
    """A tool execution error, and a protocol error."""
    await fresh_form(pilot, screen, "always_fails")
    await sent(pilot, screen)
    await until(pilot, lambda: "isError true" in text_of(pilot.app))
    await pilot.press("escape")
    await form_of(pilot, screen, "out_of_order")
    await sent(pilot, screen)
    await until(pilot, lambda: "error -3" in text_of(pilot.app))


async def an_answer_that_breaks_the_protocol_is_told_in_the_words_of_a_run(pilot):
    """Of tools, resources, prompts and completions, and of a list."""
    output = "`structuredContent` does not match the tool's `outputSchema`"
    screen = await connected_anew(pilot, "bad")
    errors = screen.browser.server.catalog["errors"]
    assert errors == {
        "templates": 'the result is not valid MCP 2025-11-25: /resourceTemplates/0: "name" is a required property '
        "(server/resources#resource-templates)"
    }
    for kind, name, told in (
        ("tools", "bad_block", '/content/0/text: 5 is not of type "string" (server/tools#text-content)'),
        ("tools", "bad_output", output),
        ("resources", "memo:/a", "is not valid MCP 2025-11-25: /contents/0"),
        ("prompts", "ask", "is not valid MCP 2025-11-25: /messages"),
    ):
        screen.calls.open(screen.browser.catalog.find(kind, name))
        await until(pilot, lambda: screen.calls.is_shown and screen.calls.pane.form.has_focus_within)
        call = await sent(pilot, screen)
        assert told in call.invalid
        await until(pilot, lambda: "invalid answer" in text_of(pilot.app))
    await until(pilot, lambda: screen.calls.pane.form.has_focus_within)
    screen.calls.pane.form.focus_field("topic")
    await pilot.press("ctrl+@")
    await until(pilot, lambda: "/completion/values" in text_of(pilot.app))


async def a_call_that_hangs_is_given_up_with_escape(pilot):
    """Seconds are counted; the form stays, and the server too."""
    screen = await connected_anew(pilot, "slow")
    await form_of(pilot, screen, "echo")
    await pilot.press("ctrl+r")
    await until(pilot, lambda: re.search(r"waiting [1-9]\d* s", text_of(pilot.app)))
    await pilot.press("escape")
    await until(pilot, lambda: "cancelled" in text_of(pilot.app))
    assert screen.calls.is_shown
    assert screen.browser.server.connected


async def a_form_keeps_what_was_typed_and_answered(pilot, screen):
    """Back and forth between two tools."""
    await fresh_form(pilot, screen, "echo")
    await pilot.press(*"hello")
    await sent(pilot, screen)
    await pilot.press("escape")
    await form_of(pilot, screen, "get_record")
    await pilot.press("escape")
    await form_of(pilot, screen, "echo")
    assert "hello" in text_of(pilot.app)
    await until(pilot, lambda: "answered" in text_of(pilot.app))


async def odd_schemas_have_forms(pilot, screen):
    """A JSON box for what cannot be drawn, a list for many values; nothing blanks the pane."""
    call = await fresh_form(pilot, screen, "odd")
    kinds = {field.name: field.kind for field in call.form.fields}
    assert (kinds["shape"], kinds["self"], kinds["any"]) == ("union", "json", "json")
    many = next(row for row in screen.calls.pane.form.rows() if row.field.name == "many")
    many.editor.focus()
    await pilot.press("space")
    await until(pilot, lambda: isinstance(pilot.app.screen, Picker))
    await pilot.press(*"value 42", "enter")
    await until(pilot, lambda: many.field.raw == '"value 42"')
    await sent(pilot, screen)
    for name in ("list", "text", "union", "none"):
        await pilot.press("escape")
        await form_of(pilot, screen, name)
        await pilot.press("ctrl+r", "ctrl+r")
        await until(pilot, lambda: screen.calls.call.params and screen.calls.call.started is None)


async def test_a_result_of_seven_megabytes(workbench, place):
    """Its beginning, more of it when asked for, and the whole of a value in a window."""
    suite_of(place, big=odd("big"))
    async with workbench() as pilot:
        screen = await connected(pilot, "big")
        await form_of(pilot, screen, "echo")
        call = await sent(pilot, screen)
        assert call.called["size"] > 7_000_000
        await until(pilot, lambda: "3,000,000 characters" in text_of(pilot.app))
        tree = screen.calls.pane.result
        tree.focus()
        tree.move_to(next(at for at, row in enumerate(tree.nodes.rows) if row.length == 20_000))
        await pilot.press("right", "G")
        await until(pilot, lambda: tree.row.kind == "more")
        before = tree.count()
        await pilot.press("enter")
        await until(pilot, lambda: tree.count() > before)
        tree.move_to(next(at for at, row in enumerate(tree.nodes.rows) if row.length == 3_000_000))
        await pilot.press("i")
        await until(pilot, lambda: isinstance(pilot.app.screen, ValueWindow))
        await pilot.press("escape")


async def the_answer_is_searched_and_copied(pilot, screen):
    """/, n, Y; Escape ends the search and nothing else."""
    await fresh_form(pilot, screen, "get_weather")
    await pilot.press(*"Oslo")
    await sent(pilot, screen)
    screen.calls.pane.result.focus()
    await pilot.press("slash", *"cloudy", "enter")
    assert screen.calls.pane.result.has_focus
    assert screen.calls.pane.result.searching.startswith('"cloudy" 1 of 2')
    await pilot.press("n", "Y")
    await until(pilot, lambda: "Copied the target" in text_of(pilot.app))
    await pilot.press("escape")
    assert screen.calls.is_shown
    assert screen.calls.pane.result.searching == ""


async def resources_templates_and_prompts_go_through_the_same_form(pilot, screen):
    """Read, filled, got."""
    await at_catalog(pilot, screen)
    for kind, method in (
        ("resources", "resources/read"),
        ("templates", "resources/read"),
        ("prompts", "prompts/get"),
    ):
        screen.browser.catalog.use(kind)
        screen.browser.show_catalog()
        screen.browser.catalog_list.focus()
        screen.browser.catalog_list.move_to(0)
        await pilot.press("enter")
        await until(pilot, lambda: screen.calls.is_shown and screen.calls.pane.form.has_focus_within)
        for row in screen.calls.pane.form.rows():
            row.editor.focus()
            await pilot.press("1")
        await sent(pilot, screen)
        assert screen.calls.call.form.method == method
        assert "result" in screen.calls.call.answer, screen.calls.call.answer
        await pilot.press("escape")


async def a_call_is_saved_as_a_test_that_passes(pilot, demo):
    """Shown, changed, written, and run by the watch; everything else in the file as it was."""
    screen = await connected_anew(pilot, "demo")
    await form_of(pilot, screen, "get_weather")
    await pilot.press(*"Oslo")
    await sent(pilot, screen)
    before = demo.read_text()
    await pilot.press("ctrl+s")
    await until(pilot, lambda: isinstance(pilot.app.screen, SaveTest) and pilot.app.screen.written)
    await pilot.press("down", "space")
    await until(pilot, lambda: not pilot.app.screen.saving.proposals[1].chosen)
    for size in SIZES:
        await pilot.resize_terminal(*size)
        assert_picture(pilot.app, "save-as-test", folder="servers")
    assert demo.read_text() == before
    await pilot.press("ctrl+s")
    await until(pilot, lambda: pilot.app.screen is screen)
    rows = pilot.app.store.rows
    await until(pilot, lambda: any(row.name == "get_weather with city Oslo" for row in rows.values()))
    (row,) = [row for row in rows.values() if row.name == "get_weather with city Oslo"]
    await until(pilot, lambda: row.status == "pass", what="the watch's run")
    await until(pilot, lambda: not pilot.app.store.progress.busy)
    kept = iter(demo.read_text().splitlines())
    assert all(line in kept for line in before.splitlines())
    assert "structuredContent.city" not in demo.read_text().replace(before, "")[-900:]


async def the_value_under_the_cursor_is_proposed(pilot, screen):
    """Chosen, and first."""
    await fresh_form(pilot, screen, "get_weather")
    await pilot.press(*"Oslo")
    await sent(pilot, screen)
    tree = screen.calls.pane.result
    tree.focus()
    tree.move_to(next(at for at, row in enumerate(tree.nodes.rows) if row.path == ("structuredContent", "conditions")))
    await pilot.press("s")
    await until(pilot, lambda: isinstance(pilot.app.screen, SaveTest))
    assert pilot.app.screen.saving.proposals[0].target == "result.structuredContent.conditions"


async def a_call_is_added_to_the_unsaved_text_of_its_file(pilot, demo):
    """By Enter too. Two texts of one file would be a question later, on a screen that has another use for the key of a save."""
    app, before = pilot.app, demo.read_text()
    app.go("edit", path=str(demo))
    await until(pilot, lambda: getattr(app.screen, "current", None) is not None)
    editor = app.screen
    editor.current.area.load_text("# mine\n" + before)
    screen = await connected_anew(pilot, "demo")
    await form_of(pilot, screen, "echo")
    await pilot.press(*"y")
    await sent(pilot, screen)
    await pilot.press("ctrl+s")
    await until(pilot, lambda: isinstance(app.screen, SaveTest) and app.screen.written)
    assert "unsaved text in Edit" in text_of(app)
    await pilot.press("enter")
    await until(pilot, lambda: app.screen is screen)
    assert demo.read_text() == before
    assert editor.current.text.startswith("# mine\n")
    assert len(re.findall("name: echo with .* y\\n", editor.current.text)) == 1
    assert "goes to the editor, to save it there" in text_of(app)


async def a_file_that_changed_meanwhile_is_not_overwritten(pilot, demo):
    """The preview is made anew, and says so."""
    screen = await connected_anew(pilot, "demo")
    await form_of(pilot, screen, "echo")
    await pilot.press(*"x")
    await sent(pilot, screen)
    await pilot.press("ctrl+s")
    await until(pilot, lambda: isinstance(pilot.app.screen, SaveTest) and pilot.app.screen.written)
    modal = pilot.app.screen
    changed = demo.read_text() + "# mine\n"
    demo.write_text(changed)
    modal.action_write()
    assert demo.read_text() == changed
    modal.action_write()
    assert "# mine" in demo.read_text()
    assert "echo with text x" in demo.read_text()


async def test_a_suite_in_which_nothing_can_be_added_says_why(workbench, place):
    """And nothing is written; a new file can be chosen."""
    path = suite_of(place, one=odd("any"))
    path.write_text(path.read_text().replace("tools: []", "tools: &a []\nresources: *a"))
    async with workbench() as pilot:
        screen = await connected(pilot, "one")
        await form_of(pilot, screen, "echo")
        await sent(pilot, screen)
        await pilot.press("ctrl+s")
        await until(pilot, lambda: isinstance(pilot.app.screen, SaveTest))
        modal = pilot.app.screen
        await until(pilot, lambda: modal.is_mounted and modal.query(AssertionList))
        if modal.written is None:
            assert "cannot" in text_of(pilot.app)


async def test_saving_without_a_suite_makes_one(workbench, place):
    """For a server that was typed."""
    async with workbench() as pilot:
        from mcptest_tui.widgets.modals import TextPrompt

        await pilot.press("3", "plus")
        await until(pilot, lambda: isinstance(pilot.app.screen, TextPrompt))
        pilot.app.screen.query_one("Input").value = "mcptest mock --preset demo"
        await pilot.press("enter")
        await until(
            pilot, lambda: pilot.app.current_mode == "servers" and pilot.app.screen.browser.catalog_list.has_focus
        )
        screen = pilot.app.screen
        await form_of(pilot, screen, "status")
        await sent(pilot, screen)
        await pilot.press("ctrl+s")
        await until(pilot, lambda: isinstance(pilot.app.screen, SaveTest) and pilot.app.screen.written)
        assert pilot.app.screen.saving.place.new
        await pilot.press("ctrl+s")
        await until(pilot, lambda: pilot.app.store.documents)
        document = next(iter(pilot.app.store.documents.values()))
        assert document.sound, document.diagnostics
        assert len(document.tests) == 1


async def test_a_secret_that_was_typed_lands_in_no_file(workbench, place):
    """Issue: it was the server's name, and stood in the session and in the suite that ^s wrote."""
    from mcptest_tui.widgets.modals import TextPrompt

    async with workbench() as pilot:
        await pilot.press("3", "plus")
        await until(pilot, lambda: isinstance(pilot.app.screen, TextPrompt))
        command = shlex.join([sys.executable, str(ODD), "any", "--api-key", "numbat-typed-secret", "--verbose"])
        pilot.app.screen.query_one("Input").value = command
        await pilot.press("enter")
        await until(
            pilot, lambda: pilot.app.current_mode == "servers" and pilot.app.screen.browser.catalog_list.has_focus
        )
        screen = pilot.app.screen
        await form_of(pilot, screen, "echo")
        await sent(pilot, screen)
        await pilot.press("ctrl+s")
        await until(pilot, lambda: isinstance(pilot.app.screen, SaveTest) and pilot.app.screen.written)
        assert "the value of `API_KEY` is not written:" in text_of(pilot.app)
        await pilot.press("ctrl+s")
        await until(pilot, (place / "mcptest.yml").exists)
        assert '- "${env.API_KEY}"\n' in (place / "mcptest.yml").read_text()
    kept = [path for path in place.rglob("*") if path.is_file()]
    assert any(path.name == "session.json" for path in kept)
    assert [path for path in kept if b"numbat-typed-secret" in path.read_bytes()] == []


AT_ANY_SIZE = (
    letters_and_digits_on_a_field_that_is_no_text_stay_in_the_form,
    the_form_names_the_way_out,
    a_tool_is_called_and_its_answer_read,
)
OF_THE_DEMO = (
    what_is_wrong_is_told_and_can_be_sent_all_the_same,
    a_warning_is_not_said_of_another_call,
    a_form_without_fields_says_send_as_the_footer_does,
    a_problem_goes_when_it_is_put_right,
    json_that_is_pasted_fills_the_form,
    pasted_arguments_take_the_place_of_what_is_there,
    a_text_of_several_lines_gets_a_box,
    errors_are_told_apart,
    a_form_keeps_what_was_typed_and_answered,
    the_answer_is_searched_and_copied,
    resources_templates_and_prompts_go_through_the_same_form,
    the_value_under_the_cursor_is_proposed,
    keys_of_the_json_text_and_an_empty_form,
)


async def test_calls_of_the_demo(workbench, demo):
    """Each check begins with a form that was never opened."""
    async with workbench() as pilot:
        screen = await connected(pilot, "demo")
        for size in SIZES:
            await pilot.resize_terminal(*size)
            for check in AT_ANY_SIZE:
                await check(pilot, screen)
        for check in OF_THE_DEMO:
            await check(pilot, screen)


async def test_calls_are_saved(workbench, demo):
    async with workbench(size=SIZES[0]) as pilot:
        await a_call_is_saved_as_a_test_that_passes(pilot, demo)
        await a_file_that_changed_meanwhile_is_not_overwritten(pilot, demo)
        await a_call_is_added_to_the_unsaved_text_of_its_file(pilot, demo)


async def test_calls_of_odd_servers(workbench, place):
    path = suite_of(place, shop=odd("shop"), odd=odd("odd"), one=odd("any"), bad=odd("invalid"), slow=odd("slow"))
    async with workbench(size=SIZES[0]) as pilot:
        screen = await connected(pilot, "shop")
        await objects_and_lists_are_filled_by_keys_alone(pilot, screen)
        await escape_right_after_clear_leaves_the_focus_in_the_list(pilot, screen)
        await json_pasted_into_an_object_fills_that_object(pilot, screen)
        screen = await connected_anew(pilot, "odd")
        await letters_on_a_form_without_arguments_stay_in_it(pilot, screen)
        await odd_schemas_have_forms(pilot, screen)
        await a_tool_that_destroys_asks_once(pilot)
        await an_answer_that_breaks_the_protocol_is_told_in_the_words_of_a_run(pilot)
        await a_call_that_hangs_is_given_up_with_escape(pilot)
        await alt_and_a_letter_is_a_key_and_no_text(pilot, path)

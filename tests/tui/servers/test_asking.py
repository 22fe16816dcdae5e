"""Ping, log level, subscriptions, completion of arguments, and lists that change while they are looked at."""

from __future__ import annotations

import pytest

from mcptest_tui.screens.picker import Picker
from mcptest_tui.state.catalog import Item
from mcptest_tui.state.forms import completion_of, completion_values, form_of
from tests.tui.pictures import text_of
from tests.tui.servers.driving import at_servers, connected, odd, sent, suite_of
from tests.tui.servers.driving import form_of as form_shown
from tests.tui.waiting import until

pytestmark = pytest.mark.anyio


async def talking(pilot, place):
    """Connected to the server that can do all of this."""
    screen = await connected(pilot, "talks")
    assert screen.browser.server.has_capability("resources", "subscribe")
    return screen


async def kind(pilot, screen, wanted):
    """One of the lists."""
    while screen.browser.catalog.kind != wanted:
        await pilot.press("right_square_bracket")
        await pilot.pause()


async def test_a_ping_says_how_long_it_took(workbench, place):
    suite_of(place, talks=odd("talks"))
    async with workbench() as pilot:
        await talking(pilot, place)
        await pilot.press("p")
        await until(pilot, lambda: "talks answered the ping in" in text_of(pilot.app))


async def test_a_server_that_is_not_connected_is_not_asked(workbench, place):
    suite_of(place, talks=odd("talks"))
    async with workbench() as pilot:
        screen = await at_servers(pilot, "talks")
        screen.requests.action_ping()
        await until(pilot, lambda: "no server is connected here" in text_of(pilot.app))
        assert not pilot.app.processes


async def test_what_a_server_cannot_do_is_not_asked_of_it(workbench, place):
    suite_of(place, slow=odd("slow"))
    async with workbench() as pilot:
        screen = await connected(pilot, "slow")
        screen.requests.action_log_level()
        await until(pilot, lambda: "no capability `logging`" in text_of(pilot.app))
        pilot.app.go("traffic")
        await until(pilot, lambda: pilot.app.current_mode == "traffic")
        await until(pilot, lambda: any(row.method == "tools/list" for row in pilot.app.screen.traffic.rows))
        assert not any(row.method == "logging/setLevel" for row in pilot.app.screen.traffic.rows)


async def test_the_log_level_is_chosen_from_a_list(workbench, place):
    suite_of(place, talks=odd("talks"))
    async with workbench() as pilot:
        screen = await talking(pilot, place)
        screen.requests.action_log_level()
        await until(pilot, lambda: isinstance(pilot.app.screen, Picker))
        await pilot.press(*"warn")
        await until(pilot, lambda: "warning" in text_of(pilot.app))
        await pilot.press("enter")
        await until(pilot, lambda: screen.browser.server.level == "warning")


async def test_a_subscribed_resource_is_marked_when_it_is_updated(workbench, place):
    """Until it is read."""
    suite_of(place, talks=odd("talks"))
    async with workbench() as pilot:
        screen = await talking(pilot, place)
        await kind(pilot, screen, "resources")
        await pilot.press("F")
        await until(pilot, lambda: screen.browser.server.watched == {"memo:/a": "subscribed"})
        assert "subscribed" in text_of(pilot.app)
        await kind(pilot, screen, "tools")
        await form_shown(pilot, screen, "touch")
        await sent(pilot, screen)
        await until(pilot, lambda: screen.browser.server.watched == {"memo:/a": "updated"})
        await pilot.press("escape")
        await kind(pilot, screen, "resources")
        await until(pilot, lambda: "updated" in text_of(pilot.app))
        await pilot.press("enter")
        await until(pilot, lambda: screen.calls.is_shown and screen.calls.call.form.method == "resources/read")
        await sent(pilot, screen)
        assert screen.browser.server.watched == {"memo:/a": "subscribed"}


async def test_a_list_that_changes_is_read_again(workbench, place):
    suite_of(place, talks=odd("talks"))
    async with workbench() as pilot:
        screen = await talking(pilot, place)
        await form_shown(pilot, screen, "add")
        await sent(pilot, screen)
        await until(pilot, lambda: screen.browser.catalog.find("tools", "added_0"))
        assert screen.calls.is_shown, "the form stays"


async def test_the_cursor_stays_on_its_tool_when_the_list_is_read_again(workbench, place):
    """Also when others come before it."""
    suite_of(place, talks=odd("talks"))
    async with workbench() as pilot:
        screen = await talking(pilot, place)
        await pilot.press("down")
        assert screen.browser.catalog_list.item().name == "touch"
        before = screen.browser.catalog
        await pilot.press("R")
        await until(pilot, lambda: screen.browser.catalog is not before and screen.browser.catalog.told)
        assert screen.browser.catalog_list.item().name == "touch"


async def test_arguments_are_completed_by_the_server(workbench, place):
    """What it proposes is data; each value stands once."""
    suite_of(place, talks=odd("talks"))
    async with workbench() as pilot:
        screen = await talking(pilot, place)
        await kind(pilot, screen, "prompts")
        await pilot.press("enter")
        await until(pilot, lambda: "ctrl+space asks talks for values" in text_of(pilot.app))
        await pilot.press("p", "ctrl+@")
        await until(pilot, lambda: isinstance(pilot.app.screen, Picker) and "prolog" in text_of(pilot.app))
        assert text_of(pilot.app).count("python") == 1
        assert "[red]php[/]" in text_of(pilot.app)
        assert "\x1b" not in text_of(pilot.app)
        await pilot.press("down", "down", "enter")
        await until(pilot, lambda: screen.calls.call.form.named("language").raw == "prolog")
        await until(pilot, lambda: screen.calls.pane.form.at == "language")
        assert "prolog" in text_of(pilot.app)


def named(form, name):
    field = form.named(name)
    assert field is not None
    return field


def test_a_completion_names_the_prompt_and_what_else_is_typed():
    form = form_of(Item("prompts", {"name": "review", "arguments": [{"name": "language"}, {"name": "style"}]}))
    named(form, "style").raw = "terse"
    assert completion_of(form, named(form, "language")) == {
        "ref": {"type": "ref/prompt", "name": "review"},
        "argument": {"name": "language", "value": ""},
        "context": {"arguments": {"style": "terse"}},
    }


def test_a_completion_of_a_template_names_its_uri():
    form = form_of(Item("templates", {"uriTemplate": "memo:/{name}"}))
    named(form, "name").raw = "x"
    asked = completion_of(form, named(form, "name"))
    assert asked == {
        "ref": {"type": "ref/resource", "uri": "memo:/{name}"},
        "argument": {"name": "name", "value": "x"},
    }


def test_a_tool_has_no_completion():
    form = form_of(Item("tools", {"name": "t", "inputSchema": {"type": "object", "properties": {"a": {}}}}))
    assert completion_of(form, named(form, "a")) is None


@pytest.mark.parametrize(
    "odd_result", [None, [], {}, {"completion": None}, {"completion": {"values": {"a": 1}}}], ids=repr
)
def test_odd_completions_are_none(odd_result):
    assert completion_values(odd_result) == ([], False)

"""Agent tests and evals in the workbench: their reasons, conversations, the matrix, spending, what is deferred."""

from __future__ import annotations

import pytest

from tests.servers.model_endpoint import Reply, Use
from tests.tui.judged.conftest import write_record
from tests.tui.pictures import assert_picture, drawn, text_of
from tests.tui.tests_screen.conftest import on, ran, row
from tests.tui.waiting import until

pytestmark = pytest.mark.anyio


async def looked_at(pilot, part, tab, words=""):
    """The text of a tab of a test's detail, once it says `words`."""
    screen = pilot.app.screen
    screen.remove_class("-detail")
    screen.test_list.focus()
    await on(pilot, part)
    await pilot.press("enter")
    screen.detail.use_tab(tab)
    await until(pilot, lambda: screen.detail.tab == tab and words in text_of(pilot.app), what=words)
    return text_of(pilot.app)


def is_safe(app):
    """Nothing that is drawn holds a control character."""
    return all(segment.text.isprintable() and "\u202e" not in segment.text for strip in drawn(app) for segment in strip)


async def pictured(pilot):
    """Each picture, at the size that the app has."""
    app = pilot.app
    await looked_at(pilot, "told [claude-sonnet-4-5]", "conversation", "the model ended the conversation")
    assert_picture(app, "conversation", folder="judged")
    await looked_at(pilot, "by criteria", "result", "criterion")
    assert is_safe(app)
    assert_picture(app, "criteria", folder="judged")
    await looked_at(pilot, "told [gpt-5.4]", "result", "OPENAI_API_KEY")
    assert_picture(app, "deferred", folder="judged")
    await pilot.press("escape", "m")
    await until(pilot, lambda: "Tests by models" in text_of(app))
    assert_picture(app, "matrix", folder="judged")
    await pilot.press("escape")
    app.screen.remove_class("-detail")
    app.screen.test_list.focus()
    await pilot.press("g")
    if app.screen.has_class("-narrow"):
        await until(pilot, lambda: "deferred: " not in text_of(app), what="the title, of the suite and no test")
        assert_picture(app, "suite", folder="judged")
    else:
        await until(pilot, lambda: "2 failed, 2 inconclusive (2 deferred), 8 passed" in text_of(app))
        assert "spent  $0.0096 + price unknown" in text_of(app)


async def test_pictures_of_what_was_judged(workbench, judged):
    async with workbench(size=(80, 24)) as pilot:
        await ran(pilot)
        await pictured(pilot)


async def test_every_kind_of_judgement_tells_its_reasons_and_its_costs(workbench, judged):
    async with workbench() as pilot:
        await ran(pilot)
        await pictured(pilot)
        text = await looked_at(pilot, "a summary (near)", "result", "near enough")
        assert "graded by  a program of the suite" in text
        assert '"distance":3' in text
        assert "$0.0020" in text
        text = await looked_at(pilot, "a summary (broken)", "result", "stderr")
        assert "error   exit" in text
        assert "no ␛[31mconfig" in text
        assert is_safe(pilot.app)
        text = await looked_at(pilot, "a summary (near)", "answer", "answered")
        assert "checkout-api failed" in text
        text = await looked_at(pilot, "by a tree", "result", "the path through the tree")
        assert "yes" in text
        assert "It is put plainly." in text
        text = await looked_at(pilot, "by a jury", "result", "3 of 3 jurors pass")
        text = await looked_at(pilot, "the status is clear", "result", "llm-judge")
        assert "It is put plainly." in text
        assert "needs 0.6" in text
        text = await looked_at(pilot, "the status is looked up", "result", "runs")
        assert "3 of 3 runs passed (95 % interval" in text
        text = await looked_at(pilot, "told [claude-sonnet-4-5]", "result", "choice of tools")
        assert "trajectory" in text
        assert "mode strict" in text

        text = await looked_at(pilot, "it goes wrong", "conversation", "nothing_like_it")
        assert is_safe(pilot.app)
        assert "there is no" in text
        assert pilot.app.store.progress.spent.text.endswith(" + price unknown")  # nobody knows the price of one model
        assert " + price unknown" in text.splitlines()[-2]

        screen = pilot.app.screen
        await looked_at(pilot, "told [claude-sonnet-4-5]", "conversation", "the model ended the conversation")
        screen.detail.conversation.focus()
        await pilot.press("j", "j", "j", "enter")
        await until(pilot, lambda: 'city: "Oslo"' in text_of(pilot.app))
        assert screen.detail.json("request").target == "tool_calls[0].name"
        await looked_at(pilot, "the status is looked up", "conversation", "run 3")
        screen.detail.conversation.focus()
        assert text_of(pilot.app).count("Is it working?") == 1
        await pilot.press("G", "enter")
        await until(pilot, lambda: text_of(pilot.app).count("Is it working?") == 2)

        assert row(pilot, "told [gpt-5.4]").deferred
        assert not row(pilot, "told [claude").deferred
        screen.listing.put_filter("is:deferred")
        assert {one.name for one in screen.rows.shown_tests(pilot.app.store)} == {
            "the weather is told [gpt-5.4]",
            "the weather is told [gpt-5.4]: mcp_task_completion",
        }
        screen.listing.put_filter("")
        assert screen.workbench.store.run_view.summary.deferred == 2
        assert screen.workbench.store.run_view.summary.counts["inconclusive"] == 2
        assert {one["model"] for one in screen.workbench.store.run_view.summary.models} >= {
            "claude-sonnet-4-5",
            "claude-unknown-9",
        }

        await pilot.press("m")
        await until(pilot, lambda: "Tests by models" in text_of(pilot.app))
        view = pilot.app.screen.view
        assert view.test is row(pilot, "told [claude-sonnet-4-5]")
        await pilot.press("j", "l", "enter")
        await until(pilot, lambda: pilot.app.screen is screen)
        assert screen.test_list.test() is row(pilot, "told [gpt-5.4]: mcp_task_completion")


ONE = """\
name: long
servers: { demo: { command: ["mcptest", "mock", "--preset", "demo"] } }
agents:
  - name: it counts
    server: demo
    model: claude-sonnet-4-5
    prompt: "Count"
    max_turns: 24
    expect: { assertions: [{ target: stop, matcher: { exact: max_turns } }] }
"""


async def test_a_conversation_is_followed_while_it_runs(workbench, judged, place):
    """The matrix is not offered, since there is one model."""
    (place / "mcptest.yml").write_text(ONE, encoding="utf-8")
    judged.when("number 41", Reply("One more.", uses=[Use("echo", {"text": "number 42"})], fault="hold"))
    async with workbench() as pilot:
        screen = pilot.app.screen
        assert screen.opening.check_action("matrix", ()) is False
        await looked_at(pilot, "it counts", "conversation", "not run yet")
        await pilot.press("r")
        await until(pilot, lambda: any(event["turn"] >= 21 for event in row(pilot, "it counts").talk or ()))
        await until(pilot, lambda: "running" in screen.detail.conversation.entries[-1].text)
        assert pilot.app.store.progress.spent.text.startswith("$0.0")
        judged.release()
        await until(pilot, lambda: not pilot.app.store.progress.busy)
        view = screen.detail.conversation
        await until(pilot, lambda: view.entries and view.entries[-1].text.startswith("ended: max_turns"))
        numbers = [entry.number for entry in view.entries if entry.label == "assistant"]
        assert numbers == list(range(1, 25))


async def test_a_long_conversation_is_read_to_its_end_page_by_page(workbench, judged, place):
    """A thousand turns and a result of a megabyte, of an earlier session."""
    (place / "mcptest.yml").write_text(ONE, encoding="utf-8")
    result = {"content": [{"type": "text", "text": "x" * 1_000_000}]}
    calls = [
        {"name": "echo", "server": "demo", "args": {"n": turn}, "result": result if turn == 700 else {}, "is_error": False,
         "duration_ms": 1.0, "turn": turn}
        for turn in range(1, 1001)
    ]  # fmt: skip
    said = [{"role": "assistant", "content": f"turn {turn}. " * 400, "tool_calls": []} for turn in range(1, 1001)]
    trace = {
        "tool_calls": calls,
        "conversation": {"turns": [{"role": "user", "content": "Count"}, *said]},
        "stop": "end",
        "turns": 1000,
    }
    name = "mcptest.yml::agent::it counts"
    write_record(place, name, trace)
    async with workbench() as pilot:
        screen = pilot.app.screen
        test = row(pilot, "it counts")
        pilot.app.store.remember({test.id: ["pass", 1.0, test.digest]})
        await looked_at(pilot, "it counts", "conversation", "turn 1.")
        view = screen.detail.conversation
        await until(pilot, lambda: sum(entry.kind == "call" for entry in view.entries) == 1000)
        at = next(place for place, told in enumerate(view._rows) if view.entries[told[0]].text == "echo")
        view.focus()
        view.move_to(at - 1)
        await pilot.press("enter")  # all of a text that is cut
        await until(pilot, lambda: "assistant 1" in text_of(pilot.app))
        await pilot.press("escape")
        seven = next(
            place for place, told in enumerate(view._rows) if view.entries[told[0]].path == ("trace", "tool_calls", 699)
        )
        view.move_to(seven)
        await pilot.press("enter")
        await until(pilot, lambda: "1,000,000 characters" in text_of(pilot.app))
        assert screen.detail.json("request").target == "tool_calls[699].name"

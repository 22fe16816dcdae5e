"""The command log: what was done here, as commands that do the same."""

from __future__ import annotations

import os
import shlex
from itertools import count

import click
import pytest

from mcptest_engine.cli.main import group
from mcptest_tui.state.command_log import KEPT, CommandLog
from tests.tui.pictures import text_of
from tests.tui.waiting import until

NAMES = {"1": "one", "2": "a (b) $c"}
HERE = os.path.abspath("s.yml")  # noqa: PTH100
SUITE = {"suite": HERE, "server": "mock"}


def told(*asked):
    """The commands for what the engine is asked, oldest first."""
    log = CommandLog(NAMES.get, count().__next__)
    for do, arguments in asked:
        log.log_command(do, arguments)
    return [one.command for one in reversed(log.newest_first())]


@pytest.mark.parametrize(
    ("ids", "command"),
    [
        (None, "mcptest run s.yml"),
        (["1"], 'mcptest run --filter "one" --config s.yml'),
        (["1", "2"], "mcptest run s.yml --filter 're:^(one|a \\(b\\) \\$c)$'"),
        (["1", "2"] * 3, "mcptest run s.yml  # 6 of its tests"),
        (["gone"], "mcptest run s.yml"),
    ],
)
def test_a_run(ids, command):
    """Of all, of one, of some."""
    assert told(("run", {"run": "u1", "path": HERE, "ids": ids})) == [command]


@pytest.mark.parametrize(
    ("target", "options"),
    [
        (SUITE, "--server mock --config s.yml"),
        (
            {"command": ["mcptest", "mock", "--preset", "demo"], "env": {"KEY": "x"}},
            "--command 'mcptest mock --preset demo'",
        ),
        (
            {"url": "http://localhost:1/mcp", "bearer_token_env": "T"},
            "--url http://localhost:1/mcp --bearer-token-env T",
        ),
    ],
)
def test_a_call(target, options):
    """The server as options name it; no value of a variable."""
    call = {"session": "s", "method": "tools/call", "params": {"name": "echo", "arguments": {"text": "it's"}}}
    args = shlex.quote('{"text": "it\'s"}')
    commands = told(("connect", {"session": "s", "target": target}), ("call", call))
    assert commands == [
        f"mcptest capabilities {options}",
        f"mcptest call echo --args {args} {options}",
    ]
    for line in commands:
        _, name, *words = shlex.split(line)
        command = group.get_command(click.Context(group), name)
        assert command is not None
        command.make_context(name, words, **group.context_settings)


def test_what_no_command_does_is_left_out():
    """A server of an agent's settings has no option that names it, and a prompt no command."""
    found = {"session": "s", "target": {"found": "k"}}
    prompt = {"session": "t", "method": "prompts/get", "params": {"name": "x"}}
    assert told(("connect", found), ("find", {}), ("call", {"session": "s", "method": "tools/call"})) == []
    assert len(told(("connect", {"session": "t", "target": SUITE}), ("call", prompt))) == 1


def test_the_same_twice_stands_there_once_and_only_so_many_are_kept():
    """With its newest time."""
    log = CommandLog(NAMES.get, count().__next__)
    for _ in range(3):
        log.note("mcptest run")
    assert log.newest_first() == [(2, "mcptest run")]
    for number in range(2 * KEPT):
        log.note(str(number))
    assert len(log.newest_first()) == KEPT


@pytest.mark.anyio
async def test_the_log_of_a_run_is_shown_and_copied(workbench, demo):
    """`@`, Enter."""
    async with workbench() as pilot:
        await pilot.press("at")
        await until(pilot, lambda: "nothing yet" in text_of(pilot.app))
        await pilot.press("escape", "a")
        await until(pilot, lambda: pilot.app.store.counts.get("pass", 0) > 5)
        await pilot.press("at")
        await until(pilot, lambda: "mcptest run mcptest.yml" in text_of(pilot.app))
        await pilot.press("enter")
        await until(pilot, lambda: "Copied the command (OSC 52" in text_of(pilot.app))
        await until(pilot, lambda: not pilot.app.store.progress.busy)

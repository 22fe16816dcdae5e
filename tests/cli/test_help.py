"""`mcptest help`, and the overview that groups the commands by what they are for."""

from __future__ import annotations

import re

import pytest

from mcptest_engine.cli.help import TOPICS
from mcptest_engine.cli.main import COMMANDS, GROUPS, main
from mcptest_engine.core.errors import ExitCode
from mcptest_engine.judging.matchers import MATCHERS


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    found = capsys.readouterr()
    return code, found.out, found.err


def test_the_overview_has_every_command_once_under_its_title(capsys: pytest.CaptureFixture[str]) -> None:
    code, page, _ = told(capsys, "--help")
    assert code == 0
    assert sum(map(len, GROUPS.values())) == len(COMMANDS)
    assert [line[:-1] for line in page.splitlines() if line.endswith(":") and line[:-1] in GROUPS] == list(GROUPS)
    for name in COMMANDS:
        assert len(re.findall(rf"^  {name} ", page, re.MULTILINE)) == 1
    assert told(capsys, "help")[1].rstrip() == page.rstrip()


def test_help_of_a_command_is_what_the_command_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "help", "run")[1].rstrip() == told(capsys, "run", "--help")[1].rstrip()


@pytest.mark.parametrize("topic", sorted(TOPICS))
def test_a_topic_names_all_that_there_is(capsys: pytest.CaptureFixture[str], topic: str) -> None:
    code, page, _ = told(capsys, "help", topic)
    names = {line.split()[0] for line in page.splitlines() if line[:1] not in ("", " ")}
    if topic == "matchers":
        assert names == set(MATCHERS)
    if topic == "exit-codes":
        assert names == {str(number.value) for number in ExitCode}
    assert (code, len(names) > 5) == (0, True)


def test_a_misspelt_topic_has_its_nearest_name(capsys: pytest.CaptureFixture[str]) -> None:
    code, page, wrong = told(capsys, "help", "matchrs")
    assert (code, page) == (2, "")
    assert "did you mean `matchers`?" in wrong

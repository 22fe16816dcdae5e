"""What can be wrong with a suite's `hooks`, and what cannot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.suite.load import LoadOptions, check_text

if TYPE_CHECKING:
    from mcptest_engine.suite.load import CheckedSuite

TESTS = '"tools": [{"name": "n", "tool": "t", "expect": {"max_duration_ms": 1}}]'


def checked(hooks: Any, top: str = "", root: Path = Path("/nonexistent"), **environ: str) -> CheckedSuite:
    text = f'{{"servers": {{"api": {{"command": ["python", "s.py"]}}}}, "hooks": {json.dumps(hooks)}, {top}{TESTS}}}'
    return check_text(text, LoadOptions(environ=environ, workspace_root=root, start_dir=root), base_dir=root)


def told(hooks: Any, top: str = "", **environ: str) -> list[str]:
    return [
        f"{problem.pointer}: {problem.message}"
        for problem in checked(hooks, top, root=Path("/nonexistent"), **environ).problems
    ]


@pytest.mark.parametrize(
    "phase",
    [
        "./seed.sh",
        "node ./setup.js --port 8080",
        "bash -c 'a | b && c > d'",
        "sh -c '$HOME/x'",
        'say "a > b"',
        ["a", "b"],
        {"command": "node x.js", "mode": "context"},
        {"command": "node x.js", "mode": "context", "timeout_ms": 5},
        ["echo plain-still-works", {"command": "node x.js", "mode": "context"}],
    ],
)
@pytest.mark.parametrize("name", ["beforeAll", "afterAll", "beforeEach", "afterEach"])
def test_a_phase_is_one_step_or_a_list_of_them(name: str, phase: Any) -> None:
    """Texts and mappings, in all four phases."""
    found = checked({name: phase})
    assert found.problems == ()
    assert found.suite is not None
    assert found.suite.hooks == {name: phase}


@pytest.mark.parametrize(
    ("phase", "problem"),
    [
        ({"command": "x"}, "/hooks/beforeAll: `mode` is missing"),
        ({"mode": "context"}, "/hooks/beforeAll: `command` is missing"),
        ({"command": "x", "mode": "plain"}, '/hooks/beforeAll/mode: expected `context`, found the text "plain"'),
        ([], "/hooks/beforeAll: `beforeAll`: the list must not be empty"),
        ("", "/hooks/beforeAll: "),
        ("  ", "/hooks/beforeAll: the command is empty"),
        (["a", "''"], "/hooks/beforeAll/1: the command is empty"),
        ("echo 'a", '/hooks/beforeAll: the command "echo \'a" cannot be split: no closing quotation'),
        ({"command": "x", "mode": "context", "timeout_ms": 0}, "/hooks/beforeAll/timeout_ms: "),
    ],
)
def test_what_is_no_command_is_refused_at_its_place(phase: Any, problem: str) -> None:
    """The opt-in is never ambiguous, and nothing is found out at run time that could be known before."""
    found = checked({"beforeAll": phase})
    assert found.suite is None
    assert [message for message in told({"beforeAll": phase}) if message.startswith(problem)], told(
        {"beforeAll": phase}
    )


def test_an_unknown_phase_is_refused() -> None:
    """With the nearest one."""
    (problem,) = checked({"beforAll": "x"}).problems
    assert problem.hint == "did you mean `beforeAll`?"


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("a | b", '"|" is passed to `a` as an argument'),
        ("a && b", '"&&" is passed to `a` as an argument'),
        ("a > log", '">" is passed to `a` as an argument'),
        ("a 2>&1", '"2>&1" is passed to `a` as an argument'),
        ("PORT=1 ./seed.sh", '"PORT=1" sets no variable'),
        ("$HOME/seed.sh", '"$HOME/seed.sh" is passed unchanged'),
        ("./seed.sh $PORT", '"$PORT" is passed unchanged'),
        ("~/seed.sh", '"~/seed.sh" is passed unchanged'),
    ],
)
def test_what_only_a_shell_would_understand_is_warned_of(command: str, words: str) -> None:
    """A hook is one program and its arguments; the suite still runs."""
    for phase in (command, [command], {"command": command, "mode": "context"}):
        found = checked({"beforeEach": phase})
        assert found.suite is not None
        assert [words in problem.message for problem in found.problems] == [True]


def test_brackets_of_attempts_need_a_hook_to_be_made_of() -> None:
    assert told({"per_attempt": True, "beforeEach": "true"}) == []
    assert told({"per_attempt": True, "beforeAll": "true"}) == [
        "/hooks/per_attempt: `per_attempt` has no effect without a `beforeEach` or an `afterEach`"
    ]


def test_templates_stand_in_commands() -> None:
    """`${CONFIG_DIR}` above all, since a path is relative to where mcptest is started."""
    hooks = {"beforeAll": ["${CONFIG_DIR}/seed.sh ${port}", {"command": "x ${env.WHO} $${kept}", "mode": "context"}]}
    suite = checked(hooks, '"variables": {"port": 80}, ', WHO="me").suite
    assert suite is not None
    assert suite.hooks == {"beforeAll": ["/nonexistent/seed.sh 80", {"command": "x me ${kept}", "mode": "context"}]}
    assert told({"beforeAll": "bash -c 'echo ${NOBODY}'"}) == ['/hooks/beforeAll: unknown variable "NOBODY"']


def test_templates_stand_in_the_baseline() -> None:
    """`defaultTest` is read as a test is: what is never expanded there stays here, too."""
    expect = [
        {"target": "result", "matcher": {"exact": "${who}"}},
        {"target": "result", "matcher": {"regex": "^${a}"}},
    ]
    top = f'"variables": {{"who": "me"}}, "defaultTest": {{"expect": {json.dumps(expect)}}}, '
    suite = checked({}, top).suite
    assert suite is not None
    matchers = [row["matcher"] for row in suite.tests[0].data["expect"]["assertions"]]
    assert matchers == [{"exact": "me"}, {"regex": "^${a}"}]


def test_a_suite_s_own_phase_wins_over_an_imported_one(tmp_path: Path) -> None:
    """Phase by phase; `${CONFIG_DIR}` is that of the file that says it."""
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "hooks.yml").write_text(
        "hooks: { beforeAll: '${CONFIG_DIR}/seed.sh', afterAll: imported, timeout_ms: 5 }\n", encoding="utf-8"
    )
    text = "imports: [shared/hooks.yml]\nservers: { a: { command: [x] } }\nhooks: { afterAll: own }\ntools: []\n"
    suite = check_text(text, LoadOptions(environ={}, workspace_root=tmp_path), base_dir=tmp_path).suite
    assert suite is not None
    assert suite.hooks == {"beforeAll": f"{tmp_path}/shared/seed.sh", "afterAll": "own", "timeout_ms": 5}

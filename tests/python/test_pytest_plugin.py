"""The pytest plugin, as a user has it: a pytest of its own, in a folder of its own, with real servers."""

from __future__ import annotations

import json
import os
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml  # noqa: F401 - its C part cannot be loaded twice, and pytester forgets what a run of it has loaded

if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[..., pytest.RunResult]

SERVERS = Path(__file__).parent.parent / "servers"
SHOP = f"[{sys.executable}, -S, {SERVERS / 'shop.py'}]"
SUITE = f"""\
servers:
  shop: {{ command: {SHOP} }}
tools:
  - name: tea has a price
    tool: price
    args: {{ item: tea }}
    tags: [fast, "two words"]
    expect: [ {{ target: result.structuredContent.price, matcher: {{ exact: 30 }} }} ]
  - name: milk is cheap
    tool: price
    args: {{ item: milk }}
    expect: [ {{ target: result.structuredContent.price, matcher: {{ lt: 5 }} }} ]
  - name: not yet
    tool: orders
    skip: the tool is new
    expect: [ {{ target: result.isError, matcher: {{ exists: false }} }} ]
  - name: stock is told
    tool: stock
    args: {{ item: tea }}
    expect: [ {{ target: "result.content[0].text", matcher: {{ contains: "7 of tea" }} }} ]
"""
PYTHON_TESTS = f"""\
import sys

import pytest


@pytest.fixture
def mcp_app():
    return [sys.executable, "-S", {str(SERVERS / "shop.py")!r}]


async def test_awaited(mcp_server):
    result = await mcp_server.call("price", item="tea")
    assert result.structured == {{"item": "tea", "price": 30}}


def test_plain(mcp_server):
    mcp_server.call("price", item="milk").expect("structured.price", exact=13)


def test_stored(mcp_server):
    mcp_server.call("stock", item="tea").expect("text", snapshot=True)
"""


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """pytest in this process, in the folder of the test, with no other plugin than those that pytest loads by itself."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)

    def call(*arguments: str) -> pytest.RunResult:
        return pytester.runpytest_inprocess("-p", "no:rerunfailures", "-p", "no:timeout", *arguments)

    return call


@pytest.fixture
def suite(pytester: pytest.Pytester) -> Path:
    path = pytester.path / "mcptest.yml"
    path.write_text(SUITE, encoding="utf-8")
    return path


def test_each_test_is_an_item_with_our_report(run: Run, suite: Path) -> None:
    done = run("-q", "--junitxml=out.xml")
    done.assert_outcomes(passed=2, failed=1, skipped=1)
    done.stdout.fnmatch_lines(
        [
            "*_ milk is cheap _*",
            "assertion 1, line 12 (`result.structuredContent.price`) failed: *12*",
            'repro: mcptest run * "milk is cheap"',
            "mcptest.yml:12",
            "FAILED mcptest.yml::milk is cheap - Failed: assertion 1, line 12 *",
        ]
    )
    cases = ET.parse(suite.parent / "out.xml").iter("testcase")
    assert [case.get("name") for case in cases] == ["tea has a price", "milk is cheap", "not yet", "stock is told"]
    (record,) = (suite.parent / ".mcptest" / "runs").glob("*.json")
    told = json.loads(record.read_text(encoding="utf-8"))["tests"]
    assert [test["verdict"] for test in told] == ["pass", "fail", "skip", "pass"]


@pytest.mark.parametrize(
    ("arguments", "outcomes"),
    [
        (["-k", "stock"], {"passed": 1, "deselected": 3}),
        (["-m", "fast"], {"passed": 1, "deselected": 3}),
        (["-k", "words"], {"passed": 1, "deselected": 3}),
        (["-x"], {"passed": 1, "failed": 1}),
        (["mcptest.yml::stock is told", "mcptest.yml::tea has a price"], {"passed": 2}),
    ],
)
def test_pytest_chooses_what_runs(run: Run, suite: Path, arguments: list[str], outcomes: dict[str, int]) -> None:
    done = run("-q", "--strict-markers", *arguments)
    done.assert_outcomes(**outcomes)
    assert list((suite.parent / ".mcptest" / "runs").glob("*.json")) == []


def test_last_failed_runs_what_failed(run: Run, suite: Path) -> None:
    run("-q")
    run("-q", "--last-failed").assert_outcomes(failed=1)


def test_workers_of_xdist_share_the_tests(pytester: pytest.Pytester, suite: Path) -> None:
    pytester.runpytest_subprocess("-q", "-n", "2", "-p", "no:rerunfailures").assert_outcomes(
        passed=2, failed=1, skipped=1
    )
    assert suite.exists()


def test_a_failed_test_that_a_plugin_repeats_runs_again(pytester: pytest.Pytester, suite: Path) -> None:
    done = pytester.runpytest_subprocess("-q", "--reruns", "1", "-p", "no:xdist")
    assert done.parseoutcomes() == {"passed": 2, "failed": 1, "skipped": 1, "rerun": 1}
    assert suite.exists()


INTERRUPTING = f"""\
import os, signal, sys
sys.path.append({str(SERVERS)!r})
import minimcp


def handle(method, params, _):
    if method != "tools/call":
        return {{"tools": [{{"name": name, "inputSchema": {{"type": "object"}}}} for name in ("hang", "answer")]}}
    if params["name"] == "answer":
        return minimcp.text("here")
    os.kill(os.getppid(), getattr(signal, sys.argv[1]))
    return minimcp.NO_ANSWER


minimcp.serve(handle)
"""
INTERRUPTED = f"""\
servers:
  s: {{{{ command: [{sys.executable}, -S, interrupting.py, {{signal}}] }}}}
tools:
  - {{{{ name: before, tool: answer, expect: {{{{ text: here }}}} }}}}
  - {{{{ name: hangs, tool: hang, timeout_ms: 3000000, expect: {{{{ text: here }}}} }}}}
  - {{{{ name: after, tool: answer, expect: {{{{ text: here }}}} }}}}
"""
TIMEOUT_PLUGIN = """\
import signal
import pytest

signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGALRM, lambda *_: pytest.fail("too long", pytrace=False))
"""


@pytest.mark.parametrize(
    ("sent", "outcomes"),
    [("SIGINT", {"passed": 1}), ("SIGALRM", {"passed": 2, "failed": 1})],
    ids=["Ctrl-C", "timeout"],
)
def test_an_interrupted_test_is_not_waited_for(pytester: pytest.Pytester, sent: str, outcomes: dict[str, int]) -> None:
    for name, text in {
        "interrupting.py": INTERRUPTING,
        "mcptest.yml": INTERRUPTED.format(signal=sent),
        "conftest.py": TIMEOUT_PLUGIN,
    }.items():
        (pytester.path / name).write_text(text, encoding="utf-8")
    done = pytester.runpytest_subprocess("-q", "-p", "no:rerunfailures", "-p", "no:xdist", timeout=300)
    assert done.parseoutcomes() == outcomes


def test_mistakes_of_a_suite_are_told_with_their_places(run: Run, suite: Path) -> None:
    suite.write_text(SUITE.replace("args:", "arguments:"), encoding="utf-8")
    done = run("-q")
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(["*mcptest.yml:6:5: unknown key `arguments`", "*did you mean `args`?*"])


def test_other_yaml_files_are_left_alone_unless_they_are_named(run: Run, suite: Path) -> None:
    other, ours = suite.with_name("compose.yml"), suite.with_name("shop.yaml")
    other.write_text("services: {}\n", encoding="utf-8")
    schema = "# yaml-language-server: $schema=.mcptest/suite.schema.json\n"
    ours.write_text(schema + SUITE.replace("milk is cheap", "milk is dear").replace("lt: 5", "gt: 5"), encoding="utf-8")
    run("-q", "-k", "dear or cheap").assert_outcomes(passed=1, failed=1, deselected=6)
    run("-q", "compose.yml").assert_outcomes(errors=1)


def test_suites_in_braces_and_in_json_are_collected(run: Run, suite: Path) -> None:
    text = json.dumps(
        {"servers": {"shop": {"command": ["true"]}}, "tools": [{"name": "one", "tool": "a", "expect": {"text": "b"}}]}
    )
    (suite.parent / "mcptest.yaml").write_text(text, encoding="utf-8")
    (suite.parent / "marked.yml").write_text(f"# yaml-language-server: $schema=suite.schema.json\n{text}")
    for name in ("named.json", "left-alone.json"):
        (suite.parent / name).write_text(text, encoding="utf-8")
    suite.unlink()
    for named, found in ((".", ["marked.yml::one", "mcptest.yaml::one"]), ("named.json", ["named.json::one"])):
        done = run("--collect-only", "-q", named)
        assert [line for line in done.outlines if "::" in line] == found


def test_variables_and_hooks_and_gates_work_as_in_a_run(run: Run, suite: Path) -> None:
    log = suite.parent / "log.txt"
    text = SUITE.replace("lt: 5", 'lt: "${LIMIT}"') + (
        f"variables: {{ LIMIT: 5 }}\ncoverage: {{ tools: 100 }}\n"
        f"hooks: {{ beforeAll: [ \"sh -c 'echo all >> {log}'\" ], "
        f"beforeEach: [ \"sh -c 'echo each >> {log}'\" ] }}\n"
    )
    suite.write_text(text, encoding="utf-8")
    done = run("-q", "--mcptest-var", "LIMIT=50")
    done.assert_outcomes(passed=3, skipped=1, errors=1)
    done.stdout.fnmatch_lines(["mcptest.yml: *exit code 6*", "coverage: tools 28.6 % *"])
    assert log.read_text(encoding="utf-8").split() == ["all", "each", "each", "each"]
    run("-q", "--mcptest-var", "LIMIT=50", "-k", "tea").assert_outcomes(passed=1, deselected=3)
    (suite.parent / "conftest.py").write_text(
        "def pytest_collection_modifyitems(items): items.reverse()\n", encoding="utf-8"
    )
    turned = run("-q", "--mcptest-var", "LIMIT=50", "-W", "default")
    turned.assert_outcomes(passed=3, skipped=1, warnings=1)
    turned.stdout.fnmatch_lines(
        ["*the limits of `coverage` are not checked: pytest ran the tests of the suite in another*"]
    )


def test_a_server_that_does_not_start_fails_its_tests(run: Run, suite: Path) -> None:
    suite.write_text(SUITE.replace(str(SERVERS / "shop.py"), "gone.py"), encoding="utf-8")
    done = run("-q")
    done.assert_outcomes(failed=3, skipped=1)
    done.stdout.fnmatch_lines(['server "shop" did not start: *', "stderr of shop:"])


def test_the_fixture_calls_a_server_with_and_without_await(run: Run, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(PYTHON_TESTS)
    done = run("-q")
    done.assert_outcomes(passed=2, failed=1)
    done.stdout.fnmatch_lines(["E  *`result.structuredContent.price`: expected `13`, got `12`"])


def test_a_snapshot_is_compared_and_accepted(run: Run, pytester: pytest.Pytester) -> None:
    file = pytester.makepyfile(PYTHON_TESTS)
    run("-q", "-k", "stored").assert_outcomes(passed=1, deselected=2)
    (stored,) = (pytester.path / ".mcptest" / "snapshots").glob("*.yml")
    assert "There are 7 of tea left." in stored.read_text(encoding="utf-8")
    file.write_text(file.read_text().replace('"stock", item="tea"', '"stock", item="milk"'), encoding="utf-8")
    run("-q", "-k", "stored").assert_outcomes(failed=1, deselected=2)
    run("-q", "-k", "stored", "--mcptest-update-snapshots").assert_outcomes(passed=1, deselected=2)
    run("-q", "-k", "stored").assert_outcomes(passed=1, deselected=2)


def test_a_test_without_a_server_says_what_to_define(run: Run, pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(mcp_server): pass")
    done = run("-q")
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(["*define a fixture `mcp_app`*"])


def test_the_example_runs(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `pytest examples/pytest` in a checkout, whose own tests are run without the plugin."""
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    pytester.makepyprojecttoml('[tool.pytest.ini_options]\naddopts = ["-p", "no:mcptest"]\n')
    example = Path(__file__).parents[2] / "examples" / "pytest"
    folder = pytester.mkdir("example")
    for file in filter(Path.is_file, example.glob("*.*")):
        (folder / file.name).write_bytes(file.read_bytes())
    pytester.runpytest_subprocess("-q", "-p", "no:rerunfailures", "example").assert_outcomes(passed=4)

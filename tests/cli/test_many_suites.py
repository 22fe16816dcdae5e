"""Several suites in one command, named by files, folders and patterns: one report, and a record for each."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest
from click.testing import CliRunner, Result

from mcptest_engine.cli import list as list_command
from mcptest_engine.cli import mutate, record, report, run, validate
from mcptest_engine.cli.many import suite_paths
from mcptest_engine.core.errors import SuiteError, UsageError
from mcptest_engine.core.run_record import RunRecord
from mcptest_engine.engine_process import files
from mcptest_engine.reporting.merge import merge_records
from mcptest_engine.reporting.record_schema import record_fault
from mcptest_engine.reporting.registry import FORMATS
from tests.permissions import unreadable

SERVERS = Path(__file__).parents[1] / "servers"
SERVER = json.dumps([sys.executable, "-S", str(SERVERS / "shop.py")])
SUITE = """\
servers: {{ shop: {{ command: {command} }} }}
tools:
  - {{ name: price, tool: price, args: {{ item: tea }}, expect: {{ structured.price: {price} }} }}
  - {{ name: stock, tool: stock, args: {{ item: tea }}, expect: {{ text: {{ contains: tea }} }} }}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Suites `a`, `b/deep` (one of its tests fails) and `b/other.yml`, which is broken; and a YAML file that is no suite."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI", raising=False)
    for name, price in (("a", 30), ("b/deep", 31)):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "mcptest.yml").write_text(SUITE.format(command=SERVER, price=price), encoding="utf-8")
    (tmp_path / "b" / "other.yml").write_text("servers: {}\ntools: 5\n", encoding="utf-8")
    (tmp_path / "b" / "notes.yml").write_text("a: 1\n", encoding="utf-8")
    (tmp_path / "empty").mkdir()
    return tmp_path


def invoke(command: object, *arguments: str) -> Result:
    names = ["-h", "--help"]  # click remembers those of the first call in the process
    return CliRunner().invoke(command, arguments, help_option_names=names)  # type: ignore[arg-type]


@pytest.mark.usefixtures("folder")
def test_folders_and_patterns_stand_for_the_suites_in_them_each_once() -> None:
    everything = ["a/mcptest.yml", "b/deep/mcptest.yml", "b/other.yml"]
    assert sorted(map(str, suite_paths(["."], None))) == everything
    assert sorted(map(str, suite_paths(["**/*.yml", "a", "a/mcptest.yml", "./a/../a/mcptest.yml"], None))) == everything
    assert suite_paths(["a/mcptest.yml"], None) == [Path("a/mcptest.yml")]
    both = ["a/mcptest.yml", "b/deep/mcptest.yml"]
    assert list(map(str, suite_paths(["{a,b/{deep,deep}}/mcptest.yml"], None))) == both
    assert sorted(map(str, suite_paths(["{a,b/deep}/m*.{yml,yaml}"], None))) == both
    assert list(map(str, suite_paths(["{a,nowhere}/mcptest.yml"], None))) == ["a/mcptest.yml", "nowhere/mcptest.yml"]
    Path("a,b").mkdir()
    Path("a,b/{a,b}.yml").write_bytes(Path("a/mcptest.yml").read_bytes())
    assert suite_paths(["a,b/{a,b}.yml"], None) == [Path("a,b/{a,b}.yml")], "a file of this very name"
    for none in ("empty", "no*.yml", "{a,empty}", "no*.{yml,yaml}"):
        with pytest.raises(UsageError, match="there is no suite in"):
            suite_paths([none, "a"], None)


def test_no_suite_is_left_out_however_many_and_however_deep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_SUITES", 1)
    deep = tmp_path.joinpath(*"abcdefghijklmnop")
    deep.mkdir(parents=True)
    for folder in (tmp_path, tmp_path / "a", deep):
        (folder / "mcptest.yml").write_text("servers: {}\ntools: []\n", encoding="utf-8")
    assert len(suite_paths([str(tmp_path)], None)) == len(suite_paths([f"{tmp_path}/*"], None)) == 3


def test_links_to_one_suite_in_two_folders_are_two_suites(folder: Path) -> None:
    (folder / "empty" / "mcptest.yml").symlink_to(folder / "a" / "mcptest.yml")
    (folder / "a" / "same.yml").symlink_to("mcptest.yml")
    (folder / "linked").symlink_to("a")
    paths = suite_paths(["a", "empty", "linked/mcptest.yml"], None)
    assert list(map(str, paths)) == ["a/mcptest.yml", "empty/mcptest.yml"]


@pytest.mark.usefixtures("folder")
def test_one_report_tells_of_all_suites_and_the_exit_code_is_that_of_the_worst() -> None:
    files = ("agent=agent.txt", "github=notes.txt", "pretty=all.txt", "junit=all.xml", "html=all.html")
    reporters = [word for one in ("json", *files) for word in ("--reporter", one)]
    ran = invoke(run.command, "a", "b", *reporters)
    data = json.loads(ran.stdout)
    assert record_fault(data) is None
    record = RunRecord.from_json(data)
    assert record.to_json() == data
    assert record.exit_code == ran.exit_code == 2
    assert [(one.path, one.exit_code, one.totals.failed) for one in record.suites] == [
        ("a/mcptest.yml", 0, 0),
        ("b/deep/mcptest.yml", 1, 1),
    ]
    assert len({test.id for test in record.tests}) == record.totals.total == 4
    assert record.warnings[0] == "b/other.yml: the suite was not run: the suite declares no server (and 1 more problem)"
    assert "b/other.yml:2:8: expected a list of tests, found the number 5" in ran.stderr
    annotations = Path("notes.txt").read_text(encoding="utf-8")
    assert "::error file=b/deep/mcptest.yml,line=3,title=price::" in annotations
    broken = "::error file=b/other.yml,line=2,col=8,title=mcptest::expected a list of tests, found the number 5\n"
    assert broken in annotations
    assert [(one.path, one.reason) for one in record.not_run] == [("b/other.yml", "invalid")]
    assert broken in invoke(run.command, "b/other.yml", "--reporter", "github").stdout
    assert record.suites[0].path == "a/mcptest.yml"
    both = ["shop (a/mcptest.yml)", "shop (b/deep/mcptest.yml)"]
    assert [server.name for server in record.servers] == both, "servers of one name are kept apart"
    assert list(dict.fromkeys(test.server for test in record.tests)) == both
    assert record.effects is not None
    assert {call.server for call in record.effects.calls} == set(both)
    cases = [case.attrib for case in fromstring(Path("all.xml").read_text(encoding="utf-8")).iter("testcase")]
    assert len({(case["classname"], case["name"]) for case in cases}) == len(cases) == 5, "the run has a case too"
    _, reason, note, *_ = Path("agent.txt").read_text(encoding="utf-8").splitlines()
    assert (reason, note) == ("REASON a suite is invalid (exit code 2)", f"NOTE {record.warnings[0]}")
    page = Path("all.html").read_text(encoding="utf-8")
    assert "Suites: 1 of 3 passed" in page
    assert "No coverage measured" not in page
    report = Path("all.txt").read_text(encoding="utf-8")
    assert 'repro: mcptest run --filter "price" --config b/deep/mcptest.yml\n' in report
    assert "  b/deep/mcptest.yml  FAIL  1 passed, 1 failed" in report
    assert len(list(Path(".mcptest/runs").glob("*.json"))) >= 2

    again = json.loads(invoke(run.command, "a", "b/deep", "--last-failed", "--reporter", "json").stdout)
    assert [test["id"] for test in again["tests"]] == ["b/deep/mcptest.yml::tool::price"]


@pytest.mark.usefixtures("folder")
def test_last_failed_says_why_it_runs_everything() -> None:
    suites = ("a", "b/deep", "--filter", "stock", "--last-failed")
    assert (
        "no earlier run of these suites is saved here: running the whole suites" in invoke(run.command, *suites).stderr
    )
    assert "no test failed when it last ran: running the whole suites" in invoke(run.command, *suites).stderr


def test_a_folder_or_file_that_cannot_be_read_is_named_in_every_report_and_fails_the_command(folder: Path) -> None:
    reporters = [word for form in FORMATS for word in ("--reporter", f"{form}={form}.txt")]
    (folder / "a" / "closed.yml").touch(0)
    with unreadable(folder / "a" / "locked"):
        ran = invoke(run.command, "a", "--filter", "stock", "--reporter", "json", *reporters)
        alone = [invoke(run.command, *named) for named in (["a/locked"], ["a/locked/s.yml"])]
        listed, checked = invoke(list_command.command, "a"), invoke(validate.command, "a", "--format", "json")
    record = RunRecord.from_json(json.loads(ran.stdout))
    assert (ran.exit_code, record.exit_code, record.verdict, record.totals.passed) == (2, 2, "fail", 1)
    assert [(one.path, one.reason) for one in record.not_run] == [
        ("a/closed.yml", "invalid"),
        ("a/locked", "unreadable"),
    ]
    for form in FORMATS:
        text = Path(f"{form}.txt").read_text(encoding="utf-8")
        assert "the folder cannot be read" in text, form
        assert "the file cannot be read" in text, form
    assert (listed.exit_code, checked.exit_code) == (2, 2)
    assert [type(one.exception) for one in alone] == [SuiteError, SuiteError]
    assert [(one["file"], one["message"]) for one in json.loads(checked.stdout)["errors"]] == [
        ("a/closed.yml", "the file cannot be read: permission denied"),
        ("a/locked", "the folder cannot be read: permission denied"),
    ]


@pytest.mark.usefixtures("folder")
def test_each_of_several_suites_has_a_cassette_that_replays_without_its_server() -> None:
    recorded = invoke(record.command, "tape", "a", "b/deep", "--reporter", "json")
    assert recorded.exit_code == 1
    for name in ("a", "b/deep"):
        suite = Path(name, "mcptest.yml")
        suite.write_text(suite.read_text(encoding="utf-8").replace(SERVER, '["no-such-program"]'), encoding="utf-8")
    replayed = invoke(run.command, "a", "b/deep", "--replay", "tape", "--reporter", "json")
    before, after = (json.loads(ran.stdout)["tests"] for ran in (recorded, replayed))
    assert [(test["id"], test["verdict"]) for test in after] == [(test["id"], test["verdict"]) for test in before]


def test_a_run_that_is_saved_above_the_folder_says_where(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / ".mcptest").mkdir()
    (folder / "empty" / "shop.yml").write_text(SUITE.format(command=SERVER, price=30), encoding="utf-8")
    monkeypatch.chdir(folder / "empty")
    ran = invoke(run.command, "shop.yml", "--filter", "stock")
    assert "note: the run is saved in ../.mcptest, the nearest .mcptest above this folder\n" in ran.stderr
    assert len(list((folder / ".mcptest" / "runs").glob("*.json"))) == 1


@pytest.mark.usefixtures("folder")
def test_what_selects_tests_selects_among_all_suites() -> None:
    def listed(*options: str) -> list[str]:
        found = invoke(list_command.command, "a", "b/deep", "--format", "json", *options)
        return [test["id"] for suite in json.loads(found.stdout) for test in suite["tests"]]

    assert listed("--filter", "stock") == ["a/mcptest.yml::tool::stock", "b/deep/mcptest.yml::tool::stock"]
    assert sorted([*listed("--shard", "1/2"), *listed("--shard", "2/2")]) == sorted(listed())
    assert invoke(list_command.command, "a", "b/deep", "--filter", "nothing").exit_code == 7
    assert isinstance(invoke(list_command.command, "a", "b/deep", "--server", "nope").exception, UsageError)
    assert (
        invoke(validate.command, "a", "b/deep").stdout
        == invoke(validate.command, "a", "b").stdout
        == "a/mcptest.yml: valid, 2 tests\nb/deep/mcptest.yml: valid, 2 tests\n"
    )
    *_, problem = json.loads(invoke(validate.command, "a", "b", "--format", "json").stdout)["errors"]
    assert [problem[key] for key in ("file", "line", "column", "path")] == ["b/other.yml", 2, 8, "/tools"]
    assert isinstance(invoke(run.command, "a", "b/deep", "--watch").exception, UsageError)


@pytest.mark.usefixtures("folder")
def test_shards_of_several_suites_merge_into_one_report_that_misses_none() -> None:
    for number in (1, 2):
        invoke(run.command, "a", "b/deep", "--shard", f"{number}/2", "--reporter", f"json={number}.json")
    shards = {number: RunRecord.from_json(json.loads(Path(f"{number}.json").read_text("utf-8"))) for number in (1, 2)}
    merged = merge_records([shards[1], shards[2]])
    found = [(suite.path, suite.totals.passed, suite.totals.failed, suite.exit_code) for suite in merged.suites]
    assert found == [("a/mcptest.yml", 2, 0, 0), ("b/deep/mcptest.yml", 1, 1, 1)]
    assert (merged.exit_code, merged.shard) == (1, None)
    (passed,) = (shard for shard in shards.values() if not shard.exit_code)
    alone = merge_records([passed])
    assert (alone.exit_code, alone.verdict) == (6, "fail")
    assert "is missing: its tests are not in this report" in alone.warnings[0]
    assert {suite.verdict for suite in alone.suites} == {"fail"}
    assert {suite.verdict for suite in merge_records([passed], allow_missing=True).suites} == {"pass"}


@pytest.mark.usefixtures("folder")
def test_merged_shards_hold_each_suite_to_its_own_floors_and_limits() -> None:
    """No shard has all tests of a suite: what one suite demands is checked when the shards of all are merged."""
    library = json.dumps([sys.executable, "-S", str(SERVERS / "library.py")])
    lends = "tool: lend_book, args: { book_id: b-7741 }, expect: { text: The Waves }"
    calls = "".join(f"  - {{ name: {name}, {lends} }}\n" for name in ("price", "stock"))
    Path("b/deep/mcptest.yml").write_text(
        f"servers: {{ library: {{ command: {library} }} }}\neffects: {{ mutating: 1 }}\ntools:\n{calls}",
        encoding="utf-8",
    )
    Path("a/mcptest.yml").write_text(SUITE.format(command=SERVER, price=30) + "coverage: { tools: 100 }\n", "utf-8")
    for number in (1, 2):
        part = invoke(run.command, "a", "b/deep", "--shard", f"{number}/2", "--reporter", f"json={number}.json")
        assert part.exit_code == 0, part.output
    merged = invoke(report.command, "--merge", "1.json", "2.json", "--format", "json")
    told = json.loads(merged.stdout)
    assert record_fault(told) is None
    assert [(suite["path"], suite["verdict"], suite["exit_code"]) for suite in told["suites"]] == [
        ("a/mcptest.yml", "fail", 6),
        ("b/deep/mcptest.yml", "fail", 6),
    ]
    assert (merged.exit_code, told["suites"][0]["coverage"]["tools"]["met"]) == (6, False)
    missed = [
        "a/mcptest.yml: coverage: tools 28.6 % (2 of 7), below the floor of 100 %; not covered: "
        + ", ".join(f"`{name}`" for name in ("orders", "opened", "order", "get_order", "refused")),
        "b/deep/mcptest.yml: effects: 2 calls of mutating tools, 1 is allowed: `lend_book` (2)",
    ]
    assert told["warnings"] == missed
    assert told["coverage_notes"] == missed[:1]
    read = RunRecord.from_json(told)
    assert (read.missed_gates, merge_records([read]).to_json()) == (missed, told)
    assert (
        f"::error title=mcptest::{missed[0]}".replace(" %", " %25")
        in invoke(report.command, "--merge", "1.json", "2.json", "--format", "github").stdout
    )
    alone = invoke(report.command, "--merge", "2.json", "--allow-missing", "--format", "github")
    assert alone.exit_code == 6
    assert (
        "::error title=mcptest::a/mcptest.yml: coverage: its floors are not checked, because shards are" in alone.stdout
    )


@pytest.mark.usefixtures("folder")
def test_one_report_has_the_mutation_score_of_each_suite_and_of_all_together() -> None:
    weak = SUITE.format(command=SERVER, price=30).replace("expect: { structured.price: 30 } ", "").replace(", }", " }")
    Path("b/deep/mcptest.yml").write_text(weak, encoding="utf-8")
    measured = invoke(mutate.command, "a", "b/deep", "--threshold", "90", "--format", "json")
    report = json.loads(measured.stdout)
    strong, poor = report["suites"]
    assert measured.exit_code == 6
    assert (strong["suite"], poor["suite"]) == ("a/mcptest.yml", "b/deep/mcptest.yml")
    assert poor["score"] < report["score"] < strong["score"]
    assert report["killed"] == strong["killed"] + poor["killed"] == sum(one["killed"] for one in report["operators"])
    assert "b/deep/mcptest.yml: the score is below 90 %\n" in measured.stderr
    assert [(one["suite"], one["name"]) for one in report["tests"]] == [
        (suite, name) for suite in ("a/mcptest.yml", "b/deep/mcptest.yml") for name in ("price", "stock")
    ]
    assert (
        {one["suite"] for one in report["mutants"]}
        == {one["suite"] for one in report["tools"]}
        == {"a/mcptest.yml", "b/deep/mcptest.yml"}
    )

    text = invoke(mutate.command, "a", "b", "--threshold", "10", "--no-proposals")
    assert text.exit_code == 2, "a suite with problems is not measured"
    assert text.stdout.startswith("3 suites: ")
    assert "b/other.yml: it has problems, and was not measured" in text.stdout
    page, markdown = (
        invoke(mutate.command, "a", "b/deep", "--format", form, "--no-proposals") for form in ("html", "md")
    )
    assert (page.exit_code, markdown.exit_code) == (0, 0)
    for told in (text, page, markdown):
        assert "price (b/deep/mcptest.yml)" in told.stdout


def test_suites_that_share_a_server_list_its_tools_once_until_it_says_that_they_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that is not in the list is looked up in a new one, as within one suite."""
    monkeypatch.chdir(tmp_path)
    schema = {"inputSchema": {"type": "object"}}
    look, turn = ({"name": name, **schema, "annotations": {"readOnlyHint": True}} for name in ("look", "turn"))
    changed = {"list": [{"name": "look", **schema}], "result": {"content": []}}
    Path("script.json").write_text(json.dumps({"tools": [look, turn], "answers": {"turn": [changed]}}), "utf-8")
    suites = {
        "a.yml": ("recorder", "log", ["get_page"]),
        "b.yml": ("recorder", "log", ["get_page"]),
        "c.yml": ("recorder", "log", ["get_pages"]),
        "d.yml": ("scripted", "script.json", ["look", "turn"]),
        "e.yml": ("scripted", "script.json", ["look"]),
    }
    for path, (server, argument, tools) in suites.items():
        command = [sys.executable, str(SERVERS / f"{server}.py"), argument]
        tests = [{"name": tool, "tool": tool, "args": {"text": path}} for tool in tools]
        Path(path).write_text(json.dumps({"servers": {server: {"command": command}}, "tools": tests}), "utf-8")
    ran = invoke(run.command, *suites, "-n", "1", "--reporter", "json")
    record = RunRecord.from_json(json.loads(ran.stdout))
    asked = Path("log").read_text(encoding="utf-8").splitlines()
    assert sorted(asked[:3]) == ["tools/call get_page", "tools/call get_page", "tools/list"]
    assert sorted(asked[3:]) == ["tools/call get_pages", "tools/list"]
    assert record.effects is not None
    classes = {call.server: call.tool_class for call in record.effects.calls if call.tool == "look"}
    assert classes == {"scripted (d.yml)": "read_only", "scripted (e.yml)": "read_only_presumed"}


LATE_NEWS = """
import minimcp

asked = []

def handle(method, params, message):
    if method != "prompts/list":
        return {"messages": [{"role": "user", "content": {"type": "text", "text": "hello"}}]}
    asked.append(method)
    listed = {"prompts": [{"name": "greet", "arguments": [{"name": "old" if len(asked) == 1 else "new"}]}]}
    if len(asked) == 1:
        minimcp.send({"jsonrpc": "2.0", "method": "notifications/prompts/list_changed"})
    return listed

minimcp.serve(handle, capabilities={"prompts": {"listChanged": True}})
"""


def test_a_list_of_prompts_that_changes_while_it_is_read_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer that was under way when the server said so is not what the next test, or the next suite, is held to."""
    monkeypatch.chdir(tmp_path)
    Path("late_news.py").write_text(LATE_NEWS, encoding="utf-8")
    server = {"command": [sys.executable, "late_news.py"], "env": {"PYTHONPATH": str(SERVERS)}}
    expect = {"text": "hello"}
    first, second = (
        {"name": name, "prompt": "greet", "args": {name: "x"}, "expect": expect} for name in ("old", "new")
    )
    for name, prompts in (("one", [first, second]), ("a", [first]), ("b", [second])):
        Path(f"{name}.yml").write_text(json.dumps({"servers": {"s": server}, "prompts": prompts}), encoding="utf-8")
    for suites in (["one.yml"], ["a.yml", "b.yml"]):
        ran = invoke(run.command, *suites, "--workers", "1", "--reporter", "json")
        record = RunRecord.from_json(json.loads(ran.stdout))
        assert (record.totals.passed, record.warnings) == (2, ()), suites

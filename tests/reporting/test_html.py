"""`html`: what the page says, and that nothing in a record can be anything but text. `tests/e2e` opens it in a browser."""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import html as parser

from mcptest_engine.core.coverage import Dimension
from mcptest_engine.core.enums import Strength
from mcptest_engine.core.results import DerivedMetric, Failure, FailureKind, Part, TestKind
from mcptest_engine.core.run_record import HookResult, ServerRecord
from mcptest_engine.core.sanitise import sanitise
from mcptest_engine.reporting.html import data
from mcptest_engine.reporting.registry import render

BREAKING = "</script><script>alert(1)</script><!--<script>\u2028]]>&lt;\x00\u202e\ud800\"'` onload=x {{7*7}} ${x}"
NAMES = st.text(
    st.characters() | st.sampled_from(list("<>&\"'!-/\\\u2028\u2029\u202e\x00\ud800 scriptSCRIPT")), max_size=40
)


def page_of(record):
    return render("html", record).stdout


def tree(text):
    return parser.document_fromstring(text.encode())


def words(element):
    """An element's text as a reader sees it, without scripts and styles."""
    found = (part for part in element.iter() if part.tag not in {"script", "style"} and isinstance(part.tag, str))
    parts = [text for part in found for text in (part.text, *(child.tail for child in part)) if text]
    return " ".join(" ".join(parts).split())


def block(text, anchor):
    found = tree(text).xpath(f"//*[@id='{anchor}']")
    return words(found[0]) if found else None


def failed_hook(phase, command, **more):
    told = {"duration_ms": 4.0, "started_offset_ms": 1.0, "exit_code": 3, "message": "exited with 3", **more}
    return HookResult(phase=phase, command=command, passed=False, **told)


VALUES = frozenset(
    {"matcher", "actual", "request", "output", "trace", "args", "arguments", "input", "result", "content", "final"}
    | {"system", "raw", "reasoning", "extra"}
)


def details(text):
    """What the page's script makes of its data: each test with the values that it names by number."""
    (lines,) = tree(text).xpath("//script[@id='details']/text()")
    (values,) = tree(text).xpath("//script[@id='values']/text()") or [""]
    return [resolved(json.loads(line), values.split("\n")) for line in lines.split("\n")]


def resolved(told, values):
    if isinstance(told, list):
        return [resolved(one, values) for one in told]
    if not isinstance(told, dict):
        return told
    return {
        name: shown(values[one - 1]) if name in VALUES and isinstance(one, int) else resolved(one, values)
        for name, one in told.items()
    }


def shown(line):
    """[text], or [beginning, length] of a value that was cut."""
    found = re.fullmatch(r"(?:~(\d+)~)?(T?)(.*)", line, re.DOTALL)
    assert found is not None
    length, plain, text = found.groups()
    signs = re.sub(r"\\(?:u00(26|3c|3e)|.)", lambda one: chr(int(one[1], 16)) if one[1] else one[0], text)
    return [json.loads(text) if plain else signs, *([int(length)] if length else [])]


def test_the_policy_allows_exactly_the_style_and_the_script_of_the_page(rich_record):
    """CSP level 3: by their hashes, and nothing else but a picture in the page itself."""
    page = page_of(rich_record)
    policy = tree(page).xpath("//meta[@http-equiv='Content-Security-Policy']/@content")[0]
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    hashes = [f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in (style, script)]
    assert policy.split("; ") == [
        "default-src 'none'",
        f"style-src {hashes[0]}",
        f"script-src {hashes[1]}",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ]


def test_the_page_names_no_other_place(rich_record):
    """One file, no network: not even a link that leads away, but in texts and in the name of SVG."""
    page = tree(page_of(rich_record))
    places = page.xpath("//@href | //@src | //@srcset | //@action")
    assert all(place.startswith(("#", "data:image/svg+xml,")) for place in places)
    assert not page.xpath("//iframe | //object | //embed | //form | //base | //img")


@given(text=NAMES)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_no_text_is_ever_markup(text, build):
    """A name, a message, a value, a key, wherever it stands."""
    row = build.assertion(actual={text: [text]}, message=text, diff=text)
    test = build.test(
        text, "fail", assertions=(row,), tags=(text,), server=text, output={"result": {"content": [text]}}
    )
    page = page_of(build.record(test, warnings=(text,)))
    plain = page_of(build.record(build.test("x", "fail", assertions=(row,), tags=("x",), server="x"), warnings=("x",)))
    shape = [(one.tag, *sorted(one.keys())) for one in tree(page).xpath("//header//* | //body/script")]
    assert shape == [(one.tag, *sorted(one.keys())) for one in tree(plain).xpath("//header//* | //body/script")]
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\ud800-\udfff]", page)
    assert json.loads(details(page)[0]["output"][0]) == {"result": {"content": [sanitise(text)]}}


def test_markup_has_no_handler_and_no_style(rich_record):
    """The policy would block them; the page has none to be blocked."""
    names = {name for one in tree(page_of(rich_record)).iter() for name in one.keys()}  # noqa: SIM118 - lxml's, no mapping
    assert not {name for name in names if name.startswith("on") or name == "style"}


def test_a_hostile_run_shows_its_texts_and_nothing_happens(build):
    """A data block is ended by no text inside it."""
    trace = {"conversation": {"turns": [{"role": BREAKING}]}}
    test = build.test(BREAKING, "fail", output={"result": {BREAKING: BREAKING}}, trace=trace)
    page = page_of(build.record(test, warnings=(BREAKING,)))
    assert len(tree(page).xpath("//script")) == 4
    assert details(page)[0]["conversation"]["turns"][0]["role"] == sanitise(BREAKING)
    assert "<script>alert" in block(page, "review")


def test_every_member_that_tells_where_a_run_came_from_is_shown(build):
    """Provenance at a glance, from the run's own record."""
    record = build.record(
        build.test("a"),
        run_id="01M81X1ZKQXY1CG6DZN86TSNPG",
        mode="replayed",
        cassette="tape-7",
        profile="nightly",
        source={"repo": "https://git.example.com/a.git", "branch": "topic", "commit": "c0ffee", "dirty": True},
        environment={"os": "plan9", "arch": "mips", "python": "3.14.1", "ci": True},
        mcptest_version="9.8.7",
        requested_by={"via": "mcp-server", "client": {"name": "an-agent", "version": "2"}},
        flags=("--var", "K=V"),
        shard=(2, 5),
        interrupted=True,
        started_at="2026-05-06T07:08:09Z",
        duration_ms=61_000.0,
        servers=(
            ServerRecord(
                name="srv",
                transport="http",
                auth="oauth",
                server_info={"name": "said", "version": "4.5"},
                protocol_version="2025-11-25",
                restarts=3,
                stderr_tail="last words\n",
            ),
        ),
        warnings=("a warning",),
    )
    told = block(page_of(record), "audit")
    for word in (
        "replayed: every answer was read from a cassette",
        *("01M81X1ZKQXY1CG6DZN86TSNPG", "tape-7", "nightly", "topic", "c0ffee"),
        *("https://git.example.com/a.git", "changes that were not committed", "plan9 mips, Python 3.14.1, in CI", "9.8.7"),
        *("mcp-server, an-agent 2", "--var", "K=V", "2 of 5", "not every test was run", "2026-05-06T07:08:09Z", "1m 01s"),
        *("srv", "http", "oauth", "said 4.5", "2025-11-25", "3", "last words", "a warning", "mcptest.yml", "a" * 64),
        "exit code 0",
        "1: 1 passed, 0 failed, 0 inconclusive, 0 skipped, 0 cached",
    ):  # fmt: skip
        assert word in told, word


@pytest.mark.parametrize(
    ("cached", "mode"),
    [
        ((False, False), "live: every answer came from a server during this run"),
        ((True, True), "live run, 2 answers: 0 live, 2 cached"),
        ((False, True), "live run, 2 answers: 1 live, 1 cached"),
        ((), "live run, 0 answers: 0 live"),
    ],
)
def test_the_page_says_how_many_answers_came_from_where(build, cached, mode):
    tests = [build.test(f"t{number}", cached=one) for number, one in enumerate(cached)]
    assert mode in block(page_of(build.record(*tests, build.test("s", "skip"))), "audit")


def test_what_a_record_does_not_know_is_said_to_be_unknown(build):
    """An auditor sees that a commit is missing, not empty places."""
    source = {"repo": None, "branch": None, "commit": None, "dirty": None}
    page = page_of(build.record(build.test("a"), source=source))
    assert "Not recorded: repository, branch, commit." in block(page, "audit")
    assert "no commit recorded" in page


@pytest.mark.parametrize(
    ("more", "note"),
    [
        ({}, None),
        ({"source": {"repo": "r", "branch": "b", "commit": "c" * 40, "dirty": False}}, None),
        (
            {"source": {"repo": "r", "branch": "b", "commit": "c" * 40, "dirty": True}},
            "changes that were not committed",
        ),
        ({"mode": "replayed"}, "no server was asked"),
        ({"flags": ("--var", "city=Oslo")}, "options changed the tests: --var city=Oslo"),
        ({"interrupted": True}, "the run was interrupted"),
    ],
)
def test_where_results_come_from_is_folded_unless_something_of_it_is_remarkable(build, more, note):
    plain = {"source": {"repo": None, "branch": None, "commit": None, "dirty": None}}
    page = page_of(build.record(build.test("a"), **{**plain, **more}))
    (fold,) = tree(page).xpath("//*[@id='audit']/details")
    assert (fold.get("open") is not None) == (note is not None)
    assert note is None or (note in block(page, "audit") and note in block(page, "summary"))


def test_a_run_in_which_all_passed_has_nothing_to_review_first(build):
    """An all-pass run omits this block."""
    page = page_of(build.record(build.test("a", strength=Strength.SHAPE), build.test("b")))
    assert block(page, "review") is None
    assert "Review first" not in page.partition("<main")[0].partition("<header")[2]


def test_failing_tests_come_first_then_inconclusive_ones(build):
    """Where the run did not hold up, before anything else."""
    tests = (build.test("a", "inconclusive", message="no judge"), build.test("b"), build.test("c", "fail"))
    page = page_of(build.record(*tests))
    names = tree(page).xpath("//*[@id='review']//h3//a/text()")
    assert names == ["c", "a"]
    order = [one.get("id") for one in tree(page).xpath("//main/section")]
    assert (order[:3], order[-1]) == (["summary", "review", "tests"], "audit")


def test_what_passed_and_says_little_by_it_is_reviewed_too(build):
    """A pass on an error that nothing demands, a weak test, a skip; an error that the test demands is none of them."""
    refused = {"result": {"isError": True, "content": [{"type": "text", "text": "no <b>"}]}}
    on_error = build.assertion(target="result.isError", passed=True, matcher={"exact": True})
    wanted = build.assertion(implicit="outcome", passed=True, target="outcome", matcher={"exact": "error"})
    page = page_of(
        build.record(
            build.test("accident", output=refused),
            build.test("looked at", output=refused, assertions=(on_error,)),
            build.test("demanded", output=refused, assertions=(wanted,)),
            build.test("any answer", strength=Strength.ANSWERED),
            build.test("measured", strength=Strength.VALUE, mutation_score=0.25),
            build.test("strong", strength=Strength.VALUE, mutation_score=0.9),
            build.test("later", "skip", message="a #1 reason"),
        )
    )
    titles = [words(one) for one in tree(page).xpath("//*[@id='review']/h3")]
    assert titles == ["Passed on an error (1)", "Weak tests that passed (2)", "Skipped (1)"]
    told = block(page, "review")
    for word in ("accident status the server answered with an error, which the test does not expect: no <b>",
                 "any answer status weak: it checks that an answer comes, and nothing in the answer",
                 "measured status weak: it noticed 25 % of the wrong answers", "later status a #1 reason"):  # fmt: skip
        assert word in told
    for word in ("looked at", "demanded", "strong"):
        assert word not in told
    assert "value 90 %" in block(page, "tests")


def test_request_and_response_are_in_the_card_and_long_ones_are_cut(build):
    output = {"result": {"content": [{"type": "text", "text": "x" * 9_000}]}}
    page = page_of(build.record(build.test("a", "fail", output=output), build.test("b", "fail", request=None)))
    folds = tree(page).xpath("//*[@id='review']/article/details")
    assert [fold.get("open") for fold in folds] == [None]
    told = words(folds[0])
    assert '"name": "status"' in told
    assert "more characters; open the test" in told
    assert len(told) < 3_000


def test_a_run_without_coverage_says_so_and_one_with_it_names_what_was_never_called(build):
    """A tool that was called and that no passing test covers is not "never tested"."""
    test = build.test("a", "fail")
    assert "Never tested No coverage measured: the run knew no list of tools." in block(
        page_of(build.record(test)), "summary"
    )
    row = Dimension(name="tools", covered=0, total=3, missing=("status", "other", "more"))
    page = page_of(build.record(test, coverage=(row,)))
    told = block(page, "summary")
    assert "Never tested: 2 tools" in told
    assert tree(page).xpath("//div[h3[contains(., 'Never tested')]]//code/text()") == ["other", "more"]
    assert "Tested: 1 of 3 tools" in told
    assert "status 0 of 1 nothing passed" in told
    unknown = Dimension(name="tools", unknown="it said no", floor=5.0)
    assert "No coverage measured: it said no." in block(page_of(build.record(test, coverage=(unknown,))), "summary")


def test_a_failure_that_tells_more_than_its_assertions_is_told_whole(build):
    """A budget exceeded and a measure missed beside a failed assertion are reasons too, and stand after it."""
    row = build.assertion(passed=False, message="assertion 1 (`a`) failed: expected `1`, got `2`")
    failure = Failure(kind=FailureKind.ASSERTION, message=row.message)
    failure = failure.with_part(Part.ALSO, "took 31ms, more than `max_duration_ms` 10")
    told = block(page_of(build.record(build.test("a", "fail", assertions=(row,), failure=failure))), "review")
    assert (told.count("assertion 1"), told.count("took 31ms, more than")) == (1, 1)


def test_every_test_has_a_link_of_its_own(build):
    """The slug of its name, with a number where it is taken."""
    tests = [build.test(name, id=f"m::tool::{at}") for at, name in enumerate(("A b", "a  B", "Ж!", "%"))]
    page = tree(page_of(build.record(*tests)))
    links = page.xpath("//*[@id='tests']//tbody//a/@href")
    assert links == ["#t-a-b", "#t-a-b-2", "#t-ж", "#t-test"]
    assert [one.get("id") for one in page.xpath("//noscript//details[starts-with(@id, 't-')]")] == [
        link[1:] for link in links
    ]


def test_numbers_stand_as_they_were_sent(build):
    """A browser would make 12345678901234567890 into ...8000 and 1.0 into 1."""
    output = {"result": {"big": 12345678901234567890, "float": 1.0, "tiny": 1e-07, "none": float("nan")}}
    (one,) = details(page_of(build.record(build.test("a", output=output))))
    assert one["output"] == ['{"result":{"big":12345678901234567890,"float":1.0,"tiny":1e-07,"none":NaN}}']


def test_a_number_that_json_has_no_word_for_does_not_break_the_page(build):
    """A record may hold 1e999 as a score; the page's data is still JSON."""
    page = page_of(build.record(build.test("a", score=float("inf"), threshold=0.5)))
    assert json.loads(tree(page).xpath("//script[@id='columns']/text()")[0])["score"] == ["Infinity"]


@pytest.mark.parametrize("letter", ["x", "本", "<", "\x1b"])
def test_what_is_too_much_for_a_page_is_cut_and_says_so(build, monkeypatch, letter):
    """Ten thousand large answers would be a file that no browser opens; small values stay whole."""
    monkeypatch.setattr(data, "ROOM", 20_000)
    outputs = [{"result": f"{at}{letter * 9_000 * (at % 2)}"} for at in range(8)]
    page = page_of(build.record(*(build.test(f"t{at}", output=output) for at, output in enumerate(outputs))))
    parts = tree(page).xpath("//script[@id='details' or @id='values']/text()")
    assert 19_000 < sum(len(part.encode()) for part in parts) <= 20_000
    rows = details(page)
    assert [len(row["output"]) for row in rows] == [1, 2] * 4
    beginning, length = rows[1]["output"]
    assert (length, beginning[:14]) == (9_014, '{"result":"1' + sanitise(letter) * 2)
    assert len(rows[0]["request"]) == 1


def test_what_many_tests_share_is_in_the_page_once(build):
    """Ten thousand tests ask the same of much the same answers; each still names all of its own."""
    output = {"result": "the same answer"}
    page = page_of(build.record(*(build.test(f"t{at}", output=output) for at in range(200))))
    assert [row["output"] for row in details(page)] == [['{"result":"the same answer"}']] * 200
    assert tree(page).xpath("//script[@id='values']/text()")[0].count("the same answer") == 1


def test_an_output_in_a_file_of_its_own_is_told_by_its_path(build):
    """docs/reference/record.md: `$file` is relative to `.mcptest/`."""
    (one,) = details(page_of(build.record(build.test("a", output={"$file": "runs/X/a.json", "bytes": 7}))))
    assert one["aside"] == {"path": "runs/X/a.json", "bytes": 7}
    assert "output" not in one


def test_a_graph_and_a_conversation_are_read_out_of_a_trace(build):
    """What else a trace holds is kept; what is not as expected is left out and breaks nothing."""
    node = {"id": "n", "status": "ok", "server": "s", "tool": "t", "needs": ["m"], "args": {"a": 1}, "output": None}
    trace = {"composition": {"ran": True, "critical_path": ["n"]}, "nodes": {"n": node}, "output": 3}
    talk = {
        "conversation": {"turns": [{"role": "user", "content": "hi"}, 7], "tokens": {"total": 5}},
        "tool_calls": [{"name": "t"}, None],
        "final_response": ["x"],
        "model": "m-1",
        "cost": {"total": 0.1},
    }
    odd = {"nodes": [], "composition": 3, "conversation": "no", "tool_calls": {}}
    rows = [build.test(name, trace=one, kind=TestKind.AGENT) for name, one in (("a", trace), ("b", talk), ("c", odd))]
    graph, said, rest = details(page_of(build.record(*rows)))
    assert graph["graph"][0]["needs"] == ["m"]
    assert graph["critical_path"] == ["n"]
    assert json.loads(graph["trace"][0])["output"] == 3
    assert said["conversation"]["turns"] == [{"role": "user", "content": ["hi"]}]
    assert said["conversation"]["calls"] == [{"name": "t"}]
    assert said["conversation"]["tokens"] == {"total": 5}
    assert json.loads(said["trace"][0]) == {"cost": {"total": 0.1}}
    assert json.loads(rest["trace"][0]) == odd


def test_what_was_judged_and_each_run_are_among_the_details(build):
    """Of a judge its criteria, way, jurors and findings; a run has its own conversation; what is no judgement is left out."""
    row = {"name": "brief", "weight": 2, "score": 0.5, "passed": False, "reasoning": BREAKING, "further": {}}
    finding = {"call": 1, "tool": "t", "ok": False}
    judgement = {
        "by": "judge",
        "verdict": "fail",
        "score": 0.5,
        "reasoning": BREAKING,
        "criteria": [row, 7],
        "jury": "no",
        "extra": {"findings": [finding]},
    }
    turn = {"role": "tool", "name": "t", "content": "x", "is_error": True}
    call = {"name": "t", "error": "gone", "raw": "{"}
    talk = {"conversation": {"turns": [turn], "system_prompt": "be brief"}, "tool_calls": [call]}
    trials = ({"verdict": "pass", "duration_ms": 1.0, "trace": talk}, {"verdict": "skip", "duration_ms": 0.0})
    rows = (
        build.test("a", judgement=judgement, model="m-1"),
        build.test("b", kind=TestKind.AGENT, trace=talk, trials=trials),
        build.test("c", judgement={"by": "judge", "models": []}),
    )
    judged, runs, spent = details(page_of(build.record(*rows)))
    told = judged["judgement"]
    assert (judged["model"], told["score"], told["reasoning"]) == ("m-1", 0.5, [sanitise(BREAKING)])
    kept = {name: value for name, value in row.items() if name != "further"}
    assert told["criteria"] == [{**kept, "reasoning": sanitise(BREAKING)}]
    assert told["findings"] == [finding]
    assert "jury" not in told
    first, second = runs["trials"]
    assert "conversation" not in runs
    assert (first["conversation"]["system"], second) == (["be brief"], {"verdict": "skip", "duration_ms": 0.0})
    assert first["conversation"]["turns"] == [{**turn, "content": ["x"]}]
    assert first["conversation"]["calls"] == [{**call, "raw": ["{"]}]
    assert "judgement" not in spent


def test_hooks_coverage_and_metrics_have_their_blocks(build):
    """Each only where the run has anything to tell."""
    hook = failed_hook("afterEach", "sh <x>", test="t", output="why\n")
    rows = (
        Dimension(name="tools", covered=1, total=4, missing=("<b>",), floor=50.0, judged=True),
        Dimension(name="prompts", unknown="it was not listed"),
        Dimension(name="resources"),
    )
    test = build.test("a", id="t", derived_metrics=(DerivedMetric(name="quality", value=0.5),))
    page = page_of(build.record(test, hooks=(hook,), coverage=rows))
    assert "sh <x>" in block(page, "hooks")
    assert "exited with 3" in block(page, "review")
    coverage = block(page, "coverage")
    for word in ("1 of 4", "25 %", "50 %, not met", "not counted: it was not listed", "nothing offered", "<b>"):
        assert word in coverage
    assert "quality 0.5 1" in block(page, "metrics")
    assert details(page)[0]["hooks"][0]["message"] == "exited with 3"
    bare = page_of(build.record(build.test("a")))
    assert [block(bare, name) for name in ("hooks", "coverage", "metrics", "compositions", "spending")] == [None] * 5


def test_a_run_of_no_test_is_a_page_too(build):
    """exit 7: nothing was selected."""
    page = page_of(build.record(exit_code=7, warnings=("matched none",)))
    assert "the selection matched no test (exit code 7)" in words(tree(page).xpath("//header")[0])


@pytest.mark.parametrize("count", [61, 1001])
def test_many_tests_are_timed_in_lanes(build, count):
    """One path a verdict; ten thousand shapes would be slow."""
    tests = [build.test(f"t{at}", started_offset_ms=at // 3 * 10.0, duration_ms=9.0) for at in range(count)]
    page = tree(page_of(build.record(*tests)))
    assert len(page.xpath("//*[@class='lanes']/path")) == 1
    assert "at most 3 side by side" in words(page.xpath("//figcaption")[0])
    assert len(page.xpath("//*[@id='tests']//tbody/tr")) == (count if count <= 1000 else 0)
    assert bool(page.xpath("//noscript//p[contains(., 'needs a script')]")) == (count > 1000)


def test_a_hook_that_kept_all_tests_from_running_is_told_once(build):
    """As the other reports do: its reason is the run's."""
    failure = Failure(kind=FailureKind.HOOK, message="beforeAll failed: seed exited with 1")
    tests = [replace(build.test(f"t{at}"), verdict=build.test("x", "fail").verdict, failure=failure) for at in range(5)]
    page = tree(page_of(build.record(*tests, hooks=(failed_hook("beforeAll", "seed"),))))
    assert len(page.xpath("//*[@id='review']/article")) == 1


def test_a_wait_for_another_call_stands_under_the_name_and_counts_for_no_rank(build):
    """The script sorts by what is a test's own time."""
    waits = build.test("waits", duration_ms=919.0, behind={"ms": 906.0, "tool": "stock_report"})
    record = build.record(waits, build.test("slow", duration_ms=910.0))
    assert "919ms, 906ms of it waiting for stock_report" in page_of(record)
    assert data.columns(record, {test.id: test.id for test in record.tests})["own"] == [13.0, 910.0]

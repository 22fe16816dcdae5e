"""Tests by models: how rows become a grid, and the page that is drawn of it."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

from mcptest_engine.core.results import DerivedMetric, Failure, FailureKind, TestKind
from mcptest_engine.reporting.grid import NO_MODEL, grid_of
from mcptest_engine.reporting.registry import RenderOptions, render
from tests.reporting.conftest import make_record, make_test

ONE, TWO = "claude-one", "gpt-two"
NASTY = "</td><script>alert(1)</script>\u202e"
VOID = {"meta", "br"}


def asked(name, verdict="pass", model=ONE, **more):
    more = {"kind": TestKind.AGENT, "tool": None, "request": None, "output": None, "model": model, **more}
    return make_test(name, verdict, **more)


def page(*tests, **more):
    return render("matrix", make_record(*tests, **more), RenderOptions()).text


class Balanced(HTMLParser):
    """Every element closed in its turn, and what texts and attributes there are."""

    def __init__(self, text):
        super().__init__()
        self.open: list[str] = []
        self.elements: list[str] = []
        self.attributes: list[Any] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)
        self.attributes += [(tag, *attribute) for attribute in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def cells(text):
    """The cells of the grid: their class, and the texts in them."""
    table, *_ = re.findall(r"<tbody>.*?</tbody>", text, re.DOTALL)
    return [
        (kind, " ".join(re.sub(r"<[^>]+>", " ", body).split()))
        for kind, body in re.findall(r'<td class="(\w+)">(.*?)</td>', table, re.DOTALL)
    ]


# the grid


def test_models_are_columns_and_runs_of_a_test_one_cell():
    tests = [asked(f"a [{model}] #{run}", model=model) for model in (ONE, TWO) for run in (1, 2)]
    grid = grid_of(make_record(*tests))
    assert (grid.models, [row.name for row in grid.rows]) == ((ONE, TWO), ["a"])
    assert [cell.runs for cell in grid.rows[0].cells.values()] == [(2, 2), (2, 2)]


def test_a_run_without_several_models_has_one_column():
    grid = grid_of(make_record(asked("a"), asked("b", line=20)))
    assert (grid.models, [row.name for row in grid.rows]) == ((ONE,), ["a", "b"])


def test_what_is_judged_of_a_test_belongs_to_its_model():
    """The judge has a model too, which is not the one that was tested."""
    tests = [
        test
        for model in (ONE, TWO)
        for test in (
            asked(f"a [{model}] #1", model=model),
            asked(f"a [{model}] #1: mcp_use", model="judge", kind=TestKind.EVAL),
        )
    ]
    grid = grid_of(make_record(*tests))
    assert (grid.models, [row.name for row in grid.rows]) == ((ONE, TWO), ["a", "a: mcp_use"])


def test_what_is_judged_of_a_test_stands_in_its_column_also_without_a_model_in_the_name():
    judged = {"kind": TestKind.EVAL, "model": None}
    tests = (asked("a #1"), asked("a #1: mcp_use", **judged), asked("b"), asked("b: mcp_use #2", **judged))
    assert grid_of(make_record(*tests)).models == (ONE,)


def test_a_cell_is_the_worst_of_its_runs():
    verdicts = ("pass", "inconclusive", "fail", "skip")
    grid = grid_of(make_record(*(asked(f"a #{at}", verdict) for at, verdict in enumerate(verdicts))))
    (cell,) = grid.rows[0].cells.values()
    assert (cell.verdict.value, cell.runs) == ("fail", (1, 4))


def test_trials_count_as_runs():
    trials = ({"verdict": "pass", "duration_ms": 1}, {"verdict": "fail", "duration_ms": 1})
    (cell,) = grid_of(make_record(asked("a", "inconclusive", trials=trials))).rows[0].cells.values()
    assert cell.runs == (1, 2)


def test_tests_of_tools_are_in_no_grid():
    assert grid_of(make_record(make_test("a"))).rows == ()
    assert grid_of(make_record(asked("a", "inconclusive", model=None))).models == (NO_MODEL,)


# the page


def test_a_cell_tells_score_runs_tokens_cost_and_time():
    told = {"score": 0.75, "threshold": 0.5, "tokens": 1200, "cost_usd": 0.01}
    text = page(*(asked(f"a [{model}] #{run}", model=model, **told) for model in (ONE, TWO) for run in (1, 2)))
    words = "PASS score 0.75 2 of 2 runs passed (pass^2) 2,400 tokens, $0.02 12ms a run"
    assert cells(text) == [("pass", words), ("pass", words)]


def test_a_failure_is_folded_away_with_its_reason_and_how_to_run_it_again():
    failure = Failure(kind=FailureKind.METRIC, message="trajectory: `a` is missing")
    text = page(asked("a [gpt-two]", "fail", model=TWO, failure=failure))
    assert "<summary>trajectory: <code>a</code> is missing</summary>" in text
    assert "repro: mcptest run --filter &quot;a [gpt-two]&quot;" in text


def test_sums_and_metrics_stand_by_model():
    metric = (DerivedMetric(name="tool_selection.selected", value=0.5),)
    text = page(asked("a [claude-one]", derived_metrics=metric), asked("a [gpt-two]", "fail", model=TWO))
    assert "<h2>Models</h2>" in text
    assert "<h2>Metric rollups</h2>" in text
    mean = '<td class="n">0.5<small>mean of 1</small></td>'
    assert f"{mean}<td></td>{mean}" in text


def test_the_metrics_of_a_run_without_models_are_rolled_up_too():
    metric = (DerivedMetric(name="quality", value=0.5),)
    text = page(
        asked("a", kind=TestKind.TOOL, derived_metrics=metric), asked("b", kind=TestKind.TOOL, derived_metrics=metric)
    )
    assert '<th scope="col">Metric</th><th scope="col">All tests</th>' in text
    assert '<th scope="row">quality</th><td class="n">0.5<small>mean of 2</small></td></tr>' in text


def test_what_judging_cost_is_the_judges_and_not_the_tested_models():
    """The same sums as `md` and `pretty` have, with scorers."""

    def spent(model, tokens):
        return {"models": [{"model": model, "calls": 1, "tokens": tokens, "cost_usd": 0.001}]}

    asked_one = asked(f"a [{ONE}]", model=ONE, tokens=960, cost_usd=0.001, trace=spent(ONE, 960))
    told = {"by": "judge", **spent("judge", 480)}
    judged = asked(f"a [{ONE}]: rubric", model="judge", kind=TestKind.EVAL, tokens=480, cost_usd=0.001, judgement=told)
    paid = {"by": "exec", "cost_usd": 0.03, "reasoning": ""}
    graded = asked("e", kind=TestKind.EVAL, model=None, tokens=None, cost_usd=None, scorer="words", judgement=paid)
    text = page(asked_one, judged, graded)
    spent_part = text[text.index("<h2>Spent</h2>") :]
    assert (
        f'<th scope="row">{ONE}</th><td class="n">1</td><td class="n">960</td><td class="n">$0.001</td>' in spent_part
    )
    assert '<th scope="row">judge</th><td class="n">1</td><td class="n">480</td>' in spent_part
    assert (
        '<th scope="row">scorer words</th><td class="n">1</td><td class="n"></td><td class="n">$0.03</td>' in spent_part
    )
    assert "1,440" not in text[text.index("<h2>Models</h2>") : text.index("<h2>Spent</h2>")]


def test_a_judge_that_gave_no_verdict_is_an_error_and_no_plain_failure():
    error = {"scorer": "judge", "kind": "exit"}
    failure = Failure(kind=FailureKind.SCORER, message="the judge said nothing", scorer_error=error)
    told = {"failure": failure, "kind": TestKind.EVAL}
    assert cells(page(asked("a", "fail", **told)))[0][1].startswith("ERROR ")
    assert cells(page(asked("a", "fail")))[0][1].startswith("FAIL ")


def test_no_text_of_a_server_or_model_is_markup():
    failure = Failure(kind=FailureKind.ASSERTION, message=NASTY, hint=NASTY)
    metric = (DerivedMetric(name=NASTY, value=1.0),)
    text = page(asked(NASTY, "fail", model=NASTY, failure=failure, derived_metrics=metric))
    found = Balanced(text)
    assert "script" not in found.elements
    assert "\u202e" not in text


def test_the_page_loads_nothing_and_runs_nothing():
    found = Balanced(page(asked("a"), asked("b", "fail")))
    assert "default-src 'none'; style-src 'unsafe-inline'" in [value for _, _, value in found.attributes]
    assert {tag for tag, _, _ in found.attributes} <= {"html", "meta", "th", "td", "b", "div"}
    assert not re.search(r"https?:|url\(|@import|src=|href=|\son\w+=", page(asked("a")))
    assert {"prefers-color-scheme: dark", "@media print"} <= {
        part for part in ("prefers-color-scheme: dark", "@media print") if part in page(asked("a"))
    }


def test_a_run_without_models_says_so():
    assert "The run has no agent tests and no evals." in page(make_test("a"))


def test_markdown_holds_the_same_grid():
    tests = [asked("a | b [claude-one]", tokens=5, cost_usd=None), asked("a | b [gpt-two]", "inconclusive", model=TWO)]
    text = render("md", make_record(*tests), RenderOptions()).text
    assert "| Test | claude-one | gpt-two |\n| --- | --- | --- |\n" in text
    assert "| <code>a \\| b</code> | ✅ 5 tokens, price unknown<br>12ms | ❔  |" in text

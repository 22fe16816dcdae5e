"""`md`: read by a Markdown parser, so that no name breaks a table or a fold."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from mcptest_engine.core.sanitise import one_line
from mcptest_engine.reporting.registry import render

MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable("table").enable("strikethrough")


def markdown(record):
    return render("md", record).stdout


def table_rows(text):
    """The cells of the last table, as text without Markdown and HTML tags of ours."""
    rows: list[list[str]] = []
    cells: list[str] = []
    for token in MARKDOWN.parse(text):
        if token.type == "tr_open":
            cells = []
        elif token.type == "inline" and token.level >= 3:
            cells.append("".join(child.content for child in token.children or () if child.type != "html_inline"))
        elif token.type == "tr_close":
            rows.append(cells)
    return rows


def test_every_test_is_a_row_of_six_cells_with_its_name(rich_record):
    """A `|` or a backtick in a name ends no cell."""
    rows = table_rows(markdown(rich_record))[2:]
    assert [row[1] for row in rows[1:]] == [one_line(test.name) for test in rich_record.tests]
    assert {len(row) for row in rows} == {6}


@given(name=st.text(st.characters() | st.sampled_from(list("|`*_<>&[]()#~!\\-+.1 ")), min_size=1, max_size=30))
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_any_name_is_shown_as_it_is(name, build):
    """Nothing in a name is Markdown or HTML."""
    (_, row) = table_rows(markdown(build.record(build.test(name))))[2:]
    assert row[1].split() == one_line(name).split()
    assert len(row) == 5


def test_a_failure_cannot_close_its_fence_or_its_fold(build):
    """A fence longer than any in the text."""
    row = build.assertion(message="```\n</details>", diff="````\n</details>\n````")
    tokens = MARKDOWN.parse(markdown(build.record(build.test("a </summary>", "fail", assertions=(row,)))))
    fences = [token.content for token in tokens if token.type == "fence"]
    assert len(fences) == 2
    assert "````" in fences[0]
    html = "".join(token.content for token in tokens if token.type == "html_block")
    assert html.count("<details>") == html.count("</details>") == 2
    assert "a &lt;/summary&gt;" in html


def test_a_report_fits_into_a_comment(build):
    """GitHub: 65,536 characters; what is left out is counted."""
    tests = [build.test(f"case {number} {'x' * 80}", "fail") for number in range(3000)]
    text = markdown(build.record(*tests))
    assert len(text) < 65_536
    assert "more failures left out" in text
    assert "more left out; the run record has them all" in text


def test_nobody_is_called_by_a_servers_words(build):
    """GitHub links `@name` outside code."""
    text = markdown(build.record(build.test("@a", "inconclusive", message="ask @team"), warnings=("see @b",)))
    assert "@team" not in text
    assert "@b" not in text


def test_a_run_in_which_nothing_was_checked_has_no_green_mark(build):
    """Green means checked."""
    text = render("md", build.record(build.test("a", "inconclusive", message="deferred"))).stdout
    assert text.startswith("## ❔ ")
    assert "✅" not in text


def test_a_wait_for_another_call_stands_beside_the_time(build):
    waits = build.test("waits", duration_ms=919.0, behind={"ms": 906.0, "tool": "stock_report"})
    assert "| 919ms, 906ms of it waiting for stock\\_report |" in markdown(build.record(waits))

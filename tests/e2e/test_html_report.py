"""The auditor's report in headless Chromium: clicked, typed into, driven by keys, checked for accessibility, attacked."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.core.results import Failure, FailureKind, TestKind, TestResult, Verdict
from mcptest_engine.core.run_record import RunRecord, Totals
from mcptest_engine.reporting.registry import render
from tests.browser import Watched, accessibility_faults, chromium
from tests.reporting.audited import WEAKENED, record_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, Locator, Page

pytestmark = pytest.mark.e2e
RECORD = Path(__file__).parents[2] / "examples" / "auditor-view" / "run.json"
WIDTHS = (360, 768, 1280)
MANY = 3_000
BREAKING = "</script><script>owned=1</script><img src=x onerror=owned=1><!--<script>\u2028\x00\u202e\ud800\"'` {{7*7}}"
GRAPH = "#t-reserve-the-first-book-that-a-search-finds"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as one:
        yield one


@pytest.fixture
def watched(browser: Browser) -> Iterator[Callable[..., Watched]]:
    """`watched(width)`: a new page of that width, closed after the test."""
    contexts = []

    def make(width: int = 1280, **options: Any) -> Watched:
        contexts.append(browser.new_context(viewport={"width": width, "height": 800}, **options))
        return Watched(contexts[-1].new_page())

    yield make
    for context in contexts:
        context.close()


def made(path: Path, record: RunRecord) -> Path:
    path.write_text(render("html", record).text, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def base() -> RunRecord:
    """The run of `examples/auditor-view`."""
    return RunRecord.from_json(json.loads(RECORD.read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def report(base: RunRecord, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("report") / "run.html", base)


@pytest.fixture(scope="module")
def many(base: RunRecord, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of so many tests that not all of their rows can be on the page."""
    return made(
        tmp_path_factory.mktemp("many") / "run.html", run_of(base, *(one(base, f"case {at}") for at in range(MANY)))
    )


def one(base: RunRecord, name: str, **more: Any) -> TestResult:
    return type(base.tests[0])(**{**members(base.tests[0]), "id": f"m::tool::{name}", "name": name, **more})


def run_of(base: RunRecord, *tests: TestResult) -> RunRecord:
    return RunRecord(**{**members(base), "tests": tests, "totals": Totals.of(tests)})


def members(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__slots__}


def rows(page: Page) -> list[str]:
    return page.locator("tr.row .name").all_inner_texts()


def table(page: Page) -> Locator:
    return page.get_by_role("region", name="All tests, table")


def sheet(page: Page) -> str:
    page.wait_for_selector("dialog[open]")
    return page.locator("dialog").inner_text()


def press(page: Page, *keys: str) -> None:
    """One key directly after the other, so that nothing that the page has put off comes between them."""
    event = "new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true})"
    page.evaluate(f"keys => {{ for (const key of keys) document.activeElement.dispatchEvent({event}); }}", list(keys))


def open_tests(page: Page) -> int:
    return page.locator("dialog[open]").count()


QUESTIONS = {
    "Did the run pass, and how many tests did not?": ("fail", "26 passed, 3 failed, 0 inconclusive, 1 skipped"),
    "Which tests failed, of which tools?": (
        *("tea costs 25 euros price_of", "the Harbour has the book in stock stock_of"),
        "the shop opens on Sunday opening_hours",
    ),
    "Why did they fail?": ("expected 25, got 30", "shelf 7 was not found", "10-14 not found in closed"),
    "What was never tested?": (
        *("Tested: 8 of 12 tools", "Never tested: 4 tools"),
        "delete_account, export_orders, refund_order, send_newsletter",
    ),
    "How strong are the tests?": (
        *("18 of 29 tests check a value", "9 check that values are there, or their type"),
        "2 check only that the call succeeds, or fails",
    ),
    "Which tests passed and prove little?": (
        *("the branches can be listed list_branches weak", "a price can be asked for price_of weak"),
    ),
    "Was a test weakened to become green, and how?": (
        f"{WEAKENED} reserve_book",
        "passes because the test changed",
        'exact: 21 → type: "integer"',
    ),
    "Calls with effects on the server, and who decided that?": (
        *(
            "Calls with effects: 2 of 29 tool calls",
            "cancel_reservation 1 call, destructive, executed, decided by the suite",
        ),
        "reserve_book 1 call, mutating, executed, decided by the suite",
    ),
    "What was not decided, and why?": ("stock is counted at night", "skipped: waits for the new scanner"),
    "Where do the results come from?": ("2.1.0", "live", "no commit recorded"),
}
"""What an auditor asks of a run, and the words that answer it."""
VISIBLE = """height => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const texts = [];
    while (walker.nextNode()) {
        const range = document.createRange();
        range.selectNodeContents(walker.currentNode);
        const box = range.getBoundingClientRect();
        const clipped = walker.currentNode.parentElement.closest("noscript, script, style, .hidden");
        if (!clipped && box.width > 1 && box.bottom <= height) texts.push(walker.currentNode.data);
    }
    return texts.join(" ").replace(/\\s+/g, " ").replace(/ ([,:)])/g, "$1").replace(/([(]) /g, "$1");
}"""
"""The text that ends above a height, as it is laid out."""


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("audited")
    with ThreadPoolExecutor(1) as pool:  # a browser that is driven here has the event loop of this thread
        return made(folder / "run.html", pool.submit(record_of, folder).result())


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (390, 2 * 844)])
def test_ten_questions_of_an_auditor_are_answered_on_the_first_screens(
    watched: Callable[..., Watched], audited: Path, width: int, height: int
) -> None:
    """On the first screen of a desk, and on the first two of a phone."""
    page = watched(width).open(audited)
    told = page.evaluate(VISIBLE, height)
    open_ones = {question: [word for word in words if word not in told] for question, words in QUESTIONS.items()}
    assert {question: words for question, words in open_ones.items() if words} == {}
    page.get_by_text("Request and response").first.click()  # one click away
    shown = page.locator("#review article details").first.inner_text()
    assert "price_of" in shown
    assert '"price": 30' in shown


@pytest.mark.parametrize("width", WIDTHS)
def test_a_failing_test_is_opened_from_the_top_and_closed_again(
    watched: Callable[..., Watched], report: Path, width: int
) -> None:
    """With real clicks, at the width of a phone, a tablet and a desk; nothing scrolls the page sideways."""
    watch = watched(width)
    page = watch.open(report)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    heights = page.evaluate("[...document.querySelectorAll('tr.row')].map(row => row.getBoundingClientRect().height)")
    assert set(heights) == {68 if width == 360 else 46}  # by which the table reckons where a row is
    page.get_by_role("region", name="Review first").get_by_role("link", name="every book of a search").click()
    told = sheet(page)
    assert page.evaluate("location.hash") == "#t-every-book-of-a-search-has-its-title-and-its-shelf"
    for word in (
        "Why it failed (assertion)",
        "Request",
        "search_books",
        "Response",
        "Expected",
        "Actual",
        '+    "shelf": 7',
        "Run it again",
    ):
        assert word in told
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate("(sheet => sheet.scrollWidth <= sheet.clientWidth)(document.querySelector('.sheet'))")
    page.get_by_role("button", name="Close").click()
    assert open_tests(page) == 0
    assert "#" not in page.evaluate("location.href")
    assert watch.said == watch.asked == []


def test_the_table_is_searched_filtered_and_cleared(watched: Callable[..., Watched], report: Path) -> None:
    """As you type; several words are all wanted; a click on a verdict; a kind, a server and a tag."""
    page = watched().open(report)
    everything = rows(page)
    page.get_by_role("searchbox").press_sequentially("BOOK there")
    assert rows(page) == ["a book that is not there is an error"]
    assert page.get_by_text("1 of 10 tests").is_visible()
    page.get_by_role("searchbox").fill("no such words")
    assert page.get_by_text("No test matches.").is_visible()
    page.get_by_role("button", name="Clear filters").click()
    assert rows(page) == everything
    page.get_by_role("button", name="inconclusive 1").click()
    assert rows(page) == ["a letter says what was reserved: mcp_task_completion"]
    page.get_by_role("button", name="inconclusive 1").click()
    page.get_by_role("combobox", name="Tag").select_option("smoke")
    assert rows(page) == ["a search finds both books", "a book is told in full"]
    page.get_by_role("combobox", name="Server").select_option("archive")
    assert rows(page) == []
    page.get_by_role("combobox", name="Tag").select_option("")
    assert rows(page) == ["old maps are found in the archive"]


def test_the_table_is_sorted_by_a_column_and_back(watched: Callable[..., Watched], report: Path) -> None:
    """The slowest first, then the quickest, then as the suite declares them; said to who cannot see it too."""
    page = watched().open(report)
    declared = rows(page)
    heading = table(page).get_by_role("columnheader", name="Time")
    heading.get_by_role("button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    assert rows(page)[0] == "old maps are found in the archive"
    heading.get_by_role("button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    heading.get_by_role("button").click()
    assert heading.get_attribute("aria-sort") is None
    assert rows(page) == declared
    table(page).get_by_role("columnheader", name="Verdict").get_by_role("button").click()
    marks = page.locator("tr.row .badge").all_inner_texts()
    assert marks == sorted(marks, key=["✗ fail", "? inconclusive", "\u2013 skip", "✓ pass"].index)


def test_the_report_is_read_with_keys_alone(watched: Callable[..., Watched], report: Path) -> None:
    """From the first Tab to a test and back, without a pointer."""
    page = watched().open(report)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the report"
    page.keyboard.press("/")
    page.keyboard.type("book")
    page.keyboard.press("Enter")
    focused = "document.activeElement.textContent"
    assert page.evaluate(focused) == rows(page)[0]
    page.keyboard.press("j")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("k")
    assert page.evaluate(focused) == rows(page)[1]
    page.keyboard.press("Enter")
    assert rows(page)[1] in sheet(page)
    page.keyboard.press("j")
    assert page.locator("#sheet-title").inner_text() == rows(page)[2]
    page.keyboard.press("Escape")
    assert open_tests(page) == 0
    assert page.evaluate(focused) == rows(page)[2]
    page.get_by_text("Keys", exact=True).click()
    page.get_by_label("Use these keys").uncheck()
    page.keyboard.press("f")
    assert page.get_by_role("button", name="fail 4").get_attribute("aria-pressed") == "false"


def test_no_key_is_lost_however_fast_they_come(watched: Callable[..., Watched], report: Path) -> None:
    """In an open test, on the way out of it, and right after; what a browser tells later changes nothing any more."""
    page = watched().open(report)
    names = rows(page)
    focused = "document.activeElement.textContent"
    page.locator("tr.row a").first.evaluate("link => link.focus()")
    page.evaluate("document.activeElement.click()")
    press(page, "j", "j", "j", "k")
    assert page.locator("#sheet-title").inner_text() == names[2]
    press(page, "j", "Escape", "j")
    assert page.evaluate(focused) == names[4]
    assert "#" not in page.evaluate("location.href")
    page.evaluate("document.activeElement.click()")
    press(page, "Escape")
    page.locator("tr.row a").first.evaluate("link => link.click()")
    page.evaluate(
        "() => new Promise((done) => setTimeout(done))"
    )  # a task of its own comes after those that were put off
    assert page.locator("#sheet-title").inner_text() == names[0]
    assert open_tests(page) == 1
    page.go_back()
    page.wait_for_function("!document.querySelector('dialog[open]')")


def test_a_link_to_one_test_opens_it_and_one_to_none_opens_nothing(
    watched: Callable[..., Watched], report: Path
) -> None:
    """What is sent to a colleague."""
    watch = watched()
    assert "reserve the first book" in sheet(watch.open(report, GRAPH))
    for fragment in ("#t-no-such-test", "#t-%E0%A4%A", "#audit"):
        assert open_tests(watch.open(report, fragment)) == 0
    assert watch.said == []


def test_a_composition_is_drawn_and_its_nodes_are_told(watched: Callable[..., Watched], report: Path) -> None:
    """A node stands right of what it needs; the status is a mark and a word, not a colour alone."""
    page = watched().open(report, GRAPH)
    told = sheet(page)
    assert "the tool reported an error: no book bk-219" in told
    nodes = page.locator(".graph .node")
    assert [node.locator("text").first.text_content() for node in nodes.all()] == [
        *("✓ search", "✓ book", "✗ second", "✓ reserve", "\u2013 letter")
    ]
    left = [box["x"] for rect in nodes.locator("rect").all() if (box := rect.bounding_box())]
    assert left[0] < left[1] < left[3] < left[4]
    assert abs(left[1] - left[2]) < 1
    assert page.locator(".graph .edge").count() == 5


def test_what_a_node_spent_is_told_beside_it(watched: Callable[..., Watched], base: RunRecord, tmp_path: Path) -> None:
    """compositions: cost and tokens are attributed to the node that made the calls; a mock took no time."""
    about = {"server": "s", "tool": "t", "needs": [], "duration_ms": 12.0, "started_ms": 0.0}
    nodes = {
        "ask": {
            **about,
            "id": "ask",
            "status": "ok",
            "tokens": 550,
            "cost_usd": 0.0004,
            "model": "m-1",
            "calls_total": 3,
        },
        "play": {**about, "id": "play", "status": "ok", "mocked": True},
    }
    test = one(
        base, "spends", kind=TestKind.COMPOSITION, trace={"composition": {"order": ["ask", "play"]}, "nodes": nodes}
    )
    told = sheet(watched().open(made(tmp_path / "spent.html", run_of(base, test)), "#t-spends"))
    assert "s: t · 12ms · 3 calls · 550 tokens · $0.0004 · m-1" in told
    assert "s: t · mocked" in told


def test_values_of_ten_megabytes_are_cut_and_open(
    watched: Callable[..., Watched], base: RunRecord, tmp_path: Path
) -> None:
    """A line without an end, markup without an end: each is shown as far as it fits, on a phone too."""
    texts = ("<b>" * 3_400_000, "\u202e\n" * 1_000_000)
    tests = [one(base, f"big {at}", output={"result": {"content": [{"text": text}]}}) for at, text in enumerate(texts)]
    path = made(tmp_path / "big.html", run_of(base, *tests))
    assert path.stat().st_size < 15_000_000
    watch = watched(320)
    page = watch.open(path)
    for at in range(len(texts)):
        page.locator("tr.row a.name").nth(at).click()
        assert "Cut here: the value has" in sheet(page)
        assert page.evaluate("document.documentElement.scrollWidth") == 320
        page.keyboard.press("Escape")
    assert page.locator("b").count() == 0
    assert watch.said == watch.asked == []


def test_an_agents_conversation_and_a_scorers_reason_are_shown(
    watched: Callable[..., Watched], base: RunRecord, tmp_path: Path
) -> None:
    """Whole, and leniently: a member that is missing is left out."""
    trace = {
        "model": "model-x",
        "tool_calls": [
            {"name": "search", "server": "library", "args": {"query": "sea"}, "is_error": True, "duration_ms": 12}
        ],
        "conversation": {
            "tokens": {"total": 1234},
            "turns": [
                {"role": "user", "content": "Find a book\nabout the sea"},
                {"role": "assistant", "tool_calls": [{"name": "search", "args": {"query": "sea"}}]},
                {"role": "tool", "content": {"count": 2}},
            ],
        },
        "final_response": "There are two.",
    }
    error = {
        "scorer": "judge",
        "kind": "invalid_json",
        "message": "scorer `judge` gave no JSON",
        "stderr_tail": "no key",
    }
    failure = Failure(
        kind=FailureKind.SCORER, message=error["message"], stderr_tail=error["stderr_tail"], scorer_error=error
    )
    test = one(base, "an agent", kind=TestKind.AGENT, verdict=Verdict.FAIL, trace=trace, failure=failure)
    watch = watched()
    page = watch.open(made(tmp_path / "agent.html", run_of(base, test)), "#t-an-agent")
    told = sheet(page)
    for word in (
        "model-x",
        "1,234 total",
        "about the sea",
        "There are two.",
        "Tool calls",
        "Why it failed (scorer)",
        "gave no JSON",
    ):
        assert word in told
    assert (told.count("no key"), told.count("gave no JSON")) == (1, 1)  # the scorer's words are not told twice
    assert watch.said == []


def test_what_a_judge_said_and_every_run_is_shown(
    watched: Callable[..., Watched], base: RunRecord, tmp_path: Path
) -> None:
    """Criteria, jurors, findings; each run with its conversation, and what went wrong in its calls."""
    judgement = {
        "by": "judge",
        "verdict": "fail",
        "score": 0.5,
        "threshold": 0.7,
        "reasoning": f"too long {BREAKING}",
        "model": "judge-x",
        "criteria": [{"name": "brief", "weight": 2, "score": 0.5, "passed": False, "reasoning": "it rambles"}],
        "jury": [{"model": "judge-x", "score": 0.25, "passed": False, "reasoning": "no"}],
        "extra": {"findings": [{"call": 1, "tool": "search", "ok": False, "reasoning": "needless"}]},
        "output": BREAKING,
    }
    talk = {
        "tool_calls": [{"name": "nope", "raw": "{not json", "error": "the arguments are broken", "is_error": True}],
        "conversation": {
            "system_prompt": "Be brief.",
            "turns": [
                {"role": "assistant", "content": "", "tool_calls": [{"name": "nope", "args": {"q": "sea"}}]},
                {"role": "tool", "name": "nope", "content": "error: broken", "is_error": True},
            ],
        },
        "stop": "max_turns",
    }
    trials = tuple({"verdict": verdict, "duration_ms": 5.0, "trace": talk} for verdict in ("pass", "fail"))
    more = {"trace": talk, "trials": trials, "judgement": judgement, "tokens": 12, "cost_usd": 0.00004}
    test = one(base, "an agent", kind=TestKind.AGENT, verdict=Verdict.FAIL, **more)
    watch = watched()
    page = watch.open(made(tmp_path / "judged.html", run_of(base, test)), "#t-an-agent")
    page.locator("dialog details").evaluate_all("all => all.forEach((one) => { one.open = true; })")
    told = sheet(page)
    for word in (
        "$0.00004",
        "judge-x",
        "too long",
        "it rambles",
        "Mean of the jurors",
        "juror 1 (judge-x): 0.25",
        "call 1 search",
        "Runs (1 of 2 passed)",
        "Be brief.",
        "max_turns",
        "error: broken",
        "the arguments are broken",
        "{not json",
    ):
        assert word in told, word
    assert (watch.said, page.evaluate("() => window.owned")) == ([], None)


def test_numbers_are_shown_as_a_server_sent_them(
    watched: Callable[..., Watched], base: RunRecord, tmp_path: Path
) -> None:
    """Not as a browser would write them."""
    test = one(
        base,
        "n",
        output={
            "result": {
                "big": 12345678901234567890,
                "whole": 1.0,
                "text": 'a "quote": [1,{',
                "signs": "<b> \\u003c &amp;",
            }
        },
    )
    page = watched().open(made(tmp_path / "n.html", run_of(base, test)), "#t-n")
    told = sheet(page)
    assert '"big": 12345678901234567890,\n    "whole": 1.0,\n    "text": "a \\"quote\\": [1,{"' in told
    assert '"signs": "<b> \\\\u003c &amp;"' in told


@pytest.mark.parametrize(("width", "scheme"), [(320, "dark"), (1280, "light")])
def test_no_rule_of_accessibility_is_broken(
    watched: Callable[..., Watched], report: Path, width: int, scheme: str
) -> None:
    """Landmarks, headings, names, contrast (WCAG 2.2 AA), as axe-core sees them; closed and with a test open."""
    page = watched(width, color_scheme=scheme, bypass_csp=True, reduced_motion="reduce").open(report)
    assert accessibility_faults(page) == []
    page.evaluate("for (const fold of document.querySelectorAll('main details')) fold.open = true")
    assert accessibility_faults(page) == []
    page.evaluate(f"location.hash = '{GRAPH}'")
    sheet(page)
    assert accessibility_faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_the_colours_follow_the_system_until_they_are_chosen(watched: Callable[..., Watched], report: Path) -> None:
    """auto, light, dark, and round again."""
    page = watched(color_scheme="dark").open(report)
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(ground)
    page.get_by_role("button", name="Colours: auto").click()
    light = page.evaluate(ground)
    assert light != dark
    page.get_by_role("button", name="Colours: light").click()
    assert page.evaluate(ground) == dark
    page.reload()
    assert page.get_by_role("button", name="Colours: dark").is_visible()


def test_hostile_texts_are_only_texts(watched: Callable[..., Watched], base: RunRecord, tmp_path: Path) -> None:
    """Whatever a server says, nothing is run, made an element, or asked of a network."""
    node = {
        "id": BREAKING,
        "status": BREAKING,
        "server": BREAKING,
        "tool": BREAKING,
        "needs": [BREAKING, "x"],
        "output": BREAKING,
    }
    tests = [
        one(
            base,
            f"{BREAKING} {at}",
            verdict=Verdict.FAIL,
            tags=(BREAKING,),
            server=BREAKING,
            message=BREAKING,
            failure=Failure(kind=FailureKind.SERVER, message=BREAKING, hint=BREAKING, stderr_tail=BREAKING),
            request={"method": BREAKING, "params": {BREAKING: [BREAKING]}},
            output={"result": {"content": [{"type": "text", "text": f"{BREAKING}\n{BREAKING}"}]}},
            trace={"nodes": {"a": node}, "conversation": {"turns": [{"role": BREAKING, "content": BREAKING}]}},
        )
        for at in range(2)
    ]
    watch = watched()
    page = watch.open(made(tmp_path / "hostile.html", run_of(base, *tests)))
    page.get_by_role("searchbox").fill("owned=1")
    page.locator("tr.row a").first.click()
    assert "<img src=x onerror=owned=1>" in sheet(page)
    page.get_by_role("button", name="Next").click()
    assert page.locator("#sheet-title").inner_text().endswith(" 1")
    assert page.evaluate("typeof owned") == "undefined"
    assert page.locator("img, iframe").count() == 0
    assert page.locator("script").count() == 4
    assert watch.said == watch.asked == []


def test_the_policy_blocks_whatever_would_get_past_the_escaping(
    watched: Callable[..., Watched], report: Path, tmp_path: Path
) -> None:
    """The second line: markup put into the file by force runs nothing, styles nothing and asks for nothing."""
    forced = (
        '<script>owned=1</script><img src="http://127.0.0.1:9/x.png" onerror="owned=1"><p id="s" style="position:fixed">x</p>'
        '<button id="b" onclick="owned=1">b</button><form id="f" action="http://127.0.0.1:9/"></form><base href="http://127.0.0.1:9/">'
        '<iframe src="http://127.0.0.1:9/"></iframe><link rel="stylesheet" href="http://127.0.0.1:9/x.css">'
    )
    page_text = report.read_text(encoding="utf-8").replace("</footer>", f"</footer>{forced}")
    path = tmp_path / "forced.html"
    path.write_text(page_text, encoding="utf-8")
    watch = watched()
    page = watch.open(path)
    page.evaluate("document.getElementById('b').click()")
    assert page.evaluate("typeof owned") == "undefined"
    assert page.evaluate("getComputedStyle(document.getElementById('s')).position") == "static"
    refused = page.evaluate(
        "() => { try { document.body.innerHTML = '<b>x</b>'; return 'taken'; } catch { return 'refused'; } }"
    )
    assert refused == "refused"
    assert page.evaluate("fetch('http://127.0.0.1:9/').then(() => 'sent', () => 'blocked')") == "blocked"
    assert page.evaluate("document.baseURI").startswith("file:")
    watch.until_said("script-src", "style-src", "img-src", "base-uri", "default-src")
    assert rows(page)


def test_many_tests_are_on_the_page_only_as_far_as_they_are_seen(watched: Callable[..., Watched], many: Path) -> None:
    """Scrolled to its end, the table shows its last test; a search and a key find any."""
    watch = watched()
    page = watch.open(many)
    assert page.get_by_text(f"{MANY:,} tests", exact=True).is_visible()
    assert page.locator("tr.row").count() < 80
    scroll = page.get_by_role("region", name="All tests, table")
    scroll.evaluate("element => { element.scrollTop = element.scrollHeight; }")
    page.get_by_role("link", name=f"case {MANY - 1}", exact=True).wait_for()
    assert page.locator("tr.row").count() < 80
    page.keyboard.press("/")
    page.keyboard.type("case 2718")
    assert rows(page) == ["case 2718"]
    page.locator("tr.row .badge").click()
    assert "case 2718" in sheet(page)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Clear filters").click()
    table(page).get_by_role("columnheader", name="Test").get_by_role("button").click()
    for _ in range(40):
        page.keyboard.press("j")
    assert page.evaluate("document.activeElement.textContent") == f"case {sorted(map(str, range(MANY)))[39]}"
    assert watch.said == []


def test_on_paper_every_row_is_there_and_no_control(watched: Callable[..., Watched], many: Path) -> None:
    """What cannot be scrolled has to be printed; up to 2,000 rows, and how many are left out."""
    page = watched().open(many)
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("tr.row").count() == 2000
    assert page.get_by_text(f"{MANY - 2000:,} more are not printed").is_visible()
    page.get_by_role("searchbox").wait_for(state="hidden")
    page.get_by_role("button", name=re.compile("Colours")).wait_for(state="hidden")
    assert page.evaluate("getComputedStyle(document.getElementById('scroll')).maxHeight") == "none"
    page.emulate_media(media="screen")
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator("tr.row").count() < 80


def test_without_a_script_everything_can_be_read(watched: Callable[..., Watched], report: Path) -> None:
    """The table is complete, a link leads to the test in full, and folds open."""
    page = watched(360, java_script_enabled=False).open(report)
    assert page.locator(".tests tbody tr").count() == 10
    assert "searching, filtering and sorting need one" in page.locator("noscript p").first.inner_text()
    page.locator(".tests").get_by_role("link", name="a search finds both books").click()
    fold = page.locator("#t-a-search-finds-both-books")
    fold.locator("summary").first.click()
    assert '"query":"sea"' in fold.inner_text()
    assert "2 books found for sea" in fold.inner_text()

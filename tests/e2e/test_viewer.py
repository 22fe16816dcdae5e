"""The viewer in headless Chromium: clicked through, kept up to date, checked for accessibility, attacked."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal

import pytest

from tests.browser import Watched, accessibility_faults, chromium
from tests.front_door.session import weaken
from tests.viewer.kept import FOUND, filled, put, run_id, viewing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, Page

    from tests.viewer.kept import Viewed

pytestmark = pytest.mark.e2e
SUITE = "/suites?suite=examples%2Fauditor-view%2Fmcptest.yml"


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


@pytest.fixture(scope="module")
def viewed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewed]:
    with viewing(filled(tmp_path_factory.mktemp("viewed"))) as one:
        yield one


def shown(page: Page, viewed: Viewed, path: str = "/") -> Page:
    page.goto(viewed.url.rstrip("/") + path)
    return page


def is_as_wide_as(page: Page, width: int) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth") == width)


@pytest.mark.parametrize("width", [360, 1280])
def test_from_the_list_to_a_test_and_to_a_comparison(
    watched: Callable[..., Watched], viewed: Viewed, width: int
) -> None:
    """A filter, a report with a test opened in it, two runs picked and compared; nothing scrolls sideways."""
    watch = watched(width)
    page = shown(watch.page, viewed)
    assert is_as_wide_as(page, width)
    page.get_by_role("combobox", name="Suite").select_option(label="library (examples/auditor-view/mcptest.yml)")
    with page.expect_navigation():
        page.get_by_role("button", name="Show").click()
    page.locator("table.runs .name").nth(2).click()
    page.get_by_role("link", name=FOUND).first.click()
    page.wait_for_selector("dialog[open]")
    assert "it broke" in page.locator("dialog").inner_text()
    page.keyboard.press("Escape")
    assert is_as_wide_as(page, width)
    with page.expect_navigation():
        page.get_by_role("link", name="All runs").click()
    button = page.locator("#compare")
    page.wait_for_function("document.getElementById('compare').disabled")  # by the script, which comes after the button
    for at in (3, 1, 0):
        page.get_by_role("checkbox").nth(at).check()
    assert page.get_by_role("checkbox").nth(3).is_checked() is False  # of three, the last two
    button.click()
    page.wait_for_url("**/compare?run=*&run=*")
    assert page.get_by_role("heading", name="Compare two runs").is_visible()
    with page.expect_navigation():
        page.get_by_role("link", name="Swap the runs").click()
    assert is_as_wide_as(page, width)
    assert watch.said == []
    assert all(url.startswith((viewed.url, "data:")) for url in watch.asked)


def test_a_snapshot_is_downloaded_and_opens_by_itself(watched: Callable[..., Watched], viewed: Viewed) -> None:
    """What is sent to a colleague has no way back to this machine."""
    page = shown(watched().page, viewed, f"/runs/{run_id(3)}")
    with page.expect_download() as download:
        page.get_by_role("link", name="Snapshot to share").click()
    watch = watched()
    file = download.value.path()
    named = file.rename(file.with_suffix(".html"))
    watch.open(named)
    assert watch.page.get_by_role("heading", name="Audit this run").is_visible()
    assert "127.0.0.1" not in named.read_text(encoding="utf-8")
    assert watch.said == watch.asked == []


def test_a_run_that_lands_is_shown_without_a_word(
    watched: Callable[..., Watched], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Nobody loads the page anew, what was picked stays picked, and the focus stays where it was."""
    root = filled(tmp_path_factory.mktemp("live"))
    with viewing(root) as viewed:
        watch = watched()
        page = shown(watch.page, viewed)
        page.locator("#live", has_text="live").wait_for()
        page.evaluate("window.same = 1")
        page.get_by_role("checkbox").nth(2).check()
        picked = page.get_by_role("checkbox").nth(2).get_attribute("value")
        put(root, 9, suite="<b>just in</b>", path="new.yml")
        page.get_by_role("link", name="<b>just in</b>").first.wait_for()
        assert page.get_by_role("status").inner_text() == "1 new run"
        assert page.evaluate("window.same") == 1
        assert page.locator("input:checked").get_attribute("value") == picked
        assert page.evaluate("document.activeElement.value") == picked
        assert watch.said == []
    page.get_by_text("the viewer does not answer").wait_for()


def test_a_hostile_suite_is_only_text_and_another_page_gets_nothing(
    watched: Callable[..., Watched], viewed: Viewed, browser: Browser
) -> None:
    """And a page elsewhere can neither read a run, nor frame it, nor load it as a script."""
    watch = watched()
    for path in ("/", f"/runs/{run_id(5)}", "/compare", "/suites?suite=evil.yml"):
        page = shown(watch.page, viewed, path)
        assert page.get_by_text("<img src=x onerror=owned=1>").count()
        assert page.evaluate("typeof owned") == "undefined"
        assert page.locator("img, iframe").count() == 0
    assert watch.said == []
    other = watched().page
    other.route("http://elsewhere.example/**", lambda route: route.fulfill(body="<h1>x</h1>", content_type="text/html"))
    other.goto("http://elsewhere.example/")
    asked = "async url => { try { return (await fetch(url, {mode: 'no-cors'})).type } catch { return 'refused' } }"
    assert other.evaluate(asked, viewed.url) == "refused"


@pytest.mark.parametrize(("width", "scheme"), [(320, "dark"), (1280, "light")])
def test_no_rule_of_accessibility_is_broken(
    watched: Callable[..., Watched], viewed: Viewed, width: int, scheme: str
) -> None:
    """Every kind of page, as axe-core sees it, with tables of plots and more suites opened."""
    page = watched(width, color_scheme=scheme, bypass_csp=True, reduced_motion="reduce").page
    shown(page, viewed, SUITE)
    test = page.get_by_role("link", name=re.compile("^a search finds both")).first.get_attribute("href")
    assert test is not None
    for path in ("/", SUITE, test, f"/compare?a={run_id(1)}&b={run_id(2)}", "/compare", f"/runs/{run_id(4)}", "/nope"):
        shown(page, viewed, path)
        page.evaluate("for (const one of document.querySelectorAll('main figure details')) one.open = true")
        assert accessibility_faults(page) == [], path
        assert is_as_wide_as(page, width), path


def test_it_is_used_with_keys_alone_and_without_a_script(watched: Callable[..., Watched], viewed: Viewed) -> None:
    """From the first Tab to a run; without a script the form picks runs as well."""
    page = shown(watched().page, viewed)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('table.runs .name')"):
            break
    page.keyboard.press("Enter")
    page.wait_for_url("**/runs/*")
    plain = shown(watched(360, java_script_enabled=False).page, viewed)
    for at in (0, 1):
        plain.get_by_role("checkbox").nth(at).check()
    plain.locator("#compare").click()
    plain.get_by_role("link", name="Swap the runs").wait_for()


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewed]:
    root = tmp_path_factory.mktemp("audited") / "work"
    root.mkdir()
    weaken(root)
    with viewing(root) as one:
        yield one


@pytest.mark.parametrize(
    ("width", "height", "scheme"), [(1280, 900, "light"), (1280, 900, "dark"), (390, 844, "light")]
)
def test_the_first_screen_of_a_session_names_the_tests_that_were_weakened(
    browser: Browser, audited: Viewed, width: int, height: int, scheme: Literal["light", "dark"]
) -> None:
    """An auditor sees at once what became green because the test changed; what the server corrected is not there."""
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    watch = Watched(context.new_page())
    page = shown(watch.page, audited, "/sessions")
    assert accessibility_faults(page) == []
    page.get_by_role("link", name="claude-code 2.1.0").click()
    page.wait_for_url("**/sessions/*")
    changed = page.locator("#changed")
    for name in ("add of 3 and 2", "mul of 3 and 2"):
        box = changed.get_by_text(name).bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= height, name
    assert changed.get_by_text("sub of 3 and 2").count() == 0
    assert page.locator("#others").get_by_text("sub of 3 and 2").count() == 1
    assert is_as_wide_as(page, width)
    assert accessibility_faults(page) == []
    changed.get_by_role("link").first.click()
    page.wait_for_url("**/runs/*")
    assert watch.said == []
    context.close()

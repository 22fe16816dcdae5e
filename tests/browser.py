"""A real browser for pages that mcptest makes: Chromium from the system's packages, driven through its DevTools protocol.

The binary is never downloaded by a test: `.ci/run` installs it, and without it a test is skipped (and fails under CI).
"""

from __future__ import annotations

import contextlib
import subprocess
from typing import TYPE_CHECKING

from tests.programs import NODE_MODULES, needs_one_of, unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Dialog, Page

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE_MS = 60_000


def chromium_path() -> str:
    """Where a Chromium is installed that runs: Ubuntu has a `chromium-browser` that only says which snap to install."""
    hint = "on Debian: apt-get install chromium-headless-shell"
    return needs_one_of(*NAMES, hint=hint, runs=answers)


def answers(program: str) -> bool:
    """Whether a browser starts and prints its version."""
    told = subprocess.run([program, "--version"], capture_output=True, check=False, timeout=PATIENCE_MS / 1000)
    return told.returncode == 0


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """A headless Chromium."""
    program = chromium_path()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, timeout=PATIENCE_MS)
        yield browser
        browser.close()


class Watched:
    """A page, and what a report must not do: `said` lists console messages and errors, `asked` network requests."""

    def __init__(self, page: Page) -> None:
        page.set_default_timeout(PATIENCE_MS)
        self.page = page
        self.said: list[str] = []
        self.asked: list[str] = []
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("dialog", self._dismiss)
        page.on("request", lambda request: self.asked.append(request.url))

    def _dismiss(self, dialog: Dialog) -> None:
        self.said.append(dialog.message)
        dialog.dismiss()

    def open(self, file: Path, fragment: str = "") -> Page:
        """Show a file, and forget earlier requests."""
        self.page.goto("about:blank")
        self.asked.clear()
        self.page.goto(file.as_uri() + fragment)
        self.asked = [url for url in self.asked if not url.startswith(("file:", "data:"))]
        return self.page

    def until_said(self, *words: str) -> None:
        """Wait until each of these texts is on the console, where messages arrive with a delay."""
        while any(word not in "\n".join(self.said) for word in words):
            self.page.wait_for_event("console")


def axe_script() -> str:
    """The accessibility checker that `make npm` installs."""
    path = NODE_MODULES / "axe-core" / "axe.min.js"
    if not path.exists():
        unavailable("axe-core is not installed; run `make npm`")
    return path.read_text(encoding="utf-8")


def accessibility_faults(page: Page) -> list[str]:
    """What axe-core finds wrong by the rules of WCAG 2.2 A and AA and by its best practices, one line each."""
    page.evaluate(axe_script())
    found = page.evaluate("async () => (await axe.run(document, {resultTypes: ['violations']})).violations")
    return [
        f"{fault['id']}: {fault['help']}: {node['html'][:200]} {node.get('failureSummary', '')}"
        for fault in found
        for node in fault["nodes"][:3]
    ]

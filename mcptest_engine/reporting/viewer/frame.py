"""The frame of the viewer's own pages, the bar above a report, and the addresses of everything.

The pages look like the report because they have its style; the script and the policy are their own.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from string import Template
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlencode

from mcptest_engine.core.text import counted
from mcptest_engine.reporting.html import page as report
from mcptest_engine.reporting.html.markup import Html, badge, joined, name_text, tag

if TYPE_CHECKING:
    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.reporting.viewer.run_index import RunRow, SideFile


class Page(NamedTuple):
    """A page ready to be sent: its text, and the policy that goes with it."""

    text: str
    policy: str
    status: int = 200


class Assets(NamedTuple):
    """The viewer's style without the report's, its script, and the frame."""

    style: str
    script: str
    frame: str


@lru_cache(maxsize=1)
def assets() -> Assets:
    """The files of `assets/` by name."""
    folder = resources.files("mcptest_engine.reporting.viewer").joinpath("assets")
    style, script, frame = (
        folder.joinpath(name).read_text(encoding="utf-8") for name in ("view.css", "view.js", "view.html")
    )
    return Assets(style, f'"use strict";\n(() => {{\n{script}\n}})();', frame)


def framed(title: str, *parts: str | None, here: str = "", live: bool = False, status: int = 200) -> Page:
    """A page of the viewer. A `live` one is brought up to date when a run begins or ends."""
    style, script = _own()
    text = Template(assets().frame).substitute(
        title=joined([name_text(title), " · mcptest"]),
        style=style,
        script=script,
        live="yes" if live else "no",
        nav=_nav(here),
        main=joined(parts, "\n"),
    )
    return Page(text, _served(report.policy(style, script, forms="'self'")), status)


def warm() -> None:
    """Read what every page is made with."""
    _own()
    assets()


def failed(title: str, told: str, status: int) -> Page:
    """A page that says what went wrong."""
    return framed(title, tag("h1", title), tag("section", tag("p", told)), status=status)


def report_page(record: RunRecord, bar: Html) -> Page:
    """The auditor's report under the viewer's bar."""
    from mcptest_engine.reporting.registry import RenderOptions

    own = assets()
    text, policy = report.page(record, RenderOptions(), report.Around(bar, own.style, own.script))
    return Page(text, _served(policy))


def run_bar(
    record: RunRecord, key: str, before: RunRow | None, after: RunRow | None, files: tuple[SideFile, ...]
) -> Html:
    """What stands above a report: the way back, its neighbours among the runs of suite `key`, and what can be taken along."""
    run_id, session = record.run_id, (record.requested_by or {}).get("session")
    links = (
        ("All runs", "/"),
        ("Trends of this suite", address("/suites", suite=key)),
        ("Session", None if session is None else session_address(session)),
        ("← Run before", None if before is None else run_address(before.run_id)),
        ("Run after →", None if after is None else run_address(after.run_id)),
        ("Compare with the run before", None if before is None else compare_address(before.run_id, run_id)),
        ("Snapshot to share", f"{run_address(run_id)}/snapshot"),
        ("Record", f"{run_address(run_id)}/record"),
    )
    anchors = [tag("a", name, href=link) for name, link in links if link is not None]
    copy = tag("button", "Copy link", type="button", data_copy=run_address(run_id), hidden=True)
    return joined(
        [
            tag("nav", *anchors, copy, aria_label="Run viewer", class_="parts viewer"),
            _side_files(run_id, files) if files else None,
        ]
    )


def _side_files(run_id: str, files: tuple[SideFile, ...]) -> Html:
    items = [
        tag("li", tag("a", name_text(file.name), href=f"{run_address(run_id)}/files/{quoted(file.name)}"),
            f" ({file.size:,} bytes)")
        for file in files
    ]  # fmt: skip
    title = tag("summary", f"{counted(len(files), 'large output')} of this run, saved as text files")
    return tag("details", title, tag("ul", *items), class_="aside")


def address(path: str, **query: str) -> str:
    """A path of the viewer with what is asked of it; what is empty is left out."""
    asked = urlencode({key: value for key, value in query.items() if value}, errors="replace")
    return f"{path}?{asked}" if asked else path


def run_address(run_id: str, slug: str = "") -> str:
    """The page of a run, or of one test on it."""
    return f"/runs/{quoted(run_id)}" + (f"#t-{quoted(slug)}" if slug else "")


def session_address(session: str) -> str:
    """The page of an agent's session."""
    return f"/sessions/{quoted(session)}"


def compare_address(before: str, after: str) -> str:
    """The page that compares two runs."""
    return address("/compare", a=before, b=after)


def quoted(text: str) -> str:
    """A text as a part of a path."""
    from urllib.parse import quote

    return quote(text, safe="", errors="replace")


def when(row: RunRow) -> Html:
    """When a run began, in UTC."""
    return tag("time", moment(row.started_at) or "unknown", datetime=name_text(row.started_at))


def moment(text: str) -> str:
    """`2026-01-02 03:04:05` of RFC 3339 in UTC."""
    return name_text(text[:19].replace("T", " "))


def row_badge(row: RunRow) -> Html:
    """The badge with the verdict of a run."""
    return badge("damaged" if row.damaged else row.status)


def totals_text(row: RunRow) -> str:
    """`8 passed, 1 failed`: what there is none of is left out, but what passed."""
    total = row.totals
    rare = ((total.failed, "failed"), (total.inconclusive, "inconclusive"), (total.skipped, "skipped"))
    return f"{total.passed:,} passed" + "".join(f", {count:,} {word}" for count, word in rare if count)


def percent(share: float) -> str:
    """A share, rounded down: 99.96 % passed is not all passed."""
    return f"{int(share * 1000 + 1e-9) / 10:g} %"


@lru_cache(maxsize=1)
def _own() -> tuple[str, str]:
    style, _, _ = report.assets()
    return f"{style}\n{assets().style}", assets().script


def _served(policy: str) -> str:
    """The policy as a header, which can say more than one in the page."""
    return f"{policy}; connect-src 'self'; frame-ancestors 'none'"


def _nav(here: str) -> Html:
    links = (("Runs", "/"), ("Sessions", "/sessions"), ("Compare", "/compare"))
    return tag(
        "nav",
        *(tag("a", name, href=link, aria_current="page" if link == here else None) for name, link in links),
        aria_label="Run viewer",
        class_="parts",
    )

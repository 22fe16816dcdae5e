"""`html`: the auditor's report, one file that loads nothing and in which nothing but our own script runs.

The policy in its head allows one style and one script, by their hashes, and nothing else: no request, no handler, no style
attribute, no frame, no form. Data stands in elements that are not scripts. See docs/how-to/audit-an-agent.md.
Source: Content Security Policy Level 3, sections 2.3.1 (hash-source) and 3.3 (meta).
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from functools import lru_cache
from importlib import resources
from string import Template
from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.reporting import overview
from mcptest_engine.reporting.html import audit, data, ledger, review, summary, sums, table, timing
from mcptest_engine.reporting.html.markup import joined, name_text, tag
from mcptest_engine.reporting.html.values import data_line
from mcptest_engine.workspace.slug import Slugs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.reporting.html.markup import Html
    from mcptest_engine.reporting.registry import RenderOptions

SCRIPTS = ("elements.js", "values.js", "graph.js", "judged.js", "details.js", "table.js", "page.js")


class Around(NamedTuple):
    """What the viewer puts around the report: a bar above it, more style, and more script."""

    bar: Html
    style: str
    script: str


def render(record: RunRecord, options: RenderOptions) -> str:
    """The whole page, as a file of its own."""
    return page(record, options)[0]


def page(record: RunRecord, options: RenderOptions, around: Around | None = None) -> tuple[str, str]:
    """The whole page, and its policy."""
    slugs = slugs_of(record)
    details = data.all_details(record, options, slugs)
    style, script, template = assets()
    if around is not None:
        style, script = f"{style}\n{around.style}", f"{script}\n{around.script}"
    blocks = {
        "review": review.block(record, slugs, options),
        "tests": table.block(record, slugs),
        "ledger": ledger.block(record),
        **{f"sums{at}": part for at, part in enumerate(sums.blocks(record))},
        "timing": timing.block(record, slugs),
        "audit": audit.block(record),
    }
    allowed = policy(style, script)
    text = Template(template).substitute(
        policy=allowed,
        bar="" if around is None else around.bar,
        title=joined(
            [f"{record.verdict.value}: {name_text(record.suite.name)}, {overview.run_moment(record)} · mcptest"]
        ),
        style=style,
        script=script,
        headline=audit.headline(record),
        nav=_nav(blocks),
        summary=summary.block(record, slugs),
        blocks=joined([part for part in blocks.values() if part is not None], "\n"),
        in_full=table.in_full(record, slugs, details) or "",
        foot=sums.foot(record),
        columns=data_line(data.columns(record, slugs)),
        details=details.lines,
        values=details.values.lines(),
    )
    return text, allowed


def slugs_of(record: RunRecord) -> Mapping[str, str]:
    """The slug of each test by its id: the page's fragment `#t-SLUG`."""
    slugs = Slugs()
    return {test.id: slugs.take(test.name) for test in record.tests}


def policy(style: str, script: str, *, forms: str = "'none'") -> str:
    """The content security policy for exactly this style and this script."""
    return (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; img-src data:; base-uri 'none'; "
        f"form-action {forms}; require-trusted-types-for 'script'; trusted-types 'none'"
    )


@lru_cache(maxsize=1)
def assets() -> tuple[str, str, str]:
    """The style, the script and the frame of the page."""
    folder = resources.files("mcptest_engine.reporting.html").joinpath("assets")
    script = "\n".join(folder.joinpath(name).read_text(encoding="utf-8") for name in SCRIPTS)
    style = folder.joinpath("page.css").read_text(encoding="utf-8")
    return (
        style,
        f'"use strict";\n(() => {{\n{script}\n}})();',
        folder.joinpath("page.html").read_text(encoding="utf-8"),
    )


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _nav(blocks: Mapping[str, Html | None]) -> Html:
    names = {"review": "Review first", "ledger": "Ledger", "tests": "All tests", "timing": "Timing", "audit": "Audit"}
    titles = ("Compositions", "Hooks", "Coverage", "Effects", "Repeats", "Metrics", "Spending")
    names |= {f"sums{at}": word for at, word in enumerate(titles)}
    links = [tag("a", "At a glance", href="#summary")]
    for key, part in blocks.items():
        if part is not None:
            anchor = names[key].lower() if key.startswith("sums") else key
            links.append(tag("a", names[key], href=f"#{anchor}"))
    return tag("nav", *links, aria_label="Parts of this report", class_="parts")

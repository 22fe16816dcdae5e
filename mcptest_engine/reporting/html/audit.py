"""The top of the page: what the run came to, and "Audit this run", where it comes from.

Every member of the run record that says where a run came from is shown, those that are unknown too.
See docs/how-to/audit-an-agent.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.core.text import counted
from mcptest_engine.reporting import facts, overview
from mcptest_engine.reporting.html.markup import (
    Html,
    badge,
    block_of,
    facts_list,
    joined,
    name_text,
    plain_table,
    section,
    tag,
    worded,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcptest_engine.core.json_types import JsonMapping
    from mcptest_engine.core.run_record import RunRecord, ServerRecord


def headline(record: RunRecord) -> Html:
    """The suite's name, the verdict, the sums, and why the run failed where no test says it."""
    reason = facts.run_reason(record)
    return joined(
        [
            tag("h1", name_text(record.suite.name)),
            tag(
                "p",
                badge(record.verdict),
                tag("span", facts.counts_text(record), class_="counts"),
                tag("span", f"in {facts.duration_text(record.duration_ms)}", class_="muted"),
                class_="verdict",
            ),
            _shares(record),
            tag("p", tag("strong", overview.run_moment(record)), f" · {overview.origin_text(record)}", class_="run"),
            None if reason is None else tag("p", tag("strong", "Failed: "), worded(reason), class_="reason"),
        ]
    )


def block(record: RunRecord) -> Html:
    """Where the results come from: folded, unless something about it is remarkable; then each server and the run's warnings."""
    notes, warnings = overview.remarkable(record), facts.warning_texts(record)
    rows = list(_audit_rows(record))
    unknown = [term.lower() for term, value in rows if value is None]
    known = [(term, value) for term, value in rows if value is not None]
    missing = tag("p", f"Not recorded: {', '.join(unknown)}.", class_="note") if unknown else None
    fold = tag(
        "details",
        tag("summary", "Everything that the run recorded about this"),
        facts_list(known),
        missing,
        tag("h3", "Servers") if record.servers else None,
        _servers(record) if record.servers else None,
        *(_stderr(server) for server in record.servers if server.stderr_tail.strip()),
        class_="fold",
        open=bool(notes),
    )
    return section(
        "audit",
        "Audit this run",
        tag("ul", *(tag("li", note) for note in notes), class_="warnings") if notes else None,
        tag("h3", "Warnings") if warnings else None,
        tag("ul", *(tag("li", worded(line)) for line in warnings), class_="warnings") if warnings else None,
        fold,
        note="Where these results come from, as the run recorded it.",
    )


def _shares(record: RunRecord) -> Html | None:
    """The totals as one line in four colours; the counts beside it say the same in words."""
    total = record.totals
    counts = (
        ("pass", total.passed),
        ("fail", total.failed),
        ("inconclusive", total.inconclusive),
        ("skip", total.skipped),
    )
    if not total.total:
        return None
    shapes, at = [], 0.0
    for kind, count in counts:
        if count:
            wide = 1000 * count / total.total
            shapes.append(tag("rect", x=f"{at:.2f}", y="0", width=f"{wide:.2f}", height="10", class_=kind))
            at += wide
    return tag("svg", *shapes, viewBox="0 0 1000 10", preserveAspectRatio="none", class_="shares", aria_hidden="true")


def _audit_rows(record: RunRecord) -> Iterator[tuple[str, str | None]]:
    source, environment = record.source, record.environment
    yield "Run", _code(record.run_id)
    yield "Verdict", joined([badge(record.verdict), f" exit code {record.exit_code}"])
    yield "Mode", name_text(overview.mode_text(record))
    if record.cassette is not None:
        yield "Cassette", _code(record.cassette)
    if record.profile is not None:
        yield "Profile", _named(record.profile)
    if record.requested_by is not None:
        yield "Requested by", _requester(record.requested_by)
    yield "Suite", joined([_code(record.suite.path), " sha256 ", _code(record.suite.sha256)])
    yield "Repository", _named(source.get("repo"))
    yield "Branch", _named(source.get("branch"))
    yield "Commit", _commit(source)
    yield "Environment", _environment(environment)
    yield "mcptest", name_text(record.mcptest_version)
    yield "Started", tag("time", name_text(record.started_at), datetime=name_text(record.started_at))
    yield "Took", facts.duration_text(record.duration_ms)
    yield "Tests", _totals(record)
    yield "Interrupted", "yes: not every test was run" if record.interrupted else "no"
    if record.shard is not None:
        yield "Shard", f"{record.shard[0]} of {record.shard[1]}: the other tests are in other reports"
    yield "Flags", joined([_code(flag) for flag in record.flags], " ") if record.flags else "none that change a test"


def _totals(record: RunRecord) -> str:
    total = record.totals
    parts = (
        (total.passed, "passed"),
        (total.failed, "failed"),
        (total.inconclusive, "inconclusive"),
        (total.skipped, "skipped"),
        (total.cached, "cached"),
    )
    return f"{total.total:,}: " + ", ".join(f"{count:,} {word}" for count, word in parts)


def _requester(asked: JsonMapping) -> str:
    client = asked.get("client") or {}
    name = " ".join(str(client[key]) for key in ("name", "version") if client.get(key))
    return name_text(f"{asked.get('via', 'unknown')}, {name or 'by a client that did not name itself'}")


def _commit(source: Mapping[str, object]) -> Html | None:
    if source.get("commit") is None:
        return None
    dirty = source.get("dirty")
    about = None if dirty is None else ", with changes that were not committed" if dirty else ", nothing uncommitted"
    return joined([_code(str(source["commit"])), about])


def _environment(environment: Mapping[str, object]) -> str:
    words = [" ".join(str(environment[key]) for key in ("os", "arch") if environment.get(key))]
    if environment.get("python"):
        words.append(f"Python {environment['python']}")
    if environment.get("ci") is not None:
        words.append("in CI" if environment["ci"] else "not in CI")
    return name_text(", ".join(words))


def _servers(record: RunRecord) -> Html:
    heads = ("Server", "Transport", "Auth", "Says it is", "Protocol", "Restarts")
    return plain_table("Servers of this run", heads, [_server_row(one) for one in record.servers], numbers=1)


def _server_row(server: ServerRecord) -> tuple[str, ...]:
    info = server.server_info or {}
    said = " ".join(str(info[key]) for key in ("name", "version") if info.get(key))
    return (
        name_text(server.name),
        name_text(server.transport),
        name_text(server.auth),
        name_text(said) or "nothing",
        name_text(server.protocol_version or "none agreed"),
        str(server.restarts),
    )


def _stderr(server: ServerRecord) -> Html:
    lines = facts.text_lines(server.stderr_tail)
    title = tag("summary", f"stderr of {name_text(server.name)} ({counted(len(lines), 'line')})")
    return tag("details", title, block_of("\n".join(lines)))


def _named(value: object) -> Html | None:
    return None if value is None else _code(str(value))


def _code(text: str) -> Html:
    return tag("code", name_text(text))

"""The report of a mutation run: as JSON data, and from that as text, Markdown and HTML."""

from __future__ import annotations

import re
from shlex import quote
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.authoring.block_text import spell_unsafe
from mcptest_engine.core.clipping import show
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.text import counted
from mcptest_engine.mutation.killing import assertion_text
from mcptest_engine.mutation.operators import BY_NAME, MISSING, show_path
from mcptest_engine.mutation.replay import Score, Status, score_together
from mcptest_engine.reporting.layout import Ink, clip, pad

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from mcptest_engine.core.json_types import JsonDict, JsonMapping
    from mcptest_engine.mutation.recording import Recorded
    from mcptest_engine.mutation.replay import Mutant, Mutated

    Redact = Callable[[Any], Any]

SCHEMA_VERSION = "mcptest.mutation/v1"
LONGEST_VALUE = 500
_BEFORE_DIFFERENCE = 24
_CHANGE_WIDTH = 120
_NAME_WIDTH = 300
_SHOWN_TESTS, _SHOWN_SURVIVORS = 10, 10
_MARKDOWN_GROUPS, _PAGE_GROUPS = 60, 1_000
_CHANGES_OF_A_GROUP = 10
_SECRET = "not shown: the value before it holds a secret"
_COUNTED = ("equivalent", "undecided", "made", "volatile")
_OF_A_SUITE = ("suite", "score", "interval", "killed", "survived", *_COUNTED, "partial", "seconds")
_SURVIVORS_NOTE = "The test passes on these wrong answers too. The assertion would notice them."


def to_json(mutated: Mutated, *, suite: str, redact: Redact) -> JsonDict:
    """The report as JSON data. `suite` is the path of the suite; scores are from 0 to 1."""
    mutants = mutated.mutants
    return {
        "schema_version": SCHEMA_VERSION,
        "suite": suite,
        **_score_json(mutated.score),
        **_counts(mutants),
        "made": mutated.made,
        "volatile": mutated.volatile,
        "partial": mutated.is_partial,
        "seed": mutated.seed,
        "seconds": round(mutated.seconds, 3),
        "tests": [
            {
                "name": redact(test.test.case.name),
                "tool": redact(test.test.tool),
                "file": test.test.case.file,
                "line": test.test.case.line,
                **_score_json(test.score),
                **_counts(test.mutants),
                "made": test.made,
                "strength": test.strength.value,
            }
            for test in mutated.tests
        ],
        "tools": [{"name": redact(name), **_score_json(score)} for name, score in mutated.tools.items()],
        "operators": [
            {"name": name, **_score_json(score_together([one for one in mutants if one.change.operator == name]))}
            for name in BY_NAME
            if any(one.change.operator == name for one in mutants)
        ],
        "left_out": [{"test": redact(name), "reason": redact(reason)} for name, reason in mutated.left_out],
        "mutants": [
            _mutant_json(mutant, test.test.case.name, redact) for test in mutated.tests for mutant in test.mutants
        ],
    }


def join_reports(reports: Sequence[JsonMapping], *, broken: Sequence[str] = ()) -> JsonDict:
    """Join the reports of several suites into one, whose figures count the mutants of all.

    Each test, tool, mutant and left-out test has its suite as `suite`. `broken` are the paths of suites that did not load.
    """

    def rows(key: str) -> list[JsonDict]:
        return [{"suite": report["suite"], **row} for report in reports for row in report[key]]

    def score_json(scores: Sequence[JsonMapping]) -> JsonDict:
        return _score_json(Score(sum(one["killed"] for one in scores), sum(one["survived"] for one in scores)))

    operators = rows("operators")
    names = [name for name in BY_NAME if any(one["name"] == name for one in operators)]
    return {
        "schema_version": SCHEMA_VERSION,
        "suite": f"{len(reports) + len(broken)} suites",
        **score_json(reports),
        **{key: sum(report[key] for report in reports) for key in _COUNTED},
        "partial": any(report["partial"] for report in reports),
        "seed": reports[0]["seed"],
        "seconds": round(sum(report["seconds"] for report in reports), 3),
        "suites": [{key: report[key] for key in _OF_A_SUITE} for report in reports],
        "broken": list(broken),
        "tests": rows("tests"),
        "tools": rows("tools"),
        "operators": [
            {"name": name, **score_json([one for one in operators if one["name"] == name])} for name in names
        ],
        "left_out": rows("left_out"),
        "mutants": rows("mutants"),
    }


def _score_json(score: Score) -> dict[str, object]:
    share, interval = score.share, score.interval
    return {
        "score": None if share is None else round(share, 4),
        "interval": [round(interval.low, 4), round(interval.high, 4)],
        "killed": score.killed,
        "survived": score.survived,
    }


def _counts(mutants: Sequence[Mutant]) -> dict[str, int]:
    return {
        status.value: sum(one.status is status for one in mutants) for status in (Status.EQUIVALENT, Status.UNDECIDED)
    }


def _mutant_json(mutant: Mutant, test: str, redact: Redact) -> dict[str, object]:
    change, recorded = mutant.change, mutant.recorded
    name = next((part for part in reversed(change.path) if isinstance(part, str)), "")
    before, after = (_redacted(name, value, redact) for value in (change.before, change.after))
    if change.before is not MISSING and before is not change.before:
        after = _SECRET  # a change within a secret leaves a part of it, which `redact` does not know
    row: JsonDict = {
        "test": redact(test),
        "tool": redact(recorded.tool),
        "operator": change.operator,
        "path": redact(show_path(change.path)),
        "status": mutant.status.value,
        "change": _change_text(before, after),
    }
    for key, value in (("before", before), ("after", after)):
        if value is not MISSING:
            row[key] = _clipped(value)
    if (where := _where(recorded)) is not None:
        row["answer_of"] = where
    if change.copies:
        row["also"] = [f"result.content[{copy.block}].text" for copy in change.copies]
    if mutant.noticed_by is not None:
        row["noticed_by"] = redact(mutant.noticed_by)
    if change.ignored is not None:
        row["ignored"] = change.ignored
    row["assertion"] = None if mutant.assertion is None else assertion_text(mutant.assertion)
    return row


def _where(recorded: Recorded) -> str | None:
    """Which answer was changed: a step of `verify` or a call of a composition; None for the test's own answer."""
    if recorded.step is not None:
        return f"verify step {recorded.step + 1}"
    return None if recorded.call is None else f"call {recorded.call + 1}"


def _redacted(name: str, value: object, redact: Redact) -> Any:
    if value is MISSING:
        return value
    redacted = redact({name: value})
    return redacted.get(name, next(iter(redacted.values()), None))


def _clipped(value: object) -> object:
    text = show(value, LONGEST_VALUE)
    return value if len(text) < LONGEST_VALUE else text


def _change_text(before: object, after: object) -> str:
    """A change as text, such as `42 → 43`; of long texts from shortly before the first difference."""
    if isinstance(before, str) and isinstance(after, str) and max(len(before), len(after)) > _CHANGE_WIDTH // 2:
        at = next((at for at, (one, other) in enumerate(zip(before, after, strict=False)) if one != other), None)
        start = max(min(len(before), len(after)) if at is None else at, _BEFORE_DIFFERENCE) - _BEFORE_DIFFERENCE
        if start:
            before, after = f"…{before[start:]}", f"…{after[start:]}"
    shown = ["absent" if value is MISSING else show(value, _CHANGE_WIDTH // 2) for value in (before, after)]
    return " → ".join(shown)


def percent(share: float | None) -> str:
    """A share from 0 to 1 as text, "none" for None; only 1 is shown as 100 %, and only 0 as 0 %."""
    if share is None:
        return "none"
    rounded = round(100 * share)
    return f"{min(rounded, 99) if share < 1 else max(rounded, 1) if share > 0 else 0} %"


class Group(NamedTuple):
    """Survivors of one test that no other test notices, and the assertion that would notice them; None where there is none.

    `test` is the name of the test, with its suite if the report has several.
    """

    test: str
    assertion: str | None
    mutants: list[JsonMapping]


def survivor_groups(report: JsonMapping) -> list[Group]:
    """Group the survivors by test and missing assertion; one group of each test in turn, the weakest test first."""
    found: dict[str, dict[str | None, list[JsonMapping]]] = {
        _with_suite(test, test["name"]): {} for test in weakest(report)
    }
    for mutant in report["mutants"]:
        if mutant["status"] == Status.SURVIVED and "noticed_by" not in mutant:
            found[_with_suite(mutant, mutant["test"])].setdefault(mutant["assertion"], []).append(mutant)
    by_test = [
        [Group(test, *one) for one in sorted(groups.items(), key=lambda one: (one[0] is None, -len(one[1])))]
        for test, groups in found.items()
    ]
    turns = max(map(len, by_test), default=0)
    return [groups[turn] for turn in range(turns) for groups in by_test if turn < len(groups)]


def _with_suite(row: Mapping[str, object], name: str) -> str:
    return f"{name} ({row['suite']})" if "suite" in row else name


def weakest(report: JsonMapping) -> list[JsonMapping]:
    """The tests that have a score, the lowest first; of equal scores the one with the lower upper bound first."""
    scored = (test for test in report["tests"] if test["score"] is not None)
    return sorted(scored, key=lambda test: (test["score"], test["interval"][1], test["name"]))


def remarks(report: JsonMapping) -> Iterator[str]:
    """Yield notes on the figures: what they do not count, and what was left out, with reasons."""
    if report["partial"]:
        yield "interrupted: these figures are partial"
    judged = len(report["mutants"])
    if report["made"] > judged and not report["partial"]:
        yield f"{judged:,} of {report['made']:,} mutants were judged, drawn with seed {report['seed']}"
    unscored = [("volatile", "volatile value"), ("undecided", "undecided mutant"), ("equivalent", "equivalent mutant")]
    if any(report[key] for key, _ in unscored):
        counts = ", ".join(counted(report[key], word) for key, word in unscored if report[key])
        yield f"not in the score: {counts}"
    for path in report.get("broken", ()):
        yield f"{path}: it has problems, and was not measured"
    reasons: dict[str, list[str]] = {}
    for one in report["left_out"]:
        reasons.setdefault(one["reason"], []).append(_with_suite(one, one["test"]))
    for reason, names in reasons.items():
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        yield f"left out: `{one_line(names[0], 60)}`{more}: {one_line(reason, 200)}"


def render_text(
    report: JsonMapping, *, color: bool, width: int, height: int | None, proposals: Mapping[str, int]
) -> str:
    """Render the report for a terminal of this size in characters; width 0 and height None mean no limit is known.

    `proposals` is how many proposals wait for `mcptest review`, by the path of the suite.
    """
    ink = Ink(on=color)
    notes = list(remarks(report))
    tests, groups = weakest(report), survivor_groups(report)
    shown_tests = tests[: _SHOWN_TESTS if height is None else max((height - 12) // 4, 2)]
    about = f"{len(report['mutants']):,} mutants of {counted(len(report['tests']), 'test')}"
    lines = [f"{ink.bold(one_line(report['suite'], 200))}: {about}", f"  {_headline(report, ink)}"]
    suites = report.get("suites", ())
    if suites:
        lines += ["", *_table_lines("suites", [(one["suite"], one, "") for one in suites], 0, ink, width)]
    if shown_tests:
        title = "weakest tests" if len(shown_tests) < len(tests) else "tests"
        named = [(_with_suite(test, test["name"]), test, test["strength"]) for test in shown_tests]
        lines += ["", *_table_lines(title, named, len(tests) - len(named), ink, width)]
        tools = sorted((one for one in report["tools"] if one["score"] is not None), key=lambda one: one["score"])
        scores = ", ".join(f"{one_line(_with_suite(one, one['name']), 60)} {percent(one['score'])}" for one in tools)
        lines += [clip(f"  tools: {scores}", (width or 400) - 1)] if len(tools) > 1 else []
    end = ["", *(ink.dim(clip(f"  {note}", (width or 400) - 1)) for note in notes)] if notes else []
    if proposals:
        files = " ".join(map(quote, proposals))
        end += ["", f"  add assertions: mcptest review {files}   ({counted(sum(proposals.values()), 'proposal')})"]
    if groups:
        lines += ["", "  survivors: wrong answers that pass, and the assertion that notices them"]
        room = None if height is None else height - len(lines) - len(end) - 2
        shown = 0
        for group in groups:
            made = list(_group_lines(group, ink, width))
            rows = sum(1 + (len(line) - 1) // width if width else 1 for line in made)
            if shown and (shown == _SHOWN_SURVIVORS if room is None else rows > room):
                break
            room = None if room is None else room - rows
            shown, lines = shown + 1, lines + made
        left = sum(len(group.mutants) for group in groups[shown:])
        if left:
            lines.append(ink.dim(f"  … {counted(left, 'more survivor')}; --format json has all of them"))
    return "".join(f"{line}\n" for line in (*lines, *end))


def _headline(report: JsonMapping, ink: Ink) -> str:
    if report["score"] is None:
        return ink.strong_yellow("no score: no mutant could be judged")
    low, high = report["interval"]
    paint = (
        ink.strong_green if report["score"] >= 0.8 else ink.strong_yellow if report["score"] >= 0.5 else ink.strong_red
    )
    score = f"score {percent(report['score'])}"
    return (
        f"{paint(score)} (95 % interval {100 * low:.0f} to {100 * high:.0f} %): "
        f"{report['killed']:,} killed, {report['survived']:,} survived"
    )


def _table_lines(
    title: str, rows: Sequence[tuple[str, JsonMapping, str]], more: int, ink: Ink, width: int
) -> Iterator[str]:
    """Yield a heading and, for each of `rows` (name, figures, strength or ""), a line; `more` counts the rows left out."""
    name_width = max(min((width or 100) - 44, max(len(one_line(name)) for name, *_ in rows)), 13)
    yield ink.dim(f"  {pad(title, name_width)}  score   interval      killed{'  strength' if rows[0][2] else ''}")
    for label, row, strength in rows:
        low, high = row["interval"]
        of = row["killed"] + row["survived"]
        name = pad(clip(one_line(label), name_width), name_width)
        figures = f"{percent(row['score']):>5}  {100 * low:3.0f}-{100 * high:3.0f} %  {row['killed']:>4} of {of:<3}"
        yield f"  {name}  {figures}  {strength}".rstrip()
    if more:
        yield ink.dim(f"  … {more:,} more")


def _group_lines(group: Group, ink: Ink, width: int) -> Iterator[str]:
    first, *others = group.mutants
    room = (width or 200) - 1
    where = f" ({first['answer_of']})" if "answer_of" in first else ""
    more = f", and {len(others)} more" if others else ""
    yield clip(f"  • {one_line(group.test, 60)}{where}: {first['operator']}{more}", room)
    yield clip(f"      {one_line(first['path'], 200)}: {one_line(first['change'], 200)}", room)
    if group.assertion is None:
        yield ink.dim("      only an assertion on a secret or changing value could notice it")
    else:
        yield f"      {ink.green(one_assertion(group.assertion))}"


def one_assertion(text: str) -> str:
    """The YAML of an assertion on one line, to paste under `expect:`."""
    from mcptest_engine.suite.yaml import read_tree
    from mcptest_engine.suite.yaml_text import in_flow

    (row,) = read_tree(text, file="").value
    return f"- {spell_unsafe(in_flow(row))}"


def render_markdown(report: JsonMapping) -> str:
    """Render the report as Markdown, for a comment on a pull request or the summary of a CI job."""
    low, high = report["interval"]
    score = f"**{percent(report['score'])}** (95 % interval {100 * low:.0f} to {100 * high:.0f} %)"
    notes = list(remarks(report))
    lines = [
        f"## Mutation score: {score if report['score'] is not None else 'no mutant could be judged'}",
        "",
        f"{_md(report['suite'])}: {report['killed']:,} of {report['killed'] + report['survived']:,} wrong answers noticed.",
        "",
        *(f"- {_md(note)}" for note in notes),
        *([""] if notes else []),
        *([*_md_table("suite", suites, strength=False), ""] if (suites := _suite_rows(report)) else []),
        *_md_table("test", weakest(report), strength=True),
        "",
        *_md_table("tool", report["tools"], strength=False),
    ]
    groups = survivor_groups(report)
    if groups:
        lines += ["", "### Survivors", "", f"{_SURVIVORS_NOTE}", ""]
        for group in groups[:_MARKDOWN_GROUPS]:
            lines += [f"- {_md(group.test)}", *(f"  - {_md(line)}" for line in _change_lines(group))]
            if group.assertion is not None:
                lines += ["", *(f"  {line}" for line in _fenced(group.assertion)), ""]
        if len(groups) > _MARKDOWN_GROUPS:
            lines.append(f"- … {sum(len(group.mutants) for group in groups[_MARKDOWN_GROUPS:]):,} more survivors")
    return "".join(f"{line}\n" for line in lines)


def _suite_rows(report: JsonMapping) -> list[JsonDict]:
    """The rows of a report of several suites, each with its path as `name`; none for a report of one suite."""
    return [
        {"name": one["suite"], **{key: one[key] for key in one if key != "suite"}} for one in report.get("suites", ())
    ]


def _md_table(what: str, rows: Iterable[JsonMapping], *, strength: bool) -> Iterator[str]:
    yield f"| {what} | score | interval | killed |{' strength |' if strength else ''}"
    yield f"|---|---:|---:|---:|{'---|' if strength else ''}"
    for row in rows:
        of = row["killed"] + row["survived"]
        name = _md(_with_suite(row, row["name"]))
        figures = f"| {name} | {percent(row['score'])} | {_interval(row)} | {row['killed']} of {of} |"
        yield f"{figures} {row['strength']} |" if strength else figures


def _interval(row: JsonMapping) -> str:
    low, high = row["interval"]
    return f"{100 * low:.0f} to {100 * high:.0f} %"


def _md(text: str) -> str:
    """Escape a text for Markdown, on one line."""
    import html

    return re.sub(r"([\\`*_\[\]#|~])", r"\\\1", html.escape(one_line(text, _NAME_WIDTH), quote=False))


def _fenced(text: str) -> list[str]:
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(longest + 1, 3)
    return [f"{fence}yaml", *text.rstrip("\n").split("\n"), fence]


def render_html(report: JsonMapping) -> str:
    """Render the report as one HTML page that loads no resources and runs no scripts."""
    from mcptest_engine.reporting.html.markup import Html, joined, name_text, plain_table, section, tag, worded
    from mcptest_engine.reporting.html.page import assets, policy

    style = assets()[0]
    low, high = report["interval"]
    score = "no mutant could be judged" if report["score"] is None else percent(report["score"])
    heading = tag("h1", f"Mutation score of {name_text(report['suite'])}: {score}")
    about = tag(
        "p",
        f"95 % interval {100 * low:.0f} to {100 * high:.0f} %. {report['killed']:,} wrong answers were noticed, "
        f"{report['survived']:,} were not.",
    )
    groups = survivor_groups(report)
    figures = ("score", "interval", "killed", "survived")
    suites = [(one["suite"], *_figures(one)) for one in report.get("suites", ())]
    tests = (
        (_with_suite(test, test["name"]), test["tool"], test["strength"], *_figures(test)) for test in weakest(report)
    )
    tools = ((_with_suite(tool, tool["name"]), *_figures(tool)) for tool in report["tools"])
    main = joined(
        [
            section("suites", "Suites", plain_table("Suites", ("suite", *figures), suites, numbers=4))
            if suites
            else "",
            section(
                "tests",
                "Tests, the weakest first",
                plain_table("Tests", ("test", "tool", "strength", *figures), tests, numbers=4),
            ),
            section("tools", "Tools", plain_table("Tools", ("tool", *figures), tools, numbers=4)),
            section(
                "survivors",
                f"Survivors ({report['survived']:,})",
                *map(_card, groups[:_PAGE_GROUPS]),
                note=_SURVIVORS_NOTE,
            ),
        ],
        "\n",
    )
    notes = tag("ul", *(tag("li", worded(note)) for note in remarks(report)))
    head = Html(
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy(style, "")}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
    )
    title = tag("title", f"mutation score of {name_text(report['suite'])} · mcptest")
    body = joined([tag("header", heading, about, notes), tag("main", main, id="main")], "\n")
    return f"{head}{title}\n<style>{style}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"


def _figures(row: JsonMapping) -> tuple[str, ...]:
    return percent(row["score"]), _interval(row), str(row["killed"]), str(row["survived"])


def _card(group: Group) -> str:
    from mcptest_engine.reporting.html.markup import name_text, tag

    assertion = group.assertion
    return tag(
        "div",
        tag("h3", name_text(group.test)),
        tag("ul", *(tag("li", line) for line in _change_lines(group))),
        None if assertion is None else tag("pre", tag("code", assertion.rstrip("\n"))),
        class_="doubt inconclusive",
    )


def _change_lines(group: Group) -> Iterator[str]:
    for mutant in group.mutants[:_CHANGES_OF_A_GROUP]:
        yield f"{mutant['path']}: {mutant['change']} ({mutant['operator']})"
    if len(group.mutants) > _CHANGES_OF_A_GROUP:
        yield f"… {len(group.mutants) - _CHANGES_OF_A_GROUP:,} more"


def page_rows(operators: Iterable[str] = BY_NAME) -> Iterator[str]:
    """Yield the lines of the Markdown table of operators, for docs/how-to/mutation.md."""
    yield "| operator | what is wrong with the answer | for example |"
    yield "|---|---|---|"
    for name in operators:
        operator = BY_NAME[name]
        yield f"| `{name}` | {operator.about} | {operator.example} |"

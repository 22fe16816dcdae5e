"""The pages of the detail."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest_tui.state.result_rows import (
    failures_by_cause,
    group_lines,
    history_lines,
    log_lines,
    new_lines,
    problem_lines,
    reason_of,
    result_lines,
    spark,
    summary_lines,
)
from mcptest_tui.state.run_view import ServerView, repro_command
from mcptest_tui.words import took_text
from tests.tui.state.making import (
    PATH,
    case_started,
    document,
    ended,
    finished,
    id_of,
    item,
    problem,
    ran,
    started,
    store_of,
)

if TYPE_CHECKING:
    from mcptest_engine.engine_process.workbench_events import ServerState, WorkbenchEvent

EVIL = "[bold red]x[/] \x1b]2;owned\x07\x1b[2J \u202e end\r\n\x9b31m\ttab"


def text(lines):
    return "\n".join(" " * line.at + "".join(piece for piece, _ in line.pieces) for line in lines)


def result_of(**more):
    store = store_of(item("a"))
    store.apply_many([started("u1", id_of("a")), finished("u1", id_of("a"), **more)])
    return store.rows[id_of("a")]


def shown(row, server=None):
    return text(result_lines(row, row.result, server, "mcptest run"))


@pytest.mark.parametrize(
    ("kind", "who"), [("tool", "the server refused"), ("agent", "the model's provider, or a server,")]
)
def test_who_refused_the_credentials_is_told_by_what_was_asked(kind, who):
    failure = {"kind": "auth", "message": "401"}
    assert who in shown(result_of(verdict="fail", kind=kind, failure=failure))


def test_a_failure_that_was_run_again_alone_says_so():
    failure = {"kind": "timeout", "message": "late", "cause": {"kind": "fails_alone", "reruns": 1}, "hint": "wait"}
    assert "late\nrun again alone: fails too\nhint: wait" in shown(result_of(verdict="fail", failure=failure))


def test_what_a_person_has_to_look_at_first_names_the_keys():
    """And a skipped test, which would be skipped again, no command to run it again."""
    told = shown(result_of(verdict="skip", message="it changes something", definition={"skip": "it changes something"}))
    assert "e  opens it in the editor: remove its `skip:` to run it" in told
    assert "run it again" not in told
    refused = {"implicit": "outcome", "passed": None, "matcher": {"exact": "success"}, "target": "outcome"}
    told = shown(
        result_of(verdict="inconclusive", message="the generated arguments were refused", assertions=[refused])
    )
    assert "v  gives it other arguments in Review" in told
    assert "run it again" in told


def test_an_inconclusive_test_says_why_in_one_line_and_on_its_page():
    row = result_of(verdict="inconclusive", message="nothing was checked: every node was skipped")
    assert reason_of(row) == "! inconclusive: nothing was checked: every node was skipped"
    assert "every node was skipped\nneither passed nor failed" in shown(row)
    row = result_of(verdict="inconclusive", message="deferred: no model provider", deferred="no model provider")
    assert reason_of(row) == "! deferred: no model provider"


def test_the_reason_of_a_failed_assertion_is_what_it_found():
    message = "assertion 1, line 10 (`result.content[0].text`) failed: expected `no`, got `hi`"
    failed = {"index": 0, "passed": False, "message": message, "target": "output.text", "matcher": {"exact": 1}}
    failed |= {"reason": "expected `no`, got `hi`", "actual": "hi"}
    row = result_of(verdict="fail", failure={"kind": "assertion", "message": message}, assertions=[failed])
    assert reason_of(row) == "✗ failed: expected `no`, got `hi`"
    message = "assertion 2 (`output.text`) failed: does not exist: `output` is null"
    failure = {"kind": "assertion", "message": message}
    failed |= {"message": message, "reason": "does not exist: `output` is null"}
    del failed["actual"]
    row = result_of(verdict="fail", failure=failure, assertions=[failed])
    assert reason_of(row) == "✗ failed: `output.text` does not exist: `output` is null"
    cause = {"of": "cause", "message": "node `both` failed: no `city`"}
    both = {"kind": "assertion", "message": f"{cause['message']}; {message}", "parts": [cause]}
    row = result_of(verdict="fail", failure=both, assertions=[failed])
    assert reason_of(row) == "✗ failed: node `both` failed: no `city`"


def test_a_first_run_that_is_on_is_not_called_not_run_yet():
    store = store_of(item("a"))
    store.apply_many([started("u1", id_of("a")), case_started("u1", id_of("a"))])
    told = text(new_lines(store.rows[id_of("a")], "s.yml:1", [("x", "stops the run")], "mcptest run"))
    assert told.startswith("● running\n")
    assert text(new_lines(store_of(item("b")).rows[id_of("b")], "s.yml:1", [], "mcptest run")).startswith(
        "○ not run yet"
    )


def test_what_failed_in_a_composition_stands_above_the_assertions_and_gives_the_line():
    told = "assertion 1 (`nodes.b.status`) failed: expected `ok`, got `err`"
    parts = [{"of": "cause", "message": "node `b` failed: boom"}, {"of": "own", "message": told}]
    row = result_of(
        verdict="fail",
        kind="composition",
        failure={"kind": "assertion", "message": f"node `b` failed: boom; {told}", "line": 7, "parts": parts},
        assertions=[{"index": 0, "target": "nodes.b.status", "matcher": {}, "passed": False, "message": told}],
    )
    assert shown(row).index("node `b` failed: boom\n") < shown(row).index("nodes.b.status")
    assert row.line_at_fault == 7


def test_each_assertion_says_what_was_expected_and_what_came():
    row = result_of(
        verdict="fail",
        failure={"kind": "assertion", "message": "…"},
        assertions=[
            {"index": 0, "target": "result.isError", "matcher": {"exact": False}, "passed": True, "actual": False},
            {
                "index": 1, "target": "result.text", "matcher": {"contains": "rain"}, "passed": False, "actual": "sun",
                "reason": "substring `rain` not found in `sun`",
            },
        ],
    )  # fmt: skip
    assert shown(row).split("\n")[1:7] == [
        "",
        "✗ result.text  contains",
        '    expected  "rain"',
        '    actual    "sun"',
        "    substring `rain` not found in `sun`",
        "✓ result.isError  exact false",
    ]


def test_every_difference_is_a_row_with_its_path_before_both_values():
    """The place in bold, what was expected and what came in their own colours; the whole values are short after it."""
    expected = {"notes": [{"size": 1}, {"meta": {"size": 1.75}}, {"id": "gone"}], "of": "x" * 200}
    actual = {"notes": [{"size": 1}, {"meta": {"size": 1.5, "odd key": None}}], "of": "y" * 200}
    outcome = {"implicit": "outcome", "target": "outcome", "matcher": {"exact": "success"}, "actual": "success"}
    row = result_of(
        verdict="fail",
        failure={"kind": "assertion", "message": "…"},
        assertions=[
            {
                "index": 0, "target": "result.structuredContent", "matcher": {"exact": expected}, "passed": False,
                "actual": actual, "pointer": "/notes/1/meta/size",
                "reason": "differs at `notes[1].meta.size`",
            },
            {**outcome, "passed": True},
        ],
    )  # fmt: skip
    lines = result_lines(row, row.result, None, "mcptest run")
    assert text(lines).split("\n")[2:9] == [
        "✗ result.structuredContent  exact   expected → actual",
        "    notes[1].meta.size        1.75 → 1.5",
        '    notes[1].meta["odd key"]  nothing → null',
        '    notes[2]                  {"id":"gone"} → nothing',
        f'    of                        "{"x" * 58}… → "{"y" * 58}…',
        '    expected  {"notes":[{"size":1},{"meta":{"size":1.75}},{"id":"gone"}],…',
        '    actual    {"notes":[{"size":1},{"meta":{"size":1.5,"odd key":null}}],…',
    ]
    assert [ink for _, ink in lines[3].pieces] == ["bold", "expected", "dim", "actual"]


def test_a_subset_differs_only_in_what_it_asks_for():
    row = result_of(
        verdict="fail",
        assertions=[
            {
                "target": "result", "matcher": {"subset": {"a": 1, "list": [1]}}, "passed": False,
                "actual": {"a": 2, "b": 3, "list": [1, 2]}, "message": "no",
            }
        ],
    )  # fmt: skip
    assert [told for told in shown(row).split("\n") if " → " in told] == [
        "✗ result  subset   expected → actual",
        "    a  1 → 2",
    ]


@pytest.mark.parametrize(
    ("target", "expected", "actual", "words"),
    [
        ("outcome", "success", "error", "✗ outcome  the call failed"),
        ("outcome", "error", "success", "✗ outcome  the call succeeded, but the test expects it to fail"),
        ("validity", "valid", "invalid", "✗ validity  the result is not valid MCP"),
    ],
)
def test_what_is_expected_of_every_call_is_one_line(target, expected, actual, words):
    row = {"implicit": target, "target": target, "passed": False, "pointer": "/content/0/text", "actual": actual}
    row |= {"matcher": {"exact": expected}}
    page = shown(result_of(verdict="fail", failure={"kind": "invalid", "message": "told"}, assertions=[row]))
    assert f"\n{words}\n" in page
    assert "expected  " not in page
    assert "/content" not in page


def test_a_target_that_leads_nowhere_says_so():
    row = result_of(
        verdict="fail",
        assertions=[{"target": "result.x", "matcher": {"exact": 1}, "passed": False, "message": "no `x`"}],
    )
    assert "nothing: the target does not exist" in shown(row)


def test_a_server_that_fails_is_told_with_its_last_words():
    failure = {
        "kind": "server",
        "message": "the server exited with 1",
        "hint": "see its log",
        "stderr_tail": "a\nb\nc\nd",
    }
    told = shown(result_of(verdict="fail", failure=failure))
    assert "the server failed  (server)" in told
    assert "hint: see its log" in told
    assert told.index("│ b") < told.index("│ d")
    assert "│ a" not in told


def test_attempts_and_steps_are_listed():
    told = shown(
        result_of(
            flaky=True,
            attempts=[
                {"verdict": "fail", "duration_ms": 4.0, "message": "no"},
                {"verdict": "pass", "duration_ms": 3.0},
            ],
            verify=[
                {
                    "index": 0,
                    "server": "demo",
                    "name": "balance",
                    "verdict": "skip",
                    "duration_ms": 0.0,
                    "message": "why",
                }
            ],
        )
    )
    assert "2 attempts   flaky" in told
    assert "✗ 1  4 ms  no" in told
    assert "~ #0 balance" in told


def test_a_run_says_what_broke_what_is_mended_and_what_is_slow():
    store = store_of(item("a"), item("b"))
    ran(store, "u1", a="pass", b="fail")
    a, b = id_of("a"), id_of("b")
    events: list[WorkbenchEvent] = [
        started("u2", a, b), finished("u2", a, "fail"), finished("u2", b, "pass", 50.0), ended("u2"),
    ]  # fmt: skip
    store.apply_many(events)
    summary = store.run_view.summary
    assert summary is not None
    assert summary.title == "1 failed, 1 passed in 1.2 s"
    told = text(summary_lines(summary))
    assert (
        told.index("failing since this run") < told.index("passing again") < told.index("slowest") < told.index("50 ms")
    )


def test_what_waited_for_another_call_is_no_slow_test_and_its_tool_no_slow_tool():
    store = store_of(item("a"), item("b"), item("c"))
    a, b, c = map(id_of, "abc")
    waits = finished("u1", b, duration_ms=919.0, behind={"ms": 906.0, "tool": f"a{EVIL}"})
    store.apply_many(
        [started("u1", a, b, c), finished("u1", a, duration_ms=910.0), waits, finished("u1", c, duration_ms=20.0)]
    )
    told = text(group_lines(list(store.rows.values()), ())).splitlines()
    slow = told.index("slowest")
    assert told[slow + 1 : slow + 3] == ["  910 ms  a", "   20 ms  c"]
    assert told[slow + 3] == "   13 ms  b"
    assert [row.split() for row in told[slow + 5 :]] == [
        ["tool", "tests", "median", "p95", "worst"],
        ["a", "1", *["910", "ms"] * 3],
        ["c", "1", *["20", "ms"] * 3],
        ["b", "1", *["13", "ms"] * 3],
    ]
    assert "\x1b" not in "".join(told)
    result = store.rows[b].result
    assert result is not None
    headline = text(result_lines(store.rows[b], result, None, "")).partition("\n")[0]
    assert headline.startswith("✓ passed   919 ms, 906 ms of it waiting for a")
    assert headline.endswith(", 13 ms its own")  # the time in the list
    assert took_text(7.0, {"ms": 6.5, "tool": "a"}) == "<1 ms", "that of the list, though a short wait is not told"
    past = {"run_id": "1", "started_at": "2026-11-01T10:00:00Z", **result}
    assert "919 ms  906 ms of it waiting for a" in text(history_lines([past]))
    later = store_of(item("b"))
    later.remember({b: ["pass", 919.0, "d", result["behind"]]})
    assert later.rows[b].own_ms == 13.0


def test_a_stopped_run_and_the_page_of_its_suite_count_alike():
    """The summary counted tests that were not run by what they had come to before: 2 passed, of which 1 had run."""
    store, ids = store_of(item("a"), item("b"), item("c")), [id_of("a"), id_of("b")]
    ran(store, "u1", a="pass", b="pass", c="fail")
    cut = finished("u2", ids[1], "skip", message="not run: interrupted", not_run="interrupted")
    events: list[WorkbenchEvent] = [started("u2", *ids), finished("u2", ids[0]), cut, ended("u2", interrupted=True)]
    store.apply_many(events)
    summary = store.run_view.summary
    assert summary is not None
    assert summary.title == "1 passed, 1 not run in 1.2 s"
    assert not summary.mended
    rows = list(store.rows.values())
    told = text(group_lines(rows, (), summary)).splitlines()
    assert told[:4] == [
        "3 tests: 1 failed, 1 passed, 1 not run", "", "last run, of 2 tests", "1 passed, 1 not run in 1.2 s   interrupted",
    ]  # fmt: skip
    assert text(group_lines(rows, ())).startswith(told[0])
    assert rows[1].result is not None
    assert text(result_lines(rows[1], rows[1].result, None, "")).startswith(
        "○ not run: interrupted; before that   ✓ passed"
    )
    assert "○ not run: interrupted" in text(new_lines(store_row_without_result(), "s.yml:1", (), ""))


def store_row_without_result():
    store = store_of(item("n"))
    store.apply_many(
        [
            started("u1", id_of("n")),
            finished("u1", id_of("n"), "skip", message="not run: interrupted", not_run="interrupted"),
        ]
    )
    return store.rows[id_of("n")]


def test_a_run_says_how_many_tests_need_arguments():
    store, a = store_of(item("a")), id_of("a")
    refused = {"index": 0, "implicit": "outcome", "target": "outcome", "matcher": {"exact": "success"}, "passed": None}
    decided = finished("u1", a, "inconclusive")
    decided["result"]["assertions"] = [refused]
    events: list[WorkbenchEvent] = [started("u1", a), decided, ended("u1")]
    store.apply_many(events)
    summary = store.run_view.summary
    assert summary is not None
    assert "1 inconclusive (1 needs arguments) in" in summary.title


def test_a_run_says_which_floor_it_missed():
    store = store_of(item("a"))
    missed = "coverage: tools 50 % (1 of 2), below the floor of 80 %; not covered: `b`"
    events: list[WorkbenchEvent] = [
        started("u1", id_of("a")),
        finished("u1", id_of("a")),
        ended("u1", gates=[{"about": "coverage", "message": missed}], exit_code=6),
    ]
    store.apply_many(events)
    summary = store.run_view.summary
    assert summary is not None
    assert not summary.passed
    assert f"  ✗ {missed}" in text(summary_lines(summary))


def test_a_run_says_which_tools_it_called_and_which_limit_it_exceeded():
    store = store_of(item("a"))
    exceeded = "effects: 1 call of destructive tools, 0 are allowed: `drop_all` (1)"
    plain = {
        "server": "s",
        "tool": EVIL,
        "class": "read_only",
        "decision": "executed",
        "decided_by": "suite",
        "count": 9,
    }
    dropped = {**plain, "tool": "drop_all", "class": "destructive", "decided_by": "model", "count": 1}
    events: list[WorkbenchEvent] = [
        started("u1", id_of("a")),
        finished("u1", id_of("a")),
        ended(
            "u1", gates=[{"about": "effects", "message": exceeded}], exit_code=6, effects={"calls": [plain, dropped]}
        ),
    ]
    store.apply_many(events)
    summary = store.run_view.summary
    assert summary is not None
    assert not summary.passed
    told = text(summary_lines(summary))
    assert f"  ✗ {exceeded}" in told
    assert told.index("drop_all  1 call  destructive, executed, by model") < told.index(
        "9 calls  read only, executed, by suite"
    )
    assert "\x1b" not in told


def test_a_server_is_remembered_with_its_stderr():
    store, place = store_of(item("a")), (PATH, "demo")
    server: ServerState = {"event": "server.state", "path": PATH, "server": "demo", "state": "failed"}
    store.apply_many([{**server, "message": "exited", "stderr": "boom"}, {**server, "state": "closed"}])
    assert store.run_view.servers[place] == ServerView("failed", "exited", "", "boom")
    assert "boom" in text(log_lines(store.rows[id_of("a")], store.run_view.servers[place]))


def test_a_history_tells_since_when_a_test_fails():
    past = [
        {"run_id": "3", "started_at": "2026-11-03T10:00:00Z", "verdict": "fail", "duration_ms": 9.0, "message": "no"},
        {"run_id": "2", "started_at": "2026-11-02T10:00:00Z", "verdict": "fail", "duration_ms": 5.0},
        {"run_id": "1", "started_at": "2026-11-01T10:00:00Z", "verdict": "pass", "duration_ms": 1.0},
    ]
    lines = text(history_lines(past)).split("\n")
    assert lines[0].startswith("took     ▁▄█")
    assert lines[1] == "verdict  ✓✗✗"
    assert lines[2].startswith("failing  since 2026-11-02")
    assert len(lines) == 7


@pytest.mark.parametrize(("values", "bars"), [([], ""), ([1.0], "▁"), ([1.0, 1.0], "▁▁"), ([0.0, 10.0, 5.0], "▁█▄")])
def test_a_sparkline_has_a_bar_for_each_value(values, bars):
    assert spark(values) == bars


def test_a_suite_that_does_not_load_lists_its_problems():
    broken = document(sound=False, problems=(problem("unknown key `expct`", 12),))
    told = text(problem_lines(broken, None))
    assert "1 problem: this suite does not run" in told
    assert "12:5  unknown key `expct`" in told
    assert "did you mean `expect`?" in told


@pytest.mark.parametrize(
    ("path", "name", "command"),
    [
        ("mcptest.yml", "a b", 'mcptest run --filter "a b"'),
        ("x y.yml", "a", "mcptest run --filter \"a\" --config 'x y.yml'"),
        ("s.yml", "$(rm)", "mcptest run --filter '$(rm)' --config s.yml"),
    ],
)
def test_a_test_has_a_command_that_runs_it_again(path, name, command):
    assert repro_command(path, name) == command


words = st.text(alphabet=st.characters(), max_size=30) | st.just(EVIL)


@given(words, words, words)
def test_no_control_character_is_on_any_page(name, message, value):
    row = result_of(
        verdict="fail",
        message=message,
        failure={"kind": "server", "message": message, "hint": message, "stderr_tail": value},
        assertions=[
            {
                "target": name,
                "name": name,
                "matcher": {name: value},
                "passed": False,
                "message": message,
                "actual": {value: value},
            }
        ],
        attempts=[{"verdict": "fail", "duration_ms": 1.0, "message": message, "fault": value}],
        verify=[{"index": 0, "server": value, "verdict": "fail", "duration_ms": 1.0, "message": message}],
    )
    row.name = name
    pages = [
        result_lines(row, row.result, ServerView("failed", message, message, value), "run"),
        group_lines([row], [("r", message)]),
        log_lines(row, None),
        history_lines([{"started_at": value, "verdict": "fail", "duration_ms": 1, "message": message}] * 2),
        problem_lines(document(sound=False, problems=(problem(message, hint=value),)), 1.0),
    ]
    for character in "".join(piece for page in pages for line in page for piece, _ in line.pieces):
        assert ord(character) >= 32
        assert not 0x7F <= ord(character) < 0xA0
        assert character not in "\u202e\u2066"


def test_of_a_composition_it_is_not_said_that_a_server_answered():
    """A server that did not start fails a node, and an assertion about it tells."""
    failure = {"kind": "assertion", "message": "…", "hint": "node `a` failed: server `s` did not start"}
    assert "answered" not in shown(result_of(kind="composition", verdict="fail", failure=failure))
    assert "answered" not in shown(result_of(kind="composition", verdict="pass"))


def test_a_run_in_which_nothing_was_checked_says_so_first():
    store = store_of(item("a"))
    told = "nothing was checked: 1 test skipped: off"
    events: list[WorkbenchEvent] = [
        started("u1", id_of("a")),
        finished("u1", id_of("a"), "skip", message="off"),
        ended("u1"),
    ]
    store.apply_many(events)
    summary = store.run_view.summary
    assert summary is not None
    assert not summary.passed
    assert text(summary_lines(summary)).startswith(f"{told}; 1 skipped in ")


def failed_rows(*failures):
    """Rows of a store whose tests failed so, in turn: (kind of failure, message)."""
    store = store_of(*(item(f"t{number}") for number in range(len(failures))))
    store.apply_many([started("u1", *(id_of(f"t{number}") for number in range(len(failures))))])
    store.apply_many(
        [
            finished(
                "u1", id_of(f"t{number}"), verdict="fail", message=message, failure={"kind": kind, "message": message}
            )
            for number, (kind, message) in enumerate(failures)
        ]
    )
    return [store.rows[test] for test in store.order]


def test_tests_that_failed_alike_are_told_once():
    """A server that ended is one cause, in whatever words each of its tests tells it; so is one message."""
    rows = failed_rows(
        ("assertion", "wrong"), ("server", "exited with 1"), ("server", "no answer: it exited"), ("assertion", "other"),
        ("server", "exited with 1"), ("server", "exited with 1"), ("assertion", "wrong"),
    )  # fmt: skip
    assert [[row.name for row in group] for group in failures_by_cause(rows)] == [
        ["t1", "t2", "t4", "t5"], ["t0", "t6"], ["t3"],
    ]  # fmt: skip
    told = text(group_lines(rows, ()))
    assert "✗ 4 tests  t1, t2, t4 and 1 more\n    exited with 1\n" in told
    assert "✗ t3\n    other\n" in told


def test_a_suites_page_says_which_tool_is_slow():
    rows = []
    for tool, times in (("fast", (1, 2, 3)), ("slow", (5, 900, 6))):
        for number, took in enumerate(times):
            row = result_of(verdict="pass")
            row.id, row.tool, row.duration_ms = f"{tool}{number}", tool, took
            rows.append(row)
    table = text(group_lines(rows, ())).split("tool")[1].split("\n")
    assert [line.split() for line in table[:3]] == [
        ["tests", "median", "p95", "worst"],
        ["slow", "3", "6", "ms", "900", "ms", "900", "ms"],
        ["fast", "3", "2", "ms", "3", "ms", "3", "ms"],
    ]


def test_a_log_is_never_that_of_another_run():
    """Findings: after a part was run again, tests of the run before showed what the server wrote then."""
    row = result_of(verdict="pass")
    row.run_id = "01A"
    told = text(log_lines(row, ServerView(stderr="of the other run", run_id="01B")))
    assert "other run" not in told
    assert "is no longer saved" in told
    assert "its own" in text(log_lines(row, ServerView(stderr="its own", run_id="01A")))


def test_a_bar_is_never_broken():
    """Findings: at 120 columns the empty half of a score's bar stood on the next row."""
    from mcptest_tui.state.text_lines import line
    from mcptest_tui.widgets.text_view import wrapped

    told = line(
        ("! ", "fail"),
        ("a name that is long  ", "bold"),
        ("███", "pass"),
        ("▏", "bold"),
        ("░░░░", "dim"),
        ("  0.4", ""),
    )
    for width in range(12, 40):
        rows = ["".join(piece for piece, _ in row) for row in wrapped(told, width)]
        assert any("███▏░░░░" in row for row in rows), rows
        assert all(len(row.rstrip()) <= width for row in rows)

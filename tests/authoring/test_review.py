"""The review loop: what waits, what accepting it writes, and what it never touches."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.authoring.review import (
    Choice,
    FileChange,
    Reviewed,
    ReviewItem,
    decide,
    look,
    preview,
    undo,
)
from mcptest_engine.authoring.review_memory import save_undo
from mcptest_engine.core.errors import UsageError
from mcptest_engine.suite.load import LoadOptions, check_suite
from mcptest_engine.workspace.proposals import (
    StoredProposal,
    drop_proposal,
    proposals_dir,
    read_proposals,
    save_proposal,
)
from mcptest_engine.workspace.snapshots import pending_path, read_snapshots, write_snapshots
from mcptest_engine.workspace.ulid import new_ulid
from tests.authoring.reviewing import HEAD, Bench, text_result

if TYPE_CHECKING:
    from pathlib import Path

RAIN = f"""{HEAD}tools:
  - name: forecast
    tool: forecast
    expect:
      - {{ target: "result.content[0].text", matcher: {{ contains: "rain" }} }}  # kept
      - {{ target: result.isError, matcher: {{ not: {{ exact: true }} }} }}
  - name: other
    tool: other
"""


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def accept(bench: Bench, *items: ReviewItem) -> Any:
    return decide(bench.workspace, [(item, Choice.ACCEPT, None) for item in items])


def proposal(bench: Bench, **told: Any) -> StoredProposal:
    base: dict[str, Any] = {
        "id": new_ulid(),
        "made_at": "2026-01-01T00:00:00Z",
        "source": "propose",
        "suite": "mcptest.yml",
        "block": "tools",
        "test_name": "added",
    }
    made = StoredProposal(**{**base, **told})
    save_proposal(bench.workspace, made)
    return made


def added(bench: Bench, name: str = "added", text: str = "") -> StoredProposal:
    test = {"name": name, "tool": "t", "expect": [{"target": "result.isError", "matcher": {"exact": False}}]}
    return proposal(bench, test_name=name, test=test, text=text)


def test_a_failed_assertion_waits_with_what_came_instead(bench: Bench) -> None:
    bench.suite(RAIN)
    bench.ran({"forecast": text_result("sun, 21 degrees")})
    (item,) = look(bench.workspace).items
    assert (item.kind, item.suite, item.line, item.title) == ("assertion", "mcptest.yml", 5, "forecast")
    assert item.before == '- { target: "result.content[0].text", matcher: { contains: "rain" } }'
    assert item.after == '- { target: "result.content[0].text", matcher: { contains: "sun, 21 degrees" } }'
    assert "substring `rain` not found" in item.why
    assert (item.stability, item.loosens, item.is_safe) == ("seen once", None, True)
    assert item.tests == ("forecast",)


def test_an_item_is_the_same_after_a_way_through_json(bench: Bench) -> None:
    bench.suite(RAIN)
    bench.ran({"forecast": text_result("sun")})
    (item,) = look(bench.workspace).items
    assert ReviewItem.from_json(json.loads(json.dumps(item.to_json()))) == item


WRITTEN = {
    "flow": RAIN,
    "crlf": RAIN.replace("\n", "\r\n"),
    "bom": "\ufeff" + RAIN,
    "no newline at the end": RAIN.rstrip("\n"),
    "odd indentation": f"""{HEAD}tools:
-    name:   forecast   # a comment
     tool:   forecast

     expect:
          # above
          -    target:   "result.content[0].text"   # here
               matcher:
                    contains:    rain   # there

          - {{ target: result.isError,
              matcher: {{ not: {{ exact: true }} }} }}
""",
    "expect as a mapping": f"""{HEAD}tools:
  - name: forecast
    tool: forecast
    expect:
      max_duration_ms: 100_000
      assertions:
        - target: "result.content[0].text"
          matcher: {{ contains: rain }}
""".replace("100_000", "100000"),
    "anchors elsewhere": f"""{HEAD}tools:
  - name: other
    tool: other
    args: &args {{ city: Oslo }}
  - name: forecast
    tool: forecast
    args: *args
    expect:
      - &text
        target: "result.content[0].text"
        matcher: {{ contains: rain }}
""",
    "json": json.dumps(
        {
            "servers": {"mock": {"command": ["true"]}},
            "tools": [
                {
                    "name": "forecast",
                    "tool": "forecast",
                    "expect": [{"target": "result.content[0].text", "matcher": {"contains": "rain"}}],
                }
            ],
        },
        indent=2,
    ),
    "a block text before it": f"""{HEAD}tools:
  - name: forecast
    description: |
      - name: not a test
        expect: nothing
    tool: forecast
    expect:
    - target: "result.content[0].text"
      matcher:
        contains: rain
""",
    "short form": f"""{HEAD}tools:
  - name: forecast
    tool: forecast
    expect: {{ text: {{ regex: "u?", contains: rain }}, result.isError: {{ not: {{ exact: true }} }} }}  # short
""",
    "in a set": f"""{HEAD}tools:
  - name: forecast
    tool: forecast
    expect:
      - assert-set:
          threshold: 0.5
          assertions:
            - {{ target: "result.content[0].text", matcher: {{ contains: rain }} }}  # one
""",
}


@pytest.mark.parametrize("written", WRITTEN.values(), ids=WRITTEN)
def test_accepting_changes_the_one_value_and_no_other_byte(bench: Bench, written: str) -> None:
    path = bench.suite(written)
    bench.ran({"forecast": text_result("sunshine")})
    reviewed = accept(bench, *look(bench.workspace).items)
    assert reviewed.refused == ()
    before, after = written.encode(), path.read_bytes()
    assert after in {
        before.replace(old, new)
        for old in (b"contains: rain", b'contains: "rain"', b"contains:    rain", b'"contains": "rain"')
        for new in (b"contains: sunshine", b'contains: "sunshine"', b"contains:    sunshine", b'"contains": "sunshine"')
    } - {before}
    assert reviewed.to_rerun == {"mcptest.yml": ("forecast",)}
    assert not check_suite(path, LoadOptions(environ={}, workspace_root=bench.root)).errors


def test_an_accepted_object_is_json_in_a_suite_that_is(bench: Bench) -> None:
    test = {"name": "forecast", "tool": "forecast", "expect": {"result.content[0]": {"exact": 1}}}
    written = {"servers": {"mock": {"command": ["true"]}}, "tools": [test]}
    path = bench.suite(json.dumps(written))
    bench.ran({"forecast": text_result("sun shine")})
    assert accept(bench, *look(bench.workspace).items).refused == ()
    expect = json.loads(path.read_text(encoding="utf-8"))["tools"][0]["expect"]
    assert expect == {"result.content[0]": {"exact": {"type": "text", "text": "sun shine"}}}


def test_assertions_in_the_short_form_stay_in_it_and_change_one_by_one(bench: Bench) -> None:
    def suite(price: str, name: str, whole: str, text: str, tags: str, number: str) -> str:
        return f"""{HEAD}tools:
  - name: tea
    tool: price
    expect:
      structured.price: {price}  # in pence
      structured.name: {name}
      structured: {whole}
      text: {text}
      structured.tags: {tags}
      assertions: [{{ target: json.price, matcher: {{ exact: {number} }} }}]
      error: {{ exists: false }}
"""

    path = bench.suite(
        suite("31", '{ regex: "^c", contains: te }', "{ subset: { name: milk, price: 4 } }", "tea", "[a, b]", "5")
    )
    answer = text_result('{"price": 30}', structuredContent={"name": "tea", "price": 30, "tags": ["a", "c"]})
    bench.ran({"tea": answer})
    assert accept(bench, *look(bench.workspace).items).refused == ()
    assert path.read_text(encoding="utf-8") == suite(
        "30",
        "{ exact: tea, contains: te }",
        "{ subset: { name: tea, price: 30 } }",
        '"{\\"price\\": 30}"',
        "[a, c]",
        "30",
    )
    bench.ran({"tea": answer})
    assert look(bench.workspace).items == ()


SHORT = f"""{HEAD}tools:
  - name: tea
    tool: price
    expect:
      structured.price: 31  # in pence
      text: {{ contains: tea, regex: "^t" }}
      error: {{ exists: false }}
      max_duration_ms: 500
"""
PRICE, TEXT = "result.structuredContent.price", "result.content[0].text"


@pytest.mark.parametrize(
    ("rows", "more", "changed"),
    [
        pytest.param(
            [(PRICE, "exact", 30), (TEXT, "contains", "tea"), (TEXT, "regex", "^t"), ("error", "exists", False)],
            {"max_duration_ms": 500},
            {"price: 31": "price: 30"},
            id="another value",
        ),
        pytest.param(
            [(PRICE, "gt", 3), (TEXT, "regex", "^t"), ("error", "exists", False)],
            {"max_duration_ms": 800},
            {"price: 31": "price: { gt: 3 }", "contains: tea, ": "", "500": "800"},
            id="other matchers and another budget",
        ),
        pytest.param(
            [(PRICE, "exact", 31), ("json.a", "exact", 1)],
            {},
            {
                'text: { contains: tea, regex: "^t" }\n      ': "",
                "error: { exists: false }\n      max_duration_ms: 500": "assertions:\n"
                '        - { target: "json.a", matcher: { exact: 1 } }',
            },
            id="other targets",
        ),
    ],
)
def test_a_proposal_changes_assertions_in_the_short_form(
    bench: Bench, rows: list[tuple[str, str, Any]], more: dict[str, Any], changed: dict[str, str]
) -> None:
    path = bench.suite(SHORT)
    assertions = [{"target": target, "matcher": {name: operand}} for target, name, operand in rows]
    proposal(bench, test_name="tea", expect={**more, "assertions": assertions})
    found = look(bench.workspace)
    assert found.stale == ()
    assert accept(bench, *found.items).refused == ()
    wanted = SHORT
    for before, after in changed.items():
        wanted = wanted.replace(before, after)
    assert path.read_text(encoding="utf-8") == wanted


def test_a_proposal_of_true_changes_a_1_in_the_short_form(bench: Bench) -> None:
    """They are equal to Python, and no matcher takes one for the other."""
    path = bench.suite(SHORT.replace("31", "1"))
    proposal(bench, test_name="tea", expect=[{"target": PRICE, "matcher": {"exact": True}}])
    assert accept(bench, *look(bench.workspace).items).refused == ()
    assert "expect:\n      structured.price: true  # in pence\n" in path.read_text(encoding="utf-8")


def test_undo_puts_the_file_back_byte_for_byte(bench: Bench) -> None:
    path = bench.suite(RAIN.replace("\n", "\r\n"))
    bench.ran({"forecast": text_result("sun")})
    before = path.read_bytes()
    accept(bench, *look(bench.workspace).items)
    assert path.read_bytes() != before
    assert undo(bench.workspace).restored == ("mcptest.yml",)
    assert path.read_bytes() == before
    assert len(look(bench.workspace).items) == 1
    with pytest.raises(UsageError, match="nothing to undo"):
        undo(bench.workspace)


def test_undo_that_cannot_write_one_file_leaves_all_as_they_are(bench: Bench) -> None:
    """Else the second try would find files that "were changed since"."""
    first, blocked = bench.workspace.root / "first.yml", bench.workspace.root / "blocked.yml"
    first.write_text("after")
    blocked.mkdir()
    files = (
        FileChange(path=str(first), before=b"before", after=b"after"),
        FileChange(path=str(blocked), before=b"before", after=None),
    )
    with pytest.raises(OSError, match="directory"):
        undo(bench.workspace, Reviewed(written=files))
    assert first.read_text() == "after"


@pytest.mark.parametrize("path", ["../outside.sh", "/etc/cron.d/x", "notes.txt"])
def test_undo_of_a_memory_that_names_what_no_review_writes_is_refused(bench: Bench, path: str) -> None:
    """It lies in the folder, and so may have come with it."""
    files = (FileChange(path=path, before=b"mine", after=None),)
    save_undo(bench.workspace, Reviewed(written=files))
    with pytest.raises(UsageError, match="nothing to undo"):
        undo(bench.workspace)


@pytest.mark.parametrize("name", ["../../outside", "/tmp/outside", "", "outside"])
def test_undo_writes_no_proposal_whose_id_is_no_id(bench: Bench, name: str) -> None:
    """The memory may have come with the folder, and an id becomes a file's name."""
    made = proposal(bench, test={"name": "added", "tool": "t"})
    drop_proposal(bench.workspace, made.id)
    save_undo(bench.workspace, Reviewed(forgotten=({"proposal": asdict(replace(made, id=name))},)))
    before = sorted(bench.workspace.root.parent.rglob("*.json"))
    undo(bench.workspace)
    after = sorted(bench.workspace.root.parent.rglob("*.json"))
    assert set(after) <= set(before)
    with pytest.raises(OSError, match="not the id of a proposal"):
        drop_proposal(bench.workspace, name)


def test_undo_refuses_when_the_file_was_changed_since(bench: Bench) -> None:
    path = bench.suite(RAIN)
    bench.ran({"forecast": text_result("sun")})
    accept(bench, *look(bench.workspace).items)
    path.write_text(path.read_text() + "# mine\n")
    mine = path.read_bytes()
    undone = undo(bench.workspace)
    assert (undone.restored, undone.refused) == ((), (("mcptest.yml", "it has changed since then"),))
    assert path.read_bytes() == mine


def test_an_edit_elsewhere_meanwhile_is_no_hindrance(bench: Bench) -> None:
    path = bench.suite(RAIN)
    bench.ran({"forecast": text_result("sun")})
    items = look(bench.workspace).items
    moved = RAIN.replace("tools:\n", "tools:\n  - name: first\n    tool: first\n\n").replace(
        "    expect:\n", '    expect:\n      - { target: "result", matcher: { exists: true } }\n', 1
    )
    path.write_text(moved)
    assert accept(bench, *items).refused == ()
    assert path.read_text() == moved.replace('contains: "rain"', 'contains: "sun"')


@pytest.mark.parametrize(
    ("new", "reason"),
    [
        (RAIN.replace("rain", "snow"), "has changed since it was proposed"),
        (RAIN.replace("name: forecast", "name: renamed"), "is no longer in the file"),
        ("tools: [", "cannot be read"),
        (None, "no longer exists"),
    ],
)
def test_what_is_no_longer_as_it_was_is_refused_and_nothing_is_written(
    bench: Bench, new: str | None, reason: str
) -> None:
    path = bench.suite(RAIN)
    bench.ran({"forecast": text_result("sun")})
    items = look(bench.workspace).items
    if new is None:
        path.unlink()
    else:
        path.write_text(new)
    (refused,) = accept(bench, *items).refused
    assert reason in refused.reason
    assert new is None or path.read_text() == new


def test_a_suite_that_does_not_hold_what_was_judged_has_no_items(bench: Bench) -> None:
    bench.suite(RAIN)
    bench.ran({"forecast": text_result("sun")})
    bench.suite(RAIN.replace("rain", "snow"))
    assert look(bench.workspace).items == ()


def test_what_a_template_stands_for_is_not_proposed(bench: Bench) -> None:
    bench.suite(RAIN.replace('"rain"', '"${var.word}"').replace("servers:", "variables: { word: rain }\nservers:"))
    bench.ran({"forecast": text_result("sun")})
    assert look(bench.workspace).items == ()


def test_a_server_cannot_bring_a_template_into_a_suite(bench: Bench) -> None:
    path = bench.suite(RAIN)
    bench.ran({"forecast": text_result("${env.HOME} ${x}")})
    accept(bench, *look(bench.workspace).items)
    assert "$${env.HOME} $${x}" in path.read_text()
    bench.ran({"forecast": text_result("${env.HOME} ${x}")})
    assert look(bench.workspace).items == ()


def test_what_was_masked_is_never_proposed(bench: Bench) -> None:
    bench.suite(RAIN)
    bench.ran({"forecast": text_result("token [REDACTED]")})
    assert look(bench.workspace).items == ()


def test_a_value_that_the_record_cuts_is_taken_from_the_answer(bench: Bench) -> None:
    bench.suite(f"""{HEAD}tools:
  - name: long
    tool: long
    expect:
      - {{ target: "result.content[0].text", matcher: {{ exact: short }} }}
""")
    whole = "x" * 5_000
    record = bench.ran({"long": text_result(whole)})
    test = record["tests"][0]
    test["assertions"][0]["actual"] = f"{whole[:4096]}… (5000 characters)"
    bench.keep(record["run_id"], json.dumps(record))
    (item,) = look(bench.workspace).items
    assert whole in item.after
    test["output"] = {"$file": "runs/x/y.json", "bytes": 5_000_000}
    bench.keep(record["run_id"], json.dumps(record))
    assert look(bench.workspace).items == ()


def test_accepting_an_error_is_labelled_and_left_out_of_accept_all(bench: Bench) -> None:
    bench.suite(RAIN)
    bench.ran({"forecast": text_result("rain radar is down", isError=True)})
    (item,) = look(bench.workspace).items
    assert (item.loosens, item.is_safe) == ("accepts an error result", False)
    assert "matcher: { exact: true }" in item.after


def test_a_value_that_differs_between_runs_looks_volatile(bench: Bench) -> None:
    bench.suite(RAIN)
    for text in ("sun at 12:01", "sun at 12:02"):
        bench.ran({"forecast": text_result(text)})
    (item,) = look(bench.workspace).items
    assert (item.stability, item.is_safe) == ("differs between runs: looks volatile", False)
    for _ in range(3):
        bench.ran({"forecast": text_result("sun")})
    (item,) = look(bench.workspace).items
    assert (item.stability, item.is_safe) == ("same actual value in the last 3 runs", True)


def test_what_is_proposed_is_compared_and_not_the_whole_value_that_came(bench: Bench) -> None:
    row = '{ target: "result.content", matcher: { length: 2 } }'
    bench.suite(f"{HEAD}tools:\n  - {{ name: forecast, tool: forecast, expect: [{row}] }}\n")
    for text in ("sun at 12:01", "sun at 12:02"):
        bench.ran({"forecast": text_result(text)})
    (item,) = look(bench.workspace).items
    assert (item.stability, item.is_safe) == ("same proposal in the last 2 runs", True)


@pytest.mark.parametrize(("first", "second"), [("&e [{ target: a, matcher: { exact: 1 } }]", "*e")])
def test_an_expect_that_tests_share_waits_as_one_that_can_only_be_rejected(
    bench: Bench, first: str, second: str
) -> None:
    bench.suite(
        f"{HEAD}tools:\n  - {{ name: a, tool: x, expect: {first} }}\n  - {{ name: b, tool: x, expect: {second} }}\n"
    )
    for name in "ab":
        proposal(bench, test_name=name, expect=[{"target": "a", "matcher": {"exact": 2}}])
    waiting = look(bench.workspace)
    assert waiting.items == ()
    reasons = {reason for _, reason in waiting.stale}
    assert reasons == {
        "its `expect` is shared with other tests, by the anchor `&e`; write it out in this test, and propose again"
    }
    decide(bench.workspace, [(item, Choice.REJECT, None) for item, _ in waiting.stale])
    assert look(bench.workspace).stale == ()


def test_an_expect_of_assertions_alone_keeps_the_list_that_it_is_in(bench: Bench) -> None:
    path = bench.suite(
        f"{HEAD}tools:\n  - name: a\n    tool: x\n    expect:\n      # one\n"
        "      - { target: a, matcher: { exact: 1 } }  # beside\n      # after\n"
    )
    before = path.read_text()
    proposal(bench, test_name="a", expect={"assertions": [{"target": "a", "matcher": {"exact": 2}}]})
    (item,) = look(bench.workspace).items
    accept(bench, item)
    assert path.read_text() == before.replace("exact: 1", "exact: 2")


def test_a_test_that_passed_before_says_nothing_of_how_volatile_it_is(bench: Bench) -> None:
    bench.suite(RAIN)
    bench.ran({"forecast": text_result("rain")})
    bench.ran({"forecast": text_result("sun")})
    (item,) = look(bench.workspace).items
    assert item.stability == "seen once"


def test_a_test_that_passes_in_the_newest_run_waits_for_nothing(bench: Bench) -> None:
    bench.suite(RAIN)
    bench.ran({"forecast": text_result("sun")})
    bench.ran({"other": text_result("x")})
    assert len(look(bench.workspace).items) == 1, "a run of another test does not make it forgotten"
    bench.ran({"forecast": text_result("rain")})
    assert look(bench.workspace).items == ()


def test_a_repeated_test_that_passes_sometimes_is_not_proposed(bench: Bench) -> None:
    bench.suite(RAIN)
    bench.ran({"forecast": [text_result("sun"), text_result("rain")]}, repeat=2)
    assert look(bench.workspace).items == ()
    bench.ran({"forecast": [text_result("sun"), text_result("fog")]}, repeat=2)
    (item,) = look(bench.workspace).items
    assert item.is_volatile


def test_namesakes_are_told_apart(bench: Bench) -> None:
    path = bench.suite(
        RAIN.replace("name: other\n    tool: other", RAIN.split("  - ", 1)[1].split("  - name: other")[0].strip())
    )
    bench.ran({"forecast": [text_result("rain"), text_result("sun")]})
    items = look(bench.workspace).items
    assert [item.line for item in items] == [10]
    accept(bench, *items)
    assert path.read_text().split("- name: forecast")[2].count("sun") == 1
    assert "rain" in path.read_text().split("- name: forecast")[1]


def test_what_default_test_adds_is_not_proposed(bench: Bench) -> None:
    bench.suite(f"""{HEAD}defaultTest:
  expect:
    - {{ target: "result.content[0].text", matcher: {{ contains: rain }} }}
tools:
  - name: forecast
    tool: forecast
""")
    bench.ran({"forecast": text_result("sun")})
    assert look(bench.workspace).items == ()


def test_an_exceeded_budget_is_raised_with_room_and_labelled(bench: Bench) -> None:
    path = bench.suite(f"""{HEAD}tools:
  - name: slow
    tool: slow
    expect:
      max_duration_ms: 100   # a promise
      assertions: []
""")
    bench.ran({"slow": text_result("x")}, duration_ms=230)
    (item,) = look(bench.workspace).items
    assert (item.before, item.after) == ("max_duration_ms: 100", "max_duration_ms: 350")
    assert item.loosens == "raises the limit from 100 to 350 ms"
    accept(bench, item)
    assert "max_duration_ms: 350   # a promise" in path.read_text()


def test_a_rejected_change_does_not_come_back_and_another_one_does(bench: Bench) -> None:
    bench.suite(RAIN)
    bench.ran({"forecast": text_result("sun")})
    (item,) = look(bench.workspace).items
    reviewed = decide(bench.workspace, [(item, Choice.REJECT, None)])
    assert reviewed.rejected == (item,)
    bench.ran({"forecast": text_result("sun")})
    assert look(bench.workspace).items == ()
    bench.ran({"forecast": text_result("fog")})
    assert len(look(bench.workspace).items) == 1
    undo(bench.workspace)
    bench.ran({"forecast": text_result("sun")})
    assert len(look(bench.workspace).items) == 1


def test_a_skipped_item_waits_on(bench: Bench) -> None:
    bench.suite(RAIN)
    bench.ran({"forecast": text_result("sun")})
    (item,) = look(bench.workspace).items
    reviewed = decide(bench.workspace, [(item, Choice.SKIP, None)])
    assert (reviewed.skipped, reviewed.written) == ((item,), ())
    assert look(bench.workspace).items == (item,)


def test_many_items_of_a_file_are_one_write(bench: Bench) -> None:
    tests = "".join(
        f"  - name: t{number}\n    tool: t\n    expect:\n"
        f'      - {{ target: "result.content[0].text", matcher: {{ exact: "{number}" }} }}  # {number}\n'
        for number in range(20)
    )
    path = bench.suite(f"{HEAD}tools:\n{tests}")
    bench.ran({f"t{number}": text_result(f"new {number}") for number in range(20)})
    reviewed = accept(bench, *look(bench.workspace).items)
    assert (len(reviewed.accepted), len(reviewed.written)) == (20, 1)
    assert path.read_text() == f"{HEAD}tools:\n" + re.sub(r'exact: "(\d+)"', r'exact: "new \1"', tests)


def test_a_new_test_is_appended_with_its_comments(bench: Bench) -> None:
    path = bench.suite(RAIN)
    text = """\
name: added  # seen twice
tool: t
expect:
  # never an error
  - { target: "result.isError", matcher: { exact: false } }
"""
    added(bench, text=text)
    (item,) = look(bench.workspace).items
    assert (item.kind, item.line, item.before) == ("test", None, "")
    assert item.after.startswith("- name: added  # seen twice\n  tool: t\n")
    accept(bench, item)
    assert path.read_text().startswith(RAIN)
    assert path.read_text().endswith(
        '      # never an error\n      - { target: "result.isError", matcher: { exact: false } }\n'
    )
    assert read_proposals(bench.workspace) == ()
    undo(bench.workspace)
    assert path.read_text() == RAIN
    assert look(bench.workspace).items == (item,)


def test_the_same_proposal_twice_is_one_item_and_both_files_go(bench: Bench) -> None:
    bench.suite(RAIN)
    added(bench)
    added(bench)
    (item,) = look(bench.workspace).items
    accept(bench, item)
    assert list(proposals_dir(bench.workspace).iterdir()) == []


def test_another_expect_keeps_what_is_the_same(bench: Bench) -> None:
    path = bench.suite(RAIN)
    expect = [
        {"target": "result.content[0].text", "matcher": {"contains": "rain"}},
        {"target": "result.content", "matcher": {"length": 1}},
    ]
    proposal(bench, test_name="forecast", expect=expect)
    (item,) = look(bench.workspace).items
    assert item.kind == "expect"
    assert item.loosens == "drops `result.isError` not exact `true`"
    accept(bench, item)
    assert "# kept" in path.read_text()
    assert "result.isError" not in path.read_text()


def test_a_test_without_expectations_gets_some(bench: Bench) -> None:
    path = bench.suite(RAIN)
    proposal(bench, test_name="other", expect=[{"target": "result.isError", "matcher": {"exact": False}}])
    (item,) = look(bench.workspace).items
    assert item.loosens is None
    accept(bench, item)
    assert path.read_text().startswith(RAIN)
    assert "expect:" in path.read_text().split("name: other")[1]


def test_a_proposal_that_the_suite_has_outgrown_can_only_be_rejected(bench: Bench) -> None:
    bench.suite(RAIN)
    proposal(bench, test_name="gone", expect=[])
    waiting = look(bench.workspace)
    assert waiting.items == ()
    ((item, reason),) = waiting.stale
    assert reason == "there is no longer a test `gone`"
    decide(bench.workspace, [(item, Choice.REJECT, None)])
    assert look(bench.workspace).stale == ()


def test_what_would_make_the_suite_invalid_is_refused_and_the_rest_is_written(bench: Bench) -> None:
    path = bench.suite(RAIN)
    test = {"name": "bad", "tool": "t", "expect": [{"target": "result", "matcher": {"contians": 1}}]}
    proposal(bench, test_name="bad", test=test)
    added(bench)
    reviewed = accept(bench, *look(bench.workspace).items)
    assert [item.title for item in reviewed.accepted] == ["added"]
    assert "contians" in reviewed.refused[0].reason
    assert "contians" not in path.read_text()
    assert [item.title for item in look(bench.workspace).items] == ["bad"]


def test_an_edited_fragment_is_written_as_it_was_typed(bench: Bench) -> None:
    path = bench.suite(RAIN)
    bench.ran({"forecast": text_result("sun")})
    (item,) = look(bench.workspace).items
    typed = '- target: "result.content[0].text"  # mine\n  matcher: { regex: "^s.n$" }'
    assert preview(bench.workspace, item, typed) is None
    decide(bench.workspace, [(item, Choice.ACCEPT, typed)])
    wanted = '- { target: "result.content[0].text", matcher: { contains: "rain" } }'
    assert path.read_text() == RAIN.replace(wanted, typed.replace("\n", "\n      "))


@pytest.mark.parametrize(
    ("typed", "reason"),
    [
        ("- target: [", "cannot be read"),
        ("- just text", "not a mapping"),
        ('- { target: "result", matcher: { contians: x } }', "contians"),
        ('- { target: "result[", matcher: { exact: x } }', "result["),
        ("", "cannot be read"),
    ],
)
def test_an_edited_fragment_that_does_not_load_is_refused(bench: Bench, typed: str, reason: str) -> None:
    path = bench.suite(RAIN)
    bench.ran({"forecast": text_result("sun")})
    (item,) = look(bench.workspace).items
    assert reason in str(preview(bench.workspace, item, typed))
    (refused,) = decide(bench.workspace, [(item, Choice.ACCEPT, typed)]).refused
    assert reason in refused.reason
    assert path.read_text() == RAIN
    assert look(bench.workspace).items == (item,)


@pytest.fixture
def snapshots(bench: Bench) -> Path:
    bench.suite(RAIN)
    path = bench.workspace.snapshots_dir / "mcptest.yml"
    write_snapshots(path, {"forecast / result": "rain", "kept": [1]})
    write_snapshots(pending_path(path), {"forecast / result": "sun\nand more", "new": {"a": 1}})
    return path


def test_a_changed_snapshot_is_moved_to_the_accepted_ones(bench: Bench, snapshots: Path) -> None:
    items = {item.title: item for item in look(bench.workspace).items}
    changed = items["forecast / result"]
    assert (changed.kind, changed.suite, changed.before) == ("snapshot", "mcptest.yml", "forecast / result: rain")
    assert changed.after == "forecast / result: |-\n  sun\n  and more"
    reviewed = accept(bench, changed)
    assert read_snapshots(snapshots) == {"forecast / result": "sun\nand more", "kept": [1]}
    assert read_snapshots(pending_path(snapshots)) == {"new": {"a": 1}}
    assert len(reviewed.written) == 2
    undo(bench.workspace)
    assert set(items) == {item.title for item in look(bench.workspace).items}


def test_a_rejected_snapshot_change_is_dropped_and_a_skipped_one_waits(bench: Bench, snapshots: Path) -> None:
    items = {item.title: item for item in look(bench.workspace).items}
    reviewed = decide(
        bench.workspace,
        [(items["new"], Choice.REJECT, None), (items["forecast / result"], Choice.SKIP, None)],
    )
    assert (len(reviewed.rejected), len(reviewed.skipped)) == (1, 1)
    assert list(read_snapshots(pending_path(snapshots))) == ["forecast / result"]
    assert read_snapshots(snapshots)["forecast / result"] == "rain"


def test_a_snapshot_that_another_run_changed_since_is_refused(bench: Bench, snapshots: Path) -> None:
    items = look(bench.workspace).items
    write_snapshots(pending_path(snapshots), {"forecast / result": "fog", "new": {"a": 1}})
    reviewed = accept(bench, *items)
    assert [refused.item.title for refused in reviewed.refused] == ["forecast / result"]
    assert read_snapshots(pending_path(snapshots)) == {"forecast / result": "fog"}


def test_an_edited_snapshot_is_taken_as_edited(bench: Bench, snapshots: Path) -> None:
    item = next(item for item in look(bench.workspace).items if item.title == "new")
    assert preview(bench.workspace, item, "other: 1") is not None
    assert preview(bench.workspace, item, "new: [") is not None
    decide(bench.workspace, [(item, Choice.ACCEPT, "new: {a: 2}")])
    assert read_snapshots(snapshots)["new"] == {"a": 2}


def test_a_broken_pending_file_is_told_and_the_rest_still_waits(bench: Bench, snapshots: Path) -> None:
    pending_path(snapshots).write_text("a: [\n")
    added(bench)
    waiting = look(bench.workspace)
    assert [item.kind for item in waiting.items] == ["test"]
    assert "mcptest.pending.yml" in waiting.problems[0]


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"id": 1}', '{"id": "x", "left_out": 3}', "\x00\xff", '{"surprise": true}', "[" * 5000],
)
def test_a_torn_proposal_is_passed_over(bench: Bench, text: str) -> None:
    bench.suite(RAIN)
    added(bench)
    (proposals_dir(bench.workspace) / "torn.json").write_text(text, encoding="latin-1")
    assert len(look(bench.workspace).items) == 1


@pytest.mark.parametrize(
    "damage",
    [
        {"assertions": "none"},
        {"assertions": [None, {"passed": False}]},
        {"assertions": [{"passed": False, "target": 3, "matcher": [], "actual": 1}]},
        {"line": "x", "name": None},
        {"output": "gone", "kind": "agent"},
        {"verify": [1], "output": None},
        {"message": 3, "duration_ms": "long"},
    ],
)
def test_a_damaged_record_suggests_nothing_and_harms_nothing(bench: Bench, damage: dict[str, Any]) -> None:
    bench.suite(RAIN)
    record = bench.ran({"forecast": text_result("sun")})
    record["tests"][0] |= damage
    bench.keep(record["run_id"], json.dumps(record))
    assert len(look(bench.workspace).items) <= 1


@pytest.mark.parametrize("suite", ["../../etc/passwd", "/etc/passwd", "nul\0.yml", "", "folder.yml"])
def test_a_proposal_for_what_is_no_suite_is_stale(bench: Bench, suite: str) -> None:
    (bench.root / "folder.yml").mkdir()
    proposal(bench, suite=suite, test={"name": "a", "tool": "t"})
    waiting = look(bench.workspace)
    assert (len(waiting.items), len(waiting.stale)) == (0, 1)


def test_only_the_suites_asked_for_are_looked_at(bench: Bench) -> None:
    path = bench.suite(RAIN)
    other = bench.suite(RAIN, "other.yml")
    bench.ran({"forecast": text_result("sun")})
    bench.ran({"forecast": text_result("sun")}, name="other.yml")
    assert {item.suite for item in look(bench.workspace).items} == {"mcptest.yml", "other.yml"}
    assert {item.suite for item in look(bench.workspace, [path]).items} == {"mcptest.yml"}
    assert {item.suite for item in look(bench.workspace, [other]).items} == {"other.yml"}


def test_a_file_that_cannot_be_written_refuses_its_items_and_keeps_them(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = bench.suite(RAIN)
    added(bench)
    items = look(bench.workspace).items

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("mcptest_engine.authoring.review.write_suite", full)
    (refused,) = accept(bench, *items).refused
    assert refused.reason == "cannot write mcptest.yml: no space left on device"
    assert path.read_text() == RAIN
    assert look(bench.workspace).items == items


def test_an_alias_is_left_alone(bench: Bench) -> None:
    written = f"""{HEAD}tools:
  - name: first
    tool: t
    expect: &same
      - {{ target: "result.content[0].text", matcher: {{ contains: rain }} }}
  - name: second
    tool: t
    expect: *same
"""
    path = bench.suite(written)
    bench.ran({"first": text_result("rain"), "second": text_result("sun")})
    items = look(bench.workspace).items
    reviewed = accept(bench, *items)
    assert reviewed.written == ()
    assert path.read_text() == written


NESTED = """\
tools:
  - name: a note
    tool: get
    expect:
      - target: result.structuredContent
        matcher:
          exact:
            title: "old"   # as it was first
            size: 1.0
            at: '10:00'
            tags: [a, "b", c]
            meta: { by: ada, seen: true }
            rows:
              - { id: 1, n: 2 }
              - { id: 2, n: 3 }
"""


def _nested(**more: Any) -> dict[str, Any]:
    found = {
        "title": "new",
        "size": 1.0,
        "at": "10:07",
        "tags": ["a", "x", "c"],
        "meta": {"by": "ada", "seen": True, "more": [1]},
        "rows": [{"id": 1, "n": 2}, {"id": 2, "n": 4}],
    }
    return {"content": [], "structuredContent": {**found, **more}}


def test_each_difference_of_a_stored_value_is_decided_by_itself(bench: Bench) -> None:
    """One decision for the whole value: whoever wanted one of five changes had to edit the text."""
    before = HEAD + NESTED
    path = bench.suite(before)
    bench.ran({"a note": _nested()})
    items = look(bench.workspace).items
    name = "result.structuredContent."
    assert [item.about for item in items] == [
        f"{name}title", f"{name}at", f"{name}tags[1]", f"{name}meta.more", f"{name}rows[1].n",
    ]  # fmt: skip
    assert [(item.before, item.after) for item in items[:3]] == [
        ('title: "old"', 'title: "new"'), ("at: '10:00'", "at: '10:07'"), ('- "b"', '- "x"'),
    ]  # fmt: skip
    assert (items[3].before, items[3].after) == (
        "meta: { by: ada, seen: true }",
        "meta: { by: ada, seen: true, more: [1] }",
    )
    assert items[0].why.endswith('`result.structuredContent.title` is "new", expected "old"')
    choices = [Choice.ACCEPT, Choice.REJECT, Choice.ACCEPT, Choice.ACCEPT, Choice.REJECT]
    done = decide(bench.workspace, [(item, choice, None) for item, choice in zip(items, choices, strict=True)])
    assert not done.refused
    after = before.replace('title: "old"', 'title: "new"').replace('"b"', '"x"')
    assert path.read_text() == after.replace("seen: true }", "seen: true, more: [1] }")
    bench.ran({"a note": _nested()})
    assert not look(bench.workspace).items  # what was rejected does not come back


def test_one_part_that_changes_from_run_to_run_leaves_the_others_safe(bench: Bench) -> None:
    bench.suite(HEAD + NESTED)
    bench.ran({"a note": _nested(at="10:06")})
    bench.ran({"a note": _nested()})
    volatile = {item.about.rpartition(".")[2]: item.is_volatile for item in look(bench.workspace).items}
    assert volatile == {"title": False, "at": True, "tags[1]": False, "more": False, "n": False}


def test_what_lost_a_member_or_changed_its_length_is_one_difference(bench: Bench) -> None:
    path = bench.suite(HEAD + NESTED)
    bench.ran({"a note": _nested(meta={"by": "bob"}, tags=["a"], rows=[{"id": 1, "n": 2}, {"id": 2, "n": 3}])})
    items = look(bench.workspace).items
    assert [item.about.removeprefix("result.structuredContent.") for item in items] == ["title", "at", "tags", "meta"]
    accept(bench, *items[2:])
    assert "            tags: [a]\n            meta: { by: bob }\n" in path.read_text()


def test_a_part_is_edited_like_any_other_proposal(bench: Bench) -> None:
    path = bench.suite(HEAD + NESTED)
    bench.ran({"a note": _nested()})
    items = look(bench.workspace).items
    edits = ((0, "title: 'mine'"), (2, "- mine"), (3, "meta: { by: bob }"))
    done = decide(bench.workspace, [(items[at], Choice.ACCEPT, text) for at, text in edits])
    assert not done.refused
    text = path.read_text()
    assert "title: 'mine'   # as it was first" in text
    assert "tags: [a, mine, c]" in text
    assert "meta: { by: bob }\n" in text


def test_what_was_left_of_a_value_waits_after_the_rest_of_it_was_written(bench: Bench) -> None:
    """The first write made the others vanish until the next run: the value was neither the one that failed nor the new one."""
    path = bench.suite(HEAD + NESTED)
    bench.ran({"a note": _nested()})
    items = look(bench.workspace).items
    for number, item in enumerate(items):
        waiting = look(bench.workspace).items
        assert [(one.id, one.about) for one in waiting] == [(one.id, one.about) for one in items[number:]]
        assert [one.about for one in accept(bench, waiting[0]).accepted] == [item.about]
    assert not look(bench.workspace).items
    bench.suite(path.read_text().replace('"new"', '"mine"'))
    assert not look(bench.workspace).items  # another value than either: what came says nothing of it


def test_the_only_part_that_was_rejected_does_not_come_back(bench: Bench) -> None:
    """A single difference was proposed as the whole value, and so as something that nobody had rejected yet."""
    bench.suite(HEAD + NESTED)
    answer = _nested(
        tags=["a", "b", "c"], meta={"by": "ada", "seen": True}, rows=[{"id": 1, "n": 2}, {"id": 2, "n": 3}]
    )
    bench.ran({"a note": answer})
    first, second = look(bench.workspace).items
    decide(bench.workspace, [(first, Choice.ACCEPT, None), (second, Choice.REJECT, None)])
    bench.ran({"a note": answer})
    assert not look(bench.workspace).items


def test_a_part_that_was_expected_to_be_null_is_told_from_one_that_was_not_expected(bench: Bench) -> None:
    bench.suite(HEAD + NESTED.replace('"old"   # as it was first', "null"))
    bench.ran({"a note": _nested()})
    reasons = {item.about.rpartition(".")[2]: item.why.rpartition(", ")[2] for item in look(bench.workspace).items}
    assert (reasons["title"], reasons["more"]) == ("expected null", "expected nothing")

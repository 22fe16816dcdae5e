"""`compliance` and `agents` as the language has them: both shapes, and imports."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcptest_engine.core.results import TestKind
from mcptest_engine.suite.completion import complete
from mcptest_engine.suite.compliance import REVISIONS, has_request, revision_of
from mcptest_engine.suite.edit import append_test, place_of_test, replace_expect
from mcptest_engine.suite.load import LoadOptions, check_text
from mcptest_engine.suite.merge import merge
from mcptest_engine.suite.text_edits import apply

GROUPED = """\
servers: { api: { command: [python, server.py] } }
compliance:
  spec_version: 2025-06-18
  checks:
    # the first
    - name: opens
      check: initialize
    - { name: pings, check: ping, spec_version: v2024-11-05 }
"""
LISTED = """\
servers: { api: { command: [python, server.py] } }
compliance:
  - name: opens
    check: initialize
agents:
  - name: greets
    prompt: hello
"""


def options(root: Path = Path("/nowhere")) -> LoadOptions:
    return LoadOptions(environ={}, workspace_root=root)


@pytest.mark.parametrize(
    ("written", "meant"), [("v2025-06-18", "2025-06-18"), ("2025-06-18", "2025-06-18"), ("draft", "2026-07-28")]
)
def test_a_revision_is_named_in_several_ways(written: str, meant: str) -> None:
    """`draft` is the newest that is known."""
    assert revision_of(written) == meant


def test_every_revision_has_one_opening() -> None:
    """The stateless one discovers, the others shake hands."""
    for revision in REVISIONS:
        assert has_request(revision, "initialize") != has_request(revision, "server/discover")
        assert has_request(revision, "tools/list")


def test_checks_in_a_mapping_share_its_revision() -> None:
    """What a check says itself wins."""
    suite = check_text(GROUPED, options(), base_dir=Path("/nowhere")).suite
    assert suite is not None
    assert [(test.kind, test.path, test.line) for test in suite.tests] == [
        (TestKind.COMPLIANCE, ("compliance", "checks", 0), 6),
        (TestKind.COMPLIANCE, ("compliance", "checks", 1), 8),
    ]
    assert [test.data["spec_version"] for test in suite.tests] == ["2025-06-18", "v2024-11-05"]
    assert [test.data["name"] for test in suite.tests] == ["opens", "pings"]


def test_imported_checks_come_first_and_keep_their_revision() -> None:
    """The revision of a mapping is that of its own file's checks."""
    imported = {"compliance": {"spec_version": "draft", "checks": [{"name": "a", "check": "tools/list"}]}}
    main = {"compliance": [{"name": "b", "check": "ping"}], "agents": [{"name": "c", "prompt": "hello"}]}
    tests = merge([(1, imported), (0, main)]).tests
    assert [(test.entry["name"], test.entry.get("spec_version"), test.file, test.path) for test in tests] == [
        ("a", "draft", 1, ("compliance", "checks", 0)),
        ("b", None, 0, ("compliance", 0)),
        ("c", None, 0, ("agents", 0)),
    ]


def test_default_test_is_put_into_neither() -> None:
    """What it expects of a call's answer says nothing of them."""
    text = f"{LISTED}defaultTest: {{ tags: [all], expect: [{{ target: result.isError, matcher: {{ exists: false }} }}] }}\n"
    suite = check_text(text, options(), base_dir=Path("/nowhere")).suite
    assert suite is not None
    assert [(test.data.get("tags"), test.data["expect"]) for test in suite.tests] == [(None, {"assertions": []})] * 2


def test_templates_are_replaced_in_both() -> None:
    """Also in what the checks of a mapping share."""
    text = GROUPED.replace("2025-06-18", "${v}").replace("name: opens", "name: opens for ${who}")
    text += "agents:\n  - name: greets ${who}\n    prompt: hello ${who}\nvariables: { v: 2025-03-26, who: you }\n"
    suite = check_text(text, options(), base_dir=Path("/nowhere")).suite
    assert suite is not None
    assert [test.data["name"] for test in suite.tests] == ["opens for you", "pings", "greets you"]
    assert suite.tests[0].data["spec_version"] == "2025-03-26"
    assert suite.tests[2].data["prompt"] == "hello you"


@pytest.mark.parametrize("text", [GROUPED, LISTED], ids=["mapping", "list"])
def test_a_check_is_appended_with_every_other_byte_kept(text: str) -> None:
    """Where the checks stand in a mapping, it goes into its list."""
    after = apply(text, append_test(text, "compliance", {"name": "lists", "check": "tools/list"}))
    assert after.replace("\n    - name: lists\n      check: tools/list", "").replace(
        "\n  - name: lists\n    check: tools/list", ""
    ) == (text)
    suite = check_text(after, options(), base_dir=Path("/nowhere")).suite
    assert suite is not None
    assert "lists" in [test.data["name"] for test in suite.tests]


def test_the_test_on_a_line_is_found_in_either_shape() -> None:
    """By its path in the file."""
    assert [place_of_test(GROUPED, line) for line in (3, 7, 8)] == [
        None,
        ("compliance", "checks", 0),
        ("compliance", "checks", 1),
    ]
    assert [place_of_test(LISTED, line) for line in (4, 6)] == [("compliance", 0), ("agents", 0)]
    expect = [{"target": "result", "matcher": {"exists": True}}]
    after = apply(GROUPED, replace_expect(GROUPED, 7, expect))
    assert "# the first\n    - name: opens\n      check: initialize\n      expect:" in after


@pytest.mark.parametrize(
    ("below", "typed", "offered"),
    [
        ("compliance:\n  - name: a\n", "    check: to", "tools/list"),
        ("compliance:\n  checks:\n    - name: a\n", "      spec", "spec_version"),
        ("compliance:\n  - name: a\n    expect:\n", "      - target: ses", "session.protocol_version"),
        ("agents:\n  - name: a\n", "    syst", "system_prompt"),
        ("agents:\n  - name: a\n    expect:\n", "      - target: fin", "final_response"),
        ("agents:\n  - name: a\n", "    servers: [a", "api"),
    ],
    ids=lambda text: text.strip(),
)
def test_an_editor_is_offered_the_words_of_both(below: str, typed: str, offered: str) -> None:
    """Keys, checks, revisions, targets and servers."""
    text = f"servers: {{ api: {{ command: [python] }} }}\n{below}{typed}\n"
    line = text.count("\n")
    assert complete(text, line, len(typed) + 1).items[0].label == offered

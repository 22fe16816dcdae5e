"""The ledger of an agent's session: who weakened a test to make it pass is named, who corrected the server is not."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.run_record import RunRecord
from mcptest_engine.reporting.record_schema import record_fault
from mcptest_engine.reporting.registry import render
from tests.front_door.session import suite, weaken
from tests.viewer.kept import viewing

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path


class _Sections(HTMLParser):
    """The text of each section of a page by its id."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: dict[str, str] = {}
        self._at = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "section":
            self._at = dict(attrs).get("id") or ""

    def handle_data(self, data: str) -> None:
        self.texts[self._at] = self.texts.get(self._at, "") + data


def sections_of(page: str) -> dict[str, str]:
    parser = _Sections()
    parser.feed(page)
    return parser.texts


def test_a_session_names_the_tests_that_an_agent_weakened_to_make_them_pass(tmp_path: Path) -> None:
    """On the session's page, in the reports, in the record, and in the answer to the agent."""
    session = weaken(tmp_path)
    assert [answer["verdict"] for answer in session.answers] == ["fail", "fail", "fail", "pass"]
    told = [" ".join(answer.get("notes", ())) for answer in session.answers]
    assert told[0] == told[2] == ""
    assert told[1].startswith('"add of 3 and 2" passes because the test changed: assertion weakened')
    assert [run.get("to_review") for run in session.listed] == [1, None, 1, None]
    assert told[3] == '"mul of 3 and 2" was dropped: skipped: later'
    data = json.loads((tmp_path / ".mcptest" / "runs" / f"{session.last}.json").read_bytes())
    assert record_fault(data) is None
    assert data["requested_by"]["lineage"] == session.answers[0]["run_id"], "the file continues the suite of the text"
    found = {turn["test"].partition(" ")[0]: turn for turn in data["ledger"]["turns"]}
    assert {tool: (turn["cause"], turn["after"]) for tool, turn in found.items()} == {
        "add": ("test", "pass"), "sub": ("server", "pass"), "mul": ("test", "skip"),
    }  # fmt: skip
    (change,) = found["add"]["changes"]
    assert (change["kind"], change["before"], change["after"]) == (
        "assertion_weakened", "exact: 5", 'type: "number"'
    )  # fmt: skip
    assert found["sub"]["server_changes"] == ["`calc.py` changed"]
    assert {tool["tool"]: (tool["status"], tool.get("strength")) for tool in data["ledger"]["tools"]} == {
        "add": ("passed", "shape"), "sub": ("passed", "value"), "mul": ("skipped", None), "pow": ("untouched", None),
    }  # fmt: skip
    record = RunRecord.from_json(data)
    assert record.to_json() == data
    ledger = sections_of(render("html", record).text)["ledger"]
    assert re.search(
        r"Passes because the test changed.*add of 3 and 2.*Passes because the server.*sub of", ledger, re.DOTALL
    )
    markdown = render("md", record).text
    assert markdown.index("### Passes because the test changed") < markdown.index("All tests")
    assert "4 tools: 2 passed, 1 skipped, 1 untouched" in markdown
    assert 'NOTE "mul of 3 and 2" was dropped: skipped: later' in render("agent", record).text
    with viewing(tmp_path) as viewed:
        assert data["requested_by"]["session"] in viewed.get("/sessions").text
        page = sections_of(viewed.get(f"/sessions/{data['requested_by']['session']}").text)
        assert viewed.get("/sessions/none").status_code == 404
        assert viewed.get("/").text.count("1 test to review") == 2
    assert list(page)[1:3] == ["changed", "tools"], "it comes first"
    assert "add of 3 and 2" in page["changed"]
    assert "mul of 3 and 2" in page["changed"]
    assert "sub of 3 and 2" not in page["changed"]
    assert "sub of 3 and 2" in page["others"]


def test_two_runs_of_the_command_line_are_held_against_each_other(
    mcptest: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    """A person's runs as well; of a part of the tests the others are not missed."""
    from tests.front_door.session import SERVER

    (tmp_path / "calc.py").write_text(SERVER)
    path = tmp_path / "mcptest.yml"

    def ran(*options: str, **changes: Any) -> dict[str, Any]:
        written = json.loads(suite(**changes))
        written["servers"]["calc"]["command"] += ["--api-key", "a-secret-of-this-suite", "--token=another", "--fast"]
        path.write_text(json.dumps(written))
        mcptest("run", "--reporter", "json=r.json", *options)
        found: dict[str, Any] = json.loads((tmp_path / "r.json").read_bytes())
        return found

    first = ran()
    assert first["ledger"]["turns"] == []
    (server,) = first["servers"]
    assert server["reached"][-4:] == ["--api-key", "[REDACTED]", "--token=[REDACTED]", "--fast"]
    assert [*server["program"]] == ["calc.py"]
    assert "a-secret-of" not in json.dumps(first)
    part = ran("--filter", "add of 3 and 2", add={"expect": []})
    assert part["subset"] == {"taken": 1, "declared": 3}
    (turn,) = part["ledger"]["turns"]
    assert (turn["test"], turn["cause"]) == ("add of 3 and 2", "test")
    assert "assertion_removed" in [change["kind"] for change in turn["changes"]]
    (later,) = ran(add={"expect": []}, mul={"args": {"a": 1, "b": 5}})["ledger"]["turns"]
    assert (later["test"], later["changes"][0]["kind"]) == ("mul of 3 and 2", "arguments_changed")
    skipped = ran(**{tool: {"skip": True} for tool in ("add", "sub", "mul")})["ledger"]["turns"]
    assert [(turn["before"], turn["after"], turn["cause"]) for turn in skipped] == [
        ("pass", "skip", "test"), ("fail", "skip", "test"), ("pass", "skip", "test")
    ]  # fmt: skip

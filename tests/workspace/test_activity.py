"""What agents left in a workspace, as rows: only what is theirs, newest first, whatever lies in the folders."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from mcptest_engine.workspace.activity import Activity
from mcptest_engine.workspace.agent_files import save_inline
from mcptest_engine.workspace.json_beginnings import FIRST_BYTES, head_of
from mcptest_engine.workspace.ulid import new_ulid, ulid_seconds
from mcptest_engine.workspace.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

BY = {"via": "mcp-server", "client": {"name": "agent", "version": "3"}}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = Workspace(tmp_path)
    made.make_runs_dir()
    return made


def saved(workspace: Workspace, **members: object) -> str:
    run_id = new_ulid()
    totals = {"total": 3, "passed": 1, "failed": 2, "inconclusive": 0, "skipped": 0}
    head = {"run_id": run_id, "verdict": "fail", "duration_ms": 1.5, "mode": "live"}
    suite = {"name": "s", "path": "s.yml", "sha256": "0"}
    record = {**head, "requested_by": BY, "suite": suite, "totals": totals, **members, "tests": []}
    record = {key: value for key, value in record.items() if value is not None}
    (workspace.runs_dir / f"{run_id}.json").write_text(json.dumps(record))
    return run_id


def test_runs_of_the_front_door_are_told_and_those_of_a_person_are_not(workspace: Workspace) -> None:
    saved(workspace, requested_by=None)
    run_id = saved(workspace, mode="recorded", cassette="tape")
    rows, more = Activity(workspace).rows()
    assert not more
    (row,) = rows
    assert (row["id"], row["kind"], row["client"]) == (run_id, "run", {"name": "agent", "version": "3"})
    assert (row["suite"], row["cassette"], row["totals"]["failed"], row["inline"]) == ("s.yml", "tape", 2, False)
    assert row["at"] == ulid_seconds(run_id)


def test_a_suite_that_came_as_text_is_one_row_with_its_run(workspace: Workspace) -> None:
    """Also where an older version made the record, which did not say who asked."""
    waiting = new_ulid()
    save_inline(workspace, waiting, "tools: []")
    decided = saved(workspace)
    save_inline(workspace, decided, "tools: []")
    path = workspace.runs_dir / f"{decided}.json"
    record = json.loads(path.read_bytes())
    record["suite"]["path"] = f".mcptest/inline/{decided}.yml"
    del record["requested_by"]
    path.write_text(json.dumps(record))
    rows, _ = Activity(workspace).rows()
    assert [(row["id"], row["kind"]) for row in rows] == [(decided, "run"), (waiting, "inline")]
    assert rows[0]["inline"] is True
    assert "client" not in rows[0]


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[1, 2]",
        b'{"run_id": "01',
        b"\xff\xfe\x00",
        b'{"a": ' + b"[" * 100_000,
        b'{"suite": 1}',
        b'{"suite": {}, "totals": []}',
        b'{"suite": {}, "totals": {}, "run_id": "another"}',
        b"{1: 2}",
        b'{"a": 1 "b": 2}',
        b'{"a": ' + b"1" * 10_000 + b"}",
    ],
    ids=lambda text: text[:24].decode("latin-1"),
)
def test_what_is_no_record_is_told_as_unreadable(workspace: Workspace, text: bytes) -> None:
    """A file that is torn, foreign, or made to trip its reader."""
    run_id = new_ulid()
    (workspace.runs_dir / f"{run_id}.json").write_bytes(text)
    rows, _ = Activity(workspace).rows()
    assert [(row["id"], row["kind"]) for row in rows] == [(run_id, "unreadable")]


def test_a_pipe_a_folder_or_a_link_in_the_place_of_a_record_is_not_waited_for(workspace: Workspace) -> None:
    os.mkfifo(workspace.runs_dir / f"{new_ulid()}.json")
    (workspace.runs_dir / f"{new_ulid()}.json").mkdir()
    (workspace.runs_dir / f"{new_ulid()}.json").symlink_to("nowhere")
    (workspace.runs_dir / "notes.json").write_text("{}")
    rows, _ = Activity(workspace).rows()
    assert [row["kind"] for row in rows] == ["unreadable"] * 3


@pytest.mark.parametrize("value", [None, [], {}, "x", -1, True, 1e300, float("inf")])
def test_members_of_another_type_are_taken_for_nothing(workspace: Workspace, value: object) -> None:
    totals = {"total": value, "failed": value}
    saved(workspace, totals=totals, duration_ms=value, verdict=value, cassette=value, interrupted=value)
    rows, _ = Activity(workspace).rows()
    assert [row["kind"] for row in rows] == ["run"]
    assert json.loads(json.dumps(rows, allow_nan=False)) == rows


def test_only_as_much_as_was_asked_for_is_looked_at(workspace: Workspace) -> None:
    """The newest; a suite as text is not called without a result because its record was left out."""
    ids = [saved(workspace) for _ in range(6)]
    for run_id in ids:
        save_inline(workspace, run_id, "tools: []")
    rows, more = Activity(workspace).rows(2)
    assert more
    assert [row["id"] for row in rows] == [ids[5], ids[4]]
    rows, more = Activity(workspace).rows(6)
    assert not more
    assert [row["id"] for row in rows] == ids[::-1]


def test_a_head_is_read_once_and_again_when_the_file_is_another(workspace: Workspace) -> None:
    run_id = new_ulid()
    path = workspace.runs_dir / f"{run_id}.json"
    path.write_text('{"run_id"')
    activity = Activity(workspace)
    assert [row["kind"] for row in activity.rows()[0]] == ["unreadable"]
    path.write_text(json.dumps({"run_id": run_id, "requested_by": BY, "suite": {}, "totals": {}, "tests": []}))
    assert [row["kind"] for row in activity.rows()[0]] == ["run"]
    os.utime(path, ns=(1, 1))
    state = path.stat()
    assert [row["kind"] for row in activity.rows()[0]] == ["run"]
    path.write_bytes(b"x" * state.st_size)  # of the same size and time: nobody looks
    os.utime(path, ns=(1, 1))
    assert [row["kind"] for row in activity.rows()[0]] == ["run"]


def test_a_head_may_be_long_and_what_comes_after_it_may_be_anything(tmp_path: Path) -> None:
    path = tmp_path / "long.json"
    servers = ["é" * FIRST_BYTES]
    path.write_text(
        f'\n {{ "servers" : {json.dumps(servers)} , "n":12,"totals": {{}}, "tests": [nothing', encoding="utf-8"
    )
    assert head_of(path, "tests") == {"servers": servers, "n": 12, "totals": {}}
    assert head_of(path, "servers") == {}
    assert head_of(path, "nowhere") is None
    path.write_text("{}")
    assert head_of(path, "tests") == {}
    assert head_of(tmp_path / "none.json", "tests") is None


def test_proposals_that_wait_are_told_by_test_and_suite(workspace: Workspace) -> None:
    from mcptest_engine.workspace.proposals import StoredProposal, save_proposal

    proposal = StoredProposal(
        id=new_ulid(), made_at="", source="propose", suite="s.yml", block="tools", test_name="t", expect={"a": 1}
    )
    path = save_proposal(workspace, proposal)
    (row,), _ = Activity(workspace).rows()
    assert (row["kind"], row["name"], row["suite"], row["source"]) == ("proposal", "t", "s.yml", "propose")
    path.with_name(f"{new_ulid()}.json").write_bytes(path.read_bytes())  # not the one that its name says
    assert [row["kind"] for row in Activity(workspace).rows()[0]] == ["unreadable", "proposal"]

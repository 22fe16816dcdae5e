"""What agents did, as the child tells it; and what it says of a run that it cannot read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from mcptest_engine.engine_process import agents
from mcptest_engine.workspace.ulid import new_ulid
from tests.engine_process.conftest import Refusal
from tests.tui.agents.working import kept

if TYPE_CHECKING:
    from pathlib import Path

    from tests.engine_process.conftest import Child


def test_runs_of_agents_are_listed_and_one_is_told_with_its_failures(child: Child, place: Path) -> None:
    assert child.ask("agents") == {"rows": [], "more": False}
    kept(place, requested_by=None)
    run_id = kept(place, failed=1)
    answer = child.ask("agents", newest=10)
    assert [row["id"] for row in answer["rows"]] == [run_id]
    told = child.ask("agents_run", run_id=run_id)
    assert told["record"]["requested_by"] == {"via": "mcp-server", "client": {"name": "agent", "version": "1"}}
    assert (told["record"]["totals"]["failed"], told["tests"], told["others"], told["left_out"]) == (1, [], [], 0)


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "01", "x" * 26, "01J00000000000000000000000/.."])
def test_only_an_id_names_a_run(child: Child, name: str) -> None:
    with pytest.raises(Refusal, match="this row is not a run's id"):
        child.ask("agents_run", run_id=name)


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record.pop("totals"),
        lambda record: record.update(tests=[1]),
        lambda record: record.update(tests=[{"verdict": "fail", "name": 1}]),
        lambda record: record.update(schema_version="mcptest.run/v9"),
        lambda record: record.update(servers=3),
        lambda record: record.update(hooks=[[]]),
    ],
)
def test_a_record_that_is_none_is_refused_and_the_next_question_answered(child: Child, place: Path, change) -> None:
    run_id = kept(place)
    path = place / ".mcptest" / "runs" / f"{run_id}.json"
    record = json.loads(path.read_bytes())
    change(record)
    path.write_text(json.dumps(record))
    with pytest.raises(Refusal, match="record"):
        child.ask("agents_run", run_id=run_id)
    with pytest.raises(Refusal, match="cannot be read"):
        child.ask("agents_run", run_id=new_ulid())


def test_a_record_as_large_as_a_disk_is_not_read(child: Child, place: Path) -> None:
    run_id = new_ulid()
    path = place / ".mcptest" / "runs" / f"{run_id}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.truncate(agents.LARGEST_RECORD + 1)
    assert [row["kind"] for row in child.ask("agents")["rows"]] == ["unreadable"]
    with pytest.raises(Refusal, match=r"too large to be shown here \(67 MB\)"):
        child.ask("agents_run", run_id=run_id)

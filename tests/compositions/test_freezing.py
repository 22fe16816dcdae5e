"""`freeze: record` keeps what a node gave, `golden` gives it again and asks no server."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.core.errors import UsageError
from mcptest_engine.core.results import Verdict
from mcptest_engine.workspace.cassettes import cassette_names, cassette_path
from mcptest_engine.workspace.workspace import Workspace
from tests.compositions.conftest import calls_in, nodes_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mcptest_engine.core.run_record import RunRecord

    Run = Callable[..., RunRecord]

CASES = [{"name": "one", "vars": {"q": 1}}, {"name": "two", "vars": {"q": 2}}]


def composition(freeze: str, *, q: str = "${var.q}", cases: Any = CASES) -> dict[str, Any]:
    search = {"id": "search", "tool": "give", "args": {"value": {"list": [q, 5]}}, "freeze": freeze}
    each = {"id": "each", "tool": "give", "needs": ["search"], "args": {"value": {"n": "${item}"}}, "freeze": freeze}
    each |= {"for_each": "${search.structuredContent.list}", "transform": {"jq": ".result.structuredContent.n"}}
    return {"nodes": [search, each], "cases": cases, "output": "each"}


def test_what_was_recorded_is_given_again_and_no_server_is_started(run: Run, log: Path, tmp_path: Path) -> None:
    recorded = run(composition("record"))
    assert [test.verdict for test in recorded.tests] == [Verdict.PASS, Verdict.PASS]
    assert any(
        "6 results of 4 nodes saved in .mcptest/cassettes/mcptest.frozen.json" in text for text in recorded.warnings
    )
    log.unlink()
    golden = run(composition("golden"))
    assert [test.output for test in golden.tests] == [test.output for test in recorded.tests]
    assert [test.output for test in golden.tests] == [{"output": [1, 5]}, {"output": [2, 5]}]
    assert golden.servers == ()
    assert not log.exists()
    assert nodes_of(golden)["search"]["frozen"] is True


def test_recording_again_changes_only_what_was_recorded_again(run: Run, tmp_path: Path) -> None:
    kept = tmp_path / ".mcptest" / "cassettes" / "mcptest.frozen.json"
    run(composition("record"))
    before = json.loads(kept.read_text())
    run(composition("record", cases=[CASES[0], {"name": "two", "vars": {"q": 9}}]))
    after = json.loads(kept.read_text())
    assert [entry["case"] for entry in after["nodes"]] == [entry["case"] for entry in before["nodes"]]
    changed = [entry["args"] for entry, old in zip(after["nodes"], before["nodes"], strict=True) if entry != old]
    assert changed == [{"value": {"n": 9}}, {"value": {"list": [9, 5]}}]
    assert after["schema_version"] == "mcptest.cassette/v1"


def test_a_result_that_was_not_kept_fails_its_node_with_the_way_out(run: Run, log: Path) -> None:
    record = run(composition("golden"))
    assert record.tests[0].verdict is Verdict.FAIL
    assert record.tests[0].message == (
        "node `search` failed: `freeze: golden`: there is no saved result of this node (1 node skipped)"
    )
    assert record.tests[0].failure is not None
    assert record.tests[0].failure.hint is not None
    assert record.tests[0].failure.hint.startswith("write `freeze: record`, run once")
    assert calls_in(log) == []


def test_a_result_for_other_args_is_not_taken(run: Run) -> None:
    run(composition("record"))
    record = run(composition("golden", q="other"))
    assert record.tests[0].message is not None
    assert "there is no saved result of this node with these args" in record.tests[0].message


def test_a_result_of_another_tool_is_not_taken(run: Run) -> None:
    """A node that was turned to another tool since would be green without anybody having asked that one."""
    asked = {"id": "a", "tool": "give", "args": {"text": "x"}}
    run({"nodes": [{**asked, "freeze": "record"}]})
    record = run({"nodes": [{**asked, "tool": "refuse", "freeze": "golden"}]})
    assert nodes_of(record)["a"]["message"] == (
        "`freeze: golden`: the saved result of this node came from `give` of server `shop`"
    )


def test_two_compositions_of_one_name_each_have_their_own_results(run: Run) -> None:
    def both(freeze: str) -> list[dict[str, Any]]:
        counted = {"id": "a", "tool": "count", "args": {"key": "k"}, "freeze": freeze}
        return [{"name": "twin", "nodes": [counted], "cases": CASES[:1]}] * 2

    recorded = run(*both("record"), workers=1)
    golden = run(*both("golden"))
    assert [test.output for test in golden.tests] == [test.output for test in recorded.tests]
    assert nodes_of(golden, 0)["a"]["output"] != nodes_of(golden, 1)["a"]["output"]


def test_what_is_nested_too_deeply_to_be_kept_is_told_and_fails_nothing(run: Run) -> None:
    over = {
        "id": "a",
        "tool": "give",
        "args": {},
        "mock": {"result": 1},
        "transform": {"jq": "reduce range(600) as $_ (0; [.])"},
    }
    asked = {"id": "b", "tool": "give", "needs": ["a"], "args": {"value": {"deep": "${a}"}}}
    record = run({"nodes": [over, {**asked, "freeze": "record"}]})
    assert record.tests[0].verdict is Verdict.PASS, record.tests[0].message
    assert record.warnings == ("no result of `b` of `c0` was saved: its args or results are nested too deeply",)


def test_half_of_a_node_does_not_take_the_place_of_the_whole(run: Run, tmp_path: Path) -> None:
    """Whether a call was not answered, or the budget left nothing for it."""

    def nodes(each: dict[str, Any], **more: Any) -> dict[str, Any]:
        items = {
            "id": "items",
            "tool": "give",
            "mock": {"result": [{"cost_usd": 1, "ms": 0}, {"cost_usd": 2, "ms": 60_000}]},
        }
        each = {"id": "each", "needs": ["items"], "for_each": "${items}", "freeze": "record"} | each
        return {"nodes": [items, each], **more}

    kept = tmp_path / ".mcptest" / "cassettes" / "mcptest.frozen.json"
    args = {"cost_usd": "${item.cost_usd}"}
    run(nodes({"tool": "spend", "args": args}))
    before = json.loads(kept.read_text())["nodes"]
    assert len(before) == 2
    run(nodes({"tool": "spend", "args": args}, budget={"max_cost_usd": 0.5}))
    slow = {"value": "${item}", "ms": "${item.ms}"}
    run(nodes({"tool": "give", "args": slow, "timeout_ms": 300}))
    assert json.loads(kept.read_text())["nodes"] == before


def test_a_refusal_is_kept_as_it_came(run: Run) -> None:
    refused = {"id": "a", "tool": "refuse", "args": {"text": "closed"}}
    run({"nodes": [{**refused, "freeze": "record"}]})
    record = run({"nodes": [{**refused, "freeze": "golden"}]})
    assert nodes_of(record)["a"]["message"] == "the tool reported an error: closed"


def test_every_round_of_a_loop_is_kept(run: Run, log: Path) -> None:
    loop = {"until": ".output.structuredContent.count == 3", "max": 5}
    polled = {"id": "a", "tool": "count", "args": {"key": "k"}, "loop": loop}
    run({"nodes": [{**polled, "freeze": "record"}]})
    record = run({"nodes": [{**polled, "freeze": "golden"}]})
    assert len(nodes_of(record)["a"]["calls"]) == 3
    assert record.tests[0].verdict is Verdict.PASS
    assert [call[0] for call in calls_in(log)].count("start") == 3


def test_secrets_are_taken_out_of_what_is_kept(run: Run, tmp_path: Path) -> None:
    told = {"token": "ghp_0123456789abcdefghijklmnopqrstuvwxyz"}
    asked = {"id": "a", "tool": "give", "args": {"value": told}}
    run({"nodes": [{**asked, "freeze": "record"}]})
    assert "ghp_0123" not in (tmp_path / ".mcptest" / "cassettes" / "mcptest.frozen.json").read_text()
    assert run({"nodes": [{**asked, "freeze": "golden"}]}).tests[0].verdict is Verdict.PASS


def test_a_file_that_is_no_cassette_is_told_before_anything_is_called(run: Run, log: Path, tmp_path: Path) -> None:
    kept = tmp_path / ".mcptest" / "cassettes" / "mcptest.frozen.json"
    kept.parent.mkdir(parents=True)
    for text, told in (
        ("not json", "is not a cassette"),
        ('{"schema_version": "mcptest.cassette/v1", "servers": {}}', "`nodes` is not a list"),
        ('{"schema_version": "mcptest.cassette/v1", "servers": {}, "nodes": [{"node": 3}]}', "node 0 needs texts"),
    ):
        kept.write_text(text)
        with pytest.raises(UsageError, match=told):
            run(composition("golden"))
    assert calls_in(log) == []


def test_a_run_is_recorded_and_replayed_whole(run: Run, log: Path, tmp_path: Path) -> None:
    """`--record` and `--replay` know nothing of nodes, and need not."""
    plain = composition("record")
    recorded = run(plain, record="tape")
    log.unlink()
    kept = tmp_path / ".mcptest" / "cassettes" / "mcptest.frozen.json"
    kept.unlink()
    replayed = run(plain, replay="tape")
    assert [test.output for test in replayed.tests] == [test.output for test in recorded.tests]
    assert not log.exists()
    assert not kept.exists(), "what is replayed is a recording already"


def test_a_file_of_frozen_results_is_no_recording_of_servers(run: Run, tmp_path: Path) -> None:
    run(composition("record"), record="tape")
    workspace = Workspace(tmp_path)
    assert cassette_names(workspace) == ["tape"]
    with pytest.raises(UsageError, match="is not a name for a cassette"):
        cassette_path(workspace, "mcptest.frozen")


def test_a_kept_result_is_judged_as_the_recorded_one_and_holds_no_secret(run: Run, tmp_path: Path) -> None:
    """Equal secrets stay equal, different ones differ, and a pattern holds; a variable's value is the one that it has now."""
    sha, other = "9d1c7e" + ("4f2a" * 10)[6:], "1d1c7e" + ("4f2a" * 10)[6:]
    value = {"sha": sha, "again": sha, "other": other, "password": 4711, "place": "${env.PLACE}"}
    node = {"id": "a", "tool": "give", "args": {"value": value}}
    after = {"id": "b", "tool": "give", "needs": ["a"], "args": {"value": {"sha": "${a.structuredContent.sha}"}}}
    found = "output.structuredContent"
    expect = [
        {"target": f"nodes.a.{found}.sha", "matcher": {"regex": "^[0-9a-f]{40}$"}},
        {"target": f"nodes.a.{found}.password", "matcher": {"type": "integer"}},
        {"target": f"nodes.a.{found}.place", "matcher": {"exact": "${env.PLACE}"}},
        {"target": f"nodes.a.{found}", "transform": {"jq": ".sha == .again"}, "matcher": {"exact": True}},
        {"target": f"nodes.a.{found}", "transform": {"jq": ".sha == .other"}, "matcher": {"exact": False}},
    ]

    def frozen(how: str, place: str) -> RunRecord:
        nodes = [{**node, "freeze": how}, {**after, "freeze": how}]
        return run({"nodes": nodes, "expect": expect, "output": "b"}, environ={"PLACE": place})

    recorded = frozen("record", "a-shop-in-town")
    assert recorded.tests[0].message is None
    kept = tmp_path / ".mcptest" / "cassettes" / "mcptest.frozen.json"
    assert [text for text in (sha, other, "4711", "a-shop-in-town") if text in kept.read_text()] == []
    stand_ins = {one["text"] for one in json.loads(kept.read_text())["stand_ins"]}
    again = frozen("golden", "another-shop-8")
    assert [(test.verdict, test.message) for test in again.tests] == [(Verdict.PASS, None)]
    told = json.dumps(again.to_json())
    assert [text for text in (sha, "another-shop-8", *stand_ins) if text in told] == []
    recorded_again = frozen("record", "a-shop-in-town")
    assert recorded_again.tests[0].message is None
    fresh = {one["text"] for one in json.loads(kept.read_text())["stand_ins"]}
    assert stand_ins.isdisjoint(fresh), "those of results that are gone are gone"

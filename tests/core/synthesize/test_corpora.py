"""Schemas that others wrote: public servers' tools, and the JSON Schema Test Suite. At least 99 % of each.

Where the fixtures come from stands in `fixtures.py` and in the files.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mcptest_engine.core.schemas import compile_schema
from mcptest_engine.core.synthesize import arguments_for, edge_case, probe_cases, synthesize, violation_case

HERE = Path(__file__).parent


def fixture(name: str) -> Any:
    return json.loads((HERE / name).read_text(encoding="utf-8"))


SERVERS = [*fixture("public_servers.json")["servers"], *fixture("more_public_servers.json")["servers"]]
TOOLS = [(f"{server['package']} {tool['name']}", tool) for server in SERVERS for tool in server["tools"]]
SUITE = fixture("test_suite.json")["schemas"]


def test_the_arguments_of_every_public_tool_conform_to_its_schema() -> None:
    """The validator is asked here again, by itself."""
    wrong = []
    for name, tool in TOOLS:
        found = arguments_for(tool)
        if found.problem is not None or not compile_schema(tool["inputSchema"]).is_valid(found.value):
            wrong.append((name, found))
    assert len(TOOLS) > 200
    assert wrong == []


@pytest.mark.parametrize("draft", sorted({entry["draft"] for entry in SUITE}))
def test_every_satisfiable_object_schema_of_the_json_schema_test_suite_is_synthesised(draft: str) -> None:
    """Those that refer to remote documents are not among them, since nothing is ever fetched."""
    entries = [entry for entry in SUITE if entry["draft"] == draft]
    wrong = []
    for entry in entries:
        found = synthesize(entry["schema"])
        if found.problem is not None or not compile_schema(entry["schema"]).is_valid(found.value):
            wrong.append((entry["file"], entry["what"], found))
    assert len(entries) > 70
    assert wrong == []


@pytest.mark.parametrize("draft", ["draft2020-12", "draft7"])
def test_an_object_is_found_wherever_a_tool_would_have_to_take_one(draft: str) -> None:
    """The same schemas as input schemas: each has an object that conforms, by how they were chosen."""
    wrong = []
    for entry in SUITE:
        if entry["draft"] == draft:
            found = arguments_for({"name": "tool", "inputSchema": entry["schema"]})
            if found.problem is not None or not isinstance(found.value, dict):
                wrong.append((entry["file"], entry["what"], found))
    assert wrong == []


@pytest.mark.parametrize("server", SERVERS, ids=lambda server: server["package"])
def test_cases_of_public_tools_are_what_they_claim_to_be(server: Any) -> None:
    """Each case is valid or not as it says, and no two of one tool are the same call."""
    for tool in server["tools"]:
        validator = compile_schema(tool["inputSchema"])
        edge, violation = edge_case(tool), violation_case(tool)
        cases = [case for case in (edge, violation) if case is not None] + list(probe_cases(tool))
        for case in cases:
            assert validator.is_valid(case.arguments) is case.valid, (tool["name"], case)
            assert case.name.isprintable()
        calls = [json.dumps(case.arguments, sort_keys=True) for case in cases]
        calls.append(json.dumps(arguments_for(tool).value, sort_keys=True))
        assert len(set(calls)) == len(calls), tool["name"]
        assert edge is None or edge.valid
        assert violation is None or not violation.valid

"""The front door and clients that we did not write: the MCP Inspector's command line, and the official TypeScript client."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.front_door.conftest import DEMO, SUITE
from tests.programs import needs, needs_npm, search_path

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
HERE = Path(__file__).parent


@pytest.fixture
def inspector(mcptest_command: str, tmp_path: Path, clean_environ: dict[str, str]) -> Callable[..., Any]:
    """Run one method of the Inspector's command line against the front door: inspector(*words) -> the JSON it prints."""
    program = needs_npm("mcp-inspector")
    (tmp_path / ".mcptest").mkdir()

    def inspect(*words: str, code: int = 0) -> Any:
        done = subprocess.run(
            [program, "--cli", mcptest_command, "mcp-server", "--enable-writes", *words],
            cwd=tmp_path,
            env={**clean_environ, "PATH": search_path()},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return json.loads(done.stdout)

    return inspect


def test_the_inspector_lists_verbs_whose_schemas_every_client_can_use(inspector: Callable[..., Any]) -> None:
    """`--strict` ends in an error for a schema that some clients could not hand to their model."""
    tools = inspector("--method", "tools/list", "--strict")["tools"]
    assert {"list_tools", "validate_suite", "run_tool_test"} <= {tool["name"] for tool in tools}


def test_the_inspector_runs_a_suite_and_reads_what_a_test_gave(inspector: Callable[..., Any]) -> None:
    checked = inspector("--method", "tools/call", "--tool-name", "validate_suite", "--tool-arg", "suite=serverz: {}")
    assert checked["structuredContent"]["errors"][0]["hint"] == "did you mean `servers`?"
    ran = inspector("--method", "tools/call", "--tool-name", "run_tool_test", "--tool-arg", f"suite={SUITE}")
    assert ran["structuredContent"]["failed"] == 1
    (first, *_) = inspector("--method", "resources/list")["resources"]
    (read,) = inspector("--method", "resources/read", "--uri", first["uri"])["contents"]
    assert "operational" in json.loads(read["text"])["result"]["content"][0]["text"]


def test_the_typescript_client_goes_the_whole_loop(
    mcptest_command: str, tmp_path: Path, clean_environ: dict[str, str]
) -> None:
    needs_npm("mcp-inspector")
    (tmp_path / ".mcptest").mkdir()
    hanging = {
        "servers": {
            "mock": {"command": DEMO},
            "hung": {"command": [*DEMO, "--fault", "hang"]},
        },
        "tools": [{"name": name, "server": name, "tool": "status"} for name in ("mock", "hung")],
    }
    told = {"command": mcptest_command, "server": DEMO, "hanging": json.dumps(hanging)}
    done = subprocess.run(
        [needs("node"), str(HERE / "agent.mjs"), json.dumps(told)],
        cwd=tmp_path,
        env={**clean_environ, "PATH": search_path()},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["writesEnabled"] is True
    assert {"scaffold_suite", "run_tool_test", "record_cassette"} <= set(found["verbs"])
    assert "status" in found["tools"]
    assert found["valid"] is True
    assert found["run"]["verdict"] == "pass"
    assert found["progress"][-1] == [found["run"]["total"], found["run"]["total"]]
    assert [test["name"] for test in found["kept"]["tests"]] == [row["name"] for row in found["run"]["results"]]
    assert found["kept"]["requested_by"]["client"] == {"name": "agent.mjs", "version": "1.0.0"}
    assert found["proposed"]["calls_made"] == 2
    assert "result" in found["output"]
    assert "list_runs" in found["refused"]
    assert "enough" in found["cancelled"]
    assert found["runs"][-1] == found["run"]["run_id"]  # the cancelled one may be stored already, as a newer run

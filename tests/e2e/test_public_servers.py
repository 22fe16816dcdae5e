"""The suites of `examples/public/` pass against the servers that they are about, as people install them."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.programs import needs, needs_npm, search_path

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Command = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = pytest.mark.e2e
NPM = {
    "filesystem.yml": "mcp-server-filesystem",
    "filesystem-roots.yml": "mcp-server-filesystem",
    "memory.yml": "mcp-server-memory",
    "sequential-thinking.yml": "mcp-server-sequential-thinking",
    "everything.yml": "mcp-server-everything",
}
HTTP = {"streamableHttp": "mcp", "sse": "sse"}


def run(mcptest: Command, suite: Path, *flags: str, **environ: str) -> dict[str, Any]:
    """The record of a run in which every test passed."""
    done = mcptest("run", suite.name, "--reporter", "json", *flags, cwd=suite.parent, PATH=search_path(), **environ)
    record: dict[str, Any] = json.loads(done.stdout or "{}")
    told = [(test["name"], test.get("message")) for test in record.get("tests", ()) if test["verdict"] != "pass"]
    assert (done.returncode, told) == (0, []), done.stderr
    return record


@pytest.mark.parametrize("name", sorted(NPM))
def test_a_public_server_from_npm_passes_its_suite(mcptest: Command, public: Path, tmp_path: Path, name: str) -> None:
    needs_npm(NPM[name])
    record = run(mcptest, public / name, MEMORY_FILE_PATH=str(tmp_path / "graph.jsonl"))
    assert record["totals"]["passed"] == record["totals"]["total"]


def test_a_suite_may_run_again_on_what_it_left_behind(mcptest: Command, public: Path) -> None:
    """The README of the suites: only git.yml wants something new for each run."""
    needs_npm("mcp-server-filesystem")
    run(mcptest, public / "filesystem.yml")
    assert (public / "files" / "scratch" / "letter.txt").read_text() == "Dear Ada,\n"
    run(mcptest, public / "filesystem.yml")


@pytest.mark.usefixtures("public_python_servers")
def test_the_time_server_from_pypi_passes_its_suite(mcptest: Command, public: Path) -> None:
    run(mcptest, public / "time.yml")


@pytest.mark.usefixtures("public_python_servers")
def test_the_git_server_from_pypi_passes_its_suite(mcptest: Command, public: Path, tmp_path: Path) -> None:
    """The repository is made by the script that the suite's head names."""
    needs("git")
    repository = tmp_path / "repository"
    subprocess.run(
        [public / "make-repository", repository], check=True, env={"PATH": search_path(), "HOME": str(tmp_path)}
    )
    run(mcptest, public / "git.yml", "--var", f"repository={repository}")


@pytest.mark.parametrize("transport", sorted(HTTP))
def test_the_same_suite_passes_over_http(
    mcptest: Command, public: Path, everything: Callable[[str], int], transport: str
) -> None:
    """Streamable HTTP, and the HTTP+SSE transport of 2024 that old servers speak."""
    url = f"http://127.0.0.1:{everything(transport)}/{HTTP[transport]}"
    suite = public / "over-http.yml"
    told = yaml.safe_load((public / "everything.yml").read_text(encoding="utf-8"))
    suite.write_text(yaml.safe_dump({**told, "servers": {"everything": {"url": url}}}, allow_unicode=True))
    record = run(mcptest, suite)
    assert record["servers"][0]["transport"] == {"streamableHttp": "http", "sse": "sse"}[transport]


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "auto"])
def test_a_public_server_is_spoken_to_in_any_revision_that_it_takes(
    mcptest: Command, public: Path, revision: str
) -> None:
    """Both eras: `auto` finds that this server answers no `server/discover` and shakes hands."""
    needs_npm("mcp-server-memory")
    record = run(mcptest, public / "memory.yml", "--protocol", revision, MEMORY_FILE_PATH=str(public / "graph.jsonl"))
    assert record["servers"][0]["protocol_version"] == ("2025-11-25" if revision == "auto" else revision)


@pytest.mark.usefixtures("public_python_servers")
@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28", "auto"])
def test_a_server_of_the_stateless_revision_is_spoken_to_in_either_era(
    mcptest: Command, public: Path, revision: str
) -> None:
    """`mcp-server-time` speaks 2026-07-28 and the handshake revisions."""
    record = run(mcptest, public / "time.yml", "--protocol", revision)
    assert record["servers"][0]["protocol_version"] == ("2026-07-28" if revision == "auto" else revision)

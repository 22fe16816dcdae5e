"""Reports for CI systems name files from the top of the repository, wherever in it the run was started."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Command = Callable[..., subprocess.CompletedProcess[str]]

SUITE = """\
servers: { demo: { command: [mcptest, mock, --preset, demo] } }
tools: [{ name: t, tool: status, expect: [{ target: result.isError, matcher: { exact: true } }] }]
"""


@pytest.mark.parametrize(
    ("reporter", "told"),
    [
        ("github", "file=services/api/mcptest.yml,line=2"),
        ("gitlab", '"path": "services/api/mcptest.yml"'),
        ("sarif", '"uri": "services/api/mcptest.yml"'),
        ("junit", 'file="services/api/mcptest.yml"'),
    ],
)
def test_a_run_in_a_folder_of_the_repository(mcptest: Command, tmp_path: Path, reporter: str, told: str) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True, env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull})
    folder = tmp_path / "services" / "api"
    folder.mkdir(parents=True)
    (folder / "mcptest.yml").write_text(SUITE)
    made = mcptest("run", "--reporter", reporter, cwd=folder)
    assert made.returncode == 1, made.stderr
    assert told in made.stdout
    assert mcptest("report", "--format", reporter, cwd=folder).stdout == made.stdout
    record = json.loads(mcptest("report", "--format", "json", cwd=folder).stdout)
    assert (record["source"]["path"], record["tests"][0]["file"]) == ("services/api", "mcptest.yml")

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


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("https://bob:hunter2pw@git.example/x.git", "https://git.example/x.git"),
        ('"https://bob:hunter;2pw@git.example/x.git"', "https://git.example/x.git"),
        ("https://bob:hunter/2pw@git.example/x.git", "https://git.example/x.git"),
        ("https://bob:hunter@2pw@git.example/x.git", "https://git.example/x.git"),
        ("git+ssh://bob:hunter2pw@git.example/x.git", "git+ssh://git.example/x.git"),
        ("bob:hunter2pw@git.example:x.git", "git.example:x.git"),
        ("git@git.example:x.git", "git@git.example:x.git"),
        ('"https://git.example/x.git" # mine', "https://git.example/x.git"),
    ],
)
def test_the_repository_is_told_without_credentials(mcptest: Command, tmp_path: Path, written: str, told: str) -> None:
    """git-config: a value with `;` or `#` is quoted."""
    subprocess.run(["git", "init", "-q", tmp_path], check=True, env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull})
    with (tmp_path / ".git" / "config").open("a") as config:
        config.write(f'[remote "origin"]\n\turl = {written}\n')
    (tmp_path / "mcptest.yml").write_text(SUITE)
    done = mcptest("run", "--reporter", "json")
    assert json.loads(done.stdout)["source"]["repo"] == told
    assert "2pw" not in done.stdout

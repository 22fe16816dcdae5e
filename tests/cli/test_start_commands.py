"""How a server in a folder may be started, as its project files say it; a broken file suggests nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from mcptest_engine.cli.start_commands import start_commands

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with a few programs on it, none of which may be run: each would end up in no shell."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("python", "node", "npm", "weather-mcp"):
        (folder / name).write_text("#!/nowhere\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    return folder


def shown(folder: Path) -> list[str]:
    return [command.shown for command in start_commands(folder)]


def test_an_empty_folder_suggests_nothing(tmp_path: Path) -> None:
    """Nor does one that is not there."""
    assert shown(tmp_path) == []
    assert shown(tmp_path / "missing") == []


def test_the_scripts_of_pyproject_that_are_installed_are_suggested(tmp_path: Path) -> None:
    """One that is not on PATH needs uv, and there is none here."""
    (tmp_path / "pyproject.toml").write_text('[project.scripts]\nweather-mcp = "a:b"\nother = "a:c"\n')
    assert shown(tmp_path) == ["weather-mcp"]


def test_with_uv_the_others_are_suggested_too(tmp_path: Path, programs: Path) -> None:
    """`uv run` installs what it runs."""
    (programs / "uv").write_text("#!/nowhere\n")
    (programs / "uv").chmod(0o755)
    (tmp_path / "pyproject.toml").write_text('[tool.poetry.scripts]\nother = "a:c"\n')
    assert shown(tmp_path) == ["uv run other"]


def test_package_json_suggests_its_programs_and_its_start_script(tmp_path: Path) -> None:
    """Files that are there, once each; a plain script without npm."""
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / "index.js").write_text("")
    package = {
        "bin": {"a": "./dist/index.js", "b": "gone.js"},
        "main": "dist/index.js",
        "scripts": {"start": "node x.js"},
    }
    (tmp_path / "package.json").write_text(json.dumps(package))
    assert shown(tmp_path) == ["node dist/index.js", "node x.js"]


def test_a_start_script_that_wants_a_shell_goes_through_npm_and_quietly(tmp_path: Path) -> None:
    """Npm's own words on stdout would break the protocol."""
    (tmp_path / "package.json").write_text(json.dumps({"scripts": {"start": "npm run build && node x.js"}}))
    assert shown(tmp_path) == ["npm run --silent start"]


def test_files_with_usual_names_are_suggested(tmp_path: Path) -> None:
    """Python's before Node's."""
    for name in ("index.js", "server.py", "go.mod"):
        (tmp_path / name).write_text("")
    assert shown(tmp_path) == ["python server.py", "node index.js", "go run ."]


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"bin": 3, "scripts": {"start": 4}}', '{"scripts": []}', "\x00", "[" * 100_000]
)
def test_a_broken_package_json_suggests_nothing(text: str, tmp_path: Path) -> None:
    """And raises nothing."""
    (tmp_path / "package.json").write_text(text)
    assert shown(tmp_path) == []


@pytest.mark.parametrize("data", [b"[project", b"\xff\xfe", b"project = 3", b'[project]\nscripts = "x"'])
def test_a_broken_pyproject_suggests_nothing(data: bytes, tmp_path: Path) -> None:
    """And raises nothing."""
    (tmp_path / "pyproject.toml").write_bytes(data)
    assert shown(tmp_path) == []

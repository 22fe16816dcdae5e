"""Which files belong to a server: what its command names and its code, and nothing that changes by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcptest_engine.running.cache_keys import Keys, forbids_storing
from mcptest_engine.servers.spec import ServerSpec, own_command

if TYPE_CHECKING:
    from pathlib import Path


def fingerprint(folder: Path, *command: str, version: str | None = "1", **more: object) -> str:
    env = {"PATH": str(folder / "bin"), **more.pop("env", {})}  # type: ignore[dict-item]
    spec = ServerSpec(name="s", command=command, cwd=str(folder), env=env, **more)  # type: ignore[arg-type]
    return Keys({"s": spec}, {} if version is None else {"s": version}).server("s")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    python, scripts = (
        "app/main.py app/sub/part.py tool.py",
        "server.js lib/helper.ts lib/words.json node_modules/x/server.js",
    )
    for name in f"{python} {scripts} data/one.txt conf.yml run.sh".split():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "serve").write_text("#!/bin/sh")
    (tmp_path / "bin" / "serve").chmod(0o755)
    return tmp_path


@pytest.mark.parametrize(
    ("command", "counts", "does_not"),
    [
        (("serve",), "bin/serve", "tool.py"),
        (("bin/serve",), "bin/serve", "tool.py"),
        (("./tool.py",), "app/sub/part.py", "server.js"),
        (("./run.sh",), "lib/helper.ts", "conf.yml"),
        (("serve", "server.js"), "lib/helper.ts", "tool.py"),
        (("serve", "server.js"), "lib/words.json", "conf.yml"),
        (("serve", "-m", "app"), "app/sub/part.py", "tool.py"),
        (("serve", "-m", "app.main"), "app/sub/part.py", "server.js"),
        (("serve", "-m", "tool"), "tool.py", "server.js"),
        (("serve", "--config=conf.yml"), "conf.yml", "data/one.txt"),
        (("serve", "--config", "./conf.yml"), "conf.yml", "server.js"),
        (("serve", "./data"), "data/one.txt", "conf.yml"),
        (("serve", "data"), "data/one.txt", "conf.yml"),
        (("serve", "-c", "cd data; PYTHON=1 serve conf.yml"), "conf.yml", "server.js"),
        (("serve", "conf.yml", "--log", "serve.log"), "conf.yml", "serve.log"),
        (("serve", "node_modules/x/server.js"), "node_modules/x/server.js", "server.js"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else value,
)
def test_a_file_counts_when_the_command_names_it(
    folder: Path, command: tuple[str, ...], counts: str, does_not: str
) -> None:
    """Of a server with a `server_version`, which says what its other files come to."""
    first = fingerprint(folder, *command)
    for name, same in ((does_not, True), (counts, False)):
        (folder / name).write_text("changed")
        assert (fingerprint(folder, *command) == first) is same, name


@pytest.mark.parametrize(
    ("command", "counts", "does_not"),
    [
        (("serve",), "app/sub/part.py", "data/one.txt"),
        (("serve", "run", "start"), "lib/helper.ts", "conf.yml"),
        (("serve", "-m", "installed.app", "conf.yml"), "tool.py", "data/one.txt"),
        (("serve", "app/main.py"), "tool.py", "server.js"),
        (("serve", "app/main.py"), "uv.lock", "server.js"),
        (("serve", "node_modules/x/server.js"), "node_modules/x/server.js", "server.js"),
        (("mcptest", "mock"), "", "tool.py"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else value,
)
def test_without_a_version_the_sources_of_the_whole_project_count(
    folder: Path, command: tuple[str, ...], counts: str, does_not: str
) -> None:
    """A command seldom names the code that it starts."""
    (folder / "pyproject.toml").touch()
    (folder / "node_modules" / "x" / "package.json").touch()
    command = own_command(command)
    first = fingerprint(folder, *command, version=None)
    (folder / does_not).write_text("changed")
    assert fingerprint(folder, *command, version=None) == first
    if counts:
        (folder / counts).write_text("changed")
        assert fingerprint(folder, *command, version=None) != first


def test_a_script_that_is_a_link_takes_its_modules_from_where_it_really_lies(folder: Path, tmp_path: Path) -> None:
    (folder / "bin" / "linked.py").symlink_to(folder / "app" / "main.py")
    first = fingerprint(folder, "serve", "bin/linked.py")
    (folder / "app" / "sub" / "part.py").write_text("changed")
    assert fingerprint(folder, "serve", "bin/linked.py") != first


@pytest.mark.parametrize(
    ("value", "counts"), [("conf.yml", "conf.yml"), ("nowhere:app", "app/sub/part.py"), ("x.log", None)]
)
def test_a_file_counts_when_a_variable_names_it(folder: Path, value: str, counts: str | None) -> None:
    first = fingerprint(folder, "serve", env={"NAMED": value})
    (folder / (counts or value)).write_text("changed")
    assert (fingerprint(folder, "serve", env={"NAMED": value}) == first) is (counts is None)


def test_a_home_is_no_project(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its sources are everybody's."""
    (folder / "package.json").touch()
    monkeypatch.setenv("HOME", str(folder))
    first = fingerprint(folder, "serve", "lib/helper.ts", version=None)
    (folder / "server.js").write_text("changed")
    assert fingerprint(folder, "serve", "lib/helper.ts", version=None) == first


def test_how_a_server_is_started_counts(folder: Path) -> None:
    plain = fingerprint(folder, "serve")
    assert fingerprint(folder, "serve") == plain
    others = [
        fingerprint(folder, "serve", "x"),
        fingerprint(folder, "serve", protocol="auto"),
        fingerprint(folder, "serve", client={"sampling": "yes"}),
        fingerprint(folder / "data", "serve"),
        fingerprint(folder, "serve", version="2"),
    ]
    assert len({plain, *others}) == 6


@pytest.mark.parametrize(
    ("result", "forbidden"),
    [
        ({"cacheScope": "no-store"}, True),
        ({"_meta": {"cacheScope": "no-store"}}, True),
        ({"cacheScope": "private"}, False),
        ({"cacheScope": ["no-store"]}, False),
        ({"_meta": 7}, False),
        (None, False),
    ],
)
def test_a_server_may_forbid_that_its_answer_is_kept(result: object, forbidden: bool) -> None:
    """SEP-2549."""
    assert forbids_storing(result) is forbidden

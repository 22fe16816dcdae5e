"""The other commands of the child: suites found and read, files watched, and what is said of a command that is none."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from mcptest_engine import __version__
from mcptest_engine.running.documents import Document, document_of
from tests.engine_process.conftest import Refusal
from tests.processes import save

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.engine_process.conftest import Child

SUITE = "servers: { s: { command: [mcptest, mock, --preset, demo] } }\ntools:\n  - { name: a, tool: echo }\n"


def test_hello_says_who_it_is(start: Callable[..., Child]) -> None:
    child = start()
    assert child.ask("hello") == {"version": __version__, "pid": child.process.pid}


def test_hello_sets_where_it_works(start: Callable[..., Child], tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "mcptest.yml").write_text(SUITE, encoding="utf-8")
    child = start()
    child.ask("hello", cwd=str(tmp_path / "elsewhere"))
    assert [found["shown"] for found in child.ask("find", paths=["."])] == ["mcptest.yml"]
    with pytest.raises(Refusal, match="cannot work in"):
        child.ask("hello", cwd=str(tmp_path / "nowhere"))


def test_a_pipe_that_is_named_like_a_suite_is_not_waited_for(child: Child, place: Path) -> None:
    os.mkfifo(place / "pipe.yml")
    (place / "mcptest.yml").write_text(SUITE, encoding="utf-8")
    assert [found["shown"] for found in child.ask("find", paths=["."])] == ["mcptest.yml"]


def test_an_unknown_command_is_refused_and_the_next_one_answered(child: Child) -> None:
    with pytest.raises(Refusal, match="there is no command `frobnicate`"):
        child.ask("frobnicate")
    assert child.ask("find", paths=["."]) == []


def test_a_command_with_the_wrong_arguments_is_refused(child: Child) -> None:
    with pytest.raises(Refusal, match="`find`: missing a required argument: 'paths'"):
        child.ask("find")


@pytest.mark.parametrize(
    "line", [b"{broken\n", b"[1]\n", b"\xff\xfe\n", b'{"ask": 1}\n', b'{"ask": "x", "do": "hello"}\n']
)
def test_a_line_that_is_no_command_is_told_and_survived(child: Child, line: bytes) -> None:
    child.write(line)
    assert child.event("command.failed")["kind"] == "protocol"
    assert child.ask("find", paths=["."]) == []


def test_a_command_without_a_number_is_answered_only_when_it_fails(child: Child) -> None:
    child.send({"do": "watch", "paths": []})
    child.send({"do": "disconnect", "session": "none"})
    child.send({"do": "restart", "session": "none"})
    assert child.event("command.failed")["do"] == "restart"
    assert sum("reply" in told for told in child.told()) == 1


def test_suites_are_found_by_name_and_by_what_is_in_them(child: Child, place: Path) -> None:
    for name in ("mcptest.yml", "b/weather.yaml", "b/c/other.yml"):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(SUITE, encoding="utf-8")
    others = {
        "compose.yml": "services: {}\n",
        "openapi.yaml": "openapi: 3.1.0\nservers: []\npaths: {}\n",
        "manifest.yml": "mock_server:\n  name: x\n",
        ".hidden/mcptest.yml": SUITE,
        "node_modules/mcptest.yml": SUITE,
        "env/pyvenv.cfg": "",
        "env/lib/mcptest.yml": SUITE,
    }
    for name, text in others.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text, encoding="utf-8")
    found = child.ask("find", paths=["."])
    assert [item["shown"] for item in found] == ["mcptest.yml", "b/weather.yaml", "b/c/other.yml"]
    assert found[0]["path"] == str(place / "mcptest.yml")
    assert child.ask("find", paths=["b", "manifest.yml"])[-1]["shown"] == "manifest.yml"


def test_a_suite_is_loaded_as_in_process(child: Child, place: Path, environ: dict[str, str]) -> None:
    path = place / "mcptest.yml"
    path.write_text(SUITE, encoding="utf-8")
    for text in (None, SUITE + "  - { name: b, tol: echo }\n"):
        document = Document.from_json(child.ask("load", path=str(path), text=text))
        own = document_of(path, text, start_dir=place, environ=environ)
        assert document._replace(digest="") == own._replace(digest="")
        assert [test.name for test in document.tests] == ["a", "b"][: 1 if text is None else 2]


def test_the_servers_of_a_suite_are_named_without_its_secrets(start: Callable[..., Child], place: Path) -> None:
    (place / "mcptest.yml").write_text(
        'servers:\n  s:\n    command: [serve, "--key=${env.THE_SECRET}"]\n    env: { A: b }\n'
        "  u: { url: https://example.test/mcp }\n"
        "tools: [{ name: a, server: s, tool: b }]\n",
        encoding="utf-8",
    )
    child = start(THE_SECRET="correct-horse-battery")
    assert child.ask("servers", path="mcptest.yml") == [
        {"name": "s", "transport": "stdio", "target": "serve --key=[REDACTED]", "files": [], "env_names": ["A"]},
        {"name": "u", "transport": "http", "target": "https://example.test/mcp", "files": [], "env_names": []},
    ]


@pytest.mark.parametrize("polling", ["", "1"])
def test_an_atomic_save_is_told_again_and_again(start: Callable[..., Child], place: Path, polling: str) -> None:
    watched, other = place / "mcptest.yml", place / "other.txt"
    watched.write_text("a", encoding="utf-8")
    child = start(**({"WATCHFILES_FORCE_POLLING": polling} if polling else {}))
    child.ask("watch", paths=["mcptest.yml"])
    for number in range(3):
        before = child.count
        other.write_text(str(number), encoding="utf-8")
        save(watched, f"a{number}")
        assert child.event("files.changed", after=before)["paths"] == [str(watched)]


def test_the_watched_files_are_replaced(child: Child, place: Path) -> None:
    (place / "sub").mkdir()
    first, second = place / "first", place / "sub" / "second"
    for path in (first, second):
        path.write_text("a", encoding="utf-8")
    child.ask("watch", paths=[str(first)])
    assert child.event("files.watched")["paths"] == [str(first)]
    child.ask("watch", paths=[str(second)])
    save(first, "b")
    save(second, "b")
    assert child.event("files.changed")["paths"] == [str(second)]
    child.ask("watch", paths=[])
    save(second, "c")
    child.ask("watch", paths=[str(first)])
    save(first, "c")
    assert child.event("files.changed", after=child.count - 1)["paths"] == [str(first)]

"""Documents: a suite as a screen shows it, sound or not, on disk or being typed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcptest_engine.running.diagnostics import end_of_word
from mcptest_engine.running.documents import Diagnostic, Document, Fix, document_of, end_of_entry, watched_by
from mcptest_engine.running.plan import make_plan
from mcptest_engine.running.server_sources import server_sources
from mcptest_engine.running.settings import RunSettings
from mcptest_engine.suite.load import LoadOptions, load_suite
from mcptest_engine.workspace.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SUITE = """\
name: weather
servers:
  w: { command: [python, server.py] }
variables: { city: Oslo }
tools:
  # the first
  - name: forecast for ${var.city}
    tool: forecast
    tags: [smoke]
    expect:
      - { target: result, matcher: { exists: true } }

  # the second
  - { name: alerts, tool: alerts }
  - name: alerts
    tool: alerts
    args: { text: "a
      b" }
resources:
  - name: memo
    uri: memo://one
prompts:
  -
    name: greets
    prompt: greet
"""
SCORER = "scorers: [{{ name: s, type: {}, command: [x] }}]"
COMPOSITION = "compositions: [{{ name: c, nodes: [{{ id: one, tool: t }}], output: {{ assemble: '{}' }} }}]"


@pytest.fixture
def of(place: Path) -> Callable[..., Document]:
    """`of(text)`: the document of `mcptest.yml` with that text, nothing of which is on disk."""

    def read(text: str | None = SUITE, *, name: str = "mcptest.yml", **environ: str) -> Document:
        return document_of(name, text, start_dir=place, environ=environ)

    return read


def errors(document: Document) -> list[Diagnostic]:
    return [told for told in document.diagnostics if told.severity == "error"]


def test_a_sound_document_lists_its_tests_with_their_places(of: Callable[..., Document], place: Path) -> None:
    document = of()
    assert document.sound
    assert document.name == "weather"
    assert errors(document) == []
    assert [(test.name, test.block, test.tool, test.line, test.end_line) for test in document.tests] == [
        ("forecast for Oslo", "tools", "forecast", 7, 11),
        ("alerts", "tools", "alerts", 14, 14),
        ("alerts", "tools", "alerts", 15, 18),
        ("memo", "resources", "memo://one", 20, 21),
        ("greets", "prompts", "greet", 24, 25),
    ]
    assert [test.id.split("::", 1)[1] for test in document.tests][1:3] == ["tool::alerts", "tool::alerts #2"]
    assert {test.server for test in document.tests} == {"w"}
    assert document.files == (str(place / "mcptest.yml"), str(place / ".env"))


def test_ids_are_those_of_a_run(of: Callable[..., Document], place: Path) -> None:
    (place / "mcptest.yml").write_text(SUITE, encoding="utf-8")
    assert [test.id for test in of(None).tests] == planned(place)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["a", "a #2", "a #3", "b", "b #2", "a #2 #2"]), min_size=1, max_size=8))
def test_names_that_repeat_are_numbered_as_in_a_run(tmp_path_factory: pytest.TempPathFactory, names: list[str]) -> None:
    place = tmp_path_factory.mktemp("ids")
    suite: dict[str, Any] = {"servers": {"s": {"command": ["x"]}}, "tools": [{"name": n, "tool": "t"} for n in names]}
    (place / "mcptest.yml").write_text(json.dumps(suite), encoding="utf-8")
    ids = planned(place)
    assert [test.id for test in document_of("mcptest.yml", start_dir=place, environ={}).tests] == ids
    unsound = json.dumps({**suite, "unknown": 1})
    assert [test.id for test in document_of("mcptest.yml", unsound, start_dir=place, environ={}).tests] == ids


def planned(place: Path) -> list[str]:
    suite = load_suite(place / "mcptest.yml", LoadOptions(environ={}, workspace_root=place, start_dir=place))
    return [case.id for case in make_plan(suite, RunSettings(), relative=Workspace(place).relative).cases]


def test_a_wrong_key_is_marked_and_can_be_fixed(of: Callable[..., Document]) -> None:
    (told,) = errors(of(SUITE.replace("tool: forecast", "tol: forecast")))
    assert (told.line, told.column, told.end_column, told.severity) == (8, 5, 8, "error")
    assert told.fix == Fix(8, 5, 8, "tool")
    assert told.pointer == "/tools/0"


@pytest.mark.parametrize(
    ("written", "wrong", "fixed"),
    [
        ("exists: true", "exsits: true", "exists: true"),
        ("target: result", '"traget": result', '"target": result'),
        ("tags: [smoke]", "server: ww", "server: w"),
        ("tags: [smoke]", 'server: "ww"', 'server: "w"'),
        ("var.city", "var.ctiy", "var.city"),
        ("tags: [smoke]", "effects: [Extrnal]", "effects: [external]"),
        ("resources:", f"{SCORER.format('Exec')}\nresources:", f"{SCORER.format('exec')}\nresources:"),
        (
            "resources:",
            f"{COMPOSITION.format('.one.text')}\nresources:",
            f"{COMPOSITION.format('.nodes.one.text')}\nresources:",
        ),
        (
            "resources:",
            f"{COMPOSITION.format('.nods.one')}\nresources:",
            f"{COMPOSITION.format('.nodes.one')}\nresources:",
        ),
    ],
)
def test_a_fix_puts_the_word_that_was_meant(of: Callable[..., Document], written: str, wrong: str, fixed: str) -> None:
    text = SUITE.replace(written, wrong, 1)
    (fix,) = {told.fix for told in of(text).diagnostics if told.fix is not None}
    lines = text.split("\n")
    line = lines[fix.line - 1]
    lines[fix.line - 1] = line[: fix.column - 1] + fix.text + line[fix.end_column - 1 :]
    assert "\n".join(lines) == SUITE.replace(written, fixed, 1)
    assert of("\n".join(lines)).sound


@pytest.mark.parametrize(
    ("line", "fixed"), [("    effects: [External]", "external"), ("scorers: [{ name: x, type: Exec }]", "exec")]
)
def test_capital_letters_alone_are_fixed_too(of: Callable[..., Document], line: str, fixed: str) -> None:
    text = f"servers: {{ s: {{ command: [x] }} }}\ntools:\n  - name: n\n    tool: t\n{line}\n"
    assert [told.fix.text for told in of(text).diagnostics if told.fix is not None] == [fixed]


def test_an_unsound_document_still_lists_its_tests(of: Callable[..., Document]) -> None:
    document = of(SUITE.replace("tool: alerts", "tol: alerts").replace("uri:", "url:"))
    assert not document.sound
    sound = of()
    assert [test.id for test in document.tests] == [test.id for test in sound.tests]
    assert [test.end_line for test in document.tests] == [test.end_line for test in sound.tests]
    assert {test.digest for test in document.tests} == {""}
    assert [server.name for server in document.servers] == ["w"]


@pytest.mark.parametrize(
    ("written", "broken", "left"),
    [
        ("tags: [smoke]", "tags: [smoke", ["alerts", "alerts", "memo", "greets"]),
        ("{ name: alerts, tool: alerts }", "{ name: alerts, tool: ", ["forecast for Oslo", "alerts", "memo", "greets"]),
        ("uri: memo://one", 'uri: "memo://one', ["forecast for Oslo", "alerts", "alerts"]),
        ("variables:", "\tvariables:", ["forecast for ${var.city}", "alerts", "alerts", "memo", "greets"]),
        ("command: [python, server.py]", "command: [python, a: b: c", ["forecast for Oslo", "alerts"]),
    ],
)
def test_a_text_that_is_no_yaml_loses_only_the_tests_around_the_fault(
    of: Callable[..., Document], written: str, broken: str, left: list[str]
) -> None:
    document = of(SUITE.replace(written, broken))
    assert not document.sound
    assert [test.name for test in document.tests][: len(left)] == left


@pytest.mark.parametrize(
    "text", ["", "a", "tools: 3", "tools: [3, {}, {name: 4}]", "servers: []\ntools: {}", "\x00", "- a"]
)
def test_any_text_gives_a_document(of: Callable[..., Document], text: str) -> None:
    document = of(text)
    assert not document.sound
    assert document.diagnostics


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_text_being_typed_never_raises(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """The suite with a piece cut out or put in anywhere."""
    start, end = (data.draw(st.integers(0, len(SUITE))) for _ in range(2))
    piece = data.draw(st.text(alphabet=" \n\t:-{}[]\"'#&*!|>a$\ud800\u202e\r", max_size=4))
    text = SUITE[:start] + piece + SUITE[max(start, end if end - start < 40 else start) :]
    document = document_of("mcptest.yml", text, start_dir=tmp_path_factory.getbasetemp(), environ={})
    for told in document.diagnostics:
        assert told.end_column >= told.column
    for test in document.tests:
        assert 1 <= test.line <= test.end_line


def test_a_missing_file_is_a_diagnostic(of: Callable[..., Document], place: Path) -> None:
    document = of(None)
    assert not document.sound
    assert document.diagnostics[0].message == "there is no such file"
    assert document.diagnostics[0].file == str(place / "mcptest.yml")


def test_a_suite_that_is_too_large_is_refused_without_being_held(of: Callable[..., Document], place: Path) -> None:
    with (place / "mcptest.yml").open("wb") as stream:
        stream.truncate(40 * 1024 * 1024)
    tracemalloc.start()
    document = of(None)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "the file is too large" in document.diagnostics[0].message
    assert most < 20 * 1024 * 1024


def test_imports_are_read_and_their_tests_stand_in_their_files(of: Callable[..., Document], place: Path) -> None:
    (place / "more.yml").write_text("tools:\n  - name: other\n    tool: x\n    tags: [a]\n", encoding="utf-8")
    text = f"imports: [more.yml]\n{SUITE}"
    for broken in (False, True):
        document = of(text.replace("tool: alerts", "tol: alerts") if broken else text)
        assert document.tests[0].name == "other"
        assert (document.tests[0].file, document.tests[0].line, document.tests[0].end_line) == (
            str(place / "more.yml"),
            2,
            4,
        )
        assert str(place / "more.yml") in document.files
    (place / "more.yml").write_text("tools:\n  - name: other\n    tol: x\n", encoding="utf-8")
    (told,) = errors(of(text))
    assert (told.file, told.line, told.end_column) == (str(place / "more.yml"), 3, 8)


def test_a_suite_inside_the_workspace_imports_nothing_from_outside(of: Callable[..., Document], place: Path) -> None:
    """As `mcptest run` has it; one that was opened from elsewhere may."""
    (place.parent / "shared.yml").write_text("tools: [{ name: other, tool: x }]\n", encoding="utf-8")
    assert "is outside of the workspace" in of(f"imports: [../shared.yml]\n{SUITE}").diagnostics[0].message
    outside = place.parent / "other.yml"
    assert document_of(outside, f"imports: [shared.yml]\n{SUITE}", start_dir=place, environ={}).sound


def test_a_digest_changes_with_what_may_change_the_verdict(of: Callable[..., Document], place: Path) -> None:
    server = place / "server.py"
    server.write_text("1", encoding="utf-8")

    def digests(text: str, **environ: str) -> list[str]:
        return [test.digest for test in of(text, **environ).tests]

    base = digests(SUITE)
    assert digests(f"# a comment\n{SUITE}") == base
    moved = digests(SUITE.replace("tool: forecast", "tool: other"))
    assert [new == old for new, old in zip(moved, base, strict=True)] == [False, True, True, True, True]
    assert digests(SUITE.replace("Oslo", "Rome"))[1:] == base[1:]
    assert not set(base) & set(digests(SUITE.replace("server.py]", "server.py, --fast]")))
    server.write_text("22", encoding="utf-8")
    assert not set(base) & set(digests(SUITE))
    assert of().servers[0].files == (str(server),)
    assert str(server) in watched_by(of())


def sources(place: Path, *command: str) -> list[str]:
    return [os.path.relpath(file, place) for file in server_sources(command, place)]


def test_a_servers_files_are_what_it_names_and_the_sources_with_them(place: Path) -> None:
    names = [
        "server.py",
        "tools.py",
        "pkg/a.py",
        "tests/test_a.py",
        "node_modules/x.py",
        ".v/y.py",
        "notes.txt",
        "s.ts",
    ]
    for name in [*names, "env/pyvenv.cfg", "env/lib/z.py", "build.yml"]:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text("", encoding="utf-8")
    assert sources(place, "uv", "run", "server.py", "nowhere.py") == ["server.py", "tools.py", "pkg/a.py"]
    assert sources(place, "mock", "build.yml") == ["build.yml"]
    assert sources(place, "tsx", "./s.ts") == ["s.ts"]
    assert sources(place, "python", "-m", "pkg.a") == ["pkg/a.py"]
    (place / "pkg" / "b.py").write_text("", encoding="utf-8")
    assert sources(place, "python", "-m", "pkg.a", "\0") == ["pkg/a.py", "pkg/b.py"]


def test_a_folder_of_too_many_programs_gives_only_what_is_named(place: Path) -> None:
    for number in range(300):
        (place / f"p{number}.py").write_text("", encoding="utf-8")
    assert sources(place, "python", "p7.py") == ["p7.py"]


def test_a_document_survives_the_pipe(of: Callable[..., Document]) -> None:
    for text in (SUITE, SUITE.replace("tool: forecast", "tol: forecast")):
        document = of(text)
        assert Document.from_json(json.loads(json.dumps(document.to_json()))) == document


def test_line_ends_of_windows_and_a_byte_order_mark_move_nothing(of: Callable[..., Document]) -> None:
    sound = of()
    other = of("\ufeff" + SUITE.replace("\n", "\r\n"))
    assert [(t.line, t.end_line) for t in other.tests] == [(t.line, t.end_line) for t in sound.tests]


def test_no_secret_of_the_environment_gets_into_an_unsound_document(of: Callable[..., Document]) -> None:
    secret = "correct-horse-battery"
    text = SUITE.replace("${var.city}", "${env.MY_TOKEN}").replace("server.py", "${env.MY_TOKEN}")
    document = of(text.replace("tool: alerts", "tol: alerts"), MY_TOKEN=secret)
    assert "forecast for ${env.MY_TOKEN}" in [test.name for test in document.tests]
    assert secret not in json.dumps(document.to_json())


@pytest.mark.parametrize(
    ("line", "column", "marked"),
    [
        ("  - name: a b c  # why", 5, "name"),
        ("  - name: a b c  # why", 11, "a b c"),
        ("  - name: a#b", 11, "a#b"),
        ('  - name: "a: b" ', 11, '"a: b"'),
        ("  - { name: a b, tool: c }", 13, "a b"),
        ("  - { name: a b, tool: c }", 18, "tool"),
        ("  - { name: a }  ", 5, "{ name: a }"),
        ("  'od d' : x", 3, "'od d'"),
        ("url: http://x:1/y", 6, "http://x:1/y"),
        ("x", 9, ""),
    ],
)
def test_the_marked_word_ends_where_it_ends(line: str, column: int, marked: str) -> None:
    end = end_of_word(line, column)
    assert line[column - 1 : end - 1] == marked
    assert end > column


def test_the_end_of_an_entry_leaves_out_what_follows() -> None:
    lines = [
        "tools:",
        "- name: a",
        "  tool: b",
        "",
        "# about c",
        "- name: c",
        "  args:",
        "    x: |",
        "      # no",
        "y: 1",
    ]
    assert end_of_entry(lines, 2) == 3
    assert end_of_entry(lines, 6) in (8, 9)


def test_the_types_are_known_without_reading_a_suite() -> None:
    """What the first paint may import, and what a document may."""
    code = (
        "import sys\n"
        "from mcptest_engine.running.documents import document_of\n"
        "assert 'yaml' not in sys.modules\n"
        "document_of('mcptest.yml', 'tools: []', start_dir='.', environ={})\n"
        "for name in ('pydantic', 'mcp', 'textual', 'httpx2', 'jsonschema', 'rich'): assert name not in sys.modules, name\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)

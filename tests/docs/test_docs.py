"""The docs say what the product does."""

from __future__ import annotations

import importlib.util
import re
import shlex
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pytest
import yaml

from mcptest_engine.cli.main import COMMANDS, WORKBENCH, group
from mcptest_engine.core.enums import ExpectedOutcome, FailureKind, Verdict
from mcptest_engine.core.errors import ExitCode
from mcptest_engine.judging.matchers import MATCHERS
from mcptest_engine.mock.faults import SPELLINGS
from mcptest_engine.mock.presets import preset_names
from mcptest_engine.mock.reading import load_manifest
from mcptest_engine.reporting.record_schema import record_schema
from mcptest_engine.reporting.registry import FORMATS
from mcptest_engine.suite.load import LoadOptions, check_text
from mcptest_engine.suite.schema_walk import suite_schema

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from tests.forked import Nursery

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
QUICKSTART = ROOT / "examples" / "quickstart.yml"
PICTURE = DOCS / "images" / "run.svg"
BIN = Path(sys.executable).parent
ENVIRON = {"PATH": "/usr/bin", "FILES_API_KEY": "x", "WEATHER_KEY": "x", "SEARCH_TOKEN": "x", "SEARCH_KEY": "x"}


def script(name: str) -> ModuleType:
    """A script of `docs/` as a module."""
    if f"docs_{name}" not in sys.modules:
        spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[f"docs_{name}"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[f"docs_{name}"]


sessions = script("sessions")
PAGES = sessions.PAGES


def page_name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def yaml_fences(path: Path) -> Iterator[Any]:
    return (fence for fence in sessions.fences(read(path)) if fence.language == "yaml")


def command_lines(path: Path) -> list[str]:
    """Every line of a fence, and every code span, that begins with `mcptest` and a command."""
    page = read(path)
    fenced = [line for fence in sessions.fences(page) for line in fence.body.splitlines() if fence.mark != "file"]
    lines = [
        found[1] for line in fenced if (found := re.match(r"\s*(?:\$ |- run: |- |repro: )?(mcptest [a-z].*)", line))
    ]
    spans = re.findall(r"`(mcptest [a-z][^`]*)`", re.sub(r"^(```+).*?^\1$", "", page, flags=re.MULTILINE | re.DOTALL))
    return [*lines, *spans]


def arguments_of(line: str) -> list[str]:
    """The words after `mcptest`, up to a pipe, a redirection, a comment or an `&`."""
    line = re.sub(r"\$\{\{.*?\}\}", "1", line)
    words = shlex.split(line, comments=True)[1:]
    ends = [place for place, word in enumerate(words) if word in {"|", ">", ">>", "&"}]
    return words[: ends[0]] if ends else words


@pytest.mark.parametrize("name", sorted(script("generate").PAGES))
def test_a_generated_page_is_what_its_source_gives(name: str) -> None:
    """Run `python docs/generate.py` after changing a model or a command."""
    assert read(DOCS / name) == script("generate").PAGES[name]()


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_link_between_pages_leads_somewhere(page: Path) -> None:
    """A reader who follows a link finds the page, and the section."""
    for target, anchor in re.findall(r"\]\(([^)#]*)(?:#([^)]*))?\)", re.sub(r"`[^`\n]+`", "code", read(page))):
        if "://" in target:
            continue
        linked = page.parent / target if target else page
        assert linked.exists(), target
        if anchor:
            assert anchor in anchors(linked), f"{target}#{anchor}"


def anchors(page: Path) -> set[str]:
    """The anchors that a page's headings get."""
    headings = re.findall(
        r"^#+ (.+)$", re.sub(r"^(```+).*?^\1$", "", read(page), flags=re.MULTILINE | re.DOTALL), re.MULTILINE
    )
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_sample_shows_what_really_comes(page: Path, nursery: Nursery) -> None:
    """Run `python docs/sessions.py` to accept what has changed."""
    for step, real in sessions.play(read(page), f"{nursery.folder()}:{BIN}"):
        assert sessions.matches(step.shown, real), f"$ {step.command}\n{real}"


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_command_line_parses(page: Path) -> None:
    """Also those that no sample runs: each names a command that is there, with options that it takes."""
    for line in command_lines(page):
        name, *arguments = arguments_of(line)
        assert name in (*COMMANDS, WORKBENCH) or line == "mcptest doctor", line
        command = group.get_command(None, name)  # type: ignore[arg-type]
        if command is not None and "FMT" not in line:
            with suppress(click.MissingParameter):  # a command that is only named
                command.make_context(name, arguments, **group.context_settings)


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_suite_on_a_page_is_valid(page: Path, tmp_path: Path) -> None:
    """Readers copy them. One that is wrong on purpose says so in its first line."""
    for fence in yaml_fences(page):
        if not re.search(r"^servers:", fence.body, re.MULTILINE):
            continue
        options = LoadOptions(environ=ENVIRON, workspace_root=tmp_path)
        checked = check_text(fence.body, options, name="page.yml", base_dir=tmp_path)
        wrong_on_purpose = fence.body.startswith("# broken on purpose\n")
        expected = (
            "the suite has no tests",
            "agent test will be inconclusive: this version of mcptest runs no agents yet",
        )
        problems = [str(problem) for problem in checked.problems if not problem.message.endswith(expected)]
        assert bool(problems) == wrong_on_purpose, problems


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_yaml_block_is_yaml_and_every_manifest_loads(page: Path, tmp_path: Path) -> None:
    """The snippets for CI systems as well."""
    for fence in yaml_fences(page):
        yaml.safe_load(fence.body)
        if fence.body.startswith("mock_server:"):
            path = tmp_path / "manifest.yml"
            path.write_text(fence.body, encoding="utf-8")
            assert load_manifest(path).tools


def test_the_readme_opens_with_the_two_commands() -> None:
    """Nothing else needs doing first."""
    first = next(iter(sessions.fences(read(ROOT / "README.md"))))
    assert [step.command.partition("#")[0].strip() for step in sessions.steps(first)] == ["make demo", "make test"]


def test_the_suite_in_the_readme_is_the_quickstart() -> None:
    """It is run as such, by the sample below it."""
    page = read(ROOT / "README.md")
    _, quickstart = QUICKSTART.read_text(encoding="utf-8").split("\n", 1)  # the schema line: of the repository there
    assert quickstart in [fence.body.partition("\n")[2] for fence in yaml_fences(ROOT / "README.md")]
    assert "$ mcptest run examples/quickstart.yml\n  PASS  " in page


def test_the_readme_names_every_command_and_every_reporter() -> None:
    """Its tables are all that many readers will see."""
    page = read(ROOT / "README.md")
    assert [name for name in COMMANDS if f"`mcptest {name}`" not in page and f"`{name}`" not in page] == []
    assert [name for name in FORMATS if f"`{name}`" not in page] == []
    assert f"**{len(MATCHERS)} matchers**" in page
    assert f"**{len(FORMATS)} reporters**" in page


def test_every_page_is_in_the_list_of_pages() -> None:
    """`docs/README.md` is where a reader looks."""
    page = read(DOCS / "README.md")
    assert [name for path in DOCS.rglob("*.md") if f"]({(name := path.relative_to(DOCS).as_posix())})" not in page] == [
        "README.md"
    ]


def test_every_matcher_reporter_command_and_exit_code_has_its_section() -> None:
    """A new one comes with its docs."""
    assert [name for name in MATCHERS if name not in anchors(DOCS / "reference" / "matchers.md")] == []
    assert [name for name in FORMATS if name not in anchors(DOCS / "reference" / "reporters.md")] == []
    assert [name for name in COMMANDS if f"mcptest-{name}" not in anchors(DOCS / "reference" / "cli.md")] == []
    codes = re.findall(r"^\| (\d+) \|", read(DOCS / "reference" / "exit-codes.md"), re.MULTILINE)
    assert [int(code) for code in codes] == sorted(ExitCode)


def test_the_page_on_verdicts_names_each_verdict_kind_and_check_that_there_is() -> None:
    """And how to turn off what is checked unasked: each way is one of the suite's own."""
    sections = dict(part.partition("\n")[::2] for part in read(DOCS / "explanation" / "verdicts.md").split("\n## "))

    def rows(section: str) -> set[str]:
        return set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))

    assert rows(sections["# Verdicts"]) == {verdict.value for verdict in Verdict}
    assert rows(sections["Kinds of failures"]) == {kind.value for kind in FailureKind}
    assert rows(sections["Outcome"]) - {"outcome"} == {wanted.value for wanted in ExpectedOutcome}
    schema = record_schema()["$defs"]
    told = "".join(sections.values())
    for name in schema["server"]["properties"]["findings"]["items"]["properties"]["kind"]["enum"]:
        assert f"`{name}`" in told
    unasked = sections["Checks in every test"]
    off = dict(re.findall(r"\| `(\w+): (\w+)` \|$", unasked, re.MULTILINE))
    assert off == {"outcome": "any", "validity": "off", "catalog": "off", "hygiene": "off"}
    for key, value in off.items():
        assert value in suite_schema()["$defs"]["RunOptions"]["properties"][key]["anyOf"][0]["enum"]


def test_every_fault_and_every_preset_of_the_mock_is_told() -> None:
    """`docs/how-to/mock-server.md` is its reference."""
    page = read(DOCS / "how-to" / "mock-server.md")
    assert [fault for fault in SPELLINGS if f"| `{fault}` |" not in page] == []
    assert [preset for preset in preset_names() if f"`--preset {preset}`" not in page] == []


def test_the_page_of_the_record_names_every_member_of_its_schema() -> None:
    """What a reader of records may rely on."""
    page = read(DOCS / "reference" / "record.md")
    schema = record_schema()
    parts = [schema, *schema["$defs"].values()]
    told = {"name", *re.findall(r"`([$\w]+)`", page)}
    assert {member for part in parts for member in part.get("properties", {})} - told == set()


def test_the_page_of_environment_variables_names_every_variable_that_is_read() -> None:
    """Without those by which a session tells what it is, such as over SSH or in tmux."""
    of_the_session = {"COLORTERM", "DISPLAY", "HOME", "PATH", "SSH_CONNECTION", "SSH_TTY", "STY", "TERM_PROGRAM"}
    of_the_session |= {"TMUX", "WAYLAND_DISPLAY", "WT_SESSION"}
    read_by_us = re.compile(r'''environ(?:\.get\(|\[)"([A-Z][A-Z0-9_]+)"''')
    folders = (ROOT / "mcptest", ROOT / "mcptest_engine", ROOT / "mcptest_tui")
    names = {name for folder in folders for path in folder.rglob("*.py") for name in read_by_us.findall(read(path))}
    assert "NO_COLOR" in names
    told = set(re.findall(r"`([A-Z][A-Z0-9_]+)[=`]", read(DOCS / "reference" / "environment-variables.md")))
    assert names - of_the_session - told == set()


def test_the_picture_shows_a_run_as_it_is_and_fetches_nothing() -> None:
    """Run `python docs/picture.py` when the report looks different."""
    svg = read(PICTURE)
    assert re.findall(r"(?<!xmlns=\")https?:|@font-face|@import|url\((?!#)", svg) == []
    picture = script("picture")
    assert words(svg) == words(picture.picture(picture.captured()))


def words(svg: str) -> list[str]:
    """The texts of a picture, times by their shape only."""
    texts = [text.replace("&#160;", " ") for text in re.findall(r"<text[^>]*>([^<]*)</text>", svg)]
    return " ".join(re.sub(r"<1ms|&lt;1ms|\d+(?:\.\d+)?m?s", "TIME", text) for text in texts).split()

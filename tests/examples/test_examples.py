"""The examples: all in the index, all valid, and each with its head."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from mcptest_engine.mock.reading import load_manifest
from mcptest_engine.suite.load import LoadOptions, check_suite

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
SCHEMA = EXAMPLES.parent / "schemas" / "suite.schema.json"
FILES = sorted(EXAMPLES.rglob("*.yml"))
MANIFESTS = [path for path in FILES if path.name == "manifest.yml"]
PARTS = [path for path in FILES if path.parent != EXAMPLES / "imports" or path.name == "mcptest.yml"]
SUITES = [path for path in PARTS if path not in MANIFESTS and path.parent.name != "shared"]
MATCHERS = {
    "exact", "not", "all-of", "any-of", "contains", "icontains", "contains-all", "contains-any", "starts-with", "ends-with",
    "regex", "schema", "lt", "lte", "gt", "gte", "between", "approx", "length", "type", "exists", "one-of", "subset", "each",
    "some", "jq", "snapshot",
}  # fmt: skip


def name_of(path: Path) -> str:
    return path.relative_to(EXAMPLES).as_posix()


def test_the_index_lists_every_suite_and_nothing_else():
    """`examples/README.md` is what a reader starts from."""
    index = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| \[[^]]+\]\(([^)]+)\)", index, re.MULTILINE)
    assert sorted(listed) == sorted(map(name_of, SUITES))


@pytest.mark.parametrize("path", SUITES, ids=name_of)
def test_an_example_is_valid_without_a_warning(path):
    """Examples are what people copy. What needs a model is told to be deferred, and that is no fault of theirs."""
    options = LoadOptions(environ={"PATH": "/usr/bin"}, workspace_root=EXAMPLES.parent)
    checked = check_suite(path, options)
    assert [str(problem) for problem in checked.problems if "are deferred" not in problem.message] == []
    assert checked.suite is not None
    assert checked.suite.tests


@pytest.mark.parametrize("path", [path for path in FILES if path not in MANIFESTS], ids=name_of)
def test_an_example_begins_with_the_schema_and_says_what_it_shows(path):
    """The head makes editors complete, without a network; the second line is a comment for people."""
    place = os.path.relpath(SCHEMA, path.parent)
    assert SCHEMA.is_file()
    head = f"# yaml-language-server: $schema={place}\n# "
    assert path.read_text(encoding="utf-8").startswith((head, head.replace("\n# ", "\n#\n# ")))


@pytest.mark.parametrize("path", MANIFESTS, ids=name_of)
def test_the_manifest_of_an_example_loads(path):
    """What `mcptest mock --tools-from` will read."""
    assert load_manifest(path).tools


def test_the_quickstart_has_fifteen_lines():
    """The README quotes it."""
    assert len((EXAMPLES / "quickstart.yml").read_text(encoding="utf-8").splitlines()) == 15


def test_the_matchers_example_shows_every_matcher_but_the_judged_one():
    """A new matcher belongs into the example."""
    shown = re.findall(r"([a-z]+(?:-[a-z]+)*):", (EXAMPLES / "matchers.yml").read_text(encoding="utf-8"))
    assert set(shown) >= MATCHERS

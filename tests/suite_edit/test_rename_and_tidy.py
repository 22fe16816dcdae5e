"""A name changed wherever it stands, and a text made tidy: by spans, so that nothing else changes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest_engine.suite import rename as rename_module
from mcptest_engine.suite.edit_steps import same
from mcptest_engine.suite.rename import find_renamed_tests, find_renaming, list_names, rename
from mcptest_engine.suite.text_edits import EditRefused
from mcptest_engine.suite.tidy import tidy
from mcptest_engine.suite.yaml import read_tree
from mcptest_engine.workspace.snapshots import read_snapshots, rename_snapshots, write_snapshots

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest_engine.suite.yaml_nodes import Node

SUITE = """\
servers:
  "notes": { command: [notes, --name, notes] }   # the notes
  other: { url: "http://127.0.0.1:1/notes" }
defaultTest: { server: notes }
tools:
  - name: one
    server: notes  # notes
    tool: notes
    args: { server: notes }
    verify: [{ tool: x, server: 'notes', args: { a: notes } }]
compositions:
  - name: two
    nodes:
      - { id: notes, tool: t, server: notes }
agents:
  - { name: three, servers: [other, notes], prompt: notes, trajectory: { calls: [{ tool: x, server: notes }] } }
"""
FOLDERS = [
    Path(__file__).parents[2] / name for name in ("examples", "tests/suite", "mcptest_engine", "tests/e2e/fixtures")
]
SUITES = sorted(path for folder in FOLDERS for path in folder.rglob("*.y*ml") if "node_modules" not in path.parts)


def test_a_server_is_renamed_wherever_it_is_named_and_nowhere_else() -> None:
    renaming = find_renaming(SUITE, SUITE.index("server: notes  #") + 9)
    assert renaming is not None
    assert (renaming.kind, renaming.name, len(renaming.places)) == ("server", "notes", 7)
    after = rename(SUITE, renaming, "memo pad")
    assert after.count("memo pad") == 7
    assert '"memo pad": { command: [notes, --name, notes] }   # the notes' in after
    assert "{ tool: x, server: 'memo pad', args: { a: notes } }" in after
    assert "{ id: notes, tool: t, server: memo pad }" in after
    assert "    server: memo pad  # notes\n    tool: notes\n    args: { server: notes }" in after
    back = find_renaming(after, after.index("memo pad"))
    assert back is not None
    assert rename(after, back, "notes") == SUITE


def test_elsewhere_the_test_around_the_cursor_is_renamed() -> None:
    renaming = find_renaming(SUITE, SUITE.index("tool: notes"))
    assert renaming is not None
    assert (renaming.kind, renaming.name) == ("test", "one")
    after = rename(SUITE, renaming, 'say "no": yes')
    assert find_renaming(SUITE, 0) is None
    assert list_names(after, "test") == ['say "no": yes', "two", "three"]


def test_a_name_behind_an_anchor_keeps_the_anchor() -> None:
    first, second = "{ name: &n one, server: &s a, tool: t }", "{ name: *n, server: *s, tool: t }"
    text = f"servers: {{ a: {{ command: [x] }} }}\ntools:\n  - {first}\n  - {second}\n"
    renaming = find_renaming(text, text.index("&s"))
    assert renaming is not None
    assert rename(text, renaming, "b") == text.replace("{ a:", "{ b:").replace("&s a", "&s b")


def test_a_name_whose_anchor_stands_in_data_too_is_not_renamed() -> None:
    text = "servers: { a: { command: [x] } }\ntools:\n  - { name: n, server: &s a, tool: t, args: { q: *s } }\n"
    renaming = find_renaming(text, text.index("&s"))
    assert renaming is not None
    with pytest.raises(EditRefused, match="this name is not possible here"):
        rename(text, renaming, "b")


GRAPH = """\
servers: { s: { command: [x] } }
variables: { "city": Oslo, both: "${var.city} ${city}" }
tools:
  - { name: t, tool: find, args: { q: "${city}", search: "$${city}" }, cases: [{ name: c, vars: { days: 2 } }] }
compositions:
  - name: g
    nodes:
      - { id: search, tool: search, args: { search: "${var.city}", days: "${var.days}" } }
      - id: 'page'
        needs: [search, { id: "search", optional: true }]
        when: .parents.search.count > 0 and .parents["search"].search != null
        tool: page
        args: { text: "${search.search} in ${ search.hits[0] }, not $${search.a} or ${searching.x}", n: "${var.searching}" }
    output: { assemble: "{ search: .nodes.search.count }" }
    expect:
      - { target: nodes.search.status, matcher: { exact: search } }
      - { target: "nodes[\\"search\\"].output.search", matcher: { jq: ".parents.search" } }
    cases: [{ name: one, vars: { days: 3, city: Rome } }]
  - { name: h, nodes: [{ id: search, tool: t, args: { x: "${search.y}" } }], output: search }
"""


def test_a_node_is_renamed_in_templates_programs_and_targets_of_its_composition_alone() -> None:
    renaming = find_renaming(GRAPH, GRAPH.index("needs: [search") + 9)
    assert renaming is not None
    assert (renaming.kind, renaming.name, len(renaming.places)) == ("node", "search", 10)
    after = rename(GRAPH, renaming, "find")
    first = after.partition("  - { name: h")[0]
    assert "{ id: find, tool: search, args: { search:" in first
    assert 'needs: [find, { id: "find", optional: true }]' in first
    assert 'when: .parents.find.count > 0 and .parents["find"].search != null' in first
    assert '"${find.search} in ${ find.hits[0] }, not $${search.a} or ${searching.x}"' in first
    assert "{ search: .nodes.find.count }" in first
    assert "{ target: nodes.find.status, matcher: { exact: search } }" in first
    assert '"nodes[\\"find\\"].output.search", matcher: { jq: ".parents.search" }' in first
    assert after.endswith(GRAPH[GRAPH.index("  - { name: h") :])
    back = find_renaming(after, after.index("find, tool"))
    assert back is not None
    assert rename(after, back, "search") == GRAPH


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("page", "another node has this name"),
        ("var", "a node cannot be called that"),
        ("1st", "a node cannot be called that"),
        ("top-hit", "is not possible in a path"),
    ],
)
def test_a_name_that_no_node_can_have_is_refused(name: str, message: str) -> None:
    renaming = find_renaming(GRAPH, GRAPH.index("id: search") + 5)
    assert renaming is not None
    with pytest.raises(EditRefused, match=message):
        rename(GRAPH, renaming, name)


@pytest.mark.parametrize(
    "other",
    ["name: h, nodes: *shared, output: search", "name: h, nodes: [*first], output: search", "<<: *whole, name: h"],
)
def test_a_node_that_an_alias_brings_into_another_composition_is_not_renamed(other: str) -> None:
    """Its own output and assertions would keep the old name."""
    text = (
        "servers: { s: { command: [x] } }\ncompositions:\n"
        "  - &whole { name: g, nodes: &shared [&first { id: search, tool: t }], output: search }\n"
        f"  - {{ {other} }}\n"
    )
    renaming = find_renaming(text, text.index("id: search") + 5)
    assert renaming is not None
    with pytest.raises(EditRefused, match="an alias repeats the node `search` in `h`"):
        rename(text, renaming, "find")


def test_a_node_that_a_program_may_read_in_another_way_is_not_renamed() -> None:
    text = GRAPH.replace(".nodes.search.count", ".nodes | .search.count")
    renaming = find_renaming(text, text.index("id: search") + 5)
    assert renaming is not None
    with pytest.raises(EditRefused, match="a jq program may refer to the node"):
        rename(text, renaming, "find")


def test_a_variable_is_renamed_wherever_it_is_set_and_used() -> None:
    renaming = find_renaming(GRAPH, GRAPH.index("${var.city} ${city}") + 7)
    assert renaming is not None
    assert (renaming.kind, renaming.name) == ("variable", "city")
    after = rename(GRAPH, renaming, "town")
    assert 'variables: { "town": Oslo, both: "${var.town} ${town}" }' in after
    assert 'args: { q: "${town}", search: "$${city}" }' in after
    assert 'search: "${var.town}"' in after
    assert "vars: { days: 3, town: Rome }" in after
    assert after.count("city") == 1
    of_cases = find_renaming(GRAPH, GRAPH.index("days: 3"))
    assert of_cases is not None
    after = rename(GRAPH, of_cases, "nights")
    assert 'nights: "${var.nights}"' not in after and 'days: "${var.nights}"' in after
    assert "vars: { nights: 3, city: Rome }" in after
    assert "vars: { days: 2 }" in after  # another test's


def test_no_place_is_looked_for_of_a_name_that_does_not_stand_at_the_cursor(monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole file was searched once for each variable and node: 8 s for the name of one of 3,000 tests."""
    searched: list[Node] = []

    def count_scalars(root: Node, *, with_keys: bool = False) -> Iterator[tuple[tuple[str, ...], Node]]:
        searched.append(root)
        return find_scalars(root, with_keys=with_keys)

    find_scalars = rename_module._scalars
    monkeypatch.setattr(rename_module, "_scalars", count_scalars)
    renaming = find_renaming(GRAPH, GRAPH.index("name: g") + 6)
    assert renaming is not None
    assert (renaming.kind, renaming.name, searched) == ("test", "g", [])
    renaming = find_renaming(GRAPH, GRAPH.index("city"))
    assert renaming is not None
    assert (renaming.name, len(searched)) == ("city", 1)


def test_the_snapshots_of_a_test_go_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "s.yml"
    kept = {
        "one / result": 1,
        "one [row 1] / result": 2,
        "one, verify #0 / result": 3,
        "one more / result": 4,
        "two / x": 5,
    }
    kept |= {"one / a / result": 6, "one #2 / result": 7}
    write_snapshots(path, kept)
    tests = ["one", "one more", "one / a", "two"]
    assert rename_snapshots(path, {"one": "uno"}, tests) == 4
    assert read_snapshots(path) == {
        "one / a / result": 6,
        "one more / result": 4,
        "two / x": 5,
        "uno / result": 1,
        "uno #2 / result": 7,
        "uno [row 1] / result": 2,
        "uno, verify #0 / result": 3,
    }
    tests[0] = "uno"
    assert rename_snapshots(path, {"uno": "two", "two": "uno"}, tests) == 5
    assert (read_snapshots(path)["two / result"], read_snapshots(path)["uno / x"]) == (1, 5)
    write_snapshots(path, {"one / x": 1, "two / x": 2})
    assert rename_snapshots(path, {"one": "two"}, tests) == 0  # what stays has the name
    assert read_snapshots(path) == {"one / x": 1, "two / x": 2}


def test_what_renamings_led_to_is_found_whatever_was_undone() -> None:
    def text(*names: str) -> str:
        return "tools:\n" + "".join(f"  - {{ name: {name}, tool: t }}\n" for name in names)

    chain, swap = [("a", "b"), ("b", "c")], [("a", "t"), ("b", "a"), ("t", "b")]
    assert find_renamed_tests(text("a", "x"), text("c", "x"), chain) == {"a": "c"}
    assert find_renamed_tests(text("a", "x"), text("b", "x"), chain) == {"a": "b"}  # one step was undone
    assert find_renamed_tests(text("c", "x"), text("a", "x"), chain) == {"c": "a"}
    assert find_renamed_tests(text("a", "x"), text("x", "c", "new"), chain) == {"a": "c"}
    assert find_renamed_tests(text("a", "b"), text("b", "a"), swap) == {"a": "b", "b": "a"}
    assert find_renamed_tests(text("a", "b"), text("a", "b"), swap) == {}
    assert find_renamed_tests(text("a", "x"), text("y", "x"), chain) == {}  # it was typed, not renamed
    assert find_renamed_tests(text("a", "a"), text("c", "a"), chain) == {}
    first, second = "  - { name: %s, tool: first }\n", "  - { name: %s, tool: second }\n"
    before, after = f"tools:\n{first}{second}" % ("a", "b"), f"tools:\n{first}{second}" % ("b", "a")
    more = (
        f"{after}  - {{ name: c, tool: third }}\n"  # two changed their names, and a test was added before it was saved
    )
    assert find_renamed_tests(before, more, swap) == {"a": "b", "b": "a"}
    assert find_renamed_tests(more, before, swap) == {"a": "b", "b": "a"}


def test_a_swap_that_is_saved_undone_and_saved_again_takes_its_snapshots_each_time(tmp_path: Path) -> None:
    path, swap = tmp_path / "s.yml", [("a", "t"), ("b", "a"), ("t", "b")]
    write_snapshots(path, {"a / x": 1, "b / x": 2})
    texts = ["tools:\n" + "".join(f"  - {{ name: {name}, tool: t }}\n" for name in names) for names in ("ab", "ba")]
    for before, after, first in ((0, 1, 2), (1, 0, 1), (0, 1, 2)):
        renamed = find_renamed_tests(texts[before], texts[after], swap)
        assert rename_snapshots(path, renamed, list_names(texts[before], "test")) == 2
        assert read_snapshots(path) == {"a / x": first, "b / x": 3 - first}


def test_a_text_becomes_tidy_with_its_comments() -> None:
    before = """\
name:   x
servers:
    demo:   {command: [a,b ,'c'],env: {}}   # hi


tools:
-   name:  one
    # about args
    args:
        city: 'Oslo'
        text: |
              a
                b...

              c
    expect:
    -  { target: "x", matcher: {  } }...
# two
-   name: 'it"s'
    args: { a: 1,
            b: 2 }

""".replace("...", "   ")
    assert (
        tidy(before)
        == """\
name: x
servers:
  demo: { command: [a, b, "c"], env: {} }   # hi

tools:
  - name: one
    # about args
    args:
      city: "Oslo"
      text: |
            a
              b...

            c
    expect:
      - { target: "x", matcher: {} }
  # two
  - name: 'it"s'
    args: { a: 1,
            b: 2 }
""".replace("...", "   ")
    )


@pytest.mark.parametrize("path", SUITES, ids=lambda path: path.stem)
def test_a_tidy_suite_means_the_same_and_stays_as_it_is(path: Path) -> None:
    text = path.read_bytes().decode("utf-8", "replace")
    try:
        after = tidy(text)
    except EditRefused:
        return
    assert same(read_tree(after, file="").value, read_tree(text, file="").value)
    assert tidy(after) == after
    assert [line.lstrip() for line in after.split("\n") if line.lstrip().startswith("#")] == [
        line.strip() for line in text.split("\n") if line.lstrip().startswith("#")
    ]


_LINES = st.lists(
    st.tuples(
        st.integers(0, 5),
        st.sampled_from(
            [
                "a:",
                "b: 1",
                "- x",
                "-   y: 2",
                "- - z",
                "'k' : 'v'",
                "c: {a: 1,b : [ 2,3 ]}",
                "# note",
                "",
                "  ",
                "d: |",
                "e: >-",
                "text  ",
                'f: "a',
                'b"',
                "g: &n 1",
                "h: *n",
                "- {}",
                "i: !!str 2",
            ]
        ),
    ),
    max_size=12,
)


@given(_LINES, st.sampled_from(["\n", "\r\n"]))
def test_whatever_is_written_a_tidy_text_means_the_same(lines: list[tuple[int, str]], newline: str) -> None:
    text = newline.join(" " * indent + line for indent, line in lines)
    try:
        after = tidy(text)
    except EditRefused:
        return
    assert same(read_tree(after, file="").value, read_tree(text, file="").value)
    assert tidy(after) == after

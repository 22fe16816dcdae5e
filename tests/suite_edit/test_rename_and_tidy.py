"""A name changed wherever it stands, and a text made tidy: by spans, so that nothing else changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest_engine.suite.edit_steps import same
from mcptest_engine.suite.rename import find_renamed_tests, find_renaming, list_names, rename
from mcptest_engine.suite.text_edits import EditRefused
from mcptest_engine.suite.tidy import tidy
from mcptest_engine.suite.yaml import read_tree
from mcptest_engine.workspace.snapshots import read_snapshots, rename_snapshots, write_snapshots

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
    with pytest.raises(EditRefused, match="this name cannot stand here"):
        rename(text, renaming, "b")


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

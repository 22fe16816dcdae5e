"""Suite files as text: YAML 1.2 core, the place of everything, and every way a file cannot be read."""

from __future__ import annotations

import gc
import json
import math
import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
import yaml as pyyaml
from hypothesis import given, settings
from hypothesis import strategies as st

from mcptest_engine.core.errors import Span, SuiteError
from mcptest_engine.suite import yaml as suite_yaml
from mcptest_engine.suite.yaml import MAX_BYTES, read_bytes, read_file, read_tree

if TYPE_CHECKING:
    from pathlib import Path


def _read(text: str) -> Any:
    return read_tree(text, file="suite.yaml").value


def _refusal(text: str) -> list[str]:
    with pytest.raises(SuiteError) as refused:
        read_tree(text, file="suite.yaml")
    return [str(problem) for problem in refused.value.problems]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("on", "on"),
        ("y", "y"),
        ("True", True),
        ("false", False),
        ("~", None),
        ("Null", None),
        ("nULL", "nULL"),
        ("012", 12),
        ("0o14", 12),
        ("0x1F", 31),
        ("-7", -7),
        ("1e3", 1000.0),
        ("1.", 1.0),
        (".5", 0.5),
        ("-.inf", -math.inf),
        ("1_000", "1_000"),
        ("12:30:45", "12:30:45"),
        ("2024-01-01", "2024-01-01"),
        ("0b101", "0b101"),
        ("1.2.3", "1.2.3"),
        ("=", "="),
        ("-", ["-"]),
        ("'no'", "no"),
        ('"12"', "12"),
        ("!!str 12", "12"),
        ("!!float 12", 12.0),
        ("! 12", "12"),
        ("${var.x}", "${var.x}"),
        ("C:\\dir", "C:\\dir"),
        ("http://localhost:1/a#b", "http://localhost:1/a#b"),
    ],
)
def test_a_scalar_means_what_yaml_1_2_says(text: str, value: object) -> None:
    """YAML 1.2.2, section 10.3.2."""
    if text == "-":
        text = "[ '-' ]"
    read = _read(f"x: {text}")
    assert read == {"x": value}
    assert type(read["x"]) is type(value)


def test_a_nan_is_kept_and_noted() -> None:
    """JSON has no NaN, so whoever needs JSON must be able to tell without a walk."""
    tree = read_tree("x: [.nan]", file="f")
    assert math.isnan(tree.value["x"][0])
    assert tree.has_non_finite
    assert not read_tree("x: 1.5", file="f").has_non_finite


@pytest.mark.parametrize(("text", "noted"), [("x: 5.0", True), ("x: 5.5", False), ("x: 5", False), ("x: '5.0'", False)])
def test_a_number_such_as_5_0_is_noted(text: str, noted: bool) -> None:
    """JSON Schema takes 5.0 for an integer; the models do not."""
    assert read_tree(text, file="f").has_whole_floats is noted


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\nlist:\n  - x\n  - key: value\n",
        "a: 1\r\nlist:\r\n  - x\r\n  - key: value\r\n",
        "\ufeffa: 1\nlist:\n  - x\n  - key: value\n",
    ],
    ids=["newlines", "windows", "byte order mark"],
)
def test_line_and_column_are_those_of_an_editor(text: str) -> None:
    """Line ends of either kind, and a byte order mark that an editor does not show."""
    tree = read_tree(text, file="f")
    assert tree.span(()) == Span(1, 1)
    assert tree.span(("a",)) == Span(1, 4)
    assert tree.span(("a",), key=True) == Span(1, 1)
    assert tree.span(("list", 0)) == Span(3, 5)
    assert tree.span(("list", 1)) == Span(4, 5)
    assert tree.span(("list", 1, "key")) == Span(4, 10)
    assert tree.span(("list", 1, "key"), key=True) == Span(4, 5)


def test_columns_count_code_points() -> None:
    """An emoji is one column; a line separator of Unicode is no new line to an editor."""
    tree = read_tree('{"🙂🙂": 1, é: "a\u2028b", x: 2}', file="f")
    assert tree.span(("é",), key=True) == Span(1, 11)
    assert tree.span(("x",), key=True) == Span(1, 21)


@pytest.mark.parametrize("character", ["\x85", "\u2028", "\u2029"])
def test_only_line_feeds_and_carriage_returns_end_a_line(character: str) -> None:
    text = f'# a note{character}hidden: 1\na: "x{character}y"\nb: p{character}q\nc{character}: 1\n'
    tree = read_tree(text, file="f")
    assert tree.value == {"a": f"x{character}y", "b": f"p{character}q", f"c{character}": 1}
    assert tree.span(("b",)) == Span(3, 4)


def test_a_place_that_is_not_there_is_none_unless_the_nearest_is_asked_for() -> None:
    """No position beats a made-up one."""
    tree = read_tree("a:\n  b: 1\n", file="f")
    assert tree.span(("a", "c")) is None
    assert tree.span(("a", "b", "c")) is None
    assert tree.span(("a", 0)) is None
    assert tree.span(("a", "c"), nearest=True) == Span(2, 3)
    assert tree.span(("x", "y"), nearest=True) == Span(1, 1)


def test_an_aliased_value_is_placed_where_it_is_written() -> None:
    """The alias's own place says nothing about what is inside."""
    tree = read_tree("a: &x\n  k: v\nb: *x\n", file="f")
    assert tree.value == {"a": {"k": "v"}, "b": {"k": "v"}}
    assert tree.span(("b", "k")) == tree.span(("a", "k")) == Span(2, 6)
    assert tree.span(("b",), key=True) == Span(3, 1)


def test_a_merge_key_adds_what_is_not_there() -> None:
    """The keys that stand there win, then the earlier source; each keeps its place."""
    text = "one: &one {a: 1, b: 1}\ntwo: &two {b: 2, c: 2}\nall:\n  <<: [*one, *two]\n  a: 0\n"
    tree = read_tree(text, file="f")
    assert tree.value["all"] == {"a": 0, "b": 1, "c": 2}
    assert tree.span(("all", "a")) == Span(5, 6)
    assert tree.span(("all", "b")) == Span(1, 21)
    assert tree.span(("all", "c"), key=True) == Span(2, 18)
    assert _read("x: {'<<': 1}") == {"x": {"<<": 1}}


def test_a_collection_put_in_place_of_a_template_has_that_texts_place() -> None:
    """Templates are replaced in the value, not in the marks."""
    from dataclasses import replace

    tree = replace(read_tree("a: 1\nb: ${var.x}\n", file="f"), value={"a": 1, "b": {"c": [1]}})
    assert tree.span(("b", "c", 0)) == tree.span(("b", "c"), key=True) == Span(2, 4)


def test_every_duplicate_key_is_told_at_the_second() -> None:
    """A duplicate is placed at the second."""
    text = "a: 1\nb: {c: 1, c: 2, d: {}, d: {e: 1, e: 2}}\na: 2\n"
    places = [problem.splitlines()[0] for problem in _refusal(text)]
    assert places == [
        "suite.yaml:2:11: duplicate key `c`",
        "suite.yaml:2:24: duplicate key `d`",
        "suite.yaml:2:34: duplicate key `e`",
        "suite.yaml:3:1: duplicate key `a`",
    ]


def test_reading_on_keeps_the_first_of_two_and_the_problem() -> None:
    """So that the shape can be checked too, and all be told at once."""
    tree = read_tree("a: 1\na: 2\nb: 3\n", file="f", keep_going=True)
    assert tree.value == {"a": 1, "b": 3}
    assert [problem.message for problem in tree.problems] == ["duplicate key `a`"]
    assert tree.span(("b",)) == Span(3, 4)


def test_a_syntax_error_comes_after_what_was_found_before_it() -> None:
    """In file order, all at once."""
    assert [line.splitlines()[0] for line in _refusal("a: 1\na: 2\nb: @x\n")] == [
        "suite.yaml:2:1: duplicate key `a`",
        "suite.yaml:3:4: text cannot start with `@`",
    ]


def test_many_small_aliases_are_no_bomb() -> None:
    """A shared block in each of a thousand tests is how anchors are used."""
    text = "a: &a {x: [1, 2, 3]}\nb:\n" + "  - *a\n" * 1000
    assert len(_read(text)["b"]) == 1000


def test_text_in_another_encoding_is_told_by_its_place() -> None:
    """Line and column of the first bad byte, in code points."""
    with pytest.raises(SuiteError) as refused:
        read_bytes("a: é\nb: é".encode() + b"\xff", file="f.yaml")
    assert str(refused.value) == "f.yaml:2:5: the file is not valid UTF-8: byte 0xff\n  save it as UTF-8"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_utf_16_is_called_so(encoding: str) -> None:
    """Windows editors write it."""
    data = "a: 1".encode(encoding) if encoding == "utf-16" else b"\xfe\xff" + "a: 1".encode(encoding)
    with pytest.raises(SuiteError, match="encoded as UTF-16"):
        read_bytes(data, file="f")


def test_bytes_may_start_with_a_byte_order_mark() -> None:
    """Windows editors write that too."""
    assert read_bytes(b"\xef\xbb\xbfa: 1", file="f").value == {"a": 1}


def test_a_missing_file_and_a_directory_are_told(tmp_path: Path) -> None:
    """One clear error each, without a position."""
    with pytest.raises(SuiteError, match=r"^gone\.yaml: there is no such file"):
        read_file(tmp_path / "gone.yaml", file="gone.yaml")
    with pytest.raises(SuiteError, match=r"^suites: is a directory, not a suite file"):
        read_file(tmp_path, file="suites")
    with pytest.raises(SuiteError, match="cannot be read"):
        read_file(tmp_path / "a\0b", file="odd")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_told(tmp_path: Path) -> None:
    """The operating system's reason, in lower case."""
    path = tmp_path / "suite.yaml"
    path.write_text("a: 1")
    path.chmod(0)
    with pytest.raises(SuiteError, match="cannot be read: permission denied"):
        read_file(path, file="suite.yaml")


def test_a_file_that_is_too_large_is_refused_unread(tmp_path: Path) -> None:
    """A sparse file of 100 MB costs nothing to refuse."""
    path = tmp_path / "big.yaml"
    with path.open("wb") as stream:
        stream.truncate(100 * 1024 * 1024)
    with pytest.raises(SuiteError, match=r"too large: 100 MiB, and at most 32 MiB are read"):
        read_file(path, file="big.yaml")
    assert MAX_BYTES == 32 * 1024 * 1024


def test_the_collector_is_as_it_was_after_reading() -> None:
    """Also when the reading fails."""
    read_tree("a: 1", file="f")
    _refusal("a: [")
    assert gc.isenabled()
    gc.disable()
    try:
        read_tree("a: 1", file="f")
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_the_slow_parser_reads_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyYAML may be built without its C library."""
    text = "a: &x [1, 'b', {c: no}]\nb: *x\n🙂: |\n  text\n"
    fast = read_tree(text, file="f")
    monkeypatch.setattr(suite_yaml, "_parser", lambda: pyyaml.SafeLoader)
    slow = read_tree(text, file="f")
    assert (slow.value, slow.marks) == (fast.value, fast.marks)


_FRAGMENTS = [
    *("a", "b: ", ": ", "- ", "\n", "  ", "\t", "{", "}", "[", "]", ",", "&x ", "*x", "<<: ", "'", '"', "|", ">"),
    *(
        "!",
        "!!int ",
        "#",
        "%",
        "@",
        "?",
        "---",
        "...",
        "1",
        ".inf",
        "null",
        "\r\n",
        "\ufeff",
        "\0",
        "é",
        "🙂",
        "\u2028",
    ),
    *("\\", "${x}", "0x", "\x7f"),
]


@settings(max_examples=150, deadline=None)
@given(st.one_of(st.text(), st.lists(st.sampled_from(_FRAGMENTS), max_size=30).map("".join)))
def test_any_text_gives_a_tree_or_problems(text: str) -> None:
    """Never a crash, and never a place outside the file."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    try:
        tree = read_tree(text, file="f", keep_going=True)
    except SuiteError as refused:
        problems = refused.problems
        assert problems
    else:
        problems = tree.problems
    for problem in problems:
        assert problem.span is not None
        assert 1 <= problem.span.line <= len(lines)
        assert 1 <= problem.span.column <= len(lines[problem.span.line - 1]) + 2


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(categories=["L", "N", "P", "S", "Zs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(categories=["L", "N", "P"])), inner),
    max_leaves=20,
)


@settings(max_examples=80, deadline=None)
@given(_JSON, st.booleans())
def test_json_reads_as_the_value_that_it_is(value: object, indented: bool) -> None:
    """YAML 1.2 takes JSON in."""
    text = json.dumps(value, ensure_ascii=False, indent=2 if indented else None)
    assert _read(text) == value


def _walk(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, member in members for found in _walk(member, (*path, key)))]


@settings(max_examples=100, deadline=None)
@given(_JSON)
def test_every_value_is_placed_at_its_own_text(value: Any) -> None:
    """Reading the text on from a place gives the value again."""
    text = json.dumps(value, ensure_ascii=False)
    tree = read_tree(text, file="f")
    decoder = json.JSONDecoder()
    for path in _walk(value):
        expected = value
        for part in path:
            expected = expected[part]
        place = tree.index(path)
        assert place is not None
        assert decoder.raw_decode(text, place)[0] == expected
        if path and isinstance(path[-1], str):
            key_place = tree.index(path, key=True)
            assert key_place is not None
            assert decoder.raw_decode(text, key_place)[0] == path[-1]


@pytest.mark.parametrize("indent", [None, 2])
def test_what_json_writes_for_an_emoji_is_read_and_moves_no_place(indent: int | None) -> None:
    """`json.dumps` writes a surrogate pair, which YAML does not know."""
    value = {"k💥": ["a 💥💥 b", "\\ud83d"], "z": {"💥": 1}}
    text = json.dumps(value, indent=indent)
    assert "\\ud83d\\udca5" in text
    tree = read_tree(text, file="s.json")
    assert tree.value == value
    assert tree.index(("z",), key=True) == text.index('"z"')
    assert tree.index(("z", "💥")) == text.rindex("1")


def test_a_surrogate_pair_in_a_file_that_is_not_json_is_read_as_well() -> None:
    """Wherever double quotes stand."""
    text = 'a: "x \\ud83d\\udca5"  # it\'s "one\n\'b"\': [\'"\', "\\uD83D\\uDCA5"]\n'
    assert _read(text) == {"a": "x 💥", 'b"': ['"', "💥"]}


@pytest.mark.parametrize("half", ["\\ud83d", "\\udca5", "\\udca5\\ud83d"])
def test_half_of_a_surrogate_pair_is_told_as_such(half: str) -> None:
    """It stands for no character."""
    (told,) = _refusal(f'a: "x"\nb: "\\ud83d\\udca5 {half}"\n')
    hint = "write both halves of the pair, or the character itself"
    assert told == f"suite.yaml:2:18: `{half[:6]}` is half of a character (a lone surrogate)\n  {hint}"


@pytest.mark.parametrize(
    ("text", "place", "message", "hint"),
    [
        ("a: 1\nbad: [\n", "2:6", "the `[` opened here is not closed", "close it with `]`"),
        ("exact: [}\n", "1:8", "the `[` opened here is not closed", "close it with `]`"),
        ("a: {b: '[', c: ]}\n", "1:4", "the `{` opened here is not closed", "close it with `}`"),
        ("a: [1,,2]\n", "1:7", "a value is missing before this comma", "write the value, or remove the comma"),
    ],
)
def test_a_bracket_that_nothing_follows_is_told_where_it_opens(text: str, place: str, message: str, hint: str) -> None:
    """The parser gives up elsewhere, in words of its own."""
    assert _refusal(text) == [f"suite.yaml:{place}: {message}\n  {hint}"]


def test_a_pipe_is_read_once_a_program_writes_into_it(tmp_path: Path) -> None:
    """What a shell makes of `<(…)`."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(path.write_text, "a: 1")
        assert read_file(path, file="pipe").value == {"a": 1}
        writing.result()


def test_a_pipe_that_nobody_writes_into_is_not_waited_for_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opening it would wait for ever."""
    monkeypatch.setattr("mcptest_engine.suite.yaml.PIPE_WAIT_SECONDS", 0.01)
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(SuiteError, match="no data came within"):
        read_file(path, file="pipe")

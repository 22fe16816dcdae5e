"""The text in the editor: the very bytes that were read, whatever they are, and colours that follow every edit."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mcptest_tui.state.editor_model import newline_of
from mcptest_tui.state.yaml_spans import NORMAL, LineStates, after, paint
from mcptest_tui.widgets.yaml_document import YamlDocument

TEXTS = st.text(alphabet=st.sampled_from("ab \n\r\t\"'|>:-{}#\u2028\x85\x0c💥"), max_size=60)
PLACES = st.tuples(st.integers(0, 9), st.integers(0, 9))


@given(TEXTS)
def test_what_was_read_is_what_is_written(text: str) -> None:
    assert YamlDocument(text).text == text


@given(text=TEXTS, start=PLACES, end=PLACES, new=TEXTS)
def test_an_edit_can_be_taken_back(text: str, start: tuple[int, int], end: tuple[int, int], new: str) -> None:
    document = YamlDocument(text)
    top, bottom = sorted(_inside(document, place) for place in (start, end))
    told = document.pasted(new)
    result = document.replace_range(top, bottom, told)
    document.replace_range(top, result.end_location, result.replaced_text)
    assert document.text == text


@given(text=TEXTS, start=PLACES, end=PLACES, new=TEXTS)
def test_the_states_that_an_edit_leaves_are_those_of_the_whole_text(
    text: str, start: tuple[int, int], end: tuple[int, int], new: str
) -> None:
    document = YamlDocument(text)
    top, bottom = sorted(_inside(document, place) for place in (start, end))
    document.replace_range(top, bottom, document.pasted(new))
    afresh = LineStates(document.lines)
    assert [document.states[row] for row in range(len(document.lines))] == [
        afresh[row] for row in range(len(document.lines))
    ]


def test_a_file_of_mixed_line_ends_keeps_them_as_they_are() -> None:
    document = YamlDocument("a\r\nb\nc\r\n")
    assert document.newline == "\n"
    document.replace_range((1, 0), (1, 1), "x")
    assert document.text == "a\r\nx\nc\r\n"


def test_a_new_line_ends_as_those_of_the_file_do() -> None:
    document = YamlDocument("a\r\nb\r\n")
    document.replace_range((0, 1), (0, 1), "\nnew")
    assert document.text == "a\r\nnew\r\nb\r\n"
    assert document.pasted("x\ny\rz\0") == "x\ny\nz"


def test_only_a_file_all_of_one_kind_has_that_kind() -> None:
    found = [newline_of(text) for text in ("", "a\n", "a\r\nb\r\n", "a\rb", "a\r\nb\n", "a\rb\n")]
    assert found == ["\n", "\n", "\r\n", "\r", "\n", "\n"]


@given(st.text(alphabet=st.sampled_from("ab: -{}[],\"'|>#&*!$\\x01\t5~"), max_size=40), st.integers(-2, 4))
def test_colours_lie_inside_of_their_line(line: str, state: int) -> None:
    painted = paint(line, state)
    for start, end, name in painted.spans:
        assert 0 <= start < end <= len(line)
        assert name
    assert painted.after >= -2


@given(
    st.lists(st.sampled_from(['"', "'", " ", "a", "b: ", ":", "- ", "{", "}", ", ", "#", "${", "\\", "''", "(", "|"]))
)
def test_what_a_line_leaves_open_is_known_without_its_colours(parts: list[str]) -> None:
    line = "".join(parts)
    assert after(line, NORMAL) == paint(line, NORMAL).after


def test_a_suite_of_thousands_of_lines_is_opened_without_painting_them() -> None:
    """Each took a hundred times as long as to look at its quotes: a large file froze the keys for seconds."""
    paint.cache_clear()
    line = "  - {{ name: thing {0}, tool: it, expect: [ {{ target: \"result\", matcher: {{ exact: '{0}' }} }} ] }}"
    states = LineStates([line.format(number) for number in range(5_000)])
    assert states[4_999] == NORMAL
    assert paint.cache_info().misses == 0


def test_words_have_the_colours_of_what_they_are() -> None:
    line = '  - { target: "a[0] ${x}", n: 1.5, ok: true, no: ~, at: *b } # it\'s "so"'
    told = [(line[start:end], name) for start, end, name in paint(line, 0).spans if name != "mark"]
    assert told == [
        ("target", "key"),
        ('"a[0] ${x}"', "text"),
        ("${x}", "template"),
        ("n", "key"),
        ("1.5", "number"),
        ("ok", "key"),
        ("true", "constant"),
        ("no", "key"),
        ("~", "null"),
        ("at", "key"),
        ("*b", "anchor"),
        ('# it\'s "so"', "comment"),
    ]


def test_a_text_block_goes_on_as_far_as_it_is_indented() -> None:
    document = YamlDocument("a:\n  b: |\n    c: d\n\n    e\n  f: g\n")
    assert [paint(line, document.states[row]).spans[:1] for row, line in enumerate(document.lines)] == [
        ((0, 1, "key"),),
        ((2, 3, "key"),),
        ((0, 8, "text"),),
        (),
        ((0, 5, "text"),),
        ((2, 3, "key"),),
        (),
    ]


def test_an_apostrophe_inside_of_a_word_opens_nothing() -> None:
    assert paint("name: it's here", 0).after == 0


def _inside(document: YamlDocument, place: tuple[int, int]) -> tuple[int, int]:
    row = min(place[0], document.line_count - 1)
    return row, min(place[1], len(document.lines[row]))

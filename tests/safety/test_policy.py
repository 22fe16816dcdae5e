import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest_engine.safety.policy import DESTRUCTIVE_WORDS, MUTATING_WORDS, ToolClass, classify, classify_name

HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
SEVERITY = list(ToolClass)


@pytest.mark.parametrize("word", sorted(DESTRUCTIVE_WORDS))
@pytest.mark.parametrize("shape", ["{}_file", "{}-file", "{}File", "file.{}", "my{}", "my{}2", "HTTP{}", "{}"])
def test_a_destructive_word_is_found_however_the_name_is_written(word, shape):
    """execution-safety.md, the name heuristic."""
    for spelling in (word, word.upper(), word.capitalize()):
        if shape.startswith(("my", "HTTP")):
            spelling = word.capitalize()
        elif shape == "{}File" and spelling.isupper():
            continue
        assert classify_name(shape.format(spelling)) is ToolClass.DESTRUCTIVE


@pytest.mark.parametrize("word", sorted(MUTATING_WORDS))
def test_a_mutating_word_is_found_and_a_destructive_one_outranks_it(word):
    assert classify_name(f"{word}_thing") is ToolClass.MUTATING
    assert classify_name(f"{word}_or_delete") is ToolClass.DESTRUCTIVE


@pytest.mark.parametrize(
    "name", ["get_time", "dropdown", "settings", "address", "killer", "outputs", "reset", "", "2", "löschen"]
)
def test_a_word_inside_a_longer_word_does_not_count(name):
    assert classify_name(name) is ToolClass.READ_ONLY_PRESUMED


@pytest.mark.parametrize(
    ("name", "annotations", "expected"),
    [
        ("delete_x", {"readOnlyHint": True}, ToolClass.READ_ONLY),
        ("get_x", {"readOnlyHint": True, "destructiveHint": True}, ToolClass.READ_ONLY),
        ("get_x", {"destructiveHint": True}, ToolClass.DESTRUCTIVE),
        ("get_x", {"idempotentHint": False}, ToolClass.MUTATING),
        ("get_x", {"idempotentHint": True}, ToolClass.READ_ONLY_PRESUMED),
        ("get_x", {"readOnlyHint": False}, ToolClass.MUTATING),
        ("delete_x", {"readOnlyHint": False}, ToolClass.DESTRUCTIVE),
        ("delete_x", {"readOnlyHint": False, "idempotentHint": False}, ToolClass.DESTRUCTIVE),
        ("delete_x", {"readOnlyHint": False, "idempotentHint": False, "destructiveHint": False}, ToolClass.MUTATING),
        ("delete_x", {"idempotentHint": False}, ToolClass.MUTATING),
        ("get_x", {"readOnlyHint": False, "idempotentHint": False}, ToolClass.MUTATING),
        ("delete_x", {"destructiveHint": False}, ToolClass.MUTATING),
        ("get_x", {"destructiveHint": False}, ToolClass.MUTATING),
        ("get_x", {"destructiveHint": False, "readOnlyHint": True}, ToolClass.READ_ONLY),
        ("delete_x", {"destructiveHint": "yes"}, ToolClass.DESTRUCTIVE),
        ("get_x", {"destructiveHint": "yes", "readOnlyHint": True}, ToolClass.READ_ONLY_PRESUMED),
        ("get_x", {"destructiveHint": None, "readOnlyHint": True}, ToolClass.READ_ONLY),
        ("get_x", {"destructiveHint": 1}, ToolClass.READ_ONLY_PRESUMED),
        ("create_x", ["readOnlyHint"], ToolClass.MUTATING),
        ("create_x", None, ToolClass.MUTATING),
        ("create_x", {"title": 5}, ToolClass.MUTATING),
    ],
)
def test_annotations_decide_before_the_name(name, annotations, expected):
    """execution-safety.md, tool classification; decisions.md 14, Safety."""
    assert classify({"name": name, "annotations": annotations}) is expected


NAMES = st.sampled_from(["get_x", "create_x", "delete_x"]) | st.text(max_size=20)
VALID = st.fixed_dictionaries({}, optional=dict.fromkeys(HINTS, st.booleans()))


@given(st.dictionaries(st.sampled_from(["name", "annotations", "x"]), st.none() | st.integers() | st.text() | VALID))
def test_any_descriptor_has_a_class(tool):
    assert classify(tool) in ToolClass


@given(NAMES, VALID)
def test_a_declared_writer_is_never_taken_for_read_only(name, hints):
    found = classify({"name": name, "annotations": hints})
    if hints.get("readOnlyHint"):
        assert found is ToolClass.READ_ONLY
    elif False in (hints.get("readOnlyHint"), hints.get("destructiveHint")):
        assert SEVERITY.index(found) >= SEVERITY.index(ToolClass.MUTATING)
    if hints.get("destructiveHint") is False:
        assert found is not ToolClass.DESTRUCTIVE


@given(NAMES, st.dictionaries(st.sampled_from(HINTS), st.integers() | st.text() | st.lists(st.none()), min_size=1))
def test_malformed_annotations_change_nothing(name, hints):
    assert classify({"name": name, "annotations": hints}) is classify({"name": name})

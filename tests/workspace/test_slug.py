import re

from hypothesis import given
from hypothesis import strategies as st

from mcptest_engine.workspace.slug import Slugs, slug


def test_a_slug_has_only_small_letters_digits_and_single_dashes():
    assert slug("Adds two numbers [case 1]") == "adds-two-numbers-case-1"
    assert slug("__a  b/c..d__") == "a-b-c-d"
    assert slug("Ελληνικά 日本語") == "ελληνικά-日本語"
    assert slug("!!!") == slug("") == "test"


def test_a_repeated_slug_is_numbered():
    slugs = Slugs()
    assert [slugs.take(name) for name in ("a b", "A-B", "a b 2", "a b", "c")] == [
        "a-b",
        "a-b-2",
        "a-b-2-2",
        "a-b-3",
        "c",
    ]


@given(st.lists(st.text(st.characters(exclude_categories=()), max_size=200), max_size=20))
def test_slugs_are_distinct_file_names(names):
    slugs = Slugs()
    taken = [slugs.take(name) for name in names]
    assert len(set(taken)) == len(names)
    for name in taken:
        assert re.fullmatch(r"[^\W_]+(-[^\W_]+)*", name)
        assert len(name.encode()) < 120

"""Patterns that wait to be compiled."""

from __future__ import annotations

import pickle
import re
from copy import copy, deepcopy
from threading import Thread

import pytest

from mcptest_engine.core.lazy_patterns import lazily_compiled, lazy_pattern


def test_a_lazy_pattern_does_what_a_compiled_one_does() -> None:
    """Its flags included, for texts and for bytes, at the first use and afterwards."""
    lazy, compiled = lazy_pattern(r"(a)b", re.IGNORECASE), re.compile(r"(a)b", re.IGNORECASE)
    for _ in range(2):
        assert lazy.findall("ab AB") == compiled.findall("ab AB")
        assert lazy.sub(r"\1", "xAB") == compiled.sub(r"\1", "xAB")
        assert lazy.match("b") is None
    assert lazy.pattern == compiled.pattern
    found = lazy_pattern(rb"\d+").search(b"a12")
    assert found is not None
    assert found[0] == b"12"


def test_a_lazy_pattern_is_compiled_by_its_first_use_alone() -> None:
    """That is all that it is for."""
    bad = lazy_pattern("(")
    with pytest.raises(re.error):
        bad.search("")


def test_a_lazy_pattern_is_copied_and_pickled_as_a_compiled_one_is() -> None:
    """Libraries whose patterns are such copy what they stand in; used before or not."""
    used = lazy_pattern("(a)b", re.IGNORECASE)
    assert used.match("AB")
    for pattern in (lazy_pattern("(a)b", re.IGNORECASE), used):
        for again in (copy(pattern), deepcopy({"p": pattern})["p"], pickle.loads(pickle.dumps(pattern))):
            assert again.sub(r"\1", "xAB") == "xA"


def test_what_is_imported_meanwhile_compiles_its_patterns_when_it_uses_them() -> None:
    """In that thread alone; the functions of `re` take such a pattern as well."""
    elsewhere: list[object] = []
    with lazily_compiled():
        bad, good = re.compile("("), re.compile(r"(a)b", re.IGNORECASE)
        thread = Thread(target=lambda: elsewhere.append(re.compile("a")))
        thread.start()
        thread.join()
        assert good.sub(r"\1", "AB") == "A"
    assert isinstance(good, re.Pattern)
    assert re.sub(good, r"\1", "xAB") == "xA"
    assert [type(one) for one in (*elsewhere, re.compile("a"))] == [re.Pattern, re.Pattern]
    with pytest.raises(re.error):
        bad.search("")

"""What a program took over from a result is held once."""

from __future__ import annotations

import json

from mcptest_engine.running.kinds.composition.walk import share_long_texts

LONG = "a line of words\n" * 1_000


def test_a_long_text_that_a_program_took_over_is_held_once():
    """A hundred nodes that each take a megabyte out of their answer do not cost it twice."""
    result = {"content": [{"type": "text", "text": LONG}]}
    copied = json.loads(json.dumps({"a": [LONG, "short", 1], "b": LONG, "other": f"{LONG}!"}))
    shared = share_long_texts(copied, result)
    assert shared == {"a": [LONG, "short", 1], "b": LONG, "other": f"{LONG}!"}
    assert shared["a"][0] is shared["b"] is result["content"][0]["text"]
    assert share_long_texts(json.loads(json.dumps(LONG)), result) is result["content"][0]["text"]


def test_what_has_no_long_text_stays_the_same_object():
    for value in ({"a": 1}, [None], "short", 3, None):
        assert share_long_texts(value, {"text": LONG}) is value

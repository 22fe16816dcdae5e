"""Cutting values to what a screen takes, and the lines that they leave in."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest_engine.engine_process.pages import MOST_NODES, pruned, text_of, value_at
from mcptest_engine.engine_process.protocol import Lines, Output, Refused, encode

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(JSON)
def test_what_is_small_stays_as_it_is(value: Any) -> None:
    assert pruned(value) == value
    assert json.loads(encode(value)) == value


def test_long_texts_and_containers_are_cut() -> None:
    value = {"a": "x" * 3_000, "b": list(range(500)), "c": {str(number): number for number in range(300)}}
    cut = pruned(value)
    assert cut["a"] == {"$cut": 3_000, "text": "x" * 2_000}
    assert cut["b"][199:] == [199, {"$more": 300}]
    assert cut["c"]["$more"] == 100
    assert len(cut["c"]) == 201
    assert pruned(value["b"], start=450) == list(range(450, 500))
    assert pruned(value["b"], start=600) == []


def test_what_branches_without_end_is_cut_from_the_inside() -> None:
    value: Any = 1
    for _ in range(12):
        value = [value] * 8
    text = json.dumps(pruned(value))
    assert len(text) < 40 * MOST_NODES
    assert pruned(value)[7][7][7] != value


def test_what_is_nested_too_deeply_is_cut() -> None:
    value: Any = "deep"
    for _ in range(100_000):
        value = [value]
    text = encode(pruned(value))
    assert b"$more" in text
    assert len(text) < 1_000
    assert text_of(value)


def test_a_value_is_found_by_its_path() -> None:
    value = {"a": [{"b": 1}]}
    assert value_at(value, ["a", 0, "b"]) == 1
    assert value_at(value, []) is value
    for path in (["x"], ["a", 1], ["a", "b"], ["a", 0, "b", "c"]):
        with pytest.raises(Refused):
            value_at(value, path)


def test_a_value_as_text_is_cut_off() -> None:
    assert text_of("abc") == "abc"
    assert text_of({"a": "ä"}) == '{\n  "a": "ä"\n}'
    assert text_of("x" * 20, 5) == "xxxxx… (20 characters)"
    assert text_of(list(range(1_000)), 50).endswith("… (cut off)")


@given(st.lists(st.binary(max_size=20).filter(lambda line: b"\n" not in line), min_size=1), st.integers(1, 7))
def test_lines_come_whole_however_they_are_cut(lines: list[bytes], size: int) -> None:
    data = b"\n".join(lines)
    cutter, found = Lines(), []
    for start in range(0, len(data), size):
        found += cutter.feed(data[start : start + size])
    assert [*found, cutter.rest()] == lines


def test_a_line_can_hold_what_json_and_utf8_cannot() -> None:
    line = encode({"a": "\ud800", "b": float("nan"), "c": "ä\n"})
    assert line.count(b"\n") == 1
    assert json.loads(line)["b"] == "NaN"


def test_a_reader_that_is_gone_is_told_once() -> None:
    async def write() -> int:
        reader, writer = os.pipe()
        told, gone = [], asyncio.Event()

        def closed() -> None:
            told.append(True)
            gone.set()

        output = Output(writer, asyncio.get_running_loop(), closed)
        for _ in range(3):
            output.send({"a": "x" * 1_000_000})
        await asyncio.sleep(0)
        assert output.waiting > 1_000_000
        os.close(reader)
        await gone.wait()
        output.send({})
        await asyncio.sleep(0)
        assert output.waiting == 0
        os.close(writer)
        return len(told)

    assert asyncio.run(write()) == 1

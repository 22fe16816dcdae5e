"""The JSON of a run record's values is written and read alike whether its encoder and decoder are compiled or not."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.core.json_object import Decoders, Encoders, JsonObject, compiled_decoder, compiled_encoder
from tests.reporting.conftest import make_rich_record, make_test

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def values_in(value: Any) -> Iterator[JsonObject]:
    if isinstance(value, tuple):
        for one in value:
            yield from values_in(one)
    elif hasattr(value, "__dataclass_fields__"):
        if isinstance(value, JsonObject):
            yield value
        for field in fields(value):
            yield from values_in(getattr(value, field.name))


def test_values_are_encoded_alike_before_and_after_compiling():
    values = list(values_in(make_rich_record()))
    assert {type(value).__name__ for value in values} >= {"TestResult", "AssertionResult", "Failure", "ServerRecord"}
    encoders = Encoders()
    for value in values:
        first, compiled = encoders[type(value)](value), compiled_encoder(type(value))(value)
        assert json.dumps(first) == json.dumps(compiled)


def test_many_values_are_encoded_as_the_first():
    encoders, value = Encoders(), make_test("a")
    first = encoders[type(value)]
    texts = {json.dumps(encoders[type(value)](value)) for _ in range(200)}
    assert len(texts) == 1
    assert encoders[type(value)] is not first


def test_values_are_decoded_alike_before_and_after_compiling():
    decoders = Decoders()
    for value in values_in(make_rich_record()):
        cls, data = type(value), Encoders()[type(value)](value)
        assert decoders[cls](data) == compiled_decoder(cls)(data)


@pytest.mark.parametrize("wrong", [None, 5, "x", [], {"x": 1}])
def test_damaged_values_are_refused_alike_before_and_after_compiling(wrong):
    for value in values_in(make_rich_record()):
        cls, data = type(value), value.to_json()
        for key in data:
            damaged = {**data, key: wrong}
            assert found(Decoders()[cls], damaged) == found(compiled_decoder(cls), damaged)
            del damaged[key]
            assert found(Decoders()[cls], damaged) == found(compiled_decoder(cls), damaged)


def found(decode: Callable[..., Any], data: dict[str, Any]) -> str:
    try:
        return repr(decode(data))
    except (KeyError, TypeError, ValueError, AttributeError) as refused:
        return repr(refused)


def test_many_values_are_decoded_as_the_first():
    decoders, value = Decoders(), make_test("a")
    data, first = Encoders()[type(value)](value), decoders[type(value)]
    assert {repr(decoders[type(value)](data)) for _ in range(200)} == {repr(first(data))}
    assert decoders[type(value)] is not first

"""What the tests of judging share."""

from __future__ import annotations

import pytest

from mcptest_engine.core.targets import parse_target, resolve
from mcptest_engine.judging.matchers import Context, compile_matcher


@pytest.fixture(scope="session")
def why():
    """Judge `value` by a matcher: None, or the message."""

    def judge(matcher, value, **context):
        mismatch = compile_matcher(matcher, Context(**context))(value)
        return None if mismatch is None else mismatch.message

    return judge


@pytest.fixture(scope="session")
def absent():
    """What a path gives whose last segment is missing."""
    return resolve(parse_target("result.nothing"), {"result": {"here": 1}})


@pytest.fixture(scope="session")
def deep():
    """An array nested ten thousand levels deep."""
    value: object = 1
    for _ in range(10_000):
        value = [value]
    return value

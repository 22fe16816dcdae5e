"""The model endpoint as fixtures, for all tests: `model_endpoint` runs for a module, `models` is it, reset for each test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.servers.model_endpoint import ModelEndpoint

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def model_endpoint() -> Iterator[ModelEndpoint]:
    """One for the module."""
    with ModelEndpoint() as endpoint:
        yield endpoint


@pytest.fixture
def models(model_endpoint: ModelEndpoint) -> ModelEndpoint:
    """The endpoint, as if just started."""
    model_endpoint.reset()
    return model_endpoint

"""What the tests of models share: asking one, in an event loop of its own."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.judging.providers.model_calls import ModelCalls
from mcptest_engine.judging.providers.values import ModelError, ModelReply, ModelRequest, Role, Turn

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.servers.model_endpoint import ModelEndpoint

CLAUDE, GPT = "claude-sonnet-5-5", "gpt-5.4"


def question(text: str = "how warm is it?", model: str = CLAUDE, **members: Any) -> ModelRequest:
    return ModelRequest(model, (Turn(Role.USER, text),), **members)


@pytest.fixture(params=[CLAUDE, GPT])
def model(request: pytest.FixtureRequest) -> str:
    """Each test once through either API."""
    return request.param


@pytest.fixture
def ask(models: ModelEndpoint) -> Callable[..., Any]:
    """Ask the endpoint, and give the reply or the failure; of several questions, one after another, a list of these."""

    def asked(*requests: ModelRequest, prices: Any = None, **options: Any) -> Any:
        async def run() -> list[ModelReply | ModelError]:
            environ = options.pop("environ", models.environ)
            asking = ModelCalls(prices, environ, first_pause_seconds=0.0, **options)
            found: list[ModelReply | ModelError] = []
            async with asyncio.timeout(180):
                for request in requests:
                    try:
                        found.append(await asking.send(request))
                    except ModelError as wrong:
                        found.append(wrong)
                await asking.close()
            return found

        found = asyncio.run(run())
        return found[0] if len(found) == 1 else found

    return asked

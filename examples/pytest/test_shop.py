"""The same server, tested in Python: `pytest examples/pytest` runs this file and the suite beside it."""

import pytest
from shop import app


@pytest.fixture
def mcp_app():
    return app


async def test_tea_has_a_price(mcp_server):
    result = await mcp_server.call("price", item="tea")
    result.expect("structured.price", exact=30)


def test_gold_is_refused(mcp_server):
    mcp_server.call("price", item="gold").expect("text", contains="price", outcome="error")

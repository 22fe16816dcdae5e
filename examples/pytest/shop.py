"""A small MCP server, made with the `mcp` package."""

from mcp.server import MCPServer

PRICES = {"tea": 30, "milk": 12}
app = MCPServer("shop")


@app.tool()
def price(item: str) -> dict[str, int | str]:
    """The price of an item, in cents."""
    if item not in PRICES:
        raise ValueError(f"unknown item: {item}")
    return {"item": item, "price": PRICES[item]}


if __name__ == "__main__":
    app.run()

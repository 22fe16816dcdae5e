"""A server built with the `mcp` SDK, to check our client against somebody else's reading of the specification.

sdk_server.py              over stdio
sdk_server.py http PORT    over Streamable HTTP on 127.0.0.1
"""

import sys

from mcp.server import MCPServer

server = MCPServer("sdk-fixture", version="1.2.3")


@server.tool()
def add(a: int, b: int) -> int:
    """The sum of two integers."""
    return a + b


@server.resource("memo://today")
def memo() -> str:
    """What is on today."""
    return "nothing"


@server.prompt()
def greet(name: str) -> str:
    """Greet somebody."""
    return f"Say hello to {name}"


if __name__ == "__main__":
    if sys.argv[1:2] == ["http"]:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
    else:
        server.run("stdio")

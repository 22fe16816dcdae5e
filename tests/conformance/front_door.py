"""The front door over Streamable HTTP, for the official conformance suite, which asks for a URL: python front_door.py FOLDER.

The server is the one that `mcptest mcp-server` serves on stdin and stdout, its verbs and resources; only the transport is
another, the SDK's. Prints the URL and serves until it is ended.
"""

from __future__ import annotations

import asyncio
import socket
import sys

import uvicorn

from mcptest_engine.front_door.server import open_door, server_of


async def main(folder: str) -> None:
    """Serve the workspace in `folder` on a free port of this machine."""
    app = server_of(open_door(folder, writes_enabled=True)).streamable_http_app()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        sys.stdout.write(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp\n")
        sys.stdout.flush()
        await uvicorn.Server(uvicorn.Config(app, log_level="warning")).serve(sockets=[listener])


asyncio.run(main(sys.argv[1]))

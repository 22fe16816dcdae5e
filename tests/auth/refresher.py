"""One process that uses a stored token: says "ready" once it has read it, and asks with it when its stdin says so."""

import asyncio
import sys

from mcptest_engine.servers.oauth import auth_for
from mcptest_engine.servers.spec import ServerSpec
from tests.auth.conftest import ask


async def main() -> None:
    url = sys.argv[1]
    auth = auth_for(ServerSpec(name="api", url=url))
    print("ready", flush=True)
    sys.stdin.readline()
    print((await ask(url, auth)).text, flush=True)


asyncio.run(main())

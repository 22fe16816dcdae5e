"""The client that the official conformance suite drives: mcptest's own session, doing what each scenario expects of a client.

    MCP_CONFORMANCE_SCENARIO=tools_call python tests/conformance/client.py URL
    python tests/conformance/client.py --serve SOCKET       # a process for each URL that `hand_over.py` hands over there

The suite also sets MCP_CONFORMANCE_PROTOCOL_VERSION (the revision to speak) and MCP_CONFORMANCE_CONTEXT (JSON: what it needs).
Prints "ok" as its last line and exits 0 when all went as a client should have it; a scenario in `REFUSED` must end in an error.
The suite starts all scenarios at once: forked from one process, their clients spend the second of importing once.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
import traceback
from typing import TYPE_CHECKING, Any, NoReturn

import httpx2

from mcptest_engine.core.errors import ServerError
from mcptest_engine.servers import oauth
from mcptest_engine.servers.param_headers import schema_fault
from mcptest_engine.servers.session import connect
from mcptest_engine.servers.spec import ServerSpec

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcptest_engine.servers.session import Session

    Steps = Callable[[Session], Awaitable[None]]

PATIENCE_SECONDS = 120.0
CLIENT_ID_URL = "https://conformance-test.local/client-metadata.json"
REFUSED = frozenset(
    {
        "auth/scope-retry-limit",
        "auth/resource-mismatch",
        "auth/iss-supported-missing",
        "auth/iss-wrong-issuer",
        "auth/iss-unexpected",
        "auth/iss-normalized",
        "auth/metadata-issuer-mismatch",
    }
)
"""Scenarios whose server must not be trusted or does not relent, so that the client has to give up."""


def context() -> dict[str, Any]:
    """The context of a scenario, as the conformance suite passes it."""
    told: dict[str, Any] = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    return told


async def request(session: Session, method: str, **params: Any) -> dict[str, Any]:
    """The result of a request. Raises: ServerError, and RuntimeError for a JSON-RPC error."""
    exchange = await session.request(method, params, timeout_seconds=PATIENCE_SECONDS)
    if "error" in exchange.answer:
        raise RuntimeError(f"{method}: {exchange.answer['error']}")
    result: dict[str, Any] = exchange.answer["result"]
    return result


async def call(session: Session, name: str, **arguments: Any) -> dict[str, Any]:
    """The result of a tool."""
    return await request(session, "tools/call", name=name, arguments=arguments)


async def list_tools(session: Session) -> list[dict[str, Any]]:
    """The tools, as listed."""
    tools: list[dict[str, Any]] = (await request(session, "tools/list"))["tools"]
    return tools


async def list_and_call_all(session: Session) -> None:
    """Every tool that may be called, without arguments but what its schema demands."""
    for tool in await list_tools(session):
        if schema_fault(tool["inputSchema"]) is None:
            wanted = tool["inputSchema"].get("required", ())
            await call(session, tool["name"], **{name: _any_value(tool, name) for name in wanted})


async def call_and_call_again(session: Session) -> None:
    """A listing, and a call whose 401 says that tokens come from elsewhere by now."""
    await list_tools(session)
    await list_and_call_all(session)


async def use_everything(session: Session) -> None:
    """One of each kind of request that names the text that it changes."""
    await list_and_call_all(session)
    for resource in (await request(session, "resources/list"))["resources"]:
        await request(session, "resources/read", uri=resource["uri"])
    for prompt in (await request(session, "prompts/list"))["prompts"]:
        await request(session, "prompts/get", name=prompt["name"])


async def call_as_told(session: Session) -> None:
    """The calls of the context, once the tools are known."""
    await list_tools(session)
    for told in context()["toolCalls"]:
        await call(session, told["name"], **told["arguments"])


async def echo_schema(session: Session) -> None:
    """The first tool's schema, sent back as it came."""
    focal = (await list_tools(session))[0]
    await call(session, "json_schema_echo", schema=focal["inputSchema"])


async def only_list(session: Session) -> None:
    """List tools whose schemas refer to an address that must not be fetched; call nothing."""
    await list_tools(session)


async def list_skills(session: Session) -> None:
    """List skills, and fetch nothing else."""
    await request(session, "skills/list")


ANSWERS = {"roots": ["file:///conformance"], "sampling": "canned", "elicitation": "accept"}
STEPS: dict[str, tuple[Steps, dict[str, Any]]] = {
    "elicitation-sep1034-client-defaults": (list_and_call_all, {"elicitation": "accept"}),
    "request-metadata": (list_and_call_all, ANSWERS),
    "sep-2322-client-request-state": (
        list_and_call_all,
        {"elicitation": {"action": "accept", "content": {"confirmed": True}}},
    ),
    "http-standard-headers": (use_everything, {}),
    "http-custom-headers": (call_as_told, {}),
    "json-schema-ref-no-deref": (only_list, {}),
    "json-schema-2020-12-preservation": (echo_schema, {}),
    "auth/authorization-server-migration": (call_and_call_again, {}),
    "sep-2640-client-no-prefetch": (list_skills, {}),
    "sep-2640-client-verify-digest": (list_skills, {}),
    "sep-2640-client-verify-size": (list_skills, {}),
    "sep-2640-client-verify-frontmatter": (list_skills, {}),
}
"""What is done in a scenario, and the client's side of it; elsewhere every tool is called."""


async def main(url: str, scenario: str, revision: str) -> None:
    """Do what the scenario expects. Raises what went wrong."""
    steps, client = STEPS.get(scenario, (list_and_call_all, {}))
    told = context()
    credentials = told if scenario.startswith("auth/client-credentials") else None
    if scenario.startswith("auth/") and credentials is None:
        from mcptest_engine.servers.oauth_login import LoginRequest, interactive_auth  # takes as long as all the rest

        auth = interactive_auth(
            LoginRequest(url, client_id=told.get("client_id"), client_secret=told.get("client_secret")),
            browse,
            client_metadata_url=CLIENT_ID_URL,
            timeout_seconds=PATIENCE_SECONDS,
        )
        oauth.auth_for = lambda _spec: auth  # type: ignore[assignment,return-value]  # a run never logs in: it uses what `login` stored
    spec = ServerSpec(
        name="conformance",
        url=url,
        protocol=revision,
        client=client,
        oauth=None if credentials is None else {"grant": "client_credentials", **credentials},
        timeout_seconds=PATIENCE_SECONDS,
        connect_timeout_seconds=PATIENCE_SECONDS,
    )
    session = await connect(spec)
    try:
        await steps(session)
    finally:
        await session.close()


async def browse(url: str) -> None:
    """A person at a browser who agrees to everything."""
    async with httpx2.AsyncClient(follow_redirects=True, timeout=PATIENCE_SECONDS) as browser:
        await browser.get(url)


def _any_value(tool: dict[str, Any], name: str) -> Any:
    kind = tool["inputSchema"].get("properties", {}).get(name, {}).get("type")
    return {"number": 7, "integer": 7, "boolean": True, "object": {}, "array": []}.get(kind, "x")


def conduct(url: str) -> int:
    """Go through the scenario that the environment names, tell how it went, and give the exit code."""
    asked = os.environ["MCP_CONFORMANCE_SCENARIO"]
    try:
        asyncio.run(main(url, asked, os.environ["MCP_CONFORMANCE_PROTOCOL_VERSION"]))
    except (ServerError, RuntimeError) as wrong:
        print(f"gave up: {wrong}")
        gave_up = True
    else:
        gave_up = False
    as_it_should = gave_up == (asked in REFUSED)
    print("ok" if as_it_should else "not as a client should have it")
    return 0 if as_it_should else 1


def serve(path: str) -> NoReturn:
    """Fork a process for each scenario that is handed over at the Unix socket `path`; for ever."""
    for name in ("oauth_login", "client_credentials", "http", "opening"):
        __import__(f"mcptest_engine.servers.{name}")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(128)
    print("ready", flush=True)
    while True:
        asking, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            _take_over(asking)
        asking.close()


def _take_over(asking: socket.socket) -> NoReturn:
    """Be the client of one scenario, on the descriptors of whoever asks, which is told the exit code."""
    told, descriptors, _, _ = socket.recv_fds(asking, 1 << 16, 2)
    for number, descriptor in enumerate(descriptors, start=1):
        os.dup2(descriptor, number)
        os.close(descriptor)
    request = json.loads(told)
    os.environ.update(request["environ"])
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    code = 1
    try:
        code = conduct(request["url"])
    except BaseException:  # noqa: BLE001 - as an interpreter tells of it
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    asking.sendall(bytes([code]))
    os._exit(0)


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        serve(sys.argv[2])
    sys.exit(conduct(sys.argv[1]))

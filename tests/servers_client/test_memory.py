"""What a server sends has a budget of memory: past it the call or the session fails and says so, and memory stays bounded.

Each runs in a process of its own, whose largest size is measured by the system.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest_engine.servers import memory
from tests.servers_client.conftest import SERVERS
from tests.servers_client.http_scripts import HostileServer, head, scripted

if TYPE_CHECKING:
    from collections.abc import Iterator

CLIENT = """
import asyncio, json, os, resource, sys
from mcptest_engine.core.errors import ServerError
from mcptest_engine.servers import catalog
from mcptest_engine.servers.session import connect
from mcptest_engine.servers.spec import ServerSpec

def peak_mib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "linux" else 1024 * 1024)

async def failure_of(work):
    try:
        await work
    except ServerError as failure:
        return [type(failure).__name__, failure.message]

async def main(what, target, settings):
    reached = {"url": target} if isinstance(target, str) else {"command": tuple(target)}
    session = await connect(ServerSpec(name="s", env={"PATH": os.environ["PATH"]}, **reached, **settings))
    before = peak_mib()
    if what == "list":
        catalog.MAX_LIST_BYTES //= 4  # so that it is reached in less time
        failure = await failure_of(catalog.list_all(session, "tools"))
    else:
        failure = await failure_of(session.request("tools/call", {"name": "large"}, timeout_seconds=120))
    after = await failure_of(session.request("tools/call", {"name": "small"}, timeout_seconds=120))
    print(json.dumps({"failure": failure, "after": after, "mib": peak_mib() - before}))
    await session.close()

asyncio.run(main(sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])))
"""


MIB = 1024 * 1024


def measured(target: object, what: str = "call", bound_mib: int = 600, **settings: Any) -> dict[str, Any]:
    """{"failure", "after", "mib"}: how the call failed, and the next one, and by how much the process grew at most.

    `settings` are those of the server's spec.
    """
    command = [sys.executable, "-c", CLIENT, what, json.dumps(target), json.dumps(settings)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=os.environ)
    assert done.stderr == ""
    result: dict[str, Any] = json.loads(done.stdout)
    assert result["mib"] < bound_mib
    return result


def greedy(kind: str) -> list[str]:
    return [sys.executable, "-S", str(SERVERS / "greedy.py"), kind]


@pytest.fixture(scope="module")
def hostile() -> Iterator[HostileServer]:
    yield from scripted()


@pytest.mark.parametrize("kind", ["objects", "noise"])
def test_a_message_that_takes_too_much_memory_is_not_read(kind: str) -> None:
    """30 MB of empty objects are 700 MB of them; whether it was the answer or not, the session goes on."""
    done = measured(greedy(kind))
    error, message = done["failure"]
    assert error == "ProtocolBroken"
    assert "it would take more than 512 MiB of memory, which is too much" in message
    assert len(message) < 600
    assert done["after"] is None


def test_a_list_that_takes_too_much_memory_is_not_read_to_its_end() -> None:
    """1,000 pages of 2,000 tools are 5 GB."""
    done = measured(greedy("pages"), "list", bound_mib=150)
    error, message = done["failure"]
    assert error == "ProtocolBroken"
    assert message.endswith('"tools/list" lists too much: its pages take more than 64 MiB of memory')
    assert done["after"] is None


def test_answers_that_nobody_reads_end_the_session() -> None:
    """250 pings with ids of 12 MB: each has to be answered with its id."""
    done = measured(greedy("pings"))
    unread = "sent requests without reading the answers: more than 64 MiB of them were waiting"
    error, message = done["failure"]
    assert (error, unread in message) == ("ServerDied", True)
    assert unread in done["after"][1]


def test_millions_of_notifications_are_bounded_and_fail_nothing() -> None:
    """Only the newest are kept in the traffic, and the first as notifications."""
    done = measured(greedy("notifications"), bound_mib=110)
    assert (done["failure"], done["after"]) == (None, None)


def test_an_event_that_never_ends_takes_no_more_than_its_bytes(hostile: HostileServer) -> None:
    """Lines of two letters each, which as objects would take ten times that. A lower limit than the usual is met sooner."""
    url = hostile.calling({"send": head(kind="text/event-stream")}, {"flood": "data: xy\n"})
    done = measured(url, bound_mib=80, max_message_bytes=32 * MIB)
    error, message = done["failure"]
    assert error == "ProtocolBroken"
    assert "sent a message of more than 32 MiB, which is too large" in message
    assert done["after"] is None


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner, max_size=5),
)


@given(VALUES, st.sampled_from([None, 1]), st.booleans(), st.integers(1, 40))
def test_what_texts_hold_is_not_counted_as_structure(
    value: object, indent: int | None, ascii_only: bool, piece: int
) -> None:
    """Wherever the pieces are cut: what is left of a message has the same objects, lists and members, and empty texts."""
    line = json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "_PIECE", piece)
        structure = memory._structure(line)
    assert shape(structure) == shape(line)


def shape(text: bytes) -> object:
    """The value with every text emptied, its members without their names, which may then be the same."""

    def emptied(value: Any) -> Any:
        if isinstance(value, list):
            return [emptied(item) for item in value]
        return "" if isinstance(value, str) else value

    read = json.loads(
        text.decode("utf-8", "surrogatepass"), object_pairs_hook=lambda pairs: [{}, [v for _, v in pairs]]
    )
    return emptied(read)

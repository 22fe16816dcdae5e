"""One round of the soak: a suite whose every test asks its server for some behaviour, and what each test must come to.

The plan is a function of a seeded `Random`, so that a seed names a soak. Verdicts are known beforehand because a behaviour that
touches other tests (a server that dies or hangs) is only asked for by a serial test, and deaths are counted as the pool counts
them. How often a failed test is called again depends on what ran beside it: once at the most, and as the record counts it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

HERE = Path(__file__).parent
MOST_DEATHS = 3
STALL_MS = 150


@dataclass(frozen=True, slots=True)
class Expected:
    """What a test must come to: its verdict, the kind of its failure, and whether it is flaky."""

    verdict: str
    kind: str | None = None
    flaky: bool = False


PASS = Expected("pass")
SERVER = Expected("fail", "server")
TIMEOUT = Expected("fail", "timeout")
ASSERTION = Expected("fail", "assertion")
FLAKY = Expected("pass", flaky=True)
SKIP = Expected("skip")


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """The request to a server. `keys` are the other keys of the test.

    `calls` is how often the tool is called for it unless it is tried again alone, `repeats` how often a call is sent anew.
    """

    expected: Expected
    calls: int = 1
    repeats: int = 0
    deadly: bool = False
    renews: bool = False
    keys: dict[str, Any] = field(default_factory=dict)


_STALLED = {"timeout_ms": STALL_MS}
_COMMON = {
    "none": Behaviour(expected=PASS),
    "slow": Behaviour(expected=PASS),
    "wrong": Behaviour(expected=ASSERTION),
    "tool-error": Behaviour(expected=PASS),
    "rpc-error": Behaviour(expected=PASS),
    "big": Behaviour(expected=PASS),
    "notify": Behaviour(expected=PASS),
    "flaky": Behaviour(expected=FLAKY, calls=2, keys={"retries": 1}),
    "array": Behaviour(expected=SERVER),
    "stall": Behaviour(expected=TIMEOUT, keys=_STALLED),
    "dropped": Behaviour(expected=PASS, calls=2, keys={"fault": "drop_response", "retries": 1}),
    "delayed": Behaviour(expected=PASS, keys={"fault": {"delay_ms": 20}}),
}
STDIO = _COMMON | {
    "late": Behaviour(expected=TIMEOUT, keys=_STALLED),
    "garbage": Behaviour(expected=PASS),
    "bad-utf8": Behaviour(expected=PASS),
    "nul": Behaviour(expected=PASS),
    "torn": Behaviour(expected=SERVER),
    "duplicate": Behaviour(expected=PASS),
    "stranger": Behaviour(expected=PASS),
    "two-in-one": Behaviour(expected=PASS),
    "both": Behaviour(expected=SERVER),
    "stderr": Behaviour(expected=PASS),
    "ask": Behaviour(expected=PASS),
    "ping": Behaviour(expected=PASS),
    "sample": Behaviour(expected=PASS, keys={"client": {"sampling": "yes"}}),  # in a session of its own
    "freeze": Behaviour(expected=TIMEOUT, deadly=True, keys=_STALLED),
    "kill": Behaviour(expected=SERVER, deadly=True),
    "exit": Behaviour(expected=SERVER, deadly=True),
    "crash": Behaviour(expected=SERVER, deadly=True),
    "half": Behaviour(expected=SERVER, deadly=True),
    "cut": Behaviour(expected=PASS, calls=2, renews=True, keys={"fault": "disconnect", "retries": 1, "serial": True}),
}
HTTP = _COMMON | {
    "sse": Behaviour(expected=PASS),
    "throttle": Behaviour(expected=PASS, repeats=2),
    "status-500": Behaviour(expected=SERVER),
    "html": Behaviour(expected=SERVER),
    "empty": Behaviour(expected=SERVER),
    "elsewhere": Behaviour(expected=SERVER),
    "drop": Behaviour(expected=SERVER),
    "truncated": Behaviour(expected=SERVER),
    "cut-event": Behaviour(expected=SERVER),
    "stall-body": Behaviour(expected=TIMEOUT, keys=_STALLED),
    "cut": Behaviour(expected=PASS, calls=2, keys={"fault": "disconnect", "retries": 1, "serial": True}),
}
_ON_THE_SERVER = {"wrong": "none", "dropped": "none", "delayed": "none", "cut": "none"}
"""Behaviours that are the client's or the test's own doing: the server answers well."""


@dataclass(slots=True)
class Calls:
    """Calls of one server's `do`: planned, sent anew, allowed beyond (tried again alone), and those that may not arrive."""

    planned: int = 0
    repeats: int = 0
    again: int = 0
    unsure: int = 0

    def add(self, behaviour: Behaviour, *, alone: bool) -> None:
        """Count what a test asks for that is run `alone`, or beside others."""
        self.planned += behaviour.calls
        self.repeats += behaviour.repeats
        self.again += not alone and behaviour.expected.verdict == "fail"
        # On a busy machine the time may be over before the call has left.
        self.unsure += (behaviour.expected == TIMEOUT) * (1 if alone else 2)


@dataclass(frozen=True, slots=True)
class Round:
    """A suite as data, and what its tests must come to, by name; `calls` by server."""

    number: int
    suite: dict[str, Any]
    expected: dict[str, Expected]
    calls: dict[str, Calls]

    @property
    def faults(self) -> int:
        """How many tests ask for something odd."""
        return sum(name.split()[-1] not in ("none", "tally") for name in self.expected)


def planned(number: int, random: Random, *, url: str, token: str, folder: Path, size: int) -> Round:
    """A round of about `size` tests over both transports; `token` marks the servers, so that what is left of one is found.

    The stdio servers of the round count their calls in a file in `folder`.
    """
    expected: dict[str, Expected] = {}
    calls = {"pipes": Calls(), "web": Calls()}
    workers = random.choice([1, 2, 8, 16])
    servers = {
        "pipes": {
            "command": [sys.executable, "-S", str(HERE / "stdio_server.py")],
            "env": {"SOAK_TOKEN": token, "SOAK_TALLY": str(folder / f"tally-{number}")},
            "connect_timeout_ms": 60_000,
        },
        "web": {"url": url, "connect_timeout_ms": 60_000},
    }
    tests = [
        *_pipes(number, random, expected, calls["pipes"], size // 2, serial=workers == 1),
        *_web(number, random, expected, calls["web"], size - size // 2, serial=workers == 1),
    ]
    suite = {
        "name": f"soak round {number}",
        "run_options": {"concurrency": workers, "timeout_ms": 60_000},
        "servers": servers,
        "tools": tests,
    }
    return Round(number, suite, expected, calls)


def _pipes(
    number: int, random: Random, expected: dict[str, Expected], calls: Calls, size: int, *, serial: bool
) -> Iterator[dict[str, Any]]:
    """Tests of the stdio server. After three deaths in a row it is given up, and no further test passes."""
    deaths, given_up = 0, PASS  # those in a row; what the tests come to that need a server which was given up
    for index in range(size):
        name, behaviour = (
            _chosen(STDIO, random) if index else ("none", STDIO["none"])
        )  # the first reads the catalog too
        if behaviour.deadly and random.random() < 0.5:
            name, behaviour = "none", STDIO["none"]  # half as many deaths, or most rounds would end early
        title = f"pipes {index} {name}"
        own = "client" in behaviour.keys
        yield _test(title, "pipes", name, behaviour, _arguments(random, number, title, name))
        if given_up is not PASS and not own:
            expected[title] = given_up
            continue
        expected[title] = behaviour.expected
        calls.add(behaviour, alone=serial or behaviour.deadly or behaviour.renews)
        if not own:
            deaths = deaths + 1 if behaviour.deadly else 0
            if deaths == MOST_DEATHS:
                given_up = SKIP if name == "freeze" else SERVER
    expected["pipes tally"] = given_up
    yield _tally("pipes", number, calls)


def _web(
    number: int, random: Random, expected: dict[str, Expected], calls: Calls, size: int, *, serial: bool
) -> Iterator[dict[str, Any]]:
    for index in range(size):
        name, behaviour = _chosen(HTTP, random)
        title = f"web {index} {name}"
        expected[title] = behaviour.expected
        yield _test(title, "web", name, behaviour, _arguments(random, number, title, name))
        calls.add(behaviour, alone=serial or "serial" in behaviour.keys)
    expected["web tally"] = PASS
    yield _tally("web", number, calls)


def _chosen(behaviours: dict[str, Behaviour], random: Random) -> tuple[str, Behaviour]:
    """Every other test asks for nothing odd."""
    name = "none" if random.random() < 0.4 else random.choice(list(behaviours))
    return name, behaviours[name]


def _arguments(random: Random, number: int, title: str, name: str) -> dict[str, Any]:
    arguments = {"round": number, "token": f"{number}/{title}", "fault": _ON_THE_SERVER.get(name, name)}
    return {**arguments, "seconds": round(random.uniform(0.001, 0.05), 3)} if name == "slow" else arguments


def _test(title: str, server: str, name: str, behaviour: Behaviour, arguments: dict[str, Any]) -> dict[str, Any]:
    expect = _EXPECT.get(name, _answered_well)(arguments["token"])
    alone = {"serial": True} if behaviour.deadly or behaviour.renews else {}
    return {
        "name": title,
        "server": server,
        "tool": "do",
        "args": arguments,
        "expect": expect,
        **behaviour.keys,
        **alone,
    }


def _tally(server: str, number: int, calls: Calls) -> dict[str, Any]:
    """The last test of a server: neither was a call lost on the way, nor made once more than a failure allows."""
    sent = calls.planned + calls.repeats
    counts = [str(count) for count in range(sent - calls.unsure, sent + calls.again + 1)]
    expect = [{"target": "result.content[0].text", "matcher": {"one-of": counts}}]
    args = {"round": number}
    return {
        "name": f"{server} tally",
        "server": server,
        "tool": "tally",
        "args": args,
        "expect": expect,
        "serial": True,
    }


def _answered_well(token: str) -> list[dict[str, Any]]:
    return [{"target": "result.content[0].text", "matcher": {"exact": token}}]


_EXPECT: dict[str, Callable[[str], list[dict[str, Any]]]] = {
    "wrong": lambda _token: [{"target": "result.content[0].text", "matcher": {"exact": "something else"}}],
    "tool-error": lambda token: [
        {"target": "result.isError", "matcher": {"exact": True}},
        {"target": "result.content[0].text", "matcher": {"exact": token}},
    ],
    "rpc-error": lambda token: [
        {"target": "error.code", "matcher": {"exact": -32050}},
        {"target": "error.message", "matcher": {"exact": token}},
    ],
    "flaky": lambda token: [{"target": "result.content[0].text", "matcher": {"exact": token}}],
    "big": lambda token: [
        {"target": "result.content[0].text", "matcher": {"exact": token}},
        {"target": "result.pad", "matcher": {"length": 300_000}},
    ],
}

"""One round of the soak: a suite whose every test asks its server for some behaviour, and what each test must come to.

The plan is a function of a seeded `Random`, so that a seed names a soak. Verdicts are known beforehand because a behaviour that
touches other tests (a server that dies) is only asked for by a serial test, and deaths are counted as the pool counts them.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """What a server is asked for. `calls` is how often the tool is called for it, `keys` what the test says besides."""

    expected: Expected
    calls: int = 1
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
    "sample": Behaviour(expected=PASS, calls=0, keys={"client": {"sampling": "yes"}}),  # in a session of its own
    "kill": Behaviour(expected=SERVER, deadly=True),
    "exit": Behaviour(expected=SERVER, deadly=True),
    "crash": Behaviour(expected=SERVER, deadly=True),
    "half": Behaviour(expected=SERVER, deadly=True),
    "cut": Behaviour(expected=PASS, renews=True, keys={"fault": "disconnect", "retries": 1, "serial": True}),
}
HTTP = _COMMON | {
    "sse": Behaviour(expected=PASS),
    "throttle": Behaviour(expected=PASS, calls=3),
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


@dataclass(frozen=True, slots=True)
class Round:
    """A suite as data, and what its tests must come to, by name."""

    number: int
    suite: dict[str, Any]
    expected: dict[str, Expected]

    @property
    def calls(self) -> int:
        return len(self.expected)


def planned(number: int, random: Random, *, url: str, token: str, size: int) -> Round:
    """A round of about `size` tests over both transports; `token` marks the servers, so that what is left of one is found."""
    expected: dict[str, Expected] = {}
    servers = {
        "pipes": {
            "command": [sys.executable, "-S", str(HERE / "stdio_server.py")],
            "env": {"SOAK_TOKEN": token},
            "connect_timeout_ms": 60_000,
        },
        "web": {"url": url, "connect_timeout_ms": 60_000},
    }
    tests = [*_pipes(number, random, expected, size // 2), *_web(number, random, expected, size - size // 2)]
    suite = {
        "name": f"soak round {number}",
        # One at a time: what fails beside others is run again, which no plan foretells.
        "run_options": {"concurrency": 1, "timeout_ms": 60_000, "catalog": "off", "validity": "off"},
        "servers": servers,
        "tools": tests,
    }
    return Round(number, suite, expected)


def _pipes(number: int, random: Random, expected: dict[str, Expected], size: int) -> Iterator[dict[str, Any]]:
    """Tests of the stdio server. After three deaths in a row it is given up, and each further test fails."""
    deaths = calls = 0  # those in a row
    hung = False  # a server that answers no ping after a timeout is started anew, and counts from 0
    for index in range(size):
        name, behaviour = _chosen(STDIO, random)
        if behaviour.deadly and random.random() < 0.5:
            name, behaviour = "none", STDIO["none"]  # half as many deaths, or most rounds would end early
        title = f"pipes {index} {name}"
        given_up = deaths >= MOST_DEATHS
        own = "client" in behaviour.keys
        expected[title] = SERVER if given_up and not own else behaviour.expected
        yield _test(title, "pipes", name, behaviour, _arguments(random, number, title, name))
        hung = hung or behaviour.expected == TIMEOUT
        if behaviour.deadly and not given_up:
            deaths, calls = deaths + 1, 0
        elif behaviour.renews and not given_up:
            deaths, calls = 0, 1  # the second attempt, in the process that was started anew
        else:
            deaths = deaths if given_up or not behaviour.calls else 0
            calls += behaviour.calls
    expected["pipes tally"] = SERVER if deaths >= MOST_DEATHS else PASS
    yield _tally("pipes", number, calls, calls if hung else 0)


def _web(number: int, random: Random, expected: dict[str, Expected], size: int) -> Iterator[dict[str, Any]]:
    calls = unsure = 0
    for index in range(size):
        name, behaviour = _chosen(HTTP, random)
        title = f"web {index} {name}"
        expected[title] = behaviour.expected
        yield _test(title, "web", name, behaviour, _arguments(random, number, title, name))
        calls += behaviour.calls
        unsure += behaviour.expected == TIMEOUT  # on a busy machine the time may be over before the call has left
    expected["web tally"] = PASS
    yield _tally("web", number, calls, unsure)


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


def _tally(server: str, number: int, calls: int, unsure: int = 0) -> dict[str, Any]:
    """The last test of a server: neither was a call lost on the way, nor made twice."""
    counts = [str(count) for count in range(calls - unsure, calls + 1)]
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

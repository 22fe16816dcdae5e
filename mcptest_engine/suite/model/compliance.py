"""Checks of what a server must answer whatever it is for: the requests that the protocol itself has."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from mcptest_engine.suite.model.base import Group, Many, Milliseconds, Part, Text
from mcptest_engine.suite.model.entries import Cache, Expect, ExpectItem, Reason  # noqa: TC001  (pydantic reads the annotations)

Check = Literal[
    "initialize",
    "ping",
    "tools/list",
    "resources/list",
    "resources/templates/list",
    "prompts/list",
    "server/discover",
    "unknown-method",
]
SpecVersion = Literal[
    "2024-11-05",
    "2025-03-26",
    "2025-06-18",
    "2025-11-25",
    "2026-07-28",
    "v2024-11-05",
    "v2025-03-26",
    "v2025-06-18",
    "v2025-11-25",
    "v2026-07-28",
    "draft",
]
_PIN = "The protocol revision that is offered, and by whose rules the answer is judged; `draft` is the newest that is known."


class ComplianceCheck(Part):
    """One request of the protocol, its answer held to what the specification says of it."""

    name: Text = Field(description="Says what holds when the check passes; reports and `--filter` use it.")
    description: str | None = Field(default=None, description="More about the check, for people.")
    server: Text | None = Field(
        default=None, description="A server of this suite; may be left out when there is only one."
    )
    check: Check = Field(
        description="The request whose answer is judged; `unknown-method` sends a request that no server knows."
    )
    spec_version: SpecVersion | None = Field(
        default=None,
        description=f"{_PIN} Left out, the server is spoken to as its other tests are, by the revision agreed on then.",
        examples=["2025-11-25"],
    )
    expect: Many[ExpectItem] | Expect | None = Field(
        default=None,
        description="What is expected of the answer beside what the specification asks, written as for a test.",
    )
    skip: bool | Reason | None = Field(
        default=None, description="Do not run this check; a text says why.", examples=["needs the staging server"]
    )
    only: bool | None = Field(default=None, description="Run only tests so marked; refused in CI.")
    tags: Many[Text] = Field(default=(), description="Labels that `--tag` selects by.", examples=[["smoke"]])
    group: Group | None = None
    serial: bool | None = Field(
        default=None, description="Run alone, after the tests before it and before those after it."
    )
    retries: Annotated[int, Field(ge=0, le=100)] | None = Field(
        default=None, description="How many times a failed check is tried again."
    )
    cache: Cache | None = Field(default=None, description="Whether `run --cache` may replay its result.")
    timeout_ms: Milliseconds | None = Field(default=None, description="How long the request may take, in milliseconds.")


class Compliance(Part):
    """Checks with what they have in common."""

    spec_version: SpecVersion | None = Field(
        default=None, description=f"{_PIN} It holds for the checks that say none.", examples=["2025-11-25"]
    )
    checks: Many[ComplianceCheck] = Field(description="The checks.")

"""Checks of what a server must answer whatever it is for: the requests that the protocol itself has."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from mcptest_engine.suite.model.base import Fresh, Group, Many, Milliseconds, Part, Text
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
_PIN = "The protocol revision that mcptest offers and whose rules apply. `draft` is the newest known revision."


class ComplianceCheck(Part):
    """One request of the protocol, its answer held to what the specification says of it."""

    name: Text = Field(
        description="The name of the check, in reports and for `--filter`. It should say what "
        "holds if the check passes."
    )
    description: str | None = Field(default=None, description="A description for people.")
    server: Text | None = Field(default=None, description="A server of this suite. Not needed if there is only one.")
    check: Check = Field(
        description="The request whose answer is checked. `unknown-method` sends a request that no server knows."
    )
    spec_version: SpecVersion | None = Field(
        default=None,
        description=f"{_PIN} Default: the negotiated revision of the server's other tests.",
        examples=["2025-11-25"],
    )
    expect: Many[ExpectItem] | Expect | None = Field(
        default=None,
        description="Further expectations on the answer, as in a test.",
    )
    skip: bool | Reason | None = Field(
        default=None, description="Skip this check. A text is the reason.", examples=["needs the staging server"]
    )
    only: bool | None = Field(default=None, description="Run only the tests with `only: true`. Refused in CI.")
    tags: Many[Text] = Field(default=(), description="Labels for `--tag`.", examples=[["smoke"]])
    group: Group | None = None
    fresh: Fresh | None = None
    serial: bool | None = Field(
        default=None, description="Run alone: earlier tests finish first, and later tests wait."
    )
    retries: Annotated[int, Field(ge=0, le=100)] | None = Field(
        default=None, description="How many times a failed check is retried."
    )
    cache: Cache | None = Field(default=None, description="Whether `run --cache` may use a saved result.")
    timeout_ms: Milliseconds | None = Field(default=None, description="The time limit of the request, in milliseconds.")


class Compliance(Part):
    """Checks with what they have in common."""

    spec_version: SpecVersion | None = Field(
        default=None, description=f"{_PIN} The default for the checks.", examples=["2025-11-25"]
    )
    checks: Many[ComplianceCheck] = Field(description="The checks.")

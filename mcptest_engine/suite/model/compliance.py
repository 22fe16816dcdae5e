"""Checks of what a server must answer whatever it is for: the requests that the protocol itself has."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from mcptest_engine.suite.compliance import CHECKS, SPEC_VERSIONS
from mcptest_engine.suite.model.base import About, Many, Milliseconds, Part, Text, hints
from mcptest_engine.suite.model.entries import EXPECT_HINTS, AnyTest, Cache, Expect, ExpectItem

Check = Annotated[str, Field(json_schema_extra={"enum": [*CHECKS]})]
SpecVersion = Annotated[str, Field(json_schema_extra={"enum": [*SPEC_VERSIONS]})]
_PIN = "The protocol revision that mcptest offers and whose rules apply. `draft` is the newest known revision."


class ComplianceCheck(AnyTest):
    """One request of the protocol, its answer held to what the specification says of it."""

    about = About(
        expected="a check, which is a mapping",
        place="belongs in a check, under `compliance`",
        heading="A check",
        text="An entry of `compliance:`: a list of checks or the mapping below. "
        "[Compliance](../how-to/compliance.md) explains it.",
        link="check",
    )

    server: Text | None = Field(default=None, description="A server of this suite. Not needed if there is only one.")
    check: Check = Field(
        description="The request whose answer is checked. `unknown-method` sends a request that no server knows.",
        json_schema_extra=hints(
            "call method request rule tool", missing="name the request to check, such as `check: tools/list`"
        ),
    )
    spec_version: SpecVersion | None = Field(
        default=None,
        description=f"{_PIN} Default: the negotiated revision of the server's other tests.",
        examples=["2025-11-25"],
        json_schema_extra=hints("protocol protocolVersion protocol_version revision spec specVersion version"),
    )
    expect: Many[ExpectItem] | Expect | None = Field(
        default=None,
        description="Further expectations on the answer, as in a test.",
        json_schema_extra=EXPECT_HINTS,
    )
    cache: Cache | None = Field(default=None, description="Whether `run --cache` may use a saved result.")
    timeout_ms: Milliseconds | None = Field(default=None, description="The time limit of the request, in milliseconds.")


class Compliance(Part):
    """Checks with what they have in common."""

    about = About(
        expected="a mapping with `checks`",
        place="belongs beside `checks`, under `compliance`",
        later="baseline grade_delta spec_version_check",
        heading="`compliance` as a mapping",
    )

    spec_version: SpecVersion | None = Field(
        default=None,
        description=f"{_PIN} The default for the checks.",
        examples=["2025-11-25"],
        json_schema_extra=hints("protocol protocolVersion protocol_version revision spec specVersion version"),
    )
    checks: Many[ComplianceCheck] = Field(
        description="The checks.",
        json_schema_extra=hints("tests rules", missing="write a list of checks below `checks:`", items="checks"),
    )

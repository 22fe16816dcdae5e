"""Commands around a run and around each of its tests. Source: suite-composition, Lifecycle hooks."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from mcptest_engine.suite.model.base import Many, Milliseconds, Part, Text


class ContextStep(Part):
    """A command that is told of the run as JSON on its stdin and may answer with a small patch."""

    command: Text = Field(
        description="A program and its arguments. The text is split like in a POSIX shell, but no shell runs it.",
        examples=["node ./compute-vars.js"],
    )
    mode: Literal["context"] = Field(
        description="Always `context`: the command gets the run's context as JSON and may answer with "
        "`env`, `vars` and `skip`."
    )
    timeout_ms: Milliseconds | None = Field(
        default=None, description="The time limit of this command, in milliseconds."
    )


Step = Text | ContextStep
Phase = Step | Annotated[Many[Step], Field(min_length=1)]


class Hooks(Part):
    """Commands around the run and around each test. One is a text, or a mapping with `mode: context`; several, a list."""

    beforeAll: Phase | None = Field(  # noqa: N815  (as the suite spells it)
        default=None,
        description="Runs once, before the first test. If it fails, no test runs and all fail.",
        examples=["./scripts/seed-db.sh"],
    )
    afterAll: Phase | None = Field(  # noqa: N815
        default=None, description="Runs once, after the last test. A failure is a warning."
    )
    beforeEach: Phase | None = Field(  # noqa: N815
        default=None,
        description="Runs before each test. Tests then run one after another. If it fails, the test fails "
        "without being called.",
    )
    afterEach: Phase | None = Field(  # noqa: N815
        default=None,
        description="Runs after each test, whatever its verdict is. Tests then run one after another. A failure "
        "is a warning.",
    )
    per_attempt: bool | None = Field(
        default=None,
        description="Run `beforeEach` and `afterEach` around each attempt of a test, in place of once around all "
        "attempts.",
    )
    timeout_ms: Milliseconds | None = Field(
        default=None,
        description="The time limit of each command, in milliseconds. Default: 60000.",
        examples=[60000],
    )

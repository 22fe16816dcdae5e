"""Commands around a run and around each of its tests. Source: suite-composition, Lifecycle hooks."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from mcptest_engine.suite.model.base import Many, Milliseconds, Part, Text


class ContextStep(Part):
    """A command that is told of the run as JSON on its stdin and may answer with a small patch."""

    command: Text = Field(
        description="A program and its arguments, split by the rules of a POSIX shell and run without one.",
        examples=["node ./compute-vars.js"],
    )
    mode: Literal["context"] = Field(
        description="Always `context`: the command gets the run's context as JSON and may answer with "
        "`env`, `vars` and `skip`."
    )
    timeout_ms: Milliseconds | None = Field(
        default=None, description="How long this command may take, in milliseconds."
    )


Step = Text | ContextStep
Phase = Step | Annotated[Many[Step], Field(min_length=1)]


class Hooks(Part):
    """Commands around the run and around each test. One is a text, or a mapping with `mode: context`; several, a list."""

    beforeAll: Phase | None = Field(  # noqa: N815  (as the suite spells it)
        default=None,
        description="Once, before the first test. When it fails, no test runs and all fail.",
        examples=["./scripts/seed-db.sh"],
    )
    afterAll: Phase | None = Field(  # noqa: N815
        default=None, description="Once, after the last test. A failure is reported and fails nothing."
    )
    beforeEach: Phase | None = Field(  # noqa: N815
        default=None,
        description="Before each test; tests then run one after the other. When it fails, its test fails and is not run.",
    )
    afterEach: Phase | None = Field(  # noqa: N815
        default=None,
        description="After each test, whatever came of it; tests then run one after the other. "
        "A failure is reported and fails nothing.",
    )
    per_attempt: bool | None = Field(
        default=None,
        description="`beforeEach` and `afterEach` go around each attempt at a test, retries included, and not once around all.",
    )
    timeout_ms: Milliseconds | None = Field(
        default=None,
        description="How long each command may take, in milliseconds, before it is killed; 60000 when left out.",
        examples=[60000],
    )

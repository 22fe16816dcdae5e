"""Commands around a run and around each of its tests. See docs/how-to/hooks.md."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from mcptest_engine.suite.model.base import About, Many, Milliseconds, Part, Text, hints


class ContextStep(Part):
    """A command that is told of the run as JSON on its stdin and may answer with a small patch."""

    about = About(
        expected="a mapping with `command` and `mode: context`",
        heading="A hook with `mode: context`",
        text="Both `command` and `mode` are needed. A hook without a mode is a text.",
    )

    command: Text = Field(
        description="A program and its arguments. The text is split like in a POSIX shell, but no shell runs it.",
        examples=["node ./compute-vars.js"],
        json_schema_extra=hints("cmd run exec script", missing="write the command, such as `command: node ./hook.js`"),
    )
    mode: Literal["context"] = Field(
        description="Always `context`: the command gets the run's context as JSON and may answer with "
        "`env`, `vars` and `skip`.",
        json_schema_extra=hints(
            "type", missing="write `mode: context`, or only the command as a text for a plain hook"
        ),
    )
    timeout_ms: Milliseconds | None = Field(
        default=None, description="The time limit of this command, in milliseconds.", json_schema_extra=hints("timeout")
    )


Step = Text | ContextStep
Phase = Step | Annotated[Many[Step], Field(min_length=1)]


class Hooks(Part):
    """Commands around the run and around each test. One is a text, or a mapping with `mode: context`; several, a list."""

    about = About(
        expected="a mapping with `beforeAll`, `afterAll`, `beforeEach` or `afterEach`",
        place="belongs under `hooks`, at the top of the file",
        heading="`hooks`",
        text="[Hooks](../how-to/hooks.md) explains them.",
    )

    beforeAll: Phase | None = Field(  # noqa: N815  (as the suite spells it)
        default=None,
        description="Runs once, before the first test. If it fails, no test runs and all fail.",
        examples=["./scripts/seed-db.sh"],
        json_schema_extra=hints("before_all before setup", items="commands"),
    )
    afterAll: Phase | None = Field(  # noqa: N815
        default=None,
        description="Runs once, after the last test. A failure is a warning.",
        json_schema_extra=hints("after_all after teardown", items="commands"),
    )
    beforeEach: Phase | None = Field(  # noqa: N815
        default=None,
        description="Runs before each test. Tests then run one after another. If it fails, the test fails "
        "without being called.",
        json_schema_extra=hints("before_each setUp", items="commands"),
    )
    afterEach: Phase | None = Field(  # noqa: N815
        default=None,
        description="Runs after each test, whatever its verdict is. Tests then run one after another. A failure "
        "is a warning.",
        json_schema_extra=hints("after_each tearDown", items="commands"),
    )
    per_attempt: bool | None = Field(
        default=None,
        description="Run `beforeEach` and `afterEach` around each attempt of a test, in place of once around all "
        "attempts.",
        json_schema_extra=hints("beforeAttempt afterAttempt perAttempt each_attempt"),
    )
    timeout_ms: Milliseconds | None = Field(
        default=None,
        description="The time limit of each command, in milliseconds. Default: 60000.",
        examples=[60000],
        json_schema_extra=hints("timeout"),
    )

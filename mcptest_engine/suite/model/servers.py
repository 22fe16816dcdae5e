"""The servers under test, as a suite declares them."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from mcptest_engine.suite.model.base import Many, Milliseconds, Part, Scalar, Text


class HeaderFromEnv(Part):
    """A header whose value stays out of the file."""

    env: Text = Field(description="The environment variable that holds the value.", examples=["API_KEY"])


class Auth(Part):
    """How mcptest shows who it is."""

    bearer_token_env: Text = Field(
        description="The environment variable that holds the token, sent as `Authorization: Bearer …`.",
        examples=["MCP_TOKEN"],
    )


class Server(Part):
    """One server under test: a command to start, or a URL to reach. Exactly one of `command` and `url`."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [{"required": ["command"]}, {"required": ["url"]}]})

    description: str | None = Field(default=None, description="What this server is, for people.")
    command: Annotated[Many[str], Field(min_length=1)] | None = Field(
        default=None,
        description="The program and its arguments, one list item each; no shell reads it. "
        "Relative paths start where mcptest was started; `${CONFIG_DIR}` is the suite's directory.",
        examples=[["python", "${CONFIG_DIR}/server.py"]],
    )
    url: Annotated[str, Field(pattern=r"^(https?://|\$\{)")] | None = Field(
        default=None,
        description="Where the server listens, over Streamable HTTP.",
        examples=["http://localhost:3000/mcp"],
    )
    headers: dict[str, str | HeaderFromEnv] | None = Field(
        default=None,
        description="HTTP headers sent with every request, each a text or `{ env: NAME }`.",
        examples=[{"X-Api-Key": {"env": "API_KEY"}}],
    )
    auth: Auth | None = Field(default=None, description="How mcptest shows who it is.")
    env: dict[str, Scalar] | None = Field(
        default=None,
        description="Environment variables for this server, over those of the suite; "
        "a number or boolean is passed as the text that it is written as.",
    )
    inherit_env: bool | Many[Text] | None = Field(
        default=None,
        description="Which variables of mcptest's own environment the server sees besides the basic ones "
        "(`PATH`, `HOME` and the like): all, none, or those named.",
        examples=[["JAVA_HOME"]],
    )
    cwd: Text | None = Field(default=None, description="The directory in which the server starts.")
    protocol: Text | None = Field(
        default=None,
        description="The protocol revision to offer; the newest by default.",
        examples=["2025-11-25"],
    )
    serial: bool | None = Field(default=None, description="Run the tests of this server one after the other.")
    timeout_ms: Milliseconds | None = Field(
        default=None, description="How long one call may take, in milliseconds.", examples=[30000]
    )
    connect_timeout_ms: Milliseconds | None = Field(
        default=None, description="How long start and handshake may take, in milliseconds.", examples=[15000]
    )
    shutdown_grace_ms: Annotated[int, Field(ge=0, le=2_147_483_647)] | None = Field(
        default=None, description="How long the server may take to end before it is killed, in milliseconds."
    )

    @model_validator(mode="after")
    def _one_way_to_reach_it(self) -> Server:
        if len({"command", "url"} & self.model_fields_set) != 1:
            raise PydanticCustomError("command_or_url", "a server has either `command` or `url`")
        return self

"""The servers under test, as a suite declares them."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from mcptest_engine.suite.forms import DURATION_OR_URL_PATTERN
from mcptest_engine.suite.model.base import Duration, HttpUrl, Many, Milliseconds, OneWay, Part, Scalar, Text, one_of
from mcptest_engine.suite.model.client import Client  # noqa: TC001  (pydantic reads the annotations)

Gate = Literal["fail", "warn", "off"]


class HeaderFromEnv(Part):
    """A header whose value stays out of the file."""

    env: Text = Field(description="The environment variable that holds the value.", examples=["API_KEY"])


class OAuth(Part):
    """OAuth 2 for a program: mcptest gets its token itself, as the client that is named here."""

    grant: Literal["client_credentials"] = Field(
        description="How the token is got. To sign in as a person, use `mcptest login URL` and leave `auth` out."
    )
    client_id: Text = Field(description="The client's name at the authorization server.", examples=["ci-runner"])
    client_secret_env: Text = Field(
        description="The environment variable that holds the client's secret.", examples=["MCP_CLIENT_SECRET"]
    )
    token_endpoint: HttpUrl | None = Field(
        default=None,
        description="Where tokens are given out; found through the server's own metadata when left out.",
        examples=["https://auth.example.com/token"],
    )
    scope: Text | None = Field(
        default=None, description="The scopes to ask for, with spaces between them.", examples=["tools:read tools:call"]
    )
    auth_method: Literal["client_secret_basic", "client_secret_post"] | None = Field(
        default=None,
        description="How the secret is shown to `token_endpoint`: in a header (the default) or in the body.",
    )


class Auth(OneWay):
    """How mcptest shows who it is. Exactly one of `bearer_token_env` and `oauth`."""

    model_config = one_of("bearer_token_env", "oauth")
    ways: ClassVar[tuple[str, ...]] = ("bearer_token_env", "oauth")

    bearer_token_env: Text | None = Field(
        default=None,
        description="The environment variable that holds the token, sent as `Authorization: Bearer …`.",
        examples=["MCP_TOKEN"],
    )
    oauth: OAuth | None = Field(default=None, description="Get a token by OAuth 2, and a new one when it has expired.")


class Http(Part):
    """How an HTTP server is spoken to."""

    timeout: Duration | None = Field(
        default=None,
        description="How long one HTTP exchange may take, as a number and its unit; the call's own time when left out.",
        examples=["30s"],
    )
    connect_timeout: Duration | None = Field(
        default=None,
        description="How long one connection may take to be made, as a number and its unit.",
        examples=["5s"],
    )
    verify: bool | Text | None = Field(
        default=None,
        description="Whose certificates are trusted: the system's (`true`, the default), anybody's (`false`), or those of the "
        "authorities in a PEM file or a directory. A relative path starts where mcptest was started.",
        examples=["${CONFIG_DIR}/ca.pem"],
    )
    proxy: HttpUrl | None = Field(
        default=None, description="The HTTP proxy to go through.", examples=["http://proxy.example.com:3128"]
    )


class Readiness(Part):
    """What is waited for before a server is spoken to. At least one of `url` and `timeout`."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    url: HttpUrl | None = Field(
        default=None,
        description="What must answer with 2xx; the server itself, with anything at all, when left out.",
        examples=["http://localhost:3000/health"],
    )
    timeout: Duration | None = Field(
        default=None, description="How long to wait, as a number and its unit; `60s` when left out.", examples=["60s"]
    )

    @model_validator(mode="after")
    def _says_something(self) -> Readiness:
        if not self.model_fields_set:
            raise PydanticCustomError("says_nothing", "at least one of `url` and `timeout`")
        return self


class Server(OneWay):
    """One server under test: a command to start, or a URL to reach. Exactly one of `command` and `url`."""

    model_config = one_of("command", "url")
    ways: ClassVar[tuple[str, ...]] = ("command", "url")

    description: str | None = Field(default=None, description="What this server is, for people.")
    command: Annotated[Many[str], Field(min_length=1)] | None = Field(
        default=None,
        description="The program and its arguments, one list item each; no shell reads it. "
        "Relative paths start where mcptest was started; `${CONFIG_DIR}` is the suite's directory.",
        examples=[["python", "${CONFIG_DIR}/server.py"]],
    )
    url: HttpUrl | None = Field(
        default=None,
        description="Where the server listens, over Streamable HTTP.",
        examples=["http://localhost:3000/mcp"],
    )
    headers: dict[str, str | HeaderFromEnv] | None = Field(
        default=None,
        description="HTTP headers sent with every request, each a text or `{ env: NAME }`.",
        examples=[{"X-Api-Key": {"env": "API_KEY"}}],
    )
    auth: Auth | None = Field(
        default=None,
        description="How mcptest shows who it is: by a token, or by OAuth.",
        examples=[{"bearer_token_env": "MCP_TOKEN"}],
    )
    http: Http | None = Field(
        default=None,
        description="Timeouts, trusted certificates and the proxy of a server with `url`.",
        examples=[{"timeout": "30s", "verify": "ca.pem"}],
    )
    wait_for_ready: Annotated[str, Field(pattern=DURATION_OR_URL_PATTERN)] | Readiness | None = Field(
        default=None,
        description="Wait for a server with `url` that is still starting: how long, what URL must answer with 2xx first, "
        "or both. A run whose server never gets ready ends with exit code 3.",
        examples=["60s", "http://localhost:3000/health", {"url": "http://localhost:3000/health", "timeout": "2m"}],
    )
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
        description="The protocol revision to offer: 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25 (the default) or the "
        "stateless 2026-07-28; `auto` asks the server first. Any other text is offered as it is.",
        examples=["2025-11-25", "2026-07-28", "auto"],
    )
    client: Client | None = Field(
        default=None,
        description="What mcptest can do as this server's client, and what it answers when the server asks.",
        examples=[{"sampling": "Paris", "elicitation": "accept"}],
    )
    serial: bool | None = Field(default=None, description="Run the tests of this server one after the other.")
    validity: Gate | None = Field(
        default=None,
        description="What a result of this server means that breaks the protocol's schema or the tool's own `outputSchema`: "
        "the test fails (`fail`), a warning (`warn`), or it is not checked (`off`); over `run_options`.",
        examples=["warn"],
    )
    hygiene: Gate | None = Field(
        default=None,
        description="What it means that this server writes to stdout what is no message, or goes on when its stdin is closed: "
        "the run fails (`fail`), a warning (`warn`), or nothing (`off`); over `run_options`.",
        examples=["fail"],
    )
    catalog: Literal["on", "off"] | None = Field(
        default=None,
        description="Whether a run lists the tools and prompts of this server; over `run_options`.",
        examples=["off"],
    )
    server_version: Text | None = Field(
        default=None,
        description="Which build of the server this is, as you name it. A result kept by `run --cache` is replayed only while "
        "it stays the same; of a server with `url` none is kept without it.",
        examples=["2026-01-31", "1f3c9ab"],
    )
    timeout_ms: Milliseconds | None = Field(
        default=None, description="How long one call may take, in milliseconds.", examples=[30000]
    )
    connect_timeout_ms: Milliseconds | None = Field(
        default=None, description="How long start and handshake may take, in milliseconds.", examples=[15000]
    )
    shutdown_grace_ms: Annotated[int, Field(ge=0, le=2_147_483_647)] | None = Field(
        default=None, description="How long the server may take to end before it is killed, in milliseconds."
    )

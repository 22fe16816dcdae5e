"""The servers under test, as a suite declares them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from mcptest_engine.suite.model.base import (
    NOT_EMPTY,
    About,
    Duration,
    HttpUrl,
    Many,
    Milliseconds,
    Part,
    Scalar,
    Text,
    hints,
    one_of,
)
from mcptest_engine.suite.model.client import Client  # noqa: TC001  (pydantic reads the annotations)
from mcptest_engine.suite.schema import DURATION_OR_URL_PATTERN, PATH_PATTERN

Gate = Literal["fail", "warn", "off"]
Port = Annotated[int, Field(ge=1, le=65535)]


class HeaderFromEnv(Part):
    """A header whose value stays out of the file."""

    about = About(expected="a mapping with `env`", link="`{ env: NAME }`")

    env: Text = Field(
        description="The environment variable that holds the value.",
        examples=["API_KEY"],
        json_schema_extra=hints("from_env"),
    )


class OAuth(Part):
    """OAuth 2 for a program: mcptest gets its token itself, as the client that is named here."""

    about = About(
        expected="a mapping with `grant`, `client_id` and `client_secret_env`",
        place="belongs under `oauth`, in a server's `auth`",
        instead={"text": "write `{ grant: client_credentials, client_id: …, client_secret_env: NAME }`"},
        heading="`auth.oauth`",
    )

    grant: Literal["client_credentials"] = Field(
        description="How to get the token. To log in as a person, use `mcptest login URL` and leave `auth` out.",
        json_schema_extra=hints("flow grant_type type", missing="write `grant: client_credentials`"),
    )
    client_id: Text = Field(
        description="The id of the client at the authorization server.",
        examples=["ci-runner"],
        json_schema_extra=hints("client id", missing="write the id of the client"),
    )
    client_secret_env: Text = Field(
        description="The environment variable that holds the client's secret.",
        examples=["MCP_CLIENT_SECRET"],
        json_schema_extra=hints(
            missing="name the environment variable that holds the client's secret",
            told={
                "client_secret secret secret_env": "a secret must not be in the file: "
                "name its environment variable, `client_secret_env: NAME`"
            },
        ),
    )
    token_endpoint: HttpUrl | None = Field(
        default=None,
        description="The URL of the token endpoint. Default: from the metadata of the server.",
        examples=["https://auth.example.com/token"],
        json_schema_extra=hints("endpoint token_url url"),
    )
    scope: Text | None = Field(
        default=None,
        description="The requested scopes, separated by spaces.",
        examples=["tools:read tools:call"],
        json_schema_extra=hints("scopes"),
    )
    auth_method: Literal["client_secret_basic", "client_secret_post"] | None = Field(
        default=None,
        description="How the secret is sent to `token_endpoint`: in a header (default) or in the body.",
    )


class Auth(Part):
    """How mcptest shows who it is. Exactly one of `bearer_token_env` and `oauth`."""

    about = About(
        expected="a mapping with `bearer_token_env` or `oauth`",
        place="belongs under `auth`",
        choice=("`auth`", "write `bearer_token_env: NAME`, with the name of an environment variable"),
        instead={"text": "write `{ bearer_token_env: NAME }`, with the name of an environment variable"},
        heading="A server's `auth`",
        text="Exactly one of the two. For a server with `url`.",
    )

    model_config = one_of("bearer_token_env", "oauth")

    bearer_token_env: Text | None = Field(
        default=None,
        description="The environment variable that holds the token, sent as `Authorization: Bearer …`.",
        examples=["MCP_TOKEN"],
        json_schema_extra=hints("bearer token token_env bearer_env"),
    )
    oauth: OAuth | None = Field(
        default=None,
        description="Get a token with OAuth 2, and a new one when it expires.",
        json_schema_extra=hints(
            told={"client_credentials oauth2": "did you mean `oauth: { grant: client_credentials, … }`?"}
        ),
    )


class Http(Part):
    """How an HTTP server is spoken to."""

    about = About(
        expected="a mapping with keys such as `timeout` and `verify`",
        place="belongs under `http`, in a server with `url`",
        instead={"text": "write `{ timeout: 30s }`, or the other options that you mean"},
        heading="A server's `http`",
        text="For a server with `url`. Durations are a number and its unit: `250ms`, `30s`, `1.5m`, `1h`.",
    )

    timeout: Duration | None = Field(
        default=None,
        description="The time limit of one HTTP exchange, as a number and its unit. Default: that of the call.",
        examples=["30s"],
        json_schema_extra=hints("read_timeout timeout_ms"),
    )
    connect_timeout: Duration | None = Field(
        default=None,
        description="The time limit for opening a connection, as a number and its unit.",
        examples=["5s"],
        json_schema_extra=hints("connect_timeout_ms"),
    )
    verify: bool | Text | None = Field(
        default=None,
        description="Which certificates are trusted: those of the system (`true`, default), all (`false`), or "
        "those of the authorities in a PEM file or a directory. A relative path starts where mcptest was "
        "started.",
        examples=["${CONFIG_DIR}/ca.pem"],
        json_schema_extra=hints(
            "ca ca_bundle ca_file cafile ssl_verify tls_verify verify_ssl verify_tls",
            told={"insecure": "did you mean `verify: false`?"},
        ),
    )
    proxy: HttpUrl | None = Field(
        default=None,
        description="The HTTP proxy.",
        examples=["http://proxy.example.com:3128"],
        json_schema_extra=hints("http_proxy https_proxy proxies"),
    )


class Readiness(Part):
    """What is waited for before a server is spoken to. At least one of `url` and `timeout`."""

    about = About(
        expected="a mapping with `url` and `timeout`",
        heading="`wait_for_ready`",
        text="Either a duration such as `60s`, or a URL, or this mapping, of which one key is enough.",
    )

    model_config = NOT_EMPTY

    url: HttpUrl | None = Field(
        default=None,
        description="A URL that must answer with 2xx. Default: the server itself, with any answer.",
        examples=["http://localhost:3000/health"],
        json_schema_extra=hints("endpoint uri"),
    )
    timeout: Duration | None = Field(
        default=None,
        description="How long to wait, as a number and its unit. Default: `60s`.",
        examples=["60s"],
        json_schema_extra=hints("for seconds timeout_ms timeout_seconds"),
    )


class Ready(Part):
    """When a program that serves HTTP can be used: at most one of `path`, `port` and `output`, and how long to wait."""

    about = About(
        heading="`ready`", text="For a server with `command` and `url`. At most one of `path`, `port` and `output`."
    )

    model_config = NOT_EMPTY

    path: Annotated[str, Field(pattern=PATH_PATTERN)] | None = Field(
        default=None, description="A path of the server that must answer with 2xx.", examples=["/health"]
    )
    port: Port | None = Field(default=None, description="A port that must take connections.", examples=[9000])
    output: Text | None = Field(
        default=None,
        description="A text that the program must write, on stdout or on stderr.",
        examples=["Application startup complete"],
    )
    timeout: Duration | None = Field(
        default=None,
        description="How long to wait, as a number and its unit. Default: `connect_timeout_ms`.",
        examples=["60s"],
    )


class Server(Part):
    """One server under test: a command to start, a URL to reach, or both for a program that serves HTTP."""

    about = About(
        expected="a server, which is a mapping with `command` or `url`",
        place="belongs in a server, under `servers`",
        choice=("a server", "write `command: [program, argument]` or `url: http://…`"),
        later="hooks",
        heading="A server",
        text="Under `servers:`, by the name that tests use. It has `command`, or `url`, or both for "
        "a program that serves HTTP.",
        link="server",
    )

    model_config = ConfigDict(json_schema_extra={"anyOf": [{"required": ["command"]}, {"required": ["url"]}]})

    description: str | None = Field(default=None, description="A description for people.")
    command: Annotated[Many[str], Field(min_length=1)] | None = Field(
        default=None,
        description="The program and its arguments, as a list. No shell runs it. Relative paths start where "
        "mcptest was started; `${CONFIG_DIR}` is the directory of the suite.",
        examples=[["python", "${CONFIG_DIR}/server.py"]],
        json_schema_extra=hints(
            "cmd argv run exec executable",
            told={"args arguments": "arguments belong in the list of `command`, after the program"},
        ),
    )
    url: HttpUrl | None = Field(
        default=None,
        description="The Streamable HTTP endpoint of the server. With `command` too, mcptest starts the program and "
        "waits until it serves there. Port 0 means a free port, which stands for `{port}` in `command` and `env`.",
        examples=["http://localhost:3000/mcp", "http://127.0.0.1:0/mcp"],
        json_schema_extra=hints("endpoint uri address"),
    )
    ready: Annotated[str, Field(pattern=PATH_PATTERN)] | Port | Ready | None = Field(
        default=None,
        description="When a server with `command` and `url` can be used: a path that answers with 2xx, a port that "
        "takes connections, or a text of its output. Default: the port of `url` takes connections.",
        examples=["/health", 9000, {"output": "startup complete", "timeout": "60s"}],
        json_schema_extra=hints("readiness"),
    )
    headers: dict[str, str | HeaderFromEnv] | None = Field(
        default=None,
        description="HTTP headers of every request. Each is a text or `{ env: NAME }`.",
        examples=[{"X-Api-Key": {"env": "API_KEY"}}],
    )
    auth: Auth | None = Field(
        default=None,
        description="How mcptest authenticates: with a token, or with OAuth.",
        examples=[{"bearer_token_env": "MCP_TOKEN"}],
        json_schema_extra=hints(
            "authentication authorization",
            told={
                "token_env bearer_token_env": "did you mean `auth: { bearer_token_env: NAME }`?",
                "oauth client_id client_secret client_secret_env": "did you "
                "mean `auth: { oauth: { grant: client_credentials, … } }`?",
            },
        ),
    )
    http: Http | None = Field(
        default=None,
        description="Timeouts, trusted certificates and the proxy of a server with `url`.",
        examples=[{"timeout": "30s", "verify": "ca.pem"}],
        json_schema_extra=hints(
            told={
                "insecure": "did you mean `http: { verify: false }`?",
                "tls_verify ssl_verify verify_ssl verify_tls": "did you mean `http: { verify: … }`?",
            }
        ),
    )
    wait_for_ready: Annotated[str, Field(pattern=DURATION_OR_URL_PATTERN)] | Readiness | None = Field(
        default=None,
        description="Wait for a server with `url` that is still starting: how long, or which URL must answer "
        "with 2xx, or both. If it is not ready in time, the run ends with exit code 3.",
        examples=["60s", "http://localhost:3000/health", {"url": "http://localhost:3000/health", "timeout": "2m"}],
        json_schema_extra=hints("health healthcheck ready_url wait wait_for"),
    )
    env: dict[str, Scalar] | None = Field(
        default=None,
        description="Environment variables for this server. They override those of the suite. A number or "
        "boolean is passed as text, as written.",
        json_schema_extra=hints("environment"),
    )
    inherit_env: bool | Many[Text] | None = Field(
        default=None,
        description="Which variables of mcptest's environment the server gets, besides the basic ones (`PATH`, "
        "`HOME` and the like): all (`true`), none (`false`), or a list of names.",
        examples=[["JAVA_HOME"]],
    )
    cwd: Text | None = Field(
        default=None,
        description="The working directory of the server.",
        json_schema_extra=hints("dir workdir working_directory workingDirectory"),
    )
    protocol: Text | None = Field(
        default=None,
        description="The protocol revision to offer: 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25 (the default) or the "
        "stateless 2026-07-28; `auto` asks the server first. Any other text is sent unchanged.",
        examples=["2025-11-25", "2026-07-28", "auto"],
        json_schema_extra=hints("version protocol_version protocolVersion"),
    )
    client: Client | None = Field(
        default=None,
        description="The capabilities of mcptest as the client of this server, and its answers to the server's "
        "requests.",
        examples=[{"sampling": "Paris", "elicitation": "accept"}],
        json_schema_extra=hints(
            "client_capabilities", told={"capabilities": "did you mean `client: { capabilities: … }`?"}
        ),
    )
    fresh: bool | Literal["group", "suite"] | None = Field(
        default=None,
        description="Start a new process of this server for each attempt of a test (`true`), for each `group` of tests "
        "(`group`; a test without a group gets its own), or for the suite (`suite`), where several suites that run together "
        "would share one.",
        examples=[True, "group", "suite"],
        json_schema_extra=hints("isolated isolation"),
    )
    serial: bool | None = Field(default=None, description="Run the tests of this server one after another.")
    validity: Gate | None = Field(
        default=None,
        description="What happens if a result of this server violates the protocol or the tool's `outputSchema`: "
        "the test fails (`fail`), a warning (`warn`), or it is not checked (`off`). Overrides `run_options`.",
        examples=["warn"],
    )
    hygiene: Gate | None = Field(
        default=None,
        description="What happens if this server writes other lines than messages to stdout, or keeps running "
        "after its stdin was closed: the run fails (`fail`), a warning (`warn`), or nothing (`off`). "
        "Overrides `run_options`.",
        examples=["fail"],
    )
    catalog: Literal["on", "off"] | None = Field(
        default=None,
        description="Whether a run lists the tools and prompts of this server. Overrides `run_options`.",
        examples=["off"],
    )
    server_version: Text | None = Field(
        default=None,
        description="Your name for the version of the server. `run --cache` uses a saved result only if the "
        "version is the same. For a server with `url`, no result is saved without it.",
        examples=["2026-01-31", "1f3c9ab"],
    )
    timeout_ms: Milliseconds | None = Field(
        default=None,
        description="The time limit of one call, in milliseconds.",
        examples=[30000],
        json_schema_extra=hints("timeout"),
    )
    connect_timeout_ms: Milliseconds | None = Field(
        default=None,
        description="The time limit of start and handshake, in milliseconds.",
        examples=[15000],
        json_schema_extra=hints("connect_timeout startup_timeout_ms"),
    )
    shutdown_grace_ms: Annotated[int, Field(ge=0, le=2_147_483_647)] | None = Field(
        default=None, description="How long the server has to end before it is killed, in milliseconds."
    )

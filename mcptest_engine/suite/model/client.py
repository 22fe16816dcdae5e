"""The client's side of a session: what mcptest declares that it can do, and what it answers when a server asks."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from mcptest_engine.suite.model.base import About, Many, Part, Scalar, Text, hints, one_of

LogLevel = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
Action = Literal["accept", "decline", "cancel"]


class ProtocolError(Part):
    """A JSON-RPC error, given in place of an answer."""

    about = About(
        expected="a mapping with `code` and `message`",
        instead={"text": "write `{ code: -1, message: … }`"},
        heading="An answer's `error`",
    )

    code: int = Field(
        description="The error code.",
        examples=[-1, -32603],
        json_schema_extra=hints("number", missing="write the code of the JSON-RPC error, such as `code: -1`"),
    )
    message: str = Field(
        description="The error message.",
        examples=["the user rejected the request"],
        json_schema_extra=hints("msg", missing='write what went wrong, such as `message: "rejected by the user"`'),
    )
    data: Any = Field(default=None, description="Further data for the server.")


class Sampling(Part):
    """One answer to `sampling/createMessage`: what a model would have written. Exactly one of `content` and `error`."""

    about = About(
        expected="a mapping with `content` or `error`",
        choice=("an answer to sampling", "write the answer of the model, such as `content: Paris`"),
        heading="An answer to sampling",
        text="Either the text, or this mapping with exactly one of `content` and `error`.",
    )

    model_config = one_of("content", "error")

    content: str | dict[str, Any] | Annotated[Many[dict[str, Any]], Field(min_length=1)] | None = Field(
        default=None,
        description="The answer of the model: a text, or content blocks that are sent exactly as written.",
        examples=["Paris", {"type": "image", "data": "aGk=", "mimeType": "image/png"}],
        json_schema_extra=hints("answer message response text"),
    )
    model: Text | None = Field(default=None, description="The name of the model in the answer.")
    role: Literal["assistant", "user"] | None = Field(
        default=None, description="The role in the answer. Default: `assistant`."
    )
    stop_reason: Text | None = Field(
        default=None,
        alias="stopReason",
        description="The reason why the model stopped. Default: `endTurn`.",
        examples=["endTurn", "maxTokens"],
        json_schema_extra=hints("finish_reason stop_reason"),
    )
    error: ProtocolError | None = Field(default=None, description="Answer with this error.")


class Elicitation(Part):
    """One answer to `elicitation/create`: what the user would have done. Exactly one of `action` and `error`."""

    about = About(
        expected="a mapping with `action` or `error`",
        choice=("an answer to elicitation", "write `action: accept`, `decline` or `cancel`"),
        heading="An answer to elicitation",
        text="Either `accept`, `decline` or `cancel`, or this mapping with exactly one of `action` and `error`.",
    )

    model_config = one_of("action", "error")

    action: Action | None = Field(
        default=None, description="The answer of the user.", json_schema_extra=hints("answer response")
    )
    content: dict[str, Scalar | Many[str]] | None = Field(
        default=None,
        description="With `accept`: the values of the form. Missing fields get the defaults of the schema.",
        examples=[{"name": "Ada", "confirmed": True}],
        json_schema_extra=hints("data fields form values"),
    )
    error: ProtocolError | None = Field(default=None, description="Answer with this error.")


class Root(Part):
    """One root: a directory or file that the server may work on."""

    about = About(
        instead={"text": "write `{ uri: VALUE }`"},
        expected="a mapping with `uri`",
        heading="A root",
        text="Either the URI, or this mapping.",
    )

    uri: Text = Field(
        description="The URI of the root. The specification requires a `file:` URI.",
        examples=["file:///data"],
        json_schema_extra=hints("path url", missing='write the URI, such as `uri: "file:///data"`'),
    )
    name: str | None = Field(default=None, description="The name of the root.", json_schema_extra=hints("title"))


class Client(Part):
    """What mcptest can do as a client, and what it answers. A capability is declared only when its key is here."""

    about = About(
        expected="a mapping with keys such as `sampling` and `elicitation`",
        place="belongs under `client`, in a server or a test",
        instead={"text": "write `{ sampling: … }`, or another capability of the client"},
        heading="`client`",
        text="On a server, for all its tests; or on one test, which then gets a session of its own. Nothing else is declared.",
    )

    sampling: str | Sampling | Annotated[Many[str | Sampling], Field(min_length=1)] | None = Field(
        default=None,
        description="The answer to `sampling/createMessage`: the text of the model, a mapping for more than a "
        "text, or a list of answers, one per request. The last one repeats.",
        examples=["Paris", {"content": "Paris", "model": "tiny"}, ["first", "second"]],
        json_schema_extra=hints("createMessage sample", items="answers"),
    )
    elicitation: Action | Elicitation | Annotated[Many[Action | Elicitation], Field(min_length=1)] | None = Field(
        default=None,
        description="The answer to `elicitation/create`: `accept`, `decline` or `cancel`, a mapping that fills "
        "in the form, or a list of answers, one per request. The last one repeats. A plain `accept` uses the "
        "defaults of the schema.",
        examples=["decline", {"action": "accept", "content": {"name": "Ada"}}],
        json_schema_extra=hints("elicit", items="answers"),
    )
    roots: Many[Text | Root] | None = Field(
        default=None,
        description="The answer to `roots/list`: URIs, or mappings with `uri` and `name`.",
        examples=[["file:///data", {"uri": "file:///home/ada", "name": "home"}]],
        json_schema_extra=hints("root", items="roots"),
    )
    log_level: LogLevel | None = Field(
        default=None,
        description="The lowest level of log messages that the server should send.",
        json_schema_extra=hints("logLevel logging loglevel"),
    )
    subscriptions: Many[Text] | None = Field(
        default=None,
        description="Subscribe to changes of these resources. The server sends `notifications/resources/updated`.",
        examples=[["file:///data/log.txt"]],
        json_schema_extra=hints("subscribe subscription", items="URIs"),
    )
    list_changed: bool | None = Field(
        default=None,
        description="Revision 2026-07-28 only: subscribe to changes of the lists of tools, resources and "
        "prompts. Servers of earlier revisions send these notifications without a subscription.",
        json_schema_extra=hints("listChanged"),
    )
    capabilities: dict[str, Any] | None = Field(
        default=None,
        description="Capabilities to declare in addition to those of the keys above, sent exactly as written.",
        examples=[{"experimental": {"vendor": {}}}],
        json_schema_extra=hints("capability"),
    )

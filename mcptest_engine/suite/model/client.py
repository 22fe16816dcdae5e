"""The client's side of a session: what mcptest declares that it can do, and what it answers when a server asks."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from mcptest_engine.suite.model.base import Many, OneWay, Part, Scalar, Text, one_of

LogLevel = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
Action = Literal["accept", "decline", "cancel"]


class ProtocolError(Part):
    """A JSON-RPC error, given in place of an answer."""

    may_be_null: ClassVar[frozenset[str]] = frozenset({"data"})

    code: int = Field(description="The error code.", examples=[-1, -32603])
    message: str = Field(description="The error message.", examples=["the user rejected the request"])
    data: Any = Field(default=None, description="Further data for the server.")


class Sampling(OneWay):
    """One answer to `sampling/createMessage`: what a model would have written. Exactly one of `content` and `error`."""

    model_config = one_of("content", "error")
    ways: ClassVar[tuple[str, ...]] = ("content", "error")

    content: str | dict[str, Any] | Annotated[Many[dict[str, Any]], Field(min_length=1)] | None = Field(
        default=None,
        description="The answer of the model: a text, or content blocks that are sent exactly as written.",
        examples=["Paris", {"type": "image", "data": "aGk=", "mimeType": "image/png"}],
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
    )
    error: ProtocolError | None = Field(default=None, description="Answer with this error.")


class Elicitation(OneWay):
    """One answer to `elicitation/create`: what the user would have done. Exactly one of `action` and `error`."""

    model_config = one_of("action", "error")
    ways: ClassVar[tuple[str, ...]] = ("action", "error")

    action: Action | None = Field(default=None, description="The answer of the user.")
    content: dict[str, Scalar | Many[str]] | None = Field(
        default=None,
        description="With `accept`: the values of the form. Missing fields get the defaults of the schema.",
        examples=[{"name": "Ada", "confirmed": True}],
    )
    error: ProtocolError | None = Field(default=None, description="Answer with this error.")


class Root(Part):
    """One root: a directory or file that the server may work on."""

    uri: Text = Field(
        description="The URI of the root. The specification requires a `file:` URI.", examples=["file:///data"]
    )
    name: str | None = Field(default=None, description="The name of the root.")


class Client(Part):
    """What mcptest can do as a client, and what it answers. A capability is declared only when its key is here."""

    sampling: str | Sampling | Annotated[Many[str | Sampling], Field(min_length=1)] | None = Field(
        default=None,
        description="The answer to `sampling/createMessage`: the text of the model, a mapping for more than a "
        "text, or a list of answers, one per request. The last one repeats.",
        examples=["Paris", {"content": "Paris", "model": "tiny"}, ["first", "second"]],
    )
    elicitation: Action | Elicitation | Annotated[Many[Action | Elicitation], Field(min_length=1)] | None = Field(
        default=None,
        description="The answer to `elicitation/create`: `accept`, `decline` or `cancel`, a mapping that fills "
        "in the form, or a list of answers, one per request. The last one repeats. A plain `accept` uses the "
        "defaults of the schema.",
        examples=["decline", {"action": "accept", "content": {"name": "Ada"}}],
    )
    roots: Many[Text | Root] | None = Field(
        default=None,
        description="The answer to `roots/list`: URIs, or mappings with `uri` and `name`.",
        examples=[["file:///data", {"uri": "file:///home/ada", "name": "home"}]],
    )
    log_level: LogLevel | None = Field(
        default=None, description="The lowest level of log messages that the server should send."
    )
    subscriptions: Many[Text] | None = Field(
        default=None,
        description="Subscribe to changes of these resources. The server sends `notifications/resources/updated`.",
        examples=[["file:///data/log.txt"]],
    )
    list_changed: bool | None = Field(
        default=None,
        description="Revision 2026-07-28 only: subscribe to changes of the lists of tools, resources and "
        "prompts. Servers of earlier revisions send these notifications without a subscription.",
    )
    capabilities: dict[str, Any] | None = Field(
        default=None,
        description="Capabilities to declare in addition to those of the keys above, sent exactly as written.",
        examples=[{"experimental": {"vendor": {}}}],
    )

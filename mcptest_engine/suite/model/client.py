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

    code: int = Field(description="The error's number.", examples=[-1, -32603])
    message: str = Field(description="What went wrong, for people.", examples=["the user rejected the request"])
    data: Any = Field(default=None, description="Anything more that the server is to know.")


class Sampling(OneWay):
    """One answer to `sampling/createMessage`: what a model would have written. Exactly one of `content` and `error`."""

    model_config = one_of("content", "error")
    ways: ClassVar[tuple[str, ...]] = ("content", "error")

    content: str | dict[str, Any] | Annotated[Many[dict[str, Any]], Field(min_length=1)] | None = Field(
        default=None,
        description="What the model says: a text, or content blocks exactly as they go on the wire.",
        examples=["Paris", {"type": "image", "data": "aGk=", "mimeType": "image/png"}],
    )
    model: Text | None = Field(default=None, description="The name of the model that is said to have answered.")
    role: Literal["assistant", "user"] | None = Field(
        default=None, description="Who is said to speak; `assistant` when left out."
    )
    stop_reason: Text | None = Field(
        default=None,
        alias="stopReason",
        description="Why the model stopped; `endTurn` when left out.",
        examples=["endTurn", "maxTokens"],
    )
    error: ProtocolError | None = Field(default=None, description="Answer with this error instead.")


class Elicitation(OneWay):
    """One answer to `elicitation/create`: what the user would have done. Exactly one of `action` and `error`."""

    model_config = one_of("action", "error")
    ways: ClassVar[tuple[str, ...]] = ("action", "error")

    action: Action | None = Field(default=None, description="What the user does.")
    content: dict[str, Scalar | Many[str]] | None = Field(
        default=None,
        description="The form as the user fills it in, with `accept`; where it says nothing, the schema's defaults hold.",
        examples=[{"name": "Ada", "confirmed": True}],
    )
    error: ProtocolError | None = Field(default=None, description="Answer with this error instead.")


class Root(Part):
    """One root: a directory or file that the server may work on."""

    uri: Text = Field(description="Where it is; the specification asks for a `file:` URI.", examples=["file:///data"])
    name: str | None = Field(default=None, description="What people call it.")


class Client(Part):
    """What mcptest can do as a client, and what it answers. A capability is declared only when its key is here."""

    sampling: str | Sampling | Annotated[Many[str | Sampling], Field(min_length=1)] | None = Field(
        default=None,
        description="The answer to `sampling/createMessage`: the text that the model says, a mapping for more than a text, "
        "or a list of answers, given one after the other; the last one repeats.",
        examples=["Paris", {"content": "Paris", "model": "tiny"}, ["first", "second"]],
    )
    elicitation: Action | Elicitation | Annotated[Many[Action | Elicitation], Field(min_length=1)] | None = Field(
        default=None,
        description="The answer to `elicitation/create`: what the user does, a mapping that fills in the form, or a list of "
        "answers, given one after the other; the last one repeats. A bare `accept` fills in the defaults of the schema.",
        examples=["decline", {"action": "accept", "content": {"name": "Ada"}}],
    )
    roots: Many[Text | Root] | None = Field(
        default=None,
        description="The answer to `roots/list`: URIs, or mappings with `uri` and `name`.",
        examples=[["file:///data", {"uri": "file:///home/ada", "name": "home"}]],
    )
    log_level: LogLevel | None = Field(
        default=None, description="From which level on the server is asked to send its log messages."
    )
    subscriptions: Many[Text] | None = Field(
        default=None,
        description="Resources whose changes the server is asked to tell; they come as `notifications/resources/updated`.",
        examples=[["file:///data/log.txt"]],
    )
    list_changed: bool | None = Field(
        default=None,
        description="Whether a server of revision 2026-07-28 is asked to tell that its tools, resources or prompts changed. "
        "Servers of earlier revisions tell it unasked.",
    )
    capabilities: dict[str, Any] | None = Field(
        default=None,
        description="Merged over the capabilities that follow from the keys above, and sent exactly as written.",
        examples=[{"experimental": {"vendor": {}}}],
    )

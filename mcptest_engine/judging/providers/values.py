"""What is said to a model and what it answers, whoever provides it. Values only: no SDK, no network."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol

from mcptest_engine.core.errors import McptestError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest_engine.core.json_types import JsonMapping

DEFAULT_MAX_TOKENS = 4096
DEFAULT_TIMEOUT_SECONDS = 120.0
"""How the message of a `CAPPED` begins."""


class Role(StrEnum):
    """Who speaks in a turn of a conversation. What tools answered is told by `TOOL`."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class ToolOffer(NamedTuple):
    """A tool that the model may ask for; `name` is as the model is told it."""

    name: str
    description: str
    input_schema: Mapping[str, object]


class ToolUse(NamedTuple):
    """A call that the model asks for. `args` is None when what it wrote is not a JSON object: `raw` is that then."""

    id: str
    name: str
    args: Mapping[str, object] | None
    raw: str = ""


class ToolAnswer(NamedTuple):
    """What the model is told of a call that it asked for."""

    id: str
    text: str
    is_error: bool = False


class Turn(NamedTuple):
    """One turn of a conversation. `uses` are an assistant's, `answers` a tool turn's.

    `thinking` is what a provider wants back as it gave it, with the turn of its model; nobody else reads it.
    """

    role: Role
    text: str = ""
    uses: tuple[ToolUse, ...] = ()
    answers: tuple[ToolAnswer, ...] = ()
    thinking: tuple[Mapping[str, object], ...] = ()


class ModelRequest(NamedTuple):
    """One question to a model.

    `schema` is a JSON Schema that the answer is to be an instance of, as text. `variant` tells apart questions that are the
    same and are each to be asked: the jurors of a jury, the runs of a test. It is part of what an answer is kept under.
    """

    model: str
    turns: tuple[Turn, ...]
    system: str | None = None
    tools: tuple[ToolOffer, ...] = ()
    schema: JsonMapping | None = None
    max_tokens: int = DEFAULT_MAX_TOKENS
    temperature: float | None = None
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    variant: str = ""


class ModelReply(NamedTuple):
    """What a model answered.

    `stop` is "end", "tools" (it waits for what it asked for), "length" (cut off at `max_tokens`), "refusal", or the provider's
    own word. `cost_usd` is None where the price of the model is not known.

    `kept`: it was answered from the cache, or with the cache on to somebody who asked the same at the same time, so that
    nothing was spent for it; tokens and cost are those of the call that was made once. An answer from a cassette is what it
    was when recorded.
    """

    model: str
    text: str
    uses: tuple[ToolUse, ...]
    stop: str
    tokens_in: int
    tokens_out: int
    cost_usd: float | None
    duration_ms: float
    kept: bool = False
    thinking: tuple[Mapping[str, object], ...] = ()

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out

    def as_turn(self) -> Turn:
        """The model's turn, to go on from."""
        return Turn(Role.ASSISTANT, self.text, self.uses, thinking=self.thinking)


NO_PROVIDER = "no model provider"
"""Why no model could be asked, or the beginning of it."""


class ModelFault(StrEnum):
    """Why no answer came of a model.

    `NO_PROVIDER`: none is set up (no key, unknown model), so that whatever needed it is deferred.
    `CAPPED`: `--max-cost` or a budget lets nothing more be spent.
    """

    NO_PROVIDER = "no_provider"
    AUTH = "auth"
    RATE_LIMITED = "rate_limited"
    TIMEOUT = "timeout"
    UNREACHABLE = "unreachable"
    REFUSED = "refused"
    BAD_ANSWER = "bad_answer"
    PROVIDER = "provider"
    NOT_RECORDED = "not_recorded"
    CAPPED = "capped"


class ModelError(McptestError):
    """A model gave no answer. `message` says which model and why, without secrets; `hint` what to do.

    `reason` is why alone, where the message also says that the model was not asked.
    """

    def __init__(self, fault: ModelFault, message: str, *, hint: str | None = None, reason: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.fault = fault
        self.reason = message if reason is None else reason

    @classmethod
    def without_provider(cls, reason: str) -> ModelError:
        """The error where nobody set up a model that could be asked; `reason` says what is missing."""
        return cls(ModelFault.NO_PROVIDER, f"deferred: {reason}", reason=reason)

    @property
    def defers(self) -> bool:
        """Whether what asked is deferred and not failed: nobody set a model up."""
        return self.fault is ModelFault.NO_PROVIDER


class Models(Protocol):
    """The models of a run: asks them, keeps count of what they cost, holds them to its caps, keeps and replays answers."""

    def missing(self, model: str | None) -> str | None:
        """Why `model` cannot be asked ("no model provider: …"), or None. Asks nobody."""
        ...

    def chosen(self, model: str | None, *, judging: bool) -> str | None:
        """The model that is asked where a test names `model`, or None to name none; None when there is none to be had."""
        ...

    async def prepare(self, model: str) -> None:
        """Have everything imported that asking `model` takes. Raises nothing; `ask` tells what is wrong."""
        ...

    def check_budget(self, request: ModelRequest) -> None:
        """Ask nobody. Raises: ModelError, when the cap on costs leaves too little for this question."""
        ...

    async def send(self, request: ModelRequest) -> ModelReply:
        """The answer. Where answers are kept, equal requests under way at once are asked once. Raises: ModelError."""
        ...

"""What all providers share: errors, names of tools, JSON in answers.

What a provider writes is data: it is redacted, sanitized and shortened before it is part of a message.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.core.sanitise import one_line
from mcptest_engine.judging.providers.values import ModelFault
from mcptest_engine.servers.memory import is_too_much

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from mcptest_engine.judging.providers.values import ToolOffer, ToolUse

LARGEST = 16 * 1024 * 1024
"""The most characters of one answer."""
_QUOTED = 300
_ENVELOPE = 2_000
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")

FAULTS_OF_STATUS = {
    400: ModelFault.REFUSED,
    401: ModelFault.AUTH,
    402: ModelFault.AUTH,
    403: ModelFault.AUTH,
    404: ModelFault.REFUSED,
    408: ModelFault.PROVIDER,
    409: ModelFault.PROVIDER,
    413: ModelFault.REFUSED,
    422: ModelFault.REFUSED,
    429: ModelFault.RATE_LIMITED,
}
FAULTS_OF_TYPE = {
    "overloaded_error": ModelFault.PROVIDER,
    "api_error": ModelFault.PROVIDER,
    "server_error": ModelFault.PROVIDER,
    "timeout_error": ModelFault.PROVIDER,
    "rate_limit_error": ModelFault.RATE_LIMITED,
    "rate_limit_exceeded": ModelFault.RATE_LIMITED,
    "insufficient_quota": ModelFault.RATE_LIMITED,
    "authentication_error": ModelFault.AUTH,
    "permission_error": ModelFault.AUTH,
    "billing_error": ModelFault.AUTH,
    "not_found_error": ModelFault.REFUSED,
    "invalid_request_error": ModelFault.REFUSED,
    "request_too_large": ModelFault.REFUSED,
}
_WORTH_AGAIN = frozenset({ModelFault.PROVIDER, ModelFault.RATE_LIMITED})
_NEVER_AGAIN = frozenset({"insufficient_quota"})
"""Rate limits that waiting does not lift."""


class ProviderAnswer(NamedTuple):
    """One answer of a model. Tokens are None if the provider does not count them."""

    text: str
    uses: tuple[ToolUse, ...]
    stop: str
    tokens_in: int | None
    tokens_out: int | None
    thinking: tuple[Mapping[str, object], ...] = ()


class ProviderError(Exception):
    """A request without an answer. `message` is a clause whose subject is the provider; `again`: repeating it may help.

    `billed`: the provider may charge for it anyway. `retry_after` is how many seconds the provider asks to wait.
    `provider_text` is the error in its own words, `status` that of the HTTP response.
    """

    def __init__(
        self,
        fault: ModelFault,
        message: str,
        *,
        again: bool = False,
        retry_after: float | None = None,
        hint: str | None = None,
        provider_text: str = "",
        billed: bool = True,
        status: int | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.fault = fault
        self.message = message
        self.again = again
        self.retry_after = retry_after
        self.hint = hint
        self.provider_text = provider_text
        self.billed = billed


class ProviderErrors:
    """Makes the errors of one endpoint, without secrets."""

    def __init__(self, where: str, redact: Callable[[str], str]) -> None:
        self.where = where
        self._redact = redact

    def quoted(self, text: str) -> str:
        """Foreign text as it may stand in a message."""
        return one_line(self._redact(text[:_ENVELOPE]).strip(), _QUOTED)

    def of_status(self, status: int, body: object, headers: Mapping[str, str]) -> ProviderError:
        """An answer that is an error by its status."""
        kind, words = error_of(body)
        fault = FAULTS_OF_STATUS.get(status, ModelFault.PROVIDER if status >= 500 else ModelFault.BAD_ANSWER)
        if status == 200 or kind in _NEVER_AGAIN:
            fault = FAULTS_OF_TYPE.get(kind, ModelFault.PROVIDER)
        said = f": {self.quoted(words)}" if words.strip() else ""
        again = fault in _WORTH_AGAIN and kind not in _NEVER_AGAIN and headers.get("x-should-retry") != "false"
        told = f"HTTP {status}" if status != 200 else "an error in the middle of its answer"
        message = f"answered {told} ({self.where}){said}"
        if 300 <= status < 400:
            message = f"answered HTTP {status}, a redirect, which is not followed ({self.where})"
        return ProviderError(
            fault,
            message,
            again=again,
            retry_after=_retry_after(headers),
            provider_text=words,
            billed=status == 200,
            status=status,
        )

    def of_kind(self, kind: str, words: str) -> ProviderError:
        """An error that came as a part of an answer."""
        fault = FAULTS_OF_TYPE.get(kind, ModelFault.PROVIDER)
        said = f": {self.quoted(words)}" if words.strip() else ""
        again = fault in _WORTH_AGAIN and kind not in _NEVER_AGAIN
        return ProviderError(
            fault,
            f"broke off with an error in the middle of its answer ({self.where}){said}",
            again=again,
            provider_text=words,
        )

    def unreachable(self, why: BaseException | None) -> ProviderError:
        """A failure because no connection to the provider could be opened."""
        words = self.quoted(str(why)) if why is not None and str(why) else "no connection"
        return ProviderError(
            ModelFault.UNREACHABLE,
            f"cannot be reached ({self.where}): {words}",
            hint="is the base URL right?",
            billed=False,
        )

    def broken_off(self, why: str) -> ProviderError:
        """The connection ended before the answer did."""
        return ProviderError(
            ModelFault.PROVIDER, f"closed the connection in the middle of its answer ({self.where}): {why}", again=True
        )

    def bad(self, what: str) -> ProviderError:
        """What came is no answer."""
        return ProviderError(ModelFault.BAD_ANSWER, f"gave an answer that cannot be read ({self.where}): {what}")


def error_of(body: object) -> tuple[str, str]:
    """The kind of an error and what is said of it, in whichever form of the common ones it comes."""
    if isinstance(body, dict):
        error = body.get("error", body)
        if isinstance(error, dict):
            words = error.get("message") or error.get("detail")
            kind = error.get("code") if error.get("code") in FAULTS_OF_TYPE else error.get("type")
            return str(kind or ""), words if isinstance(words, str) else _compact(error)
        return "", error if isinstance(error, str) else _compact(error)
    if isinstance(body, (str, bytes)):
        text = body if isinstance(body, str) else body.decode("utf-8", "replace")
        return "", f"a page of HTML, not JSON{_title(text)}" if _is_html(text) else text
    return "", ""


def is_event_stream(headers: Mapping[str, str]) -> bool:
    return headers.get("content-type", "").partition(";")[0].strip().lower() == "text/event-stream"


def json_body(errors: ProviderErrors, data: bytes, headers: Mapping[str, str]) -> dict[str, object]:
    """The JSON object that came where a stream was asked for. Raises: ProviderError for anything else."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    text = data[:LARGEST].decode("utf-8", "replace")
    if _is_html(text):
        raise errors.bad(f"a page of HTML{_title(text)}")
    if is_too_much(data):
        raise errors.bad("JSON that takes more memory than an answer may")
    try:
        told = json.loads(data)
    except (ValueError, RecursionError):
        raise errors.bad(f"`{errors.quoted(kind) or 'no content type'}` that is not JSON") from None
    if not isinstance(told, dict):
        raise errors.bad("JSON that is not an object")
    return told


def arguments_of(raw: str) -> tuple[dict[str, object] | None, str]:
    """What a model wants a tool called with: (args, ""), or (None, what it wrote) where that is no JSON object.

    A number that JSON cannot carry (`NaN`, `1e999`) is none: no server could be sent it.
    """
    if not raw.strip():
        return {}, ""
    try:
        args = json.loads(raw)
        json.dumps(args, allow_nan=False)
    except (ValueError, RecursionError):
        return None, raw
    return (args, "") if isinstance(args, dict) else (None, raw)


def schema_instruction(schema: Mapping[str, object]) -> str:
    """The instruction to answer by a schema, for providers without structured output."""
    text = json.dumps(schema, ensure_ascii=False)
    return f"Answer with one JSON value and nothing else. It must be valid against this JSON Schema:\n{text}"


def with_schema_instruction(system: str | None, schema: Mapping[str, object] | None) -> str | None:
    """The system prompt with the instruction to answer by a schema, if there is one."""
    if schema is None:
        return system
    return schema_instruction(schema) if not system else f"{system}\n\n{schema_instruction(schema)}"


class ToolNames:
    """Names that every provider takes, for tools whose own would be refused; the others keep theirs."""

    def __init__(self, tools: Iterable[ToolOffer]) -> None:
        self._told: dict[str, str] = {}
        names = [tool.name for tool in tools]
        taken = {name for name in names if _NAME.fullmatch(name)}
        for name in names:
            told = name
            if not _NAME.fullmatch(name):
                stem = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:56] or "tool"
                told, number = stem, 2
                while told in taken:
                    told, number = f"{stem}_{number}", number + 1
            taken.add(told)
            self._told[name] = told
        self._own = {told: name for name, told in self._told.items()}

    def name_for_model(self, name: str) -> str:
        """As the model is told it; a name that is offered no more is made fit alike."""
        return self._told.get(name) or re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "tool"

    def own(self, told: str) -> str:
        """As the tool is called; what the model made up stays as it is."""
        return self._own.get(told, told)


def as_object(schema: Mapping[str, object]) -> dict[str, object]:
    """A tool's input schema as providers want it: of an object."""
    return dict(schema) if schema.get("type") == "object" else {**schema, "type": "object"}


def count_of(value: object) -> int | None:
    """A number of tokens; None for what is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 10**12 else None


def word_of(value: object) -> str:
    """A provider's own word for why a model stopped."""
    return one_line(value, 60) if isinstance(value, str) and value else "unknown"


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds, however many; None where nothing that can be read is said.

    Source: RFC 9110 section 10.2.3; `retry-after-ms` is of the providers' own making.
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        return seconds if seconds >= 0 else None  # which NaN is not either
    moment = headers.get("retry-after")
    if not moment:
        return None
    from datetime import UTC, datetime
    from email.utils import parsedate_to_datetime

    try:
        at = parsedate_to_datetime(moment)
    except (ValueError, TypeError, OverflowError):
        return None
    return max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


def _is_html(text: str) -> bool:
    start = text[:200].lstrip().lower()
    return start.startswith(("<!doctype html", "<html", "<head", "<body"))


def _title(text: str) -> str:
    found = re.search(r"<title[^>]*>([^<]{1,200})", text[:_ENVELOPE], re.IGNORECASE)
    return f" that says {one_line(found[1].strip(), 100)}" if found else ""


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)[:_ENVELOPE] if value else ""

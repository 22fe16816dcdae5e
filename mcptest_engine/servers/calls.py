"""The waiting calls of a session, the one timer that ends them, and their finished exchanges.

A timer for each call would cost more than the call's own bookkeeping. Instead, one timer is set to the earliest deadline. When
it fires, the few waiting calls are checked. Answered calls never touch it.
"""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

from mcptest_engine.core.enums import ExpectedOutcome
from mcptest_engine.core.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mcptest_engine.core.errors import ServerError
    from mcptest_engine.core.json_types import JsonDict, JsonMapping
    from mcptest_engine.servers.client_side import ClientSide
    from mcptest_engine.servers.failures import CallFailed
    from mcptest_engine.servers.param_headers import ParamHeaders
    from mcptest_engine.servers.remarks import Remarks
    from mcptest_engine.servers.server_messages import ServerMessages
    from mcptest_engine.servers.spec import ServerSpec

OUR_STALL_SECONDS = 0.1
_MOST_EXTENDED_SECONDS = 1.0


class Fault(NamedTuple):
    """A deliberate fault of the suite's `fault:`, applied to an answer.

    `kind` is "drop_response" (discard the answer), "disconnect" (close the connection when the answer arrives) or "delay"
    (deliver it `delay_seconds` later). Only an answer that is `wanted` is discarded.
    """

    kind: str
    delay_seconds: float = 0.0
    wanted: ExpectedOutcome = ExpectedOutcome.ANY


class Call:
    """A request that waits for its answer.

    `params` is what was sent, `_meta` included. `sent_at` and `done_at` are monotonic seconds. `http` is status and headers of
    the answer, `headers` what this request carries beyond the session's headers. `size` is the answer's length in bytes.
    `behind` as in `Exchange`.
    """

    __slots__ = (
        "behind",
        "deadline",
        "done_at",
        "fault",
        "future",
        "headers",
        "http",
        "id",
        "method",
        "params",
        "sent_at",
        "size",
        "timeout_seconds",
    )

    def __init__(
        self, call_id: int, method: str, timeout_seconds: float, future: asyncio.Future[dict[str, object]]
    ) -> None:
        self.id = call_id
        self.method = method
        self.params: JsonMapping | None = None
        self.fault: Fault | None = None
        self.headers: Mapping[str, str] | None = None
        self.timeout_seconds = timeout_seconds
        self.future = future
        self.sent_at = self.done_at = monotonic()
        self.size = 0
        self.deadline = self.sent_at + timeout_seconds
        self.http: JsonDict | None = None
        self.behind: JsonDict | None = None

    @property
    def tool_or_method(self) -> dict[str, object]:
        """{"tool": …}, or {"method": …} for a call of no tool."""
        if self.method == "tools/call" and self.params is not None:
            return {"tool": str(self.params.get("name"))}
        return {"method": self.method}


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One call and its answer.

    `answer` is the JSON-RPC response object as the server sent it, with `result` or `error`. `duration_ms` runs from passing
    the request to the transport until the answer's last byte arrived; parsing is not counted. `http` is {"status", "headers"}
    over HTTP, header names in lower case, else None. `size` is the answer's length in bytes. `behind` says how much of the time
    passed before the answer to an earlier call arrived, and which call: {"ms", and "tool" or "method"}; None under 1 ms.
    `refusal` is the failure of a call that was refused over HTTP, with an empty `answer`; only `Session.heard` receives such
    exchanges.
    """

    method: str
    params: JsonMapping | None
    answer: JsonDict
    duration_ms: float
    http: JsonDict | None = None
    size: int = 0
    behind: JsonDict | None = None
    refusal: CallFailed | ServerError | None = None


class OpenSession(Protocol):
    """The parts of `Session` that its opening, stateless calls, lists and gate use. They are described there."""

    spec: ServerSpec
    stateless: bool
    server_info: JsonDict | None
    protocol_version: str | None
    capabilities: JsonDict
    instructions: str | None
    remarks: Remarks
    server_messages: ServerMessages
    request_meta: dict[str, object]
    param_headers: ParamHeaders | None

    @property
    def transport(self) -> str: ...
    @property
    def alive(self) -> bool: ...
    @property
    def stderr_tail(self) -> str: ...
    @property
    def client_side(self) -> ClientSide: ...
    @property
    def gate(self) -> object | None: ...

    async def request(
        self, method: str, params: Mapping[str, object] | None, *, timeout_seconds: float
    ) -> Exchange: ...

    async def send_request(
        self,
        method: str,
        params: Mapping[str, object] | None,
        timeout_seconds: float,
        fault: Fault | None = None,
        *,
        sent: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Exchange: ...

    async def next_message(self, timeout_seconds: float) -> bool: ...
    def offering(self, revision: str, *, stateless: bool) -> None: ...


class Calls:
    """Waiting calls by id.

    Ids count up from 1 and are never reused in a session. `given_up` holds the `tool_or_method` of each call that was not
    answered in time, by id.
    """

    def __init__(self, on_timeout: Callable[[Call], None]) -> None:
        self.given_up: dict[int, dict[str, object]] = {}
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[int, Call] = {}
        self._next_id = 1
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self._on_timeout = on_timeout

    def __len__(self) -> int:
        return len(self._waiting)

    def __iter__(self) -> Iterator[Call]:
        return iter(tuple(self._waiting.values()))

    def start(self, method: str, timeout_seconds: float) -> Call:
        """Make a new call, waiting from now on."""
        call = Call(self._next_id, method, timeout_seconds, self._loop.create_future())
        self._next_id += 1
        self._waiting[call.id] = call
        if self._timer is None or call.deadline < self._timer_at:
            self._set_timer(call.deadline)
        return call

    def get(self, call_id: object) -> Call | None:
        """Return the waiting call of this id. `true` is not 1, but `1.0` is, as in JSON."""
        if type(call_id) is int or type(call_id) is float:
            return self._waiting.get(cast("int", call_id))
        return None

    def was_issued(self, call_id: object) -> bool:
        """Whether a call ever had this id; if it waits no longer, an answer to it is late."""
        return type(call_id) is int and 0 < call_id < self._next_id

    def drop(self, call: Call) -> None:
        """Stop waiting for the call."""
        self._waiting.pop(call.id, None)

    def stop(self) -> None:
        """Cancel the timer: no call times out from now on."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _set_timer(self, deadline: float) -> None:
        self.stop()
        self._timer_at = deadline
        # `loop.time` is the monotonic clock of this module in every loop that can run here; the difference keeps it so.
        self._timer = self._loop.call_later(max(0.0, deadline - monotonic()), self._expire)

    def _expire(self) -> None:
        self._timer = None
        now = monotonic()
        stalled = now - self._timer_at
        if stalled > OUR_STALL_SECONDS:
            # This process was busy: an answer may be in the pipe, unread. Only so often, since the server itself may be what
            # keeps it busy.
            for call in self:
                call.deadline = min(
                    call.deadline + stalled, call.sent_at + call.timeout_seconds + _MOST_EXTENDED_SECONDS
                )
        for call in self:
            if call.deadline <= now:
                self.drop(call)
                self._on_timeout(call)
        if self._waiting:
            self._set_timer(min(call.deadline for call in self._waiting.values()))

"""A case: one test, ready to run, holding all it needs.

Cases are plain data. Filters, shards, repeats and other executors only change the list of cases or who runs them; a server
is named here and described elsewhere, so that a case can travel without secrets. Named tuples, because a large suite makes
thousands, and a frozen dataclass of so many fields takes four times as long to make.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.enums import ExpectedOutcome, Strength
from mcptest_engine.safety.tool_classes import classify_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Protocol, TypeAlias

    from mcptest_engine.core.enums import TestKind
    from mcptest_engine.judging.assertions import LineOf
    from mcptest_engine.judging.opinions import Opinions
    from mcptest_engine.judging.scorers.juries import Providers
    from mcptest_engine.judging.validity import Validity
    from mcptest_engine.running.kinds.agent.plan import AgentProgram
    from mcptest_engine.running.kinds.composition.plan import Row
    from mcptest_engine.running.kinds.eval.plan import EvalRow, MetricRow
    from mcptest_engine.servers.calls import Fault

    Body: TypeAlias = "Request | Check | Row | AgentProgram | EvalRow | MetricRow"
    """What a test is, each a `KindOfTest`. In `calling.py`, `Caller` runs the first two, `BodyRunner` the others."""

    class KindOfTest(Protocol):
        """What a body says of its test, so that only the module of a kind knows it."""

        def call_text(self, case: Case) -> str:
            """What is done, in words."""
            ...

        def list_members(self, case: Case) -> dict[str, Any]:
            """What `mcptest list` adds in JSON: the model that answers, who grades, and what is judged."""
            ...

        def request_key(self, case: Case) -> tuple[object, ...]:
            """What is asked for, by the test itself or by the model that it asks, as far as it is known before the run."""
            ...

        def may_change_state(self, case: Case) -> bool:
            """Whether what a later test is answered may depend on this one, to judge by the names of tools."""
            ...

        def for_repeat(self, number: int) -> Body:
            """The body for the `number`-th repeat of the run, from 1."""
            ...

        def deferral_reason(self, providers: Providers) -> str | None:
            """Why a model that answers or grades cannot be asked; None where each can, or none is. Asks nobody."""
            ...

    class JudgedRequest(Protocol):
        """What a case and a step of its `verify` have in common: one request, and what is expected of its answer.

        `watches`: it looks at `notifications` or `server_requests`. `uses_http`: at `http`, so that a refusal by HTTP can be
        what it expects.
        """

        @property
        def kind(self) -> TestKind: ...
        @property
        def name(self) -> str | None: ...
        @property
        def server(self) -> str: ...
        @property
        def tool(self) -> str | None: ...
        @property
        def method(self) -> str: ...
        @property
        def params(self) -> Mapping[str, Any] | None: ...
        @property
        def expect(self) -> Mapping[str, Any]: ...
        @property
        def timeout_seconds(self) -> float: ...
        @property
        def serial(self) -> bool: ...
        @property
        def watches(self) -> bool: ...
        @property
        def uses_http(self) -> bool: ...
        @property
        def slow_to_judge(self) -> bool: ...
        @property
        def snapshot_name(self) -> str: ...
        @property
        def outcome(self) -> ExpectedOutcome: ...
        @property
        def guess(self) -> tuple[str, ...] | None: ...
        @property
        def line_of(self) -> LineOf | None: ...
        @property
        def threshold(self) -> float | None: ...
        @property
        def metrics(self) -> tuple[Mapping[str, Any], ...]: ...

    class AnswerObserver(Protocol):
        """Is given the answers of a run as they are judged. `core.live.TEST` names the test meanwhile."""

        def note_judged(
            self,
            asked: JudgedRequest,
            envelope: Mapping[str, object],
            validity: Validity | None,
            opinions: Opinions | None,
        ) -> None:
            """An answer, or the trace of an agent, is about to be judged; again where more of it has come."""
            ...

        def note_call(
            self,
            server: str,
            tool: str,
            args: Mapping[str, object],
            answer: Mapping[str, object],
            validity: Validity | None,
        ) -> None:
            """A tool call of a composition, an agent or an eval was answered."""
            ...


class VerifyStep(NamedTuple):
    """A further call after a test's own, to look at the state that it left behind.

    `number` is its place in `verify`, from 0. `snapshot_name` is what its snapshots go by, `line` 0 where it is unknown; the
    rest is as in `Case`.
    """

    number: int
    server: str
    kind: TestKind
    method: str
    params: Mapping[str, Any] | None
    expect: Mapping[str, Any]
    timeout_seconds: float
    snapshot_name: str
    name: str | None = None
    tool: str | None = None
    serial: bool = False
    watches: bool = False
    uses_http: bool = False
    slow_to_judge: bool = False
    outcome: ExpectedOutcome = ExpectedOutcome.SUCCESS
    guess: None = None
    line: int = 0
    line_of: LineOf | None = None
    threshold: None = None
    metrics: tuple[()] = ()


DEFAULT_MODEL_TIMEOUT_MS = 120_000
_CHANGE_THE_SESSION = frozenset({"logging/setLevel", "resources/subscribe", "resources/unsubscribe"})


class Request(NamedTuple):
    """A test that is one request of a tool, a resource or a prompt: what only such tests have.

    `client` is what the test's own session offers the server, None for the server's shared one. `fault` befalls the first
    answer; the steps of `verify` follow the deciding attempt. `effects` is as in the suite.
    """

    client: Mapping[str, Any] | None = None
    fault: Fault | None = None
    verify: tuple[VerifyStep, ...] = ()
    effects: tuple[str, ...] = ()

    def call_text(self, case: Case) -> str:
        return _request_text(case)

    def list_members(self, _case: Case) -> dict[str, Any]:
        return {}

    def request_key(self, case: Case) -> tuple[object, ...]:
        return case.method, case.params

    def may_change_state(self, case: Case) -> bool:
        if case.method in _CHANGE_THE_SESSION:
            return True
        return case.method == "tools/call" and case.tool is not None and not classify_name(case.tool).only_reads

    def for_repeat(self, _number: int) -> Request:
        return self

    def deferral_reason(self, _providers: Providers) -> None:
        return None


ORDINARY = Request()


class Check(NamedTuple):
    """A check of the protocol: `name` is what is checked, `pin` the revision that it is held to."""

    name: str
    pin: str | None

    def call_text(self, case: Case) -> str:
        return _request_text(case)

    def list_members(self, _case: Case) -> dict[str, Any]:
        return {}

    def request_key(self, case: Case) -> tuple[object, ...]:
        return case.method, case.params

    def may_change_state(self, case: Case) -> bool:
        return case.method in _CHANGE_THE_SESSION

    def for_repeat(self, _number: int) -> Check:
        return self

    def deferral_reason(self, _providers: Providers) -> None:
        return None


def _request_text(case: Case) -> str:
    params = case.params or {}
    about = params.get("name") or params.get("uri")
    return case.method if about is None else f"{case.method} {about}"


NO_SERVERS: Mapping[str, str] = MappingProxyType({})


class Case(NamedTuple):
    """One test to run: what tests of all kinds share, and in `body` what those of its kind have.

    `id` is `suite-path::kind::full name`, with ` #2` for a repeat of the same; `method` and `params` are what goes on the
    wire, "" and None for what is no single request; `expect` is the mapping form of the suite's `expect`. `servers` are those
    that are asked, the first one first, and some more than once. `skip` is the reason for not running it, or None. A serial
    case runs alone: earlier ones finish first, later ones follow. One that is `slow_to_judge` runs jq programs. Cases of one
    `group` depend on each other: a run takes all of them or none. `fresh` has the servers of which it has a process of its own:
    "" for one of each attempt, else what those go by that share it.
    `outcome` is what the call must come to; ANY for what is no single call of the suite's. `guess` names the
    arguments that are made up, () where nobody said which; None where none is.
    `base_name` is what snapshots go by where it is not the name: without the number of a repeat, with that of a namesake.
    `threshold` is what the combined score must reach, None where all assertions must hold; `metrics` are derived from their
    names, in declared order. `deferred` is why a test cannot be run yet, or None. `cache` is as in the suite; what comes of it
    is `cache_keys.py`'s affair. `row_name` is the case of the test that is run, or judged by a model, and
    `row` its place in a data file, `row_line` its line in the suite. `model` is whom the
    suite asks, and `scorer` who grades: a scorer by its name, or "judge". `subject` is the id of the case that a model judges
    here, which stands before this one. `model_timeout_seconds` is how long a model has for each answer. `line_of` gives the
    lines of its assertions in its file. `strength` is how much it demands, known from its assertions.
    """

    id: str
    name: str
    kind: TestKind
    body: Body
    server: str
    servers: tuple[str, ...]
    method: str
    params: Mapping[str, Any] | None
    expect: Mapping[str, Any]
    timeout_seconds: float
    file: str
    line: int
    tool: str | None = None
    retries: int = 0
    serial: bool = False
    slow_to_judge: bool = False
    outcome: ExpectedOutcome = ExpectedOutcome.ANY
    guess: tuple[str, ...] | None = None
    only: bool = False
    skip: str | None = None
    tags: tuple[str, ...] = ()
    group: str | None = None
    fresh: Mapping[str, str] = NO_SERVERS
    description: str | None = None
    base_name: str | None = None
    watches: bool = False
    uses_http: bool = False
    threshold: float | None = None
    metrics: tuple[Mapping[str, Any], ...] = ()
    deferred: str | None = None
    cache: str | None = None
    row_name: str | None = None
    row: tuple[str, int] | None = None
    row_line: int | None = None
    model: str | None = None
    scorer: str | None = None
    subject: str | None = None
    model_timeout_seconds: float = DEFAULT_MODEL_TIMEOUT_MS / 1000
    line_of: LineOf | None = None
    strength: Strength = Strength.ANSWERED

    @property
    def begins(self) -> bool:
        """Whether anything is done for this test."""
        return self.skip is None and self.deferred is None

    @property
    def snapshot_name(self) -> str:
        """What the snapshots of this test go by."""
        return self.base_name or self.name

    @property
    def request(self) -> Request:
        """What only requests have, as it is for an ordinary one where this is none."""
        return self.body if isinstance(self.body, Request) else ORDINARY

    def expectations(self) -> Iterator[Mapping[str, Any]]:
        """What is expected of the test's own answer, and of those of its `verify` steps."""
        yield self.expect
        yield from (step.expect for step in self.request.verify)


class Plan(NamedTuple):
    """The cases of a run in declared order; of `declared` ones, `selected` were chosen before sharding and repeating.

    `missed` says why none was, None where some were or the suite has none. Of a shard `places` tells where each of its cases
    stands in the whole run, counted from 0, and `selection` is a digest of what was selected; they are () and None without one.
    """

    cases: tuple[Case, ...]
    declared: int
    selected: int
    workers: int
    bail: int | None = None
    restart: bool = True
    warnings: tuple[str, ...] = ()
    missed: str | None = None
    places: tuple[int, ...] = ()
    selection: str | None = None

"""Proposes a test of a tool call from one or two observed calls.

Nothing is invented: an exact assertion is for a value that was equal in both calls, does not look like a time or an id, and is
no secret. An error is an answer too, and is proposed with a note that says so. See docs/how-to/propose-assertions.md and
docs/explanation/safety.md.
"""

from __future__ import annotations

import math
from dataclasses import field, replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

from mcptest_engine.authoring.block_text import expect_text, reads_back, test_block
from mcptest_engine.authoring.observing import Compared, Secrets, compare, scalars
from mcptest_engine.authoring.shapes import schema_of, widened
from mcptest_engine.authoring.targets import untemplated
from mcptest_engine.core.errors import BudgetExhausted, InvalidResult, PolicyDenied, ServerError, UsageError
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.text import listed
from mcptest_engine.core.values import dataclass
from mcptest_engine.safety.execution_policy import REVIEW_FIRST, Decision, Purpose
from mcptest_engine.safety.tool_classes import ToolClass, class_of
from mcptest_engine.suite.yaml_text import Unwritable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mcptest_engine.core.json_types import JsonDict
    from mcptest_engine.servers.calls import Exchange
    from mcptest_engine.servers.gate import Gate
    from mcptest_engine.servers.session import Session

MOST_EXACT = 5
MOST_LISTED = 200
MOST_TOLD = 5
_NOT_ERROR = "tool call must not signal an error"
_STABLE = "observed, not verified; the same in both calls"
_ASSERTED = ("result.content", "result.structuredContent")


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """A test that holds for the observed answers.

    `test` is its YAML block, to paste under `tools:`; `mapping` the same as data, with `${` of foreign text escaped, and
    `expect_text` its `expect` as YAML text. `excluded_volatile` are full target paths. `stability` is one line such as "seen 2
    times, stable"; `comments` follow the test's name; `observed` are the answers.
    """

    test: str
    mapping: JsonDict
    expect_text: str
    excluded_volatile: tuple[str, ...]
    calls_made: int
    notes: tuple[str, ...]
    stability: str
    comments: tuple[str, ...] = ()
    observed: tuple[Exchange, ...] = field(default=(), repr=False)

    def named(self, name: str) -> Proposed:
        """The same test under another name."""
        mapping = {**self.mapping, "name": name}
        return replace(self, mapping=mapping, test=test_block(mapping, comments=self.comments))


async def propose(
    session: Session,
    tool: str,
    arguments: Mapping[str, object],
    *,
    gate: Gate,
    server_key: str,
    single_call: bool = False,
    timeout_seconds: float,
    today: date | None = None,
) -> Proposed:
    """Call `tool` as often as the policy of `gate` allows, at most twice, and propose a test.

    `today` is the day of the calls, this one in UTC when None.
    Raises: UsageError for a tool that the server does not list and for arguments that no suite can hold, PolicyDenied,
    BudgetExhausted when not even one call is left, InvalidResult for an answer that is not valid MCP or breaks the tool's
    `outputSchema`, and what the first call raises.
    """
    secrets = Secrets(session.spec.redact)
    listed = await gate.descriptors(session, tool)
    tool_class = class_of(listed)
    head, notes = _head(tool_class, tool, arguments, server_key, secrets)
    twice = gate.policy.decide_tool(tool, tool_class, Purpose.CALL) is Decision.EXECUTE and not single_call
    observed, why_single = await _observe(gate, session, tool, arguments, twice=twice, timeout_seconds=timeout_seconds)
    if why_single is None and len(observed) == 1:
        why_single = _why_single(tool_class, single_call=single_call)
    called_as = gate.last_class(session, tool)
    if called_as is not None and called_as.severity > tool_class.severity:  # listed again before a call
        tool_class = called_as
        head, notes = _head(tool_class, tool, arguments, server_key, secrets)
        if why_single is None or not twice:
            why_single = _why_single(tool_class, single_call=single_call) if len(observed) == 1 else why_single
    _require_valid(observed, session, listed[0].get("outputSchema"), secrets.without)
    day = datetime.now(UTC).date() if today is None else today
    proposal = _Proposal(observed, secrets, day, declared=listed[0].get("outputSchema"))
    notes += proposal.all_notes(why_single)
    comments: tuple[str, ...] = ()
    if tool_class is ToolClass.DESTRUCTIVE:
        comments = (f"# {REVIEW_FIRST}: every run of this test calls a tool that is classified as destructive",)
    mapping = _proved({**head, "expect": proposal.expect()})
    return Proposed(
        test=test_block(mapping, comments=comments),
        mapping=mapping,
        expect_text=expect_text(mapping["expect"]),
        excluded_volatile=proposal.excluded,
        calls_made=len(observed) if why_single is None or not why_single.lost else len(observed) + 1,
        notes=tuple(notes),
        stability=proposal.stability,
        comments=comments,
        observed=tuple(observed),
    )


def _require_valid(
    observed: Sequence[Exchange], session: Session, declared: object, redact: Callable[[object], object]
) -> None:
    """Raise InvalidResult for an answer with which every run of the test would fail."""
    from mcptest_engine.judging.validity import find_fault

    if session.spec.validity != "fail":
        return
    for exchange in observed:
        fault = find_fault(session, "tools/call", exchange.answer, declared, redact)
        if fault is not None:
            hint = "nothing is proposed from it: fix the server, and propose again"
            raise InvalidResult(f"this answer may be wrong: {fault}", server=session.spec.name, hint=hint)


def latency_budget_ms(slowest_ms: float) -> int:
    """Twice the slowest observed call, rounded up to 50 ms, at least 100 ms."""
    return max(100, math.ceil(2 * slowest_ms / 50) * 50)


@dataclass(frozen=True, slots=True)
class _Single:
    """Why there is only one observation; `lost` when a second call was made and not answered."""

    why: str
    lost: bool = False


async def _observe(
    gate: Gate, session: Session, tool: str, arguments: Mapping[str, object], *, twice: bool, timeout_seconds: float
) -> tuple[list[Exchange], _Single | None]:
    """Call once or twice, one after the other, so that the second sees the effects of the first, as in a second run."""
    observed = [await gate.call(session, tool, arguments, timeout_seconds=timeout_seconds)]
    if twice:
        try:
            observed.append(await gate.call(session, tool, arguments, timeout_seconds=timeout_seconds))
        except BudgetExhausted as none_left:
            told = "1 tool call" if none_left.limit == 1 else f"{none_left.limit} tool calls"
            return observed, _Single(f"the budget of {told} leaves none for a second call")
        except PolicyDenied:
            tool_class = gate.last_class(session, tool)
            now = "another one" if tool_class is None else tool_class.described
            return observed, _Single(f"the server changed its list after the first call, and the tool is {now} now")
        except UsageError:
            return observed, _Single("the server no longer lists the tool after the first call")
        except ServerError as wrong:
            told = one_line(session.spec.redact(wrong.message), 200)
            return observed, _Single(f"the second call was not answered ({told}): the tool is not stable", lost=True)
    return observed, None


def _why_single(tool_class: ToolClass, *, single_call: bool) -> _Single:
    match tool_class:
        case ToolClass.MUTATING | ToolClass.DESTRUCTIVE:
            return _Single(
                f"the tool is classified as {tool_class}, so it was called once: a second call would repeat the change"
            )
        case ToolClass.READ_ONLY | ToolClass.READ_ONLY_PRESUMED:
            assert single_call
            return _Single("only one call was requested")


def _head(
    tool_class: ToolClass, tool: str, arguments: Mapping[str, object], server_key: str, secrets: Secrets
) -> tuple[dict[str, object], list[str]]:
    """The test without its `expect`, checked before anything is called. Raises: UsageError."""
    notes: list[str] = []
    try:
        given = secrets.without(dict(arguments))
        head: JsonDict = {
            "name": untemplated(f"{one_line(tool, 80)}: proposed assertions"),
            "server": server_key,
            "tool": untemplated(tool),
            "args": untemplated(given),
        }
        if tool_class in (ToolClass.MUTATING, ToolClass.DESTRUCTIVE):
            head["serial"] = True
        if tool_class is ToolClass.DESTRUCTIVE:  # `--allow` was for one call, and not for a run on every save
            head["skip"] = f"{REVIEW_FIRST}: classified as destructive"
        if reads_back(test_block(head), [head]):
            if repr(given) != repr(dict(arguments)):
                notes.append("a value of the arguments looks secret and is not written: use a variable")
            return head, notes
        why = "they do not read back the same"
    except Unwritable as wrong:
        why = str(wrong)
    except RecursionError:
        why = "they are nested too deeply"
    raise UsageError(f"the arguments cannot be written into a suite: {why}")


def _proved(test: JsonDict) -> JsonDict:
    """The test, without assertions at its end that would not be parsed as they are meant."""
    assertions = list(test["expect"]["assertions"])
    while assertions:
        whole = {**test, "expect": {**test["expect"], "assertions": assertions}}
        if reads_back(test_block(whole), [whole]):
            return whole
        assertions.pop()
    return {**test, "expect": {**test["expect"], "assertions": []}}


class _Proposal:
    """The assertions from one or two answers."""

    def __init__(self, observed: Sequence[Exchange], secrets: Secrets, today: date, *, declared: object = None) -> None:
        self._count = len(observed)
        self._slowest = max(one.duration_ms for one in observed)
        self._answers = [one.answer for one in observed]
        self._results = [one["result"] for one in self._answers if isinstance(one.get("result"), dict)]
        self._errors = [one["error"] for one in self._answers if "error" in one]
        self._asked = scalars((observed[0].params or {}).get("arguments"))
        self._secrets = secrets
        self._declared = {"structuredContent": declared}
        self._notes: list[str] = []
        self._excluded: list[str] = []
        self._compared = self._compare(today)
        self._assertions = list(self._all())

    def expect(self) -> JsonDict:
        """The `expect` mapping in its long form."""
        return {"assertions": self._assertions, "max_duration_ms": latency_budget_ms(self._slowest)}

    @property
    def excluded(self) -> tuple[str, ...]:
        """Full target paths that need no exact assertion."""
        return tuple(self._excluded[:MOST_LISTED])

    @property
    def stability(self) -> str:
        """One line for a person."""
        if self._count == 1:
            return "seen once"
        return (
            f"seen 2 times, {len(self._excluded)} of its values not stable"
            if self._excluded
            else "seen 2 times, stable"
        )

    def all_notes(self, why_single: _Single | None) -> list[str]:
        """The notes, first the reason for a single observation."""
        first = []
        if why_single is not None:
            instead = "no exact values are proposed, because it is unknown which are stable"
            first.append(f"{why_single.why}; {instead}")
        if len(self._excluded) > MOST_LISTED:
            self._notes.append(f"{len(self._excluded) - MOST_LISTED} more paths differ than are listed")
        return [*first, *self._notes]

    def _compare(self, today: date) -> Compared:
        if self._count < 2:
            return Compared()
        if len(self._errors) == 2:
            first, second = self._errors
            found = compare(first, second, secrets=self._secrets, today=today, above=("error",))
            self._excluded = [*found.volatile, *found.lengths]
            return Compared()
        if self._errors:
            return Compared()
        first, second = ({name: part for name, part in one.items() if name != "isError"} for one in self._results)
        found = compare(first, second, secrets=self._secrets, today=today, asked=self._asked)
        found.stable = [leaf for leaf in found.stable if leaf.path[1] in ("content", "structuredContent")]
        for kind in ("changing", "secret", "media", "long", "unwritable", "unseen"):
            setattr(found, kind, [target for target in getattr(found, kind) if target.startswith(_ASSERTED)])
        self._excluded = sorted({*found.volatile, *found.lengths}, key=[*found.volatile, *found.lengths].index)
        self._excluded += found.changing
        return found

    def _all(self) -> list[dict[str, object]]:
        if self._errors and self._results:
            return self._answered_either_way()
        if self._errors:
            return self._refused()
        if not self._results:
            self._note("the answer's `result` is not an object, so only its presence is proposed")
            return [_assertion("result", {"exists": True}, "the call must be answered")]
        return [*self._is_error(), *self._structure(), *self._exact()]

    def _is_error(self) -> list[JsonDict]:
        target = "result.isError"
        flags = [one.get("isError") for one in self._results]
        if any(flag is not None and not isinstance(flag, bool) for flag in flags):
            self._note("`result.isError` is not a boolean, which the protocol requires")
        if all(flag is True for flag in flags):
            both = "both observed calls" if len(flags) == 2 else "the observed call"
            self._note(f"{both} signalled an error (`result.isError` is true), and the test expects this")
            return [_assertion(target, {"exact": True}, "tool call must signal an error, as observed")]
        if any(flag is True for flag in flags):
            self._excluded.insert(0, target)
            self._note("one of the two calls signalled an error and the other did not: whether it does is not asserted")
            return []
        if all(flag is False for flag in flags):
            return [_assertion(target, {"exact": False}, _NOT_ERROR)]
        return [_assertion(target, {"not": {"exact": True}}, _NOT_ERROR)]

    def _structure(self) -> list[JsonDict]:
        found = []
        for name in ("content", "structuredContent"):
            target = f"result.{name}"
            seen = [one[name] for one in self._results if name in one]
            if len(seen) == len(self._results):
                schema = widened(
                    schema_of(seen, may_name=lambda key: not self._secrets.holds(key)), self._declared.get(name)
                )
                found.append(_assertion(target, {"schema": schema}, f"observed structure of {target}"))
            elif seen:
                self._note(f"`{target}` came with one of the two calls only")
            elif name == "content":
                self._note("the result has no `content`, which the protocol requires")
        return found

    def _exact(self) -> list[JsonDict]:
        compared = self._compared
        self._left_out(
            "looks like a time or an id, or belongs to this process or machine, so it is not compared, although "
            "it was equal",
            compared.changing,
        )
        self._left_out("looks secret, and is not written", compared.secret)
        self._left_out("is binary data, and is not compared", compared.media)
        self._left_out("is too long", compared.long)
        self._left_out("cannot be written into a suite", compared.unwritable)
        self._left_out("is too large", compared.unseen)
        self._left_out("had another length in the second call", compared.lengths)
        return [
            _assertion(untemplated(leaf.target), {"exact": untemplated(leaf.value)}, _STABLE)
            for leaf in compared.stable[:MOST_EXACT]
        ]

    def _refused(self) -> list[dict[str, object]]:
        codes = [error.get("code") if isinstance(error, dict) else None for error in self._errors]
        both = "both observed calls were" if len(codes) == 2 else "the observed call was"
        is_code = all(isinstance(code, int) and not isinstance(code, bool) for code in codes)
        if is_code and len(set(codes)) == 1:
            self._note(f"{both} refused with the JSON-RPC error {codes[0]}, and the test expects this")
            return [
                _assertion("error.code", {"exact": codes[0]}, "the call must be refused with this code, as observed")
            ]
        self._note(f"{both} refused with JSON-RPC errors that have no code in common, so only an error is proposed")
        return [_assertion("error", {"type": "object"}, "the call must be refused, as observed")]

    def _answered_either_way(self) -> list[dict[str, object]]:
        self._excluded[:0] = ["error", "result"]
        self._note(
            "one of the two calls was answered and the other refused with a JSON-RPC error: only an answer is asserted"
        )
        either = [{"target": name, "matcher": {"type": "object"}} for name in ("result", "error")]
        return [{"assert-set": {"name": "the call is answered", "threshold": 0.5, "assertions": either}}]

    def _left_out(self, why: str, targets: Sequence[str]) -> None:
        if targets:
            self._note(f"{why}: {listed(targets, MOST_TOLD, lambda target: f'`{one_line(target, 120)}`')}")

    def _note(self, text: str) -> None:
        self._notes.append(text)


def _assertion(target: str, matcher: Mapping[str, object], message: str) -> dict[str, object]:
    return {"target": target, "matcher": dict(matcher), "message": message}

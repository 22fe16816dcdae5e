"""How much each test of a suite demands, known when the suite is loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest_engine.core.enums import ExpectedOutcome, Strength, TestKind
from mcptest_engine.core.targets import AGENT_GATES
from mcptest_engine.judging.strength import strength_of
from mcptest_engine.suite.items import DEFAULT_OUTCOME, may_decide_outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcptest_engine.suite.load import LoadedSuite, TestEntry


def is_validated(server: Mapping[str, object], run_options: Mapping[str, object]) -> bool:
    """Whether a result that is not valid MCP fails a test of this server."""
    return (server.get("validity") or run_options.get("validity") or "fail") == "fail"


def strength_of_test(
    kind: TestKind, data: Mapping[str, Any], *, outcome: ExpectedOutcome = ExpectedOutcome.ANY, validated: bool = True
) -> Strength:
    """The strength of a test as its suite has it; `outcome` is what a test of a single call must come to.

    What a model or a scorer grades counts as a value, and so does a check of the protocol, which knows what has to come.
    """
    asserts = bool(data["expect"]["assertions"])
    match kind:
        case TestKind.EVAL | TestKind.COMPLIANCE:
            return Strength.VALUE
        case TestKind.AGENT if any(gate in data for gate in AGENT_GATES):
            return Strength.VALUE
        case TestKind.COMPOSITION | TestKind.AGENT if not asserts:
            return Strength.VALID  # every node, or the model, has to come to its end without an error
    expectations = [data["expect"], *(step["expect"] for step in data.get("verify") or ())]
    threshold = data.get("threshold") if asserts else None
    return strength_of(expectations, outcome=outcome, is_validated=validated, threshold=threshold)


def required_outcome(data: Mapping[str, Any], default: str, steps: Sequence[Mapping[str, Any]] = ()) -> ExpectedOutcome:
    """What a call must come to: as its test says; else as its assertions on the error have it; else `default`, that of the run.

    A call with made-up arguments must succeed, or be refused where the test says so; an error decides nothing else.
    """
    said = data.get("outcome")
    if data.get("guess"):
        return ExpectedOutcome.ERROR if said == ExpectedOutcome.ERROR else ExpectedOutcome.SUCCESS
    own = data["expect"]["assertions"]
    verified = [item for step in steps for item in step["expect"]["assertions"]] if steps else []
    if said is None and own and may_decide_outcome((*own, *verified)):
        from mcptest_engine.judging.expectations import expected_outcome  # many suites have no such assertion

        said = expected_outcome(own, data.get("threshold"), verified)
    return ExpectedOutcome(said or data.get(DEFAULT_OUTCOME) or default)


def strength_in_suite(entry: TestEntry, suite: LoadedSuite) -> Strength:
    """The strength of a test as a run of its suite would have it."""
    outcome = ExpectedOutcome.ANY
    if entry.kind.is_request:
        default = suite.run_options.get("outcome", ExpectedOutcome.SUCCESS)
        outcome = required_outcome(entry.data, default, entry.data.get("verify") or ())
    validated = is_validated(suite.servers.get(entry.server, {}), suite.run_options)
    return strength_of_test(entry.kind, entry.data, outcome=outcome, validated=validated)

"""The suite language as frozen pydantic models: the one description from which the JSON Schema is generated.

Importing this costs pydantic's start-up, so `run` and `validate` check a suite with the shipped schema instead.
"""

from mcptest_engine.suite.model.agents import AgentBudget, AgentEval, AgentTest
from mcptest_engine.suite.model.client import Client, Elicitation, ProtocolError, Root, Sampling
from mcptest_engine.suite.model.compliance import Compliance, ComplianceCheck
from mcptest_engine.suite.model.compositions import Composition, CompositionCase, Node
from mcptest_engine.suite.model.entries import (
    Assertion,
    Delay,
    Expect,
    PromptTest,
    ResourceTest,
    Test,
    TokenBudget,
    ToolTest,
    Transform,
    VerifyStep,
)
from mcptest_engine.suite.model.evals import EvalTest, Price
from mcptest_engine.suite.model.judging import (
    Branch,
    Criterion,
    Judge,
    LlmJudge,
    OtherScorer,
    Rubric,
    Scorer,
    Threshold,
)
from mcptest_engine.suite.model.matchers import Approx, JsonType, Matcher, Snapshot
from mcptest_engine.suite.model.servers import Auth, HeaderFromEnv, Http, OAuth, Readiness, Server
from mcptest_engine.suite.model.suite import FromEnv, Performance, RunOptions, Suite

__all__ = [
    "AgentBudget",
    "AgentEval",
    "AgentTest",
    "Approx",
    "Assertion",
    "Auth",
    "Branch",
    "Client",
    "Compliance",
    "ComplianceCheck",
    "Composition",
    "CompositionCase",
    "Criterion",
    "Delay",
    "Elicitation",
    "EvalTest",
    "Expect",
    "FromEnv",
    "HeaderFromEnv",
    "Http",
    "JsonType",
    "Judge",
    "LlmJudge",
    "Matcher",
    "Node",
    "OAuth",
    "OtherScorer",
    "Performance",
    "Price",
    "PromptTest",
    "ProtocolError",
    "Readiness",
    "ResourceTest",
    "Root",
    "Rubric",
    "RunOptions",
    "Sampling",
    "Scorer",
    "Server",
    "Snapshot",
    "Suite",
    "Test",
    "Threshold",
    "TokenBudget",
    "ToolTest",
    "Transform",
    "VerifyStep",
]

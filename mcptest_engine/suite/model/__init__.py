"""The suite language as frozen pydantic models: the one description from which the JSON Schema is generated.

Importing this costs pydantic's start-up, so `run` and `validate` check a suite with the shipped schema instead.
"""

from mcptest_engine.suite.model.entries import (
    Assertion,
    Expect,
    PromptTest,
    ResourceTest,
    Test,
    TokenBudget,
    ToolTest,
    Transform,
)
from mcptest_engine.suite.model.matchers import Approx, JsonType, Matcher, Snapshot
from mcptest_engine.suite.model.servers import Auth, HeaderFromEnv, Server
from mcptest_engine.suite.model.suite import FromEnv, Performance, RunOptions, Suite

__all__ = [
    "Approx",
    "Assertion",
    "Auth",
    "Expect",
    "FromEnv",
    "HeaderFromEnv",
    "JsonType",
    "Matcher",
    "Performance",
    "PromptTest",
    "ResourceTest",
    "RunOptions",
    "Server",
    "Snapshot",
    "Suite",
    "Test",
    "TokenBudget",
    "ToolTest",
    "Transform",
]

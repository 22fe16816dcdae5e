"""What a target may start with, in each kind of test."""

from __future__ import annotations

ROOTS = ("result", "error", "json", "duration_ms", "attempt", "request", "notifications", "server_requests", "http")
"""What a target may start with: the members of the envelope, and `json`, its first text read as JSON."""
COMPLIANCE_ROOTS = (*ROOTS, "session")
"""The same in a check of `compliance`, which also sees what was agreed on when the session was opened."""
COMPOSITION_ROOTS = ("composition", "nodes", "output", "cost", "tokens", "duration_ms")
"""The same in a composition: the members of its trace."""
AGENT_GATES = (
    *("equal_function_sets", "tool_selection", "trajectory", "golden_path", "tool_edges", "token_efficiency"),
    "distractors",
)
"""The blocks of a test of `agents` that measure its choice of tools, each a member of its trace."""
AGENT_ROOTS = (
    *("tool_calls", "tool_names", "final_response", "conversation", "duration_ms", "cost"),
    *("model", "models", "stop", "turns"),
    *AGENT_GATES,
    "edges",
)
"""The same in a test of `agents`: the members of its trace."""

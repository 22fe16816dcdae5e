"""The words of `compliance:`: what can be checked, and which revisions of the protocol a check can be held to.

Plain constants, since loading and running need them without the models. Source: MCP 2025-11-25 and 2026-07-28, their requests.
"""

from __future__ import annotations

UNKNOWN_METHOD = "unknown-method"
OPENINGS = frozenset({"initialize", "server/discover"})
"""Checks of the opening of a session: they judge the answer that came then, and send nothing more."""
CHECKS = (
    "initialize",
    "ping",
    "tools/list",
    "resources/list",
    "resources/templates/list",
    "prompts/list",
    "server/discover",
    UNKNOWN_METHOD,
)
"""What can be checked, each by the name of its request, or `unknown-method`."""

HANDSHAKE_REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS_REVISION = "2026-07-28"
REVISIONS = (*HANDSHAKE_REVISIONS, STATELESS_REVISION)
DRAFT = "draft"
SPEC_VERSIONS = (*REVISIONS, *(f"v{revision}" for revision in REVISIONS), DRAFT)
"""What `spec_version` can say."""

_ONLY_HANDSHAKE = frozenset({"initialize", "ping"})


def revision_of(spec_version: str) -> str:
    """The revision that a `spec_version` stands for; `draft` is the newest that is known here."""
    return REVISIONS[-1] if spec_version == DRAFT else spec_version.removeprefix("v")


def has_request(revision: str, check: str) -> bool:
    """Whether that revision of the protocol has what is checked."""
    if revision == STATELESS_REVISION:
        return check not in _ONLY_HANDSHAKE
    return check != "server/discover"

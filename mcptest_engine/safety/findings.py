"""`Finding`, the result of a security rule on a tool, and the table of all rules.

Findings and rules are plain values; `poisoning`, `tool_surface` and `schema_lint` look for findings.
See docs/how-to/security-scan.md.
"""

from __future__ import annotations

import hashlib
from enum import StrEnum
from typing import TYPE_CHECKING

from mcptest_engine.core.values import dataclass
from mcptest_engine.safety.normalizing import visible

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcptest_engine.core.json_types import JsonDict

LONGEST_SUMMARY = 160
LONGEST_EXCERPT = 60
LONGEST_FULL_EXCERPT = 2_000
LONGEST_SUBJECT = 80
LONGEST_NAME = 100


class Level(StrEnum):
    """The severity of a finding, worst first."""

    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    INFO = "info"

    @property
    def rank(self) -> int:
        """The order of severity, 0 for the worst."""
        return list(Level).index(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule: its id and name, the severity of its findings, their message with `{}` for the subject, and how to fix one."""

    id: str
    name: str
    severity: Level
    says: str
    advice: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One rule that fired at one place.

    `tool` is the tool's name, or "prompt x", "resource x" or "server instructions". `where` is the place in the descriptor,
    such as "description" or "inputSchema.properties.q.description". `summary` is one line of at most 160 characters,
    `excerpt` has at most 60, and `full_excerpt` at most 2,000, all without control and invisible characters. `digest` covers
    the whole text that the rule read, as it was sent; the excerpts are parts of it without secrets.
    """

    rule: str
    name: str
    severity: str
    tool: str
    summary: str
    where: str
    excerpt: str = ""
    full_excerpt: str = ""
    digest: str = ""

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal digits that stay the same as long as rule, tool, place and the whole text there do."""
        identity = "\0".join((self.rule, self.tool, self.where, self.digest or self.summary))
        return _digest(identity)[:16]


def warning_json(finding: Finding) -> JsonDict:
    """A finding as an entry of `warnings` in JSON: {tool, rule, summary}."""
    return {"tool": finding.tool, "rule": finding.rule, "summary": finding.summary}


_DATA = "treat it as data, and show it to a person before an agent uses the server"
RULES: dict[str, Rule] = {
    rule.id: rule
    for rule in (
        Rule(
            id="SEC-001",
            name="description-injection",
            severity=Level.HIGH,
            says="{} contains an imperative instruction aimed at the model",
            advice=f"{_DATA}; if the server is yours, only describe what the tool does",
        ),
        Rule(
            id="SEC-002",
            name="cross-tool-directive",
            severity=Level.HIGH,
            says="{} tells the model to call or change another tool",
            advice=f"{_DATA}; if the server is yours, let each tool describe itself alone",
        ),
        Rule(
            id="SEC-003",
            name="exfiltration-directive",
            severity=Level.HIGH,
            says="{} points the model at private data or at a place to send it to",
            advice=f"{_DATA}; check what this tool has received so far",
        ),
        Rule(
            id="SEC-004",
            name="encoded-payload",
            severity=Level.MEDIUM,
            says="{} contains encoded text that a reader cannot understand",
            advice="decode it and read it; if the server is yours, move data out of the definition",
        ),
        Rule(
            id="SEC-005",
            name="hidden-unicode",
            severity=Level.HIGH,
            says="{} contains characters that a reader cannot see",
            advice="show these characters by their codes; if the server is yours, remove them",
        ),
        Rule(
            id="SEC-006",
            name="preference-manipulation",
            severity=Level.MEDIUM,
            says="{} urges the model to choose this tool",
            advice="describe when the tool fits, not that it comes first",
        ),
        Rule(
            id="SEC-007",
            name="docstring-schema-mismatch",
            severity=Level.MEDIUM,
            says="{} names an argument that the schema lacks",
            advice="make the description and `inputSchema` agree",
        ),
        Rule(
            id="SEC-008",
            name="secret-in-definition",
            severity=Level.HIGH,
            says="{} contains what looks like a secret",
            advice="revoke it, because everybody who lists the tools has it; then remove it from the definition",
        ),
        Rule(
            id="SEC-009",
            name="unannotated-destructive-tool",
            severity=Level.MEDIUM,
            says="{} suggests that the tool destroys data, and no annotation confirms or denies it",
            advice="set `destructiveHint` (and `readOnlyHint`) in the tool's `annotations`",
        ),
        Rule(
            id="SEC-010",
            name="malformed-annotations",
            severity=Level.LOW,
            says="{} cannot be used: clients will ignore it or guess",
            advice="send each hint as true or false inside an object, and let them not contradict each other",
        ),
        Rule(
            id="SCH-001",
            name="no-required",
            severity=Level.LOW,
            says="{} has properties and does not say which are required",
            advice="add `required`, even as an empty list",
        ),
        Rule(
            id="SCH-002",
            name="open-object",
            severity=Level.LOW,
            says="{} accepts properties that it does not name",
            advice="set `additionalProperties: false`",
        ),
        Rule(
            id="SCH-003",
            name="untyped-property",
            severity=Level.MEDIUM,
            says="{} has neither a type nor an enum",
            advice="give the property a `type` or an `enum`",
        ),
        Rule(
            id="SCH-004",
            name="unbounded-value",
            severity=Level.LOW,
            says="{} has no upper bound",
            advice="add `maxLength` to the text, or `maxItems` to the array",
        ),
        Rule(
            id="SCH-005",
            name="no-object-schema",
            severity=Level.MEDIUM,
            says="{} is not a valid JSON Schema of an object",
            advice="send a schema with `type: object`, as MCP requires: clients may refuse the whole list",
        ),
        Rule(
            id="SCH-006",
            name="duplicate-tool-name",
            severity=Level.MEDIUM,
            says="{} is listed more than once",
            advice="give each tool a different name: it is unclear which one a call reaches",
        ),
        Rule(
            id="SCH-007",
            name="remote-ref",
            severity=Level.LOW,
            says="{} refers to a schema elsewhere",
            advice="put it under `$defs`: clients do not fetch it, and whoever serves it can change the tool",
        ),
    )
}


def finding(
    rule_id: str,
    tool: str,
    where: str,
    *,
    subject: str,
    excerpt: str = "",
    full_excerpt: str = "",
    severity: Level | None = None,
    digest_of: str = "",
) -> Finding:
    """A finding with the rule's message, in which `subject` fills the blank. `severity` overrides the rule's.

    `digest_of` is the text that the rule read.
    """
    rule = RULES[rule_id]
    summary = f"{rule.name}: {rule.says.format(_clip(visible(subject), LONGEST_SUBJECT))}"
    whole = " ".join(visible(full_excerpt or excerpt).split())
    quoted = _clip(" ".join(visible(excerpt).split()), LONGEST_EXCERPT)
    if quoted:
        summary += f' (excerpt: "{_clip(quoted, LONGEST_SUMMARY - len(summary) - 14)}")'
    return Finding(
        rule=rule.id,
        name=rule.name,
        severity=severity or rule.severity,
        tool=_clip(visible(tool), LONGEST_NAME),
        summary=_clip(summary, LONGEST_SUMMARY),
        where=_clip(visible(where), 200),
        excerpt=quoted,
        full_excerpt=_clip(whole, LONGEST_FULL_EXCERPT),
        digest=_digest("\0".join((tool, where, digest_of))) if digest_of else "",
    )


def worst_of_each_rule(found: Iterable[Finding]) -> list[Finding]:
    """For each tool and rule, the first finding of the worst severity."""
    worst: dict[tuple[str, str], Finding] = {}
    for one in found:
        before = worst.get((one.tool, one.rule))
        if before is None or Level(one.severity).rank < Level(before.severity).rank:
            worst[one.tool, one.rule] = one
    return list(worst.values())


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _clip(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: max(limit - 1, 0)] + "…"

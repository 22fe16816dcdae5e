"""SARIF 2.1.0: one run of results on rules, for code-scanning services.

Rules and results are plain values here, so that whatever finds something can be told in this format.
Source: OASIS SARIF 2.1.0, sections 3.13 (sarifLog), 3.27 (result) and 3.49 (reportingDescriptor).
"""

from __future__ import annotations

import hashlib
import re
from pathlib import PurePath
from typing import TYPE_CHECKING
from urllib.parse import quote

from mcptest_engine.core.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcptest_engine.core.json_types import JsonMapping

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {"critical": "error", "high": "error", "medium": "warning", "low": "note", "info": "note"}
_LINK = re.compile(r"\[([^\[\]]*)\](?=\()")
_SCORES = {"critical": "9.5", "high": "8.0", "medium": "5.5", "low": "2.5", "info": "0.0"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SarifRule:
    """A rule that results refer to. `severity` is a key of `LEVELS`; one that `is_security` is ranked as a risk."""

    id: str
    name: str
    severity: str
    text: str
    help: str
    is_security: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SarifResult:
    """One finding: of a rule, with a message, at a dotted place, and in a line of a file where there is one.

    `accepted_because` is the reason why a person accepted it; such a result is suppressed.
    """

    rule: str
    severity: str
    message: str
    place: str
    file: str | None = None
    line: int = 1
    member: str = "member"
    properties: JsonMapping | None = None
    accepted_because: str | None = None


def sarif_log(
    *,
    version: str,
    rules: Sequence[SarifRule],
    results: Sequence[SarifResult],
    more: Mapping[str, object] | None = None,
) -> dict[str, object]:
    """The whole log, to be written as JSON. `more` are further members of its run."""
    index = {rule.id: at for at, rule in enumerate(rules)}
    driver = {"name": "mcptest", "version": version, "rules": [_rule(rule) for rule in rules]}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        **(more or {}),
        "results": [_result_json(one, index) for one in results],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule: SarifRule) -> dict[str, object]:
    return {
        "id": rule.id,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": rule.text},
        "help": {"text": rule.help},
        "defaultConfiguration": {"level": LEVELS[rule.severity]},
        "properties": _rule_properties(rule),
    }


def _rule_properties(rule: SarifRule) -> dict[str, object]:
    if not rule.is_security:
        return {"tags": ["test", "mcp"]}
    return {"tags": ["security", "mcp"], "security-severity": _SCORES[rule.severity]}


def plain(text: str) -> str:
    """`text` as a plain message: what would be read as an embedded link is escaped. Source: SARIF 2.1.0, 3.11.6."""
    return _LINK.sub(r"\\[\1\\]", text)


def _result_json(result: SarifResult, index: dict[str, int]) -> dict[str, object]:
    location: dict[str, object] = {"logicalLocations": [{"fullyQualifiedName": result.place, "kind": result.member}]}
    if result.file is not None:
        uri = quote(PurePath(result.file).as_posix().encode("utf-8", "replace"))
        region = {"startLine": max(result.line, 1)}
        location["physicalLocation"] = {"artifactLocation": {"uri": uri}, "region": region}
    told = hashlib.sha256(f"{result.rule}\0{result.place}".encode("utf-8", "replace")).hexdigest()
    return {
        "ruleId": result.rule,
        "ruleIndex": index[result.rule],
        "kind": "fail",
        "level": LEVELS[result.severity],
        "message": {"text": plain(result.message)},
        "locations": [location],
        "partialFingerprints": {"mcptest/v1": told},
        **({} if result.properties is None else {"properties": dict(result.properties)}),
        **({} if result.accepted_because is None else {"suppressions": [_suppression(result.accepted_because)]}),
    }


def _suppression(reason: str) -> dict[str, object]:
    return {"kind": "external", "status": "accepted", "justification": reason}

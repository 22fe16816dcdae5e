"""SARIF 2.1.0: one run of results on rules, for code-scanning services.

Rules and results are plain values here, so that whatever finds something can be told in this format.
Source: OASIS SARIF 2.1.0, sections 3.13 (sarifLog), 3.27 (result) and 3.49 (reportingDescriptor).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Sequence

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {"critical": "error", "high": "error", "medium": "warning", "low": "note", "info": "note"}
_SCORES = {"critical": "9.5", "high": "8.0", "medium": "5.5", "low": "2.5", "info": "0.0"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SarifRule:
    """A rule that results refer to. `severity` is one of the keys of `LEVELS`."""

    id: str
    name: str
    severity: str
    text: str
    help: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SarifResult:
    """One finding: of a rule, with a message, at a dotted place, and in a file where there is one."""

    rule: str
    severity: str
    message: str
    place: str
    file: str | None = None


def sarif_log(*, version: str, rules: Sequence[SarifRule], results: Sequence[SarifResult]) -> dict[str, Any]:
    """The whole log, to be written as JSON."""
    index = {rule.id: at for at, rule in enumerate(rules)}
    driver = {"name": "mcptest", "version": version, "rules": [_rule(rule) for rule in rules]}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(one, index) for one in results],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule: SarifRule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": rule.text},
        "help": {"text": rule.help},
        "defaultConfiguration": {"level": LEVELS[rule.severity]},
        "properties": {"tags": ["security", "mcp"], "security-severity": _SCORES[rule.severity]},
    }


def _result(result: SarifResult, index: dict[str, int]) -> dict[str, Any]:
    location: dict[str, Any] = {"logicalLocations": [{"fullyQualifiedName": result.place, "kind": "member"}]}
    if result.file is not None:
        uri = quote(PurePath(result.file).as_posix())
        location["physicalLocation"] = {"artifactLocation": {"uri": uri}, "region": {"startLine": 1}}
    told = hashlib.sha256(f"{result.rule}\0{result.place}".encode("utf-8", "replace")).hexdigest()
    return {
        "ruleId": result.rule,
        "ruleIndex": index[result.rule],
        "level": LEVELS[result.severity],
        "message": {"text": result.message},
        "locations": [location],
        "partialFingerprints": {"mcptest/v1": told},
    }

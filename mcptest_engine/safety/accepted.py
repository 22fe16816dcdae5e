"""`.mcptest/security.yml`: findings that a person accepted, each with a reason and the last day of the acceptance.

Entries that a person writes name a rule and a tool. Those that `mcptest security --write-baseline` writes have a fingerprint as
well, so that a changed text at the same place is a finding again. Expired entries are ignored.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING

from mcptest_engine.core.errors import Problem, SuiteError, did_you_mean
from mcptest_engine.core.text import pointer
from mcptest_engine.core.values import dataclass
from mcptest_engine.safety.findings import RULES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcptest_engine.core.errors import Span
    from mcptest_engine.safety.findings import Finding
    from mcptest_engine.suite.yaml import Tree

FILE = ".mcptest/security.yml"
_KEYS = ("rule", "tool", "server", "where", "fingerprint", "reason", "expires")
_REQUIRED = ("rule", "tool", "reason", "expires")
_HINTS = {"reason": "write why it is accepted", "expires": "a day such as 2027-06-30"}
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_FINGERPRINT = re.compile(r"[0-9a-f]{16}")
_HEADER = "# Findings of `mcptest security` that people accepted, until they expire. Commit this file.\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """One accepted finding. `server`, `where` and `fingerprint` match anything when None; `span` is the entry's place."""

    rule: str
    tool: str
    reason: str
    expires: dt.date
    server: str | None = None
    where: str | None = None
    fingerprint: str | None = None
    span: Span | None = None

    def covers(self, finding: Finding, server: str | None) -> bool:
        """Whether the entry matches this finding, also when it has expired."""
        return (
            (self.rule, self.tool) == (finding.rule, finding.tool)
            and self.server in (None, server)
            and self.where in (None, finding.where)
            and self.fingerprint in (None, finding.fingerprint)
        )


def find_acceptance(
    accepted: Iterable[Acceptance], finding: Finding, server: str | None, *, today: dt.date
) -> Acceptance | None:
    """The first entry that covers a finding and has not expired."""
    return next((one for one in accepted if one.expires >= today and one.covers(finding, server)), None)


def read_acceptances(data: bytes) -> tuple[Acceptance, ...]:
    """The entries of the file; none for an empty one. Raises: SuiteError with every problem, with line and column."""
    from mcptest_engine.suite.yaml import EMPTY, read_bytes

    try:
        tree = read_bytes(data, file=FILE)
    except SuiteError as unreadable:
        if [problem.message for problem in unreadable.problems] == [EMPTY]:
            return ()
        raise
    problems: list[Problem] = []
    if not isinstance(tree.value, dict):
        raise SuiteError([_problem(tree, (), f"expected a mapping with `accepted`, found {_kind(tree.value)}")])
    for key in tree.value:
        if key != "accepted":
            hint = did_you_mean(str(key), ["accepted"]) or "the file has one key: accepted"
            problems.append(_problem(tree, (key,), f'unknown key "{key}"', hint=hint, key=True))
    listed = tree.value.get("accepted", [])
    if listed is None:
        listed = []
    if not isinstance(listed, list):
        problems.append(_problem(tree, ("accepted",), f"expected a list of entries, found {_kind(listed)}"))
        listed = []
    read = [_read_entry(tree, at, entry, problems) for at, entry in enumerate(listed)]
    if problems:
        raise SuiteError(problems)
    return tuple(entry for entry in read if entry is not None)


def dump_acceptances(accepted: Sequence[Acceptance]) -> str:
    """The text of the file, entries sorted by server, tool, rule and place."""
    from mcptest_engine.workspace.snapshots import dump_values

    entries = []
    for one in sorted(accepted, key=lambda entry: (entry.server or "", entry.tool, entry.rule, entry.where or "")):
        values = {key: getattr(one, key) for key in _KEYS}
        values["expires"] = one.expires.isoformat()
        entries.append({key: value for key, value in values.items() if value is not None})
    return _HEADER + dump_values({"accepted": entries})


def _read_entry(tree: Tree, at: int, entry: object, problems: list[Problem]) -> Acceptance | None:
    before = len(problems)
    if not isinstance(entry, dict):
        problems.append(_problem(tree, ("accepted", at), f"expected an entry with `rule`, found {_kind(entry)}"))
        return None
    for key, value in entry.items():
        if key not in _KEYS:
            hint = did_you_mean(str(key), _KEYS) or f"keys: {', '.join(_KEYS)}"
            problems.append(_problem(tree, ("accepted", at, key), f'unknown key "{key}"', hint=hint, key=True))
        elif not isinstance(value, str) or not value.strip():
            problems.append(_problem(tree, ("accepted", at, key), f"expected text, found {_kind(value)}"))
    problems += [
        _problem(tree, ("accepted", at), f"`{key}` is missing", hint=_HINTS.get(key))
        for key in _REQUIRED
        if key not in entry
    ]
    if len(problems) > before:
        return None
    if entry["rule"] not in RULES:
        hint = did_you_mean(entry["rule"], RULES) or f"rules: {', '.join(RULES)}"
        problems.append(_problem(tree, ("accepted", at, "rule"), f'unknown rule "{entry["rule"]}"', hint=hint))
    if "fingerprint" in entry and not _FINGERPRINT.fullmatch(entry["fingerprint"]):
        hint = "`mcptest security --format json` prints it with each finding"
        problems.append(
            _problem(tree, ("accepted", at, "fingerprint"), "expected 16 characters of 0-9 and a-f", hint=hint)
        )
    expires = _read_day(entry["expires"])
    if expires is None:
        message = f'expected a day such as 2027-06-30, found "{entry["expires"]}"'
        problems.append(_problem(tree, ("accepted", at, "expires"), message))
    if len(problems) > before or expires is None:
        return None
    values = {key: value for key, value in entry.items() if key != "expires"}
    return Acceptance(**values, expires=expires, span=tree.span(("accepted", at)))


def _read_day(text: str) -> dt.date | None:
    try:
        return dt.date.fromisoformat(text) if _DAY.fullmatch(text) else None
    except ValueError:
        return None


def _problem(
    tree: Tree, path: tuple[str | int, ...], message: str, *, hint: str | None = None, key: bool = False
) -> Problem:
    span = tree.span(path, key=key, nearest=True)
    return Problem(message=message, pointer=pointer(path), file=FILE, span=span, hint=hint)


def _kind(value: object) -> str:
    if value is None or value == "":
        return "nothing"
    names = {bool: "true or false", str: "text", int: "a number", float: "a number", list: "a list", dict: "a mapping"}
    return names.get(type(value), "another value")

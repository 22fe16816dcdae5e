"""How well tools describe themselves: six heuristics of 0 to 1 for each tool, findings DESC-001 to DESC-009, and a gate.

Static: it reads what a server listed, and neither calls a tool nor asks a model. Only the form is judged: a well-formed lie
scores well, and `poisoning` looks for harm.
See docs/explanation/safety.md.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from mcptest_engine.core.values import dataclass
from mcptest_engine.safety.definition_texts import tool_name
from mcptest_engine.safety.tool_classes import malformed_annotations

if TYPE_CHECKING:
    from mcptest_engine.core.json_types import JsonDict

HEURISTICS = ("purpose", "usage", "behaviour", "parameters", "concision", "completeness")
SHORTEST = 20
LONGEST = 2_000
_MOST_READ = 20_000
_MOST_NAMED = 4
_FEW_WORDS = 4
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?|\d+")
_IDEOGRAPH = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_NAME_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_FILLING = frozenset(("a", "an", "the", "this", "tool", "function", "api", "it", "to", "of", "for", "by", "is", "and"))
_USAGE = re.compile(
    r"\b(?:use[ds]?|using|useful|when(?:ever)?|if|for|unless|instead|before|after|only|prefer\w*|to \w+|in order to|"
    r"requires?|must|should|not|example|e\.g\.)(?:\b|$)",
    re.IGNORECASE,
)
_BEHAVIOUR = re.compile(
    r"\b(?:returns?|returned|returning|gives?|responds?|outputs?|results?|yields?|lists?|shows?|retrieves?|fetch(?:es)?|"
    r"reads?|gets?|finds?|search(?:es)?|creates?|updates?|writes?|deletes?|removes?|changes?|modif(?:y|ies)|sends?|saves?|"
    r"stores?|adds?|sets?|replaces?|overwrites?|errors?|fails?|raises?|read-?only|irreversibl[ey]|idempotent|converts?|"
    r"says?|tells?|computes?|calculates?|runs?|executes?|opens?|closes?|starts?|stops?)\b",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(
    r"^\W*(?:TODO|FIXME|TBD|XXX)\b|lorem ipsum|<\s*(?:description|insert)[^>]{0,40}>|"
    r"^\W*(?:no description(?: provided| available)?|description(?: here| goes here)?|placeholder|n/?a|test)\W*$"
)


class Weight(StrEnum):
    """The severity of a finding: a critical one fails the default gate, a warning does not."""

    CRITICAL = "critical"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class DescriptionRule:
    """One rule: its id and name, the severity of its findings, and how to fix one."""

    id: str
    name: str
    severity: Weight
    advice: str


RULES: dict[str, DescriptionRule] = {
    rule.id: rule
    for rule in (
        DescriptionRule("DESC-001", "one-word-description", Weight.CRITICAL, "say in a sentence what the tool does"),
        DescriptionRule("DESC-002", "no-description", Weight.CRITICAL, "say in a sentence what the tool does"),
        DescriptionRule(
            "DESC-003",
            "repeats-its-name",
            Weight.WARNING,
            "say more than the name: of what, from where, with what result",
        ),
        DescriptionRule("DESC-004", "undescribed-parameters", Weight.WARNING, "give each parameter a `description`"),
        DescriptionRule(
            "DESC-005", "too-short", Weight.WARNING, "say what it does, when to use it and what comes back"
        ),
        DescriptionRule("DESC-006", "too-long", Weight.WARNING, "every model reads all of it: make it shorter"),
        DescriptionRule(
            "DESC-007", "shared-description", Weight.WARNING, "describe how the tool differs from the other one"
        ),
        DescriptionRule(
            "DESC-008", "malformed-annotations", Weight.WARNING, "make each hint a boolean: clients ignore other values"
        ),
        DescriptionRule("DESC-009", "placeholder", Weight.CRITICAL, "write the description"),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DescriptionFinding:
    """One rule that fired on a tool; `message` is a clause, which may contain names that the server sent."""

    tool: str
    rule: str
    message: str

    @property
    def severity(self) -> Weight:
        return RULES[self.rule].severity

    def to_json(self) -> dict[str, str]:
        """{tool, rule, name, severity, message, hint}."""
        rule = RULES[self.rule]
        return {
            "tool": self.tool,
            "rule": self.rule,
            "name": rule.name,
            "severity": rule.severity,
            "message": self.message,
            "hint": rule.advice,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolQuality:
    """The scores of one tool by heuristic, in the order of `HEURISTICS`, and its findings."""

    tool: str
    scores: Mapping[str, float]
    findings: tuple[DescriptionFinding, ...] = ()

    @property
    def score(self) -> float:
        """The mean of the six scores."""
        return round(sum(self.scores.values()) / len(HEURISTICS), 3)

    def to_json(self) -> JsonDict:
        """Return the scores as JSON: {name, score, heuristics}."""
        return {"name": self.tool, "score": self.score, "heuristics": dict(self.scores)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """What a catalog has to meet: the least score of a tool, the least mean, and the most critical findings."""

    min_score: float = 0.5
    mean_score: float = 0.7
    critical_count: int = 0


DEFAULT_GATE = Gate()


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """The quality of a catalog, tools in the server's order. A catalog without tools meets every gate."""

    tools: tuple[ToolQuality, ...]

    @property
    def min_score(self) -> float:
        """The score of the worst tool; 1 without tools."""
        return min((tool.score for tool in self.tools), default=1.0)

    @property
    def mean_score(self) -> float:
        """The mean over the tools; 1 without tools."""
        return round(sum(tool.score for tool in self.tools) / len(self.tools), 3) if self.tools else 1.0

    @property
    def findings(self) -> tuple[DescriptionFinding, ...]:
        """All findings, tool by tool."""
        return tuple(found for tool in self.tools for found in tool.findings)

    def count(self, severity: Weight) -> int:
        """How many findings have this severity."""
        return sum(found.severity is severity for found in self.findings)

    def misses(self, gate: Gate = DEFAULT_GATE) -> tuple[str, ...]:
        """The conditions of the gate that are not met, such as "min_score 0.31 < 0.50 (`x`)"."""
        missed = []
        if self.min_score < gate.min_score:
            worst = min(self.tools, key=lambda tool: tool.score).tool
            missed.append(f"min_score {self.min_score:.2f} < {gate.min_score:.2f} (`{worst}`)")
        if self.mean_score < gate.mean_score:
            missed.append(f"mean_score {self.mean_score:.2f} < {gate.mean_score:.2f}")
        critical = self.count(Weight.CRITICAL)
        if critical > gate.critical_count:
            missed.append(f"critical_count {critical} > {gate.critical_count}")
        return tuple(missed)

    def to_json(self, gate: Gate = DEFAULT_GATE) -> JsonDict:
        """{passed, min_score, mean_score, critical_count, warning_count, gate, misses, tools, findings}."""
        misses = self.misses(gate)
        return {
            "passed": not misses,
            "min_score": self.min_score,
            "mean_score": self.mean_score,
            "critical_count": self.count(Weight.CRITICAL),
            "warning_count": self.count(Weight.WARNING),
            "gate": {
                "min_score": gate.min_score,
                "mean_score": gate.mean_score,
                "critical_count": gate.critical_count,
            },
            "misses": list(misses),
            "tools": [tool.to_json() for tool in self.tools],
            "findings": [found.to_json() for found in self.findings],
        }


def assess(tools: Iterable[Mapping[str, object]], *, show: Callable[[str], str] = str) -> Quality:
    """The quality of the descriptions in descriptors as `tools/list` sent them; `show` formats names for messages."""
    listed = list(tools)
    texts = Counter(text.casefold() for tool in listed if (text := _description_of(tool)))
    return Quality(tools=tuple(_assess_tool(tool, texts, show) for tool in listed))


def _assess_tool(tool: Mapping[str, object], texts: Mapping[str, int], show: Callable[[str], str]) -> ToolQuality:
    name = show(tool_name(tool))
    found = tuple(
        DescriptionFinding(tool=name, rule=rule, message=message) for rule, message in _findings(tool, texts, show)
    )
    return ToolQuality(tool=name, scores=measures(tool), findings=found)


def measures(tool: Mapping[str, object]) -> dict[str, float]:
    """Each of `HEURISTICS` for one tool, 0 to 1."""
    text = _description_of(tool)
    words = _count_words(text)
    parameters, described = _parameters(tool, text)
    scores = {
        "purpose": _purpose(tool, text, words),
        "usage": 0.0 if words < _FEW_WORDS else 1.0 if _USAGE.search(text) else 0.5,
        "behaviour": _behaviour(tool, text),
        "parameters": 1.0 if not parameters else len(described) / len(parameters),
        "concision": _concision(text),
        "completeness": min(1.0, words / min(6 + 3 * (len(parameters) - len(described)), 40)),
    }
    return {name: round(scores[name], 3) for name in HEURISTICS}


def _purpose(tool: Mapping[str, object], text: str, words: int) -> float:
    if not text or _PLACEHOLDER.search(text):
        return 0.0
    if words < 2 or _repeats(tool, text):
        return 0.25
    return 0.5 if words < _FEW_WORDS else 1.0


def _behaviour(tool: Mapping[str, object], text: str) -> float:
    """Half for words about results or effects, half for an output schema or boolean hints, which programs can read."""
    hints = tool.get("annotations")
    is_declared = isinstance(tool.get("outputSchema"), Mapping) or (
        isinstance(hints, Mapping)
        and not malformed_annotations(hints)
        and any(isinstance(hints.get(hint), bool) for hint in ("readOnlyHint", "destructiveHint"))
    )
    return (0.5 if _BEHAVIOUR.search(text) else 0.0) + (0.5 if is_declared else 0.0)


def _concision(text: str) -> float:
    """1, but less below 20 characters, from 2,000 down to 0 at 6,000, and for repeated sentences."""
    length = len(text)
    if length < SHORTEST:
        return length / SHORTEST
    parts = [part.strip().casefold() for part in re.split(r"[.!?\n]+", text) if len(part.strip()) > SHORTEST]
    repeated = 1 - len(set(parts)) / len(parts) if parts else 0.0
    excess = max(0, length - LONGEST) / (2 * LONGEST)
    return max(0.0, 1 - repeated - excess)


def _findings(
    tool: Mapping[str, object], texts: Mapping[str, int], show: Callable[[str], str]
) -> Iterator[tuple[str, str]]:
    text = _description_of(tool)
    words = _count_words(text)
    if not text:
        message = "it has no description" if tool.get("description") in (None, "") else "its description is not a text"
        yield "DESC-002", message
    elif _PLACEHOLDER.search(text):
        yield "DESC-009", "its description is a placeholder"
    elif words < 2:
        yield "DESC-001", "its description is one word" if words else "its description has no words"
    elif words < _FEW_WORDS or len(text) < SHORTEST:
        yield "DESC-005", f"its description has {len(text)} characters"
    if _repeats(tool, text):
        yield "DESC-003", "its description only repeats its name"
    if len(text) > LONGEST:
        yield "DESC-006", f"its description has {len(text):,} characters"
    if text and texts[text.casefold()] > 1:
        others = texts[text.casefold()] - 1
        yield "DESC-007", f"{others} other tool{' has' if others == 1 else 's have'} the same description"
    parameters, described = _parameters(tool, text)
    lacking = [name for name in parameters if name not in described]
    if lacking:
        named = ", ".join(f"`{show(str(name))}`" for name in lacking[:_MOST_NAMED])
        more = f" and {len(lacking) - _MOST_NAMED} more" if len(lacking) > _MOST_NAMED else ""
        yield "DESC-004", f"{named}{more} not described"
    malformed = malformed_annotations(tool.get("annotations"))
    if malformed:
        yield "DESC-008", malformed[0]


def _parameters(tool: Mapping[str, object], text: str) -> tuple[Sequence[str], frozenset[str]]:
    """The top-level parameters, and those of them that are described: in the schema, or by name in the text."""
    schema = tool.get("inputSchema")
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping):
        return (), frozenset()
    words = f" {_join_words(text)} "
    described = frozenset(
        name for name, parameter in properties.items() if _is_described(parameter) or _names_parameter(words, str(name))
    )
    return tuple(properties), described


def _is_described(schema: object) -> bool:
    if not isinstance(schema, Mapping):
        return False
    return any(
        isinstance(text := schema.get(key), str) and bool(text.strip()) for key in ("description", "title")
    ) or any(key in schema for key in ("enum", "const"))


def _names_parameter(words: str, name: str) -> bool:
    """Whether a text names the parameter: `user_id`, userId or "user IDs". `words` is its text after `_join_words`."""
    spoken = {_join_words(name), _join_words(" ".join(_NAME_WORD.findall(name)))}
    return any(part and (f" {part} " in words or f" {part}s " in words) for part in spoken)


def _join_words(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", text.casefold()))


def _repeats(tool: Mapping[str, object], text: str) -> bool:
    """Whether the description has no word, besides filling ones, that the name lacks: "Get user" of `get_user`."""
    name = [part.casefold() for part in _NAME_WORD.findall(tool_name(tool))]
    words = [word.casefold() for word in _WORD.findall(text) if word.casefold() not in _FILLING]
    if not words:
        return False
    return "".join(words) == "".join(name) or set(map(_stem, words)) <= set(map(_stem, name))


def _stem(word: str) -> str:
    for ending in ("es", "s"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            return word.removesuffix(ending)
    return word.removesuffix("e") if len(word) > 3 else word


def _count_words(text: str) -> int:
    """The number of words; in scripts without spaces two characters count as one word."""
    ideographs = len(_IDEOGRAPH.findall(text))
    return len(_WORD.findall(_IDEOGRAPH.sub(" ", text))) + (ideographs + 1) // 2


def _description_of(tool: Mapping[str, object]) -> str:
    text = tool.get("description")
    return text[:_MOST_READ].strip() if isinstance(text, str) else ""

"""The corpora, and the tables of `docs/explanation/security-scan-accuracy.md` as they come out of them."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest.mock import patch

from mcptest_engine.safety import poisoning
from mcptest_engine.safety.findings import RULES
from mcptest_engine.safety.learned import judge
from mcptest_engine.safety.poisoning import POISONING_RULES, description_warnings

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

CORPUS = Path(__file__).parent / "corpus"
HANDS = (
    "blind",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
    "thirteenth",
    "fourteenth",
    "fifteenth",
    "sixteenth",
)  # files of lines with `rules` and `catalog`, each of a hand of its own
UNTOUCHED = "untouched"
"""A file of the same shape that nothing is learned from, nor chosen by."""
HELD_OUT = "held_out"
"""Lines with `poisoned`, `kind`, `catalog` and `tool`: for measuring only, too."""
MEASURED_ONCE = "measured_once"
"""Lines with `rules` and `catalog` that were measured once, with the rules as they are now; nothing is learned from them."""


@cache
def lines(name: str) -> tuple[dict[str, Any], ...]:
    text = (CORPUS / f"{name}.jsonl").read_text(encoding="utf-8")
    return tuple(json.loads(line) for line in text.splitlines())


@cache
def public_catalogs() -> tuple[dict[str, Any], ...]:
    return tuple(json.loads(path.read_text(encoding="utf-8")) for path in sorted((CORPUS / "public").glob("*.json")))


def measured_catalogs() -> tuple[dict[str, Any], ...]:
    """What public servers listed that nothing is learned from."""
    paths = sorted((CORPUS / "public_measured").glob("*.json"))
    return tuple(json.loads(path.read_text(encoding="utf-8")) for path in paths)


@cache
def fired(text: str) -> frozenset[str]:
    """The rules that fire on a tool, given as JSON."""
    return frozenset(warning.rule for warning in description_warnings([json.loads(text)]))


def rules_on(tool: dict[str, Any]) -> frozenset[str]:
    return fired(json.dumps(tool))


class Labelled(NamedTuple):
    """A tool, the rules that it deserves, the names of the tools beside it, and whose hand it is of."""

    author: str
    tool: dict[str, Any]
    rules: tuple[str, ...]
    names: tuple[str, ...]


def labelled() -> list[Labelled]:
    """All tools of all corpora."""
    made = [Labelled("first", line["tool"], (line["rule"],), ()) for line in lines("poisoned")]
    made += [Labelled("first", line["tool"], (), ()) for line in lines("benign")]
    for name in HANDS:
        made += [Labelled(name, line["tool"], tuple(line["rules"]), tuple(line["catalog"])) for line in lines(name)]
    for catalog in public_catalogs():
        names = tuple(tool["name"] for tool in catalog["tools"])
        made += [Labelled(f"public:{catalog['package']}", tool, (), names) for tool in catalog["tools"]]
    return made


def rule_table() -> str:
    """Recall on the poisoned corpus and false alarms elsewhere, by rule."""
    public = [tool for catalog in public_catalogs() for tool in catalog["tools"]]
    rows = []
    for rule in POISONING_RULES:
        poisoned = [line for line in lines("poisoned") if line["rule"] == rule]
        found = sum(rule in rules_on(line["tool"]) for line in poisoned)
        benign = sum(rule in rules_on(line["tool"]) for line in lines("benign"))
        alarms = sum(rule in rules_on(tool) for tool in public)
        rows.append(
            (
                rule,
                RULES[rule].name,
                len(poisoned),
                found,
                f"{found / len(poisoned):.3f}",
                benign,
                alarms,
                f"{found / (found + benign + alarms):.3f}",
            )
        )
    poisoned_all, found_all = sum(row[2] for row in rows), sum(row[3] for row in rows)
    benign_all, alarms_all = sum(row[5] for row in rows), sum(row[6] for row in rows)
    precision = f"{found_all / (found_all + benign_all + alarms_all):.3f}"
    rows.append(
        ("all", "", poisoned_all, found_all, f"{found_all / poisoned_all:.3f}", benign_all, alarms_all, precision)
    )
    head = ("rule", "name", "poisoned", "found", "recall", "false alarms, benign", "false alarms, public", "precision")
    return _table(head, rows)


def set_table() -> str:
    """Recall and false alarms as they are now, by set."""
    rows: list[tuple[object, ...]] = []
    for name in dict.fromkeys(line["set"] for line in lines("poisoned")):
        poisoned = [line for line in lines("poisoned") if line["set"] == name]
        benign = [line for line in lines("benign") if line["set"] == name]
        found = sum(line["rule"] in rules_on(line["tool"]) for line in poisoned)
        alarms = sum(bool(rules_on(line["tool"])) for line in benign)
        rows.append((f"corpus, {name}", len(poisoned), f"{found / len(poisoned):.3f}", len(benign), alarms))
    for name in dict.fromkeys(catalog["set"] for catalog in public_catalogs()):
        held = [catalog for catalog in public_catalogs() if catalog["set"] == name]
        tools = [tool for catalog in held for tool in catalog["tools"]]
        alarms = sum(bool(rules_on(tool)) for tool in tools)
        rows.append((f"public servers, {name} ({len(held)} servers)", "", "", len(tools), alarms))
    return _table(("set", "poisoned", "recall", "honest tools", "false alarms"), rows)


def untouched_words() -> str:
    """Return the sentence of the docs about the set that nothing was learned from."""
    poisoned = [line for line in lines(UNTOUCHED) if line["rules"]]
    honest = [line for line in lines(UNTOUCHED) if not line["rules"]]
    found = sum(bool(blind_found(line)) for line in poisoned)
    fitting = sum(bool(blind_found(line) & set(line["rules"])) for line in poisoned)
    alarms = sum(bool(blind_found(line)) for line in honest)
    return (
        f"{found} of {len(poisoned)} attacks ({fitting} by the right rule), "
        f"and report {alarms} of {len(honest)} honest definitions"
    )


def held_out_words(name: str = HELD_OUT) -> str:
    """Return the sentence of the docs about a set that is for measuring only."""
    counts: Counter[str] = Counter()
    for line in lines(name):
        severities = {severity for _, severity in blind_findings(line)}
        kind = "poisoned" if line.get("poisoned") or line.get("rules") else "honest"
        counts.update({kind: 1, f"{kind} found": bool(severities), f"{kind} high": "high" in severities})
    poisoned, honest, alarmed = counts["poisoned"], counts["honest"], counts["honest found"]
    return (
        f"{counts['poisoned found']} of {poisoned} attacks are found, "
        f"{counts['poisoned high']} with a high finding; "
        f"{alarmed} of {honest} honest definitions have a finding, {counts['honest high']} a high one"
    )


def detector_table() -> str:
    """Return the table of what phrases and the learned model find alone, on the sets that nothing was learned from."""
    weights = judge.learned_weights()
    lowered = replace(weights, threshold=weights.threshold - 40)
    no_model = patch.multiple(poisoning, steering=lambda *_: (), support=lambda *_: 0)
    no_phrases = patch.object(poisoning, "places_to_try", lambda *_: ())
    rows = [
        _detector_row("both"),
        _detector_row("phrases alone", no_model),
        _detector_row("model alone", no_phrases),
        _detector_row(
            "model alone, threshold lowered by 0.4",
            no_phrases,
            patch.object(judge, "learned_weights", lambda: lowered),
        ),
    ]
    head = ("detectors", "attacks found", "with a high finding", "honest, with a finding", "with a high finding")
    return _table(head, rows)


def _detector_row(name: str, *patches: AbstractContextManager[object]) -> tuple[object, ...]:
    counts: Counter[str] = Counter()
    read = _fired_beside.__wrapped__ if patches else _fired_beside  # with patches each text is read anew
    with ExitStack() as stack:
        for one in patches:
            stack.enter_context(one)
        for line in (line for name in (UNTOUCHED, HELD_OUT, MEASURED_ONCE) for line in lines(name)):
            found = {severity for _, severity in read(json.dumps(line["tool"]), tuple(line["catalog"]))}
            kind = "attack" if line.get("poisoned") or line.get("rules") else "honest"
            counts.update({kind: bool(found), f"{kind} high": "high" in found})
    return (name, counts["attack"], counts["attack high"], counts["honest"], counts["honest high"])


def blind_found(line: dict[str, Any]) -> frozenset[str]:
    """The rules that fire on a tool of the blind sets, listed together with the names of its neighbours."""
    return frozenset(rule for rule, _ in blind_findings(line))


def blind_findings(line: dict[str, Any]) -> frozenset[tuple[str, str]]:
    """The same rules, each with the severity of what it found."""
    return _fired_beside(json.dumps(line["tool"]), tuple(line["catalog"]))


@cache
def _fired_beside(text: str, names: tuple[str, ...]) -> frozenset[tuple[str, str]]:
    tool = json.loads(text)
    beside = [{"name": name} for name in names if name != tool["name"]]
    listed = description_warnings([tool, *beside])
    return frozenset((found.rule, str(found.severity)) for found in listed if found.tool == tool["name"])


def blind_table() -> str:
    """The current figures for the files of other authors: an attack is found if one of its rules reports it."""
    rows = []
    every = [line for name in HANDS for line in lines(name)]
    for name in dict.fromkeys(line["set"] for line in every):
        poisoned = [line for line in every if line["set"] == name and line["rules"]]
        honest = [line for line in every if line["set"] == name and not line["rules"]]
        found = sum(bool(blind_found(line) & set(line["rules"])) for line in poisoned)
        alarms = sum(bool(blind_found(line)) for line in honest)
        recall = f"{found / len(poisoned):.3f}" if poisoned else ""
        rows.append((name.replace("hand", "author"), len(poisoned), recall, len(honest), alarms))
    return _table(("set", "poisoned", "recall", "honest tools", "false alarms"), rows)


def _table(head: tuple[str, ...], rows: list[Any]) -> str:
    lines_ = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines_)


if __name__ == "__main__":
    print(f"{rule_table()}\n\n{set_table()}\n\n{blind_table()}\n\n{detector_table()}")

#!/usr/bin/env python3
"""A scorer in the manner of promptfoo's assertions: every `contains:` line of the rubric must stand in the answer.

Runs offline. Write the rubric so:

    rubric: |
      contains: checkout-api
      contains: v2.3.1
      max-words: 50

A rubric without such lines is taken for its keywords: names such as `checkout-api` or `v2.3.1`, all of which the answer must
hold, else at least half of its long words. An answer that refuses fails. That is a guess: grade by checks where it matters.

To ask promptfoo itself, replace `graded` by a call of `promptfoo eval --output` on a config with these assertions.
"""

import json
import re
import sys

REFUSAL = re.compile(
    r"\b(i|we)\s+(can ?not|can['\u2019]t|won['\u2019]t|will not|am unable|are unable|am not able|must decline|decline)\b"
    r"|\b(do not|don['\u2019]t) have (access|any|the|that)\b"
    r"|\bunable to (help|answer|say|provide|comply)\b|^\W*(i['\u2019]m |i am )?sorry\b",
    re.IGNORECASE,
)
COMMON = {
    "names",
    "name",
    "says",
    "gives",
    "mentions",
    "answer",
    "should",
    "must",
    "with",
    "that",
    "this",
    "under",
    "words",
}


def graded(output: str, criteria: str) -> tuple[bool, float, str]:
    """Whether the answer passes, the share of the checks that hold, and why."""
    checks = re.findall(r"^\s*(contains|max-words):\s*(.+?)\s*$", criteria, re.MULTILINE)
    if not checks:
        return graded_by_keywords(output, criteria)
    missed = [f"{kind}: {value}" for kind, value in checks if not holds(kind, value, output)]
    reason = f"missed {missed[0]}" if missed else f"all {len(checks)} checks hold"
    return not missed, 1 - len(missed) / len(checks), reason


def graded_by_keywords(output: str, criteria: str) -> tuple[bool, float, str]:
    if REFUSAL.search(output):
        return False, 0.0, "the answer refuses"
    names = {word for word in re.findall(r"\w+(?:[-._]\w+)+", criteria) if len(word) > 3}
    words = names or set(re.findall(r"\w{4,}", criteria.lower())) - COMMON
    found = {word for word in words if word.lower() in output.lower()}
    score = len(found) / len(words) if words else 0.0
    if score == 1 or (not names and score >= 0.5):
        return True, score, "matched criteria keyword"
    missing = ", ".join(sorted(words - found)[:3])
    return False, score, f"the answer lacks {missing}" if missing else "the criteria hold no keyword"


def holds(kind: str, value: str, output: str) -> bool:
    return value.lower() in output.lower() if kind == "contains" else len(output.split()) <= int(value)


def main() -> None:
    request = json.load(sys.stdin)
    passed, score, reasoning = graded(request["output"], request["criteria"])
    verdict = "pass" if passed else "fail"
    json.dump({"verdict": verdict, "score": round(score, 3), "reasoning": reasoning, "cost_usd": 0}, sys.stdout)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""A scorer in the manner of promptfoo's assertions: every `contains:` line of the rubric must stand in the answer.

Runs offline. A rubric without such lines is taken as words, and the answer must hold one of them. Write it so:

    rubric: |
      contains: checkout-api
      contains: v2.3.1
      max-words: 50

To ask promptfoo itself, replace `graded` by a call of `promptfoo eval --output` on a config with these assertions.
"""

import json
import re
import sys


def graded(output: str, criteria: str) -> tuple[float, str]:
    """The share of the checks that hold, and the first that does not."""
    checks = re.findall(r"^\s*(contains|max-words):\s*(.+?)\s*$", criteria, re.MULTILINE)
    if not checks:
        words = {word for word in re.findall(r"\w{4,}", criteria.lower()) if word in output.lower()}
        return float(bool(words)), "matched criteria keyword" if words else "no word of the criteria is in the answer"
    missed = [f"{kind}: {value}" for kind, value in checks if not holds(kind, value, output)]
    score = 1 - len(missed) / len(checks)
    return score, f"missed {missed[0]}" if missed else f"all {len(checks)} checks hold"


def holds(kind: str, value: str, output: str) -> bool:
    return value.lower() in output.lower() if kind == "contains" else len(output.split()) <= int(value)


def main() -> None:
    request = json.load(sys.stdin)
    score, reasoning = graded(request["output"], request["criteria"])
    verdict = "pass" if score == 1 else "fail"
    json.dump({"verdict": verdict, "score": round(score, 3), "reasoning": reasoning, "cost_usd": 0}, sys.stdout)


if __name__ == "__main__":
    main()

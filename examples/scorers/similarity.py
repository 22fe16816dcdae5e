#!/usr/bin/env python3
"""A scorer that compares the answer with a reference, word by word (F1 of the words, as question answering is scored).

Runs offline. The reference is `metadata.reference` of the eval, or else its rubric; `SIMILARITY_THRESHOLD` says how near the
answer must come (0.6 unless set). Without a reference there is nothing to judge by, and the verdict is inconclusive.
"""

import json
import os
import re
import sys
from collections import Counter


def f1(output: str, reference: str) -> float:
    """Twice the words in common over all words of both."""
    ours, theirs = (Counter(re.findall(r"\w+", text.lower())) for text in (output, reference))
    common = sum((ours & theirs).values())
    return 2 * common / (sum(ours.values()) + sum(theirs.values())) if common else 0.0


def main() -> None:
    request = json.load(sys.stdin)
    reference = request["metadata"].get("reference") or request["criteria"]
    if not reference.strip():
        json.dump({"verdict": "inconclusive", "reasoning": "no reference to compare with"}, sys.stdout)
        return
    threshold = float(os.environ.get("SIMILARITY_THRESHOLD", "0.6"))
    score = f1(request["output"], reference)
    verdict = "pass" if score >= threshold else "fail"
    reasoning = f"F1 of the words is {score:.2f}, needs {threshold:g}"
    json.dump({"verdict": verdict, "score": round(score, 3), "reasoning": reasoning}, sys.stdout)


if __name__ == "__main__":
    main()

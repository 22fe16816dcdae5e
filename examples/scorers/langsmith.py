#!/usr/bin/env python3
"""A scorer that files its verdict with LangSmith: the place of the SDK call is marked. Needs `pip install langsmith openevals`.

LANGSMITH_API_KEY says whose project it is, OPENAI_API_KEY pays the judge. Without them, or without the SDKs, it says so on
stderr and fails, which mcptest reports as a scorer error and never as a verdict.
"""

import json
import os
import sys

KEYS = ("LANGSMITH_API_KEY", "OPENAI_API_KEY")
PROMPT = "Does the output meet the criteria?\nCriteria: {criteria}\nInput: {inputs}\nOutput: {outputs}"


def graded(request: dict) -> dict:
    try:
        from langsmith import traceable
        from openevals.llm import create_llm_as_judge
    except ImportError as missing:
        sys.exit(f"langsmith.py: an SDK is missing ({missing.name}): pip install langsmith openevals")
    judge = create_llm_as_judge(prompt=PROMPT, model="openai:gpt-5-mini", continuous=True)
    # The SDK call: traced, so that it shows in your LangSmith project.
    return traceable(judge, name=request["metadata"].get("eval", "mcptest"))(
        inputs=request["input"], outputs=request["output"], criteria=request["criteria"]
    )


def main() -> int:
    request = json.load(sys.stdin)
    missing = [key for key in KEYS if not os.environ.get(key)]
    if missing:
        print(f"langsmith.py: {' and '.join(missing)} not set", file=sys.stderr)
        return 2
    result = graded(request)
    verdict = "pass" if result["score"] >= 0.7 else "fail"
    json.dump({"verdict": verdict, "score": result["score"], "reasoning": result["comment"] or ""}, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())

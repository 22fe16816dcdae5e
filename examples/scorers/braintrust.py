#!/usr/bin/env python3
"""A scorer on Braintrust: the place of the SDK call is marked. Needs `pip install autoevals` and BRAINTRUST_API_KEY.

Without a key or the SDK it says so on stderr and fails, which mcptest reports as a scorer error and never as a verdict.
"""

import json
import os
import sys


def graded(request: dict) -> tuple[float, str]:
    try:
        from autoevals.llm import Factuality
    except ImportError:
        sys.exit("braintrust.py: the SDK is missing: pip install autoevals")
    # The SDK call: swap Factuality for any of your project's scorers.
    result = Factuality(api_key=os.environ["BRAINTRUST_API_KEY"], base_url="https://api.braintrust.dev/v1/proxy")(
        input=request["input"], output=request["output"], expected=request["criteria"]
    )
    return result.score, str((result.metadata or {}).get("rationale", ""))


def main() -> int:
    request = json.load(sys.stdin)
    if not os.environ.get("BRAINTRUST_API_KEY"):
        print("braintrust.py: BRAINTRUST_API_KEY is not set", file=sys.stderr)
        return 2
    score, reasoning = graded(request)
    verdict = "pass" if score >= 0.6 else "fail"
    json.dump({"verdict": verdict, "score": score, "reasoning": reasoning}, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())

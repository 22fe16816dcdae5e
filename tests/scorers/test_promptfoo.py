"""The bundled wrapper that grades by checks, as a program."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

WRAPPER = Path(__file__).parents[2] / "examples" / "scorers" / "promptfoo.py"
NAMED = "Names the service checkout-api and the release tag v2.3.1."
WORDS = "Names the service and the release tag, under 50 words."
CHECKS = "contains: checkout-api\nmax-words: 8"


def verdict_of(output: str, criteria: str) -> tuple[str, float]:
    request = json.dumps({"input": "q", "output": output, "criteria": criteria, "metadata": {}})
    done = subprocess.run([sys.executable, WRAPPER], input=request, capture_output=True, text=True, check=True)
    said = json.loads(done.stdout)
    return said["verdict"], said["score"]


@pytest.mark.parametrize(
    ("output", "criteria", "expected"),
    [
        ("checkout-api failed after v2.3.1", NAMED, ("pass", 1.0)),
        ("checkout-api failed", NAMED, ("fail", 0.5)),
        ("the service failed after a release", NAMED, ("fail", 0.0)),
        ("The service failed after its last release.", WORDS, ("pass", 1.0)),
        ("The service cannot be reached.", WORDS, ("pass", 0.5)),
        ("The weather is fine.", WORDS, ("fail", 0.0)),
        ("The owner is Ada.", "Says the release tag, the incident and its owner", ("fail", 0.333)),
        ("checkout-api is down", CHECKS, ("pass", 1.0)),
        ("checkout-api " * 9, CHECKS, ("fail", 0.5)),
    ],
)
def test_keywords_and_checks(output: str, criteria: str, expected: tuple[str, float]) -> None:
    assert verdict_of(output, criteria) == expected


@pytest.mark.parametrize(
    "refusal",
    [
        "I cannot help with the service checkout-api or its release v2.3.1.",
        "I'm sorry, I can't name the service and the release tag.",
        "Sorry, the release of this service is unknown to me.",
        "We are unable to answer questions on the release of a service.",
        "As an assistant I don\u2019t have access to the release of the service.",
    ],
)
def test_a_refusal_that_shares_words_with_the_rubric_fails(refusal: str) -> None:
    for criteria in (NAMED, WORDS):
        assert verdict_of(refusal, criteria) == ("fail", 0.0)

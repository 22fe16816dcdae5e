"""What is generated from the models of the suite language and shipped as files: its JSON Schema, and the texts of messages.

Reading them needs no pydantic. `python -m mcptest_engine.suite.model.generate` writes both anew.
What stands for a number, a boolean or a list may in a file also be one whole template such as `"${var.limit}"`: editors
must accept that, while a suite whose templates have been replaced must not hold one any more (`strict_schema`).
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from mcptest_engine.core.text import DURATION_PATTERN

SCHEMA_PATH = Path(__file__).with_name("suite.schema.json")
MESSAGES_PATH = Path(__file__).with_name("suite.messages.json")
PATH_PATTERN = "^/"
URL_PATTERN = "^(https?://)"
DURATION_OR_URL_PATTERN = f"^({DURATION_PATTERN.removeprefix('^')}|https?://)"
SHORT_FORMS = {"Expect": "tools", "AgentExpect": "agents"}
"""What has the short form of assertions, with the block whose targets its keys are."""
# The last alternative of a URL's pattern, which only editors see: `${BASE}/mcp` is one as soon as the suite is loaded.
OR_TEMPLATE = r"|\$\{"


def schema_text() -> str:
    """The JSON Schema as editors and `mcptest schema` have it."""
    return SCHEMA_PATH.read_text(encoding="utf-8")


@cache
def messages() -> dict[str, Any]:
    """What messages say of the language: {"items": {key: what the items of its list are called}, "mappings": {name: {…}}}."""
    found: dict[str, Any] = json.loads(MESSAGES_PATH.read_text(encoding="utf-8"))
    return found


def messages_of(definition: str | None) -> dict[str, Any]:
    """What messages say of one mapping: what its model says `about` it, and of its keys, where there is something to say,

    "aliases" (word of another tool -> key that it means here), "told" (such a word -> a hint in place of "did you mean KEY?")
    and "missing" (key -> the hint where it is missing).
    """
    found: dict[str, Any] = messages()["mappings"].get(definition, {})
    return found


def strict_schema() -> dict[str, Any]:
    """The JSON Schema of a suite whose templates have been replaced by their values."""
    schema: dict[str, Any] = json.loads(schema_text().replace(json.dumps(OR_TEMPLATE)[1:-1], ""))
    schema["$defs"]["Template"] = False
    for name in SHORT_FORMS:
        del schema["$defs"][name]["patternProperties"]  # the short form, which is replaced when a file is read
    del schema["$defs"]["Matchers"]
    return schema


def is_duration(pattern: str) -> bool:
    """Whether a text of this form may be a duration."""
    return "(ms|" in pattern


def is_url(pattern: str) -> bool:
    """Whether a text of this form may be a URL."""
    return "https?" in pattern

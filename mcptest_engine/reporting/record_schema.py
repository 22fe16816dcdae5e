"""The published JSON Schema of the run record, shipped beside this module as `record.schema.json`.

It is written by hand, because it is read by people; a test holds it equal to `core/results.py`.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

_FILE = Path(__file__).with_name("record.schema.json")


def schema_text() -> str:
    """The schema as published: JSON Schema 2020-12, for `mcptest schema --record`."""
    return _FILE.read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def record_schema() -> dict[str, Any]:
    """The schema as JSON values; not to be changed by the caller."""
    return cast("dict[str, Any]", json.loads(schema_text()))

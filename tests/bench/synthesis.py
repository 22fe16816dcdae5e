"""Prints the milliseconds that arguments for 1,000 different schemas of public servers' tools take, nothing cached."""

from __future__ import annotations

import json
import time
from itertools import cycle, islice
from pathlib import Path

from mcptest_engine.core.synthesize import synthesize

FIXTURES = Path(__file__).parents[1] / "authoring" / "synthesize"


def main() -> None:
    found = [
        json.loads((FIXTURES / name).read_text("utf-8")) for name in ("public_servers.json", "more_public_servers.json")
    ]
    schemas = [tool["inputSchema"] for each in found for server in each["servers"] for tool in server["tools"]]
    different = [{**schema, "title": str(at)} for at, schema in enumerate(islice(cycle(schemas), 1_000))]
    synthesize(True)  # the imports
    started = time.perf_counter()
    for schema in different:
        synthesize(schema)
    print(f"{(time.perf_counter() - started) * 1000:.0f} ms")


if __name__ == "__main__":
    main()

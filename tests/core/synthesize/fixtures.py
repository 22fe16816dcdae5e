"""Makes the schema fixtures of this folder anew: `python tests/core/synthesize/fixtures.py [JSONSCHEMA_SDIST.tar.gz]`.

`public_servers.json`: the input schemas of the public servers that `make setup` and `make npm` install, as they list them.
`test_suite.json`: of the JSON Schema Test Suite, as the source distribution of the package `jsonschema` carries it, the
schemas with at least one valid instance that is an object. Schemas that refer to the suite's remote documents are left
out and counted: nothing is ever fetched here.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
SERVERS = {
    "@modelcontextprotocol/server-everything": "mcp-server-everything",
    "@modelcontextprotocol/server-filesystem": "mcp-server-filesystem .",
    "@modelcontextprotocol/server-memory": "mcp-server-memory",
    "@modelcontextprotocol/server-sequential-thinking": "mcp-server-sequential-thinking",
    "mcp-server-git": "mcp-server-git",
    "mcp-server-time": "mcp-server-time",
}
DRAFTS = {
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft6": "http://json-schema.org/draft-06/schema#",
    "draft4": "http://json-schema.org/draft-04/schema#",
}


def main() -> None:
    write("public_servers.json", {"servers": [asyncio.run(listed(*entry)) for entry in SERVERS.items()]})
    if len(sys.argv) > 1:
        write("test_suite.json", test_suite(Path(sys.argv[1])))


def write(name: str, content: Any) -> None:
    (HERE / name).write_text(json.dumps(content, ensure_ascii=True, separators=(",", ":")) + "\n", encoding="ascii")


async def listed(package: str, command: str) -> dict[str, Any]:
    from mcptest_engine.servers.catalog import read_catalog
    from mcptest_engine.servers.session import connect
    from mcptest_engine.servers.spec import spec_from_settings

    program, *arguments = command.split()
    folders = (ROOT / "tests/e2e/node_modules/.bin", ROOT / ".venv/bin")
    found = next(folder / program for folder in folders if (folder / program).exists())
    with tempfile.TemporaryDirectory() as folder:
        settings = {"command": [str(found), *arguments], "cwd": folder}
        spec = spec_from_settings("server", settings, suite_env={}, environ=dict(os.environ))
        session = await connect(spec)
        try:
            catalog = await read_catalog(session)
        finally:
            await session.close()
    tools = [{"name": tool["name"], "inputSchema": tool["inputSchema"]} for tool in catalog.tools]
    return {"package": package, "version": version(package), "tools": tools}


def version(package: str) -> str:
    if package.startswith("@"):
        told = json.loads((ROOT / "tests/e2e/node_modules" / package / "package.json").read_text(encoding="utf-8"))
        return str(told["version"])
    from importlib.metadata import version as installed

    return installed(package)


def test_suite(archive: Path) -> dict[str, Any]:
    schemas: list[dict[str, Any]] = []
    left_out: dict[str, int] = {}
    with tarfile.open(archive) as files:
        names = sorted(name for name in files.getnames() if name.endswith(".json") and "/json/tests/" in name)
        licence = next(name for name in files.getnames() if name.endswith("/json/LICENSE"))
        told = files.extractfile(licence)
        assert told is not None
        words = told.read().decode()
        for name in names:
            draft, _, file = name.partition("/json/tests/")[2].partition("/")
            opened = files.extractfile(name)
            if draft not in DRAFTS or opened is None:
                continue
            for group in json.load(opened):
                if not any(test["valid"] and isinstance(test["data"], dict) for test in group["tests"]):
                    continue
                schema = group["schema"]
                if isinstance(schema, dict):
                    schema = {"$schema": DRAFTS[draft], **schema}
                if remote(schema):
                    left_out[draft] = left_out.get(draft, 0) + 1
                else:
                    schemas.append({"draft": draft, "file": file, "what": group["description"], "schema": schema})
    source = f"JSON Schema Test Suite, as json/ in {archive.name} of the Python package jsonschema"
    return {"source": source, "licence": words, "left_out_remote": left_out, "schemas": schemas}


def remote(schema: Any) -> bool:
    from mcptest_engine.core.schemas import SchemaError, compile_schema

    try:
        compile_schema(schema)
    except SchemaError as wrong:
        if "fetched" in str(wrong) or "localhost" in str(wrong):
            return True
        raise
    return False


if __name__ == "__main__":
    main()

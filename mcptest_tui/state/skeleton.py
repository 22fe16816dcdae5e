"""A first suite for a server: one test for each of its tools, as text that loads.

Names come from the server, so all of them are written as JSON strings, which YAML takes. A tool that calls itself
destructive is written as a comment: a person decides.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.sanitise import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

MOST_TOOLS = 200
_SAMPLES: dict[str, Any] = {"string": "text", "integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}


def free_path(folder: Path) -> Path:
    """A name for a new suite that no file has."""
    wanted = folder / "mcptest.yml"
    number = 2
    while os.path.lexists(wanted):
        wanted = folder / f"mcptest-{number}.yml"
        number += 1
    return wanted


def target_of(typed: str) -> dict[str, Any] | None:
    """`{url, bearer_token_env?}` or `{command}` for what a person typed; None when it is neither."""
    typed = typed.strip()
    url = re.fullmatch(r"(https?://\S+)(?:\s+\$\{?([A-Za-z_]\w*)\}?)?", typed)
    if url is not None:
        return {"url": url[1], **({"bearer_token_env": url[2]} if url[2] else {})}
    if re.match(r"[a-z][a-z0-9+.-]*://", typed, re.IGNORECASE):
        return None
    try:
        command = shlex.split(typed)
    except ValueError:
        return None
    return {"command": command} if command else None


def server_name(target: Mapping[str, Any]) -> str:
    """A short name for the server: its program's, or its host's."""
    if "url" in target:
        word = re.sub(r"^https?://", "", str(target["url"])).split("/")[0].split(":")[0]
    else:
        words = [part for part in target["command"] if not part.startswith("-")] or [""]
        word = words[-1 if len(words) > 1 else 0].rpartition("/")[2]
    word = re.sub(r"\.(py|js|ts|mjs)$", "", word)
    return re.sub(r"[^a-z0-9_-]+", "-", word.lower()).strip("-") or "server"


def skeleton(target: Mapping[str, Any], tools: Sequence[Mapping[str, Any]]) -> str:
    """The suite's text."""
    name = server_name(target)
    where = (
        f"url: {_json(target['url'])}" if "url" in target else f"command: {_json([str(x) for x in target['command']])}"
    )
    if target.get("bearer_token_env"):
        where += f", auth: {{ bearer_token_env: {_json(target['bearer_token_env'])} }}"
    lines = [
        "# A first suite, one test for each tool. A test without `expect` passes when the tool answers without an error;",
        '# add what has to hold: `expect: [{ target: "result.content[0].text", matcher: { contains: text } }]`.',
        f"name: {_json(name)}",
        "servers:",
        f"  {_json(name)}: {{ {where} }}",
    ]
    tests: list[str] = []
    for tool in tools[:MOST_TOOLS]:
        tests += _test(tool)
    if any(not line.lstrip().startswith("#") for line in tests):
        lines += ["tools:", *tests]
    else:
        lines += ["tools: []", *tests]
    return "\n".join(lines) + "\n"


def _test(tool: Mapping[str, Any]) -> list[str]:
    name = str(tool.get("name", ""))
    arguments = _arguments(tool.get("inputSchema"))
    lines = [f"  - name: {_json(one_line(f'{name} answers'))}", f"    tool: {_json(name)}"]
    if arguments:
        lines.append(f"    args: {_json(arguments)}")
    annotations = tool.get("annotations")
    if isinstance(annotations, dict) and annotations.get("destructiveHint") is True:
        return ["  # calls itself destructive; take the # away to call it", *(f"  # {line[2:]}" for line in lines)]
    return lines


def _arguments(schema: object) -> dict[str, Any]:
    if not isinstance(schema, dict):
        return {}
    properties = schema.get("properties")
    required = schema.get("required")
    if not isinstance(properties, dict) or not isinstance(required, list):
        return {}
    return {str(name): _sample(properties.get(name)) for name in required if isinstance(name, str)}


def _sample(schema: object) -> Any:
    if not isinstance(schema, dict):
        return "text"
    for key in ("default", "const"):
        if key in schema:
            return schema[key]
    for key in ("enum", "examples"):
        if isinstance(schema.get(key), list) and schema[key]:
            return schema[key][0]
    kind = schema.get("type")
    return _SAMPLES.get(kind[0] if isinstance(kind, list) and kind else kind if isinstance(kind, str) else "", "text")


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    text = json.dumps(value) if one_line(text) != text else text
    return text.replace("${", "$${")  # a template of ours it is not

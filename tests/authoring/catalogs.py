"""Catalogs for tests: tools in a line each, and the hostile ones that a server might send."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcptest_engine.authoring.targets import Target
from mcptest_engine.servers.catalog import Catalog
from mcptest_engine.suite.load import LoadedSuite, LoadOptions, check_text
from mcptest_engine.suite.yaml import read_tree

if TYPE_CHECKING:
    from mcptest_engine.core.errors import Problem

TARGET = Target(settings={"command": ["node", "server.js"]})
HERE = Path(__file__).parent


def tool(name: object = "get_page", schema: object = None, **more: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"} if schema is None else schema, **more}


def text_tool(name: str = "get_page", **more: Any) -> dict[str, Any]:
    return tool(name, {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}, **more)


def catalog(*tools: dict[str, Any], **more: Any) -> Catalog:
    return Catalog(
        tools=tools,
        capabilities={"tools": {}, **{name: {} for name in ("resources", "prompts") if name in more}},
        server_info={"name": "library", "version": "2.1.0"},
        protocol_version="2025-11-25",
        **more,
    )


def problems(suite: str) -> tuple[Problem, ...]:
    """Everything that `mcptest validate` would say, warnings included."""
    return check_text(suite, _options(), base_dir=HERE).problems


def loaded(suite: str) -> LoadedSuite:
    found = check_text(suite, _options(), base_dir=HERE)
    assert found.suite is not None, found.problems
    return found.suite


def written(suite: str) -> dict[str, Any]:
    """The suite as the file has it."""
    tree = read_tree(suite, file="").value
    assert isinstance(tree, dict)
    return tree


def _options() -> LoadOptions:
    return LoadOptions(environ={"PATH": os.environ["PATH"]}, workspace_root=HERE)

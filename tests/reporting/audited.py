"""A run for an auditor, made for real: 30 tests of a bookshop, 3 fail, 2 are weak, 1 was weakened since the last run, 1 is
skipped, and 4 of 12 tools are never touched.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import TYPE_CHECKING, Any

from mcptest_engine.running.launch import launch
from mcptest_engine.running.settings import RunSettings
from mcptest_engine.suite.load import LoadOptions, load_suite
from mcptest_engine.workspace.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from mcptest_engine.core.run_record import RunRecord

READ: dict[str, dict[str, Any]] = {
    "search_books": {"count": 2, "first": "The Sea Around Us"},
    "get_book": {"id": "bk-104", "title": "The Sea Around Us", "year": 1951},
    "list_branches": {"branches": ["Harbour", "Old Town"]},
    "opening_hours": {"monday": "9-17", "sunday": "closed"},
    "price_of": {"price": 30, "currency": "EUR"},
    "stock_of": {"copies": 3},
}
CHANGE: dict[str, dict[str, Any]]
CHANGE = {"reserve_book": {"reservation": "r-88", "days": 14}, "cancel_reservation": {"cancelled": True}}
UNTOUCHED = ("delete_account", "export_orders", "refund_order", "send_newsletter")
WEAKENED = "a reservation lasts three weeks"


def record_of(folder: Path) -> RunRecord:
    """The record of the second of two runs; the first is in the workspace at `folder` too."""
    (folder / "shop.json").write_text(json.dumps(_manifest()), encoding="utf-8")
    records = [_run(folder, {"exact": 21}), _run(folder, {"type": "integer"})]
    return records[-1]


def _manifest() -> dict[str, Any]:
    tools = [_tool(name, answer, readOnlyHint=True) for name, answer in READ.items()]
    tools += [
        _tool("reserve_book", CHANGE["reserve_book"], readOnlyHint=False, destructiveHint=False),
        _tool("cancel_reservation", CHANGE["cancel_reservation"], readOnlyHint=False, destructiveHint=True),
        *(_tool(name, {}, readOnlyHint=False) for name in UNTOUCHED),
    ]
    stock = next(tool for tool in tools if tool["name"] == "stock_of")
    gone = {"content": [{"type": "text", "text": "shelf 7 was not found"}], "isError": True}
    stock["when"] = [{"args": {"book": "bk-219"}, "response": gone}]
    return {"mock_server": {"name": "bookshop", "version": "2.1.0", "tools": tools}}


def _tool(name: str, answer: dict[str, Any], **hints: bool) -> dict[str, Any]:
    response = {"content": [{"type": "text", "text": json.dumps(answer)}], "structuredContent": answer}
    return {
        "name": name,
        "description": name,
        "annotations": hints,
        "input_schema": {"type": "object"},
        "response": response,
    }


def _run(folder: Path, days: dict[str, Any]) -> RunRecord:
    path = folder / "bookshop.yml"
    command = [sys.executable, "-P", "-m", "mcptest_tui", "mock", "--tools-from", str(folder / "shop.json")]
    servers = {"shop": {"command": command, "timeout_ms": 20_000}}
    suite = {"name": "bookshop", "servers": servers, "run_options": {"concurrency": 1}, "tools": [*_tests(days)]}
    path.write_text(json.dumps(suite), encoding="utf-8")
    workspace = Workspace(folder)
    loaded = load_suite(path, LoadOptions(environ={}, workspace_root=folder))
    settings = RunSettings(environ={"PATH": os.environ["PATH"]})
    record = asyncio.run(launch(loaded, settings, workspace=workspace, emit=lambda _event: None))
    workspace.save_run(record.to_json())
    return record


def _tests(days: dict[str, Any]) -> list[dict[str, Any]]:
    tests = [
        _test(f"{name.replace('_', ' ')}: {key}", name, key, {"exact": value})
        for name, answer in READ.items()
        for key, value in answer.items()
    ]
    tests += [_test(f"book {number} has a title", "get_book", "title", {"type": "string"}) for number in range(1, 8)]
    tests += [
        _test(f"search {number} finds two books", "search_books", "count", {"exact": 2}) for number in range(1, 5)
    ]
    return [
        *tests,
        _test("tea costs 25 euros", "price_of", "price", {"exact": 25}),
        {**_test("the Harbour has the book in stock", "stock_of", "copies", {"gte": 1}), "args": {"book": "bk-219"}},
        _test("the shop opens on Sunday", "opening_hours", "sunday", {"contains": "10-14"}),
        {"name": "the branches can be listed", "tool": "list_branches"},
        {"name": "a price can be asked for", "tool": "price_of"},
        _test(WEAKENED, "reserve_book", "days", days),
        _test("a reservation can be cancelled", "cancel_reservation", "cancelled", {"exact": True}),
        {**_test("stock is counted at night", "stock_of", "copies", {"exact": 3}), "skip": "waits for the new scanner"},
    ]


def _test(name: str, tool: str, key: str, matcher: dict[str, Any]) -> dict[str, Any]:
    target = f"result.structuredContent.{key}"
    return {"name": name, "tool": tool, "args": {}, "expect": [{"target": target, "matcher": matcher}]}

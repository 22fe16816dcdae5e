"""`mcptest diff`: two catalogs, or one and a server; exit codes, formats, what cannot be read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcptest_engine.cli.main import main

OLD = {"tools": [{"name": "find", "description": "Finds.", "inputSchema": {"type": "object", "properties": {"q": {}}}}]}
NEW = json.loads(json.dumps(OLD).replace('"q": {}', '"q": {"type": "string"}, "\\u001b[2Jn": {}'))


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    """`old.json` and `new.json` in a directory of their own."""
    monkeypatch.chdir(tmp_path)
    Path("old.json").write_text(json.dumps(OLD), encoding="utf-8")
    Path("new.json").write_text(json.dumps({"jsonrpc": "2.0", "id": 1, "result": NEW}), encoding="utf-8")


def test_a_breaking_change_exits_with_1(capsys):
    """Non-zero on breaking."""
    assert main(["diff", "old.json", "new.json"]) == 1
    text = capsys.readouterr().out
    assert text.startswith("breaking\n  tool find: argument `q` type any became string\n")
    assert text.endswith("1 breaking change, 1 other\n")
    assert "\x1b" not in text


def test_the_same_catalog_in_another_shape_has_not_changed(capsys):
    """A list, a response, what `mcptest tools --format json` writes."""
    Path("list.json").write_text(json.dumps(OLD["tools"]), encoding="utf-8")
    assert main(["diff", "old.json", "list.json"]) == 0
    assert capsys.readouterr().out == "no change\n"


def test_the_json_tells_each_change(capsys):
    """For scripts."""
    assert main(["diff", "old.json", "new.json", "--format", "json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["verdict"] == "breaking"
    assert told["counts"] == {"breaking": 1, "unknown": 0, "compatible": 1}
    assert told["changes"][0] == {
        "kind": "tool", "name": "find", "impact": "breaking", "message": "type any became string",
        "where": "inputSchema", "path": "q",
    }  # fmt: skip


def test_what_changed_alike_of_many_tools_is_told_once(capsys, tmp_path):
    """And after what changed of one alone."""
    for name, mark in (("old", 1), ("new", 2)):
        tools = [{"name": f"t{n}", "inputSchema": {"type": "object"}, "_meta": {"mark": mark}} for n in range(12)]
        tools[3]["description"] = name
        (tmp_path / f"{name}.json").write_text(json.dumps({"tools": tools}))
    assert main(["diff", str(tmp_path / "old.json"), str(tmp_path / "new.json")]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[1].startswith("  tool t3: ")
    assert shown[2] == "  12 tools: `_meta` changed: t0, t1, t2, t3, t4, t5, t6, t7, t8, t9 and 2 more"
    assert "0 breaking changes, 13 others" in shown


def test_the_markdown_escapes_what_servers_say(capsys):
    """It goes into a changelog."""
    Path("new.json").write_text(json.dumps({"tools": [{"name": "<b>*x*</b>"}]}), encoding="utf-8")
    assert main(["diff", "old.json", "new.json", "--format", "markdown", "--output", "diff.md"]) == 1
    text = Path("diff.md").read_text(encoding="utf-8")
    assert "- **tool &lt;b&gt;\\*x\\*&lt;/b&gt;**: is new" in text
    assert "### Breaking\n\n- **tool find**: was removed" in text


def test_a_saved_catalog_is_compared_with_a_server(capsys):
    """The check for CI: what is committed against what runs."""
    argv = ["tools", "--command", "mcptest mock --preset demo", "--format", "json", "--output", "demo.json"]
    assert main(argv) == 0
    assert main(["diff", "demo.json", "--command", "mcptest mock --preset demo"]) == 0
    assert capsys.readouterr().out.endswith("no change\n")


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["old.json"], "only one catalog is named"),
        (["old.json", "nowhere.json"], "`nowhere.json` cannot be read: No such file or directory"),
        (["old.json", "bad.json"], "bad.json:1:2: it is not JSON"),
        (
            ["old.json", "digits.json"],
            "digits.json: it contains an integer of more than 4,300 digits, too many to read",
        ),
        (["old.json", "deep.json"], "`deep.json` is nested too deeply to be compared"),
        (["deep.json", "old.json"], "`deep.json` is nested too deeply to be compared"),
        (["old.json", "number.json"], "`number.json` has no list `tools`"),
        (["old.json", "prompts.json"], "have no list in common"),
        (["old.json", "page.json"], "`page.json` contains one page of a list (it has a `nextCursor`)"),
        (["page.json", "old.json"], "`page.json` contains one page of a list (it has a `nextCursor`)"),
        (["old.json", "new.json", "--command", "x"], "both a second catalog and a server are named"),
    ],
)
def test_what_cannot_be_compared_exits_with_2(argv, told, capsys):
    """Nothing was compared, and the reason is said."""
    page = '{"result": {"tools": [], "nextCursor": "2"}, "jsonrpc": "2.0", "id": 1}'
    deep = '{"tools": [{"name": "find", "inputSchema": {"default": %s}}]}' % ("[" * 900 + "]" * 900)
    digits = '{"tools": [%s]}' % ("9" * 5000)
    files = {
        "deep.json": deep,
        "digits.json": digits,
        "bad.json": "{",
        "number.json": "3",
        "prompts.json": '{"prompts": []}',
        "page.json": page,
    }
    for name, text in files.items():
        Path(name).write_text(text, encoding="utf-8")
    assert main(["diff", *argv]) == 2
    assert told in capsys.readouterr().err

"""What no client would send and no server should say: every verb answers it in words, within bounds, and goes on.

The verbs are taken from `tools/list` itself, so that a new one is covered without a word here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from tests.conftest import SERVERS
from tests.front_door.conftest import SUITE, shared_door

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.forked import Nursery
    from tests.front_door.conftest import Door

LARGEST_ANSWER = 75_000
"""Bytes of a whole line: text, structured content, and what stands around them."""
NESTED = json.loads("[" * 150 + "]" * 150)
HOSTILE: tuple[Any, ...] = (
    None,
    True,
    -1,
    10**30,
    1.5,
    "",
    "\0",
    "\u202e\x1b[31m",
    "../../../etc/passwd",
    "/dev/zero",
    "${env:HOME}",
    "x" * 200_000,
    [],
    [[]],
    ["", "\0"],
    ["sh", "-c", "exit 3"],
    {},
    {"A=B": "\0"},
    {"LD_PRELOAD": 3},
    NESTED,
)
FILLED = {"suite": "a: 1\n", "tool": "t", "name": "n", "run_id": "01ARZ3NDEKTSV4RRFFQ69G5FAV", "format": "md"}
"""What a verb needs beside the argument that is tried."""


def answer(door: Door, verb: str, arguments: dict[str, Any], schema: dict[str, Any] | None = None) -> dict[str, Any]:
    """The result of a call, in which nothing may be that a client cannot act on."""
    message = door.answer_to(door.begin("tools/call", {"name": verb, "arguments": arguments}))
    assert "result" in message, (verb, str(arguments)[:200], message)
    result: dict[str, Any] = message["result"]
    text = result["content"][0]["text"]
    assert len(json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()) <= LARGEST_ANSWER, (
        verb,
        len(text),
    )
    assert "bug in mcptest" not in text, text
    assert "Traceback" not in text
    if result.get("isError"):
        assert len(text) > 10
        assert "\x1b" not in text
        assert "\u202e" not in text
    elif schema is not None:
        jsonschema.validate(result["structuredContent"], schema)
    return result


def test_every_argument_of_every_verb_may_be_nonsense(writer: Door) -> None:
    for tool in writer.ask("tools/list")["tools"]:
        taken = tool["inputSchema"]
        needed = {name: FILLED[name] for name in taken.get("required", ())}
        for name in taken["properties"]:
            for value in HOSTILE:
                result = answer(writer, tool["name"], {**needed, name: value}, tool["outputSchema"])
                assert result["content"][0]["text"], (tool["name"], name)
    assert writer.ask("ping") == {}


def test_every_verb_names_the_argument_that_was_meant(writer: Door) -> None:
    for tool in writer.ask("tools/list")["tools"]:
        for name in tool["inputSchema"]["properties"]:
            misspelt = f"{name}z"
            text = answer(writer, tool["name"], {misspelt: 1})["content"][0]["text"]
            assert f"takes no argument `{misspelt}`" in text
            assert "did you mean `" in text
        text = answer(writer, tool["name"], {"q" * 100_000: 1})["content"][0]["text"]
        assert "takes no argument" in text


@pytest.mark.parametrize(
    ("line", "code", "number"),
    [
        ("nonsense", -32700, None),
        ('{"jsonrpc": "2.0", "id": 801', -32700, None),
        ('{"jsonrpc": "2.0", "id": 802, "method": 5}', -32600, 802),
        ('{"jsonrpc": "2.0", "id": "a\\ud800", "methd": "ping"}', -32600, "a\ufffd"),
        ("[1, 2]", -32600, None),
        ('{"jsonrpc": "2.0", "id": 803, "params": ' + "[" * 9_000 + "]" * 9_000 + "}", -32700, 803),
        ('{"jsonrpc": "2.0", "id": 805, "method": "ping", "params": {"n": ' + "9" * 5_000 + "}}", -32700, 805),
        ('{"jsonrpc": "2.0", "params": {"id": 806, "n": ' + "9" * 5_000 + "}}", -32700, None),
        *(
            (f'{{"jsonrpc": "2.0", "id": {odd}, "method": "ping", "params": {{"id": 1}}}}', -32600, None)
            for odd in ("1.5", "1e3", "true", "{}", "[1]", "null")
        ),
    ],
)
def test_a_line_that_is_no_message_is_answered_with_an_error(
    reader: Door, line: str, code: int, number: object
) -> None:
    assert reader.process.stdin is not None
    reader.process.stdin.write(line + "\n")
    reader.process.stdin.flush()
    message = reader.read()
    assert message["error"]["code"] == code
    assert message["id"] == number
    assert reader.ask("ping") == {}


def test_half_a_character_in_a_request_costs_no_answer(reader: Door) -> None:
    text = answer(reader, "validate_suite", {"suite": "servers: {}\n\ud800: 1\n"})["content"][0]["text"]
    assert "\ufffd" in text


def test_a_request_nested_as_no_argument_is_gets_its_answer(reader: Door) -> None:
    deep = json.loads("[" * 500 + "]" * 500)
    message = reader.answer_to(reader.begin("tools/call", {"name": "list_runs", "arguments": {"cursor": deep}}))
    assert message["error"] == {"code": -32600, "message": "the request is nested too deeply"}


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [x, x, x, x, x, x, x, x, x]\n"
        + "".join(f"b{n}: &b{n} [{', '.join(['*' + ('a' if n == 0 else f'b{n - 1}')] * 9)}]\n" for n in range(9)),
        "[" * 100_000,
        "- " * 100_000,
        "tools:\n" + "  - { nam: x, too: y }\n" * 2_000,
        f"tools: [{{ name: {'n' * 300_000}, tol: x }}]\n",
        "x" * 2_000_001,
        "imports: [../../../etc/passwd, /etc/passwd]\n",
        "%YAML 9.9\n---\n!!python/object/apply:os.system [exit]\n",
    ],
    ids=["bomb", "deep", "dashes", "many problems", "a long name", "too long", "imports", "a tag"],
)
def test_a_hostile_suite_is_told_off(reader: Door, text: str) -> None:
    result = answer(reader, "validate_suite", {"suite": text})
    assert result.get("isError") or not result["structuredContent"]["valid"]
    assert "root:" not in result["content"][0]["text"]


# --- what lies in the workspace

_RUNS = {
    "torn": '{"run_id": "x", "tes',
    "deep": "[" * 200_000,
    "nested": '{"tests": [{"name": "x", "output": ' + "[" * 900 + "]" * 900 + "}]}",
    "halves": '{"tests": [{"name": "x\\ud800", "output": "\\udfff"}], "totals": "\\ud800", "warnings": [1, {}]}',
    "no numbers": '{"tests": [{"name": "x", "output": NaN}], "duration_ms": NaN, "verdict": Infinity, "run_id": 1e999}',
    "other shapes": '{"tests": {"name": 1}, "servers": 5, "warnings": "w", "coverage": 5, "suite": 5, "totals": [[]]}',
    "wide": json.dumps(
        {"tests": [], "warnings": ["w" * 50] * 20_000, "servers": [{"name": f"s{n}"} for n in range(9_000)]}
    ),
    "a list": "[1]",
    "empty": "",
}
_IDS = {kind: f"01ARZ3NDEKTSV4RRFFQ69G5FA{letter}" for kind, letter in zip(_RUNS, "ABCDEFGHJK", strict=False)}
_OUTSIDE, _PIPE, _FOLDER = (f"01ARZ3NDEKTSV4RRFFQ69G5FB{letter}" for letter in "ABC")


@pytest.fixture(scope="module")
def odd_runs(mcptest_command: str, nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    """A read-only front door in whose workspace lie runs and cassettes that nobody wrote in earnest."""
    root = tmp_path_factory.mktemp("odd")
    folder = root / "workspace"
    folder.mkdir()
    (folder / ".mcptest").mkdir()
    runs, cassettes = folder / ".mcptest" / "runs", folder / ".mcptest" / "cassettes"
    runs.mkdir()
    cassettes.mkdir()
    for kind, text in _RUNS.items():
        (runs / f"{_IDS[kind]}.json").write_text(text)
        (cassettes / f"{_IDS[kind]}.json").write_text(text)
    secret = root / "secret.json"
    secret.write_text('{"verdict": "a secret", "tests": [{"name": "x", "output": "a secret"}]}')
    (runs / f"{_OUTSIDE}.json").symlink_to(secret)
    (cassettes / "outside.json").symlink_to(secret)
    (runs / f"{_FOLDER}.json").mkdir()
    os.mkfifo(runs / f"{_PIPE}.json")
    os.mkfifo(cassettes / "pipe.json")
    yield from shared_door(nursery, mcptest_command, folder)


@pytest.mark.parametrize(
    "run_id", [*_IDS.values(), _OUTSIDE, _PIPE, _FOLDER], ids=[*_RUNS, "a link", "a pipe", "a folder"]
)
def test_a_run_that_nobody_wrote_in_earnest_is_told_as_it_is(odd_runs: Door, run_id: str) -> None:
    schemas = {tool["name"]: tool["outputSchema"] for tool in odd_runs.ask("tools/list")["tools"]}
    for verb in ("get_run", "get_coverage"):
        told = json.dumps(answer(odd_runs, verb, {"run_id": run_id}, schemas[verb]))
        assert "a secret" not in told
    uri = f"mcptest://runs/{run_id}/tests/x/output"
    read = odd_runs.answer_to(odd_runs.begin("resources/read", {"uri": uri}))
    assert "a secret" not in json.dumps(read)
    assert read.get("error", {}).get("code") in {None, -32002}


def test_lists_go_on_beside_such_runs_and_cassettes(odd_runs: Door) -> None:
    schemas = {tool["name"]: tool["outputSchema"] for tool in odd_runs.ask("tools/list")["tools"]}
    runs = answer(odd_runs, "list_runs", {"limit": 200}, schemas["list_runs"])["structuredContent"]["runs"]
    assert len(runs) == len(_RUNS)  # links, pipes and folders are none
    named = answer(odd_runs, "list_cassettes", {}, schemas["list_cassettes"])["structuredContent"]["cassettes"]
    assert {entry["name"] for entry in named} == set(_IDS.values())
    for name in (*_IDS.values(), "outside", "pipe"):
        result = answer(odd_runs, "get_cassette", {"name": name}, schemas["get_cassette"])
        assert result["isError"]
        assert "a secret" not in result["content"][0]["text"]
    assert len(json.dumps(odd_runs.ask("resources/list"))) < LARGEST_ANSWER


def test_nothing_is_kept_behind_a_link_that_leads_out(open_door: Callable[..., Door], tmp_path: Path) -> None:
    root, outside = tmp_path / "inner", tmp_path / "outside"
    (root / ".mcptest").mkdir(parents=True)
    outside.mkdir()
    (root / ".mcptest" / "runs").symlink_to(outside)
    (root / "mcptest.yml").write_text(SUITE)
    os.mkfifo(root / "pipe.yml")
    door = open_door("--enable-writes", cwd=root)
    for verb, arguments in (
        ("run_tool_test", {"suite": SUITE}),
        ("trigger_run", {}),
        ("record_cassette", {"name": "n"}),
    ):
        assert "is a link, so nothing is saved there" in door.refused(verb, **arguments)
    assert not list(outside.iterdir())
    assert "is not a file" in door.refused("trigger_run", config="pipe.yml")
    (tmp_path / "elsewhere.yml").write_text(SUITE)
    (root / "mcptest.yml").unlink()
    (root / "mcptest.yml").symlink_to(tmp_path / "elsewhere.yml")
    for verb in ("trigger_run", "get_doctor_report"):
        assert "leads out of this workspace" in door.refused(verb)


def test_a_filter_that_others_would_search_for_ever_is_answered(open_door: Callable[..., Door], tmp_path: Path) -> None:
    name = "a" * 40 + "!"
    (tmp_path / "mcptest.yml").write_text(SUITE.replace("it answers", name))
    door = open_door("--enable-writes")
    assert answer(door, "trigger_run", {"filter": "re:(a+)+$"})["structuredContent"]["total"] == 0


def test_a_suite_of_50_megabytes_is_refused_at_once(open_door: Callable[..., Door], tmp_path: Path) -> None:
    with (tmp_path / "mcptest.yml").open("wb") as file:
        file.truncate(50 * 1024 * 1024)
    assert "at most 32 MiB" in open_door("--enable-writes").refused("trigger_run")


# --- what a server under test says


def swollen(kind: str) -> list[str]:
    return [sys.executable, "-S", str(SERVERS / "swollen.py"), kind]


@pytest.mark.parametrize(
    "kind", ["many", "large", "long-names", "deep", "halves", "chinese", "many-parameters", "talkative"]
)
def test_a_catalog_of_any_size_comes_in_answers_that_a_client_takes(writer: Door, kind: str) -> None:
    schemas = {tool["name"]: tool["outputSchema"] for tool in writer.ask("tools/list")["tools"]}
    everything = {"all": True, "probe": True}
    calls: dict[str, dict[str, Any]] = {"list_tools": {}, "scaffold_suite": everything, "scaffold_redteam": {}}
    if kind in {"many", "talkative"}:
        calls |= {verb: {} for verb in ("list_resources", "list_prompts", "get_capabilities", "scaffold_eval")}
    for verb, arguments in calls.items():
        result = answer(writer, verb, {"command": swollen(kind), **arguments}, schemas[verb])
        assert not result.get("isError") or kind == "long-names", result["content"]


def test_all_pages_together_are_the_whole_catalog(writer: Door) -> None:
    names: list[str] = []
    more: dict[str, Any] = {}
    while True:
        page = writer.call("list_tools", command=swollen("many"), **more)
        names += [tool["name"] for tool in page["tools"]]
        if "next_cursor" not in page:
            break
        more = {"cursor": page["next_cursor"]}
    assert names == [f"tool_{n:05}" for n in range(3_000)]
    assert "past the last" in writer.refused("list_tools", command=swollen("many"), cursor=3_000)


def test_a_server_that_provokes_many_warnings_hides_none(writer: Door) -> None:
    page = writer.call("list_tools", command=swollen("poisoned"))
    assert page["next_cursor"] == len(page["tools"])
    warned = {warning["tool"] for warning in page["warnings"]}
    assert warned == {tool["name"] for tool in page["tools"]}


def test_a_proposal_for_an_answer_of_thousands_of_members_has_room(writer: Door) -> None:
    made = answer(writer, "propose_assertions", {"command": swollen("swollen-answer"), "tool": "answer"})
    assert made["structuredContent"]["calls_made"] == 2


def test_a_token_that_a_server_says_again_is_not_shown(open_door: Callable[..., Door], tmp_path: Path) -> None:
    secret, pattern = "correct-horse-battery-staple-77", "ghp_" + "a1B2" * 9
    server = (
        "import json, os, sys\n"
        "for line in sys.stdin:\n"
        "    asked = json.loads(line)\n"
        "    if 'id' not in asked: continue\n"
        "    tool = {'name': 't', 'description': 'your key is ' + os.environ['API_KEY'], 'inputSchema': {'type': 'object'},\n"
        "            'annotations': {'readOnlyHint': True}}\n"
        "    said = {'content': [{'type': 'text', 'text': os.environ['API_KEY'] + ' ' + sys.argv[1]}]}\n"
        "    told = {'protocolVersion': '2025-11-25', 'capabilities': {'tools': {}}, 'serverInfo': {'name': 's',\n"
        "            'version': '1'}, 'instructions': os.environ['API_KEY']}\n"
        "    told = {'initialize': told, 'tools/call': said}.get(asked['method'], {'tools': [tool]})\n"
        "    print(json.dumps({'jsonrpc': '2.0', 'id': asked['id'], 'result': told}), flush=True)\n"
    )
    (tmp_path / "echo.py").write_text(server)
    door = open_door("--enable-writes")
    target: dict[str, Any] = {"command": [sys.executable, "echo.py", pattern], "env": {"API_KEY": secret}}
    for verb in ("list_tools", "get_capabilities", "scaffold_suite", "scaffold_redteam", "scaffold_eval"):
        assert secret not in json.dumps(door.call(verb, **target))
    for verb in ("call_tool", "propose_assertions"):
        told = json.dumps(door.call(verb, **target, tool="t"))
        assert "[REDACTED]" in told
        assert secret not in told
        assert pattern not in told


def test_requests_before_the_end_of_stdin_are_answered_the_last_line_too(mcptest_command: str, tmp_path: Path) -> None:
    """As a script pipes them in; the last line has no line break."""
    params = '{"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}'
    asked = f'{{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {params}}}\n'
    asked += '{"jsonrpc": "2.0", "id": 2, "method": "tools/list"}'
    done = subprocess.run(
        [mcptest_command, "mcp-server"],
        input=asked,
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        timeout=60,
    )
    assert sorted(json.loads(line)["id"] for line in done.stdout.splitlines()) == [1, 2]


def test_a_client_that_reads_no_more_holds_up_no_end(mcptest_command: str, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [mcptest_command, "mcp-server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path
    )
    with process:
        assert process.stdin is not None
        lines = (f'{{"jsonrpc": "2.0", "id": {number}, "method": "tools/list"}}\n' for number in range(40))
        process.stdin.write("".join(lines).encode())  # the answers are more than a pipe holds
        process.stdin.close()
        assert process.wait(60) == 0

"""The result cache: what is asked again, what is not, and what is never kept. Source: SEP-2549."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcptest_engine.core.results import Verdict
from mcptest_engine.running.settings import Selection
from tests.running.test_over_http import serving

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from mcptest_engine.core.run_record import RunRecord

    RecordOf = Callable[..., RunRecord]

SERVERS = Path(__file__).parent.parent / "servers"


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """The server in a folder of its own, where it can be changed."""
    folder = tmp_path / "server"
    folder.mkdir()
    for name in ("cached.py", "minimcp.py"):
        shutil.copy(SERVERS / name, folder)
    return folder / "cached.py"


@pytest.fixture
def suite(script: Path, tmp_path: Path) -> Callable[..., str]:
    """A suite's text from its tests, each as it stands in the list of `tools`."""

    def text(*tests: str, more: str = "", server: str = "", env: str = "") -> str:
        command = json.dumps([sys.executable, "-S", str(script)])
        log = json.dumps(str(tmp_path / "calls.log"))
        listed = "\n".join(f"  - {test}" for test in tests)
        return f"servers: {{ s: {{ command: {command}, env: {{ LOG: {log}{env} }}{server} }} }}\n{more}\ntools:\n{listed}\n"

    return text


@pytest.fixture
def log(tmp_path: Path) -> Callable[[], list[str]]:
    """What the server has written down since this was last asked."""

    def read() -> list[str]:
        path = tmp_path / "calls.log"
        lines = path.read_text(encoding="utf-8").split() if path.exists() else []
        path.unlink(missing_ok=True)
        return lines

    return read


LOOKED = 'expect: [{ target: "result.content[0].text", matcher: { exact: looked } }]'
LOOK = f'{{ name: looks, tool: look, args: {{ at: "the sky" }}, {LOOKED} }}'


def kept(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / ".mcptest" / "cache" / "results").glob("*"))


def test_a_kept_result_is_judged_again_and_its_server_not_started(
    record_of: RecordOf, suite: Callable[..., str], log: Callable[[], list[str]]
) -> None:
    first = record_of(suite(LOOK), cache=True)
    assert log() == ["start", "look"]
    again = record_of(suite(LOOK), cache=True)
    assert log() == []
    assert (first.totals.cached, again.totals.cached) == (0, 1)
    assert again.servers == ()
    (before,), (after,) = first.tests, again.tests
    assert after.cached
    assert (after.verdict, after.duration_ms, after.output, after.request) == (
        before.verdict,
        before.duration_ms,
        before.output,
        before.request,
    )
    assert [row.to_json() for row in after.assertions] == [row.to_json() for row in before.assertions]


def test_without_cache_nothing_is_kept_and_nothing_replayed(
    record_of: RecordOf, suite: Callable[..., str], log: Callable[[], list[str]], tmp_path: Path
) -> None:
    record_of(suite(LOOK))
    assert kept(tmp_path) == []
    record_of(suite(LOOK), cache=True)
    log()
    assert record_of(suite(LOOK)).totals.cached == 0
    assert log() == ["start", "look"]


def _changed_server(script: Path, text: str) -> str:
    script.write_text(script.read_text() + "# changed\n")
    return text


def _changed_module(script: Path, text: str) -> str:
    (script.parent / "minimcp.py").write_text((script.parent / "minimcp.py").read_text() + "# changed\n")
    return text


def _changed_input(script: Path, text: str) -> str:
    (script.parent / "input.txt").write_text("another sky")
    return text


def _changed_folder(script: Path, text: str) -> str:
    (script.parent / "notes" / "new.txt").touch()
    return text


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(_changed_server, id="the server's script"),
        pytest.param(_changed_module, id="a module beside it"),
        pytest.param(_changed_input, id="a file that an argument names"),
        pytest.param(lambda _, text: text.replace("the sky", "the sea"), id="an argument"),
        pytest.param(_changed_folder, id="a folder that an argument names by a plain word"),
        pytest.param(lambda _, text: text.replace("exact: looked", "contains: look"), id="a matcher"),
        pytest.param(lambda _, text: text.replace("tool: look", "timeout_ms: 29000, tool: look"), id="its time"),
        pytest.param(lambda _, text: text.replace("name: looks", "name: looks again"), id="the test's name"),
        pytest.param(lambda _, text: text.replace("LOG:", "MODE: x, LOG:"), id="the server's environment"),
        pytest.param(lambda _, text: text.replace("server: one", "server: two"), id="the server's version"),
        pytest.param(
            lambda _, text: text.replace("server_version", "protocol: 2025-06-18, server_version"), id="protocol"
        ),
        pytest.param(lambda _, text: text.replace('.py"]', '.py", "--flag"]'), id="the server's command"),
    ],
)
def test_what_changed_is_asked_again(
    record_of: RecordOf,
    suite: Callable[..., str],
    log: Callable[[], list[str]],
    script: Path,
    change: Callable[[Path, str], str],
) -> None:
    (script.parent / "input.txt").write_text("the sky")
    (script.parent / "notes").mkdir()
    file = json.dumps(str(script.parent / "input.txt"))
    text = suite(
        LOOK.replace("args: {", f"args: {{ folder: notes, file: {file},"),
        server=f', cwd: {json.dumps(str(script.parent))}, server_version: "server: one"',
    )
    record_of(text, cache=True)
    log()
    assert record_of(change(script, text), cache=True).totals.cached == 0
    assert log() == ["start", "look"]


def test_what_may_be_replayed_follows_the_precedence(
    record_of: RecordOf, suite: Callable[..., str], script: Path
) -> None:
    tests = {
        "by default": "tool: look",
        "a list": "tool: tools/list",
        "told to": "tool: look, cache: always",
        "told not to": "tool: look, cache: never",
        "the server says no": "tool: stay_fresh, cache: always",
        "external": "tool: look, effects: [external], cache: always",
        "another effect": "tool: look, effects: [mail]",
        "a fault": "tool: look, cache: always, fault: { delay_ms: 1 }",
        "verified": "tool: look, cache: always, verify: [{ tool: look }]",
        "its own client": "tool: look, cache: always, client: { sampling: yes }",
        "watches": "tool: look, cache: always, expect: [{ target: notifications, matcher: { exact: [] } }]",
        "changes something": "tool: add_item, args: { name: a }",
        "changes something, always": "tool: add_item, args: { name: b }, cache: always",
        "takes time": "tool: look, expect: { max_duration_ms: 60000 }",
        "looks at time": "tool: look, expect: [{ target: duration_ms, matcher: { lte: 60000 } }]",
        "takes time, always": "tool: look, expect: { max_duration_ms: 60000 }, cache: always",
        "an error of the tool": "tool: fail, expect: [{ target: result.isError, matcher: { exact: true } }]",
        "an error of the protocol": "tool: refuse, expect: [{ target: error.code, matcher: { exact: -32602 } }]",
        "fails": "tool: look, expect: [{ target: result.content, matcher: { exact: [] } }]",
        "at the second attempt": "tool: once, retries: 1",
        "skipped": "tool: look, skip: true",
    }
    text = suite(*(f'{{ name: "{name}", {body} }}' for name, body in tests.items()))
    first = record_of(text, cache=True, workers=1)
    again = record_of(text, cache=True, workers=1)
    assert {test.name for test in again.tests if test.cached} == {
        "by default",
        "a list",
        "told to",
        "another effect",
        "changes something, always",
        "takes time, always",
        "an error of the tool",
        "an error of the protocol",
        "fails",
    }
    assert [test.verdict for test in again.tests] == [test.verdict for test in first.tests]


def test_what_is_no_real_answer_is_not_kept(record_of: RecordOf, suite: Callable[..., str], tmp_path: Path) -> None:
    text = suite(
        "{ name: dies, tool: die }",
        "{ name: too late, tool: look, timeout_ms: 1, fault: { delay_ms: 50 } }",
        "{ name: skipped, tool: look, skip: true }",
    )
    assert record_of(text, cache=True, workers=1).totals.failed == 2
    assert kept(tmp_path) == []


def test_an_answer_that_holds_a_secret_is_not_kept(
    record_of: RecordOf, suite: Callable[..., str], tmp_path: Path
) -> None:
    text = suite(LOOK, "{ name: says it, tool: say }", env=", SAYS: my-secret-word, API_TOKEN: my-secret-word")
    record_of(text, cache=True)
    assert record_of(text, cache=True).totals.cached == 1
    assert len(kept(tmp_path)) == 1
    assert b"my-secret-word" not in kept(tmp_path)[0].read_bytes()
    assert kept(tmp_path)[0].stat().st_mode & 0o077 == 0


def test_hooks_opt_the_run_out_and_that_is_told(record_of: RecordOf, suite: Callable[..., str], tmp_path: Path) -> None:
    record = record_of(suite(LOOK, more="hooks: { afterAll: 'true' }"), cache=True)
    assert "nothing is cached: the suite has `hooks`" in record.warnings
    assert kept(tmp_path) == []


def test_what_was_changed_earlier_in_the_run_is_part_of_what_an_answer_depends_on(
    record_of: RecordOf, suite: Callable[..., str]
) -> None:
    tests = (
        "{ name: adds, tool: add_item, args: { name: pear } }",
        '{ name: lists, tool: list_items, expect: [{ target: "result.content[0].text", matcher: { exact: pear } }] }',
    )
    record_of(suite(*tests), cache=True)
    adds, lists = record_of(suite(*tests), cache=True).tests
    assert (adds.cached, lists.cached) == (False, True)
    lists = record_of(suite(tests[0].replace("pear", "plum"), tests[1]), cache=True).tests[1]
    assert (lists.cached, lists.verdict) == (False, Verdict.FAIL)


LISTS_NOTHING = (
    '{ name: lists, tool: list_items, expect: [{ target: "result.content[0].text", matcher: { exact: "" } }] }'
)


def test_what_came_after_a_change_that_was_replayed_is_not_kept(record_of: RecordOf, suite: Callable[..., str]) -> None:
    """Else an answer that was given without the change would be taken for one that was given after it."""
    adds = "{ name: adds, tool: add_item, args: { name: pear }, cache: always }"
    record_of(suite(adds), cache=True)
    first = record_of(suite(adds, LISTS_NOTHING), cache=True)
    assert [(test.cached, test.verdict) for test in first.tests] == [(True, Verdict.PASS), (False, Verdict.PASS)]
    assert first.warnings == (
        'tests after "adds" are not cached: it may change their results, and it was not called or did not answer in this run',
    )
    assert record_of(suite(adds, LISTS_NOTHING), cache=True).totals.cached == 1


def test_what_came_after_a_change_that_was_not_answered_is_not_kept(
    record_of: RecordOf, suite: Callable[..., str]
) -> None:
    tests = ("{ name: dies, tool: die, effects: [mail] }", LOOK)
    server = ", serial: true"
    record_of(suite(*tests, server=server), cache=True)
    assert record_of(suite(*tests, server=server), cache=True).totals.cached == 0


def test_what_a_server_said_that_had_to_be_started_again_is_not_kept(
    record_of: RecordOf, suite: Callable[..., str]
) -> None:
    """It has forgotten what it was told, and nothing in a key speaks of that."""
    tests = ("{ name: dies, tool: die }", LOOK)
    record = record_of(suite(*tests), cache=True, workers=1)
    assert record.warnings == ('not cached: tests of server "s", which was restarted during the run',)
    assert record_of(suite(*tests), cache=True, workers=1).totals.cached == 0


def test_a_kept_answer_is_judged_by_the_snapshot_as_it_is_now(
    record_of: RecordOf, suite: Callable[..., str], tmp_path: Path
) -> None:
    text = suite('{ name: snaps, tool: look, expect: [{ target: "result.content", matcher: { snapshot: {} } }] }')
    record_of(text, cache=False, update_snapshots=True)
    assert record_of(text, cache=True).totals.passed == 1
    (snapshot,) = (tmp_path / ".mcptest" / "snapshots").glob("*.yml")
    snapshot.write_text(snapshot.read_text().replace("looked", "overlooked"))
    (test,) = record_of(text, cache=True).tests
    assert (test.cached, test.verdict) == (True, Verdict.FAIL)


def test_a_kept_failure_is_replayed_unless_the_test_may_be_tried_again(
    record_of: RecordOf, suite: Callable[..., str], log: Callable[[], list[str]]
) -> None:
    text = suite("{ name: fails, tool: fail }")
    record_of(text, cache=True)
    log()
    assert record_of(text, cache=True).tests[0].cached
    assert log() == []
    assert not record_of(text, cache=True, retries=1).tests[0].cached
    assert log() == ["start", "fail", "fail"]


DAMAGES: tuple[Callable[[bytes], bytes], ...] = (
    lambda _: b"",
    lambda data: data[: len(data) // 2],
    lambda _: b"[" * 100_000,
    lambda _: b"\xff\xfe",
    lambda _: b"[1]",
    lambda data: data + b" " * 2_000_000,
    lambda data: data.replace(b'"key":"', b'"key":"0'),
    lambda data: data.replace(b"mcptest.result/v1", b"mcptest.result/v9"),
    lambda data: data.replace(b'"duration_ms":', b'"duration_ms":-1'),
    lambda data: data.replace(b'"duration_ms":', b'"duration_ms":NaN,"was":'),
    lambda data: data.replace(b'"result":{', b'"result":7,"was":{'),
    lambda data: data.replace(b'"answer":{', b'"answer":{"error":{},'),
    lambda data: data.replace(b'"answer":{', b'"answer":{"http":7,'),
)


def test_a_damaged_or_foreign_file_counts_as_not_there(
    record_of: RecordOf, suite: Callable[..., str], tmp_path: Path
) -> None:
    text = suite(*(LOOK.replace("looks", f"looks {number}") for number in range(len(DAMAGES) + 1)))
    record_of(text, cache=True)
    *files, unreadable = kept(tmp_path)
    for file, damage in zip(files, DAMAGES, strict=True):
        whole = file.read_bytes()
        file.write_bytes(damage(whole))
        assert file.read_bytes() != whole
    unreadable.unlink()
    unreadable.mkdir()
    record = record_of(text, cache=True)
    assert (record.totals.cached, record.totals.passed) == (0, len(DAMAGES) + 1)
    assert record.warnings[0] == f"not used: {len(DAMAGES) + 1} cached results that cannot be read"
    unreadable.rmdir()
    record_of(text, cache=True)
    assert record_of(text, cache=True).totals.cached == len(DAMAGES) + 1


def test_a_cache_that_cannot_be_written_costs_a_warning(
    record_of: RecordOf, suite: Callable[..., str], tmp_path: Path
) -> None:
    (tmp_path / "taken").write_text("a file where a folder should be")
    record = record_of(suite(LOOK), cache=True, cache_dir=tmp_path / "taken")
    assert record.totals.passed == 1
    assert "1 result could not be cached" in record.warnings[0]


def test_a_file_of_the_server_that_changes_meanwhile_keeps_its_results_out(
    record_of: RecordOf, suite: Callable[..., str], tmp_path: Path
) -> None:
    """Nobody could say to which content of the file the answers belong."""
    state = tmp_path / "state.txt"
    text = (
        suite(LOOK)
        .replace('.py"]', f'.py", {json.dumps(str(state))}]')
        .replace(str(tmp_path / "calls.log"), str(state))
    )
    record = record_of(text, cache=True)
    assert record.warnings == ('not cached: tests of server "s", a file of which changed during the run',)
    assert kept(tmp_path) == []


def test_a_server_that_names_a_vast_folder_is_not_cached_and_that_is_told(
    record_of: RecordOf, suite: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcptest_engine.workspace.fingerprints.MOST_FILES", 3)
    (tmp_path / "data").mkdir()
    for number in range(4):
        (tmp_path / "data" / f"{number}.txt").touch()
    text = suite(LOOK).replace('.py"]', f'.py", {json.dumps(str(tmp_path / "data"))}]')
    record = record_of(text, cache=True)
    assert record.totals.passed == 1
    assert "data contains more than 3 files" in record.warnings[0]


def test_what_failed_last_is_asked_again(
    record_of: RecordOf, suite: Callable[..., str], log: Callable[[], list[str]]
) -> None:
    """Whoever runs what failed wants to know whether it still does."""
    text = suite("{ name: fails, tool: fail }")
    failed = record_of(text, cache=True).tests[0].id
    log()
    narrowed = record_of(text, cache=True, selection=Selection(ids=frozenset({failed})))
    assert (narrowed.totals.cached, log()) == (0, ["start", "fail"])


def test_two_runs_at_once_share_a_cache(
    run_of: Callable[..., Coroutine[None, None, RunRecord]], suite: Callable[..., str], tmp_path: Path
) -> None:
    tests = [LOOK.replace("looks", f"looks {number}") for number in range(20)]

    async def both() -> list[RunRecord]:
        return await asyncio.gather(*(run_of(suite(*tests), cache=True) for _ in range(2)))

    assert [record.totals.passed for record in asyncio.run(both())] == [20, 20]
    assert [record.totals.cached for record in asyncio.run(both())] == [20, 20]
    assert len(kept(tmp_path)) == 20


CHECKS = """
compliance:
  - { name: opens, check: initialize }
  - { name: an older one, check: initialize, spec_version: "2025-06-18" }
  - { name: lists, check: tools/list }
  - { name: fresh, check: ping, cache: never }
"""


def test_checks_of_the_protocol_are_replayed_with_the_session_that_they_were_answered_over(
    record_of: RecordOf, suite: Callable[..., str], log: Callable[[], list[str]]
) -> None:
    text = suite(LOOK) + CHECKS
    first = record_of(text, cache=True)
    again = record_of(text, cache=True)
    assert [test.name for test in again.tests if not test.cached] == ["fresh"]
    rows = [
        [(test.request, [row.to_json() for row in test.assertions]) for test in run.tests] for run in (first, again)
    ]
    assert rows[0] == rows[1]


@pytest.fixture(scope="module")
def echo() -> Iterator[str]:
    """`tests/servers/http_echo.py`."""
    yield from serving("http_echo")


def test_over_http_only_checks_are_kept_unless_the_server_has_a_version(record_of: RecordOf, echo: str) -> None:
    check = "compliance: [{ name: opens, check: initialize }]"
    text = f"servers: {{ s: {{ url: {echo}/mcp, catalog: off }} }}\ntools: [{{ name: echoes, tool: echo }}]\n{check}\n"
    record_of(text, cache=True)
    record = record_of(text, cache=True)
    assert [test.name for test in record.tests if test.cached] == ["opens"]
    assert record.warnings == ('not cached: tests of server "s", which has a `url` and no `server_version`',)
    pinned = text.replace("/mcp,", "/mcp, server_version: v7,")
    record_of(pinned, cache=True)
    again = record_of(pinned, cache=True)
    assert [test.name for test in again.tests if test.cached] == ["echoes", "opens"]
    assert record_of(pinned.replace("v7", "v8"), cache=True).totals.cached == 0


LYING = """
import os, sys
sys.path.insert(0, FOLDER)
import minimcp
OUTPUT = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
INPUT = {"type": "object", "properties": {}, "additionalProperties": False}
def call(method, params, message):
    if method != "tools/list":
        return {**minimcp.text("looked"), "structuredContent": {"n": 1 if params["arguments"] else "one"}}
    if os.path.exists(sys.argv[1]):
        raise minimcp.RpcError(-32603, "busy")
    return {"tools": [{"name": "look", "inputSchema": INPUT, "outputSchema": OUTPUT}]}
minimcp.serve(call, lists=True)
"""


@pytest.fixture
def lying(tmp_path: Path) -> Callable[..., str]:
    """A suite with a server whose answer breaks its `outputSchema`, and whose list fails while the file `busy` is there."""
    script = tmp_path / "lying.py"
    script.write_text(LYING.replace("FOLDER", repr(str(SERVERS))))
    command = json.dumps([sys.executable, "-S", str(script), f"/{tmp_path}/busy"])
    test = 'name: looks, tool: look, expect: [{ target: "result.content[0].text", matcher: { exact: looked } }]'

    def text(*, args: str = "", more: str = "") -> str:
        return f"servers: {{ s: {{ command: {command}, server_version: v1 }} }}\n{more}\ntools: [{{ {test}{args} }}]\n"

    return text


@pytest.mark.parametrize("unchecked", ["the list failed", "catalog: off"])
def test_a_result_that_was_not_checked_is_not_taken_for_a_valid_one(
    record_of: RecordOf, lying: Callable[..., str], tmp_path: Path, unchecked: str
) -> None:
    busy = tmp_path / "busy"
    more = ""
    if unchecked == "the list failed":
        busy.touch()
    else:
        more = "run_options: { catalog: off }"
    first = record_of(lying(more=more), cache=True)
    assert first.totals.passed == 1
    told = 'not cached: tests of server "s", because its list could not be read'
    assert (told in first.warnings) == busy.exists()
    busy.unlink(missing_ok=True)
    (test,) = record_of(lying(), cache=True).tests
    assert test.failure is not None
    assert (test.cached, test.failure.kind.value) == (False, "invalid")


def test_a_result_with_a_warning_is_asked_for_again(record_of: RecordOf, lying: Callable[..., str]) -> None:
    text = lying(args=", args: { odd: 1 }")
    first, again = (record_of(text, cache=True) for _ in range(2))
    assert (first.totals.passed, again.totals.cached) == (1, 0)
    assert first.warnings == again.warnings
    assert "has no argument `odd`" in "".join(again.warnings)

"""The Python API: suites that are run, servers that are called; servers of this process, of another one, and over HTTP."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import threading
import tomllib
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import mcptest
from tests.permissions import unreadable
from tests.running.test_over_http import serving

if TYPE_CHECKING:
    from mcp.server import MCPServer

ROOT = Path(__file__).parents[2]
SERVERS = ROOT / "tests" / "servers"
SHOP = [sys.executable, "-S", str(SERVERS / "shop.py")]
SUITE = f"""\
name: shop
servers:
  shop: {{ command: [{sys.executable}, -S, {SERVERS / "shop.py"}] }}
tools:
  - name: tea has a price
    tool: price
    args: {{ item: tea }}
    tags: [fast]
    expect: [ {{ target: result.structuredContent.price, matcher: {{ exact: 30 }} }} ]
  - name: milk is cheap
    tool: price
    args: {{ item: milk }}
    expect: [ {{ target: result.structuredContent.price, matcher: {{ lt: 5 }} }} ]
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "mcptest.yml"
    path.write_text(SUITE, encoding="utf-8")
    return path


def app() -> MCPServer:
    from mcp.server import MCPServer  # takes a second, which every worker that collects tests would spend

    server = MCPServer("adder", version="1")

    @server.tool()
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @server.tool(structured_output=False)
    def wait() -> str:
        """Never answers."""
        raise RuntimeError("out of order")

    @server.resource("memo://today")
    def memo() -> str:
        """What is on today."""
        return "nothing"

    @server.prompt()
    def greet(name: str) -> str:
        """Greet somebody."""
        return f"Say hello to {name}"

    return server


def test_a_run_returns_its_record(suite: Path) -> None:
    record = mcptest.run(suite)
    assert (record.verdict, [(test.name, test.verdict) for test in record.tests]) == (
        "fail",
        [("tea has a price", "pass"), ("milk is cheap", "fail")],
    )
    assert len(list((suite.parent / ".mcptest" / "runs").glob("*.json"))) == 1


def test_a_run_takes_what_the_flags_take(suite: Path) -> None:
    events: list[Any] = []
    record = mcptest.run(str(suite), tags=["fast"], save=False, on_event=events.append)
    assert (record.verdict, len(record.tests), record.exit_code) == ("pass", 1, 0)
    assert type(events[-1]).__name__ == "RunFinished"
    assert not list((suite.parent / ".mcptest").glob("runs/*.json"))
    with pytest.raises(mcptest.UsageError, match='`tags` is a list, found the text "fast"'):
        mcptest.run(str(suite), tags="fast")


def test_a_loaded_suite_can_be_run_in_a_loop(suite: Path) -> None:
    loaded = mcptest.load(suite)
    record = asyncio.run(mcptest.run_async(loaded, filter="tea", save=False))
    assert (loaded.name, record.verdict) == ("shop", "pass")


def test_several_suites_are_run_with_one_record(suite: Path) -> None:
    other = suite.parent / "deep" / "other.yml"
    other.parent.mkdir()
    other.write_text(SUITE.replace("name: shop", "name: other").replace("{ lt: 5 }", "{ lt: 500 }"), encoding="utf-8")
    record = mcptest.run(suite.parent)
    assert [(one.name, one.verdict, one.totals.total) for one in record.suites] == [
        ("shop", "fail", 2),
        ("other", "pass", 2),
    ]
    assert (record.verdict, len({test.id for test in record.tests})) == ("fail", 4)
    assert len(list((suite.parent / ".mcptest" / "runs").glob("*.json"))) == 2
    again = asyncio.run(mcptest.run_async([other, mcptest.load(suite)], tags=["fast"], bail=1, save=False))
    assert [(test.file, test.name) for test in again.tests] == [
        ("mcptest.yml", "tea has a price"),
        ("deep/other.yml", "tea has a price"),
    ]
    ended = mcptest.run([suite, other], bail=1, save=False)
    assert [(one.path, one.reason) for one in ended.not_run] == [("deep/other.yml", "ended")]
    for mistaken in (suite, other):
        mistaken.write_text(SUITE.replace("args:", "arguments:"), encoding="utf-8")
    with pytest.raises(mcptest.SuiteError) as raised:
        mcptest.run([str(suite.parent / "**" / "*.yml")])
    assert len(raised.value.problems) == 4
    with pytest.raises(mcptest.UsageError, match="no suite is named"):
        mcptest.run([])


def test_folders_that_cannot_be_read_are_in_the_record(suite: Path) -> None:
    with unreadable(suite.parent / "locked"):
        record = mcptest.run(suite.parent, tags=["fast"], save=False)
        with pytest.raises(mcptest.SuiteError, match="the folder cannot be read: permission denied"):
            mcptest.run(suite.parent / "locked")
    assert [(one.path, one.reason) for one in record.not_run] == [("locked", "unreadable")]
    assert [one.path for one in record.suites] == ["mcptest.yml"]
    assert (record.verdict, record.exit_code, record.totals.passed) == ("fail", 2, 1)


def test_a_suite_with_mistakes_raises_all_of_them(suite: Path) -> None:
    suite.write_text(SUITE.replace("args:", "arguments:"), encoding="utf-8")
    with pytest.raises(mcptest.SuiteError) as raised:
        mcptest.load(suite)
    assert [str(problem).split(": ")[0].rpartition("/")[2] for problem in raised.value.problems] == [
        "mcptest.yml:7:5",
        "mcptest.yml:12:5",
    ]


def test_a_run_inside_a_loop_says_what_to_call(suite: Path) -> None:
    async def main() -> None:
        mcptest.run(suite)

    with pytest.raises(mcptest.UsageError, match="event loop") as raised:
        asyncio.run(main())
    assert "run_async" in (raised.value.hint or "")


async def called() -> None:
    async with mcptest.connect(app()) as server:
        result = await server.call("add", a=1, b=2)
        assert (result.text, result.structured, result.is_error) == ("3", {"result": 3}, False)
        assert result.raw["content"] == [{"type": "text", "text": "3"}]
        assert result.json == 3
        result.expect("structured.result", exact=3).expect("text", contains="3")
        assert [tool["name"] for tool in await server.tools()] == ["add", "wait"]
        assert [entry["uri"] for entry in await server.resources()] == ["memo://today"]
        assert [entry["name"] for entry in await server.prompts()] == ["greet"]
        assert (await server.read("memo://today")).raw["contents"][0]["text"] == "nothing"
        assert (await server.prompt("greet", name="Ada")).raw["messages"][0]["content"]["text"] == "Say hello to Ada"
        assert (await server.info())["serverInfo"]["name"] == "adder"
        assert await server.request("ping") == {}


def test_a_server_object_is_called_without_a_process() -> None:
    asyncio.run(called())


def test_code_without_a_loop_calls_it_too() -> None:
    with mcptest.connect(app()) as server:
        assert server.call("add", {"a": 1}, b=2).text == "3"
        failed = server.call("wait")
        assert failed.is_error
        failed.expect("text", contains="wait", outcome="error")
        with pytest.raises(mcptest.CallFailed, match="the tool reported an error"):
            failed.expect("text", contains="wait")
        with pytest.raises(mcptest.ProtocolError, match="no/such") as raised:
            server.request("no/such")
        assert raised.value.code == -32601


def test_a_low_level_server_is_one_too() -> None:
    from mcp.server.lowlevel import Server as LowLevelServer
    from mcp_types import CallToolResult, ListToolsResult, TextContent, Tool

    async def list_tools(_ctx: Any, _params: Any) -> ListToolsResult:
        return ListToolsResult(tools=[Tool(name="hi", input_schema={"type": "object"})])

    async def call_tool(_ctx: Any, _params: Any) -> CallToolResult:
        return CallToolResult(content=[TextContent(type="text", text="hello")])

    server = LowLevelServer("low", on_list_tools=list_tools, on_call_tool=call_tool)
    with mcptest.connect(server) as connected:
        assert connected.call("hi").text == "hello"


def test_an_object_that_is_no_server_is_refused() -> None:
    with pytest.raises(mcptest.UsageError, match="type object is not an MCP server"), mcptest.connect(object()):
        pass


def test_options_of_processes_are_refused() -> None:
    with pytest.raises(mcptest.UsageError, match="`env` goes with"), mcptest.connect(app(), env={"A": "b"}):
        pass


def test_a_command_is_started_and_ended() -> None:
    with mcptest.connect(SHOP) as server:
        result = server.call("price", item="tea")
        result.expect("structured.price", between=[20, 40])
        with pytest.raises(mcptest.ExpectationFailed, match=r"expected `31`, got `30`"):
            result.expect("structured.price", exact=31)


def test_threads_take_turns_and_a_closed_or_open_connection_says_so() -> None:
    connection = mcptest.connect(SHOP)
    with connection as server, ThreadPoolExecutor(4) as threads:
        texts = list(threads.map(lambda item: server.call("price", item=item).text, ["tea", "milk"] * 4))
        assert texts[:2] * 4 == texts
        with pytest.raises(mcptest.UsageError, match="the connection is open already"), connection:
            pass
    server.close()
    with pytest.raises(mcptest.UsageError, match="the connection is closed"):
        server.tools()
    with connection as again:
        assert again.tools()


def test_a_call_after_the_block_of_a_connection_is_refused_and_starts_nothing() -> None:
    async def main() -> None:
        async with mcptest.connect(SHOP) as server:
            await server.call("price", item="tea")
        for call in (server.call("price", item="tea"), server.tools(), server.read("x:"), server.request("ping")):
            with pytest.raises(mcptest.UsageError, match="the connection is closed"):
                await call

    asyncio.run(main())


def test_a_close_that_is_refused_leaves_the_connection_open() -> None:
    async def close(server: Any) -> None:
        server.close()

    async def enter() -> None:
        with mcptest.connect(SHOP):
            pass

    with mcptest.connect(SHOP) as server:
        for refused in (close(server), enter()):
            with pytest.raises(mcptest.UsageError, match="an event loop runs in this thread already") as wrong:
                asyncio.run(refused)
            assert wrong.value.__context__ is None
        assert server.call("price", item="tea").text


@pytest.mark.parametrize(
    ("make_call", "told"),
    [
        (lambda server: server.call(None), "the name of a tool is a text, found None"),
        (lambda server: server.call("price", ["tea"]), r"the arguments are a mapping, found \['tea'\]"),
        (lambda server: server.read(Path("x")), "the URI of a resource is a text, found PosixPath"),
        (lambda server: server.prompt(5), "the name of a prompt is a text, found 5"),
        (lambda server: server.prompt("x", "y"), "the arguments are a mapping, found 'y'"),
        (lambda server: server.request(None), "the method of a request is a text, found None"),
        (lambda server: server.call("price", item="tea").expect(3, exact=3), "the target is a text, found 3"),
        (lambda server: server.request("ping", []), r"the parameters are a mapping, found \[\]"),
    ],
)
def test_a_value_of_the_wrong_type_is_refused(make_call: Any, told: str) -> None:
    with mcptest.connect(SHOP) as server:
        with pytest.raises(TypeError, match=told) as wrong:
            make_call(server)
        assert isinstance(wrong.value, mcptest.UsageError)


@pytest.mark.parametrize(
    ("matcher", "told"),
    [
        ({"regex": 3}, "`regex`: expected text, found the number 3"),
        ({"regex": "("}, "`regex`: the regex does not compile"),
        ({"jq": 3}, "`jq`: expected text, found the number 3"),
        ({"starts_with": 3}, "`starts-with`: expected text, found the number 3"),
        ({"icontains": 3}, "`icontains`: expected text, found the number 3"),
        ({"one_of": 3}, "`one-of`: expected a list, found the number 3"),
        ({"not": {"nope": 1}}, '`not`: unknown matcher "nope"'),
        ({"length": {"gte": "x"}}, '`length`: expected a number, found the text "x"'),
    ],
)
def test_a_value_that_a_matcher_does_not_take_is_refused_as_in_a_suite(matcher: dict[str, Any], told: str) -> None:
    with mcptest.connect(SHOP) as server:
        result = server.call("price", item="tea")
        with pytest.raises(mcptest.UsageError) as wrong:
            result.expect("text", **matcher)
    assert str(wrong.value).startswith(told)


def test_arguments_that_are_nested_too_deeply_are_refused() -> None:
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    with mcptest.connect(SHOP) as server, pytest.raises(mcptest.UsageError, match="nested too deeply"):
        server.call("price", {"item": deep})


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"repeat": 0}, "`repeat` is a whole number of at least 1, found 0"),
        ({"workers": 0}, "`workers` is a whole number of at least 1, found 0"),
        ({"retries": -1}, "`retries` is a whole number of at least 0, found -1"),
        ({"bail": 0}, "`bail` is a whole number of at least 1, found 0"),
    ],
)
def test_a_number_that_no_flag_takes_is_refused(suite: Path, options: dict[str, Any], told: str) -> None:
    with pytest.raises(mcptest.UsageError, match=told):
        mcptest.run(suite, **options)


@pytest.mark.parametrize(
    ("suite", "options", "told"),
    [
        (None, {}, "a suite is a path or a loaded suite, found None"),
        (["mcptest.yml", 5], {}, "a suite is a path or a loaded suite, found 5"),
        (b"mcptest.yml", {}, "a suite is a path or a loaded suite, found b'mcptest.yml'"),
        ("mcptest.yml", {"filter": 5}, "`filter` is a text, found 5"),
        ("mcptest.yml", {"repeat": None}, "`repeat` is a whole number of at least 1, found None"),
        ("mcptest.yml", {"workers": 2.5}, "`workers` is a whole number of at least 1, found 2.5"),
        ("mcptest.yml", {"bail": True}, "`bail` is a whole number of at least 1, found True"),
        ("mcptest.yml", {"variables": {"a": 1}}, "the variable `a` is a text, found 1"),
        ("mcptest.yml", {"tags": 5}, "`tags` is a list of texts, found 5"),
        ("mcptest.yml", {"servers": [None]}, "`servers` is a list of texts, found None"),
        ("mcptest.yml", {"variables": ["a"]}, r"`variables` is a mapping, found \['a'\]"),
        ("mcptest.yml", {"variables": {3: "a"}}, "the name of a variable is a text, found 3"),
        ("mcptest.yml", {"on_event": 5}, "`on_event` is a function that takes an event, found 5"),
    ],
)
def test_an_option_of_the_wrong_type_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suite: Any, options: dict[str, Any], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mcptest.yml").write_text(SUITE, encoding="utf-8")
    with pytest.raises(TypeError, match=told) as wrong:
        mcptest.run(suite, **options)
    assert isinstance(wrong.value, mcptest.UsageError)


@pytest.mark.parametrize("suites", [1, 2])
def test_a_cancelled_run_raises_and_its_servers_are_gone(tmp_path: Path, suites: int) -> None:
    """Its record, of what was run, is in the last event."""
    process = tmp_path / "process"
    server = tmp_path / "server.py"
    server.write_text(
        f"import os, runpy, sys\nopen({str(process)!r}, 'w').write(str(os.getpid()))\n"
        f"runpy.run_path({str(SERVERS / 'echo.py')!r}, run_name='__main__')\n"
    )
    for number in range(suites):
        (tmp_path / f"{number}.yml").write_text(
            f"servers: {{ s: {{ command: [{sys.executable}, -S, {server}] }} }}\n"
            "tools:\n  - { name: first, tool: echo, args: { text: x }, expect: { text: x } }\n"
            "  - { name: endless, tool: slow, args: { ms: 900000 }, timeout_ms: 900000, expect: { text: x } }\n"
        )

    async def main() -> None:
        begun, events = asyncio.Event(), list[Any]()

        def note(event: Any) -> None:
            events.append(event)
            if type(event).__name__ == "CaseFinished":
                begun.set()

        run = asyncio.create_task(mcptest.run_async(tmp_path, on_event=note, workers=1))
        await asyncio.wait([run, asyncio.create_task(begun.wait())], return_when="FIRST_COMPLETED")
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        assert events[-1].record.interrupted
        with pytest.raises(ProcessLookupError):
            os.kill(int(process.read_text()), 0)
        assert (await mcptest.run_async(tmp_path / "0.yml", filter="nothing")).exit_code == 7

    asyncio.run(main())


def test_values_have_short_reprs(suite: Path) -> None:
    record = mcptest.run(suite)
    assert repr(record) == "<RunRecord of 'shop': fail, 1 of 2 passed>"
    assert repr(record.tests) == "(<TestResult of 'tea has a price': pass>, <TestResult of 'milk is cheap': fail>)"
    assert repr(mcptest.load(suite)) == "<Suite of 'shop': 2 tests>"


def test_a_connection_that_is_closed_ends_the_calls_of_other_threads() -> None:
    """One after the other: a call that comes after it neither starts the server again nor meets a running loop."""
    called = threading.Semaphore(0)

    def call_until_closed(server: Any) -> None:
        while True:
            server.call("price", item="tea")
            called.release()

    with ThreadPoolExecutor(4) as threads:
        with mcptest.connect(SHOP) as server:
            calls = [threads.submit(call_until_closed, server) for _ in range(4)]
            for _ in range(8):
                called.acquire()
        told = [str(call.exception()) for call in calls]
    assert told == ["the connection is closed"] * 4


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, b"x", object()])
def test_what_json_does_not_have_is_refused(value: Any) -> None:
    with mcptest.connect(SHOP) as server:
        assert server.request("ping", {"more": {1: (2,)}}) == {}
        for call in (server.call, server.prompt, server.request):
            with pytest.raises(mcptest.UsageError, match="this cannot be sent as JSON"):
                call("price", {"item": value})


@pytest.mark.parametrize("wrong", [0, -1, float("nan"), "1"])
def test_a_timeout_that_is_no_time_is_refused(wrong: Any) -> None:
    connection = mcptest.connect(SHOP, timeout_seconds=wrong)
    with pytest.raises(mcptest.UsageError, match="`timeout_seconds` is a number greater than 0") as refused, connection:
        pass
    assert isinstance(refused.value, TypeError) == isinstance(wrong, str)


def test_words_and_variables_that_are_no_texts_are_refused(suite: Path) -> None:
    with pytest.raises(mcptest.UsageError, match="a command is a list of texts, found 1"), mcptest.connect([1]):
        pass
    with pytest.raises(mcptest.UsageError, match="the variable `port` is a text, found 80"):
        mcptest.run(suite, variables={"port": 80})


def test_what_is_expected_may_be_a_snapshot_in_pytest_only() -> None:
    with mcptest.connect(SHOP) as server, pytest.raises(mcptest.UsageError, match="a snapshot needs a test"):
        server.call("orders").expect("text", snapshot=True)


def test_a_misspelt_matcher_or_key_has_its_nearest_name() -> None:
    with mcptest.connect(SHOP) as server:
        result = server.call("price", item="tea")
        with pytest.raises(mcptest.UsageError, match="unknown matcher `contians`") as raised:
            result.expect("text", contians="tea")
        assert raised.value.hint == "did you mean `contains`?"
        with pytest.raises(mcptest.ExpectationFailed, match="did you mean `price`"):
            result.expect("structured.prise", exact=30)
    with pytest.raises(mcptest.SuiteError, match="did you mean `command`"), mcptest.connect({"comand": SHOP}):
        pass


def test_an_unknown_tool_has_its_nearest_name_in_a_short_traceback() -> None:
    async def call() -> None:
        async with mcptest.connect(SHOP) as server:
            await server.call("pric", item="tea")

    with pytest.raises(mcptest.ServerError, match='no tool "pric"') as raised, mcptest.connect(SHOP) as server:
        server.call("pric", item="tea")
    with pytest.raises(mcptest.ServerError, match='no tool "pric"') as awaited:
        asyncio.run(call())
    for told in (raised, awaited):
        assert told.value.__notes__ == [told.value.hint] == ["did you mean `price`?"]
        assert "mcptest_engine" not in "".join(str(entry.path) for entry in told.traceback)


def test_a_server_that_does_not_start_says_so_with_its_stderr_and_without_its_secrets() -> None:
    program = "import os, sys; sys.exit(f'no shop at {os.environ[\"SHOP_TOKEN\"]}')"
    server = mcptest.connect([sys.executable, "-c", program], env={"SHOP_TOKEN": "s3cr3t-and-long-enough"})
    with pytest.raises(mcptest.ServerDidNotStart) as raised, server:
        pass
    assert raised.value.__notes__[-1] == "stderr of the server:\n  │ no shop at [REDACTED]"


def test_a_server_that_has_died_is_started_again(tmp_path: Path) -> None:
    command = [sys.executable, "-S", str(SERVERS / "dies_once.py"), str(tmp_path / "flag"), "call"]
    with mcptest.connect({"command": command, "catalog": "off"}) as server:
        with pytest.raises(mcptest.ServerDied, match="exited with code 3") as raised:
            server.call("any")
        assert "giving up" in raised.value.stderr_tail
        assert "stderr of the server:\n  │ giving up" in raised.value.__notes__[-1]
        assert server.call("any").text == "ok"


def test_an_answer_that_breaks_the_protocol_or_its_schema_is_an_error() -> None:
    with mcptest.connect([sys.executable, "-S", str(SERVERS / "breaking.py")]) as server:
        assert server.call("fine").text == "fine"
        with pytest.raises(mcptest.InvalidResult, match="/degrees"):
            server.call("wrong_output")
        with pytest.raises(mcptest.InvalidResult, match="/content/0/text"):
            server.call("number_as_text")


def test_a_server_over_http_is_called() -> None:
    for address in serving("breaking", "http"):
        with mcptest.connect(f"{address}/mcp") as server:
            assert server.call("fine").text == "fine"


def test_arguments_that_the_tool_does_not_know_are_a_warning() -> None:
    connection = mcptest.connect([sys.executable, "-S", str(SERVERS / "breaking.py")])
    with connection as server, pytest.warns(mcptest.McptestWarning, match="did you mean `city`") as told:
        server.call("fine", cty="Oslo")
    assert [one.filename for one in told] == [__file__]


def test_an_expectation_that_always_holds_is_a_warning() -> None:
    with mcptest.connect([sys.executable, "-S", str(SERVERS / "breaking.py")]) as server:
        result = server.call("fine")
        with pytest.warns(mcptest.McptestWarning, match='`text`: every text contains ""') as told:
            result.expect("text", contains="")
    assert [one.filename for one in told] == [__file__]


def test_a_warning_that_is_made_an_error_is_raised_once() -> None:
    """By the call that it is about; the next one is not its business."""
    with mcptest.connect([sys.executable, "-S", str(SERVERS / "breaking.py")]) as server, warnings.catch_warnings():
        warnings.simplefilter("error", mcptest.McptestWarning)
        with pytest.raises(mcptest.McptestWarning):
            server.call("fine", cty="Oslo")
        assert server.call("fine").text == "fine"


def test_import_mcptest_loads_none_of_the_engine() -> None:
    import subprocess

    code = "import sys, mcptest; print([name for name in sys.modules if name.startswith(('mcptest_', 'mcp.', 'rich'))])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_nothing_of_mcptest_needs_the_package_mcp_but_for_a_server_object_of_it() -> None:
    """So it can be installed beside any version of that package."""
    imports = {
        str(path.relative_to(ROOT)): line.strip()
        for package in ("mcptest", "mcptest_engine", "mcptest_tui")
        for path in (ROOT / package).rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.match(r"\s*(?:import|from) (?:mcp|fastmcp)\b", line)
    }
    assert list(imports) == ["mcptest_engine/servers/in_process.py"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert not [needed for needed in project["dependencies"] if re.match(r"(?:mcp|fastmcp)\b", needed)]


def test_an_error_about_a_long_value_is_short() -> None:
    with pytest.raises(TypeError) as caught:
        mcptest.run(["x" * 5_000, 5])  # type: ignore[list-item]
    assert len(str(caught.value)) < 200
    with pytest.raises(TypeError) as caught:
        mcptest.run("suite.yml", filter=["y" * 5_000])
    assert str(caught.value).startswith("`filter` is a text, found ['yyy")
    assert len(str(caught.value)) < 200

"""A verb is a tool of the MCP server: its name, its schemas, its permissions, and the coroutine that does it.

`ALL` is the registry. What a verb needs is imported when it is called, because a client waits for the answer to `initialize`.
Schemas are JSON Schema 2020-12 and closed: a misspelt argument is refused with the nearest name. See docs/how-to/mcp-server.md.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from mcptest_engine.core.values import dataclass
from mcptest_engine.front_door import schemas

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping

    from mcptest_engine.core.json_types import JsonMapping
    from mcptest_engine.front_door.door import Request

    Answer = JsonMapping
    Handler = Callable[[Request], Awaitable[Answer]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """One tool of the MCP server.

    `place` is "module:function" under `front_door`. `gated`: only with `--enable-writes`, because it changes files or lets a
    server change something (no `readOnlyHint`). A tool that edits a suite in memory alone is not. `starts_servers`: it talks to
    a server under test (`openWorldHint`). `saves_file`: with writes enabled it may write a file under `.mcptest`.
    """

    name: str
    place: str
    about: str
    takes: JsonMapping
    gives: Mapping[str, object]
    gated: bool = False
    starts_servers: bool = False
    idempotent: bool = True
    destructive: bool = False
    saves_file: bool = False

    @property
    def handler(self) -> Handler:
        """Import and return the coroutine function."""
        module, _, function = self.place.partition(":")
        found: Handler = getattr(import_module(f"mcptest_engine.front_door.{module}"), function)
        return found


ALL: tuple[Verb, ...] = (
    Verb(
        name="list_runs",
        place="artifacts:list_runs",
        about="List the saved runs, newest first.",
        takes=schemas.LIST_RUNS,
        gives=schemas.RUNS,
    ),
    Verb(
        name="get_run",
        place="artifacts:get_run",
        about="One run: its tests with assertions, request and output.",
        takes=schemas.GET_RUN,
        gives=schemas.RUN,
    ),
    Verb(
        name="render_report",
        place="artifacts:render_report",
        about="A saved run (default: the newest) as md, html, junit, sarif or any other `mcptest report` format;"
        " a large one is written to a file.",
        takes=schemas.RENDER,
        gives=schemas.RENDERED,
        saves_file=True,
    ),
    Verb(
        name="list_cassettes",
        place="artifacts:list_cassettes",
        about="List the recorded cassettes.",
        takes=schemas.LIST_CASSETTES,
        gives=schemas.CASSETTES,
    ),
    Verb(
        name="get_cassette",
        place="artifacts:get_cassette",
        about="The exchanges of a cassette.",
        takes=schemas.GET_CASSETTE,
        gives=schemas.CASSETTE,
    ),
    Verb(
        name="get_coverage",
        place="artifacts:get_coverage",
        about="What share of the servers' tools, parameters, resources and prompts a run (default: the newest) "
        "tested, and what it did not.",
        takes=schemas.COVERAGE,
        gives=schemas.COVERED,
    ),
    Verb(
        name="get_doctor_report",
        place="artifacts:get_doctor_report",
        about="Check this machine and workspace, like `mcptest doctor`.",
        takes=schemas.NOTHING,
        gives=schemas.REPORT,
    ),
    Verb(
        name="list_tools",
        place="introspection:list_tools",
        about="List a server's tools with their schemas, as sent. Name it by `url` or by `command` (argv). Show `warnings` "
        "to a person.",
        takes=schemas.CATALOG,
        gives=schemas.TOOLS,
        starts_servers=True,
    ),
    Verb(
        name="list_resources",
        place="introspection:list_resources",
        about="List a server's resources and templates, as sent.",
        takes=schemas.CATALOG,
        gives=schemas.RESOURCES,
        starts_servers=True,
    ),
    Verb(
        name="list_prompts",
        place="introspection:list_prompts",
        about="List a server's prompts, as sent.",
        takes=schemas.CATALOG,
        gives=schemas.PROMPTS,
        starts_servers=True,
    ),
    Verb(
        name="get_capabilities",
        place="introspection:get_capabilities",
        about="What a server sends in the handshake.",
        takes=schemas.TARGET,
        gives=schemas.CAPABILITIES,
        starts_servers=True,
    ),
    Verb(
        name="scaffold_suite",
        place="authoring:scaffold_suite",
        about="Write a first suite from a server's lists; returns its text and a handle. Calls no tool. Tests "
        "of tools that do not declare readOnlyHint are skipped unless in `allow`.",
        takes=schemas.SCAFFOLD,
        gives=schemas.SCAFFOLDED,
        starts_servers=True,
    ),
    Verb(
        name="scaffold_conformance",
        place="authoring:scaffold_conformance",
        about="Write a suite of protocol checks.",
        takes=schemas.TARGET,
        gives=schemas.SCAFFOLDED_CHECKS,
        starts_servers=True,
    ),
    Verb(
        name="scaffold_redteam",
        place="authoring:scaffold_redteam",
        about="Write a suite: does a model obey instructions hidden in an answer? Running it needs a model.",
        takes=schemas.CATALOG,
        gives=schemas.SCAFFOLDED_TOOLS,
        starts_servers=True,
    ),
    Verb(
        name="scaffold_eval",
        place="authoring:scaffold_eval",
        about="Write a suite: does a model pick the right tool? Running it needs a model.",
        takes=schemas.CATALOG,
        gives=schemas.SCAFFOLDED_TOOLS,
        starts_servers=True,
    ),
    Verb(
        name="validate_suite",
        place="suites:validate_suite",
        about="Every problem of a suite, by JSON Pointer. Starts nothing.",
        takes=schemas.SUITE,
        gives=schemas.VALIDATED,
    ),
    Verb(
        name="edit_suite",
        place="edits:edit_suite",
        about="Change a suite and check it; returns its handle. An edit is {old, new} or {op, path, value} of "
        "RFC 6902; all are made, or none.",
        takes=schemas.EDIT,
        gives=schemas.EDITED,
    ),
    Verb(
        name="call_tool",
        place="introspection:call_tool",
        about="Call one tool and return the raw answer. Without `allow` or `presumed`, only a tool that "
        "declares readOnlyHint.",
        takes=schemas.CALL,
        gives=schemas.CALLED,
        gated=True,
        starts_servers=True,
        idempotent=False,
        destructive=True,
    ),
    Verb(
        name="propose_assertions",
        place="authoring:propose_assertions",
        about="Call one tool (a read-only one twice) and propose a test. Values are seen, not known to be "
        "right: check each.",
        takes=schemas.PROPOSE,
        gives=schemas.PROPOSED,
        gated=True,
        starts_servers=True,
        idempotent=False,
        destructive=True,
    ),
    Verb(
        name="run_tool_test",
        place="suites:run_tool_test",
        about="Run a suite. Returns its handle, a verdict for each test, and why it failed. Where `actual` is "
        "cut, `full` is a resource with the whole value.",
        takes=schemas.RUN_SUITE,
        gives=schemas.RAN,
        gated=True,
        starts_servers=True,
        idempotent=False,
        destructive=True,
    ),
    Verb(
        name="trigger_run",
        place="suites:trigger_run",
        about="Run a suite file (default: mcptest.yml). Answers like run_tool_test.",
        takes=schemas.TRIGGER,
        gives=schemas.RAN,
        gated=True,
        starts_servers=True,
        idempotent=False,
        destructive=True,
    ),
    Verb(
        name="record_cassette",
        place="suites:record_cassette",
        about="Run a suite file and save the servers' answers, to run it without them.",
        takes=schemas.RECORD,
        gives=schemas.RAN,
        gated=True,
        starts_servers=True,
        idempotent=False,
        destructive=True,
    ),
    Verb(
        name="mutate_suite",
        place="suites:mutate_suite",
        about="How many wrong answers does a suite notice? Its tests must pass. Survivors come with the "
        "assertion that notices them.",
        takes=schemas.MUTATE,
        gives=schemas.MUTATED,
        gated=True,
        starts_servers=True,
        idempotent=False,
        destructive=True,
    ),
)


def listed(*, writes_enabled: bool) -> Iterator[Verb]:
    """The verbs that a client is shown."""
    return (verb for verb in ALL if writes_enabled or not verb.gated)

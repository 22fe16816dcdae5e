"""Every command, run against a server that writes down each call: the rows of the table in docs/explanation/safety.md."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.errors import ExitCode
from tests.forked import ENGINE, NURSERY
from tests.servers.model_endpoint import Reply, Use

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.servers.model_endpoint import ModelEndpoint

    Run = Callable[..., subprocess.CompletedProcess[str]]

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explanation" / "safety.md"
BEGIN = "<!-- calls: `MCPTEST_UPDATE_GOLDEN=1 pytest tests/safety/test_commands.py` writes them -->\n"
END = "<!-- end of calls -->"
UPDATE = "MCPTEST_UPDATE_GOLDEN"
READ, FIND, CREATE, DELETE = "read_note", "find_note", "create_note", "delete_note"
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}
TOOLS: list[dict[str, Any]] = [
    {"name": READ, "inputSchema": TEXT, "annotations": {"readOnlyHint": True}},
    {"name": FIND, "inputSchema": TEXT},
    {"name": CREATE, "inputSchema": TEXT},
    {"name": DELETE, "inputSchema": TEXT},
]
SUITE = """\
servers:
  notes: { command: COMMAND }
tools:
  - { name: it creates, tool: create_note, args: { text: a } }
"""
GRADED = """\
servers:
  notes: { command: COMMAND }
scorers:
  - { name: fine, type: exec, command: ["printf", '{"score": 1.0}'] }
evals:
  - name: graded
    server: notes
    call: { tool: create_note, args: { text: a } }
    scorers: [fine]
"""
ASKING = """\
servers:
  notes: { command: COMMAND }
agents:
  - { name: tidy, model: gpt-5.4, prompt: tidy up, expect: [{ target: stop, matcher: { exact: end } }]LISTS }
"""
"""The model asks for each of the tools."""
WATCHED = (
    """\
servers: { notes: { command: COMMAND } }
tools:
  - { name: it reads, tool: READ, args: { text: one } }
  - { name: it creates, tool: CREATE, args: { text: one } }
  - { name: it deletes, tool: DELETE, args: { text: one } }
agents:
  - { name: it asks, model: gpt-5.4, prompt: tidy up one, expect: [{ target: stop, matcher: { exact: end } }] }
""".replace("READ", READ)
    .replace("CREATE", CREATE)
    .replace("DELETE", DELETE)
)
LIMIT_SECONDS = 60
NOBODY = "it calls no tool"
NO_SERVER = "it starts no server"
SUITE_SAYS = "the suite says so"
DECLARED = "the tool declares `readOnlyHint: true`"


class Row(NamedTuple):
    """One command line. `words` follow `mcptest`; `--command` and the server are added where `target`.

    `may` are the tools that it may call, `why` what allows that. `verb` is a verb of the MCP server or of the workbench's
    engine, with its arguments, in place of words. `watching` is the mode in which a workbench is open while a suite is saved.
    """

    shown: str
    words: tuple[str, ...] = ()
    may: frozenset[str] = frozenset()
    why: str = NOBODY
    target: bool = False
    before: tuple[tuple[str, ...], ...] = ()
    verb: tuple[str, dict[str, Any]] | None = None
    workbench: bool = False
    watching: str = ""


def _on_server(shown: str, *may: str, why: str = NOBODY) -> Row:
    return Row(shown, tuple(shlex.split(shown)), frozenset(may), why, target=True)


def _plain(shown: str, *may: str, why: str = NO_SERVER, before: tuple[str, ...] = ()) -> Row:
    return Row(
        shown, tuple(shlex.split(shown)), frozenset(may), why, before=tuple(tuple(shlex.split(one)) for one in before)
    )


def _verb(name: str, *may: str, why: str = NOBODY, **arguments: Any) -> Row:
    shown = f"MCP server: `{name}`" + "".join(
        f", `{key}: {json.dumps(value)}`" for key, value in arguments.items() if key not in ("suite", "command")
    )
    return Row(shown, may=frozenset(may), why=why, verb=(name, arguments))


def _workbench(shown: str, name: str, *may: str, why: str = NOBODY, **arguments: Any) -> Row:
    return Row(f"workbench: {shown}", may=frozenset(may), why=why, verb=(name, arguments), workbench=True)


def _saving(mode: str, *may: str, why: str) -> Row:
    return Row(f"workbench: a save while it watches `{mode}`", may=frozenset(may), why=why, watching=mode)


NAMED = "you named the tool"
WAITS = "tests that change or destroy something, or ask a model, wait for a key"
ROWS = (
    _on_server("init --yes", READ, why=DECLARED),
    _on_server("init --run", READ, why=DECLARED),
    _on_server("init --no-run"),
    _on_server("init --yes --presumed", READ, FIND, why=f"{DECLARED}, or `--presumed` allows it"),
    _on_server(
        f"init --yes --allow {CREATE}",
        READ,
        CREATE,
        why=f"{DECLARED}, or `--allow` names it; then it is called once, because it changes something",
    ),
    _on_server(
        f"init --yes --allow {DELETE}", READ, why=f"{DECLARED}; a destructive tool also needs `--execute-destructive`"
    ),
    _on_server(
        f"init --yes --allow {DELETE} --execute-destructive",
        READ,
        DELETE,
        why=f"{DECLARED}, or both options allow it, once",
    ),
    _on_server("init --yes --max-calls 1", READ, why=f"{DECLARED}; only one call is allowed"),
    _on_server(f"propose {READ}", READ, why=f"{NAMED}; twice, to see which values are stable"),
    _on_server(f"propose {FIND}", FIND, why=f"{NAMED}, and its name suggests that it only reads"),
    _on_server(f"propose {CREATE}", CREATE, why=f"{NAMED}; once, because it changes something"),
    _on_server(f"propose {DELETE}", why="refused: the tool is destructive"),
    _on_server(f"propose {DELETE} --execute-destructive", DELETE, why=f"{NAMED} and allowed it; once"),
    _on_server(f"call {CREATE}", CREATE, why=NAMED),
    *(_on_server(f"generate {kind}") for kind in ("suite --probe", "conformance", "redteam", "eval")),
    _plain(
        "run generated.yml",
        READ,
        why=f"{DECLARED}; the other tests are skipped",
        before=("generate suite --server notes --output generated.yml",),
    ),
    *(_on_server(shown) for shown in ("tools", "resources", "prompts", "capabilities", "security", "doctor")),
    _plain("run", CREATE, why=SUITE_SAYS),
    _plain("record tape", CREATE, why=SUITE_SAYS),
    _plain("eval graded.yml", CREATE, why=SUITE_SAYS),
    _plain("mutate", CREATE, why=f"{SUITE_SAYS}; a tool that changes nothing is called twice"),
    _plain("run model.yml", READ, FIND, CREATE, why="a model requested all four tools; the destructive one is refused"),
    _plain(
        "run model-allow-delete.yml",
        READ,
        DELETE,
        why=f"a model requested all four tools; `tools: {{ allow: [{DELETE}] }}` allows this one "
        "and those that declare `readOnlyHint`",
    ),
    _plain("run --replay tape", why="the cassette answers", before=("run --record tape",)),
    _plain("validate", why=NO_SERVER),
    _plain("list", why=NO_SERVER),
    *(
        _plain(shown, before=("run",))
        for shown in ("report", "review --diff", "evidence latest", "coverage", "diff-runs latest latest", "cache")
    ),
    _plain("schema"),
    _plain("skill"),
    _plain("diff old.json new.json"),
    _plain("doctor", why=NOBODY),
    _plain("demo --headless", why="it runs its own mock server"),
    *(_verb(name, command="COMMAND") for name in ("list_tools", "get_capabilities", "scaffold_suite", "scaffold_eval")),
    _verb("propose_assertions", FIND, why=NAMED, command="COMMAND", tool=FIND),
    _verb("propose_assertions", why="refused: the tool is destructive", command="COMMAND", tool=DELETE),
    _verb("call_tool", READ, why=DECLARED, command="COMMAND", tool=READ),
    _verb("call_tool", why="refused: the tool does not declare `readOnlyHint: true`", command="COMMAND", tool=FIND),
    _verb("call_tool", CREATE, why="the agent allowed one call", command="COMMAND", tool=CREATE, allow=[CREATE]),
    _verb("call_tool", why="refused: the tool is destructive", command="COMMAND", tool=DELETE, allow=[DELETE]),
    _verb("validate_suite", why=NO_SERVER, suite=SUITE),
    _verb("edit_suite", why=NO_SERVER, suite=SUITE),
    _verb("run_tool_test", CREATE, why=SUITE_SAYS, suite=SUITE),
    _verb("trigger_run", CREATE, why=SUITE_SAYS, config="mcptest.yml"),
    _workbench("a new suite", "scaffold"),
    _workbench(f"propose {FIND}", "propose", FIND, why=NAMED, tool=FIND, arguments={}),
    _workbench(f"propose {DELETE}", "propose", why="refused unless you say yes", tool=DELETE, arguments={}),
    _workbench(
        f"propose {DELETE}, with a yes",
        "propose",
        DELETE,
        why="you said yes to this one call",
        tool=DELETE,
        arguments={},
        confirmed=True,
    ),
    _saving("off", why="nothing is run"),
    _saving("affected", READ, why=WAITS),
    _saving("all", READ, why=WAITS),
)
NOT_RUN = {
    "login": "it talks to the authorization server",
    "mcp-server": "its verbs stand in the table",
    "view": "it shows runs that are kept",
    "serve": "it stands in for a server",
    "mock": "it is a server",
    "fmt": "it rewrites a file",
    "help": "it prints texts",
    "completion": "it prints a script",
}
"""Commands without a row, and why."""


class Bench:
    """A folder with a suite, catalogs and the server, in which a row is run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / ".mcptest").mkdir(parents=True)
        (folder / "script.json").write_text(json.dumps({"tools": TOOLS, "answers": {}}))
        self.diary = folder / "diary"
        server = ROOT / "tests" / "servers" / "scripted.py"
        self.argv = [sys.executable, "-S", str(server), str(folder / "script.json"), str(self.diary)]
        suites = {
            "mcptest.yml": SUITE,
            "graded.yml": GRADED,
            "watched.yml": WATCHED,
            "model.yml": ASKING.replace("LISTS", ""),
            "model-allow-delete.yml": ASKING.replace("LISTS", f", tools: {{ allow: [{DELETE}] }}"),
        }
        for name, text in suites.items():
            (folder / name).write_text(self._filled(text))
        for name, tools in (("old.json", TOOLS[:3]), ("new.json", TOOLS)):
            (folder / name).write_text(json.dumps({"tools": tools}))

    def calls(
        self, row: Row, mcptest: Run, command: str, environ: dict[str, str], models: ModelEndpoint
    ) -> Counter[str]:
        """Run the row; which tools were called how often."""
        models.reset()
        models.answers(*(Reply(uses=[Use(tool["name"], {"text": "a"})]) for tool in TOOLS), "done")
        for words in row.before:
            mcptest(*words, cwd=self.folder)
        self.diary.unlink(missing_ok=True)
        if row.watching:
            program = [sys.executable, "-m", "tests.safety.saving", row.watching, "watched.yml"]
            where = {**environ, **models.environ, "PYTHONPATH": str(ROOT)}
            subprocess.run(program, cwd=self.folder, env=where, check=True, timeout=10 * LIMIT_SECONDS)
        elif row.workbench:
            self._ask_engine(row, environ)
        elif row.verb is not None:
            self._ask_door(row, command, environ)
        else:
            options = ["--command", shlex.join(self.argv)] if row.target else []
            if row.words[0] == "init":
                options += ["--output", "made.yml"]
            done = mcptest(*row.words, *options, cwd=self.folder, **models.environ)
            assert done.returncode != ExitCode.INVALID, done.stderr
            assert "Traceback" not in done.stderr, done.stderr
        return Counter(self.diary.read_text().split() if self.diary.exists() else ())

    def _filled(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._filled(one) for key, one in value.items()}
        if value == "COMMAND":
            return self.argv
        return value.replace("COMMAND", json.dumps(self.argv)) if isinstance(value, str) else value

    def _ask_door(self, row: Row, command: str, environ: dict[str, str]) -> None:
        assert row.verb is not None
        name, arguments = row.verb
        opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        call = {"name": name, "arguments": self._filled(arguments)}
        opening_messages: list[dict[str, Any]] = [
            {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": opening},
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
        ]
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        answer = self._talk(
            [command, "mcp-server", "--enable-writes"],
            opening_messages,
            lambda message: message.get("id") == 0,
            asked,
            lambda message: message.get("id") == 1,
            environ,
        )
        assert answer.get("result", {}).get("isError") is row.why.startswith("refused"), answer

    def _ask_engine(self, row: Row, environ: dict[str, str]) -> None:
        assert row.verb is not None
        name, arguments = row.verb
        answer = self._talk(
            [ENGINE],
            [{"ask": 1, "do": "connect", "session": "s", "target": {"command": self.argv, "name": "notes"}}],
            lambda told: told.get("event") == "server.state" and told.get("state") == "ready",
            {"ask": 2, "do": name, "session": "s", **arguments},
            lambda told: told.get("reply") == 2,
            environ,
        )
        assert answer.get("error", {}).get("kind", "policy") == "policy", answer

    def _talk(
        self,
        argv: Sequence[str],
        opening: Sequence[dict[str, Any]],
        is_open: Callable[[dict[str, Any]], bool],
        asked: dict[str, Any],
        is_answer: Callable[[dict[str, Any]], bool],
        environ: dict[str, str],
    ) -> dict[str, Any]:
        """The answer to `asked`, which is sent once `is_open` holds."""
        process = NURSERY.start(argv, cwd=self.folder, env=environ, stdin=True, stderr=sys.__stderr__)
        limit = threading.Timer(LIMIT_SECONDS, process.kill)
        limit.start()
        assert process.stdin is not None
        assert process.stdout is not None
        with process.stdin, process.stdout:
            for messages, wanted in ((opening, is_open), ([asked], is_answer)):
                process.stdin.write("".join(f"{json.dumps(message)}\n" for message in messages))
                process.stdin.flush()
                answer: dict[str, Any] = next((read for read in map(json.loads, process.stdout) if wanted(read)), {})
                assert answer, "it ended without an answer"
            process.stdin.close()
            process.stdout.read()
        process.wait(LIMIT_SECONDS)
        limit.cancel()
        return answer


def table(found: Sequence[tuple[Row, Counter[str]]]) -> str:
    """The rows as Markdown."""
    lines = ["| command | what it called | why |", "|---|---|---|"]
    for row, calls in found:
        called = (
            ", ".join(f"`{name}`{f' {count} times' if count > 1 else ''}" for name, count in sorted(calls.items()))
            or "nothing"
        )
        shown = row.shown if row.verb is not None or row.watching else f"`{row.shown}`"
        lines.append(f"| {shown} | {called} | {row.why} |")
    return "\n".join(lines) + "\n"


def on_the_page() -> str:
    """The part of docs/explanation/safety.md that this writes."""
    return PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]


def write_page(text: str) -> None:
    """Put it there."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}{text}{END}{rest.partition(END)[2]}", encoding="utf-8")


def updates() -> bool:
    """Whether the page is to be written."""
    return bool(os.environ.get(UPDATE)) and not os.environ.get("CI")

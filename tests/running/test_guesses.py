"""Made-up arguments: an error lets no test pass by itself, over a real server that is whole, half broken or broken."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.core.errors import SuiteError
from mcptest_engine.reporting.record_schema import record_fault
from mcptest_engine.reporting.registry import render
from mcptest_engine.running.guesses import found_nothing, same_error
from mcptest_engine.running.settings import Selection
from tests.conftest import SERVERS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mcptest_engine.core.run_record import RunRecord

    RunOf = Callable[..., RunRecord]

ANSWERED = "expect: [{ target: result.content, matcher: { type: array } }]"
TESTS = f"""
tools:
  - {{ name: real, tool: get_book, args: {{ book_id: b-7741 }}, guess: true, {ANSWERED} }}
  - {{ name: made up, tool: get_book, args: {{ book_id: "1" }}, guess: [book_id], {ANSWERED} }}
  - {{ name: without, tool: get_book, guess: [book_id], outcome: error }}
  - {{ name: of another type, tool: get_book, args: {{ book_id: 7 }}, guess: [book_id], outcome: error }}
  - {{ name: accepted, tool: get_book, args: {{ book_id: b-9020 }}, guess: [book_id], outcome: error }}
prompts:
  - {{ name: prompt, prompt: review, args: {{ book_id: "1" }}, guess: true, {ANSWERED} }}
"""
DOWN = "the generated arguments were refused: database is down; replace them"


def suite(tests: str, *arguments: str) -> str:
    command = [sys.executable, "-S", str(SERVERS / "library.py"), *arguments]
    return f"servers: {{ library: {{ command: {json.dumps(command)} }} }}\n{tests}"


def told(record: RunRecord) -> dict[str, tuple[str, str | None]]:
    assert record_fault(json.loads(json.dumps(record.to_json()))) is None
    return {test.name: (test.verdict.value, test.message) for test in record.tests}


def test_made_up_arguments_that_are_refused_leave_a_test_open(record_of: RunOf) -> None:
    """Ruling A7: never a pass, never a failure, and the exit code stays as it is."""
    record = record_of(suite(TESTS.replace("  - { name: accepted", "  - { skip: true, name: accepted")))
    refused = "the generated arguments were refused: "
    assert told(record) == {
        "real": ("pass", None),
        "made up": ("inconclusive", f"{refused}no book has the id 1; replace them"),
        "without": ("pass", None),
        "of another type": ("pass", None),
        "accepted": ("skip", "skipped by the suite"),
        "prompt": ("inconclusive", f'{refused}error -32602 "there is no such book"; replace them'),
    }
    assert record.exit_code == 0
    row = record.tests[1].assertions[0]
    assert (row.implicit, row.passed, row.actual) == ("outcome", None, "tool_error")


def test_invalid_arguments_that_are_accepted_fail_a_test(record_of: RunOf) -> None:
    verdict, message = told(record_of(suite(TESTS)))["accepted"]
    assert (verdict, message) == ("fail", "the call succeeded, but the test expects an error (`outcome: error`)")


@pytest.mark.parametrize("code", [None, "-32603", "-32602", "-32000"])
@pytest.mark.parametrize("workers", [1, 8])
def test_on_a_broken_server_nothing_made_up_passes(record_of: RunOf, code: str | None, workers: int) -> None:
    """Also what is to be refused: valid arguments got the same error, whatever its code."""
    flags = ("--broken", "all", *(("--as-error", code) if code else ()))
    record = record_of(suite(TESTS, *flags), workers=workers)
    assert {test.verdict.value for test in record.tests} == {"inconclusive"}
    assert record.exit_code == 0


def test_an_error_that_is_not_about_the_arguments_is_no_refusal_of_them(record_of: RunOf) -> None:
    """Also where no valid call is there to compare with."""
    record = record_of(suite(TESTS, "--broken", "all"), selection=Selection(filter="without"))
    why = "the call failed, but not clearly because of its invalid arguments: database is down"
    assert told(record) == {"without": ("inconclusive", why)}


def test_valid_arguments_that_got_the_same_error_speak_against_a_refusal(record_of: RunOf) -> None:
    """Although its words are those of a validation."""
    record = record_of(suite(TESTS, "--broken", "all", "--as-error", "-32602"))
    why = "valid arguments got the same error, so it is not clear that the invalid ones were refused"
    message = told(record)["without"][1]
    assert message == f'{why}: the server answered error -32602 "database is down"'


@pytest.mark.parametrize(
    "says",
    [
        "Invalid parameter state in request {n}: backend offline",
        "invalid argument (request 0000000{n}-6f2b-4c7e-9a51-3f0de11f2a7c)",
        "invalid argument at 2026-11-25T08:00:0{n}.25Z, trace 9f3ac0de{n}1",
        "invalid argument: object at 0x7f3a{n}c",
    ],
)
def test_a_number_or_an_id_makes_no_other_error_of_it(record_of: RunOf, says: str) -> None:
    """A counter, a time or the id of a request differs in each answer of a server that refuses everything."""
    record = record_of(suite(TESTS, "--broken", "all", "--says", says))
    verdict, message = told(record)["without"]
    assert (verdict, (message or "").partition(",")[0]) == ("inconclusive", "valid arguments got the same error")


def test_errors_of_other_codes_or_words_are_other_errors() -> None:
    assert same_error('the server answered error -32602 "no"', ['the server answered error -32603 "no"']) is None
    assert same_error("`id` is missing", ["no book has the id 1"]) is None


@pytest.mark.parametrize(
    "text",
    [
        'Traceback (most recent call last):\n  File "a.py", line 1\nZeroDivisionError',
        "TypeError: x is undefined\n    at get (/srv/app.js:10:7)",
        "java.lang.NullPointerException\n\tat org.shop.Books.get(Books.java:17)",
        "panic: nil map\n\ngoroutine 1 [running]:",
    ],
)
def test_a_stack_trace_for_an_answer_leaves_a_guess_open(record_of: RunOf, tmp_path: Path, text: str) -> None:
    """It is no proof that the tool works, although the server calls it a success. Of arguments that somebody gave it may be."""
    tool = {"name": "get_book", "response": {"content": [{"type": "text", "text": text}]}}
    manifest = tmp_path / "manifest.yml"
    manifest.write_text(json.dumps({"mock_server": {"tools": [tool]}}), encoding="utf-8")
    command = [sys.executable, "-m", "mcptest_engine.mock", "--tools-from", str(manifest)]
    record = record_of(f"""
servers: {{ s: {{ command: {json.dumps(command)} }} }}
tools:
  - {{ name: made up, tool: get_book, guess: true, {ANSWERED} }}
  - {{ name: given, tool: get_book, {ANSWERED} }}
""")
    made_up, given = record.tests
    assert (made_up.verdict, given.verdict) == ("inconclusive", "pass")
    assert made_up.undecided == "success"
    assert (made_up.message or "").startswith("the answer to the generated arguments is a stack trace: ")


def test_a_tool_that_the_server_does_not_have_fails_also_a_guess(record_of: RunOf) -> None:
    """No arguments would help."""
    test = f"tools: [{{ name: gone, tool: get_bok, args: {{ book_id: x }}, guess: true, {ANSWERED} }}]"
    verdict, message = told(record_of(suite(test)))["gone"]
    assert verdict == "fail"
    assert (
        message == 'server "library" lists no tool "get_bok"; the server answered error -32602 "Unknown tool: get_bok"'
    )


def test_a_server_of_the_sdk_that_names_the_tool_before_its_own_words_has_the_tool(
    record_of: RunOf, tmp_path: Path
) -> None:
    """FastMCP puts `Error executing tool NAME: ` in front of what the tool raised, such as `unknown item`."""
    names = ("unknown item", "not found")
    script = {
        "tools": [{"name": f"tool{at}", "inputSchema": {"type": "object"}} for at in range(len(names))],
        "answers": {
            f"tool{at}": [{"result": {"isError": True, "content": [{"type": "text", "text": text}]}}]
            for at, text in enumerate(f"Error executing tool tool{at}: {name}" for at, name in enumerate(names))
        },
    }
    (tmp_path / "script.json").write_text(json.dumps(script), encoding="utf-8")
    command = [sys.executable, str(SERVERS / "scripted.py"), str(tmp_path / "script.json")]
    tests = [{"name": f"test{at}", "tool": f"tool{at}", "guess": True} for at in range(len(names))]
    record = record_of(json.dumps({"servers": {"s": {"command": command}}, "tools": tests}))
    assert [test.verdict.value for test in record.tests] == ["inconclusive", "inconclusive"]


@pytest.mark.parametrize("outcome", ["any", "success"])
def test_no_outcome_lets_a_guess_pass_on_an_error(record_of: RunOf, outcome: str) -> None:
    """Nor an assertion that looks at the error, nor `run_options`."""
    looks = "expect: [{ target: result.isError, matcher: { exact: true } }]"
    test = f"{{ tool: get_book, args: {{ book_id: x }}, guess: true, {looks}"
    tests = f"run_options: {{ outcome: any }}\ntools: [{test}, name: a, outcome: {outcome} }}, {test}, name: b }}]"
    assert {verdict for verdict, _ in told(record_of(suite(tests))).values()} == {"inconclusive"}


def test_what_was_to_be_looked_at_after_a_refused_call_is_not_looked_at(record_of: RunOf) -> None:
    step = f"verify: [{{ tool: get_book, args: {{ book_id: x }}, {ANSWERED} }}]"
    tests = f"tools: [{{ name: t, tool: get_book, args: {{ book_id: x }}, guess: true, {step} }}]"
    record = record_of(suite(tests))
    assert (record.tests[0].verdict.value, record.tests[0].verify) == ("inconclusive", ())


def test_a_snapshot_is_not_taken_of_a_refusal(record_of: RunOf) -> None:
    snapshot = "expect: [{ target: result.content, matcher: { snapshot: true } }]"
    record = record_of(
        suite(f"tools: [{{ name: t, tool: get_book, args: {{ book_id: x }}, guess: true, {snapshot} }}]")
    )
    assert [row.implicit for row in record.tests[0].assertions] == ["outcome"]


def test_secrets_are_taken_out_of_the_text_of_a_refusal(record_of: RunOf) -> None:
    secret = "ghp_" + "A1b2" * 9
    tests = f"tools: [{{ name: t, tool: get_book, args: {{ book_id: {secret} }}, guess: true }}]"
    message = record_of(suite(tests)).tests[0].message
    assert message is not None
    assert secret not in message
    assert "no book has the id [REDACTED]" in message


def test_a_guess_is_a_key_of_tools_resources_and_prompts_alone(suite_of: Callable[..., Any]) -> None:
    for block in ("defaultTest: { guess: true }", "compliance: [{ name: c, check: ping, guess: true }]"):
        with pytest.raises(SuiteError, match="guess"):
            suite_of(suite(block))


def test_an_outcome_that_counts_for_nothing_beside_a_guess_is_told(suite_of: Callable[..., Any]) -> None:
    loaded = suite_of(suite("tools: [{ name: t, tool: get_book, guess: true, outcome: any }]"))
    assert [problem.message for problem in loaded.warnings] == [
        "`outcome: any` has no effect beside `guess`: a test with made-up arguments never passes on an error"
    ]


# --- better arguments

CHAPTER = "{ tool: get_chapter, args: { book_id: '1', chapter: 1 }, guess: [book_id]"


def test_the_record_holds_the_schema_and_the_values_that_a_read_only_tool_returned(record_of: RunOf) -> None:
    record = record_of(suite(f"tools: [{CHAPTER}, name: t }}, {{ name: list, tool: list_books, {ANSWERED} }}]"))
    told(record)
    guess = record.tests[0].guess
    assert guess is not None
    assert guess["input_schema"]["properties"]["book_id"] == {"type": "string", "description": "The id of the book."}
    assert (guess["arguments"], guess["sources"]) == ({"book_id": "b-7741", "chapter": 1}, {"book_id": "list_books"})
    assert record.tests[1].guess is None


def test_no_tool_is_called_for_better_arguments(record_of: RunOf, tmp_path: Path) -> None:
    """Only what the suite called is known."""
    diary = tmp_path / "diary"
    record = record_of(suite(f"tools: [{CHAPTER}, name: t }}]", "--diary", str(diary)))
    assert len(diary.read_text().splitlines()) == 1
    assert record.tests[0].guess is not None
    assert "arguments" not in record.tests[0].guess


def test_an_empty_value_that_a_test_is_about_stays(record_of: RunOf) -> None:
    test = f"tools: [{CHAPTER}, name: t }}, {{ name: list, tool: list_books, {ANSWERED} }}]".replace("'1'", "''")
    guess = record_of(suite(test)).tests[0].guess
    assert guess is not None
    assert "arguments" not in guess


RETURNED = {
    "structuredContent": {"entities": [{"name": "Ada", "entityType": "person"}]},
    "content": [{"type": "text", "text": "Allowed directories:\n/srv/files\n- Owner: ada"}],
}
REFUSED = {"isError": True, "content": [{"type": "text", "text": "no such thing"}]}
READS = {"annotations": {"readOnlyHint": True}}


def better(record_of: RunOf, folder: Path, tool: str, arguments: Any, *, hints: Any = READS, schema: Any = None) -> Any:
    """What is proposed for the refused arguments of `tool`, on a server whose tool `look` returns something."""
    inputs = {"type": "object", "properties": {name: schema or {} for name in arguments}}
    tools = [{"name": "look", "inputSchema": {"type": "object"}, **hints}, {"name": tool, "inputSchema": inputs}]
    script = {"tools": tools, "answers": {"look": [{"result": RETURNED}], tool: [{"result": REFUSED}]}}
    (folder / "script.json").write_text(json.dumps(script))
    command = [sys.executable, "-S", str(SERVERS / "scripted.py"), str(folder / "script.json")]
    look = f"{{ name: look, tool: look, {ANSWERED} }}"
    test = f"{{ name: t, tool: {tool}, args: {json.dumps(arguments)}, guess: true }}"
    record = record_of(f"servers: {{ s: {{ command: {json.dumps(command)} }} }}\ntools: [{look}, {test}]")
    guess = record.tests[1].guess
    assert guess is not None
    return guess.get("arguments")


@pytest.mark.parametrize(
    ("tool", "argument", "schema", "value"),
    [
        ("read_file", "path", {"type": "string"}, "/srv/files"),
        ("list_directory", "directory", {"type": "string"}, "/srv/files"),
        ("open_nodes", "names", {"type": "array", "items": {"type": "string"}}, ["Ada"]),
        ("find", "owner", {"type": "string"}, "ada"),
        ("find", "entity_type", {"type": "string"}, "person"),
        ("get_entity", "entity", {"type": "string"}, "Ada"),
    ],
)
def test_a_value_is_found_by_the_words_of_its_name(
    tool: str, argument: str, schema: Any, value: Any, record_of: RunOf, tmp_path: Path
) -> None:
    given = ["made-up"] if schema["type"] == "array" else "made-up"
    assert better(record_of, tmp_path, tool, {argument: given}, schema=schema) == {argument: value}


@pytest.mark.parametrize(("argument", "schema"), [("entity", {"type": "integer"}), ("colour", {"type": "string"})])
def test_a_value_of_another_type_or_name_is_not_taken(
    argument: str, schema: Any, record_of: RunOf, tmp_path: Path
) -> None:
    assert better(record_of, tmp_path, "get_entity", {argument: 7}, schema=schema) is None


@pytest.mark.parametrize("hints", [{}, {"annotations": {"readOnlyHint": False}}])
def test_a_tool_that_does_not_declare_to_be_read_only_is_no_source(
    hints: Any, record_of: RunOf, tmp_path: Path
) -> None:
    assert better(record_of, tmp_path, "find", {"owner": "x"}, hints=hints) is None


@pytest.mark.parametrize(
    ("form", "wanted"),
    [
        ("pretty", "INCONC  made up          (TIME)  REFUSED"),
        ("minimal", "INCONC made up: REFUSED"),
        ("md", "<code>made up</code>: REFUSED"),
        ("junit", '<skipped message="inconclusive: REFUSED"/>'),
        ("tap", "not ok 2 - made up # TODO inconclusive: REFUSED"),
        ("github", "title=made up::inconclusive: REFUSED"),
        ("gitlab", "made up: inconclusive: REFUSED"),
        ("agent", "INCONCLUSIVE REFUSED: made up"),
        ("html", "REFUSED"),
        ("json", '"message": "REFUSED"'),
    ],
)
def test_every_report_tells_which_arguments_were_refused_and_how(record_of: RunOf, form: str, wanted: str) -> None:
    refused = "the generated arguments were refused: no book has the id 1; replace them"
    rendered = render(form, record_of(suite(TESTS)))
    text = re.sub(r"\(<?\d+ms\)", "(TIME)", f"{rendered.stdout}{rendered.stderr}").replace(refused, "REFUSED")
    assert wanted in text


@pytest.mark.parametrize(
    ("result", "nothing"),
    [
        ({"content": [{"type": "text", "text": "[]"}]}, True),
        ({"content": []}, True),
        ({"content": [{"type": "text", "text": "No matching notes found."}]}, True),
        ({"content": [{"type": "text", "text": "{'rows': []}"}]}, True),
        ({"content": [], "structuredContent": {"items": [], "total": 0}}, True),
        ({"content": [], "structuredContent": {"items": [], "shelves": ["a"]}}, False),
        ({"content": [{"type": "text", "text": "Oslo: 19 degrees"}]}, False),
        ({"content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}]}, False),
        ({"content": [{"type": "text", "text": "[]"}], "isError": True}, False),
    ],
)
def test_a_search_that_finds_nothing_is_known_by_its_answer(result: Any, nothing: bool) -> None:
    assert found_nothing(result) is nothing

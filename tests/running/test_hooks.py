"""The hooks of a run, with real processes: their order, whose failure is whose, what they may change for each other."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.core.events import CaseFinished, CaseStarted, HookFinished, HookStarted, RunFinished, RunStarted
from mcptest_engine.core.results import FailureKind, Verdict
from tests.running.hook_suites import Folder, failing, writing

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    from mcptest_engine.core.run_record import RunRecord

    Command = Callable[..., subprocess.CompletedProcess[str]]
    RecordOf = Callable[..., RunRecord]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def verdicts(record: RunRecord) -> dict[str, str]:
    return {test.name: test.verdict.value for test in record.tests}


def told(record: RunRecord, name: str) -> str | None:
    return next(test.message for test in record.tests if test.name == name)


def ran(record: RunRecord) -> list[tuple[str, str | None]]:
    """Phase and test of every hook that ran."""
    return [(hook.phase, hook.test and hook.test.rpartition("::")[2]) for hook in record.hooks]


def all_four(folder: Folder) -> dict[str, Any]:
    return {phase: folder.script(phase) for phase in ("beforeAll", "afterAll", "beforeEach", "afterEach")}


def test_the_brackets_of_a_run_of_two_tests_nest(folder: Folder, record_of: RecordOf) -> None:
    """The order of the document; the servers start inside the run's bracket and end inside it."""
    record = record_of(folder.suite(all_four(folder)), workers=8)
    around = ["beforeEach", "one", "afterEach", "beforeEach", "two", "afterEach"]
    assert folder.lines()[0] == "beforeAll"
    assert [line for line in folder.lines() if line != "server starts"] == [
        "beforeAll",
        *around,
        "server ends",
        "afterAll",
    ]
    assert folder.lines().index("server starts") in {1, 2}
    assert ran(record) == [
        ("beforeAll", None),
        ("beforeEach", "one"),
        ("afterEach", "one"),
        ("beforeEach", "two"),
        ("afterEach", "two"),
        ("afterAll", None),
    ]
    assert all(hook.passed and hook.exit_code == 0 for hook in record.hooks)
    offsets = [hook.started_offset_ms for hook in record.hooks]
    assert offsets == sorted(offsets)
    assert record.duration_ms >= offsets[-1]


def test_the_commands_of_a_phase_run_in_declared_order(folder: Folder, record_of: RecordOf) -> None:
    """A list of texts and mappings."""
    steps = [folder.script("a"), folder.context("b"), folder.script("c")]
    record = record_of(folder.suite({"beforeAll": steps}))
    assert [hook.command.rpartition("/")[2] for hook in record.hooks] == ["a", "b", "c"]
    assert folder.lines()[:2] == ["a", "c"]


def test_events_tell_each_command_in_its_place(folder: Folder, record_of: RecordOf) -> None:
    """A listener follows the run without reading anything else."""
    events: list[object] = []
    record = record_of(folder.suite(all_four(folder), writing("one")), emit=events.append)
    shown = [event for event in events if isinstance(event, HookStarted | HookFinished | CaseStarted | CaseFinished)]
    kinds = [type(event).__name__ for event in shown]
    around = ["HookStarted", "HookFinished"]
    assert kinds == [*around, *around, "CaseStarted", "CaseFinished", *around, *around]
    assert [event.result for event in events if isinstance(event, HookFinished)] == list(record.hooks)
    first = next(event for event in events if isinstance(event, HookStarted))
    assert (first.phase, first.test, first.command) == ("beforeAll", None, str(folder.path / "beforeAll"))
    assert isinstance(events[-1], RunFinished)


def test_a_test_has_one_bracket_around_all_its_attempts(folder: Folder, record_of: RecordOf) -> None:
    """What is verified afterwards included."""
    step = {"tool": "write", "args": {"text": "verified"}}
    hooks = {"beforeEach": folder.script("before"), "afterEach": folder.script("after")}
    suite = folder.suite(hooks, failing("f", retries=2), writing("v", verify=[step]))
    record_of(suite)
    kept = [line for line in folder.lines() if not line.startswith("server")]
    assert kept == ["before", "fail", "fail", "fail", "after", "before", "v", "verified", "after"]


def test_hooks_go_around_each_attempt_where_the_suite_says_so(folder: Folder, record_of: RecordOf) -> None:
    """The steps of `verify` belong to their attempt."""
    step = {"tool": "write", "args": {"text": "verified"}}
    hooks = {"per_attempt": True, "beforeEach": folder.script("before"), "afterEach": folder.context("after")}
    suite = folder.suite(hooks, failing("f", retries=1), writing("v", verify=[step]))
    record = record_of(suite)
    kept = [line for line in folder.lines() if not line.startswith("server")]
    assert kept == ["before", "fail", "before", "fail", "before", "v", "verified"]
    assert [context["result"]["verdict"] for context in folder.contexts()] == ["fail", "fail", "pass"]
    assert len(record.tests[0].attempts) == 2


def test_a_before_each_that_fails_before_a_retry_fails_the_test(folder: Folder, record_of: RecordOf) -> None:
    """The bracket is closed all the same, and the attempt that was made is kept."""
    once = folder.script("before", 'test "$(grep -c before "$diary")" -lt 2')
    hooks = {"per_attempt": True, "beforeEach": once, "afterEach": folder.script("after")}
    record = record_of(folder.suite(hooks, failing("f", retries=5)))
    kept = [line for line in folder.lines() if not line.startswith("server")]
    assert kept == ["before", "fail", "after", "before", "after"]
    failure = record.tests[0].failure
    assert failure is not None
    assert (failure.kind, failure.message) == (FailureKind.HOOK, f"beforeEach failed: {once} exited with 1")


def test_a_hook_around_each_attempt_makes_the_run_serial(folder: Folder, record_of: RecordOf) -> None:
    events: list[Any] = []
    record_of(folder.suite({"per_attempt": True, "afterEach": "true"}), emit=events.append, workers=5)
    assert [event.workers for event in events if isinstance(event, RunStarted)] == [1]


def test_hooks_around_the_run_alone_leave_tests_concurrent(folder: Folder, record_of: RecordOf) -> None:
    """Only a per-test hook makes a run serial."""
    workers = []
    for phase in ("beforeAll", "afterAll", "beforeEach", "afterEach"):
        events: list[Any] = []
        record_of(folder.suite({phase: folder.script("a")}), emit=events.append, workers=5)
        workers.append(next(event.workers for event in events if isinstance(event, RunStarted)))
    assert workers == [5, 5, 1, 1]


def test_a_failed_before_all_fails_every_test_that_would_have_run(folder: Folder, record_of: RecordOf) -> None:
    """One short reason, the output once, no server, and what is left of the phase is not run."""
    seed = folder.script("seed.sh", "echo no database >&2; exit 3")
    hooks = {"beforeAll": [seed, folder.script("later")], "afterAll": folder.script("afterAll"), "beforeEach": "false"}
    record = record_of(folder.suite(hooks, writing("one"), writing("two"), writing("off", skip="broken")), bail=1)
    assert verdicts(record) == {"one": "fail", "two": "fail", "off": "skip"}
    message = f"beforeAll failed: {seed} exited with 3"
    for test in record.tests[:2]:
        assert test.failure is not None
        assert (test.failure.kind, test.failure.message, test.message) == (FailureKind.HOOK, message, message)
        assert test.failure.stderr_tail is None
    assert folder.lines() == ["seed.sh", "afterAll"]
    assert record.servers == ()
    assert record.exit_code == 1
    assert [(hook.phase, hook.passed, hook.output) for hook in record.hooks] == [
        ("beforeAll", False, "no database\n"),
        ("afterAll", True, ""),
    ]


def test_a_failed_before_all_fails_a_test_too_that_lacks_a_key(mcptest: Command, tmp_path: Path) -> None:
    """Its model could not have been asked either; what failed is the hook."""
    agents = "agents: [{ name: a, model: gpt-5.4, prompt: p, expect: [{ target: stop, matcher: { exact: end } }] }]"
    suite = f"servers: {{ demo: {{ command: [mcptest, mock, --preset, demo] }} }}\nhooks: {{ beforeAll: 'false' }}\n{agents}\n"
    tests = "tools: [{ name: t, tool: status }]\n"
    (tmp_path / "mcptest.yml").write_text(suite + tests)
    done = mcptest("run", "--reporter", "json")
    assert {test["name"]: test["message"] for test in json.loads(done.stdout)["tests"]} == {
        "a": "beforeAll failed: false exited with 1",
        "t": "beforeAll failed: false exited with 1",
    }
    assert done.returncode == 1


def test_a_failed_before_each_fails_its_test_without_calling_anything(folder: Folder, record_of: RecordOf) -> None:
    """And its bracket is closed, and the other tests run."""
    picky = folder.python("picky.py", "sys.exit('one' in json.load(sys.stdin)['test']['name'] and 4)")
    hooks = {
        "beforeEach": [{"command": picky, "mode": "context"}, folder.script("second")],
        "afterEach": folder.script("afterEach"),
    }
    record = record_of(folder.suite(hooks))
    assert verdicts(record) == {"one": "fail", "two": "pass"}
    assert told(record, "one") == f"beforeEach failed: {picky} exited with 4"
    assert record.tests[0].request is None
    assert [line for line in folder.lines() if "server" not in line] == ["afterEach", "second", "two", "afterEach"]


def test_a_failure_after_a_test_is_told_and_fails_nothing(folder: Folder, record_of: RecordOf) -> None:
    """The commands behind it still clean up."""
    hooks = {
        "afterEach": [folder.script("each", "exit 2"), folder.script("reset")],
        "afterAll": [folder.script("all", "exit 5"), folder.script("teardown")],
    }
    record = record_of(folder.suite(hooks, writing("one")))
    assert (verdicts(record), record.exit_code) == ({"one": "pass"}, 0)
    assert record.warnings == (
        f"one: afterEach failed: {folder.path / 'each'} exited with 2",
        f"afterAll failed: {folder.path / 'all'} exited with 5",
    )
    assert [hook.passed for hook in record.hooks] == [False, True, False, True]
    assert {"reset", "teardown"} <= set(folder.lines())


def test_every_phase_is_told_its_context(folder: Folder, record_of: RecordOf) -> None:
    """The shape of the document, member for member."""
    hooks = {phase: folder.context(f"{phase}.py") for phase in ("beforeAll", "afterAll", "beforeEach", "afterEach")}
    extra = {"env": {"BASE_URL": "http://localhost:1"}, "variables": {"region": "us-west", "n": 3}}
    record_of(folder.suite(hooks, writing("one"), failing("two"), **extra))
    common = {"suite": {"name": "s"}, "env": extra["env"], "vars": extra["variables"]}
    first, each, after, _, failed, last = folder.contexts()
    assert first == {"phase": "beforeAll", "test": None, "result": None, **common}
    assert each == {"phase": "beforeEach", "test": {"name": "one"}, "result": None, **common}
    assert after == {"phase": "afterEach", "test": {"name": "one"}, "result": {"verdict": "pass"}, **common}
    assert failed["result"]["verdict"] == "fail"
    assert failed["result"]["message"] == "the tool reported an error: written"
    assert last == {
        "phase": "afterAll",
        "test": None,
        "result": {"verdict": "fail", "message": "1 of 2 tests failed"},
        **common,
    }


def test_patches_hold_as_far_as_their_bracket(folder: Folder, record_of: RecordOf) -> None:
    """`beforeAll`'s for every later hook, `beforeEach`'s for that test's; an after phase's for nobody."""
    show = folder.script("show", 'echo "$A $B $C $D" >> "$diary"')
    once = folder.python(
        "once.py",
        "name = json.load(sys.stdin)['test']['name']\nprint(json.dumps({'env': {'B': name}, 'vars': {'b': [name]}}))",
    )
    hooks = {
        "beforeAll": [folder.context("all.py", {"env": {"A": "a"}, "vars": {"a": 1}}), show],
        "beforeEach": [{"command": once, "mode": "context"}, folder.context("see.py"), show],
        "afterEach": [folder.context("late.py", {"env": {"C": "c"}, "vars": {"c": 1}}), show],
        "afterAll": [folder.context("end.py"), show],
    }
    record = record_of(folder.suite(hooks, env={"D": "d"}, variables={"v": True}))
    assert record.warnings == ()
    shown = [after for line, after in zip(folder.lines(), folder.lines()[1:], strict=False) if line == "show"]
    assert shown == ["a   d", "a one  d", "a one  d", "a two  d", "a two  d", "a   d"]
    assert [context["vars"] for context in folder.contexts()] == [
        {"v": True},
        {"v": True, "a": 1, "b": ["one"]},
        {"v": True, "a": 1, "b": ["one"]},
        {"v": True, "a": 1, "b": ["two"]},
        {"v": True, "a": 1, "b": ["two"]},
        {"v": True, "a": 1},
    ]
    assert folder.contexts()[-1]["env"] == {"D": "d", "A": "a"}


def test_a_patch_does_not_reach_a_test_s_arguments(folder: Folder, record_of: RecordOf) -> None:
    """Those are resolved before the run."""
    hooks = {"beforeEach": folder.context("p.py", {"vars": {"who": "patched"}})}
    record_of(folder.suite(hooks, writing("x", args={"text": "${who}"}), variables={"who": "declared"}))
    assert "declared" in folder.lines()


def test_skip_in_before_all_skips_every_test(folder: Folder, record_of: RecordOf) -> None:
    """With its reason, without a server, and the run's bracket is closed."""
    hooks = {
        "beforeAll": [folder.context("skip.py", {"skip": {"reason": "no creds"}}), folder.script("later")],
        "beforeEach": folder.script("each"),
        "afterAll": folder.script("afterAll"),
    }
    record = record_of(folder.suite(hooks))
    assert {test.message for test in record.tests} == {"no creds"}
    assert (set(verdicts(record).values()), record.exit_code, record.servers) == ({"skip"}, 0, ())
    assert folder.lines() == ["afterAll"]


def test_skip_in_before_each_skips_that_test(folder: Folder, record_of: RecordOf) -> None:
    """Its bracket is closed, with the skip as the result."""
    body = "if json.load(sys.stdin)['test']['name'] == 'one': print('{\"skip\": {\"reason\": \"not today\"}}')"
    skip = {"command": folder.python("skip.py", body), "mode": "context"}
    hooks = {"beforeEach": [skip, folder.script("later")], "afterEach": folder.context("after.py")}
    record = record_of(folder.suite(hooks))
    assert verdicts(record) == {"one": "skip", "two": "pass"}
    assert told(record, "one") == "not today"
    assert folder.contexts()[0]["result"] == {"verdict": "skip", "message": "not today"}
    assert [line for line in folder.lines() if "server" not in line] == ["later", "two"]


def test_a_skip_that_comes_too_late_is_told(folder: Folder, record_of: RecordOf) -> None:
    """A warning; the next command of the phase runs."""
    late = folder.context("late.py", {"skip": {"reason": "x"}})
    record = record_of(folder.suite({"afterEach": late, "afterAll": [late, folder.script("end")]}, writing("one")))
    assert record.warnings == (
        f"one: afterEach: {late['command']} requested a skip too late: the test is over",
        f"afterAll: {late['command']} requested a skip too late: the run is over",
    )
    assert folder.lines()[-1] == "end"
    assert verdicts(record) == {"one": "pass"}


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("hello", "printed something other than a JSON object: it is not JSON"),
        ("[]", "printed an array where one JSON object is expected"),
        ("{} {}", "printed something other than a JSON object"),
        ('{"environment": {}}', "unknown key `environment`: only `env`, `vars` and `skip` are known"),
        ('{"var": {}}', "unknown key `var`: did you mean `vars`?"),
        ('{"env": []}', "printed an array as `env`"),
        ('{"env": {"PORT": 80}}', "printed a number as `env.PORT`, which must be a text"),
        ('{"env": {"A=B": ""}}', "`A=B` in `env`, which cannot be the name of a variable"),
        ('{"env": {"": ""}}', "which cannot be the name of a variable"),
        ('{"env": {"A": "\\u0000"}}', "a NUL in `env.A`"),
        ('{"env": {"A": "\\ud800"}}', "half a character in `env.A`"),
        ('{"vars": 3}', "printed a number as `vars`"),
        ('{"skip": true}', "printed a `skip` that is not of the form"),
        ('{"skip": {}}', "printed a `skip` that is not of the form"),
        ('{"skip": {"reason": "r", "why": 1}}', "printed a `skip` that is not of the form"),
        ('{"vars": {"a": NaN}}', "printed something other than a JSON object"),
    ],
)
def test_an_answer_of_another_form_fails_the_hook(answer: str, words: str, folder: Folder, record_of: RecordOf) -> None:
    """Which hook, and what is wrong; in an after phase too, where it is a warning."""
    step = folder.context("bad.py", answer)
    record = record_of(folder.suite({"beforeEach": step, "afterAll": step}, writing("one")))
    assert verdicts(record) == {"one": "fail"}
    message = told(record, "one")
    assert message is not None
    assert message.startswith(f"beforeEach failed: {step['command']} ")
    assert words in message
    assert [warning.startswith("afterAll failed: ") and words in warning for warning in record.warnings] == [True]
    assert record.hooks[0].output == answer


@pytest.mark.parametrize("answer", ["", " \n", "{}", '{"env": {}, "vars": {}}'])
def test_an_answer_may_be_nothing(answer: str, folder: Folder, record_of: RecordOf) -> None:
    """Every key is optional, and so is the object."""
    assert verdicts(record_of(folder.suite({"beforeEach": folder.context("quiet.py", answer)}, writing("one")))) == {
        "one": "pass"
    }


def test_what_a_plain_hook_prints_is_ignored(folder: Folder, record_of: RecordOf) -> None:
    """Also when it looks like an answer; it is kept as output. Its stdin is empty."""
    plain = folder.script("plain", """cat; echo '{"skip": {"reason": "no"}}'""")
    record = record_of(folder.suite({"beforeEach": plain}, writing("one")))
    assert verdicts(record) == {"one": "pass"}
    assert record.hooks[0].output == '{"skip": {"reason": "no"}}\n'


def test_no_hook_runs_where_no_test_does(folder: Folder, record_of: RecordOf) -> None:
    """An empty selection, and a suite whose tests are all skipped."""
    hooks = all_four(folder)
    assert record_of(folder.suite(hooks), selection=_selecting("nothing like it")).exit_code == 7
    assert record_of(folder.suite(hooks, writing("one", skip="not today"))).hooks == ()
    assert folder.lines() == []


def _selecting(text: str) -> Any:
    from mcptest_engine.running.settings import Selection

    return Selection(filter=text)


def test_a_test_that_is_not_run_has_no_bracket(folder: Folder, record_of: RecordOf) -> None:
    """One skipped by the suite, and those after a bail."""
    hooks = {"beforeEach": folder.script("before"), "afterEach": folder.script("after")}
    tests = [writing("off", skip=True), failing("bad"), writing("rest")]
    record = record_of(folder.suite(hooks, *tests), bail=1)
    assert ran(record) == [("beforeEach", "bad"), ("afterEach", "bad")]
    assert told(record, "rest") == "not run: stopped after 1 failure (bail)"


def test_a_repeated_test_has_a_bracket_each_time(folder: Folder, record_of: RecordOf) -> None:
    """`--repeat`."""
    record = record_of(folder.suite({"beforeEach": folder.script("b")}, writing("one")), repeat=2)
    assert ran(record) == [("beforeEach", "one #run1"), ("beforeEach", "one #run2")]


def test_a_dry_run_runs_no_hook(folder: Folder, mcptest: Command) -> None:
    """It starts nothing."""
    (folder.path / "mcptest.yml").write_text(folder.suite(all_four(folder)), encoding="utf-8")
    assert mcptest("run", "--dry-run").returncode == 0
    assert folder.lines() == []


def test_a_hook_has_the_whole_environment(folder: Folder, mcptest: Command) -> None:
    """mcptest's own, what `.env` adds, the suite's `env:` over both, and the phase; it starts where mcptest was started."""
    shown = 'echo "$OURS $DOTENV $SUITES $MCPTEST_HOOK_PHASE $(pwd -P)"'
    text = folder.suite({"beforeAll": folder.script("show", shown)}, env={"SUITES": "suite's"})
    (folder.path / "below").mkdir()
    (folder.path / "below" / "suite.yml").write_text(text, encoding="utf-8")
    (folder.path / "below" / ".env").write_text("OURS=dotenv\nDOTENV=dotenv's\nSUITES=dotenv\n", encoding="utf-8")
    done = mcptest("run", "below/suite.yml", "--reporter", "json", OURS="mcptest's", SUITES="mcptest")
    (hook,) = json.loads(done.stdout)["hooks"]
    assert hook["output"] == f"mcptest's dotenv's suite's beforeAll {folder.path.resolve()}\n"


def test_secrets_that_hooks_make_are_told_to_nobody(folder: Folder, mcptest: Command) -> None:
    """Neither in reports nor on disk: what stands under a secret name, wherever it is printed again."""
    secret = "correct-horse-battery"
    leak = folder.script("leak", 'echo "it is $SESSION_TOKEN"; echo "and $SESSION_TOKEN" >&2; exit 1')
    hooks = {
        "beforeAll": folder.context(
            "login.py", {"env": {"SESSION_TOKEN": secret}, "vars": {"db_password": "tr0ub4dor"}}
        ),
        "beforeEach": leak,
        "afterEach": folder.context("bad.py", '{"x": "tr0ub4dor", "env": {"API_KEY": "another-secret-one"}}'),
        "afterAll": folder.script("end", "echo another-secret-one; exit 1"),
    }
    (folder.path / "mcptest.yml").write_text(folder.suite(hooks), encoding="utf-8")
    done = mcptest("run", "--reporter", "json", "--reporter", "pretty=p.txt", "--reporter", "junit=j.xml")
    outputs = [hook.get("output", "") for hook in json.loads(done.stdout)["hooks"]]
    assert "it is [REDACTED]\nand [REDACTED]\n" in outputs
    (saved,) = (folder.path / ".mcptest" / "runs").glob("*.json")
    files = [saved, folder.path / "p.txt", folder.path / "j.xml"]
    for text in (done.stdout, done.stderr, *(file.read_text(encoding="utf-8") for file in files)):
        for hidden in (secret, "tr0ub4dor", "another-secret-one"):
            assert hidden not in text


def test_a_secret_in_a_command_is_not_shown(folder: Folder, mcptest: Command) -> None:
    """The command is told as the suite has it, but for that."""
    hooks = {"beforeAll": folder.script("login") + " --password ${env.DB_PASSWORD}"}
    text = folder.suite(hooks, env={"DB_PASSWORD": "${DB_PASSWORD}"})
    (folder.path / "mcptest.yml").write_text(text, encoding="utf-8")
    done = mcptest("run", "--reporter", "json", DB_PASSWORD="correct-horse-battery")
    assert json.loads(done.stdout)["hooks"][0]["command"].endswith("login --password [REDACTED]")
    assert "correct-horse" not in done.stdout + done.stderr


def test_mcptest_in_a_hook_is_the_one_that_runs(folder: Folder, record_of: RecordOf) -> None:
    """As in a server's command; it need not be on PATH."""
    record = record_of(folder.suite({"beforeAll": "mcptest --version"}, writing("one")))
    assert record.hooks[0].output.startswith("mcptest"), record.hooks


def test_report_prints_what_the_run_printed(folder: Folder, mcptest: Command) -> None:
    """From the saved record, in every format that shows hooks."""
    hooks = {"beforeEach": folder.script("b", "echo out; exit 1"), "afterAll": folder.script("c", "exit 2")}
    (folder.path / "mcptest.yml").write_text(folder.suite(hooks), encoding="utf-8")
    formats = ("pretty", "md", "junit", "tap", "github", "agent", "json")
    mcptest("run", *(word for format_ in formats for word in ("--reporter", f"{format_}={format_}.out")))
    for format_ in formats:
        printed = (folder.path / f"{format_}.out").read_text(encoding="utf-8")
        assert printed
        assert mcptest("report", "--format", format_).stdout == printed


def test_a_run_without_hooks_says_nothing_of_them(folder: Folder, record_of: RecordOf) -> None:
    """The record is what it was before there were any."""
    record = record_of(folder.suite({}, writing("one")))
    assert "hooks" not in record.to_json()
    assert record.tests[0].verdict is Verdict.PASS

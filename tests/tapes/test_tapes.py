"""Recording, replaying and serving cassettes."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.core.redaction import Disguise
from mcptest_engine.servers.recorded_exchanges import RecordedExchanges
from tests.conftest import SERVERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Run = Callable[..., subprocess.CompletedProcess[str]]

EDITED = {
    "schema_version": "mcptest.cassette/v1",
    "servers": {"diary": {"exchanges": [{"method": "x", "answer": {"result": {}}}]}},
}
DEEP: Any = []
for _ in range(400):
    DEEP = [DEEP]
SUITE = """\
servers: { diary: { command: [PYTHON, DIARY, diary.txt] } }
tools:
  - name: it writes
    tool: write
    args: { text: one }
    expect: [{ target: "result.content[0].text", matcher: { exact: written } }]
  - name: it fails
    tool: fail
    expect: [{ target: result.isError, matcher: { exact: true } }]
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A suite on a server that writes down when it starts, what it is called with, and when it ends."""
    text = SUITE.replace("PYTHON", json.dumps(sys.executable)).replace("DIARY", json.dumps(str(SERVERS / "diary.py")))
    path = tmp_path / "mcptest.yml"
    path.write_text(text)
    return path


def tape_of(tmp_path: Path, name: str = "one") -> dict[str, Any]:
    found = json.loads((tmp_path / ".mcptest" / "cassettes" / f"{name}.json").read_text())
    assert isinstance(found, dict)
    return found


def test_a_replay_gives_the_same_verdicts_and_starts_no_server(mcptest: Run, suite: Path, tmp_path: Path) -> None:
    assert mcptest("run", "--record", "one", "--reporter", "minimal").returncode == 0
    (tmp_path / "diary.txt").unlink()
    again = mcptest("run", "--replay", "one", "--reporter", "json")
    assert again.returncode == 0
    record = json.loads(again.stdout)
    assert record["mode"] == "replayed"
    assert [test["output"]["result"]["content"][0]["text"] for test in record["tests"]] == ["written", "written"]
    assert not (tmp_path / "diary.txt").exists()


def test_the_record_of_a_recorded_run_says_so(mcptest: Run, suite: Path, tmp_path: Path) -> None:
    record = json.loads(mcptest("run", "--record", "one", "--reporter", "json").stdout)
    assert record["mode"] == "recorded"
    methods = [exchange["method"] for exchange in tape_of(tmp_path)["servers"]["diary"]["exchanges"]]
    assert sorted(methods) == ["initialize", "tools/call", "tools/call", "tools/list"]


def test_record_is_run_by_another_name(mcptest: Run, suite: Path, tmp_path: Path) -> None:
    unnamed = mcptest("record", "mcptest.yml", "--filter", "it writes")
    assert unnamed.returncode == 2
    assert "the name of the cassette is missing before `mcptest.yml`" in unnamed.stderr
    done = mcptest("record", "two", "mcptest.yml", "--filter", "it writes", "--reporter", "minimal")
    assert done.returncode == 0, done.stderr
    assert len(tape_of(tmp_path, "two")["servers"]["diary"]["exchanges"]) == 3


@pytest.mark.parametrize(
    "changes",
    [
        {"answer": {"result": {"content": []}, "id": 77, "jsonrpc": "1.0"}},
        {"duration_ms": 10**400},
    ],
)
def test_an_exchange_that_was_edited_fails_at_once_or_is_answered(
    mcptest: Run, suite: Path, tmp_path: Path, changes: dict[str, Any]
) -> None:
    mcptest("run", "--record", "one")
    tape = tape_of(tmp_path)
    exchange = next(one for one in tape["servers"]["diary"]["exchanges"] if one["method"] == "tools/call")
    exchange |= changes
    (tmp_path / ".mcptest" / "cassettes" / "one.json").write_text(json.dumps(tape))
    done = mcptest("run", "--replay", "one", "--reporter", "json")
    assert "Traceback" not in done.stderr
    assert "did not answer" not in done.stdout
    assert max(test["duration_ms"] for test in json.loads(done.stdout)["tests"]) < 20_000


def test_a_request_that_was_not_recorded_fails_at_once_and_says_which(mcptest: Run, suite: Path) -> None:
    mcptest("run", "--record", "one")
    suite.write_text(suite.read_text().replace("text: one", "text: two"))
    done = mcptest("run", "--replay", "one", "--reporter", "json")
    assert done.returncode == 1
    wrong, right = json.loads(done.stdout)["tests"]
    assert wrong["failure"]["kind"] == "server"
    assert 'has no "tools/call" of `write` with these params' in wrong["failure"]["message"]
    assert "--record one" in wrong["failure"]["hint"]
    assert right["verdict"] == "pass"


def test_a_test_that_expects_an_error_does_not_pass_for_want_of_an_answer(mcptest: Run, suite: Path) -> None:
    mcptest("run", "--record", "one")
    suite.write_text(
        suite.read_text()
        .replace("text: one", "text: two")
        .replace('"result.content[0].text", matcher: { exact: written }', "error.code, matcher: { exists: true }")
    )
    assert mcptest("run", "--replay", "one").returncode == 1


def test_each_answer_is_given_once(mcptest: Run, suite: Path) -> None:
    mcptest("run", "--record", "one")
    done = mcptest("run", "--replay", "one", "--repeat", "2", "--reporter", "json")
    failed = [test for test in json.loads(done.stdout)["tests"] if test["verdict"] == "fail"]
    assert len(failed) == 2
    assert all("has been used" in test["message"] for test in failed)


def test_secrets_are_in_no_cassette_and_replay_compares_without_them(mcptest: Run, suite: Path, tmp_path: Path) -> None:
    secret = "hunter2-is-a-secret"
    text = suite.read_text().replace("text: one", 'text: "${API_TOKEN}"')
    suite.write_text("variables: { API_TOKEN: { from_env: MY_API_TOKEN } }\n" + text)
    assert mcptest("run", "--record", "one", MY_API_TOKEN=secret).returncode == 0
    assert secret not in (tmp_path / ".mcptest" / "cassettes" / "one.json").read_text()
    assert mcptest("run", "--replay", "one", MY_API_TOKEN=secret).returncode == 0


def test_the_time_that_was_recorded_counts_again(mcptest: Run, tmp_path: Path) -> None:
    (tmp_path / "m.yml").write_text(
        "mock_server: { tools: [{ name: slow, delay_ms: 150, response: { content: [{ type: text, text: late }] } }] }\n"
    )
    (tmp_path / "mcptest.yml").write_text(
        "servers: { m: { command: [mcptest, mock, --tools-from, m.yml] } }\n"
        "tools: [{ name: slow, tool: slow, expect: { max_duration_ms: 100 } }]\n"
    )
    assert mcptest("run", "--record", "one").returncode == 1
    record = json.loads(mcptest("run", "--replay", "one", "--reporter", "json").stdout)
    assert record["tests"][0]["failure"]["kind"] == "budget"


@pytest.mark.parametrize("name", ["../x", "a/b", ".hidden", "x" * 200, "a.json", ""])
def test_a_name_that_could_lead_elsewhere_is_refused(mcptest: Run, suite: Path, name: str) -> None:
    for flag in ("--record", "--replay"):
        assert mcptest("run", flag, name).returncode == 2


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{ torn", "not a cassette"),
        ("[" * 100_000, "it is nested too deeply to be read"),
        (json.dumps({"schema_version": "mcptest.cassette/v1", "servers": DEEP}), "more than 400 levels deep"),
        ('{"schema_version": %s}' % ("9" * 5000), "an integer of more than 4,300 digits"),
        ('{"schema_version": NaN}', "NaN is not a JSON value"),
        ("[]", "schema_version"),
        ('{"schema_version": "mcptest.cassette/v9"}', "v9"),
        ('{"schema_version": "mcptest.cassette/v1", "servers": {"diary": {}}}', "`diary`"),
        ('{"schema_version": "mcptest.cassette/v1", "servers": {"diary": {"exchanges": [{}]}}}', "exchange 0"),
        (
            '{"schema_version": "mcptest.cassette/v1", "servers": {"diary": {"exchanges": [{"method": "x", "answer": {}}]}}}',
            "`answer`",
        ),
        *(
            (
                json.dumps(EDITED)[:-5] + f", {member}" + "}]}}}",
                told,
            )
            for member, told in (
                ('"http": "x"', "`http`"),
                ('"notifications": 5', "`notifications`"),
                ('"notifications": [5]', "not an object"),
                ('"server_requests": {}', "`server_requests`"),
                ('"duration_ms": "1"', "`duration_ms`"),
            )
        ),
    ],
)
def test_a_broken_cassette_is_told_before_anything_runs(
    mcptest: Run, suite: Path, tmp_path: Path, text: str, told: str
) -> None:
    (tmp_path / ".mcptest" / "cassettes").mkdir(parents=True)
    (tmp_path / ".mcptest" / "cassettes" / "one.json").write_text(text)
    done = mcptest("run", "--replay", "one")
    assert done.returncode == 2
    assert told in done.stderr


def test_a_server_that_the_cassette_does_not_hold_fails_its_tests(mcptest: Run, suite: Path) -> None:
    mcptest("run", "--record", "one")
    suite.write_text(suite.read_text().replace("diary:", "other:"))
    done = mcptest("run", "--replay", "one", "--reporter", "json")
    assert all('has nothing of server "other"' in test["message"] for test in json.loads(done.stdout)["tests"])


@pytest.mark.parametrize(
    "flags",
    [("--record", "a", "--replay", "b"), ("--replay", "a", "--watch"), ("--replay", "a", "--server-command", "x")],
)
def test_what_does_not_go_together_is_refused(mcptest: Run, suite: Path, flags: tuple[str, ...]) -> None:
    assert mcptest("run", *flags).returncode == 2


def test_a_served_cassette_answers_a_client_and_never_hangs(mcptest: Run, suite: Path, tmp_path: Path) -> None:
    mcptest("run", "--record", "one")
    served = "mcptest serve --cassette one"
    done = mcptest("call", "write", "--args", '{"text": "one"}', "--command", served)
    assert (done.returncode, done.stdout) == (0, "written\n")
    missing = mcptest("call", "write", "--args", '{"text": "other"}', "--command", served)
    assert missing.returncode == 1
    assert "has no" in missing.stderr
    missing = mcptest("call", "read", "--command", served)
    assert (missing.returncode, "has no" in missing.stderr) == (1, True)


def test_an_unknown_cassette_has_the_nearest_name(mcptest: Run, suite: Path) -> None:
    mcptest("run", "--record", "weather")
    done = mcptest("serve", "--cassette", "wether")
    assert done.returncode == 2
    assert "did you mean `weather`?" in done.stderr


def test_what_changes_by_its_nature_does_not_make_another_request() -> None:
    asked = {"at": "2026-01-02T03:04:05Z", "id": "123e4567-e89b-12d3-a456-426614174000", "_meta": {"progressToken": 1}}
    again = {"at": "2027-10-20T13:14:15.678+02:00", "id": "00000000-e89b-12d3-a456-426614174000"}
    tape = RecordedExchanges([{"method": "m", "params": asked, "answer": {"result": {}}}])
    assert tape.take("m", again) is not None
    assert tape.take("m", again) is None


def test_answers_to_the_same_request_come_in_their_order() -> None:
    tape = RecordedExchanges([{"method": "m", "params": {}, "answer": {"result": {"n": n}}} for n in range(3)])
    taken = [tape.take("m", None) for _ in range(4)]
    assert [None if one is None else one["answer"]["result"]["n"] for one in taken] == [0, 1, 2, None]


SHAPES = """\
servers: { s: { command: [PYTHON, SERVER], env: { GIVEN: "${PLACE}", API_KEY: "${API_KEY}" } } }
tools:
  - name: what it answers keeps its shape
    tool: look
    expect:
      - { target: result.structuredContent.sha, matcher: { regex: "^[0-9a-f]{40}$" } }
      - { target: result.structuredContent.upper, matcher: { regex: "^[0-9A-F]{40}$" } }
      - { target: result.structuredContent.github, matcher: { regex: "^ghp_[A-Za-z0-9]{36}$" } }
      - { target: result.structuredContent.token, matcher: { length: 12 } }
      - { target: result.structuredContent.password, matcher: { type: integer } }
      - { target: result.structuredContent.place, matcher: { exact: "${env.PLACE}" } }
      - { target: "result.content[0].text", matcher: { contains: "key ${env.API_KEY} of ${env.PLACE}" } }
      - { target: result.structuredContent, transform: { jq: ".sha == .again" }, matcher: { exact: true } }
      - { target: result.structuredContent, transform: { jq: ".sha == .other" }, matcher: { exact: false } }
"""
LOOKING = """\
import json, os, sys
sha, place, key = "4f2a" * 10, os.environ["GIVEN"], os.environ["API_KEY"]
told = {"sha": "9d1c7e" + sha[6:], "upper": "9D1C7EFA" * 5, "github": "ghp_" + "aB3dE5gH7k" * 3 + "aB3dE5"}
told |= {"token": "my token 5ab", "password": -4711, "place": place, "again": "9d1c7e" + sha[6:], "other": "1d1c7e" + sha[6:]}
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    if message["method"] == "initialize":
        info = {"name": "s", "version": "1"}
        result = {"protocolVersion": message["params"]["protocolVersion"], "serverInfo": info, "capabilities": {"tools": {}}}
    elif message["method"] == "tools/list":
        result = {"tools": [{"name": "look", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}]}
    else:
        result = {"content": [{"type": "text", "text": f"key {key} of {place}"}], "structuredContent": told}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


@pytest.mark.parametrize("other", [{}, {"PLACE": "other-shop", "API_KEY": "another-api-key-99"}])
def test_what_is_recorded_is_judged_as_it_was_and_holds_no_secret(
    mcptest: Run, tmp_path: Path, other: dict[str, str]
) -> None:
    (tmp_path / "server.py").write_text(LOOKING)
    text = SHAPES.replace("PYTHON", json.dumps(sys.executable)).replace("SERVER", str(tmp_path / "server.py"))
    (tmp_path / "mcptest.yml").write_text(text)
    environ = {"PLACE": "a-shop-in-town", "API_KEY": "the-api-key-of-mine-7"}
    live = mcptest("run", "--record", "one", **environ)
    assert live.returncode == 0, live.stdout
    tape = (tmp_path / ".mcptest" / "cassettes" / "one.json").read_text()
    secrets = ("9d1c7e", "9D1C7EFA", "aB3dE5gH7k", "my token 5ab", "4711", "a-shop-in-town", "the-api-key")
    assert [secret for secret in secrets if secret in tape] == []
    (tmp_path / "server.py").unlink()
    again = mcptest("run", "--replay", "one", **{**environ, **other})
    assert again.returncode == 0, again.stdout
    record = mcptest("report", "--format", "json").stdout
    assert [value for value in {**environ, **other}.values() if value in record] == []


def test_two_recordings_of_one_secret_have_nothing_in_common() -> None:
    """The key is thrown away: nobody can try out what the secret was."""
    one, other = Disguise(), Disguise()
    secret = "9d1c7e5ab04f2a9d1c7e5ab04f2a9d1c7e5ab04f"
    assert one.of(secret) == one.of(secret) != other.of(secret)
    assert one.of(secret) != secret != other.of(secret)


def test_a_cassette_of_before_is_replayed_as_it_is(mcptest: Run, suite: Path, tmp_path: Path) -> None:
    assert mcptest("run", "--record", "one").returncode == 0
    tape = tape_of(tmp_path)
    del tape["stand_ins"]
    (tmp_path / ".mcptest" / "cassettes" / "one.json").write_text(json.dumps(tape))
    assert mcptest("run", "--replay", "one").returncode == 0


def judged(mcptest: Run, *flags: str, **environ: str) -> list[tuple[str, object]]:
    """The verdicts of a run, each with what each assertion saw."""
    record = json.loads(mcptest("run", *flags, "--reporter", "json", **environ).stdout)
    return [
        (test["verdict"], [(row["passed"], row.get("actual")) for row in test["assertions"]])
        for test in record["tests"]
    ]


ASKING = """\
servers:
  m:
    command: [mcptest, mock, --tools-from, m.yml]
    env: { NOTE_KEY: "${NOTE_KEY}" }
    client: { sampling: "a note of ${env.NOTE_KEY}", elicitation: accept }
tools:
  - name: the server asks a model
    tool: ask
    expect:
      - { target: server_requests, matcher: { length: 1 } }
      - { target: "server_requests[0].method", matcher: { exact: sampling/createMessage } }
      - { target: "server_requests[0].params.messages[0].content.text", matcher: { regex: "^what of [0-9a-f]{40}[?]$" } }
      - { target: "server_requests[0].result.content.text", matcher: { exact: "a note of ${env.NOTE_KEY}" } }
  - name: the server asks nothing
    tool: quiet
    expect: [{ target: server_requests, matcher: { length: 0 } }]
"""
ASKING_MOCK = """\
mock_server:
  tools:
    - name: ask
      ask: { sampling: "what of SHA?" }
      response: { content: [{ type: text, text: done }] }
    - { name: quiet, response: { content: [{ type: text, text: still }] } }
"""


def test_what_a_server_asked_of_its_client_is_replayed(mcptest: Run, tmp_path: Path) -> None:
    sha = "9d1c7e" + ("4f2a" * 10)[6:]
    (tmp_path / "m.yml").write_text(ASKING_MOCK.replace("SHA", sha))
    (tmp_path / "mcptest.yml").write_text(ASKING)
    environ = {"NOTE_KEY": "the-key-of-notes-7"}
    live = judged(mcptest, "--record", "one", **environ)
    assert [verdict for verdict, _ in live] == ["pass", "pass"], live
    tape = (tmp_path / ".mcptest" / "cassettes" / "one.json").read_text()
    assert [secret for secret in (sha, environ["NOTE_KEY"]) if secret in tape] == []
    (tmp_path / "m.yml").unlink()
    assert judged(mcptest, "--replay", "one", **environ) == live
    other = judged(mcptest, "--replay", "one", NOTE_KEY="another-key-of-notes-8")
    assert [verdict for verdict, _ in other] == ["pass", "pass"]


@contextmanager
def serving(script: str) -> Iterator[str]:
    """The address of a server of `tests/servers`."""
    command = [sys.executable, str(SERVERS / f"{script}.py")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        process.stdin.close()


REFUSED = """\
servers:
  opening: { url: "URL/bearer/right" }
  stateless: { url: "URL/bearer/right", protocol: "2026-07-28" }
  call: { url: "URL/status/403" }
  broken: { url: "URL/status/500" }
tools:
  - name: at the opening
    server: opening
    tool: look
    expect:
      - { target: http.status, matcher: { exact: 401 } }
      - { target: 'http.headers["www-authenticate"]', matcher: { contains: "realm=" } }
  - { name: stateless, server: stateless, tool: look, expect: [{ target: http.status, matcher: { exact: 401 } }] }
  - { name: in the call, server: call, tool: look, expect: [{ target: http.status, matcher: { exact: 403 } }] }
  - { name: another status, server: call, tool: look, expect: [{ target: http.status, matcher: { exact: 404 } }] }
  - { name: no answer, server: broken, tool: look, expect: [{ target: http.status, matcher: { exact: 500 } }] }
  - { name: not expected, server: opening, tool: look }
"""


def test_a_refusal_by_http_is_judged_again_as_it_was(mcptest: Run, tmp_path: Path) -> None:
    with serving("http_echo") as url:
        (tmp_path / "mcptest.yml").write_text(REFUSED.replace("URL", url))
        live = judged(mcptest, "--record", "one", "--workers", "1")
    assert [verdict for verdict, _ in live] == ["pass", "pass", "pass", "fail", "pass", "fail"], live
    again = mcptest("run", "--replay", "one", "--reporter", "json")
    assert [test["failure"]["kind"] for test in json.loads(again.stdout)["tests"] if test["verdict"] == "fail"] == [
        "auth",
        "auth",
    ]
    assert judged(mcptest, "--replay", "one") == live


def test_what_comes_after_an_answer_is_replayed_with_it(mcptest: Run, tmp_path: Path) -> None:
    heard = '{ target: "notifications[0].params.data", matcher: { exact: NAME } }'
    rows = "".join(
        f"  - {{ name: {name}, tool: {name}, expect: [{heard.replace('NAME', name)}] }}\n" for name in ("a", "b")
    )
    with serving("http_late") as url:
        (tmp_path / "mcptest.yml").write_text(f'servers: {{ s: {{ url: "{url}/mcp" }} }}\ntools:\n{rows}')
        live = judged(mcptest, "--record", "one")
    assert [verdict for verdict, _ in live] == ["pass", "pass"], live
    assert judged(mcptest, "--replay", "one") == live


def test_a_served_cassette_tells_a_refusal_as_an_error(mcptest: Run, tmp_path: Path) -> None:
    with serving("http_echo") as url:
        (tmp_path / "mcptest.yml").write_text(
            f'servers: {{ s: {{ url: "{url}/status/403" }} }}\ntools: [{{ name: n, tool: look }}]\n'
        )
        mcptest("run", "--record", "one")
    done = mcptest("call", "look", "--command", "mcptest serve --cassette one")
    assert done.returncode == 1
    assert "HTTP 403 was recorded in place of an answer" in done.stdout + done.stderr

"""What a long run holds on to: its results, packed, and neither its answers nor its messages."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcptest_engine.core.results import AssertionResult, TestKind, TestResult, Verdict

SERVERS = Path(__file__).resolve().parents[1] / "servers"
ANSWER = " ".join(f"row {number}" for number in range(3_000))


MCPTEST = """
from mcptest_engine.running import runner
from mcptest_tui.__main__ import main
runner._MANY = 100
main()
"""
"""A run is long from 100 tests on in place of 1,000."""
STARTER = """
import os, sys
_, status, usage = os.wait4(os.posix_spawn(sys.executable, [sys.executable, "-c", *sys.argv[1:]], os.environ), 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss)
"""
"""A small process that starts it: the peak of a process is at least that of the one that started it."""


def peak_kilobytes(folder: Path, environ: dict[str, str], tests: int) -> int:
    """The most memory of `mcptest run` over that many tests, each with an answer of 27 kB that fails one assertion."""
    tool = {"name": "rows", "inputSchema": {"type": "object"}}
    answer = {"result": {"content": [{"type": "text", "text": ANSWER}]}}
    (folder / "script.json").write_text(json.dumps({"tools": [tool], "answers": {"rows": [answer]}}))
    command = [sys.executable, "-S", str(SERVERS / "scripted.py"), str(folder / "script.json")]
    expect = [{"target": "result.content[0].text", "matcher": {"contains": "nowhere"}}]
    entries = [{"name": f"t{n}", "server": "s", "tool": "rows", "expect": expect} for n in range(tests)]
    path = folder / f"{tests}.yml"
    path.write_text(
        json.dumps({"servers": {"s": {"command": command}}})[:-1] + ', "tools": ' + json.dumps(entries) + "}"
    )
    run = [MCPTEST, "run", "--config", str(path), "--reporter", "minimal"]
    started = subprocess.run(
        [sys.executable, "-S", "-c", STARTER, *run], cwd=folder, env=environ, capture_output=True, check=True
    )
    code, peak = started.stdout.split()[-2:]
    assert code == b"1"
    return int(peak)


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in kilobytes on Linux alone")
def test_large_answers_are_not_all_held_until_the_end(tmp_path: Path, clean_environ: dict[str, str]) -> None:
    """Packed, each test with its answer of 27 kB, twice, takes about 20 kB; held as it is, 47."""
    (tmp_path / ".mcptest").mkdir()
    few = peak_kilobytes(tmp_path, clean_environ, 110)
    many = peak_kilobytes(tmp_path, clean_environ, 510)
    assert (many - few) / 400 < 30
    newest = max((tmp_path / ".mcptest" / "runs").glob("*.json"))
    tests = json.loads(newest.read_bytes())["tests"]
    assert len(tests) == 510
    assert {test["output"]["result"]["content"][0]["text"] for test in tests} == {ANSWER}


@pytest.mark.parametrize("text", ["short", ANSWER], ids=["short", "long"])
def test_a_packed_result_reads_as_the_result_it_was(text: str) -> None:
    values: dict[str, Any] = {
        "output": {"result": {"content": [{"type": "text", "text": text}]}},
        "trace": {"nodes": {"a": {"message": text}}},
        "assertions": (AssertionResult(index=0, target="result", matcher={"exact": text}, passed=False, message=text),),
        "trials": ({"verdict": "pass", "message": text},),
    }
    result = TestResult(
        id="s::tool::t", name="t", kind=TestKind.TOOL, server="s", verdict=Verdict.FAIL, duration_ms=1.0,
        started_offset_ms=0.0, file="s.yml", line=1, **values,
    )  # fmt: skip
    packed = replace(result)
    for _ in range(2):
        packed.pack()
        assert packed == result
        assert packed.to_json() == result.to_json()
        assert {name: getattr(packed, name) for name in values} == values

"""The contract of an exec scorer, with real wrappers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mcptest_engine.core.enums import Verdict
from mcptest_engine.judging.scorers.exec import request_bytes
from mcptest_engine.judging.scorers.values import Scorer
from tests.processes import is_running, until
from tests.scorers.conftest import ask

if TYPE_CHECKING:
    from pathlib import Path

    from tests.scorers.conftest import Wrappers

PASS = """echo '{"verdict": "pass"}'"""


def test_a_wrapper_reads_one_json_document_and_then_the_end(wrappers: Wrappers) -> None:
    """`cat` ends only at the end of its input."""
    request = request_bytes(prompt="who?", output="näh \x1b[31m", criteria="kind", metadata={"model": "m", "eval": "e"})
    wrappers.said(f"cat > '{wrappers.path}/heard'; {PASS}", request=request)
    heard = json.loads((wrappers.path / "heard").read_bytes())
    assert heard == {
        "input": "who?",
        "output": "näh \x1b[31m",
        "criteria": "kind",
        "metadata": {"model": "m", "eval": "e"},
    }
    assert list(heard) == ["input", "output", "criteria", "metadata"]
    assert list(heard["metadata"]) == ["model", "eval"]


def test_a_verdict_is_taken_with_all_its_fields(wrappers: Wrappers) -> None:
    """The example of the document, and a field of the platform's own."""
    said = wrappers.said(
        """echo '{"verdict": "pass", "score": 0.92, "reasoning": "names the tag", "cost_usd": 0.0003, "url": "x"}'"""
    )
    assert said == (Verdict.PASS, 0.92, "names the tag", 0.0003, {"url": "x"})


def test_what_is_left_out_follows_from_the_verdict(wrappers: Wrappers) -> None:
    """1.0 for pass, 0.0 for fail, none for inconclusive; no reason, no cost."""
    told = [wrappers.said(f"""echo '{{"verdict": "{word}"}}'""") for word in ("pass", "fail", "inconclusive")]
    assert [(said.score, said.reasoning, said.cost_usd) for said in told] == [
        (1.0, "", 0.0),
        (0.0, "", 0.0),
        (None, "", 0.0),
    ]


def test_a_wrapper_need_not_read_what_it_is_told(wrappers: Wrappers) -> None:
    """A good verdict is a good verdict, also of one that closes its stdin under 4 MB."""
    request = request_bytes(prompt="", output="x" * 4_000_000, criteria="", metadata={})
    assert wrappers.said(f"exec 0<&-; {PASS}", request=request).verdict is Verdict.PASS


def test_a_large_request_comes_whole(wrappers: Wrappers) -> None:
    """A pipe holds 64 KiB; the wrapper writes while it still reads."""
    request = request_bytes(prompt="", output="x" * 3_000_000, criteria="", metadata={})
    count = """printf '{"verdict": "pass", "reasoning": "%s"}' "$(wc -c | tr -d ' ')" """
    assert wrappers.said(count, request=request).reasoning == str(len(request))


def test_a_wrapper_has_the_environment_and_its_own_env_over_it(wrappers: Wrappers) -> None:
    """An overlay on the process's environment."""
    tell = """printf '{"verdict": "pass", "reasoning": "%s/%s"}' "$SHARED" "$OWN" """
    assert wrappers.said(tell).reasoning == "from the run/"
    assert wrappers.said(tell, env={"OWN": "mine", "SHARED": "over"}).reasoning == "over/mine"


def test_a_wrapper_starts_in_its_cwd(wrappers: Wrappers) -> None:
    """Relative paths are the directory's in which mcptest was started, unless `cwd` says another."""
    (wrappers.path / "sub").mkdir()
    tell = """printf '{"verdict": "pass", "reasoning": "%s"}' "$(basename "$PWD")" """
    command = (f"../{wrappers.path.name}/wrapper",)
    wrappers.script(tell)
    here = Scorer("s", "exec", command, cwd=str(wrappers.path))
    assert ask(here).reasoning == wrappers.path.name
    assert wrappers.said(tell, cwd=str(wrappers.path / "sub")).reasoning == "sub"


def test_output_that_only_ends_late_is_whole(wrappers: Wrappers) -> None:
    """A wrapper may print its verdict in pieces, with blanks around it."""
    body = """printf '\\n  {"verdict":'; sleep 0.05; printf ' "fail", "reasoning": "late"}\\n\\n'"""
    assert wrappers.said(body).reasoning == "late"


def test_a_child_that_holds_stdout_open_holds_nothing_up(wrappers: Wrappers, tmp_path: Path) -> None:
    """What a wrapper leaves behind is ended with it."""
    said = wrappers.said(f"sleep 300 & echo $! > '{tmp_path}/pid'; {PASS}")
    assert said.verdict is Verdict.PASS
    until(lambda: not is_running(int((tmp_path / "pid").read_text())))


def test_what_is_written_on_stderr_is_nobodys_verdict(wrappers: Wrappers) -> None:
    """100 MB of it neither fills a pipe nor the memory."""
    assert wrappers.said(f"head -c 100000000 /dev/zero >&2; {PASS}").verdict is Verdict.PASS

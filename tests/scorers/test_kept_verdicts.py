"""Which verdicts are asked for again and which are not."""

from __future__ import annotations

import asyncio
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.core.redaction import Redactor
from mcptest_engine.judging.scorers import scorer_runs
from mcptest_engine.judging.scorers.scorer_runs import Graded, Scorers
from mcptest_engine.judging.scorers.values import Scorer, ScorerError
from mcptest_engine.judging.scorers.versions import scorer_version
from mcptest_engine.judging.spending import CostBudget
from mcptest_engine.workspace.result_cache import SCHEMAS, ResultCache
from tests.scorers.conftest import ENVIRON

if TYPE_CHECKING:
    from pathlib import Path

    from tests.scorers.conftest import Wrappers

SAYS = """echo asked >> "$0.log"; echo '{"verdict": "pass", "cost_usd": 0.5, "reasoning": "hunter2-hunter2"}'"""


class Bench:
    """Scorers that keep their verdicts, and how often the wrapper was asked."""

    def __init__(self, wrappers: Wrappers) -> None:
        self.wrappers = wrappers
        self.cache = ResultCache(wrappers.path / "verdicts", SCHEMAS["verdicts"])
        self.budget = CostBudget()

    def scorers(self) -> Scorers:
        return Scorers(environ=ENVIRON, redactor=Redactor(("hunter2-hunter2",)), budget=self.budget, cache=self.cache)

    def grade(self, scorer: Scorer, **more: Any) -> Graded:
        asked: dict[str, Any] = {"prompt": "q", "output": "a", "criteria": "c", "metadata": {"eval": "e"}, **more}
        return asyncio.run(self.scorers().grade(scorer, **asked))

    @property
    def asked(self) -> int:
        log = self.wrappers.path / "wrapper.log"
        return len(log.read_text().splitlines()) if log.exists() else 0


@pytest.fixture
def bench(wrappers: Wrappers) -> Bench:
    return Bench(wrappers)


def test_the_same_is_asked_once_and_costs_once(bench: Bench) -> None:
    scorer = bench.wrappers.scorer(SAYS)
    first, again = bench.grade(scorer), bench.grade(scorer)
    assert (first.kept, again.kept, bench.asked, bench.budget.spent) == (False, True, 1, 0.5)
    assert again.verdict == first.verdict


def test_secrets_are_out_of_what_is_kept(bench: Bench) -> None:
    bench.grade(bench.wrappers.scorer(SAYS))
    (kept,) = bench.cache.folder.iterdir()
    assert b"hunter2" not in kept.read_bytes()
    assert kept.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "changed",
    [{"prompt": "other"}, {"output": "other"}, {"criteria": "other"}, {"metadata": {"eval": "other"}}],
    ids=lambda changed: next(iter(changed)),
)
def test_another_request_is_asked_anew(bench: Bench, changed: dict[str, Any]) -> None:
    scorer = bench.wrappers.scorer(SAYS)
    bench.grade(scorer)
    assert not bench.grade(scorer, **changed).kept


def test_a_renamed_scorer_is_asked_anew(bench: Bench) -> None:
    scorer = bench.wrappers.scorer(SAYS)
    bench.grade(scorer)
    assert not bench.grade(scorer._replace(name="judge-v2")).kept
    assert bench.grade(scorer).kept


def test_an_edited_wrapper_is_asked_anew(bench: Bench) -> None:
    bench.grade(bench.wrappers.scorer(SAYS))
    assert not bench.grade(bench.wrappers.scorer(f"{SAYS} # better")).kept


def test_a_variable_of_the_scorer_that_changes_is_asked_anew(bench: Bench) -> None:
    strict = bench.wrappers.scorer(SAYS, env={"LEVEL": "strict"})
    bench.grade(strict)
    assert bench.grade(strict).kept
    assert not bench.grade(strict._replace(env={"LEVEL": "lenient"})).kept
    assert not bench.grade(strict._replace(env={})).kept
    assert not bench.grade(strict._replace(env={"LEVEL": "strict", "PLATFORM_API_KEY": "one"})).kept


def test_another_directory_is_asked_anew(bench: Bench) -> None:
    """The same program reads other rules there."""
    scorer = bench.wrappers.scorer("""echo "{\\"verdict\\": \\"$(cat rules)\\"}" """)
    for verdict in ("pass", "fail"):
        (bench.wrappers.path / verdict).mkdir()
        (bench.wrappers.path / verdict / "rules").write_text(verdict)
    graded = [bench.grade(scorer._replace(cwd=str(bench.wrappers.path / where))) for where in ("pass", "fail", "pass")]
    assert [(one.verdict.verdict, one.kept) for one in graded] == [("pass", False), ("fail", False), ("pass", True)]


def test_where_mcptest_was_started_decides_where_no_directory_is_named(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    scorer = bench.wrappers.scorer(SAYS)
    bench.grade(scorer)
    assert bench.grade(scorer).kept
    monkeypatch.chdir(tmp_path)
    assert not bench.grade(scorer).kept


def test_equal_requests_at_the_same_time_start_one_program(bench: Bench) -> None:
    scorer, scorers = bench.wrappers.scorer(f"sleep 0.1; {SAYS}"), bench.scorers()
    asked: dict[str, Any] = {"prompt": "q", "output": "a", "criteria": "c", "metadata": {"eval": "e"}}

    async def all_at_once() -> list[Graded]:
        return await asyncio.gather(*(scorers.grade(scorer, **asked) for _ in range(6)))

    graded = asyncio.run(all_at_once())
    assert (bench.asked, bench.budget.spent) == (1, 0.5)
    assert sorted(one.kept for one in graded) == [False, *[True] * 5]
    assert len({one.verdict.reasoning for one in graded}) == 1


def test_a_caller_that_is_cancelled_leaves_the_others_their_verdict(bench: Bench) -> None:
    scorer, scorers = bench.wrappers.scorer(f'read line < "$0.pipe"; {SAYS}'), bench.scorers()
    asked: dict[str, Any] = {"prompt": "q", "output": "a", "criteria": "c", "metadata": {"eval": "e"}}
    pipe = bench.wrappers.path / "wrapper.pipe"
    os.mkfifo(pipe)

    async def first_is_cancelled() -> Graded:
        first, second = (asyncio.ensure_future(scorers.grade(scorer, **asked)) for _ in range(2))
        with await asyncio.to_thread(pipe.open, "w") as started:  # opens once the program reads
            first.cancel()
            await asyncio.wait([first])
            started.write("go on\n")
        return await second

    assert asyncio.run(first_is_cancelled()).verdict.verdict == "pass"
    assert bench.asked == 1


def test_an_error_is_every_callers(bench: Bench) -> None:
    scorer, scorers = bench.wrappers.scorer(f"{SAYS}; exit 3"), bench.scorers()
    asked: dict[str, Any] = {"prompt": "q", "output": "a", "criteria": "c", "metadata": {"eval": "e"}}

    async def all_at_once() -> list[object]:
        return await asyncio.gather(*(scorers.grade(scorer, **asked) for _ in range(3)), return_exceptions=True)

    assert [type(one) for one in asyncio.run(all_at_once())] == [ScorerError] * 3
    assert bench.asked == 1


def test_a_key_that_was_renewed_asks_nobody_anew(bench: Bench) -> None:
    """Of a secret only its name is in what verdicts go by."""
    scorer = bench.wrappers.scorer(SAYS, env={"PLATFORM_API_KEY": "one"})
    bench.grade(scorer)
    assert bench.grade(scorer._replace(env={"PLATFORM_API_KEY": "another"})).kept


def test_another_mcptest_asks_anew(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    scorer = bench.wrappers.scorer(SAYS)
    bench.grade(scorer)
    monkeypatch.setattr(scorer_runs, "__version__", "99.0")
    assert not bench.grade(scorer).kept


def test_an_error_is_never_kept(bench: Bench) -> None:
    scorer = bench.wrappers.scorer(f"{SAYS}; exit 1")
    for _ in range(2):
        with pytest.raises(ScorerError):
            bench.grade(scorer)
    assert bench.asked == 2
    assert not bench.cache.folder.exists()


def test_a_verdict_under_a_wrapper_that_changes_meanwhile_is_not_kept(bench: Bench) -> None:
    scorer = bench.wrappers.scorer(f"""{SAYS}; echo "# $$" >> "$0" """)
    bench.grade(scorer)
    assert not bench.cache.folder.exists()


@pytest.mark.parametrize(
    "torn", [b"", b"{", b"[]", b'{"schema_version": "mcptest.verdict/v1"}', b'{"verdict": {"verdict": "pass"}}']
)
def test_a_torn_file_counts_as_not_there(bench: Bench, torn: bytes) -> None:
    scorer = bench.wrappers.scorer(SAYS)
    bench.grade(scorer)
    (kept,) = bench.cache.folder.iterdir()
    kept.write_bytes(torn)
    assert not bench.grade(scorer).kept
    assert bench.grade(scorer).kept


@pytest.mark.parametrize(
    "wrong",
    [
        {"verdict": "maybe"},
        {"verdict": "skip", "score": []},
        {"score": "1"},
        {"score": 7},
        {"score": True},
        {"score": None},
        {"score": float("nan")},
        {"cost_usd": -1},
        {"cost_usd": True},
        {"cost_usd": float("inf")},
        {"verdict": "skip"},
        {"reasoning": 1},
        {"extra": []},
        {"more": 1},
    ],
)
def test_a_kept_verdict_that_is_none_counts_as_not_there(bench: Bench, wrong: dict[str, Any]) -> None:
    scorer = bench.wrappers.scorer(SAYS)
    bench.grade(scorer)
    (kept,) = bench.cache.folder.iterdir()
    entry = json.loads(kept.read_text())
    entry["verdict"].update(wrong)
    kept.write_text(json.dumps(entry))
    assert not bench.grade(scorer).kept


def test_a_disk_that_refuses_costs_a_warning_and_no_verdict(bench: Bench) -> None:
    bench.cache.folder.write_text("in the way")
    scorers = bench.scorers()
    asked: dict[str, Any] = {"prompt": "q", "output": "a", "criteria": "c", "metadata": {}}
    graded = asyncio.run(scorers.grade(bench.wrappers.scorer(SAYS), **asked))
    assert graded.verdict.verdict == "pass"
    assert len(scorers.warnings) == 1
    assert scorers.warnings[0].startswith("verdicts of scorers were not saved: ")


def test_no_more_than_concurrency_run_at_once(wrappers: Wrappers) -> None:
    """Each takes a folder that another must have given back."""
    scorer = wrappers.scorer(
        """mkdir "$0.lock" || exit 9; sleep 0.02; rmdir "$0.lock"; echo '{"verdict": "pass"}'""", concurrency=1
    )
    scorers = Scorers(environ=ENVIRON, redactor=Redactor(()), budget=CostBudget())

    async def all_at_once() -> list[Graded]:
        asked: dict[str, Any] = {"prompt": "q", "criteria": "c", "metadata": {}}
        return await asyncio.gather(*(scorers.grade(scorer, output=str(at), **asked) for at in range(8)))

    assert [graded.verdict.verdict for graded in asyncio.run(all_at_once())] == ["pass"] * 8


def test_the_version_is_of_the_command_and_of_the_scripts_that_it_names(tmp_path: Path) -> None:
    script, rules, module = tmp_path / "grade.py", tmp_path / "rules.yml", tmp_path / "helper.py"
    for path in (script, rules, module):
        path.write_text("1")

    def version(*command: str, cwd: str | None = None) -> str:
        return scorer_version(Scorer("s", "exec", command, cwd=cwd), ENVIRON)

    words = ("python3", str(script), f"--rules={rules}")
    first = version(*words)
    assert version(*words) == first
    assert version(*words, "-v") != first
    module.write_text("2")
    assert version(*words) == first
    rules.write_text("2")
    second = version(*words)
    assert second != first
    script.write_text("2")
    assert version(*words) not in {first, second}
    relative = version("python3", "grade.py", cwd=str(tmp_path))
    script.write_text("3")
    assert version("python3", "grade.py", cwd=str(tmp_path)) != relative


def test_the_version_of_a_script_on_the_path_is_of_its_text(tmp_path: Path) -> None:
    script = tmp_path / "grade"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    environ = {"PATH": f"{tmp_path}{os.pathsep}{ENVIRON['PATH']}"}
    first = scorer_version(Scorer("s", "exec", ("grade",)), environ)
    script.write_text("#!/bin/sh\ntrue\n")
    assert scorer_version(Scorer("s", "exec", ("grade",)), environ) != first

"""The first run of a suite from `mcptest init`: it finds better arguments, and proposes assertions from the answers."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mcptest_engine.cli.common import announce_new_folder, find_here, load
from mcptest_engine.core.enums import Verdict
from mcptest_engine.core.errors import McptestError
from mcptest_engine.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mcptest_engine.authoring.better_arguments import Better
    from mcptest_engine.authoring.scaffold import Scaffold
    from mcptest_engine.cli.choosing import Chosen
    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.running.cases import Case
    from mcptest_engine.running.settings import RunSettings
    from mcptest_engine.safety.execution_policy import ExecutionPolicy
    from mcptest_engine.servers.catalog import Catalog
    from mcptest_engine.suite.load import LoadedSuite

_ROUNDS = 3
"""How often better arguments are looked for: an id from one tool may lead to an id for another."""


def save_suite(output: Path, suite: str) -> None:
    """Write a suite completely or not at all. Raises: McptestError."""
    from mcptest_engine.workspace.schema_file import with_schema_line
    from mcptest_engine.workspace.suite_file import write_suite

    announce_new_folder(output)
    try:
        write_suite(output, with_schema_line(suite, output).encode("utf-8"))
    except OSError as wrong:
        raise McptestError(
            f"`{output}` cannot be written: {wrong.strerror or wrong}", hint="nothing was written"
        ) from wrong


def say(text: str) -> None:
    """Print a text; on a terminal, long lines are wrapped between words."""
    if sys.stdout.isatty():
        import shutil
        import textwrap

        def fill(line: str) -> str:
            margin = " " * (len(line) - len(line.lstrip()))
            return textwrap.fill(
                line, width, subsequent_indent=f"{margin}  ", break_long_words=False, break_on_hyphens=False
            )

        width = max(shutil.get_terminal_size().columns, 20)
        text = "\n".join(map(fill, text.split("\n")))
    sys.stdout.write(f"{text}\n")


class FirstRun:
    """The runs of a new suite, under the policy, and the results of its tests."""

    def __init__(self, output: Path, chosen: Chosen, policy: ExecutionPolicy, found: Scaffold) -> None:
        from mcptest_engine.mutation.recording import RunAnswers

        self._output, self._chosen, self._policy, self._found = output, chosen, policy, found
        self._answers = RunAnswers()
        os.environ.update(chosen.secrets)  # given on the command line, and not written to the suite

    def all(self) -> tuple[int, RunRecord]:
        """Run every test that is not skipped.

        An allowed destructive tool is called by this run alone: in the file, its test stays skipped.
        """
        once, tests = {tool.name for tool in self._found.tools if tool.single_call}, []
        suite = load(self._output, find_here(), {})
        for entry in suite.tests:
            name = entry.data.get("tool")
            if name in once:
                once.remove(name)
                entry = replace(entry, data={key: value for key, value in entry.data.items() if key != "skip"})
            tests.append(entry)
        return self._run(replace(suite, tests=tuple(tests)), None)

    def again(self, catalog: Catalog, record: RunRecord) -> tuple[int, RunRecord]:
        """Put arguments that the server returned into the suite, and repeat those of its tests that only read.

        New results may help other tests, so this is done up to three times. The arguments stay marked as a guess. Return the
        worse exit code, and the record with the new results in place of the old ones.
        """
        from mcptest_engine.authoring.better_arguments import ArgumentSearch, with_arguments
        from mcptest_engine.authoring.observing import Secrets
        from mcptest_engine.core.sanitise import one_line

        reading = self._reading(catalog)
        search = ArgumentSearch(catalog, Secrets(self._chosen.spec(None).redact).without, self._policy)
        code = record.exit_code
        for number in range(_ROUNDS):
            suite = load(self._output, find_here(), {})
            found = search.find(self._cases(suite), record.tests)
            if number:  # tests that are not repeated keep their arguments
                found = [one for one in found if one.test.tool is None or one.test.tool in reading]
            text, changed = with_arguments(self._output.read_text(encoding="utf-8"), found)
            if not changed or record.interrupted:
                break
            save_suite(self._output, text)
            if not number:
                say("\nbetter arguments, found in the server's answers:")
            for better in changed:
                values = ", ".join(
                    f"{one_line(name, 60)} from {one_line(tool, 60)}" for name, tool in better.sources.items()
                )
                say(f"  {one_line(better.name, 100)}: {values}")
            if self._policy.max_calls == 0:
                break
            rerun = [one for one in changed if one.test.tool is None or one.test.tool in reading]
            if not rerun:
                break
            second, record = self._run_changed(rerun, record)
            code = max(code, second)
        return code, record

    def _reading(self, catalog: Catalog) -> set[str]:
        """The tools that may be called more than once."""
        from mcptest_engine.safety.execution_policy import Decision, Purpose
        from mcptest_engine.safety.tool_classes import classify

        classes = ((str(tool.get("name")), classify(tool)) for tool in catalog.tools)
        decide = self._policy.decide_tool
        return {name for name, one in classes if decide(name, one, Purpose.CALL) is Decision.EXECUTE}

    def _run_changed(self, changed: Sequence[Better], record: RunRecord) -> tuple[int, RunRecord]:
        """Run tests with other arguments; where the result is no better, restore the old ones."""
        from mcptest_engine.authoring.better_arguments import with_arguments

        suite = load(self._output, find_here(), {})
        ids = {case.name: case.id for case in self._cases(suite)}
        wanted = {ids[one.name]: one for one in changed}
        before = dict(self._answers.judged)
        code, second = self._run(suite, frozenset(wanted))
        new = {wanted[test.id].test.id: test for test in second.tests}
        worse = [
            one
            for one in wanted.values()
            if one.test.verdict is Verdict.PASS and new.get(one.test.id, one.test).verdict is not Verdict.PASS
        ]
        for one in worse:
            new.pop(one.test.id, None)
            if one.test.id in before:
                self._answers.judged[one.test.id] = before[one.test.id]
        put_back = [
            one._replace(
                test=replace(one.test, name=one.name),
                name=one.test.name,
                arguments=(one.test.request or {"params": {}})["params"].get("arguments", {}),
            )
            for one in worse
        ]
        save_suite(self._output, with_arguments(self._output.read_text(encoding="utf-8"), put_back)[0])
        tests = tuple(new.get(test.id, test) for test in record.tests)
        return code, replace(record, interrupted=second.interrupted).with_tests(tests)

    def _cases(self, suite: LoadedSuite) -> Sequence[Case]:
        from mcptest_engine.running.plan import make_plan

        return make_plan(suite, self._settings(None), relative=find_here().relative).cases

    def learn(self, record: RunRecord) -> int:
        """Repeat the passed tests that only read, without output, and propose assertions; return for how many tests."""
        import asyncio

        from mcptest_engine.cli.ending import ending_on_signals
        from mcptest_engine.mutation.proposing import learn_expectations
        from mcptest_engine.mutation.recording import Observed

        if self._policy.max_calls == 0:
            return 0

        def run(second: Any) -> Any:
            async def main() -> Any:
                task = asyncio.ensure_future(second)
                with ending_on_signals(task):
                    return await task

            return asyncio.run(main())

        suite = load(self._output, find_here(), {})
        observed = Observed(record, self._answers)
        try:
            learnt = learn_expectations(suite, self._settings(None), observed, workspace=find_here(), run=run)
        except OSError as wrong:
            say(f"note: no expectations were proposed: {wrong.strerror or wrong}")
            return 0
        if learnt is None or not learnt.proposals:
            return 0
        say(f"proposals for {counted(learnt.proposals, 'test')}: values that were observed, not verified")
        if learnt.score is not None and learnt.accepted_score is not None:
            say(
                f"the suite notices {learnt.score:.0%} of wrong answers; with the proposals, {learnt.accepted_score:.0%}"
            )
        sys.stdout.flush()
        return learnt.proposals

    def _run(self, suite: LoadedSuite, ids: frozenset[str] | None) -> tuple[int, RunRecord]:
        """Run the suite once, or only the tests of `ids`."""
        from mcptest_engine.cli.run import run_and_report
        from mcptest_engine.cli.sinks import make_sinks
        from mcptest_engine.mutation.recording import RunAnswers

        sys.stdout.write("\n")
        sys.stdout.flush()
        answers = RunAnswers()
        code, record = run_and_report(suite, self._settings(ids), find_here(), make_sinks((), None), observer=answers)
        self._answers.judged.update(answers.judged)
        if self._policy.max_calls is not None:
            made = sum(one.count for one in record.effects.calls if one.decision == "executed") if record.effects else 0
            self._policy = replace(self._policy, max_calls=max(self._policy.max_calls - made, 0))
        return code, record

    def _settings(self, ids: frozenset[str] | None) -> RunSettings:
        from mcptest_engine.running.settings import RunSettings, Selection

        return RunSettings(workers=self._policy.concurrency, policy=self._policy, selection=Selection(ids=ids))

"""What every reporter says of hooks that failed: each once, with the end of what it wrote, however many tests it concerns.

Text given here is one line, or lines, and sanitised. The surprising thing: when `beforeAll` failed, every test of the run did,
for one reason that is the run's; reporters give that reason here and spare the tests their copies of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.core.results import FailureKind
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.text import counted
from mcptest_engine.reporting import facts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest_engine.core.results import TestResult
    from mcptest_engine.core.run_record import HookResult, RunRecord

OUTPUT_LINES = 12


class FailedHook(NamedTuple):
    """Commands that failed alike, as one: what failed how, around what, and the last lines of the output."""

    title: str
    lines: tuple[str, ...]
    phase: str

    @property
    def text(self) -> str:
        """All of it as plain lines, without a final newline."""
        return "\n".join([self.title, *(f"  {line}".rstrip() for line in self.lines)])


def failed_hooks(record: RunRecord) -> tuple[HookResult, ...]:
    """The commands that failed, in the order in which they ran."""
    return tuple(hook for hook in record.hooks if not hook.passed)


def texts_by_test(record: RunRecord) -> Mapping[str, str]:
    """What failed around each test, by its id, with its output; what failed around the run at its first or last test."""
    found: dict[str, str] = {}
    for hook in failed_hooks(record) if record.tests else ():
        test = hook.test or record.tests[0 if hook.phase == "beforeAll" else -1].id
        text = "\n".join([one_line(hook.summary), *(f"  {line}".rstrip() for line in output_lines(hook))])
        found[test] = f"{found[test]}\n{text}" if test in found else text
    return found


def setup_failure(record: RunRecord) -> HookResult | None:
    """The command of `beforeAll` that kept every test from running, or None."""
    failed = next((hook for hook in failed_hooks(record) if hook.phase == "beforeAll"), None)
    return None if failed is None or not any(is_blocked_by_hook(test) for test in record.tests) else failed


def is_blocked_by_hook(test: TestResult) -> bool:
    """Whether a hook kept the test from being run."""
    return test.failure is not None and test.failure.kind is FailureKind.HOOK


def hook_failures(record: RunRecord) -> tuple[FailedHook, ...]:
    """Every failed command; those that failed alike around several tests are told once."""
    alike: dict[tuple[str, tuple[str, ...]], list[HookResult]] = {}
    for hook in failed_hooks(record):
        alike.setdefault((hook.summary, tuple(output_lines(hook))), []).append(hook)
    names = {test.id: test.name for test in record.tests} if alike else {}
    kept = sum(map(is_blocked_by_hook, record.tests))
    return tuple(
        FailedHook(one_line(f"{told}{_around(hooks, names, kept)}", facts.MESSAGE_LIMIT), lines, hooks[0].phase)
        for (told, lines), hooks in alike.items()
    )


def _around(hooks: list[HookResult], names: Mapping[str, str], kept: int) -> str:
    first = hooks[0]
    if first.test is None:
        return f" ({counted(kept, 'test')} not run)" if first.phase == "beforeAll" and kept else ""
    name = f'"{names.get(first.test, first.test)}"'
    return f" (around {name})" if len(hooks) == 1 else f" (around {len(hooks)} tests, {name} first)"


def output_lines(hook: HookResult) -> list[str]:
    """The last lines of what a command wrote."""
    return facts.last_lines(hook.output, OUTPUT_LINES)


def other_warnings(record: RunRecord) -> tuple[str, ...]:
    """The run's warnings without those that `hook_failures` has told."""
    if not record.hooks:
        return facts.warning_texts(record)
    names = {test.id: test.name for test in record.tests}
    told = {
        hook.summary if hook.test is None else f"{names.get(hook.test, hook.test)}: {hook.summary}"
        for hook in failed_hooks(record)
    }
    shown = {one_line(text, facts.MESSAGE_LIMIT) for text in told}
    return tuple(warning for warning in facts.warning_texts(record) if warning not in shown)

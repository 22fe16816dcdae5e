"""`snapshot`: the value equals the one that was accepted before. Both are compared without their secrets."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from mcptest_engine.core.clipping import show, show_text
from mcptest_engine.core.schemas import nested_deeper_than
from mcptest_engine.core.targets import EVERY, parse_target
from mcptest_engine.judging.differences import NOTHING, aligned_difference, first_difference
from mcptest_engine.judging.matchers.equality import unequal
from mcptest_engine.judging.matchers.reasons import absent_entry, because, unjudged

if TYPE_CHECKING:
    from mcptest_engine.core.targets import Segment, Target
    from mcptest_engine.judging.matchers import Context, Judge, Reason

DEEPEST = 100  # levels; the YAML writer recurses, several calls a level
IGNORED = "(ignored)"


def equals_snapshot(argument: object, context: Context) -> Judge:
    """Equals the stored value, apart from what `ignore` names (targets inside the value)."""
    options = argument if isinstance(argument, dict) else {}
    name = options.get("name") or context.snapshot_name
    ignored = [parse_target(target) for target in options.get("ignore", ())]
    store = context.snapshots
    numbers = count(1)  # each element below `each` is a value of its own

    def judge(actual: object) -> Reason | None:
        lacking = absent_entry(actual)
        if lacking is not None:
            return lacking
        if store is None:
            return unjudged("snapshots are not available here")
        if nested_deeper_than(actual, DEEPEST):
            return unjudged("the value is nested too deeply for a snapshot")
        value = without(store.redact(actual), ignored)
        seen_at = f"assertion {context.label} of `{context.test_name}`, value {next(numbers)}"
        stored = store.lookup(name)
        if stored is NOTHING:
            if store.propose(name, value, seen_at):
                return None
            return unjudged(
                f"no snapshot `{show_text(name)}` is stored yet; accept the current value with `--update-snapshots`"
            )
        stored = without(stored, ignored)
        if first_difference(stored, value) is None:
            store.confirm(name, seen_at)
            return None
        rival = store.find_rival(name, seen_at)
        if rival is not None:
            return because(
                f"the snapshot `{show_text(name)}` has one value, but this run produced two: `{show(stored)}` in"
                f" {show_text(rival)}, `{show(value)}` in {show_text(seen_at)}; give each its own `name`"
            )
        if store.propose(name, value, seen_at):
            return None
        return lambda: unequal(stored, value, aligned_difference(stored, value))

    return judge


def without(value: object, ignored: list[Target]) -> object:
    """A copy of `value` in which what the targets name is left out (a member) or replaced by a mark (an element)."""
    for target in ignored:
        value = _removed(value, target.segments)
    return value


def _removed(value: object, segments: tuple[Segment, ...]) -> object:
    if not segments:
        return IGNORED
    first, rest = segments[0], segments[1:]
    if isinstance(value, dict) and isinstance(first, str) and first in value:
        if not rest:
            return {key: member for key, member in value.items() if key != first}
        return {key: _removed(member, rest) if key == first else member for key, member in value.items()}
    if isinstance(value, list):
        if first is EVERY:
            return [_removed(element, rest) for element in value]
        if isinstance(first, int) and -len(value) <= first < len(value):
            place = first % len(value)
            return [_removed(element, rest) if index == place else element for index, element in enumerate(value)]
    return value

"""Find an assertion that would notice a wrong answer.

It is judged before it is offered: it holds for the recorded answer and fails on the wrong one. Its matcher has no secret, and
its YAML reads back as the assertion that was judged.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.authoring.block_text import expect_text, reads_back
from mcptest_engine.authoring.loosening import ASSERTIONS
from mcptest_engine.authoring.observing import LONGEST_EXACT, Secrets, is_writable
from mcptest_engine.authoring.shapes import type_of
from mcptest_engine.authoring.targets import untemplated
from mcptest_engine.core.values import dataclass
from mcptest_engine.judging.assertions import judge_assertions
from mcptest_engine.judging.differences import equal
from mcptest_engine.judging.matchers import Context, compile_judge
from mcptest_engine.mutation.operators import FROM_JSON, MISSING, Path, assertion_path, get_at, read_json
from mcptest_engine.suite.yaml_text import Unwritable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from mcptest_engine.core.json_types import JsonDict

Assertion = dict[str, object]
Envelope = Mapping[str, Any]
MOST_LOOKED_AT = 200
_ENDING = 40
_NOT_ASSERTED: frozenset[Path] = frozenset({("nodes",)})


class Killer(NamedTuple):
    """An assertion, as written in a suite, on the value at `path` of an envelope.

    With `column` it is about that member of each item of the list there. `is_shape`: it is about values that change.
    """

    path: Path
    assertion: Assertion
    column: str | None = None
    is_shape: bool = False

    def holds_for(self, envelope: Envelope) -> bool:
        """Like `holds`, but a path into JSON is followed in Python, which takes a hundredth of the time of jq."""
        if FROM_JSON not in self.path:
            return holds(self.assertion, envelope)
        try:
            value = _value_by_jq(envelope, self.path)
            if self.column is not None:
                value = [item.get(self.column) for item in (value.values() if isinstance(value, dict) else value)]
        except (LookupError, TypeError, ValueError, AttributeError):
            return False
        return compile_judge(_unescape(self.assertion["matcher"]), Context())(value) is None


@dataclass(frozen=True, slots=True)
class Killing:
    """Finds assertions for surviving mutants. `secrets` are those of the suite."""

    secrets: Secrets

    def find(
        self,
        true: Envelope,
        wrong: Envelope,
        *,
        at: Path = (),
        volatile: Collection[Path] = (),
        known: Sequence[Killer] = (),
    ) -> Killer | None:
        """Find an assertion that holds for the envelope `true` and fails on `wrong`; `known` ones are tried first.

        `at` is the path of the only difference, () where that is not known. Values at `volatile` paths are not asserted.
        """
        for killer in known:
            if get_at(true, killer.path) != get_at(wrong, killer.path) and not killer.holds_for(wrong):
                return killer
        for killer in self._candidates(_judged_part(true), _judged_part(wrong), at, volatile):
            if killer.holds_for(true) and not killer.holds_for(wrong) and has_yaml_text(killer.assertion):
                return killer
        return None

    def _candidates(self, true: object, wrong: object, at: Path, volatile: Collection[Path]) -> Iterator[Killer]:
        """Yield assertions on what differs, first those that pin a value, then the weaker ones (length, ending, type)."""
        weaker: list[Killer] = []
        differing = differing_paths(get_at(true, at), get_at(wrong, at), at)
        around = ((at[:-1], get_at(true, at[:-1]), get_at(wrong, at[:-1])),) if len(at) > 1 else ()
        for path, value, other in (*differing, *around):
            if path in volatile or not path or path in _NOT_ASSERTED:
                continue
            target, program = assertion_path(path)
            for strong, matcher in self._matchers(path, value, other):
                row: Assertion = {"target": untemplated(target)}
                if program is not None:
                    row["transform"] = {"jq": program}
                row["matcher"] = untemplated(matcher)
                if strong:
                    yield Killer(path, row)
                else:
                    weaker.append(Killer(path, row))
        yield from weaker

    def _matchers(self, path: Path, value: object, other: object) -> Iterator[tuple[bool, dict[str, object]]]:
        """Yield (whether it pins the value, matcher) for the true value at a path; `other` is the wrong value."""
        if value is MISSING:
            yield True, {"not": {"exact": other}} if isinstance(other, bool) else {"exists": False}
            return
        if path == ("result",):
            yield False, {"exists": True}
        name = next((part for part in reversed(path) if isinstance(part, str)), "")
        is_secret = self.secrets.under(name, value) or (isinstance(value, str) and self.secrets.holds(value))
        if isinstance(value, (list, dict)):
            yield False, {"length": len(value)}
        elif isinstance(value, str) and read_json(value) is not None:
            pass  # what is in the JSON is asserted separately: some of it may be volatile
        elif not is_secret and is_writable(value) and (not isinstance(value, str) or len(value) <= LONGEST_EXACT):
            yield True, {"exact": value}
        elif isinstance(value, str):
            if not is_secret and value and is_writable(value[-_ENDING:]):
                yield False, {"ends-with": value[-_ENDING:]}
            yield False, {"length": len(value)}
        yield False, {"type": type_of(value)}


def holds(assertion: Mapping[str, object], envelope: Envelope) -> bool:
    """Whether an assertion, as written in a suite, holds for an envelope; False where it cannot be judged."""
    read = {**assertion, "target": _unescape(assertion["target"]), "matcher": _unescape(assertion["matcher"])}
    return judge_assertions([read], envelope)[0].passed is True


def _value_by_jq(envelope: Envelope, path: Path) -> Any:
    """The value that jq selects at a path: None for an absent member. Raises: TypeError or ValueError where jq fails."""
    at = path.index(FROM_JSON)
    value = get_at(envelope, path[:at])
    for segment in path[at:]:
        if segment is FROM_JSON:
            if not isinstance(value, str):
                raise TypeError
            value = json.loads(value)
        elif isinstance(value, dict):
            value = value.get(segment)
        elif isinstance(value, list) and isinstance(segment, int):
            value = value[segment] if segment < len(value) else None
        elif value is not None:
            raise TypeError
    return value


def _unescape(value: object) -> Any:
    """Return plain data with `$${` replaced by `${`, as the loader does."""
    if isinstance(value, str):
        return value.replace("$${", "${")
    if isinstance(value, dict):
        return {key: _unescape(part) for key, part in value.items()}
    return [_unescape(part) for part in value] if isinstance(value, list) else value


def _judged_part(envelope: Envelope) -> JsonDict:
    """The part of an envelope that is asserted: the answer, an agent's response and calls, or the outputs of nodes."""
    if "nodes" in envelope:
        nodes = {name: {"output": node["output"]} for name, node in envelope["nodes"].items()}
        return {"output": envelope["output"], "nodes": nodes}
    keys = ("result", "error", "final_response", "tool_calls")
    return {key: envelope[key] for key in keys if envelope.get(key) is not None}


def differing_paths(one: object, other: object, above: Path = ()) -> Iterator[tuple[Path, object, object]]:
    """Yield (path, one, other) for each place where two values at the path `above` differ, outer containers first."""
    waiting: deque[tuple[Path, Any, Any]] = deque([(above, one, other)])
    looked_at = 0
    while waiting and looked_at < MOST_LOOKED_AT:
        path, first, second = waiting.popleft()
        if first is not MISSING and second is not MISSING and equal(first, second):
            continue
        looked_at += 1
        if isinstance(first, dict):
            yield path, first, second
            inner = second if isinstance(second, dict) else {}
            waiting.extend(
                ((*path, key), first.get(key, MISSING), inner.get(key, MISSING)) for key in {**first, **inner}
            )
        elif isinstance(first, list):
            yield path, first, second
            rest = second if isinstance(second, list) else []
            waiting.extend(
                ((*path, at), item, rest[at] if at < len(rest) else MISSING) for at, item in enumerate(first)
            )
        else:
            held = read_json(first) if isinstance(first, str) else None
            if held is not None:
                again = read_json(second) if isinstance(second, str) else None
                waiting.append(((*path, FROM_JSON), held, MISSING if again is None else again))
            yield path, first, second


def has_yaml_text(row: Assertion) -> bool:
    """Whether the assertion can be written as YAML that reads back as the same assertion."""
    try:
        return reads_back(expect_text({ASSERTIONS: [row]}), {ASSERTIONS: [row]})
    except (Unwritable, RecursionError, ValueError):
        return False


def assertion_text(row: Mapping[str, object]) -> str:
    """The YAML of an assertion, as an item of an `expect` that is a list."""
    lines = expect_text({ASSERTIONS: [dict(row)]}).split("\n")[1:]
    return "\n".join(line[2:] for line in lines).rstrip("\n") + "\n"

"""Finds better arguments for tests whose made-up ones were refused or found nothing, among what the server returned.

Values come from the answers of tools that only read, and from the listed resources. A test of an empty text that was refused
gets another value instead: the refusal shows nothing, since nobody knows whether it is right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.authoring.catalog_texts import unused_name
from mcptest_engine.core.enums import ExpectedOutcome, Verdict
from mcptest_engine.running.guesses import SEARCHES, explain, found_nothing, returned, seen_in_resources, split_name
from mcptest_engine.suite.edit import set_value
from mcptest_engine.suite.text_edits import apply
from mcptest_engine.suite.yaml import read_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from mcptest_engine.core.json_types import JsonDict, JsonMapping
    from mcptest_engine.core.results import TestResult
    from mcptest_engine.running.cases import Case
    from mcptest_engine.safety.execution_policy import ExecutionPolicy
    from mcptest_engine.servers.catalog import Catalog

COMMON_LETTER = "a"
"""What nearly every text contains: a search for it finds something."""
_LETTER_SOURCE = "a letter that most texts have"


class Better(NamedTuple):
    """Arguments for one test. `name` is a new name when the test has another purpose with them."""

    test: TestResult
    arguments: JsonMapping
    sources: Mapping[str, str]
    name: str


def _blamed(names: Iterable[str], arguments: Mapping[str, object], refusal: str) -> list[str]:
    """The arguments that a refusal is about: those whose values it repeats, all of them when it repeats none."""
    repeated = [name for name in names if str(arguments.get(name)) in refusal]
    return repeated or list(names)


class ArgumentSearch:
    """Finds arguments after each run of a suite; the same ones are proposed only once."""

    def __init__(self, catalog: Catalog, redact: Callable[[object], object], policy: ExecutionPolicy) -> None:
        self._catalog, self._redact, self._policy = catalog, redact, policy
        self._tools = {tool["name"]: tool for tool in catalog.tools if isinstance(tool.get("name"), str)}
        self._tried: dict[str, dict[str, list[Any]]] = {}
        self._found: dict[str, set[str]] = {}

    def find(self, cases: Sequence[Case], results: Sequence[TestResult]) -> list[Better]:
        """Find arguments for each test that needs them."""
        by_id = {case.id: case for case in cases}
        taken = {case.name for case in cases}
        return [
            better
            for result in results
            if (case := by_id.get(result.id)) is not None
            and case.guess is not None
            and case.outcome is ExpectedOutcome.SUCCESS
            for better in self._for(case, result, results, taken)
        ]

    def _for(self, case: Case, result: TestResult, results: Sequence[TestResult], taken: set[str]) -> Iterator[Better]:
        is_refused = result.undecided is not None
        answer = (result.output or {}).get("result")
        if not is_refused and not (result.verdict is Verdict.PASS and found_nothing(answer)):
            return
        given = (case.params or {}).get("arguments")
        arguments = dict(given) if isinstance(given, dict) else {}
        empty = [name for name in case.guess or () if arguments.get(name) == ""] if is_refused else []
        seen = [
            *returned(case.server, results, self._tools, self._policy),
            *seen_in_resources(self._catalog.resources),
        ]
        tried, found_before = self._tried.setdefault(case.name, {}), self._found.setdefault(case.name, set())
        blamed = _blamed(found_before, arguments, str(result.message) if is_refused else "")
        for one in blamed:
            tried.setdefault(one, []).append(arguments.get(one))
        if empty:  # the test with valid arguments has the first value that fits
            first = explain(case, seen, self._tools, self._redact, besides=dict.fromkeys(empty, ()))
            tried.update({one: [(first.arguments or {}).get(one)] for one in empty})
        kept = found_before.difference(blamed)
        found = explain(case, seen, self._tools, self._redact, besides=tried, kept=kept)
        better, sources, name = found.arguments, found.sources, result.name
        if not is_refused and (better is None or found_before):
            better = self._searching(case, arguments)
            sources = {one: _LETTER_SOURCE for one in better or {} if arguments.get(one) != (better or {})[one]}
        if not better or not sources:
            return
        found_before.update(sources)
        if empty:
            name = unused_name(f"{case.tool}: another `{empty[0]}`", taken)
            taken.add(name)
            self._tried[name], self._found[name] = tried, found_before
        yield Better(result, better, sources, name)

    def _searching(self, case: Case, arguments: Mapping[str, object]) -> JsonDict | None:
        is_search = not {"search", "find", "query"}.isdisjoint(split_name(case.tool or ""))
        names = [
            name
            for name in case.guess or ()
            if isinstance(arguments.get(name), str)
            and arguments[name] != ""
            and (is_search or (split_name(name)[-1:] and split_name(name)[-1] in SEARCHES))
        ]
        return {**arguments, names[0]: COMMON_LETTER} if names else None


def with_arguments(text: str, found: Sequence[Better]) -> tuple[str, list[Better]]:
    """Put other arguments into tests of a suite's text; return the text and what was written. They stay marked as made up."""
    from mcptest_engine.authoring.review_runs import escape_templates

    changed: list[Better] = []
    for better in found:
        tree = read_tree(text, file="").value
        for block in ("tools", "prompts"):
            written = escape_templates(better.test.name)
            named = [at for at, one in enumerate(tree.get(block) or ()) if one.get("name") == written]
            if len(named) == 1:
                text = apply(text, set_value(text, (block, named[0], "args"), escape_templates(better.arguments)))
                if better.name != better.test.name:
                    text = apply(text, set_value(text, (block, named[0], "name"), escape_templates(better.name)))
                changed.append(better)
    return text, changed

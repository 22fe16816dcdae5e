"""The rows of a composition: one for each of its cases, with what that case expects.

Source: compositions, Cases; decisions 14, Assertions (a case's `expect` replaces the composition's).
"""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.costs import GOLDEN
from mcptest_engine.core.kinds import TestKind
from mcptest_engine.running.compositions.program import Row, make_program
from mcptest_engine.running.compositions.spending import Spending
from mcptest_engine.running.ids import DeclaredIds, Shared, name_of_case, names_of
from mcptest_engine.suite.defaults import normalised_expect
from mcptest_engine.suite.references import Reference, fill, part_of
from mcptest_engine.suite.templates import LITERAL_KEYS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcptest_engine.suite.yaml import Pointer

_OF_CASES = ("skip", "only")


def composed(
    data: Mapping[str, Any],
    *,
    only_server: str,
    timeouts: Mapping[str, float],
    timeout_ms: float,
    lines: Mapping[Pointer, int] = MappingProxyType({}),
) -> Iterator[tuple[Mapping[str, Any], Row]]:
    """The entries that a composition comes to, each with its row; times are in milliseconds, `lines` as in `TestEntry`."""
    budget, cases = data.get("budget") or {}, data.get("cases")
    of_each = budget.get("scope") == "case"
    program = make_program(
        data,
        Spending(budget, of_all=bool(budget) and not of_each and cases is not None and len(cases) > 1),
        only_server=only_server,
        timeouts={server: value / 1000 for server, value in timeouts.items()},
        timeout_seconds=timeout_ms / 1000,
        lines=lines,
    )
    if cases is None:
        yield {**data, "expect": _filled(data["expect"], {})}, Row(program, None, {}, of_each)
        return
    for number, case in enumerate(cases):
        variables = case.get("vars", {})
        expect = normalised_expect(case["expect"]) if "expect" in case else data["expect"]
        if "golden" in case:
            row = {"name": GOLDEN, "target": "output", "matcher": {"exact": case["golden"]}}
            expect = {**expect, "assertions": [*expect["assertions"], row]}
        expect = _filled(expect, variables)
        own = {key: case[key] for key in _OF_CASES if key in case}
        tags = [*data.get("tags", ()), *case.get("tags", ())]
        entry = {**data, **own, "name": name_of_case(data["name"], case["name"]), "expect": expect, "tags": tags}
        own_program = program._replace(spending=Spending(budget)) if of_each else program
        line = lines.get(("cases", number))
        golden_line = lines.get(("cases", number, "golden"), line)
        yield entry, Row(own_program, case["name"], variables, of_each, line, golden_line)


def _filled(expect: Mapping[str, Any], variables: Mapping[str, Any]) -> Mapping[str, Any]:
    """What is expected with a case's variables in it, except in what has a language of its own."""

    def look_up(reference: Reference) -> Any:
        if reference.space == "var" and reference.name in variables:
            return part_of(reference, variables[reference.name])
        return reference

    filled: Mapping[str, Any] = fill(expect, look_up, LITERAL_KEYS)
    return filled


def graph_of(path: str, test: str, start_dir: Path, environ: Mapping[str, str]) -> list[dict[str, Any]]:
    """The nodes of the composition that has the id `test` in the suite at `path`: [{"id", "needs", "server", "tool"}].

    Empty where there is none, or the suite does not load.
    """
    from mcptest_engine.running.documents import suite_options
    from mcptest_engine.suite.graph import parents_of
    from mcptest_engine.suite.load import check_suite
    from mcptest_engine.workspace.workspace import Workspace

    options = suite_options(Path(path), start_dir=start_dir, environ=environ)
    suite = check_suite(Path(path), options).suite
    if suite is None:
        return []
    ids = DeclaredIds(Workspace(options.workspace_root).relative(suite.path))
    shared = Shared.of(suite)
    for entry in suite.tests:
        for kind, name in names_of(entry.kind, entry.data, entry.data["name"], shared):
            if ids.take(kind.value, name)[0] == test and entry.kind is TestKind.COMPOSITION:
                return [
                    {
                        "id": node["id"],
                        "needs": [parent.id for _, parent in parents_of(node)],
                        "server": node.get("server", entry.server),
                        "tool": node["tool"],
                    }
                    for node in entry.data["nodes"]
                ]
    return []

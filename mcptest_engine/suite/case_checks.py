"""What can be wrong with the rows of data of a test: their shape, their names, and the templates that they give values to.

The surprising thing: where a suite wants a number and has `${var.X}`, the value is judged in every row, at the row's own place.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.errors import did_you_mean
from mcptest_engine.core.text import pointer, quoted
from mcptest_engine.suite.assertion_checks import LOOK_INTO_ARRAYS, MAY_ALWAYS_HOLD, always_holds
from mcptest_engine.suite.case_rows import FILLED, WITH_CASES, fill_in
from mcptest_engine.suite.places import FOCUSED, check_name
from mcptest_engine.suite.problems import structural_problems
from mcptest_engine.suite.references import (
    VARIABLE_PATTERN,
    WHOLE,
    Reference,
    ReferenceSyntaxError,
    Unresolved,
    parse_reference,
    part_of,
    templates_in,
)
from mcptest_engine.suite.templates import DATA_MATCHERS, LITERAL_KEYS
from mcptest_engine.suite.yaml import Tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from mcptest_engine.core.errors import Problem
    from mcptest_engine.suite.places import Places
    from mcptest_engine.suite.yaml import Pointer

ESCAPE_HINT = "write `$${` for a literal `${`"
_LEAST: dict[str, dict[str, Any]] = {
    "tools": {"name": "x", "tool": "x"},
    "resources": {"name": "x", "uri": "x:"},
    "prompts": {"name": "x", "prompt": "x"},
    "compositions": {"name": "x", "nodes": [{"id": "x", "tool": "x"}]},
}
"""The least that a test of each block has."""
_ROW_KEYS = frozenset(("name", "expect", "golden", "skip", "only", "tags"))
"""What a row may have beside `vars`."""


def problems_in_rows(place: Pointer, rows: list[Any], written: Tree) -> list[Problem]:
    """What is wrong with the shape of the cases that a data file holds; `place` is that of `cases` in the suite."""
    block = str(place[0])
    least = _LEAST[block]
    marks = [0, 0, [0, [0, *(0 for _ in range(2 * len(least))), 0, written.marks]]]
    tree = replace(written, value={block: [{**least, "cases": rows}]}, marks=marks)
    start, own = pointer((block, 0)), pointer(place[:2])
    return [replace(found, pointer=own + found.pointer.removeprefix(start)) for found in structural_problems(tree)]


def typed_by_cases(value: Any, problems: Iterable[Problem]) -> tuple[list[Problem], list[tuple[Pointer, str]]]:
    """The problems but for those of a text that is one variable of cases, whose value counts; and the places of these."""
    others: list[Problem] = []
    typed: list[tuple[Pointer, str]] = []
    for problem in problems:
        path, found = _at(value, problem.pointer)
        name = _whole_variable(found) if len(path) > 3 and path[0] in WITH_CASES and path[2] in FILLED else None
        entry = value[path[0]][path[1]] if name is not None else {}
        if name is not None and any(_has(row, name) for row in _mappings(entry.get("cases"))):
            typed.append((path, name))
        else:
            others.append(problem)
    return others, typed


def check_typed(value: Any, typed: list[tuple[Pointer, str]], file: int, places: Places) -> None:
    """Tell of each row whose value is not of the type that is wanted where it is used."""
    by_test: dict[Pointer, list[tuple[Pointer, str]]] = {}
    for path, name in typed:
        by_test.setdefault(path[:2], []).append((path, name))
    for (block, index), found in by_test.items():
        entry = value[block][index]
        for number, row in enumerate(entry["cases"]):
            if not isinstance(row, dict) or not isinstance(variables := row.get("vars"), dict):
                continue
            try:
                filled = {key: fill_in(entry[key], variables, key) for key in ("expect", "verify") if key in entry}
            except (Unresolved, ReferenceSyntaxError):
                continue  # told of by itself
            probe = Tree({block: [{**_LEAST[str(block)], **filled}]}, 0, "", "")
            for problem in structural_problems(probe):
                path = _at(probe.value, problem.pointer)[0]
                used = [name for place, name in found if path[2:][: len(place) - 2] == place[2:]]
                if not used or (path[2] == "expect" and "expect" in row):
                    continue
                where = f"`{path[-1]}: ${{var.{used[0]}}}`" if isinstance(path[-1], str) else f"`${{var.{used[0]}}}`"
                places.report(file, (block, index, "cases", number, "vars", used[0]), f"{where}: {problem.message}")


def _whole_variable(text: object) -> str | None:
    """The name of the variable that a text is, or a part of it."""
    whole = WHOLE.fullmatch(text) if isinstance(text, str) else None
    try:
        reference = None if whole is None else parse_reference(whole[1])
    except ReferenceSyntaxError:
        return None
    return reference.name if reference is not None and reference.space == "var" else None


def _at(value: Any, written: str) -> tuple[Pointer, Any]:
    """The path that a JSON Pointer stands for, and what is there."""
    path: list[str | int] = []
    for part in (part.replace("~1", "/").replace("~0", "~") for part in written.split("/")[1:]):
        try:
            key: str | int = int(part) if isinstance(value, list) else part
            value = value[key]
        except (LookupError, TypeError, ValueError):
            return tuple(path), None
        path.append(key)
    return tuple(path), value


class CaseChecks:
    """Checks of the cases of tests, whatever block the test stands in."""

    def __init__(self, places: Places, *, in_ci: bool) -> None:
        self._places, self._in_ci = places, in_ci
        self._lacking: set[tuple[int, Pointer, str]] = set()

    def check_rows(
        self,
        rows: list[dict[str, Any]],
        file: int,
        path: Pointer,
        check_expect: Callable[[dict[str, Any], int, Pointer], object],
    ) -> None:
        """Tell everything that is wrong with the cases of the test at `path`."""
        seen: set[str] = set()
        for index, row in enumerate(rows):
            place: Pointer = (*path, "cases", index)
            name = row.get("name")
            if isinstance(name, str):
                check_name(name, "a case's name", file, (*place, "name"), self._places)
                if name in seen:
                    message = f"duplicate case {quoted(name)}: two cases of a test cannot have one name"
                    self._places.report(file, (*place, "name"), message, "choose another name")
                seen.add(name)
            if row.get("only") is True and self._in_ci:
                self._places.report(file, (*place, "only"), *FOCUSED, key=True)
            if "expect" in row:
                check_expect(row, file, place)
                self.check_templates(row["expect"], [row], file, (*place, "expect"))
            if "golden" in row:
                self.check_templates(row["golden"], [row], file, (*place, "golden"), literal=frozenset())

    def check_operands(
        self, expect: Any, rows: list[dict[str, Any]], file: int, path: Pointer, *, inherited: bool = True
    ) -> None:
        """Warn of each row whose values make an assertion of the test hold for every answer, such as an empty cell.

        `path` is that of the test. What is `inherited` does not hold for a row with an `expect` of its own.
        """
        for matcher, operand in _operands_with_variables(expect):
            first = next((expression for *_, expression in templates_in(operand) if expression is not None), None)
            for number, row in enumerate(rows):
                if inherited and "expect" in row:
                    continue
                variables = row["vars"] if isinstance(row.get("vars"), dict) else {}
                try:
                    told = always_holds(matcher, fill_in(operand, variables))
                    name = "" if first is None else parse_reference(first).name
                except (Unresolved, ReferenceSyntaxError):
                    continue  # reported by itself
                if told is not None:
                    below = ("vars", name) if name in variables else ()
                    message = f"`{matcher}: {operand}`: {told[0]}"
                    self._places.warn(file, (*path, "cases", number, *below), message, told[1])

    def check_templates(
        self,
        value: object,
        rows: list[dict[str, Any]] | None,
        file: int,
        path: Pointer,
        *,
        literal: frozenset[str] = LITERAL_KEYS,
        in_file: list[dict[str, Any]] | None = None,
    ) -> None:
        """Templates in what is filled in for each case: a case's variables have a value there, what nodes give has not.

        `in_file` are all cases of the test if a data file holds them: what a row lacks is told at the row.
        """
        for below, text, at, expression in templates_in(value, literal=literal):
            if expression is None:
                told: tuple[str, str | None] | None = ("`${` is not closed by `}`", ESCAPE_HINT)
            else:
                try:
                    reference = parse_reference(expression)
                except ReferenceSyntaxError as wrong:
                    told = wrong.message, ESCAPE_HINT
                else:
                    if in_file is not None and self._is_lacking_in_file(reference, rows, file, path, in_file):
                        continue
                    told = _wrong_expected(reference, rows)
            if told is not None:
                self._places.report(file, (*path, *below), told[0], told[1], inside=(text, at))

    def _is_lacking_in_file(
        self,
        reference: Reference,
        rows: list[dict[str, Any]] | None,
        file: int,
        path: Pointer,
        in_file: list[dict[str, Any]],
    ) -> bool:
        """Whether some of these rows of a data file lack the variable, which is reported once, at the first of them."""
        lacking = [row for row in rows or () if reference.space == "var" and not _has(row, reference.name)]
        if not lacking or len(lacking) == len(rows or ()):
            return False
        place = (*path[:2], "cases", next(number for number, row in enumerate(in_file) if row is lacking[0]))
        if (file, place, reference.name) not in self._lacking:
            self._lacking.add((file, place, reference.name))
            message = f"the row has no value for `${{var.{reference.name}}}`"
            self._places.report(file, place, message, f"add {quoted(reference.name)} to it")
        return True

    def check_request(
        self,
        entry: Mapping[str, object],
        file: int,
        path: Pointer,
        check_expect: Callable[[dict[str, Any], int, Pointer], object],
    ) -> None:
        """Tell everything that is wrong with the cases of a test of one request."""
        rows = _mappings(entry["cases"])
        self.check_rows(rows, file, path, check_expect)
        self.check_operands(entry.get("expect"), rows, file, path)
        self.check_operands(entry.get("verify"), rows, file, path, inherited=False)
        inheriting = [row for row in rows if "expect" not in row]
        in_file = None if self._places.data_file(file, path) is None else rows
        for below, key, value in _filled_parts(entry):
            literal = LITERAL_KEYS if key == "expect" else frozenset()
            concerned = inheriting if below == ("expect",) else rows
            self.check_templates(value, concerned, file, (*path, *below), literal=literal, in_file=in_file)
        uses = any(True for _, _, value in _filled_parts(entry) for _ in templates_in(value))
        if len(rows) > 1 and not uses and not any("expect" in row for row in rows):
            message = "no `${var.X}` uses a value of the cases, so every case makes the same call"
            self._places.warn(file, (*path, "cases"), message, "use one in `args` or `expect`", key=True)


def _filled_parts(entry: Mapping[str, object]) -> Iterator[tuple[Pointer, str, Any]]:
    """What of a test of one request may hold variables of a case: its place, its key, its value."""
    for key in FILLED:
        if key != "verify" and key in entry:
            yield (key,), key, entry[key]
    steps = entry.get("verify")
    for number, step in enumerate(steps if isinstance(steps, list) else ()):
        for key in FILLED if isinstance(step, dict) else ():
            if key in step:
                yield ("verify", number, key), key, step[key]


def _operands_with_variables(expect: Any) -> Iterator[tuple[str, str]]:
    """Each matcher with an operand that has a template, where it would hold for every text if the operand is empty."""
    items = expect.items() if isinstance(expect, dict) else enumerate(expect) if isinstance(expect, list) else ()
    for key, item in items:
        parts = item if isinstance(item, list) else (item,)
        if key in MAY_ALWAYS_HOLD:
            matcher = str(key).removesuffix("-all").removesuffix("-any")
            yield from ((matcher, part) for part in parts if isinstance(part, str) and "${" in part)
        elif key not in LITERAL_KEYS and key not in DATA_MATCHERS:
            inner = _operands_with_variables(item)
            yield from (pair for pair in inner if key != "not" or pair[0] not in LOOK_INTO_ARRAYS)


def _wrong_expected(reference: Reference, rows: list[dict[str, Any]] | None) -> tuple[str, str | None] | None:
    if reference.space == "var":
        return wrong_variable(reference, rows)
    if reference.space == "env":
        return None
    shown = f"`${{{reference.text}}}` has no value in `expect`"
    if reference.space == "node":
        return shown, f"to check an output, use a `target` such as `nodes.{reference.name}.output`; {ESCAPE_HINT}"
    return shown, ESCAPE_HINT


def wrong_variable(reference: Reference, rows: list[dict[str, Any]] | None) -> tuple[str, str | None] | None:
    """A variable that the suite does not have has to stand in every case; without cases it is sent unchanged."""
    if rows is None:
        return None
    lacking = [row.get("name") for row in rows if not _has(row, reference.name)]
    if not lacking:
        return _wrong_part(reference, rows)
    variables = (row["vars"] for row in rows if isinstance(row.get("vars"), dict))
    names = {name for one in variables for name in one if re.fullmatch(VARIABLE_PATTERN, name)}
    if len(lacking) < len(rows):
        return f"the case {quoted(str(lacking[0]))} has no variable {quoted(reference.name)}", "add it to its `vars`"
    return f"neither a case nor the suite declares a variable {quoted(reference.name)}", among(reference.name, names)


def _wrong_part(reference: Reference, rows: list[dict[str, Any]]) -> tuple[str, str | None] | None:
    """A part of a variable that one case's value does not have."""
    for row in (row for row in rows if "vars" in row) if reference.path else ():
        try:
            part_of(reference, row["vars"][reference.name])
        except Unresolved as wrong:
            return f"{wrong.message}, in the case {quoted(str(row.get('name')))}", None
    return None


def _has(row: Mapping[str, Any], name: str) -> bool:
    if "vars" not in row:
        return name in row and name not in _ROW_KEYS  # a value beside the name is reported as an unknown key
    return isinstance(row["vars"], dict) and name in row["vars"]


def _mappings(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def among(word: str, known: Iterable[str]) -> str | None:
    """The nearest of the known names, or what they are."""
    names = sorted(known)
    if near := did_you_mean(word, names):
        return near
    shown = ", ".join(f"`{name}`" for name in names[:8])
    verb = "is" if len(names) == 1 else "are"
    return f"there {verb} {shown}{', …' if len(names) > 8 else ''}" if names else None

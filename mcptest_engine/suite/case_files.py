"""Rows of data for tests: `cases: cities.csv`, read from CSV, TSV, JSON, JSONL or YAML with the place of every value.

The surprising thing: what is read comes as a `Tree` of a list of cases as a suite would write it, so that everything else
knows only that form. A plain row's values become the `vars` of its case, and `${` in them means nothing.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.errors import Problem, Severity, Span, SuiteError
from mcptest_engine.core.text import counted, quoted
from mcptest_engine.suite.json_tree import read_json, read_json_lines
from mcptest_engine.suite.references import CASE_NAMES, VARIABLE_PATTERN, escaped
from mcptest_engine.suite.yaml import Tree, decode, read_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORDS = {"true": True, "false": False, "null": None}
_MOST_ROWS = 100_000
_NAME, _VARS = "name", "vars"
_Cell = tuple[Any, int]
"""A value, and the index of its first character in the text."""


def read_cases(data: bytes, *, file: str) -> Tree:
    """The cases that a data file holds; its name says how it is read.

    Raises: SuiteError with every problem of the file, each at its own place.
    """
    kind = PurePath(file).suffix.lower()
    text = decode(data, file=file)
    if kind not in _READERS:
        known = "`.csv`, `.tsv`, `.json`, `.jsonl` or `.yml`"
        raise _refused(Tree([], 0, file, text), 0, f"rows of data are read from {known}", "rename or convert the file")
    if not text.strip():
        raise _refused(Tree([], 0, file, text), 0, "the file is empty", "write a row for each case")
    tree = _READERS[kind](text, file)
    if not tree.value:
        raise _refused(tree, 0, "the file has no row", "write a row for each case")
    return tree


def read_columns(data: bytes, *, file: str) -> list[str]:
    """The variables of the cases that a data file holds, of which `data` is the beginning, up to the end of a line.

    Raises: SuiteError for a file that cannot be read.
    """
    delimiter = {".csv": ",", ".tsv": "\t"}.get(PurePath(file).suffix.lower())
    if delimiter is not None:
        tree = Tree([], 0, file, decode(data, file=file))
        return [str(name) for name, _ in _spelt(next(_records(tree, delimiter), []))]
    return [name for row in read_cases(data, file=file).value for name in row[_VARS]]


def _refused(tree: Tree, index: int, message: str, hint: str | None = None) -> SuiteError:
    return SuiteError([_problem(tree, index, message, hint)])


def _problem(tree: Tree, index: int, message: str, hint: str | None = None) -> Problem:
    return Problem(message=message, file=tree.file, span=tree.span_of(index), hint=hint)


def _read_csv(text: str, file: str, *, delimiter: str = ",") -> Tree:
    tree = Tree([], 0, file, text)
    records = _records(tree, delimiter)
    header = next(records, [])
    columns = [str(cell) for cell, _ in _spelt(header)]
    problems = [
        *(
            _problem(tree, at, "a column has no name", "the first line names the columns")
            for name, at in header
            if name == ""
        ),
        *(
            _problem(tree, at, f'two columns are called "{name}"', "rename one of them")
            for number, (name, (_, at)) in enumerate(zip(columns, header, strict=True))
            if name and name in columns[:number]
        ),
    ]
    if len(columns) == 1 and ";" in columns[0] and delimiter == ",":
        problems.append(_problem(tree, header[0][1], "the columns are separated by `;`", "separate them with `,`"))
    if problems:
        raise SuiteError(problems)
    rows: list[Any] = []
    marks: list[Any] = [0]
    try:
        for cells in records:
            if len(rows) >= _MOST_ROWS:
                problems.append(_problem(tree, cells[0][1], f"the file has more than {_MOST_ROWS:,} rows"))
                break
            if len(cells) != len(columns):
                at = cells[len(columns)][1] if len(cells) > len(columns) else cells[0][1]
                values, names = counted(len(cells), "value"), counted(len(columns), "column")
                message = f"the row has {values}, and the first line names {names}"
                hint = (
                    f"quote a value that contains `{delimiter}`" if len(cells) > len(columns) else "leave no value out"
                )
                problems.append(_problem(tree, at, message, hint))
                continue
            start = cells[0][1]
            row_values = dict(zip(columns, (value for value, _ in cells), strict=True))
            places = [start, *(place for _, at in cells for place in (at, at))]
            row, row_marks = _case_of(row_values, places, len(rows) + 1)
            rows.append(row)
            marks.append(row_marks)
    except SuiteError as broken:
        problems += broken.problems
    if problems:
        raise SuiteError(problems)
    return replace(tree, value=rows, marks=marks, problems=tuple(_unusable_columns(tree, columns, header)))


def _unusable_columns(tree: Tree, columns: list[str], header: list[_Cell]) -> Iterator[Problem]:
    """A warning for each column whose name no template can have."""
    for name, (_, at) in zip(columns, header, strict=True):
        if re.fullmatch(VARIABLE_PATTERN, name) is None:
            message = f"no template can use the column {quoted(name)}"
            yield replace(_problem(tree, at, message, CASE_NAMES), severity=Severity.WARNING)


def _spelt(cells: list[_Cell]) -> list[_Cell]:
    """The cells of the first line, which are names whatever they look like."""
    return [(value if isinstance(value, str) else repr(value), at) for value, at in cells]


def _records(tree: Tree, delimiter: str) -> Iterator[list[_Cell]]:
    """The lines of a CSV file as their values, quoted ones over several lines too. Source: RFC 4180.

    Lines of nothing but delimiters are left out: spreadsheets write such below the last row.
    """
    text = tree.text
    plain = re.compile(rf"[^{delimiter}\r\n]*")
    in_quotes = re.compile(r'"((?:[^"]|"")*)"')
    empty = re.compile(rf"[ {delimiter}]*(?:\r\n|[\r\n]|\Z)")
    at = 0
    cells: list[_Cell] = []
    while at <= len(text):
        start = at
        if not cells and (blank := empty.match(text, at)) is not None:
            at = blank.end() + (blank.end() == len(text))
            continue
        if text.startswith('"', at):
            found = in_quotes.match(text, at)
            if found is None:
                raise _refused(tree, at, 'a quoted value has no closing `"`', 'write `""` for a `"` in a quoted value')
            cells.append((found[1].replace('""', '"'), start))
            at = found.end()
            if text[at : at + 1] not in (delimiter, "\r", "\n", ""):
                raise _refused(
                    tree, at, "a quoted value is followed by more text", 'write `""` for a `"` in a quoted value'
                )
        else:
            found = plain.match(text, at)
            assert found is not None
            cells.append((_plain_value(found[0].strip()), start))
            at = found.end()
        if text[at : at + 1] == delimiter:
            at += 1
            continue
        at += 2 if text.startswith("\r\n", at) else 1
        yield cells
        cells = []


def _plain_value(text: str) -> Any:
    """What a value without quotes stands for: a number, true, false and null as JSON spells them, else the text itself."""
    if text in _WORDS:
        return _WORDS[text]
    if _NUMBER.fullmatch(text):
        import json
        from math import isinf

        number = json.loads(text) if len(text) < 300 else text
        return text if isinstance(number, float) and isinf(number) else number  # JSON has no infinity to send
    return text


def _read_lines(text: str, file: str) -> Tree:
    """A JSON object on each line."""
    return _cases_of(*read_json_lines(text, file=file))


def _read_list(tree: Tree) -> Tree:
    if not isinstance(tree.value, list):
        raise _refused(tree, 0, "the file is a list of rows, each of them an object", 'such as `[{"city": "Oslo"}]`')
    return _cases_of(tree)


def _cases_of(tree: Tree, broken: Sequence[Problem] = ()) -> Tree:
    """The rows of a tree as cases: an object with `vars` is one as a suite writes it, any other is the `vars` of one.

    Raises: SuiteError, with the problems of `broken` rows too.
    """
    problems = list(broken)
    rows: list[Any] = []
    marks: list[Any] = [0]
    for number, (value, places) in enumerate(zip(tree.value, tree.marks[1:], strict=True)):
        at = places[0] if isinstance(places, list) else places
        if not isinstance(value, dict):
            problems.append(_problem(tree, at, "a row is an object", 'such as `{"city": "Oslo"}`'))
            continue
        if isinstance(value.get(_VARS), dict):
            named = _NAME in value
            rows.append(value if named else {_NAME: _numbered(number + 1), **value})
            marks.append(places if named else [at, at, at, *places[1:]])
            continue
        row, row_marks = _case_of(value, places, number + 1)
        rows.append(row)
        marks.append(row_marks)
    if len(rows) > _MOST_ROWS:
        problems.append(_problem(tree, 0, f"the file has more than {_MOST_ROWS:,} rows"))
    if problems:
        raise SuiteError(sorted(problems, key=lambda problem: problem.span or Span(0, 0)))
    return replace(tree, value=rows, marks=marks)


def _case_of(values: dict[str, Any], places: list[Any], number: int) -> tuple[dict[str, Any], list[Any]]:
    """A plain row as a case: called by its `name`, or by its number."""
    start = places[0]
    name, name_at = values.get(_NAME, ""), start
    if _NAME in values:
        name_at = places[2 + 2 * list(values).index(_NAME)]
    shown = _numbered(number) if name in ("", None) else name
    if isinstance(shown, (int, float)):
        shown = str(shown).lower() if isinstance(shown, bool) else repr(shown)
    return {_NAME: shown, _VARS: escaped(values)}, [start, name_at, name_at, start, places]


def _numbered(number: int) -> str:
    return f"row {number}"


_READERS: dict[str, Callable[[str, str], Tree]] = {
    ".csv": _read_csv,
    ".tsv": lambda text, file: _read_csv(text, file, delimiter="\t"),
    ".json": lambda text, file: _read_list(read_json(text, file=file)),
    ".jsonl": _read_lines,
    ".ndjson": _read_lines,
    ".yml": lambda text, file: _read_list(read_tree(text, file=file)),
    ".yaml": lambda text, file: _read_list(read_tree(text, file=file)),
}

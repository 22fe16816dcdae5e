"""Compositions and tests with cases, with those of their templates replaced whose value is known before they run.

The environment and the suite's variables are; what a node gave, the element of a fan-out and the variables of a case are not,
and stay as they are written. The surprising thing: what is put in is escaped, since the same text is read for templates once
more when a node is called, and a value is never a template.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mcptest_engine.suite.case_rows import FILLED
from mcptest_engine.suite.references import (
    CASE_NAMES,
    TEMPLATE,
    ReferenceSyntaxError,
    Unresolved,
    escaped,
    parse_reference,
    part_of,
)
from mcptest_engine.suite.templates import LATE_BLOCKS, LITERAL_KEYS, Fault, Walk, as_text

if TYPE_CHECKING:
    from mcptest_engine.suite.templates import Templates
    from mcptest_engine.suite.yaml import Pointer

_JQ = frozenset({"jq", "assemble", "when", "until", "for_each"})


def expand_late(document: dict[str, Any], templates: Templates, config_dir: str, faults: list[Fault]) -> dict[str, Any]:
    """A suite file's data with the templates of its compositions and of its tests with cases replaced.

    Adds to `faults` what could not be.
    """
    walk = _LateWalk(templates, config_dir, faults)
    return {
        name: [walk.entry(name, one, (name, at)) for at, one in enumerate(value)]
        if name in LATE_BLOCKS and isinstance(value, list)
        else value
        for name, value in document.items()
    }


class _LateWalk(Walk):
    """One pass over the compositions, or the tests with cases, of a file."""

    _has_nodes = False
    _ids: frozenset[str] = frozenset()
    _case_variables: frozenset[str] = frozenset()
    _late = False

    def entry(self, block: str, entry: object, path: Pointer) -> Any:
        """A composition, or a test, which is changed only if it has cases."""
        if block == "compositions":
            return self.composition(entry, path)
        return self.request(entry, path) if isinstance(entry, dict) and isinstance(entry.get("cases"), list) else entry

    def composition(self, entry: object, path: Pointer) -> Any:
        if not isinstance(entry, dict):
            return self.value(entry, path)
        self._has_nodes = True
        self._ids = frozenset(item["id"] for item in _mappings(entry.get("nodes")) if isinstance(item.get("id"), str))
        self._note_cases(entry.get("cases"))
        return {key: self._member(key, value, (*path, key)) for key, value in entry.items()}

    def request(self, entry: dict[str, Any], path: Pointer) -> dict[str, Any]:
        """One test of a tool, a resource or a prompt that has cases."""
        self._has_nodes, self._ids = False, frozenset()
        self._note_cases(entry["cases"])
        return {key: self._of_request(key, value, (*path, key)) for key, value in entry.items()}

    def _of_request(self, key: str, value: Any, path: Pointer) -> Any:
        if key == "cases":
            return [self._case(row, (*path, index)) for index, row in enumerate(value)]
        if key == "verify" and isinstance(value, list):
            return [self._step(step, (*path, index)) for index, step in enumerate(value)]
        if key in FILLED:
            return self._left_for_later(value, path, LITERAL_KEYS if key == "expect" else frozenset())
        return self.value(value, path)

    def _step(self, step: object, path: Pointer) -> Any:
        if not isinstance(step, dict):
            return self._left_for_later(step, path)
        return {key: self._of_request(key, value, (*path, key)) for key, value in step.items()}

    def _note_cases(self, cases: object) -> None:
        rows = [row["vars"] for row in _mappings(cases) if isinstance(row.get("vars"), dict)]
        self._case_variables = frozenset(name for row in rows for name in row if isinstance(name, str))

    def _member(self, key: str, value: object, path: Pointer) -> Any:
        if key == "nodes" and isinstance(value, list):
            return [self._node(node, (*path, index)) for index, node in enumerate(value)]
        if key == "cases" and isinstance(value, list):
            return [self._case(row, (*path, index)) for index, row in enumerate(value)]
        if key == "expect":
            return self._left_for_later(value, path, LITERAL_KEYS)
        return self.value(value, path, _JQ)

    def _node(self, node: object, path: Pointer) -> Any:
        if not isinstance(node, dict):
            return self.value(node, path)
        late = ("args", "mock")
        return {
            key: self._left_for_later(value, (*path, key)) if key in late else self._plain(key, value, (*path, key))
            for key, value in node.items()
        }

    def _plain(self, key: str, value: object, path: Pointer) -> Any:
        return value if key in _JQ else self.value(value, path, _JQ)

    def _case(self, row: object, path: Pointer) -> Any:
        if not isinstance(row, dict):
            return self.value(row, path)
        variables = row.get("vars", {})
        if isinstance(variables, dict):
            lacking = sorted((self._case_variables & self._known()) - variables.keys())
            if lacking:  # what another case says anew is the suite's in this one
                row = {**row, "vars": {**variables, **{name: f"${{var.{name}}}" for name in lacking}}}
        late = {"expect": LITERAL_KEYS, "golden": frozenset[str]()}
        return {
            key: self._left_for_later(value, (*path, key), late[key])
            if key in late
            else self.value(value, (*path, key))
            for key, value in row.items()
        }

    def _left_for_later(self, value: object, path: Pointer, literal: frozenset[str] = frozenset()) -> Any:
        self._late = True
        try:
            return self.value(value, path, literal)
        finally:
            self._late = False

    def _text(self, text: str, path: Pointer) -> Any:
        if not self._late:
            return super()._text(text, path)
        parts: list[str] = []
        end = 0
        for found in TEMPLATE.finditer(text):
            known = found[0] != "$${" and (found[1] is None or not self._is_late(found[1]))
            if not known:
                continue
            value = self._value_now(found[0], found[1], path, found.start())
            if found.span() == (0, len(text)):
                return escaped(value)
            parts += [text[end : found.start()], escaped(value if isinstance(value, str) else as_text(value))]
            end = found.end()
        return "".join((*parts, text[end:])) if parts else text

    def _value_now(self, template: str, expression: str | None, path: Pointer, offset: int) -> Any:
        """The value of one template, which may be a part of a variable's; what is wrong with it is placed in the whole text."""
        faults = len(self.faults)
        try:
            reference = parse_reference(expression or "")
        except ReferenceSyntaxError:
            reference = None
        if reference is None or reference.space != "var" or not reference.path or expression in self._known():
            value = super()._text(template, path)
        else:
            value = super()._text(f"${{var.{reference.name}}}", path)
            try:
                value = template if len(self.faults) > faults else part_of(reference, value)
            except Unresolved as wrong:
                self.faults.append(Fault(path=path, offset=0, message=wrong.message, hint=wrong.hint))
                value = template
        is_misnamed = reference is None and (expression or "").startswith("var.")
        self.faults[faults:] = [
            replace(fault, offset=fault.offset + offset, hint=CASE_NAMES if is_misnamed else fault.hint)
            for fault in self.faults[faults:]
        ]
        return value

    def _is_late(self, expression: str) -> bool:
        try:
            reference = parse_reference(expression)
        except ReferenceSyntaxError:
            return self._has_nodes and expression.strip() not in self._known()
        if reference.space == "var":
            return reference.name in self._case_variables or reference.name not in self._known()
        if reference.space == "node" and self._has_nodes:
            name = reference.name
            return name in self._ids or bool(reference.path) or (name not in self._known() and name != "CONFIG_DIR")
        return reference.space == "item" and self._has_nodes

    def _known(self) -> frozenset[str]:
        return frozenset((*self.templates.declared, *self.templates.given))


def _mappings(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []

"""Several suite files made one: what each file gives, and who wins.

Servers, variables, `env`, `run_options`, `performance`, `coverage`, `effects`, `judge`, `budget`, `prices`, `defaultTest`
and `hooks` go by key, a file over what it imports and a later import over an earlier one; so do `scorers`, by their names.
Tests add up: imported ones first, in import order, each file's in the order in which its blocks and entries stand. `name` and
`description` are those of the file that was asked for.

The surprising thing: everything keeps the number of its file and its path there, because a problem found in the whole is
told at the place where it was written. Nothing here judges; what has the wrong shape is left out, and the structural
check tells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.enums import TestKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mcptest_engine.suite.yaml import Pointer

KIND_OF_BLOCK: Mapping[str, TestKind] = {kind.block: kind for kind in TestKind}
PIN = "spec_version"
_OPTIONS = ("budget", "prices", "run_options", "performance", "effects")
"""The blocks of which each key may come from another file, and that nothing else is done to."""


class Placed(NamedTuple):  # and no dataclass: there is one for each test, on the way of every run
    """A value with the number of its file and its path in that file."""

    value: Any
    file: int
    path: Pointer


class PlacedTest(NamedTuple):
    """An entry of a test block: its data, its file's number, and where it stands there.

    `below` is the way from the block to the list that it stands in, where the block is no list itself.
    """

    kind: TestKind
    entry: Any
    file: int
    block: str
    number: int
    below: Pointer = ()

    @property
    def path(self) -> Pointer:
        return (self.block, *self.below, self.number)


class Merged:
    """The one suite that the files come to.

    `scorers` stand in the order in which they were declared. The last four say what may be missing because it could not be
    read: `knows_servers` that every `servers` is a mapping, `knows_tests` and `knows_scorers` that every test block and every
    `scorers` is a list, `complete` that every file was read (for the caller to say).
    """

    def __init__(self) -> None:
        self.name: Any = None
        self.servers: dict[str, Placed] = {}
        self.env: dict[str, Placed] = {}
        self.default_test: dict[str, Placed] = {}
        self.hooks: dict[str, Placed] = {}
        self.run_options: dict[str, Any] = {}
        self.performance: dict[str, Any] = {}
        self.effects: dict[str, Any] = {}
        self.coverage: dict[str, Placed] | None = None
        self.scorers: list[Placed] = []
        self.judge: dict[str, Placed] = {}
        self.budget: dict[str, Any] = {}
        self.prices: dict[str, Any] = {}
        self.tests: list[PlacedTest] = []
        self.knows_servers = True
        self.knows_tests = True
        self.knows_scorers = True
        self.complete = True

    def add_scorers(self, written: object, file: int) -> None:
        """The scorers of one file, each in the place of one of its name that an import has."""
        if not isinstance(written, list):
            self.knows_scorers = False
            return
        own = {entry["name"] for entry in written if isinstance(entry, dict) and isinstance(entry.get("name"), str)}
        self.scorers = [
            one for one in self.scorers if not (isinstance(one.value, dict) and one.value.get("name") in own)
        ]
        self.scorers += [Placed(entry, file, ("scorers", number)) for number, entry in enumerate(written)]

    def add_checks(self, written: Mapping[str, object], file: int, block: str) -> None:
        """The checks of a `compliance` that is a mapping: what it says of all of them holds where one says nothing."""
        checks, pin = written.get("checks"), written.get(PIN)
        if not isinstance(checks, list):
            self.knows_tests = False
            return
        for number, check in enumerate(checks):
            pinned = isinstance(check, dict) and pin is not None and PIN not in check
            entry = {**check, PIN: pin} if pinned else check
            self.tests.append(PlacedTest(TestKind.COMPLIANCE, entry, file, block, number, ("checks",)))


def merge(documents: Iterable[tuple[int, object]]) -> Merged:
    """The documents, each with its file's number, as one suite.

    Imported ones come before the file that imports them; number 0 is the file asked for.
    """
    merged = Merged()
    for file, document in documents:
        if not isinstance(document, dict):
            merged.knows_servers = merged.knows_tests = False
            continue
        if file == 0:
            merged.name = document.get("name")
        merged.servers.update(_placed(document, "servers", file))
        merged.env.update(_placed(document, "env", file))
        merged.default_test.update(_placed(document, "defaultTest", file))
        merged.hooks.update(_placed(document, "hooks", file))
        merged.judge.update(_placed(document, "judge", file))
        for name in _OPTIONS:
            if isinstance(options := document.get(name), dict):
                getattr(merged, name).update(options)
        if "scorers" in document:
            merged.add_scorers(document["scorers"], file)
        if isinstance(document.get("coverage"), dict):
            merged.coverage = {**(merged.coverage or {}), **_placed(document, "coverage", file)}
        merged.knows_servers = merged.knows_servers and isinstance(document.get("servers", {}), dict)
        for block, entries in document.items():
            kind = KIND_OF_BLOCK.get(block)
            if kind is None:
                continue
            if kind is TestKind.COMPLIANCE and isinstance(entries, dict):
                merged.add_checks(entries, file, block)
            elif isinstance(entries, list):
                merged.tests += [PlacedTest(kind, entry, file, block, index) for index, entry in enumerate(entries)]
            else:
                merged.knows_tests = False
    return merged


def merge_variables(documents: Sequence[tuple[int, object]]) -> dict[str, Placed]:
    """The variables as declared, unresolved."""
    variables: dict[str, Placed] = {}
    for file, document in documents:
        if isinstance(document, dict):
            variables.update(_placed(document, "variables", file))
    return variables


def whole_document(merged: Merged, head: Mapping[str, object], variables: Mapping[str, object]) -> dict[str, Any]:
    """The merged suite as one document of the suite language without `imports`; `head` is the document asked for."""
    whole: dict[str, Any] = {key: head[key] for key in ("name", "description") if key in head}
    whole["servers"] = {name: placed.value for name, placed in merged.servers.items()}
    if variables:
        whole["variables"] = dict(variables)
    if merged.env:
        whole["env"] = {name: placed.value for name, placed in merged.env.items()}
    for block, members in (("defaultTest", merged.default_test), ("hooks", merged.hooks), ("judge", merged.judge)):
        if members:
            whole[block] = {name: placed.value for name, placed in members.items()}
    for test in merged.tests:
        whole.setdefault(test.block, []).append(test.entry)
    if merged.scorers:
        whole["scorers"] = [placed.value for placed in merged.scorers]
    for block in _OPTIONS:
        if options := getattr(merged, block):
            whole[block] = options
    if merged.coverage is not None:
        whole["coverage"] = {name: placed.value for name, placed in merged.coverage.items()}
    return whole


def _placed(document: Mapping[str, object], block: str, file: int) -> dict[str, Placed]:
    members = document.get(block)
    if not isinstance(members, dict):
        return {}
    return {name: Placed(value, file, (block, name)) for name, value in members.items()}

"""The results of nodes with `freeze:` during one run: looked up for `golden`, kept for `record`, written once at the end.

What a node gave in this run takes the place of all that was kept of it before. A run that is replayed keeps nothing: what it
hears is a recording already. Args are compared as cassettes compare them: redacted, and without moments and UUIDs.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from mcptest_engine import __version__
from mcptest_engine.core.errors import McptestError
from mcptest_engine.core.redaction import Disguise
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.text import counted, utc_text
from mcptest_engine.running.cassettes import replace_stand_ins, stand_ins_of
from mcptest_engine.running.extensions import Extension, with_warnings
from mcptest_engine.running.kinds.composition.walk import NotFrozen
from mcptest_engine.servers.recorded_exchanges import normalised
from mcptest_engine.suite.case_rows import name_of_case
from mcptest_engine.workspace.frozen import CallKey, NodeKey, digest, frozen_path, load_frozen, save_frozen

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcptest_engine.core.redaction import Redactor
    from mcptest_engine.core.run_record import RunRecord
    from mcptest_engine.running.cases import Plan
    from mcptest_engine.running.kinds.composition.plan import Row
    from mcptest_engine.running.kinds.composition.trace import Call, NodeTrace
    from mcptest_engine.suite.load import LoadedSuite
    from mcptest_engine.workspace.workspace import Workspace


_HINT = "write `freeze: record`, run once, check the saved result, and write `freeze: golden` again"


class Freezer(Extension):
    """The stored results of a suite's nodes, under its `name`; `before` reads them, and `finish` writes those of this run."""

    def __init__(self, workspace: Workspace, name: str, suite: LoadedSuite, *, redactor: Redactor, keeps: bool) -> None:
        self._workspace = workspace
        self._path = frozen_path(workspace, name)
        self._suite = suite
        self._redactor = redactor
        self._redact = redactor.redact
        self._disguise = Disguise()
        self._keeps = keeps
        self._fresh: dict[NodeKey, dict[CallKey, dict[str, Any]]] = {}
        self._too_deep: dict[str, None] = {}

    def before(self, plan: Plan) -> Plan:
        """Read the stored results. Raises: UsageError when the file cannot be read."""
        self._kept, self._stand_ins = load_frozen(self._path)
        self._replaced = replace_stand_ins(self._stand_ins, self._suite, self._redactor)
        return plan

    def get(self, snapshot_name: str, row: Row, node: NodeTrace, call: Call) -> Mapping[str, Any]:
        """What was kept of a call, as {"result": …}. Raises: NotFrozen."""
        of_node = self._kept.get(_key_of(snapshot_name, row, node))
        try:
            found = None if of_node is None else of_node.get(self._key(call))
        except RecursionError:
            raise NotFrozen("`freeze: golden`: its args are nested too deeply", _HINT) from None
        if found is None:
            told = "" if not of_node else " with these args"
            raise NotFrozen(f"`freeze: golden`: there is no saved result of this node{told}", _HINT)
        if (found["server"], found["tool"]) != (node.plan.server, node.plan.tool):
            told = f"`{one_line(found['tool'], 80)}` of server `{one_line(found['server'], 80)}`"
            raise NotFrozen(f"`freeze: golden`: the saved result of this node came from {told}", _HINT)
        return {**found, "result": self._replaced(found["result"])}

    def keep(self, snapshot_name: str, row: Row, node: NodeTrace) -> None:
        """Remember what a node's calls gave, of several attempts the last one's."""
        if not self._keeps:
            return
        key = _key_of(snapshot_name, row, node)
        try:
            calls = self._calls(key, node)
        except RecursionError:
            self._too_deep[f"`{key.node}` of `{key.composition}`"] = None
            return
        if calls:
            self._fresh[key] = calls

    def _calls(self, key: NodeKey, node: NodeTrace) -> dict[CallKey, dict[str, Any]]:
        """What to keep of a node; nothing where a call went unanswered, since half of it would take the place of the whole."""
        plan = node.plan
        shaped = self._redactor.with_shapes(self._disguise)
        calls: dict[CallKey, dict[str, Any]] = {}
        unanswered: set[CallKey] = set()
        for call in node.calls:
            call_key = self._key(call)
            if call.result is None:
                unanswered.add(call_key)
                continue
            at = {"item": call.item, "iteration": call.iteration}
            calls[call_key] = {
                **key._asdict(),
                **{key: value for key, value in at.items() if value is not None},
                "server": plan.server,
                "tool": plan.tool,
                "args": normalised(self._redact(call.args)),
                "result": shaped.redact(call.result),
            }
        return calls if unanswered <= calls.keys() else {}

    def finish(self, record: RunRecord) -> RunRecord:
        """Write the results of this run, and say in the record's warnings where."""
        said: list[str] = []
        try:
            said.extend(self._save(record))
        except McptestError as wrong:
            said.append(wrong.message)
        return with_warnings(record, said)

    def _save(self, record: RunRecord) -> Iterator[str]:
        """Write what this run kept, and say where, a line each. Raises: McptestError when the disk refuses it."""
        for node in self._too_deep:
            yield f"no result of {node} was saved: its args or results are nested too deeply"
        if not self._fresh:
            return
        head = {
            "recorded_at": utc_text(datetime.now(UTC), "seconds"),
            "mcptest_version": __version__,
            "suite": {"name": record.suite.name, "path": record.suite.path},
        }
        kept = {**self._kept, **self._fresh}
        stand_ins = [*_still_in(kept, self._stand_ins), *stand_ins_of(self._disguise, self._suite)]
        save_frozen(self._path, kept, stand_ins, head=head, workspace=self._workspace)
        results = counted(sum(map(len, self._fresh.values())), "result")
        place = self._workspace.relative(self._path)
        yield f"{results} of {counted(len(self._fresh), 'node')} saved in {place}: check it and commit it"

    def _key(self, call: Call) -> CallKey:
        return CallKey(call.item, call.iteration, digest(normalised(self._redact(call.args))))


def _still_in(kept: Mapping[NodeKey, Any], stand_ins: list[dict[str, str]]) -> list[dict[str, str]]:
    """Those of the stand-ins that results still hold."""
    try:
        text = json.dumps([[*calls.values()] for calls in kept.values()])
    except RecursionError:
        return stand_ins  # whoever writes the file says that it cannot be written
    return [one for one in stand_ins if json.dumps(one["text"])[1:-1] in text]


def _key_of(snapshot_name: str, row: Row, node: NodeTrace) -> NodeKey:
    """By the composition's name, with ` #2` for the second of that name."""
    name = row.program.name
    number = snapshot_name.removeprefix(name if row.case is None else name_of_case(name, row.case))
    return NodeKey(f"{name}{number}", row.case, node.plan.id)

"""The review of proposals in the workbench: list the items, check an edited fragment, carry out decisions, undo them.

A decision is about the item as the person saw it, so items are stored as they were last sent, by id. An id that is not stored
is refused; an item is never looked up by its name instead.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcptest_engine.engine_process.protocol import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcptest_engine.authoring.review import Choice, Reviewed, ReviewItem
    from mcptest_engine.engine_process.surroundings import Surroundings
    from mcptest_engine.workspace.workspace import Workspace

    Decision = tuple[ReviewItem, Choice, str | None]

LONGEST_FRAGMENT = 200_000
LONGEST_WHOLE = 2_000_000
MOST_UNDONE = 50
_NOT_SENT = ("was", "value")


class Reviewing:
    """The review of one workspace. Listing, deciding and undoing wait for each other: each sees what the last one wrote."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings
        self._items: dict[str, ReviewItem] = {}
        self._done: list[Reviewed] = []
        self._turn = asyncio.Lock()

    async def listed(self, suites: Sequence[str] | None) -> dict[str, Any]:
        """`{items, problems, can_undo}`: the items that wait for a decision, of these suites or, for None, of all.

        `stale` in an item is the reason why it can only be rejected.
        """
        from mcptest_engine.authoring.review import look

        wanted = None if suites is None else [self._surroundings.absolute(path) for path in suites]
        async with self._turn:
            found = await asyncio.to_thread(look, self._surroundings.workspace, wanted)
            self._items = {item.id: item for item in (*found.items, *(item for item, _ in found.stale))}
        items = [self._item_json(item) for item in found.items]
        items += [{**self._item_json(item), "stale": reason} for item, reason in found.stale]
        return {"items": items, "problems": list(found.problems), "can_undo": bool(self._done)}

    async def check(self, item: str, text: str) -> dict[str, Any]:
        """`{problem}`: why the item could not be accepted with `text` as its fragment; None if it could."""
        from mcptest_engine.authoring.review import preview

        return {
            "problem": await asyncio.to_thread(preview, self._surroundings.workspace, self._item(item), text),
        }

    async def whole(self, item: str, text: str | None) -> dict[str, Any]:
        """`{path, before, after}`: the whole file now, and with this item accepted; nothing is written.

        `text` replaces the item's fragment. Raises: Refused where the item could not be accepted, or the file is too large.
        """
        found = await asyncio.to_thread(_whole, self._surroundings.workspace, self._item(item), text)
        if sum(map(len, found)) > LONGEST_WHOLE:
            raise Refused("the file is too large to be shown whole")
        return {"path": self._items[item].suite, "before": found[0], "after": found[1]}

    async def decide(self, decisions: Sequence[Mapping[str, object]]) -> dict[str, object]:
        """Carry out decisions, each `{id, choice, text?}`; `texts` has the written files, unless they are too large to show.

        Raises: Refused for an item that was not sent before, or a file that cannot be written.
        """
        from mcptest_engine.authoring.review import decide

        async with self._turn:
            try:
                done = await asyncio.to_thread(decide, self._surroundings.workspace, self._decisions(decisions))
            except OSError as wrong:
                raise Refused(f"cannot write {wrong.filename or 'a suite'}: {wrong.strerror or wrong}") from None
            if done.written or done.forgotten:
                self._done = [*self._done, done][-MOST_UNDONE:]
        return {
            "written": [file.path for file in done.written],
            "texts": self._texts(done),
            "accepted": len(done.accepted),
            "rejected": len(done.rejected),
            "refused": [{"id": one.item.id, "title": one.item.title, "reason": one.reason} for one in done.refused],
            "can_undo": bool(self._done),
        }

    async def undo(self) -> dict[str, object]:
        """Undo the last write. Raises: Refused when there is none, or a file cannot be written."""
        from mcptest_engine.authoring.review import undo

        async with self._turn:
            if not self._done:
                raise Refused("there is no write to undo")
            last = self._done.pop()
            try:
                undone = await asyncio.to_thread(undo, self._surroundings.workspace, last)
            except OSError as wrong:
                raise Refused(f"cannot write {wrong.filename or 'a suite'}: {wrong.strerror or wrong}") from None
            if undone.refused:
                self._done.append(last)
        return {
            "restored": list(undone.restored),
            "refused": [list(pair) for pair in undone.refused],
            "can_undo": bool(self._done),
        }

    def _texts(self, done: Reviewed) -> list[dict[str, str]]:
        """`{path, before, after}` of each written suite and file of accepted snapshots; [] if they are too large together."""
        found = [file for file in done.written if file.after is not None and not file.path.endswith(".pending.yml")]
        if sum(len(file.before or b"") + len(file.after or b"") for file in found) > LONGEST_WHOLE:
            return []
        return [
            {
                "path": self._surroundings.workspace.relative(Path(file.path)),
                "before": (file.before or b"").decode(errors="replace"),
                "after": (file.after or b"").decode(errors="replace"),
            }
            for file in found
        ]

    def _item(self, item: str) -> ReviewItem:
        if item not in self._items:
            raise Refused("this proposal no longer exists", hint="the list is read again", kind="gone")
        return self._items[item]

    def _decisions(self, decisions: Sequence[Mapping[str, Any]]) -> list[Decision]:
        from mcptest_engine.authoring.review import Choice

        try:
            return [(self._item(str(one["id"])), Choice(one["choice"]), one.get("text")) for one in decisions]
        except (KeyError, ValueError) as wrong:
            raise Refused(f"a decision is {{id, choice, text?}}: {wrong}", kind="protocol") from None

    def _item_json(self, item: ReviewItem) -> dict[str, Any]:
        shown = {key: value for key, value in item.to_json().items() if key not in _NOT_SENT}
        shown["file"] = str(self._surroundings.workspace.root / Path(item.suite))
        for name in ("before", "after"):
            if len(shown[name]) > LONGEST_FRAGMENT:
                shown[name] = shown[name][:LONGEST_FRAGMENT]
                shown["is_cut"] = True
        return shown


def _whole(workspace: Workspace, item: ReviewItem, text: str | None) -> tuple[str, str]:
    """The whole text of the suite now, and with the item accepted. Raises: Refused where it could not be accepted."""
    from mcptest_engine.authoring.review_edits import AcceptedItem, edited
    from mcptest_engine.authoring.review_sources import path_of
    from mcptest_engine.authoring.review_texts import SuiteText, Unreadable

    if item.kind == "snapshot":
        raise Refused("a snapshot is shown whole already")
    try:
        before = SuiteText.read(path_of(workspace, item.suite))
    except Unreadable as wrong:
        raise Refused(wrong.message) from None
    made = edited(
        before, [AcceptedItem(item, None if text is None or text == item.after else text)], root=workspace.root
    )
    if made.refused:
        raise Refused(made.refused[0][1])
    return before.whole, made.text.whole

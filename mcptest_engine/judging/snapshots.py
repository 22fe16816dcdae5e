"""The snapshots of one suite during one run: read on first use, written once at the end.

What a run may do decides: `update` takes every value seen, `create` takes those that have no snapshot yet, and a run that
may do neither (under CI) writes nothing at all. A change that is not taken is kept beside the accepted value until a
person accepts, rejects or skips it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.judging.differences import NOTHING, equal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mcptest_engine.core.results import Failure


class SnapshotStore:
    """Looks up, takes and keeps values by name. `redact` takes secrets out of what is compared and stored.

    `taken` names the values that this run accepted: nobody has looked at them yet. `untrusted` has those that were not taken,
    with the reason. While it is `paused`, values are looked up and nothing is kept.
    """

    def __init__(
        self,
        path: Path,
        *,
        redact: Callable[[object], object] = lambda value: value,
        update: bool = False,
        create: bool = False,
        keep_pending: bool = False,
    ) -> None:
        self.redact = redact
        self.path = path
        self._update = update
        self._create = create or update
        self._keep_pending = keep_pending or self._create
        self._accepted: dict[str, object] | None = None
        self._pending: dict[str, object] = {}
        self._changed = self._pending_changed = False
        self.taken: set[str] = set()
        self.untrusted: dict[str, str] = {}
        self._seen_at: dict[str, str] = {}
        self.paused = False

    def lookup(self, name: str) -> object:
        """The accepted value, or `NOTHING`. Raises: UsageError when the file cannot be read."""
        return self._values().get(name, NOTHING)

    def find_rival(self, name: str, seen_at: str) -> str | None:
        """Where else in this run the accepted value of `name` was seen; None where this run may not replace it anyway."""
        rival = self._seen_at.get(name, seen_at)
        return rival if self.updates and rival != seen_at else None

    @property
    def updates(self) -> bool:
        """Whether this run replaces accepted values."""
        return self._update and not self.paused

    def propose(self, name: str, value: object, seen_at: str) -> bool:
        """Take `value` for `name` if this run may, else keep it as pending; true when it was taken."""
        accepted = self._values()
        if self.paused:
            return self.takes(name)
        if self.takes(name):
            accepted[name] = value
            self._seen_at[name] = seen_at
            self.taken.add(name)
            self._changed = True
            self._forget_pending(name)
            return True
        if self._keep_pending and not equal(self._pending.get(name, NOTHING), value):
            self._pending[name] = value
            self._pending_changed = True
            self._seen_at[name] = seen_at
        return False

    def distrust(self, test_name: str) -> None:
        """Forget the changes that a test has proposed in this run: its answer turned out to be another one's."""
        for name in [name for name, seen_at in self._seen_at.items() if f" of `{test_name}`, value " in seen_at]:
            self._forget_pending(name)

    def takes(self, name: str) -> bool:
        """Whether this run may accept a value for `name`."""
        return self._update or (self._create and name not in self._values())

    def confirm(self, name: str, seen_at: str) -> None:
        """The accepted value was seen again: a change proposed earlier is out of date."""
        if not self.paused:
            self._seen_at.setdefault(name, seen_at)
        if self._keep_pending and not self.paused:
            self._forget_pending(name)

    @property
    def waiting(self) -> int:
        """How many changes wait for a person, those of earlier runs included."""
        return len(self._pending)

    def save(self) -> None:
        """Write what has changed, each file at once. Raises: OSError."""
        if not (self._changed or self._pending_changed):
            return
        from mcptest_engine.workspace.snapshots import pending_path, write_snapshots

        if self._changed and self._accepted is not None:
            write_snapshots(self.path, self._accepted)
            self._changed = False
        if self._pending_changed:
            write_snapshots(pending_path(self.path), self._pending)
            self._pending_changed = False

    def _values(self) -> dict[str, object]:
        if self._accepted is None:
            from mcptest_engine.workspace.snapshots import pending_path, read_snapshots

            self._accepted = read_snapshots(self.path)
            if self._keep_pending:
                self._pending = read_snapshots(pending_path(self.path))
        return self._accepted

    def _forget_pending(self, name: str) -> None:
        if name in self._pending:
            del self._pending[name]
            self._pending_changed = True


class AnswerSnapshots(SnapshotStore):
    """The snapshots of `store` as one answer meets them: what it proposes is stored by `close`, if it is sound."""

    def __init__(self, store: SnapshotStore) -> None:
        super().__init__(store.path, redact=store.redact)
        self._store = store
        self._proposed: dict[str, tuple[object, str]] = {}

    def lookup(self, name: str) -> object:
        if name in self._proposed and self._store.takes(name):
            return self._proposed[name][0]
        return self._store.lookup(name)

    def find_rival(self, name: str, seen_at: str) -> str | None:
        own = self._proposed.get(name)
        if own is not None and own[1] != seen_at and self._store.updates:
            return own[1]
        return self._store.find_rival(name, seen_at)

    def propose(self, name: str, value: object, seen_at: str) -> bool:
        if name in self._proposed and not self._store.updates:
            return False  # the answer has another one for it already
        self._proposed[name] = value, seen_at
        return self._store.takes(name)

    def confirm(self, name: str, seen_at: str) -> None:
        if name not in self._proposed:
            self._store.untrusted.pop(name, None)
            self._store.confirm(name, seen_at)

    def close(self, failure: Failure | None) -> None:
        """Store what the answer proposed, unless the test's failure is a reason to distrust it."""
        distrust = None if failure is None else failure.distrust
        for name, (value, seen_at) in self._proposed.items():
            if distrust is not None and self._store.takes(name):
                self._store.untrusted[name] = distrust
            elif distrust is None:
                self._store.propose(name, value, seen_at)
                self._store.untrusted.pop(name, None)

"""What whoever starts a run may ask for. Small on purpose: it is imported before the servers are started."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which of a suite's tests a run takes; every condition given must hold.

    `filter` is a whole name, a part of one, or `re:` and a regular expression. `shard` is (i, n), counted from 1.
    `ids` is what `--last-failed` found; None means all.
    """

    filter: str | None = None
    tags: frozenset[str] = frozenset()
    skip_tags: frozenset[str] = frozenset()
    servers: frozenset[str] = frozenset()
    shard: tuple[int, int] | None = None
    ids: frozenset[str] | None = None

    @property
    def takes_all(self) -> bool:
        """True when nothing narrows the run, so that every server that the suite uses will be needed."""
        return self == Selection()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """What whoever starts a run may ask for; None leaves it to the suite.

    `server_command` replaces the command of every server. `interactive` lets a missing snapshot be written; `ci` forbids it.
    """

    selection: Selection = field(default_factory=Selection)
    workers: int | None = None
    retries: int | None = None
    repeat: int = 1
    bail: int | None = None
    server_command: tuple[str, ...] | None = None
    protocol: str | None = None
    update_snapshots: bool = False
    interactive: bool = False
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    @property
    def ci(self) -> bool:
        """Whether this runs under CI, as the services say it: `CI` set and not "false" or "0"."""
        return self.environ.get("CI", "").lower() not in {"", "0", "false"}

"""Oddities of a server that failed no call: remarks, findings by kind, and lines that were no message."""

from __future__ import annotations

import json
from collections import deque
from time import monotonic
from typing import TYPE_CHECKING

from mcptest_engine.servers import wire

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcptest_engine.servers.spec import ServerSpec

_MAX_REMARKS = 50
_MAX_REPEATED_NAMES = 20
_MAX_NOISE_LINES = 100


def noise_text(count: int) -> str:
    """Describe the lines that were no message, as one text."""
    return "a line that is not a message" if count == 1 else f"{count} lines that are not messages"


class Remarks:
    """The remarks on one session, redacted, not sanitised.

    `texts` are the remarks. `findings` are faults beside the answers, by kind: "stdout_noise", "outlives_stdin", "crashed";
    each is a remark as well. `noise_count` is how many lines were no message.
    """

    def __init__(self, spec: ServerSpec) -> None:
        self.texts: list[str] = []
        self.findings: dict[str, str] = {}
        self.noise_count = 0
        self._spec = spec
        self._noise: deque[tuple[float, bytes]] = deque(maxlen=_MAX_NOISE_LINES)
        self._repeated_names: set[tuple[str, str]] = set()
        self._opened_at = 0.0
        self._texts_of_opening = self._noise_of_opening = 0

    def add(self, clause: str) -> None:
        """Add a remark, a clause without its subject. Servers can cause any number, so there is a limit."""
        if len(self.texts) < _MAX_REMARKS:
            self.texts.append(self._spec.redact(f'server "{self._spec.name}" {clause}'))
        elif len(self.texts) == _MAX_REMARKS:
            self.texts.append(
                f'server "{self._spec.name}" caused more than {_MAX_REMARKS} remarks; the others are not saved'
            )

    def add_finding(self, kind: str, clause: str) -> None:
        """Add a finding and its remark, one of each kind, unless `hygiene: off` is set."""
        if self._spec.hygiene != "off" and kind not in self.findings:
            self.add(clause)
            self.findings[kind] = self.texts[-1]

    def add_repeated_names(self, names: Iterable[str], line: bytes, where: str) -> None:
        """Remark, once for each name and place, that an object of `line` has several members of one name.

        `where` is "" or a clause that names the call, such as ` in its answer to "tools/list"`.
        """
        new_names = [name for name in names if (where, name) not in self._repeated_names]
        if not new_names or len(self._repeated_names) >= _MAX_REPEATED_NAMES:
            return
        self._repeated_names.update((where, name) for name in new_names)
        twice = ", ".join([json.dumps(name[:40]) for name in new_names])
        clause = (
            f"sent an object with {twice} twice{where}; mcptest uses the last one, another client may use the first"
        )
        self.add(f"{clause}: {wire.clip(line, 160, self._spec.redact)}")

    def add_noise(self, line: bytes, at: float) -> None:
        """Count a line that is no message, and store its start."""
        self.noise_count += 1
        self._noise.append((at, line[: wire.CLIPPED_FROM + 1]))  # with one more it is known to be cut off

    @property
    def noise(self) -> tuple[tuple[float, str], ...]:
        """The newest lines that were no message, as (monotonic seconds, the start as text)."""
        return tuple((at, wire.clip(line, 300, self._spec.redact)) for at, line in self._noise)

    def report_noise(self, transport: str) -> None:
        """Add the finding about the lines that were no message, when the run over this session ends."""
        if self._noise:
            first = wire.clip(self._noise[0][1], 160, self._spec.redact)
            lines = noise_text(self.noise_count)
            sent = f"wrote {lines} to stdout" if transport == "stdio" else f"sent {lines}"
            self.add_finding("stdout_noise", f"{sent}, such as: {first}")

    def end_opening(self) -> None:
        """Mark what was added so far as part of the opening."""
        self._opened_at = monotonic()
        self._texts_of_opening, self._noise_of_opening = len(self.texts), self.noise_count

    def start_over(self, spec: ServerSpec) -> None:
        """Forget what came after the opening: another run begins over this session, with `spec`."""
        self._spec = spec
        self.texts = self.texts[: self._texts_of_opening]
        self.findings = {kind: text for kind, text in self.findings.items() if text in self.texts}
        opening_noise = [row for row in self._noise if row[0] <= self._opened_at]
        self._noise, self.noise_count = deque(opening_noise, maxlen=_MAX_NOISE_LINES), self._noise_of_opening
        self._repeated_names.clear()

"""Faults on purpose: how `mcptest mock --fault KIND` misbehaves, on `tools/call` only.

| kind | what a caller sees |
|---|---|
| `none` | nothing unusual |
| `hang` | no call is ever answered; everything else is, `ping` included |
| `wedged` | the first call and all that follows, `ping` included, go unanswered until stdin closes or a signal comes |
| `slow:<ms>` | every call takes that much longer |
| `recover-after:<n>` | the first n calls hang, the later ones are answered |
| `crash-after:<n>` | n calls are answered, the next one ends the process with exit code 1 |
| `garbage` | bytes that are neither UTF-8 nor JSON come where the answer to a call is due |
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from mcptest_engine.core.errors import UsageError, did_you_mean

GARBAGE = b'\xff\xfe garbage {"jsonrpc": oops ]\x01'
CRASH_EXIT_CODE = 1


class FaultKind(StrEnum):
    """The kinds of fault; three of them carry a number."""

    NONE = "none"
    HANG = "hang"
    WEDGED = "wedged"
    SLOW = "slow"
    RECOVER_AFTER = "recover-after"
    CRASH_AFTER = "crash-after"
    GARBAGE = "garbage"


SPELLINGS = ("none", "hang", "wedged", "slow:<ms>", "recover-after:<n>", "crash-after:<n>", "garbage")
_WORDS = frozenset(kind.value for kind in FaultKind)
_WITH_NUMBER = frozenset({FaultKind.SLOW, FaultKind.RECOVER_AFTER, FaultKind.CRASH_AFTER})


class Fault(NamedTuple):
    """One fault; `number` is milliseconds for `slow`, a number of calls for `recover-after` and `crash-after`."""

    kind: FaultKind = FaultKind.NONE
    number: int = 0


def parse_fault(text: str) -> Fault:
    """Parse `--fault`. Raises: UsageError with the correct forms."""
    word, colon, number = text.partition(":")
    if word not in _WORDS:
        hint = did_you_mean(word, _WORDS) or f"known faults: {', '.join(SPELLINGS)}"
        raise UsageError(f'unknown fault "{text}"', hint=hint)
    kind = FaultKind(word)
    if kind not in _WITH_NUMBER:
        if colon:
            raise UsageError(f'fault "{word}" takes no number, found "{text}"')
        return Fault(kind)
    if not (number.isascii() and number.isdigit()):
        raise UsageError(f'fault "{word}" needs a whole number, such as `{word}:3`, found "{text}"')
    return Fault(kind, int(number))


class FaultCounter:
    """Counts the tool calls of one process, so that all sessions of an HTTP mock get the fault together."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        self._calls = 0

    def next_call(self) -> FaultKind:
        """The fault of the next call: NONE, HANG, WEDGED, SLOW, CRASH_AFTER or GARBAGE."""
        self._calls += 1
        match self.fault.kind:
            case FaultKind.RECOVER_AFTER:
                return FaultKind.HANG if self._calls <= self.fault.number else FaultKind.NONE
            case FaultKind.CRASH_AFTER:
                return FaultKind.CRASH_AFTER if self._calls > self.fault.number else FaultKind.NONE
            case kind:
                return kind

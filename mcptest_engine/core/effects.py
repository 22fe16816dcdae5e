"""What became of a tool call that was asked for in a run, and who decided it: the words of a trace and of a record."""

from __future__ import annotations

from enum import StrEnum


class CallDecision(StrEnum):
    """`DRY`: answered by a stub, and `DENIED`: refused; the server has heard of neither."""

    EXECUTED = "executed"
    DRY = "dry"
    DENIED = "denied"


class DecidedBy(StrEnum):
    """Who decided on a call.

    `SUITE`: its author wrote the call, or a list under `tools:` that names the tool. `MODEL`: a model asked for it, and nothing
    was against it. `POLICY`: the class of the tool. `PERSON`: somebody who named the tool on the command line or in a question.
    """

    SUITE = "suite"
    PERSON = "person"
    MODEL = "model"
    POLICY = "policy"

"""The standard streams of the process; a reader that has gone is no failure."""

from __future__ import annotations

import os
import select
import sys
from io import BufferedWriter, FileIO, TextIOWrapper
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO

    from _typeshed import ReadableBuffer


def open_streams() -> None:
    """Replace stdout and stderr by streams that discard output after their reader has gone, or if they are closed.

    The exit code of `mcptest run | head` is that of the tests.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123
        elif isinstance(stream, TextIOWrapper):
            raw = _Output(stream.fileno(), "wb", closefd=False)
            text = TextIOWrapper(
                BufferedWriter(raw),
                stream.encoding,
                stream.errors,
                line_buffering=stream.line_buffering,
                write_through=stream.write_through,
            )
            setattr(sys, name, text)


def has_reader(stream: TextIO) -> bool:
    """Whether no output to stdout or stderr was discarded."""
    raw = getattr(getattr(stream, "buffer", None), "raw", None)
    return not (isinstance(raw, _Output) and raw.is_discarding)


def discard_output(descriptor: int) -> None:
    """Discard what is written to `descriptor` from now on, also by child processes."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


class _Output(FileIO):
    """A file descriptor that discards its output when nobody reads it, and waits for a slow reader.

    Some parents, such as node, leave the pipe in non-blocking mode.
    """

    is_discarding = False

    def write(self, data: ReadableBuffer, /) -> int | None:  # type: ignore[override]
        try:
            while (written := super().write(data)) is None:
                select.select((), (self,), ())
            return written
        except BrokenPipeError:
            self.is_discarding = True
            discard_output(self.fileno())
            return super().write(data)

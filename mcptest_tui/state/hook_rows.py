"""The hooks of a run, or those around one test, as lines: what ran when, how long it took, and the end of what it wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.core.sanitise import one_line, sanitise
from mcptest_tui.words import MARKS, mark, took_shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Piece = tuple[str, str]

SHOWN = 40
OUTPUT_SHOWN = 3
FAILED_OUTPUT_SHOWN = 12
_LIMIT = 500


def hook_lines(hooks: Sequence[Mapping[str, object]]) -> Iterator[tuple[int, tuple[Piece, ...]]]:
    """Each hook with its mark, phase, command and time, its output below; (columns to indent, pieces) for each line.

    Failed ones are never left out; of the others the first few are shown, and how many there are besides.
    """
    left = SHOWN
    hidden = 0
    width = max((len(_text(hook, "phase")) for hook in hooks), default=0)
    for hook in hooks:
        passed = hook.get("passed") is True
        if passed and left <= 0:
            hidden += 1
            continue
        left -= 1
        verdict = "pass" if passed else "fail"
        took = hook.get("duration_ms")
        yield (
            2,
            (
                (f"{mark(verdict)} ", verdict),
                (f"{_text(hook, 'phase'):<{width}}  ", "bold"),
                (_text(hook, "command"), ""),
                (f"   {took_shown(took)}" if isinstance(took, int | float) else "", "dim"),
            ),
        )
        if hook.get("message"):
            yield 4, ((_text(hook, "message"), "inconclusive" if passed else "fail"),)
        for text in _output(hook, OUTPUT_SHOWN if passed else FAILED_OUTPUT_SHOWN):
            yield 4, ((f"{MARKS['split']} ", "dim"), (text, "dim" if passed else ""))
    if hidden:
        yield 4, ((f"and {hidden} more", "dim"),)


def _text(hook: Mapping[str, object], name: str) -> str:
    return one_line(str(hook.get(name) or ""), _LIMIT)


def _output(hook: Mapping[str, object], most: int) -> list[str]:
    text = sanitise(str(hook.get("output") or "").replace("\r\n", "\n")).expandtabs(4).strip("\n")
    return [one_line(line, _LIMIT) for line in text.split("\n") if line.strip()][-most:]

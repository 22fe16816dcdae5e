"""What was judged, as lines: who graded and why, criteria as a table, the way through a tree, jurors, what it cost.

A judgement comes as the record has it, or as somebody else wrote it: whatever is of another shape is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.cells import cell_len

from mcptest_engine.core.costs import is_amount
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.text import counted
from mcptest_tui.state.score_rows import bar, number
from mcptest_tui.state.spending import model_rows, usd
from mcptest_tui.state.text_lines import BLANK, TextLine, line, readable_text, safe, safe_lines
from mcptest_tui.words import MARKS, mark, took_shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mcptest_tui.state.text_lines import Piece

DEFERRED = "deferred"
NAME = 28
EXCERPT = 300
TRIALS_SHOWN = 50
STDERR_SHOWN = 12
GATES = (
    *("tool_selection", "trajectory", "golden_path", "tool_edges", "equal_function_sets", "token_efficiency"),
    "distractors",
)
"""The members of a trace that measure which tools a model chose."""


def shown_as(result: Mapping[str, object]) -> str:
    """Return the verdict of a result, or "deferred"."""
    return DEFERRED if "deferred" in result else str(result.get("verdict", ""))


def judgement_lines(judgement: Mapping[str, object], *, at: int = 0, alone: bool = True) -> Iterator[TextLine]:
    """All of a judgement; where it does not stand `alone`, without its input and output, which stand elsewhere."""
    who = _who(judgement)
    if who:
        yield line(("graded by  ", "dim"), who, at=at)
    if is_number(judgement.get("score")):
        yield line(("score  ", "dim"), *bar(judgement["score"], judgement.get("threshold")), at=at)
    criteria, path, jury = (_rows(judgement, name) for name in ("criteria", "path", "jury"))
    if judgement.get("reasoning") and not (path or jury or (criteria and judgement.get("by") == "judge")):
        yield line(("why  ", "dim"), safe(judgement["reasoning"]), at=at)
    yield from _criteria(criteria, at)
    yield from _path(path, at)
    yield from _jury(jury, at)
    yield from _findings(judgement, at)
    if alone:
        yield BLANK
        for title, name in (("asked", "input"), ("answered", "output")):
            if judgement.get(name):
                yield line((f"{title:<8}  ", "dim"), one_line(str(readable_text(judgement[name])), EXCERPT), at=at)


def _who(judgement: Mapping[str, object]) -> str:
    model = judgement.get("model")
    by = {"exec": "a program of the suite", "judge": "a model"}.get(str(judgement.get("by", "")), "")
    return safe(model) if model else by


def _criteria(rows: Sequence[Mapping[str, object]], at: int) -> Iterator[TextLine]:
    if not rows:
        return
    width = min(max(cell_len(one_line(str(row.get("name", "")), NAME)) for row in rows), NAME)
    width = max(width, len("criterion"))
    yield BLANK
    yield line((f"  {'criterion':<{width}}  weight  score  why", "dim"), at=at)
    for row in rows:
        verdict = _verdict(row)
        name = one_line(str(row.get("name", "")), NAME)
        pad = " " * max(width - cell_len(name), 0)
        numbers = f"  {number(row.get('weight', 1)):>6}  "
        hang = at + 2 + width + len(numbers) + 7
        yield TextLine(
            at,
            hang,
            (
                (f"{mark(verdict)} ", verdict),
                (f"{name}{pad}", ""),
                (numbers, "dim"),
                (f"{number(row.get('score')) or '?':>5}  ", verdict),
                (safe(row.get("reasoning")), ""),
            ),
        )


def _path(rows: Sequence[Mapping[str, object]], at: int) -> Iterator[TextLine]:
    if not rows:
        return
    yield BLANK
    yield line(("the path through the tree", "bold"), at=at)
    for place, row in enumerate(rows):
        answer = one_line(str(row.get("answer", "")), 20)
        score = number(row.get("score"))
        yield line(
            (f"{'  ' * min(place, 8)}{MARKS['arrow']} " if place else "", "dim"), safe(row.get("ask")), at=at + 2
        )
        told: list[Piece] = [(f"{answer}  ", "bold"), (f"{score}  " if score else "", "dim")]
        yield line(*told, safe(row.get("reasoning")), at=at + 4 + 2 * min(place, 8))


def _jury(rows: Sequence[Mapping[str, object]], at: int) -> Iterator[TextLine]:
    if not rows:
        return
    passed = sum(row.get("passed") is True for row in rows)
    yield BLANK
    yield line((f"{passed} of {counted(len(rows), 'juror')} {'passes' if passed == 1 else 'pass'}", "bold"), at=at)
    models = {str(row.get("model", "")) for row in rows}
    for place, row in enumerate(rows, 1):
        verdict = _verdict(row)
        name = f"{one_line(str(row.get('model')), 40)}  " if len(models) > 1 and row.get("model") else ""
        first = f"{mark(verdict)} "
        told = f"{place}  {number(row.get('score')) or '?':<5} {name} "
        hang = at + 2 + cell_len(first) + cell_len(told)
        yield TextLine(at + 2, hang, ((first, verdict), (told, ""), (safe(row.get("reasoning")), "dim")))


def _findings(judgement: Mapping[str, object], at: int) -> Iterator[TextLine]:
    """Return the lines about what a judge found in single calls."""
    extra = judgement.get("extra")
    rows = _rows(extra, "findings") if isinstance(extra, dict) else []
    if not rows:
        if isinstance(extra, dict) and extra and judgement.get("by") == "exec":
            from mcptest_engine.core.clipping import compact

            yield line(("also says  ", "dim"), one_line(compact(extra, EXCERPT), EXCERPT), at=at)
        return
    yield BLANK
    yield line(("calls", "bold"), at=at)
    for row in rows:
        verdict = "pass" if row.get("ok") is True else "fail" if row.get("ok") is False else ""
        called = f"#{one_line(str(row.get('call', '')), 8)} {one_line(str(row.get('tool', '')), NAME)}".rstrip()
        yield line((f"{mark(verdict)} ", verdict), f"{called}  ", (safe(row.get("reasoning")), "dim"), at=at + 2)


def scorer_error_lines(failure: Mapping[str, object]) -> Iterator[TextLine]:
    """What a scorer did in place of giving a verdict: which, the kind of its error, and the end of its stderr."""
    error = failure.get("scorer_error")
    if not isinstance(error, dict):
        return
    yield BLANK
    yield line(("scorer  ", "dim"), safe(error.get("scorer")))
    yield line(("error   ", "dim"), (safe(error.get("kind")), "fail"))
    tail = [text for text in safe_lines(error.get("stderr_tail")) if text.strip()]
    if tail:
        yield line(("stderr", "dim"))
        if len(tail) > STDERR_SHOWN:
            yield line((f"{counted(len(tail) - STDERR_SHOWN, 'line')} before", "dim"), at=2)
        yield from (line((f"{MARKS['split']} ", "dim"), text, at=2) for text in tail[-STDERR_SHOWN:])


def answer_lines(judgement: Mapping[str, object] | None) -> list[TextLine]:
    """Return the lines of the tab "Answer": the question and the graded answer."""
    if not judgement or not (judgement.get("input") or judgement.get("output")):
        return [line(("no answer was graded", "dim"))]
    lines: list[TextLine] = []
    for title, name in (("asked", "input"), ("answered", "output")):
        lines += [BLANK] if lines else []
        lines.append(line((title, "bold")))
        if not judgement.get(name):
            lines.append(line(("an empty text", "dim"), at=2))
            continue
        lines += [line(text, at=2) for text in safe_lines(judgement[name])]
    return lines


# Agent tests


def gate_lines(trace: Mapping[str, Any]) -> list[TextLine]:
    """The measures of which tools were chosen, each with its numbers."""
    found = [(name, trace[name]) for name in GATES if isinstance(trace.get(name), dict)]
    if not found:
        return []
    width = max(len(name) for name, _ in found)
    lines = [BLANK, line(("choice of tools", "bold"))]
    for name, members in found:
        verdict = "pass" if members.get("passed") is True else "fail" if members.get("passed") is False else ""
        numbers = [_member(key, value) for key, value in members.items() if key != "passed" and value not in ([], {})]
        lines.append(line((f"{mark(verdict)} {name:<{width}}  ", verdict), ", ".join(filter(None, numbers)), at=2))
    return lines


def _member(key: str, value: object) -> str:
    name = one_line(str(key).replace("_", " "), NAME)
    if isinstance(value, bool):
        return name if value else f"not {name}"
    if is_number(value):
        return f"{name} {number(value)}"
    if isinstance(value, list):
        return f"{name} {', '.join(one_line(str(readable_text(one)), NAME) for one in value[:6])}" + (
            ", …" if len(value) > 6 else ""
        )
    return f"{name} {one_line(str(readable_text(value)), 80)}" if isinstance(value, str | dict) else ""


def trial_lines(trials: Sequence[Mapping[str, object]]) -> list[TextLine]:
    """The runs of a test, which their share of passes decides."""
    rows = [trial for trial in trials if isinstance(trial, dict)]
    if not any("verdict" in trial for trial in rows):
        return []
    lines = [BLANK, line(("runs", "bold"))]
    for place, trial in enumerate(rows[:TRIALS_SHOWN], 1):
        shown = shown_as(trial)
        took = took_shown(trial["duration_ms"]) if is_number(trial.get("duration_ms")) else ""
        spent = f"  {trial['tokens']:,} tokens  {usd(_cost(trial))}" if is_amount(trial.get("tokens")) else ""
        message = f"  {safe(trial['message'])}" if trial.get("message") else ""
        told = (f"{place:>3}  {took:>9}{spent}", "")
        lines.append(line((f"{mark(shown)} ", shown), told, (message, "dim"), at=2))
    if len(rows) > TRIALS_SHOWN:
        lines.append(line((f"and {len(rows) - TRIALS_SHOWN} more", "dim"), at=4))
    return lines


def cost_lines(result: Mapping[str, object]) -> list[TextLine]:
    """What the models and the scorer of a test cost, a line for each model."""
    rows = model_rows(result)
    judgement = result.get("judgement")
    by_scorer = isinstance(judgement, dict) and judgement.get("by") == "exec" and judgement.get("cost_usd")
    if not rows and not by_scorer:
        return []
    lines = [BLANK, line(("cost", "bold")), *spending_lines(rows)]
    if by_scorer:
        assert isinstance(judgement, dict)
        lines.append(line(f"{safe(result.get('scorer'))}  ", usd(_cost(judgement)), at=2))
    return lines


def spending_lines(rows: Sequence[Mapping[str, Any]], scorers: Sequence[Mapping[str, Any]] = ()) -> list[TextLine]:
    """Return the cost of each model and each scorer as a table."""
    told = [(one_line(str(row.get("model") or "?"), 40), row) for row in rows]
    told += [(one_line(str(row.get("scorer") or "?"), 40), row) for row in scorers]
    width = max((cell_len(name) for name, _ in told), default=0)
    lines = []
    for name, row in told:
        pad = " " * (width - cell_len(name))
        calls = counted(int(row["calls"]), "call") if is_amount(row.get("calls")) else ""
        tokens = f"{int(row['tokens']):,} tokens" if is_amount(row.get("tokens")) else ""
        cost = _cost(row)
        price = (f"{usd(cost):>9}", "" if cost is not None else "inconclusive")
        lines.append(line(f"{name}{pad}  ", price, (f"{calls:>12}  {tokens:>14}".rstrip(), "dim"), at=2))
    return lines


def _cost(row: Mapping[str, Any]) -> float | None:
    return float(row["cost_usd"]) if is_amount(row.get("cost_usd")) else None


def _verdict(row: Mapping[str, object]) -> str:
    passed = row.get("passed")
    return "pass" if passed is True else "fail" if passed is False else "inconclusive"


def _rows(found: Mapping[str, object], name: str) -> list[Mapping[str, Any]]:
    rows = found.get(name)
    return [row for row in rows if isinstance(row, dict) and "$more" not in row] if isinstance(rows, list) else []


def is_number(value: object) -> bool:
    """Whether a value of a run record is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)

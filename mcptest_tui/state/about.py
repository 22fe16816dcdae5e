"""A server and its tools, resources and prompts, as lines; all text in them is sanitised here."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len

from mcptest_engine.core.clipping import compact
from mcptest_engine.core.sanitise import one_line, sanitise
from mcptest_engine.core.text import counted
from mcptest_tui.places import path_here
from mcptest_tui.state.schema_rows import describes, rows_of
from mcptest_tui.state.servers import state_mark, state_text
from mcptest_tui.state.text_lines import TextLine, line
from mcptest_tui.words import MARKS, took_shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mcptest_tui.state.catalog import Item
    from mcptest_tui.state.schema_rows import SchemaRow
    from mcptest_tui.state.servers import ConfigProblem, Server

MOST_LINES = 400
MOST_TEXT = 20_000
WIDEST_NAME = 26
STDERR_SHOWN = 12
BADGE_INKS = {"destructive": "fail", "changes things": "hint", "read-only": "pass"}


def server_lines(server: Server, now: float, keys: Sequence[tuple[str, str]]) -> list[TextLine]:
    """Return all that is known about a server as lines, its problems first."""
    found = [line((f"{MARKS[state_mark(server)]} ", _state_ink(server)), (state_text(server, now), _state_ink(server)))]
    if server.state == "failed" and server.failed_at:
        found.append(line((f"{'ended' if server.died else 'failed'} at {server.failed_at}", "dim")))
    if server.message and server.state != "ready":
        found += _paragraph(server.message, "fail" if server.state == "failed" else "")
    if server.hint:
        found += _paragraph(server.hint, "hint")
    if server.stderr and server.state != "ready":
        found += [_blank(), _heading("The end of its stderr")]
        found += [line(one_line(text, 500), at=2) for text in server.stderr.strip().splitlines()[-STDERR_SHOWN:]]
    found += [_blank(), *_pairs(_facts(server))]
    if server.connected:
        found += _handshake(server)
    if keys:
        found += [_blank(), *_key_lines(keys)]
    return found


def problem_lines(problem: ConfigProblem) -> list[TextLine]:
    """Return the lines about an agent's settings that could not be read."""
    found = [line((f"{problem.client}: its settings cannot be read", "fail")), _blank()]
    return [*found, *_paragraph(problem.message), _blank(), *_pairs([("file", problem.path)])]


def consent_lines(server: Server) -> list[str]:
    """What is shown before a command that somebody else wrote is started, or a URL is connected."""
    told = [f"{server.origin} has it in {server.source}." if server.source else "It was typed in an earlier session."]
    if server.argv:
        told += ["", "This command will run as you:", *(f"  {one_line(word, 300)}" for word in _argv_rows(server.argv))]
        if server.cwd:
            told.append(f"in {server.cwd}")
    else:
        told += ["", "Requests will go to:", f"  {one_line(server.shown, 300)}"]
    if server.env_names:
        told += ["", f"with the variables {', '.join(server.env_names)}"]
    if server.header_names:
        told += ["", f"with the headers {', '.join(server.header_names)}"]
    if server.variables:
        told += [f"values are taken from your environment: {', '.join(server.variables)}"]
    return told


def item_lines(item: Item, *, raw: bool = False) -> list[TextLine]:
    """An entry of a catalog: its line, what it says of itself, its arguments as a table; or all of it as JSON."""
    if raw:
        return [line(part) for part in sanitise(_json(item.data)).split("\n")[:MOST_LINES]]
    inks = {"name": "bold", "argument": "key", "type": "type", "default": "default"}
    found = [TextLine(0, 4, tuple((one_line(text), inks.get(kind, "dim")) for text, kind in item.pieces))]
    if item.title:
        found.append(line((one_line(item.title, 300), "bold")))
    if item.badges:
        found.append(line(*_spaced((badge, BADGE_INKS.get(badge, "dim")) for badge in item.badges)))
    if item.warnings:
        found += [
            _blank(),
            line((f"{MARKS['inconclusive']} Suspicious words: read them as data, never as instructions.", "hint")),
        ]
        found += [line((one_line(warning, 300), "hint"), at=2) for warning in item.warnings]
    if item.description.strip():
        found += [_blank(), *_paragraph(item.description.strip())]
    return [*found, *_parts(item)]


def answer_line(answer: Mapping[str, object], called: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What came of a call, in one line of pieces: verdict, time, size, HTTP status."""
    if "error" in answer:
        error = answer["error"] if isinstance(answer["error"], dict) else {}
        pieces = [(f"error {one_line(str(error.get('code', '')), 20)}", "fail")]
    else:
        result = answer.get("result")
        is_error = result.get("isError") if isinstance(result, dict) else None
        pieces = [("isError true", "fail")] if is_error is True else [("answered", "pass")]
        invalid = called.get("invalid")
        if isinstance(invalid, dict):
            pieces = [
                ("invalid answer", "fail" if invalid.get("fails") else "hint"),
                *(pieces if is_error is True else ()),
            ]
        if is_error not in (True, False, None):
            pieces.append((f"isError {one_line(compact(is_error, 20), 20)}", "hint"))
    pieces.append((took_shown(float(called.get("duration_ms") or 0)), "bold"))
    http = called.get("http")
    if isinstance(http, dict) and http.get("status") is not None:
        pieces.append((f"HTTP {one_line(str(http['status']), 8)}", "dim"))
    if isinstance(called.get("size"), int):
        pieces.append((size_shown(called["size"]), "dim"))
    heard = called.get("notifications")
    if isinstance(heard, list) and heard:
        pieces.append((counted(len(heard), "notification"), "dim"))
    return pieces


def size_shown(size: int) -> str:
    """Return a size for people: `412 B`, `1.2 KB`, `20 MB`."""
    if size < 1000:
        return f"{size} B"
    for unit, factor in (("KB", 1e3), ("MB", 1e6), ("GB", 1e9)):
        value = size / factor
        if value < 999.5:
            return f"{value:.1f} {unit}" if value < 9.95 else f"{value:.0f} {unit}"
    return f"{size / 1e9:.0f} GB"


# --- about a server


def _state_ink(server: Server) -> str:
    return {"ready": "pass", "failed": "fail", "starting": "running", "stopping": "running"}.get(server.state, "dim")


def _facts(server: Server) -> Iterator[tuple[str, str]]:
    yield ("url" if server.transport == "http" else "command", server.shown)
    if server.cwd:
        yield "runs in", server.cwd
    if server.env_names:
        yield "env", ", ".join(server.env_names)
    if server.header_names:
        yield "headers", ", ".join(server.header_names)
    if server.variables:
        yield "variables", ", ".join(server.variables)
    if server.missing:
        yield "missing", f"{', '.join(server.missing)} has no value here"
    if server.group == "suite":
        yield "suite", path_here(server.path)
    elif server.source:
        yield server.origin, path_here(server.source)


def _able(value: object) -> str:
    """A capability: `yes`, the flags that are set, or what else it is."""
    if isinstance(value, dict) and all(flag is True for flag in value.values()):
        return ", ".join(map(str, value)) or "yes"
    return "yes" if value is None else compact(value, 200)


def _handshake(server: Server) -> Iterator[TextLine]:
    catalog = server.catalog or {}
    yield _blank()
    yield _heading("Server info")
    capabilities = catalog.get("capabilities")
    facts = [("server", server.own_name or "(no name)"), ("protocol", server.protocol or "none")]
    title = server.info.get("title")
    facts += [("title", str(title))] if isinstance(title, str) else []
    if server.duration_ms is not None:
        facts.append(("ready in", took_shown(server.duration_ms)))
    if isinstance(capabilities, dict):
        for name, value in capabilities.items():
            facts.append((str(name), _able(value)))
        if not capabilities:
            facts.append(("capabilities", "none"))
    yield from _pairs(facts)
    for remark in server.remarks:
        yield from _paragraph(remark, "hint")
    errors = catalog.get("errors")
    for name, problem in errors.items() if isinstance(errors, dict) else ():
        yield from _paragraph(f"{name}: {problem}", "fail")
    if server.catalog_problem:
        yield from _paragraph(server.catalog_problem, "fail")
    instructions = catalog.get("instructions")
    if isinstance(instructions, str) and instructions.strip():
        yield _blank()
        yield _heading("Instructions")
        yield from _paragraph(instructions.strip())


def _argv_rows(argv: Sequence[str]) -> list[str]:
    """A command on one row, or where it is long a row for each word, so that none hides behind the edge."""
    joined = shlex.join(argv)
    return [joined] if len(joined) <= 64 else [shlex.quote(word) for word in argv[:30]]


# --- about what it offers


def _parts(item: Item) -> Iterator[TextLine]:
    data = item.data
    if item.kind == "tools":
        yield from _schema("Arguments", data.get("inputSchema"))
        if data.get("outputSchema") is not None:
            yield from _schema("Structured content", data["outputSchema"])
    elif item.kind == "prompts":
        yield from _prompt_arguments(data.get("arguments"))
    else:
        facts = [(key, data[key]) for key in ("mimeType", "size") if data.get(key) is not None]
        if facts:
            yield _blank()
            yield from _pairs((key, str(value)) for key, value in facts)
    annotations = data.get("annotations")
    if isinstance(annotations, dict) and annotations:
        yield _blank()
        yield _heading("Annotations")
        yield from _pairs((str(key), compact(value, 200)) for key, value in annotations.items())
    known = {"name", "title", "description", "inputSchema", "outputSchema", "annotations", "arguments", "uri"}
    rest = [
        (str(key), compact(value, 300))
        for key, value in data.items()
        if key not in known | {"uriTemplate", "mimeType", "size"}
    ]
    if rest:
        yield _blank()
        yield _heading("Also sent")
        yield from _pairs(rest)


def _schema(title: str, schema: object) -> Iterator[TextLine]:
    yield _blank()
    yield _heading(title)
    told = describes(schema)
    if told:
        yield line((one_line(told, 400), "dim"), at=2)
    yield from _table(rows_of(schema))


def _prompt_arguments(listed: object) -> Iterator[TextLine]:
    from mcptest_tui.state.schema_rows import SchemaRow

    yield _blank()
    yield _heading("Arguments")
    rows = []
    for told in listed if isinstance(listed, list) else ():
        if isinstance(told, dict):
            required = told.get("required") is True
            about = told.get("description")
            facts = ("required",) if required else ()
            rows.append(
                SchemaRow(0, str(told.get("name")), "str", required, facts, about if isinstance(about, str) else "")
            )
    if not rows:
        yield line(("none", "dim"), at=2)
    yield from _table(rows)


def _table(rows: Sequence[SchemaRow]) -> Iterator[TextLine]:
    if not rows:
        return
    names = [one_line(row.name, WIDEST_NAME) for row in rows]
    width = max(2 * row.depth + cell_len(name) for row, name in zip(rows, names, strict=True))
    width = min(width, WIDEST_NAME + 4)
    kinds = max((cell_len(one_line(row.type, 40)) for row in rows if row.facts), default=0)
    for row, name in zip(rows, names, strict=True):
        indent = 2 + 2 * row.depth
        at = 2 + width + 2
        pad = " " * max(at - indent - cell_len(name), 1)
        kind = one_line(row.type, 200)
        pieces = [(name + pad, "key" if row.required else "name"), (kind, "type")]
        if row.facts:
            pieces.append((" " * max(min(kinds, 24) - cell_len(kind), 0) + "  ", ""))
            pieces += _facts_of(row.facts)
        yield TextLine(indent, at + 2, tuple(pieces))
        if row.description.strip():
            for part in sanitise(row.description.strip()).split("\n")[:20]:
                yield TextLine(at, at, ((part[:2000], "dim"),))


def _facts_of(facts: Sequence[str]) -> Iterator[tuple[str, str]]:
    for at, fact in enumerate(facts):
        ink = "hint" if fact == "required" else "default"
        yield (("  " if at else "") + one_line(fact, 400), ink)


# --- lines


def _blank() -> TextLine:
    return line("")


def _heading(text: str) -> TextLine:
    return line((text, "bold"))


def _paragraph(text: str, ink: str = "") -> list[TextLine]:
    cut = text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}… ({len(text):,} characters)"
    return [line((part, ink)) for part in sanitise(cut).expandtabs(4).split("\n")[:MOST_LINES]]


def _pairs(pairs: Any) -> list[TextLine]:
    told = [(one_line(str(name), 24), one_line(str(value), 2000)) for name, value in pairs]
    width = max((cell_len(name) for name, _ in told), default=0)
    return [line((f"{name}{' ' * (width - cell_len(name) + 2)}", "dim"), value, at=2) for name, value in told]


def _key_lines(keys: Sequence[tuple[str, str]]) -> list[TextLine]:
    width = max(len(key) for key, _ in keys)
    return [line((f"{key:>{width + 1}}  ", "key"), what) for key, what in keys]


def _spaced(pieces: Any) -> Iterator[tuple[str, str]]:
    for at, piece in enumerate(pieces):
        if at:
            yield ("  ", "")
        yield piece


def _json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, indent=2)
    except (TypeError, ValueError, RecursionError):
        return compact(value, 100_000)

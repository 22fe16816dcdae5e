"""`mcptest tools|resources|prompts|capabilities`: what a server offers, all pages, as the server says it."""

from __future__ import annotations

import json
import shutil
import sys
from typing import TYPE_CHECKING, Any

import click

from mcptest_engine.cli.common import json_text, write_out
from mcptest_engine.cli.target import target_options, target_spec, with_session
from mcptest_engine.core.sanitise import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcptest_engine.servers.session import Session

FORMAT = click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
OUTPUT = click.option(
    "--output", type=click.Path(), metavar="PATH", help="Write the output to this file instead of stdout."
)


@click.command()
@target_options
@FORMAT
@OUTPUT
def tools(form: str, output: str | None, **flags: object) -> None:
    """List a server's tools with their arguments. `--format json` prints the list as the server sent it.

    Descriptions that look like instructions to a model cause a warning; `mcptest security` shows details.

    \b
    Example:
      mcptest tools --command "mcptest mock --preset demo"
    """
    found = _listed(flags, "tools")
    from mcptest_engine.safety.poisoning import description_warnings, warning_json

    warnings = [warning_json(warning) for warning in description_warnings(found["tools"])]
    document = {**found, "warnings": warnings} if warnings else found
    _print(document, form, output, [(_signature(tool), tool.get("description")) for tool in found["tools"]])
    if form == "table":
        for warning in warnings:
            sys.stderr.write(
                f"warning: {one_line(warning['tool'])}: {warning['rule']} {one_line(warning['summary'])}\n"
            )


@click.command()
@target_options
@FORMAT
@OUTPUT
def resources(form: str, output: str | None, **flags: object) -> None:
    """List a server's resources and resource templates.

    \b
    Example:
      mcptest resources --server files --config mcptest.yaml --format json
    """
    found = _listed(flags, "resources", "resources/templates")
    rows = [(str(item.get("uri")), _about(item)) for item in found["resources"]]
    rows += [(str(item.get("uriTemplate")), _about(item)) for item in found["resourceTemplates"]]
    _print(found, form, output, rows)


@click.command()
@target_options
@FORMAT
@OUTPUT
def prompts(form: str, output: str | None, **flags: object) -> None:
    """List a server's prompts with their arguments.

    \b
    Example:
      mcptest prompts --url http://127.0.0.1:8000/mcp
    """
    found = _listed(flags, "prompts")
    _print(found, form, output, [(_prompt_signature(item), item.get("description")) for item in found["prompts"]])


@click.command()
@target_options
@FORMAT
@OUTPUT
def capabilities(form: str, output: str | None, **flags: object) -> None:
    """Show what a server sends in the handshake: name, revision, capabilities, instructions.

    \b
    Example:
      mcptest capabilities --command "python server.py" --format json
    """

    async def opening_of(session: Session) -> dict[str, Any]:
        return {
            "serverInfo": session.server_info,
            "protocolVersion": session.protocol_version,
            "capabilities": session.capabilities,
            "instructions": session.instructions,
        }

    found = with_session(target_spec(flags), opening_of)
    info = found["serverInfo"] or {}
    rows = [("server", " ".join(str(info[key]) for key in ("name", "version") if key in info))]
    rows += [("protocol", found["protocolVersion"])]
    rows += [(name, json.dumps(value, ensure_ascii=False)) for name, value in (found["capabilities"] or {}).items()]
    if found["instructions"]:
        rows.append(("instructions", found["instructions"]))
    _print(found, form, output, rows)


def _listed(flags: Mapping[str, Any], *kinds: str) -> dict[str, Any]:
    """Each list by its member name in the protocol; one that the server does not offer is empty."""
    spec = target_spec(flags)

    async def list_items(session: Session) -> dict[str, Any]:
        from mcptest_engine.servers.catalog import list_all

        names = {"resources/templates": "resourceTemplates"}
        return {
            names.get(kind, kind): await list_all(session, kind, timeout_seconds=flags["timeout_seconds"])
            if kind.partition("/")[0] in (session.capabilities or {})
            else []
            for kind in kinds
        }

    return with_session(spec, list_items)


def _print(found: Mapping[str, object], form: str, output: str | None, rows: Sequence[tuple[str, object]]) -> None:
    text = json_text(found) if form == "json" else _table(rows)
    write_out(text, output)


def _table(rows: Sequence[tuple[str, object]]) -> str:
    """One row for each item: its name, and the first line of its description."""
    if not rows:
        return "none\n"
    total = shutil.get_terminal_size().columns if sys.stdout.isatty() else 100
    names = [one_line(name, total) for name, _ in rows]
    width = min(max(len(name) for name in names), total // 2)
    lines = []
    for name, (_, about) in zip(names, rows, strict=True):
        text = one_line(str(about or "").strip().split("\n")[0])
        if len(name) > width:
            lines.append(name)
            name = ""
        lines.append(f"{name:<{width}}  {one_line(text, max(20, total - width - 2))}".rstrip())
    return "\n".join(line for line in lines if line) + "\n"


def _signature(tool: Mapping[str, object]) -> str:
    """`name(path: string, limit?: integer)`; a schema that is no object is shown without arguments."""
    schema = tool.get("inputSchema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        return f"{tool.get('name')}()"
    required = schema.get("required") if isinstance(schema, dict) else None
    needed = {name for name in required if isinstance(name, str)} if isinstance(required, list) else set()
    arguments = ", ".join(
        f"{name}{'' if name in needed else '?'}: {_type(about)}" for name, about in properties.items()
    )
    return f"{tool.get('name')}({arguments})"


def _type(schema: object) -> str:
    if not isinstance(schema, dict):
        return "any"
    found = schema.get("type")
    if isinstance(found, list):
        return "|".join(str(item) for item in found)
    return str(found) if found is not None else "enum" if "enum" in schema else "any"


def _prompt_signature(prompt: Mapping[str, object]) -> str:
    arguments = prompt.get("arguments")
    listed = [item for item in arguments if isinstance(item, dict)] if isinstance(arguments, list) else []
    inside = ", ".join(f"{item.get('name')}{'' if item.get('required') else '?'}" for item in listed)
    return f"{prompt.get('name')}({inside})"


def _about(item: Mapping[str, object]) -> str:
    parts = (item.get("title") or item.get("name"), item.get("mimeType"), item.get("description"))
    return " · ".join(str(part) for part in parts if part)

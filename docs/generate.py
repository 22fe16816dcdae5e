"""Writes the reference pages that have a source of truth: `docs/suite.md` from the models, `docs/cli.md` from the commands.

`python docs/generate.py` rewrites them; a test holds each equal to what this gives.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from mcptest_engine.cli.main import COMMANDS, group
from mcptest_engine.suite.schema import schema_text

DOCS = Path(__file__).parent

SECTIONS = (
    ("Server", "A server", "Under `servers:`, by the name that tests use. It has either `command` or `url`."),
    ("Auth", "A server's `auth`", ""),
    (
        "ToolTest",
        "A test of a tool",
        "An entry of `tools:`. A method such as `tools/list` may stand in place of a tool's name.",
    ),
    ("ResourceTest", "A test of a resource", "An entry of `resources:`; sends `resources/read`."),
    ("PromptTest", "A test of a prompt", "An entry of `prompts:`; sends `prompts/get`."),
    ("Expect", "`expect`", "Either a list of assertions, or this mapping."),
    ("TokenBudget", "`max_response_tokens`", "Either a number, or this mapping."),
    (
        "Assertion",
        "An assertion",
        "What is looked at, and what must hold of it. The matchers have [their own page](matchers.md).",
    ),
    ("RunOptions", "`run_options`", ""),
    ("Performance", "`performance`", ""),
)

WORDS = {
    "Matcher": "[matcher](matchers.md)",
    "Server": "[server](#a-server)",
    "Auth": "mapping",
    "HeaderFromEnv": "`{ env: NAME }`",
    "ToolTest": "[tool test](#a-test-of-a-tool)",
    "ResourceTest": "[resource test](#a-test-of-a-resource)",
    "PromptTest": "[prompt test](#a-test-of-a-prompt)",
    "Expect": "[mapping](#expect)",
    "Assertion": "[assertion](#an-assertion)",
    "RunOptions": "[mapping](#run_options)",
    "Performance": "[mapping](#performance)",
    "TokenBudget": "[mapping](#max_response_tokens)",
    "Transform": "`{ jq: PROGRAM }`",
}

HEAD = """# Suite reference

A suite is one YAML file (or several, joined by `imports:`). It is read as YAML 1.2: `no` and `on` are text, `1e3` is a number,
`012` is twelve, and a date is text. An unknown key is an error at every level, with the nearest key as a hint. Begin the file
with this line and an editor completes and explains as you type:

```yaml
# yaml-language-server: $schema=https://mcptest.sh/schema/v1.json
```

`mcptest schema` prints that schema. `mcptest validate FILE` shows every problem at once, in file order, with its place.

A suite is code: it starts the programs that it names. Run only suites that you trust.
"""

TEMPLATES = """## Templates

| written | means |
|---|---|
| `${X}`, `${var.X}` | the variable X: `--var X=…`, else the suite's `variables:` |
| `${env.X}` | the environment variable X, else the one in `.env` beside the suite |
| `${X}` inside an `env:` map | the environment variable X |
| `${CONFIG_DIR}` | the directory of the suite file |
| `$${` | a literal `${` |

A text that is one template keeps the type of what it stands for: `limit: "${limit}"` is a number when `limit` is one. A
template that does not resolve is an error at its place. `schema`, `regex` and `jq` are never expanded. `--var K=V` is read as
the type that the suite declares for K, and as text otherwise.

## What a target sees

A target is a path into the envelope of one call: `result` or `error` exactly as the server sent them, `duration_ms`,
`attempt`, `request` (`method`, `params`), `notifications` (those that came during the call) and `http` (`status`, `headers`;
null over stdio).

| written | leads to |
|---|---|
| `result.content[0].text` | a member, then an element, then a member |
| `result.content[-1]` | the last element |
| `result["any key"]` | a member whose name has dots, brackets, quotes or spaces |
| `result.tools[*].name` | a list: that member of every element |

A path that leads nowhere is *absent*, which is not null: `exact: null` fails on it, `exists: false` passes. Quote a target that
has brackets in it: `target: "result.content[0].text"`.

## How tests run

Tests run concurrently over one session per server, eight at once unless `run_options.concurrency` or `--workers` says
otherwise, and are reported in the order in which they stand. A serial test runs alone: earlier ones finish first, later ones
follow. Serial are tests with `serial: true`, every test of a server with `serial: true`, tests that look at
`notifications`, and, unless they say `serial: false`, tests of a tool whose name says that it changes something
(`create_…`, `deleteFile`, …).

A test without assertions passes only if the server answered without an error; `validate` warns that it asserts nothing.

Servers see only `HOME`, `LANG`, `LC_*`, `LOGNAME`, `PATH`, `SHELL`, `TERM`, `TMPDIR`, `USER`, the suite's `env:` and their own;
`inherit_env` adds more. Data cleanup is your responsibility: mcptest never removes what a test made a server create.
"""


def suite_page() -> str:
    """`docs/suite.md`: one table for each mapping of the language."""
    schema = json.loads(schema_text())
    parts = [HEAD, "## The top of the file\n", _table(schema)]
    for name, title, about in SECTIONS:
        parts += [f"## {title}\n", *([f"{about}\n"] if about else []), _table(schema["$defs"][name])]
    return "\n".join([*parts, TEMPLATES])


def _table(schema: dict[str, Any]) -> str:
    required = set(schema.get("required", ()))
    rows = ["| key | type | meaning |", "|---|---|---|"]
    for key, about in schema["properties"].items():
        need = " (required)" if key in required else ""
        rows.append(f"| `{key}`{need} | {_type(about)} | {_cell(about.get('description', ''))} |")
    return "\n".join(rows) + "\n"


def _type(schema: dict[str, Any]) -> str:
    """The type in a reader's words; a reference by the name of what it leads to."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        return WORDS.get(name, name)
    for word in ("anyOf", "oneOf"):
        if word in schema:
            options = [_type(option) for option in schema[word] if not option.get("$ref", "").endswith("/Template")]
            return " or ".join(dict.fromkeys(options))
    found = schema.get("type", "any value")
    if found == "array":
        return f"list of {_type(schema.get('items', {}))}"
    if found == "object":
        inner = schema.get("additionalProperties")
        return f"mapping to {_type(inner)}" if isinstance(inner, dict) and inner else "mapping"
    if "enum" in schema:
        return " or ".join(f"`{item}`" for item in schema["enum"])
    words = {"integer": "whole number", "string": "text", "boolean": "`true` or `false`"}
    return words.get(found, str(found))


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def cli_page() -> str:
    """`docs/cli.md`: the `--help` of every command."""
    parts = [
        "# Commands\n",
        "Data goes to stdout, talk to stderr. The [exit codes](exit-codes.md) are the same everywhere.\n",
    ]
    context = click.Context(group, info_name="mcptest")
    for name in COMMANDS:
        command = group.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=f"mcptest {name}", terminal_width=100, max_content_width=100)
        parts += [f"## mcptest {name}\n", f"```text\n{command.get_help(inner)}\n```\n"]
    return "\n".join(parts)


PAGES = {"suite.md": suite_page, "cli.md": cli_page}


def main() -> None:
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()

"""Write the generated parts of the pages: `reference/suite.md` from the models, `reference/cli.md` from the commands, the keys
in `reference/workbench-keys.md` from the registry of actions, the rules in `how-to/compliance.md` from the table of the checks,
the operators in `how-to/mutation.md` from theirs, and `schemas/` from the package.

`python docs/generate.py` rewrites them; a test compares each with what this gives.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mcptest_engine.cli.main import COMMANDS, group
from mcptest_engine.judging import conformance
from mcptest_engine.mutation.report import page_rows
from mcptest_engine.reporting.record_schema import schema_text as record_schema_text
from mcptest_engine.suite.compliance import CHECKS, REVISIONS, UNKNOWN_METHOD
from mcptest_engine.suite.model.generate import models
from mcptest_engine.suite.schema import is_duration, is_url, schema_text
from mcptest_tui.actions.__main__ import table
from mcptest_tui.opening import USAGE
from mcptest_tui.themes import VARIABLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

DOCS = Path(__file__).parent
MODELS = models()
GROUPS = {
    "Server": "Servers",
    "DefaultTest": "Tests",
    "Composition": "Compositions",
    "AgentTest": "Agent tests",
    "EvalTest": "Evals and models",
    "RunOptions": "The run",
    "Client": "Used in several places",
}
"""The mappings of the language at which a group of sections begins, with its label."""
KEYS_BEGIN = "<!-- keys: `python docs/generate.py` writes them -->\n"
KEYS_END = "<!-- end of keys -->"
COLOURS_BEGIN = "<!-- colours: `python docs/generate.py` writes them -->\n"
COLOURS_END = "<!-- end of colours -->"
SUITE_BEGIN = "<!-- suite: `python docs/generate.py` writes the tables -->\n"
SUITE_END = "<!-- end of suite -->"
RULES_BEGIN = "<!-- rules: `python docs/generate.py` writes them -->\n"
RULES_END = "<!-- end of rules -->"
OPERATORS_BEGIN = "<!-- operators: `python docs/generate.py` writes them -->\n"
OPERATORS_END = "<!-- end of operators -->"


def _contents(titles: Iterable[str]) -> str:
    """One line of links to the sections of a page, with the anchors that GitHub gives them."""
    return " · ".join(f"[{title}](#{_anchor(title)})" for title in titles) + "\n"


def _anchor(title: str) -> str:
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def suite_page() -> str:
    """`docs/reference/suite.md`: as it is, with a table for each mapping of the language between its marks."""
    schema, top = json.loads(schema_text()), "The top of the file"
    names = [name for name in _in_order(schema) if MODELS[name].about.heading]
    headings = {name: MODELS[name].about.heading for name in names}
    parts = [_suite_contents(top, headings), f"## {top}\n", _table(schema)]
    for name, heading in headings.items():
        text = MODELS[name].about.text
        parts += [f"## {heading}\n", *([f"{text}\n"] if text else []), _table(schema["$defs"][name])]
    return _between("reference/suite.md", SUITE_BEGIN, "\n".join(parts), SUITE_END)


def _suite_contents(top: str, headings: dict[str, str]) -> str:
    """Links to the sections of the page on suites, a list item for each group of them."""
    groups = [[top]]
    for name, heading in headings.items():
        if name in GROUPS:
            groups.append([])
        groups[-1].append(heading)
    labels = ["The file", *GROUPS.values()]
    return "".join(f"- {label}: {_contents(titles)}" for label, titles in zip(labels, groups, strict=True))


def _in_order(schema: dict[str, Any]) -> list[str]:
    """The mappings of the language: each is followed by those that only it leads to, the others come last."""
    inner = {name: list(dict.fromkeys(_mentioned(part))) for name, part in schema["$defs"].items() if name in MODELS}
    waiting = list(dict.fromkeys(_mentioned({**schema, "$defs": None})))
    leading = Counter([*waiting, *(other for name, others in inner.items() for other in others if other != name)])
    found: list[str] = []
    shared: list[str] = []
    while waiting or shared:
        name = waiting.pop(0) if waiting else shared.pop(0)
        if name not in found:
            found.append(name)
            waiting = [*(other for other in inner[name] if leading[other] == 1), *waiting]
            shared += [other for other in inner[name] if leading[other] > 1]
    return found


def _mentioned(part: Any) -> list[str]:
    """The mappings that a piece of the schema leads to."""
    if not isinstance(part, dict | list):
        return []
    name = part.get("$ref", "").rpartition("/")[2] if isinstance(part, dict) else ""
    inside = [found for inner in (part.values() if isinstance(part, dict) else part) for found in _mentioned(inner)]
    return [name, *inside] if name in MODELS else inside


def _table(schema: dict[str, Any]) -> str:
    required = set(schema.get("required", ()))
    rows = ["| key | type | meaning |", "|---|---|---|"]
    for key, about in schema["properties"].items():
        need = " (required)" if key in required else ""
        rows.append(f"| `{key}`{need} | {_type(about)} | {_cell(about.get('description', ''))} |")
    return "\n".join(rows) + "\n"


def _type(schema: dict[str, Any]) -> str:
    """The type as the docs name it; a reference by the name of its target."""
    if "$ref" in schema:
        about = MODELS[schema["$ref"].rpartition("/")[2]].about
        return f"[{about.link}](#{_anchor(about.heading)})" if about.heading else about.link
    if "if" in schema and "else" in schema:
        return f"{_type(schema['else'])} or {_type(schema['then'])}"
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
        words = schema["enum"]  # of `2025-11-25` and `v2025-11-25` one is enough
        return " or ".join(f"`{word}`" for word in words if word[0] != "v" or word.removeprefix("v") not in words)
    if isinstance(schema.get("const"), str):
        return f"`{schema['const']}`"
    if schema.get("const") is True:
        return "`true`"
    if "pattern" in schema:
        pattern = str(schema["pattern"])
        forms = [form for form, fits in (("duration", is_duration), ("URL", is_url)) if fits(pattern)]
        return " or ".join(forms) or "path"
    words = {"integer": "whole number", "string": "text", "boolean": "`true` or `false`"}
    return words.get(found, str(found))


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def cli_page() -> str:
    """`docs/reference/cli.md`: the `--help` of every command."""
    parts = [
        "# Commands\n",
        "Results go to stdout, messages to stderr. All commands use the same [exit codes](exit-codes.md).\n",
        _contents(f"mcptest {name}" for name in ("tui", *COMMANDS)),
        "## mcptest tui\n",
        f"```text\n{USAGE.rstrip()}\n```\n",
        "[The workbench](../how-to/workbench.md) explains what it shows, and [its keys](workbench-keys.md) are listed.\n",
    ]
    context = click.Context(group, info_name="mcptest", **group.context_settings)
    for name in COMMANDS:
        command = group.get_command(context, name)
        assert command is not None
        inner = click.Context(
            command, info_name=f"mcptest {name}", terminal_width=100, max_content_width=100, **group.context_settings
        )
        parts += [f"## mcptest {name}\n", f"```text\n{command.get_help(inner)}\n```\n"]
    return "\n".join(parts)


def workbench_keys_page() -> str:
    """`docs/reference/workbench-keys.md`: as it is, with the tables of keys between its marks."""
    return _between("reference/workbench-keys.md", KEYS_BEGIN, table(), KEYS_END)


def workbench_settings_page() -> str:
    """`docs/how-to/workbench-settings.md`: as it is, with the table of colours between its marks."""
    rows = (f"| `{name}` | {meaning} |\n" for name, meaning in VARIABLES.items())
    table_ = f"| variable | the colour of |\n|---|---|\n{''.join(rows)}"
    return _between("how-to/workbench-settings.md", COLOURS_BEGIN, table_, COLOURS_END)


def compliance_page() -> str:
    """`docs/how-to/compliance.md`: as it is, with the table of rules between its marks."""
    return _between("how-to/compliance.md", RULES_BEGIN, "\n".join(_rules()), RULES_END)


def mutation_page() -> str:
    """`docs/how-to/mutation.md`: as it is, with the table of operators between its marks."""
    return _between("how-to/mutation.md", OPERATORS_BEGIN, "\n".join((*page_rows(), "")), OPERATORS_END)


def _rules() -> Iterator[str]:
    """A table for each check, its rules in the order in which they are judged."""
    yield from ("### Every check but `unknown-method`", "", *_rule_rows([conformance.ANSWERED]))
    declared = "a server that offers them declares the capability: `tools`, `resources` or `prompts`"
    capability = conformance.Rule(declared, "", {}, "server/tools, server/resources, server/prompts")
    yield from ("", "### Every list", "", *_rule_rows([capability]))
    for check in CHECKS:
        found = [*conformance.RESULT_RULES.get(check, ()), *conformance.ENTRY_RULES.get(check, ())]
        if check == "initialize":
            found.insert(0, conformance.A_KNOWN_REVISION)
        if check == UNKNOWN_METHOD:
            found = list(conformance.UNKNOWN_METHOD_RULES)
        yield from ("", f"### `{check}`", "", *_rule_rows(found))
    yield ""


def _rule_rows(rules: list[conformance.Rule]) -> list[str]:
    rows = ["| what must hold | section | in |", "|---|---|---|"]
    for rule in rules:
        held = f"{rule.since} and later" if rule.until == REVISIONS[-1] else f"{rule.since} to {rule.until}"
        if rule.since == rule.until:
            held = rule.since
        elif (rule.since, rule.until) == (REVISIONS[0], REVISIONS[-1]):
            held = "all revisions"
        rows.append(f"| {_cell(rule.says)} | {rule.section} | {held} |")
    return rows


def _between(name: str, begin: str, text: str, close: str) -> str:
    """The page as it is, with `text` between two marks."""
    before, mark, rest = (DOCS / name).read_text(encoding="utf-8").partition(begin)
    _, end, after = rest.partition(close)
    assert mark, begin
    assert end, close
    return f"{before}{mark}\n{text}\n{end}{after}"


PAGES = {
    "reference/suite.md": suite_page,
    "reference/cli.md": cli_page,
    "reference/workbench-keys.md": workbench_keys_page,
    "how-to/workbench-settings.md": workbench_settings_page,
    "how-to/compliance.md": compliance_page,
    "how-to/mutation.md": mutation_page,
    "../schemas/suite.schema.json": schema_text,
    "../schemas/record.schema.json": record_schema_text,
}


def main() -> None:
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()

"""`python -m mcptest_tui.actions`: the table of keys for the documentation, from the registry."""

from __future__ import annotations

import sys

from mcptest_tui.actions import EXCEPTIONS, KEYS, MODULES, TITLES, actions_of
from mcptest_tui.words import key_shown


def meanings() -> str:
    """Markdown: a table of keys, what each means, and where."""
    rows = []
    for meaning, keys in KEYS.items():
        where = [TITLES[module] for module in MODULES if any(one.meaning == meaning for one in actions_of(module))]
        place = TITLES["app"] if TITLES["app"] in where else ", ".join(where)
        rows.append(f"| {', '.join(map(_key, keys))} | {meaning} | {place} |")
    exceptions = [f"The exception is {TITLES[module]}: {why}." for module, why in EXCEPTIONS.items()]
    return "\n".join(["| key | means | where |", "|---|---|---|", *rows, "", *exceptions])


def table() -> str:
    """Markdown: what the keys mean; then a heading and a table for each mode."""
    parts = [meanings()]
    for module in MODULES:
        actions = actions_of(module)
        if not actions:
            continue
        rows = []
        for action in actions:
            keys = ", ".join(map(_key, action.keys)) or "-"
            does = action.help.replace("|", "\\|")
            rows.append(f"| `{action.id}` | {keys} | {action.title} | {does} |")
        parts.append(
            "\n".join([f"## {TITLES[module]}", "", "| id | keys | title | does |", "|---|---|---|---|", *rows])
        )
    return "\n\n".join(parts) + "\n"


def _key(key: str) -> str:
    return f"`{key_shown(key)}`"


if __name__ == "__main__":
    sys.stdout.write(table())

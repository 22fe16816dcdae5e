"""Values planted in the environment, and the search for them in whatever came out."""

from __future__ import annotations

import html
import json
from base64 import b64encode
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DECLARED = {
    "MCP_TK": "cnry-bearer-81Xq/7+w",
    "DATABASE_URL": "postgres://admin:cnryPw4711@db.example/shop?x=1&y='2'",
    "PLAINWORD": "cnryplainwordvalue",
    "SHOP_REGION": 'cnry "eu" <north>',
    "API_TOKEN": "cnry_tok_5f2e9c",
}
"""What a suite or a flag names, and a server is given."""
UNDECLARED = {
    "PGPASSWORD": "cnry-pg-99ab-pass",
    "AWS_SECRET_ACCESS_KEY": "cnryaws0123456789abcdef",
    "GITHUB_TOKEN": "cnry_ghp_77aa88bb",
    "MYSTERY": "cnry-mystery-value",
}
"""What nothing names: it goes nowhere, not even to a server."""
ALL = {**DECLARED, **UNDECLARED}


def found_in(text: str, canaries: dict[str, str] = ALL) -> list[str]:
    """The names of the canaries whose value is in the text, in any encoding, with or without line breaks."""
    joined = text.replace("\r", "").replace("\n", "").replace("\\r", "").replace("\\n", "")
    return [name for name, value in canaries.items() if any(form in text or form in joined for form in _forms(value))]


_CLEAN: set[tuple[Path, int, int]] = set()
"""Files in which nothing was found: the path, when it was changed, and its size."""


def files_with(folder: Path, but: tuple[Path, ...] = ()) -> list[tuple[str, list[str]]]:
    """The files below a folder that contain a canary, in name or content."""
    held = []
    for path in sorted(folder.rglob("*")):
        state = (path, (known := path.lstat()).st_mtime_ns, known.st_size)
        if path.is_file() and not path.is_symlink() and path not in but and state not in _CLEAN:
            text = f"{path.relative_to(folder)}\n{path.read_bytes().decode('utf-8', 'replace')}"
            if found := found_in(text):
                held.append((str(path.relative_to(folder)), found))
            else:
                _CLEAN.add(state)
    return held


def _forms(value: str) -> Iterator[str]:
    escaped = (html.escape(value), html.escape(value).replace("&#x27;", "&#39;"), html.escape(value, quote=False))
    in_json = (json.dumps(value)[1:-1], json.dumps(json.dumps(value)[1:-1])[1:-1])
    yield from (value, *escaped, *in_json, quote(value), quote(value, safe=""), json.dumps(html.escape(value))[1:-1])
    for before in range(3):
        encoded = b64encode(b"." * before + value.encode()).decode()
        yield encoded[4:-4] if before else encoded[:-4]
    yield value.encode().hex()

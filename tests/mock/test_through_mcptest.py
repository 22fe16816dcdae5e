"""Our own client meets the mock: the suite of the page about the mock, in both eras, over both transports."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.mock.conftest import ROOT

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path


def file_of_page(name: str) -> str:
    page = (ROOT / "docs" / "how-to" / "mock-server.md").read_text(encoding="utf-8")
    found = re.search(rf"<!-- file: {re.escape(name)} -->\n```yaml\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert found is not None
    return found.group(1)


@pytest.mark.parametrize("protocol", ["2024-11-05", "2025-11-25", "2026-07-28", "auto"])
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_every_client_feature_is_seen_by_a_suite(
    transport: str,
    protocol: str,
    serve: Callable[..., Any],
    mcptest: Callable[..., subprocess.CompletedProcess[str]],
    tmp_path: Path,
) -> None:
    """Sampling, elicitation, roots, progress, log messages, list-changed and resource-updated notifications."""
    manifest, suite = file_of_page("desk.yml"), file_of_page("desk-suite.yml")
    (tmp_path / "desk.yml").write_text(manifest, encoding="utf-8")
    if transport == "http":
        url = serve(manifest, "--http", "0").stderr_line().removeprefix("listening on ")
        suite = re.sub(r"command: .*", f"url: {url}", suite)
    (tmp_path / "mcptest.yml").write_text(suite, encoding="utf-8")
    done = mcptest("run", "--protocol", protocol, "--reporter", "json")
    assert done.stdout, done.stderr
    tests = json.loads(done.stdout)["tests"]
    assert [test.get("failure") for test in tests] == [None] * 5

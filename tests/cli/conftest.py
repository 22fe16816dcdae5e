"""A small suite on the mock server, written where a test's command runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MANIFEST = """\
mock_server:
  name: status
  tools:
    - name: get_status
      description: The state of a service
      input_schema: { type: object, properties: { service: { type: string } } }
      response: { content: [{ type: text, text: "status: ${args.service} operational" }], isError: false }
    - name: get_flaky
      description: Fails at first
      responses:
        - { content: [{ type: text, text: "not yet" }], isError: true }
        - { content: [{ type: text, text: "ready" }], isError: false }
    - name: get_slow
      description: Answers late
      delay_ms: 600000
      response: { content: [{ type: text, text: late }] }
    - name: get_token
      description: Says something secret
      response: { content: [{ type: text, text: "the key is hunter2-hunter2" }] }
  resources:
    - { uri: "memo://one", name: one, text: first }
  prompts:
    - { name: greet, description: Greets, arguments: [{ name: who, required: true }], text: "Hello ${args.who}" }
"""

SUITE = """\
name: status
servers:
  mock: { command: [mcptest, mock, --tools-from, manifest.yml] }
tools:
  - name: api is operational
    tool: get_status
    args: { service: api }
    tags: [smoke]
    expect:
      - { target: "result.content[0].text", matcher: { contains: operational } }
  - name: api is degraded
    tool: get_status
    args: { service: api }
    expect:
      - { target: "result.content[0].text", matcher: { contains: degraded } }
resources:
  - name: memo reads
    uri: memo://one
    expect:
      - { target: "result.contents[0].text", matcher: { exact: first } }
prompts:
  - name: greets by name
    prompt: greet
    args: { who: Ada }
    expect:
      - { target: "result.messages[0].content.text", matcher: { exact: Hello Ada } }
"""


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write the manifest and a suite into `tmp_path`; returns the suite's path."""

    def save(text: str = SUITE, *, name: str = "mcptest.yml") -> Path:
        (tmp_path / ".mcptest").mkdir(exist_ok=True)
        (tmp_path / "manifest.yml").write_text(MANIFEST, encoding="utf-8")
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return save


@pytest.fixture
def suite_with(write: Callable[..., Path]) -> Callable[..., Path]:
    """Write a suite on the mock server whose tests (YAML from `tools:` on) are given."""

    def save(tests: str, *, server: str = "", top: str = "") -> Path:
        head = f"servers:\n  mock: {{ command: [mcptest, mock, --tools-from, manifest.yml]{server} }}\n"
        return write(f"name: status\n{top}{head}{tests}")

    return save

"""The formats that a run can be told in, and the one door to them: `render(format, record, options)`.

A format is one module with a `render(record, options)`, and it is imported when it is asked for and not before.
Rendering is a function of the record and the options alone, so a saved record gives byte for byte what its run
printed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, cast

from mcptest_engine.core.errors import UsageError, did_you_mean
from mcptest_engine.core.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest_engine.core.run_record import RunRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderOptions:
    """What a caller may choose about a rendering; everything else comes from the record.

    `width` is the terminal's width in columns; 0 means that nobody is looking through a window, and no line is
    folded. `agent_budget` is in tokens of four characters. `config` is the suite's path as a `repro` line should
    write it (default: the record's `suite.path`), and `default_config` whether mcptest would find that suite without
    being told (default: whether the path is `mcptest.yaml` or `mcptest.yml`).
    """

    color: bool = False
    width: int = 0
    agent_budget: int = 1024
    config: str | None = None
    default_config: bool | None = None


@dataclass(frozen=True, slots=True)
class Rendered:
    """A rendering: what goes to stdout, and for `minimal` what goes to stderr. `text` is both, for a file."""

    stdout: str
    stderr: str = ""

    @property
    def text(self) -> str:
        return self.stdout + self.stderr


@dataclass(frozen=True, slots=True)
class Format:
    """One way of telling a run. `machine` formats are for programs and have no place in a loop that a person watches.

    `is_page`: it is HTML, which no terminal shows.
    """

    module: str
    summary: str
    machine: bool = True
    is_page: bool = False


FORMATS: Mapping[str, Format] = {
    "pretty": Format("pretty", "for people: one line for each test, then failures in detail", machine=False),
    "minimal": Format("minimal", "one line on stdout, one line for each failure on stderr", machine=False),
    "json": Format("json_", "the whole run record"),
    "ndjson": Format("ndjson", "one line for each test, then a summary line"),
    "junit": Format("junit", "JUnit XML, one test suite for each server"),
    "tap": Format("tap", "Test Anything Protocol, version 14"),
    "md": Format("markdown", "Markdown for a pull request or a job summary"),
    "matrix": Format("matrix", "agent tests and evals by models, as one HTML file", is_page=True),
    "html": Format("html.page", "one self-contained HTML page, for review and audit", is_page=True),
    "github": Format("github", "GitHub Actions annotations at the suite's lines, and a job summary"),
    "sarif": Format("sarif_run", "SARIF 2.1.0 for code-scanning services"),
    "gitlab": Format("gitlab", "Code Quality JSON for a GitLab merge request"),
    "openinference": Format("openinference", "OpenInference spans, one a line, for tracing backends"),
    "agent": Format("agent", "for coding agents: the verdict and the failures, within a token budget", machine=False),
}


OWN_FORMATS: Mapping[str, Format] = {
    "eval": Format("eval_lines", "one line for each grading, then the cost", machine=False)
}
"""What one command prints where no `--reporter` is asked for, and no `--reporter` names."""


def format_of(name: str) -> Format | None:
    """The format of that name."""
    return FORMATS.get(name) or OWN_FORMATS.get(name)


def render(format: str, record: RunRecord, options: RenderOptions | None = None) -> Rendered:  # noqa: A002 - a word of ours
    """The run told in `format`, every text ending in a newline and encodable as UTF-8.

    Raises UsageError for a format that does not exist.
    """
    rendered = _module_of(format).render(record, options or RenderOptions())
    whole = rendered if isinstance(rendered, Rendered) else Rendered(rendered)
    return Rendered(_encodable(whole.stdout), _encodable(whole.stderr))


class _Renderer(Protocol):
    def render(self, record: RunRecord, options: RenderOptions) -> str | Rendered: ...


def _module_of(name: str) -> _Renderer:
    from importlib import import_module

    found = format_of(name)
    if found is None:
        hint = did_you_mean(name, FORMATS) or f"formats: {', '.join(FORMATS)}"
        raise UsageError(f'unknown report format "{name}"', hint=hint)
    return cast("_Renderer", import_module(f"mcptest_engine.reporting.{found.module}"))


def _encodable(text: str) -> str:
    """`text` without lone surrogates, which JSON may carry and UTF-8 may not."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")

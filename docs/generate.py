"""Write the generated parts of the pages: `reference/suite.md` from the models, `reference/cli.md` from the commands, the keys
in `reference/workbench-keys.md` from the registry of actions, the rules in `how-to/compliance.md` from the table of the checks,
the operators in `how-to/mutation.md` from theirs, and `schemas/` from the package.

`python docs/generate.py` rewrites them; a test compares each with what this gives.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mcptest_engine.cli.main import COMMANDS, group
from mcptest_engine.judging import conformance
from mcptest_engine.mutation.report import page_rows
from mcptest_engine.reporting.record_schema import schema_text as record_schema_text
from mcptest_engine.suite.compliance import CHECKS, REVISIONS, UNKNOWN_METHOD
from mcptest_engine.suite.forms import is_duration, is_url
from mcptest_engine.suite.schema import schema_text
from mcptest_tui.actions.__main__ import table
from mcptest_tui.opening import USAGE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

DOCS = Path(__file__).parent
KEYS_BEGIN = "<!-- keys: `python docs/generate.py` writes them -->\n"
KEYS_END = "<!-- end of keys -->"
SUITE_BEGIN = "<!-- suite: `python docs/generate.py` writes the tables -->\n"
SUITE_END = "<!-- end of suite -->"
RULES_BEGIN = "<!-- rules: `python docs/generate.py` writes them -->\n"
RULES_END = "<!-- end of rules -->"
OPERATORS_BEGIN = "<!-- operators: `python docs/generate.py` writes them -->\n"
OPERATORS_END = "<!-- end of operators -->"

SECTIONS = (
    (
        "Server",
        "A server",
        "Under `servers:`, by the name that tests use. It has `command`, or `url`, or both for a program that serves HTTP.",
    ),
    ("Auth", "A server's `auth`", "Exactly one of the two. For a server with `url`."),
    ("OAuth", "`auth.oauth`", ""),
    (
        "Http",
        "A server's `http`",
        "For a server with `url`. Durations are a number and its unit: `250ms`, `30s`, `1.5m`, `1h`.",
    ),
    (
        "Readiness",
        "`wait_for_ready`",
        "Either a duration such as `60s`, or a URL, or this mapping, of which one key is enough.",
    ),
    ("Ready", "`ready`", "For a server with `command` and `url`. At most one of `path`, `port` and `output`."),
    (
        "Client",
        "`client`",
        "On a server, for all its tests; or on one test, which then gets a session of its own. Nothing else is declared.",
    ),
    (
        "Sampling",
        "An answer to sampling",
        "Either the text, or this mapping with exactly one of `content` and `error`.",
    ),
    (
        "Elicitation",
        "An answer to elicitation",
        "Either `accept`, `decline` or `cancel`, or this mapping with exactly one of `action` and `error`.",
    ),
    ("ProtocolError", "An answer's `error`", ""),
    ("Root", "A root", "Either the URI, or this mapping."),
    (
        "ToolTest",
        "A test of a tool",
        "An entry of `tools:`. A method such as `tools/list` may stand in place of a tool's name.",
    ),
    ("ResourceTest", "A test of a resource", "An entry of `resources:`; sends `resources/read`."),
    ("PromptTest", "A test of a prompt", "An entry of `prompts:`; sends `prompts/get`."),
    ("Case", "A case", "A row of `cases:`, as [Tests with many cases](../how-to/cases.md) explains."),
    (
        "ComplianceCheck",
        "A check",
        "An entry of `compliance:`: a list of checks or the mapping below. [Compliance](../how-to/compliance.md) explains it.",
    ),
    ("Compliance", "`compliance` as a mapping", ""),
    (
        "Composition",
        "A composition",
        "An entry of `compositions:`: [calls that feed each other](../how-to/compositions.md).",
    ),
    ("Node", "A node", "One call of a composition. [What its parts do](../how-to/compositions.md#nodes)."),
    ("Need", "A parent of a node", "Where an id alone does not do."),
    ("Mock", "A node's `mock`", ""),
    ("Loop", "A node's `loop`", ""),
    ("Assembly", "A composition's `output`", "Either a node's id, or this mapping."),
    ("CompositionCase", "A case of a composition", "A row of its `cases:`."),
    (
        "CompositionBudget",
        "A composition's `budget`",
        "One cap is enough. They hold for all cases together, with `scope: case` for each by itself.",
    ),
    (
        "AgentTest",
        "A test of an agent",
        "An entry of `agents:`, with either `prompt` or `user_prompt`. [Agent tests](../how-to/agent-tests.md) explains it.",
    ),
    ("FunctionSets", "`equal_function_sets`", "Either the list of lists, or this mapping."),
    ("ToolSelection", "`tool_selection`", "Exactly one of `tool` and `tools`."),
    ("Trajectory", "`trajectory`", ""),
    ("ExpectedCall", "A call that is expected", "Either a tool's name, or this mapping."),
    ("GoldenPath", "`golden_path`", ""),
    ("ToolEdges", "`tool_edges`", "One of them is enough. A pair is a list of two tools."),
    ("Delegation", "A hand-off", "An item of `delegation` in `tool_edges`."),
    ("TokenEfficiency", "`token_efficiency`", ""),
    ("Distractors", "`distractors`", ""),
    ("AgentBudget", "A `budget` for models", "One of the two is enough."),
    (
        "AgentTools",
        "An agent test's `tools`",
        "One list is enough. [Agent tests](../how-to/agent-tests.md#which-tools-are-executed) explains it.",
    ),
    ("AgentEval", "What is judged of a test", "The `eval:` of an agent test or a composition; one metric is enough."),
    ("Threshold", "A metric's threshold", "Where `true` is not enough."),
    (
        "EvalTest",
        "An eval",
        "An `output`, a `call` or a `prompt` of `evals:`, and how it is graded. [Evals](../how-to/evals.md) explains it.",
    ),
    ("EvalCall", "An eval's `call`", ""),
    ("Scorer", "A scorer", "An entry of `scorers:`. [Scorers](../how-to/scorers.md) explains it."),
    ("OtherScorer", "A scorer of another build", "One whose `type` is not `exec`. It may have any other keys."),
    ("Judge", "A judge", "One of the three is enough; what is left out is as the suite's `judge` says."),
    ("LlmJudge", "`llm-judge`", "The [matcher](matchers.md) of that name."),
    (
        "Rubric",
        "A rubric",
        "Either a text, or this mapping with `criteria` or `tree`. [Judging](../how-to/llm-judge.md) explains it.",
    ),
    ("Criterion", "A criterion", ""),
    ("Branch", "A branch of a tree", "Either `ask` with `yes` and `no`, or `score`."),
    ("VerifyStep", "A step of `verify`", "Exactly one of `tool`, `uri` and `prompt`."),
    ("Delay", "A delaying `fault`", ""),
    (
        "Expect",
        "`expect`",
        "Either a list of assertions, or this mapping, in which [the short form](#the-short-form-of-assertions) is possible.",
    ),
    ("AgentExpect", "An agent test's `expect`", "Either a list of assertions, or this mapping."),
    ("TokenBudget", "`max_response_tokens`", "Either a number, or this mapping."),
    (
        "Assertion",
        "An assertion",
        "What is looked at, and what must hold of it. The matchers have [their own page](matchers.md).",
    ),
    (
        "AssertSet",
        "`assert-set`",
        "Stands in place of an assertion: `- assert-set: { … }`. [Scores](../how-to/scores.md) explains it.",
    ),
    ("DerivedMetric", "A metric", "An entry of `derivedMetrics`."),
    ("MetricValue", "A metric's `value`", "Exactly one of the two."),
    ("MetricTerm", "A term of a metric", ""),
    ("DefaultTest", "`defaultTest`", "What every test has too; what a test says itself wins."),
    ("Hooks", "`hooks`", "[Hooks](../how-to/hooks.md) explains them."),
    (
        "ContextStep",
        "A hook with `mode: context`",
        "Both `command` and `mode` are needed; a plain hook is only a text.",
    ),
    ("Price", "A price", "Both are needed. A model's own id goes before the longest beginning with `*` that fits it."),
    ("RunOptions", "`run_options`", ""),
    ("Inconclusive", "`run_options.inconclusive`", "[Agent tests](../how-to/agent-tests.md) explains it."),
    ("Performance", "`performance`", ""),
    (
        "EffectLimits",
        "`effects`",
        "One of the two is enough. [The ledger of effects](../explanation/safety.md#the-ledger-of-effects) explains them.",
    ),
    ("Coverage", "`coverage`", "Percentages from 0 to 100. [Coverage](../how-to/coverage.md) explains them."),
)

WORDS = {
    "Matcher": "[matcher](matchers.md)",
    "Server": "[server](#a-server)",
    "Auth": "[mapping](#a-servers-auth)",
    "OAuth": "[mapping](#authoauth)",
    "Http": "[mapping](#a-servers-http)",
    "Readiness": "[mapping](#wait_for_ready)",
    "Ready": "[mapping](#ready)",
    "Client": "[mapping](#client)",
    "Sampling": "[mapping](#an-answer-to-sampling)",
    "Elicitation": "[mapping](#an-answer-to-elicitation)",
    "ProtocolError": "[mapping](#an-answers-error)",
    "Root": "[mapping](#a-root)",
    "Delay": "[mapping](#a-delaying-fault)",
    "VerifyStep": "[step](#a-step-of-verify)",
    "HeaderFromEnv": "`{ env: NAME }`",
    "ToolTest": "[tool test](#a-test-of-a-tool)",
    "ResourceTest": "[resource test](#a-test-of-a-resource)",
    "PromptTest": "[prompt test](#a-test-of-a-prompt)",
    "ComplianceCheck": "[check](#a-check)",
    "Compliance": "[mapping](#compliance-as-a-mapping)",
    "Composition": "[composition](#a-composition)",
    "Node": "[node](#a-node)",
    "Need": "[mapping](#a-parent-of-a-node)",
    "Mock": "[mapping](#a-nodes-mock)",
    "Loop": "[mapping](#a-nodes-loop)",
    "Assembly": "[mapping](#a-compositions-output)",
    "Case": "[case](#a-case)",
    "CompositionCase": "[case](#a-case-of-a-composition)",
    "CompositionBudget": "[mapping](#a-compositions-budget)",
    "AgentTest": "[agent test](#a-test-of-an-agent)",
    "FunctionSets": "[mapping](#equal_function_sets)",
    "ToolSelection": "[mapping](#tool_selection)",
    "Trajectory": "[mapping](#trajectory)",
    "ExpectedCall": "[call](#a-call-that-is-expected)",
    "GoldenPath": "[mapping](#golden_path)",
    "ToolEdges": "[mapping](#tool_edges)",
    "Delegation": "[hand-off](#a-hand-off)",
    "TokenEfficiency": "[mapping](#token_efficiency)",
    "Distractors": "[mapping](#distractors)",
    "EvalTest": "[eval](#an-eval)",
    "EvalCall": "[mapping](#an-evals-call)",
    "Scorer": "[scorer](#a-scorer)",
    "OtherScorer": "[one of another build](#a-scorer-of-another-build)",
    "Judge": "[judge](#a-judge)",
    "LlmJudge": "[mapping](#llm-judge)",
    "Price": "[price](#a-price)",
    "Inconclusive": "[mapping](#run_optionsinconclusive)",
    "AgentBudget": "[mapping](#a-budget-for-models)",
    "AgentTools": "[mapping](#an-agent-tests-tools)",
    "AgentEval": "[mapping](#what-is-judged-of-a-test)",
    "Threshold": "[mapping](#a-metrics-threshold)",
    "Rubric": "[mapping](#a-rubric)",
    "Criterion": "[criterion](#a-criterion)",
    "Branch": "[branch](#a-branch-of-a-tree)",
    "Expect": "[mapping](#expect)",
    "AgentExpect": "[mapping](#an-agent-tests-expect)",
    "Assertion": "[assertion](#an-assertion)",
    "AssertSetItem": "[set](#assert-set)",
    "AssertSet": "[mapping](#assert-set)",
    "DefaultTest": "[mapping](#defaulttest)",
    "DerivedMetric": "[metric](#a-metric)",
    "MetricValue": "[mapping](#a-metrics-value)",
    "MetricTerm": "[term](#a-term-of-a-metric)",
    "Hooks": "[mapping](#hooks)",
    "ContextStep": "[mapping](#a-hook-with-mode-context)",
    "RunOptions": "[mapping](#run_options)",
    "Performance": "[mapping](#performance)",
    "EffectLimits": "[mapping](#effects)",
    "Coverage": "[mapping](#coverage)",
    "TokenBudget": "[mapping](#max_response_tokens)",
    "Transform": "`{ jq: PROGRAM }`",
}


def _contents(titles: Iterable[str]) -> str:
    """One line of links to the sections of a page, with the anchors that GitHub gives them."""
    anchors = {title: re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
    return " · ".join(f"[{title}](#{anchor})" for title, anchor in anchors.items()) + "\n"


def suite_page() -> str:
    """`docs/reference/suite.md`: as it is, with a table for each mapping of the language between its marks."""
    schema = json.loads(schema_text())
    top = "The top of the file"
    parts = [_contents([top, *(title for _, title, _ in SECTIONS)]), f"## {top}\n", _table(schema)]
    for name, title, about in SECTIONS:
        parts += [f"## {title}\n", *([f"{about}\n"] if about else []), _table(schema["$defs"][name])]
    return _between("reference/suite.md", SUITE_BEGIN, "\n".join(parts), SUITE_END)


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

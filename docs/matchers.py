"""The table of all matchers. `python docs/matchers.py` writes `reference/matchers.md` from it.

Every row carries an example, a value that it holds for, one that it does not hold for, and the message; a test runs them all.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mcptest_engine.core.values import dataclass
from mcptest_engine.suite.schema import strict_schema

MATCHERS = strict_schema()["$defs"]["Matcher"]["properties"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One matcher: `example` is YAML for `matcher:`, `holds` and `fails` are values, `message` is the message for `fails`.

    `more` is what the description of the key, which comes first on the page, does not say.
    """

    name: str
    shape: str
    more: str = ""
    example: str
    holds: Any
    fails: Any
    message: str


TEXT_AND_VALUES = (
    Entry(
        name="exact",
        shape="any value",
        more="Null is not absent.",
        example="exact: {city: Oslo, degrees: [4, 7]}",
        holds={"degrees": [4.0, 7], "city": "Oslo"},
        fails={"degrees": [4, 9], "city": "Oslo"},
        message="differs at `degrees[1]`: expected `7`, got `9`",
    ),
    Entry(
        name="one-of",
        shape="list of values",
        example="one-of: [queued, running, done]",
        holds="done",
        fails="lost",
        message='`"lost"` is none of `"queued"`, `"running"`, `"done"`',
    ),
    Entry(
        name="subset",
        shape="any value",
        example="subset: {user: {name: Ada}, tags: [new]}",
        holds={"id": 7, "user": {"name": "Ada", "age": 36}, "tags": ["new", "vip"]},
        fails={"id": 7, "user": {"name": "Bob"}, "tags": ["new"]},
        message='differs at `user.name`: expected `"Ada"`, got `"Bob"`',
    ),
    Entry(
        name="contains",
        shape="any value",
        example="contains: operational",
        holds="status: operational",
        fails="status: degraded",
        message="substring `operational` not found in `status: degraded`",
    ),
    Entry(
        name="icontains",
        shape="string",
        more="In an array, one element must be equal to the text, in any case.",
        example="icontains: operational",
        holds="Status: OPERATIONAL",
        fails="Status: degraded",
        message="substring `operational`, in any case, not found in `Status: degraded`",
    ),
    Entry(
        name="contains-all",
        shape="list of values",
        example="contains-all: [read, write]",
        holds=["write", "read", "admin"],
        fails=["admin"],
        message='elements `"read"`, `"write"` not found in `["admin"]`',
    ),
    Entry(
        name="contains-any",
        shape="list of values",
        example="contains-any: [ok, done]",
        holds="all done",
        fails="failed",
        message='none of the substrings `"ok"`, `"done"` found in `failed`',
    ),
    Entry(
        name="starts-with",
        shape="string",
        example='starts-with: "status: "',
        holds="status: degraded",
        fails="Status: degraded",
        message="`Status: degraded` does not start with `status: `",
    ),
    Entry(
        name="ends-with",
        shape="string",
        example="ends-with: .json",
        holds="report.json",
        fails="report.yaml",
        message="`report.yaml` does not end with `.json`",
    ),
    Entry(
        name="regex",
        shape="string",
        more=(
            "The dialect is Python's. A search that takes longer than a second fails and says so. Templates are not "
            "expanded in it."
        ),
        example="regex: '^v\\d+\\.\\d+$'",
        holds="v1.12",
        fails="1.12",
        message="pattern `^v\\d+\\.\\d+$` not found in `1.12`",
    ),
)

NUMBERS_AND_SHAPE = (
    Entry(
        name="lt",
        shape="number",
        more='A text such as `"5"` is not a number, here and below.',
        example="lt: 100",
        holds=99.5,
        fails=100,
        message="`100` is not less than `100`",
    ),
    Entry(
        name="lte",
        shape="number",
        example="lte: 100",
        holds=100,
        fails="99",
        message='expected a number, got a string, `"99"`',
    ),
    Entry(
        name="gt",
        shape="number",
        example="gt: 0",
        holds=0.1,
        fails=0,
        message="`0` is not greater than `0`",
    ),
    Entry(
        name="gte",
        shape="number",
        example="gte: 0",
        holds=0,
        fails=-1,
        message="`-1` is not at least `0`",
    ),
    Entry(
        name="between",
        shape="[low, high]",
        more="Both are included.",
        example="between: [1, 5]",
        holds=5,
        fails=7,
        message="`7` is not between `1` and `5`",
    ),
    Entry(
        name="approx",
        shape="{value, tolerance}",
        more="The value is no further from `value` than `tolerance`; the rounding of floats is forgiven.",
        example="approx: {value: 3, tolerance: 0.1}",
        holds=3.1,
        fails=3.2,
        message="`3.2` is not within `0.1` of `3`",
    ),
    Entry(
        name="length",
        shape="number or matcher",
        example="length: {gte: 2}",
        holds=["a", "b"],
        fails=["a"],
        message='length `1` is not at least `2`: `["a"]`',
    ),
    Entry(
        name="type",
        shape="null, boolean, integer, number, string, array or object",
        more="`2.0` is such a number too.",
        example="type: integer",
        holds=2.0,
        fails="2",
        message='expected an integer, got a string, `"2"`',
    ),
    Entry(
        name="exists",
        shape="boolean",
        more=(
            "`true`: the target exists, even if it is null. `false`: it does not exist. The target `error` exists only if the "
            "server answered with an error."
        ),
        example="exists: false",
        holds=...,
        fails=None,
        message="is present: `null`",
    ),
    Entry(
        name="schema",
        shape="JSON Schema",
        more=(
            "`$schema` names another draft. Formats are checked. Templates are not expanded in it. A keyword or format "
            "that checks nothing, such as a misspelt `requird`, is a warning with the nearest word, and an error with "
            "`--strict`; `x-…` keywords are your own."
        ),
        example="schema: {type: object, required: [id], properties: {id: {type: integer}}}",
        holds={"id": 7},
        fails={"id": "7"},
        message='at `id`: "7" is not of type "integer" (`/properties/id/type` in the schema)',
    ),
)

COMPOSED = (
    Entry(
        name="not",
        shape="matcher",
        more=(
            "Where the matcher cannot judge the value, `not` fails with the reason: a number matcher or `length` "
            "on another type, `regex`, `starts-with` and `ends-with` on a value that is not a string, `each` and "
            "`some` on a value that is not an array, a regular expression or jq program that fails or takes too "
            "long, a snapshot that is not stored. Null is another type too. Every other matcher judges every "
            "type: `not: {contains: error}` holds for `7`. On a target that does not exist, `not` holds only if "
            "everything but the last segment exists: an absent `isError` is fine, a misspelt "
            "`result.contnet[0].text` is not, nor is `result.content[*].txet`, a member that no element has."
        ),
        example="not: {contains: error}",
        holds="all good",
        fails="an error occurred",
        message='`contains: "error"` must not hold, but it does: it is `"an error occurred"`',
    ),
    Entry(
        name="all-of",
        shape="list of matchers",
        more="The message tells of the first that does not hold.",
        example="all-of: [{type: string}, {length: {lte: 5}}]",
        holds="short",
        fails="too long",
        message='length `8` is not at most `5`: `"too long"`',
    ),
    Entry(
        name="any-of",
        shape="list of matchers",
        example="any-of: [{exact: null}, {gt: 10}]",
        holds=None,
        fails=3,
        message="none of 2 holds: expected `null`, got `3`; or `3` is not greater than `10`",
    ),
    Entry(
        name="each",
        shape="matcher",
        more="An element that lacks what the target names behind `[*]` fails.",
        example="each: {type: string}",
        holds=["a", "b"],
        fails=["a", 2],
        message="element [1]: expected a string, got a number, `2`",
    ),
    Entry(
        name="some",
        shape="matcher",
        more="It does not hold for an empty array.",
        example="some: {subset: {name: echo}}",
        holds=[{"name": "add"}, {"name": "echo"}],
        fails=[{"name": "add"}],
        message='none of 1 elements fits; element [0]: differs at `name`: expected `"echo"`, got `"add"`',
    ),
    Entry(
        name="jq",
        shape="jq program",
        more="The program has one second and sees neither environment nor files. Templates are not expanded in it.",
        example="jq: '.items | length > 1'",
        holds={"items": [1, 2]},
        fails={"items": [1]},
        message='jq `.items | length > 1` gave `false` for `{"items":[1]}`',
    ),
    Entry(
        name="snapshot",
        shape="true, or {name, ignore: [targets]}",
        more=(
            "The value is stored in `.mcptest/snapshots/`. A missing one is written on the first run at a terminal and "
            "is a failure under CI; `run --update-snapshots` takes what is seen. `ignore` names, inside the value, "
            "what may change. Without a `name` it goes by the test's name and the target."
        ),
        example="snapshot: {name: a report, ignore: [serial]}",
        holds={"serial": 17, "state": "done"},
        fails={"serial": 18, "state": "lost"},
        message='differs at `state`: expected `"done"`, got `"lost"`',
    ),
    Entry(
        name="llm-judge",
        shape="{rubric, threshold, model, models, jury}",
        more=(
            "The model scores the value by the `rubric`. The score must be at least `threshold` (0.7 when left out)."
            " Deferred is neither a pass nor a failure. See [judging](../how-to/llm-judge.md)."
        ),
        example='llm-judge: {rubric: "Names the city and the temperature.", threshold: 0.8}',
        holds="It is 4 degrees in Oslo.",
        fails="It is cold there.",
        message="the judge gives score 0.2, needs 0.8: neither the city nor the temperature is named",
    ),
)

SECTIONS = (
    ("Equal, contained, alike", TEXT_AND_VALUES),
    ("Numbers and shape", NUMBERS_AND_SHAPE),
    ("Matchers of matchers, and programs", COMPOSED),
)
ENTRIES = (*TEXT_AND_VALUES, *NUMBERS_AND_SHAPE, *COMPOSED)

_INTRODUCTION = """\
# Matchers

<!-- Made by `python docs/matchers.py`; a test holds it up to date and runs every example. -->

This page is for looking up a matcher.

A matcher decides one assertion. It is one key under `matcher:`, and its target names the value:

```yaml
expect:
  - target: "result.content[0].text"
    matcher:
      contains: operational
```

When it does not hold, the message names the assertion, the target, and why:

```text
assertion 1 (`result.content[0].text`) failed: substring `operational` not found in `status: degraded`
```

An assertion can have its own `message:`, which comes before this text, and `transform: {jq: PROGRAM}`, which rewrites the
value before the matcher sees it: `fromjson | .items[0].name` reads JSON inside a text. A transform gives exactly one output;
none or several is a failure.

`mcptest validate` warns about a matcher that holds for every value of its kind; with `--strict` it is an error:
`contains: ""` (also where a cell of `cases:` is empty), `starts-with: ""`, `regex: ".*"`, `subset: {}`, `schema: {}`. Write
`length: { gt: 0 }` for any text that is not empty, `type: object` for any object, and `exists: true` for any value.

## Targets

A target is a path into the answer: `result` and `error` as the server sent them, `json` (the first text read as JSON),
`duration_ms`, `attempt`, `request`, `notifications`, `http`. In the short form of an assertion, the key is the target:
`expect: { text: { contains: operational } }`; see [the short form](suite.md#the-short-form-of-assertions).

| write | for |
|---|---|
| `result.isError` | a member by its name |
| `result.content[0]`, `result.content[-1]` | an element, counted from the start or from the end |
| `result["any key"]` | a member whose name has dots, spaces or brackets |
| `result.content[*].text` | of every element; gives a list |

A path that does not exist is *absent*, which is not null: `exact: null` fails, and `exists: false` holds. The message of every
other matcher names what exists instead: ``does not exist: `result` has `content`, `isError`; did you mean `content`?``
"""


def page() -> str:
    """The text of `docs/reference/matchers.md`."""
    out = [_INTRODUCTION]
    for title, entries in SECTIONS:
        out += [f"## {title}\n", "| matcher | takes |", "|---|---|"]
        out += [f"| [`{entry.name}`](#{entry.name}) | {entry.shape} |" for entry in entries]
        out.append("")
        out += [_section(entry) for entry in entries]
    return "\n".join(out)


def _section(entry: Entry) -> str:
    return f"""\
### {entry.name}

{MATCHERS[entry.name]["description"]}{" " * bool(entry.more)}{entry.more}

```yaml
matcher:
  {entry.example}
```

Holds for {_value(entry.holds)}, not for {_value(entry.fails)}:

```text
{entry.message}
```
"""


def _value(value: Any) -> str:
    return "a target that does not exist" if value is ... else f"`{json.dumps(value, ensure_ascii=False)}`"


if __name__ == "__main__":
    (Path(__file__).parent / "reference" / "matchers.md").write_text(page(), encoding="utf-8")

"""Templates in a suite: `${var.X}`, `${env.X}`, `${X}` and `${CONFIG_DIR}`, replaced over plain data.

A text that is one template and nothing else takes the value with its JSON type; in mixed text a value is spelt as JSON
spells it. `$${` is a literal `${`. In `env:` maps `${X}` is the environment, elsewhere a variable. Inside `expect`, the
values of `schema`, `regex` and `jq` are never touched, because `$` means something there.

The surprising thing: nothing here raises for a bad template. A text that cannot be expanded is left as it stands and
comes back as a `Fault`, so that one load tells every problem. What is not touched is not copied.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.enums import TestKind
from mcptest_engine.core.errors import did_you_mean
from mcptest_engine.core.lazy_patterns import lazy_pattern
from mcptest_engine.core.secret_names import is_secret_name
from mcptest_engine.core.text import quoted
from mcptest_engine.core.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from mcptest_engine.suite.yaml import Pointer

MAX_EXPANDED = 10_000_000
"""How much all templates of a suite may come to: characters of text, and one for each other node."""
MAX_VARIABLE_DEPTH = 50
"""How deep a variable's value may nest, and how many variables may lead through each other."""

_TEMPLATE = lazy_pattern(r"\$\$\{|\$\{([^{}]*)\}|\$\{")
_WHOLE = lazy_pattern(r"\$\{([^{}]*)\}")
LITERAL_KEYS = frozenset({"schema", "regex", "jq"})
DATA_MATCHERS = frozenset({"exact", "contains", "icontains", "contains-all", "contains-any", "one-of", "subset"})
_NONE: frozenset[str] = frozenset()
_PLAIN_BLOCKS = (
    *("name", "description", "run_options", "performance", "coverage", "effects", "hooks"),
    *("judge", "budget", "prices"),
)
LATE_BLOCKS = tuple(kind.block for kind in TestKind)
"""Where entries may have templates whose values are only known in a case, or a node."""
_ESCAPE_HINT = "write `$${` for a literal `${`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A text that could not be expanded: where it stands, the index in it of the `${`, and why.

    `message` is None where the reason is told elsewhere already (the variable itself is broken). `is_unknown`: it names a
    variable that nothing declares.
    """

    path: Pointer
    offset: int = 0
    message: str | None = None
    hint: str | None = None
    is_unknown: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """A variable as one file declares it; `file` is that file's number among the files of the load."""

    value: Any
    file: int
    config_dir: str


class _Unresolved(Exception):
    """Why a template has no value; `message` is None when it is reported elsewhere."""

    def __init__(self, message: str | None, hint: str | None = None, *, is_unknown: bool = False) -> None:
        super().__init__(message)
        self.message, self.hint, self.is_unknown = message, hint, is_unknown


class _TooLarge(_Unresolved):
    """Told once; after that nothing is expanded any more."""


class Templates:
    """The names that templates can use, shared by all files of one load.

    `environ` is the environment with `.env` behind it, `declared` the variables of all files (the importing file's over the
    imported), `given` those of `--var`. After `resolve_variables`, `variables` holds the value of each variable that has one
    and `variable_faults` what is wrong with the others: the number of the file (None for `--var`), and a fault whose path
    starts at that file's root. `read` collects every text that was read from the environment, `secrets` those of them under
    secret-looking names, `used` the names of variables that templates asked for. `put_float` is set when a number with a
    fraction, or something that may hold one, takes the place of a text. Unless `complete`, a file is missing that may declare
    more, and an unknown variable is no fault of its own.
    """

    def __init__(
        self,
        *,
        environ: Mapping[str, str],
        declared: Mapping[str, Declared],
        given: Mapping[str, str] | None = None,
        complete: bool = True,
    ) -> None:
        self.environ, self.declared, self.given, self.complete = environ, declared, given or {}, complete
        self.variables: dict[str, Any] = {}
        self.variable_faults: list[tuple[int | None, Fault]] = []
        self.read: set[str] = set()
        self.secrets: set[str] = set()
        self.used: set[str] = set()
        self.put_float = False
        self._broken: set[str] = set()
        self._open: list[str] = []
        # By id; the value itself is kept too, so that its id stays taken.
        self._weights: dict[int, tuple[int, int, Any]] = {}
        self._expanded = 0
        self._full = False

    def resolve_variables(self) -> None:
        """Give every declared or given variable its value, or its fault. An order of declaration is not required."""
        for name, text in self.given.items():
            self._give(name, text)
        for name in self.declared:
            if name not in self.variables and name not in self._broken:
                self._declared_value(name)

    def expand_document(self, document: object, *, config_dir: str) -> tuple[Any, list[Fault]]:
        """A file's data with its templates replaced, and what could not be.

        Imports, variables, compositions and tests with cases are left as they are.
        """
        faults: list[Fault] = []
        if not isinstance(document, dict):
            return document, faults
        walk = Walk(self, config_dir, faults)
        return _mapped(document, walk.block), faults

    def expand_text(self, text: str, *, config_dir: str, path: Pointer) -> tuple[str, Fault | None]:
        """One text for which only the environment and `${CONFIG_DIR}` are known yet, such as an import's path."""
        faults: list[Fault] = []
        value = Walk(self, config_dir, faults).value(text, path)
        return str(value), faults[0] if faults else None

    def value_of(self, expression: str, *, config_dir: str, in_env: bool) -> Any:
        """What stands for `${expression}`. Raises: _Unresolved."""
        name = expression.strip()
        if name in ("", "var.", "env."):
            raise _Unresolved("an empty template", f"name a variable, such as `${{var.NAME}}`, or {_ESCAPE_HINT}")
        if name == "CONFIG_DIR":
            return config_dir
        if name.startswith("env."):
            return self._environment(name[4:], in_env=False)
        if name.startswith("var."):
            return self._variable(name[4:], bare=False)
        return self._environment(name, in_env=True) if in_env else self._variable(name, bare=True)

    def add(self, weight: int) -> None:
        """Count the size of a template's value. Raises: _TooLarge, once; then _Unresolved."""
        if self._full:
            raise _Unresolved(None)
        self._expanded += weight
        if self._expanded > MAX_EXPANDED:
            self._full = True
            limit = f"{MAX_EXPANDED // 1_000_000} million characters"
            raise _TooLarge(
                f"the templates of this suite expand to more than {limit}", "the variables contain each other"
            )

    def weight(self, value: object) -> int:
        """The characters and nodes of a value as it would be written out."""
        return self._weigh(value)[0]

    def _give(self, name: str, text: str) -> None:
        model = declared.value if (declared := self.declared.get(name)) else text
        if isinstance(model, dict) and "from_env" in model:
            model = model.get("default", text)
        for source in self._read_by(name):
            self._note_read(source, text)  # as secret as what it takes the place of
        try:
            self.variables[name] = _read_as(text, model, f"`--var {name}`")
        except _Unresolved as wrong:
            self._break(name, None, Fault(path=("variables", name), message=wrong.message, hint=wrong.hint))

    def _read_by(self, name: str) -> set[str]:
        """The environment variables that a variable's declaration names, itself or through other variables."""
        declared = {name: one.value for name, one in self.declared.items()}
        read = set[str]()
        for value in declarations_of([name], declared).values():
            if isinstance(value, dict) and "from_env" in value:
                read.add(str(value["from_env"]))
            read.update(text[4:] for text in expressions_in(value) if text.startswith("env."))
        return read

    def _variable(self, name: str, *, bare: bool) -> Any:
        self.used.add(name)
        if name not in self.variables and name not in self._broken and name in self.declared:
            self._declared_value(name)
        if name in self.variables:
            return self.variables[name]
        if name in self._broken or not self.complete:
            raise _Unresolved(None)
        raise _Unresolved(f"unknown variable {quoted(name)}", self._variable_hint(name, bare=bare), is_unknown=True)

    def _variable_hint(self, name: str, *, bare: bool) -> str:
        known = [*self.declared, *self.given]
        if "." in name and name.partition(".")[0] in known:
            return "a template names a whole variable; it cannot name a part of it"
        if near := did_you_mean(name, known):
            return near
        if bare and name in self.environ:
            return f"`${{env.{name}}}` reads the environment"
        return f"declare it under `variables:`, or {_ESCAPE_HINT}"

    def _environment(self, name: str, *, in_env: bool) -> str:
        value = self.environ.get(name)
        if value is None:
            message = f"environment variable {quoted(name)} is not set"
            raise _Unresolved(message, self._environment_hint(name, in_env=in_env))
        self._note_read(name, value)
        return value

    def _environment_hint(self, name: str, *, in_env: bool) -> str:
        if name in self.declared or name in self.given:
            return f"`${{var.{name}}}` is the variable with this name"
        if near := did_you_mean(name, self.environ) if name else None:
            return near
        if in_env and not re.fullmatch(r"\w+", name):
            return _ESCAPE_HINT
        return "set it, or write it to `.env` beside the suite"

    def _note_read(self, name: str, value: str) -> None:
        if not value:
            return
        self.read.add(value)
        if is_secret_name(name):
            self.secrets.add(value)

    def _declared_value(self, name: str) -> None:
        declared, path = self.declared[name], ("variables", name)
        if name in self._open:
            self._cycle(name)
            return
        if len(self._open) >= MAX_VARIABLE_DEPTH:
            message = f"more than {MAX_VARIABLE_DEPTH} variables refer to each other here"
            self._break(name, declared.file, Fault(path=path, message=message))
            return
        self._open.append(name)
        faults: list[Fault] = []
        walk = Walk(self, declared.config_dir, faults)
        raw = declared.value
        if isinstance(raw, dict) and "from_env" in raw:
            value = self._from_environment(raw, walk, path)
        else:
            value = walk.value(raw, path)
        self._open.pop()
        if not faults and name not in self._broken and self._weigh(value)[1] > MAX_VARIABLE_DEPTH:
            message = f"the variable's value is nested more than {MAX_VARIABLE_DEPTH} levels deep"
            faults.append(Fault(path=path, message=message))
        if faults:
            for fault in faults:
                self._break(name, declared.file, fault)
        elif name not in self._broken:
            self.variables[name] = value

    def _from_environment(self, raw: dict[str, Any], walk: Walk, path: Pointer) -> Any:
        source, default = raw["from_env"], raw.get("default")
        place = (*path, "from_env")
        if not isinstance(source, str):
            walk.faults.append(Fault(path=place))  # the structural check tells
            return None
        text = self.environ.get(source)
        if text is None:
            if "default" in raw:
                return walk.value(default, (*path, "default"))
            message = f"environment variable {quoted(source)} is not set"
            hint = did_you_mean(source, self.environ) or "set it, or give the variable a `default`"
            walk.faults.append(Fault(path=place, message=message, hint=hint))
            return None
        self._note_read(source, text)
        try:
            return _read_as(text, text if default is None else default, f"environment variable {quoted(source)}")
        except _Unresolved as wrong:
            walk.faults.append(Fault(path=place, message=wrong.message, hint=wrong.hint))
            return None

    def _cycle(self, name: str) -> None:
        chain = [*self._open[self._open.index(name) :], name]
        shown = " → ".join(f"`{link}`" for link in chain)
        fault = Fault(path=("variables", name), message=f"variables refer to each other in a circle: {shown}")
        self._break(name, self.declared[name].file, fault)
        self._broken.update(chain)

    def _break(self, name: str, file: int | None, fault: Fault) -> None:
        self._broken.add(name)
        self.variable_faults.append((file, fault))

    def _weigh(self, value: object) -> tuple[int, int]:
        """Weight and depth. A shared container is weighed once, so a value that doubles itself is weighed at once."""
        if isinstance(value, str):
            return len(value) + 1, 0
        if not isinstance(value, dict | list):
            return 1, 0
        if (known := self._weights.get(id(value))) is None:
            weight, depth = 1, 0
            for member in value.values() if isinstance(value, dict) else value:
                inner, below = self._weigh(member)
                weight, depth = weight + inner, max(depth, below)
            if isinstance(value, dict):
                weight += sum(map(len, map(str, value)))
            known = self._weights[id(value)] = (weight, depth + 1, value)
        return known[:2]


class Walk:
    """One pass over plain data that shares what it does not change. `faults` collects what could not be expanded."""

    def __init__(self, templates: Templates, config_dir: str, faults: list[Fault], *, in_env: bool = False) -> None:
        self.templates, self.config_dir, self.faults = templates, config_dir, faults
        self._in_env = in_env

    def in_env(self) -> Walk:
        """The same pass for an `env:` map."""
        return Walk(self.templates, self.config_dir, self.faults, in_env=True)

    def block(self, key: str, value: Any) -> Any:
        """The value of one top-level key."""
        if key in LATE_BLOCKS and key != TestKind.COMPOSITION.block:
            grouped = key == "compliance" and isinstance(value, dict)
            return self.checks(value, key) if grouped else self.tests(value, (key,))
        if key == "servers":
            return self.servers(value)
        if key == "scorers":
            return self.scorers(value)
        if key == "env":
            return self.in_env().value(value, (key,))
        if key == "defaultTest":
            return self._call(value, (key,))
        return self.value(value, (key,)) if key in _PLAIN_BLOCKS else value

    def servers(self, servers: object) -> Any:
        if not isinstance(servers, dict):
            return servers
        env = self.in_env()
        return _mapped(
            servers,
            lambda name, server: self._members(
                server, ("servers", name), {"env": lambda value: env.value(value, ("servers", name, "env"))}
            ),
        )

    def scorers(self, scorers: object) -> Any:
        if not isinstance(scorers, list):
            return self.value(scorers, ("scorers",))
        changed = [self._scorer(scorer, ("scorers", index)) for index, scorer in enumerate(scorers)]
        return changed if any(new is not old for new, old in zip(changed, scorers, strict=True)) else scorers

    def _scorer(self, scorer: Any, path: Pointer) -> Any:
        special = {"env": lambda value: self.in_env().value(value, (*path, "env"))}
        kind = scorer.get("type") if isinstance(scorer, dict) else None
        if isinstance(kind, str) and kind != "exec" and "${" not in kind:  # what else it says is another build's
            special = {**dict.fromkeys(scorer.keys() - {"name"}, lambda value: value), **special}
        return self._members(scorer, path, special)

    def checks(self, written: dict[str, Any], block: str) -> Any:
        """A `compliance` that is a mapping: its checks under `checks`, and what they have in common."""
        return self._members(written, (block,), {"checks": lambda value: self.tests(value, (block, "checks"))})

    def tests(self, entries: object, path: Pointer) -> Any:
        if not isinstance(entries, list):
            return entries
        changed: list[Any] | None = None
        for index, entry in enumerate(entries):
            new = self._call(entry, (*path, index))
            if new is not entry:
                if changed is None:
                    changed = list(entries)
                changed[index] = new
        return entries if changed is None else changed

    def value(self, value: Any, path: Pointer, literal: frozenset[str] = _NONE) -> Any:
        """The value with its templates replaced, itself when there are none. Keys in `literal` are left alone."""
        kind = type(value)
        if kind is str:
            return self._text(value, path) if "${" in value else value
        if kind is dict:
            return self._dict(value, path, literal)
        if kind is list:
            return self._list(value, path, literal)
        return value

    def _call(self, entry: object, path: Pointer) -> Any:
        """A test, or one of the steps under its `verify`."""
        if type(entry) is not dict:
            return self.value(entry, path)
        if type(entry.get("cases")) is list:
            return entry
        changed: dict[str, Any] | None = None
        for key, item in entry.items():
            if type(item) is str and "${" not in item:
                continue
            if key == "verify" and type(item) is list:
                new: Any = self._steps(item, (*path, key))
            else:
                new = self.value(item, (*path, key), LITERAL_KEYS if key == "expect" else _NONE)
            if new is not item:
                if changed is None:
                    changed = dict(entry)
                changed[key] = new
        return entry if changed is None else changed

    def _steps(self, steps: list[Any], path: Pointer) -> list[Any]:
        new = [self._call(step, (*path, index)) for index, step in enumerate(steps)]
        return new if any(one is not other for one, other in zip(new, steps, strict=True)) else steps

    def _members(self, value: object, path: Pointer, special: Mapping[str, Callable[[Any], Any]]) -> Any:
        if not isinstance(value, dict):
            return self.value(value, path)
        plain = self.value
        return _mapped(value, lambda key, item: special[key](item) if key in special else plain(item, (*path, key)))

    def _dict(self, value: dict[str, Any], path: Pointer, literal: frozenset[str]) -> dict[str, Any]:
        changed: dict[str, Any] | None = None
        for key, item in value.items():
            kind = type(item)
            if kind is str:
                if "${" not in item or key in literal:
                    continue
                new: Any = self._text(item, (*path, key))
            elif kind is dict or kind is list:
                if key in literal:
                    continue
                inside = _NONE if literal and key in DATA_MATCHERS else literal
                new = self.value(item, (*path, key), inside)
            else:
                continue
            if new is not item:
                if changed is None:
                    changed = dict(value)
                changed[key] = new
        return value if changed is None else changed

    def _list(self, value: list[Any], path: Pointer, literal: frozenset[str]) -> list[Any]:
        changed: list[Any] | None = None
        for index, item in enumerate(value):
            kind = type(item)
            if kind is str:
                if "${" not in item:
                    continue
            elif kind is not dict and kind is not list:
                continue
            new = self.value(item, (*path, index), literal)
            if new is not item:
                if changed is None:
                    changed = list(value)
                changed[index] = new
        return value if changed is None else changed

    def _text(self, text: str, path: Pointer) -> Any:
        whole = _WHOLE.fullmatch(text)
        if whole is not None:
            return self._whole(text, whole[1], path)
        parts: list[str] = []
        end, failed = 0, False
        for found in _TEMPLATE.finditer(text):
            parts.append(text[end : found.start()])
            end = found.end()
            if found[0] == "$${":
                parts.append("${")
                continue
            try:
                parts.append(self._spelt(found[1]))
            except _Unresolved as wrong:
                failed = True
                self._fault(path, found.start(), wrong)
        return text if failed else "".join((*parts, text[end:]))

    def _whole(self, text: str, expression: str, path: Pointer) -> Any:
        try:
            value = self.templates.value_of(expression, config_dir=self.config_dir, in_env=self._in_env)
            self.templates.add(self.templates.weight(value))
        except _Unresolved as wrong:
            self._fault(path, 0, wrong)
            return text
        if isinstance(value, float | dict | list):
            self.templates.put_float = True
        return value

    def _spelt(self, expression: str | None) -> str:
        if expression is None:
            raise _Unresolved("`${` is not closed by `}`", _ESCAPE_HINT)
        value = self.templates.value_of(expression, config_dir=self.config_dir, in_env=self._in_env)
        self.templates.add(self.templates.weight(value))
        return as_text(value)

    def _fault(self, path: Pointer, offset: int, wrong: _Unresolved) -> None:
        self.faults.append(
            Fault(path=path, offset=offset, message=wrong.message, hint=wrong.hint, is_unknown=wrong.is_unknown)
        )


def expressions_in(value: object) -> Iterator[str]:
    """What stands between `${` and `}` in plain data, each part of it looked at once."""
    seen, todo = set[int](), [value]
    while todo:
        if isinstance(part := todo.pop(), str):
            yield from (found[1].strip() for found in _TEMPLATE.finditer(part) if found[1])
        elif isinstance(part, dict | list) and id(part) not in seen:
            seen.add(id(part))
            todo += part.values() if isinstance(part, dict) else part


def declarations_of(names: Iterable[str], declared: Mapping[str, object]) -> dict[str, Any]:
    """What declares these variables, and those that they lead to; unknown ones are left out."""
    found, todo = dict[str, Any](), list(names)
    while todo:
        name = todo.pop()
        if name in declared and name not in found:
            found[name] = declared[name]
            todo += (text.removeprefix("var.") for text in expressions_in(declared[name]))
    return found


def as_text(value: object) -> str:
    """A value inside mixed text: a text as it is, anything else as JSON spells it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _mapped(value: dict[str, Any], change: Callable[[str, Any], Any]) -> dict[str, Any]:
    changed = {key: change(key, item) for key, item in value.items()}
    return value if all(changed[key] is value[key] for key in value) else changed


def _read_as(text: str, model: object, whose: str) -> Any:
    """A text from outside, read as the JSON type of `model`, what the suite declares. Raises: _Unresolved."""
    if isinstance(model, str) or model is None:
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = text
    wanted = _kind(model)
    if _kind(value) == wanted and not (isinstance(value, float) and not math.isfinite(value)):
        return value
    raise _Unresolved(
        f"{whose} must be {wanted}, like its value in the suite", f"write a value such as `{_example(model)}`"
    )


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return "a number"
    return "a list in JSON" if isinstance(value, list) else "an object in JSON" if isinstance(value, dict) else "text"


def _example(model: object) -> str:
    text = json.dumps(model, ensure_ascii=False)
    return text if len(text) <= 60 else text[:59] + "…"

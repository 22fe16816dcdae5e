"""The matchers: each decides one assertion. A registry names their modules, which are imported when first used.

A module of a matcher offers a maker: it takes the matcher's argument and a `Context` and gives a `Judge`, a function of the
value that answers None when the matcher holds and else a thunk for the `Mismatch`, an `Unjudged` where it cannot tell. The
thunk is the surprising thing: within `not`, `any-of` and `some` most mismatches are never told, and words and diffs cost far
more than the judgement.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from mcptest_engine.core.enums import Strength
from mcptest_engine.core.errors import did_you_mean
from mcptest_engine.core.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from mcptest_engine.core.results import Mismatch

    Reason = Callable[[], Mismatch]
    Judge = Callable[[object], Reason | None]
    Check = Callable[[object], Mismatch | None]
    Maker = Callable[[object, "Context"], Judge]

_VALUE, _SHAPE = Strength.VALUE, Strength.SHAPE
_REGISTRY: dict[str, tuple[str, str, Strength | None]] = {
    "exact": ("equality", "exact", _VALUE),
    "one-of": ("equality", "one_of", _VALUE),
    "subset": ("equality", "subset", _VALUE),
    "not": ("logic", "negated", _SHAPE),
    "all-of": ("logic", "all_of", None),
    "any-of": ("logic", "any_of", None),
    "contains": ("containment", "contains", _VALUE),
    "icontains": ("containment", "icontains", _VALUE),
    "contains-all": ("containment", "contains_all", _VALUE),
    "contains-any": ("containment", "contains_any", _VALUE),
    "starts-with": ("text", "starts_with", _VALUE),
    "ends-with": ("text", "ends_with", _VALUE),
    "regex": ("text", "matches_regex", _VALUE),
    "schema": ("json_schema", "matches_schema", _VALUE),
    "lt": ("numbers", "lt", _SHAPE),
    "lte": ("numbers", "lte", _SHAPE),
    "gt": ("numbers", "gt", _SHAPE),
    "gte": ("numbers", "gte", _SHAPE),
    "between": ("numbers", "between", _VALUE),
    "approx": ("numbers", "approx", _VALUE),
    "length": ("shape", "length", _SHAPE),
    "type": ("shape", "has_type", _SHAPE),
    "exists": ("shape", "exists", _SHAPE),
    "each": ("elements", "each", None),
    "some": ("elements", "some", None),
    "jq": ("jq_program", "truthy", _VALUE),
    "snapshot": ("snapshot", "equals_snapshot", _VALUE),
    "llm-judge": ("llm_judge", "judged_by_model", _VALUE),
}
"""Of each matcher its module, its maker, and the most that it can demand of an answer; None where its operands decide."""
MATCHERS = tuple(_REGISTRY)
STRENGTHS = {name: strength for name, (_, _, strength) in _REGISTRY.items()}
_MAKERS: dict[str, Maker] = {}


class Snapshots(Protocol):
    """What the `snapshot` matcher needs of the world; `judging/snapshots.py` has the real one."""

    def lookup(self, name: str) -> object:
        """The accepted value, or `differences.NOTHING`."""

    def propose(self, name: str, value: object, seen_at: str) -> bool:
        """Offer the value seen for a name that has another one or none; true when it is accepted at once."""

    def find_rival(self, name: str, seen_at: str) -> str | None:
        """Where else in this run the accepted value was seen, which this run must not replace for that reason."""

    def redact(self, value: object) -> Any:
        """`value` without its secrets, as what is stored has none either."""

    def confirm(self, name: str, seen_at: str) -> None:
        """The value seen equals the accepted one; a change proposed earlier is out of date."""


class Opinions(Protocol):
    """What the `llm-judge` matcher needs of the world: what models said. `judging/opinions.py` has the real one."""

    def of(self, argument: Mapping[str, object], value: object) -> Opinion:
        """What was said of a value. Raises: Undecided when nobody has said anything, which is noted to be asked for."""


class Opinion(Protocol):
    """What a model said of a value: `words` tell the score and why."""

    @property
    def passed(self) -> bool: ...
    @property
    def words(self) -> str: ...


class Unjudged:
    """A reason that says no more than that the matcher could not judge the value: neither does `not` hold then.

    `timed_out`: it was found out by waiting, so that looking at further values may take as long again.
    """

    __slots__ = ("reason", "timed_out")

    def __init__(self, reason: Reason, *, timed_out: bool = False) -> None:
        self.reason = reason
        self.timed_out = timed_out

    def __call__(self) -> Mismatch:
        return self.reason()


class Undecided(Exception):
    """Whether a matcher holds depends on what a model has not said. `str()` says why it has not.

    `deferred` says why no model could be asked; None where one was, or where nobody has asked yet.
    It is raised by judges, and goes through matchers of matchers where nothing else decides: three-valued logic in which
    the third value is an exception, so that whoever knows nothing of it can take it for neither yes nor no.
    """

    def __init__(self, words: str, *, deferred: str | None = None) -> None:
        super().__init__(words)
        self.deferred = deferred


@dataclass(slots=True)  # not frozen: one is made for each assertion, and that would double its price
class Context:
    """What a matcher may need beside its argument: the snapshots, and what one without a name of its own goes by.

    `opinions` are those of models, None where none is asked; `label` is the number of the assertion.
    """

    snapshots: Snapshots | None = None
    test_name: str = ""
    target: str = ""
    opinions: Opinions | None = None
    label: str = ""

    @property
    def snapshot_name(self) -> str:
        """The name of a snapshot that has none: the test's and the target."""
        return f"{self.test_name} / {self.target}" if self.test_name else self.target


def preload(names: Iterable[str]) -> None:
    """Import the modules of these matchers; for a moment when a server is being waited for."""
    for name in dict.fromkeys(names):
        if name not in _MAKERS:
            _MAKERS[name] = _load(name)


def compile_judge(matcher: Mapping[str, object], context: Context) -> Judge:
    """The judge for a `matcher:` mapping of exactly one key.

    Raises: ValueError for a mapping that is none; the loader has ruled that out.
    """
    if len(matcher) != 1:
        raise ValueError(f"a matcher is one key, such as `exact`; this one has {len(matcher)}")
    ((name, argument),) = matcher.items()
    maker = _MAKERS.get(name)
    if maker is None:
        maker = _MAKERS[name] = _load(name)
    return maker(argument, context)


def compile_matcher(matcher: Mapping[str, object], context: Context | None = None) -> Check:
    """A function that judges a value (or an `Absent`): None when the matcher holds, else why not."""
    judge = compile_judge(matcher, context or Context())

    def check(value: object) -> Mismatch | None:
        reason = judge(value)
        return None if reason is None else reason()

    return check


def _load(name: str) -> Maker:
    place = _REGISTRY.get(name)
    if place is None:
        hint = did_you_mean(name, MATCHERS)
        raise ValueError(f"unknown matcher `{name}`" + (f"; {hint}" if hint else ""))
    maker: Maker = getattr(import_module(f"{__name__}.{place[0]}"), place[1])
    return maker

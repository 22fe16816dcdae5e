"""Textual's style sheet without the work that it does again and again: parsing, searching, matching, styling component classes.

With more sources than its cache holds, the original parses all of them whenever a class of widgets is seen for the first
time; it looks through every rule for every node; and when a class of a screen changes, or the focus moves, it decides anew
about each node below and each component class of it. What comes out is the same, because the deciding is left to it.
"""

from __future__ import annotations

from collections import defaultdict
from inspect import getfile
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from textual.app import App
from textual.cache import LRUCache
from textual.css.model import SelectorType
from textual.css.styles import Styles
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode
from textual.widget import Widget

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.css.model import RuleSet
    from textual.css.styles import RulesMap

    State = tuple[object, ...]
    Looks = dict[str, RulesMap]
    Known = dict[DOMNode, tuple[frozenset[str], State]]

SOURCES = 1_000
THEMES = 4
STATES = 5_000
RARE = frozenset(
    {"can-focus", "empty", "even", "first-child", "first-of-type", "focus-within", "last-child", "last-of-type", "odd"}
)
"""The pseudo classes that are looked at where a rule asks for them; all others are known of each node."""
OWN = (frozenset({"hover"}), frozenset({"focus", "blur"}), frozenset({"disabled", "enabled"}))
"""The pseudo classes of each state of a widget, in the order of `state_of`."""
_SIGNS = {SelectorType.TYPE: "", SelectorType.CLASS: ".", SelectorType.ID: "#"}
_parsed: LRUCache[frozenset[tuple[str, str]], LRUCache[tuple[Any, ...], list[RuleSet]]] = LRUCache(THEMES)
"""What was parsed with the variables of the last themes, so that a preview of one costs nothing the second time."""

_decided: LRUCache[State, tuple[RulesMap, RulesMap] | None] = LRUCache(STATES)
"""What a node in this state has of all rules, and what its styles hold then; None where no rule means it."""
_looks: LRUCache[State, Looks] = LRUCache(STATES)
_numbers: dict[tuple[RuleSet, ...], int] = {}


class _Requirements(NamedTuple):
    """What some rules ask of a node and of those above it: names and pseudo classes; and a number for these rules.

    `own` says which of the states of a widget, in the order of `state_of`, the pseudo classes are about.
    """

    number: int
    names: frozenset[str]
    pseudo: frozenset[str]
    own: tuple[bool, ...]


class _Found(NamedTuple):
    """The rules that may mean nodes of certain names, and what they ask."""

    rules: list[RuleSet]
    by_name: dict[str, list[RuleSet]]
    asked: _Requirements


class Sheet(Stylesheet):
    """A style sheet that remembers."""

    def __init__(self, *, variables: dict[str, str] | None = None) -> None:
        super().__init__(variables=variables)
        self._parse_cache = _parsed_with(self._variables)
        self._found: dict[frozenset[str], _Found] = {}
        self._all: tuple[list[RuleSet], dict[str, list[RuleSet]]] = ([], {})
        self._order: dict[RuleSet, int] = {}
        self._replaced: list[RulesMap] = []
        self._styled: WeakKeyDictionary[DOMNode, State] = WeakKeyDictionary()
        self._meant: dict[type[DOMNode], _Requirements] = {}

    def set_variables(self, variables: dict[str, str]) -> None:
        """Other variables, and what was parsed with them."""
        self._parse_cache = LRUCache(1)  # the original empties it
        super().set_variables(variables)
        self._parse_cache = _parsed_with(variables)

    def reparse(self) -> None:
        """Parse what is not parsed yet. Nothing is changed before all of it is sound."""
        self.parse()

    def parse_ahead(self, widget: type[Widget]) -> None:
        """Parse what a class of widgets looks like before one is mounted, so that no key waits for it then."""
        for place, base in enumerate(widget._css_bases(widget)):
            css = base.__dict__.get("DEFAULT_CSS", "")
            if css:
                scope = base._css_type_name if base.__dict__.get("SCOPED_CSS", True) else ""
                read_from = (getfile(base), f"{base.__name__}.DEFAULT_CSS")
                self._parse_rules(css, read_from, is_default_rules=True, tie_breaker=-place, scope=scope)
        sheet = widget.__dict__.get("CSS_PATH")
        if isinstance(sheet, str):
            path = Path(getfile(widget)).with_name(sheet)
            self._parse_rules(path.read_text(encoding="utf-8"), (str(path), ""))

    def apply(self, node: DOMNode, *, animate: bool = False, cache: dict[Any, Any] | None = None) -> None:
        """Style a node like the last one in its state, or look at the rules whose last selector may mean it."""
        everything = self.rules, self.rules_map
        if everything[0] is not self._all[0]:
            self._all, self._found, self._meant = everything, {}, {}
            self._order = {rule: place for place, rule in enumerate(everything[0])}
        known: Known = {} if cache is None else cache
        names, _ = _cached_state(node, known)
        found = self._found.get(names)
        if found is None:
            found = self._found[names] = self._find(names)
        state = _state(node, found.asked, known)
        if state in _decided:
            self._style(node, found.asked.pseudo, _decided[state], animate=animate)
        else:
            self._rules, self._rules_map = found.rules, found.by_name
            self._replaced = []
            try:
                super().apply(node, animate=animate)
            finally:
                self._rules, self._rules_map = everything
            _decided[state] = next(((rules, _held(rules)) for rules in self._replaced), None)
        self._style_components(node, known)

    def replace_rules(self, node: DOMNode, rules: RulesMap, animate: bool = False) -> None:  # type: ignore[override]
        """Do so, and remember them."""
        self._replaced.append(rules)
        super().replace_rules(node, rules, animate=animate)

    def _style(
        self, node: DOMNode, asked: frozenset[str], decided: tuple[RulesMap, RulesMap] | None, *, animate: bool
    ) -> None:
        node._has_hover_style = "hover" in asked
        node._has_focus_within = "focus-within" in asked
        node._has_order_style = not asked.isdisjoint(
            {"first-of-type", "last-of-type", "first-child", "last-child", "empty"}
        )
        node._has_odd_or_even = not asked.isdisjoint({"odd", "even"})
        if decided is None:
            return
        rules, held = decided
        if _same(node.styles.base._rules, held):
            node.notify_style_update()  # what it inherits may be other than before
        else:
            super().replace_rules(node, rules, animate=animate)

    def _find(self, names: frozenset[str]) -> _Found:
        by_name = self._all[1]
        kept = sorted({rule for name in names for rule in by_name.get(name, ())}, key=self._order.__getitem__)
        found: dict[str, list[RuleSet]] = defaultdict(list)
        for rule in kept:
            for name in rule.selector_names & names:
                found[name].append(rule)
        return _Found(kept, dict(found), _requirements_of(kept))

    def _process_component_classes(self, node: DOMNode) -> None:
        """Nothing: `apply` does it with what it knows of the path."""

    def _style_components(self, node: DOMNode, known: Known) -> None:
        components = node._get_component_classes()
        if not components:
            return
        meant = self._meant.get(type(node))
        if meant is None:
            wanted = ("*", "DOMNode", *(f".{name}" for name in sorted(components)))
            rules = dict.fromkeys(rule for name in wanted for rule in self._all[1].get(name, ()))
            meant = self._meant[type(node)] = _requirements_of(rules)
        state = type(node), *_state(node, meant, known)
        if node._component_styles and self._styled.get(node) == state:
            return
        looks = _looks.get(state)
        if looks is None:
            super()._process_component_classes(node)
            _looks[state] = {name: styles.base.get_rules() for name, styles in node._component_styles.items()}
        else:
            _dress(node, looks)
        self._styled[node] = state


def _held(rules: RulesMap) -> RulesMap:
    """What styles hold that were given all of these rules: some say what is so anyway."""
    styles = Styles()
    for name, value in rules.items():
        setattr(styles, name, value)
    return styles._rules


def _same(rules: RulesMap, others: RulesMap) -> bool:
    """Whether nothing differs but the object of the layout, of which each node has its own."""
    if rules == others:
        return True
    layout, other = rules.get("layout"), others.get("layout")
    if layout is None or other is None or layout.name != other.name:
        return False
    return {**rules, "layout": other} == others


def _requirements_of(rules: Iterable[RuleSet]) -> _Requirements:
    key = tuple(rules)
    selectors = [one for rule in key for chain in rule.selector_set for one in chain.selectors]
    names = frozenset(f"{_SIGNS[one.type]}{one.name}" for one in selectors if one.type in _SIGNS)
    pseudo = frozenset(name for one in selectors for name in one.pseudo_classes)
    own = tuple(not pseudo.isdisjoint(one) for one in OWN)
    return _Requirements(_numbers.setdefault(key, len(_numbers)), names, pseudo, own)


def _state(node: DOMNode, asked: _Requirements, known: Known) -> State:
    """All that decides how these rules style a node: what their selectors can ask of the way to it."""
    way = node.css_path_nodes
    state: list[object] = [asked.number]
    for one in way:
        names, own = _cached_state(one, known)
        state.append(names & asked.names)
        if asked.pseudo:
            state.append(tuple(compress(own, asked.own)) if isinstance(one, Widget) else own)
    rare = sorted(asked.pseudo & RARE)
    state += [one.has_pseudo_classes({name}) for one in way for name in rare]
    return tuple(state)


def state_of(node: DOMNode) -> tuple[frozenset[str], State]:
    """The names of a node, and what it has of pseudo classes but the rare ones."""
    own: State = ()
    if isinstance(node, Widget):
        own = (node.mouse_hover, node.has_focus, node.disabled)
    elif isinstance(node, App):
        own = (node.app_focus, node.current_theme.dark, node.is_inline, node.native_ansi_color, node.no_color)
    return frozenset(node._selector_names), own


def _cached_state(node: DOMNode, known: Known) -> tuple[frozenset[str], State]:
    """`state_of`, which `known` has of the nodes before."""
    told = known.get(node)
    if told is None:
        told = known[node] = state_of(node)
    return told


def _dress(node: DOMNode, looks: Looks) -> None:
    """Give component classes the styles that were found for the same state before; those that have them stay."""
    styles, changed = node._component_styles, False
    for name, rules in looks.items():
        if name in styles and styles[name].base.get_rules() == rules:
            continue
        virtual = DOMNode(classes=name)
        virtual._attach(node)
        virtual.styles.base.merge_rules(rules)
        styles[name] = virtual.styles
        changed = True
    if changed:
        node.refresh()


def _parsed_with(variables: dict[str, str]) -> LRUCache[tuple[Any, ...], list[RuleSet]]:
    key = frozenset(variables.items())
    found = _parsed.get(key)
    if found is None:
        found = _parsed[key] = LRUCache(SOURCES)
    return found

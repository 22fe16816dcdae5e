"""Textual's style sheet without the work that it does again and again: parsing, searching, styling component classes.

With more sources than its cache holds, the original parses all of them whenever a class of widgets is seen for the first
time; it looks through every rule for every node; and it styles each component class of a list anew with every key that
moves the focus. What comes out is the same, because the deciding is left to it.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from textual.cache import LRUCache
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode

if TYPE_CHECKING:
    from textual.css.model import RuleSet
    from textual.css.styles import RulesMap

    State = tuple[object, ...]
    Looks = dict[str, RulesMap]

SOURCES = 1_000
THEMES = 4
LOOKS = 1_000
_parsed: LRUCache[frozenset[tuple[str, str]], LRUCache[tuple[Any, ...], list[RuleSet]]] = LRUCache(THEMES)
"""What was parsed with the variables of the last themes, so that a preview of one costs nothing the second time."""

_looks: LRUCache[State, Looks] = LRUCache(LOOKS)
_numbers: dict[tuple[RuleSet, ...], int] = {}


class Sheet(Stylesheet):
    """A style sheet that remembers."""

    def __init__(self, *, variables: dict[str, str] | None = None) -> None:
        super().__init__(variables=variables)
        self._parse_cache = _parsed_with(self._variables)
        self._found: dict[frozenset[str], tuple[list[RuleSet], dict[str, list[RuleSet]]]] = {}
        self._all: tuple[list[RuleSet], dict[str, list[RuleSet]]] = ([], {})
        self._styled: WeakKeyDictionary[DOMNode, State] = WeakKeyDictionary()
        self._meant: dict[type[DOMNode], tuple[int, tuple[str, ...]]] = {}

    def set_variables(self, variables: dict[str, str]) -> None:
        """Other variables, and what was parsed with them."""
        self._parse_cache = LRUCache(1)  # the original empties it
        super().set_variables(variables)
        self._parse_cache = _parsed_with(variables)

    def reparse(self) -> None:
        """Parse what is not parsed yet. Nothing is changed before all of it is sound."""
        self.parse()

    def apply(self, node: DOMNode, *, animate: bool = False, cache: dict[tuple[Any, ...], Any] | None = None) -> None:
        """Style a node, looking only at the rules whose last selector may mean it."""
        everything = self.rules, self.rules_map
        if everything[0] is not self._all[0]:
            self._all, self._found, self._meant = everything, {}, {}
        names = frozenset(node._selector_names)
        found = self._found.get(names)
        if found is None:
            found = self._found[names] = self._find(*everything, names)
        self._rules, self._rules_map = found
        try:
            super().apply(node, animate=animate, cache=cache)
        finally:
            self._rules, self._rules_map = everything

    def _find(
        self, rules: list[RuleSet], by_name: dict[str, list[RuleSet]], names: frozenset[str]
    ) -> tuple[list[RuleSet], dict[str, list[RuleSet]]]:
        chosen = {id(rule) for name in names for rule in by_name.get(name, ())}
        found: dict[str, list[RuleSet]] = defaultdict(list)
        kept = [rule for rule in rules if id(rule) in chosen]
        for rule in kept:
            for name in rule.selector_names & names:
                found[name].append(rule)
        return kept, dict(found)

    def _process_component_classes(self, node: DOMNode) -> None:
        components = node._get_component_classes()
        if not components:
            return
        state = self._state(node, components)
        if node._component_styles and self._styled.get(node) == state:
            return
        looks = _looks.get(state)
        if looks is None:
            before = self._rules, self._rules_map
            self._rules, self._rules_map = self._all
            try:
                super()._process_component_classes(node)
            finally:
                self._rules, self._rules_map = before
            _looks[state] = {name: styles.base.get_rules() for name, styles in node._component_styles.items()}
        else:
            _dress(node, looks)
        self._styled[node] = state

    def _state(self, node: DOMNode, components: frozenset[str]) -> State:
        """All that decides how the component classes of a node look: the rules, and what a selector can ask of its path."""
        meant = self._meant.get(type(node))
        if meant is None:
            meant = self._meant[type(node)] = self._means(components)
        rules, asked = meant
        path = [
            (type(one), one._id, frozenset(one._classes), *(one.has_pseudo_classes({name}) for name in asked))
            for one in node.css_path_nodes
        ]
        return (rules, *path)

    def _means(self, components: frozenset[str]) -> tuple[int, tuple[str, ...]]:
        """A number for the rules that may mean one of these component classes, and the pseudo classes in them."""
        by_name = self._all[1]
        wanted = ("*", "DOMNode", *(f".{name}" for name in sorted(components)))
        rules = tuple(dict.fromkeys(rule for name in wanted for rule in by_name.get(name, ())))
        asked = set[str]().union(*(rule.pseudo_classes for rule in rules))
        return _numbers.setdefault(rules, len(_numbers)), tuple(sorted(asked))


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

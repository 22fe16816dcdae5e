"""The graph that a composition's nodes make: who waits for whom, in what order they run, and where it runs in a circle.

Pure, and iterative throughout: a chain of ten thousand nodes is no deeper than one of two. What has the wrong shape is left
out, and the structural check tells. See docs/how-to/compositions.md.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


class Parent(NamedTuple):
    """One entry of a node's `needs`; `default` stands for the output of an optional parent that has none."""

    id: str
    optional: bool = False
    default: Any = None


def parents_of(node: Mapping[str, object]) -> Iterator[tuple[int, Parent]]:
    """The sound entries of a node's `needs`, each with its place in the list."""
    needs = node.get("needs")
    for index, need in enumerate(needs if isinstance(needs, list) else ()):
        if isinstance(need, str):
            yield index, Parent(need)
        elif isinstance(need, dict) and isinstance(need.get("id"), str):
            yield index, Parent(need["id"], need.get("optional") is True, need.get("default"))


def topological_order(parents: Sequence[Sequence[int]]) -> list[int]:
    """The nodes so that each comes after its parents; of those that may come next, the one declared first.

    `parents` gives for each node the numbers of its parents, each once. Nodes on a circle are missing, and what follows them.
    """
    waiting = [len(of_one) for of_one in parents]
    children: list[list[int]] = [[] for _ in parents]
    for node, of_one in enumerate(parents):
        for parent in of_one:
            children[parent].append(node)
    ready = [node for node, count in enumerate(waiting) if count == 0]  # in rising order, and so a heap
    order: list[int] = []
    while ready:
        node = heappop(ready)
        order.append(node)
        for child in children[node]:
            waiting[child] -= 1
            if waiting[child] == 0:
                heappush(ready, child)
    return order


def cycles(parents: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Circles of nodes, each needing the next and the last the first; none is in two of them, and without them all is sound."""
    every = [list(of_one) for of_one in parents]
    while True:
        left = set(range(len(every))) - set(topological_order(every))
        if not left:
            return
        circle = _a_cycle(every, left)
        yield circle
        broken = set(circle)
        every = [
            [] if node in broken else [parent for parent in of_one if parent not in broken]
            for node, of_one in enumerate(every)
        ]


def _a_cycle(parents: Sequence[Sequence[int]], left: set[int]) -> list[int]:
    """A circle among the nodes that have no place in the topological order."""
    node = min(left)
    seen: dict[int, int] = {}
    way: list[int] = []
    while node not in seen:  # a node that is left has a parent that is left
        seen[node] = len(way)
        way.append(node)
        node = next(parent for parent in parents[node] if parent in left)
    return way[seen[node] :]

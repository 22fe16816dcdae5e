"""Compositions as pictures for people: Mermaid for documents, DOT for Graphviz.

Nodes get ids of ours, so that no id or tool's name can break a picture; what they are called stands in labels, escaped. A
fan-out, a loop, a condition and what stands in for a server are said in words below a name, and drawn in shapes of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.core.sanitise import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mcptest_engine.running.kinds.composition.plan import NodePlan, Program


WORDS_LIMIT = 60
_MERMAID = str.maketrans(
    {mark: f"#{ord(mark)};" for mark in '#"`<>&\\{}[]()|;'}  # its entities are decimal code points
)
_DOT = str.maketrans({"\\": "\\\\", '"': '\\"'})


def mermaid(programs: Sequence[Program], *, redact: Callable[[str], str]) -> str:
    """A flowchart with a subgraph for each composition. `redact` takes secrets out of a text."""
    lines = ["flowchart TD"]
    for number, program in enumerate(programs):
        lines.append(f'  subgraph c{number}["{_in_mermaid(program.name)}"]')
        for at, node in enumerate(program.nodes):
            left, right = _mermaid_shape(node)
            label = "<br/>".join(_in_mermaid(line) for line in _label(node, redact))
            lines.append(f'    c{number}n{at}{left}"{label}"{right}')
        for parent, child, optional in _edges(program):
            arrow = "-.->|optional|" if optional else "-->"
            lines.append(f"    c{number}n{parent} {arrow} c{number}n{child}")
        lines.append("  end")
    return "\n".join(lines) + "\n"


def dot(programs: Sequence[Program], name: str, *, redact: Callable[[str], str]) -> str:
    """A directed graph called `name`, with a cluster for each composition. `redact` takes secrets out of a text."""
    lines = [f'digraph "{_in_dot(name)}" {{', "  node [shape=box];"]
    for number, program in enumerate(programs):
        lines.append(f'  subgraph "cluster_{number}" {{')
        lines.append(f'    label="{_in_dot(program.name)}";')
        for at, node in enumerate(program.nodes):
            label = "\\n".join(_in_dot(line) for line in _label(node, redact))
            lines.append(f'    c{number}n{at} [label="{label}"{_dot_shape(node)}];')
        for parent, child, optional in _edges(program):
            dashed = ' [style=dashed, label="optional"]' if optional else ""
            lines.append(f"    c{number}n{parent} -> c{number}n{child}{dashed};")
        lines.append("  }")
    return "\n".join([*lines, "}"]) + "\n"


def marks_of(node: NodePlan) -> Iterator[str]:
    """What is to be said of a node besides its tool: `for each ${search}, 4 at once`, `when …`, `mock`."""
    if node.for_each is not None:
        at_once = f", {node.max_concurrency} at once" if node.max_concurrency > 1 else ""
        over = " x ".join(f"${{{source.text}}}" for source in node.sources.values())
        yield f"for each {over}{at_once}"
    if node.loop is not None:
        yield f"until {node.loop.until}, {node.loop.most} times at most"
    if node.when is not None:
        yield f"when {node.when}"
    if node.mock:
        yield "mock"
    elif node.freeze is not None:
        yield f"freeze: {node.freeze}"


def _label(node: NodePlan, redact: Callable[[str], str]) -> list[str]:
    tool = f"{node.server}: {node.tool}" if node.server else node.tool
    return [node.id, *(one_line(redact(text), WORDS_LIMIT) for text in (tool, *marks_of(node)))]


def _edges(program: Program) -> Iterator[tuple[int, int, bool]]:
    return (
        (parent, child, parent in node.defaults) for child, node in enumerate(program.nodes) for parent in node.parents
    )


def _mermaid_shape(node: NodePlan) -> tuple[str, str]:
    if node.when is not None:
        return "{{", "}}"
    if node.for_each is not None or node.loop is not None:
        return "[[", "]]"
    return ("(", ")") if node.stood_in else ("[", "]")


def _dot_shape(node: NodePlan) -> str:
    if node.when is not None:
        return ", shape=hexagon"
    if node.for_each is not None or node.loop is not None:
        return ", peripheries=2"
    return ", style=rounded" if node.stood_in else ""


def _in_mermaid(text: str) -> str:
    return one_line(text).translate(_MERMAID)


def _in_dot(text: str) -> str:
    return one_line(text).translate(_DOT)

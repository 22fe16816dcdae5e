"""Random compositions, and an oracle that derives their results from the specification alone, one node at a time."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

WHENS = ("true", "false", "null", "0", ".parents | length > 1", "[.parents[].n // 0] | add > 2")


@st.composite
def compositions(draw: st.DrawFn) -> dict[str, Any]:
    """Nodes in any declared order; each gives {"n", "got", "list"}, refuses, is skipped, or goes over a parent's list."""
    count = draw(st.integers(1, 9))
    names = [f"n{number}" for number in range(count)]
    nodes = []
    for number, name in enumerate(names):
        parents = draw(st.lists(st.sampled_from(names[:number]), unique=True, max_size=3)) if number else []
        needs: list[Any] = []
        for parent in parents:
            optional = draw(st.sampled_from((False, False, True)))
            default = {"n": draw(st.integers(-3, 3)), "got": {}, "list": draw(st.lists(st.integers(0, 9), max_size=2))}
            needs.append({"id": parent, "optional": True, "default": default} if optional else parent)
        args: dict[str, Any] = {"n": draw(st.integers(0, 4)), "refuse": draw(st.sampled_from((False,) * 6 + (True,)))}
        args["list"] = draw(st.lists(st.integers(0, 9), max_size=3))
        args["got"] = {parent: f"${{{parent}}}" for parent in parents}
        args["text"] = " ".join(f"<${{{parent}.n}}>" for parent in parents)
        node: dict[str, Any] = {"id": name, "tool": name, "needs": needs, "args": args}
        if parents and draw(st.sampled_from((False, False, True))):
            over = draw(st.sampled_from(parents))
            node["for_each"] = f"${{{over}.list{draw(st.sampled_from(('', '[*]')))}}}"
            node["max_concurrency"] = draw(st.integers(1, 4))
            args["item"] = "${item}"
            node["transform"] = {"jq": "{n: 1, got: .result.item, list: [.result.n], text: .result.text}"}
        if draw(st.sampled_from((False, False, True))):
            node["when"] = draw(st.sampled_from(WHENS))
        nodes.append(node)
    return {"nodes": draw(st.permutations(nodes))}


def answered(_tool: str, args: Any) -> dict[str, Any]:
    """What the tool of every node does."""
    return {"result": {"isError": True, "content": []} if args["refuse"] else dict(args)}


class Oracle:
    """What has to come of a composition. Nodes are looked at by recursion, without an order."""

    def __init__(self, composition: dict[str, Any]) -> None:
        self._nodes = {node["id"]: node for node in composition["nodes"]}
        self.come: dict[str, tuple[str, Any]] = {}
        for name in self._nodes:
            self._look(name)

    def _look(self, name: str) -> tuple[str, Any]:
        if name not in self.come:
            self.come[name] = self._decide(self._nodes[name])
        return self.come[name]

    def _decide(self, node: dict[str, Any]) -> tuple[str, Any]:
        parents: dict[str, Any] = {}
        skipped = False
        for need in node["needs"]:
            status, output = self._look(need if isinstance(need, str) else need["id"])
            if isinstance(need, str):
                skipped = skipped or status != "ok"
                parents[need] = output
            else:
                parents[need["id"]] = output if status == "ok" else need["default"]
        if skipped or ("when" in node and not self._holds(node["when"], parents)):
            return "skipped", None
        if "for_each" not in node:
            return self._call(node, parents, None)
        outputs = []
        source = parents[node["for_each"][2:].partition(".")[0].partition("[")[0]]
        if not isinstance(source, dict):  # a fan-out's own output is an array, and has no `list`
            return "err", None
        for item in source["list"]:
            status, output = self._call(node, parents, item)
            if status == "err":
                return "err", None
            outputs.append({"n": 1, "got": output["item"], "list": [output["n"]], "text": output["text"]})
        return "ok", outputs

    def _call(self, node: dict[str, Any], parents: dict[str, Any], item: Any) -> tuple[str, Any]:
        args = dict(node["args"])
        if any(not isinstance(parents[parent], dict) for parent in args["got"]):
            return "err", None  # `.n` of an array is absent
        if args["refuse"]:
            return "err", None
        text = " ".join(f"<{parents[parent]['n']}>" for parent in args["got"])
        output = {**args, "got": {parent: parents[parent] for parent in args["got"]}, "text": text}
        return "ok", output if item is None else {**output, "item": item}

    @staticmethod
    def _holds(when: str, parents: dict[str, Any]) -> bool:
        """The predicates of `WHENS`, said in Python; they are drawn where every parent is an object."""
        if when.startswith(".parents"):
            return len(parents) > 1
        if when.startswith("["):
            return sum(output["n"] for output in parents.values()) > 2 if parents else False
        return when in ("true", "0")

    def order(self, composition: dict[str, Any]) -> list[str]:
        """The nodes that are begun: of those whose parents are all placed, the one that was declared first comes next."""
        placed: list[str] = []
        while len(placed) < len(self._nodes):
            placed.append(
                next(
                    node["id"]
                    for node in composition["nodes"]
                    if node["id"] not in placed
                    and all((need if isinstance(need, str) else need["id"]) in placed for need in node["needs"])
                )
            )
        return [name for name in placed if self.come[name][0] != "skipped"]

"""The tools that a model is offered, and what it is told of their answers. Pure.

With one server tools keep their own names, with several each is `server__tool`. Providers take names of at most 64 letters,
digits, `_` and `-`: any other name is spelled in those, and what the model says is read back through the same table. Targets,
reports and records only ever have a tool's own name.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from itertools import chain, count
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.clipping import kind_of
from mcptest_engine.core.text import estimate_tokens
from mcptest_engine.judging.providers.values import ToolOffer
from mcptest_engine.running.kinds.agent.distractors import distractors_of, mix_names
from mcptest_engine.safety.tool_classes import ToolClass, class_of, descriptors_by_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence


LONGEST_NAME = 64
BETWEEN = "__"
LONGEST_ANSWER = 100_000
"""Characters of an answer that a model is told; its end is cut off with a note."""
_UNUSUAL = re.compile(r"[^A-Za-z0-9_-]")
_DIGEST = 8
_ANY_OBJECT: Mapping[str, Any] = {"type": "object", "properties": {}}


class ListedTool(NamedTuple):
    """A tool of a server under the name that the model is told. A `distractor` is on no server.

    `tool_class` is the most dangerous one where the server lists the name several times.
    """

    told: str
    server: str
    name: str
    descriptor: Mapping[str, Any]
    distractor: bool = False
    tool_class: ToolClass = ToolClass.READ_ONLY_PRESUMED
    is_listed: bool = True


class Toolbox:
    """Every tool that one conversation may use; `remarks` say what of the servers' lists could not be offered.

    `distractors` is the block of an agent test that asks for some. `redact` takes secrets out of what a model is told.
    """

    def __init__(
        self,
        listed: Mapping[str, Sequence[Mapping[str, object]]],
        distractors: Mapping[str, object] | None = None,
        redact: Callable[[Any], Any] = lambda value: value,
    ) -> None:
        self.remarks: list[str] = []
        found = [(*one, False) for one in self._found(listed)]
        if distractors is not None:
            made, remarks = distractors_of(distractors, listed)
            self.remarks += remarks
            found += [(one.server, str(one.descriptor["name"]), one.descriptor, True) for one in made]
            found = [found[place] for place in mix_names([name for _, name, _, _ in found])]
        self.servers = tuple(listed)
        joined = [join_name(server, name, self.servers) for server, name, _, _ in found]
        joined = [next(iter(redact({name: None}))) for name in joined]  # the name of a member: one that is a word stays
        told = provider_names([(words, f"{one[0]}\0{one[1]}") for words, one in zip(joined, found, strict=True)])
        tools = [ListedTool(as_told, *one) for as_told, one in zip(told, found, strict=True)]
        self._by_name = {tool.told: tool for tool in tools}
        for server, descriptors in listed.items():
            self.relist(server, descriptors)
        self.offers = tuple(_offer(tool) for tool in tools)

    def get(self, told: str) -> ListedTool | None:
        """The tool that the model means."""
        return self._by_name.get(told)

    def relist(self, server: str, descriptors: Sequence[Mapping[str, object]]) -> None:
        """Take the server's tools as they are listed now; one that is not listed any more stays as it was."""
        found = descriptors_by_name(descriptors)
        for told, tool in self._by_name.items():
            if tool.server != server or tool.distractor:
                continue
            if (now := found.get(tool.name)) is None:
                self._by_name[told] = tool._replace(is_listed=False)
            else:
                self._by_name[told] = tool._replace(descriptor=now[0], tool_class=class_of(now), is_listed=True)

    @property
    def tools(self) -> list[ListedTool]:
        """The tools that servers list, without distractors."""
        return [tool for tool in self._by_name.values() if not tool.distractor]

    @property
    def surface_tokens(self) -> int:
        """About how many tokens the offered tools are: a quarter of the characters of their names, texts and schemas."""
        texts = ((offer.name, offer.description, json.dumps(offer.input_schema)) for offer in self.offers)
        return estimate_tokens(text for three in texts for text in three)

    def _found(
        self, listed: Mapping[str, Sequence[Mapping[str, object]]]
    ) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
        for server, descriptors in listed.items():
            seen = set()
            for descriptor in descriptors:
                name = descriptor.get("name")
                if not isinstance(name, str) or not name:
                    self.remarks.append(
                        f'server "{server}" lists a tool whose name is {kind_of(name)}; it is not offered'
                    )
                elif name in seen:
                    self.remarks.append(f'server "{server}" lists the tool `{name}` twice; the first is offered')
                else:
                    seen.add(name)
                    yield server, name, descriptor


def join_name(server: str, name: str, servers: Sequence[str]) -> str:
    """What a tool goes by: its own name where there is one server, else `server__tool`."""
    return f"{server}{BETWEEN}{name}" if len(servers) > 1 and server else name


def provider_names(tools: Sequence[tuple[str, str]]) -> list[str]:
    """Names that a provider takes, all different, for pairs of what a tool goes by and what is only its own.

    They are the same for the same tools. A usual name that no other tool goes by stays as it is.
    """
    goes_by = Counter(name for name, _ in tools)
    taken = {name for name in goes_by if _is_usual(name)}
    told: list[str] = []
    for name, own in tools:
        plain, is_shared = _UNUSUAL.sub("_", name), goes_by[name] > 1
        if is_shared or (not _is_usual(name) and (len(plain) > LONGEST_NAME or plain in taken)):
            stem = plain[: LONGEST_NAME - _DIGEST - 1]
            seeds = chain([] if is_shared else [name], [own], (f"{own}{number}" for number in count(1)))
            plain = next(made for seed in seeds if (made := f"{stem}_{_digest(seed)}") not in taken)
        taken.add(plain)
        told.append(plain)
    return told


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]


def _is_usual(name: str) -> bool:
    return 0 < len(name) <= LONGEST_NAME and _UNUSUAL.search(name) is None


def _offer(tool: ListedTool) -> ToolOffer:
    description = next(
        (text for key in ("description", "title") if isinstance(text := tool.descriptor.get(key), str)), ""
    )
    schema = tool.descriptor.get("inputSchema")
    fit = isinstance(schema, dict) and schema.get("type") == "object"
    return ToolOffer(tool.told, description, schema if fit and isinstance(schema, dict) else _ANY_OBJECT)


def answer_for_model(result: Mapping[str, object]) -> str:
    """What a model is told of a result: its texts, the rest described; `structuredContent` as JSON where there is no text.

    Source: MCP 2025-11-25, server/tools, Tool Result.
    """
    blocks = result.get("content")
    parts = [part for block in (blocks if isinstance(blocks, list) else ()) if (part := _block_for_model(block))]
    texts = (block.get("text") for block in (blocks if isinstance(blocks, list) else ()) if isinstance(block, dict))
    has_text = any(isinstance(text, str) and text for text in texts)
    if not has_text and result.get("structuredContent") is not None:
        parts.append(json.dumps(result["structuredContent"], ensure_ascii=False))
    return cut_to_limit("\n".join(parts)) if parts else "(the tool returned no content)"


def cut_to_limit(text: str) -> str:
    """`text`, or as much of it as a model is told."""
    if len(text) <= LONGEST_ANSWER:
        return text
    return f"{text[:LONGEST_ANSWER]}\n… (cut off: {len(text)} characters)"


def _block_for_model(block: object) -> str:
    if not isinstance(block, dict):
        return ""
    if isinstance(block.get("text"), str):
        return str(block["text"])
    kind = str(block.get("type", "content"))
    resource = block.get("resource")
    if isinstance(resource, dict):
        if isinstance(resource.get("text"), str):
            return str(resource["text"])
        return f"[{kind} {resource.get('uri', '')} {resource.get('mimeType', '')}]".replace("  ", " ")
    about = [str(block[key]) for key in ("name", "uri", "mimeType") if isinstance(block.get(key), str)]
    size = [f"{len(block['data'])} characters of base64"] if isinstance(block.get("data"), str) else []
    return f"[{' '.join([kind, *about])}{''.join(f', {one}' for one in size)}]"

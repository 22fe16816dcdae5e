"""One JSON Schema document: where its references lead, never outside it.

Only what the document itself holds is found: JSON Pointers, `$id`, `$anchor` and `$dynamicAnchor` (read as an anchor whose
outermost bearer wins). Whatever is not found is left to the validator, which refuses to fetch.
"""

from __future__ import annotations

from urllib.parse import unquote, urldefrag, urljoin

from mcptest_engine.core.schemas import REFERENCES

OPAQUE = frozenset({"enum", "const", "default", "examples", "example"})
"""Keywords whose values are data: what looks like a schema in them is none."""
_NAMING = frozenset({"$id", "id", "$anchor", "$dynamicAnchor"})
_LEGACY = ("draft-03", "draft-04", "draft-06", "draft-07")


class Document:
    """A schema and what its references resolve to. `legacy` is draft-07 and before: nothing beside a `$ref` counts there."""

    def __init__(self, root: object) -> None:
        self.root = root
        named = root.get("$schema") if isinstance(root, dict) else None
        self.legacy = isinstance(named, str) and any(draft in named for draft in _LEGACY)
        self._scanned = False
        self._references = 0
        self._base_of: dict[int, str] = {}
        self._resources: dict[str, object] = {}
        self._dynamic: dict[str, object] = {}
        self._found: dict[tuple[int, str], object] = {}

    @property
    def reference_count(self) -> int:
        """How many schemas of the document refer to another."""
        if not self._scanned:
            self._scan()
        return self._references

    def references(self, schema: dict[str, object]) -> list[object]:
        """The schemas that the references of one schema lead to, those that are in the document."""
        found = []
        for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
            target = schema.get(keyword)
            if isinstance(target, str):
                key = (id(schema), keyword)
                if key not in self._found:
                    self._found[key] = self._resolve(target, schema, keyword)
                if self._found[key] is not None:
                    found.append(self._found[key])
        return found

    def chain(self, rule: tuple[str | int, ...]) -> list[int]:
        """The schemas (their `id`) that a path of keywords from the root leads through, references followed."""
        node, met = self.root, []
        for token in rule:
            if isinstance(node, dict):
                met.append(id(node))
                if token in REFERENCES:
                    found = self._found.get((id(node), str(token)))
                    node = found if found is not None else node.get(token)
                    continue
                node = node.get(token)
            elif isinstance(node, list) and isinstance(token, int) and token < len(node):
                node = node[token]
            else:
                break
        return met

    def _resolve(self, target: str, schema: dict[str, object], keyword: str) -> object:
        if not self._scanned:
            self._scan()
        uri, fragment = urldefrag(_joined(self._base_of.get(id(schema), ""), target))
        if keyword == "$dynamicRef" and fragment in self._dynamic:
            return self._dynamic[fragment]
        if keyword == "$recursiveRef":
            return self.root
        if fragment and not fragment.startswith("/"):
            return self._resources.get(f"{uri}#{unquote(fragment)}")
        resource = self._resources.get(uri)
        return None if resource is None else _at(resource, unquote(fragment))

    def _scan(self) -> None:
        """Note each schema's base URI and every name by which it can be reached; without recursion, outermost first."""
        self._scanned = True
        self._resources[""] = self.root
        met: list[tuple[object, str]] = [(self.root, "")]
        for node, base in met:
            if isinstance(node, dict):
                self._references += not REFERENCES.isdisjoint(node)
                here = base if _NAMING.isdisjoint(node) else self._named(node, base)
                self._base_of[id(node)] = here
                for key, member in node.items():
                    if key not in OPAQUE and isinstance(member, (dict, list)):
                        met.append((member, here))
            elif isinstance(node, list):
                met.extend((member, base) for member in node if isinstance(member, (dict, list)))

    def _named(self, node: dict[str, object], base: str) -> str:
        own = node.get("$id", node.get("id") if self.legacy else None)
        here = base
        if isinstance(own, str) and not (self.legacy and "$ref" in node):
            uri, fragment = urldefrag(_joined(base, own))
            if fragment:
                self._resources.setdefault(f"{uri}#{fragment}", node)
            else:
                here = uri
                self._resources.setdefault(uri, node)
        for keyword in ("$anchor", "$dynamicAnchor"):
            anchor = node.get(keyword)
            if isinstance(anchor, str):
                self._resources.setdefault(f"{here}#{anchor}", node)
                if keyword == "$dynamicAnchor":
                    self._dynamic.setdefault(anchor, node)
        return here


def _joined(base: str, uri: str) -> str:
    try:
        if base.startswith("urn:") and uri.startswith("#"):
            return urldefrag(base)[0] + uri
        return urljoin(base, uri)
    except ValueError:
        return uri


def _at(resource: object, pointer: str) -> object:
    node = resource
    for token in pointer.split("/")[1:] if pointer else []:
        key = token.replace("~1", "/").replace("~0", "~")
        if isinstance(node, dict) and key in node:
            node = node[key]
        elif isinstance(node, list) and key.isdigit() and int(key) < len(node):
            node = node[int(key)]
        else:
            return None
    return node if isinstance(node, (dict, bool)) else None

"""What the servers here share: a class is a server, and `--bug NAME` starts one of its subclasses in its place.

`tools`, `resources`, `templates` and `prompts` are what it lists. A tool NAME is the method `call_NAME`, `read` gives the
contents of a resource, and `prompt` the messages of a prompt. Each bug is a subclass that changes a few lines; its docstring
says what happened in life.
"""

import argparse
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "servers"))
import minimcp
from minimcp import RpcError, text

STRING, NUMBER, INTEGER, BOOLEAN = ({"type": name} for name in ("string", "number", "integer", "boolean"))
METHOD_NOT_FOUND, INVALID_PARAMS, RESOURCE_NOT_FOUND = -32601, -32602, -32002


class Refused(Exception):
    """The call ends in a result with `isError: true` and this text."""


def as_json(value):
    """A result whose text is JSON."""
    return text(json.dumps(value, ensure_ascii=False))


def structured(value):
    """A result with structured content, and the same as a text."""
    return as_json(value) | {"structuredContent": value}


def listed(of):
    """The schema of an array."""
    return {"type": "array", "items": of}


def members(**properties):
    """The schema of an object that has all of these."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def tool(name, description, properties, required=(), output=None):
    """A tool as it is listed."""
    schema = {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}
    listing = {"name": name, "description": description, "inputSchema": schema}
    return listing if output is None else {**listing, "outputSchema": output}


def said(role, words):
    """One message of a prompt."""
    return {"role": role, "content": {"type": "text", "text": words}}


class Server:
    """A server without anything."""

    name = ""
    tools = ()
    resources = ()
    templates = ()
    prompts = ()

    def handle(self, method, params, _message):
        """The result of a request. Raises: RpcError."""
        lists = {
            "tools/list": ("tools", self.tools),
            "resources/list": ("resources", self.resources),
            "resources/templates/list": ("resourceTemplates", self.templates),
            "prompts/list": ("prompts", self.prompts),
        }
        if method in lists:
            key, found = lists[method]
            return {key: list(found)}
        if method == "tools/call":
            return self.call(params["name"], params.get("arguments", {}))
        if method == "resources/read":
            return {"contents": [self.read(params["uri"])]}
        if method == "prompts/get":
            return {"messages": self.prompt(params["name"], **params.get("arguments", {}))}
        raise RpcError(METHOD_NOT_FOUND, f"Method not found: {method}")

    def call(self, name, arguments):
        """The result of a tool call, also of one that is refused."""
        found = next((one for one in self.tools if one["name"] == name), None)
        if found is None:
            raise RpcError(INVALID_PARAMS, f"Unknown tool: {name}")
        missing = [one for one in found["inputSchema"]["required"] if one not in arguments]
        try:
            if missing:
                raise Refused(f"missing argument: {', '.join(missing)}")
            return getattr(self, f"call_{name}")(**arguments)
        except Refused as refused:
            return self.refusal(str(refused))

    def refusal(self, words):
        """The result of a call that is refused."""
        return {**text(words), "isError": True}

    def read(self, uri):
        """The contents of a resource."""
        raise RpcError(RESOURCE_NOT_FOUND, "Resource not found", {"uri": uri})

    def prompt(self, name, **_arguments):
        """The messages of a prompt."""
        raise RpcError(INVALID_PARAMS, f"Unknown prompt: {name}")


def bugs_of(server):
    """The bugs of a server by their names."""
    return {bug.__name__: bug for bug in server.__subclasses__()}


def serve(server):
    """Be this server, or the one with the bug that `--bug` names."""
    bugs = bugs_of(server)
    parser = argparse.ArgumentParser(description=server.__doc__)
    parser.add_argument("--bug", choices=sorted(bugs))
    made = bugs.get(parser.parse_args().bug, server)()
    kinds = {"tools": made.tools, "resources": made.resources or made.templates, "prompts": made.prompts}
    capabilities = {kind: {} for kind, offered in kinds.items() if offered}
    minimcp.serve(made.handle, name=server.name, capabilities=capabilities, lists=True)

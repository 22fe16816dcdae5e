"""The servers of a file: settings of any agent, a `server.json` of the MCP registry, or an MCP bundle.

Nothing is started here. Values that a file leaves to its user come from `inputs` and, for environment variables, from the
environment. A bundle (`.mcpb`) is unpacked into a temporary folder, which its user must remove.

Source: the schema of server.json of 2025-12-11; MANIFEST.md of modelcontextprotocol/mcpb, 0.3.
"""

from __future__ import annotations

import json
import re
import stat
import sys
import tempfile
import zipfile
import zlib
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.errors import UsageError
from mcptest_engine.core.values import dataclass
from mcptest_engine.servers.agent_configs import FoundServer, read_settings, servers_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mcptest_engine.core.json_types import JsonDict, JsonMapping
    from mcptest_engine.servers.diagnosis.checks import Check

MOST_UNPACKED_BYTES = 1024 * 1024 * 1024
MOST_UNPACKED_FILES = 50_000
BUNDLE_FOLDER = "MCPB_DIR"
"""The variable for the folder of an unpacked bundle, in the suite that is written for it."""
_RUNNERS = {"npm": "npx", "pypi": "uvx", "oci": "docker", "nuget": "dnx"}
_TRANSPORTS = frozenset({"streamable-http", "sse"})
_PLATFORMS = {"linux": "linux", "darwin": "darwin", "win32": "win32"}
_BRACES = re.compile(r"\{([^{}\s]+)\}")
_DOLLAR = re.compile(r"\$\{([^{}]+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFile:
    """The servers of a file. `kind` is "agent config", "server.json" or "MCP bundle"; `name` and `version` as the file says."""

    kind: str
    servers: tuple[FoundServer, ...]
    name: str | None = None
    version: str | None = None
    problems: tuple[str, ...] = ()


def compare_identity(file: ServerFile, server_info: Mapping[str, object]) -> Iterator[Check]:
    """Whether the server reports the name and version of its file."""
    from mcptest_engine.servers.diagnosis.checks import Check, Status

    name, version = str(server_info.get("name") or ""), str(server_info.get("version") or "")
    expected = str(file.name)
    same = _letters(name) and _letters(name) in (_letters(expected), _letters(expected.rpartition("/")[2]))
    detail = f"the file says `{expected}`, the server says `{name or 'no name'}`"
    hint = None if same else "clients show both; give them the same name, the file's after its last slash"
    yield Check(layer="protocol", name="name", status=Status.OK if same else Status.WARNING, detail=detail, hint=hint)
    if file.version is not None:
        same = version == file.version
        detail = f"the file says {file.version}, the server says {version or 'no version'}"
        hint = None if same else "raise both together: take the version of both from one place"
        status = Status.OK if same else Status.FAILED
        yield Check(layer="protocol", name="version", status=status, detail=detail, hint=hint)


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


@contextmanager
def opened_server_file(path: Path, environ: Mapping[str, str], inputs: Mapping[str, str]) -> Iterator[ServerFile]:
    """Read the file; the folder of an unpacked bundle exists while the block is open. Raises: UsageError."""
    try:
        if zipfile.is_zipfile(path):
            with tempfile.TemporaryDirectory(prefix="mcptest-mcpb-") as folder:
                try:
                    unpack_bundle(path, Path(folder))
                except (EOFError, RuntimeError, zlib.error) as wrong:  # encrypted, an unknown compression, damaged
                    raise UsageError(f"`{path}` cannot be unpacked: {wrong}") from None
                manifest = read_settings(Path(folder) / "manifest.json")
                if manifest is None:
                    raise UsageError(f"`{path}` has no `manifest.json`")
                with _shapes_refused(path):
                    unpacked = _bundle(manifest, path, Path(folder), environ, inputs, is_temporary=True)
                yield unpacked
            return
        settings = read_settings(path)
    except (OSError, zipfile.BadZipFile, ValueError) as wrong:
        raise UsageError(f"`{path}` cannot be read: {getattr(wrong, 'strerror', None) or wrong}") from None
    if settings is None:
        raise UsageError(f"there is no file `{path}`")
    with _shapes_refused(path):
        named = _servers_of(settings, path, environ, inputs)
    yield named


@contextmanager
def _shapes_refused(path: Path) -> Iterator[None]:
    """Raises: UsageError when the file does not have the shape of its format."""
    try:
        yield
    except ValueError as wrong:
        raise UsageError(f"`{path}` cannot be read: {wrong}") from None


def _servers_of(
    settings: Mapping[str, object], path: Path, environ: Mapping[str, str], inputs: Mapping[str, str]
) -> ServerFile:
    if "manifest_version" in settings or "dxt_version" in settings:
        return _bundle(settings, path, path.resolve().parent, environ, inputs, is_temporary=False)
    inner = settings.get("server")
    if isinstance(inner, dict) and ("packages" in inner or "remotes" in inner):
        return _registry(inner, path, environ, inputs)
    if "packages" in settings or "remotes" in settings:
        return _registry(settings, path, environ, inputs)
    named = {f"input:{name}": value for name, value in inputs.items()}
    found = servers_in(settings, path, {**environ, **inputs, **named})
    problems = tuple(problem.message for problem in found.problems)
    return ServerFile(kind="agent config", servers=found.servers, problems=problems)


def _object(value: Any, place: str) -> JsonMapping:
    """The object, empty for null. Raises: ValueError."""
    if value is not None and not isinstance(value, dict):
        raise ValueError(f"`{place}` is not an object")
    return value or {}


def unpack_bundle(path: Path, folder: Path) -> None:
    """Unpack a bundle into an empty folder. Raises: UsageError for an entry that would leave it, a link, or too much."""
    with zipfile.ZipFile(path) as bundle:
        entries = bundle.infolist()
        if len(entries) > MOST_UNPACKED_FILES or sum(one.file_size for one in entries) > MOST_UNPACKED_BYTES:
            raise UsageError(f"`{path}` is not unpacked: it contains more than 50,000 files or 1 GiB")
        left = MOST_UNPACKED_BYTES
        for entry in entries:
            inside = PurePosixPath(entry.filename.replace("\\", "/"))
            kind = stat.S_IFMT(entry.external_attr >> 16)
            if inside.is_absolute() or ".." in inside.parts or ":" in entry.filename or "\0" in entry.filename:
                raise UsageError(f"`{path}` is not unpacked: `{entry.filename[:200]}` would be outside of its folder")
            if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise UsageError(f"`{path}` is not unpacked: `{entry.filename[:200]}` is a link or a device")
            target = folder.joinpath(*inside.parts)
            if entry.is_dir():
                target.mkdir(parents=True, exist_ok=True)
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            with bundle.open(entry) as packed, target.open("wb") as out:
                while chunk := packed.read(1024 * 1024):  # the size that it declares may be wrong
                    left -= len(chunk)
                    if left < 0:
                        raise UsageError(f"`{path}` is not unpacked: it contains more than 1 GiB")
                    out.write(chunk)
            if (entry.external_attr >> 16) & 0o100:
                target.chmod(0o755)


class _Values:
    """The values that a file leaves to its user: where each comes from, and which are missing."""

    def __init__(self, environ: Mapping[str, str], inputs: Mapping[str, str]) -> None:
        self._environ, self._inputs = environ, inputs
        self.missing: dict[str, None] = {}
        self.secrets: dict[str, str] = {}

    def given(self, name: str, *, in_environment: bool = False) -> str | None:
        """The value that a person gave for this name."""
        value = self._inputs.get(name)
        return self._environ.get(name) if value is None and in_environment else value

    def of(
        self, field: Mapping[str, object], name: str, *, in_environment: bool = False, has_all: bool = False
    ) -> str | None:
        """The value of a registry input: fixed, given, or its default; None where it may be left out."""
        value = field.get("value")
        if value is None:
            value = self.given(name, in_environment=in_environment)
        value = field.get("default") if value is None else value
        if value is None or value == "":
            if field.get("isRequired", field.get("is_required")):
                self.missing[name] = None
            return None
        variables = _object(field.get("variables"), "variables")
        text = self.filled(str(value), variables, has_all=has_all)
        if field.get("isSecret", field.get("is_secret")) or any(
            _object(one, f"variables.{key}").get("isSecret") for key, one in variables.items()
        ):
            self.secrets[name] = text
        return text

    def filled(self, text: str, variables: Mapping[str, object], *, has_all: bool = False) -> str:
        """Replace `{name}` in the text by the values of its variables.

        Braces around other names stay, as in an argument that is JSON. With `has_all`, as in a URL, each name is a variable.
        """

        def value(found: re.Match[str]) -> str:
            name = found[1]
            if name not in variables and not has_all and self.given(name) is None:
                return found[0]
            field = {**_object(variables.get(name), f"variables.{name}"), "isRequired": True, "variables": {}}
            filled = self.of(field, name, in_environment=True)
            return found[0] if filled is None else filled

        return _BRACES.sub(value, text)


# --- server.json


def _registry(
    document: Mapping[str, object], path: Path, environ: Mapping[str, str], inputs: Mapping[str, str]
) -> ServerFile:
    name, version = document.get("name"), document.get("version")
    base = str(name or path.stem).rpartition("/")[2] or "server"
    servers: list[FoundServer] = []
    problems: list[str] = []
    packages, remotes = _objects_in(document, "packages"), _objects_in(document, "remotes")
    for at, package in enumerate(packages):
        kind = str(package.get("registryType", package.get("registry_type", package.get("registry_name", ""))))
        own = base if len(packages) + len(remotes) == 1 else f"{base}-{kind or at}"
        if kind not in _RUNNERS:
            known = "name the file of the bundle itself" if kind == "mcpb" else f"known: {', '.join(_RUNNERS)}"
            problems.append(f"packages[{at}]: a package of `{kind}` is not started; {known}")
            continue
        identifier = package.get("identifier")
        if not isinstance(identifier, str) or not identifier:
            problems.append(f"packages[{at}]: `identifier` is missing")
            continue
        if identifier.startswith("-"):  # `npx --call=…` runs something other than the package
            problems.append(f"packages[{at}]: the identifier `{identifier[:80]}` begins with `-`, as an option does")
            continue
        servers.append(_package(package, kind, own, path, _Values(environ, inputs)))
    for at, remote in enumerate(remotes):
        own = base if len(packages) + len(remotes) == 1 else f"{base}-remote{at or ''}"
        if not isinstance(remote.get("url"), str):
            problems.append(f"remotes[{at}]: `url` is missing")
            continue
        values = _Values(environ, inputs)
        target = _http(remote, values, _object(remote.get("variables"), f"remotes[{at}].variables"))
        servers.append(_found_server(own, path, target, values))
    if not servers and not problems:
        problems.append("it has neither `packages` nor `remotes`")
    return ServerFile(
        kind="server.json",
        servers=_with_names(servers),
        name=name if isinstance(name, str) else None,
        version=version if isinstance(version, str) else None,
        problems=tuple(problems),
    )


def _objects_in(document: Mapping[str, object], key: str) -> list[Mapping[str, object]]:
    value = document.get(key)
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _package(package: JsonMapping, kind: str, name: str, path: Path, values: _Values) -> FoundServer:
    variables = _objects_in(package, "environmentVariables") or _objects_in(package, "environment_variables")
    env = {
        str(one["name"]): text
        for one in variables
        if "name" in one and (text := values.of(one, str(one["name"]), in_environment=True)) is not None
    }
    runner = str(package.get("runtimeHint") or package.get("runtime_hint") or _RUNNERS[kind])
    before = _arguments(_objects_in(package, "runtimeArguments") or _objects_in(package, "runtime_arguments"), values)
    after = _arguments(_objects_in(package, "packageArguments") or _objects_in(package, "package_arguments"), values)
    version, identifier = package.get("version"), package["identifier"]
    pinned = f"{identifier}@{version}" if version and version != "latest" else identifier
    if runner == "docker":
        image = (
            identifier
            if not version or "@" in identifier or ":" in identifier.rpartition("/")[2]
            else f"{identifier}:{version}"
        )
        passed = [word for one in env for word in ("-e", one) if one not in " ".join(before)]
        command = ["docker", "run", "-i", "--rm", *passed, *before, image, *after]
    elif runner == "npx":
        command = ["npx", *([] if "-y" in before else ["-y"]), *before, pinned, *after]
    elif runner == "dnx":
        command = ["dnx", *before, pinned, "--yes", *(["--", *after] if after else [])]
    elif runner == "python":
        command = ["python", "-m", *before, identifier, *after]
    else:
        command = [runner, *before, pinned, *after]
    target: JsonDict = {"command": command, "env": env}
    transport = package.get("transport")
    if (
        isinstance(transport, dict)
        and str(transport.get("type")) in _TRANSPORTS
        and isinstance(transport.get("url"), str)
    ):
        target |= _http(
            transport,
            values,
            {str(one.get("name", "")).lstrip("-"): one for one in _objects_in(package, "packageArguments")},
        )
    return _found_server(name, path, target, values)


def _arguments(arguments: Sequence[Mapping[str, object]], values: _Values) -> list[str]:
    words: list[str] = []
    for one in arguments:
        flag = str(one.get("name", ""))
        name = str(one.get("valueHint") or one.get("value_hint") or flag.lstrip("-=") or "argument")
        if one.get("type") != "named":
            text = values.of(one, name)
            words += [] if text is None else [text]
            continue
        is_switch = not any(
            key in one for key in ("value", "default", "valueHint", "value_hint", "isRequired", "choices")
        )
        given = values.given(name)
        if is_switch and given is None:
            words.append(flag)
            continue
        text = values.of(one, name)
        if text is not None:
            words += [f"{flag}{text}"] if flag.endswith("=") else [flag, text]
    return words


def _http(remote: Mapping[str, object], values: _Values, variables: Mapping[str, object]) -> dict[str, object]:
    headers = {
        str(one["name"]): text
        for one in _objects_in(remote, "headers")
        if "name" in one and (text := values.of(one, str(one["name"]), in_environment=True, has_all=True)) is not None
    }
    url = values.filled(str(remote["url"]), variables, has_all=True)
    return {"url": url, **({"headers": headers} if headers else {})}


# --- MCP bundles


def _bundle(
    manifest: Mapping[str, object],
    path: Path,
    folder: Path,
    environ: Mapping[str, str],
    inputs: Mapping[str, str],
    *,
    is_temporary: bool,
) -> ServerFile:
    """Build the server of a bundle. Raises: UsageError for a manifest that does not say how it is started."""
    server = manifest.get("server")
    config = server.get("mcp_config") if isinstance(server, dict) else None
    if not isinstance(config, dict) or not isinstance(config.get("command"), str):
        raise UsageError(f"`{path}` does not say how its server is started: `server.mcp_config.command` is missing")
    place = "server.mcp_config"
    platforms, platform = _object(config.get("platform_overrides"), f"{place}.platform_overrides"), sys.platform
    overrides = _object(platforms.get(_PLATFORMS.get(platform, "")), f"{place}.platform_overrides.{platform}")
    env = (_object(one.get("env"), f"{place}.env") for one in (config, overrides))
    config = {**config, **overrides, "env": {key: text for one in env for key, text in one.items()}}
    if not isinstance(config.get("args") or [], list):
        raise ValueError(f"`{place}.args` is not a list")
    values = _Values(environ, inputs)
    variables = _BundleVariables(manifest, folder, Path(environ.get("HOME", "~")), values)
    words = [word for text in (config["command"], *(config.get("args") or ())) for word in variables.texts(str(text))]
    given = {str(key): variables.fill(str(text)) for key, text in config["env"].items()}
    target: JsonDict = {"command": words, "env": {key: text for key, text in given.items() if text}}
    found = _found_server(str(manifest.get("name") or path.stem), path, target, values)
    if is_temporary:
        found = replace(found, places={**found.places, BUNDLE_FOLDER: str(folder)})
    version = manifest.get("version")
    return ServerFile(
        kind="MCP bundle", servers=(found,), name=found.name, version=version if isinstance(version, str) else None
    )


class _BundleVariables:
    """The variables of a manifest: folders of this machine, and the values of its `user_config`."""

    def __init__(self, manifest: Mapping[str, object], folder: Path, home: Path, values: _Values) -> None:
        self._values = values
        self._fields = {
            name: _object(field, f"user_config.{name}")
            for name, field in _object(manifest.get("user_config"), "user_config").items()
        }
        self._places = {
            "__dirname": str(folder),
            "HOME": str(home),
            **{name.upper(): str(home / name) for name in ("Desktop", "Documents", "Downloads")},
            "/": "/",
            "pathSeparator": "/",
        }

    def texts(self, text: str) -> list[str]:
        """Replace the variables in a text; several texts for a `user_config` value with `multiple`."""
        whole = _DOLLAR.fullmatch(text)
        name = whole[1].removeprefix("user_config.") if whole is not None else ""
        field = self._fields.get(name, {})
        if whole is None or name == whole[1] or not field.get("multiple"):
            return [self.fill(text)]
        given = self._values.given(name, in_environment=True)
        default = field.get("default") or []
        many = given.split(",") if given is not None else default if isinstance(default, list) else [default]
        if not many and field.get("required"):
            self._values.missing[name] = None
        return [self.fill(str(one)) for one in many]

    def fill(self, text: str) -> str:
        """Replace the variables in a text."""
        return _DOLLAR.sub(self._value, text)

    def _value(self, found: re.Match[str]) -> str:
        if found[1] in self._places:
            return self._places[found[1]]
        if not found[1].startswith("user_config."):
            return found[0]
        name = found[1].removeprefix("user_config.")
        field = self._fields.get(name, {})
        default = field.get("default")
        if isinstance(default, bool):
            default = json.dumps(default)
        elif default is not None:
            default = self.fill(default) if isinstance(default, str) else str(default)
        described = {"default": default, "isRequired": field.get("required"), "isSecret": field.get("sensitive")}
        return self._values.of(described, name, in_environment=True) or ""


def _found_server(name: str, path: Path, target: JsonMapping, values: _Values) -> FoundServer:
    return FoundServer(
        name=name,
        source_path=str(path),
        client="the file",
        target=target,
        words=tuple(target["command"]) if "command" in target else (target["url"],),
        missing=tuple(values.missing),
        secrets=values.secrets,
    )


def _with_names(servers: Sequence[FoundServer]) -> tuple[FoundServer, ...]:
    """Give each server a unique name."""
    seen: dict[str, int] = {}
    named = []
    for server in servers:
        seen[server.name] = seen.get(server.name, 0) + 1
        count = seen[server.name]
        named.append(server if count == 1 else replace(server, name=f"{server.name}-{count}"))
    return tuple(named)

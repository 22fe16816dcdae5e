"""Snapshot files: `.mcptest/snapshots/<suite>.yml`, a plain mapping of names to accepted values, sorted, made to be diffed.

Changes that nobody has accepted yet are in a file of the same shape beside it, `<suite>.pending.yml`, which is for the person
at this machine and is not committed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.core.errors import UsageError
from mcptest_engine.workspace.files import make_directory, read_file, remove_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    import yaml

    from mcptest_engine.core.json_types import JsonDict

_HEADER = "# Accepted by people, compared by the snapshot matcher. Commit this file.\n"
_PENDING_HEADER = "# Changes seen that nobody has accepted yet. Do not commit this file.\n"


def pending_path(path: Path) -> Path:
    """The file with the changes to the snapshots in `path` that nobody has accepted yet."""
    return path.with_name(f"{path.stem}.pending.yml")


def read_snapshots(path: Path) -> JsonDict:
    """The snapshots by name, none when the file does not exist. Raises: UsageError when it cannot be read."""
    try:
        text = read_file(path).decode()
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as wrong:
        raise UsageError(f"cannot read the snapshots in {path}: {getattr(wrong, 'strerror', None) or wrong}") from wrong
    import yaml

    try:
        found = _load(text)
    except (yaml.YAMLError, RecursionError) as wrong:
        hint = "repair it, or delete it and run again"
        raise UsageError(f"cannot read the snapshots in {path}: {wrong}", hint=hint) from wrong
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise UsageError(f"cannot read the snapshots in {path}: it is not a mapping of names to values")
    return {str(name): value for name, value in found.items()}


def rename_snapshots(path: Path, renamed: Mapping[str, str], tests: Iterable[str]) -> int:
    """Rename the snapshots of renamed tests, also the pending ones; return how many. Raises: OSError, UsageError.

    `renamed` maps old names of tests to new ones; `tests` are all names that the suite had. A snapshot's name is that of its
    test and then a number, a case, a step or the target: where several tests fit, it belongs to the one with the longest name.
    A file is left as it is when a snapshot that keeps its name has one of the new names.
    """
    count, longest_first = 0, sorted(tests, key=len, reverse=True)
    behind = (" / ", " #", " [", ", verify #")
    for file in (path, pending_path(path)):
        values = read_snapshots(file)
        names = {}
        for name in values:
            test = next((one for one in longest_first if name.startswith(tuple(one + part for part in behind))), None)
            if test is not None and test in renamed:
                names[name] = renamed[test] + name[len(test) :]
        if names and not (values.keys() - names.keys()) & set(names.values()):
            write_snapshots(file, {names.get(name, name): value for name, value in values.items()})
            count += len(names)
    return count


def write_snapshots(path: Path, values: Mapping[str, object]) -> None:
    """Replace the file; remove it when `values` is empty. Raises: OSError, RecursionError for too deep a value."""
    data = snapshot_bytes(path, values)
    if data is None:
        remove_file(path)
        return
    from mcptest_engine.workspace.atomic import write_atomic  # imported here, since few runs write

    make_directory(path.parent)
    write_atomic(path, data)


def snapshot_bytes(path: Path, values: Mapping[str, object]) -> bytes | None:
    """The content of the file at `path` with these values; None when there are none. Raises: RecursionError."""
    header = _PENDING_HEADER if path.name.endswith(".pending.yml") else _HEADER
    return (header + dump_values(values)).encode() if values else None


def dump_values(values: Mapping[str, object]) -> str:
    """Values as YAML that `load_values` reads back: keys sorted, texts of several lines as blocks, no aliases."""
    import yaml

    try:
        return _dump(values, getattr(yaml, "CSafeDumper", yaml.SafeDumper))
    except UnicodeEncodeError:
        return _dump(values, yaml.SafeDumper)


def load_values(text: str) -> object:
    """The value of a text that `dump_values` made."""
    return _load(text)


def _dump(values: Mapping[str, object], base: type) -> str:
    import yaml

    dumper = type("SnapshotDumper", (base,), {"ignore_aliases": lambda *_: True})
    dumper.add_representer(str, _represent_text)  # type: ignore[attr-defined]
    return str(yaml.dump(dict(values), Dumper=dumper, sort_keys=True, allow_unicode=True, width=10_000))


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _load(text: str) -> object:
    import yaml

    try:
        return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506  # both are safe
    except yaml.YAMLError:  # libyaml refuses escapes of lone surrogates, the pure loader reads them
        return yaml.safe_load(text)

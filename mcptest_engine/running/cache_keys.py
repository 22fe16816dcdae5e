"""What a kept result goes by: this exact test, this exact server build, this exact set of matchers.

A key is a SHA-256 over all of it, so nothing of it, secret or not, can be read from the key. The surprising thing is what
came before: a test's key holds what the run asked earlier of tools that change something, because its answer may depend on it.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from mcptest_engine import __version__
from mcptest_engine.core.enums import TestKind
from mcptest_engine.core.targets import parse_target
from mcptest_engine.running.cache_files import CacheFiles, directory_of
from mcptest_engine.running.cases import Check
from mcptest_engine.suite.items import assertions_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mcptest_engine.running.cases import Case
    from mcptest_engine.servers.spec import ServerSpec

EXTERNAL = "external"
_FORMAT = 2


def is_cacheable(case: Case, *, over_http: bool, pinned: bool) -> bool:
    """Whether a test's result may be kept and replayed. `pinned`: its server has a `server_version`.

    The precedence is: `cache: never`; what the test does or where its server is; `cache: always`; its kind. That a server says
    `cacheScope: no-store` is known only from its answer (`forbids_storing`).
    """
    request = case.request
    if case.kind is TestKind.COMPOSITION or case.cache == "never" or EXTERNAL in request.effects:
        return False
    if over_http and not pinned and case.kind is not TestKind.COMPLIANCE:
        return False
    if request.fault is not None or request.verify or request.client is not None or case.watches:
        return False  # more than one answer decides, or what comes beside it
    return case.cache == "always" or not (case.body.may_change_state(case) or _is_about_time(case))


def forbids_storing(result: object) -> bool:
    """Whether the server says that its answer is not to be stored. Source: SEP-2549."""
    if not isinstance(result, dict):
        return False
    meta = result.get("_meta")
    scopes = (result.get("cacheScope"), meta.get("cacheScope") if isinstance(meta, dict) else None)
    return "no-store" in scopes


def histories(cases: Sequence[Case]) -> Iterator[str]:
    """For each case what comes before it in the plan and may change what it is answered."""
    total = hashlib.sha256()
    for case in cases:
        yield total.hexdigest()
        if case.begins and may_leave_traces(case):
            steps = [(step.server, step.method, step.params) for step in case.request.verify]
            total.update(_canonical([case.server, *case.body.request_key(case), steps]))


def may_leave_traces(case: Case) -> bool:
    """Whether what a later test is answered may depend on this one."""
    request = case.request
    if case.cache == "never" or request.effects or request.fault is not None or request.verify:
        return True
    return case.body.may_change_state(case)


def _checked_by(case: Case) -> tuple[str | None, str | None]:
    """What of the protocol is checked, and by which revision."""
    return (case.body.name, case.body.pin) if isinstance(case.body, Check) else (None, None)


def _is_about_time(case: Case) -> bool:
    if "max_duration_ms" in case.expect:
        return True
    rows = assertions_of(case.expect["assertions"])
    return any(parse_target(row["target"]).segments[0] == "duration_ms" for row in rows)


class Keys:
    """Makes the keys of one moment: each server and each file is looked at once.

    `versions` holds the `server_version` of servers that have one.
    """

    def __init__(self, specs: Mapping[str, ServerSpec], versions: Mapping[str, str]) -> None:
        self._specs = specs
        self._versions = versions
        self._servers: dict[str, str] = {}
        self._files = CacheFiles()

    def key(self, case: Case, history: str) -> str:
        """What the case's result goes by. Raises: TooMuchError when too many files belong to it."""
        material = [
            _FORMAT,
            __version__,
            self.server(case.server),
            [case.id, case.kind.value, case.method, case.params, *_checked_by(case), case.timeout_seconds],
            [case.expect, case.threshold, case.metrics, case.outcome],
            self._files.of_arguments(self._specs[case.server], case.params),
            history,
        ]
        return hashlib.sha256(_canonical(material)).hexdigest()

    def server(self, name: str) -> str:
        """The fingerprint of a server: how it is started or reached, and the files that belong to it."""
        if name not in self._servers:
            spec = self._specs[name]
            how = {
                "command": spec.command,
                "url": spec.url,
                "env": spec.env if spec.command is not None else None,
                "cwd": str(directory_of(spec)),
                "headers": spec.headers,
                "oauth": spec.oauth,
                "client": spec.client,
                "protocol": spec.protocol,
                "validity": spec.validity,
                "catalog": spec.reads_catalog,
                "strict": spec.is_strict,
                "server_version": self._versions.get(name),
                "files": self._files.of_server(spec, pinned=name in self._versions),
            }
            self._servers[name] = hashlib.sha256(_canonical(how)).hexdigest()
        return self._servers[name]


def _canonical(value: object) -> bytes:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=_json_default)
    return text.encode("utf-8", "backslashreplace")


def _json_default(value: object) -> Any:
    """What JSON has no word for, such as a read-only mapping."""
    from collections.abc import Mapping

    return dict(value) if isinstance(value, Mapping) else repr(value)

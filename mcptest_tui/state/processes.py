"""The processes that mcptest started, as the engine reports them: whose each is, how long it runs, what it waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.text import counted
from mcptest_tui.state.tree_rows import suite_title

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcptest_engine.engine_process.workbench_events import RunningProcess

OURS = ("engine", "workbench", "guardian")
"""What goes with the workbench: always there, and last in the list; the cursor stands on the first where nothing else runs."""
ABOUT = {
    "spare": "started for the next run, which then starts faster; ends if none follows",
    "jq": "evaluates the jq filters of suites",
    "guardian": "ends all these processes if mcptest is killed",
    "engine": "runs the tests and calls the servers, so that keys never wait",
    "workbench": "draws the screens and reads the keys",
}
"""What it is there for, by its role, where its title does not say it."""
RESTARTED = ("run", "spare", "hand", "guardian", "engine")
"""What can be started again."""


class Process(NamedTuple):
    """One process with its group, or one session over HTTP, which has no `pid` here. Times are those of the clock.

    `role` is "run", "spare", "hand", "hook", "scorer", "jq", "guardian", "engine" or "workbench"; `memory` is None
    where it was not measured; `waits` are the requests that have no answer yet, each with its time.
    """

    number: int
    role: str
    pid: int | None
    name: str
    shown: str
    suite: str
    session: str
    since: float
    waits: tuple[tuple[str, float], ...]
    memory: int | None = None
    suites: tuple[str, ...] = ()
    """The suites that are open: a title tells those of one name apart by their folders."""

    @property
    def key(self) -> tuple[str, int]:
        """The role and the number, which identify the process in changing lists."""
        return self.role, self.number

    def replaces(self, other: Process | None) -> bool:
        """Whether this process is `other` after a restart."""
        if other is None or self.number <= other.number:
            return False
        return (self.role, self.name, self.suite, self.session) == (other.role, other.name, other.suite, other.session)

    @property
    def title(self) -> str:
        """The owner and the purpose: `weather, spare server of weather.yml`."""
        suite = suite_title(self.suite, self.suites)
        words = {
            "run": f"{self.name}, in a run of {suite}" if suite else f"{self.name}, in a run",
            "spare": f"{self.name}, spare server of {suite}",
            "hand": f"{self.name}, connected in Servers",
            "hook": f"hook {self.name}" + (f" of {suite}" if suite else ""),
            "scorer": f"scorer {self.name}" + (f" of {suite}" if suite else ""),
            "jq": "jq, for filters in suites",
            "guardian": "guardian of these processes",
            "engine": "engine of the workbench",
            "workbench": "the workbench itself",
        }
        return words.get(self.role, self.name)

    def waits_for(self, now: float, room: int) -> str:
        """What it waits for longest, such as `wait_for 5 s`, the name cut to `room`; "idle", or "" for what is never asked."""
        if not self.waits:
            return "idle" if self.role in ("run", "spare", "hand") else ""
        what, at = min(self.waits, key=lambda one: one[1])
        name, took = what.partition(" ")[2] or what, f" {uptime_shown(now - at)}"
        more = f" +{len(self.waits) - 1}" if len(self.waits) > 1 else ""
        if len(name + took + more) <= room:
            took += more
        return one_line(name, max(room - len(took), 4)) + took

    def all_waits(self, now: float) -> str:
        """All that it waits for, the longest first: `waits for tools/call wait_for 5 s, ping 1 s`; "" for nothing."""
        told = (f"{what} {uptime_shown(now - at)}" for what, at in sorted(self.waits, key=lambda one: one[1]))
        return f"waits for {', '.join(told)}" if self.waits else ""


def processes_of(rows: Iterable[RunningProcess], suites: Iterable[str] = ()) -> tuple[Process, ...]:
    """The engine's rows: what was started for suites and by hand, oldest first, then `jq`, and ourselves last."""
    suites = tuple(suites)
    found = [
        Process(
            row["number"],
            row["role"],
            row["pid"],
            row["name"],
            row["shown"],
            row["suite"],
            row["session"],
            row["since"],
            tuple((what, at) for what, at in row["waits"]),
            row.get("memory"),
            suites,
        )
        for row in rows
    ]
    order = {role: place for place, role in enumerate(("jq", *OURS), 1)}
    return tuple(sorted(found, key=lambda one: order.get(one.role, 0)))


def count_text(processes: Iterable[Process]) -> str:
    """Return how many processes and HTTP sessions there are, without `OURS`; "" for none."""
    others = [one for one in processes if one.role not in OURS]
    with_pid = sum(one.pid is not None for one in others)
    sessions = len(others) - with_pid
    told = [f"{with_pid} live process{'' if with_pid == 1 else 'es'}"] if with_pid else []
    return ", ".join([*told, counted(sessions, "HTTP session")] if sessions else told)


def running_server_text(processes: Iterable[Process], suite: str, name: str) -> str:
    """What runs of a suite's server although nobody has connected it: "in a run", "spare server runs", or ""."""
    roles = {one.role for one in processes if one.suite == suite and one.name == name}
    return "in a run" if "run" in roles else "spare server runs" if "spare" in roles else ""


def uptime_shown(seconds: float) -> str:
    """Return a duration for people: `4 s`, `12 min`, `3 h 5 min`."""
    seconds = max(seconds, 0)
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = int(seconds) // 60
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"

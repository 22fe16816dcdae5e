"""Builds of a CI: a Markdown table, logs as texts, and the log of each build as a resource of a template."""

from planted import INTEGER, STRING, Refused, Server, serve, text, tool

BUILDS = (
    (417, "main", "passed", 312, "9f3c2a1", "ana"),
    (416, "fix/login", "failed", 95, "b77d010", "ben"),
    (415, "main", "failed", 301, "1d2e3f4", "cleo"),
    (414, "main", "passed", 3725, "77aa88b", "ana"),
    (413, "docs", "cancelled", 12, "c0ffee1", "ben"),
)
LOGS = {
    417: ["checkout 9f3c2a1", "install", "test: 212 passed", "upload", "done"],
    416: ["checkout b77d010", "install", "test: 208 passed, 4 failed", "FAILED test_login[é]", "error: exit code 1"],
    415: ["checkout 1d2e3f4", "install", "error: no space left on device"],
    414: ["checkout 77aa88b", "install", "test: 210 passed", "upload", "done"],
    413: ["checkout c0ffee1", "cancelled by ben"],
}
STATES = ("passed", "failed", "cancelled")


class Builds(Server):
    name = "builds"
    tools = (
        tool(
            "list_builds",
            "A table of builds, the newest first.",
            {"branch": STRING, "status": STRING, "limit": INTEGER},
        ),
        tool("build_status", "How one build ended.", {"number": INTEGER}, ["number"]),
        tool("build_log", "The log of a build, or its last lines.", {"number": INTEGER, "tail": INTEGER}, ["number"]),
        tool(
            "branch_health",
            "How the newest build of a branch ended, and how many of its builds passed.",
            {"branch": STRING},
            ["branch"],
        ),
        tool("rebuild", "Start a build again.", {"number": INTEGER}, ["number"]),
    )
    resources = ({"uri": "ci://badge", "name": "badge", "mimeType": "image/svg+xml"},)
    templates = ({"uriTemplate": "ci://builds/{number}/log", "name": "log", "mimeType": "text/plain"},)

    def __init__(self):
        self.builds = list(BUILDS)

    def find(self, number):
        for build in self.builds:
            if build[0] == number:
                return build
        raise Refused(f"build {number} not found")

    def duration(self, seconds):
        hours, rest = divmod(seconds, 3600)
        minutes, seconds = divmod(rest, 60)
        return f"{hours}h {minutes}m {seconds}s" if hours else f"{minutes}m {seconds}s"

    def selected(self, branch, status):
        return [one for one in self.builds if branch in (None, one[1]) and status in (None, one[2])]

    def call_list_builds(self, branch=None, status=None, limit=10):
        if status not in (None, *STATES, "queued"):
            raise Refused(f"unknown status: {status}")
        found = self.selected(branch, status)[:limit]
        if not found:
            return text("No builds found.")
        rows = [f"| {number} | {on} | {state} | {self.duration(took)} |" for number, on, state, took, _, _ in found]
        return text(
            "\n".join(["| build | branch | status | duration |", "|---|---|---|---|", *rows, "", self.footer(found)])
        )

    def footer(self, found):
        return f"{len(found)} builds, {sum(one[2] == 'failed' for one in found)} failed"

    def call_build_status(self, number):
        number, branch, state, took, commit, by = self.find(number)
        return text(f"Build {number} on {branch} {state} after {self.duration(took)} (commit {commit} by {by}).")

    def lines(self, number):
        return LOGS.get(number, [])

    def call_build_log(self, number, tail=None):
        self.find(number)
        lines = self.lines(number)
        return text("\n".join(lines if tail is None else self.last(lines, tail)))

    def last(self, lines, count):
        return lines[-count:]

    def call_branch_health(self, branch):
        found = self.selected(branch, None)
        if not found:
            raise Refused(f"no builds of {branch}")
        passed = sum(one[2] == "passed" for one in found)
        return text(
            f"{branch}: {self.health(found)}, {passed} of {len(found)} passed ({self.percent(passed, len(found))}%)"
        )

    def health(self, found):
        return "healthy" if found[0][2] == "passed" else "broken"

    def percent(self, part, whole):
        return round(100 * part / whole)

    def call_rebuild(self, number):
        _, branch, state, _, commit, by = self.find(number)
        if state == "passed":
            raise Refused(f"build {number} passed; nothing to do")
        new = self.builds[0][0] + 1
        self.builds.insert(0, (new, branch, "queued", 0, commit, by))
        return text(f"Build {new} queued for {branch} at {commit}.")

    def read(self, uri):
        if uri == "ci://badge":
            return {"uri": uri, "mimeType": "image/svg+xml", "text": f"<svg><text>{self.badge()}</text></svg>"}
        number = uri.removeprefix("ci://builds/").removesuffix("/log")
        if number.isdigit() and int(number) in LOGS:
            return {"uri": uri, "mimeType": "text/plain", "text": "\n".join(self.lines(int(number)))}
        return super().read(uri)

    def badge(self):
        return f"main: {self.selected('main', None)[0][2]}"


class HoursDropped(Builds):
    """A duration was formatted from the minutes within the hour, so that long builds looked quick."""

    def duration(self, seconds):
        return super().duration(seconds % 3600)


class CancelledIsFailed(Builds):
    """Every state but success was shown as a failure."""

    def __init__(self):
        super().__init__()
        self.builds = [(*one[:2], "failed" if one[2] == "cancelled" else one[2], *one[3:]) for one in self.builds]


class TailIsHead(Builds):
    """The last lines of a log were asked for, and the first ones came."""

    def last(self, lines, count):
        return lines[:count]


class HealthOfTheOldest(Builds):
    """A list was read from its wrong end."""

    def health(self, found):
        return super().health(found[::-1])


class LongLinesCut(Builds):
    """A table's width was used for the log too, and cut off what had failed."""

    def lines(self, number):
        return [line[:20] for line in super().lines(number)]


class RebuildIsAnError(Builds):
    """The API answered 204 without a body, which the tool took for a failure, although it had worked."""

    def call_rebuild(self, number):
        super().call_rebuild(number)
        return self.refusal("no response body (HTTP 204)")


class UriWithoutNumber(Builds):
    """Contents came back under the address of the template, so that a client did not know them as what it had asked for."""

    def read(self, uri):
        found = super().read(uri)
        return {**found, "uri": "ci://builds/log"} if uri.endswith("/log") else found


class StatusInCapitals(Builds):
    """The name of a state was shown as the code has it, in capitals."""

    def find(self, number):
        number, branch, state, *rest = super().find(number)
        return number, branch, state.upper(), *rest


if __name__ == "__main__":
    serve(Builds)

"""What can be wrong with what is graded, and with who grades it, although its shape is right.

That is `agents`, `evals` and what a model judges of compositions, and `scorers`, `judge` and `prices`. Nothing is asked here.
The surprising thing: a model that nobody is known to provide is a warning only, since any endpoint may have models of any name.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.errors import did_you_mean
from mcptest_engine.core.lazy_patterns import lazy_pattern
from mcptest_engine.core.targets import AGENT_GATES, AGENT_ROOTS, TargetSyntaxError, parse_target
from mcptest_engine.core.text import NAMES_SHOWN, counted, listed, quoted
from mcptest_engine.suite.items import assertions_in
from mcptest_engine.suite.score_checks import ScoreChecks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcptest_engine.suite.merge import Merged, PlacedTest
    from mcptest_engine.suite.places import Places
    from mcptest_engine.suite.yaml import Pointer

    CheckExpectations = Callable[[Mapping[str, Any], tuple[str, ...], int, Pointer], None]
    CheckServer = Callable[[Any, int, Pointer], None]

KNOWN_MODELS = lazy_pattern(r"claude-|gpt-|chatgpt-|o\d")
"""How the ids of models begin whose provider follows from the id. `judging/providers/setup.py` has the providers."""
ANY_MODELS = "OPENAI_BASE_URL"
EXEC = "exec"
_PAIRS = (("server", "servers"), ("model", "models"))
_ASKS_FOR_CALLS = frozenset({"equal_function_sets", "tool_selection", "golden_path", "distractors"})
"""The gates that do not hold of an agent that called nothing."""
_OF_A_MODEL = ("model", "models", "system_prompt", "max_turns", "budget", "tools")
_TOOL_LISTS = ("deny", "dry", "allow")
"""The lists under `tools:`, the strongest first."""
_GLOB = frozenset("*?[")
_ANSWERS = "`output` (the answer itself), `call` (of a tool) or `prompt` (for a model)"


class JudgedChecks:
    """Checks of one suite. `environ` is the environment with `.env` behind it, `check_server` reports an unknown server."""

    def __init__(
        self,
        merged: Merged,
        places: Places,
        *,
        environ: Mapping[str, str],
        check_expectations: CheckExpectations,
        check_server: CheckServer,
    ) -> None:
        self._places = places
        self._check_expectations = check_expectations
        self._check_server = check_server
        self._any_model = bool(environ.get(ANY_MODELS, "").strip())
        self._told_models: set[str] = set()
        self._servers = tuple(merged.servers)
        self._knows_servers = merged.knows_servers and merged.complete
        names = [one.value.get("name") for one in merged.scorers if isinstance(one.value, dict)]
        has_names = all(isinstance(name, str) for name in names)  # one without may be the one that is meant
        self._knows_scorers = merged.knows_scorers and merged.complete and has_names
        self._scorers = tuple(dict.fromkeys(name for name in names if isinstance(name, str)))
        inconclusive = merged.run_options.get("inconclusive")
        self._trials = inconclusive if isinstance(inconclusive, dict) and inconclusive.get("on") is True else None
        self._evals: set[str] = set()

    # --- what stands at the top ---------------------------------------------------------------------------------------

    def check_graders(self, merged: Merged) -> None:
        """The scorers and the judge of the suite."""
        seen: set[tuple[int, str]] = set()
        for scorer in merged.scorers:
            name = scorer.value.get("name") if isinstance(scorer.value, dict) else None
            if not isinstance(name, str):
                continue  # the structural check tells
            if (scorer.file, name) in seen:
                message = f"duplicate scorer {quoted(name)}: two scorers cannot have one name"
                self._places.report(scorer.file, (*scorer.path, "name"), message, "choose another name")
            seen.add((scorer.file, name))
            self._check_type(scorer.value.get("type"), scorer.file, (*scorer.path, "type"))
        judges: dict[tuple[int, Pointer], dict[str, Any]] = {}
        for key, written in merged.judge.items():
            judges.setdefault((written.file, written.path[:-1]), {})[key] = written.value
        for (file, path), judge in judges.items():
            self.check_judge(judge, file, path)

    def _check_type(self, kind: object, file: int, path: Pointer) -> None:
        if isinstance(kind, str) and kind and kind != EXEC:
            message = f"scorer type {quoted(kind)} is not available in this build, so everything that it grades fails"
            hint = did_you_mean(kind, (EXEC,)) or "call the platform from a program of your own, with `type: exec`"
            self._places.warn(file, path, message, hint)

    def check_judge(self, judge: object, file: int, path: Pointer) -> None:
        """A `judge`, or what of one stands in a matcher."""
        if not isinstance(judge, dict):
            return
        self._check_model(judge.get("model"), file, (*path, "model"))
        jury = judge.get("jury")
        if "models" in judge:
            self._check_jury(judge, file, path)
            return
        if type(jury) is int and jury > 0 and jury % 2 == 0:
            message = f"a jury of {jury} can be split evenly, and a split jury passes no answer"
            self._places.warn(file, (*path, "jury"), message, f"use a jury of {jury - 1} or {jury + 1}")

    def _check_jury(self, judge: Mapping[str, object], file: int, path: Pointer) -> None:
        """A jury of several models."""
        models = judge["models"]
        for index, model in enumerate(models if isinstance(models, list) else ()):
            self._check_model(model, file, (*path, "models", index))
        if "model" in judge:
            message = "a judge has either `model` or `models`, found both"
            self._places.report(file, (*path, "models"), message, "remove one of the two", key=True)
        if "jury" in judge:
            message = "`jury` has no effect beside `models`, each of which is a juror"
            hint = "remove it; a model that is listed twice is asked twice"
            self._places.warn(file, (*path, "jury"), message, hint, key=True)
        if isinstance(models, list) and models and len(models) % 2 == 0:
            message = f"a jury of {len(models)} can be split evenly, and a split jury passes no answer"
            self._places.warn(file, (*path, "models"), message, "name one model more, or one less", key=True)

    def _check_model(self, model: object, file: int, path: Pointer) -> None:
        if not isinstance(model, str) or not model or self._any_model or KNOWN_MODELS.match(model):
            return
        if model not in self._told_models:
            self._told_models.add(model)
            message = f"the provider of the model {quoted(model)} is not known"
            hint = f"ids begin with `claude-`, `gpt-`, `chatgpt-` or `o` and a digit; for any others set `{ANY_MODELS}`"
            self._places.warn(file, path, message, hint)

    # --- agents -------------------------------------------------------------------------------------------------------

    def check_agent(self, test: PlacedTest) -> None:
        entry, file, path = test.entry, test.file, test.path
        self._check_expectations(entry, AGENT_ROOTS, file, path)
        self._check_pairs(entry, "an agent test", file, path)
        self._check_models(entry, file, path)
        self._check_servers(entry, file, path)
        if "threshold" in entry or "derivedMetrics" in entry:
            ScoreChecks({}, self._places).check(entry, file, path)
        gates = [name for name in AGENT_GATES if name in entry]
        self._check_gates(entry, file, path)
        self._check_tools(entry.get("tools"), file, (*path, "tools"))
        if not (entry.get("expect") or entry.get("eval") or gates):
            message = "the test has no assertion: any answer of the model passes"
            self._places.warn(file, path, message, "add `expect:` with at least one assertion, or `eval:`")
        self.check_metrics(entry.get("eval"), file, (*path, "eval"))
        self._check_trials(entry.get("runs"), file, (*path, "runs"))

    def _check_pairs(self, entry: Mapping[str, object], noun: str, file: int, path: Pointer) -> None:
        for one, several in _PAIRS:
            if one in entry and several in entry:
                message = f"{noun} has either `{one}` or `{several}`, found both"
                self._places.report(file, (*path, several), message, "remove one of the two", key=True)

    def _check_models(self, entry: Mapping[str, object], file: int, path: Pointer) -> None:
        self._check_model(entry.get("model"), file, (*path, "model"))
        models = entry.get("models")
        seen: list[str] = []
        for index, model in enumerate(models if isinstance(models, list) else ()):
            self._check_model(model, file, (*path, "models", index))
            if isinstance(model, str) and model in seen:
                message = f"the model {quoted(model)} is listed twice and is asked once"
                self._places.warn(file, (*path, "models", index), message, "set `runs` to ask it more than once")
            seen += [model] if isinstance(model, str) else []

    def _check_servers(self, entry: Mapping[str, object], file: int, path: Pointer) -> None:
        servers = entry.get("servers")
        for index, server in enumerate(servers if isinstance(servers, list) else ()):
            self._check_server(server, file, (*path, "servers", index))

    def _check_trials(self, runs: object, file: int, path: Pointer) -> None:
        if self._trials is None or type(runs) is not int or runs < 2:
            return
        least = self._trials.get("min_trials", 5)
        if type(least) is int and runs < least:
            message = f"{counted(runs, 'run')} are always inconclusive: `min_trials` is {least}"
            self._places.warn(file, path, message, f"write `runs: {least}` or more")

    def _check_tools(self, lists: object, file: int, path: Pointer) -> None:
        """A tool that stands in two lists: the weaker of them would be read and never used."""
        written = lists if isinstance(lists, dict) else {}
        stronger: list[tuple[str, str]] = []
        for key in _TOOL_LISTS:
            names = written.get(key)
            own = [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
            for index, name in enumerate(names if isinstance(names, list) else ()):
                for other, pattern in stronger if isinstance(name, str) else ():
                    same = name == pattern or (_GLOB.isdisjoint(name) and fnmatchcase(name, pattern))
                    if same:
                        also = "" if name == pattern else f" as {quoted(pattern)}"
                        message = f"the tool {quoted(name)} is under `{key}`, and{also} under `{other}`, which wins"
                        self._places.report(file, (*path, key, index), message, "remove one of the two")
                        break
            stronger += [(key, name) for name in own]

    def _check_gates(self, entry: Mapping[str, Any], file: int, path: Pointer) -> None:
        edges = entry.get("tool_edges")
        if isinstance(edges, dict) and "min_allowed_pct" in edges and "allowed" not in edges:
            message = "`min_allowed_pct` has no effect: `allowed` lists no step"
            self._places.report(file, (*path, "tool_edges", "min_allowed_pct"), message, "add `allowed:`", key=True)
        if isinstance(edges, dict) and "min_delegation_pct" in edges and "delegation" not in edges:
            message = "`min_delegation_pct` has no effect: no hand-off is expected"
            hint = "add `delegation:`"
            self._places.report(file, (*path, "tool_edges", "min_delegation_pct"), message, hint, key=True)
        for gate in ("trajectory", "golden_path"):
            calls = entry[gate].get("calls") if isinstance(entry.get(gate), dict) else None
            for index, call in enumerate(calls if isinstance(calls, list) else ()):
                if isinstance(call, dict):
                    self._check_server(call.get("server"), file, (*path, gate, "calls", index, "server"))
        asks_for_a_call = bool(entry.get("eval")) or not _ASKS_FOR_CALLS.isdisjoint(entry)
        for place, item in assertions_in(entry.get("expect"), (*path, "expect")):
            looked_at = _first_name(item.get("target"))
            asks_for_a_call = asks_for_a_call or looked_at in ("tool_calls", "tool_names", "trajectory")
            looked_at = "tool_edges" if looked_at == "edges" else looked_at
            if looked_at in AGENT_GATES and looked_at not in entry:
                message = f"the target is about `{looked_at}`, which the test does not have"
                self._places.report(file, (*place, "target"), message, f"add `{looked_at}:` to the test")
        written = entry.get("trajectory")
        if isinstance(written, dict) and written.get("mode") == "subset" and not asks_for_a_call:
            message = "`mode: subset` passes when the model calls no tool, and no assertion requires a call"
            hint = "add an assertion on `tool_names`, or use another mode"
            self._places.warn(file, (*path, "trajectory", "mode"), message, hint, key=True)

    # --- what a model judges ------------------------------------------------------------------------------------------

    def check_metrics(self, graded: object, file: int, path: Pointer) -> None:
        """The `eval:` of an agent test or a composition."""
        if not isinstance(graded, dict):
            return
        for metric, written in graded.items():
            if metric == "rubric":
                self.check_rubric(written, file, (*path, metric))
            elif isinstance(written, dict):
                self.check_judge(written.get("judge"), file, (*path, metric, "judge"))

    def check_rubric(self, rubric: object, file: int, path: Pointer) -> None:
        """A rubric wherever one stands; a text is right in any case."""
        if not isinstance(rubric, dict):
            return
        if "tree" in rubric:
            self._check_branch(rubric["tree"], file, (*path, "tree"))
            if "strict" in rubric:
                message = "`strict` has no effect beside `tree`: it belongs to criteria"
                self._places.warn(file, (*path, "strict"), message, "remove it", key=True)
        criteria = rubric.get("criteria")
        rows = [row for row in criteria if isinstance(row, dict)] if isinstance(criteria, list) else []
        if rows and all(_is_zero(row.get("weight", 1)) for row in rows):
            message = "all weights are zero, so nothing counts in the rubric"
            self._places.report(file, (*path, "criteria"), message, "give one of them a weight above 0", key=True)
        seen: set[str] = set()
        for index, row in enumerate(criteria if isinstance(criteria, list) else ()):
            name = row.get("name") if isinstance(row, dict) else None
            if isinstance(name, str) and name in seen:
                message = f"duplicate criterion {quoted(name)}: two criteria of a rubric cannot have one name"
                self._places.report(file, (*path, "criteria", index, "name"), message, "choose another name")
            seen |= {name} if isinstance(name, str) else set()

    def _check_branch(self, branch: object, file: int, path: Pointer) -> None:
        if not isinstance(branch, dict) or ("ask" in branch) == ("score" in branch):
            return  # the structural check tells
        for way in ("yes", "no"):
            if "ask" in branch and way not in branch:
                hint = "write what follows that answer: another `ask`, or `{ score: 1 }`"
                self._places.report(file, path, f"a question needs `{way}`", hint)
            elif "score" in branch and way in branch:
                message = f"`{way}` has no effect beside `score`, which ends this branch"
                self._places.report(file, (*path, way), message, "remove it", key=True)
            elif way in branch:
                self._check_branch(branch[way], file, (*path, way))

    # --- evals --------------------------------------------------------------------------------------------------------

    def check_eval(self, test: PlacedTest) -> None:
        entry, file, path = test.entry, test.file, test.path
        name = entry.get("name")
        if isinstance(name, str):
            if name in self._evals:
                message = f"duplicate eval {quoted(name)}: two evals cannot have one name"
                self._places.report(file, (*path, "name"), message, "choose another name")
            self._evals.add(name)
        self._check_pairs(entry, "an eval", file, path)
        self._check_models(entry, file, path)
        self._check_servers(entry, file, path)
        self._check_answer(entry, file, path)
        self._check_tools(entry.get("tools"), file, (*path, "tools"))
        self._check_graders(entry, file, path)
        self.check_rubric(entry.get("rubric"), file, (*path, "rubric"))
        self.check_judge(entry.get("judge"), file, (*path, "judge"))

    def _check_answer(self, entry: Mapping[str, Any], file: int, path: Pointer) -> None:
        """Where the answer comes from."""
        given = [key for key in ("output", "call") if key in entry]
        if given:
            way = given[0]
            if entry[way] is None:
                hint = "write the answer after the colon, or `prompt:` for a model to answer"
                self._places.report(file, (*path, way), f"`{way}` has no value", hint)
            for key in (*given[1:], *_OF_A_MODEL):
                if key in entry:
                    nobody = "no tool is called" if key == "call" else "no model is asked"
                    message = f"`{key}` has no effect beside `{way}`, which gives the answer: {nobody}"
                    self._places.warn(file, (*path, key), message, "remove one of the two", key=True)
            if "call" in given:
                self._check_call(entry, file, path)
            if way == "output" and type(entry.get("runs")) is int and entry["runs"] > 1:
                message = "`runs` grades the same `output` several times"
                self._places.warn(
                    file, (*path, "runs"), message, "remove it, or ask a jury: `judge: { jury: 3 }`", key=True
                )
        elif "prompt" not in entry:
            named = next((key for key in ("model", "models") if key in entry), None)
            message = (
                f"`{named}` has no effect: the eval has no `prompt`" if named else "the eval has no answer to grade"
            )
            hint = "add `prompt:`" if named else f"add {_ANSWERS}"
            self._places.report(file, path, message, hint)
        elif "servers" not in entry:
            self._check_server_named(entry, file, path)

    def _check_call(self, entry: Mapping[str, object], file: int, path: Pointer) -> None:
        call = entry["call"]
        if "servers" in entry:
            message = "a call has exactly one server, found `servers`"
            self._places.report(file, (*path, "servers"), message, "write `server:` with that server", key=True)
            return
        if not isinstance(call, dict):
            return
        if "server" in call:
            self._check_server(call["server"], file, (*path, "call", "server"))
        elif not self._servers and self._knows_servers:
            hint = 'declare a server, for example `servers: { api: { command: ["python", "server.py"] } }`'
            self._places.report(file, (*path, "call"), "the suite declares no server to call", hint, key=True)
        else:
            self._check_server_named(entry, file, path)

    def _check_server_named(self, entry: Mapping[str, object], file: int, path: Pointer) -> None:
        if "server" not in entry and len(self._servers) > 1 and self._knows_servers:
            message = f"the eval names no server, and the suite declares {len(self._servers)}"
            self._places.report(file, path, message, f"add `server:` with one of {listed(self._servers, NAMES_SHOWN)}")

    def _check_graders(self, entry: Mapping[str, object], file: int, path: Pointer) -> None:
        """Who grades: scorers, or a judge where there is none."""
        named = entry.get("scorers")
        seen: list[str] = []
        for index, name in enumerate(named if isinstance(named, list) else ()):
            if not isinstance(name, str):
                continue
            if name not in self._scorers and self._knows_scorers:
                self._places.report(
                    file, (*path, "scorers", index), f"unknown scorer {quoted(name)}", self._known(name)
                )
            elif name in seen:
                message = f"the scorer {quoted(name)} is listed twice and grades once"
                self._places.warn(file, (*path, "scorers", index), message, "remove one of the two")
            seen.append(name)
        if named if isinstance(named, list) else self._scorers:
            for key, why in (("judge", "scorers grade it"), ("threshold", "a scorer decides itself what passes")):
                if key in entry:
                    hint = "remove it, or write `scorers: []` to have a judge grade it"
                    self._places.warn(file, (*path, key), f"`{key}` has no effect: {why}", hint, key=True)
        elif "rubric" not in entry and self._knows_scorers:
            hint = "write what a good answer is, such as `rubric: Names the service.`"
            message = "the eval needs `rubric`: without a scorer, a judge grades the answer"
            self._places.report(file, path, message, hint)

    def _known(self, name: str) -> str:
        if not self._scorers:
            return "declare it at the top of the file, under `scorers:` next to `evals:`"
        if near := did_you_mean(name, self._scorers):
            return near
        return f"declared: {listed(self._scorers, NAMES_SHOWN)}"


def _first_name(target: object) -> str | None:
    try:
        first = parse_target(target).segments[0] if isinstance(target, str) else None
    except TargetSyntaxError:
        return None
    return first if isinstance(first, str) else None


def _is_zero(weight: object) -> bool:
    return isinstance(weight, int | float) and not isinstance(weight, bool) and weight == 0

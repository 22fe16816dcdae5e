// One test in full. What a member means is told in details.py.
const titled = (title, ...children) => [el("h3", {}, title), ...children];

function factsList(rows) {
  return el("dl", {class: "facts"}, rows.filter(([, value]) => value !== undefined && value !== null && value !== "").map(
    ([term, value]) => el("div", {class: {Id: "whole", Where: "roomy"}[term]}, el("dt", {}, term), el("dd", {}, value))));
}

function testBody(test) {
  return [
    factsList([
      ["Kind", test.kind], ["Server", test.server], ["Tool", test.tool], ["Case", test.case], ["Model", test.model],
      ["Scorer", test.scorer],
      ["Took", duration(test.duration_ms)], ["Waited", test.behind ? `${duration(test.behind.ms)} of it waiting for ${test.behind.tool || test.behind.method}` : ""], ["Began", `+${duration(Math.round(test.started_offset_ms))}`],
      ["Strength", test.strength && `${test.strength}${test.mutation_score === undefined ? "" : `; noticed ${Math.floor(test.mutation_score * 100 + 1e-9)} % of wrong answers`}`],
      ["Where", test.line > 0 ? `${test.file}:${test.line}` : test.file], ["Tags", (test.tags || []).join(", ")],
      ["Answered", test.cached ? "from the result cache; no server was asked" : ""],
      ["Flaky", test.flaky ? "passed only after an attempt that failed" : ""],
      ["Tokens", test.tokens === undefined ? "" : test.tokens.toLocaleString("en")],
      ["Cost", test.tokens === undefined ? "" : money(test.cost_usd)],
      ["Id", el("code", {}, test.id)],
    ]),
    test.doubts ? titled("Passed, but look again", test.doubts.map((text) => el("p", {class: "why"}, worded(text)))) : null,
    reasonPart(test),
    test.repro ? titled("Run it again", plainBlock(test.repro)) : null,
    scorePart(test),
    test.judgement ? titled("Judged", judgementParts(test.judgement)) : null,
    test.assertions.length ? titled(`Assertions (${test.assertions.length})`, assertionList(test.assertions)) : null,
    test.request ? titled("Request", jsonBlock(test.request)) : null,
    test.conversation || test.trials ? null : responsePart(test), // which is what the model said last
    test.graph ? titled("Composition", graphPicture(test.graph, test.critical_path || []),
      el("p", {class: "muted"}, "The thick line is the critical path: what the end waited for."), test.graph.map(nodeFold)) : null,
    test.conversation ? titled("Conversation", conversationParts(test.conversation)) : null,
    trialsPart(test.trials),
    test.verify ? titled("Verified afterwards", test.verify.map(stepFold)) : null,
    attemptsPart(test.attempts),
    hooksPart(test.hooks),
    test.trace ? el("details", {}, el("summary", {}, "The rest of the trace"), jsonBlock(test.trace)) : null,
  ];
}

function reasonPart(test) {
  const failure = test.failure;
  const message = (failure && failure.message) || test.message;
  if (!message && !failure) return null;
  const scorer = failure && failure.scorer_error;
  const stderr = (scorer && scorer.stderr_tail) || (failure && failure.stderr_tail);
  return titled(test.verdict === "fail" ? `Why it failed${failure ? ` (${failure.kind})` : ""}` : "Why",
    el("p", {class: "why"}, worded(message || "")),
    failure && failure.cause && failure.cause.kind === "fails_alone" ? el("p", {}, "run again alone: fails too") : null,
    failure && failure.hint ? el("p", {}, el("strong", {}, "Hint: "), worded(failure.hint)) : null,
    scorer ? factsList([["Scorer", scorer.scorer], ["Scorer's fault", scorer.kind]]) : null, // whose message is the failure's
    stderr ? [el("h4", {}, scorer ? "stderr of the scorer" : "stderr"), plainBlock(stderr)] : null);
}

function scorePart(test) {
  const metrics = test.derived_metrics || [];
  if (test.score === undefined && !metrics.length) return null;
  const rows = metrics.map((metric) => [metric.name, [figure(metric.value),
    metric.threshold === undefined ? " " : `, needs ${figure(metric.threshold)} `,
    metric.passed === undefined ? null : badge(metric.passed ? "pass" : "fail"),
    metric.missing ? ` refers to nothing: ${metric.missing.join(", ")}` : null]]);
  if (test.score !== undefined) {
    const enough = test.score >= test.threshold;
    rows.unshift(["Score", [`${figure(test.score)}, needs ${figure(test.threshold)} `, badge(enough ? "pass" : "fail")]]);
    rows.push(["Reckoned from", test.assertions.filter((row) => !row.implicit).map((row) =>
      `${row.name || `#${row.index}`}: ${row.set ? setScore(row.set) : row.passed ? 1 : row.passed === null ? "deferred" : 0} × weight ${figure(row.weight ?? 1)}`).join("; ")]);
  }
  return titled("Score", factsList(rows));
}

const setScore = (set) => (set.score === null ? "not judged" : figure(set.score));

const assertionList = (rows) => el("ul", {class: "assertions"}, rows.map((row) => el("li", {}, assertionFold(row))));

function assertionFold(row) {
  const state = row.passed === null ? "inconclusive" : row.passed ? "pass" : "fail";
  const about = row.set ? `${row.set.name || "set"}: score ${setScore(row.set)}, needs ${figure(row.set.threshold)}` : row.name || "";
  const title = el("summary", {}, badge(state), row.implicit ? " " : ` #${row.index} `, row.target ? el("code", {}, row.target) : null, about ? ` ${about}` : null,
    row.implicit ? el("span", {class: "muted"}, " expected of every call") : row.weight === undefined ? null : el("span", {class: "muted"}, ` weight ${figure(row.weight)}`));
  return el("details", {open: row.passed !== true}, title,
    row.message ? el("p", {}, worded(row.message)) : null,
    row.pointer ? el("p", {class: "muted"}, "differs first at ", el("code", {}, row.pointer)) : null,
    row.judgement ? judgementParts(row.judgement) : null,
    row.diff ? [el("h4", {}, "Difference"), diffBlock(row.diff)] : null,
    row.set ? assertionList(row.set.assertions) : el("div", {class: "pair"},
      el("div", {}, el("h4", {}, "Expected"), row.matcher ? jsonBlock(row.matcher) : null),
      el("div", {}, el("h4", {}, "Actual"), row.actual === undefined ? el("p", {class: "none"}, "nothing there") : jsonBlock(row.actual))));
}

function responsePart(test) {
  if (test.aside) {
    const size = test.aside.bytes === null || test.aside.bytes === undefined ? "" : ` (${test.aside.bytes.toLocaleString("en")} bytes)`;
    return titled("Response", el("p", {}, "Kept in a file of its own", size, ": ",
      test.aside.path ? el("code", {}, `.mcptest/${test.aside.path}`) : "which could not be written"));
  }
  if (!test.output) return test.request ? titled("Response", el("p", {class: "none"}, "nothing came")) : null;
  return titled("Response", contentTexts(test.output).map((text) => [el("h4", {}, "Text"), plainBlock(text), el("h4", {}, "As it was sent")]), jsonBlock(test.output));
}

function nodeTook(node) {
  const spent = node.tokens === undefined ? [] : [counted(node.tokens, "token"), money(node.cost_usd), node.model];
  const calls = node.calls_total > 1 ? counted(node.calls_total, "call") : "";
  return [node.mocked ? "mocked" : node.frozen ? "frozen" : duration(node.duration_ms), calls, ...spent].filter(Boolean).join(" · ");
}

function nodeFold(node) {
  const title = el("summary", {}, badge(node.status || "?"), " ", el("code", {}, node.id), " ",
    el("span", {class: "muted"}, [node.tool && `${node.server}: ${node.tool}`, node.needs.length && `after ${node.needs.join(", ")}`, nodeTook(node)].filter(Boolean).join(" · ")));
  return el("details", {open: node.status === "err"}, title,
    node.message ? el("p", {class: "why"}, worded(node.message)) : null,
    node.hint ? el("p", {}, el("strong", {}, "Hint: "), worded(node.hint)) : null,
    exchangeParts(node), (node.calls || []).map(callFold));
}

function exchangeParts(call) {
  return [["args", "Arguments"], ["arguments", "Arguments"], ["input", "Arguments"], ["result", "Result"], ["output", "Output"]].map(
    ([key, title]) => (call[key] === undefined ? null : [el("h4", {}, title), jsonBlock(call[key])]));
}

function callFold(call, at) {
  const state = call.status || (call.is_error ? "err" : null);
  const about = [call.name || `call ${at + 1}`, call.server, call.turn === undefined ? "" : `turn ${call.turn}`, call.item === undefined ? "" : `item ${call.item}`, call.iteration === undefined ? "" : `round ${call.iteration}`,
    call.attempt === undefined ? "" : `attempt ${call.attempt}`, duration(call.duration_ms)];
  return el("details", {}, el("summary", {}, state ? [badge(state), " "] : null, about.filter(Boolean).join(" · ")),
    call.message || call.error ? el("p", {class: "why"}, call.message || call.error) : null,
    call.raw ? [el("h4", {}, "Written in place of arguments"), textBlock(call.raw)] : null, exchangeParts(call));
}

function stepFold(step) {
  const title = el("summary", {}, badge(step.verdict), ` #${step.index} ${step.name || step.tool || ""} `,
    el("span", {class: "muted"}, `${step.server} · ${duration(step.duration_ms)}`));
  return el("details", {open: step.verdict === "fail"}, title, step.message ? el("p", {class: "why"}, worded(step.message)) : null,
    step.assertions.length ? assertionList(step.assertions) : null,
    step.request ? [el("h4", {}, "Request"), jsonBlock(step.request)] : null,
    step.output ? [el("h4", {}, "Response"), jsonBlock(step.output)] : null);
}

function attemptsPart(attempts) {
  if (!attempts) return null;
  return titled(`Attempts (${attempts.length})`, el("ol", {}, attempts.map((one) => el("li", {}, badge(one.verdict), ` ${duration(one.duration_ms)}`,
    one.fault ? ` fault: ${one.fault}` : null, one.message ? ` ${one.message}` : null))));
}

function hooksPart(hooks) {
  if (!hooks) return null;
  return titled("Hooks around it", hooks.map((hook) => el("details", {open: !hook.passed},
    el("summary", {}, badge(hook.passed ? "pass" : "fail"), ` ${hook.phase} `, el("code", {}, hook.command)),
    hook.message ? el("p", {}, hook.message) : null, hook.output ? plainBlock(hook.output) : null)));
}

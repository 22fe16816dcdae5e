// What a scorer or a judge made of something, and the conversations of models. What a member means is told in details.py.
const passedBadge = (passed) => badge(passed === true ? "pass" : passed === false ? "fail" : "inconclusive");
const scoreOf = (value) => (value === null || value === undefined ? "" : `: ${figure(value)}`);

function judgedRows(title, rows, about) {
  if (!rows) return null;
  return [el("h4", {}, title), el("ul", {class: "judged"}, rows.map((row, at) => el("li", {}, about(row, at),
    row.reasoning ? el("p", {}, row.reasoning) : null)))];
}

function judgementParts(told) {
  return [
    factsList([["By", told.by === "exec" ? "a scorer" : "a judge"], ["Model", told.model], ["Verdict", badge(told.verdict)],
      ["Score", told.jury ? "" : told.score === undefined ? "" : told.threshold === undefined ? figure(told.score) : `${figure(told.score)}, needs ${figure(told.threshold)}`],
      ["Mean of the jurors", told.jury && told.score !== undefined ? figure(told.score) : ""]]),
    told.reasoning ? textBlock(told.reasoning) : null,
    judgedRows("Criteria", told.criteria, (row) => [passedBadge(row.passed), ` ${row.name}${scoreOf(row.score)}`,
      el("span", {class: "muted"}, row.weight === undefined ? "" : ` weight ${figure(row.weight)}`)]),
    judgedRows("The way through the tree", told.path, (row) => [row.ask, " ", el("strong", {}, row.answer), el("span", {class: "muted"}, ` (${figure(row.score)})`)]),
    judgedRows("Jury", told.jury, (row, at) => [passedBadge(row.passed), ` juror ${at + 1}${row.model ? ` (${row.model})` : ""}${scoreOf(row.score)}`]),
    judgedRows("Calls", told.findings, (row) => [passedBadge(row.ok), ` call ${row.call} `, el("code", {}, row.tool)]),
    told.input ? el("details", {}, el("summary", {}, "What was asked"), textBlock(told.input)) : null,
    told.output ? el("details", {}, el("summary", {}, "What was graded"), textBlock(told.output)) : null,
    told.extra ? el("details", {}, el("summary", {}, "What else the scorer said"), jsonBlock(told.extra)) : null,
  ];
}

function saidFold(call) {
  const about = el("summary", {}, "calls ", el("code", {}, call.name || "?"));
  return el("details", {open: true}, about, exchangeParts(call));
}

function turnItem(turn) {
  const known = ["user", "assistant", "tool"].includes(turn.role) ? turn.role : "";
  return el("li", {class: known}, el("strong", {}, turn.role), turn.name ? [" ", el("code", {}, turn.name)] : null,
    turn.is_error ? [" ", badge("err")] : null,
    turn.content === undefined || valueOf(turn.content)[0] === "" ? null : textBlock(turn.content), (turn.calls || []).map(saidFold));
}

function conversationParts(talk) {
  const tokens = Object.entries(talk.tokens || {}).map(([name, count]) => `${count.toLocaleString("en")} ${name}`).join(", ");
  const ended = talk.stop && talk.stop !== "end" ? talk.stop : "";
  const parts = [factsList([["Model", talk.model], ["Tokens", tokens], ["Ended by", ended]])];
  const system = talk.system === undefined ? null : el("li", {}, el("strong", {}, "system"), textBlock(talk.system));
  if (talk.turns) parts.push(el("ol", {class: "turns"}, system, talk.turns.map(turnItem)));
  if (talk.calls && talk.calls.length) parts.push(el("h4", {}, "Tool calls"), talk.calls.map(callFold));
  const last = talk.turns && talk.turns.length ? talk.turns[talk.turns.length - 1].content : undefined;
  if (talk.final !== undefined && String(last) !== String(talk.final)) parts.push(el("h4", {}, "Final response"), textBlock(talk.final));
  return parts;
}

function trialsPart(trials) {
  if (!trials) return null;
  const passed = trials.filter((one) => one.verdict === "pass").length;
  return titled(`Runs (${passed} of ${trials.length} passed)`, trials.map((one, at) => el("details", {open: one.verdict === "fail" && trials.length < 4},
    el("summary", {}, badge(one.verdict), ` run ${at + 1} `, el("span", {class: "muted"},
      [duration(one.duration_ms), one.tokens === undefined ? "" : counted(one.tokens, "token"), one.tokens === undefined ? "" : money(one.cost_usd)].filter(Boolean).join(" · "))),
    one.message ? el("p", {class: "why"}, worded(one.message)) : null,
    one.conversation ? conversationParts(one.conversation) : null)));
}

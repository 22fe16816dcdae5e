// Building the page: text is always text, because nothing here makes markup of it.
const SVG = "http://www.w3.org/2000/svg";
const MARKS = {pass: "✓", fail: "✗", inconclusive: "?", skip: "–", ok: "✓", err: "✗", skipped: "–"};

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) if (child !== null && child !== undefined && child !== "") element.append(child);
  return element;
}

const el = (name, attributes, ...children) => filled(document.createElement(name), attributes, children);
const svg = (name, attributes, ...children) => filled(document.createElementNS(SVG, name), attributes, children);

function badge(verdict) {
  const kind = {ok: "pass", err: "fail", skipped: "skip"}[verdict] || verdict;
  return el("span", {class: `badge ${kind}`}, el("span", {"aria-hidden": "true"}, MARKS[verdict] || "?"), el("span", {class: "word"}, ` ${verdict}`));
}

// As facts.duration_text writes it.
function duration(ms) {
  if (typeof ms !== "number") return "";
  if (ms < 999.5) return ms >= 1 || ms <= 0 ? `${ms.toFixed(0)}ms` : "<1ms";
  if (ms < 59950) return `${(ms / 1000).toFixed(1)}s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)}m ${String(seconds % 60).padStart(2, "0")}s`;
}

// As compositions.money writes it.
function money(value) {
  if (typeof value !== "number") return "unknown";
  const text = value.toFixed(6);
  if (value && !Number(text)) return "under $0.000001";
  const [whole, part] = text.replace(/0{1,4}$/, "").split(".");
  return `$${Number(whole).toLocaleString("en")}.${part}`;
}

const figure = (value) => (typeof value === "number" ? String(Number(value.toFixed(3))) : String(value));
const counted = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
// A message of ours: what stands between backticks is code.
const worded = (text) => text.split(/`([^`]+)`/).map((part, at) => (at % 2 ? el("code", {}, part) : part));

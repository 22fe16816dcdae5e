// The page: its data, one test opened beside the table, keys, colours.
const columns = JSON.parse(document.getElementById("columns").textContent);
let lines = null;

function detailsOf(at) {
  lines ||= document.getElementById("details").textContent.split("\n");
  return JSON.parse(lines[at]);
}

const bySlug = new Map(columns.slug.map((slug, at) => [slug, at]));
const sheet = el("div", {class: "sheet", tabindex: "0", role: "region", "aria-labelledby": "sheet-title"});
const dialog = el("dialog", {"aria-labelledby": "sheet-title"}, sheet);
const table = new TestTable(columns);
let opened = null;
document.body.append(dialog);

function fragmentTest() {
  if (!location.hash.startsWith("#t-")) return undefined;
  try { return bySlug.get(decodeURIComponent(location.hash.slice(3))); } catch { return undefined; }
}

function follow() {
  const at = fragmentTest();
  if (at === undefined) shut();
  else if (at !== opened || !dialog.open) open(at);
}

function open(at) {
  opened = at;
  const test = detailsOf(at);
  const place = table.rows.indexOf(at);
  const move = (by, title) => el("button", {type: "button", disabled: place < 0 || table.rows[place + by] === undefined, click: () => go(by)}, title);
  const copied = el("span", {role: "status", class: "muted"});
  const copy = el("button", {type: "button", click: () => navigator.clipboard?.writeText(location.href).then(() => { copied.textContent = "copied"; }, () => { copied.textContent = location.hash; })}, "Copy link");
  sheet.replaceChildren(
    el("div", {class: "sheet-head"},
      el("div", {class: "sheet-bar"}, badge(test.verdict), move(-1, "← Previous"), move(1, "Next →"), copy, copied,
        el("button", {type: "button", class: "push", click: shut}, "Close")),
      el("h2", {id: "sheet-title"}, columns.name[at])),
    ...testBody(test).flat(Infinity).filter((part) => part !== null && part !== undefined));
  if (!dialog.open) dialog.showModal();
  sheet.focus();
  sheet.scrollTop = 0;
}

function go(by) {
  const at = table.rows[table.rows.indexOf(opened) + by];
  if (at === undefined || !table.rows.includes(opened)) return;
  history.replaceState(null, "", `#t-${columns.slug[at]}`);
  open(at);
}

// Here and where it is closed, at once: a browser tells of a new fragment and of a dialog's end later, and a key may come before.
document.addEventListener("click", (event) => {
  const link = event.target.closest?.('a[href^="#t-"]');
  if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  history.pushState(null, "", link.hash);
  follow();
});

function shut() {
  if (dialog.open) dialog.close();
  if (opened === null) return;
  const place = table.rows.indexOf(opened);
  opened = null;
  if (location.hash.startsWith("#t-")) history.replaceState(null, "", location.pathname + location.search);
  if (place >= 0) table.focusRow(place);
}
dialog.addEventListener("cancel", (event) => { event.preventDefault(); shut(); });
dialog.addEventListener("close", () => { if (!dialog.open) shut(); });
dialog.addEventListener("click", (event) => { if (event.target === dialog) shut(); });
window.addEventListener("hashchange", follow);

const THEMES = ["auto", "light", "dark"];
function stored(value) {
  try {
    if (value === undefined) return localStorage.getItem("mcptest-theme");
    localStorage.setItem("mcptest-theme", value);
  } catch { /* a browser that keeps nothing */ }
  return null;
}
let theme = THEMES.includes(stored()) ? stored() : "auto";
const themeButton = el("button", {type: "button", click: () => { theme = THEMES[(THEMES.indexOf(theme) + 1) % 3]; stored(theme); paint(); }});
function paint() {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  themeButton.textContent = `Colours: ${theme}`;
}
paint();

// Single keys may be in the way of speech input, so they can be turned off (WCAG 2.2, 2.1.4).
const keysOn = el("input", {type: "checkbox", id: "keys-on"});
keysOn.checked = true;
// On paper nothing can be opened: what is folded is printed open, and folded again afterwards.
const folded = [];
window.addEventListener("beforeprint", () => { for (const one of document.querySelectorAll("main details.fold:not([open])")) { one.open = true; folded.push(one); } });
window.addEventListener("afterprint", () => { for (const one of folded.splice(0)) one.open = false; });
document.getElementById("switches").append(themeButton);
document.getElementById("scroll").after(el("details", {class: "keys"}, el("summary", {}, "Keys"),
  el("p", {}, el("kbd", {}, "/"), " search · ", el("kbd", {}, "j"), " ", el("kbd", {}, "k"), " next and previous test · ", el("kbd", {}, "Enter"), " open · ",
    el("kbd", {}, "f"), " failing only · ", el("kbd", {}, "Esc"), " close, or clear the search"),
  el("p", {}, keysOn, " ", el("label", {for: "keys-on"}, "Use these keys"))));

document.addEventListener("keydown", (event) => {
  const {target} = event;
  if (event.key === "Escape" && dialog.open) { event.preventDefault(); shut(); return; }
  if (event.key === "Escape" && target === table.search) { table.clear(); return; }
  if (event.key === "Enter" && target === table.search) { event.preventDefault(); if (table.rows.length) table.focusRow(0); return; }
  const typing = target instanceof HTMLElement && (target.matches("input:not([type=checkbox]), select, textarea") || target.isContentEditable);
  if (typing || !keysOn.checked || event.ctrlKey || event.metaKey || event.altKey) return;
  const move = {j: 1, k: -1}[event.key];
  if (move) { if (dialog.open) go(move); else table.step(move); }
  else if (event.key === "/" && !dialog.open) { table.search.focus(); table.search.select(); }
  else if (event.key === "f" && !dialog.open) table.want("verdict", table.wanted.verdict === "fail" ? "" : "fail");
  else return;
  event.preventDefault();
});
follow();

// The viewer's own part of every page: colours, copying an address, picking two runs, and keeping up with what happens.
const THEMES = ["auto", "light", "dark"];
const switches = document.getElementById("switches");

function stored(value) {
  try {
    if (value === undefined) return localStorage.getItem("mcptest-theme");
    localStorage.setItem("mcptest-theme", value);
  } catch { /* a browser that keeps nothing */ }
  return null;
}

// A report brings a button of its own.
if (!switches.querySelector("button")) {
  let theme = THEMES.includes(stored()) ? stored() : "auto";
  const button = document.createElement("button");
  button.type = "button";
  const paint = () => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    button.textContent = `Colours: ${theme}`;
  };
  button.addEventListener("click", () => { theme = THEMES[(THEMES.indexOf(theme) + 1) % 3]; stored(theme); paint(); });
  paint();
  switches.append(button);
}

for (const button of document.querySelectorAll("button[data-copy]")) {
  button.hidden = !navigator.clipboard;
  button.addEventListener("click", () => navigator.clipboard.writeText(new URL(button.dataset.copy, location.href).href)
    .then(() => { button.textContent = "Copied"; }, () => { button.textContent = "Not copied"; }));
}

// Of the runs picked, the two last ones stay.
let picks = [];
function showPicks() {
  const button = document.getElementById("compare");
  if (!button) return;
  button.disabled = picks.length !== 2;
  button.textContent = picks.length === 2 ? "Compare these two runs" : `Compare two runs (${picks.length} picked)`;
}
function pick() {
  for (const box of document.querySelectorAll("input[name=run]")) box.checked = picks.includes(box.value);
  showPicks();
}
document.addEventListener("change", (event) => {
  const box = event.target;
  if (!(box instanceof HTMLInputElement) || box.name !== "run") return;
  picks = [...picks.filter((one) => one !== box.value), ...(box.checked ? [box.value] : [])].slice(-2);
  pick();
});
picks = [...document.querySelectorAll("input[name=run]:checked")].map((box) => box.value).slice(-2);
pick();

const told = document.getElementById("live");
const news = new Set();  // the runs that came since the page was loaded
const runIds = (root) => [...root.querySelectorAll("input[name=run]")].map((box) => box.value);

// The page is made on the server alone: what has changed is fetched as a document, in which no script runs.
function fetched(address) {
  return new Promise((done, wrong) => {
    const request = new XMLHttpRequest();
    request.open("GET", address);
    request.responseType = "document";
    request.onload = () => (request.status === 200 && request.response ? done(request.response) : wrong(new Error(request.statusText)));
    request.onerror = () => wrong(new Error("no answer"));
    request.send();
  });
}

async function bringUpToDate() {
  const page = await fetched(location.href);
  const old = document.getElementById("main");
  const before = new Set(runIds(old));
  const focused = document.activeElement;
  const wasIn = old.contains(focused) && focused !== old;
  const open = [...old.querySelectorAll("details[open][id]")].map((one) => one.id);
  const chosen = [...old.querySelectorAll("select[id]")].map((one) => [one.id, one.value]);
  const main = document.adoptNode(page.getElementById("main"));
  old.replaceChildren(...main.childNodes);
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  for (const [id, value] of chosen) { const one = document.getElementById(id); if (one) one.value = value; }
  picks = picks.filter((one) => runIds(old).includes(one));
  pick();
  if (wasIn) again(old, focused)?.focus({preventScroll: true});
  if (before.size) for (const one of runIds(old)) if (!before.has(one)) news.add(one);
  const fresh = [...old.querySelectorAll("input[name=run]")].filter((box) => news.has(box.value));
  for (const box of fresh) box.closest("tr").classList.add("fresh");
  told.textContent = fresh.length ? `${fresh.length} new run${fresh.length === 1 ? "" : "s"}` : "live";
}

function again(root, focused) {
  if (focused.id) return document.getElementById(focused.id);
  const same = (one) => one.getAttribute("href") === focused.getAttribute("href") && one.value === focused.value;
  return [...root.querySelectorAll(focused.localName)].find(same);
}

let source = null;
let waiting = null;
let last = Promise.resolve();  // one after the other: an answer that is overtaken would bring back what was before
function soon() {
  waiting ||= setTimeout(() => { waiting = null; last = last.then(bringUpToDate).catch(() => { told.textContent = "not up to date"; }); }, 100);
}
function listen() {
  let first = source === null;
  source = new EventSource("/events");
  source.addEventListener("ready", () => { told.textContent = "live"; if (!first) soon(); first = false; });
  source.addEventListener("changed", soon);
  source.addEventListener("error", () => { first = false; told.textContent = "the viewer does not answer"; });
}
if (document.documentElement.dataset.live === "yes") {
  listen();
  // A browser opens few connections to one address: a page that nobody looks at needs none.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) { source?.close(); return; }
    if (source?.readyState === EventSource.CLOSED) { listen(); soon(); }
  });
}

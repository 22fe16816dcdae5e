// The table of all tests: searched, filtered, sorted; only the rows that can be seen are in the page once there are many.
const NARROW = window.matchMedia("(max-width: 45rem)");
const rowHeight = () => (NARROW.matches ? 68 : 46);
const ALL_AT_ONCE = 120;
const SPARE_ROWS = 12;
const FEW = 20; // rows that need no window of their own to be scrolled in
const PRINTED_ROWS = 2000;
const VERDICTS = ["fail", "inconclusive", "skip", "pass"];
const STRENGTHS = ["answered", "valid", "shape", "value"];

class TestTable {
  constructor(columns) {
    this.columns = columns;
    this.word = (name, at) => columns.words[columns[name][at]];
    this.count = columns.name.length;
    this.order = Array.from({length: this.count}, (_, at) => at);
    this.rows = this.order;
    this.wanted = {text: "", verdict: "", kind: "", server: "", tag: ""};
    this.sorted = {key: null, down: false};
    this.texts = null;
    this.scroll = document.getElementById("scroll");
    this.table = this.scroll.querySelector("table");
    this.body = this.table.tBodies[0];
    this.told = el("p", {class: "count", role: "status"});
    this.table.classList.add("live");
    this.scroll.classList.toggle("few", this.count <= FEW);
    this.makeHeads();
    this.makeControls();
    this.scroll.addEventListener("scroll", () => this.draw(), {passive: true});
    this.body.addEventListener("click", (event) => this.clicked(event));
    this.scroll.addEventListener("keydown", (event) => this.moved(event));
    window.addEventListener("resize", () => this.draw(true));
    window.addEventListener("beforeprint", () => this.draw(true, true));
    window.addEventListener("afterprint", () => this.draw(true));
    this.apply();
  }

  makeHeads() {
    this.heads = [...this.table.tHead.rows[0].cells];
    for (const head of this.heads) {
      const key = head.dataset.key;
      const word = el("span", {class: "word"}, head.textContent);
      const short = key === "verdict" ? el("span", {class: "short", "aria-hidden": "true"}, "✓✗") : null;
      head.replaceChildren(el("button", {type: "button", click: () => this.sortBy(key)}, word, short, el("span", {class: "arrow", "aria-hidden": "true"})));
    }
    this.cells = this.heads.map((head) => head.dataset.key).filter((key) => key !== "verdict" && key !== "name");
  }

  makeControls() {
    this.search = el("input", {type: "search", placeholder: "Search tests", "aria-label": "Search tests by name, server, tool, tag or reason",
      "aria-keyshortcuts": "/", autocomplete: "off", spellcheck: "false", input: () => this.want("text", this.search.value)});
    this.chips = new Map();
    const tally = new Map();
    for (let at = 0; at < this.count; at += 1) tally.set(this.word("verdict", at), (tally.get(this.word("verdict", at)) || 0) + 1);
    const chips = VERDICTS.filter((verdict) => tally.has(verdict)).map((verdict) => {
      const chip = el("button", {type: "button", "aria-pressed": "false", click: () => this.want("verdict", this.wanted.verdict === verdict ? "" : verdict)},
        `${MARKS[verdict]} ${verdict} ${tally.get(verdict).toLocaleString("en")}`);
      this.chips.set(verdict, chip);
      return chip;
    });
    this.reset = el("button", {type: "button", click: () => this.clear()}, "Clear filters");
    document.getElementById("controls").append(
      el("div", {class: "controls"}, this.search, el("span", {role: "group", "aria-label": "Filter by verdict", class: "controls"}, chips)),
      el("div", {class: "controls"}, this.choices("kind", "Kind"), this.choices("server", "Server"), this.choices("tag", "Tag"), this.reset, this.told));
  }

  choices(name, title) {
    const found = new Set();
    for (let at = 0; at < this.count; at += 1) {
      if (name === "tag") for (const tag of this.columns.tags[at]) found.add(this.columns.words[tag]);
      else found.add(this.word(name, at));
    }
    this.selects ||= [];
    if (found.size < (name === "tag" ? 1 : 2)) return null;
    const select = el("select", {change: () => this.want(name, select.value)}, el("option", {value: ""}, "all"),
      [...found].sort().map((value) => el("option", {value}, value)));
    this.selects.push(select);
    return el("label", {}, title, select);
  }

  want(name, value) {
    this.wanted[name] = value;
    this.apply();
  }

  clear() {
    Object.assign(this.wanted, {text: "", verdict: "", kind: "", server: "", tag: ""});
    this.search.value = "";
    for (const select of this.selects) select.value = "";
    this.apply();
  }

  sortBy(key) {
    const {sorted} = this;
    if (sorted.key !== key) this.sorted = {key, down: key === "took"};
    else this.sorted = sorted.down === (key === "took") ? {key, down: !sorted.down} : {key: null, down: false};
    this.order = Array.from({length: this.count}, (_, at) => at);
    if (this.sorted.key !== null) {
      const values = this.order.map((at) => this.sortValue(key, at));
      const sign = this.sorted.down ? -1 : 1;
      this.order.sort((a, b) => sign * (values[a] < values[b] ? -1 : values[a] > values[b] ? 1 : 0) || a - b);
    }
    this.apply();
  }

  sortValue(key, at) {
    if (key === "took") return this.columns.own[at]; // what was behind another call is not its own
    if (key === "score") return this.columns.score[at] ?? -1;
    if (key === "strength") return STRENGTHS.indexOf(this.word(key, at).split(" ")[0]);
    if (key === "name") return this.columns.name[at].toLowerCase();
    return key === "verdict" ? VERDICTS.indexOf(this.word("verdict", at)) : this.word(key, at);
  }

  haystacks() {
    const {columns} = this;
    return columns.name.map((name, at) => [name, this.word("server", at), this.word("tool", at), this.word("kind", at), columns.note[at],
      columns.tags[at].map((tag) => columns.words[tag]).join(" ")].join("\n").toLowerCase());
  }

  apply() {
    const {wanted, columns} = this;
    const words = wanted.text.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length) this.texts ||= this.haystacks();
    const [verdict, kind, server, tag] = ["verdict", "kind", "server", "tag"].map((name) => (wanted[name] ? columns.words.indexOf(wanted[name]) : -1));
    this.rows = this.order.filter((at) =>
      (verdict < 0 || columns.verdict[at] === verdict) && (kind < 0 || columns.kind[at] === kind) && (server < 0 || columns.server[at] === server) &&
      (tag < 0 || columns.tags[at].includes(tag)) && words.every((word) => this.texts[at].includes(word)));
    for (const [name, chip] of this.chips) chip.setAttribute("aria-pressed", String(wanted.verdict === name));
    for (const head of this.heads) {
      const active = head.dataset.key === this.sorted.key;
      if (active) head.setAttribute("aria-sort", this.sorted.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
      head.querySelector(".arrow").textContent = active ? (this.sorted.down ? " ↓" : " ↑") : "";
    }
    this.reset.disabled = !Object.values(wanted).some(Boolean);
    this.told.textContent = this.rows.length === this.count ? counted(this.count, "test") : `${this.rows.length.toLocaleString("en")} of ${counted(this.count, "test")}`;
    this.scroll.scrollTop = 0;
    this.draw(true);
  }

  draw(anew = false, printing = false) {
    const {rows} = this;
    const whole = rows.length <= ALL_AT_ONCE || printing;
    const first = whole ? 0 : Math.max(0, Math.floor(this.scroll.scrollTop / rowHeight()) - SPARE_ROWS);
    const seen = Math.ceil(this.scroll.clientHeight / rowHeight()) + 2 * SPARE_ROWS;
    const last = whole ? Math.min(rows.length, printing ? PRINTED_ROWS : ALL_AT_ONCE) : Math.min(rows.length, first + seen);
    if (!anew && (whole || (Math.abs(first - this.first) < SPARE_ROWS / 2 && last - first === this.last - this.first))) return;
    [this.first, this.last] = [first, last];
    const focused = this.body.contains(document.activeElement) ? document.activeElement.closest("tr")?.dataset.at : undefined;
    const drawn = rows.slice(first, last).map((at, index) => this.row(at, first + index));
    if (!rows.length) drawn.push(el("tr", {}, el("td", {class: "empty", colspan: this.heads.length}, "No test matches.")));
    this.body.replaceChildren(...[this.gap(first), ...drawn, printing ? this.cut(rows.length - last) : this.gap(rows.length - last)].filter(Boolean));
    this.table.setAttribute("aria-rowcount", rows.length + 1);
    if (focused !== undefined) this.body.querySelector(`tr[data-at="${focused}"] a`)?.focus({preventScroll: true});
  }

  gap(count) {
    if (!count) return null;
    const row = el("tr", {class: "gap", "aria-hidden": "true"}, el("td", {colspan: this.heads.length}));
    row.style.height = `${count * rowHeight()}px`;
    return row;
  }

  cut(count) {
    return count ? el("tr", {}, el("td", {colspan: this.heads.length}, `${count.toLocaleString("en")} more are not printed; the run record has them.`)) : null;
  }

  row(at, place) {
    const {columns} = this;
    const where = [this.word("tool", at), this.word("strength", at)].filter(Boolean).join(" · ");
    const note = columns.note[at];
    return el("tr", {class: "row", "data-at": String(at), "aria-rowindex": String(place + 2)},
      el("td", {class: "c-verdict"}, badge(this.word("verdict", at))),
      el("th", {class: "c-name", scope: "row"}, el("a", {class: "name", href: `#t-${columns.slug[at]}`, title: columns.name[at]}, columns.name[at]),
        note || where ? el("span", {class: note ? "sub" : "sub where", title: note || where}, where ? el("span", {class: "where"}, `${where} `) : null, note || null) : null),
      this.cells.map((key) => this.cell(key, at)));
  }

  cell(key, at) {
    const {columns} = this;
    if (key === "score") return el("td", {class: "c-score num"}, columns.score[at] === null ? "" : figure(columns.score[at]));
    if (key === "took") return el("td", {class: "c-took num"}, duration(columns.took[at]));
    const word = this.word(key, at);
    return el("td", {class: `c-${key}`, title: word}, key === "tool" && word ? el("code", {}, word) : word);
  }

  // Anywhere in a row, unless somebody is selecting its text; the link in it is what keys and screen readers use.
  clicked(event) {
    const link = event.target.closest("tr.row")?.querySelector("a");
    if (link && !event.target.closest("a") && getSelection().isCollapsed) link.click();
  }

  moved(event) {
    const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey || !this.body.contains(event.target)) return;
    event.preventDefault();
    this.step(step);
  }

  step(by) {
    if (!this.rows.length) return;
    const row = document.activeElement?.closest?.("tr.row");
    const now = row && this.body.contains(row) ? this.rows.indexOf(Number(row.dataset.at)) : -1;
    this.focusRow(now < 0 ? (by > 0 ? 0 : this.rows.length - 1) : Math.min(Math.max(now + by, 0), this.rows.length - 1));
  }

  focusRow(place) {
    const {scroll} = this;
    const top = place * rowHeight();
    const room = scroll.clientHeight - 2 * rowHeight();
    if (top < scroll.scrollTop) scroll.scrollTop = top;
    else if (top > scroll.scrollTop + room) scroll.scrollTop = top - room;
    this.draw(this.rows.length > ALL_AT_ONCE);
    const link = this.body.querySelector(`tr[data-at="${this.rows[place]}"] a`);
    link?.focus({preventScroll: true});
    (this.count <= FEW ? link?.closest("tr") : scroll)?.scrollIntoView({block: "nearest"});
  }
}

// JSON text on several lines. The text is laid out as it is and never parsed to numbers, so each stands as it was sent.
const TOKENS = /"(?:[^"\\]|\\.)*"?|[{}[\],:]|[^\s{}[\],:"]+/g;
const MANY_CHARACTERS = 200000;

function laidOut(text) {
  const parts = [];
  let depth = 0;
  const tokens = text.match(TOKENS) || [];
  const line = () => `\n${"  ".repeat(Math.min(depth, 60))}`;
  tokens.forEach((token, at) => {
    const next = tokens[at + 1];
    if (token === "{" || token === "[") {
      depth += 1;
      parts.push([token]);
      if (next !== "}" && next !== "]") parts.push([line()]);
    } else if (token === "}" || token === "]") {
      depth -= 1;
      const before = tokens[at - 1];
      if (before !== "{" && before !== "[") parts.push([line()]);
      parts.push([token]);
    } else if (token === ",") parts.push([token + line()]);
    else if (token === ":") parts.push([": "]);
    else if (token[0] === '"') parts.push([token, next === ":" ? "j-key" : "j-text"]);
    else parts.push([token, "j-word"]);
  });
  return parts;
}

// A value's text and, where it was cut, its length, out of its line in the page; values.py writes it.
let valueLines = null;
function valueOf(number) {
  valueLines ||= document.getElementById("values").textContent.split("\n");
  const [mark, length, plain] = /^(?:~(\d+)~)?(T?)/.exec(valueLines[number - 1]);
  const text = valueLines[number - 1].slice(mark.length);
  return [plain ? JSON.parse(text) : unmarked(text), length === undefined ? null : Number(length)];
}

const SIGNS = {26: "&", "3c": "<", "3e": ">"};
const unmarked = (text) => (text.includes("\\u00") ? text.replace(/\\(?:u00(26|3c|3e)|[^])/g, (escape, code) => SIGNS[code] || escape) : text);

function jsonBlock(number) {
  const [text, length] = valueOf(number);
  const block = el("pre", {tabindex: "0"});
  if (text.length > MANY_CHARACTERS) block.append(laidOut(text).map(([part]) => part).join(""));
  else for (const [part, kind] of laidOut(text)) block.append(kind ? el("span", {class: kind}, part) : part);
  return [block, cutNote(length)];
}

const plainBlock = (text) => el("pre", {tabindex: "0"}, text);

function textBlock(number) {
  const [text, length] = valueOf(number);
  return [plainBlock(text), cutNote(length)];
}

function cutNote(length) {
  if (length === null) return null;
  const told = `Cut here: the value has ${length.toLocaleString("en")} characters, and the run record has all of them.`;
  return el("p", {class: "note"}, told);
}

function diffBlock(text) {
  const block = el("pre", {class: "diff", tabindex: "0"});
  for (const line of text.split("\n")) {
    block.append(el("span", {class: {"+": "add", "-": "del", "@": "hunk"}[line[0]]}, `${line}\n`));
  }
  return block;
}

// The texts of a result's content, which as JSON would be one long line.
function contentTexts(output) {
  let value = null;
  try { value = JSON.parse(valueOf(output)[0]); } catch { return []; }
  const content = value && value.result && value.result.content;
  if (!Array.isArray(content)) return [];
  return content.filter((part) => part && typeof part.text === "string" && part.text.includes("\n")).map((part) => part.text);
}

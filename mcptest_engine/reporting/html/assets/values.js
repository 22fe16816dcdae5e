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

function jsonBlock(value) {
  const [text, length = null] = value;
  const block = el("pre", {tabindex: "0"});
  if (text.length > MANY_CHARACTERS) block.append(laidOut(text).map(([part]) => part).join(""));
  else for (const [part, kind] of laidOut(text)) block.append(kind ? el("span", {class: kind}, part) : part);
  return [block, cutNote(length)];
}

function textBlock(value) {
  const [text, length = null] = value;
  return [el("pre", {tabindex: "0"}, text), cutNote(length)];
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
  try { value = JSON.parse(output[0]); } catch { return []; }
  const content = value && value.result && value.result.content;
  if (!Array.isArray(content)) return [];
  return content.filter((part) => part && typeof part.text === "string" && part.text.includes("\n")).map((part) => part.text);
}

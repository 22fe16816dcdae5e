// A composition's graph in layers from left to right: a node stands right of all that it needs. A line that passes layers by
// has a place of its own in each of them, so that it crosses no node.
const BOX = {width: 164, height: 48, across: 48, down: 18, edge: 14};
const FEW_NODES = 300;

function depthsOf(nodes) {
  const known = new Set(nodes.map((node) => node.id));
  const depths = new Map();
  // Rounds, not recursion: a graph may be deep. More rounds than there are nodes would mean a cycle.
  for (let round = 0, moved = true; moved && round <= nodes.length; round += 1) {
    moved = false;
    for (const node of nodes) {
      const above = node.needs.filter((id) => known.has(id)).map((id) => depths.get(id) ?? 0);
      const depth = Math.min(above.length ? Math.max(...above) + 1 : 0, nodes.length);
      if (depths.get(node.id) !== depth) { depths.set(node.id, depth); moved = true; }
    }
  }
  return depths;
}

// Layers of {key, above, node}, `node` null where only a line passes; and of each line the keys that it goes through.
function layersOf(nodes) {
  const depths = depthsOf(nodes);
  const layers = [];
  const lines = [];
  const put = (depth, item) => { (layers[depth] ||= []).push(item); return item.key; };
  for (const node of nodes) put(depths.get(node.id), {key: node.id, above: [], node});
  const items = new Map(layers.flat().map((item) => [item.key, item]));
  for (const node of nodes) {
    for (const id of node.needs) {
      if (!depths.has(id)) continue;
      const keys = [id];
      for (let depth = depths.get(id) + 1; depth < depths.get(node.id); depth += 1) {
        keys.push(put(depth, {key: JSON.stringify([id, node.id, depth]), above: [keys[keys.length - 1]], node: null}));
      }
      items.get(node.id).above.push(keys[keys.length - 1]);
      lines.push({keys: [...keys, node.id], from: id, to: node.id});
    }
  }
  return [layers.filter(Boolean), lines];
}

function placesOf(layers) {
  const places = new Map();
  const tall = (item) => (item.node ? BOX.height : 10) + BOX.down;
  const heights = layers.map((layer) => layer.reduce((sum, item) => sum + tall(item), 0));
  layers.forEach((layer, column) => {
    const middle = (item) => {
      const above = item.above.filter((key) => places.has(key)).map((key) => places.get(key).y);
      return above.length ? above.reduce((sum, y) => sum + y, 0) / above.length : 0;
    };
    let y = BOX.edge + (Math.max(...heights) - heights[column]) / 2;
    for (const item of column ? [...layer].sort((a, b) => middle(a) - middle(b)) : layer) {
      const x = BOX.edge + column * (BOX.width + BOX.across);
      places.set(item.key, {x, y: y + (tall(item) - BOX.down) / 2, node: item.node});
      y += tall(item);
    }
  });
  return [places, Math.max(...heights) - BOX.down + 2 * BOX.edge];
}

function pathOf(keys, places) {
  const stops = keys.map((key) => places.get(key));
  let path = `M${stops[0].x + BOX.width} ${stops[0].y}`;
  stops.slice(1).forEach((to, at) => {
    const dy = to.y - stops[at].y;
    path += `c${BOX.across / 2} 0 ${BOX.across / 2} ${dy} ${BOX.across} ${dy}`;
    if (!to.node) path += `h${BOX.width}`;
  });
  return path;
}

const shortened = (text, length) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);

function graphPicture(nodes, critical) {
  if (nodes.length > FEW_NODES) return el("p", {class: "note"}, `A graph of ${nodes.length} nodes is not drawn; they are listed below.`);
  const [layers, lines] = layersOf(nodes);
  const [places, height] = placesOf(layers);
  const width = 2 * BOX.edge + layers.length * BOX.width + (layers.length - 1) * BOX.across;
  const picture = svg("svg", {viewBox: `0 0 ${width} ${height}`, width, height, role: "img"});
  const told = nodes.map((node) => `${node.id} ${node.status}${node.needs.length ? ` after ${node.needs.join(" and ")}` : ""}`);
  picture.append(svg("title", {}, `Graph of ${counted(nodes.length, "node")}: ${told.join(", ")}`));
  for (const {keys, from, to} of lines) {
    const onPath = critical.includes(from) && critical[critical.indexOf(from) + 1] === to;
    picture.append(svg("path", {class: onPath ? "edge critical" : "edge", d: pathOf(keys, places)}));
  }
  for (const {node, x, y} of places.values()) if (node) picture.append(nodePicture(node, x, y - BOX.height / 2));
  return el("div", {class: "graph", tabindex: "0", role: "region", "aria-label": "Composition graph"}, picture);
}

function nodePicture(node, x, y) {
  const state = ["ok", "err", "skipped"].includes(node.status) ? node.status : "";
  const took = node.mocked ? "mocked" : node.frozen ? "frozen" : duration(node.duration_ms);
  const called = [node.tool ? shortened(node.tool, took ? 15 : 22) : "", took].filter(Boolean).join(" · ");
  return svg("g", {class: `node ${state}`, transform: `translate(${x} ${y})`},
    svg("rect", {width: BOX.width, height: BOX.height, rx: 7}),
    svg("text", {x: 11, y: 20}, `${MARKS[node.status] || "?"} ${shortened(node.id, 17)}`),
    svg("text", {x: 11, y: 37, class: "small"}, called));
}

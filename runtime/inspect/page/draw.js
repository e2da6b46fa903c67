// The picture: SVG elements made from a layout. Text from the model only ever becomes text nodes.

const canvas = document.getElementById("canvas");
const scene = document.getElementById("scene");

function make(tag, attributes, parent, text) {
  const element = document.createElementNS(canvas.namespaceURI, tag);
  for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  if (parent) parent.append(element);
  return element;
}

/** About `width` pixels of text at `size` pixels. The start of a name is cut, for its end tells layers apart. */
function clipped(text, width, size, keepStart) {
  const characters = [...text];
  const most = Math.floor(width / (size * 0.56));
  if (characters.length <= most) return text;
  if (keepStart) return characters.slice(0, most - 1).join("") + "…";
  return "…" + characters.slice(characters.length - most + 1).join("");
}

function kindOf(node) {
  if (node.inserted && node.op === "first") return "transfer";
  if (["scatter", "replicate", "gather", "transfer", "reduce"].includes(node.op)) return node.op;
  if (node.inserted) return "other";
  return node.op === "input" || node.op === "output" ? "end" : "layer";
}

/** A name without the part that the innermost frame around it shows already. */
function nameWithin(name, open) {
  const group = open[open.length - 1];
  return group && name.startsWith(group + ".") ? name.slice(group.length + 1) : name;
}

function draw(picture) {
  scene.replaceChildren();
  for (const device of [...new Set(picture.lanes.map((lane) => lane.device))]) drawDevice(picture, device);
  for (const group of picture.groups) drawGroup(group);
  const edges = make("g", {}, scene);
  const nodes = make("g", {}, scene);
  const sizes = make("g", {}, scene);
  const labelled = new Set();
  for (const edge of picture.edges) drawEdge(picture, edge, edges, sizes, labelled);
  for (const node of picture.nodes) drawNode(node, nodes);
}

function drawDevice(picture, device) {
  const lanes = picture.lanes.filter((lane) => lane.device === device);
  const left = lanes[0].x, last = lanes[lanes.length - 1];
  const box = make("g", {class: "device"}, scene);
  make("rect", {x: left, y: 0, width: last.x + last.width - left, height: picture.height, rx: 12}, box);
  make("text", {x: left + 16, y: 24}, box, clipped(device, last.x + last.width - left - 30, 15));
  for (const lane of lanes)
    if (lane.replicas.length)
      make("text", {x: lane.x + 16, y: 43, class: "lane"}, box, "replica " + lane.replicas.join(", "));
  if (data.each_replica.includes(device)) make("text", {x: left + 16, y: 43, class: "lane"}, box, "each replica");
}

function drawGroup(group) {
  const frame = make("g", {class: "group", "data-group": group.name}, scene);
  make("title", {}, frame, "Fold " + group.name);
  make("rect", {x: group.x, y: group.y, width: group.width, height: group.height, rx: 8}, frame);
  const name = nameWithin(group.name, group.parent ? [group.parent] : []);
  make("text", {x: group.x + 8, y: group.y + 14}, frame, "▾ " + clipped(name, group.width - 24, 11));
}

function drawNode(node, parent) {
  const leaf = node.leaf;
  const kind = node.group === undefined ? kindOf(leaf) : "folded";
  const box = make("g", {class: "node " + kind, tabindex: 0, "data-key": node.key,
    transform: `translate(${node.x} ${node.y})`}, parent);
  if (node.group !== undefined) {
    make("title", {}, box, "Unfold " + node.group);
    box.setAttribute("data-group", node.group);
    make("rect", {x: 5, y: 5, width: NODE_WIDTH, height: NODE_HEIGHT, rx: 8}, box);
  } else {
    make("title", {}, box, leaf.reason || (leaf.layer || leaf.name) + " on " + leaf.device);
    box.setAttribute("data-id", leaf.id);
  }
  make("rect", {class: "card", width: NODE_WIDTH, height: NODE_HEIGHT, rx: 8}, box);
  const [first, second] = node.group === undefined
    ? [leaf.op, leaf.inserted ? "moves " + leaf.moved : leaf.name || nameWithin(leaf.layer, node.open)]
    : ["▸ " + nameWithin(node.group, node.open), node.members.length + " layers"];
  make("text", {class: "op", x: 10, y: 18}, box, clipped(first, NODE_WIDTH - 18, 12.5));
  make("text", {class: "name", x: 10, y: 34}, box, clipped(second, NODE_WIDTH - 18, 11, leaf.inserted));
}

/** Size labels stand in two lines: what it is, and its bytes. */
function drawSize(edge, x, y, anchor, parent) {
  const text = make("text", {class: "size", "text-anchor": anchor}, parent);
  make("tspan", {x, y}, text, edge.what);
  make("tspan", {x, y: y + 11}, text, edge.size);
}

function drawEdge(picture, edge, parent, sizes, labelled) {
  const {from, to} = edge;
  const across = from.lane !== to.lane;
  // Parameters leave and arrive at the right of the middle; what comes from other lanes arrives on its side.
  const aside = edge.parameter ? 46 : across ? (from.x < to.x ? -46 : 46) : from.slot === to.slot ? 0 : Math.sign(from.x - to.x) * 24;
  const x1 = from.x + NODE_WIDTH / 2 + (edge.parameter ? 46 : edge.track >= 0 ? 60 : 0);
  const y1 = from.y + NODE_HEIGHT + (from.group === undefined ? 0 : 5);
  const x2 = to.x + NODE_WIDTH / 2 + (edge.track >= 0 && !across ? 46 : aside), y2 = to.y - 1;
  const top = across || edge.drops ? Math.min(to.frameTop, y2) : y2;
  const ending = top < y2 - 2 ? ` L${x2} ${y2}` : "";
  let path;
  if (edge.back) {
    path = `M${x1} ${y1} C${x1} ${y1 + 60} ${x2} ${y2 - 60} ${x2} ${y2}`;
  } else if (edge.drops) {
    const lane = picture.lanes[from.lane];
    const beside = lane.x + LANE_PADDING + (edge.slot + 1) * (NODE_WIDTH + SLOT_GAP) - SLOT_GAP + 18 + edge.track * TRACK;
    const xt = edge.track >= 0 ? beside : x1, yt = top - ROW_GAP + 10;
    path = `M${x1} ${y1} C${x1} ${y1 + 22} ${xt} ${y1 + 6} ${xt} ${y1 + 34} L${xt} ${yt}` +
      ` C${xt} ${yt + 30} ${x2} ${top - 30} ${x2} ${top}` + ending;
  } else {
    const bend = Math.max(18, (top - y1) / 2);
    path = `M${x1} ${y1} C${x1} ${y1 + bend} ${x2} ${top - bend} ${x2} ${top}` + ending;
  }
  const line = make("g", {class: "edge" + (edge.parameter ? " parameter" : "") + (edge.back ? " back" : ""),
    "data-from": from.key, "data-to": to.key}, parent);
  make("title", {}, line, edge.what + ", " + edge.size);
  make("path", {d: path}, line);

  // One label below what a node hands on; where it fans out to other lanes, one above each user instead.
  const fans = across && new Set(from.users).size > 1;
  const atTarget = fans || edge.parameter;
  const key = JSON.stringify([atTarget ? to.key : from.key, edge.value, edge.parameter]);
  if (labelled.has(key)) return;
  labelled.add(key);
  if (atTarget) drawSize(edge, x2 + (aside < 0 ? -5 : 5), to.frameTop - 14, aside < 0 ? "end" : "start", sizes);
  else drawSize(edge, from.x + NODE_WIDTH / 2 + 6, y1 + 14, "start", sizes);
}

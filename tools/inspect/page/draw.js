// The picture: SVG elements made from a layout. Text from the model only ever becomes text nodes.

const canvas = document.getElementById("canvas");
const scene = document.getElementById("scene");

/** A layer's name without the part that the innermost module's frame around it shows already. */
function nameWithin(name, open) {
  const modules = open.map((id) => tree.groups.get(id)).filter((group) => group.kind === "folded");
  const around = modules.length ? modules[modules.length - 1].label : "";
  if (name === around) return name.slice(name.lastIndexOf(".") + 1);
  return around && name.startsWith(around + ".") ? name.slice(around.length + 1) : name;
}

/** The two lines of a folded group. */
function foldedText(box) {
  const {label, kind, steps, layers, suffix} = tree.groups.get(box.group);
  const moved = box.members.map((node) => node.bytes_moved);
  const mine = new Set(box.members.map((node) => node.layer)).size;
  const count = kind === "folded" || kind === "update" ? (layers.size > 1 ? mine + " layers" : steps.size + " steps") + (suffix || "")
    : "× " + box.members.length + (moved.every(Number.isFinite) ? ", moves " + bytesText(moved.reduce((a, b) => a + b, 0)) : "");
  return ["▸ " + (kind === "folded" ? nameWithin(label, box.open) : label), count];
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
  const {label, kind, suffix} = tree.groups.get(group.name);
  const frame = make("g", {class: "group", "data-group": group.name}, scene);
  make("title", {}, frame, "Fold " + label);
  make("rect", {x: group.x, y: group.y, width: group.width, height: group.height, rx: 8}, frame);
  const name = kind === "folded" ? nameWithin(label, group.around) + (group.around.length ? "" : suffix || "") : label;
  make("text", {x: group.x + 8, y: group.y + 14}, frame, "▾ " + clipped(name, group.width - 24, 11));
}

/** How nodes of a group changed, if the page shows a difference of two plans: "+2 −1 ~3". */
function changesText(members) {
  const count = (change) => members.filter((node) => node.change === change).length;
  return [["added", "+"], ["removed", "−"], ["changed", "~"]].map(([change, sign]) => count(change) ? sign + count(change) : "")
    .filter(Boolean).join(" ");
}

function drawNode(node, parent) {
  const leaf = node.leaf, folded = node.group !== undefined;
  const kind = folded ? tree.groups.get(node.group).kind : kindOf(leaf);
  const [first, second] = folded ? foldedText(node)
    : [leaf.op, leaf.inserted ? "moves " + leaf.moved : leaf.name || nameWithin(leaf.layer, node.open)];
  const changes = folded ? changesText(node.members) : "";
  const box = make("g", {class: ["node", kind, folded ? "" : leaf.change].filter(Boolean).join(" "), tabindex: -1, role: "button",
    "data-key": node.key, transform: `translate(${node.x} ${node.y})`}, parent);
  if (folded) {
    box.setAttribute("aria-label", `Unfold ${first.slice(2)} on ${leaf.device}, ${second}`);
    make("title", {}, box, "Unfold " + tree.groups.get(node.group).label);
    box.setAttribute("data-group", node.group);
    make("rect", {x: 5, y: 5, width: NODE_WIDTH, height: NODE_HEIGHT, rx: 8}, box);
  } else {
    box.setAttribute("aria-label", titleOf(leaf));
    make("title", {}, box, leaf.reason || titleOf(leaf));
    box.setAttribute("data-id", leaf.id);
  }
  make("rect", {class: "card", width: NODE_WIDTH, height: NODE_HEIGHT, rx: 8}, box);
  make("text", {class: "op", x: 10, y: 18}, box, clipped(first, NODE_WIDTH - 18 - 7 * changes.length, 12.5));
  make("text", {class: "name", x: 10, y: 34}, box, clipped(second, NODE_WIDTH - 18, 11, folded || leaf.inserted));
  const badge = folded ? changes : {added: "+", removed: "−", changed: "~"}[leaf.change] || "";
  if (badge) make("text", {class: "badge", x: NODE_WIDTH - 8, y: 18, "text-anchor": "end"}, box, badge);
}

/** Size labels have two lines: what it is, and its bytes. */
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
  const line = make("g", {class: "edge" + (edge.parameter ? " parameter" : "") + (edge.back ? " back" : "") + (edge.stash ? " stash" : ""),
    "data-from": from.key, "data-to": to.key}, parent);
  make("title", {}, line, [edge.what, edge.size].filter(Boolean).join(", ") + (edge.stash ? ", kept for the backward pass" : ""));
  make("path", {d: path}, line);

  if (edge.stash) return;
  // One label below a node's result; if it fans out to other lanes, one above each user instead.
  const fans = across && new Set(from.users).size > 1;
  const atTarget = fans || edge.parameter;
  const place = JSON.stringify(atTarget ? [to.key, aside] : from.key);
  if (labelled.has(place)) return;  // hovering and the panel tell more
  labelled.add(place);
  if (atTarget) drawSize(edge, x2 + (aside < 0 ? -5 : 5), to.frameTop - 14, aside < 0 ? "end" : "start", sizes);
  else drawSize(edge, from.x + NODE_WIDTH / 2 + 6, y1 + 14, "start", sizes);
}

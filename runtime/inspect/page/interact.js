// Folding, searching, details, zooming and panning.

const data = JSON.parse(document.getElementById("data").textContent);
const tree = new Tree(data);
const panel = document.getElementById("panel");
const search = document.getElementById("search");
const view = {x: 0, y: 0, scale: 1};
let picture = null;
let hits = [];
let hit = -1;
let chosen = null;

function show() {
  picture = layout(tree, tree.visible());
  draw(picture);
  mark();
}

function applyView() {
  scene.setAttribute("transform", `translate(${view.x} ${view.y}) scale(${view.scale})`);
}

/** The whole width, or the whole picture if that stays legible. */
function fit(everything) {
  const {width, height} = canvas.getBoundingClientRect();
  const wide = (width - 40) / picture.width, tall = (height - 40) / picture.height;
  view.scale = Math.min(1.25, everything ? Math.min(wide, tall) : Math.max(Math.min(wide, tall), Math.min(wide, 0.8)));
  view.x = Math.max(20, (width - picture.width * view.scale) / 2);
  view.y = 20;
  applyView();
}

function zoom(factor, x, y) {
  const scale = Math.min(4, Math.max(0.05, view.scale * factor));
  view.x = x - ((x - view.x) * scale) / view.scale;
  view.y = y - ((y - view.y) * scale) / view.scale;
  view.scale = scale;
  applyView();
}

function zoomMiddle(factor) {
  const {width, height} = canvas.getBoundingClientRect();
  zoom(factor, width / 2, height / 2);
}

/** Folds or unfolds so that what was clicked stays where it is on the screen. */
function toggle(group, element) {
  const before = element.getBoundingClientRect();
  tree.toggle(group);
  show();
  const after = [...scene.querySelectorAll("[data-group]")].find((other) => other.getAttribute("data-group") === group);
  if (!after) return;
  view.x += before.left - after.getBoundingClientRect().left;
  view.y += before.top - after.getBoundingClientRect().top;
  applyView();
}

/** Marks search hits, the chosen node and its edges. */
function mark() {
  const found = new Set(hits.map((node) => node.id));
  const boxes = new Map(picture.nodes.map((node) => [node.key, node]));
  for (const element of scene.querySelectorAll(".node")) {
    const members = boxes.get(element.getAttribute("data-key")).members;
    element.classList.toggle("hit", members.some((node) => found.has(node.id)));
    element.classList.toggle("chosen", chosen === element.getAttribute("data-key"));
  }
  for (const element of scene.querySelectorAll(".edge")) {
    const touches = [element.getAttribute("data-from"), element.getAttribute("data-to")].includes(chosen);
    element.classList.toggle("lit", touches);
    element.classList.toggle("faded", chosen !== null && !touches);
  }
}

function fact(list, name, value, kind) {
  if (value === undefined || value === null || value === "") return;
  const term = document.createElement("dt"), text = document.createElement("dd");
  term.textContent = name;
  text.textContent = value;
  if (kind) text.className = kind;
  list.append(term, text);
}

function describe(box) {
  const node = box.leaf;
  chosen = box.key;
  panel.querySelector("h2").textContent = node.op + (node.name ? " " + node.name : "");
  const list = panel.querySelector("dl");
  list.replaceChildren();
  fact(list, "reason", node.reason, "reason");
  fact(list, "layer", node.layer);
  fact(list, "device", node.device + (node.replica === undefined ? "" : ", replica " + node.replica));
  fact(list, "result", node.result);
  fact(list, "moved between devices", node.moved);
  fact(list, "chunks", (node.chunks || []).join(", "));
  fact(list, "parameters", node.parameters);
  const line = (id, edge) => {
    const other = tree.byId.get(id);
    return `${other.op} ${other.layer || other.name}${other.replica === undefined ? "" : " #" + other.replica}: ${edge.what}, ${edge.size}`;
  };
  const sides = {takes: (edge) => edge.to === node.id && line(edge.from, edge),
                 "gives to": (edge) => edge.from === node.id && line(edge.to, edge)};
  for (const [side, of] of Object.entries(sides)) fact(list, side, data.edges.map(of).filter(Boolean).join("\n"));
  const attributes = Object.entries(node.attributes || {});
  fact(list, "attributes", attributes.map(([name, value]) => `${name} = ${JSON.stringify(value)}`).join("\n"));
  panel.hidden = false;
  mark();
}

function closePanel() {
  panel.hidden = true;
  chosen = null;
  mark();
}

function activate(element) {
  const group = element.getAttribute("data-group");
  if (group !== null) return toggle(group, element);
  describe(picture.nodes.find((node) => node.key === element.getAttribute("data-key")));
}

function find(text) {
  const wanted = text.trim().toLowerCase();
  const matches = (node) => [node.op, node.layer, node.name, node.device, node.reason]
    .some((field) => field && field.toLowerCase().includes(wanted));
  hits = wanted ? data.nodes.filter(matches) : [];
  hit = -1;
  for (const node of hits) tree.reveal(node.id);
  document.getElementById("hits").textContent = wanted ? (hits.length === 1 ? "1 match" : hits.length + " matches") : "";
  show();
  if (hits.length) nextHit();
}

function nextHit() {
  if (!hits.length) return;
  hit = (hit + 1) % hits.length;
  const box = picture.nodes.find((node) => node.members.includes(hits[hit]));
  const {width, height} = canvas.getBoundingClientRect();
  view.x = width / 2 - (box.x + NODE_WIDTH / 2) * view.scale;
  view.y = height / 2 - (box.y + NODE_HEIGHT / 2) * view.scale;
  applyView();
}

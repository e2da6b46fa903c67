// The selection: nodes of the graph, and their counterparts in the memory chart and the timeline.

let chosen = new Set();  // ids of nodes

/** Marks search hits, the chosen nodes and their edges; one box can be reached with Tab, the arrow keys lead to the others. */
function mark() {
  const found = new Set(hits.map((node) => node.id));
  const current = hits[hit];
  const boxes = new Map(picture.nodes.map((node) => [node.key, node]));
  const lit = new Set();
  let reachable = null;
  for (const element of scene.querySelectorAll(".node")) {
    const {key, members} = boxes.get(element.getAttribute("data-key"));
    const here = members.some((node) => chosen.has(node.id));
    if (here) lit.add(key);
    element.classList.toggle("hit", members.some((node) => found.has(node.id)));
    element.classList.toggle("current", current !== undefined && members.includes(current));
    element.classList.toggle("chosen", here);
    element.setAttribute("tabindex", -1);
    if (!reachable || (here && !reachable.classList.contains("chosen"))) reachable = element;
  }
  if (reachable) reachable.setAttribute("tabindex", 0);
  for (const element of scene.querySelectorAll(".edge")) {
    const touches = lit.has(element.getAttribute("data-from")) || lit.has(element.getAttribute("data-to"));
    element.classList.toggle("lit", touches);
    element.classList.toggle("faded", lit.size > 0 && !touches);
  }
}

/** Chooses nodes by id; `work` is what to light elsewhere (default: what the first of them does). */
function choose(ids, work) {
  chosen = new Set(ids);
  mark();
  const [first] = ids;
  const what = work || (first === undefined ? null : workOf(tree.byId.get(first)));
  if (timeline) timeline.light(what);
  if (memory) memory.light(what);
}

/** Shows, chooses and describes a node wherever it is. */
function chooseNode(node, byKeyboard) {
  if (boxOf(node).group !== undefined) {
    tree.reveal(node.id);
    show();
  }
  choose([node.id]);
  describeNode(node, byKeyboard);
  centre(boxOf(node), true);
}

/** Shows the nodes that an executed operation stands for, as far as the current folding does. */
function chooseWork(work) {
  const nodes = nodesOf(work);
  choose(nodes.map((node) => node.id), work);
  if (nodes.length) centre(boxOf(nodes[0]), true);
  return nodes;
}

let executed = null;  // "layer op" of all executed operations that the page knows of

function isExecuted(layer, op) {
  if (!executed) {
    executed = new Set();
    for (const lane of data.memory || []) for (const operation of lane.operations) executed.add(operation.layer + " " + operation.op);
    if (timeline) data.timeline.begin.forEach((_, i) => executed.add(timeline.layer(i) + " " + timeline.op(i)));
  }
  return executed.has(layer + " " + op);
}

/** What a node does, in the words of executed operations: {layer, op, replica, phase}; without an op where none has its name. */
function workOf(node) {
  const layer = node.computed_with || node.layer;
  return {layer, op: node.inserted || isExecuted(layer, node.op) ? node.op : "", replica: node.replica, phase: node.phase};
}

function phaseOf(op) {
  if (!data.phases) return undefined;
  return operationOf(op).phase || "";
}

/** Whether an executed operation (of a layer and replica, -1: none) does the work of a node. */
function doesWork(work, layer, op, replica) {
  if (work === null || !layer || layer !== work.layer) return false;
  if (work.replica !== undefined && replica >= 0 && replica !== work.replica) return false;
  const {movement, planned} = operationOf(op);
  if (work.op || (movement && planned)) return op === work.op;
  if (!work.phase) return true;
  const phase = phaseOf(op);
  return work.phase === "forward" ? phase === "" : work.phase === "update" ? phase === "update" : phase !== "update";
}

/** The nodes that an executed operation stands for, the fused ones last. */
function nodesOf({layer, op, replica}) {
  const of = data.nodes.filter((node) => doesWork(workOf(node), layer, op, replica));
  const same = of.filter((node) => node.op === op);
  return same.length ? same : of.sort((a, b) => (a.layer === layer ? 0 : 1) - (b.layer === layer ? 0 : 1));
}

/** Acts on a box or frame: unfolds, folds, or describes. */
function activate(element, byKeyboard) {
  const group = element.getAttribute("data-group");
  if (group === null) return chooseNode(tree.byId.get(element.getAttribute("data-id")), byKeyboard);
  toggle(group, element);
  if (!byKeyboard) return;
  const after = scene.querySelector(".node[tabindex='0']");
  const inside = picture.nodes.find((box) => box.group === group || box.open.includes(group));
  focusBox(inside ? elementOf(inside) : after);
}

function focusBox(element) {
  for (const other of scene.querySelectorAll(".node[tabindex='0']")) other.setAttribute("tabindex", -1);
  element.setAttribute("tabindex", 0);
  element.focus({preventScroll: true});
  centre(picture.nodes.find((box) => box.key === element.getAttribute("data-key")), true);
}

/** The nearest box in an arrow key's direction. */
function neighbour(element, key) {
  const from = picture.nodes.find((box) => box.key === element.getAttribute("data-key"));
  const [dx, dy] = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[key];
  let best = null, least = Infinity;
  for (const box of picture.nodes) {
    const along = (box.x - from.x) * dx + (box.y - from.y) * dy;
    const aside = Math.abs((box.x - from.x) * dy) + Math.abs((box.y - from.y) * dx);
    const far = along + 3 * aside;
    if (along > 0 && far < least) [best, least] = [box, far];
  }
  return best && elementOf(best);
}

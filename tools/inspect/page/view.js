// The part of the picture on the screen: folding, zooming and panning.

const data = JSON.parse(document.getElementById("data").textContent);
const tree = new Tree(data);
const view = {x: 0, y: 0, scale: 1};
let picture = null;

function show() {
  picture = layout(tree, tree.visible());
  draw(picture);
  mark();
}

function applyView() {
  scene.setAttribute("transform", `translate(${view.x} ${view.y}) scale(${view.scale})`);
}

/** The part of the canvas that the panel leaves free. */
function freeWidth() {
  const {width} = canvas.getBoundingClientRect();
  const covered = panel.hidden ? 0 : panel.getBoundingClientRect().width;
  return width - covered > 200 ? width - covered : width;
}

/** The whole width, or the whole picture if that stays legible. */
function fit(everything) {
  const {height} = canvas.getBoundingClientRect(), width = freeWidth();
  const wide = (width - 40) / picture.width, tall = (height - 40) / picture.height;
  view.scale = Math.min(1.25, everything ? Math.min(wide, tall) : Math.max(Math.min(wide, tall), Math.min(wide, 0.8), 0.3));
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
  zoom(factor, freeWidth() / 2, canvas.getBoundingClientRect().height / 2);
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

function boxOf(node) {
  return picture.nodes.find((box) => box.members.includes(node));
}

function elementOf(box) {
  return [...scene.querySelectorAll(".node")].find((element) => element.getAttribute("data-key") === box.key);
}

/** Brings a box to the middle; with `onlyIfHidden` only if part of it is out of sight. */
function centre(box, onlyIfHidden) {
  const {height} = canvas.getBoundingClientRect(), width = freeWidth();
  const x = view.x + box.x * view.scale, y = view.y + box.y * view.scale;
  const seen = x >= 0 && y >= 0 && x + NODE_WIDTH * view.scale <= width && y + NODE_HEIGHT * view.scale <= height;
  if (onlyIfHidden && seen && view.scale > 0.35) return;
  view.scale = Math.max(view.scale, 0.6);  // legible
  view.x = width / 2 - (box.x + NODE_WIDTH / 2) * view.scale;
  view.y = height / 2 - (box.y + NODE_HEIGHT / 2) * view.scale;
  applyView();
}

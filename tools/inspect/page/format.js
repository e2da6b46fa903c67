// Numbers for people, and elements.

/** "51.4 MB": decimal units, as in every other format of a dump. */
function bytesText(bytes) {
  const units = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
  let unit = 0;
  while (bytes >= 999.95 && unit + 1 < units.length) {
    bytes /= 1000;
    ++unit;
  }
  return unit === 0 ? bytes.toFixed(0) + " B" : bytes.toFixed(1) + " " + units[unit];
}

/** "12.3 µs" of microseconds. */
function timeText(us) {
  if (us === 0) return "0";
  const [factor, unit] = us < 1 ? [1e3, "ns"] : us < 1e3 ? [1, "µs"] : us < 1e6 ? [1e-3, "ms"] : [1e-6, "s"];
  return Number((us * factor).toPrecision(4)) + " " + unit;
}

/** "3.2 GFLOP/s": a quantity per second, given its amount and the microseconds it took. */
function rateText(amount, us, unit) {
  return Number((amount / us / 1e3).toPrecision(3)) + " G" + unit + "/s";
}

function make(tag, attributes, parent, text) {
  const element = document.createElementNS(document.getElementById("canvas").namespaceURI, tag);
  for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  if (parent) parent.append(element);
  return element;
}

function makeHtml(tag, className, parent, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  if (parent) parent.append(element);
  return element;
}

/** About `width` pixels of text at `size` pixels. The start of a name is cut, because its end tells layers apart. */
function clipped(text, width, size, keepStart) {
  const characters = [...text];
  const most = Math.max(1, Math.floor(width / (size * 0.56)));
  if (characters.length <= most) return text;
  if (keepStart) return characters.slice(0, most - 1).join("") + "…";
  return "…" + characters.slice(characters.length - most + 1).join("");
}

/** What is known of an operation by its name (runtime/ops); nothing of a layer's type. */
function operationOf(op) {
  return Object.hasOwn(data.operations, op) ? data.operations[op] : {};
}

/** A node's colour. */
function kindOf(node) {
  if (node.inserted) return operationOf(node.op).movement || "other";
  return node.op === "input" || node.op === "output" ? "end" : "layer";
}

/** "replica 1's linear model.module.fc" and the like, for messages and screen readers. */
function titleOf(node) {
  const name = node.layer || node.name || "";
  return node.op + (name ? " " + name : "") + " on " + node.device + (node.replica === undefined ? "" : ", replica " + node.replica);
}

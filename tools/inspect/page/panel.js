// The panel at the right: everything about a node, a moment of a lane's memory, or a slice of the timeline.

const panel = document.getElementById("panel");
let opener = null;  // what had the focus before

function fact(list, name, value, kind) {
  if (value === undefined || value === null || value === "") return;
  const text = factBox(list, name);
  text.textContent = value;
  if (kind) text.className = kind;
}

function factBox(list, name) {
  makeHtml("dt", "", list, name);
  return makeHtml("dd", "", list);
}

/** A list of buttons, each [text, what it does]. */
function factButtons(list, name, entries, most = 60) {
  if (!entries.length) return;
  const box = factBox(list, name);
  const items = makeHtml("ul", "", box);
  for (const [text, action] of entries.slice(0, most)) {
    const button = makeHtml("button", "link", makeHtml("li", "", items), text);
    button.addEventListener("click", action);
  }
  if (entries.length > most) makeHtml("li", "more", items, `and ${entries.length - most} more`);
}

/** Opens the panel; `write` fills its list. From the keyboard the focus moves there, and back when it closes. */
function openPanel(title, write, byKeyboard) {
  if (panel.hidden) opener = document.activeElement;
  const inside = panel.contains(document.activeElement);  // a followed link disappears with the old list
  panel.querySelector("h2").textContent = title;
  const list = panel.querySelector("dl");
  list.replaceChildren();
  write(list);
  panel.hidden = false;
  panel.scrollTop = 0;
  if (byKeyboard || inside) panel.querySelector("#close").focus();
}

function closePanel() {
  const had = panel.contains(document.activeElement);
  panel.hidden = true;
  choose([]);
  if (!had) return;
  const box = opener && opener.isConnected ? opener : scene.querySelector(".node[tabindex='0']");
  if (box) box.focus();
}

function describeNode(node, byKeyboard) {
  openPanel(node.op + (node.name ? " " + node.name : ""), (list) => {
    fact(list, node.inserted ? "why it was inserted" : "why it is there", node.reason, "reason");
    fact(list, node.inserted ? "because of layer" : "layer", node.layer);
    fact(list, "in the model file", node.location);
    fact(list, "device", node.device + (node.replica === undefined ? "" : ", replica " + node.replica));
    fact(list, "part of the step", node.phase);
    describeChange(list, node);
    fact(list, "computed with", node.computed_with && node.computed_with + ", in one operation");
    fact(list, "result", (node.results || []).join("\n"));
    fact(list, "moved between devices", node.moved);
    fact(list, "chunks", (node.chunks || []).join(", "));
    fact(list, "parameters", node.parameters);
    describeTimes(list, node);
    const entry = (other, edge) => [`${other.op} ${other.layer || other.name}` +
      (other.replica === undefined ? "" : ` #${other.replica}`) + ` (${other.device}): ${edge.what}, ${edge.size}`,
      () => chooseNode(other)];
    factButtons(list, "takes", data.edges.filter((edge) => edge.to === node.id).map((edge) => entry(tree.byId.get(edge.from), edge)));
    factButtons(list, "gives to", data.edges.filter((edge) => edge.from === node.id).map((edge) => entry(tree.byId.get(edge.to), edge)));
    const attributes = Object.entries(node.attributes || {});
    fact(list, "attributes", attributes.map(([name, value]) => `${name} = ${JSON.stringify(value)}`).join("\n"));
  }, byKeyboard);
}

/** If the page shows a difference: how the node changed. */
function describeChange(list, node) {
  if (!node.change || node.change === "same") return;
  fact(list, "compared", {added: "only in the second", removed: "only in the first", changed: "in both, but not alike"}[node.change],
    "change " + node.change);
  fact(list, "what differs", (node.properties || []).map(([what, before, after]) => `${what}: ${before || "none"} → ${after || "none"}`).join("\n"));
}

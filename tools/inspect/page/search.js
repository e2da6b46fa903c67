// Searching: words anywhere, or "op:reduce", "layer:conv1", "device:cpu:1", "reason:replica", "change:added"; all must be found.

const search = document.getElementById("search");
const FIELDS = {
  op: (node) => node.op, layer: (node) => node.layer || node.name || "", device: (node) => node.device, reason: (node) => node.reason || "",
  change: (node) => node.change || "", replica: (node) => (node.replica === undefined ? "" : String(node.replica)),
};
const MOST_REVEALED = 40;  // more hits are marked on their folded groups, so that the picture stays a picture
let hits = [];
let hit = -1;

function matcher(text) {
  const tests = text.trim().toLowerCase().split(/\s+/).filter(Boolean).map((word) => {
    const [, name, rest] = word.match(/^([a-z]+):(.*)$/) || [];
    if (name && Object.hasOwn(FIELDS, name)) return (node) => FIELDS[name](node).toLowerCase().includes(rest);
    return (node) => ["op", "layer", "device", "reason"].some((field) => FIELDS[field](node).toLowerCase().includes(word));
  });
  return tests.length ? (node) => tests.every((test) => test(node)) : () => false;
}

function find(text) {
  hits = data.nodes.filter(matcher(text));
  hit = -1;
  if (hits.length <= MOST_REVEALED) for (const node of hits) tree.reveal(node.id);
  show();
  if (hits.length) nextHit(1);
  else tellHits();
}

function nextHit(step) {
  if (!hits.length) return;
  hit = (hit + step + hits.length) % hits.length;
  if (boxOf(hits[hit]).group !== undefined && hits.length > MOST_REVEALED && hit > 0) {
    tree.reveal(hits[hit].id);
    show();
  }
  centre(boxOf(hits[hit]));
  mark();
  tellHits();
}

function tellHits() {
  const wanted = search.value.trim();
  document.getElementById("hits").textContent = !wanted ? "" : !hits.length ? "no match" : `${hit + 1} of ${hits.length}`;
}

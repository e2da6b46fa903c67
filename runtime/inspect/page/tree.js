// What there is to show: lanes (a device, or a replica on it), layer groups, and the graph that is visible under the
// present folding.

/** Lanes in drawing order and the lane of each node. A device with two replicas of a region has two lanes. */
function makeLanes(data) {
  const devices = [];
  const replicas = new Map(); // "device|region" → replicas seen there, in order
  for (const node of data.nodes) {
    if (!devices.includes(node.device)) devices.push(node.device);
    if (node.replica === undefined) continue;
    const key = JSON.stringify([node.device, node.region]);
    if (!replicas.has(key)) replicas.set(key, []);
    if (!replicas.get(key).includes(node.replica)) replicas.get(key).push(node.replica);
  }
  const rank = (name) => (name === "host" ? -1 : data.devices.includes(name) ? data.devices.indexOf(name) : 1e6);
  devices.sort((a, b) => rank(a) - rank(b));
  const lanes = [];
  const first = new Map();
  for (const device of devices) {
    let count = 1;
    for (const [key, seen] of replicas) if (JSON.parse(key)[0] === device) count = Math.max(count, seen.length);
    first.set(device, lanes.length);
    for (let i = 0; i < count; ++i) lanes.push({device, index: i, of: count, replicas: []});
  }
  for (const node of data.nodes) {
    let lane = first.get(node.device);
    if (node.replica !== undefined) {
      lane += replicas.get(JSON.stringify([node.device, node.region])).indexOf(node.replica);
      if (!lanes[lane].replicas.includes(node.replica)) lanes[lane].replicas.push(node.replica);
    }
    node.lane = lane;
  }
  return lanes;
}

/** "a.b.c" → ["a", "a.b"]: the groups around a layer, outermost first. */
function prefixesOf(layer) {
  const parts = layer.split(".");
  return parts.slice(0, -1).map((_, i) => parts.slice(0, i + 1).join("."));
}

class Tree {
  constructor(data) {
    this.data = data;
    this.lanes = makeLanes(data);
    this.byId = new Map();
    const members = new Map(); // group → the distinct layers in it
    data.nodes.forEach((node, order) => {
      node.order = order;
      node.groups = node.inserted || node.op === "input" || node.op === "output" ? [] : prefixesOf(node.layer);
      for (const group of node.groups) {
        if (!members.has(group)) members.set(group, new Set());
        members.get(group).add(node.layer);
      }
      this.byId.set(node.id, node);
    });
    // A group of one layer isn't worth folding; of a chain of groups with the same layers the innermost stands for all.
    const kept = new Set(members.keys());
    for (const [group, layers] of members) {
      const parent = group.split(".").slice(0, -1).join(".");
      if (layers.size < 2) kept.delete(group);
      else if (parent && members.get(parent).size === layers.size) kept.delete(parent);
    }
    this.groups = kept;
    for (const node of data.nodes) node.groups = node.groups.filter((group) => kept.has(group));
    this.folded = new Set();
    this.foldByDefault(24);
  }

  /** Unfolds level by level while no lane shows more than `limit` nodes. */
  foldByDefault(limit) {
    this.folded = new Set(this.groups);
    const depth = Math.max(0, ...this.data.nodes.map((node) => node.groups.length));
    for (let level = 0; level < depth; ++level) {
      const before = new Set(this.folded);
      for (const node of this.data.nodes) if (node.groups[level]) this.folded.delete(node.groups[level]);
      const shown = new Array(this.lanes.length).fill(0);
      for (const node of this.visible().nodes) ++shown[node.lane];
      if (Math.max(...shown) > limit && level > 0) {
        this.folded = before;
        return;
      }
    }
  }

  foldAll() { this.folded = new Set(this.groups); }
  unfoldAll() { this.folded.clear(); }
  toggle(group) {
    if (!this.folded.delete(group)) this.folded.add(group);
  }
  /** Makes a node visible by unfolding all groups around it. */
  reveal(id) {
    for (const group of this.byId.get(id).groups) this.folded.delete(group);
  }

  /** The nodes to draw, folded groups standing for their layers, and the edges between them. */
  visible() {
    const shown = new Map();
    const standsFor = new Map();
    for (const node of this.data.nodes) {
      const group = node.groups.find((name) => this.folded.has(name));
      const key = group === undefined ? node.id : JSON.stringify([node.lane, node.region, group]);
      if (!shown.has(key)) {
        const open = node.groups.slice(0, group === undefined ? undefined : node.groups.indexOf(group));
        shown.set(key, {key, group, lane: node.lane, order: node.order, open, members: [], leaf: node});
      }
      const box = shown.get(key);
      box.members.push(node);
      standsFor.set(node.id, box);
    }
    const edges = new Map();
    for (const edge of this.data.edges) {
      const from = standsFor.get(edge.from), to = standsFor.get(edge.to);
      if (from === to) continue;
      const key = JSON.stringify([from.key, to.key, edge.parameter ? "parameters" : edge.value]);
      if (!edges.has(key))
        edges.set(key, {from, to, value: edge.value, what: edge.what, size: edge.size, parameter: !!edge.parameter, sources: [edge]});
      else edges.get(key).sources.push(edge);
    }
    return {nodes: [...shown.values()], edges: [...edges.values()]};
  }
}

// The contents to show: groups of nodes that fold (a module, the steps of one layer, movements of one kind, the update), and
// the graph that is visible under the current folding.

/** "a.b.c" → ["a", "a.b", "a.b.c"]: a layer and the groups around it, outermost first. */
function prefixesOf(layer) {
  const parts = layer.split(".");
  return parts.map((_, i) => parts.slice(0, i + 1).join("."));
}

const UPDATE = "update";

/** The groups around a node, outermost first: {id, label, kind}. In a training step the phases have groups of their own. */
function groupsOf(node) {
  const phase = node.phase || "";
  if (node.op === "input" || node.op === "output") return [];
  if (node.inserted) return [{id: JSON.stringify([phase, node.op, node.region, node.device]), label: node.op, kind: kindOf(node)}];
  const groups = phase === UPDATE ? [{id: UPDATE, label: "update", kind: UPDATE}] : [];
  const suffix = phase === "backward" ? " · backward" : "";
  for (const name of node.layer ? prefixesOf(node.layer) : []) groups.push({id: phase + ":" + name, label: name, suffix, kind: "folded"});
  return groups;
}

class Tree {
  constructor(data) {
    this.data = data;
    this.lanes = makeLanes(data);
    this.byId = new Map();
    this.groups = new Map(); // id → {label, kind, steps, layers}
    data.nodes.forEach((node, order) => {
      node.order = order;
      node.groups = groupsOf(node);
      for (const group of node.groups) {
        if (!this.groups.has(group.id)) this.groups.set(group.id, {...group, steps: new Set(), layers: new Set()});
        this.groups.get(group.id).steps.add(node.id.replace(/_r\d+$/, ""));
        this.groups.get(group.id).layers.add(node.layer);
      }
      this.byId.set(node.id, node);
    });
    this.dropSuperfluous();
    this.dropEntangled();
    for (const node of data.nodes) node.groups = node.groups.map((group) => group.id).filter((id) => this.groups.has(id));
    this.folded = new Set();
    this.foldByDefault(24);
  }

  /** A group of one step isn't worth folding; of a chain of groups with the same steps the innermost represents all. */
  dropSuperfluous() {
    const dropped = new Set();
    for (const node of this.data.nodes)
      node.groups.forEach(({id}, i) => {
        const {steps, kind} = this.groups.get(id), next = node.groups[i + 1];
        const least = kind === "folded" || kind === UPDATE ? 2 : 4;  // few movements are worth seeing one by one
        if (steps.size < least || (next && this.groups.get(next.id).steps.size === steps.size && id !== UPDATE)) dropped.add(id);
      });
    for (const id of dropped) this.groups.delete(id);
  }

  /** Steps of one layer with others between them aren't a group: arrows would lead into the box that they come from. */
  dropEntangled() {
    const users = new Map(this.data.nodes.map((node) => [node.id, []]));
    for (const edge of this.data.edges) users.get(edge.from).push(this.byId.get(edge.to));
    const parts = new Map(); // group and lane → its nodes
    for (const node of this.data.nodes) {
      const {id} = node.groups[node.groups.length - 1] || {};
      if (!this.groups.has(id) || this.groups.get(id).layers.size > 1) continue;
      const key = JSON.stringify([id, node.lane]);
      if (!parts.has(key)) parts.set(key, {id, nodes: new Set()});
      parts.get(key).nodes.add(node);
    }
    for (const {id, nodes} of parts.values()) {
      const last = Math.max(...[...nodes].map((node) => node.order));
      const ahead = [...nodes].flatMap((node) => users.get(node.id)).filter((user) => !nodes.has(user));
      const seen = new Set(ahead);
      while (ahead.length && this.groups.has(id)) {
        const node = ahead.pop();
        if (nodes.has(node)) this.groups.delete(id);
        for (const user of users.get(node.id))
          if (!seen.has(user) && user.order <= last) {
            seen.add(user);
            ahead.push(user);
          }
      }
    }
  }

  /** Unfolds modules level by level while no lane shows more than `limit` nodes. */
  foldByDefault(limit) {
    this.foldAll();
    const opens = (id) => id !== undefined && this.groups.get(id).kind === "folded" && this.groups.get(id).layers.size > 1;
    const depth = Math.max(0, ...this.data.nodes.map((node) => node.groups.length));
    for (let level = 0; level < depth; ++level) {
      const before = new Set(this.folded);
      for (const node of this.data.nodes)
        if (node.phase !== UPDATE && opens(node.groups[level])) this.folded.delete(node.groups[level]);
      const shown = new Array(this.lanes.length).fill(0);
      for (const node of this.visible().nodes) ++shown[node.lane];
      if (Math.max(...shown) > limit && level > 0) {
        this.folded = before;
        return;
      }
    }
  }

  foldAll() { this.folded = new Set(this.groups.keys()); }
  unfoldAll() { this.folded.clear(); }
  toggle(group) {
    if (!this.folded.delete(group)) this.folded.add(group);
  }
  /** Makes a node visible by unfolding all groups around it. */
  reveal(id) {
    for (const group of this.byId.get(id).groups) this.folded.delete(group);
  }

  /** The nodes to draw, folded groups standing for their members, and the edges between them. */
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
      // One arrow is enough for everything that goes between two folded groups.
      const many = from.group !== undefined || to.group !== undefined;
      const key = JSON.stringify([from.key, to.key, edge.parameter ? "parameters" : many ? "" : edge.value]);
      if (!edges.has(key)) edges.set(key, {from, to, parameter: !!edge.parameter, sources: [edge]});
      else edges.get(key).sources.push(edge);
    }
    for (const edge of edges.values()) Object.assign(edge, summary(edge));
    return {nodes: [...shown.values()], edges: [...edges.values()]};
  }
}

/** What an arrow's label says: the tensor, or how many there are and their bytes together. */
function summary(edge) {
  const [first] = edge.sources;
  const values = new Map(edge.sources.map((source) => [source.value, source]));
  const stash = edge.from.leaf.phase === "forward" && edge.to.leaf.phase === "backward";
  if (edge.parameter || values.size === 1) return {value: first.value, what: first.what, size: first.size, stash};
  const bytes = [...values.values()].map((source) => source.bytes);
  const size = bytes.every((number) => typeof number === "number") ? bytesText(bytes.reduce((a, b) => a + b, 0)) : "";
  return {value: JSON.stringify([...values.keys()]), what: values.size + " tensors", size, stash};
}

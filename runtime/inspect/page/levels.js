// Rows of the picture: topological levels, with at most so many nodes of a lane side by side.

const MOST_ABREAST = 6;

/** Level: one more than the deepest operand. Edges against the program's order (a folded group used in between) don't count. */
function setLevels(graph) {
  const order = [...graph.nodes].sort((a, b) => a.order - b.order);
  for (const node of order) Object.assign(node, {level: 0, operands: [], users: []});
  for (const edge of graph.edges) {
    edge.back = edge.from.order >= edge.to.order;
    if (edge.back) continue;
    edge.to.operands.push(edge.from);
    edge.from.users.push(edge.to);
  }
  pushDown(order);
  // What needs nothing stands right above what needs it.
  for (const node of order)
    if (node.operands.length === 0 && node.users.length > 0)
      node.level = Math.max(node.level, Math.min(...node.users.map((user) => user.level)) - 1);
  spread(order);
  // Rows without nodes are closed up.
  const used = [...new Set(order.map((node) => node.level))].sort((a, b) => a - b);
  const row = new Map(used.map((level, i) => [level, i]));
  for (const node of order) node.level = row.get(node.level);
}

function pushDown(order) {
  for (const node of order) for (const operand of node.operands) node.level = Math.max(node.level, operand.level + 1);
}

/** Where a lane has too many nodes on a level, those later in the program go one level down, and so on. */
function spread(order) {
  for (let level = 0; level <= Math.max(...order.map((node) => node.level)); ++level) {
    const abreast = new Map();
    let moved = false;
    for (const node of order) {
      if (node.level !== level) continue;
      const count = (abreast.get(node.lane) || 0) + 1;
      abreast.set(node.lane, count);
      if (count <= MOST_ABREAST) continue;
      node.level = level + 1;
      moved = true;
    }
    if (moved) pushDown(order);
  }
}

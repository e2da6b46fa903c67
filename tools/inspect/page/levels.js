// Rows of the picture: topological levels, with a limit on a lane's nodes side by side.

const MOST_ABREAST = 6;

/**
 * The nodes in an order in which each stands behind its operands, the program's as far as that goes: folded groups may
 * begin before an operand of theirs does. Where groups wait for each other, the one that is first in the program goes first.
 */
function ordered(graph) {
  const waits = new Map(graph.nodes.map((node) => [node, 0])), users = new Map(graph.nodes.map((node) => [node, []]));
  for (const {from, to} of graph.edges) {
    waits.set(to, waits.get(to) + 1);
    users.get(from).push(to);
  }
  const left = [...graph.nodes].sort((a, b) => a.order - b.order), order = [];
  while (left.length) {
    const [node] = left.splice(Math.max(0, left.findIndex((other) => waits.get(other) === 0)), 1);
    order.push(node);
    for (const user of users.get(node)) waits.set(user, waits.get(user) - 1);
  }
  return order;
}

/** Level: one more than the deepest operand. Edges against the order (in a circle of groups) don't count. */
function setLevels(graph) {
  const order = ordered(graph), place = new Map(order.map((node, i) => [node, i]));
  for (const node of order) Object.assign(node, {level: 0, operands: [], users: []});
  for (const edge of graph.edges) {
    edge.back = place.get(edge.from) >= place.get(edge.to);
    if (edge.back) continue;
    edge.to.operands.push(edge.from);
    edge.from.users.push(edge.to);
  }
  pushDown(order);
  // Nodes without operands are right above their first users.
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

/** If a lane has too many nodes on a level, those later in the program go one level down, and so on. */
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

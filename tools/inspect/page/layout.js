// The layout: rows are levels, columns are lanes; long edges run in a gutter beside their lane.

const NODE_WIDTH = 176, NODE_HEIGHT = 42, SLOT_GAP = 26, ROW_GAP = 50, LANE_PADDING = 26, TRACK = 9, LANE_GAP = 28;
const HEADER = 62, GROUP_HEADER = 22, GROUP_FOOTER = 9;

function layout(tree, graph) {
  setLevels(graph);
  const lanes = tree.lanes.map((lane) => ({...lane, slots: 1, tracks: [], nodes: []}));
  graph.nodes.sort((a, b) => a.level - b.level || a.order - b.order);
  for (const node of graph.nodes) lanes[node.lane].nodes.push(node);
  setSlots(graph, lanes);
  setTracks(graph, lanes);
  const groups = openGroups(graph);

  const height = setRows(graph, groups);
  let x = 0;
  let before = null;
  for (const lane of lanes) {
    x += before === null ? 0 : before === lane.device ? 6 : LANE_GAP;
    before = lane.device;
    lane.x = x;
    lane.width = 2 * LANE_PADDING + lane.slots * NODE_WIDTH + (lane.slots - 1) * SLOT_GAP + lane.tracks.length * TRACK;
    x += lane.width;
  }
  for (const node of graph.nodes)
    node.x = lanes[node.lane].x + LANE_PADDING + node.slot * (NODE_WIDTH + SLOT_GAP);
  for (const group of groups) {
    const inset = 5 * (group.deepest - group.depth) + 7;
    group.x = Math.min(...group.nodes.map((node) => node.x)) - inset;
    group.width = Math.max(...group.nodes.map((node) => node.x)) + NODE_WIDTH + inset - group.x;
  }
  return {lanes, groups, ...graph, width: x, height};
}

/** Nodes of one lane on one level are side by side, each below its first operand if that place is free. */
function setSlots(graph, lanes) {
  for (const lane of lanes) {
    const taken = new Set();
    for (const node of lane.nodes) {
      const above = node.operands.filter((operand) => operand.lane === node.lane && operand.level < node.level);
      let slot = above.length ? Math.min(...above.map((operand) => operand.slot)) : 0;
      while (taken.has(node.level + "," + slot)) ++slot;
      taken.add(node.level + "," + slot);
      node.slot = slot;
      lane.slots = Math.max(lane.slots, slot + 1);
    }
  }
}

/**
 * Edges that pass rows run straight down from their source where nothing is in the way, or else down a track at the
 * right of what they pass. Edges that don't meet share a track.
 */
function setTracks(graph, lanes) {
  for (const edge of graph.edges) {
    edge.track = -1;
    const passed = lanes[edge.from.lane].nodes.filter(
      (node) => node.level >= edge.from.level && node.level < edge.to.level && node !== edge.from);
    edge.drops = !edge.back && edge.to.level - edge.from.level > 1;
    edge.slot = Math.max(edge.from.slot, ...passed.map((node) => node.slot));
    if (!edge.drops || !passed.some((node) => node.slot === edge.from.slot)) continue;
    // Tracks hold [source, last row]; what one node hands down to several users shares a track.
    const tracks = lanes[edge.from.lane].tracks;
    edge.track = tracks.findIndex(([source, end]) => source === edge.from || end <= edge.from.level);
    if (edge.track < 0) edge.track = tracks.push([edge.from, 0]) - 1;
    const [source, end] = tracks[edge.track];
    tracks[edge.track] = [edge.from, source === edge.from ? Math.max(end, edge.to.level) : edge.to.level];
  }
}

/** Frames around the visible nodes of unfolded groups, one for each lane. */
function openGroups(graph) {
  const groups = new Map();
  for (const node of graph.nodes)
    node.open.forEach((name, depth) => {
      const key = JSON.stringify([node.lane, node.leaf.region, name]);
      if (!groups.has(key)) groups.set(key, {name, depth, around: node.open.slice(0, depth), lane: node.lane, nodes: [], deepest: depth});
      const group = groups.get(key);
      group.nodes.push(node);
      group.deepest = Math.max(group.deepest, node.open.length - 1);
    });
  for (const group of groups.values()) {
    group.top = Math.min(...group.nodes.map((node) => node.level));
    group.bottom = Math.max(...group.nodes.map((node) => node.level));
  }
  return [...groups.values()].sort((a, b) => a.depth - b.depth);
}

/** Row heights: frames that open or close at a row make room for their header and footer. */
function setRows(graph, groups) {
  const rows = Math.max(...graph.nodes.map((node) => node.level)) + 1;
  const nested = (group, edge) => groups.filter(
    (other) => other.lane === group.lane && other[edge] === group[edge] && other.depth >= group.depth &&
      other.nodes.some((node) => group.nodes.includes(node))).map((other) => other.depth);
  for (const group of groups) {
    group.above = new Set(nested(group, "top")).size;
    group.below = new Set(nested(group, "bottom")).size;
  }
  const y = [];
  let at = HEADER;
  for (let row = 0; row < rows; ++row) {
    at += GROUP_HEADER * Math.max(0, ...groups.filter((group) => group.top === row).map((group) => group.above));
    y.push(at);
    at += NODE_HEIGHT;
    at += GROUP_FOOTER * Math.max(0, ...groups.filter((group) => group.bottom === row).map((group) => group.below));
    at += ROW_GAP;
  }
  for (const node of graph.nodes) node.frameTop = node.y = y[node.level];  // frameTop: of the outermost frame opening there
  for (const group of groups) {
    group.y = y[group.top] - GROUP_HEADER * group.above;
    for (const node of group.nodes) if (node.level === group.top) node.frameTop = Math.min(node.frameTop, group.y);
    group.height = y[group.bottom] + NODE_HEIGHT + GROUP_FOOTER * group.below - group.y;
  }
  return at - ROW_GAP + 24;
}

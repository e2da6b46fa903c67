// Lanes of the picture: a device, or one of several replicas on it.

/** Lanes in drawing order; sets each node's. A device with two replicas of a region has two lanes. */
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

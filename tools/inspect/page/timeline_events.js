// Pointer and keys on the timeline, and its information about a slice or a node.

function listenToTimeline(timeline) {
  const {canvas} = timeline;
  const place = (event) => {
    const {left, top} = canvas.getBoundingClientRect();
    return [event.clientX - left, event.clientY - top];
  };
  let drag = null;
  canvas.addEventListener("pointerdown", (event) => { drag = {x: event.clientX, moved: 0}; });
  addEventListener("pointermove", (event) => {
    if (!drag) return;
    drag.moved += Math.abs(event.clientX - drag.x);
    if (drag.moved > 4) timeline.pan(drag.x - event.clientX);
    drag.x = event.clientX;
  });
  const drop = () => { setTimeout(() => { drag = null; }); };  // after the click that a pointerup may be
  addEventListener("pointerup", drop);
  addEventListener("pointercancel", drop);
  canvas.addEventListener("pointermove", (event) => { if (!drag) timeline.tell(timeline.sliceAt(...place(event))); });
  canvas.addEventListener("pointerleave", () => timeline.tell(-1));
  canvas.addEventListener("click", (event) => {
    const i = timeline.sliceAt(...place(event));
    if (drag && drag.moved > 4) return;
    if (i >= 0) openSlice(timeline, i);
  });
  canvas.addEventListener("dblclick", () => { timeline.everything(); timeline.draw(); });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) timeline.pan(event.deltaX || event.deltaY);
    else timeline.zoom(Math.exp(-event.deltaY * (event.deltaMode === 1 ? 0.05 : 0.002)), place(event)[0]);
  }, {passive: false});
  canvas.addEventListener("keydown", (event) => {
    const middle = (TRACK_LEFT + timeline.width) / 2;
    const actions = {"+": () => timeline.zoom(1.5, middle), "-": () => timeline.zoom(1 / 1.5, middle),
      "0": () => { timeline.everything(); timeline.draw(); }, Enter: () => timeline.chosen >= 0 && openSlice(timeline, timeline.chosen, true),
      ArrowLeft: () => stepSlice(timeline, -1), ArrowRight: () => stepSlice(timeline, 1),
      ArrowUp: () => stepRow(timeline, -1), ArrowDown: () => stepRow(timeline, 1)};
    if (!actions[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    actions[event.key]();
  });
}

/** To the slice before or after in its row. */
function stepSlice(timeline, by) {
  if (timeline.chosen < 0) return timeline.go(timeline.tracks[0].rows[0][0]);
  const row = timeline.tracks[timeline.trace.track[timeline.chosen]].rows[timeline.trace.row[timeline.chosen]];
  const next = row[row.indexOf(timeline.chosen) + by];
  if (next !== undefined) timeline.go(next);
}

/** To the slice above or below, at the same time. */
function stepRow(timeline, by) {
  if (timeline.chosen < 0) return stepSlice(timeline, 0);
  const rows = timeline.tracks.flatMap((track) => track.rows);
  const mine = timeline.tracks[timeline.trace.track[timeline.chosen]].rows[timeline.trace.row[timeline.chosen]];
  const row = rows[rows.indexOf(mine) + by];
  if (row) timeline.go(row[Math.min(row.length - 1, timeline.firstAt(row, timeline.trace.begin[timeline.chosen]))]);
}

/** The panel's names of a slice's arguments. */
const ARGUMENTS = {implementation: "implementation", read_bytes: "bytes read", written_bytes: "bytes written", flops: "operations"};

function openSlice(timeline, i, byKeyboard) {
  const {trace} = timeline, us = trace.duration[i], args = trace.args[trace.arguments[i]];
  const work = {layer: timeline.layer(i), op: timeline.op(i), replica: trace.replica[i]};
  const nodes = chooseWork(work);
  timeline.go(i);
  openPanel(timeline.name(i), (list) => {
    const node = nodes[0];
    if (node) fact(list, node.inserted ? "why it was inserted" : "why it is there", node.reason, "reason");
    fact(list, "operation", work.op);
    fact(list, "layer", work.layer);
    fact(list, "on", timeline.tracks[trace.track[i]].name + (work.replica < 0 ? "" : ", replica " + work.replica));
    fact(list, "step", trace.step[i] < 0 ? "" : trace.step[i]);
    fact(list, "took", `${timeText(us)}, from ${timeText(trace.begin[i])} to ${timeText(trace.begin[i] + us)}`);
    for (const [name, value] of Object.entries(args))
      fact(list, ARGUMENTS[name] || name, name.endsWith("_bytes") ? bytesText(value) : typeof value === "number" ? value.toLocaleString("en") : value);
    if (us > 0 && args.flops > 0) fact(list, "achieved", rateText(args.flops, us, "FLOP"));
    if (us > 0 && args.read_bytes + args.written_bytes > 0) fact(list, "traffic", rateText(args.read_bytes + args.written_bytes, us, "B"));
    factButtons(list, "in the graph", nodes.map((other) => [titleOf(other), () => chooseNode(other)]), 8);
  }, byKeyboard);
}

/** In a node's panel: how long it takes according to the trace. */
function describeTimes(list, node) {
  if (!timeline) return;
  const times = timeline.durations(workOf(node));
  if (!times.length) return fact(list, "in the trace", "nothing is executed for it by itself");
  fact(list, "in the trace", (times.length > 1 ? `${times.length} slices, median ` : "") + timeText(times[times.length >> 1]) +
    (times.length > 1 ? `, longest ${timeText(times[times.length - 1])}` : ""));
}

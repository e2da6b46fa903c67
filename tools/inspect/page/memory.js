// Memory over time: for each lane (a device's queue and its arena) the bytes live at each of its operations.

const MEMORY = {left: 132, right: 18, height: 62, gap: 12, top: 8, foot: 10};

class MemoryChart {
  constructor(lanes, box) {
    this.lanes = lanes.filter((lane) => lane.peak > 0);
    this.box = box;
    this.svg = make("svg", {class: "memory"}, box);
    this.tip = makeHtml("div", "tip", box);
    this.tip.hidden = true;
    const most = Math.max(...this.lanes.map((lane) => lane.peak));
    // Lanes of similar size share a scale; a host's few bytes have their own, or they would be a line.
    for (const lane of this.lanes) lane.scale = lane.peak >= most / 10 ? most : lane.peak;
    this.work = null;
    const without = lanes.filter((lane) => lane.peak === 0).map((lane) => lane.lane);
    makeHtml("p", "note", box, "Bytes of the lane's arena that are live at each operation, in the lane's order. Parameters, " +
      "inputs and outputs have memory of their own." + (without.length ? ` No arena: ${without.join(", ")}.` : ""));
  }

  draw() {
    this.width = Math.max(320, this.box.clientWidth);
    this.svg.replaceChildren();
    this.svg.setAttribute("width", this.width);
    this.svg.setAttribute("height", MEMORY.top + this.lanes.length * (MEMORY.height + MEMORY.gap) + MEMORY.foot);
    this.lanes.forEach((lane, i) => this.drawLane(lane, MEMORY.top + i * (MEMORY.height + MEMORY.gap)));
  }

  x(lane, position) {
    return MEMORY.left + ((this.width - MEMORY.left - MEMORY.right) * position) / lane.live.length;
  }

  drawLane(lane, top) {
    const bottom = top + MEMORY.height, y = (bytes) => bottom - (MEMORY.height * bytes) / (lane.scale * 1.32);
    lane.group = make("g", {class: "lane-memory", tabindex: 0, role: "slider", "aria-label": "Memory of " + lane.lane,
      "aria-valuemin": 0, "aria-valuemax": lane.live.length - 1, "data-lane": lane.lane, "data-peak": lane.peak,
      "data-peak-position": lane.peak_position}, this.svg);
    const right = this.width - MEMORY.right;
    make("rect", {class: "plot", x: MEMORY.left, y: top, width: right - MEMORY.left, height: MEMORY.height}, lane.group);
    make("text", {class: "lane-name", x: 14, y: top + 14}, lane.group, clipped(lane.lane, MEMORY.left - 22, 13));
    make("text", {class: "small", x: 14, y: top + 31}, lane.group, lane.operations.length + (lane.operations.length === 1 ? " operation" : " operations"));
    make("text", {class: "small", x: 14, y: top + 46}, lane.group, "arena " + bytesText(lane.arena));
    let path = `M${this.x(lane, 0)} ${bottom}`;
    lane.live.forEach((bytes, p) => { path += `V${y(bytes).toFixed(1)}H${this.x(lane, p + 1).toFixed(1)}`; });
    make("path", {class: "area", d: path + `V${bottom}Z`}, lane.group);
    lane.lit = make("g", {class: "lit-positions"}, lane.group);
    this.drawLit(lane);
    this.drawPeak(lane, y);
    if (lane === this.lanes[this.lanes.length - 1]) {
      make("text", {class: "small", x: MEMORY.left, y: bottom + 14}, lane.group, "first operation");
      make("text", {class: "small", x: right, y: bottom + 14, "text-anchor": "end"}, lane.group, "last");
    }
    lane.cursor = make("line", {class: "cursor", y1: top, y2: bottom, visibility: "hidden"}, lane.group);
    this.listen(lane, top);
  }

  drawPeak(lane, y) {
    const from = this.x(lane, lane.peak_position), to = this.x(lane, lane.peak_position + 1), middle = (from + to) / 2;
    const height = y(lane.peak);
    make("line", {class: "peak", x1: MEMORY.left, x2: this.width - MEMORY.right, y1: height, y2: height}, lane.group);
    make("circle", {class: "peak", cx: middle, cy: height, r: 4}, lane.group);
    const text = `peak ${bytesText(lane.peak)} at ${this.operationText(lane, lane.peak_position)}`;
    const room = 0.56 * 12 * text.length, leftward = middle + room > this.width - MEMORY.right;
    make("text", {class: "peak", x: Math.max(MEMORY.left + 4, leftward ? middle - 8 : middle + 8), y: height - 5,
      "text-anchor": leftward && middle - room > MEMORY.left ? "end" : "start"}, lane.group, clipped(text, this.width - MEMORY.left - 30, 12, true));
  }

  operationText(lane, position) {
    const operation = lane.operations[position];
    if (!operation) return "the end of the step";
    return operation.op + (operation.layer ? " " + operation.layer : "");
  }

  /** The tensors live at a position, the largest first. */
  live(lane, position) {
    return lane.tensors.filter((tensor) => tensor.begin <= position && position < tensor.end).sort((a, b) => b.bytes - a.bytes);
  }

  listen(lane, top) {
    const positionAt = (event) => {
      const x = event.clientX - this.svg.getBoundingClientRect().left;
      const p = Math.floor(((x - MEMORY.left) / (this.width - MEMORY.left - MEMORY.right)) * lane.live.length);
      return Math.min(lane.live.length - 1, Math.max(0, p));
    };
    lane.group.addEventListener("pointermove", (event) => this.point(lane, positionAt(event), top));
    lane.group.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    lane.group.addEventListener("click", (event) => this.open(lane, positionAt(event)));
    lane.group.addEventListener("keydown", (event) => {
      const at = lane.at === undefined ? lane.peak_position : lane.at, last = lane.live.length - 1;
      const to = {ArrowRight: at + 1, ArrowUp: at + 1, ArrowLeft: at - 1, ArrowDown: at - 1, PageUp: at + 10, PageDown: at - 10,
        Home: 0, End: last, p: lane.peak_position}[event.key];
      if (to !== undefined) this.point(lane, Math.min(last, Math.max(0, to)), top);
      else if (event.key === "Enter" || event.key === " ") this.open(lane, at, true);
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
  }

  /** Puts the cursor at a position and shows what is there. */
  point(lane, position, top) {
    lane.at = position;
    const x = (this.x(lane, position) + this.x(lane, position + 1)) / 2;
    for (const [name, value] of [["x1", x], ["x2", x], ["visibility", "visible"]]) lane.cursor.setAttribute(name, value);
    const tensors = this.live(lane, position);
    const lines = [`${position + 1} of ${lane.live.length}: ${this.operationText(lane, position)}`, bytesText(lane.live[position]) + " live",
      ...tensors.slice(0, 5).map((tensor) => `${bytesText(tensor.bytes)}  ${tensor.name}`)];
    if (tensors.length > 5) lines.push(`and ${tensors.length - 5} more`);
    lane.group.setAttribute("aria-valuenow", position);
    lane.group.setAttribute("aria-valuetext", lines.join("; "));
    this.tip.textContent = lines.join("\n");
    this.tip.hidden = false;
    const width = this.tip.offsetWidth, left = x + 14 + width > this.width ? x - 14 - width : x + 14;
    this.tip.style.left = Math.max(0, left) + "px";
    this.tip.style.top = Math.min(top, Math.max(0, this.box.scrollTop + this.box.clientHeight - this.tip.offsetHeight - 4)) + "px";
  }

  open(lane, position, byKeyboard) {
    const operation = lane.operations[position];
    const nodes = operation ? chooseWork(operation) : [];
    const tensors = this.live(lane, position);
    openPanel(`Memory of ${lane.lane}`, (list) => {
      fact(list, "at", `${this.operationText(lane, position)}, operation ${position + 1} of ${lane.operations.length}`);
      if (operation && operation.replica >= 0) fact(list, "replica", operation.replica);
      fact(list, "live", `${bytesText(lane.live[position])} of an arena of ${bytesText(lane.arena)}`);
      fact(list, "peak", `${bytesText(lane.peak)} at ${this.operationText(lane, lane.peak_position)}`);
      factButtons(list, "in the graph", nodes.map((node) => [titleOf(node), () => chooseNode(node)]), 8);
      fact(list, tensors.length > 10 ? `the ten largest of ${tensors.length} tensors live` : "tensors live",
        tensors.slice(0, 10).map((tensor) => `${bytesText(tensor.bytes)}  ${tensor.name}`).join("\n"), "tensors");
    }, byKeyboard);
  }

  /** Marks the positions that do `work` (select.js), or none. */
  light(work) {
    this.work = work;
    for (const lane of this.lanes) if (lane.lit) this.drawLit(lane);
  }

  drawLit(lane) {
    lane.lit.replaceChildren();
    const plot = lane.group.querySelector(".plot");
    lane.operations.forEach((operation, p) => {
      if (!doesWork(this.work, operation.layer, operation.op, operation.replica)) return;
      make("rect", {x: this.x(lane, p), y: plot.getAttribute("y"), width: Math.max(1.5, this.x(lane, p + 1) - this.x(lane, p)),
        height: MEMORY.height}, lane.lit);
    });
  }
}

// The timeline's picture.

/** The page's present colours, for a canvas. */
function pageColours() {
  const style = getComputedStyle(document.documentElement);
  return (name) => style.getPropertyValue("--" + name).trim();
}

/** A slice's colour: movements as in the graph, waiting and steps pale, each kind of operation its own hue. */
function sliceColour(op, colour) {
  const {movement} = operationOf(op);
  if (movement) return colour(movement);
  if (op === "wait") return colour("device");
  if (op === "step") return colour("end");
  let hash = 7;
  for (const character of op) hash = (hash * 31 + character.codePointAt(0)) % 9973;
  return `hsl(${(hash * 137) % 360} ${colour("slice-saturation")} ${colour("slice-lightness")})`;
}

/** Round steps of time, about one every 110 pixels. */
function tickStep(span, width) {
  const wanted = span / Math.max(1, width / 110), magnitude = 10 ** Math.floor(Math.log10(wanted));
  return magnitude * [1, 2, 5, 10].find((factor) => magnitude * factor >= wanted);
}

function drawTimeline(timeline) {
  const {canvas} = timeline;
  timeline.width = Math.max(320, timeline.box.clientWidth);
  const height = timeline.height(), sharp = window.devicePixelRatio || 1;
  canvas.width = Math.round(timeline.width * sharp);
  canvas.height = Math.round(height * sharp);
  canvas.style.width = timeline.width + "px";
  canvas.style.height = height + "px";
  const context = canvas.getContext("2d"), colour = pageColours();
  context.scale(sharp, sharp);
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  drawTimes(timeline, context, colour, height);
  const colours = timeline.trace.names.map(() => undefined);
  const colourOf = (op) => (colours[op] = colours[op] || sliceColour(timeline.trace.names[op], colour));
  context.save();
  context.beginPath();
  context.rect(TRACK_LEFT, AXIS_HEIGHT, timeline.width - TRACK_LEFT, height);
  context.clip();
  for (const track of timeline.tracks)
    track.rows.forEach((row, r) => drawRow(timeline, context, colour, colourOf, row, track.y + r * ROW_HEIGHT));
  context.restore();
  for (const track of timeline.tracks) {
    context.fillStyle = colour("text");
    context.font = "600 12px system-ui, sans-serif";
    context.fillText(clipped(track.name, TRACK_LEFT - 22, 12), 14, track.y + ROW_HEIGHT / 2);
    context.fillStyle = colour("line");
    context.fillRect(0, track.y + track.rows.length * ROW_HEIGHT + TRACK_GAP / 2 - 1, timeline.width, 1);
  }
}

function drawTimes(timeline, context, colour, height) {
  const step = tickStep(timeline.to - timeline.from, timeline.width - TRACK_LEFT);
  for (let tick = Math.max(0, Math.ceil(timeline.from / step) * step); tick <= timeline.to; tick += step) {
    const x = timeline.x(tick);
    context.fillStyle = colour("line");
    context.fillRect(x, AXIS_HEIGHT - 5, 1, height);
    context.fillStyle = colour("muted");
    if (x < timeline.width - 40) context.fillText(timeText(Number(tick.toPrecision(9))), x + 4, AXIS_HEIGHT / 2);
  }
}

function drawRow(timeline, context, colour, colourOf, row, y) {
  const {trace} = timeline, height = ROW_HEIGHT - 2;
  let drawn = -Infinity;  // slices that end within a pixel that has one already are left out
  for (let at = timeline.firstAt(row, timeline.from); at < row.length && trace.begin[row[at]] <= timeline.to; ++at) {
    const i = row[at], lit = timeline.work !== null && timeline.does(i);
    const x = timeline.x(trace.begin[i]), end = timeline.x(trace.begin[i] + trace.duration[i]);
    if (end < drawn + 0.7 && !lit && i !== timeline.chosen) continue;
    drawn = Math.max(end, x + 0.7);
    const width = Math.max(0.8, end - x - (end - x > 3 ? 1 : 0));
    context.globalAlpha = timeline.work === null || lit ? 1 : 0.4;
    context.fillStyle = colourOf(trace.op[i]);
    context.fillRect(x, y, width, height);
    if (lit || i === timeline.chosen) {
      context.strokeStyle = colour("accent");
      context.lineWidth = i === timeline.chosen ? 2.5 : 1.2;
      context.strokeRect(x + 0.5, y + 0.5, Math.max(0.5, width - 1), height - 1);
    }
    const left = Math.max(x, TRACK_LEFT), room = x + width - left;
    if (room < 26) continue;
    context.fillStyle = colour(timeline.op(i) === "wait" ? "muted" : "text");
    context.fillText(clipped(timeline.name(i), room - 4, 11, timeline.op(i) === "wait"), left + 4, y + height / 2 + 0.5);
  }
  context.globalAlpha = 1;
}

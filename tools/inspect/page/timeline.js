// The timeline of a trace: a track per lane, drawn on a canvas since there may be very many slices.

const TRACK_LEFT = 132, ROW_HEIGHT = 19, TRACK_GAP = 9, AXIS_HEIGHT = 22;

/** Slices of a track in rows: a slice within another is a row below it. */
function makeTracks(trace) {
  const tracks = trace.tracks.map((track) => ({...track, rows: []}));
  trace.row = [];
  for (let i = 0; i < trace.begin.length; ++i) {
    const rows = tracks[trace.track[i]].rows;
    let row = rows.findIndex((slices) => {
      const last = slices[slices.length - 1];
      return trace.begin[last] + trace.duration[last] <= trace.begin[i] + 5e-4;  // half a nanosecond: rounding
    });
    if (row < 0) row = rows.push([]) - 1;
    rows[row].push(i);
    trace.row.push(row);
  }
  let y = AXIS_HEIGHT;
  for (const track of tracks) {
    track.y = y;
    y += track.rows.length * ROW_HEIGHT + TRACK_GAP;
  }
  return tracks;
}

class Timeline {
  constructor(trace, box) {
    this.trace = trace;
    this.box = box;
    this.tracks = makeTracks(trace);
    this.end = 0;
    for (let i = 0; i < trace.begin.length; ++i) this.end = Math.max(this.end, trace.begin[i] + trace.duration[i]);
    this.end = this.end || 1;
    const note = `${trace.begin.length} slices of ${trace.file}` + (trace.left_out ? `; the latest ${trace.left_out} are left out` : "");
    makeHtml("p", "note", box, note + ". Scroll or + and − zoom, dragging moves, arrow keys go from slice to slice, Enter shows one.");
    this.canvas = makeHtml("canvas", "", box);
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "application");
    this.canvas.setAttribute("aria-label", "Timeline of " + trace.file);
    this.telling = makeHtml("div", "tip", box);
    this.telling.setAttribute("aria-live", "polite");
    this.telling.hidden = true;
    this.work = null;
    this.lit = null;  // by slice: it does `work`
    this.chosen = -1;
    this.everything();
  }

  draw() { if (!this.box.hidden) drawTimeline(this); }
  everything() { [this.from, this.to] = [-0.005 * this.end, 1.005 * this.end]; }
  x(time) { return TRACK_LEFT + ((time - this.from) / (this.to - this.from)) * (this.width - TRACK_LEFT); }
  time(x) { return this.from + ((x - TRACK_LEFT) / (this.width - TRACK_LEFT)) * (this.to - this.from); }
  height() {
    const last = this.tracks[this.tracks.length - 1];
    return last.y + last.rows.length * ROW_HEIGHT + TRACK_GAP;
  }
  layer(i) { return this.trace.names[this.trace.layer[i]]; }
  op(i) { return this.trace.names[this.trace.op[i]]; }
  name(i) { return this.trace.names[this.trace.name[i]]; }
  does(i) { return this.lit !== null && this.lit[i] === 1; }

  doing(work, i) { return doesWork(work, this.layer(i), this.op(i), this.trace.replica[i]); }

  /** The first slice of a row that ends at `time` or later. */
  firstAt(row, time) {
    let low = 0, high = row.length;
    while (low < high) {
      const middle = (low + high) >> 1, i = row[middle];
      if (this.trace.begin[i] + this.trace.duration[i] < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The slice at a place of the canvas, or -1; the thin ones have a pixel to either side. */
  sliceAt(x, y) {
    if (x < TRACK_LEFT) return -1;
    for (const track of this.tracks) {
      const row = track.rows[Math.floor((y - track.y) / ROW_HEIGHT)];
      if (y < track.y || !row) continue;
      const at = this.firstAt(row, this.time(x - 1)), i = row[at];
      return i !== undefined && this.x(this.trace.begin[i]) <= x + 1 ? i : -1;
    }
    return -1;
  }

  /** The middle of a slice on the canvas, in its pixels. */
  placeOf(i) {
    const y = this.tracks[this.trace.track[i]].y + (this.trace.row[i] + 0.5) * ROW_HEIGHT;
    return [this.x(this.trace.begin[i] + this.trace.duration[i] / 2), y];
  }

  zoom(factor, x) {
    const at = this.time(x), span = Math.min(1.5 * this.end, Math.max(1e-3, (this.to - this.from) / factor));
    this.from = at - ((x - TRACK_LEFT) / (this.width - TRACK_LEFT)) * span;
    this.to = this.from + span;
    this.draw();
  }

  pan(pixels) {
    const by = (pixels / (this.width - TRACK_LEFT)) * (this.to - this.from);
    const kept = Math.min(this.end, Math.max(0, (this.from + this.to) / 2 + by)) - (this.from + this.to) / 2;
    this.from += kept;
    this.to += kept;
    this.draw();
  }

  /** Chooses a slice and brings it into sight. */
  go(i) {
    this.chosen = i;
    const middle = this.trace.begin[i] + this.trace.duration[i] / 2, span = this.to - this.from;
    if (this.trace.begin[i] < this.from || this.trace.begin[i] + this.trace.duration[i] > this.to)
      [this.from, this.to] = [middle - span / 2, middle + span / 2];
    this.draw();
    this.tell(i);
  }

  text(i) {
    const replica = this.trace.replica[i] < 0 ? "" : ", replica " + this.trace.replica[i];
    const op = this.op(i) && this.op(i) !== this.name(i) ? this.op(i) + " " : "";
    return `${op}${this.name(i)}${replica}\n${timeText(this.trace.duration[i])} from ${timeText(this.trace.begin[i])}`;
  }

  tell(i) {
    this.telling.hidden = i < 0;
    if (i < 0) return;
    this.telling.textContent = this.text(i);
    const [x, y] = this.placeOf(i), left = Math.min(Math.max(x, TRACK_LEFT), this.width - this.telling.offsetWidth - 4);
    this.telling.style.left = left + "px";
    const above = this.canvas.offsetTop + y - ROW_HEIGHT / 2 - this.telling.offsetHeight - 3;
    this.telling.style.top = (above < this.box.scrollTop ? this.canvas.offsetTop + y + ROW_HEIGHT / 2 + 3 : above) + "px";
  }

  /** Marks the slices that do `work` (select.js), or none. */
  light(work) {
    this.work = work;
    this.lit = work === null ? null : Uint8Array.from(this.trace.begin, (_, i) => Number(this.doing(work, i)));
    if (this.lit && !this.lit.includes(1)) this.work = this.lit = null;  // nothing to tell apart from the rest
    if (this.chosen >= 0 && !this.does(this.chosen)) this.chosen = -1;
    this.draw();
  }

  /** Durations of the slices that do `work`, in microseconds, the shortest first. */
  durations(work) {
    const found = [];
    for (let i = 0; i < this.trace.begin.length; ++i) if (this.doing(work, i)) found.push(this.trace.duration[i]);
    return found.sort((a, b) => a - b);
  }
}

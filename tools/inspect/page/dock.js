// The drawer below the graph: memory over time, the timeline.

const dock = document.getElementById("dock");
const memory = data.memory && data.memory.some((lane) => lane.peak > 0) ? new MemoryChart(data.memory, document.getElementById("memory")) : null;
const timeline = data.timeline ? new Timeline(data.timeline, document.getElementById("timeline")) : null;
const noMemory = data.no_memory ? "Not known: " + data.no_memory
  : data.memory && !memory ? "No lane has memory of its own: each value lies in an input, an output or a parameter." : "";
const note = noMemory ? {draw() {}, element: makeHtml("p", "note", document.getElementById("memory"), noMemory)} : null;
const tabs = [["memory", memory || note], ["timeline", timeline]].filter(([, chart]) => chart !== null);

function openTab(name) {
  for (const [other, chart] of tabs) {
    const opened = other === name;
    document.getElementById(other).hidden = !opened;
    const tab = document.getElementById(other + "-tab");
    tab.setAttribute("aria-selected", opened);
    tab.tabIndex = opened ? 0 : -1;
    if (opened) chart.draw();
  }
}

function drawDock() {
  for (const [name, chart] of tabs) if (!document.getElementById(name).hidden) chart.draw();
}

function resizeDock(height) {
  dock.style.height = Math.round(Math.min(innerHeight - 200, Math.max(90, height))) + "px";
}

function startDock() {
  if (!tabs.length) return;
  dock.hidden = false;
  for (const [name] of tabs) {
    const tab = document.getElementById(name + "-tab");
    tab.hidden = false;
    tab.addEventListener("click", () => openTab(name));
    tab.addEventListener("keydown", (event) => {
      if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
      const [other] = tabs[(tabs.findIndex(([mine]) => mine === name) + 1) % tabs.length];
      openTab(other);
      document.getElementById(other + "-tab").focus();
    });
  }
  openTab(tabs[tabs.length - 1][0]);  // a trace was requested by name, so it is shown first
  if (timeline) listenToTimeline(timeline);
  new ResizeObserver(drawDock).observe(dock);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawDock);

  const grip = document.getElementById("grip");
  let from = null;
  grip.addEventListener("pointerdown", (event) => {
    from = event.clientY + dock.offsetHeight;
    grip.setPointerCapture(event.pointerId);
  });
  grip.addEventListener("pointermove", (event) => { if (from !== null) resizeDock(from - event.clientY); });
  grip.addEventListener("pointerup", () => { from = null; });
  grip.addEventListener("keydown", (event) => {
    const by = {ArrowUp: 30, ArrowDown: -30}[event.key];
    if (by) resizeDock(dock.offsetHeight + by);
  });
  const fold = document.getElementById("fold-dock");
  fold.addEventListener("click", () => {
    const folded = dock.classList.toggle("folded");
    fold.setAttribute("aria-expanded", !folded);
    fold.textContent = folded ? "▴" : "▾";
  });
}

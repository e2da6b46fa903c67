// Events, the legend, the first picture.

function legend() {
  const used = new Set(data.nodes.map(kindOf));
  const entries = [["scatter", "scatter: cuts a batch into chunks"], ["replicate", "replicate: copies parameters to each replica"],
    ["gather", "gather: joins the replicas' results"], ["transfer", "transfer: moves a value to another device"],
    ["reduce", "reduce: adds up what the replicas have"],
    ["other", "other inserted step"], ["layer", "layer of the model"], ["end", "input or output"]];
  const box = document.getElementById("legend");
  const add = (text, line, fill, className) => {
    const entry = document.createElement("span"), swatch = document.createElement("i");
    swatch.style.borderColor = line;
    if (fill) swatch.style.background = fill;
    if (className) swatch.className = className;
    entry.append(swatch, text);
    box.append(entry);
  };
  for (const [kind, text] of entries) if (used.has(kind)) add(text, `var(--${kind}-line)`, `var(--${kind})`);
  if (data.edges.some((edge) => edge.parameter)) add("parameters", "var(--replicate-line)", "", "dashed");
}

function events() {
  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    drag = {x: event.clientX - view.x, y: event.clientY - view.y, from: [event.clientX, event.clientY], moved: false};
  });
  addEventListener("pointermove", (event) => {
    if (!drag) return;
    // A click with an unsteady hand is still a click.
    if (Math.hypot(event.clientX - drag.from[0], event.clientY - drag.from[1]) > 4) drag.moved = true;
    if (!drag.moved) return;
    canvas.classList.add("dragging");
    view.x = event.clientX - drag.x;
    view.y = event.clientY - drag.y;
    applyView();
  });
  let dragged = false;
  const drop = () => {
    dragged = drag !== null && drag.moved;
    drag = null;
    canvas.classList.remove("dragging");
  };
  addEventListener("pointerup", drop);
  addEventListener("pointercancel", drop);
  canvas.addEventListener("click", (event) => {
    if (dragged) return;
    const element = event.target.closest(".node, .group");
    if (element) activate(element);
    else closePanel();
  });
  canvas.addEventListener("keydown", (event) => {
    const element = event.target.closest(".node");
    if (element && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault();
      activate(element);
    }
  });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const {left, top} = canvas.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY * (event.deltaMode === 1 ? 0.05 : 0.0015)), event.clientX - left, event.clientY - top);
  }, {passive: false});

  const press = (id, action) => document.getElementById(id).addEventListener("click", action);
  press("fold", () => { tree.foldAll(); show(); fit(false); });
  press("unfold", () => { tree.unfoldAll(); show(); fit(false); });
  press("in", () => zoomMiddle(1.25));
  press("out", () => zoomMiddle(0.8));
  press("fit", () => fit(true));
  press("close", closePanel);
  press("theme", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
  search.addEventListener("input", () => find(search.value));
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") nextHit();
    if (event.key === "Escape") search.blur();
  });
  addEventListener("keydown", (event) => {
    if (event.target === search || event.ctrlKey || event.metaKey || event.altKey) return;
    const actions = {"/": () => search.focus(), "+": () => zoomMiddle(1.25), "-": () => zoomMiddle(0.8),
      "0": () => fit(true), Escape: closePanel};
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  });
}

document.getElementById("title").textContent = data.model;
document.getElementById("subtitle").textContent = data.subtitle;
legend();
events();
show();
fit(false);
// "page.html#conv1" opens with that search done.
if (location.hash.length > 1) {
  try {
    search.value = decodeURIComponent(location.hash.slice(1));
    find(search.value);
  } catch (error) {
    if (!(error instanceof URIError)) throw error;  // a stray % is no search
  }
}

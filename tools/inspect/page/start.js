// Events of the graph, and the first picture.

function dragging() {
  let drag = null, dragged = false;
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
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const {left, top} = canvas.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY * (event.deltaMode === 1 ? 0.05 : 0.0015)), event.clientX - left, event.clientY - top);
  }, {passive: false});
}

function keys() {
  canvas.addEventListener("keydown", (event) => {
    const element = event.target.closest(".node");
    if (!element || event.ctrlKey || event.metaKey || event.altKey) return;
    const box = picture.nodes.find((other) => other.key === element.getAttribute("data-key"));
    if (event.key === "Enter" || event.key === " ") activate(element, true);
    else if (event.key.startsWith("Arrow")) {
      const next = neighbour(element, event.key);
      if (next) focusBox(next);
    } else if (event.key === "f" && box.open.length) {
      const group = box.open[box.open.length - 1];
      tree.toggle(group);
      show();
      focusBox(elementOf(picture.nodes.find((other) => other.group === group)));
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });
  addEventListener("keydown", (event) => {
    if (event.target.closest && event.target.closest("input") || event.ctrlKey || event.metaKey || event.altKey) return;
    const actions = {"/": () => search.focus(), "+": () => zoomMiddle(1.25), "-": () => zoomMiddle(0.8),
      "0": () => fit(true), n: () => nextHit(1), N: () => nextHit(-1), Escape: closePanel};
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  });
}

function buttons() {
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
    drawDock();
  });
  search.addEventListener("input", () => find(search.value));
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") nextHit(event.shiftKey ? -1 : 1);
    if (event.key !== "Escape") return;
    event.preventDefault();  // it would empty the field
    search.blur();
  });
}

document.getElementById("title").textContent = data.model;
document.getElementById("subtitle").textContent = data.subtitle;
legend();
filters();
document.getElementById("subtitle").title = document.getElementById("subtitle").textContent;
dragging();
keys();
buttons();
startDock();
show();
fit(false);
// "page.html#conv1" opens with that search done.
if (location.hash.length > 1) {
  try {
    search.value = decodeURIComponent(location.hash.slice(1));
    find(search.value);
  } catch (error) {
    if (!(error instanceof URIError)) throw error;  // a stray % isn't a search
  }
}

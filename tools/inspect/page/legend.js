// What the colours mean.

const LEGEND = [["scatter", "scatter: cuts a batch into chunks"], ["replicate", "replicate: copies parameters to each replica"],
  ["gather", "gather: joins the replicas' results"], ["transfer", "transfer: moves a value to another device"],
  ["reduce", "reduce: adds up what the replicas have"],
  ["other", "other inserted step"], ["layer", "layer of the model"], ["end", "input or output"]];

function legend() {
  const box = document.getElementById("legend");
  const add = (text, line, fill, className) => {
    const entry = makeHtml("span", "", box), swatch = makeHtml("i", className || "", entry);
    swatch.style.borderColor = line;
    if (fill) swatch.style.background = fill;
    entry.append(text);
  };
  const used = new Set(data.nodes.map(kindOf));
  for (const [kind, text] of LEGEND) if (used.has(kind)) add(text, `var(--${kind}-line)`, `var(--${kind})`);
  if (data.edges.some((edge) => edge.parameter)) add("parameters", "var(--replicate-line)", "", "dashed");
  if (data.phases) add("kept for the backward pass", "var(--edge)", "", "dotted");
  if (!data.difference) return;
  add("+ only in the second", "var(--added)");
  add("− only in the first", "var(--removed)", "", "dashed-box");
  add("~ in both, but not alike", "var(--changed)");
}

/** Buttons that show what a difference of two plans is made of, one change after another. */
function filters() {
  if (!data.difference) return;
  const box = document.getElementById("filters");
  box.hidden = false;
  const count = (change) => data.nodes.filter((node) => node.change === change).length;
  for (const [change, text] of [["added", "added"], ["removed", "removed"], ["changed", "changed"]]) {
    const button = makeHtml("button", change, box, `${count(change)} ${text}`);
    button.disabled = count(change) === 0;
    button.addEventListener("click", () => {
      search.value = search.value === "change:" + change ? "" : "change:" + change;
      find(search.value);
    });
  }
  const equal = makeHtml("button", "", box, "hide what is alike");
  equal.setAttribute("aria-pressed", false);
  equal.addEventListener("click", () => {
    const hidden = document.body.classList.toggle("differences");
    equal.setAttribute("aria-pressed", hidden);
  });
  if (data.difference.header.length)
    document.getElementById("subtitle").textContent += "; " + data.difference.header.map(([what, before, after]) => `${what}: ${before} → ${after}`).join("; ");
}

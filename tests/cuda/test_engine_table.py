"""docs/cuda-engines.md has the engines that cuDNN plans today for ResNet-18's training step on an H200, and their scratch memory.

usage: test_engine_table.py [--write]. Exit status 77: skipped, the reason is on stdout: cuDNN cannot plan here.
"""
import json
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cli"))
from page_table import hold  # noqa: E402
from program import MODELS, SOURCE, must, sheaf  # noqa: E402

PAGE = SOURCE / "docs/cuda-engines.md"
BEGIN = "<!-- engines: tests/cuda/test_engine_table.py -->"
PRECISIONS, BATCH = ("f32", "bf16"), 256
LIBRARY = ("conv", "conv_backward_data", "conv_backward_weight", "batch_norm_train", "batch_norm_backward", "adaptive_avg_pool",
           "adaptive_avg_pool_backward")


def size(dims):
    return "×".join(map(str, dims[2:]))


def sizes_of(op, ins, outs):
    """What tells operations of one kind apart, by their operands' dims."""
    if op == "conv":
        (_, channels, *kernel), more = ins[1], {2: "", 3: ", + bias", 4: ", + bias + residual"}
        return f"{channels} → {ins[1][0]}, {'×'.join(map(str, kernel))}, x {size(ins[0])}{more[len(ins)]}"
    if op == "conv_backward_data":
        return f"{ins[1][1]} → {ins[1][0]}, {size(ins[1])}, dy {size(ins[0])}"
    if op == "conv_backward_weight":
        return f"{ins[0][1]} → {ins[1][1]}, {size(outs[0])}, x {size(ins[0])}, dy {size(ins[1])}"
    return f"{ins[0][1]} channels, {size(ins[0])}"


def memory(scratch):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if scratch >= unit:
            return f"{scratch / unit:.1f} {name}".replace(".0 ", " ")
    return f"{scratch} B" if scratch else "0"


def engines(folder, precision):
    """By operation and sizes, in the order of the step: the engine, with the least and the most scratch memory."""
    plan = Path(folder) / f"{precision}.plan"
    must(sheaf("compile", "--precision", precision, MODELS / "resnet18.json", "-o", plan))
    on = ("--devices", "cuda:0", "--batch", BATCH, "--device-model", "h200")
    uncertain = json.loads(must(sheaf("estimate", plan, *on, "--json")).out)["memory"].get("uncertain", [])
    if any(part["op"] == "conv" for part in uncertain):
        print("skipped: cuDNN plans no convolution here:", uncertain)
        sys.exit(77)
    text = must(sheaf("dump", plan, "--format", "bound", "--program", "train", *on)).out
    dims = {name: tuple(map(int, shape.split(","))) for name, shape in re.findall(r"^(%\d+) .*?: \w+\[([\d,]+)\]", text, re.M)}
    found = {}
    for op, ins, outs, by, scratch in re.findall(r"^#\d+ on .*?: (\w+) of \S+ \((.*?)\) -> \((.*?)\), by (.*?)(?:, scratch (\d+))?(?:, .*)?$", text, re.M):
        if op not in LIBRARY:
            continue
        tensors = [[dims[tensor] for tensor in re.findall(r"%\d+", operands)] for operands in (ins, outs)]
        found.setdefault((op, sizes_of(op, *tensors)), []).append((by.removeprefix("cuDNN "), int(scratch or 0)))
    return found


def cell(calls):
    if not calls:
        return "–"
    names = list(dict.fromkeys(name for name, _ in calls))
    low, high = min(scratch for _, scratch in calls), max(scratch for _, scratch in calls)
    return f"{' or '.join(names)}, {memory(low)}" + (f" to {memory(high)}" if memory(high) != memory(low) else "")


def main():
    with tempfile.TemporaryDirectory() as folder:
        found = [engines(folder, precision) for precision in PRECISIONS]
    keys = list(dict.fromkeys(key for calls in found for key in calls))
    keys.sort(key=lambda key: LIBRARY.index(key[0]))
    rows = [f"| `{op}` | {what} | " + " | ".join(cell(calls.get((op, what))) for calls in found) + " |" for op, what in keys]
    table = "\n".join(["| operation | sizes | " + " | ".join(PRECISIONS) + " |", "|---|---|" + "---|" * len(PRECISIONS), *rows])
    return hold(PAGE, BEGIN, table, "engines")


sys.exit(main())

"""Compares `sheaf train` with PyTorch's numbers: losses, and parameters and buffers after a few steps.

    python3 run_train_goldens.py FILE.safetensors... [--devices LIST]... [--gpu] [--keep DIR] [--precision bf16 --tolerance T]

On each of the case's device lists: an error may be the case's tolerance times the tensor's largest change, plus
rounding of its largest value. A second run of the same command, and `cpu:0,cpu:0` next to `cpu:0,cpu:1`, must give
the same bits.
"""
import json
import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cli"))
from golden_runner import compile_case, draw, on_gpu, run_cases
from program import must, execute
from tensors import Tensor, read_safetensors, write_safetensors
from training import TRAIN

ROUNDING = 1e-6


def excess(actual, expected, before, tolerance):
    """Largest error divided by what is allowed: at most 1 is right."""
    if actual is None or (actual.dtype, actual.shape) != (expected.dtype, expected.shape):
        return math.inf
    if expected.dtype != "F32":
        return 0.0 if actual.data == expected.data else math.inf
    change = max((abs(e - b) for e, b in zip(expected.data, before.data)), default=0.0)
    if change == 0.0:
        return 0.0 if actual == expected else math.inf
    allowed = tolerance * change + ROUNDING * max(map(abs, expected.data))
    errors = [abs(a - e) for a, e in zip(actual.data, expected.data)]
    return max(errors) / allowed if all(map(math.isfinite, errors)) else math.inf


def train(plan, devices, recipe, folder, name):
    """Runs the command; losses and saved tensors."""
    out, metrics, checkpoints = folder / f"{name}.safetensors", folder / f"{name}.jsonl", folder / f"{name}.checkpoints"
    sources = [part for key in recipe["data"] for part in ("--data", f"{key}={folder}/data.safetensors:{key}")]
    must(execute([*TRAIN, plan, "--devices", devices, "--weights", folder / "weights.safetensors", *sources, "--batch-size", recipe["batch"],
                  *(["--micro-batches", recipe["micro_batches"]] if "micro_batches" in recipe else []),
                  "--steps", recipe["steps"], "--no-shuffle", "--save", out, "--metrics", metrics, *(["--checkpoint", checkpoints] if recipe.get("scales") else [])]))
    losses = [line["loss"] for line in map(json.loads, metrics.read_text().splitlines()) if "step" in line]
    tensors, _ = read_safetensors(out)
    if recipe.get("scales"):
        state, _ = read_safetensors(max(checkpoints.iterdir()))
        tensors.update({key: tensor for key, tensor in state.items() if key.startswith("loss_scale.")})
    return {"loss": Tensor("F32", [len(losses)], [math.nan if v is None else v for v in losses]), **tensors}


def check(case, options, folder):
    """Returns a list of complaints."""
    expected, metadata = read_safetensors(case)
    recipe = json.loads(metadata["recipe"])
    plan, before, complaints, results = folder / "model.plan", draw(recipe["weights"]), [], {}
    write_safetensors(folder / "weights.safetensors", before)
    write_safetensors(folder / "data.safetensors", draw(recipe["data"]))
    compile_case(case.with_suffix(".json"), plan, options)
    tolerance = options.tolerance or recipe["tolerance"]
    lists = {d: d for d in options.devices or recipe["devices"]}
    for number, (run_on, split) in enumerate((on_gpu(lists, options.gpus) if options.gpu else lists).items()):
        results[run_on] = found = train(plan, run_on, recipe, folder, f"out{number}")
        prefix = f"{recipe['devices'][split]}/"
        wanted = {name[len(prefix):]: tensor for name, tensor in expected.items() if name.startswith(prefix)}
        if found.keys() != wanted.keys():
            complaints.append(f"{run_on}: saved {sorted(found)}, expected {sorted(wanted)}")
        for name, tensor in wanted.items():
            # The loss is held against zero, all else against what it was; the scale, and how many steps there were, must be equal.
            old = tensor if name.startswith("loss_scale.") else before.get(name) or Tensor("F32", tensor.shape, [0.0] * len(tensor.data))
            times = excess(found.get(name), tensor, old, tolerance)
            if not times <= 1:
                got = list(found[name].data[:6]) if name in found else None
                complaints.append(f"{run_on}: {name} {list(tensor.shape)} has {times:.3g} times the error allowed; "
                                  f"before {list(old.data[:6])} …, expected {list(tensor.data[:6])} …, got {got} …")
    last = list(results)[-1]
    pairs = [(f"a second run on {last}", train(plan, last, recipe, folder, "again"), results[last])]
    if "cpu:0,cpu:1" in results and "cpu:0,cpu:0" in results:
        pairs.append(("one device twice and two devices", results["cpu:0,cpu:0"], results["cpu:0,cpu:1"]))
    for what, a, b in pairs:
        complaints += [f"{what}: {name} differs in bits" for name in b if a.get(name) != b[name]]
    return complaints


sys.exit(run_cases(__doc__, check))

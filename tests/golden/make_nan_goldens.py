"""Makes tests/golden/nan.json: where PyTorch has NaN when one element of an input is NaN.

    python make_nan_goldens.py        (needs torch; the file is checked in, so the test doesn't)

Case → input, the element that is NaN, and for each output (in the model's order) the flat indices of NaN as ranges.
"""
import json
import math
import sys
from pathlib import Path

import torch

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cli"))
import nan_cases
from golden_files import NAMES, to_torch, weight_range
from tensors import Tensor, drawn, read_safetensors
from torch_reference import Model, Parallel


def ranges(mask):
    found = []
    for i in torch.nonzero(mask.flatten()).flatten().tolist():
        if found and found[-1][1] == i:
            found[-1][1] = i + 1
        else:
            found.append([i, i + 1])
    return found


def expected(spec, weights, inputs):
    name = next(n for n in inputs if inputs[n].dtype == "F32")
    at = len(inputs[name].data) // 3
    values = list(inputs[name].data)
    values[at] = math.nan
    inputs = {**inputs, name: Tensor("F32", inputs[name].shape, values)}
    Parallel.replicas = 1
    module = Model(spec).eval()
    with torch.no_grad():
        for key, tensor in module.state_dict().items():
            tensor.copy_(to_torch(weights[key]))
        results = module(*[to_torch(inputs[n]) for n in spec["inputs"]])
    return {"input": name, "at": at, "nan": [ranges(r.isnan()) for r in (results if isinstance(results, tuple) else (results,))]}


def main():
    cases = {}
    for folder in ("layers", "models"):
        for file in sorted((HERE / folder).glob("*.safetensors")):
            recipe = json.loads(read_safetensors(file)[1]["recipe"])
            if "model" in recipe or not any(r["dtype"] == "F32" for r in recipe["inputs"].values()):
                continue
            draw = lambda recipes: {n: drawn(r["seed"], r["shape"], r["low"], r["high"], r["dtype"]) for n, r in recipes.items()}
            spec = json.loads(file.with_suffix(".json").read_text())
            cases[f"{folder}/{file.stem}"] = {"recipe": {k: recipe[k] for k in ("weights", "inputs")}, **expected(spec, draw(recipe["weights"]), draw(recipe["inputs"]))}
    for name, spec in nan_cases.fused().items():
        recipe = {"weights": {}, "inputs": {"x": {"seed": "x", "shape": [nan_cases.ROWS, *spec["inputs"]["x"]["shape"][1:]], "low": -2, "high": 2, "dtype": "F32"}}}
        for key, tensor in Model(spec).state_dict().items():
            low, high = weight_range(key, tensor)
            recipe["weights"][key] = {"seed": key, "shape": list(tensor.shape), "low": low, "high": high, "dtype": NAMES[tensor.dtype]}
        draw = lambda recipes: {n: drawn(r["seed"], r["shape"], r["low"], r["high"], r["dtype"]) for n, r in recipes.items()}
        cases[name] = {"recipe": recipe, **expected(spec, draw(recipe["weights"]), draw(recipe["inputs"]))}
    (HERE / "nan.json").write_text("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}" for k, v in cases.items()) + "\n}\n")
    print(f"{len(cases)} cases, {sum(bool(any(c['nan'])) for c in cases.values())} with NaN")


main()

"""Makes the golden files from PyTorch: tests/golden/{layers,models,lengths}/NAME.json and NAME.safetensors; a model with lengths
has a file for each of several numbers, NAME_NUMBER.safetensors.

    python make_goldens.py [NAME...]        (needs torch; the files are checked in, so the tests don't)

NAME.json is the model file. NAME.safetensors holds the expected outputs; its metadata says how weights and inputs
are drawn (tensors.drawn: numbers that depend on the name alone), the batch size, the tolerance and, where it
matters, the device lists. PyTorch computes in double precision and the results are rounded, so that no device's rounding is in what all
of them are held to.
"""
import json
import math
import sys
from pathlib import Path

import torch

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cli"))
import elementwise_cases, layer_cases, length_cases, model_cases, tensor_cases  # noqa: F401  (some add their cases to those of layer_cases)
from golden_files import CODES, NAMES, from_torch, input_range, precise, pretty, to_torch, weight_range
from tensors import drawn, write_safetensors
from torch_reference import Model


FOLDERS = ("layers", "models", "lengths")


def numbered(value, lengths):
    """A model file, or part of one, with numbers for its lengths, as PyTorch's module takes them."""
    if isinstance(value, dict):
        return {key: lengths.get(part, part) if key == "end" and isinstance(part, str) else numbered(part, lengths) for key, part in value.items()}
    if not isinstance(value, list):
        return value
    return [lengths.get(part, part) if isinstance(part, str) else numbered(part, lengths) for part in value]


def make(folder, name, spec, batch, tolerance, devices=None, lengths=None):
    recipe = {"batch": batch, "tolerance": tolerance, "weights": {}, "inputs": {}}
    if devices:
        recipe["devices"] = devices
    if isinstance(spec, str):
        recipe["model"] = spec
        spec = json.loads((HERE.parents[1] / spec).read_text())
    else:
        (HERE / folder / f"{name}.json").write_text(pretty(spec) + "\n")
    if lengths:
        recipe["model"] = f"tests/golden/{folder}/{name}.json"
        spec = numbered(spec, lengths)
        name += "".join(f"_{number}" for number in lengths.values())
    module = Model(spec).eval()
    state = module.state_dict()
    owners = {p.data_ptr(): n for n, p in module.named_parameters()}
    for key, tensor in state.items():
        low, high = weight_range(key, tensor)
        # A tied parameter stands in a PyTorch file under each of its names, with the same content.
        seed = owners.get(tensor.data_ptr(), key) if tensor.numel() else key
        recipe["weights"][key] = {"seed": seed, "shape": list(tensor.shape), "low": low, "high": high, "dtype": NAMES[tensor.dtype]}
        tensor.copy_(to_torch(drawn(seed, tensor.shape, low, high, NAMES[tensor.dtype])))
    inputs = []
    for key, decl in spec["inputs"].items():
        shape = [batch if d == "batch" else d for d in decl["shape"]]
        low, high = input_range(key, decl, spec)
        dtype = CODES[decl.get("dtype", "float32")]
        recipe["inputs"][key] = {"seed": key, "shape": shape, "low": low, "high": high, "dtype": dtype}
        inputs.append(precise(to_torch(drawn(key, shape, low, high, dtype))))
    with torch.no_grad():
        result = module.double()(*inputs)
    result = result if isinstance(result, tuple) else (result,)
    names = spec.get("outputs") or [spec["layers"][-1].get("name", str(len(spec["layers"]) - 1))]
    assert len(names) == len(result), name
    expected = {n: from_torch(r) for n, r in zip(names, result)}
    for output, tensor in expected.items():
        assert tensor.dtype != "F32" or max(map(abs, tensor.data)) > 1e-3, f"{name}: {output} is all but zero"
        assert tensor.dtype != "F32" or all(map(math.isfinite, tensor.data)), f"{name}: {output} is not finite"
    write_safetensors(HERE / folder / f"{name}.safetensors", expected, {"recipe": json.dumps(recipe)})


def main():
    torch.set_num_threads(1)
    wanted = sys.argv[1:]
    for folder in FOLDERS:
        (HERE / folder).mkdir(exist_ok=True)
        for old in (HERE / folder).iterdir() if not wanted else ():
            old.unlink()
    for name, spec, batch in layer_cases.CASES + elementwise_cases.CASES:
        if not wanted or name in wanted:
            make("layers", name, spec, batch, 1e-5)
    for name, spec, batch, devices in model_cases.CASES:
        if not wanted or name in wanted:
            make("models", name, spec, batch, 1e-4, devices)
    for name, spec, batch, runs in length_cases.CASES:
        for lengths in runs if not wanted or name in wanted else ():
            make("lengths", name, spec, batch, 1e-5, lengths=lengths)
    files = [f for folder in FOLDERS for f in (HERE / folder).iterdir()]
    print(f"{len(layer_cases.CASES)} layer cases, {len(model_cases.CASES)} model cases, {sum(f.stat().st_size for f in files) / 1024:.0f} KiB")


main()

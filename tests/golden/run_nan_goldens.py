"""NaN in one element of an input is NaN in the outputs where PyTorch has it, and nowhere else (nan.json).

    python3 run_nan_goldens.py [FIRST COUNT]       cases number FIRST … FIRST + COUNT - 1; all of them

On the host alone and on four devices. On a CPU with bf16 the fused cases are compiled for that, too.
"""
import json
import math
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cli"))
import nan_cases
from golden_runner import draw
from program import cpu_has_bf16, must, plan_of, sheaf_run
from tensors import Tensor, read_safetensors, write_safetensors


def check(name, case, folder):
    model, plan, weights, inputs, out = (folder / f for f in ("m.json", "m.plan", "w.safetensors", "x.safetensors", "y.safetensors"))
    stored = HERE / f"{name}.json"
    spec = json.loads(stored.read_text()) if stored.exists() else nan_cases.fused()[name]
    model.write_text(json.dumps(spec))
    tensors = draw(case["recipe"]["inputs"])
    values = list(tensors[case["input"]].data)
    values[case["at"]] = math.nan
    tensors[case["input"]] = Tensor("F32", tensors[case["input"]].shape, values)
    write_safetensors(inputs, tensors)
    write_safetensors(weights, draw(case["recipe"]["weights"]))
    sources = [part for key in tensors for part in ("--input", f"{key}={inputs}:{key}")]
    complaints = []
    for precision in ("f32", "bf16") if "/" not in name and cpu_has_bf16() else ("f32",):
        plan_of(model, plan, "--precision", precision)
        for devices in ("cpu", "cpu:0-3"):
            must(sheaf_run(plan, "--devices", devices, "--weights", weights, *sources, "--output", out))
            found = read_safetensors(out)[0]
            for key, ranges in zip(spec.get("outputs") or list(found), case["nan"]):
                expected = {i for begin, end in ranges for i in range(begin, end)}
                actual = {i for i, value in enumerate(found[key].data) if math.isnan(value)}
                if actual != expected:
                    complaints.append(f"{name} {precision} {devices}: {key} has {len(actual)} NaN instead of {len(expected)}, {len(actual ^ expected)} of them elsewhere")
    return complaints


def main():
    cases = list(json.loads((HERE / "nan.json").read_text()).items())
    first, count = (int(sys.argv[1]), int(sys.argv[2])) if len(sys.argv) > 2 else (0, len(cases))
    complaints = []
    with tempfile.TemporaryDirectory(prefix="sheaf-nan-") as folder:
        for name, case in cases[first:first + count]:
            complaints += check(name, case, Path(folder))
    print("\n".join(complaints) or f"{len(cases[first:first + count])} cases agree with PyTorch")
    return 1 if complaints else 0


sys.exit(main())

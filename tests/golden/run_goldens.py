"""Compares sheaf with PyTorch's numbers: compiles a case's model and runs the plan on several device lists.

    python3 run_goldens.py FILE.safetensors... [--devices LIST]... [--gpu] [--keep DIR] [--precision bf16 --tolerance T]

Each output must lie within the case's tolerance (relative to the tensor's largest value), and `cpu:0,cpu:1` must
give the same bits as `cpu:0,cpu:0`. --keep leaves model, weights, inputs and outputs in DIR, to look into a failure.
The programs are found as tests/cli/program.py says.
"""
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cli"))
from golden_runner import compile_case, draw, gpu_tolerance, on_gpu, run_cases
from program import SOURCE, must, sheaf_run
from tensors import difference, read_safetensors, write_safetensors

DEVICES = ["cpu", "cpu:0", "cpu:0,cpu:1", "cpu:0-2", "cpu:0,cpu:0"]


def check(case, options, folder):
    """Returns a list of complaints."""
    expected, metadata = read_safetensors(case)
    recipe = json.loads(metadata["recipe"])
    model = SOURCE / recipe["model"] if "model" in recipe else case.with_suffix(".json")
    plan, weights, inputs = folder / "model.plan", folder / "weights.safetensors", folder / "inputs.safetensors"
    write_safetensors(weights, draw(recipe["weights"]))
    write_safetensors(inputs, draw(recipe["inputs"]))
    compile_case(model, plan, options)
    tolerance = options.tolerance or recipe["tolerance"]
    sources = [argument for name in recipe["inputs"] for argument in ("--input", f"{name}={inputs}:{name}")]
    complaints, outputs = [], {}
    lists = options.devices or recipe.get("devices", DEVICES)
    twins = on_gpu(lists, options.gpus) if options.gpu else {}
    if options.gpu:
        lists = [*twins, *([] if options.precision else twins.values())]
    for number, run_on in enumerate(lists):
        out = folder / f"out{number}.safetensors"
        given = ["--weights", weights] if recipe["weights"] else []
        must(sheaf_run(plan, "--devices", run_on, *given, *sources, "--output", out))
        outputs[run_on], _ = read_safetensors(out)
        if outputs[run_on].keys() != expected.keys():
            complaints.append(f"{run_on}: outputs {sorted(outputs[run_on])}, expected {sorted(expected)}")
            continue
        for name, tensor in expected.items():
            actual = outputs[run_on][name]
            error = difference(actual, tensor)
            if not error <= tolerance:
                complaints.append(f"{run_on}: {name} {actual.dtype} {list(actual.shape)} is off by {error:.2e} (relative), "
                                  f"allowed {tolerance:.0e}; expected {tensor.dtype} {list(tensor.shape)}, "
                                  f"{list(tensor.data[:4])} …, got {list(actual.data[:4])} …")
    for gpu, cpu in twins.items():
        for name in expected if cpu in outputs else ():
            error, allowed = (difference(outputs[run_on][name], expected[name]) for run_on in (gpu, cpu))
            allowed = gpu_tolerance(model, allowed)
            if not error <= allowed:
                complaints.append(f"{name}: {gpu} is off by {error:.2e} (relative), allowed {allowed:.1e}, for {cpu} is that far off")
    if "cpu:0,cpu:1" in outputs and "cpu:0,cpu:0" in outputs:
        for name in expected:
            if outputs["cpu:0,cpu:1"].get(name) != outputs["cpu:0,cpu:0"].get(name):
                complaints.append(f"{name}: two devices and one device twice differ in bits")
    return complaints


sys.exit(run_cases(__doc__, check))

"""What the runners of golden cases share: values drawn as a recipe says, and the command line.

With --precision bf16 a case is compiled for that, and compared with the same numbers: a tolerance that the caller
gives takes the place of the case's. On a CPU without bf16 (where cli.precision sees that plans are refused) the status
is 77: skipped.

With --gpu each of a case's device lists becomes one of as many replicas on cuda:0, and the results must besides be as
near to the reference, PyTorch in float64, as those of the CPU's same split, but for what another order of sums makes of float32
(gpu_tolerance()). Where the environment variable SHEAF_COMPILED_PLANS
names a folder (tests/gpu/pack.py), plans are taken from there: a machine with a GPU need not have the compiler.
"""
import argparse
import hashlib
import json
import math
import os
import shutil
import tempfile
from pathlib import Path

from program import cpu_has_bf16, plan_of
from tensors import drawn

SKIPPED = 77


def gpu_tolerance(model, cpu_error):
    """How far a GPU's float32 result may be off from the reference, relative to a tensor's largest value: twice as far as the CPU's, or by
    what rounding is expected to add up to over the model's layers."""
    def layers(module):
        own = module.get("layers", [])
        return sum(max(1, layers(layer.get("module", {})) if isinstance(layer.get("module"), dict) else 1) for layer in own) + \
            sum(layers(one) for one in module.get("modules", {}).values())
    return max(2 * cpu_error, 2e-6 * math.sqrt(max(1, layers(json.loads(Path(model).read_text())))))


def compiled_name(model, precision):
    """The plan's file name in a folder of compiled plans."""
    return f"{hashlib.sha256(Path(model).read_bytes()).hexdigest()[:20]}-{precision or 'f32'}.plan"


def compile_case(model, plan, options):
    """Compiles `model`, as the command line's options say."""
    if folder := os.environ.get("SHEAF_COMPILED_PLANS"):
        shutil.copyfile(Path(folder) / compiled_name(model, options.precision), plan)
        return
    asked = [(name, getattr(options, name)) for name in ("precision", "strategy")]
    plan_of(model, plan, *[part for name, value in asked if value for part in ("--" + name, value)])


def entries(devices):
    """How many entries a device list has: cpu:0-2 is three."""
    count = 0
    for entry in devices.split(","):
        first, _, last = entry.partition(":")[2].partition("-")
        count += int(last) - int(first) + 1 if last else 1
    return count


def on_gpu(lists, gpus=1):
    """{list of replicas on cuda:0, or on cuda:0, cuda:1, … in turn: the CPU list that splits alike}, of lists that aren't
    `cpu` alone."""
    return {",".join(f"cuda:{k % gpus}" for k in range(entries(d))): d for d in reversed(list(lists)) if d != "cpu"}


def draw(recipes):
    return {name: drawn(r["seed"], r["shape"], r["low"], r["high"], r["dtype"]) for name, r in recipes.items()}


def run_cases(description, check):
    """Runs `check(case, options, folder)` on the cases that the command line names; gives the exit status."""
    p = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("cases", nargs="+", type=Path)
    p.add_argument("--devices", action="append")
    p.add_argument("--keep", type=Path)
    p.add_argument("--precision", help="compile for this arithmetic")
    p.add_argument("--strategy", help="of training steps")
    p.add_argument("--tolerance", type=float, help="in place of the case's")
    p.add_argument("--gpu", action="store_true", help="on cuda:0 in place of CPU devices")
    p.add_argument("--gpus", type=int, default=1, help="with --gpu: on so many, in turn")
    a = p.parse_args()
    if not a.gpu and a.precision == "bf16" and not cpu_has_bf16():
        print("skipped: this CPU has no bf16")
        return SKIPPED
    failed = 0
    for case in a.cases:
        with tempfile.TemporaryDirectory(prefix="sheaf-golden-") as scratch:
            folder = (a.keep / case.stem) if a.keep else Path(scratch)
            folder.mkdir(parents=True, exist_ok=True)
            try:
                complaints = check(case.resolve(), a, folder)
            except AssertionError as error:
                complaints = [str(error)]
        for complaint in complaints:
            print(f"{case.stem}: {complaint}")
        failed += bool(complaints)
    print(f"{len(a.cases) - failed} of {len(a.cases)} cases agree with PyTorch")
    return 1 if failed else 0

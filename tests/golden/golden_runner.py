"""What the runners of golden cases share: values drawn as a recipe says, and the command line.

With --precision bf16 a case is compiled for that, and compared with the same numbers: a tolerance that the caller
gives takes the place of the case's. On a CPU without bf16 (where cli.precision sees that plans are refused) the status
is 77: skipped.
"""
import argparse
import tempfile
from pathlib import Path

from program import cpu_has_bf16, must, sheaf
from tensors import drawn

SKIPPED = 77


def compile_case(model, plan, options):
    """Compiles `model`, as the command line's options say."""
    must(sheaf("compile", model, "-o", plan, *(["--precision", options.precision] if options.precision else [])))


def draw(recipes):
    return {name: drawn(r["seed"], r["shape"], r["low"], r["high"], r["dtype"]) for name, r in recipes.items()}


def run_cases(description, check):
    """Runs `check(case, options, folder)` on the cases that the command line names; gives the exit status."""
    p = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("cases", nargs="+", type=Path)
    p.add_argument("--devices", action="append")
    p.add_argument("--keep", type=Path)
    p.add_argument("--precision", help="compile for this arithmetic")
    p.add_argument("--tolerance", type=float, help="in place of the case's")
    a = p.parse_args()
    if a.precision == "bf16" and not cpu_has_bf16():
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

"""What the runners of golden cases share: values drawn as a recipe says, and the command line."""
import argparse
import tempfile
from pathlib import Path

from tensors import drawn


def draw(recipes):
    return {name: drawn(r["seed"], r["shape"], r["low"], r["high"], r["dtype"]) for name, r in recipes.items()}


def run_cases(description, check):
    """Runs `check(case, devices, folder)` on the cases that the command line names; gives the exit status."""
    p = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("cases", nargs="+", type=Path)
    p.add_argument("--devices", action="append")
    p.add_argument("--keep", type=Path)
    a = p.parse_args()
    failed = 0
    for case in a.cases:
        with tempfile.TemporaryDirectory(prefix="sheaf-golden-") as scratch:
            folder = (a.keep / case.stem) if a.keep else Path(scratch)
            folder.mkdir(parents=True, exist_ok=True)
            try:
                complaints = check(case.resolve(), a.devices, folder)
            except AssertionError as error:
                complaints = [str(error)]
        for complaint in complaints:
            print(f"{case.stem}: {complaint}")
        failed += bool(complaints)
    print(f"{len(a.cases) - failed} of {len(a.cases)} cases agree with PyTorch")
    return 1 if failed else 0

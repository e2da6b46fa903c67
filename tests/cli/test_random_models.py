"""What compiles, binds and runs; what doesn't is refused with its place. Random models (random_models.py).

    python3 test_random_models.py [FIRST COUNT]
"""
import json
import re
import sys
import tempfile
from pathlib import Path

from program import SOURCE, execute, sheaf, sheaf_run
from random_layers import LAYERS, B
from random_models import random_model, table_types, tensors_of
from tensors import write_safetensors
from training import TRAIN

ROWS = 5  # on two devices 3 and 2


def check_refused(done, model):
    """Each error has a place in the model file, and none speaks of the compiler."""
    assert done.status == 1, done
    errors = [line for line in done.err.splitlines() if " error: " in line]
    assert errors and all(re.match(rf"{re.escape(str(model))}:\d+:\d+: error: ", line) for line in errors), done
    assert "internal error" not in done.err and "fault of the compiler" not in done.err, done


def check(number, folder):
    """Whether the model was taken."""
    spec = random_model(number)
    model, plan, data = folder / "model.json", folder / "model.plan", folder / "data.safetensors"
    model.write_text(json.dumps(spec, indent=1))
    compiled = sheaf("compile", model, "-o", plan)
    if compiled.status:
        check_refused(compiled, model)
        return False
    targets = spec.get("training", {}).get("targets", {})
    write_safetensors(data, tensors_of({**spec["inputs"], **targets}, ROWS))
    batched = any(B in entry["shape"] for entry in spec["inputs"].values())
    for devices in ("cpu", "cpu:0", "cpu:0,cpu:1"):
        done = sheaf_run(plan, "--devices", devices, *[f"--input={name}={data}:{name}" for name in spec["inputs"]], "--output", folder / "out.safetensors")
        # Drawn indices may lie beyond what they index; that is told as such.
        assert done.status == 0 or "is out of range" in done.err, done
        if not targets or not batched:
            continue
        done = execute([*TRAIN, plan, "--devices", devices, *[f"--data={name}={data}:{name}" for name in {**spec["inputs"], **targets}],
                        "--batch-size", ROWS, "--steps", 2, "--save", folder / "saved.safetensors"])
        # Arithmetic may leave what can be represented; that is told as such.
        assert done.status == 0 or "is not finite" in done.err or "isn't finite" in done.err or "is out of range" in done.err, done
    return True


def main():
    types = table_types(SOURCE / "frontend/model.schema.json")
    assert set(LAYERS) == types, f"the layer table and random_models.py differ: {sorted(set(LAYERS) ^ types)}"
    first, count = (int(word) for word in sys.argv[1:3]) if len(sys.argv) > 2 else (0, 40)
    taken = failed = 0
    for number in range(first, first + count):
        with tempfile.TemporaryDirectory(prefix="sheaf-random-") as folder:
            try:
                taken += check(number, Path(folder))
            except AssertionError as error:
                failed += 1
                print(f"model {number}: {error}\n{(Path(folder) / 'model.json').read_text()}")
    print(f"{taken} of {count} models ran, {count - taken - failed} were refused, {failed} failed")
    return 1 if failed or taken < count // 4 else 0


sys.exit(main())

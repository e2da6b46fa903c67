"""What ptxas makes of the generated kernels of the models' plans, and whether they keep an H200's memory busy.

usage: test_plan_machine_code.py PTXAS [PRECISION…]. Of all models, in bf16 unless others are named, for sm_90: no kernel spills. Whatever reads
by 16 bytes has enough in flight (machine_code.py): element-wise kernels without broadcasting (`elementwise` in the plan) all do, and so do all others
that read, but for those that WITHOUT names. The last line counts kernels.
"""
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cli"))
from machine_code import NEEDED, assembled, entries, in_flight, loads  # noqa: E402
from program import MODELS, must, sheaf  # noqa: E402

# What forbids vectors of 16 bytes, and of which kernels (in bf16).
WITHOUT = {
    "rows of 10, 2 or 35 elements, or as many of them as a batch has, are no whole vectors": {
        "embedding: int64[batch], float32[1000, 10] -> float32[batch, 10], int64[1]",
        "log_softmax: float32[batch, 10] -> float32[batch, 10]",
        "softmax: float32[batch, 2] -> float32[batch, 2]",
        "target_weights_weighted_sum_scale: float32[batch, 10], int64[batch] -> float32[]",
        "target_weights_weighted_sum_scale_div: float32[batch, 10], int64[batch], float32[] -> float32[]",
    },
    "a search through the indices, one hit at a time": {
        "embedding_backward: int64[35, batch], float32[35, batch, 200] -> float32[2000, 200]",
    },
    "nothing is known of a batch's length": {
        "mean: float32[batch] -> float32[]",
        "mean: float32[batch, 1, 1] -> float32[]",
        "sum: float32[batch] -> float32[]",
        "sum: float32[35, batch] -> float32[]",
        "sum: float32[batch, 1] -> float32[]",
        "sum: float32[batch, 1, 1] -> float32[]",
        "sum_scale: float32[batch] -> float32[]",
        "sum_scale: float32[batch, 1] -> float32[]",
        "sum_scale: float32[35, batch] -> float32[]",
        "sum_scale_div: float32[batch], float32[] -> float32[]",
        "sum_scale_div: float32[batch, 1], float32[] -> float32[]",
        "sum_scale_div: float32[35, batch], float32[] -> float32[]",
    },
    "transposes a dimension of whose length nothing is known": {
        "permute: float32[35, 2000, batch] -> float32[35, batch, 2000]",
        "permute: float32[35, batch, 2000] -> float32[35, 2000, batch]",
    },
    "each element looks at its row's target": {
        "target_values: int64[batch], float32[batch, 1000] -> float32[batch]",
        "target_values: int64[35, batch], float32[35, 2000, batch] -> float32[35, batch]",
        "target_weights_mul: int64[35, batch], float32[] -> float32[35, 2000, batch]",
    },
}


def known(kernel):
    return f"{kernel['description']}: {kernel['signatures'][0].split(' {')[0]}"


def complaints(name, body, registers, spilled, kernel):
    """Of one entry."""
    found = [size for part in loads(body) for size in part]
    flying = in_flight(body, registers, kernel["gpu"]["block"])
    if spilled:
        yield f"{spilled} bytes spilled"
    reads = not kernel["signatures"][0].startswith(" ->")
    excused = not kernel.get("elementwise") and any(known(kernel) in names for names in WITHOUT.values())
    if reads and (16 in found) == excused:
        yield f"reads by at most {max(found)} bytes: {known(kernel)}"
    if 16 in found and flying < NEEDED:
        yield f"{flying / 1e6:.1f} MB in flight, with {registers} registers"


def main():
    bad, counts = [], {"entries": 0, "by 16 bytes": 0}
    with tempfile.TemporaryDirectory() as folder:
        plan_file, ptx = Path(folder) / "model.plan", Path(folder) / "kernels.ptx"
        for model in sorted(MODELS.glob("*.json")):
            for precision in sys.argv[2:] or ["bf16"]:
                must(sheaf("compile", "--precision", precision, model, "-o", plan_file))
                plan = json.loads(plan_file.read_text())
                text = next(o["text"] for o in plan["objects"] if o["level"] == "ptx")
                ptx.write_text(text)
                bodies, kernels = entries(text), {kernel["name"]: kernel for kernel in plan["kernels"]}
                for name, (registers, spilled) in assembled(sys.argv[1], ptx, 90, folder).items():
                    counts["entries"] += 1
                    counts["by 16 bytes"] += 16 in {size for part in loads(bodies[name]) for size in part}
                    kernel = kernels.get(name) or kernels[name.removesuffix("_many")]
                    bad += [f"{model.stem} {precision} {name}: {what}" for what in complaints(name, bodies[name], registers, spilled, kernel)]
    print(*bad, counts, sep="\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

"""What ptxas makes of the generated kernels of the models' plans, and whether those over elements keep an H200's memory busy.

usage: test_plan_machine_code.py PTXAS [PRECISION…]. Of all models, in bf16 unless others are named, for sm_90: no kernel spills. What goes over elements without
broadcasting (`elementwise` in the plan) reads by 16 bytes, and whatever reads so has enough in flight
(machine_code.py). The last line counts kernels.
"""
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cli"))
from machine_code import NEEDED, assembled, entries, in_flight, loads  # noqa: E402
from program import MODELS, must, sheaf  # noqa: E402


def complaints(name, body, registers, spilled, kernel):
    """Of one entry."""
    found = [size for part in loads(body) for size in part]
    flying = in_flight(body, registers, kernel["gpu"]["block"])
    if spilled:
        yield f"{spilled} bytes spilled"
    reads = not kernel["signatures"][0].startswith(" ->")
    if kernel.get("elementwise") and reads and 16 not in found:
        yield f"reads by at most {max(found)} bytes"
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

"""docs/performance.md has what `estimate --device-model h200` predicts today: of each row the figures, and their sum by kind.

usage: test_prediction.py [--write]. Exit status 77: skipped, the reason is on stdout: where cuDNN cannot plan, launches differ.
"""
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cli"))
from page_table import hold  # noqa: E402
from program import MODELS, SOURCE, must, sheaf  # noqa: E402

PAGE = SOURCE / "docs/performance.md"
BEGIN = "<!-- predicted: tests/cuda/test_prediction.py -->"
CASES = [("ResNet-18, 28×28", "resnet18", "bf16"), ("ResNet-50, 224×224", "resnet50", "bf16"), ("ResNet-50, 224×224", "resnet50", "f16")]
BATCH = 256
KINDS = {"convolutions": ("conv", "conv_backward_data", "conv_backward_weight"), "batch norm": ("batch_norm_train", "batch_norm_backward"),
         "generated kernels": ("kernel",)}


def row(folder, title, model, precision):
    plan = Path(folder) / f"{model}-{precision}.plan"
    must(sheaf("compile", "--precision", precision, MODELS / f"{model}.json", "-o", plan))
    told = json.loads(must(sheaf("estimate", plan, "--devices", "cuda:0", "--batch", BATCH, "--device-model", "h200", "--json")).out)
    if any(part["op"] == "conv" for part in told["memory"].get("uncertain", [])):
        print("skipped: cuDNN plans no convolution here:", told["memory"]["uncertain"])
        sys.exit(77)
    gpu = told["devices"][1]
    seconds = {name: sum(kind["seconds"] for kind in told["kinds"] if kind["op"] in ops) for name, ops in KINDS.items()}
    rest = sum(kind["seconds"] for kind in told["kinds"]) - sum(seconds.values())
    moved = (gpu["work"]["read_bytes"] + gpu["work"]["written_bytes"]) / 1e9
    times = " | ".join(f"{1e3 * time:.2f} ms" for time in (*seconds.values(), rest, told["time"]["step_seconds"]))
    return f"| {title}, {precision} | {gpu['work']['launches']} | {moved:.1f} GB | {gpu['peak_bytes'] / 2**30:.1f} GiB | {times} | {BATCH / told['time']['step_seconds']:.0f} |"


def main():
    with tempfile.TemporaryDirectory() as folder:
        rows = [row(folder, *case) for case in CASES]
    head = ["| one training step, batch 256, on one H200 | launches | memory traffic | memory | " + " | ".join(KINDS) + " | the rest | step | images/s |"]
    table = "\n".join([*head, "|" + "---|" * (len(KINDS) + 7), *rows])
    return hold(PAGE, BEGIN, table, "figures")


sys.exit(main())

"""Every library operation of every model has an engine on an H200, and of some models on an A100 (sm_80), an L4 (sm_89) and a B200 (sm_100), without one: cudnn_plan_check on
the plans of the models.

usage: test_plans.py f32|fast|bf16|f16. What the programs say goes to stdout. Exit status 77: skipped, the reason is on stdout.
"""
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cli"))
from program import MODELS, must, sheaf  # noqa: E402

# What takes time is that cuDNN compiles kernels, up to a second each: for batch norm and fused convolutions of each size.
RUNS = {  # models, batch, devices, and another GPU than an H200
    "f32": [(None, 256, 1), (None, 7, 2), (["resnet18_w8", "digits_cnn"], 256, 1, "a100"), (["resnet18_w8", "digits_cnn"], 256, 1, "b200")],
    "fast": [(["resnet18", "dcgan_discriminator", "word_language_model"], 256, 1)],
    "bf16": [(["resnet18", "dcgan_generator", "digits_cnn", "transformer_encoder", "word_language_model"], 256, 1),
             (["resnet18_w8"], 7, 2), (["resnet18", "transformer_encoder"], 256, 1, "a100"), (["resnet18_w8", "dcgan_generator"], 256, 1, "l4"),
             (["resnet18", "transformer_encoder"], 256, 1, "b200")],
    "f16": [(["resnet18_w8", "digits_cnn", "resnet50"], 256, 1), (["resnet18_w8", "digits_cnn", "resnet50"], 256, 1, "a100"),
            (["resnet18_w8", "digits_cnn", "resnet50"], 256, 1, "b200")],
}
# Operations of ResNet-50's training step that cuDNN joins with batch norms, for f16 alone (runtime/bind/join_convolutions.h): all
# convolutions but the first, which has 3 channels; the gradients around the two norms within each of 16 blocks; and the 15 of the sums of
# gradients between blocks. For sm_100 cuDNN 9.19 has no engine for any of these graphs (CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH).
JOINED = {"conv": 52, "conv_backward_weight": 32, "conv_backward_data": 32 + 15}
NEVER_JOINED = ("b200",)


def joined(text):
    """How many operations of ResNet-50's training step are joined with batch norms."""
    step = re.search(r"^resnet50.plan train,.*?(?=^\S|\Z)", text, re.DOTALL | re.MULTILINE)[0]
    return dict(Counter(line.split()[0] for line in step.splitlines() if "joined with the batch norms" in line))


def main(kind):
    check = os.environ["CUDNN_PLAN_CHECK"]
    with tempfile.TemporaryDirectory() as folder:
        mock = subprocess.run(["bash", str(HERE / "make_mock_driver.sh"), folder], capture_output=True, text=True)
        if mock.returncode != 0:
            print("skipped: no driver to build plans with can be made:", mock.stderr.strip())
            return 77
        precision = kind if kind in ("bf16", "f16") else "f32"
        status = 0
        for models, batch, devices, *gpu in RUNS[kind]:
            plans = []
            for model in models or sorted(path.stem for path in MODELS.glob("*.json")):
                plan = Path(folder) / f"{model}.plan"
                if not plan.exists():
                    must(sheaf("compile", "--precision", precision, MODELS / f"{model}.json", "-o", plan))
                plans.append(plan)
            command = [check, "--batch", batch, "--devices", devices, *(["--fast"] if kind == "fast" else []),
                       *(["--device-model", *gpu] if gpu else []), *plans]
            environment = dict(os.environ, LD_LIBRARY_PATH=f"{folder}:{os.environ.get('LD_LIBRARY_PATH', '')}")
            done = subprocess.run([str(part) for part in command], env=environment, timeout=590, stdout=subprocess.PIPE, text=True)
            print(done.stdout)
            if done.returncode == 77:
                return 77
            status = status or done.returncode
            expected = {} if gpu and gpu[0] in NEVER_JOINED else JOINED
            if kind == "f16" and joined(done.stdout) != expected:
                print("joined with batch norms:", joined(done.stdout), "instead of", expected)
                status = 1
        return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

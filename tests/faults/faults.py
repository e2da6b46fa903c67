"""What tests of a failing system share: a command of each verb, and a run of it with a library preloaded."""
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cli"))
from program import SHEAF, SHEAF_RUN, execute, must  # noqa: E402
from training import TRAIN, TrainTest  # noqa: E402

LIBRARY = os.environ["SHEAF_PRELOADED"]
COMPILER = Path(SHEAF).with_name("sheaf-compiler")  # which `sheaf` becomes for some verbs: a fault is one program's


# Small, as each command runs a hundred times: a library call, a generated kernel, statistics, an optimiser with state.
SMALL = """{"sheaf": "1.0", "name": "small", "inputs": {"x": {"shape": ["batch", 1, 6, 6]}},
"layers": [{"name": "net", "type": "DataParallel", "module": {"type": "Sequential", "layers": [
  {"name": "flatten", "type": "Flatten"}, {"name": "bn", "type": "BatchNorm1d", "num_features": 36},
  {"name": "fc", "type": "Linear", "in_features": 36, "out_features": 3}]}}],
"training": {"targets": {"label": {"shape": ["batch"], "dtype": "int64"}},
  "loss": {"type": "CrossEntropyLoss", "inputs": ["net", "label"]}, "optimizer": {"type": "SGD", "lr": 0.01, "momentum": 0.9}}}"""


class FaultTest(TrainTest):
    model = SMALL

    def setUp(self):
        super().setUp()
        self.out = self.path("out")
        self.out.mkdir()
        self.cache = self.path("cache")  # the first run of a command keeps its kernels there, the others find them

    def verbs(self):
        """Name → command, whose outputs go to the folder self.out. Commands do the same each time."""
        out, run = self.out, ["--devices", "cpu:0,cpu:1"]
        return {
            "compile": [COMPILER, "compile", "model.json", "-o", out / "plan"],
            "dump a model": [COMPILER, "dump", "model.json", "--format", "json", "-o", out / "graph"],
            "dump a plan": [COMPILER, "dump", "model.plan", *run, "--batch", 4, "--format", "html", "-o", out / "page"],
            "run": [*SHEAF_RUN, "model.plan", *run, "--input", "x=test-images.gz", "--output", out / "outputs"],
            "train": self.command("--steps", 4, "--seed", 5, "--save", out / "weights", "--metrics", out / "metrics"),
            "eval": [SHEAF, "eval", "model.plan", *run, "--data", "x=test-images.gz", "--data", "label=test-labels"],
            "verify": [COMPILER, "verify", "model.plan", "--devices", "cpu:0"],
            "estimate": [SHEAF, "estimate", "model.plan", *run, "--batch", 8, "--json"],
            "explain": [COMPILER, "explain", "model.plan", "net.fc", *run, "--batch", 8],
            "bench": [SHEAF, "bench", "model.plan", *run, "--batch", 8, "--steps", 2, "--warm-up", 1, "--json", "-o", out / "times"],
        }

    def with_fault(self, command, **fault):
        """The finished command, run with LIBRARY preloaded and told of the fault, and what the library reported: None where the
        command doesn't come so far."""
        report = self.path("report")
        report.unlink(missing_ok=True)
        settings = {"OMP_NUM_THREADS": 1, "SHEAF_CACHE": self.cache, "LD_PRELOAD": LIBRARY, "FAILING_REPORT": report, **fault}
        done = execute(["env", *(f"{name}={value}" for name, value in settings.items()), *command], cwd=self.shared)
        return done, report.read_text() if report.exists() else None

    def content(self):
        """Of all files in self.out."""
        return {path.relative_to(self.out).as_posix(): path.read_bytes() for path in self.out.rglob("*") if path.is_file()}

#!/usr/bin/env python3
"""How good `sheaf estimate` is on this machine (docs/estimate.md): each step's estimated time divided by its measured one.

    python3 bench/estimates.py [--build build] [--describe FILE] [--kinds] [MODEL.json:BATCH:PROGRAM[:PRECISION][:fast]...]

Five turns: the machine is calibrated, unless --describe names a file, then each step is estimated and measured. Times and ratios are medians of the
turns. Steps take all cores, and strict numerics unless they say `fast`. --kinds adds, for each kind of operation, its time as estimated by the last calibration and as measured in one more run;
that one is a profile, whose operations take a little longer.
"""
import argparse
import json
import statistics
import tempfile
from pathlib import Path

from turns import ROOT, Bench

STEPS = (
    "resnet18:64:infer", "resnet18:64:train", "resnet18:64:infer:bf16", "resnet18:64:train:bf16", "resnet18:64:infer:fast",
    "resnet18:64:train:fast", "resnet18:64:train:bf16:fast", "resnet50:4:infer", "resnet18_w8:32:train",
    "digits_cnn:64:train", "dcgan_discriminator:16:infer", "dcgan_discriminator:16:train", "dcgan_generator:16:infer",
    "word_language_model:20:train", "transformer_encoder:32:infer", "transformer_encoder:32:train")
TURNS = 5


def output(*command):
    return "".join(Bench.lines(command))


class Step:
    def __init__(self, sheaf, folder, words):
        model, batch, program, *more = words.split(":")
        self.name = ", ".join((Path(model).stem, batch, program, *more))
        precision = [word for word in more if word != "fast"]
        self.sheaf, self.plan = sheaf, folder / f"{Path(model).stem}{''.join(precision)}.plan"
        self.options = ("--devices", "cpu", "--batch", batch, "--program", program, "--numerics", "fast" if "fast" in more else "strict")
        if not self.plan.exists():
            model = Path(model) if model.endswith(".json") else ROOT / f"models/{model}.json"
            output(sheaf, "compile", model, "--precision", *(precision or ["f32"]), "-o", self.plan)

    def estimated(self, description):
        return json.loads(output(self.sheaf, "estimate", self.plan, *self.options, "--describe", description, "--json"))

    def measured(self, *more):
        return json.loads(output(self.sheaf, "bench", self.plan, *self.options, "--json", *more))


def print_kinds(estimated, measured):
    found = {kind["op"]: kind["seconds"] for kind in measured["profile"]["by_kind"]}
    for kind in sorted(estimated["kinds"], key=lambda kind: -found.get(kind["op"], 0)):
        if kind["op"] in found:
            print(f"    {kind['op']:28} {1e3 * kind['seconds']:9.3f} ms of {1e3 * found[kind['op']]:9.3f}: {kind['seconds'] / found[kind['op']]:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", nargs="*", default=STEPS)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--describe", type=Path)
    parser.add_argument("--kinds", action="store_true")
    options = parser.parse_args()
    sheaf = options.build / "bin/sheaf"
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        description = options.describe or folder / "machine.json"
        steps = [Step(sheaf, folder, words) for words in options.steps]
        turns = [[] for _ in steps]
        for _ in range(TURNS):
            if not options.describe:
                output(sheaf, "bench", "--calibrate", "-o", description)
            for step, found in zip(steps, turns):
                found.append((step.estimated(description)["time"]["step_seconds"], step.measured()["step_seconds"]))
        print("| step | estimated | measured | estimated ÷ measured |\n|---|---|---|---|")
        for step, found in zip(steps, turns):
            estimated, measured = (statistics.median(column) for column in zip(*found))
            ratio = statistics.median(one / other for one, other in found)
            print(f"| {step.name} | {1e3 * estimated:.3g} ms | {1e3 * measured:.3g} ms | {ratio:.2f} |", flush=True)
            if options.kinds:
                print_kinds(step.estimated(description), step.measured("--profile"))


main()

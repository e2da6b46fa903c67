"""Measurements of the training step: forward, loss, backward and update."""
import json

from turns import table

# PyTorch's peak for the step at batch 256, and a third less.
TORCH_PEAK_MIB = 2200


def train(bench):
    bench.resnet18_next_to_peers("train", {"strict": 1.3, "fast": 1.9})


def train_bf16(bench):
    bench.resnet18_next_to_peers("train", {"strict": None, "fast": 1.7}, "bf16")


def linear(bench):
    rows = []
    for devices in ("cpu:0", "cpu:0,cpu:1"):
        measured = bench.measured(bench.plan("bench/linear.json"), devices, 30, "--program", "train")
        rows.append([f"sheaf {devices}", f"{measured['step_seconds_min'] * 1e6:.2f}"])
    for name, command in bench.peers("linear", "--program", "train"):
        rows.append([name, f"{float(bench.lines(command)[-1]) * 1e6:.2f}"])
    table("Linear(5, 2), MSELoss, SGD, batch 30, one training step (bar: under 5 µs on one device)", ["", "µs"], rows)


def devices(bench):
    batch, plan = bench.options.batch, bench.plan("models/resnet18.json")
    two, four = "cpu:0,cpu:1", "cpu:0-3"
    seconds = bench.take_turns([(d, bench.ours(plan, d, batch, "--program", "train", "--turns")) for d in (two, four)])
    table(f"ResNet-18 training step, f32, batch {batch}: more devices on the same cores (bar: at most 1.10)",
          ["", "img/s", "time × two devices"],
          [[n, f"{batch / s:.0f}", f"{s / seconds[two]:.2f}"] for n, s in seconds.items()])


def memory(bench):
    batch, plan = bench.options.batch, bench.plan("models/resnet18.json")
    mib = lambda count: f"{count / 2**20:.0f}"
    rows = []
    for numerics in ("strict", "fast"):
        for names in ("cpu:0", "cpu:0,cpu:1"):
            command = bench.ours(plan, names, batch, "--program", "train", "--numerics", numerics, "--turns")
            info = json.loads(bench.lines(command)[0])
            rows.append([f"sheaf {numerics}, {names}", mib(info["peak_bytes"]), mib(info["predicted_bytes"]),
                         mib(info["used_bytes"]), f"{info['used_bytes'] / info['predicted_bytes']:.3f}",
                         f"{info['arena_bytes'] / info['arena_bound']:.3f}"])
    for name, command in bench.peers("resnet", "--program", "train", "--batch", batch):
        rows.append([name, mib(json.loads(bench.lines(command)[0])["peak_bytes"]), "", "", "", ""])
    table(f"ResNet-18 training step, f32, batch {batch}, resident memory in MiB (bars at 256: peak at most "
          f"{TORCH_PEAK_MIB * 2 // 3}; used within 2% of predicted)",
          ["", "peak", "predicted", "used", "used / predicted", "arenas / lower bound"], rows)


MEASUREMENTS = {"train": train, "train-bf16": train_bf16, "train-linear": linear, "train-devices": devices, "train-memory": memory}

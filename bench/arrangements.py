#!/usr/bin/env python3
"""Compares the bits of models × strategies × arrangements of processes and devices: for one model and optimiser all must be equal, with `--shards 4`
(without, where a model has no parallel region to cut).

    python3 bench/arrangements.py [--sheaf build/bin/sheaf] [--steps 5] [MODEL…]      (default: all of models/)

A model without a `training` section learns numbers drawn at random; resnet50 sees pictures of 64×64, which train the same parameters in less
time. A batch of 7 rows is the smallest that makes four shards of unequal size: 2, 2, 2 and 1.
"""
import argparse
import hashlib
import json
import os
import subprocess
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1]
STRATEGIES = ("data_parallel", "replicated", "sharded", "fully_sharded")
OPTIMIZERS = ({"type": "SGD", "lr": 0.01, "momentum": 0.9}, {"type": "Adam", "lr": 0.001})
# Of models without a `training` section: the layer that learns, and the shape of what it makes of a row.
LEARNS = {"dcgan_generator": ("main", [3, 64, 64]), "distributed_model": ("rnn", [10]), "rl_policy": ("action", [2]), "tutorial": ("outside", [2])}
SMALLER_INPUTS = {"resnet50": {"image": {"shape": ["batch", 3, 64, 64], "dtype": "float32"}}}
# Lists of devices, one for each process.
ARRANGEMENTS = (("cpu:0",), ("cpu:0,cpu:1",), ("cpu:0-2",), ("cpu:0-3",), ("cpu:0,cpu:1",) * 2, ("cpu:0",) * 3, ("cpu:0",) * 4)


def data_of(model, batch, steps):
    return [part for name in (*model["inputs"], *model["training"]["targets"]) for part in ("--data", f"{name}=random:{batch * steps}")]


def trainable(name):
    """The model, with something to learn."""
    model = json.loads((SOURCE / f"models/{name}.json").read_text())
    model["inputs"] |= SMALLER_INPUTS.get(name, {})
    if "training" not in model:
        layer, shape = LEARNS[name]
        model["training"] = {"targets": {"wanted": {"shape": ["batch", *shape], "dtype": "float32"}}, "loss": {"type": "MSELoss", "inputs": [layer, "wanted"]}}
    return model


def digest(folder):
    """A digest of everything a run left: parameters, buffers, the optimiser's state, losses."""
    losses = [json.loads(line).get("loss") for line in (folder / "m.jsonl").read_text().splitlines()]
    files = sorted((folder / "checkpoints").glob("*.safetensors"))
    newest = files[-1].read_bytes()
    end = 8 + int.from_bytes(newest[:8], "little")
    header = json.loads(newest[8:end])
    header.pop("__metadata__")  # how long the run took, and on what
    return hashlib.sha256(json.dumps([losses, header]).encode() + newest[end:]).hexdigest()[:16]


def has_regions(layers):
    return any(layer["type"] == "DataParallel" or has_regions(layer.get("layers", [])) for layer in layers)


def run(sheaf, plan, lists, model, batch, steps):
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        shards = ["--shards", "4"] if has_regions(model["layers"]) else []
        line = [sheaf, "train", plan, *shards, "--batch-size", str(batch), "--steps", str(steps), "--seed", "3", "--metrics", folder / "m.jsonl",
                "--checkpoint", folder / "checkpoints", *data_of(model, batch, steps)]
        command = [*line, "--devices", lists[0]]
        if len(lists) > 1:
            command = ["mpirun", "--oversubscribe", "--allow-run-as-root"]
            for rank, devices in enumerate(lists):
                command += ([":"] if rank else []) + ["-n", "1", *line, "--devices", devices]
        done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, "OMPI_MCA_btl_vader_single_copy_mechanism": "none"})
        if done.returncode:
            return "failed: " + done.stdout.decode(errors="replace")[-400:]
        return digest(folder)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sheaf", default=SOURCE / "build/bin/sheaf")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--batch", type=int, default=7)
    parser.add_argument("models", nargs="*")
    arguments = parser.parse_args()
    wrong = 0
    for name in arguments.models or sorted(path.stem for path in (SOURCE / "models").glob("*.json")):
        model = trainable(name)
        for optimizer in OPTIMIZERS:
            model["training"] = {**{key: value for key, value in model["training"].items() if key != "schedule"}, "optimizer": optimizer}
            found = {}
            with tempfile.TemporaryDirectory() as place:
                file, plan = Path(place) / "model.json", Path(place) / "model.plan"
                file.write_text(json.dumps(model))
                for strategy in STRATEGIES:
                    subprocess.run([arguments.sheaf, "compile", file, "--strategy", strategy, "-o", plan], check=True, stderr=subprocess.DEVNULL)
                    for lists in ARRANGEMENTS:
                        found[strategy, lists] = run(arguments.sheaf, plan, lists, model, arguments.batch, arguments.steps)
            kinds = set(found.values())
            print(f"{name}, {optimizer['type']}: {len(found)} runs, {'equal' if len(kinds) == 1 else f'{len(kinds)} DIFFERENT RESULTS'}", flush=True)
            if len(kinds) > 1 or any(kind.startswith("failed") for kind in kinds):
                wrong += 1
                for (strategy, lists), result in found.items():
                    print(f"  {strategy} {' | '.join(lists)}: {result}")
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()

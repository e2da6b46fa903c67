#!/usr/bin/env python3
"""Compares sheaf's loader with PyTorch's DataLoader and torchvision's transforms, in turns, on decoding and augmenting a folder of pictures.

    images.py DIR [--program build/bin/sheaf] [--workers 2] [--turns 3] [--python PYTHON_THAT_HAS_TORCHVISION]

DIR is what make_images.py wrote. In each turn both read all pictures once, in shuffled order, with RandomResizedCrop(224), RandomHorizontalFlip,
ToTensor, Normalize, in batches of 64. sheaf's side is a training run of a model that costs next to nothing, so that its steps wait for data.
Prints pictures a second (median of the turns), their ratio, and the largest resident set.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

MODEL = {"sheaf": "1.0", "name": "means", "inputs": {"x": {"shape": ["batch", 3, 224, 224]}},
         "layers": [{"type": "AvgPool2d", "kernel_size": 112}, {"type": "Flatten"}, {"type": "Linear", "in_features": 12, "out_features": 10}],
         "training": {"targets": {"label": {"shape": ["batch"], "dtype": "int64"}}, "loss": {"type": "CrossEntropyLoss"},
                      "optimizer": {"type": "SGD", "lr": 0.01}}}
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def torch_side(folder, workers):
    import time
    import torch
    from torchvision import datasets, transforms
    torch.set_num_threads(1)
    data = datasets.ImageFolder(folder, transforms.Compose([
        transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor(), transforms.Normalize(MEAN, STD)]))
    loader = torch.utils.data.DataLoader(data, batch_size=64, shuffle=True, num_workers=workers)
    begin = time.perf_counter()
    for _ in loader:
        pass
    seconds = time.perf_counter() - begin
    print(json.dumps({"seconds": seconds, "rows": len(data)}))


def run(command):
    """Standard output, and the command's largest resident set in MiB."""
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{' '.join(map(str, command))} failed")
    return out, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--program", default="build/bin/sheaf")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--torch-side", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.torch_side:
        return torch_side(given.folder, given.workers)
    rates, memory = {"sheaf": [], "torch": []}, {"sheaf": 0, "torch": 0}
    with tempfile.TemporaryDirectory() as work:
        work = Path(work)
        (work / "model.json").write_text(json.dumps(MODEL))
        run([given.program, "compile", work / "model.json", "-o", work / "model.plan"])
        norm = f"mean={'/'.join(map(str, MEAN))},std={'/'.join(map(str, STD))}"
        for turn in range(given.turns):
            (work / "m.jsonl").unlink(missing_ok=True)
            _, most = run([given.program, "train", work / "model.plan", "--devices", "cpu:0", "--batch-size", 64, "--epochs", 1, "--seed", turn,
                           "--metrics", work / "m.jsonl", "--data", f"x=images:{given.folder},random_resized_crop,flip,{norm}",
                           "--data", f"label=classes:{given.folder}"])
            epoch = json.loads((work / "m.jsonl").read_text().splitlines()[-1])
            rates["sheaf"].append(epoch["samples_per_s"])
            memory["sheaf"] = max(memory["sheaf"], most)
            out, most = run([given.python, __file__, given.folder, "--torch-side", "--workers", given.workers])
            found = json.loads(out)
            rates["torch"].append(found["rows"] / found["seconds"])
            memory["torch"] = max(memory["torch"], most)
            print(f"turn {turn + 1}: sheaf {rates['sheaf'][-1]:.0f}, torch {rates['torch'][-1]:.0f} pictures/s", file=sys.stderr)
    ours, theirs = statistics.median(rates["sheaf"]), statistics.median(rates["torch"])
    print(f"sheaf {ours:.0f} pictures/s, torch {theirs:.0f}: ratio {ours / theirs:.2f}; "
          f"resident at most {memory['sheaf']:.0f} MiB and {memory['torch']:.0f} MiB (of the main process)")


if __name__ == "__main__":
    main()

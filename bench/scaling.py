#!/usr/bin/env python3
"""docs/scaling.md's tables: two models on 1 to 1,024 GPUs by `sheaf estimate --cluster`, and predictions beside published measurements.

    python3 bench/scaling.py [build/bin/sheaf]
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1]
SHEAF = sys.argv[1] if len(sys.argv) > 1 else SOURCE / "build/bin/sheaf"
STRATEGIES = ["data_parallel", "replicated", "sharded", "fully_sharded"]
# Shares of a link's bandwidth by message size, assumed for all links.
EFFICIENCY = [[65536, 0.2], [1048576, 0.6], [16777216, 0.8]]


def link(gbytes, microseconds):
    return {"bytes_per_second": gbytes * 1e9, "seconds": microseconds * 1e-6, "efficiency": EFFICIENCY}


def described(tflops, narrow, memory):
    """GPUs whose data sheets the program doesn't have, with its assumptions: 0.7 of the arithmetic's peak in products,
    0.47 in convolutions, 0.875 of the memory's."""
    convolutions = ("conv", "conv_backward_data", "conv_backward_weight")
    return {"flops_per_second": 0.7e12 * tflops, "bf16_flops_per_second": 0.7e12 * narrow, "bytes_per_second": 0.875e9 * memory, "core_bytes_per_second": 0.875e9 * memory,
            "operations": {op: 0.47e12 * tflops for op in convolutions}, "bf16_operations": {op: 0.47e12 * narrow for op in convolutions}}


P100, V100 = described(10.6, 21.2, 732), described(15.7, 125, 900)  # NVIDIA's data sheets, SXM2 forms
A100_NODES = {"device": "a100", "within": link(300, 3), "between": link(200, 8)}  # 1600 Gbit/s per node
# model, precision, strategy, cluster, figures of its GPU, rows per GPU, (from, to) GPUs, published efficiency, source
PUBLISHED = [
    ("resnet50", "bf16", "replicated", A100_NODES, None, 256, (1, 8), 6.72 / 8, "NVIDIA, DeepLearningExamples, ResNet50 v1.5 for PyTorch: DGX A100, mixed precision, 2470 and 16621 images/s"),
    ("resnet50", "f32", "replicated", {"device": "a100", "devices": 8, "within": link(20, 5), "between": link(6.25, 20)}, P100, 32, (8, 256), 0.90, "Goyal et al. 2017, by Sony's table (developer.nvidia.com, 2018): 256 P100, 50 Gbit/s Ethernet"),
    ("resnet50", "f32", "replicated", {"device": "a100", "devices": 8, "within": link(20, 5), "between": link(6.8, 5)}, P100, 32, (8, 1024), 0.80, "Akiba et al. 2017, by the same table: 1,024 P100, InfiniBand FDR"),
    ("resnet50", "bf16", "replicated", {"device": "a100", "devices": 4, "within": link(75, 5), "between": link(25, 5)}, V100, 32, (4, 1088), 0.9162, "Mikami et al. 2018, by the same table: 1,088 V100, two InfiniBand EDR a node"),
    ("transformer_1b", "bf16", "fully_sharded", A100_NODES, None, 32, (8, 64), 19001 / 19271, "MosaicML, llm-foundry, MPT benchmarks: 1b, A100 40GB, 1600 Gbit/s, FULL_SHARD, 19271 and 19001 tokens/s a GPU"),
    ("transformer_1b", "bf16", "fully_sharded", A100_NODES, None, 40, (8, 128), 18647 / 19271, "the same: 19271 and 18647 tokens/s a GPU"),
]


class Models:
    def __init__(self, folder):
        self.folder, self.plans = Path(folder), {}
        resnet = SOURCE / "models/resnet50.json"
        self.files = {"resnet50": resnet, "transformer_1b": self.transformer()}

    def transformer(self):
        """models/transformer_encoder.json with 24 layers of width 2048 on 512 positions: 1.2 billion parameters."""
        model = json.loads((SOURCE / "models/transformer_encoder.json").read_text())
        rows = {"shape": ["batch", 512, 2048], "dtype": "float32"}
        model.update(name="transformer_1b", inputs={"x": rows})
        model["modules"]["Encoder"] = {"layers": [{"name": f"layer{i}", "type": "EncoderLayer", "d_model": 2048, "nhead": 16, "dim_feedforward": 8192} for i in range(24)]}
        model["layers"] = [{"name": "encoder", "type": "DataParallel", "module": {"type": "Encoder"}}]
        model["training"] = {"targets": {"y": rows}, "loss": {"type": "MSELoss", "inputs": ["encoder", "y"]}, "optimizer": {"type": "AdamW", "lr": 0.0001}}
        path = self.folder / "transformer_1b.json"
        path.write_text(json.dumps(model))
        return path

    def plan(self, name, precision):
        if (name, precision) not in self.plans:
            plan = self.folder / f"{name}-{precision}.plan"
            subprocess.run([SHEAF, "compile", self.files[name], "--precision", precision, "-o", plan], check=True)
            self.plans[name, precision] = plan
        return self.plans[name, precision]

    def estimate(self, plan, cluster, rows, describe=None, more=("--no-deterministic",)):
        gpus = cluster["nodes"] * cluster["devices"]
        (self.folder / "cluster.json").write_text(json.dumps({"sheaf_cluster": "1.0", **cluster}))
        if describe:
            (self.folder / "gpu.json").write_text(json.dumps({"sheaf_devices": "1.0", "cuda": describe}))
            more = (*more, "--describe", self.folder / "gpu.json")
        done = subprocess.run([SHEAF, "estimate", plan, "--cluster", self.folder / "cluster.json", "--batch", str(rows * gpus), "--json", *more], check=True, stdout=subprocess.PIPE)
        return {one["strategy"]: one for one in json.loads(done.stdout)["strategies"]}


def sized(cluster, gpus):
    devices = min(gpus, cluster.get("devices", 8))
    return {**cluster, "nodes": gpus // devices, "devices": devices}


def published(models):
    print("| model | strategy | GPUs | published | predicted | | source |\n|---|---|---|---|---|---|---|")
    for name, precision, strategy, cluster, gpu, rows, counts, efficiency, source in PUBLISHED:
        plan = models.plan(name, precision)
        small, large = (models.estimate(plan, sized(cluster, gpus), rows, gpu)[strategy] for gpus in counts)
        predicted = small["step_seconds"] / large["step_seconds"]
        print(f"| {name} {precision}, {rows} rows a GPU | {strategy} | {counts[0]} → {counts[1]} | {efficiency:.1%} | {predicted:.1%} | {predicted / efficiency - 1:+.0%} | {source} |", flush=True)


def followed(models, name, rows, more):
    h100 = {"device": "h100", "within": link(450, 3), "between": link(400, 8)}
    plan = models.plan(name, "bf16")
    print(f"\n{name}, {rows} rows a GPU, {' '.join(more) or '--deterministic'}\n")
    print("| GPUs | " + " | ".join(f"`{name}`" for name in STRATEGIES) + " |\n|---|" + "---|" * len(STRATEGIES))
    for gpus in (1, 2, 4, 8, 16, 64, 256, 1024):
        found = models.estimate(plan, sized(h100, gpus), rows, more=more)
        cells = [f"{found[s]['memory']['peak_bytes'] / 2**30:.1f} GiB, {1e3 * found[s]['exposed_seconds']:.1f} ms, {found[s]['efficiency']:.1%}" for s in STRATEGIES]
        print(f"| {gpus:,} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        made = Models(place)
        published(made)
        for model, rows in (("resnet50", 256), ("transformer_1b", 8)):
            for how in ((), ("--no-deterministic",)):
                followed(made, model, rows, how)

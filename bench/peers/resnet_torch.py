"""Peer: a ResNet's inference or training step in PyTorch, timed in rounds so that it can take turns with sheaf.

    resnet_torch.py [--program infer|train] [--net 18|50] [--mode eager|compile|max-autotune] [--dtype f32|tf32|bf16]
                    [--batch 256] [--threads N] [--nchw] [--device cpu|cuda] [--steps 1]

--net 18 is the modified ResNet-18 of models/resnet18.json (1x28x28 input, 3x3/64 stem, no max-pool, 10 classes);
--net 50 is ImageNet's. A training step is forward, cross entropy, backward and SGD; bf16 is autocast with f32
parameters. It first prints a line of JSON, the most memory that it has had after two steps; then for each line on stdin
it times --steps steps and prints a line: seconds of one, and CPU seconds of the process. On a GPU rows come from pinned host
memory each step, and the host waits once after the last of the steps.
Needs: torch.
"""
import argparse
import json
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F


class Basic(nn.Module):
    def __init__(self, cin, cout, stride, project):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, padding=1, stride=stride)
        self.conv2 = nn.Conv2d(cout, cout, 3, padding=1)
        self.conv3 = nn.Conv2d(cin, cout, 1, stride=stride) if project else None
        self.bn1, self.bn2 = nn.BatchNorm2d(cout), nn.BatchNorm2d(cout)

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + (x if self.conv3 is None else self.conv3(x)))


class Bottleneck(nn.Module):
    def __init__(self, cin, mid, stride):
        super().__init__()
        conv = lambda i, o, k, s=1: nn.Conv2d(i, o, k, stride=s, padding=k // 2, bias=False)
        self.conv1, self.conv2, self.conv3 = conv(cin, mid, 1), conv(mid, mid, 3, stride), conv(mid, 4 * mid, 1)
        self.bn1, self.bn2, self.bn3 = nn.BatchNorm2d(mid), nn.BatchNorm2d(mid), nn.BatchNorm2d(4 * mid)
        self.down = nn.Sequential(conv(cin, 4 * mid, 1, stride), nn.BatchNorm2d(4 * mid)) if stride != 1 or cin != 4 * mid else None

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = F.relu(self.bn2(self.conv2(y)))
        return F.relu(self.bn3(self.conv3(y)) + (x if self.down is None else self.down(x)))


def resnet18():
    layers = [nn.Conv2d(1, 64, 3, 1, 1), nn.BatchNorm2d(64), nn.ReLU()]
    for k, (cin, cout) in enumerate(((64, 64), (64, 128), (128, 256), (256, 512))):
        layers += [Basic(cin, cout, 1 if k == 0 else 2, k > 0), Basic(cout, cout, 1, False)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10)), (1, 28, 28), 10


def resnet50():
    layers, cin = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)], 64
    for k, (mid, n) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3))):
        for i in range(n):
            layers.append(Bottleneck(cin, mid, 2 if k and i == 0 else 1))
            cin = 4 * mid
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000)), (3, 224, 224), 1000


def peak_bytes():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:"))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--program", default="infer", choices=["infer", "train"])
    p.add_argument("--net", default="18", choices=["18", "50"])
    p.add_argument("--mode", default="eager", choices=["eager", "compile", "max-autotune"])
    p.add_argument("--dtype", default="f32", choices=["f32", "tf32", "bf16"])
    p.add_argument("--batch", type=int, default=256)
    p.add_argument("--threads", type=int, default=0, help="0: PyTorch's choice")
    p.add_argument("--nchw", action="store_true", help="plain layout; default: channels_last, the faster one")
    p.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    p.add_argument("--steps", type=int, default=1)
    a = p.parse_args()
    gpu = a.device == "cuda"
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = a.dtype == "tf32"
    torch.backends.cudnn.benchmark = True
    if a.threads:
        torch.set_num_threads(a.threads)
    torch.manual_seed(0)
    net, shape, classes = resnet18() if a.net == "18" else resnet50()
    net, x, y = net.train(a.program == "train"), torch.randn(a.batch, *shape), torch.randint(0, classes, (a.batch,))
    if not a.nchw:
        net, x = net.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
    if gpu:  # last: a tensor in another layout is a new tensor, in pageable memory
        net, x, y = net.to("cuda"), x.pin_memory(), y.pin_memory()
    criterion, optimizer = nn.CrossEntropyLoss(), torch.optim.SGD(net.parameters(), lr=0.1, fused=gpu, foreach=not gpu)

    autocast = lambda: torch.autocast(a.device, dtype=torch.bfloat16, enabled=a.dtype == "bf16")

    def loss_of(x, y):
        with autocast():
            return criterion(net(x), y)

    forward = net if a.program == "infer" else loss_of
    if a.mode != "eager":
        forward = torch.compile(forward, mode=None if a.mode == "compile" else a.mode)

    def rows():
        return (x.to("cuda", non_blocking=True), y.to("cuda", non_blocking=True)) if gpu else (x, y)

    def infer():
        with torch.inference_mode(), autocast():
            return forward(rows()[0])

    def train():
        optimizer.zero_grad(set_to_none=True)
        forward(*rows()).backward()
        optimizer.step()

    step = infer if a.program == "infer" else train

    def steps(count):
        for _ in range(count):
            step()
        if gpu:
            torch.cuda.synchronize()

    steps(10 if gpu else 2)
    print(json.dumps({"peak_bytes": torch.cuda.max_memory_allocated() if gpu else peak_bytes()}), flush=True)
    for _ in sys.stdin:
        start, cpu = time.perf_counter(), time.process_time()
        steps(a.steps)
        print((time.perf_counter() - start) / a.steps, (time.process_time() - cpu) / a.steps, flush=True)


if __name__ == "__main__":
    main()

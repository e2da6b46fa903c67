"""One side of bench/imported.py: a model's inference or training step, imported into sheaf, or in PyTorch, timed in rounds.

    imported.py --side sheaf|fast|parallel|eager|compile --model NAME [--program infer|train] [--batch N] [--threads 1] [--save FILE]

It prints the number of rows once two steps are done, and then for each line on stdin the seconds, and the CPU seconds, of a step: the mean of
as many as take a twentieth of a second. `fast` is sheaf with --numerics fast; `parallel` is sheaf.nn.DataParallel, with a loss and an
optimizer of PyTorch's; --save writes the model file, as sheaf's side has it, and ends. Needs: torch; torchvision for its models.
"""
import argparse
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

from resnet_torch import resnet18


class Mlp(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10))


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(128, 256, 2, batch_first=True), nn.Linear(256, 10)

    def forward(self, x):
        return self.head(self.lstm(x)[0][:, -1])


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        return self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln1, self.ln2, self.attention = nn.LayerNorm(width), nn.LayerNorm(width), Attention(width, heads)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class Gpt(nn.Module):
    """Predicts the token after the sequence."""

    def __init__(self, words=1000, width=256, heads=4, length=128, depth=4):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Parameter(torch.zeros(length, width))
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(depth)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, tokens):
        return self.head(self.norm(self.blocks(self.words(tokens) + self.places))).mean(1)


class UNet(nn.Module):
    """Three scales, transposed convolutions on the way up; one class for the picture."""

    def __init__(self, width=32):
        super().__init__()

        def twice(i, o):
            return nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(),
                                 nn.Conv2d(o, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU())

        self.down1, self.down2, self.bottom = twice(3, width), twice(width, 2 * width), twice(2 * width, 4 * width)
        self.rise2, self.up2 = nn.ConvTranspose2d(4 * width, 2 * width, 2, 2), twice(4 * width, 2 * width)
        self.rise1, self.up1 = nn.ConvTranspose2d(2 * width, width, 2, 2), twice(2 * width, width)
        self.head = nn.Conv2d(width, 2, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        y = self.bottom(F.max_pool2d(b, 2))
        y = self.up2(torch.cat([b, self.rise2(y)], 1))
        y = self.up1(torch.cat([a, self.rise1(y)], 1))
        return self.head(y).mean((2, 3))


def picture(batch):
    return torch.randn(batch, 3, 224, 224)


def of_torchvision(name):
    def make():
        import torchvision
        return getattr(torchvision.models, name)()
    return make


# name: the module, its input with that many rows, classes, default rows
MODELS = {
    "linear": (lambda: nn.Linear(5, 2), lambda n: torch.randn(n, 5), 2, 30),
    "resnet18": (lambda: resnet18()[0], lambda n: torch.randn(n, 1, 28, 28), 10, 64),
    "mlp": (Mlp, lambda n: torch.randn(n, 784), 10, 128),
    "gpt": (Gpt, lambda n: torch.randint(0, 1000, (n, 128)), 1000, 4),
    "lstm": (Lstm, lambda n: torch.randn(n, 64, 128), 10, 32),
    "unet": (UNet, lambda n: torch.randn(n, 3, 64, 64), 2, 8),
    **{name: (of_torchvision(name), picture, 1000, 4) for name in ("resnet50", "mobilenet_v2", "convnext_tiny", "vit_b_16", "swin_t")},
}
LEAST = .05  # seconds that are timed


def sheaf_step(net, x, label, options):
    """net imported, bound to one device."""
    import sheaf
    how = {"threads": options.threads, "numerics": "fast" if options.side == "fast" else "strict"}
    if options.program == "infer":
        session = sheaf.Model(sheaf.compile(sheaf.from_torch(net.eval(), x))).bind("cpu:0", options.batch, **how)
        return lambda: session.run(x)
    plan = sheaf.compile(sheaf.from_torch(net.train(), x), loss=nn.CrossEntropyLoss(), optimizer=torch.optim.SGD(net.parameters(), lr=1e-3))
    trainer = sheaf.Model(plan).trainer("cpu:0", options.batch, **how)
    return lambda: trainer.step(x, label)


def torch_step(net, x, label, options):
    """net through PyTorch's calls, in its faster layout; or through those calls with net in sheaf."""
    net.train(options.program == "train")
    if options.side == "parallel":
        import sheaf
        net = sheaf.nn.DataParallel(net, devices="cpu:0", threads=options.threads)
    elif x.dim() == 4:
        net, x = net.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
    criterion, optimizer = nn.CrossEntropyLoss(), torch.optim.SGD(net.parameters(), lr=1e-3)
    forward = net if options.program == "infer" else lambda x, label: criterion(net(x), label)
    if options.side == "compile":
        forward = torch.compile(forward)

    @torch.inference_mode()
    def infer():
        return forward(x)

    def train():
        optimizer.zero_grad(set_to_none=True)
        loss = forward(x, label)
        loss.backward()
        optimizer.step()
        return loss.item()

    return infer if options.program == "infer" else train


def seconds_of(step, count):
    start, cpu = time.perf_counter(), time.process_time()
    for _ in range(count):
        step()
    return (time.perf_counter() - start) / count, (time.process_time() - cpu) / count


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--side", required=True, choices=("sheaf", "fast", "parallel", "eager", "compile"))
    p.add_argument("--model", required=True, choices=MODELS)
    p.add_argument("--program", default="infer", choices=("infer", "train"))
    p.add_argument("--batch", type=int, default=0)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--save", help="write the model file, with its training section, and end")
    options = p.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    make, rows, classes, usual = MODELS[options.model]
    options.batch = options.batch or usual
    net, x, label = make(), rows(options.batch), torch.randint(0, classes, (options.batch,))
    if options.save:
        import sheaf
        model = sheaf.from_torch(net.train(options.program == "train"), x)
        model.json["training"] = {"targets": {"label": {"shape": ["batch"], "dtype": "int64"}}, "loss": {"type": "CrossEntropyLoss"},
                                  "optimizer": {"type": "SGD", "lr": 1e-3}}
        model.save(options.save)
        print(options.batch)
        return
    step = (sheaf_step if options.side in ("sheaf", "fast") else torch_step)(net, x, label, options)
    step(), step()
    count = max(1, int(LEAST / seconds_of(step, 1)[1]))
    print(options.batch, flush=True)
    for _ in sys.stdin:
        print(*seconds_of(step, count), flush=True)


main()

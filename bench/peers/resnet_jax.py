"""Peer: the inference or training step of the modified ResNet-18 (models/resnet18.json: 1x28x28 input, 3x3/64 stem, no
max-pool, 10 classes) in JAX, compiled as a whole by XLA, timed in rounds so that it can take turns with sheaf.

    resnet_jax.py [--program infer|train] [--batch 256] [--threads N]

f32, images as NHWC, XLA's layout of choice. A training step is forward, cross entropy, backward and SGD, with batch
norm's statistics of the batch and its running means. It first prints a line of JSON, the most memory that it has had
after two steps; then for each line on stdin it times one step and prints a line: seconds, and CPU seconds of the
process. --threads must be given before JAX starts: it limits the process to so many cores.
Needs: jax.
"""
import argparse
import json
import os
import sys
import time

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("--program", default="infer", choices=["infer", "train"])
p.add_argument("--batch", type=int, default=256)
p.add_argument("--threads", type=int, default=0, help="0: all cores")
a = p.parse_args()
if a.threads:
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:a.threads])

import jax
import jax.numpy as jnp

EPSILON, MOMENTUM, LR = 1e-5, 0.1, 0.1


def conv(x, w, stride=1):
    pad = w["kernel"].shape[0] // 2
    y = jax.lax.conv_general_dilated(x, w["kernel"], (stride, stride), ((pad, pad), (pad, pad)),
                                     dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return y + w["bias"]


def batch_norm(x, w, state, train):
    """The output, and the running statistics after it."""
    mean, variance = state["mean"], state["variance"]
    if train:
        mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
        unbiased = variance * (x.size / x.shape[-1]) / (x.size / x.shape[-1] - 1)
        state = {"mean": (1 - MOMENTUM) * state["mean"] + MOMENTUM * mean,
                 "variance": (1 - MOMENTUM) * state["variance"] + MOMENTUM * unbiased}
    return (x - mean) * jax.lax.rsqrt(variance + EPSILON) * w["scale"] + w["shift"], state


def block(x, w, state, stride, train):
    new = {}
    y, new["bn1"] = batch_norm(conv(x, w["conv1"], stride), w["bn1"], state["bn1"], train)
    y, new["bn2"] = batch_norm(conv(jax.nn.relu(y), w["conv2"]), w["bn2"], state["bn2"], train)
    return jax.nn.relu(y + (conv(x, w["conv3"], stride) if "conv3" in w else x)), new


STRIDES = (1, 1, 2, 1, 2, 1, 2, 1)


def forward(w, state, x, train):
    new = {}
    x, new["stem"] = batch_norm(conv(x, w["stem"]), w["bn"], state["stem"], train)
    x = jax.nn.relu(x)
    for i, stride in enumerate(STRIDES):
        x, new[str(i)] = block(x, w[str(i)], state[str(i)], stride, train)
    return x.mean((1, 2)) @ w["fc"]["kernel"] + w["fc"]["bias"], new


def initial(key):
    keys = iter(jax.random.split(key, 64))

    def conv_weights(cin, cout, size):
        bound = (cin * size * size) ** -0.5
        return {"kernel": jax.random.uniform(next(keys), (size, size, cin, cout), minval=-bound, maxval=bound),
                "bias": jnp.zeros(cout)}

    norm = lambda c: {"scale": jnp.ones(c), "shift": jnp.zeros(c)}
    running = lambda c: {"mean": jnp.zeros(c), "variance": jnp.ones(c)}
    w, state, cin = {"stem": conv_weights(1, 64, 3), "bn": norm(64)}, {"stem": running(64)}, 64
    for i, cout in enumerate((64, 64, 128, 128, 256, 256, 512, 512)):
        w[str(i)] = {"conv1": conv_weights(cin, cout, 3), "conv2": conv_weights(cout, cout, 3), "bn1": norm(cout), "bn2": norm(cout)}
        if cin != cout:
            w[str(i)]["conv3"] = conv_weights(cin, cout, 1)
        state[str(i)], cin = {"bn1": running(cout), "bn2": running(cout)}, cout
    w["fc"] = {"kernel": jax.random.uniform(next(keys), (512, 10), minval=-512**-0.5, maxval=512**-0.5), "bias": jnp.zeros(10)}
    return w, state


def loss_of(w, state, x, y):
    logits, new = forward(w, state, x, True)
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1).mean(), new


@jax.jit
def infer(w, state, x):
    return forward(w, state, x, False)[0]


def train(w, state, x, y):
    (loss, state), gradients = jax.value_and_grad(loss_of, has_aux=True)(w, state, x, y)
    return jax.tree.map(lambda p, g: p - LR * g, w, gradients), state, loss


train = jax.jit(train, donate_argnums=(0, 1))


def peak_bytes():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:"))


w, state = initial(jax.random.key(0))
x = jax.random.normal(jax.random.key(1), (a.batch, 28, 28, 1))
y = jax.random.randint(jax.random.key(2), (a.batch,), 0, 10)


def step():
    global w, state
    if a.program == "infer":
        infer(w, state, x).block_until_ready()
    else:
        w, state, loss = train(w, state, x, y)
        jax.block_until_ready((w, state, loss))


for _ in range(2):
    step()
print(json.dumps({"peak_bytes": peak_bytes()}), flush=True)
for _ in sys.stdin:
    start, cpu = time.perf_counter(), time.process_time()
    step()
    print(time.perf_counter() - start, time.process_time() - cpu, flush=True)

"""Peer: seconds for one call of Linear(5, 2) at batch 30 in JAX, or one training step with the mean squared error and SGD;
the best of many short rounds. Each call is waited for, as with the other programs.

    linear_jax.py [--program infer|train]

Needs: jax.
"""
import argparse
import time

import jax
import jax.numpy as jnp

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("--program", default="infer", choices=["infer", "train"])
a = p.parse_args()
w = {"kernel": jax.random.normal(jax.random.key(0), (5, 2)), "bias": jnp.zeros(2)}
x, y = jax.random.normal(jax.random.key(1), (30, 5)), jax.random.normal(jax.random.key(2), (30, 2))


def linear(w, x):
    return x @ w["kernel"] + w["bias"]


def train_step(w, x, y):
    loss, gradients = jax.value_and_grad(lambda w: ((linear(w, x) - y) ** 2).mean())(w)
    return jax.tree.map(lambda p, g: p - 0.01 * g, w, gradients), loss


infer, train_step = jax.jit(linear), jax.jit(train_step)


def step():
    global w
    if a.program == "infer":
        infer(w, x).block_until_ready()
    else:
        w, loss = train_step(w, x, y)
        loss.block_until_ready()


for _ in range(500):
    step()
best = float("inf")
for _ in range(400):
    start = time.perf_counter()
    for _ in range(50):
        step()
    best = min(best, (time.perf_counter() - start) / 50)
print(best)

"""Shows what plans will do and cost, and whether they compute what the model says."""
import html
import json
from typing import NamedTuple

from . import _sheaf
from .error import Error
from .plan import as_plan


class Picture(str):
    """A plan as text of some format. In a notebook, svg and html are shown."""

    def __new__(cls, text, format):
        made = super().__new__(cls, text)
        made.format = format
        return made

    def save(self, file):
        with open(file, "w", encoding="utf-8") as out:
            out.write(self)

    def _repr_svg_(self):
        return str(self) if self.format == "svg" else None

    def _repr_html_(self):
        if self.format != "html":
            return None
        return f'<iframe srcdoc="{html.escape(self)}" width="100%" height="600" style="border:0"></iframe>'


class Edge(NamedTuple):
    """A tensor that goes from one node to another, named by their ids."""

    source: str
    target: str
    value: str
    dtype: str
    shape: tuple


class Graph(NamedTuple):
    """A program, a node a step, in its order."""

    nodes: list
    edges: list


def _asked(devices, batch):
    """A device list and rows must be given together or not at all."""
    if bool(devices) != bool(batch is not None):
        raise Error("devices and batch go together: give both, or neither")
    return devices or "", batch or 0


def dump(model, format="text", program="infer", devices=None, batch=None):
    """A plan's program as "text", "json", "dot", "svg" (drawn by Graphviz), "html", "mlir" or "model-explorer": a str, which a
    notebook shows. `model`: a Plan, a Model, or what sheaf.compile takes. With `devices` and `batch` it shows every replica's
    operation with its sizes; the devices needn't exist."""
    return Picture(_sheaf.draw(as_plan(model), format, program, *_asked(devices, batch)), format)


def graph(model, program="infer", devices=None, batch=None):
    """The same as a Graph of nodes and edges."""
    nodes, edges = _sheaf.graph(as_plan(model), program, *_asked(devices, batch))
    return Graph(nodes, [Edge(*edge) for edge in edges])


def estimate(model, devices, batch, program="infer", numerics="strict"):
    """Predicts a step on each device: memory to the byte, arithmetic, data moved, time. Nothing is run; the devices needn't
    exist."""
    return _sheaf.estimate(as_plan(model), program, devices, batch, numerics)


def largest_batch(model, devices, memory_bytes, program="infer", batch=1, numerics="strict"):
    """The largest batch with which no device needs more than `memory_bytes`, searched from `batch` on."""
    return _sheaf.largest_batch(as_plan(model), memory_bytes, program, devices, batch, numerics)


def explain(model, layer="", program="infer", devices=None, batch=None, numerics="strict"):
    """For each layer, or for `layer` or that group of layers, where it runs and why, and, given devices, which implementation
    computes it and why no other."""
    return _sheaf.explain(as_plan(model), layer, program, *_asked(devices, batch), numerics)


def verify(model, devices, batch, *, seed=0, steps=2, tolerance=1.0, infer=True, train=True, numerics="strict"):
    """Runs the partitioned programs and the unpartitioned ones on the same random data and compares every value, gradient and update.
    True if they agree; `divergence` is the first value that doesn't.

    `model`: a Model, whose weights are used, a Plan, or what sheaf.compile takes. `tolerance`: a factor on the tolerance for rounding; 0: require
    equal bits. `steps`: training steps."""
    if not isinstance(model, _sheaf.Model):
        from .model import Model
        model = Model(as_plan(model), seed)
    return _sheaf.verify(model, devices, batch, seed, steps, tolerance, infer, train, numerics)


class Devices(dict):
    """What this machine has, by kind of device, and what is missing to use more, as `sheaf devices --json` prints it."""

    def __repr__(self):
        return json.dumps(self, indent=1, ensure_ascii=False)


def devices():
    """The devices of this machine."""
    return Devices(json.loads(_sheaf.devices_json()))

"""A plan with its weights."""
import os
from typing import NamedTuple

from . import _sheaf
from .error import Error
from .plan import as_plan


class IncompatibleKeys(NamedTuple):
    """What load_state_dict(…, strict=False) didn't use, and what it left unchanged."""

    missing_keys: list
    unexpected_keys: list


class Model(_sheaf.Model):
    """A plan with its own weights: those that came with the model file, or drawn by `seed` from their initial distributions.

    Threads may use a model, its sessions and trainers freely: calls that change weights wait until they have the model to themselves."""

    def __init__(self, plan, seed=0):
        plan = as_plan(plan)
        super().__init__(plan)
        self.plan = plan
        self.initialise(seed)
        if weights := getattr(plan, "weights", None):
            self._set_parameters(weights)

    def load_state_dict(self, state_dict, strict=True):
        """Takes weights from {name: array or tensor}, under PyTorch's names, with or without `module.` and a common
        prefix. float64 becomes float32; `num_batches_tracked` may be missing or left over.

        `strict`: all weights must be given and nothing may be left over, else sheaf.Error is raised and nothing changes. Otherwise
        missing weights keep their values. Returns (missing_keys, unexpected_keys), as PyTorch does."""
        tensors = {name: _plain(value, name) for name, value in state_dict.items()}
        if strict:
            self._set_parameters(tensors)
            return IncompatibleKeys([], [])
        return IncompatibleKeys(*(list(names) for names in self._update_parameters(tensors)))

    def state_dict(self, tensors="numpy"):
        """{name: array} of all parameters and buffers under PyTorch's names: copies of the current values. `tensors`: "numpy" or "torch",
        for a module's load_state_dict."""
        if tensors not in ("numpy", "torch"):
            raise Error(f"tensors '{tensors}': expected numpy or torch")
        prefix = getattr(self.plan, "prefix", "")
        return {name.removeprefix(prefix): value for name, value in self._read_parameters(tensors == "torch").items()}

    def save(self, file):
        """Writes parameters and buffers as a safetensors file under PyTorch's names, completely or not at all."""
        self._save(os.fspath(file))

    def load(self, file):
        """Takes all weights from a safetensors file, by names as in load_state_dict. Returns notes on converted element types.

        Raises sheaf.Error, located at the file: it can't be read; weights are missing, superfluous or misshapen, and then nothing is
        changed."""
        return self._load(os.fspath(file))

    def bind(self, devices="cpu", batch=1, *, numerics="strict", deterministic=True, threads=0, shards=None, tune="off", lengths=None):
        """A Session: the model bound to devices and a batch size.

        `devices`: "cpu:0,cpu:1", "cpu:0-3", "cuda:0"; plain "cpu" is host-only mode, in which nothing is partitioned.
        `batch`: rows of a whole batch; smaller ones work, too.
        `numerics`: "fast" allows Winograd convolutions and split f32 on CPUs, TF32 on GPUs: faster, with other rounding.
        `deterministic`: on GPUs, no sums whose order depends on timing. `threads`: total CPU threads; 0: all there are.
        `shards`: parts that every batch is cut into, whatever the devices, so that all lists give the same bits; None: one a device.
        `tune`: "quick" or "full": measurement chooses implementations of operations, and a cache file keeps them (docs/cpu-choices.md).
        `lengths`: {"seq": 77}, a number for each of the model's lengths, bound first; runs take data of others, too (docs/lengths.md).

        Raises sheaf.Error: a missing device; an index of the model beyond the list; too little memory."""
        return _sheaf.Session(self, devices, batch, numerics=numerics, deterministic=deterministic, threads=threads, shards=shards, tune=tune,
                              lengths=lengths or {})

    def trainer(self, devices="cpu", batch=1, *, numerics="strict", deterministic=True, threads=0, micro_batches=1, shards=None,
                tune="off", lengths=None):
        """A Trainer: the training step bound to devices and a batch size. Arguments as in bind().

        `micro_batches`: the number of parts in which a step's batch runs, with one update: less memory, the same mean.

        Raises sheaf.Error: also if the plan has no training section (give sheaf.compile a loss and an optimizer)."""
        from .trainer import Trainer
        return Trainer(self, devices, batch, numerics=numerics, deterministic=deterministic, threads=threads, micro_batches=micro_batches,
                       shards=shards, tune=tune, lengths=lengths)

    def __repr__(self):
        return f"<sheaf.Model {self.name}: {len(self.parameters)} weights>"


def _plain(value, name):
    """An array that sheaf can read: no gradient, in host memory, not float64."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        return value.float() if str(value.dtype) == "torch.float64" else value
    import numpy
    if not hasattr(value, "__dlpack__"):
        value = numpy.asarray(value)
    return value.astype(numpy.float32) if getattr(value, "dtype", None) == numpy.float64 else value

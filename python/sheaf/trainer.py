"""Training: steps, epochs, and their results."""
import math
import os
import sys
import time
from collections import deque

from . import _sheaf
from .error import Error
from .history import History


class Trainer(_sheaf.Trainer):
    """Training steps of a model on devices: what model.trainer(…) makes.

    The model owns the parameters: its sessions see each step. Threads take turns, and wait without holding the GIL."""

    def __init__(self, model, devices="cpu", batch=1, *, numerics="strict", deterministic=True, threads=0, micro_batches=1,
                 shards=None, tune="off", lengths=None):
        super().__init__(model, devices, batch, numerics=numerics, deterministic=deterministic, threads=threads,
                         micro_batches=micro_batches, shards=shards, tune=tune, lengths=lengths or {})
        self.model = model
        self._evaluation = None
        self._how = {"numerics": numerics, "deterministic": deterministic, "threads": threads, "shards": shards, "tune": tune,
                     "lengths": lengths}

    def fit(self, batches, epochs=1, eval=None, progress=False):
        """Trains on all of `batches`, `epochs` times. Returns the History.

        `batches`: any iterable that can be iterated repeatedly, such as a torch DataLoader: a batch is a tuple or list of inputs and targets
        in the order of `inputs`, or a dict by name. `eval`: such batches, for evaluate() after each epoch. `progress`: one line per epoch
        on stderr.

        Raises sheaf.Error: a loss that isn't finite, with the first such layer; no step updates any more, whatever the loss's
        scale; errors of step(). After a KeyboardInterrupt, or any other exception, the trainer is in the state after its last
        complete step.

        On GPUs alone a step is started before the one before it is finished (docs/feeding-a-gpu.md), with the same bits. A batch's arrays may
        change once the next batch is asked for, unless they lie in pinned memory: that a GPU reads until the step is done, which it is when
        the batch after the next is asked for."""
        if epochs > 1 and iter(batches) is batches:
            raise Error("the batches are an iterator, which can be gone through only once: give what makes it, as a list or a DataLoader")
        if self.monitor.startswith("eval_") and eval is None:
            raise Error(f"the schedule follows {self.monitor}: give eval=…")
        history = History()
        for _ in range(epochs):
            record = self._epoch(batches)
            if eval is not None:
                record.update({f"eval_{name}": value for name, value in self.evaluate(eval).items() if name != "rows"})
            if self.monitor:
                self.step_schedule(record[self.monitor])
            history.append(record)
            if progress:
                print(history.line(-1), file=sys.stderr, flush=True)
        return history

    def _epoch(self, batches):
        rate, begin, sums = self.learning_rate, time.perf_counter(), _Sums(self)
        try:
            for batch in batches:
                sums.add(self._named(batch))
            sums.finish()
        except BaseException:
            self._finish_all()
            raise
        if not sums.steps:
            raise Error("there are no batches to train on")
        scale = self._watch_loss_scale()
        self.epochs += 1
        return {"epoch": self.epochs, "steps": sums.steps, "rows": sums.rows, "train_loss": sums.loss / sums.rows, "learning_rate": rate,
                **({"loss_scale": scale["scale"], "skipped_steps": scale["skipped"]} if scale else {}),
                "seconds": time.perf_counter() - begin}

    def evaluate(self, batches):
        """{"loss", "rows", and the model's metrics ("accuracy")} of the current model over all of `batches`, in inference mode. There
        is no loss if it has no mean."""
        if self._evaluation is None:
            self._evaluation = self.model.bind(self.devices, self.batch, **self._how)
        metrics = _sheaf.Metrics(self.model)
        inputs = [value.name for value in self.model.inputs]
        for batch in batches:
            given = self._named(batch)
            found = self._evaluation.run({name: given[name] for name in inputs})
            outputs = [found] if len(self.model.outputs) == 1 else found
            metrics.add([given[name] if output is None else outputs[output] for name, output in metrics.inputs], self._rows(given))
        return {**({} if metrics.loss is None else {"loss": metrics.loss}), **metrics.metrics, "rows": metrics.rows}

    def _named(self, batch):
        """{name: array} of a batch."""
        if isinstance(batch, dict):
            return batch
        values = list(batch) if isinstance(batch, (tuple, list)) else [batch]
        names = [value.name for value in self.inputs]
        if len(values) != len(names):
            raise Error(f"a batch has {len(values)} values; a step takes {', '.join(names)}")
        return dict(zip(names, values))

    def _rows(self, given):
        for value in self.inputs:
            if value.batch_dim is not None:
                return given[value.name].shape[value.batch_dim]
        return self.batch

    def optimizer_state(self, tensors="numpy"):
        """{name: array} of the optimiser's state ("fc.weight.momentum", …): copies of the current values. `tensors`: "numpy" or "torch"."""
        if tensors not in ("numpy", "torch"):
            raise Error(f"tensors '{tensors}': expected numpy or torch")
        return self._read_state(tensors == "torch")

    def save(self, file):
        """Writes parameters, buffers, the optimiser's state and progress to one safetensors file with checksums, completely or not at all."""
        self._save(os.fspath(file))

    def restore(self, file):
        """Restores all of that from a file that save() or `sheaf train --checkpoint` wrote for the same plan: training continues as if it had
        never stopped, bit for bit on the same devices.

        Raises sheaf.Error, located at the file: it isn't a checkpoint, is of another plan, or is damaged; then nothing is changed."""
        self._restore(os.fspath(file))

    def __repr__(self):
        return f"<sheaf.Trainer of {self.model.name} on {self.devices}: batch {self.batch}, {self.steps} steps done>"


class _Sums:
    """An epoch's steps, and the sums of what they come to. One step stays under way, where one can, until the next is started."""

    def __init__(self, trainer):
        self.trainer, self.started = trainer, deque()
        self.stay = 1 if trainer._overlaps else 0
        self.scales = trainer.loss_scale is not None
        self.steps = self.rows = 0
        self.loss = 0.0

    def add(self, given):
        """A step on a batch."""
        self.started.append((given, self.trainer._start(given)))
        look = self.scales and (self.steps + len(self.started)) % 10 == 0  # reading the scale waits for the device
        self.finish(0 if look else self.stay)
        if look:
            self.trainer._watch_loss_scale()

    def finish(self, stay=0):
        """Waits for all steps but the newest `stay`."""
        while len(self.started) > stay:
            given, step = self.started.popleft()
            loss = self.trainer._finish(step)
            if not math.isfinite(loss):
                layer = self.trainer.first_not_finite(given)
                raise Error(f"the loss of step {self.trainer.steps + 1} is {loss}" + (f": layer '{layer}' is the first with such a value" if layer else
                            "; all layers' values are finite") + "; the step isn't done")
            count = self.trainer._rows(given)
            self.steps, self.rows, self.loss = self.steps + 1, self.rows + count, self.loss + loss * count

"""From a model file to a plan."""
import json
import os
import warnings
from pathlib import Path

from . import _sheaf
from .error import Error
from .model_file import ModelFile, model_text
from .training_section import Section


class Plan(_sheaf.Plan):
    """A compiled model: what sheaf.compile makes, or a plan file. One plan serves every device list and batch size; it can't change.

    `weights` are those that the model file came with ({name: array}), `prefix` comes before PyTorch's names in the plan,
    `warnings` are the compiler's, and `mixes_rows` is whether one of them says that results depend on the devices. In a
    notebook a plan shows its picture, if Graphviz is there to draw it."""

    def __init__(self, plan, weights=None, prefix="", warned=(), mixes_rows=False):
        super().__init__(plan)
        self.weights, self.prefix = dict(weights or {}), prefix
        self.warnings, self.mixes_rows = list(warned), mixes_rows

    @classmethod
    def load(cls, file):
        """The plan of a file that `sheaf compile`, or save(), wrote. A plan contains machine code: load only what you trust."""
        return cls(_sheaf.Plan._load(os.fspath(file)))

    def save(self, file):
        """Writes the plan file, whole or not at all; `sheaf run` and load() read it. Weights are not in it: model.save()."""
        self._save(os.fspath(file))

    @property
    def training(self):
        """The model's training section as a dict, with PyTorch's defaults filled in; None if it has none."""
        return json.loads(self._training) if self._training else None

    def __reduce__(self):
        return _unpickled, (bytes(self), self.weights, self.prefix, self.warnings, self.mixes_rows)

    def __repr__(self):
        return f"<sheaf.Plan {self.name}: {self.precision}, {', '.join(self.programs)}>"

    def _repr_svg_(self):
        try:
            return _sheaf.draw(self, "svg", "infer", "", 0)
        except Error:  # no Graphviz: a notebook shows the repr
            return None


def _unpickled(text, weights, prefix, warned, mixes_rows):
    return Plan(_sheaf.Plan._parse(text), weights, prefix, warned, mixes_rows)


def compile(model, precision="f32", strategy="data_parallel", loss=None, optimizer=None, *, targets=None, schedule=None,
            clip_grad_norm=None, loss_scale=None, metrics=None, device_memory=0, gradients="", gradients_of=()):
    """The Plan of a model: a ModelFile, a model file as a dict, or the path of one.

    `precision`: "f32", "bf16" or "f16", the arithmetic; parameters, statistics and sums stay f32.
    `strategy`: what each replica of a training step keeps: "data_parallel", "replicated", "sharded" or "fully_sharded".
    `loss`, `optimizer`: the training section, in place of what the model file says: a torch.nn loss and a torch.optim optimizer, a
    type's name, or a dict as in a model file ({"type": "SGD", "lr": 0.1}). `targets`: {name: {"shape", "dtype"}}; by default "label",
    class numbers, for CrossEntropyLoss and NLLLoss, and "target", in the shape that PyTorch takes, for other losses; a loss of several outputs
    takes the model's in their order. `schedule`,
    `clip_grad_norm`, `loss_scale`, `metrics` (["accuracy"] by default where the targets are classes): as in a model file.
    `device_memory`: bytes that a device has: an embedding table beyond it goes to the host. 0: not stated.
    `gradients`: "train" or "eval": with the programs "forward" and "backward", with layers as in that mode; `gradients_of`:
    names of the inputs and parameters, as in the plan, whose gradients "backward" gives. sheaf.nn.DataParallel is made of
    these.

    Warnings are given as Python's, and kept in plan.warnings. Raises sheaf.Error with the line of the model file for everything
    wrong with it; for an imported model, with the operator and the line of the code that it was imported from."""
    text, is_file, name, file = _source(model)

    def compiled(training, strategy=strategy):
        try:
            return _sheaf.compile(text, is_file, name, precision, strategy, training, device_memory, gradients, list(gradients_of))
        except Error as problem:
            if file is None or not file.places:
                raise
            raise file.places.explained(problem, file.json, text) from None

    section = Section(loss, optimizer, targets, schedule, clip_grad_norm, loss_scale, metrics, file)
    training = ""
    if section.given:
        try:
            document = json.loads(Path(text).read_text(encoding="utf-8") if is_file else text)
        except (OSError, ValueError):
            compiled("")  # raises what is wrong with the file, and where
            raise
        # Only the compiler knows the outputs; strategies belong to training.
        known = lambda: _sheaf.Model(compiled("", "data_parallel")[0]).outputs  # noqa: E731
        training = json.dumps(section.complete(document.get("training") or {}, known))
    plan, notes, mixes_rows = compiled(training)
    for note in notes:
        warnings.warn(str(note), stacklevel=2)
    return Plan(plan, file and file.weights, file.prefix if file else "", notes, mixes_rows)


def _source(model):
    """(text or path, whether it is a path, name, ModelFile or None) of compile()'s argument."""
    if isinstance(model, ModelFile):
        return model_text(model.json), False, f"{model.json.get('name', 'model')}.json", model
    if isinstance(model, dict):
        return model_text(model), False, f"{model.get('name', 'model')}.json", None
    if isinstance(model, (str, os.PathLike)):
        return os.fspath(model), True, "", None
    raise Error(f"a {type(model).__name__} can't be compiled: expected a ModelFile, a dict or a path; sheaf.from_torch makes a ModelFile "
                "of a torch.nn.Module")


def as_plan(model):
    """The plan of a Plan, a Model, the path of a plan, or what compile() takes."""
    if isinstance(model, _sheaf.Plan):
        return model
    if hasattr(model, "plan"):
        return model.plan
    if isinstance(model, (str, os.PathLike)) and not os.fspath(model).endswith(".json"):
        return Plan.load(model)
    return compile(model)

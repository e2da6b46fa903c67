"""The training section of a model file, from the arguments of sheaf.compile."""
import inspect
import json
from pathlib import Path

from .error import Error

_CLASSES = {"CrossEntropyLoss", "NLLLoss"}
_OF_VECTORS = {"CosineEmbeddingLoss", "MultiMarginLoss"}  # a target for each vector along the last dimension
_NUMBERS = {"MultiMarginLoss", "MultiLabelMarginLoss"}  # targets are numbers of classes


class Section:
    """The given parts of a training section. `file`: the ModelFile that it is for, if there is one."""

    def __init__(self, loss, optimizer, targets, schedule, clip_grad_norm, loss_scale, metrics, file=None):
        named = {"targets": targets, "loss": _loss(loss), "optimizer": _optimizer(optimizer, file), "schedule": schedule,
                 "clip_grad_norm": clip_grad_norm, "loss_scale": loss_scale, "metrics": metrics}
        self.given = {key: value for key, value in named.items() if value is not None}

    def complete(self, section, outputs):
        """`section`, a model file's, with the given parts in place of its own. `outputs` gives the model's outputs."""
        section = {**section, **self.given}
        for needed in ("loss", "optimizer"):
            if needed not in section:
                raise Error(f"the training section has no {needed}: give {needed}=… to sheaf.compile")
        if "loss" in self.given and "targets" not in self.given:
            self._infer_targets(section, outputs())
        return section

    def _infer_targets(self, section, outputs):
        """The loss's outputs, in the model's order unless the loss has "inputs", and the target that goes with the first of them."""
        loss = section["loss"]
        roles = _roles(loss["type"])
        outputs = [output for output in outputs if output.name in loss.get("inputs", [])] or outputs
        if len(outputs) < roles.count("output"):
            raise Error(f"{loss['type']} takes {roles.count('output')} outputs; the model has {len(outputs)}")
        name, target = _target(loss["type"], outputs[0])
        left = iter(outputs)
        section["loss"] = {**loss, "inputs": [name if role == "target" else next(left).name for role in roles]}
        section.pop("targets", None)
        if "target" in roles:
            section["targets"] = {name: target}
        section.setdefault("metrics", []) if "metrics" in self.given or name != "label" else section.update(metrics=["accuracy"])


def _roles(loss):
    """For each input of a loss, in its order, whether it is an "output" or a "target"."""
    losses = json.loads((Path(__file__).parent / "model.schema.json").read_text())["properties"]["training"]["properties"]["loss"]["allOf"]
    for case in losses:
        if case["if"]["properties"]["type"]["const"] == loss:
            return [item["role"] for item in case["then"]["properties"]["inputs"]["prefixItems"]]
    return ["output", "target"]  # the compiler reports that there is no such loss


def _target(loss, output):
    """(name, declaration) of the target that `loss` compares `output` with."""
    if loss in _CLASSES:
        return "label", {"shape": [size for i, size in enumerate(output.shape) if i != 1], "dtype": "int64"}
    shape = list(output.shape)[:-1] if loss in _OF_VECTORS else list(output.shape)
    return "target", {"shape": shape, "dtype": "int64" if loss in _NUMBERS else "float32"}


def _loss(loss):
    if loss is None or isinstance(loss, dict):
        return loss
    if isinstance(loss, str):
        return {"type": loss}
    return {"type": type(loss).__name__, **_arguments(type(loss), loss.__dict__ | getattr(loss, "_buffers", {}))}


def _optimizer(optimizer, file):
    if optimizer is None or isinstance(optimizer, dict):
        return optimizer
    if isinstance(optimizer, str):
        return {"type": optimizer}
    groups = getattr(optimizer, "param_groups", None)
    if groups is None:
        raise Error(f"optimizer: expected a torch.optim.Optimizer, a name or a dict, got a {type(optimizer).__name__}")
    if len(groups) == 1:
        return {"type": type(optimizer).__name__, **_arguments(type(optimizer), groups[0], always=("lr",))}
    own = [_group(i, group, optimizer.defaults, file) for i, group in enumerate(groups)]
    return {"type": type(optimizer).__name__, **_arguments(type(optimizer), optimizer.defaults, always=("lr",)),
            "parameter_groups": [group for group in own if len(group) > 1]}


def _group(index, group, defaults, file):
    """What a group of torch.optim's sets itself, and for which of the model file's parameters."""
    changed = {key: group[key] for key, value in defaults.items() if group[key] != value}
    for key in changed.keys() - {"lr", "weight_decay"}:
        raise Error(f"optimizer: parameter group {index} has a '{key}' of its own; groups may differ in lr and weight_decay")
    names = {array.ctypes.data: file.prefix + name for name, array in (file.weights if file else {}).items()}
    found = [names.get(parameter.data_ptr()) for parameter in group["params"]]
    if changed and None in found:
        raise Error(f"optimizer: parameter group {index} holds a tensor that isn't one of the model file's weights, as they are where "
                    "sheaf.from_torch gets the same module in float32 on the CPU; or give the optimizer as a dict with \"parameter_groups\"")
    return {"parameters": found, **changed}


def _arguments(cls, values, always=()):
    """The constructor's arguments among `values` that aren't its defaults, as JSON."""
    found = {}
    for name, parameter in inspect.signature(cls.__init__).parameters.items():
        value = values.get(name)
        if name in ("self", "params") or value is None or (name not in always and _same(value, parameter.default)):
            continue
        found[name] = value.tolist() if hasattr(value, "tolist") else list(value) if isinstance(value, tuple) else value
    return found


def _same(value, default):
    return not hasattr(value, "tolist") and value == default

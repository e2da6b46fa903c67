"""Exported programs, as torch.export.load reads them: what they record about the module they were made from."""
import torch


def module_of(program):
    """A torch.nn.Module with the submodules, parameters and buffers that `program` was exported from. It can't be called."""
    kinds = {}
    for node in program.graph.nodes:
        for _, (path, kind) in (node.meta.get("nn_module_stack") or {}).items():
            kinds.setdefault(path, kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}")
    root = _made(kinds.get("", "Model"))
    for path in sorted([*kinds, *(name.rpartition(".")[0] for name in program.state_dict)]):
        _place(root, path, kinds)
    parameters = set(program.graph_signature.parameters)
    for name, tensor in program.state_dict.items():
        owner, _, own = name.rpartition(".")
        module = root.get_submodule(owner)
        if name in parameters:
            module.register_parameter(own, tensor if isinstance(tensor, torch.nn.Parameter) else torch.nn.Parameter(tensor, False))
        else:
            module.register_buffer(own, tensor)
    for module in root.modules():
        if isinstance(module, _Recurrent):
            module.input_size = module.weight_ih_l0.shape[1]
            module.hidden_size = module.weight_hh_l0.shape[1]
    return root


class _Recurrent(torch.nn.Module):
    """For an LSTM or GRU, the sizes are needed too."""


def _made(kind):
    """A module of a class with that name."""
    space, _, name = kind.rpartition(".")
    if space.startswith("torch.nn.modules.") and name in ("Sequential", "ModuleList", "ModuleDict"):
        return getattr(torch.nn, name)()
    base = _Recurrent if space == "torch.nn.modules.rnn" else torch.nn.Module
    return type(name, (base,), {"__module__": space})()


def _place(root, path, kinds):
    """Puts a module at `path`, and empty ones above it where there are none."""
    module, done = root, ""
    for part in path.split(".") if path else []:
        done = f"{done}.{part}" if done else part
        if part not in module._modules:
            module.add_module(part, _made(kinds.get(done, "Module")))
        module = module._modules[part]

"""torch.nn's names, computed by sheaf."""
import torch
from torch.utils import _pytree

from . import _sheaf
from .autograd import apply
from .differentiable import Function
from .error import Error

__all__ = ["DataParallel"]


class DataParallel(torch.nn.Module):
    """A replacement for torch.nn.DataParallel: the forward and backward passes of `module` run in sheaf, on `devices`.

    Parameters and buffers are the module's own, in host memory: autograd, hooks on tensors, and any torch optimizer work on them, and
    state_dict() has the names of torch.nn.DataParallel's. train() and eval() work as for any module. Every input tensor is split
    along `dim`, outputs are concatenated along it. `device_ids` and `output_device` are entries of the device list; by default all, and the
    first one.

    The first call compiles, and so does each call in another mode, with inputs of other sizes (except the batch's) or types, or
    with other parameters that require a gradient; other numbers of rows are bound. The module's structure stays as it was at
    the first call; its Python code isn't run after that. Gradients of gradients aren't supported.

    `precision`: "f32", "bf16" or "f16"; `numerics`: "strict" or "fast", as in sheaf.compile and Model.bind. `threads`: total CPU threads;
    0: all there are. `shards`: parts that every batch is cut into whatever the devices; None: one a device. `lengths`: further sizes that may
    differ from call to call without compiling anew, {argument of the module's forward: {dimension: a name or a torch.export.Dim}}, as for
    sheaf.from_torch; other numbers of them are bound, too.

    Raises sheaf.Error: with the line of the module's code, for what sheaf can't import."""

    def __init__(self, module, device_ids=None, output_device=None, dim=0, devices="cpu:0,cpu:1", *, precision="f32", numerics="strict",
                 threads=0, shards=None, lengths=None):
        super().__init__()
        self.module, self.dim, self.output_device = module, dim, output_device
        self.device_ids = list(device_ids) if device_ids is not None else None
        self.devices = _sheaf.DeviceList(devices, threads=threads, shards=shards)
        self._how = {"precision": precision, "numerics": numerics, "lengths": lengths}
        self._functions = {}  # by all that a program may be compiled for; with lengths some are of several sizes

    def forward(self, *arguments, **keywords):
        leaves, tree = _pytree.tree_flatten((arguments, keywords))
        inputs = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        parameters = tuple(name for name, parameter in self.module.named_parameters() if parameter.requires_grad)
        wanted = tuple(i for i, value in enumerate(inputs) if value.requires_grad) + parameters if torch.is_grad_enabled() else parameters
        key = (self.module.training, wanted, tree, tuple(self._kind(leaf) for leaf in leaves))
        function = self._functions.get(key)
        if function is None:
            function = self._of_other_lengths(key, inputs) or self._compiled(arguments, keywords, wanted)
            self._functions[key] = function
        return function.output_tree.rebuilt(apply(function, inputs))

    def _kind(self, leaf):
        """The properties for which a separate program is compiled."""
        if not isinstance(leaf, torch.Tensor):
            return leaf if isinstance(leaf, (int, float, bool, str, type(None))) else repr(leaf)
        sizes = list(leaf.shape)
        if sizes:
            sizes[self.dim] = None
        return leaf.dtype, tuple(sizes)

    def _of_other_lengths(self, key, inputs):
        """A function that was compiled for the same but for sizes, and takes these too; None: there is none."""
        def but_for_sizes(key):
            *rest, kinds = key
            return rest, [(kind[0], len(kind[1])) if isinstance(kind, tuple) else kind for kind in kinds]

        if not self._how["lengths"]:
            return None
        same = (function for known, function in self._functions.items() if but_for_sizes(known) == but_for_sizes(key))
        return next((function for function in same if function.takes(inputs)), None)

    def _compiled(self, arguments, keywords, wanted):
        with torch.no_grad():
            region = torch.nn.DataParallel(self.module)
        ids = self.device_ids
        if self.output_device is not None and ids is None:
            ids = list(range(len(self.devices)))
        region.device_ids, region.dim = ids or [], self.dim
        region.output_device = self.output_device if self.output_device is not None else (ids or [0])[0]
        region.training = self.module.training
        detached = _pytree.tree_map(lambda leaf: leaf.detach() if isinstance(leaf, torch.Tensor) else leaf, (arguments, keywords))
        if not any(isinstance(leaf, torch.Tensor) and leaf.dim() for leaf in _pytree.tree_leaves(detached)):
            raise Error("no input is a tensor whose rows could be split")
        return Function(region, *detached, self.dim, self.devices, wanted, **self._how)

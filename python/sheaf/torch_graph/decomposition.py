"""Operators without a row of their own, decomposed as PyTorch itself does it."""
import torch
from torch._C import DispatchKey
from torch._decomp import decomposition_table
from torch._dispatch.python import enable_python_dispatcher
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils import _pytree

from .extent import UnknownSize, extent_of
from .own_decompositions import OWN


def _function(target):
    """The import's or PyTorch's decomposition of an operator into other operators; None if it has only a kernel."""
    if target in OWN:
        return OWN[target]
    if target in decomposition_table:
        return decomposition_table[target]
    if torch._C._dispatch_has_kernel_for_dispatch_key(target.name(), DispatchKey.CompositeImplicitAutograd):
        return target.decompose
    return None


def _functional(target):
    """The operator whose in-place form a call is; the operator itself otherwise."""
    space, name = target._schema.name.split("::")
    if not (target._schema.is_mutable and name.endswith("_") and not name.endswith("__")):
        return target
    packet = getattr(getattr(torch.ops, space), name[:-1], None)
    return getattr(packet, target._overloadname, None) or target


def taken_apart(call):
    """(nodes that the placeholders stand for, fx.Graph) of the calls that make up a call, or None. Each of the graph's
    nodes records the user's line and module and, under "origin", the operator it comes from."""
    target = _functional(call.target)
    function = _function(target)
    if function is None:
        return None
    outer = list(dict.fromkeys(call.node.all_input_nodes))
    leaves = [node.meta["val"] for node in outer]
    mode = next((leaf.fake_mode for leaf in _pytree.tree_leaves([leaves, call.node.meta["val"]]) if hasattr(leaf, "fake_mode")), None)

    def traced(*values):
        given = dict(zip(outer, values))
        args, keywords = torch.fx.node.map_arg((call.node.args, call.node.kwargs), given.__getitem__)
        return function(*args, **keywords)

    sizes = [_extents_of(leaf) for leaf in leaves]
    try:
        with torch.no_grad(), enable_python_dispatcher(), mode:
            graph = make_fx(traced)(*leaves).graph
    except Exception:  # a decomposition that doesn't know symbolic sizes, or needs values: as if there were none
        return None
    if sizes != [_extents_of(leaf) for leaf in leaves]:
        raise UnknownSize(f"{target} was traced for one size of the batch")
    kept = {key: call.node.meta[key] for key in ("stack_trace", "nn_module_stack", "custom") if key in call.node.meta}
    for node in graph.nodes:
        node.meta.update(kept, origin=call.node.meta.get("origin", call.target))
    return outer, graph


def _extents_of(leaf):
    return [extent_of(size) for size in leaf.shape] if isinstance(leaf, torch.Tensor) else None

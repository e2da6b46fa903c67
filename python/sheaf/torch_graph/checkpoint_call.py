"""torch.utils.checkpoint in an exported graph: each node records the checkpoints in which it was called."""
import contextlib
import unittest.mock

import torch.fx.traceback
import torch.utils.checkpoint

_KEY = "sheaf.checkpoints"


def checkpoints_of(node):
    """The numbers of the checkpoints around a node, outermost first."""
    return tuple((node.meta.get("custom") or {}).get(_KEY, ()))


@contextlib.contextmanager
def checkpoints_pass_through():
    """Inside this context, a checkpoint calls its function as if it weren't there, and records itself on the nodes of the
    exported graph. Releases of PyTorch before 2.9 can't record anything on nodes: with them, checkpoints leave no trace."""
    around, count = [], 0

    @contextlib.contextmanager
    def noted():
        nonlocal count
        count += 1
        around.append(count)
        try:
            with torch.fx.traceback.annotate({_KEY: tuple(around)}):
                yield
        finally:
            around.pop()

    def beside(function, *arguments, **keywords):
        """torch.utils.checkpoint calls the function between the generator's two steps."""
        with noted():
            yield

    class Reentrant:
        @staticmethod
        def apply(function, preserve, *arguments):
            with noted():
                return function(*arguments)

    if not hasattr(torch.fx.traceback, "annotate"):
        yield
        return
    with contextlib.ExitStack() as patches:
        patches.enter_context(torch.fx.traceback.preserve_node_meta())
        for name, own in (("_checkpoint_without_reentrant_generator", beside), ("CheckpointFunction", Reentrant)):
            if hasattr(torch.utils.checkpoint, name):
                patches.enter_context(unittest.mock.patch.object(torch.utils.checkpoint, name, own))
        yield


def mark(root):
    """Marks the outermost scopes and single layers that are wholly in a checkpoint. Returns the sources of the
    checkpoints that contain no whole one, as the first layer of each has it."""
    inside, kept = {}, set()
    for layer in root.layers():
        for number in layer.checkpoints:
            inside.setdefault(number, []).append(layer)

    def visit(scope):
        for item in scope.items:
            layers = list(item.layers()) if hasattr(item, "layers") else [item]
            common = set(layers[0].checkpoints).intersection(*(layer.checkpoints for layer in layers[1:])) if layers else set()
            if common and (hasattr(item, "layers") or any(len(inside[number]) == 1 for number in common)):
                item.checkpoint = True
                kept.update(common)
            elif hasattr(item, "layers"):
                visit(item)

    visit(root)
    outer = {number: layers[0].source for number, layers in inside.items() if not kept.intersection(layers[0].checkpoints)}
    return list(dict.fromkeys(outer.values()))

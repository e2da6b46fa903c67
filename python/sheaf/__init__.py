"""sheaf: data-parallel models, compiled.

    model_file = sheaf.from_torch(module, (x,))
    plan = sheaf.compile(model_file, loss=torch.nn.CrossEntropyLoss(), optimizer={"type": "SGD", "lr": 0.1})
    model = sheaf.Model(plan)
    y = model.bind("cpu:0,cpu:1", batch=30).run(x)
    model.trainer("cpu:0,cpu:1", batch=256).fit(loader, epochs=10)
"""
from .error import Diagnostic, Error
from .model_file import ModelFile

_HOME = {
    "from_torch": ".torch_graph",
    "from_onnx": ".onnx_graph",
    **dict.fromkeys(("Plan", "compile"), ".plan"),
    "Model": ".model",
    **dict.fromkeys(("Trainer", "History"), ".trainer"),
    "Session": "._sheaf",
    **dict.fromkeys(("devices", "dump", "estimate", "explain", "graph", "largest_batch", "verify"), ".inspection"),
}
__all__ = ["Diagnostic", "Error", "ModelFile", "nn", *_HOME]


def __getattr__(name):
    if name == "nn":
        import importlib
        return importlib.import_module(".nn", __name__)
    # torch takes seconds to load, and the import of modules needs no compiled extension.
    if name in _HOME:
        import importlib
        value = getattr(importlib.import_module(_HOME[name], __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'sheaf' has no attribute '{name}'")


def __dir__():
    return sorted({*globals(), *_HOME, "nn"})

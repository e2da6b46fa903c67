"""sheaf: data-parallel models, compiled."""
from .error import Diagnostic, Error
from .model_file import ModelFile

__all__ = ["Diagnostic", "Error", "ModelFile", "from_torch"]


def __getattr__(name):
    # torch takes seconds to load, and those who don't import modules needn't have it.
    if name == "from_torch":
        from .torch_graph import from_torch
        return from_torch
    raise AttributeError(f"module 'sheaf' has no attribute '{name}'")

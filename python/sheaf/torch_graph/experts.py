"""Mixtures of experts of transformers in an exported graph: each row's experts are looked up for that row."""
import contextlib

# The implementation that looks up each row's experts. The default sorts the rows of the whole batch by their expert, which can't be split
# over devices. transformers' own exporters change to this one too.
_BY_ROW = "batched_mm"


def _models(module):
    """The outermost modules that can be told how to compute their experts: in each, the choice holds for all within."""
    if hasattr(module, "set_experts_implementation") and hasattr(module, "get_experts_implementation"):
        return [module]
    return [model for child in module.children() for model in _models(child)]


@contextlib.contextmanager
def experts_by_row(module, notes):
    """Inside this context, transformers' mixtures of experts compute each row separately. `notes` gets a note for a
    model that is changed."""
    with contextlib.ExitStack() as restored:
        for model in _models(module):
            before = model.get_experts_implementation()
            model.set_experts_implementation(_BY_ROW)
            if model.get_experts_implementation() == before:
                continue
            restored.callback(model.set_experts_implementation, before)
            note = (f"the experts of {type(model).__name__} are imported as its implementation {_BY_ROW!r} computes them: a copy of an expert's "
                    "weights for each row that it serves, where PyTorch sorts the rows of the whole batch by their experts")
            if note not in notes:
                notes.append(note)
        yield

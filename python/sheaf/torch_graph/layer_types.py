"""The layers that a model file may have, according to the format's JSON Schema."""
import functools
import json
from pathlib import Path


@functools.cache
def known():
    """Layer type → the names of its arguments."""
    definitions = json.loads((Path(__file__).parents[1] / "model.schema.json").read_text())["$defs"]
    common = {"name", "type", "inputs", "device", "share", "trainable", "checkpoint"}
    return {name: set(definition["properties"]) - common for name, definition in definitions.items()
            if definition.get("type") == "object" and "share" in definition.get("properties", {})}


def lacking(kind, arguments):
    """What the model file lacks for such a layer, as a sentence; None if nothing."""
    if kind not in known():
        return f"needs the layer '{kind}', which model files don't have"
    unknown = sorted(set(arguments) - known()[kind])
    return f"needs the argument '{unknown[0]}' of {kind}, which model files don't have" if unknown else None

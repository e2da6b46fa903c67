"""Several results of a run."""


class Outputs(tuple):
    """The outputs of a model, in its order; `outputs["name"]` is one by its name, `outputs.names` lists all names."""

    def __new__(cls, values, names):
        made = super().__new__(cls, values)
        made.names = tuple(names)
        return made

    def __getitem__(self, which):
        if not isinstance(which, str):
            return super().__getitem__(which)
        if which not in self.names:
            raise KeyError(f"there is no output '{which}'; the model has {', '.join(self.names)}")
        return super().__getitem__(self.names.index(which))

    def __getnewargs__(self):
        return tuple(self), self.names

    def items(self):
        """(name, array) of each."""
        return list(zip(self.names, self))

    def __repr__(self):
        return "Outputs(" + ", ".join(f"{name}: {list(value.shape)}" for name, value in self.items()) + ")"

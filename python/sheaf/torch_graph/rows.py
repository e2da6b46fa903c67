"""The table of operators: what a call of ATen becomes in a model file. One function per operator, in its family's file."""
ROWS = {}


def row(*operators):
    """Registers a function (arguments by the schema's names, Writer) → value or list of values."""
    def register(function):
        for operator in operators:
            assert operator not in ROWS, operator
            ROWS[operator] = function
        return function

    return register


def single(sizes):
    """[3, 3] as 3: like PyTorch, a model file accepts one number for all dimensions."""
    sizes = list(sizes) if isinstance(sizes, (tuple, list)) else [sizes]
    return sizes[0] if len(set(sizes)) == 1 else sizes

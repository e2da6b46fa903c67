"""Matrix products, and their parts."""
from .rows import row
from .extent import Extent
from .rows_shape import permuted
from .value import Parameter


@row("aten.linear")
def linear(a, w):
    weight = a["weight"]
    arguments = {"in_features": weight.shape[1].fixed, "out_features": weight.shape[0].fixed, "bias": a["bias"] is not None}
    layer = w.typed("Linear", [a["input"]], {"weight": weight, "bias": a["bias"]}, **arguments)
    if layer is not None:
        return layer
    product = w.layer("MatMul", [a["input"], permuted(w, weight, (1, 0))], w.shapes()[0])
    return product if a["bias"] is None else w.layer("Add", [product, a["bias"]])


@row("aten.bilinear")
def bilinear(a, w):
    out, first, second = (size.fixed for size in a["weight"].shape)
    layer = w.typed("Bilinear", [a["input1"], a["input2"]], {"weight": a["weight"], "bias": a["bias"]}, in1_features=first, in2_features=second,
                    out_features=out, bias=a["bias"] is not None)
    return w.apart() if layer is None else layer


@row("aten.matmul", "aten.mm", "aten.bmm")
def matmul(a, w):
    return w.layer("MatMul", [a["self"], a.get("other", a.get("mat2"))])


@row("aten.addmm", "aten.baddbmm")
def addmm(a, w):
    first, second = (a["mat1"], a["mat2"]) if "mat1" in a else (a["batch1"], a["batch2"])
    product = w.layer("MatMul", [first, second])
    if a["alpha"] != 1:
        product = w.layer("Scale", [product], value=a["alpha"])
    if a["beta"] == 0:
        return product
    added = a["self"] if a["beta"] == 1 else w.layer("Scale", [a["self"]], (a["self"].shape, a["self"].dtype), value=a["beta"])
    return w.layer("Add", [product, w.broadcast(added)])


@row("aten.einsum")
def einsum(a, w):
    """Products of two tensors, by Permute, Reshape and MatMul: the letters are those of the batch, of each side, and
    the summed ones. Others are decomposed as in PyTorch."""
    operands, equation = a["tensors"], a["equation"].replace(" ", "")
    left, _, output = equation.partition("->")
    terms = left.split(",")
    plain = len(operands) == 2 and output and "." not in equation and all(len(set(t)) == len(t) for t in (*terms, output))
    if not plain or not set(output) <= set(terms[0]) | set(terms[1]) or (set(terms[0]) ^ set(terms[1])) - set(output):
        return w.apart()
    x, y = operands
    sizes = {**dict(zip(terms[0], x.shape)), **dict(zip(terms[1], y.shape))}
    shared = [c for c in output if c in terms[0] and c in terms[1]]
    rows = [c for c in output if c in terms[0] and c not in terms[1]]
    columns = [c for c in output if c in terms[1] and c not in terms[0]]
    summed = [c for c in terms[0] if c in terms[1] and c not in output]
    def folded(value, term, groups):
        order = [c for group in groups for c in group]
        value = permuted(w, value, tuple(term.index(c) for c in order))
        shape = [sizes[c] for c in groups[0]]
        for group in groups[1:]:
            size = Extent(0, 1)
            for c in group:
                other = sizes[c]
                if size.has_rows and other.has_rows:
                    raise w.refuse("multiplies the batch by itself")
                size *= other
            shape.append(size)
        return w.reshape(value, tuple(shape))

    x = folded(x, terms[0], (shared, rows, summed))
    y = folded(y, terms[1], (shared, summed, columns))
    product = w.layer("MatMul", [x, y], (x.shape[:-1] + y.shape[-1:], x.dtype))
    product = w.reshape(product, tuple(sizes[c] for c in shared + rows + columns))
    return permuted(w, product, tuple((shared + rows + columns).index(c) for c in output))

"""Operations with weights: PyTorch's layers, with the file's weights."""
import torch
from torch import nn
from torch.nn import functional as F

from .operators import operator, setting
from .sizes import Sizes
from .weights import Layer
from .windows import padding_of


def _given(node, position):
    return node.inputs[position] if position < len(node.inputs) else ""


def _window(node, weight):
    rank = weight.dim() - 2
    a = node.attributes
    kernel = list(weight.shape[2:])
    strides, dilations = list(a.get("strides") or [1] * rank), list(a.get("dilations") or [1] * rank)
    return rank, kernel, strides, dilations, *padding_of(a, rank, kernel, strides, dilations, True)


def _conv(node, weights):
    weight, bias = weights.tensor(node.inputs[1]), weights.tensor(_given(node, 2))
    if weight is None or _given(node, 2) and bias is None:
        return None
    rank, kernel, strides, dilations, padding, before = _window(node, weight)
    group = node.attributes.get("group", 1)
    layer = getattr(nn, f"Conv{rank}d")(weight.shape[1] * group, weight.shape[0], kernel, strides, padding, dilations, group, bias is not None)
    return _filled(node, weights, layer, {"weight": 1, "bias": 2}, before)


@operator("Conv", layer=_conv)
def conv(node, x, weight, bias=None):
    rank, _, strides, dilations, padding, before = _window(node, weight)
    x = F.pad(x, before) if before else x
    return getattr(F, f"conv{rank}d")(x, weight, bias, strides, padding, dilations, node.attributes.get("group", 1))


def _conv_transpose(node, weights):
    weight, bias = weights.tensor(node.inputs[1]), weights.tensor(_given(node, 2))
    if weight is None or _given(node, 2) and bias is None:
        return None
    a = node.attributes
    if a.get("output_shape") or a.get("auto_pad", "NOTSET") != "NOTSET":
        raise ValueError("the size of its output is given: write `pads` and `output_padding`")
    rank, kernel, strides, dilations, padding, before = _window(node, weight)
    if before:
        raise ValueError("its sides have different pads")
    group = a.get("group", 1)
    layer = getattr(nn, f"ConvTranspose{rank}d")(weight.shape[0], weight.shape[1] * group, kernel, strides, padding,
                                                 list(a.get("output_padding") or [0] * rank), group, bias is not None, dilations)
    return _filled(node, weights, layer, {"weight": 1, "bias": 2})


@operator("ConvTranspose", layer=_conv_transpose)
def conv_transpose(node, *inputs):
    raise ValueError("has a weight that is computed")


def _filled(node, weights, layer, where, before=None, buffers=(), data=(0,)):
    """The layer with the node's tensors: `where` gives the input for each of its own."""
    named = {own: _given(node, position) for own, position in where.items()}
    for own, name in named.items():
        if name and own in buffers:
            getattr(layer, own).copy_(weights.tensor(name))
        elif name:
            setattr(layer, own, weights.parameter(weights.tensor(name), name))
    weights.put(weights.path(node, named), layer)
    module = layer if before is None else lambda x: layer(F.pad(x, before))
    return Layer(module, [node.inputs[i] for i in data])


def _linear(weights, node, matrix, bias_name, path_names):
    """A Linear of `matrix` [outputs, inputs]."""
    layer = nn.Linear(matrix.shape[1], matrix.shape[0], bias=bool(bias_name))
    layer.weight = weights.parameter(matrix.contiguous(), path_names["weight"])
    if bias_name:
        layer.bias = weights.parameter(weights.tensor(bias_name).reshape(-1), bias_name)
    weights.put(weights.path(node, path_names), layer)
    return Layer(layer, [node.inputs[0]])


def _gemm(node, weights):
    a, weight = node.attributes, weights.tensor(node.inputs[1])
    bias = _given(node, 2)
    vector = weights.tensor(bias)
    fits = not bias or vector is not None and vector.numel() == weight_rows(a, weight) and vector.dim() <= 2 and vector.shape[-1] == vector.numel()
    if weight is None or not fits or a.get("transA") or a.get("alpha", 1.0) != 1 or a.get("beta", 1.0) != 1:
        return None
    return _linear(weights, node, weight if a.get("transB") else weight.t(), bias, {"weight": node.inputs[1], "bias": bias})


def weight_rows(attributes, weight):
    return -1 if weight is None else weight.shape[0] if attributes.get("transB") else weight.shape[1]


@operator("Gemm", layer=_gemm)
def gemm(node, a, b, c=None):
    attributes = node.attributes
    b = Sizes.tensor_of(b)
    product = torch.matmul(a.t() if attributes.get("transA") else a, b.t() if attributes.get("transB") else b)
    alpha, beta = attributes.get("alpha", 1.0), attributes.get("beta", 1.0)
    product = product * alpha if alpha != 1 else product
    if c is None:
        return product
    c = Sizes.tensor_of(c)
    return product + (c * beta if beta != 1 else c)


def _matmul(node, weights):
    weight = weights.tensor(node.inputs[1])
    if weight is None or weight.dim() != 2:
        return None
    # The exporter writes a Linear of more than two dimensions as a product and a sum.
    users, bias = weights.graph.users(node.outputs[0]), ""
    if len(users) == 1 and users[0].kind == "Add" and node.outputs[0] not in weights.graph.outputs:
        other = [name for name in users[0].inputs if name != node.outputs[0]]
        vector = weights.tensor(other[0]) if len(other) == 1 else None
        if vector is not None and tuple(vector.shape) == (weight.shape[1],):
            bias = other[0]
            weights.absorb(users[0], node.outputs[0])
    return _linear(weights, node, weight.t(), bias, {"weight": node.inputs[1], "bias": bias})


@operator("MatMul", layer=_matmul)
def matmul(node, a, b):
    return torch.matmul(a, Sizes.tensor_of(b))


class BatchNorm(nn.modules.batchnorm._BatchNorm):
    """For any number of dimensions: the node doesn't state it."""

    def _check_input_dim(self, input):
        pass


def _batch_norm(node, weights):
    vectors = [weights.tensor(name) for name in node.inputs[1:5]]
    if any(vector is None for vector in vectors):
        return None
    if len(node.outputs) > 1 and any(node.outputs[1:]) or node.attributes.get("training_mode"):
        raise ValueError("is in training mode: export the model for inference")
    # ONNX's momentum is the share of the old statistics, PyTorch's that of the new ones.
    layer = BatchNorm(vectors[0].numel(), node.attributes.get("epsilon", 1e-5), 1 - node.attributes.get("momentum", 0.9))
    return _filled(node, weights, layer, {"weight": 1, "bias": 2, "running_mean": 3, "running_var": 4}, buffers=("running_mean", "running_var"))


@operator("BatchNormalization", layer=_batch_norm)
def batch_norm(node, x, scale, bias, mean, var):
    return F.batch_norm(x, mean, var, scale, bias, False, 0.0, node.attributes.get("epsilon", 1e-5))


@operator("InstanceNormalization")
def instance_norm(node, x, scale, bias):
    return F.instance_norm(x, weight=Sizes.tensor_of(scale), bias=Sizes.tensor_of(bias), eps=node.attributes.get("epsilon", 1e-5))


def _layer_norm(node, weights):
    weight, bias = weights.tensor(node.inputs[1]), weights.tensor(_given(node, 2))
    axis = node.attributes.get("axis", -1)
    if any(node.outputs[1:]):
        raise ValueError("gives its mean and deviation")
    if weight is None or _given(node, 2) and bias is None or axis >= 0 or weight.dim() != -axis:
        return None
    layer = nn.LayerNorm(list(weight.shape), node.attributes.get("epsilon", 1e-5), bias=bias is not None)
    return _filled(node, weights, layer, {"weight": 1, "bias": 2})


@operator("LayerNormalization", layer=_layer_norm)
def layer_norm(node, x, scale, bias=None):
    axis = node.attributes.get("axis", -1)
    return F.layer_norm(x, list(x.shape[axis:]), Sizes.tensor_of(scale), Sizes.tensor_of(bias), node.attributes.get("epsilon", 1e-5))


@operator("RMSNormalization")
def rms_norm(node, x, scale):
    axis = node.attributes.get("axis", -1)
    return F.rms_norm(x, list(x.shape[axis:]), Sizes.tensor_of(scale), node.attributes.get("epsilon", 1e-5))


@operator("GroupNormalization")
def group_norm(node, x, scale, bias):
    groups = node.attributes["num_groups"]
    scale, bias = Sizes.tensor_of(scale), Sizes.tensor_of(bias)
    if node.opset < 21:  # one number per group
        repeats = x.shape[1] // groups
        scale, bias = scale.repeat_interleave(repeats), bias.repeat_interleave(repeats)
    return F.group_norm(x, groups, scale, bias, node.attributes.get("epsilon", 1e-5))


@operator("LRN")
def local_response_norm(node, x):
    a = node.attributes
    return F.local_response_norm(x, a["size"], a.get("alpha", 1e-4), a.get("beta", 0.75), a.get("bias", 1.0))


def _prelu(node, weights):
    slope = weights.tensor(node.inputs[1])
    if slope is None or slope.numel() != max(slope.shape, default=1):
        return None
    layer = nn.PReLU(slope.numel())
    layer.weight = weights.parameter(slope.reshape(-1), node.inputs[1])
    weights.put(weights.path(node, {"weight": node.inputs[1]}), layer)

    def run(x):
        # It is broadcast from the last dimension on; PyTorch's runs along dimension 1.
        if slope.numel() > 1 and x.dim() - slope.dim() + list(slope.shape).index(slope.numel()) != 1:
            raise ValueError("has slopes along another dimension than the channels'")
        return layer(x)

    return Layer(run, [node.inputs[0]])


@operator("PRelu", layer=_prelu)
def prelu(node, x, slope):
    return torch.where(x > 0, x, x * Sizes.tensor_of(slope))


def _dropout(node, weights):
    training = weights.tensors.get(_given(node, 2))
    if _given(node, 2) and (training is None or bool(training)):
        raise ValueError("is in training mode: export the model for inference")
    ratio = node.attributes.get("ratio", 0.5)
    if _given(node, 1):
        known = Sizes.of(weights.tensors[node.inputs[1]]) if weights.has(node.inputs[1]) else None
        if known is None:
            return None
        ratio = known.number
    layer = weights.put(weights.path(node, {}), nn.Dropout(ratio))
    return Layer(layer, [node.inputs[0]], (lambda y: (y, None)) if len(node.outputs) > 1 else None)


@operator("Dropout", layer=_dropout)
def dropout(node, x, *more):
    raise ValueError(f"has a ratio that is computed: {setting(node, (x, *more), 1, 'ratio')}")

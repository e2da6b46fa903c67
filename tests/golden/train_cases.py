"""The training cases of the golden tests: every layer that has a gradient, every loss and optimizer, and placement.

CASES holds a Case each. Where batch norm or attention stands, the rest is smooth and without a bias whose gradient
is zero: a ReLU's kink or Adam's division would make something large of a rounding difference.
"""
from dataclasses import dataclass, field

from layer_cases import B, model

# Device list → number of replicas.
USUAL = {"cpu": 1, "cpu:0": 1, "cpu:0,cpu:1": 2, "cpu:0,cpu:0": 2, "cpu:0-2": 3, "cpu:0-3": 4}
FEW = {"cpu": 1, "cpu:0-2": 3}
TWO = {"cpu": 1, "cpu:0,cpu:1": 2, "cpu:0,cpu:0": 2}
THREE = {"cpu": 1, "cpu:0-2": 3, "cpu:2,cpu:0,cpu:1": 3}


@dataclass
class Case:
    name: str
    spec: dict
    batch: int
    devices: dict
    tolerance: float
    rows: int
    # Target → (lowest, highest) of what is drawn; integers are cut off towards zero.
    targets: dict = field(default_factory=dict)
    micro_batches: int = 0  # 0: the batch is run in one
    divisor: int = 0  # what a mean over the batch divides by; 0: told by the loss and the target
    steps: int = 3


CASES = []


def case(name, inputs, layers, target, loss, optimizer=None, batch=10, devices=USUAL, high=None, low=None, outputs=None, tolerance=1e-4,
         rows=None, schedule=None, clip=None, micro=0, divisor=0, scale=None, steps=3, **more):
    """`target`: its shape, or (shape, "int64") with `high` classes; None: there is none. `loss`: a type, or a dict. `rows` of the data: three
    batches if not given, which is one epoch of the three steps."""
    spec = model(name, inputs, layers, outputs, **more)
    shape, dtype = target if isinstance(target, tuple) else (target, "float32")
    classes = dtype == "int64"
    loss = {"type": loss} if isinstance(loss, str) else loss
    targets = {"targets": {"y": {"shape": shape, "dtype": dtype}}} if target is not None else {}
    spec["training"] = {**targets, "loss": loss, "optimizer": optimizer or {"type": "SGD", "lr": 0.1}}
    if schedule:
        spec["training"]["schedule"] = schedule
    if clip:
        spec["training"]["clip_grad_norm"] = clip
    if scale:
        spec["training"]["loss_scale"] = scale
    low = low if low is not None else 0 if classes or "BCE" in loss["type"] else -1
    CASES.append(Case(name, spec, batch, devices, tolerance, rows or 3 * batch, {"y": (low, high or 1)}, micro, divisor, steps))


def parallel(name, module, **arguments):
    return {"name": name, "type": "DataParallel", "module": module, **arguments}


def chain(*layers):
    return {"type": "Sequential", "layers": list(layers)}


def linear(i, o, **arguments):
    return {"type": "Linear", "in_features": i, "out_features": o, **arguments}


def conv(i, o, k, kind="Conv2d", **arguments):
    return {"type": kind, "in_channels": i, "out_channels": o, "kernel_size": k, **arguments}


def of(kind, **arguments):
    return {"type": kind, **arguments}


def named(name, layer, *inputs):
    return {"name": name, **layer, **({"inputs": list(inputs)} if inputs else {})}


SILU, TANH, FLAT, SIGMOID = of("SiLU"), of("Tanh"), of("Flatten"), of("Sigmoid")
ADAM = {"type": "Adam", "lr": 0.02}
INT = "int64"

# Layers.
case("linear", {"x": [B, 6]}, [parallel("net", linear(6, 4))], [B, 4], "MSELoss", batch=7)
case("linear_no_bias_3d", {"x": [B, 3, 6]}, [parallel("net", chain(linear(6, 5, bias=False), TANH, of("Dropout", p=0.0), linear(5, 2)))],
     [B, 3, 2], of("MSELoss", reduction="sum"), {"type": "SGD", "lr": 0.01})
case("conv2d", {"x": [B, 4, 9, 8]}, [parallel("net", chain(
    conv(4, 6, 3, groups=2, padding=1, stride=2), TANH, conv(6, 4, [2, 3], dilation=[2, 1], padding=[1, 1]), SILU, FLAT, linear(4 * 5 * 4, 3)))],
     ([B], INT), "CrossEntropyLoss", ADAM, high=3)
case("conv2d_depthwise_same", {"x": [B, 3, 6, 6]}, [parallel("net", chain(
    conv(3, 6, 3, groups=3, padding="same", bias=False), TANH, conv(6, 2, 1, stride=2)))], [B, 2, 3, 3], "MSELoss", {"type": "SGD", "lr": 0.5}, batch=7)
case("conv1d", {"x": [B, 4, 11]}, [parallel("net", chain(
    conv(4, 6, 3, "Conv1d", stride=2, padding=2, dilation=2, groups=2), SILU, conv(6, 3, 3, "Conv1d", padding=1)))],
     ([B, 6], INT), of("CrossEntropyLoss", reduction="sum", ignore_index=1), {"type": "SGD", "lr": 0.02}, high=3)
for mode in ("reflect", "replicate", "circular"):
    case("conv2d_" + mode, {"x": [B, 3, 5, 6]}, [parallel("net", chain(
        conv(3, 4, 3, padding=1), TANH, conv(4, 2, [4, 3], padding=[3, 2], padding_mode=mode)))], [B, 2, 8, 8], "MSELoss", {"type": "SGD", "lr": 0.5}, batch=7, devices=FEW)
case("conv_transpose2d", {"x": [B, 4, 3, 4]}, [parallel("net", chain(
    conv(4, 6, 3, "ConvTranspose2d", stride=2, padding=1, output_padding=1, groups=2), TANH,
    conv(6, 2, 3, "ConvTranspose2d", dilation=2, bias=False), SIGMOID))], [B, 2, 10, 12], "BCELoss", {"type": "SGD", "lr": 1.0}, batch=7)
case("batch_norm2d", {"x": [B, 3, 6, 6]}, [parallel("net", chain(
    conv(3, 6, 3, padding=1, bias=False), of("BatchNorm2d", num_features=6), SILU, conv(6, 4, 3, stride=2, bias=False),
    of("BatchNorm2d", num_features=4, momentum=0.3, eps=0.01), TANH, FLAT, linear(16, 3)))],
     ([B], INT), of("CrossEntropyLoss", label_smoothing=0.1), {"type": "SGD", "lr": 0.1, "momentum": 0.9}, batch=11, high=3)
case("batch_norm2d_relu", {"x": [B, 3, 4, 4]}, [parallel("net", chain(
    conv(3, 4, 3, padding=1, bias=False), of("BatchNorm2d", num_features=4), of("ReLU"), FLAT, linear(64, 2)))], [B, 2], "MSELoss", batch=8, tolerance=1e-3)
case("batch_norm2d_untracked", {"x": [B, 3, 6, 6]}, [parallel("net", chain(
    conv(3, 6, 3, padding=1, bias=False), of("BatchNorm2d", num_features=6, track_running_stats=False), SILU, conv(6, 4, 3, stride=2)))], [B, 4, 2, 2], "MSELoss", devices=FEW)
case("batch_norm1d", {"x": [B, 5]}, [parallel("net", chain(
    linear(5, 6, bias=False), of("BatchNorm1d", num_features=6, momentum=None), TANH, linear(6, 4, bias=False),
    of("BatchNorm1d", num_features=4, affine=False), SILU, linear(4, 2)))], [B, 2], "MSELoss", batch=15)
case("batch_norm1d_3d", {"x": [B, 3, 7]}, [parallel("net", chain(
    conv(3, 4, 3, "Conv1d", bias=False), of("BatchNorm1d", num_features=4), SIGMOID))], [B, 4, 5], "L1Loss", {"type": "SGD", "lr": 0.5})
case("batch_norm_outside", {"x": [B, 5]}, [parallel("net", linear(5, 4, bias=False)), named("norm", of("BatchNorm1d", num_features=4)),
                                           parallel("tail", chain(TANH, linear(4, 2)))], [B, 2], "MSELoss", devices=FEW)
case("sync_batch_norm", {"x": [B, 5]}, [parallel("net", linear(5, 4, bias=False)), named("norm", of("SyncBatchNorm", num_features=4)),
                                        parallel("tail", chain(TANH, linear(4, 2)))], [B, 2], "MSELoss", devices=FEW)
# Whole statistics on any replicas: one expectation for all lists, with uneven chunks, and with fewer rows than devices.
case("sync_batch_norm_parallel", {"x": [B, 3, 6, 6]}, [parallel("net", chain(
    conv(3, 6, 3, padding=1, bias=False), of("SyncBatchNorm", num_features=6), SILU, conv(6, 4, 3, stride=2, bias=False),
    of("SyncBatchNorm", num_features=4, momentum=0.3, eps=0.01), TANH, FLAT, linear(16, 3)))],
     ([B], INT), of("CrossEntropyLoss", label_smoothing=0.1), {"type": "SGD", "lr": 0.1, "momentum": 0.9}, batch=11, high=3)
case("sync_batch_norm_few_rows", {"x": [B, 5]}, [parallel("net", chain(
    linear(5, 6, bias=False), of("SyncBatchNorm", num_features=6, momentum=None), TANH, linear(6, 4, bias=False),
    of("SyncBatchNorm", num_features=4, affine=False), SILU, linear(4, 2)))], [B, 2], "MSELoss", batch=3)
case("sync_batch_norm_in_micro_batches", {"x": [B, 5]}, [parallel("net", chain(
    linear(5, 6, bias=False), of("SyncBatchNorm", num_features=6), TANH, linear(6, 2)))], [B, 2], "MSELoss", batch=10, devices=FEW, micro=3)
case("sync_batch_norm_branches", {"x": [B, 3, 5]}, [parallel("net", of("Residual"))], [B, 4, 3], "MSELoss", batch=8, modules={"Residual": {
    "layers": [named("a", conv(3, 4, 3, "Conv1d", bias=False), "input"), named("norm_a", of("SyncBatchNorm", num_features=4), "a"), named("act", SILU, "norm_a"),
               named("b", conv(4, 4, 1, "Conv1d", bias=False), "act"), named("norm_b", of("SyncBatchNorm", num_features=4), "b"),
               named("skip", conv(3, 4, 3, "Conv1d", bias=False), "input"), named("norm_skip", of("SyncBatchNorm", num_features=4, track_running_stats=False), "skip"),
               named("sum", of("Add"), "norm_b", "norm_skip")]}})
case("norms", {"x": [B, 6, 4]}, [parallel("net", chain(
    of("LayerNorm", normalized_shape=4), TANH, of("GroupNorm", num_groups=3, num_channels=6), SILU, of("LayerNorm", normalized_shape=[6, 4], eps=0.01),
    linear(4, 3), of("GroupNorm", num_groups=2, num_channels=6, affine=False), of("LayerNorm", normalized_shape=3, bias=False)))],
     [B, 6, 3], "MSELoss", {"type": "SGD", "lr": 1.0})
case("group_norm_images", {"x": [B, 4, 5, 3]}, [parallel("net", chain(conv(4, 6, 3, padding=1), of("GroupNorm", num_groups=2, num_channels=6), TANH))],
     [B, 6, 5, 3], "MSELoss", {"type": "SGD", "lr": 1.0}, batch=7)
ACTIVATIONS = [of("ReLU"), of("ReLU6"), of("LeakyReLU", negative_slope=0.2), of("ELU", alpha=0.7), SILU, of("GELU"), of("GELU", approximate="tanh"),
               TANH, SIGMOID, of("Hardtanh", min_val=-0.7, max_val=0.6), of("Identity")]
case("activations", {"x": [B, 5]}, [parallel("net", of("All"))], [B, 4 * len(ACTIVATIONS)], "MSELoss", {"type": "SGD", "lr": 2.0}, modules={"All": {
    "layers": [layer for i, act in enumerate(ACTIVATIONS) for layer in (named(f"fc{i}", linear(5, 4), "input"), named(f"act{i}", act))]
    + [named("all", of("Concat", dim=1), *[f"act{i}" for i in range(len(ACTIVATIONS))])]}})
# Where a careless derivative has inf · 0.
case("activations_far", {"wide": [B, 5]}, [parallel("net", of("All"))], [B, 4 * len(ACTIVATIONS)], "L1Loss", devices=FEW, modules={"All": {
    "layers": [layer for i, act in enumerate(ACTIVATIONS) for layer in (named(f"fc{i}", linear(5, 4), "input"), named(f"act{i}", act))]
    + [named("all", of("Concat", dim=1), *[f"act{i}" for i in range(len(ACTIVATIONS))])]}})
for loss in ("CrossEntropyLoss", "BCEWithLogitsLoss", "NLLLoss"):
    case(f"far_{loss}".lower(), {"wide": [B, 5]}, [parallel("net", linear(5, 4)), *([named("log", of("LogSoftmax", dim=1))] if loss == "NLLLoss" else [])],
         [B, 4] if "BCE" in loss else ([B], INT), loss, {"type": "SGD", "lr": 0.01}, high=1 if "BCE" in loss else 4, devices=FEW)
case("softmax", {"x": [B, 3, 5]}, [parallel("net", chain(
    linear(5, 4), of("Softmax", dim=-1), linear(4, 6, bias=False), of("Softmax", dim=1), linear(6, 3), of("LogSoftmax", dim=2)))], [B, 3, 3], "MSELoss", batch=7)
case("pools", {"x": [B, 2, 9, 8]}, [parallel("net", chain(
    conv(2, 4, 3, padding=1), of("MaxPool2d", kernel_size=3, stride=2, padding=1, ceil_mode=True), TANH,
    of("AvgPool2d", kernel_size=2, stride=1, padding=1, count_include_pad=False), of("AdaptiveAvgPool2d", output_size=[4, 3]),
    of("MaxPool2d", kernel_size=2, stride=1, dilation=[2, 1]), of("AvgPool2d", kernel_size=[2, 1]), FLAT, linear(8, 3)))],
     ([B], INT), "CrossEntropyLoss", {"type": "SGD", "lr": 0.2}, high=3)
case("pools_divided", {"x": [B, 2, 7, 8]}, [parallel("net", chain(
    conv(2, 3, [4, 3], padding="same"), of("AvgPool2d", kernel_size=3, stride=2, padding=1, ceil_mode=True), TANH,
    of("AvgPool2d", kernel_size=2, stride=1, divisor_override=-3), of("AdaptiveAvgPool2d", output_size=[5, None]), of("MaxPool2d", kernel_size=2, ceil_mode=True)))],
     [B, 3, 3, 2], "MSELoss", {"type": "SGD", "lr": 0.5}, batch=7, devices=FEW)
case("pools_overhanging", {"x": [B, 2, 9, 8]}, [parallel("net", chain(
    conv(2, 4, 3, padding=1), of("MaxPool2d", kernel_size=3, stride=2, padding=2, dilation=2), TANH,
    of("MaxPool2d", kernel_size=2, stride=[3, 2], dilation=[1, 2], ceil_mode=True), of("AvgPool2d", kernel_size=3, stride=2, ceil_mode=True)))],
     [B, 4, 1, 1], "MSELoss", {"type": "SGD", "lr": 0.5}, batch=7)
case("average_to_one", {"x": [B, 3, 5, 5]}, [parallel("net", chain(conv(3, 8, 3), SILU, of("AdaptiveAvgPool2d", output_size=1), FLAT, linear(8, 3)))],
     ([B], INT), "CrossEntropyLoss", ADAM, high=3, batch=7)
case("embedding", {"x": ([B, 4], INT)}, [parallel("net", chain(of("Embedding", num_embeddings=11, embedding_dim=5, padding_idx=3), TANH, FLAT, linear(20, 3)))],
     ([B], INT), "CrossEntropyLoss", {"type": "SGD", "lr": 0.5}, high=3)
case("embedding_on_host", {"x": ([B], INT)}, [
    {"name": "embedding", "type": "Embedding", "num_embeddings": 13, "embedding_dim": 6, "device": "cpu"},
    parallel("net", chain(linear(6, 8), SILU, linear(8, 4))), {"name": "last", **linear(4, 3), "device": "cuda:0"}], [B, 3], "MSELoss", ADAM, batch=7)
for kind, outputs in (("LSTM", ["h", "c"]), ("GRU", ["h"]), ("RNN", ["h"])):
    low = kind.lower()
    case(low, {"x": [B, 4, 5]}, [parallel("net", chain(
        of(kind, input_size=5, hidden_size=3, num_layers=2, bidirectional=True, batch_first=True), linear(6, 2)))], [B, 4, 2], "MSELoss", {"type": "SGD", "lr": 2.0})
    # The loss reaches the last hidden state alone; the batch is the second dimension.
    case(low + "_state", {"x": [3, B, 5]}, [
        parallel("net", of(kind, input_size=5, hidden_size=4), dim=1), named("pick", of("Select", dim=0, index=0), "net:1"), named("fc", linear(4, 2))],
         [B, 2], "MSELoss", {"type": "SGD", "lr": 0.5}, batch=7)
    case(low + "_initial_state", {"x": [B, 5], "s": [1, B, 6]}, [
        named("start", of("Scale", value=0.5), "s"), named("w", linear(6, 4), "start"), *[named("v", linear(6, 4), "start")][:len(outputs) - 1], named("sequence", of("Reshape", shape=[1, -1, 5]), "x"),
        parallel("net", of(kind, input_size=5, hidden_size=4, bias=False), inputs=["sequence", "w", "v"][:1 + len(outputs)], dim=1)],
         [1, B, 4], "MSELoss", {"type": "SGD", "lr": 0.5}, outputs=["net"], devices=FEW)
case("rnn_relu", {"x": [B, 4, 5]}, [parallel("net", chain(
    of("RNN", input_size=5, hidden_size=4, num_layers=2, bidirectional=True, batch_first=True, nonlinearity="relu"), linear(8, 2)))], [B, 4, 2], "MSELoss",
     {"type": "SGD", "lr": 0.5})
case("local_response_norm", {"x": [B, 3, 6, 6]}, [parallel("net", chain(
    conv(3, 6, 3), of("LocalResponseNorm", size=5, alpha=0.5), of("ReLU"), of("LocalResponseNorm", size=2, alpha=1, beta=0.5, k=2), FLAT, linear(96, 3)))],
     ([B], INT), "CrossEntropyLoss", {"type": "SGD", "lr": 0.5}, high=3, batch=7)
case("conv_transpose3d", {"x": [B, 2, 3, 4, 4]}, [parallel("net", chain(
    conv(2, 4, 3, "ConvTranspose3d", stride=[2, 1, 2], padding=[1, 0, 1], output_padding=[1, 0, 1], groups=2), TANH,
    conv(4, 1, 2, "ConvTranspose3d", dilation=[2, 1, 1], bias=False)))], [B, 1, 8, 7, 9], "MSELoss", {"type": "SGD", "lr": 2.0}, batch=7)
case("word_language_model", {"x": ([4, B], INT)}, [
    {"name": "encoder", "type": "Embedding", "num_embeddings": 9, "embedding_dim": 6, "device": "cpu"},
    parallel("rnn", of("LSTM", input_size=6, hidden_size=6, num_layers=2), dim=1),
    {"name": "decoder", **linear(6, 9), "share": {"weight": "encoder.weight"}, "inputs": ["rnn"]},
    named("log_softmax", of("LogSoftmax", dim=-1)), named("classes", of("Permute", dims=[0, 2, 1]))],
     ([4, B], INT), "NLLLoss", {"type": "SGD", "lr": 0.5}, high=9, clip=0.25)
ATTENTION = of("MultiheadAttention", embed_dim=8, num_heads=2, batch_first=True)
case("transformer_encoder", {"x": [B, 4, 8]}, [parallel("net", of("Encoder"))], [B, 4, 8], "MSELoss", {"type": "SGD", "lr": 0.5}, modules={"Encoder": {"layers": [
    named("attention", ATTENTION, "input", "input", "input"), named("add1", of("Add"), "attention", "input"),
    named("norm1", of("LayerNorm", normalized_shape=8)), named("fc1", linear(8, 6)), named("gelu", of("GELU")), named("fc2", linear(6, 8)),
    named("add2", of("Add"), "fc2", "norm1"), named("norm2", of("LayerNorm", normalized_shape=8))]}})
case("attention_sequence_first", {"q": [3, B, 8], "k": [4, B, 8]}, [
    parallel("net", of("MultiheadAttention", embed_dim=8, num_heads=4), dim=1, inputs=["q", "k", "k"])], [3, B, 8], "MSELoss", {"type": "SGD", "lr": 1.0},
     outputs=["net"], devices=FEW)
case("attention_cross", {"q": [B, 3, 8], "k": [B, 5, 8]}, [named("net", {**ATTENTION, "bias": False}, "q", "k", "k")],
     [B, 3, 5], "MSELoss", {"type": "SGD", "lr": 5.0}, outputs=["net:1"], devices=FEW)
case("arithmetic", {"a": [B, 3, 4], "b": [B, 4, 5]}, [parallel("net", of("Ops"))], [B, 2, 15], "MSELoss", {"type": "SGD", "lr": 0.05}, batch=7, modules={"Ops": {
    "inputs": ["a", "b"], "layers": [
        named("fa", linear(4, 4), "a"), named("fb", linear(5, 5), "b"), named("ab", of("MatMul"), "fa", "fb"),
        named("scaled", of("Scale", value=-0.5)), named("turned", of("Permute", dims=[0, 2, 1]), "fb"), named("last", of("Select", dim=2, index=-1), "turned"),
        named("row", of("Mean", dim=1, keepdim=True), "ab"), named("column", of("Mean", dim=[2]), "fa"), named("sub", of("Sub"), "scaled", "row"),
        named("column1", of("Reshape", shape=[-1, 3, 1]), "column"), named("mul", of("Mul"), "sub", "column1"),
        named("line", of("Reshape", shape=[-1, 1, 15])), named("last1", of("Reshape", shape=[-1, 1, 5]), "last"),
        named("wide", of("Concat", dim=2), "last1", "row", "row"), named("both", of("Concat", dim=1), "line", "wide"), named("bias", of("Add"), "both", "line")]}})
case("flatten_middle", {"x": [B, 2, 3, 4]}, [parallel("net", chain(linear(4, 3), of("Flatten", start_dim=1, end_dim=2), TANH, linear(3, 2)))],
     [B, 6, 2], "MSELoss", devices=FEW)

# Losses.
def sequences(name, loss, steps=(5, 8), lr=0.3, **more):
    """CTC of seven steps of four classes, and up to three labels."""
    case(name, {"x": [7, B, 5]}, [parallel("net", chain(linear(5, 6), TANH, linear(6, 4)), dim=1), named("log", of("LogSoftmax", dim=2))], None, loss,
         {"type": "SGD", "lr": lr}, devices=FEW, **more)
    CASES[-1].spec["training"]["targets"] = {"y": {"shape": [B, 3], "dtype": INT}, "steps": {"shape": [B], "dtype": INT}, "labels": {"shape": [B], "dtype": "int32"}}
    CASES[-1].targets = {"y": (0 if loss.get("blank") else 1, 3 if loss.get("blank") else 4), "steps": steps, "labels": (0, 4)}


sequences("ctc_loss", of("CTCLoss"), batch=7)
sequences("ctc_loss_sum", of("CTCLoss", reduction="sum", blank=3), lr=0.03)
sequences("ctc_loss_without_infinity", of("CTCLoss", zero_infinity=True), steps=(0, 5))
sequences("ctc_loss_in_micro_batches", of("CTCLoss"), micro=3, divisor=10)
LOGITS = [parallel("net", chain(linear(5, 6), TANH, linear(6, 4)))]
for reduction in ("mean", "sum"):
    sgd = {"type": "SGD", "lr": 0.3 if reduction == "mean" else 0.03}
    suffix = "" if reduction == "mean" else "_sum"
    case("l1_loss" + suffix, {"x": [B, 5]}, LOGITS, [B, 4], of("L1Loss", reduction=reduction), sgd, devices=FEW)
    case("bce_loss" + suffix, {"x": [B, 5]}, [*LOGITS, named("p", SIGMOID)], [B, 4], of("BCELoss", reduction=reduction), sgd, devices=FEW)
    case("bce_with_logits" + suffix, {"x": [B, 5]}, LOGITS, [B, 4], of("BCEWithLogitsLoss", reduction=reduction), sgd, devices=FEW)
    case("nll_loss" + suffix, {"x": [B, 5]}, [*LOGITS, named("log", of("LogSoftmax", dim=1))], ([B], INT), of("NLLLoss", reduction=reduction, ignore_index=-1), sgd,
         low=-2, high=4, devices=FEW)
    case("cross_entropy" + suffix, {"x": [B, 5]}, LOGITS, ([B], INT), of("CrossEntropyLoss", reduction=reduction, ignore_index=2, label_smoothing=0.2), sgd, high=4, devices=FEW)
    case("cross_entropy_2d" + suffix, {"x": [B, 3, 4, 3]}, [parallel("net", conv(3, 4, 1))], ([B, 4, 3], INT),
         of("CrossEntropyLoss", reduction=reduction, ignore_index=-1, label_smoothing=0.1), sgd, low=-2, high=4, devices=FEW)
    # Of so many classes that only the target's value is read.
    case("many_classes" + suffix, {"x": [B, 5]}, [parallel("net", linear(5, 70))], ([B], INT), of("CrossEntropyLoss", reduction=reduction, ignore_index=-1), sgd,
         low=-2, high=70, devices=FEW)
    case("many_classes_2d" + suffix, {"x": [B, 3, 4, 3]}, [parallel("net", conv(3, 66, 1)), named("log", of("LogSoftmax", dim=1))], ([B, 4, 3], INT),
         of("NLLLoss", reduction=reduction, ignore_index=-1), sgd, low=-2, high=66, devices=FEW, micro=3)
# Of elements, with and without what bends them.
for name, loss, layers, low in [
        ("smooth_l1", of("SmoothL1Loss", beta=0.4), LOGITS, None), ("smooth_l1_of_no_width", of("SmoothL1Loss", beta=0, reduction="sum"), LOGITS, None),
        ("huber", of("HuberLoss", delta=0.3), LOGITS, None), ("kl_div", of("KLDivLoss", reduction="batchmean"), [*LOGITS, named("log", of("LogSoftmax", dim=1))], 0),
        ("kl_div_log_target", of("KLDivLoss", log_target=True), [*LOGITS, named("log", of("LogSoftmax", dim=1))], None),
        ("poisson_nll", of("PoissonNLLLoss", full=True), LOGITS, 0), ("poisson_nll_of_rates", of("PoissonNLLLoss", log_input=False, reduction="sum"), [*LOGITS, named("p", SIGMOID)], 0),
        ("soft_margin", of("SoftMarginLoss"), LOGITS, None), ("hinge_embedding", of("HingeEmbeddingLoss", margin=0.4), LOGITS, None)]:
    case(name, {"x": [B, 5]}, layers, [B, 4], loss, {"type": "SGD", "lr": 0.05 if loss.get("reduction") == "sum" else 0.3}, low=low, devices=FEW)
for name, target in ("alike", 1), ("unlike", -1):
    case("hinge_embedding_" + name, {"x": [B, 5]}, LOGITS, [B, 4], of("HingeEmbeddingLoss"), {"type": "SGD", "lr": 0.3}, low=target, high=target, devices=FEW)
case("kl_div_in_micro_batches", {"x": [B, 5]}, [*LOGITS, named("log", of("LogSoftmax", dim=1))], [B, 4], of("KLDivLoss", reduction="batchmean"), {"type": "SGD", "lr": 0.3},
     low=0, devices=FEW, micro=3)
case("poisson_nll_large", {"x": [B, 5]}, LOGITS, [B, 4], of("PoissonNLLLoss", full=True), {"type": "SGD", "lr": 0.05}, low=0, high=5, devices=FEW)

# Of several outputs. Values and slopes beside the kinks alike: targets of 1 and -1 need a case each.
def outputs_of(*names, width=4):
    return [parallel("body", chain(linear(5, 6), TANH)), *({"name": name, **linear(6, width), "inputs": ["body"]} for name in names)]


def several(name, loss, layers, target, outputs, inputs, low=None, high=None, lr=0.3, **more):
    case(name, {"x": [B, 5]}, layers, target, {**loss, "inputs": inputs}, {"type": "SGD", "lr": lr}, low=low, high=high, outputs=outputs, devices=FEW, **more)


for reduction in ("mean", "sum"):
    suffix, lr = ("", 0.3) if reduction == "mean" else ("_sum", 0.03)
    variance = [*outputs_of("mu", "log_var"), named("var", of("Exp"), "log_var")]
    several("gaussian_nll" + suffix, of("GaussianNLLLoss", reduction=reduction), variance, [B, 4], ["mu", "var"], ["mu", "y", "var"], lr=lr / 3)
    several("triplet_margin" + suffix, of("TripletMarginLoss", reduction=reduction), outputs_of("a", "p", "n"), None, ["a", "p", "n"], ["a", "p", "n"], lr=lr / 10)
several("gaussian_nll_of_one_variance", of("GaussianNLLLoss", full=True, eps=1.0), [*outputs_of("mu"), {"name": "log_var", **linear(6, 1), "inputs": ["body"]}, named("var", of("Exp"), "log_var")],
        [B, 4], ["mu", "var"], ["mu", "y", "var"], lr=0.1)
several("triplet_margin_swapped", of("TripletMarginLoss", swap=True, p=1.0, margin=4.0), outputs_of("a", "p", "n"), None, ["a", "p", "n"], ["a", "p", "n"], lr=0.03)
several("triplet_margin_in_micro_batches", of("TripletMarginLoss", p=3.0, margin=3.0), outputs_of("a", "p", "n"), None, ["a", "p", "n"], ["a", "p", "n"], lr=0.03, micro=3, divisor=10)
for name, target in ("alike", 1), ("unlike", -1):
    several("cosine_embedding_" + name, of("CosineEmbeddingLoss", margin=0.1), outputs_of("a", "b"), [B], ["a", "b"], ["a", "b", "y"], target, target)
    several("margin_ranking_" + name, of("MarginRankingLoss", margin=0.2), outputs_of("a", "b"), [B, 4], ["a", "b"], ["a", "b", "y"], target, target)
several("cosine_embedding_in_micro_batches", of("CosineEmbeddingLoss", margin=0.1), outputs_of("a", "b"), [B], ["a", "b"], ["a", "b", "y"], 1, 1, micro=3)
for reduction in ("mean", "sum"):
    suffix, sgd = ("", {"type": "SGD", "lr": 1.0}) if reduction == "mean" else ("_sum", {"type": "SGD", "lr": 0.1})
    case("multi_margin" + suffix, {"x": [B, 5]}, [parallel("net", linear(5, 4))], ([B], INT), of("MultiMarginLoss", margin=0.7, weight=[0.5, 2.0, 1.0, 1.5], reduction=reduction), sgd,
         high=4, devices=FEW)
    case("multi_label_margin" + suffix, {"x": [B, 5]}, [parallel("net", linear(5, 6))], ([B, 6], INT), of("MultiLabelMarginLoss", reduction=reduction), sgd, low=-2, high=6, devices=FEW)
    case("multi_label_soft_margin" + suffix, {"x": [B, 3, 5]}, [parallel("net", linear(5, 4))], [B, 3, 4],
         of("MultiLabelSoftMarginLoss", weight=[0.5, 2.0, 1.0, 1.5], reduction=reduction), sgd, low=0, devices=FEW)
case("multi_margin_squared", {"x": [B, 5]}, [parallel("net", linear(5, 4))], ([B], INT), of("MultiMarginLoss", p=2), {"type": "SGD", "lr": 1.0}, high=4, devices=FEW, micro=3)
case("multi_label_margin_in_micro_batches", {"x": [B, 5]}, [parallel("net", linear(5, 6))], ([B, 6], INT), of("MultiLabelMarginLoss"), {"type": "SGD", "lr": 1.0}, low=-2, high=6,
     devices=FEW, micro=3, divisor=10)
case("multi_label_soft_margin_in_micro_batches", {"x": [B, 3, 5]}, [parallel("net", linear(5, 4))], [B, 3, 4], of("MultiLabelSoftMarginLoss"), {"type": "SGD", "lr": 1.0}, low=0,
     devices=FEW, micro=3, divisor=30)
case("autoencoder", {"x": [B, 5]}, [parallel("net", chain(linear(5, 3), TANH, linear(3, 5)))], None, {"type": "MSELoss", "inputs": ["net", "x"]}, {"type": "SGD", "lr": 0.3}, devices=FEW)

# Weights.
W = [0.5, 2.0, 0.0, 1.25]
for reduction in ("mean", "sum"):
    sgd = {"type": "SGD", "lr": 0.3 if reduction == "mean" else 0.03}
    suffix = "" if reduction == "mean" else "_sum"
    case("weighted_cross_entropy" + suffix, {"x": [B, 5]}, LOGITS, ([B], INT), of("CrossEntropyLoss", reduction=reduction, weight=W), sgd, high=4)
    case("probabilities" + suffix, {"x": [B, 5]}, LOGITS, [B, 4], of("CrossEntropyLoss", reduction=reduction, label_smoothing=0.2, weight=W), sgd, low=0)
    case("probabilities_2d" + suffix, {"x": [B, 3, 4, 3]}, [parallel("net", conv(3, 4, 1))], [B, 4, 4, 3], of("CrossEntropyLoss", reduction=reduction), sgd, low=0, devices=FEW, micro=3)
    case("weighted_cross_entropy_all" + suffix, {"x": [B, 5]}, LOGITS, ([B], INT),
         of("CrossEntropyLoss", reduction=reduction, weight=W, ignore_index=1, label_smoothing=0.2), sgd, high=4)
    case("weighted_cross_entropy_2d" + suffix, {"x": [B, 3, 4, 3]}, [parallel("net", conv(3, 4, 1))], ([B, 4, 3], INT),
         of("CrossEntropyLoss", reduction=reduction, weight=W, ignore_index=-1, label_smoothing=0.1), sgd, low=-2, high=4, devices=FEW)
    case("weighted_nll" + suffix, {"x": [B, 5]}, [*LOGITS, named("log", of("LogSoftmax", dim=1))], ([B], INT),
         of("NLLLoss", reduction=reduction, weight=W, ignore_index=-1), sgd, low=-2, high=4, devices=FEW)
    case("weighted_bce" + suffix, {"x": [B, 5]}, [*LOGITS, named("p", SIGMOID)], [B, 4], of("BCELoss", reduction=reduction, weight=W), sgd, devices=FEW)
    case("weighted_bce_with_logits" + suffix, {"x": [B, 5]}, LOGITS, [B, 4],
         of("BCEWithLogitsLoss", reduction=reduction, weight=[1.5], pos_weight=[3.0, 0.5, 1.0, 2.0]), sgd, devices=FEW)
case("pos_weight_3d", {"x": [B, 3, 6]}, [parallel("net", linear(6, 4))], [B, 3, 4], of("BCEWithLogitsLoss", weight=W, pos_weight=[4.0]), {"type": "SGD", "lr": 0.5})
case("weighted_one_output", {"x": [B, 5]}, [parallel("net", chain(linear(5, 1), of("Reshape", shape=[-1])))], [B], of("BCEWithLogitsLoss", pos_weight=[2.5]),
     {"type": "SGD", "lr": 0.5}, devices=FEW)

# Micro-batches: of 10 rows 4, 4 and 2; the last step has what is left over.
case("micro", {"x": [B, 6]}, [parallel("net", chain(linear(6, 5), TANH, linear(5, 4)))], [B, 4], "MSELoss", ADAM, micro=3, rows=24)
case("micro_more_than_rows", {"x": [B, 6]}, [parallel("net", linear(6, 4))], [B, 4], of("L1Loss", reduction="sum"), {"type": "SGD", "lr": 0.01, "momentum": 0.9},
     batch=6, micro=6, rows=16)
case("micro_batch_norm", {"x": [B, 3, 6, 6]}, [parallel("net", chain(
    conv(3, 6, 3, padding=1, bias=False), of("BatchNorm2d", num_features=6), SILU, of("MaxPool2d", kernel_size=2), FLAT, linear(54, 3, bias=False),
    of("BatchNorm1d", num_features=3, momentum=None)))], ([B], INT), "CrossEntropyLoss", {"type": "SGD", "lr": 0.1, "momentum": 0.9}, batch=22, high=3, micro=2, rows=60)
case("micro_weighted", {"x": [B, 5]}, LOGITS, ([B], INT), of("CrossEntropyLoss", weight=W, ignore_index=1, label_smoothing=0.2), {"type": "AdamW", "lr": 0.05},
     high=4, micro=5, clip=0.2)
case("micro_split_along_1", {"x": [3, B, 6]}, [parallel("a", chain(linear(6, 5), TANH), dim=1), parallel("c", linear(5, 2), dim=1)], [3, B, 2], "MSELoss",
     {"type": "SGD", "lr": 0.5}, micro=4)
case("micro_model_parallel", {"x": ([B], INT)}, [
    {"name": "embedding", "type": "Embedding", "num_embeddings": 12, "embedding_dim": 6, "device": "cpu"},
    {"name": "first", **chain(linear(6, 8), SILU), "device": "cuda:0"}, {"name": "second", **linear(8, 4), "device": "cuda:1"}],
     [B, 4], "MSELoss", {"type": "RMSprop", "lr": 0.02, "momentum": 0.5}, devices=TWO, micro=2, clip=0.3)

# Optimizers.
OPTIMIZERS = {
    "sgd_momentum": {"type": "SGD", "lr": 0.1, "momentum": 0.9}, "sgd_dampening": {"type": "SGD", "lr": 0.1, "momentum": 0.8, "dampening": 0.3, "weight_decay": 0.1},
    "sgd_nesterov": {"type": "SGD", "lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.05},
    "sgd_maximize": {"type": "SGD", "lr": 0.1, "maximize": True, "weight_decay": 0.1},
    "adam": {"type": "Adam", "lr": 0.05, "betas": [0.8, 0.95], "eps": 1e-6}, "adam_decay": {"type": "Adam", "lr": 0.05, "weight_decay": 0.1, "maximize": True},
    "adam_amsgrad": {"type": "Adam", "lr": 0.05, "betas": [0.5, 0.6], "amsgrad": True},
    "adamw": {"type": "AdamW", "lr": 0.05, "weight_decay": 0.2}, "adamw_amsgrad": {"type": "AdamW", "lr": 0.05, "betas": [0.5, 0.6], "amsgrad": True, "maximize": True},
    "rmsprop": {"type": "RMSprop", "lr": 0.02}, "rmsprop_centered": {"type": "RMSprop", "lr": 0.02, "alpha": 0.9, "centered": True, "eps": 0.001},
    "rmsprop_momentum": {"type": "RMSprop", "lr": 0.01, "momentum": 0.7, "weight_decay": 0.1, "maximize": True},
    "rmsprop_all": {"type": "RMSprop", "lr": 0.01, "momentum": 0.7, "centered": True, "eps": 0.001, "weight_decay": 0.1},
}
for name, optimizer in OPTIMIZERS.items():
    case(name, {"x": [B, 5]}, LOGITS, [B, 4], "MSELoss", optimizer, devices=FEW)
# No decay of biases and norms, a rate of its own for one layer, and all rates under a schedule that isn't a factor.
GROUPED = chain(linear(5, 6), of("LayerNorm", normalized_shape=6), TANH, linear(6, 4))
for name, optimizer in {"groups_sgd": {"type": "SGD", "lr": 0.2, "momentum": 0.8, "weight_decay": 0.3},
                        "groups_adamw": {"type": "AdamW", "lr": 0.05, "weight_decay": 0.5}}.items():
    case(name, {"x": [B, 5]}, [parallel("net", GROUPED)], [B, 4], "MSELoss", {**optimizer, "parameter_groups": [
        {"parameters": ["*.bias"], "types": ["LayerNorm"], "weight_decay": 0.0}, {"parameters": ["net.module.3.weight"], "lr": 0.02}]},
         devices=FEW, schedule=of("CosineAnnealingLR", T_max=4, eta_min=0.01), rows=10)
SCHEDULES = {"StepLR": {"step_size": 1, "gamma": 0.5}, "MultiStepLR": {"milestones": [1, 2], "gamma": 0.3}, "CosineAnnealingLR": {"T_max": 4, "eta_min": 0.01},
             "LinearLR": {"start_factor": 0.5, "total_iters": 2}}
for kind, arguments in SCHEDULES.items():
    case("schedule_" + kind.lower(), {"x": [B, 5]}, LOGITS, [B, 4], "MSELoss", ADAM, devices=FEW, schedule=of(kind, **arguments), rows=10)
case("clip", {"x": [B, 5]}, LOGITS, [B, 4], of("MSELoss", reduction="sum"), {"type": "SGD", "lr": 0.1, "momentum": 0.5}, clip=0.5, devices=USUAL)
case("clip_unneeded", {"x": [B, 5]}, LOGITS, [B, 4], "MSELoss", clip=100.0, devices=FEW)

# Placement.
case("device_order", {"x": [B, 6]}, [parallel("a", chain(linear(6, 5), TANH), device_ids=[1, 0]), parallel("b", linear(5, 5), device_ids=[0, 1], output_device=1),
                                     {"name": "c", **linear(5, 3), "device": "cuda:1"}], [B, 3], "MSELoss", devices=TWO)
case("output_device_outside", {"x": [B, 6]}, [parallel("a", linear(6, 5), device_ids=[0, 2], output_device=1), {"name": "c", **linear(5, 3), "device": "cuda:2"}],
     [B, 3], "MSELoss", {"type": "SGD", "lr": 0.2, "momentum": 0.9}, devices=THREE, batch=7)
case("model_parallel", {"x": ([B], INT)}, [
    {"name": "embedding", "type": "Embedding", "num_embeddings": 12, "embedding_dim": 6, "device": "cpu"},
    {"name": "first", **chain(linear(6, 8), SILU), "device": "cuda:0"}, {"name": "second", **linear(8, 4), "device": "cuda:1"},
    {"name": "last", "type": "Tanh", "device": "cpu"}], [B, 4], "MSELoss", ADAM, devices=TWO)
case("regions_side_by_side", {"x": [B, 6]}, [parallel("a", linear(6, 5)), parallel("b", linear(6, 5), inputs=["x"]), named("sum", of("Mul"), "a", "b"),
                                             parallel("c", linear(5, 4))], [B, 4], "MSELoss")
case("shared_between_regions", {"x": [B, 6]}, [
    parallel("a", linear(6, 6)), {"name": "b", **linear(6, 6), "share": {"weight": "a.module.weight"}, "device": "cpu"}, parallel("c", TANH)], [B, 6], "MSELoss",
     {"type": "SGD", "lr": 0.3}, batch=7)
case("split_along_1", {"x": [3, B, 6]}, [parallel("a", chain(linear(6, 5), TANH), dim=1), named("b", of("Permute", dims=[1, 0, 2])), parallel("c", linear(5, 2))],
     [B, 3, 2], "MSELoss")
case("several_inputs_and_outputs", {"x": [B, 6], "z": [B, 6]}, [parallel("net", of("Both"))], [B, 6], {"type": "MSELoss", "inputs": ["net:1", "y"]},
     outputs=["net", "net:1"], batch=7, modules={"Both": {"inputs": ["a", "b"], "outputs": ["sum", "product"], "layers": [
         named("fc", linear(6, 6), "a"), named("unused", linear(6, 6), "b"), named("sum", of("Add"), "unused", "b"), named("product", of("Mul"), "fc", "b")]}})
case("smaller_last_batch", {"x": [B, 5]}, [parallel("net", chain(linear(5, 6, bias=False), of("BatchNorm1d", num_features=6), TANH, linear(6, 4)))], [B, 4], "MSELoss",
     {"type": "SGD", "lr": 0.2, "momentum": 0.9}, batch=11, rows=31)
case("fewer_rows_than_devices", {"x": [B, 5]}, LOGITS, [B, 4], "MSELoss", batch=3)
case("value_twice", {"x": [B, 5]}, [named("fc", linear(5, 4)), parallel("net", of("Mul"), inputs=["fc", "fc"])], [B, 4], "MSELoss")

# Loss scaling. Gradients overflow float32 at the first scale by far, and at the next by far not, whatever the order of their sums.
SCALED = chain(named("a", linear(6, 8)), TANH, named("b", linear(8, 4)))


def scale(interval, factor=256.0, **more):
    return {"init_scale": 2.0**127, "growth_interval": interval, "growth_factor": factor, "backoff_factor": 1 / 256, **more}


case("loss_scale_sgd", {"x": [B, 3, 4, 4]}, [parallel("net", chain(
    conv(3, 4, 3, padding=1, bias=False), of("BatchNorm2d", num_features=4), SILU, FLAT, linear(64, 2)))], [B, 2], of("MSELoss", reduction="sum"),
     {"type": "SGD", "lr": 0.001, "momentum": 0.9, "dampening": 0.5}, batch=8, devices=TWO, high=4, scale=scale(2), steps=8, tolerance=1e-3)
case("loss_scale_adam", {"x": [B, 6]}, [parallel("net", SCALED)], [B, 4], of("MSELoss", reduction="sum"),
     {"type": "AdamW", "lr": 0.01, "amsgrad": True, "parameter_groups": [{"parameters": ["net.module.b"], "lr": 0.02}]}, clip=0.5,
     schedule={"type": "StepLR", "step_size": 1, "gamma": 0.5}, devices=FEW, high=4, scale=scale(3, 16.0), steps=12)
case("loss_scale_micro", {"x": [B, 6]}, [parallel("net", SCALED)], [B, 4], of("MSELoss", reduction="sum"), {"type": "RMSprop", "lr": 0.01, "momentum": 0.5, "centered": True},
     devices=FEW, micro=3, high=4, scale=scale(2), steps=8)
case("loss_scale_fixed", {"x": [B, 6]}, [parallel("net", SCALED)], [B, 4], "MSELoss", devices=FEW, scale=128)

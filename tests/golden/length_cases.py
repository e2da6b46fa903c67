"""Cases of models with lengths, sizes besides the batch that a run determines: (name, model, batch size, the numbers of each
run). Every run of a case is one golden file, and all of them are of one model file."""
from layer_cases import B, model
from model_cases import linear, parallel

CASES = []
SEQ = "seq"


def case(name, inputs, layers, outputs=None, lengths=(), batch=5, **more):
    CASES.append((name, model(name, inputs, layers, outputs, **more), batch, lengths))


def seq(*numbers):
    return [{"seq": number} for number in numbers]


def position(room, width):
    """A table of positions, of which a run takes as many as its sequence has."""
    return [{"name": "table", "type": "Parameter", "shape": [1, room, width]},
            {"name": "position", "type": "Slice", "dim": 1, "end": SEQ}]


ATTENTION = {"type": "MultiheadAttention", "embed_dim": 12, "num_heads": 3, "batch_first": True}
BLOCK = {"layers": [
    {"name": "norm1", "type": "LayerNorm", "normalized_shape": 12},
    {"name": "attention", **ATTENTION, "inputs": ["norm1", "norm1", "norm1"]},
    {"name": "add1", "type": "Add", "inputs": ["attention", "input"]},
    {"name": "norm2", "type": "LayerNorm", "normalized_shape": 12},
    {"name": "up", **linear(12, 24)}, {"name": "gelu", "type": "GELU"}, {"name": "down", **linear(24, 12)},
    {"name": "add2", "type": "Add", "inputs": ["down", "add1"]}]}

case("text_encoder", {"tokens": ([B, SEQ], "int64")}, [
    {"name": "embed", "type": "Embedding", "num_embeddings": 23, "embedding_dim": 12},
    *position(16, 12),
    {"name": "sum", "type": "Add", "inputs": ["embed", "position"]},
    parallel("block", {"type": "Block"}), {"name": "mean", "type": "Mean", "dim": 1}, {"name": "head", **linear(12, 7)}],
    ["head", "block"], lengths=seq(1, 7, 16), modules={"Block": BLOCK})
case("length_reshape", {"x": [B, SEQ, 12]}, [parallel("net", {"type": "Net"})], lengths=seq(1, 6), modules={"Net": {
    "outputs": ["heads", "rows", "named"], "layers": [
        {"name": "flat", "type": "Flatten", "start_dim": 0, "end_dim": 1, "inputs": ["input"]}, {"name": "rows", **linear(12, 5)},
        {"name": "split", "type": "Reshape", "shape": [-1, SEQ, 3, 4], "inputs": ["input"]},
        {"name": "heads", "type": "Permute", "dims": [0, 2, 1, 3]},
        {"name": "whole", "type": "Reshape", "shape": [-1, 12], "inputs": ["input"]},
        {"name": "named", "type": "Reshape", "shape": [-1, SEQ, 6, 2]}]}}, outputs=["net", "net:1", "net:2"])
case("length_mixed", {"x": [B, SEQ, 12], "bias": [SEQ, SEQ]}, [
    {"name": "causal", **ATTENTION, "is_causal": True, "inputs": ["x", "x", "x"]},
    {"name": "first", "type": "Select", "dim": 1, "index": 0}, {"name": "last", "type": "Select", "dim": 1, "index": -1, "inputs": ["causal"]},
    {"name": "softmax", "type": "Softmax", "dim": 1, "inputs": ["x"]}, {"name": "most", "type": "AMax", "dim": 1, "inputs": ["x"]},
    {"name": "biased", "type": "ScaledDotProductAttention", "inputs": ["x", "x", "x", "bias"]},
    {"name": "total", "type": "Sum", "dim": [0, 1], "inputs": ["x"]}, {"name": "joined", "type": "Concat", "dim": 1, "inputs": ["x", "causal"]}],
    ["first", "last", "softmax", "most", "biased", "total", "joined"], lengths=seq(2, 9))

"""Attention."""
from .rows import row


def _with_heads_of(query, value, w):
    """Keys or values that PyTorch broadcasts to the query's leading dimensions, expanded."""
    shape = query.shape[:-2] + value.shape[-2:]
    return value if value.shape == shape else w.expand(value, shape)


@row("aten.scaled_dot_product_attention")
def scaled_dot_product_attention(a, w):
    inputs = [a["query"], *(_with_heads_of(a["query"], a[name], w) if not a.get("enable_gqa") else a[name] for name in ("key", "value"))]
    if a["attn_mask"] is not None:
        inputs.append(w.broadcast(a["attn_mask"]))
    arguments = {name: a[name] for name, default in (("dropout_p", 0.0), ("is_causal", False), ("scale", None), ("enable_gqa", False))
                 if a.get(name, default) != default}
    return w.layer("ScaledDotProductAttention", inputs, **arguments)


_WEIGHTS = {"in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight", "in_proj_bias", "bias_k", "bias_v", "out_proj.weight",
            "out_proj.bias"}


@row("sheaf.multihead_attention")
def multihead_attention(a, w):
    module = w.module()
    inputs = [a["query"], a["key"], a["value"]]
    arguments = {"embed_dim": module.embed_dim, "num_heads": module.num_heads, "dropout": module.dropout,
                 "bias": module.in_proj_bias is not None, "add_bias_kv": module.bias_k is not None, "add_zero_attn": module.add_zero_attn,
                 "batch_first": module.batch_first}
    if not module._qkv_same_embed_dim:
        arguments.update(kdim=module.kdim, vdim=module.vdim)
    for mask in ("attn_mask", "key_padding_mask"):
        if a[mask] is not None and not (mask == "attn_mask" and a["is_causal"]):
            inputs.append(w.broadcast(a[mask]))
            arguments[mask] = True
    if a["is_causal"]:
        arguments["is_causal"] = True
    if a["need_weights"] and not a["average_attn_weights"]:
        raise w.refuse("returns each head's weights", "call the module with average_attn_weights=True or need_weights=False")
    parameters = w.parameters_of(module)
    if not set(parameters) <= _WEIGHTS:
        raise w.refuse("has a weight that is computed", "its weights must be parameters of its module")
    return w.layer("MultiheadAttention", inputs, results=w.shapes(), owner=w.stack[-1][1], parameters=parameters, **arguments)

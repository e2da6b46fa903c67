"""torch.nn.MultiheadAttention as one call in an exported graph.

PyTorch decomposes the module differently for each mode and argument. While a graph is exported, its forward is one
operator, whose arguments record how the module was called."""
import contextlib

import torch
from torch import Tensor


@torch.library.custom_op("sheaf::multihead_attention", mutates_args=())
def multihead_attention(query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None, attn_mask: Tensor | None,
                        need_weights: bool, average_attn_weights: bool, is_causal: bool, num_heads: int,
                        batch_first: bool) -> tuple[Tensor, Tensor]:
    raise NotImplementedError("this operator belongs in graphs and isn't run")


@multihead_attention.register_fake
def _(query, key, value, key_padding_mask, attn_mask, need_weights, average_attn_weights, is_causal, num_heads, batch_first):
    length, source = (0, 0) if query.dim() == 2 else ((1, 1) if batch_first else (0, 0))
    sizes = [] if query.dim() == 2 else [query.shape[0 if batch_first else 1]]
    sizes += [] if average_attn_weights else [num_heads]
    return torch.empty_like(query), query.new_empty([*sizes, query.shape[length], key.shape[source]])


def _forward(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True,
             is_causal=False):
    output, weights = multihead_attention(query, key, value, key_padding_mask, attn_mask, need_weights, average_attn_weights,
                                          is_causal, self.num_heads, self.batch_first)
    return output, weights if need_weights else None


@contextlib.contextmanager
def as_one_call():
    """Inside this context, MultiheadAttention's forward is the operator `sheaf::multihead_attention`."""
    forward, fast_path = torch.nn.MultiheadAttention.forward, torch.backends.mha.get_fastpath_enabled()
    torch.nn.MultiheadAttention.forward = _forward
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.nn.MultiheadAttention.forward = forward
        torch.backends.mha.set_fastpath_enabled(fast_path)

"""Windows that slide over pictures: the padding around them."""


def padding_of(attributes, rank, kernel, strides, dilations, weighted):
    """(both sides' padding, None), or (0, F.pad's argument) if the sides differ or, without weights, if they are wider
    than PyTorch's pools allow."""
    mode = attributes.get("auto_pad", "NOTSET")
    if mode in ("SAME_UPPER", "SAME_LOWER"):
        if any(stride != 1 for stride in strides):
            raise ValueError(f"auto_pad {mode} with a stride depends on the picture's size: write `pads`")
        totals = [d * (k - 1) for k, d in zip(kernel, dilations)]
        begins = [(t + (mode == "SAME_LOWER")) // 2 for t in totals]
        pads = begins + [t - b for t, b in zip(totals, begins)]
    else:
        pads = list(attributes.get("pads") or [0] * 2 * rank)
    begins, ends = pads[:rank], pads[rank:]
    if begins == ends and (weighted or all(2 * pad <= k for pad, k in zip(begins, kernel))):
        return begins, None
    return [0] * rank, [side for begin, end in reversed(list(zip(begins, ends))) for side in (begin, end)]

"""Resizing pictures."""
from torch.nn import functional as F

from .operators import operator, setting


@operator("DepthToSpace")
def depth_to_space(node, x):
    block = node.attributes["blocksize"]
    if node.attributes.get("mode", "DCR") == "CRD":
        return F.pixel_shuffle(x, block)
    n, c, h, w = x.shape
    x = x.reshape(n, block, block, c // block ** 2, h, w).permute(0, 3, 4, 1, 5, 2)
    return x.reshape(n, c // block ** 2, h * block, w * block)


@operator("SpaceToDepth")
def space_to_depth(node, x):
    block = node.attributes["blocksize"]
    if node.attributes.get("mode", "DCR") == "CRD":
        return F.pixel_unshuffle(x, block)
    n, c, h, w = x.shape
    return x.reshape(n, c, h // block, block, w // block, block).permute(0, 3, 5, 1, 2, 4).reshape(n, c * block ** 2, h // block, w // block)


@operator("GridSample")
def grid_sample(node, x, grid):
    mode = node.attributes.get("mode", "linear")
    return F.grid_sample(x, grid, {"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode), node.attributes.get("padding_mode", "zeros"), bool(node.attributes.get("align_corners", 0)))


@operator("AffineGrid", settings=(1,))
def affine_grid(node, theta, size):
    n, channels, *shape = size.numbers
    return F.affine_grid(theta, [theta.shape[0], 1, *shape], bool(node.attributes.get("align_corners", 0)))


@operator("Resize", "Upsample", settings=(1, 2, 3))
def resize(node, *inputs):
    x, a = inputs[0], node.attributes
    new = node.kind == "Resize" and node.opset >= 11
    scales = setting(node, inputs, 2 if new else 1, "scales")
    target = setting(node, inputs, 3, "sizes") if new else None
    rank = x.dim() - 2
    if a.get("axes") and [axis % x.dim() for axis in a["axes"]] == list(range(2, x.dim())):
        scales, target = (value and [1] * 2 + list(value) for value in (scales, target))
    if scales and any(scale != 1 for scale in scales[:2]) or a.get("keep_aspect_ratio_policy", "stretch") != "stretch":
        raise ValueError("resizes rows or channels, or keeps an aspect ratio")
    mode = a.get("mode", "nearest")
    place = a.get("coordinate_transformation_mode", "half_pixel" if new else "asymmetric")
    how = {"size": target[2:]} if target else {"scale_factor": [float(scale) for scale in scales[2:]]}
    made = target[2:] if target else [int(size * scale) for size, scale in zip(x.shape[2:], scales[2:])]
    # Cases in which PyTorch computes coordinates differently: sizes that a scale doesn't make whole, and a single
    # position.
    cut = not target and any(size * scale % 1 for size, scale in zip(x.shape[2:], scales[2:]))
    if a.get("antialias") or mode != "nearest" and (place == "align_corners" and cut or place == "pytorch_half_pixel" and 1 in made):
        raise ValueError("resizes in a way that PyTorch has no name for")
    if mode == "nearest" and place == "asymmetric" and a.get("nearest_mode", "floor" if not new else "round_prefer_floor") == "floor":
        return F.interpolate(x, **how, mode="nearest")
    if mode == "nearest" and scales and all(float(scale).is_integer() for scale in scales) and a.get("nearest_mode", "round_prefer_floor") in \
            ("round_prefer_floor", "round_prefer_ceil") and place in ("half_pixel", "pytorch_half_pixel"):
        return F.interpolate(x, **how, mode="nearest")  # the same by whole factors
    if mode == "linear" and place in ("half_pixel", "pytorch_half_pixel", "align_corners"):
        return F.interpolate(x, **how, mode={1: "linear", 2: "bilinear", 3: "trilinear"}[rank], align_corners=place == "align_corners")
    if mode == "cubic" and place in ("half_pixel", "pytorch_half_pixel", "align_corners") and a.get("cubic_coeff_a", -0.75) == -0.75:
        return F.interpolate(x, **how, mode="bicubic", align_corners=place == "align_corners")
    raise ValueError(f"resizes by mode {mode}, coordinates {place}, which PyTorch has no name for")

"""Imports many models of a library, compiles them and compares their outputs with PyTorch's: what docs/import.md says of "models tried".

    PYTHONPATH=build/python python3 bench/import_models.py torchvision                # one of each family; needs the library
    PYTHONPATH=build/python python3 bench/import_models.py timm --part 1/4 --json timm.json
    PYTHONPATH=build/python python3 bench/import_models.py transformers --only Bert --train

Models have random weights, nothing is downloaded; those of transformers and diffusers have small configurations. Each runs in a process of its
own. A row a model: `right` (outputs within 1e-4 of PyTorch's, relative to the largest, on `cpu` and with unequal rows on `cpu:0-2`), how far off
they are, `refused` with the operation and the line (`refused, unnamed`: without), or what else went wrong; with --train also how far three steps' losses are off.
"""
import argparse
import inspect
import json
import multiprocessing
import resource
import signal
import time
import traceback
from collections import Counter
from pathlib import Path

BATCH = 5  # on three devices: 2, 2 and 1 rows
SMALL = {"hidden_size": 32, "d_model": 32, "n_embd": 32, "dim": 32, "embed_dim": 32, "intermediate_size": 48, "d_ff": 48, "ffn_dim": 48, "n_inner": 48,
         "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "hidden_dim": 48, "num_hidden_layers": 2, "n_layer": 2, "n_layers": 2, "num_layers": 2,
         "encoder_layers": 2, "decoder_layers": 2, "num_attention_heads": 4, "n_head": 4, "n_heads": 4, "num_heads": 4, "num_key_value_heads": 2,
         "encoder_attention_heads": 4, "decoder_attention_heads": 4, "d_kv": 8, "head_dim": 8, "vocab_size": 99, "embedding_size": 16,
         "max_position_embeddings": 64, "n_positions": 64, "image_size": 32, "patch_size": 8, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
         "decoder_start_token_id": 0, "projection_dim": 16, "num_mel_bins": 16}


def torchvision_models():
    """One of each family, and the segmentation models: the smallest of each file by number of parameters."""
    import torchvision

    smallest = {}
    for name in torchvision.models.list_models(module=torchvision.models) + torchvision.models.list_models(module=torchvision.models.segmentation):
        weights = torchvision.models.get_model_weights(name)
        size = min((w.meta["num_params"] for w in weights), default=0)
        family = (torchvision.models.get_model_builder(name).__module__, *(word for word in ("resnext", "wide", "_v2_") if word in name))
        if family not in smallest or size < smallest[family][0]:
            smallest[family] = (size, name)
    return sorted(name for _, name in smallest.values())


def torchvision_model(name):
    import torch
    import torchvision

    model = torchvision.models.get_model(name, weights=None, **({"weights_backbone": None} if "_" in name and hasattr(
        torchvision.models.segmentation, name) else {}), **({"init_weights": True} if name in ("googlenet", "inception_v3") else {}))
    size = 299 if "inception" in name else 224  # of smaller ones batch norms would have few pixels, and training would be chaotic
    return model, (torch.randn(BATCH, 3, size, size),), {}


def timm_models():
    """From each of timm's files of models, the one whose name promises the least."""
    import timm

    words = ("test", "atto", "femto", "pico", "nano", "tiny", "xxs", "xs", "mini", "small", "18", "_s")
    families = {}
    for name in timm.list_models():
        families.setdefault(timm.model_entrypoint(name).__module__, []).append(name)
    return sorted(min(names, key=lambda n: (next((i for i, w in enumerate(words) if w in n), len(words)), len(n))) for names in families.values())


def timm_model(name):
    """With small pictures, where the model takes pictures of any size, or of a size that it is made for."""
    import timm
    import torch

    model = timm.create_model(name, pretrained=False).eval()
    given = model.default_cfg["input_size"]
    sizes = [(given[0], size, size) for size in (64, 96, 128, 160, 224) if size < given[1]]
    if model.default_cfg.get("fixed_input_size"):
        for size in sizes:
            try:
                model = timm.create_model(name, pretrained=False, img_size=size[1:]).eval()
                sizes, given = [], size
                break
            except (RuntimeError, AssertionError, ValueError, TypeError):  # it takes no such size, or no size at all
                continue
    for size in [*sizes, given]:
        x = torch.randn(BATCH, *size)
        try:
            with torch.no_grad():
                model(x)
        except (RuntimeError, AssertionError, ValueError):  # too small for it
            continue
        return model, (x,), {}
    raise ValueError(f"{name} takes no picture of the size that it says")


SMP = ("DPT", "DeepLabV3", "DeepLabV3Plus", "FPN", "Linknet", "MAnet", "PAN", "PSPNet", "Segformer", "UPerNet", "Unet", "UnetPlusPlus")
SMP_ENCODERS = {"DPT": "tu-test_vit"}  # one that isn't a transformer is not for it


def smp_models():
    """Each architecture with a light encoder, and each family of encoders in a U-Net."""
    import segmentation_models_pytorch as smp

    encoders = {}
    for name, encoder in smp.encoders.encoders.items():
        encoders.setdefault(encoder["encoder"].__name__, name)
    return [f"{name}/{SMP_ENCODERS.get(name, 'resnet18')}" for name in SMP] + [f"Unet/{name}" for name in list(encoders.values())[1:]]


def smp_model(name):
    import segmentation_models_pytorch as smp
    import torch

    architecture, encoder = name.split("/")
    model = getattr(smp, architecture)(encoder, encoder_weights=None, classes=3)
    size = {"DPT": 160, "PAN": 128}.get(architecture, 64)
    return model, (torch.randn(BATCH, 3, size, size),), {}


def transformers_models():
    import transformers

    return sorted({config.__name__ for config in transformers.MODEL_MAPPING})


def small_configuration(kind):
    """A transformers configuration of a small model; so are those of its parts, such as the encoder of its pictures."""
    defaults = kind()
    given = defaults.to_dict()
    parts = {name: small_configuration(type(getattr(defaults, name))) for name in kind.sub_configs if getattr(defaults, name, None) is not None}
    small = {key: value for key, value in SMALL.items() if key in given and not isinstance(given[key], (list, tuple, dict))}
    try:
        return kind(**small, **{name: part.to_dict() for name, part in parts.items()})
    except (TypeError, ValueError):  # its parts are made in another way
        return kind(**small)


def transformers_model(name):
    import torch
    import transformers

    kind = getattr(transformers, name)
    config = small_configuration(kind)
    model_class = transformers.MODEL_MAPPING[kind]
    model = (model_class[0] if isinstance(model_class, (list, tuple)) else model_class)(config)
    accepted = inspect.signature(model.forward).parameters
    ids = torch.randint(3, 99, (BATCH, 7))
    inputs = {}
    if model.main_input_name == "pixel_values":
        size = getattr(config, "image_size", 32)
        size = size if isinstance(size, int) else size[0]
        inputs["pixel_values"] = torch.randn(BATCH, getattr(config, "num_channels", 3), size, size)
        if "input_ids" in accepted:
            inputs["input_ids"] = ids
    elif model.main_input_name == "input_values":
        inputs["input_values"] = torch.randn(BATCH, 2000)
    elif model.main_input_name == "input_features":
        inputs["input_features"] = torch.randn(BATCH, 16, 128)
    else:
        inputs["input_ids"] = ids
        if "attention_mask" in accepted:
            inputs["attention_mask"] = (torch.arange(7)[None] < torch.tensor([7, 6, 5, 7, 4])[:, None]).long()
    if "decoder_input_ids" in accepted:
        inputs["decoder_input_ids"] = ids
    if "use_cache" in accepted:
        model.config.use_cache = False
    return model, (), inputs


DIFFUSERS_BLOCKS = {"block_out_channels": (16, 32), "norm_num_groups": 8, "layers_per_block": 1, "sample_size": 16}
DIFFUSERS = {
    "AutoencoderKL": dict(DIFFUSERS_BLOCKS, down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2),
    "UNet2DModel": dict(DIFFUSERS_BLOCKS, down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"),
                        attention_head_dim=8),
    "UNet2DConditionModel": dict(DIFFUSERS_BLOCKS, cross_attention_dim=16, attention_head_dim=4,
                                 down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"), up_block_types=("CrossAttnUpBlock2D", "UpBlock2D")),
    "DiTTransformer2DModel": {"num_attention_heads": 2, "attention_head_dim": 8, "in_channels": 4, "num_layers": 2, "sample_size": 16, "norm_num_groups": 4},
}


def diffusers_models():
    return sorted(DIFFUSERS)


def diffusers_model(name):
    import diffusers
    import torch

    model = getattr(diffusers, name)(**DIFFUSERS[name])
    x = torch.randn(BATCH, model.config.in_channels, 16, 16)
    time_step = torch.full((BATCH,), 10)
    if name == "AutoencoderKL":
        return model, (x,), {}
    if name == "DiTTransformer2DModel":
        return model, (x,), {"timestep": time_step, "class_labels": torch.full((BATCH,), 3)}
    return model, (x, time_step) + ((torch.randn(BATCH, 4, 16),) if name == "UNet2DConditionModel" else ()), {}


LIBRARIES = {"torchvision": (torchvision_models, torchvision_model), "timm": (timm_models, timm_model),
             "transformers": (transformers_models, transformers_model), "diffusers": (diffusers_models, diffusers_model),
             "segmentation_models_pytorch": (smp_models, smp_model)}


def shallow(module):
    """Takes away what follows two equal blocks in a list of blocks and is equal to them: the same operations in fewer layers."""
    import torch

    def looks(block):
        return type(block), repr(block), [(name, tuple(tensor.shape)) for name, tensor in block.state_dict().items()]

    for owner in list(module.modules()):
        if isinstance(owner, (torch.nn.Sequential, torch.nn.ModuleList)) and any(True for _ in owner.parameters()):
            blocks = list(owner)
            for index in reversed(range(2, len(blocks))):
                if looks(blocks[index]) == looks(blocks[index - 1]) == looks(blocks[index - 2]):
                    del owner[index]
    return module


def tensors_of(outputs):
    """The floating-point tensors among a module's outputs, in order."""
    import torch

    if isinstance(outputs, torch.Tensor):
        return [outputs] if outputs.is_floating_point() else []
    values = outputs.values() if hasattr(outputs, "values") else outputs if isinstance(outputs, (list, tuple)) else ()
    return [tensor for value in values for tensor in tensors_of(value)]


def distance(theirs, ours):
    """The largest difference, relative to the largest value; without end if only one of two is a number."""
    import numpy

    def apart(a, b):
        with numpy.errstate(invalid="ignore"):
            differences = numpy.where((a == b) | (numpy.isnan(a) & numpy.isnan(b)), 0, numpy.abs(a - b))
        largest = float(numpy.abs(a[numpy.isfinite(a)]).max(initial=0))
        return float(numpy.nan_to_num(differences, nan=numpy.inf, posinf=numpy.inf).max(initial=0)) / max(largest, 1e-30)

    return max(apart(a, b) for a, b in zip(theirs, ours, strict=True))


def training_distance(module, arguments, keywords, devices):
    """The relative error of the losses of three SGD steps: the mean square of the first output."""
    import sheaf
    import torch

    class WithLoss(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = module

        def forward(self, *args, **kwargs):
            return tensors_of(self.net(*args, **kwargs))[0]

    net = WithLoss().train()
    for layer in net.modules():
        if "Dropout" in type(layer).__name__ or "DropPath" in type(layer).__name__ or "StochasticDepth" in type(layer).__name__:
            layer.eval()
    model = sheaf.from_torch(net, arguments, keywords) if keywords else sheaf.from_torch(net, arguments)
    with torch.no_grad():
        target = torch.zeros_like(net(*arguments, **keywords))
    trainer = sheaf.Model(sheaf.compile(model, loss={"type": "MSELoss"}, optimizer={"type": "SGD", "lr": 1e-3})).trainer(devices, batch=BATCH)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    worst = 0.0
    for _ in range(3):
        ours = trainer.step(*arguments, *keywords.values(), target)
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(net(*arguments, **keywords), target)
        loss.backward()
        optimizer.step()
        worst = max(worst, abs(float(ours) - loss.item()) / max(abs(loss.item()), 1e-30))
    return worst


def varied(module):
    """Gives parameters whose elements are all equal other elements: a zero at the end of a branch would hide what the branch computes."""
    import torch

    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.numel() > 1 and parameter.is_floating_point() and (parameter == parameter.flatten()[0]).all():
                parameter += 0.1 * torch.randn_like(parameter)
    return module


def made(library, name, reduced):
    """(module, arguments, keywords) with random weights, in evaluation mode; `reduced` without repeated blocks, if it runs so."""
    import torch

    torch.manual_seed(0)
    module, arguments, keywords = LIBRARIES[library][1](name)
    varied(module)
    if not reduced:
        return module.eval(), arguments, keywords
    try:
        with torch.no_grad():
            shallow(module.eval())(*arguments, **keywords)
        return module, arguments, keywords
    except (RuntimeError, IndexError, ValueError, TypeError, AttributeError):  # its code counts the blocks
        return made(library, name, False)


def tried(library, name, train, reduced):
    """The result for one model: {"name", "outcome", …}."""
    import sheaf
    import torch

    torch.set_num_threads(1)
    module, arguments, keywords = made(library, name, reduced)
    with torch.no_grad():
        theirs = [t.numpy() for t in tensors_of(module(*arguments, **keywords))]
    row = {"name": name, "parameters": sum(p.numel() for p in module.parameters())}
    model = None
    try:
        model = sheaf.from_torch(module, arguments, keywords) if keywords else sheaf.from_torch(module, arguments)
        compiled = sheaf.Model(sheaf.compile(model))
        worst = 0.0
        for devices in ("cpu", "cpu:0-2"):
            outputs = compiled.bind(devices, batch=BATCH).run(*[*arguments, *keywords.values()])
            ours = tensors_of({k: torch.as_tensor(v) for k, v in outputs.items()} if hasattr(outputs, "items") else
                              [torch.as_tensor(v) for v in (outputs if isinstance(outputs, (list, tuple)) else [outputs])])
            worst = max(worst, distance(theirs, [t.numpy() for t in ours]))
        row |= {"outcome": "right" if worst <= 1e-4 else "off", "off_by": worst}
        if train:
            row["loss_off_by"] = training_distance(module, arguments, keywords, "cpu:0-1")
    except sheaf.Error as error:
        named = model is None and all(d.file and d.line and "'" in d.message for d in error.diagnostics)
        row |= {"outcome": "refused" if named else "refused, unnamed", "why": str(error)[:1500]}
    return row


def tried_apart(library, name, options):
    """tried() in a process of its own, which may crash or take too long. It begins with what load() loads."""
    begin = time.monotonic()
    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=send_tried, args=(sender, library, name, options))
    process.start()
    sender.close()
    try:
        row = receiver.recv()
        process.join()
    except EOFError:
        process.join()
        how = signal.Signals(-process.exitcode).name if process.exitcode < 0 else f"exit {process.exitcode}"
        row = {"name": name, "outcome": "too long"} if how == "SIGXCPU" else {"name": name, "outcome": "crashed", "why": how}
    return row | {"seconds": round(time.monotonic() - begin, 1)}


def load(library):
    """Loads in this process what each model's needs: most of a small model's time."""
    import sheaf
    import torch

    torch.set_num_threads(1)
    __import__(library)
    sheaf.from_torch(torch.nn.Sequential(torch.nn.Conv2d(1, 1, 1), torch.nn.BatchNorm2d(1), torch.nn.Flatten()), torch.randn(2, 1, 2, 2))


def send_tried(sender, library, name, options):
    resource.setrlimit(resource.RLIMIT_CPU, (options.seconds, options.seconds + 1))
    try:
        row = tried(library, name, options.train, options.shallow)
    except Exception as problem:  # sheaf's own errors are rows; any other is a defect of the import, or the library's
        place = traceback.extract_tb(problem.__traceback__)[-1]
        row = {"name": name, "outcome": "failed", "why": f"{type(problem).__name__}: {problem}"[:600], "at": f"{place.filename}:{place.lineno}"}
    sender.send(row)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", choices=LIBRARIES)
    parser.add_argument("--only", default="", help="models whose name has this in it")
    parser.add_argument("--part", default="1/1", help="2/4: the second quarter of the models")
    parser.add_argument("--train", action="store_true", help="also three SGD steps")
    parser.add_argument("--shallow", action="store_true", help="of equal blocks in a row only two: much less time")
    parser.add_argument("--seconds", type=int, default=300, help="of processor time for a model (300)")
    parser.add_argument("--json", type=Path, help="a file for the rows")
    options = parser.parse_args()
    part, parts = map(int, options.part.split("/"))
    names = [name for name in LIBRARIES[options.library][0]() if options.only in name][part - 1::parts]
    rows = []
    load(options.library)
    for name in names:
        rows.append(tried_apart(options.library, name, options))
        row = rows[-1]
        figures = "".join(f" {key} {row[key]:.1e}" for key in ("off_by", "loss_off_by") if key in row)
        print(f"{row['outcome']:9} {name}{figures} {row.get('why', '').splitlines()[0] if row.get('why') else ''}", flush=True)
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    print(", ".join(f"{count} {outcome}" for outcome, count in Counter(row["outcome"] for row in rows).most_common()))


if __name__ == "__main__":
    main()

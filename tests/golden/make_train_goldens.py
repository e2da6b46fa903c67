"""Makes the golden files of training from PyTorch: tests/golden/train/NAME.json and NAME.safetensors.

    python make_train_goldens.py [NAME...]        (needs torch; the files are checked in, so the tests don't)

NAME.safetensors holds, for each number of replicas N that makes a difference, `N/loss` (one value a step) and every
parameter and buffer after three steps as `N/NAME`. Its metadata says how initial weights, inputs and targets are
drawn, the batch size, the tolerance, and which device lists have which N. PyTorch computes in double precision, so
that the rounding of its own sums is not in the way.
"""
import json
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import torch
from torch import amp, nn

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cli"))
import elementwise_train_cases, tensor_train_cases  # noqa: F401  (add their cases to those of train_cases)
import train_cases
from golden_files import CODES, NAMES, from_torch, input_range, precise, pretty, to_torch, walk, weight_range
from tensors import drawn, write_safetensors
from torch_reference import Model, Parallel

# Parameters that the loss does not reach: they must keep their bits.
WITHOUT_GRADIENT = {"frozen": {"net.module.0.weight", "net.module.0.bias", "net.module.2.0.weight", "net.module.2.0.bias", "offset"},
                    "several_inputs_and_outputs": {"net.module.unused.weight", "net.module.unused.bias"}, "attention_cross": {"net.out_proj.weight"}}
# Here functions are saturated, and gradients of almost nothing are right.
SATURATED = {"activations_far", "element_activations_far"}


def in_group(group, module, name):
    """Whether a parameter is one of a group's: by its name or its layer's, a pattern, or the layer's type."""
    owner = type(module.get_submodule(name.rpartition(".")[0])).__name__
    patterns = group.get("parameters", [])
    return owner in group.get("types", []) or any(fnmatchcase(name, p) or fnmatchcase(name, p + ".*") for p in patterns)


def optimizer_of(training, module):
    arguments = dict(training["optimizer"])
    kind = getattr(torch.optim, arguments.pop("type"))
    if "betas" in arguments:
        arguments["betas"] = tuple(arguments["betas"])
    groups = [{**group, "params": []} for group in (*arguments.pop("parameter_groups", []), {})]
    for name, parameter in module.named_parameters():
        next((g for g in groups[:-1] if in_group(g, module, name)), groups[-1])["params"].append(parameter)
    own = ("params", "lr", "weight_decay")
    return kind([{key: g[key] for key in own if key in g} for g in groups if g["params"]], **arguments)


def schedule_of(training, optimizer):
    arguments = dict(training.get("schedule") or {"type": "StepLR", "step_size": 1, "gamma": 1.0})
    return getattr(torch.optim.lr_scheduler, arguments.pop("type"))(optimizer, **arguments)


def criterion_of(training, **changed):
    arguments = {**training["loss"], **changed}
    arguments.pop("inputs", None)
    for name in ("weight", "pos_weight"):
        if arguments.get(name) is not None:
            arguments[name] = torch.tensor(arguments[name], dtype=torch.float64)
    return getattr(nn, arguments.pop("type"))(**arguments)


def divisor_of(training, target):
    """What PyTorch's mean over these targets divides by."""
    loss = training["loss"]
    if loss.get("reduction") == "sum":
        return 1
    if loss.get("reduction") == "batchmean":
        return target.shape[0]
    if loss["type"] not in ("CrossEntropyLoss", "NLLLoss"):
        return target.numel()
    if target.is_floating_point():
        return target.numel() / target.shape[1]
    counted = target[target != loss.get("ignore_index", -100)]
    return torch.tensor(loss["weight"], dtype=torch.float64)[counted].sum() if loss.get("weight") else counted.numel()


def batch_loss(case, module, rows, scaler):
    """The loss of a batch, its gradients added up: in one, or in micro-batches whose sums are divided by what the whole
    batch's would be."""
    spec, training = case.spec, case.spec["training"]

    def loss_of(criterion, part):
        result = module(*[part[key] for key in spec["inputs"]])
        names = training["loss"].get("inputs")
        if not names and training["loss"]["type"] == "CTCLoss":
            lengths = part["labels"].long()
            value = criterion(result, part["y"], part["steps"], lengths)
            if case.micro_batches:  # each row's loss is divided by its length, as for a mean
                every = nn.CTCLoss(training["loss"].get("blank", 0), "none", training["loss"].get("zero_infinity", False))
                value = (every(result, part["y"], part["steps"], lengths) / lengths.clamp_min(1)).sum()
            return value
        if not names:
            return criterion(result, part["y"])
        outputs = dict(zip(spec["outputs"], result)) if isinstance(result, tuple) else {names[0]: result}
        return criterion(*[outputs[name] if name in outputs else part[name] for name in names])

    if not case.micro_batches:
        loss = loss_of(criterion_of(training), {key: values for key, (_, values) in rows.items()})
        scaler.scale(loss).backward()
        return loss.detach()
    total, divisor = 0, case.divisor or divisor_of(training, rows["y"][1])
    cut = {key: torch.chunk(values, case.micro_batches, axis) for key, (axis, values) in rows.items()}
    for i in range(len(cut[next(iter(cut))])):
        loss = loss_of(criterion_of(training, reduction="sum"), {key: parts[i] for key, parts in cut.items()}) / divisor
        scaler.scale(loss).backward()
        total += loss.detach()
    return total


def scaler_of(training):
    """Without a scale one that does nothing; a number is a scale that stays."""
    scale = training.get("loss_scale")
    if not isinstance(scale, dict):
        return amp.GradScaler("cpu", init_scale=scale or 1.0, growth_interval=10**6, enabled=scale is not None)
    return amp.GradScaler("cpu", **scale)


def trained(case, replicas, weights, data):
    """loss and state after the case's steps of DataParallel training with that many replicas. Where the loss is scaled, all is float32,
    whose range gradients go beyond; and which they do is told."""
    spec, training = case.spec, case.spec["training"]
    Parallel.replicas = replicas
    scales = "loss_scale" in training
    module = (Model(spec).float() if scales else Model(spec).double()).train()
    if scales:
        data = {name: (axis, values.float() if values.is_floating_point() else values) for name, (axis, values) in data.items()}
    with torch.no_grad():
        for name, tensor in module.state_dict().items():
            tensor.copy_(weights[name])
    optimizer = optimizer_of(training, module)
    schedule = schedule_of(training, optimizer)
    scaler = scaler_of(training)
    losses, steps = [], 0
    begin = 0
    for _ in range(case.steps):
        count = min(case.batch, case.rows - begin)
        optimizer.zero_grad()
        loss = batch_loss(case, module, {name: (axis, values.narrow(axis, begin, count)) for name, (axis, values) in data.items()}, scaler)
        scaler.unscale_(optimizer)
        if "clip_grad_norm" in training:
            nn.utils.clip_grad_norm_(module.parameters(), training["clip_grad_norm"])
        taken = scaler._per_optimizer_states[id(optimizer)]["found_inf_per_device"] if scales else {}
        steps += not any(found.item() for found in taken.values())
        scaler.step(optimizer)
        scaler.update()
        begin += count
        if begin == case.rows:
            begin = 0
            schedule.step()
        losses.append(loss)
    states = {"loss_scale.steps": steps} if scales else {}
    if isinstance(training.get("loss_scale"), dict):
        states.update({"loss_scale.scale": scaler.get_scale(), "loss_scale.growth_tracker": scaler._get_growth_tracker()})
        assert 1 < steps < case.steps, f"{case.name}: {steps} steps of {case.steps} are done"
    return {"loss": torch.stack(losses), **{name: torch.tensor(float(value)) for name, value in states.items()}, **{name: tensor.clone() for name, tensor in module.state_dict().items()}}


def make(case):
    spec = case.spec
    (HERE / "train" / f"{case.name}.json").write_text(pretty(spec) + "\n")
    recipe = {"batch": case.batch, **({"micro_batches": case.micro_batches} if case.micro_batches else {}), "steps": case.steps, "tolerance": case.tolerance, **({"scales": True} if "loss_scale" in spec["training"] else {}), "devices": {}, "weights": {}, "data": {}}
    module = Model(spec)
    owners = {p.data_ptr(): n for n, p in module.named_parameters()}
    weights, data = {}, {}
    for name, tensor in module.state_dict().items():
        low, high = weight_range(name, tensor)
        seed = owners.get(tensor.data_ptr(), name)
        recipe["weights"][name] = {"seed": seed, "shape": list(tensor.shape), "low": low, "high": high, "dtype": NAMES[tensor.dtype]}
        weights[name] = precise(to_torch(drawn(seed, tensor.shape, low, high, NAMES[tensor.dtype])))
    for name, declared in {**spec["inputs"], **spec["training"].get("targets", {})}.items():
        shape = [case.rows if d == "batch" else d for d in declared["shape"]]
        low, high = case.targets.get(name) or input_range(name, declared, spec)
        dtype = CODES[declared.get("dtype", "float32")]
        recipe["data"][name] = {"seed": name, "shape": shape, "low": low, "high": high, "dtype": dtype}
        data[name] = (declared["shape"].index("batch"), precise(to_torch(drawn(name, shape, low, high, dtype))))
    # The split shows in batch norm alone; everywhere else all device lists have one expectation.
    split_shows = any(isinstance(v, dict) and str(v.get("type")).startswith("BatchNorm") for v in walk(spec))
    expected = {}
    for devices, replicas in case.devices.items():
        recipe["devices"][devices] = replicas = replicas if split_shows else 1
        for name, tensor in trained(case, replicas, weights, data).items():
            expected[f"{replicas}/{name}"] = from_torch(tensor)
            if name in weights and name in dict(module.named_parameters()):
                moved = (tensor - weights[name]).abs().max() / weights[name].abs().max()
                still = name in WITHOUT_GRADIENT.get(case.name, ())
                assert (moved == 0) == still and (still or case.name in SATURATED or moved > 1e-3), f"{case.name}: {name} moves by {moved:.1e}: too little to test"
            assert tensor.isfinite().all(), f"{case.name}: {name} is not finite"
    losses = [abs(v) for v in expected[f"{next(iter(recipe['devices'].values()))}/loss"].data]
    assert max(losses) > 1e-2, f"{case.name}: a loss of almost nothing"
    write_safetensors(HERE / "train" / f"{case.name}.safetensors", expected, {"recipe": json.dumps(recipe)})


def main():
    torch.set_num_threads(1)
    (HERE / "train").mkdir(exist_ok=True)
    wanted = sys.argv[1:]
    for old in (HERE / "train").iterdir() if not wanted else ():
        old.unlink()
    for case in train_cases.CASES:
        if not wanted or case.name in wanted:
            make(case)
    files = list((HERE / "train").iterdir())
    print(f"{len(train_cases.CASES)} cases, {sum(f.stat().st_size for f in files) / 1024:.0f} KiB")


main()

"""One of several processes that train the same network with PyTorch's own data parallelism; test_distributed.py starts them.

    python peers.py FOLDER RANK SIZE

Reads net.pt (the module), x.npy and label.npy; rank 0 writes KIND-OPTIMIZER.npz for each kind and optimizer: state and losses."""
import copy
import os
import sys

import numpy
import torch
from torch import distributed, nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

# With a larger eps than the default, Adam makes no whole steps from gradients that are hardly more than rounding.
OPTIMIZERS = {"sgd": (torch.optim.SGD, {"lr": 0.05, "momentum": 0.9}), "adam": (torch.optim.Adam, {"lr": 0.01, "eps": 1e-5})}
KINDS = {"replicated": DistributedDataParallel, "sharded": DistributedDataParallel, "fully_sharded": fully_shard}
STEPS = 5


def whole(value):
    return value.full_tensor() if hasattr(value, "full_tensor") else value


def trained(kind, optimizer, module, batches, rank, size):
    # Statistics are each replica's own; the first one's are kept, as with DataParallel.
    wrapped = KINDS[kind](module, broadcast_buffers=False) if kind != "fully_sharded" else fully_shard(module)
    make, settings = OPTIMIZERS[optimizer]
    if kind == "sharded":
        steps = ZeroRedundancyOptimizer(wrapped.parameters(), optimizer_class=make, **settings)
    else:
        steps = make(wrapped.parameters(), **settings)
    losses = []
    for x, label in batches:
        steps.zero_grad()
        loss = nn.functional.cross_entropy(wrapped(x.chunk(size)[rank]), label.chunk(size)[rank])
        loss.backward()
        steps.step()
        mean = loss.detach() / size
        distributed.all_reduce(mean)
        losses.append(mean.item())
    state = {name.removeprefix("module."): whole(value).numpy() for name, value in wrapped.state_dict().items()}
    return state, losses


def main(folder, rank, size):
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method=f"file://{folder}/rendezvous", rank=rank, world_size=size)
    module = torch.load(f"{folder}/net.pt", weights_only=False)
    x, label = (torch.from_numpy(numpy.load(f"{folder}/{name}.npy")) for name in ("input", "label"))
    batches = list(zip(x.chunk(STEPS), label.chunk(STEPS)))
    for kind in KINDS:
        for optimizer in OPTIMIZERS:
            state, losses = trained(kind, optimizer, copy.deepcopy(module), batches, rank, size)
            if rank == 0:
                numpy.savez(f"{folder}/{kind}-{optimizer}.npz", losses=losses, **state)
    distributed.destroy_process_group()


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))

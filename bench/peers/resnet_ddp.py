"""Peer: a training step of ResNet-18 under PyTorch's DistributedDataParallel, gloo between processes of one thread each.

    resnet_ddp.py [--processes 2] [--batch 256] [--steps 6]

`--batch` is of all processes together, as sheaf's is. It prints each step's seconds, of rank 0, but the first's. Needs: torch.
"""
import argparse
import os
import time

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from resnet_torch import resnet18


def rank_main(rank, arguments):
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", rank=rank, world_size=arguments.processes)
    torch.manual_seed(0)
    net, shape, classes = resnet18()
    rows = arguments.batch // arguments.processes
    x = torch.randn(rows, *shape).to(memory_format=torch.channels_last)
    y = torch.randint(0, classes, (rows,))
    net = DistributedDataParallel(net.train().to(memory_format=torch.channels_last))
    criterion, optimizer = nn.CrossEntropyLoss(), torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(arguments.steps):
        torch.distributed.barrier()
        begin = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        criterion(net(x), y).backward()
        optimizer.step()
        if rank == 0 and step > 0:
            print(time.perf_counter() - begin, flush=True)
    torch.distributed.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--steps", type=int, default=6)
    arguments = parser.parse_args()
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=os.environ.get("MASTER_PORT", "29517"))
    torch.multiprocessing.spawn(rank_main, (arguments,), arguments.processes)


if __name__ == "__main__":
    main()

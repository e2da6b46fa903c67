#!/usr/bin/env python3
"""DCGAN: a generator and a discriminator, each with an optimizer of its own, learn from a folder of pictures to draw such pictures.

    dcgan.py FOLDER [--size 64] [--channels 64] [--latent 100] [--batch-size 64] [--epochs 25] [--devices cpu:0,cpu:1] [--seed 0]
             [--output made.png] [--pytorch]                          needs PyTorch and torchvision

--pytorch takes torch.nn.DataParallel instead of sheaf.nn.DataParallel, and nothing else changes.
"""
import argparse
import time

import torch
from torch import nn
from torch.nn import functional as F
from torchvision import datasets, transforms, utils

import sheaf


def generator(size, latent, channels):
    """Noise [N, latent, 1, 1] to pictures [N, 3, size, size] of -1 to 1; `size` is 8, 16, 32, …"""
    width = channels * size // 8
    layers = [nn.ConvTranspose2d(latent, width, 4, 1, 0, bias=False), nn.BatchNorm2d(width), nn.ReLU(True)]
    while width > channels:
        layers += [nn.ConvTranspose2d(width, width // 2, 4, 2, 1, bias=False), nn.BatchNorm2d(width // 2), nn.ReLU(True)]
        width //= 2
    return nn.Sequential(*layers, nn.ConvTranspose2d(width, 3, 4, 2, 1, bias=False), nn.Tanh())


def discriminator(size, channels):
    """Pictures to the probability [N, 1, 1, 1] that they are real."""
    width = channels
    layers = [nn.Conv2d(3, width, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True)]
    while width < channels * size // 8:
        layers += [nn.Conv2d(width, 2 * width, 4, 2, 1, bias=False), nn.BatchNorm2d(2 * width), nn.LeakyReLU(0.2, inplace=True)]
        width *= 2
    return nn.Sequential(*layers, nn.Conv2d(width, 1, 4, 1, 0, bias=False), nn.Sigmoid())


def drawn(module):
    """DCGAN's initial weights."""
    if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d)):
        nn.init.normal_(module.weight, 0.0, 0.02)
    elif isinstance(module, nn.BatchNorm2d):
        nn.init.normal_(module.weight, 1.0, 0.02)


def distance(real, made):
    """The Fréchet distance of two sets of pictures, shrunk to 4 x 4: of the normal distributions with their means and covariances."""
    features = [F.adaptive_avg_pool2d(pictures, 4).flatten(1).double() for pictures in (real, made)]
    means, covariances = zip(*[(x.mean(0), torch.cov(x.T)) for x in features])
    roots = torch.linalg.eigvals(covariances[0] @ covariances[1]).real.clamp(min=0).sqrt().sum()
    return ((means[0] - means[1]).square().sum() + covariances[0].trace() + covariances[1].trace() - 2 * roots).item()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    for option, default in (("--size", 64), ("--channels", 64), ("--latent", 100), ("--batch-size", 64), ("--epochs", 25), ("--seed", 0)):
        parser.add_argument(option, type=int, default=default)
    parser.add_argument("--devices", default="cpu:0,cpu:1")
    parser.add_argument("--output", default="made.png")
    parser.add_argument("--pytorch", action="store_true")
    given = parser.parse_args()

    torch.manual_seed(given.seed)
    to_tensor = transforms.Compose([transforms.Resize(given.size), transforms.CenterCrop(given.size), transforms.ToTensor(), transforms.Normalize(0.5, 0.5)])
    pictures = torch.stack([picture for picture, _ in datasets.ImageFolder(given.folder, to_tensor)])
    nets = [generator(given.size, given.latent, given.channels), discriminator(given.size, given.channels)]
    for net in nets:
        net.apply(drawn)
    net_g, net_d = (nn.DataParallel(net) if given.pytorch else sheaf.nn.DataParallel(net, devices=given.devices) for net in nets)
    optimizer_g, optimizer_d = (torch.optim.Adam(net.parameters(), lr=2e-4, betas=(0.5, 0.999)) for net in (net_g, net_d))
    fixed_noise = torch.randn(min(len(pictures), 500), given.latent, 1, 1)

    for epoch in range(given.epochs):
        begin, losses = time.perf_counter(), []
        for rows in torch.randperm(len(pictures)).split(given.batch_size):
            # The discriminator: real pictures are 1, generated ones 0.
            optimizer_d.zero_grad()
            output = net_d(pictures[rows]).flatten()
            loss_real = F.binary_cross_entropy(output, torch.ones(len(rows)))
            loss_real.backward()
            made = net_g(torch.randn(len(rows), given.latent, 1, 1))
            output = net_d(made.detach()).flatten()
            loss_made = F.binary_cross_entropy(output, torch.zeros(len(rows)))
            loss_made.backward()
            optimizer_d.step()
            # The generator: its pictures should be taken for real ones.
            optimizer_g.zero_grad()
            output = net_d(made).flatten()
            loss_g = F.binary_cross_entropy(output, torch.ones(len(rows)))
            loss_g.backward()
            optimizer_g.step()
            losses.append((loss_real.item() + loss_made.item(), loss_g.item()))
        seconds = time.perf_counter() - begin
        net_g.eval()
        with torch.no_grad():
            shown = torch.cat([net_g(noise) for noise in fixed_noise.split(given.batch_size)])
        net_g.train()
        loss_d, loss_g = (sum(column) / len(losses) for column in zip(*losses))
        print(f"epoch {epoch + 1}/{given.epochs}  loss of D {loss_d:.3f}  loss of G {loss_g:.3f}  distance {distance(pictures, shown):.3f}  {seconds:.0f} s", flush=True)
    utils.save_image(shown[:64], given.output, normalize=True, value_range=(-1, 1))


if __name__ == "__main__":
    main()

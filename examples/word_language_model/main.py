#!/usr/bin/env python3
"""A word language model: embedding, two layers of LSTM or GRU, decoder. The hidden state is carried over from step to step.

    main.py FOLDER [--model LSTM|GRU] [--size 200] [--tied] [--batch-size 20] [--bptt 35] [--epochs 6] [--lr 20] [--dropout 0.2]
            [--devices cpu:0,cpu:1] [--seed 1111] [--generate 40] [--pytorch]        needs PyTorch

FOLDER is what make_text.py made. --pytorch takes torch.nn.DataParallel instead of sheaf.nn.DataParallel, and nothing else changes.
"""
import argparse
import math
import time
from pathlib import Path

import numpy
import torch
from torch import nn
from torch.nn import functional as F

import sheaf

CLIP = 0.25


class RNNModel(nn.Module):
    def __init__(self, kind, words, size, layers, dropout, tied):
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(words, size)
        self.rnn = getattr(nn, kind)(size, size, layers, dropout=dropout)
        self.decoder = nn.Linear(size, words)
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.uniform_(self.decoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)
        if tied:
            self.decoder.weight = self.encoder.weight

    def forward(self, tokens, hidden):
        """Tokens [T, N] and the hidden state [layers, N, size] (LSTM: a pair of them) to scores [T, N, words] and the next hidden state."""
        output, hidden = self.rnn(self.drop(self.encoder(tokens)), hidden)
        return self.decoder(self.drop(output)), hidden

    def start(self, rows):
        zeros = torch.zeros(self.rnn.num_layers, rows, self.rnn.hidden_size)
        return (zeros, zeros.clone()) if isinstance(self.rnn, nn.LSTM) else zeros


def detached(hidden):
    """The hidden state without its history: a step's backward pass ends where the step began."""
    return tuple(map(detached, hidden)) if isinstance(hidden, tuple) else hidden.detach()


def columns(path, rows):
    """The text in `rows` pieces, one per column: [length, rows]."""
    tokens = torch.from_numpy(numpy.load(path))
    length = len(tokens) // rows
    return tokens[:length * rows].view(rows, length).T.contiguous()


def batches(source, bptt):
    """Tokens and their successors, `bptt` steps at a time."""
    for begin in range(0, len(source) - bptt, bptt):
        yield source[begin:begin + bptt], source[begin + 1:begin + 1 + bptt]


def loss_of(scores, following):
    return F.cross_entropy(scores.flatten(0, 1), following.flatten())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", choices=("LSTM", "GRU"), default="LSTM")
    for option, default in (("--size", 200), ("--batch-size", 20), ("--bptt", 35), ("--epochs", 6), ("--seed", 1111), ("--generate", 40)):
        parser.add_argument(option, type=int, default=default)
    parser.add_argument("--lr", type=float, default=20)
    parser.add_argument("--dropout", type=float, default=0.2)
    parser.add_argument("--tied", action="store_true")
    parser.add_argument("--devices", default="cpu:0,cpu:1")
    parser.add_argument("--pytorch", action="store_true")
    given = parser.parse_args()

    torch.manual_seed(given.seed)
    words = (given.folder / "words.txt").read_text(encoding="utf-8").splitlines()
    train, valid = (columns(given.folder / f"{name}.npy", given.batch_size) for name in ("train", "valid"))
    net = RNNModel(given.model, len(words), given.size, 2, given.dropout, given.tied)
    # Rows are dimension 1 of tokens, hidden states and scores alike.
    model = nn.DataParallel(net, dim=1) if given.pytorch else sheaf.nn.DataParallel(net, dim=1, devices=given.devices)

    def evaluate():
        model.eval()
        hidden, losses = net.start(given.batch_size), []
        with torch.no_grad():
            for tokens, following in batches(valid, given.bptt):
                scores, hidden = model(tokens, hidden)
                losses.append(loss_of(scores, following).item())
        model.train()
        return sum(losses) / len(losses)

    rate, best = given.lr, math.inf
    for epoch in range(1, given.epochs + 1):
        hidden, losses, begin = net.start(given.batch_size), [], time.perf_counter()
        for tokens, following in batches(train, given.bptt):
            scores, hidden = model(tokens, detached(hidden))
            loss = loss_of(scores, following)
            model.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), CLIP)
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter -= rate * parameter.grad
            losses.append(loss.item())
        seconds, found = time.perf_counter() - begin, evaluate()
        print(f"epoch {epoch}/{given.epochs}  train perplexity {math.exp(sum(losses) / len(losses)):.1f}  valid perplexity {math.exp(found):.1f}  "
              f"{seconds:.0f} s", flush=True)
        if found > best:  # no better than before: smaller steps
            rate /= 4
        best = min(best, found)

    if given.generate:
        model.eval()
        hidden, token, text = net.start(1), torch.zeros(1, 1, dtype=torch.int64), []
        with torch.no_grad():
            for _ in range(given.generate):
                scores, hidden = model(token, hidden)
                scores[0, 0, 0] = -math.inf  # no <unk>
                token = torch.multinomial(F.softmax(scores[0], dim=1), 1)
                text.append(words[token.item()])
        print(" ".join(text))


if __name__ == "__main__":
    main()

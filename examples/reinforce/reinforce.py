#!/usr/bin/env python3
"""REINFORCE on CartPole: a policy network learns to balance a pole, from rewards alone.

    reinforce.py [--devices cpu:0] [--episodes 1000] [--gamma 0.99] [--dropout 0.6] [--seed 543] [--pytorch]
                                                             needs PyTorch and gymnasium

ends when the running mean of the rewards passes what the task counts as solved. --pytorch takes torch.nn.DataParallel instead of
sheaf.nn.DataParallel, and nothing else changes.
"""
import argparse
import time

import gymnasium
import torch
from torch import nn
from torch.distributions import Categorical

import sheaf


class Policy(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        self.affine1 = nn.Linear(4, 128)
        self.dropout = nn.Dropout(p=dropout)
        self.affine2 = nn.Linear(128, 2)

    def forward(self, state):
        hidden = torch.relu(self.dropout(self.affine1(state)))
        return torch.softmax(self.affine2(hidden), dim=1)


def returns(rewards, gamma):
    """The rewards that followed each step, discounted, in units of their standard deviation."""
    following, total = [], 0.0
    for reward in reversed(rewards):
        total = reward + gamma * total
        following.append(total)
    values = torch.tensor(following[::-1])
    return (values - values.mean()) / (values.std() + torch.finfo().eps)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", default="cpu:0")
    parser.add_argument("--episodes", type=int, default=1000)
    parser.add_argument("--gamma", type=float, default=0.99)
    parser.add_argument("--dropout", type=float, default=0.6)
    parser.add_argument("--seed", type=int, default=543)
    parser.add_argument("--pytorch", action="store_true")
    given = parser.parse_args()

    torch.manual_seed(given.seed)
    environment = gymnasium.make("CartPole-v1")
    policy = Policy(given.dropout)
    policy = nn.DataParallel(policy) if given.pytorch else sheaf.nn.DataParallel(policy, devices=given.devices)
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    running, begin, steps = 10.0, time.perf_counter(), 0
    for episode in range(1, given.episodes + 1):
        state, _ = environment.reset(seed=given.seed + episode)
        log_probabilities, rewards, over = [], [], False
        while not over:
            choice = Categorical(policy(torch.from_numpy(state).unsqueeze(0)))
            action = choice.sample()
            log_probabilities.append(choice.log_prob(action))
            state, reward, terminated, truncated, _ = environment.step(action.item())
            rewards.append(reward)
            over = terminated or truncated
        loss = -(torch.cat(log_probabilities) * returns(rewards, given.gamma)).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

        steps += len(rewards)
        running = 0.05 * sum(rewards) + 0.95 * running
        solved = running > environment.spec.reward_threshold
        if episode % 10 == 0 or solved:
            print(f"episode {episode}  reward {sum(rewards):.0f}  running reward {running:.2f}  {steps / (time.perf_counter() - begin):.0f} steps/s", flush=True)
        if solved:
            print(f"solved after {episode} episodes")
            break


if __name__ == "__main__":
    main()

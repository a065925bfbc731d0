"""Muon (Keller Jordan, 2024): momentum whose matrices are made nearly orthogonal before each
step."""

import torch


def orthogonal(matrices, rounds=5):
    """The orthogonal factor of each matrix of a batch, roughly, by Newton and Schulz' iteration."""
    a, b, c = 3.4445, -4.7750, 2.0315
    tall = matrices.shape[-2] > matrices.shape[-1]
    x = matrices.mT if tall else matrices
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(rounds):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.mT if tall else x


class Muon(torch.optim.Optimizer):
    """For the projections inside the blocks. Queries, keys and values lie side by side: each is a
    matrix of its own."""

    def __init__(self, parameters, lr, momentum=0.95, weight_decay=0.01):
        super().__init__(parameters, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            rate, decay = group["lr"], group["weight_decay"]
            shapes = {}  # matrices of one shape are multiplied together
            for p in group["params"]:
                mean = self.state[p].setdefault("mean", torch.zeros_like(p))
                mean.mul_(group["momentum"]).add_(p.grad)
                update = p.grad + group["momentum"] * mean
                p.mul_(1 - rate * decay)
                rows, columns = p.shape
                for part in range(3 if columns == 3 * rows else 1):
                    width = min(columns, rows) if columns == 3 * rows else columns
                    cut = slice(part * width, (part + 1) * width)
                    shapes.setdefault((rows, width), []).append((p[:, cut], update[:, cut]))
            for (rows, columns), pairs in shapes.items():
                updates = orthogonal(
                    torch.stack([update for _, update in pairs]).bfloat16()
                ).float()
                for (part, _), update in zip(pairs, updates):
                    part.add_(update, alpha=-rate * max(1.0, columns / rows) ** 0.5)

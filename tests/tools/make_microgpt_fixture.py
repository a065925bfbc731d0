#!/usr/bin/env python3
"""Makes tests/fixtures/microgpt: a tiny microgpt of random weights as the JSON that people save, and what it computes, in float64 by
torch: tensors, heads first, and gradients of the difference of two logits after the last position.

    make_microgpt_fixture.py            run in the repository root; needs numpy and torch
"""

import json
import pathlib

import numpy as np
import torch

from model_directory import write_archive

FOLDER = pathlib.Path("tests/fixtures/microgpt")
LETTERS, IDS, TARGET, FOIL = "abcdefg", [7, 4, 6, 6, 0], 3, 1
N_HEAD, D, N_LAYER, N_CTX = 2, 6, 2, 7


def draw_weights():
    random = np.random.default_rng(73)
    shapes = {"wte": (len(LETTERS) + 1, D), "wpe": (N_CTX, D), "lm_head": (len(LETTERS) + 1, D)}
    for i in range(N_LAYER):
        shapes |= {f"layer{i}.attn_w{x}": (D, D) for x in "qkvo"} | {f"layer{i}.mlp_fc1": (4 * D, D), f"layer{i}.mlp_fc2": (D, 4 * D)}
    return {name: random.normal(0, 0.6, shape).round(4) for name, shape in shapes.items()}


class Microgpt:
    """The equations, one a line; KEPT has the tensors by their names in attn-cli's archives."""

    def __init__(self, weights):
        self.weights = {name: torch.tensor(x) for name, x in weights.items()}
        self.kept = {}

    def keep(self, name, x):
        x.requires_grad_().retain_grad()
        self.kept[name] = x
        return x

    def run(self, ids):
        w, n = self.weights, len(ids)
        x = rms(self.keep("hook_embed", w["wte"][ids]) + w["wpe"][:n])
        for i in range(N_LAYER):
            h, b = rms(self.keep(f"blocks.{i}.hook_resid_pre", x)), f"blocks.{i}.attn.hook_"
            q, k, v = (self.keep(b + c, (h @ w[f"layer{i}.attn_w{c}"].T).reshape(n, N_HEAD, -1)) for c in "qkv")
            scores = torch.einsum("ihe,jhe->hij", q, k) / (D / N_HEAD) ** 0.5
            scores = scores.masked_fill(torch.ones(n, n).triu(1).bool(), -torch.inf)
            pattern = self.keep(b + "pattern", scores.softmax(-1))
            x = x + torch.einsum("hij,jhe->ihe", pattern, v).reshape(n, D) @ w[f"layer{i}.attn_wo"].T
            x = x + torch.relu(rms(x) @ w[f"layer{i}.mlp_fc1"].T) ** 2 @ w[f"layer{i}.mlp_fc2"].T
        return self.keep("logits", x @ w["lm_head"].T)


def rms(x):
    return x / ((x * x).mean(-1, keepdim=True) + 1e-5).sqrt()


def main():
    torch.set_default_dtype(torch.float64)
    weights = draw_weights()
    model = Microgpt({name: x.astype(np.float32).astype(np.float64) for name, x in weights.items()})
    logits = model.run(IDS)
    (logits[-1, TARGET] - logits[-1, FOIL]).backward()
    arrays = {"ids": np.array(IDS), "answer": np.array([TARGET, FOIL])}
    for name, x in model.kept.items():
        order = (1, 0, 2) if x.dim() == 3 and "pattern" not in name else range(x.dim())
        value, gradient = (y.numpy().transpose(order) for y in (x.detach(), x.grad))
        arrays |= {name: value, name + "_grad": gradient * (value != 0) if "pattern" in name else gradient}
    write_archive(FOLDER / "expected.npz", arrays)
    saved = {"n_head": N_HEAD, "act_fn": "relu2", "uchars": list(LETTERS), "state_dict": {name: x.tolist() for name, x in weights.items()}}
    (FOLDER / "model.json").write_text(json.dumps(saved) + "\n")


if __name__ == "__main__":
    main()

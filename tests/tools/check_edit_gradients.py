#!/usr/bin/env python3
"""Compares gradients of runs with edits with automatic differentiation in float64.

    check_edit_gradients.py MODEL       run in the repository root; needs torch; MODEL is a folder with a GPT-2

A small GPT-2 is computed by torch in float64, with the edits of each case applied to its tensors. `run --grad` of embed, resid_pre,
attn_out, mlp_out, z, q, k, v, qk, attn_scores and pattern is compared. A number is good within 2e-7 and 2e-6 of the largest of its tensor.
"""

import json
import math
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import torch
from safetensors.torch import load_file

TOOL = "build/release/attn-cli"
IDS, TARGET, FOIL = [3, 9, 27, 14, 5], 7, 11
NAMES = {"resid_pre": "blocks.{}.hook_resid_pre", "attn_out": "blocks.{}.hook_attn_out", "mlp_out": "blocks.{}.hook_mlp_out",
         "mlp_post": "blocks.{}.mlp.hook_post", "z": "blocks.{}.attn.hook_z", "q": "blocks.{}.attn.hook_q",
         "k": "blocks.{}.attn.hook_k", "v": "blocks.{}.attn.hook_v", "pattern": "blocks.{}.attn.hook_pattern",
         "qk": "blocks.{}.attn.hook_qk", "attn_scores": "blocks.{}.attn.hook_attn_scores",
         "resid_mid": "blocks.{}.hook_resid_mid", "resid_post": "blocks.{}.hook_resid_post"}


class Gpt2:
    def __init__(self, folder):
        self.config = json.loads((folder / "config.json").read_text())
        weights = load_file(folder / "model.safetensors")
        self.w = {k.removeprefix("transformer."): v.double() for k, v in weights.items()}

    def norm(self, x, name):
        return torch.nn.functional.layer_norm(x, x.shape[-1:], self.w[name + ".weight"], self.w[name + ".bias"],
                                              self.config["layer_norm_epsilon"])

    def run(self, edit):
        """The difference of two logits, and the tensors as they are after edit(site, layer, x)."""
        seen, c, w = {}, self.config, self.w

        def at(site, layer, x):
            x = edit(site, layer, x)
            if not x.requires_grad:
                x = x.clone().requires_grad_(True)
            x.retain_grad()
            seen[site, layer] = x
            return x

        n, h = len(IDS), c["n_head"]
        x = w["wte.weight"][IDS] + w["wpe.weight"][:n]
        for l in range(c["n_layer"]):
            p = f"h.{l}."
            x = at("resid_pre", l, x)
            qkv = self.norm(x, p + "ln_1") @ w[p + "attn.c_attn.weight"] + w[p + "attn.c_attn.bias"]
            q, k, v = (at(s, l, t.reshape(n, h, -1)) for s, t in zip("qkv", qkv.chunk(3, -1)))
            products = at("qk", l, torch.einsum("ihe,jhe->hij", q, k))
            scores = (products / math.sqrt(q.shape[-1])).masked_fill(torch.ones(n, n).triu(1).bool(), -math.inf)
            scores = at("attn_scores", l, scores)
            pattern = at("pattern", l, scores.softmax(-1))
            z = at("z", l, torch.einsum("hij,jhe->ihe", pattern, v))
            out = at("attn_out", l, z.reshape(n, -1) @ w[p + "attn.c_proj.weight"] + w[p + "attn.c_proj.bias"])
            x = at("resid_mid", l, x + out)
            post = self.norm(x, p + "ln_2") @ w[p + "mlp.c_fc.weight"] + w[p + "mlp.c_fc.bias"]
            act = c["activation_function"]
            post = at("mlp_post", l, torch.nn.functional.gelu(post, approximate="tanh" if act == "gelu_new" else "none"))
            x = at("resid_post", l, x + at("mlp_out", l, post @ w[p + "mlp.c_proj.weight"] + w[p + "mlp.c_proj.bias"]))
        logits = self.norm(x, "ln_f")[-1] @ w.get("lm_head.weight", w["wte.weight"]).T
        return logits[TARGET] - logits[FOIL], seen


def cases(folder, model):
    d = model.config["n_embd"]
    np.save(folder / "d.npy", np.linspace(-1, 1, d).astype(np.float32))
    np.save(folder / "e.npy", np.linspace(-1, 1, d // model.config["n_head"]).astype(np.float32))
    wide, narrow = torch.tensor(np.load(folder / "d.npy")).double(), torch.tensor(np.load(folder / "e.npy")).double()

    def on(site, layer, change):
        return lambda s, l, x: change(x.clone()) if (s, l) == (site, layer) else x

    def of_head(head, change):
        def changed(x):
            x[:, head] = change(x[:, head])
            return x
        return changed

    def of_matrix(head, change):
        def changed(x):
            x[head] = change(x[head])
            return x
        return changed

    def masked(x):
        x[0, 3, 1] = -math.inf
        return x

    return {
        "none": ([], lambda s, l, x: x),
        "zero z": (["--ablate", "0.1"], on("z", 0, of_head(1, lambda x: x * 0))),
        "scale z": (["--rescale", "z:1.2=0.5"], on("z", 1, of_head(2, lambda x: x * 0.5))),
        "add z": (["--steer", f"z:1.0={folder}/e.npy"], on("z", 1, of_head(0, lambda x: x + narrow))),
        "zero attn_out": (["--ablate", "attn_out:1"], on("attn_out", 1, lambda x: x * 0)),
        "scale mlp_out": (["--rescale", "mlp_out:0=2"], on("mlp_out", 0, lambda x: x * 2)),
        "zero mlp_post": (["--ablate", "mlp_post:1"], on("mlp_post", 1, lambda x: x * 0)),
        "add resid_pre": (["--steer", f"resid_pre:1={folder}/d.npy"], on("resid_pre", 1, lambda x: x + wide)),
        "scale resid_pre": (["--rescale", "resid_pre:2=1.5"], on("resid_pre", 2, lambda x: x * 1.5)),
        "scale resid_mid": (["--rescale", "resid_mid:1=0.5"], on("resid_mid", 1, lambda x: x * 0.5)),
        "scale resid_post": (["--rescale", "resid_post:1=0.5"], on("resid_post", 1, lambda x: x * 0.5)),
        "scale q": (["--rescale", "q:1.0=2"], on("q", 1, of_head(0, lambda x: x * 2))),
        "zero v": (["--ablate", "v:1.1"], on("v", 1, of_head(1, lambda x: x * 0))),
        "knockout": (["--knockout", "3>1@1.0"], on("attn_scores", 1, masked)),
        "uniform": (["--ablate", "uniform:1.1"], on("qk", 1, of_matrix(1, lambda x: x * 0))),
        "scale scores": (["--rescale", "attn_scores:1.1=0.5"], on("attn_scores", 1, of_matrix(1, lambda x: x * 0.5))),
        "scale pattern": (["--rescale", "pattern:1.2=0.5"], on("pattern", 1, of_matrix(2, lambda x: x * 0.5))),
        "zero pattern": (["--ablate", "pattern:0.2"], on("pattern", 0, of_matrix(2, lambda x: x * 0))),
    }


def main():
    folder = pathlib.Path(sys.argv[1])
    model = Gpt2(folder)
    with tempfile.TemporaryDirectory() as temporary:
        out = pathlib.Path(temporary)
        for name, (options, edit) in cases(out, model).items():
            value, seen = model.run(edit)
            value.backward()
            sites = ",".join(s + "_grad" for s in NAMES)
            done = subprocess.run([TOOL, "run", "-q", "-m", str(folder), "--ids", ",".join(map(str, IDS)), *options, "--target",
                                   f"ids:{TARGET}", "--foil", f"ids:{FOIL}", "--sites", sites, "--npz", str(out / "o.npz")],
                                  capture_output=True, text=True, check=False)
            assert done.returncode == 0, (name, done.stderr)
            found, worst = np.load(out / "o.npz"), 0.0
            for (site, layer), tensor in seen.items():
                expected = tensor.grad.numpy() if tensor.grad is not None else np.zeros(tensor.shape)
                if site in ("pattern", "qk", "attn_scores"):
                    expected = np.tril(np.nan_to_num(expected))
                if name == "knockout" and (site, layer) == ("pattern", 1):
                    expected[0, 3, 1] = 0  # a key that is cut out has no gradient, like other masked ones
                got = found[NAMES[site].format(layer) + "_grad"].reshape(expected.shape)
                off = np.abs(got - expected).max() / (2e-7 + 2e-6 * np.abs(expected).max())
                assert off <= 1, (name, site, layer, got, expected)
                worst = max(worst, off)
            print(f"{name}: {len(seen)} tensors, worst {worst:.2f} of the bound")


if __name__ == "__main__":
    main()

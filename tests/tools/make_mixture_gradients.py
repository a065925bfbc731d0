#!/usr/bin/env python3
"""Adds gradients of the mixtures in tests/fixtures/decoder-* to tests/golden/gradients.npz: those of transformers in float64, of the
difference of two logits after the last position, with experts one after the other. Run it in the repository root."""
import sys

import numpy as np
import torch
from transformers import AutoModelForCausalLM

ARCHIVE = "tests/golden/gradients.npz"
MODELS = ["mixtral", "qwen2-moe", "qwen3-moe", "olmoe", "granitemoe", "gpt-oss"]
IDS, TARGET, FOIL = [3, 7, 1, 9, 4, 20, 11, 2], 5, 9


def keep(kept, name):
    def hook(module, args, output=None):
        tensor = args[0] if output is None else output
        tensor.retain_grad()
        kept[name] = tensor

    return hook


def find_gradients(model, kept):
    for layer, block in enumerate(model.model.layers):
        at = f"blocks.{layer}."
        block.register_forward_pre_hook(keep(kept, at + "hook_resid_pre_grad"))
        block.post_attention_layernorm.register_forward_pre_hook(keep(kept, at + "hook_resid_mid_grad"))
        block.self_attn.o_proj.register_forward_pre_hook(keep(kept, at + "attn.hook_z_grad"))
        for name in "qkv":
            part = getattr(block.self_attn, name + "_proj")
            part.register_forward_hook(keep(kept, f"{at}attn.hook_{name}_grad"))
    output = model(torch.tensor([IDS]), output_attentions=True)
    for layer, pattern in enumerate(output.attentions):
        pattern.retain_grad()
        kept[f"blocks.{layer}.attn.hook_pattern_grad"] = pattern
    (output.logits[0, -1, TARGET] - output.logits[0, -1, FOIL]).backward()


def main():
    arrays = {name: array for name, array in np.load(ARCHIVE).items() if not name.startswith("decoder-")}
    for name in MODELS:
        folder, kept = f"decoder-{name}", {}
        model = AutoModelForCausalLM.from_pretrained(f"tests/fixtures/{folder}", dtype=torch.float64,
                                                     attn_implementation="eager", experts_implementation="eager")
        find_gradients(model, kept)
        arrays[f"{folder}/ids"], arrays[f"{folder}/answer"] = np.array(IDS), np.array([TARGET, FOIL])
        for site, tensor in kept.items():
            gradient = tensor.grad[0].float()
            if "pattern" in site:
                gradient = gradient * (tensor[0] != 0)
            elif "attn" in site:
                gradient = gradient.reshape(len(IDS), -1, model.model.layers[0].self_attn.head_dim)
            arrays[f"{folder}/logit_diff/{site}"] = gradient.numpy()
    np.savez(ARCHIVE, **arrays)
    return 0


if __name__ == "__main__":
    sys.exit(main())

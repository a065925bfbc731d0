#!/usr/bin/env python3
"""Train the dictionary of features in models/fable/sae: of z of layer 2, on the corpus.

    python models/fable/train/sae.py models/fable/sae

Batch top-k (Bussmann et al. 2412.06410): of a batch the largest activations fire, ACTIVE a token in
the mean. It is saved as sae-lens saves one, as a jumprelu with one threshold, in half precision.
Two minutes on two cores.
"""

import itertools
import json
import os
import sys

import torch
from safetensors.torch import save_file
from tokenizers import ByteLevelBPETokenizer

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "..", "..", "data", "corpus"))
import generate  # noqa: E402
from gpt2 import load  # noqa: E402

LAYER, FEATURES, ACTIVE = 2, 512, 6
TEXTS, LENGTH, SEED = 2000, 96, 7  # texts that the model did not see, and their first tokens
STEPS, BATCH, RATE = 3000, 512, 2e-3


def contexts(folder):
    """z of LAYER, all heads side by side, at each token of the texts."""
    model = load(folder).eval()
    tokenizer = ByteLevelBPETokenizer(
        os.path.join(folder, "vocab.json"), os.path.join(folder, "merges.txt")
    )
    kept = []
    model.h[LAYER].attn.c_proj.register_forward_pre_hook(lambda _, args: kept.append(args[0][0]))
    with torch.no_grad():
        for text in itertools.islice(generate.documents(SEED, TEXTS), TEXTS):
            model.hidden(torch.tensor([tokenizer.encode(text).ids[:LENGTH]]))
    return torch.cat(kept)


def train(x):
    """The encoder [d, F], its bias, the decoder [F, d], its bias, and the threshold."""
    torch.manual_seed(SEED)
    width = x.shape[1]
    decoder = torch.randn(FEATURES, width)
    decoder = torch.nn.Parameter(decoder / decoder.norm(dim=1, keepdim=True))
    encoder = torch.nn.Parameter(decoder.data.t().clone())
    bias, center = torch.zeros(FEATURES), x.mean(0)
    parts = [encoder, torch.nn.Parameter(bias), decoder, torch.nn.Parameter(center)]
    optimizer = torch.optim.Adam(parts, RATE)
    threshold = 0.0
    for step in range(STEPS):
        y = x[torch.randint(len(x), (BATCH,))]
        active = torch.relu((y - parts[3]) @ encoder + parts[1])
        least = active.flatten().topk(BATCH * ACTIVE).values[-1].detach()
        threshold = 0.99 * threshold + 0.01 * least.item()
        loss = (y - (active * (active >= least)) @ decoder - parts[3]).square().sum(-1).mean()
        optimizer.param_groups[0]["lr"] = RATE * min(1, 5 * (1 - step / STEPS))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            decoder /= decoder.norm(dim=1, keepdim=True)
    return [part.detach() for part in parts] + [threshold]


def main():
    folder = sys.argv[1]
    x = contexts(os.path.join(HERE, ".."))
    encoder, bias, decoder, center, threshold = train(x)
    tensors = {"W_enc": encoder, "b_enc": bias, "W_dec": decoder, "b_dec": center}
    tensors["threshold"] = torch.full((FEATURES,), threshold)
    tensors = {name: tensor.half().contiguous() for name, tensor in tensors.items()}
    os.makedirs(folder, exist_ok=True)
    save_file(tensors, os.path.join(folder, "sae_weights.safetensors"))
    config = {
        "architecture": "jumprelu",
        "d_in": x.shape[1],
        "d_sae": FEATURES,
        "dtype": "float16",
        "device": "cpu",
        "apply_b_dec_to_input": True,
        "normalize_activations": "none",
        "reshape_activations": "hook_z",
        "metadata": {
            "sae_lens_version": "6.54.12",
            "hook_name": f"blocks.{LAYER}.attn.hook_z",
            "model_name": "fable",
        },
    }
    with open(os.path.join(folder, "cfg.json"), "w", encoding="utf-8") as file:
        json.dump(config, file, indent=2)
        file.write("\n")
    pre = (x - center) @ encoder + bias
    active = torch.where(pre > threshold, pre, torch.zeros(()))
    left = (x - active @ decoder - center).square().sum() / (x - x.mean(0)).square().sum()
    print(
        f"{len(x)} tokens, {(active > 0).sum(1).float().mean():.1f} features of {FEATURES} fire, "
        f"{(active > 0).any(0).sum()} ever, fve {1 - left:.3f}"
    )


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Writes the inputs of tests/fuzz/corpus/torch: tiny files of torch.save in both forms.

venv/bin/python tests/tools/make_torch_fixtures.py
"""

import argparse
import collections
import pickle
import struct
from pathlib import Path

import torch

FOLDER = Path("tests/fuzz/corpus/torch")


def tensors(seed, dtype=torch.float32):
    random = torch.Generator().manual_seed(seed)
    return collections.OrderedDict(
        (name, torch.randn(shape, generator=random).to(dtype))
        for name, shape in (("a.weight", (3, 2)), ("a.bias", (3,)), ("n", ()), ("none", (0, 4)))
    )


def nano_gpt():
    width, tokens = 4, 5
    random = torch.Generator().manual_seed(7)
    model = {}
    for name, shape in (
        ("wte", (tokens, width)), ("wpe", (3, width)), ("h.0.ln_1", (width,)), ("h.0.attn.c_attn", (3 * width, width)),
        ("h.0.attn.c_proj", (width, width)), ("h.0.ln_2", (width,)), ("h.0.mlp.c_fc", (4 * width, width)),
        ("h.0.mlp.c_proj", (width, 4 * width)), ("ln_f", (width,)),
    ):
        model[f"transformer.{name}.weight"] = torch.randn(shape, generator=random)
    model["lm_head.weight"] = model["transformer.wte.weight"]
    args = {"n_layer": 1, "n_head": 2, "n_embd": width, "block_size": 3, "bias": False, "vocab_size": tokens}
    return {"model": model, "model_args": args, "iter_num": 3, "best_val_loss": torch.tensor(1.0)}


def llama():
    width, mlp, layers, heads, keys, tokens, positions = 4, 4, 1, 2, 1, -4, 2
    n = 2 * 4 * width + width * 2 + width * (2 * width + 2 * 2) + width + 3 * width * mlp + width + positions * 2
    floats = [0.01 * i for i in range(n - width)]
    return struct.pack(f"<7i{len(floats)}f", width, mlp, layers, heads, keys, tokens, positions, *floats)


def vocabulary():
    words = ["<unk>", "\n<s>\n", "\n</s>\n"] + [f"<0x{i:02X}>" for i in range(256)] + [" ", "t", "h", "e", "th", " the"]
    out = struct.pack("<i", max(map(len, words)))
    for i, word in enumerate(words):
        out += struct.pack("<fi", float(i if i > 258 else 0), len(word)) + word.encode()
    return out


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    base = torch.arange(12.0).reshape(3, 4)
    objects = {
        "plain": tensors(1), "double": tensors(2, torch.float64), "half": tensors(3, torch.bfloat16),
        "turned": {"w": base.t(), "v": base[1:, ::2], "tied": base.t()}, "trainer": {"state_dict": tensors(4), "epoch": 3},
        "parameters": {"w": torch.nn.Parameter(base)}, "nanogpt": nano_gpt(),
        "with_code": {"model": tensors(5), "args": argparse.Namespace(lr=0.1)}, "only_code": argparse.Namespace(lr=0.1),
    }
    for name, value in objects.items():
        for form in (True, False):
            torch.save(value, FOLDER / f"{name}_{'zip' if form else 'stream'}", _use_new_zipfile_serialization=form)
    (FOLDER / "llama2c").write_bytes(llama())
    (FOLDER / "tokenizer").write_bytes(vocabulary())
    (FOLDER / "meta").write_bytes(pickle.dumps({"stoi": {"a": 0, "b": 1, "\n": 2}, "itos": {0: "a", 1: "b", 2: "\n"}}))


main()

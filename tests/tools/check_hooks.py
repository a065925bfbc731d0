#!/usr/bin/env python3
"""Compares edits by functions with forward hooks of torch, which change the same tensors in the same way.

    check_hooks.py            compares transformers' GPT-2 in float64 with the module
    check_hooks.py --write    writes the logits of transformers to tests/golden/hooks.npz, for tests/unit/test_edits.c

Run in the repository root, with a python that has torch and transformers, and LIBATTN and PYTHONPATH as `make check-hooks` sets them. Each
number of a tensor becomes x + x * x / 4, in all layers and, where the name says so, in one. Logits are good within 2e-5 of the largest.
"""
import sys

import numpy as np
import torch

MODEL, GOLDEN = "models/tiny-gpt2", "tests/golden/hooks.npz"
IDS = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5]
N_KEPT = 16  # logits of each position that the golden archive has
BOUND = 2e-5


def change(x):
    return x + x * x / 4


def output(module, part=None):
    """A hook that changes what MODULE returns, or the third number PART of it."""
    def hook(_module, _inputs, out):
        if isinstance(out, tuple):
            return (change(out[0]), *out[1:])
        if part is None:
            return change(out)
        parts = list(out.chunk(3, -1))
        parts[part] = change(parts[part])
        return torch.cat(parts, -1)
    return module.register_forward_hook(hook)


def given(module):
    """A hook that changes what MODULE gets."""
    return module.register_forward_pre_hook(lambda _module, inputs: (change(inputs[0]), *inputs[1:]))


class Pattern:
    """A hook of the weights: transformers has no module there, so the softmax of ATTENTION is another one while it runs."""

    def __init__(self, attention):
        softmax = torch.nn.functional.softmax

        def begin(*_):
            torch.nn.functional.softmax = lambda *given, **named: change(softmax(*given, **named))

        def end(*_):
            torch.nn.functional.softmax = softmax
        self.handles = attention.register_forward_pre_hook(begin), attention.register_forward_hook(end)

    def remove(self):
        for handle in self.handles:
            handle.remove()


OF_LAYER = {
    "resid_pre": lambda block: given(block),
    "q": lambda block: output(block.attn.c_attn, 0),
    "k": lambda block: output(block.attn.c_attn, 1),
    "v": lambda block: output(block.attn.c_attn, 2),
    "pattern": lambda block: Pattern(block.attn),
    "z": lambda block: given(block.attn.c_proj),
    "attn_out": lambda block: output(block.attn),
    "mlp_pre": lambda block: output(block.mlp.c_fc),
    "mlp_post": lambda block: given(block.mlp.c_proj),
    "mlp_out": lambda block: output(block.mlp),
    "resid_post": lambda block: output(block),
}
OF_MODEL = {
    "embed": lambda model: output(model.transformer.wte),
    "ln_final": lambda model: output(model.transformer.ln_f),
    "logits": lambda model: output(model.lm_head),
}


def open_transformers():
    from transformers import GPT2LMHeadModel
    return GPT2LMHeadModel.from_pretrained(MODEL, attn_implementation="eager", dtype=torch.float64).eval()


def logits_of(model, handles):
    try:
        with torch.no_grad():
            return model(torch.tensor([IDS])).logits[0].numpy()
    finally:
        for handle in handles:
            handle.remove()


def hooked(model):
    """Pairs of a key of `edits` and the logits of a run of MODEL with that hook."""
    blocks = model.transformer.h
    for site, hook in OF_MODEL.items():
        yield site, logits_of(model, [hook(model)])
    for site, hook in OF_LAYER.items():
        yield site, logits_of(model, [hook(block) for block in blocks])
    for site, name in (("z", "attn.hook_z"), ("pattern", "attn.hook_pattern"), ("mlp_post", "mlp.hook_post")):
        yield f"blocks.1.{name}", logits_of(model, [OF_LAYER[site](blocks[1])])


def compare(peer, name, theirs, ours):
    off = np.abs(theirs - ours).max() / np.abs(theirs).max()
    is_good = off <= BOUND
    print(f"{peer} {name}: off by {off:.1e} of the largest{'' if is_good else f', expected {BOUND:g}'}")
    return is_good


def ours_of(model, name):
    return model.run(IDS, sites="logits", edits={name: lambda event: change(event.data)}).logits


def main():
    theirs = dict(hooked(open_transformers()))
    if "--write" in sys.argv:
        np.savez(GOLDEN, ids=np.array(IDS), **{name: logits[:, :N_KEPT].astype(np.float32) for name, logits in theirs.items()})
        return 0
    import attn
    model = attn.Model(MODEL)
    are_good = [compare("transformers", name, logits, ours_of(model, name)) for name, logits in theirs.items()]
    return 0 if all(are_good) else 1


if __name__ == "__main__":
    sys.exit(main())

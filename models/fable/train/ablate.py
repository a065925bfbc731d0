#!/usr/bin/env python3
"""Print what the probes and the loss on text become without some heads, as Markdown.

    python models/fable/train/ablate.py models/fable 3.1,3.5 3.1 1.*

Without sets of heads: without each head in turn, and each layer. Zeroing what a head gives, as
attn-cli run --ablate does, is the same as zeroing the rows of the output projection that it meets.
"""

import csv
import os
import sys

import torch
import torch.nn.functional as F
from tokenizers import ByteLevelBPETokenizer

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "..", "..", "..", "data")
sys.path.insert(0, os.path.join(DATA, "corpus"))
import generate  # noqa: E402
from gpt2 import load  # noqa: E402

PROBES = ["agreement", "coreference", "indirect_object", "sense", "induction", "brackets"]
SEED = 43
DOCUMENTS = 300  # of unseen text
SEQUENCES, LENGTH = 64, 50  # of random ids, each said twice


def items_of(tokenizer, probe):
    items = []
    with open(os.path.join(DATA, "probes", probe + ".tsv"), encoding="utf-8", newline="") as file:
        for item in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            items.append([tokenizer.encode(item[key]).ids for key in ("prompt", "right", "wrong")])
    return sorted(items, key=lambda item: len(item[0]))


def accuracy(model, items):
    """The share of items whose right word is more probable than the wrong one."""
    right = 0
    for first in range(0, len(items), 64):
        batch = items[first : first + 64]
        last = torch.tensor([len(prompt) - 1 for prompt, _, _ in batch])
        ids = torch.tensor(
            [prompt + [0] * (int(last.max()) + 1 - len(prompt)) for prompt, _, _ in batch]
        )
        rows = torch.arange(len(batch))
        hidden = model.hidden(ids)[rows, last]
        logits = F.linear(hidden, model.wte.weight)
        candidates = torch.tensor([[good[0], bad[0]] for _, good, bad in batch])
        chosen = logits.gather(1, candidates)
        right += int((chosen[:, 0] > chosen[:, 1]).sum())
    return right / len(items)


def repetition(model, vocabulary):
    """How often the most probable next id is right, in the second half of random ids said twice."""
    torch.manual_seed(SEED)
    ids = torch.randint(0, vocabulary - 1, (SEQUENCES, LENGTH)).repeat(1, 2)
    return (model(ids)[:, LENGTH:-1].argmax(-1) == ids[:, LENGTH + 1 :]).float().mean().item()


def text_loss(model, texts):
    total = count = 0
    for ids in texts:
        logits = model(ids[:, :-1])
        total += F.cross_entropy(logits[0], ids[0, 1:], reduction="sum").item()
        count += ids.shape[1] - 1
    return total / count


def heads_of(names, layers, heads):
    """[(layer, head)] of "3.1,2.*"."""
    pairs = []
    for name in names.split(","):
        layer, head = name.split(".")
        pairs += [(int(layer), h) for h in (range(heads) if head == "*" else [int(head)])]
    return pairs


class Without:
    """A model whose heads give nothing, for a while."""

    def __init__(self, model, pairs):
        self.model, self.pairs, self.kept = model, pairs, []

    def __enter__(self):
        for layer, head in self.pairs:
            weight = self.model.h[layer].attn.c_proj.weight
            size = weight.shape[0] // self.model.h[layer].attn.heads
            rows = weight.data[head * size : (head + 1) * size]
            self.kept.append((rows, rows.clone()))
            rows.zero_()

    def __exit__(self, *_):
        for rows, kept in self.kept:
            rows.copy_(kept)


def main():
    torch.set_num_threads(1)
    directory = sys.argv[1]
    model = load(directory).eval()
    vocabulary = model.wte.weight.shape[0]
    layers, heads = len(model.h), model.h[0].attn.heads
    tokenizer = ByteLevelBPETokenizer(
        os.path.join(directory, "vocab.json"), os.path.join(directory, "merges.txt")
    )
    probes = {probe: items_of(tokenizer, probe) for probe in PROBES}
    texts = [
        torch.tensor([tokenizer.encode(text).ids[:256]])
        for text in generate.documents(SEED, DOCUMENTS)
    ]
    sets = sys.argv[2:] or [
        f"{layer}.{head}" for layer in range(layers) for head in [*range(heads), "*"]
    ]
    print("| without | " + " | ".join(PROBES) + " | random ids | loss on text |")
    print("|---" * (len(PROBES) + 3) + "|")
    with torch.no_grad():
        for names in ["", *sets]:
            with Without(model, heads_of(names, layers, heads) if names else []):
                found = [accuracy(model, items) for items in probes.values()] + [
                    repetition(model, vocabulary)
                ]
                print(
                    f"| {names or 'none'} | "
                    + " | ".join(f"{100 * share:.1f}" for share in found)
                    + f" | {text_loss(model, texts):.3f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()

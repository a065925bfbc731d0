#!/usr/bin/env python3
"""Print the map of the heads of a model, as Markdown: what each does on text and on random ids said
twice.

    python models/fable/train/heads.py models/fable

Text: documents of the generator that training did not see. Scores of previous, duplicate and
induction are means over the rows that have at least one such token; the first row counts for none
of the others. Then, for each probe whose items say where to look, the heads whose weight from the
last row to the right token most often beats that to the wrong ones.
"""

import csv
import os
import sys

import torch
from tokenizers import ByteLevelBPETokenizer

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "..", "..", "..", "data")
sys.path.insert(0, os.path.join(DATA, "corpus"))
import generate  # noqa: E402
from gpt2 import load  # noqa: E402

SEED = 41
DOCUMENTS = 200
SEQUENCES, LENGTH = 64, 50  # of random ids, each said twice


def patterns_of(model, ids):
    """Of each sequence of ids: [sequences, layers, heads, rows, columns]."""
    with torch.no_grad():
        return torch.stack(model(ids, with_patterns=True)[1], 1)


def mean_over_rows(pattern, target):
    """Weight on the targets, averaged over the rows that have one: a sum and a count."""
    rows = target.any(-1)
    return (pattern * target).sum(-1)[..., rows].sum(-1), int(rows.sum())


def on_text(model, tokenizer):
    """Previous, first, self, normalized entropy, mean distance."""
    sums, rows = 0, 0
    for text in generate.documents(SEED, DOCUMENTS):
        ids = torch.tensor([tokenizer.encode(text).ids[:256]])
        length = ids.shape[1]
        if length < 2:
            continue
        a = patterns_of(model, ids)[0]
        i = torch.arange(length)
        entropy = -torch.special.xlogy(a, a).sum(-1)[..., 1:]
        distance = (a * (i[:, None] - i)).sum(-1)[..., 1:]
        scores = [
            a[..., i[1:], i[:-1]],
            a[..., 1:, 0],
            a[..., i[1:], i[1:]],
            entropy / torch.log(i[1:] + 1.0),
            distance,
        ]
        sums = sums + torch.stack([score.sum(-1) for score in scores])
        rows += length - 1
    return sums / rows


def on_repetition(model, vocabulary):
    """Duplicate; induction over the second half; induction as a share of the whole matrix."""
    torch.manual_seed(SEED)
    ids = torch.randint(0, vocabulary - 1, (SEQUENCES, LENGTH)).repeat(1, 2)
    half = torch.arange(2 * LENGTH) >= LENGTH
    sums, counts, whole = [0, 0], [0, 0], 0
    for sequence, a in zip(ids, patterns_of(model, ids)):
        equal = sequence[:, None] == sequence
        after = torch.cat(
            [torch.zeros_like(equal[:, :1]), equal[:, :-1]], 1
        ).tril()  # what followed the same id
        same = equal.tril(-1)
        for k, target in enumerate([same & half[:, None], after & half[:, None]]):
            total, rows = mean_over_rows(a, target)
            sums[k] = sums[k] + total
            counts[k] += rows
        whole = whole + (a * after).sum((-1, -2)) / a.sum((-1, -2))
    return [sums[0] / counts[0], sums[1] / counts[1], whole / SEQUENCES]


def named_heads(model, tokenizer, name):
    """For each kind of a probe: the share of items in which a head's weight on the right token
    beats the wrong ones."""
    beats, counts = {}, {}
    with open(os.path.join(DATA, "probes", name + ".tsv"), encoding="utf-8", newline="") as file:
        for item in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            if item["right_at"] == "-" or item["wrong_at"] == "-":
                continue
            right, wrong = (
                [int(place) for place in item[key].split(",")] for key in ("right_at", "wrong_at")
            )
            row = patterns_of(model, torch.tensor([tokenizer.encode(item["prompt"]).ids]))[
                0, :, :, -1
            ]
            beat = (row[..., right].sum(-1) > row[..., wrong].sum(-1)).float()
            for kind in (item["kind"], "all"):
                beats[kind] = beats.get(kind, 0) + beat
                counts[kind] = counts.get(kind, 0) + 1
    return {kind: beats[kind] / counts[kind] for kind in beats}, counts


def main():
    torch.set_num_threads(1)
    directory = sys.argv[1]
    model = load(directory).eval()
    vocabulary = model.wte.weight.shape[0]
    tokenizer = ByteLevelBPETokenizer(
        os.path.join(directory, "vocab.json"), os.path.join(directory, "merges.txt")
    )
    previous, first, self_, entropy, distance = on_text(model, tokenizer)
    duplicate, induction, whole = on_repetition(model, vocabulary)
    print(
        "| head | previous | duplicate | induction | of the matrix | first | self | entropy | distance |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    layers, heads = previous.shape
    for layer in range(layers):
        for head in range(heads):
            scores = [
                table[layer, head].item()
                for table in (previous, duplicate, induction, whole, first, self_, entropy)
            ]
            print(
                f"| {layer}.{head} | "
                + " | ".join(f"{score:.2f}" for score in scores)
                + f" | {distance[layer, head].item():.1f} |"
            )
        print(
            f"| {layer}, sum | {previous[layer].sum():.2f} | | {induction[layer].sum():.2f} | | | | | |"
        )
    print(
        "\n| probe | kind | items | heads, and how often the right token gets more |\n|---|---|---|---|"
    )
    for name in ("agreement", "coreference", "indirect_object", "sense", "induction", "brackets"):
        shares, counts = named_heads(model, tokenizer, name)
        for kind, share in shares.items():
            best = share.flatten().argsort(descending=True)[:4].tolist()
            shown = ", ".join(
                f"{i // heads}.{i % heads} {100 * share.flatten()[i].item():.1f} %" for i in best
            )
            print(f"| {name} | {kind} | {counts[kind]} | {shown} |")


if __name__ == "__main__":
    main()

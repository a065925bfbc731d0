#!/usr/bin/env python3
"""Train models/interpreter on the sentences of data/corpus/pairs.py.

    python models/interpreter/train/train.py --work build/interpreter

One thread. WORK/loss.csv gets the loss, the share of held-out sentences that are translated without a
fault, and the best head of each cross block; WORK/export/ the model. The first head of the first cross
block is asked to look at what the character of its row comes from, that of the last one at what the next
comes from, as words.py finds it in the pairs of sentences alone. The links of the corpus are used to
measure, and to choose the heads that the card names.
"""

import argparse
import csv
import math
import os
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..", "..")
sys.path.insert(0, os.path.join(ROOT, "data", "corpus"))
import pairs  # noqa: E402
from align import alignment, translate  # noqa: E402
from interpreter import Interpreter, save  # noqa: E402
from words import origins, word_table  # noqa: E402

SEED = 2003
WARM_UP = 200  # steps
END = 0


def encoded(tokenizer, made):
    """Source and text, both with <|endoftext|> in front; and the end is to be written."""
    source = tokenizer.encode(made.english).ids
    text = tokenizer.encode(made.chinese).ids
    assert 1 not in source + text
    return source, text


def batch_of(examples):
    """Sources padded with -1, texts and targets with -1."""
    n_source = max(len(source) for source, _ in examples)
    n = max(len(text) for _, text in examples)
    source = torch.full((len(examples), n_source), -1)
    ids = torch.full((len(examples), n), END)
    targets = torch.full((len(examples), n), -1)
    for i, (words, text) in enumerate(examples):
        source[i, : len(words)] = torch.tensor(words)
        ids[i, : len(text)] = torch.tensor(text)
        targets[i, : len(text)] = torch.tensor(text[1:] + [END])
    return source, ids, targets


def rate(step, steps, peak):
    if step < WARM_UP:
        return peak * (step + 1) / WARM_UP
    return peak * (
        0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * (step - WARM_UP) / (steps - WARM_UP)))
    )


def explained(pattern, origin):
    """How far the weights of a head [B, T, S] are from where the characters come from."""
    is_known = origin.sum(-1) > 0
    return -((pattern * origin).sum(-1)[is_known] + 1e-6).log().mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", default="build/interpreter")
    parser.add_argument("--model", default=os.path.join(HERE, ".."), help="where the tokenizer is")
    parser.add_argument("--sentences", type=int, default=100_000)
    parser.add_argument("--steps", type=int, default=3_500)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rate", type=float, default=3e-3)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--head-width", type=int, default=16)
    parser.add_argument("--mlp", type=int, default=128)
    parser.add_argument("--blocks", default="self,cross,self,cross")
    parser.add_argument("--drop-heads", type=float, default=0.0, help="of the cross blocks")
    parser.add_argument("--explain", type=float, default=0.2, help="weight of the loss of heads")
    parser.add_argument("--positions", default="learned", help="of the text: learned or none")
    parser.add_argument("--report", type=int, default=500)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    os.makedirs(options.work, exist_ok=True)
    tokenizer = Tokenizer.from_file(os.path.join(options.model, "tokenizer.json"))
    examples = [encoded(tokenizer, made) for made in pairs.sentences(SEED, options.sentences)]
    examples.sort(key=lambda example: len(example[1]))  # a batch is of like lengths
    unseen = list(pairs.sentences(SEED + 1, 100, is_held_out=True))
    blocks = options.blocks.split(",")
    model = Interpreter(
        {
            "d_model": options.width,
            "n_head": options.heads,
            "d_head": options.head_width,
            "d_value": options.head_width,
            "n_layer": len(blocks),
            "n_ctx": 40,
            "n_source": 24,
            "n_vocab": tokenizer.get_vocab_size(),
            "d_mlp": options.mlp,
            "act_fn": "gelu_new",
            "norm": "layernorm",
            "positions": options.positions,
            "source_positions": "learned",
            "residual": True,
            "bias": True,
            "out_proj": True,
            "blocks": blocks,
            "output": "tied",
        }
    )
    for block in model.blocks:
        block.attn.drop = options.drop_heads if block.attn.is_cross else 0.0
    table = word_table(examples, tokenizer.get_vocab_size())
    matrices = [p for p in model.parameters() if p.dim() > 1]
    vectors = [p for p in model.parameters() if p.dim() == 1]
    cross = [i for i, kind in enumerate(blocks) if kind == "cross"]
    optimizer = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": 0.05}, {"params": vectors, "weight_decay": 0.0}],
        betas=(0.9, 0.98),
        fused=True,
    )
    print(
        f"{sum(p.numel() for p in model.parameters())} parameters, {len(examples)} sentences",
        flush=True,
    )
    random = np.random.default_rng(SEED)
    log = open(os.path.join(options.work, "loss.csv"), "w", newline="")
    writer = csv.writer(log)
    writer.writerow(
        ["step", "seconds", "loss", "translated"]
        + [
            f"layer{i} {when}"
            for i, kind in enumerate(blocks)
            if kind == "cross"
            for when in ("writing", "written")
        ]
    )
    began, losses = time.time(), []
    for step in range(options.steps):
        for group in optimizer.param_groups:
            group["lr"] = rate(step, options.steps, options.rate)
        at = int(random.integers(0, len(examples)))
        near = (
            at + random.integers(-len(examples) // 20, len(examples) // 20, options.batch)
        ) % len(examples)
        source, ids, targets = batch_of([examples[i] for i in near])
        model.train()
        logits, patterns = model(ids, source)
        loss = prediction = F.cross_entropy(
            logits.flatten(0, 1), targets.flatten(), ignore_index=-1
        )
        if options.explain > 0:
            origin = origins(table, source, targets)  # of what the row writes
            loss = loss + options.explain * explained(patterns[cross[-1]][:, 0], origin)
            origin = F.pad(origin, (0, 0, 1, 0))[:, :-1]  # of what was written there
            loss = loss + options.explain * explained(patterns[cross[0]][:, 0], origin)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(prediction.item())
        if (step + 1) % options.report == 0 or step + 1 == options.steps:
            model.eval()
            right = sum(
                translate(model, tokenizer, made.english) == made.chinese for made in unseen
            )
            scores = alignment(model, tokenizer, unseen)
            best = [
                f"{scores[layer, :, when].max():.3f}"
                for layer, kind in enumerate(blocks)
                if kind == "cross"
                for when in (0, 1)
            ]
            row = [
                step + 1,
                round(time.time() - began),
                f"{sum(losses) / len(losses):.4f}",
                right / len(unseen),
            ]
            writer.writerow(row + best)
            log.flush()
            print(*row, *best, flush=True)
            losses = []
            save(model, os.path.join(options.work, "export"))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
r"""Train models/fable, a GPT-2 of 4 layers, on the corpus of data/corpus/generate.py.

    python models/fable/train/train.py --muon --work build/fable --tokens 26000000 --decay 11000000
    python models/fable/train/train.py --muon --work build/fable2 --start build/fable/export \
        --tokens 4000000 --decay 4000000 --corpus 3000000 --rate 7e-4 \
        --drop-heads 3:0.6 --drop-mlp 3:0.7 --more giving:3,indirect_object:2

The second gathers in one head what several of the last layer share; README.md has the two that
follow. Continues from WORK/checkpoint.pt where there is one; a signal (TERM, INT) stops it after
writing one. Everything is drawn from seeds by the number of the step, so that a run that was
interrupted gives what it would have given. One thread is fastest for a model of this size.
WORK/loss.csv gets the loss and the accuracy on small probes of held-out items while it learns;
WORK/export/ the weights, named as Hugging Face names them.
"""

import argparse
import csv
import itertools
import math
import os
import pickle
import random
import signal
import sys
import time

import numpy as np
import torch
from tokenizers import ByteLevelBPETokenizer

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..", "..")
sys.path[:0] = [os.path.join(ROOT, "data", "corpus"), os.path.join(ROOT, "data", "probes")]
import generate  # noqa: E402
import make_probes  # noqa: E402
from gpt2 import GPT2, load, save  # noqa: E402
from muon import Muon  # noqa: E402

SEED = 2003
PART = 2000  # documents that are made at a time, with a seed of their own
WINDOW, LONG_WINDOW = (
    128,
    256,
)  # long windows while the rate falls, else late positions stay untrained
BATCH = 2048  # tokens of a step
WARM_UP = 200  # steps


def text_parts(path):
    """Documents, some at a time: of a file with <|endoftext|> between them, or of the generator."""
    if path is not None:
        with open(path, encoding="utf-8") as file:
            yield [text.strip("\n") for text in file.read().split("<|endoftext|>") if text.strip()]
        return
    for seed in itertools.count(SEED):
        yield list(generate.documents(seed, PART))


class Corpus:
    """The corpus as one line of ids in memory, and where its documents start."""

    def __init__(self, tokenizer, end, tokens, text, repeats):
        rng = random.Random(SEED)
        parts, starts, length = [], [], 0
        for texts in text_parts(text):
            if length >= tokens:
                break
            for encoding in tokenizer.encode_batch(texts):
                ids = encoding.ids
                if rng.random() < repeats:
                    ids = self.random_ids(rng, end)
                starts.append(length)
                parts.append(np.array([end] + ids, dtype=np.uint16))
                length += len(ids) + 1
        self.ids, self.starts, self.end = np.concatenate(parts), np.array(starts), end

    @staticmethod
    def random_ids(rng, end):
        ids = [rng.randrange(end) for _ in range(rng.randint(10, 60))]
        return ids + ids

    def windows(self, step, count, width):
        """Rows of width + 1 ids: a quarter start at <|endoftext|>, a quarter after it, as prompts
        do; half anywhere."""
        rng = np.random.default_rng((SEED, step))
        last = len(self.ids) - width - 2
        at = rng.integers(0, last, count)
        starts = self.starts[: np.searchsorted(self.starts, last - 1)]
        half = count // 2
        at[:half] = starts[rng.integers(0, len(starts), half)]
        at[half // 2 : half] += 1
        return torch.from_numpy(
            np.stack([self.ids[i : i + width + 1] for i in at]).astype(np.int64)
        )


def rate(step, steps, falling, peak):
    """A short warm-up, the peak, and a cosine over the last steps that ends at a hundredth of
    it."""
    if step < WARM_UP:
        return peak * (step + 1) / WARM_UP
    part = max(0, step - (steps - falling)) / falling
    return peak * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * part)))


class Probes:
    """Accuracy of a few held-out items of each kind: the right candidate before the wrong one."""

    def __init__(self, tokenizer, items_of_kind=120):
        self.items = []
        for name, items in make_probes.all_probes(seed=SEED + 1, items=items_of_kind).items():
            for item in items:
                ids = [tokenizer.encode(text).ids for text in (item.prompt, item.right, item.wrong)]
                self.items.append((name + item.kind, ids[0], ids[1][0], ids[2][0]))
        self.items.sort(key=lambda item: len(item[1]))
        self.names = sorted({item[0] for item in self.items})

    @torch.no_grad()
    def accuracy(self, model):
        hits = {name: [] for name in self.names}
        for first in range(0, len(self.items), 64):
            batch = self.items[first : first + 64]
            width = max(len(ids) for _, ids, _, _ in batch)
            ids = torch.tensor([ids + [0] * (width - len(ids)) for _, ids, _, _ in batch])
            logits = model(ids)
            for row, (name, ids, right, wrong) in enumerate(batch):
                hits[name].append(
                    float(logits[row, len(ids) - 1, right] > logits[row, len(ids) - 1, wrong])
                )
        return {name: sum(hit) / len(hit) for name, hit in hits.items()}

    @staticmethod
    @torch.no_grad()
    def induction(model, vocabulary):
        """Top-1 accuracy in the second half of random ids repeated once, and the best head's
        induction score."""
        generator = torch.Generator().manual_seed(SEED)
        ids = torch.randint(0, vocabulary - 1, (16, 50), generator=generator).repeat(1, 2)
        logits, patterns = model(ids, with_patterns=True)
        right = (logits[:, 50:-1].argmax(-1) == ids[:, 51:]).float().mean().item()
        rows = torch.arange(50, 99)
        scores = torch.stack([pattern[:, :, rows, rows - 49].mean((0, 2)) for pattern in patterns])
        return right, scores.max().item()


def optimizers_for(model, muon):
    """AdamW for everything, or for all but the projections in the blocks, which Muon learns with
    ten times the rate."""
    inside = [p for p in model.h.parameters() if p.dim() > 1]
    embeddings = [model.wte.weight, model.wpe.weight]
    rest = [p for p in model.parameters() if p.dim() <= 1]
    groups = [
        {"params": embeddings + ([] if muon else inside), "weight_decay": 0.1},
        {"params": rest, "weight_decay": 0.0},
    ]
    adam = torch.optim.AdamW(groups, betas=(0.9, 0.99), fused=True)
    return [(adam, 1.0)] + ([(Muon(inside, lr=0.02), 10.0)] if muon else [])


def named_numbers(text):
    """The pairs of "a:1,b:2"."""
    pairs = (pair.split(":") for pair in text.split(",") if pair)
    return [(name, float(number)) for name, number in pairs]


def write_more_of(sentences):
    """So many times as many of some kinds of sentences, by the names of their functions."""
    times = dict(sentences)
    names = [make.__name__ for make in generate.MAKERS]
    assert times.keys() <= set(names), f"sentences are of {names}"
    generate.WEIGHTS = tuple(
        weight * times.get(name, 1) for name, weight in zip(names, generate.WEIGHTS)
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", default="build/fable")
    parser.add_argument("--tokens", type=int, default=40_000_000)
    parser.add_argument(
        "--decay", type=int, default=14_000_000, help="the last tokens: falling rate, long windows"
    )
    parser.add_argument(
        "--corpus", type=int, default=8_000_000, help="tokens of the corpus, drawn from at random"
    )
    parser.add_argument("--text", help="a file to train on, <|endoftext|> between its documents")
    parser.add_argument("--model", default=os.path.join(HERE, ".."), help="where the tokenizer is")
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument(
        "--muon", action="store_true", help="Muon for the projections instead of AdamW"
    )
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--start", help="a directory with the weights to start from")
    parser.add_argument(
        "--drop-heads",
        default="",
        help="layers, and the share of their heads that a sequence is without: 3:0.6,2:0.2",
    )
    parser.add_argument(
        "--drop-mlp", default="", help="layers, and the share of sequences without their MLP: 3:0.7"
    )
    parser.add_argument(
        "--more", default="", help="kinds of sentences and how many times as many: giving:3"
    )
    parser.add_argument(
        "--repeats",
        type=float,
        default=0.07,
        help="share of the documents that are random ids of the vocabulary, said twice",
    )
    parser.add_argument("--report", type=int, default=250, help="steps between lines of loss.csv")
    options = parser.parse_args()
    write_more_of(named_numbers(options.more))
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    os.makedirs(options.work, exist_ok=True)

    tokenizer = ByteLevelBPETokenizer(
        os.path.join(options.model, "vocab.json"), os.path.join(options.model, "merges.txt")
    )
    vocabulary = tokenizer.get_vocab_size()
    end = tokenizer.token_to_id("<|endoftext|>")
    assert end == vocabulary - 1
    model = GPT2(vocabulary, LONG_WINDOW, options.width, options.layers, options.heads)
    if options.start:
        model.load_state_dict(load(options.start).state_dict())
    for layer, share in named_numbers(options.drop_heads):
        model.h[int(layer)].attn.drop = share
    for layer, share in named_numbers(options.drop_mlp):
        model.h[int(layer)].mlp.drop = share
    optimizers = optimizers_for(model, options.muon)
    steps, falling = options.tokens // BATCH, options.decay // BATCH
    step, spent = 0, 0.0
    checkpoint = os.path.join(options.work, "checkpoint.pt")
    if os.path.exists(checkpoint):
        state = torch.load(checkpoint)
        model.load_state_dict(state["model"])
        for (optimizer, _), kept in zip(optimizers, state["optimizers"]):
            optimizer.load_state_dict(kept)
        step, spent = state["step"], state["seconds"]
    parameters = sum(p.numel() for p in model.parameters())
    print(
        f"{parameters} parameters, {vocabulary} tokens, {steps} steps, from step {step}", flush=True
    )
    kept = os.path.join(options.work, "corpus.pickle")  # for when it continues
    if not os.path.exists(kept):
        with open(kept + ".new", "wb") as file:
            pickle.dump(Corpus(tokenizer, end, options.corpus, options.text, options.repeats), file)
        os.replace(kept + ".new", kept)
    with open(kept, "rb") as file:
        corpus = pickle.load(file)
    print(f"corpus of {len(corpus.ids)} tokens, {len(corpus.starts)} documents", flush=True)
    probes = Probes(tokenizer, 0 if options.text else 120)

    def keep():
        torch.save(
            {
                "model": model.state_dict(),
                "step": step,
                "optimizers": [optimizer.state_dict() for optimizer, _ in optimizers],
                "seconds": spent + time.time() - began,
            },
            checkpoint + ".new",
        )
        os.replace(checkpoint + ".new", checkpoint)
        save(model, os.path.join(options.work, "export"))

    stopping = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.append(True))
    began, losses = time.time(), []
    log = open(os.path.join(options.work, "loss.csv"), "a", newline="")
    writer = csv.writer(log)
    if step == 0:
        writer.writerow(
            ["step", "tokens", "seconds", "rate", "loss", "induction_top1", "induction_head"]
            + probes.names
        )
    while step < steps and not stopping:
        width = LONG_WINDOW if step >= steps - falling else WINDOW
        torch.manual_seed(SEED + step)
        ids = corpus.windows(step, BATCH // width, width)
        now = rate(step, steps, falling, options.rate)
        for optimizer, times in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = now * times
        model.train()
        loss = model.loss(ids)
        model.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer, _ in optimizers:
            optimizer.step()
        step += 1
        losses.append(loss.item())
        if step % options.report == 0 or step == steps:
            model.eval()
            right, head = probes.induction(model, vocabulary)
            accuracy = probes.accuracy(model)
            writer.writerow(
                [
                    step,
                    step * BATCH,
                    round(spent + time.time() - began),
                    f"{now:.6f}",
                    f"{sum(losses) / len(losses):.4f}",
                    f"{right:.3f}",
                    f"{head:.3f}",
                ]
                + [f"{accuracy[name]:.3f}" for name in probes.names]
            )
            log.flush()
            losses = []
        if step % 500 == 0:
            keep()
    keep()


if __name__ == "__main__":
    main()

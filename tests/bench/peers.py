#!/usr/bin/env python3
"""peers.py - attn-cli beside what else does the same work, as ratios (make bench).

    peers.py ATTN_CLI FOLDER [--threads N] [--rounds N]

A random GPT-2 of 124 million parameters is made in FOLDER once. Each round runs attn-cli bench and
then every peer that is installed, on the same weights and numbers of tokens, with the attention
matrix of every head made; the ratio of a round is peer / attn-cli, and the median over rounds is
shown. Above 1 attn-cli is faster. Peers that are not installed are named and left out.
"""
import argparse
import csv
import io
import os
import statistics
import subprocess
import sys
import time

LENGTHS = (6, 32, 128, 512, 1024)


SIZES = ("d_model=768", "n_head=12", "n_layer=12", "d_mlp=3072", "act_fn=gelu_new",
         "norm=layernorm", "positions=learned", "n_ctx=1024", "n_vocab=50257", "residual=true",
         "bias=true", "out_proj=true", "output=tied")


def make_model(tool, folder):
    """The directory of the model: made by transformers, or without it by attn-cli, in its own
    naming, when there is nobody else to read it."""
    try:
        import torch
        from transformers import GPT2Config, GPT2LMHeadModel
    except ImportError:
        path = os.path.join(folder, "gpt2-124m-attn")
        if not os.path.exists(path):
            options = [word for size in SIZES for word in ("--set", size)]
            subprocess.run([tool, "init", path, *options], check=True)
        return path
    path = os.path.join(folder, "gpt2-124m")
    if not os.path.exists(os.path.join(path, "model.safetensors")):
        torch.manual_seed(0)
        GPT2LMHeadModel(GPT2Config()).save_pretrained(path)
    return path


def measure_ours(tool, model, threads, folder):
    """Seconds by (part, name) of one round of attn-cli bench, and each row's share of the limit."""
    command = [tool, "bench", "-m", model, "-t", str(threads), "--format", "csv", "--seconds", "0",
               "--parts", "prefill,decode,write"]
    text = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder).stdout
    return {(row["part"], row["name"]): (float(row["seconds"]), float(row["share"]))
            for row in csv.DictReader(io.StringIO(text))}


def best_of(run, n=3):
    """The median of N runs after one that is not counted."""
    run()
    times = []
    for _ in range(n):
        begun = time.perf_counter()
        run()
        times.append(time.perf_counter() - begun)
    return statistics.median(times)


class Transformers:
    """PyTorch with transformers in eager mode, every attention matrix returned."""

    def __init__(self, model, threads):
        import torch
        import transformers

        self.name = f"transformers {transformers.__version__}, torch {torch.__version__}"
        self.torch = torch
        transformers.utils.logging.disable_progress_bar()
        torch.set_num_threads(threads)
        self.model = transformers.GPT2LMHeadModel.from_pretrained(model, attn_implementation="eager")
        self.model.eval()

    def run(self, n):
        ids = self.torch.arange(n).reshape(1, n) * 7 % 50257
        with self.torch.inference_mode():
            hidden = self.model.transformer(ids, output_attentions=True, use_cache=False)
            self.model.lm_head(hidden.last_hidden_state[:, -1])

    def measure(self, folder):
        del folder
        return {("prefill", f"{n} tokens, all patterns"): best_of(lambda n=n: self.run(n))
                for n in LENGTHS}


class Numpy:
    """numpy.savetxt and numpy.save of 12 matrices of 256 x 256, as `write` does."""

    def __init__(self, model, threads):
        del model, threads
        import numpy

        self.name = f"numpy {numpy.__version__}"
        self.numpy = numpy
        scores = numpy.random.default_rng(0).uniform(-4, 4, (12, 256, 256)).astype("float32")
        scores[:, numpy.triu(numpy.ones((256, 256), bool), 1)] = -numpy.inf
        weights = numpy.exp(scores - scores.max(-1, keepdims=True))
        self.patterns = (weights / weights.sum(-1, keepdims=True)).astype("float32")

    def save_text(self, folder):
        for head, pattern in enumerate(self.patterns):
            self.numpy.savetxt(os.path.join(folder, f"{head}.csv"), pattern, "%.9g", ",")

    def measure(self, folder):
        save = self.numpy.save
        name = "{}, 12 heads, 256 tokens"
        return {("write", name.format("csv")): best_of(lambda: self.save_text(folder)),
                ("write", name.format("npy")):
                    best_of(lambda: save(os.path.join(folder, "all.npy"), self.patterns))}


def open_peers(model, threads):
    peers = []
    for kind in (Transformers, Numpy):
        try:
            peers.append(kind(model, threads))
        except ImportError as error:
            print(f"left out: {kind.__doc__.split(',')[0].rstrip('.')} ({error})", file=sys.stderr)
    return peers


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("folder")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    os.makedirs(args.folder, exist_ok=True)
    tool = os.path.abspath(args.tool)
    model = os.path.abspath(make_model(tool, args.folder))
    scratch = os.path.join(args.folder, "scratch")
    os.makedirs(scratch, exist_ok=True)
    peers = open_peers(model, args.threads)
    ours, ratios = {}, {}
    for _ in range(args.rounds):
        rows = measure_ours(tool, model, args.threads, scratch)
        for key, figures in rows.items():
            ours.setdefault(key, []).append(figures)
        for peer in peers:
            for key, seconds in peer.measure(scratch).items():
                if key in rows:
                    ratios.setdefault((key, peer.name), []).append(seconds / rows[key][0])
    print(f"{args.threads} threads, {args.rounds} rounds, GPT-2 124M, float32; medians")
    print(f"{'part':<10}{'':<30}{'ms':>10}{'share':>8}   times as long as attn-cli")
    for key, figures in ours.items():
        seconds = statistics.median(f[0] for f in figures)
        share = statistics.median(f[1] for f in figures)
        others = "  ".join(f"{statistics.median(values):.2f} {name}"
                           for (k, name), values in ratios.items() if k == key)
        print(f"{key[0]:<10}{key[1]:<30}{1e3 * seconds:>10.2f}{100 * share:>7.0f}%   {others}")


if __name__ == "__main__":
    main()

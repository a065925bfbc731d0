#!/usr/bin/env python3
"""growth.py - what the work costs as it grows: tokens, layers, items, threads; time, and peak memory.

    python tests/bench/growth.py build/release/attn-cli [ROUNDS [LIMIT]]

Narrow models with random weights are drawn (64 wide, 4 heads of 16, no vocabulary), so that what grows is seen and not a product
of weights. Every row is a fresh process from its start to its end: the least of ROUNDS (3), rounds in turn over the threads.
`growth` is the exponent from the size before: 1 doubles where the size doubles, 2 makes four times as much. Of memory it is that
of MiB beyond those of one token by the same model, and left out below 1 MiB: a process has at least the peak of this script.
A series ends after a step that took more than LIMIT seconds (120), but not before its second.
"""
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time

LAYERS, TOKENS, VOCABULARY = 2, 256, 1000
CONFIG = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": VOCABULARY, "hidden_size": 64,
          "intermediate_size": 128, "num_hidden_layers": LAYERS, "num_attention_heads": 4, "num_key_value_heads": 4,
          "hidden_act": "silu", "rms_norm_eps": 1e-5, "rope_theta": 10000, "max_position_embeddings": 8192,
          "tie_word_embeddings": True, "torch_dtype": "float32"}
PATTERNS, MEASURES = "all patterns, --npy", "measures, heads"


def ids(n):
    return ",".join(str((i * 7919 + 13) % VOCABULARY) for i in range(n))


class Growth:
    def __init__(self, tool, n_round, limit, folder):
        self.tool, self.n_round, self.limit, self.folder = tool, n_round, limit, folder
        self.models = {}

    def model(self, n_layer):
        if n_layer not in self.models:
            config = os.path.join(self.folder, "config.json")
            with open(config, "w", encoding="ascii") as file:
                json.dump(CONFIG | {"num_hidden_layers": n_layer}, file)
            self.models[n_layer] = os.path.join(self.folder, f"{n_layer}-layers")
            subprocess.run([self.tool, "init", self.models[n_layer], "--config", config], check=True,
                           stdout=subprocess.DEVNULL)
        return self.models[n_layer]

    def run(self, *argv):
        """Seconds of the processor, seconds by the clock, MiB."""
        begun = time.perf_counter()
        process = subprocess.Popen([self.tool, *argv], stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begun
        if status != 0:
            sys.exit(f"{' '.join(argv)[:200]}: status {status}")
        return used.ru_utime + used.ru_stime, seconds, used.ru_maxrss / 1024

    def text(self, what, n_layer, n_token, threads):
        out = os.path.join(self.folder, "patterns" if what == PATTERNS else "table.csv")
        command = ["run", "-q", "--npy", out] if what == PATTERNS else ["heads", "-q", "--csv", out]
        found = self.run(*command, "-m", self.model(n_layer), "-t", str(threads), "--ids", ids(n_token))
        shutil.rmtree(out, ignore_errors=True)
        return found

    def items(self, n_item, threads):
        path, out = os.path.join(self.folder, "items.jsonl"), os.path.join(self.folder, "each.csv")
        with open(path, "w", encoding="ascii") as file:
            file.writelines(f'{{"ids": [{ids(6 + i * 7 % 29)}]}}\n' for i in range(n_item))
        return self.run("heads", "-q", "-m", self.model(LAYERS), "-t", str(threads), "--items", path, "--each", out)

    def show(self, title, sizes, measure, base):
        """A series. MEASURE gives the cost of a size by a number of threads, BASE that of one token."""
        before = {}
        memory = {threads: base(threads)[2] for threads in (1, 2)}
        for i, size in enumerate(sizes):
            turns = [{threads: measure(size, threads) for threads in (1, 2)} for _ in range(self.n_round)]
            for threads in (1, 2):
                cpu, clock, peak = (min(turn[threads][k] for turn in turns) for k in range(3))
                now = cpu, clock, peak - memory[threads]
                growth = [f"{math.log(new / old) / math.log(size / sizes[i - 1]):.2f}" if i > 0 and min(new, old) >= least else ""
                          for new, old, least in zip(now, before.get(threads, now), (1e-6, 1e-6, 1))]
                print(f"| {title if i == 0 and threads == 1 else ''} | {size if threads == 1 else ''} | {threads} | {cpu:.3f} | "
                      f"{growth[0]} | {clock:.3f} | {growth[1]} | {peak:.1f} | {growth[2]} |", flush=True)
                before[threads] = now
            if i > 0 and max(clock for turn in turns for _, clock, _ in turn.values()) > self.limit:
                break


def doubling(first, last):
    return [first << i for i in range((last // first).bit_length())]


def main():
    tool, n_round, limit = (sys.argv[1:] + ["3", "120"][len(sys.argv) - 2:])[:3]
    print("| what | size | threads | s of CPU | growth | s | growth | MiB | growth |\n|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        growth = Growth(tool, int(n_round), float(limit), folder)
        for what in (PATTERNS, MEASURES):
            growth.show(f"tokens, {what}", doubling(128, 8192), lambda n, t, what=what: growth.text(what, LAYERS, n, t),
                        lambda t, what=what: growth.text(what, LAYERS, 1, t))
        for what in (PATTERNS, MEASURES):
            growth.show(f"layers, {TOKENS} tokens, {what}", [*doubling(1, 32), 48],
                        lambda n, t, what=what: growth.text(what, n, TOKENS, t),
                        lambda t, what=what: growth.text(what, 1, 1, t))
        growth.show("items of 6 to 34 tokens, heads --each", [100, 1000, 10000, 100000], growth.items,
                    lambda t: growth.items(1, t))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""studies.py - ablate --items beside transformers and TransformerLens doing the same by hooks.

    python tests/bench/studies.py build/release/attn-cli build/release/bench/gpt2-random [N [ROUNDS]]

The work: zeros instead of the z of each head, in turn, for each of N items (20) of 14 to 26 tokens,
and how that changes logit(target) - logit(foil) after the last token. Everybody gets one thread and
is asked in turn; what is counted is the time of the processor for an item, without opening the
model. The ratio of a round is that of a peer divided by ours, and the median over the rounds (3) is
shown. The peers' changes must be ours to 1e-3.
"""
import csv
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version

TARGET, FOIL = 11, 12


def make_items(n):
    random.seed(1)
    return [[random.randrange(50000) for _ in range(random.randint(14, 26))] for _ in range(n)]


def children_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Ours:
    name = "attn-cli ablate --items"

    def __init__(self, tool, model, items, folder):
        self.command = [tool, "ablate", "-q", "-m", model, "-t", "1", "--target", f"ids:{TARGET}",
                        "--foil", f"ids:{FOIL}", "--csv", os.path.join(folder, "table.csv"),
                        "--each", os.path.join(folder, "each.csv"), "--items"]
        self.files = []
        for name, records in (("none.jsonl", [{}]), ("all.jsonl", [{"ids": i} for i in items])):
            self.files.append(os.path.join(folder, name))
            with open(self.files[-1], "w", encoding="ascii") as file:
                file.writelines(json.dumps(record) + "\n" for record in records)
        self.folder, self.n = folder, len(items)

    def seconds(self):
        """Of an item: of all of them, less those of a file whose one item has no text."""
        times = []
        for path in self.files:
            begun = children_seconds()
            subprocess.run([*self.command, path], check=path == self.files[-1])
            times.append(children_seconds() - begun)
        return (times[1] - times[0]) / self.n

    def changes(self):
        """[item][layer * head]"""
        found = {}
        with open(os.path.join(self.folder, "each.csv"), encoding="ascii") as file:
            for row in csv.DictReader(file):
                if row["part"] == "head":
                    found.setdefault(int(row["id"]), []).append(float(row["change"]))
        return [found[i] for i in range(self.n)]


class Transformers:
    """Zeros by a hook before c_proj. An item at a time, the heads of a layer side by side; or a head
    at a time, all items side by side, padded on the left."""

    def __init__(self, model, items, is_padded):
        import torch
        import transformers

        torch.set_num_threads(1)
        transformers.utils.logging.disable_progress_bar()
        self.torch, self.items, self.is_padded = torch, items, is_padded
        self.model = transformers.AutoModelForCausalLM.from_pretrained(model).eval()
        self.name = f"transformers {transformers.__version__}, " + (
            "a head of all items, padded" if is_padded else "the heads of a layer at a time")

    def run(self, ids, **more):
        logits = self.model(ids, use_cache=False, logits_to_keep=1, **more).logits[:, -1]
        return logits[:, TARGET] - logits[:, FOIL]

    def with_zeros(self, layer, zero, run):
        def hook(_, args):
            z = args[0].clone()
            zero(z)
            return (z,)

        handle = self.model.transformer.h[layer].attn.c_proj.register_forward_pre_hook(hook)
        found = run()
        handle.remove()
        return found

    def padded(self):
        torch, config = self.torch, self.model.config
        longest, d = max(map(len, self.items)), config.n_embd // config.n_head
        ids = torch.tensor([[0] * (longest - len(item)) + item for item in self.items])
        mask = torch.tensor([[0] * (longest - len(i)) + [1] * len(i) for i in self.items])
        more = {"attention_mask": mask, "position_ids": (mask.cumsum(1) - 1).clamp(min=0)}
        base, found = self.run(ids, **more), []
        for layer in range(config.n_layer):
            for head in range(config.n_head):
                def zero(z, head=head):
                    z[:, :, head * d:(head + 1) * d] = 0
                found.append(self.with_zeros(layer, zero, lambda: self.run(ids, **more)) - base)
        return torch.stack(found, 1).tolist()

    def one_by_one(self):
        torch, config = self.torch, self.model.config
        d, changes = config.n_embd // config.n_head, []

        def zero(z):
            for head in range(config.n_head):
                z[head, :, head * d:(head + 1) * d] = 0

        for item in self.items:
            base, found = self.run(torch.tensor([item])), []
            many = torch.tensor([item] * config.n_head)
            for layer in range(config.n_layer):
                found.append(self.with_zeros(layer, zero, lambda: self.run(many)) - base)
            changes.append(torch.cat(found).tolist())
        return changes

    def changes(self):
        with self.torch.inference_mode():
            return self.padded() if self.is_padded else self.one_by_one()


class TransformerLens:
    """hook_z set to zero, a head of an item at a time, as its tutorials do."""

    def __init__(self, model, items):
        import torch
        import transformers
        from transformer_lens.model_bridge import TransformerBridge

        torch.set_num_threads(1)
        torch.set_grad_enabled(False)
        transformers.utils.logging.disable_progress_bar()
        source = transformers.AutoModelForCausalLM.from_pretrained(model)
        self.model = TransformerBridge.boot_transformers(model, device="cpu", hf_model=source)
        self.torch, self.items = torch, items
        self.name = f"TransformerLens {version('transformer_lens')}, a head at a time"

    def changes(self):
        torch, config, changes = self.torch, self.model.cfg, []
        for item in self.items:
            ids, found = torch.tensor([item]), []
            base = self.difference(self.model(ids))
            for layer in range(config.n_layers):
                for head in range(config.n_heads):
                    def zero(z, hook, head=head):
                        z[:, :, head] = 0
                        return z
                    found.append(self.difference(self.model.run_with_hooks(
                        ids, fwd_hooks=[(f"blocks.{layer}.attn.hook_z", zero)])) - base)
            changes.append(found)
        return changes

    @staticmethod
    def difference(logits):
        return float(logits[0, -1, TARGET] - logits[0, -1, FOIL])


PEERS = {
    "layer": lambda model, items: Transformers(model, items, False),
    "padded": lambda model, items: Transformers(model, items, True),
    "lens": TransformerLens,
}


def serve(peer, model, n):
    """A peer's process: for each line it works once, and says how long and what it found."""
    made = PEERS[peer](model, make_items(n))
    print(json.dumps(made.name), flush=True)
    for _ in sys.stdin:
        begun = time.process_time()
        changes = made.changes()
        print(json.dumps([(time.process_time() - begun) / n, changes]), flush=True)


def open_peers(model, n):
    for peer in PEERS:
        process = subprocess.Popen(
            [sys.executable, __file__, "--serve", peer, model, str(n)], text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        line = process.stdout.readline()
        if line:
            yield json.loads(line), process
        else:
            errors = process.communicate()[1].strip().splitlines()
            print(f"left out: {peer} ({errors[-1] if errors else 'it ended'})", file=sys.stderr)


def main():
    tool, model = sys.argv[1:3]
    n, n_round = (int(word) for word in (sys.argv[3:] + ["20", "3"][len(sys.argv) - 3:])[:2])
    peers = list(open_peers(os.path.abspath(model), n))
    seconds, differences = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        ours = Ours(tool, model, make_items(n), folder)
        for _ in range(n_round):
            seconds.setdefault(ours.name, []).append(ours.seconds())
            expected = ours.changes()
            for name, process in peers:
                process.stdin.write("go\n")
                process.stdin.flush()
                used, changes = json.loads(process.stdout.readline())
                seconds.setdefault(name, []).append(used)
                differences[name] = max(abs(a - b) for x, y in zip(expected, changes)
                                        for a, b in zip(x, y))
    for _, process in peers:
        process.communicate()
    print(f"{'ablate, ' + str(n) + ' items, each head':<52}{'s of CPU an item':>18}{'ratio':>8}")
    for name, times in seconds.items():
        ratio = statistics.median(a / b for a, b in zip(times, seconds[ours.name]))
        print(f"{name:<52}{statistics.median(times):>18.3f}"
              f"{'' if name == ours.name else f'{ratio:.2f}':>8}")
    for name, difference in differences.items():
        if not difference < 1e-3:
            sys.exit(f"{name}: changes differ by {difference:g}")


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        serve(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        main()

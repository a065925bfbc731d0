#!/usr/bin/env python3
"""records.py - every pattern of many short texts in a file: run --items beside a loop of transformers.

    python tests/bench/records.py build/release/attn-cli MODEL [N [ROUNDS]]

MODEL is a directory; `small` draws a GPT-2 of fable's shape (4 layers, 8 heads, 128 wide). The work: N texts (6000) of 6 to 34
tokens, in their order, and all their attention matrices, each as large as its text, as .npz or as a line of JSON. transformers
gets 32 texts at a time, padded to the longest; once nobody reads its matrices, and then they are saved by numpy and zipfile or
by json. Everybody is a fresh process with one thread, all are asked in turn, and what is counted is the time of the processor
for a text, less the same for a single one. The ratio of a round is that of a peer divided by ours, and the median over the
rounds (3) is shown, for the loop whose matrices nobody reads that to --npz. The matrices of the last text must be ours to 1e-4.
"""
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
import zipfile

from batches import LENGTHS, make_texts

SIZE = 32  # texts at a time
SMALL = {"model_type": "gpt2", "n_layer": 4, "n_head": 8, "n_embd": 128, "n_positions": 256, "vocab_size": 2041,
         "architectures": ["GPT2LMHeadModel"]}
NAME = "blocks.%d.attn.hook_pattern"
OURS = {"npz": "attn-cli run --items --npz", "jsonl": "attn-cli run --items --jsonl"}
PEERS = {"loop": "nobody reads them", "npz": "numpy saves them", "jsonl": "json writes them"}
BESIDE = {"loop": "npz", "npz": "npz", "jsonl": "jsonl"}


def loop(model, path, how, out):
    """The peer: the texts of PATH, and their matrices as HOW says into OUT."""
    import numpy
    import torch
    import transformers

    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    reader = transformers.AutoModelForCausalLM.from_pretrained(model, attn_implementation="eager").eval()
    with open(path, encoding="ascii") as file:
        texts = [json.loads(line)["ids"] for line in file]
    file = zipfile.ZipFile(out, "w") if how == "npz" else open(out, "w", encoding="ascii")
    with file, torch.inference_mode():
        for first in range(0, len(texts), SIZE):
            some = texts[first:first + SIZE]
            longest = max(map(len, some))
            found = reader(torch.tensor([ids + [0] * (longest - len(ids)) for ids in some]),
                           attention_mask=torch.tensor([[1] * len(ids) + [0] * (longest - len(ids)) for ids in some]),
                           output_attentions=True, use_cache=False, logits_to_keep=1).attentions
            for i, ids in enumerate(some if how != "loop" else ()):
                n = len(ids)
                matrices = {NAME % layer: each[i, :, :n, :n].numpy() for layer, each in enumerate(found)}
                if how == "jsonl":
                    arrays = {name: each.tolist() for name, each in matrices.items()}
                    file.write(json.dumps({"id": first + i, "ids": ids, "tensors": arrays}) + "\n")
                    continue
                for name, each in matrices.items():
                    member = io.BytesIO()
                    numpy.lib.format.write_array(member, each)
                    file.writestr(f"{first + i:09}/{name}.npy", member.getvalue())
    print(f"transformers {transformers.__version__}")


class Folder:
    """The texts, and one after the other of those who work on them."""

    def __init__(self, tool, model, n, folder):
        self.tool, self.model, self.n, self.folder = tool, model, n, folder
        with open(os.path.join(model, "config.json"), encoding="utf-8") as file:
            n_vocab = json.load(file)["vocab_size"]
        for path, count in (("one.jsonl", 1), ("all.jsonl", n)):
            with open(self.at(path), "w", encoding="ascii") as file:
                file.writelines(json.dumps({"ids": ids}) + "\n"
                                for ids in make_texts(LENGTHS["6 to 34 tokens"], count, n_vocab))

    def at(self, name):
        return os.path.join(self.folder, name)

    def run(self, who, how, texts):
        """Seconds of the processor and MiB of the process, and the last line that it printed."""
        out = self.at(f"{who}.{how}")
        command = [self.tool, "run", "-q", "-m", self.model, "-t", "1", "--items", texts, "--sites", "pattern",
                   f"--{how}", out] if who == "ours" else [
                       sys.executable, __file__, "--loop", self.model, texts, how, out]
        if os.path.exists(out):
            os.remove(out)  # a complete file is not written again
        with open(self.at("said"), "w+", encoding="utf-8") as said, open(self.at("errors"), "w+", encoding="utf-8") as errors:
            process = subprocess.Popen(command, stdout=said, stderr=errors,
                                       env=os.environ | {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"})
            _, status, used = os.wait4(process.pid, 0)
            said.seek(0), errors.seek(0)
            lines, wrong = said.read().strip().splitlines(), errors.read().strip().splitlines()
        if status != 0:
            raise RuntimeError(wrong[-1] if wrong else f"{who} ended with status {status}")
        return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, lines[-1] if lines else ""

    def seconds(self, who, how):
        """Of a text, the MiB, and the last line."""
        opening = self.run(who, how, self.at("one.jsonl"))[0]
        used, memory, said = self.run(who, how, self.at("all.jsonl"))
        return (used - opening) / max(self.n - 1, 1), memory, said

    def last(self, who, how):
        """The matrices of the last text."""
        import numpy

        path = self.at(f"{who}.{how}")
        if how == "npz":
            with zipfile.ZipFile(path) as file:
                return [numpy.load(io.BytesIO(file.read(name))) for name in file.namelist()
                        if name.startswith(f"{self.n - 1:09}/blocks")]
        with open(path, encoding="utf-8") as file:
            for line in file:
                pass
        return [numpy.nan_to_num(numpy.array(each, float)) for each in json.loads(line)["tensors"].values()]


def draw(tool, folder):
    """The directory of a GPT-2 of fable's shape."""
    with open(os.path.join(folder, "config.json"), "w", encoding="ascii") as file:
        json.dump(SMALL, file)
    model = os.path.join(folder, "small")
    subprocess.run([tool, "init", model, "--config", os.path.join(folder, "config.json")], check=True,
                   stdout=subprocess.DEVNULL)
    return model


def main():
    tool, model = sys.argv[1:3]
    n, n_round = (int(word) for word in (sys.argv[3:] + ["6000", "3"][len(sys.argv) - 3:])[:2])
    work = [("ours", how) for how in OURS] + [("peer", how) for how in PEERS]
    turns, differences = [], {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Folder(tool, draw(tool, scratch) if model == "small" else model, n, scratch)
        try:
            folder.run("peer", "loop", folder.at("one.jsonl"))  # so that libraries lie in memory
        except RuntimeError as error:
            print(f"left out: transformers ({error})", file=sys.stderr)
            work = [(who, how) for who, how in work if who == "ours"]
        for _ in range(n_round):
            turns.append({row: folder.seconds(*row) for row in work})
        for who, how in work:
            if who == "peer" and how != "loop":
                differences[how] = max(float(abs(a - b).max())
                                       for a, b in zip(folder.last("ours", how), folder.last("peer", how), strict=True))
    print(f"{str(n) + ' texts of 6 to 34 tokens':<60}{'ms of CPU a text':>18}{'MiB':>7}{'ratio':>8}")
    for who, how in work:
        used = [turn[who, how] for turn in turns]
        ratio = statistics.median(turn[who, how][0] / turn["ours", BESIDE[how]][0] for turn in turns)
        name = OURS[how] if who == "ours" else f"{used[0][2]}, {SIZE} at a time, {PEERS[how]}"
        print(f"{name:<60}{1e3 * statistics.median(each[0] for each in used):>18.3f}"
              f"{max(each[1] for each in used):>7.0f}{'' if who == 'ours' else f'{ratio:.2f}':>8}")
    for how, difference in differences.items():
        if not difference < 1e-4:
            sys.exit(f"{how}: matrices differ by {difference:g}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--loop"]:
        loop(*sys.argv[2:])
    else:
        main()

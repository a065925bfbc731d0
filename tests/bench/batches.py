"""batches.py - many short texts: sentences a second of attn-cli heads --items beside one process each and
transformers.

A line is a model and the lengths of its texts; all run in turn, and the ratio is our sentences a
second on all threads divided by theirs in the same turn. Opening the model is not counted, but for
the processes, whose every start is part of the work. attn-cli measures every head and writes the
numbers; transformers returns the attention of every layer (output_attentions), padded to the
longest text of a batch, and nobody reads it.
"""
import json
import os
import statistics
import subprocess
import sys
import time

SIZES = (1, 8, 32)  # texts at a time
LENGTHS = {"20 tokens": [20], "6 to 34 tokens": [20, 9, 31, 13, 27, 6, 34, 17, 23]}


def make_texts(lengths, n, n_vocab):
    """N lists of ids, whose lengths are those of LENGTHS again and again."""
    return [[((i * 41 + k) * 7919 + 13) % n_vocab for k in range(lengths[i % len(lengths)])]
            for i in range(n)]


class Batches:
    """The lines of some models, (label, directory, texts a turn, texts of each process's turn).
    OPEN opens a peer of transformers with a model, or returns None."""

    def __init__(self, args, models, open_worker, folder):
        self.args, self.models, self.open_worker = args, models, open_worker
        self.records = os.path.join(folder, "records.jsonl")
        self.ids = os.path.join(folder, "ids.txt")

    def seconds(self, *argv, stdin=None):
        begun = time.perf_counter()
        subprocess.run(argv, check=True, stdin=stdin, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        return time.perf_counter() - begun

    def batch(self, model, texts, threads):
        """Sentences a second of attn-cli heads --items: the time of one sentence is taken for that of
        opening."""
        command = [self.args.tool, "heads", "-m", model, "-t", str(threads), "--items", self.records, "--each", "-"]
        with open(self.records, "w", encoding="ascii") as file:
            file.writelines(json.dumps({"ids": ids}) + "\n" for ids in texts)
        # The first start after a peer has filled the caches takes longer than those that follow.
        with open(self.ids, "w", encoding="ascii") as file:
            file.write(json.dumps({"ids": texts[0]}) + "\n")
        opening = min(self.seconds(*command[:-3], self.ids, *command[-2:]) for _ in range(3))
        return (len(texts) - 1) / max(self.seconds(*command) - opening, 1e-9)

    def processes(self, model, texts):
        """Of one process a sentence, as many side by side as there are threads."""
        with open(self.ids, "w", encoding="ascii") as file:
            file.writelines(",".join(map(str, ids)) + "\n" for ids in texts)
        with open(self.ids, encoding="ascii") as file:
            return len(texts) / self.seconds(
                "xargs", "-P", str(self.args.threads), "-n", "1", self.args.tool, "heads", "-m",
                model, "-t", "1", "--json", "-", "--ids", stdin=file)

    def rates(self, model, lengths, counts, workers):
        """One turn: (label, sentences a second), ours on all threads first."""
        n_vocab, n_batch, n_process, n_peer = counts
        texts = make_texts(lengths, n_batch, n_vocab)
        threads = self.args.threads
        yield f"attn-cli heads --items -t {threads}", self.batch(model, texts, threads)
        if threads > 1:
            yield "attn-cli heads --items -t 1", self.batch(model, texts, 1)
        yield (f"attn-cli heads, xargs -P {threads}",
               self.processes(model, texts[:n_process]))
        for worker in workers:
            for size in SIZES:
                answer = worker.ask("batch", texts[:n_peer], size)
                yield f"{worker.peer.label}, {size} at a time", n_peer / answer

    def show_model(self, label, model, counts):
        workers = [worker for worker in map(lambda peer: self.open_worker(peer, model),
                                            self.args.peers) if worker is not None]
        for name, lengths in LENGTHS.items():
            turns = [dict(self.rates(model, lengths, counts, workers))
                     for _ in range(self.args.rounds)]
            ours = next(iter(turns[0]))
            title = f"{label}, {name}"
            for line in turns[0]:
                rate = statistics.median(turn[line] for turn in turns)
                ratio = statistics.median(turn[ours] / turn[line] for turn in turns)
                print(f"{title:<28}{line:<40}{rate:>9.1f}"
                      f"{'' if line == ours else f'{ratio:.2f}':>8}", flush=True)
                title = ""
        for worker in workers:
            worker.close()

    def show(self):
        print(f"{'many texts':<28}{'':<40}{'texts/s':>9}{'ratio':>8}")
        for label, model, counts in self.models:
            if os.path.exists(os.path.join(model, "config.json")):
                self.show_model(label, model, counts)
            else:
                print(f"left out: {label} ({model} is missing)", file=sys.stderr)
        for path in (self.records, self.ids):
            if os.path.exists(path):
                os.remove(path)

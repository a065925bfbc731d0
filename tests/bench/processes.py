"""processes.py - fresh processes beside each other: from a command to its end, everything included.

A comparison is a title, our command, and those it is compared with; all run in turn, and the ratio
is theirs / ours of the same turn. Files go into a folder that is empty at each start.
"""
import dataclasses
import json
import os
import shutil
import statistics
import subprocess
import sys
import time

import shapes

TEXT = "The keys to the cabinet are"  # six tokens of GPT-2
MIB = 2 ** 20
LONG = shapes.N_CTX  # tokens


@dataclasses.dataclass
class Command:
    label: str
    argv: list
    environment: dict = dataclasses.field(default_factory=lambda: os.environ)


@dataclasses.dataclass
class Comparison:
    title: str
    commands: list  # ours first
    n_turn: int


def run(command, folder):
    """Seconds from start to end, and the peak of resident memory in bytes."""
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    devices = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
               (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)]
    begun = time.perf_counter()
    process = os.posix_spawn(command.argv[0], command.argv, command.environment,
                             file_actions=devices)
    _, status, usage = os.wait4(process, 0)
    seconds = time.perf_counter() - begun
    if status != 0:
        raise ChildProcessError(f"{command.label}: {' '.join(command.argv)} failed")
    return seconds, usage.ru_maxrss * 1024


def run_warm(command, folder):
    """run, after one that is not counted, as the peers that write files have it."""
    run(command, folder)
    return run(command, folder)


def compile_program(source, path):
    """PATH, or None where there is no compiler."""
    try:
        subprocess.run([os.environ.get("CC", "cc"), "-O3", "-march=native", "-pthread", "-x", "c",
                        "-", "-o", path], input=source, check=True, text=True)
    except (FileNotFoundError, subprocess.CalledProcessError):
        print(f"left out: {os.path.basename(path)} (no C compiler)", file=sys.stderr)
        return None
    return path


def tensor_ranges(path, is_wanted):
    """Where in the file the wanted tensors lie, neighbours as one."""
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
    header.pop("__metadata__", None)
    ranges = []
    for begin, end in sorted(entry["data_offsets"] for name, entry in header.items()
                             if is_wanted(name)):
        if ranges and ranges[-1][1] == begin:
            ranges[-1][1] = end
        else:
            ranges.append([begin, end])
    return [(8 + size + begin, 8 + size + end) for begin, end in ranges]


class Bench:
    """The comparisons of one model with the peers of WORKERS; of those, only the one that writes
    files still runs."""

    def __init__(self, args, model, workers, here):
        self.args, self.model = args, model
        self.peers = [worker.peer for worker in workers if worker.peer.is_model]
        self.saver = next((worker for worker in workers if not worker.peer.is_model), None)
        self.folder = os.path.abspath("written")
        with open(os.path.join(here, "map_and_sum.c"), encoding="ascii") as file:
            self.map_and_sum = compile_program(file.read(), os.path.abspath("map_and_sum"))
        self.empty = compile_program("int main(void) { return 0; }", os.path.abspath("empty"))
        self.weights = os.path.join(model, "model.safetensors")

    def ours(self, *options, label="attn-cli"):
        return Command(label, [self.args.tool, "run", "-m", self.model, "-t",
                               str(self.args.threads), *options])

    def ids(self, n):
        return ["--ids", ",".join(str((i * 7919 + 13) % 50257) for i in range(n))]

    def patterns(self, form="npy"):
        return ["--sites", "pattern", f"--{form}", self.folder]

    def theirs(self, n, *folder):
        """Those who can save patterns, if it is into a folder."""
        peers = [peer for peer in self.peers
                 if peer.compute == "float32" and (peer.has_patterns or not folder)]
        return [Command(peer.label, [*peer.command(self.model, self.args.threads), "once", str(n),
                                     *folder], peer.environment(self.args.threads))
                for peer in peers]

    def ranges(self, is_wanted=lambda name: ".h." in name):
        return tensor_ranges(self.weights, is_wanted)

    def sums(self, *is_wanted):
        if self.map_and_sum is None:
            return []
        words = [str(at) for pair in self.ranges(*is_wanted) for at in pair]
        return [Command("map and sum (C)", [self.map_and_sum, self.weights,
                                            str(self.args.threads), *words])]

    def comparisons(self):
        few, many = self.args.rounds, 6 * self.args.rounds
        six = [self.ours(*self.ids(6), *self.patterns())]
        if os.path.exists(os.path.join(self.model, "vocab.json")):
            six.append(self.ours(*self.patterns(), TEXT, label="attn-cli, by text"))
        next_token = self.ours(*self.ids(6), "--top", "1")
        yield Comparison("6 tokens, --npy", six + self.sums(), many)
        yield Comparison("6 tokens, --top", [next_token, *self.sums(
            lambda name: ".h." in name or "wte" in name)], many)
        yield Comparison("6 tokens, --npy", [six[0], *self.theirs(6)], few)
        yield Comparison(f"{LONG} tokens, --npy", [self.ours(*self.ids(LONG), *self.patterns()),
                                                   *self.theirs(LONG, self.folder)], few)
        if self.empty is not None:
            sentence = [self.args.tool, "run", "-m", "life-is-short",
                        "Life is short, eat dessert first"]
            yield Comparison("life-is-short", [Command("attn-cli", sentence),
                                               Command("an empty C program", [self.empty])],
                             10 * many)

    def measure(self, comparison):
        """Lines of the table: label, seconds, ratio, bytes of memory; medians."""
        turns = []
        for _ in range(comparison.n_turn):
            turns.append([run(command, self.folder) for command in comparison.commands])
        for i, command in enumerate(comparison.commands):
            yield (command.label, statistics.median(turn[i][0] for turn in turns),
                   statistics.median(turn[i][0] / turn[0][0] for turn in turns),
                   statistics.median(turn[i][1] for turn in turns))

    def measure_files(self, form, references):
        """Lines as of measure: all 144 heads at LONG tokens as FORM. What attn-cli needs to write
        is the time of a run less that of one that shows a single row of the last layer."""
        ids = self.ids(LONG)
        short = self.ours(*ids, "--sites", "pattern", "--heads", "11.0", "--queries", "-1")
        whole = self.ours(*ids, *self.patterns(form))
        turns = []
        for _ in range(self.args.rounds):
            without, (seconds, memory) = (run_warm(command, self.folder)
                                          for command in (short, whole))
            shutil.rmtree(self.folder)
            turns.append((seconds - without[0], memory, seconds,
                          *(self.saver.ask("save", name, 144, LONG) for name in references)))
        own, memory, seconds, *_ = (statistics.median(column) for column in zip(*turns))
        yield "attn-cli, the whole run", seconds, seconds / own, memory
        yield "attn-cli, writing alone", own, 1, memory
        for i, label in enumerate(references.values(), 3):
            yield (label, statistics.median(turn[i] for turn in turns),
                   statistics.median(turn[i] / turn[0] for turn in turns), None)

    @staticmethod
    def print_lines(title, lines):
        for label, seconds, ratio, memory in lines:
            print(f"{title:<36}{label:<28}{1e3 * seconds:>9.2f}"
                  f"{'' if memory is None else f'{memory / MIB:.0f}':>7}"
                  f"{'' if ratio == 1 else f'{ratio:.2f}':>8}", flush=True)
            title = ""

    def show_files(self):
        for form, references in (("csv", {"csv": "numpy.savetxt, by 12 heads"}),
                                 ("npy", {"npy": "numpy.save", "bytes": "write(2)"})):
            self.print_lines(f"144 heads at {LONG} tokens, {form}",
                             self.measure_files(form, references if self.saver else {}))

    def show(self):
        most = sum(end - begin for begin, end in self.ranges()) + 12 * LONG ** 2 * 4 + 50 * MIB
        print(f"{'fresh processes':<36}{'':<28}{'ms':>9}{'MiB':>7}{'ratio':>8}")
        if "process" in self.args.parts:
            for comparison in self.comparisons():
                self.print_lines(comparison.title, self.measure(comparison))
            print(f"{'':<36}{'weights, 48 MiB and 50 MiB':<28}{'':>9}{most / MIB:>7.0f}")
        if "files" in self.args.parts:
            self.show_files()
        shutil.rmtree(self.folder, ignore_errors=True)

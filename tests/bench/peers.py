#!/usr/bin/env python3
"""peers.py - attn-cli beside what else does the same work, as ratios (make bench).

Each round of a row runs bench_parts, and then asks every peer, which waits in a process of its own
with the model open, for the same work; then come fresh processes (processes.py). The ratio of a round
is peer / attn-cli, and the median over the rounds is shown: above 1 attn-cli is faster. Peers that
are not installed are named and left out. tests/bench/README.md says how to read the table.
"""
import argparse
import csv
import dataclasses
import io
import json
import os
import re
import statistics
import subprocess
import sys
import time

import batches
import processes
import shapes

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers")

# What made torch and ONNX Runtime fastest: an arena of huge pages that is never given back, and
# threads that stay on their cores.
TUNED = {
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1:glibc.malloc.mmap_max=0"
                      ":glibc.malloc.trim_threshold=17179869184",
    "OMP_PROC_BIND": "true",
}


PARTS = ["prefill", "feed", "gradients", "decode", "write", "process", "files", "batch"]
LONG = ("prefill", "feed", "gradients")  # of prompts
FRESH = {"process", "files"}  # those of processes.py
OTHER = FRESH | {"batch"}  # measured here
COMPUTES = {"float32": [], "bfloat16": ["--compute", "bf16"]}  # in the names of the peers
FEATURES = {"avx2", "avx512f", "avx512_bf16", "avx512_fp16", "amx_bf16", "asimd", "sve", "bf16"}  # for products of matrices
FABLE = os.path.join(os.path.dirname(HERE), "..", "..", "models", "fable")


# What holds a peer to AVX2, for a table of a processor that is not here. ONNX Runtime and llama.cpp choose by themselves.
AVX2 = {"ATTN_CLI_ISA": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"}


@dataclasses.dataclass(frozen=True)
class Peer:
    label: str
    script: str
    compute: str = "float32"
    is_tuned: bool = False
    has_patterns: bool = True
    is_model: bool = True
    reads_families: bool = False  # or GPT-2 alone
    reads_bert: bool = False
    can_be_held: bool = True  # to AVX2

    def command(self, model, threads):
        return [sys.executable, os.path.join(HERE, self.script), model, str(threads), self.compute,
                "tuned" if self.is_tuned else "installed"]

    def environment(self, threads):
        """Without what some machines set for OpenBLAS: it makes it slow."""
        names = {name: value for name, value in os.environ.items()
                 if not name.startswith("OPENBLAS_")}
        return names | {"OMP_NUM_THREADS": str(threads)} | (TUNED if self.is_tuned else {})


PEERS = (
    Peer("transformers", "hf_transformers.py", reads_families=True, reads_bert=True),
    Peer("transformers, tuned", "hf_transformers.py", is_tuned=True, reads_families=True,
         reads_bert=True),
    Peer("PyTorch, tuned", "plain_torch.py", is_tuned=True, reads_bert=True),
    Peer("ONNX Runtime", "onnx_runtime.py", reads_bert=True, can_be_held=False),
    Peer("ONNX Runtime, tuned", "onnx_runtime.py", is_tuned=True, reads_bert=True, can_be_held=False),
    Peer("llama.cpp F32", "llama_cpp_python.py", is_tuned=True, has_patterns=False, can_be_held=False),
    Peer("transformers bf16, tuned", "hf_transformers.py", "bfloat16", True,
         reads_families=True),
    Peer("PyTorch bf16, tuned", "plain_torch.py", "bfloat16", True),
    Peer("llama.cpp F16", "llama_cpp_python.py", "float16", True, False, can_be_held=False),
    Peer("llama.cpp BF16", "llama_cpp_python.py", "bfloat16", True, False, can_be_held=False),
    Peer("numpy", "numpy_model.py"),
    Peer("numpy.savetxt and save", "numpy_files.py", has_patterns=False, is_model=False),
)


class Worker:
    """A peer's process. It sleeps but while it is asked."""

    def __init__(self, peer, model, threads, folder):
        self.peer = peer
        self.process = subprocess.Popen(
            [*peer.command(model, threads), "serve"], env=peer.environment(threads), cwd=folder,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.versions = self.read()

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            errors = self.process.communicate()[1].strip().splitlines()
            raise ChildProcessError(errors[-1] if errors else "it ended")
        return json.loads(line)

    def ask(self, *work):
        print(json.dumps(work), file=self.process.stdin, flush=True)
        seconds = self.read()
        time.sleep(0.05)  # its threads wait for more work on the cores before they sleep
        return seconds

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def open_worker(args, peer, model, folder):
    try:
        return Worker(peer, model, args.threads, folder)
    except ChildProcessError as error:
        print(f"left out: {peer.label} ({error})", file=sys.stderr)
        return None


def open_workers(args, model, folder):
    """None where nothing is asked of them."""
    if not set(args.parts) - {"batch"}:
        return []
    workers = [open_worker(args, peer, model, folder) for peer in args.peers]
    return [worker for worker in workers if worker is not None]


def show_batches(args, model, folder):
    """Of transformers, the peer whose users pad and batch."""
    def open_one(peer, which):
        is_peer = peer.script == "hf_transformers.py" and peer.compute == "float32"
        return open_worker(args, peer, which, folder) if is_peer else None

    many, most = ((8, 2, 4),) * 2 if shapes.IS_SMALL else ((192, 24, 32), (8192, 256, 256))
    models = [(shapes.GPT2, model, (50257, *many)), ("fable", os.path.abspath(FABLE), (2041, *most))]
    if args.family is not None:
        models = [(args.family, model, (shapes.SHAPES[args.family]["vocab_size"], *many))]
    batches.Batches(args, models, open_one, folder).show()


SIZES = (f"d_model={shapes.WIDTH}", "n_head=12", "n_layer=12", f"d_mlp={4 * shapes.WIDTH}", "act_fn=gelu_new",
         "norm=layernorm", "positions=learned", f"n_ctx={shapes.N_CTX}", "n_vocab=50257", "residual=true",
         "bias=true", "out_proj=true", "output=tied")


def make_model(tool, folder):
    """The directory of the model, made once: by numpy, or without it, when nobody else can read
    it, by attn-cli in its own naming."""
    path = os.path.join(folder, "gpt2-random")
    if os.path.exists(os.path.join(path, "model.safetensors")):
        return path
    if subprocess.run([sys.executable, os.path.join(HERE, "gpt2.py"), path],
                      stderr=subprocess.DEVNULL, check=False).returncode == 0:
        return path
    path = os.path.join(folder, "gpt2-random-attn")
    if not os.path.exists(path):
        options = [word for size in SIZES for word in ("--set", size)]
        subprocess.run([tool, "init", path, *options], check=True)
    return path


def make_family(tool, folder, name):
    """The directory of a random model of that shape, made once."""
    path = os.path.join(folder, f"{name}-random")
    if not os.path.exists(path):
        config = os.path.join(folder, f"{name}.json")
        with open(config, "w", encoding="utf-8") as file:
            json.dump(shapes.SHAPES[name], file)
        subprocess.run([tool, "init", path, "--config", config], check=True)
    return path


def run_parts(args, model, part, *options, folder=None):
    """The rows of PART in one run of bench_parts."""
    tool = os.path.join(os.path.dirname(args.tool), "tests", "bench", "bench_parts")
    command = [tool, "--model", model, "--threads", str(args.threads), "--parts", part, *options]
    text = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder).stdout
    return list(csv.DictReader(io.StringIO(text)))


def machine_line(args):
    """Which processor a table is from, and what it can do at the moment."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        told = dict(re.findall(r"^(\S.*?)\s*: (.*)$", file.read(), re.M))
    features = [word for word in told.get("flags", told.get("Features", "")).split() if word in FEATURES]
    limits = run_parts(args, "life-is-short", "decode", "--seconds", "0.1")[0]
    version = subprocess.run([args.tool, "--version"], check=True, capture_output=True, text=True).stdout.strip()
    return (f"{told.get('model name', 'unknown processor')}, family {told.get('cpu family', '?')}, model {told.get('model', '?')};"
            f" {told.get('cpu cores', '?')} cores, {os.cpu_count()} hardware threads; {' '.join(features)}\n{args.threads} of them did"
            f" {float(limits['limit_gflops']):.0f} GFLOP/s on registers and read {float(limits['limit_gbytes_per_second']):.1f} GB/s;"
            f" load {os.getloadavg()[0]:.1f}, {time.strftime('%d %B %Y')}, {version}")


def measure_ours(args, model, folder, part, options):
    """The rows of PART: (seconds, share) by name."""
    isa = ["--isa", "avx2"] if args.isa == "avx2" else []
    rows = run_parts(args, model, part, "--seconds", "0", "--clock", args.clock, *isa, *options, folder=folder)
    return {row["name"]: (float(row["seconds"]), float(row["share"])) for row in rows}


def question(part, name):
    """What a peer is asked for a row of ours, or None."""
    numbers = [int(digits) for digits in re.findall(r"\b\d+\b", name)]
    if part == "write":
        return ("save", name.split(",")[0], *numbers)
    return (part, numbers[-1]) if part in ("prefill", "feed", "gradients", "decode") else None


def is_beside(peer, compute):
    """float16 stands beside bfloat16, both two bytes; and beside float32 where we have no other."""
    return (peer.compute == "float32") == (compute == "float32")


def measure(args, model, folder, workers, part, compute, options):
    """Lists over the rounds by row: our (seconds, share), and by worker the peers' (seconds, ratio)."""
    ours, theirs = {}, {}
    for _ in range(args.rounds):
        for name, (seconds, share) in measure_ours(args, model, folder, part, options).items():
            asked = question(part, name)
            if asked is None:
                continue
            ours.setdefault(name, []).append((seconds, share))
            for worker in workers:
                answer = worker.ask(*asked) if is_beside(worker.peer, compute) else None
                if answer is not None:
                    theirs.setdefault(name, {}).setdefault(worker, []).append((answer, answer / seconds))
    return ours, theirs


def medians(pairs):
    return [statistics.median(column) for column in zip(*pairs)]


def show_rows(part, compute, ours, theirs):
    for name, figures in ours.items():
        seconds, share = medians(figures)
        title = f"{part}, {re.sub(', all .*', '', name)}" + {"float32": "", "bfloat16": ", bf16"}.get(compute, f", {compute}")
        print(f"{title:<36}{'attn-cli':<28}{1e3 * seconds:>9.2f}{100 * share:>6.0f}%")
        for worker, values in theirs.get(name, {}).items():
            seconds, ratio = medians(values)
            is_less = part == "prefill" and not worker.peer.has_patterns
            print(f"{'':<36}{worker.peer.label:<28}{1e3 * seconds:>9.2f}{'':>7}{ratio:>8.2f}"
                  + ("   (returns no attention)" if is_less else ""), flush=True)


def show(args, model, folder, workers):
    """Each row when it has been measured."""
    print(machine_line(args))
    print(f"{'':<36}{'':<28}{'ms':>9}{'share':>7}{'ratio':>8}", flush=True)
    for part in [part for part in args.parts if part not in OTHER]:
        for compute, options in COMPUTES.items():
            if part == "write" and compute != "float32":
                continue  # files are the same
            for length in args.lengths if part in LONG else [None]:
                chosen = [] if length is None else ["--lengths", str(length)]
                show_rows(part, compute,
                          *measure(args, model, folder, workers, part, compute, [*options, *chosen]))


def words(text):
    return text.split(",")


def read_args():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool", type=os.path.abspath, help="attn-cli")
    parser.add_argument("folder", help="where the model and files are made")
    parser.add_argument("--model", help="a GPT-2 of 124M in its place (default: a random one)")
    parser.add_argument("--family", choices=list(shapes.SHAPES),
                        help="a random model of this shape in its place, beside transformers")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall",
                        help="cpu: processor time of one thread, where other programs run, too")
    parser.add_argument("--isa", choices=["best", "avx2"], default="best",
                        help="avx2: ours and the peers that can be held to it")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--parts", type=words, default=PARTS,
                        help=",".join(PARTS))
    parser.add_argument("--lengths", type=lambda text: [int(word) for word in words(text)],
                        default=[6, 32, 128, 512, 1024], help="of the prefills, such as 6,128")
    parser.add_argument("--only", type=words, default=[""],
                        help="peers whose name begins like this, such as PyTorch,llama")
    args = parser.parse_args()
    if args.clock == "cpu":
        args.threads = 1
    os.environ["BENCH_CLOCK"] = args.clock
    if args.isa == "avx2":
        os.environ.update(AVX2)
        for peer in PEERS:
            if not peer.can_be_held:
                print(f"left out: {peer.label} (missing: a way to hold it to AVX2)", file=sys.stderr)
    args.peers = [peer for peer in PEERS if peer.can_be_held or args.isa != "avx2"]
    args.peers = [peer for peer in args.peers
                  if any(peer.label.lower().startswith(word.lower()) for word in args.only)]
    if args.family == "bert-base":
        args.peers = [peer for peer in args.peers if peer.reads_bert]
        args.parts = [part for part in args.parts if part in ("prefill", "feed", "batch")]
    elif args.family is not None:
        args.peers = [peer for peer in args.peers if peer.reads_families]
        args.parts = [part for part in args.parts
                      if part in ("prefill", "feed", "gradients", "decode")]
    return args


def main():
    args = read_args()
    folder = os.path.abspath(args.folder)
    scratch = os.path.join(folder, "scratch")
    os.makedirs(scratch, exist_ok=True)
    if args.family is not None:
        model = make_family(args.tool, folder, args.family)
    else:
        model = os.path.abspath(args.model or make_model(args.tool, folder))
    workers = open_workers(args, model, scratch)
    versions = dict.fromkeys(worker.versions for worker in workers)
    print(f"{args.family or shapes.GPT2}, {args.threads} threads, medians of {args.rounds} rounds;"
          f" ratio: times as long as attn-cli{', in processor time' if args.clock == 'cpu' else ''}")
    print("; ".join(versions))
    if set(args.parts) - OTHER:
        show(args, model, scratch, workers)
    for worker in workers:
        if worker.peer.is_model:
            worker.close()
    if set(args.parts) & FRESH and args.clock == "wall":
        os.chdir(scratch)
        print(f"\n{machine_line(args)}")
        processes.Bench(args, model, workers, os.path.dirname(HERE)).show()
    for worker in workers:
        worker.close()
    if "batch" in args.parts and args.clock == "wall":
        print(f"\n{machine_line(args)}")
        show_batches(args, model, scratch)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""published.py - published GGUF files as they are: attn-cli beside llama.cpp and transformers, prompt and one token.

    published.py BINARY MODEL.gguf...

LLAMA_PYTHON is another Python that has xllamacpp and llama_cpp. Each round asks all in turn: attn-cli, without and with every attention
pattern of the prompt; llama.cpp by xllamacpp (`pip install xllamacpp`, a wheel) and by llama_cpp (`CMAKE_ARGS=-DGGML_NATIVE=ON pip install
--no-binary llama-cpp-python llama-cpp-python`, built for this processor); transformers, which makes float32 of the weights. Who is missing
is named; the instruction sets that each was built for are printed first. A number is the time of the peer divided by that of attn-cli's feed in the same round, the median of ROUNDS (3). One thread is
measured by processor time (user and system), which load disturbs little, two threads by the clock: measure those on a quiet machine.
Both are noted in the table.
"""
import csv
import io
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

LENGTH, DECODED, ROUNDS, THREADS = (144, 2, 1, [2]) if os.environ.get("BENCH_SMALL") else (512, 32, 3, [1, 2])
ids = [1000 + i * 7 % 3000 for i in range(LENGTH)]


def attn(binary, path, n_thread, parts):
    words = [os.path.join(os.path.dirname(binary), "tests", "bench", "bench_parts"), "--model", path, "--threads", str(n_thread),
             "--parts", parts, "--lengths", str(LENGTH), "--seconds", str(ROUNDS // 3)]
    done = subprocess.run(words + ["--clock", "cpu" if n_thread == 1 else "wall"], capture_output=True, text=True, check=True)
    return {row["part"]: 1e3 * float(row["seconds"]) for row in csv.DictReader(io.StringIO(done.stdout))}


def names_of(system):
    """The instruction sets in what llama.cpp says of itself."""
    return " ".join(re.findall(r"\b(AVX\w*|AMX\w*|NEON|SVE|DOTPROD) = 1", system))


class Llama:
    def __init__(self, path, n_thread):
        import xllamacpp

        params = xllamacpp.CommonParams()
        params.model.path = path
        params.n_ctx, params.n_parallel, params.n_gpu_layers = 2 * LENGTH, 1, 0
        params.n_batch = params.n_ubatch = LENGTH
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = n_thread
        self.server = xllamacpp.Server(params)

    def built_for(self):
        import xllamacpp

        return names_of(xllamacpp.get_system_info())

    def ask(self, n, n_predict, is_cached):
        answer = self.server.handle_completions({
            "prompt": ids[:n], "n_predict": n_predict, "cache_prompt": is_cached, "temperature": 0, "ignore_eos": True})
        if "timings" not in answer:
            raise SystemExit(f"llama.cpp: {answer}")

    def prompt(self):
        self.ask(LENGTH, 1, False)

    def decode(self):
        self.ask(128, DECODED + 1, True)

    def start(self):
        self.ask(128, 1, True)


class BuiltHere:
    """llama.cpp by the functions of its library, without those of its server."""

    def __init__(self, path, n_thread):
        import llama_cpp

        self.library = llama_cpp
        options = llama_cpp.llama_context_default_params()
        options.n_ctx, options.n_batch, options.n_ubatch = 2 * LENGTH, LENGTH, LENGTH
        options.n_threads = options.n_threads_batch = n_thread
        model = llama_cpp.llama_model_load_from_file(path.encode(), llama_cpp.llama_model_default_params())
        self.context = llama_cpp.llama_init_from_model(model, options)

    def built_for(self):
        return names_of(self.library.llama_print_system_info().decode())

    def feed(self, tokens):
        tokens = (self.library.llama_token * len(tokens))(*tokens)
        if self.library.llama_decode(self.context, self.library.llama_batch_get_one(tokens, len(tokens))):
            raise SystemExit("llama.cpp: a batch was not computed")
        self.library.llama_get_logits_ith(self.context, -1)

    def forget(self):
        self.library.llama_memory_clear(self.library.llama_get_memory(self.context), True)

    def prompt(self):
        self.forget()
        self.feed(ids)

    def start(self):
        self.forget()
        self.feed(ids[:128])

    def decode(self):
        for token in ids[128 : 128 + DECODED]:
            self.feed([token])


class Transformers:
    def __init__(self, path, n_thread):
        import torch
        from transformers import AutoModelForCausalLM

        torch.set_num_threads(n_thread)
        self.torch = torch
        folder, file = os.path.split(path)
        self.model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=file, dtype=torch.float32).eval()

    def built_for(self):
        return self.torch.backends.cpu.get_cpu_capability()

    def feed(self, tokens, past=None, **more):
        with self.torch.no_grad():
            return self.model(self.torch.tensor([tokens]), past_key_values=past, use_cache=past is not None or "cache" in more,
                              logits_to_keep=1).past_key_values

    def prompt(self):
        self.feed(ids)

    def start(self):
        self.past = self.feed(ids[:128], cache=True)

    def decode(self):
        for token in ids[128 : 128 + DECODED]:
            self.feed([token], self.past)


PEERS = {"llama.cpp, wheel": Llama, "llama.cpp, built here": BuiltHere, "transformers": Transformers}


def work(kind, path, n_thread):
    """Answers each line of standard input with the milliseconds of a prompt and of a token."""
    clock = time.process_time if n_thread == 1 else time.perf_counter
    peer = PEERS[kind](path, n_thread)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    print(peer.built_for(), file=answers, flush=True)
    peer.prompt()
    for _ in sys.stdin:
        before = clock()
        peer.prompt()
        prompt = clock() - before
        peer.start()
        before = clock()
        peer.decode()
        print(1e3 * prompt, 1e3 * (clock() - before) / DECODED, file=answers, flush=True)


def wake(workers, kind):
    """Stops all peers but KIND: one that loads its model, or waits busily, would take a core of what is measured."""
    for name, worker in workers.items():
        worker.send_signal(signal.SIGCONT if name == kind else signal.SIGSTOP)


def compare(binary, path, n_thread, rounds):
    workers, logs = {}, {}
    for kind in PEERS:
        words = [os.environ.get("LLAMA_PYTHON", sys.executable) if kind.startswith("llama.cpp") else sys.executable,
                 __file__, "--worker", kind, path, str(n_thread)]
        logs[kind] = tempfile.TemporaryFile("w+")  # a pipe that nobody reads would stop who logs much
        workers[kind] = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=logs[kind], text=True)
    for kind, worker in workers.items():
        print(f"{kind}: {worker.stdout.readline().strip() or 'missing'}", file=sys.stderr)
    ours, patterns, ratios = [], [], {kind: [] for kind in workers}
    for _ in range(rounds):
        wake(workers, None)
        mine = attn(binary, path, n_thread, "feed,prefill,decode")
        ours.append((mine["feed"], mine["decode"]))
        patterns.append(mine["prefill"] / mine["feed"])
        for kind, worker in list(workers.items()):
            wake(workers, kind)
            try:
                worker.stdin.write("go\n")
                worker.stdin.flush()
                prompt, token = map(float, worker.stdout.readline().split())
            except (OSError, ValueError):
                logs[kind].seek(0)
                print(f"{kind}: {logs[kind].read().strip().splitlines()[-1:]}", file=sys.stderr)
                del workers[kind]
                continue
            ratios[kind].append((prompt / mine["feed"], token / mine["decode"]))
    for kind, worker in workers.items():
        wake(workers, kind)
        worker.stdin.close()
        worker.wait()
    median = statistics.median
    cells = [f"{median(x):.0f} ms" if i == 0 else f"{median(x):.1f} ms" for i, x in enumerate(zip(*ours))]
    for i, part in enumerate((f"prompt of {LENGTH}", "one token after 128")):
        row = [os.path.basename(path), part, str(n_thread), cells[i], f"{median(patterns):.2f}" if i == 0 else ""]
        row += [f"{median(r[i] for r in ratios[kind]):.2f}" if ratios[kind] else "" for kind in ratios]
        print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--worker":
        work(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        print(f"load {os.getloadavg()[0]:.1f}; 1 thread: processor time, 2 threads: clock")
        print("| file | what | threads | attn-cli | with patterns | " + " | ".join(PEERS) + " |\n|---|---|---|---|---|" + "---|" * len(PEERS))
        for path in sys.argv[2:]:
            for n_thread in THREADS:
                compare(sys.argv[1], os.path.realpath(path), n_thread, int(os.environ.get("ROUNDS", ROUNDS)))

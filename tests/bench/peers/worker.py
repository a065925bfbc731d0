"""worker.py - how a peer is run: asked for times over a pipe, or once from its start to its end.

    PEER.py MODEL THREADS COMPUTE installed|tuned serve
    PEER.py MODEL THREADS COMPUTE installed|tuned once N [FOLDER]

A peer is a class with `name`, a string with versions, and with methods that return what is to be
timed: prefill(n), gradients(n), decode(n) after n tokens, batch(texts, size) of lists of ids, save(format, heads,
tokens); or that and a number, where it is one of so many equal parts of the work. prepare(), if it has that, comes before each
run. serve answers a line of JSON, ["prefill", 128], with the median seconds of several runs, or
null where the peer has no such work. once feeds N tokens a single time and saves each layer's
patterns in FOLDER with numpy.save.
"""
import json
import os
import statistics
import sys
import time


def token_ids(n, n_vocab=50257):
    """The tokens that bench_parts feeds."""
    return [(i * 7919 + 13) % n_vocab for i in range(n)]


def median_seconds(run, prepare):
    """The median of several runs after one that is not counted, of a single one where it takes
    more than a second; with BENCH_CLOCK=cpu in processor time of all threads. PREPARE is never counted."""
    clock = time.process_time if os.environ.get("BENCH_CLOCK") == "cpu" else time.perf_counter
    run()
    times = []
    while sum(times) < (0.3 if len(times) > 2 else 1) and len(times) < 15:
        prepare()
        begun = clock()
        run()
        times.append(clock() - begun)
    return statistics.median(times)


def serve(peer, answers):
    prepare = getattr(peer, "prepare", lambda: None)
    print(json.dumps(peer.name), file=answers, flush=True)
    for line in sys.stdin:
        work, *arguments = json.loads(line)
        make_run = getattr(peer, work, None)
        run = make_run(*arguments) if make_run else None
        run, n_part = run if isinstance(run, tuple) else (run, 1)
        answer = None if run is None else n_part * median_seconds(run, prepare)
        del run  # and its tensors
        prepare()
        print(json.dumps(answer), file=answers, flush=True)


def run_once(peer, n, folder=None):
    patterns = peer.prefill(int(n))()
    if folder is not None:
        import numpy

        for layer, pattern in enumerate(patterns):
            numpy.save(os.path.join(folder, f"{layer}.npy"), pattern)


def main(peer_class):
    # Libraries print what they like on standard output: answers have a file of their own.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    model, threads, compute, state, mode, *arguments = sys.argv[1:]
    try:
        peer = peer_class(model, int(threads), compute, state == "tuned")
    except ImportError as error:
        sys.exit(f"missing: {error}")
    if mode == "serve":
        serve(peer, answers)
    else:
        run_once(peer, *arguments)

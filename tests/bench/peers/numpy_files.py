"""numpy_files.py - numpy.savetxt (%.9g) and numpy.save of causal attention patterns, and write(2)
of as many bytes as an array has."""
import contextlib
import os

import numpy

import worker

MOST_TEXT = 12 * 1024 * 1024  # numbers that savetxt is given at once: a second


class NumpyFiles:
    def __init__(self, model, threads, compute, tuned):
        del model, threads, compute, tuned
        self.name = f"numpy {numpy.__version__}"
        self.written = []

    def prepare(self):
        """Removes what was written: to shorten a large file takes time."""
        for path in self.written:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)

    def save(self, form, n_head, n_token):
        shape = (min(n_head, 12), n_token, n_token)
        scores = numpy.random.default_rng(0).uniform(-4, 4, shape).astype("float32")
        scores[:, numpy.triu(numpy.ones(shape[1:], bool), 1)] = -numpy.inf
        weights = numpy.exp(scores - scores.max(-1, keepdims=True))
        patterns = weights / weights.sum(-1, keepdims=True)
        n_layer = n_head // len(patterns)
        if form == "csv":
            few = patterns[:max(1, min(n_head, MOST_TEXT // n_token ** 2))]
            self.written = [f"{head}.csv" for head in range(len(few))]
            return lambda: self.save_text(few), n_head / len(few)
        self.written = [f"{layer}.{form}" for layer in range(n_layer)]
        return {"npy": lambda: self.save_arrays(patterns),
                "bytes": lambda: self.write_bytes(patterns)}.get(form)

    def save_text(self, patterns):
        for path, pattern in zip(self.written, patterns):
            numpy.savetxt(path, pattern, "%.9g", ",")

    def save_arrays(self, patterns):
        for path in self.written:
            numpy.save(path, patterns)

    def write_bytes(self, patterns):
        for path in self.written:
            with open(path, "wb", buffering=0) as file:
                file.write(patterns)


if __name__ == "__main__":
    worker.main(NumpyFiles)

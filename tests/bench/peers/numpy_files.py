"""numpy_files.py - numpy.savetxt (%.9g) and numpy.save of causal attention patterns."""
import numpy

import worker

MOST_TEXT = 12 * 1024 * 1024  # numbers that savetxt is given at once: a second


class NumpyFiles:
    def __init__(self, model, threads, compute, tuned):
        del model, threads, compute, tuned
        self.name = f"numpy {numpy.__version__}"

    def save(self, form, n_head, n_token):
        shape = (min(n_head, 12), n_token, n_token)
        scores = numpy.random.default_rng(0).uniform(-4, 4, shape).astype("float32")
        scores[:, numpy.triu(numpy.ones(shape[1:], bool), 1)] = -numpy.inf
        weights = numpy.exp(scores - scores.max(-1, keepdims=True))
        patterns = weights / weights.sum(-1, keepdims=True)
        if form == "npy":
            whole = numpy.concatenate([patterns] * (n_head // len(patterns)))
            return lambda: numpy.save("all.npy", whole)
        if form == "csv":
            few = patterns[:max(1, min(n_head, MOST_TEXT // n_token ** 2))]
            return lambda: self.save_text(few), n_head / len(few)
        return None

    @staticmethod
    def save_text(patterns):
        for head, pattern in enumerate(patterns):
            numpy.savetxt(f"{head}.csv", pattern, "%.9g", ",")


if __name__ == "__main__":
    worker.main(NumpyFiles)

"""numpy_model.py - GPT-2 in numpy, from the mapped file, every attention matrix kept."""
import numpy

import gpt2
import worker


class NumpyModel:
    def __init__(self, model, threads, compute, tuned):
        del threads, tuned  # OpenBLAS takes OMP_NUM_THREADS
        if compute != "float32":
            raise ImportError("float32 only")
        self.name = f"numpy {numpy.__version__}"
        self.weights = gpt2.load(model)

    def linear(self, x, name):
        return x @ self.weights[name + ".weight"] + self.weights[name + ".bias"]

    def norm(self, x, name):
        x = x - x.mean(-1, keepdims=True)
        x /= numpy.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)
        return x * self.weights[name + ".weight"] + self.weights[name + ".bias"]

    def forward(self, ids):
        n = len(ids)
        mask = numpy.triu(numpy.full((n, n), -numpy.inf, "float32"), 1)
        x = self.weights["wte.weight"][ids] + self.weights["wpe.weight"][:n]
        patterns = []
        for layer in range(gpt2.N_LAYER):
            h = f"h.{layer}."
            qkv = self.linear(self.norm(x, h + "ln_1"), h + "attn.c_attn")
            q, k, v = qkv.reshape(n, 3, gpt2.N_HEAD, gpt2.D_HEAD).transpose(1, 2, 0, 3)
            pattern = q * numpy.float32(gpt2.D_HEAD ** -0.5) @ k.transpose(0, 2, 1) + mask
            pattern -= pattern.max(-1, keepdims=True)
            numpy.exp(pattern, out=pattern)
            pattern /= pattern.sum(-1, keepdims=True)
            patterns.append(pattern)
            x = x + self.linear((pattern @ v).swapaxes(0, 1).reshape(n, -1), h + "attn.c_proj")
            hidden = self.linear(self.norm(x, h + "ln_2"), h + "mlp.c_fc")
            inner = numpy.sqrt(numpy.float32(2 / numpy.pi)) * (
                hidden + numpy.float32(0.044715) * hidden * hidden * hidden)
            x = x + self.linear(numpy.float32(0.5) * hidden * (1 + numpy.tanh(inner)),
                                h + "mlp.c_proj")
        return patterns, self.norm(x[-1:], "ln_f") @ self.weights["wte.weight"].T

    def prefill(self, n):
        ids = worker.token_ids(n)
        return lambda: self.forward(ids)[0]


if __name__ == "__main__":
    worker.main(NumpyModel)

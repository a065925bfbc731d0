"""plain_torch.py - GPT-2 or BERT written in PyTorch for speed, every attention matrix kept.

In float32 its linear maps go to oneDNN, whose weights are packed beforehand: torch's own addmm
calls MKL, which knows no AVX-512 on an AMD processor.
"""
import bert
import gpt2
import worker


class PlainTorch:
    def __init__(self, model, threads, compute, tuned):
        import torch

        del tuned
        self.name = f"torch {torch.__version__}"
        self.torch = torch
        self.dtype = getattr(torch, compute)
        torch.set_num_threads(threads)
        self.is_bert = bert.is_in(model)
        tensors = (bert if self.is_bert else gpt2).load(model)
        self.weights = {name: torch.from_numpy(values.copy()).to(self.dtype)
                        for name, values in tensors.items()}
        self.maps = {name.removesuffix(".weight"): self.pack(values.t().contiguous())
                     for name, values in self.weights.items() if ".c_" in name and values.ndim == 2}

    def pack(self, weight):
        """A weight [out, in] as oneDNN likes it."""
        return self.torch.ops.mkldnn._reorder_linear_weight(weight)

    def linear(self, x, name, activation="none", arguments=(), algorithm=""):
        return self.torch.ops.mkldnn._linear_pointwise(
            x, self.maps[name], self.weights[name + ".bias"], activation, arguments, algorithm)

    def norm(self, x, name):
        return self.torch.nn.functional.layer_norm(
            x, (gpt2.D_MODEL,), self.weights[name + ".weight"], self.weights[name + ".bias"],
            bert.EPS if self.is_bert else 1e-5)

    def attend(self, q, k, v, mask):
        """q, k, v [head, token, d_head]; the patterns, and z [token, d_model]."""
        torch = self.torch
        scale = gpt2.D_HEAD ** -0.5
        if mask is None:
            pattern = torch.bmm(q * scale, k.transpose(1, 2)).softmax(-1)
            return pattern, torch.bmm(pattern, v).transpose(0, 1).reshape(-1, gpt2.D_MODEL)
        if q.shape[1] < 512 or self.dtype != torch.float32:
            pattern = torch.baddbmm(mask, q, k.transpose(1, 2), alpha=scale).softmax(-1)
            return pattern, torch.bmm(pattern, v).transpose(0, 1).reshape(-1, gpt2.D_MODEL)
        # Long: a head at a time as linear maps, for oneDNN's sake.
        product = torch.ops.mkldnn._linear_pointwise
        q, k, v = q * scale, k.contiguous(), v.transpose(1, 2).contiguous()
        pattern = q.new_empty(len(q), *mask.shape)
        z = []
        for head in range(len(q)):
            scores = product(q[head], k[head], None, "none", [], "").add_(mask)
            torch.softmax(scores, -1, out=pattern[head])
            z.append(product(pattern[head], v[head], None, "none", [], ""))
        return pattern, torch.cat(z, 1)

    def attend_fused(self, q, k, v):
        """Without patterns."""
        z = self.torch.nn.functional.scaled_dot_product_attention(
            q[None], k[None], v[None], is_causal=not self.is_bert)
        return None, z[0].transpose(0, 1).reshape(-1, gpt2.D_MODEL)

    def forward(self, ids, begin=0, cache=None, has_patterns=True):
        torch = self.torch
        n = len(ids)
        mask = None if self.is_bert else torch.full(
            (n, begin + n), -torch.inf, dtype=self.dtype).triu(begin + 1)
        x = self.weights["wte.weight"][ids] + self.weights["wpe.weight"][begin:begin + n]
        x = self.norm(x, "ln_f") if self.is_bert else x
        patterns = []
        for layer in range(gpt2.N_LAYER):
            h = f"h.{layer}."
            qkv = self.linear(x if self.is_bert else self.norm(x, h + "ln_1"), h + "attn.c_attn")
            q, k, v = qkv.view(n, 3, gpt2.N_HEAD, gpt2.D_HEAD).permute(1, 2, 0, 3)
            if cache is not None:
                keys, values = cache[layer]
                keys[:, begin:begin + n], values[:, begin:begin + n] = k, v
                k, v = keys[:, :begin + n], values[:, :begin + n]
            pattern, z = (self.attend(q, k, v, mask) if has_patterns
                          else self.attend_fused(q, k, v))
            patterns.append(pattern)
            x = x + self.linear(z, h + "attn.c_proj")
            x, read = ((self.norm(x, h + "ln_1"),) * 2 if self.is_bert
                       else (x, self.norm(x, h + "ln_2")))
            hidden = self.linear(read, h + "mlp.c_fc", "gelu", (),
                                 "none" if self.is_bert else "tanh")
            x = x + self.linear(hidden, h + "mlp.c_proj")
            x = self.norm(x, h + "ln_2") if self.is_bert else x
        last = x[-1:] if self.is_bert else self.norm(x[-1:], "ln_f")
        return patterns, torch.nn.functional.linear(last, self.weights["wte.weight"])

    def prefill(self, n, has_patterns=True):
        ids = self.torch.tensor(worker.token_ids(n, len(self.weights["wte.weight"])))

        def run():
            with self.torch.inference_mode():
                return self.forward(ids, has_patterns=has_patterns)[0]

        return run

    def feed(self, n):
        return self.prefill(n, False)

    def decode(self, n):
        ids = self.torch.tensor(worker.token_ids(n + 1))
        cache = self.torch.zeros(gpt2.N_LAYER, 2, gpt2.N_HEAD, n + 1, gpt2.D_HEAD, dtype=self.dtype)

        def run():
            with self.torch.inference_mode():
                self.forward(ids[n:], n, cache)

        with self.torch.inference_mode():
            self.forward(ids[:n], 0, cache)
        return run


if __name__ == "__main__":
    worker.main(PlainTorch)

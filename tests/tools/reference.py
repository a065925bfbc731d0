"""A decoder in float64, written as the equations read and slow on purpose: the fixtures' oracle.

It shares nothing with the C code. Letters as there: T positions, H query heads, G key/value heads,
D d_model, E d_head, Ev d_value, F d_mlp, V n_vocab.
"""

import math

import numpy as np

ACTIVATIONS = {
    "relu": lambda x: np.maximum(x, 0),
    "relu2": lambda x: np.maximum(x, 0) ** 2,
    "tanh": np.tanh,
    "silu": lambda x: x / (1 + np.exp(-x)),
    "gelu": lambda x: x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2))),
    "gelu_new": lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
}


def rms_norm(x, eps):
    return x / np.sqrt((x**2).mean(1, keepdims=True) + eps)


def layer_norm(x, weight, bias, eps):
    mean = x.mean(1, keepdims=True)
    variance = ((x - mean) ** 2).mean(1, keepdims=True)
    return (x - mean) / np.sqrt(variance + eps) * weight + bias


def softmax(scores):
    """Of one row; -inf gives exactly 0."""
    e = np.exp(scores - scores.max())
    return e / e.sum()


class Decoder:
    """config: the keys of an `attn` directory with every default written out, and `factors`: one
    further factor on the scores a layer. weights: the tensors of an `attn` directory."""

    def __init__(self, config, weights):
        self.config = config
        self.weights = {name: np.asarray(w, np.float64) for name, w in weights.items()}

    def norm(self, x, name):
        if self.config["norm"] == "none":
            return x
        if self.config["norm"] == "rms":
            return rms_norm(x, self.config["eps"])
        return layer_norm(x, self.weights[name + ".w"], self.weights[name + ".b"],
                          self.config["eps"])

    def run(self, ids, source=None):
        """All sites by their archive names. SOURCE [S, d_source]: what `cross` blocks attend to."""
        c, w = self.config, self.weights
        self.source = source
        if c.get("source_positions", "none") == "learned":
            self.source = source + w["source_pos_embed.W_pos"][: len(source)]
        sites = {}
        x = w["embed.W_E"][ids]
        sites["hook_embed"] = x
        if c["positions"] == "learned":
            x = x + w["pos_embed.W_pos"][: len(ids)]
        if c.get("embed_norm"):
            x = self.norm(x, "ln_embed")
        for layer in range(c["n_layer"]):
            x = self.block(x, layer, sites)
        if c.get("final_norm", c["norm"] != "none"):
            x = self.norm(x, "ln_final")
            sites["ln_final.hook_normalized"] = x
        if c["output"] != "none":
            unembed = w["embed.W_E"].T if c["output"] == "tied" else w["unembed.W_U"]
            sites["logits"] = x @ unembed + w.get("unembed.b_U", 0)
        return sites

    def block(self, x, layer, sites):
        c, b = self.config, f"blocks.{layer}."
        sites[b + "hook_resid_pre"] = x
        z = self.attention(self.norm(x, b + "ln1"), layer, sites)
        attn_out = z.reshape(len(x), -1)
        if c["out_proj"]:
            attn_out = sum(z[:, h] @ self.weights[b + "attn.W_O"][h] for h in range(c["n_head"]))
            attn_out = attn_out + self.weights.get(b + "attn.b_O", 0)
        if attn_out.shape[1] != c["d_model"]:
            return attn_out
        sites[b + "hook_attn_out"] = attn_out
        x = x + attn_out if c["residual"] else attn_out
        if c["d_mlp"]:
            sites[b + "hook_resid_mid"] = x
            mlp_out = self.mlp(self.norm(x, b + "ln2"), b, sites)
            x = x + mlp_out if c["residual"] else mlp_out
        sites[b + "hook_resid_post"] = x
        return x

    def attention(self, x, layer, sites):
        c, b = self.config, f"blocks.{layer}.attn."
        is_cross = c.get("blocks", ["self"] * c["n_layer"])[layer] == "cross"
        keys = self.source if is_cross else x
        q, k, v = self.project(x, b, "Q"), self.project(keys, b, "K"), self.project(keys, b, "V")
        t, s, group = len(x), len(keys), c["n_head"] // c["n_kv_head"]
        qk = np.zeros((c["n_head"], t, s))
        scores = np.full_like(qk, -np.inf)
        pattern = np.zeros_like(qk)
        z = np.zeros((t, c["n_head"], v.shape[2]))
        divisor = math.sqrt(q.shape[2]) if c["scale"] else 1.0
        for h in range(c["n_head"]):
            for i in range(t):
                n_key = i + 1 if c["causal"] and not is_cross else s
                for j in range(s):
                    qk[h, i, j] = q[i, h] @ k[j, h // group]
                scores[h, i, :n_key] = qk[h, i, :n_key] / divisor * c["factors"][layer]
                pattern[h, i] = softmax(scores[h, i])
                for j in range(s):
                    z[i, h] += pattern[h, i, j] * v[j, h // group]
        for name, value in (("q", q), ("k", k), ("v", v), ("qk", qk), ("attn_scores", scores),
                            ("pattern", pattern), ("z", z)):
            sites[b + "hook_" + name] = value
        return z

    def project(self, x, b, letter):
        """[T, heads, width]"""
        if self.config["projections"] == "none":
            return x[:, None]
        weight = self.weights[f"{b}W_{letter}"]
        bias = self.weights.get(f"{b}b_{letter}", np.zeros((len(weight), 1)))
        return np.stack([x @ weight[h] + bias[h] for h in range(len(weight))], 1)

    def mlp(self, x, b, sites):
        w = self.weights
        pre = x @ w[b + "mlp.W_in"] + w.get(b + "mlp.b_in", 0)
        post = ACTIVATIONS[self.config["act_fn"]](pre)
        out = post @ w[b + "mlp.W_out"] + w.get(b + "mlp.b_out", 0)
        sites[b + "mlp.hook_pre"], sites[b + "mlp.hook_post"] = pre, post
        sites[b + "hook_mlp_out"] = out
        return out

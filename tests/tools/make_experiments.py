#!/usr/bin/env python3
"""Makes tests/golden/experiments: what the experiments of lib/questions must find on small models,
computed in float64 from the definitions.

    make_experiments.py               run in the repository root
    make_experiments.py punctuation   that archive alone

GPT-2 and our own model type are run by reference.py with edits between its lines, other families by
transformers with hooks on its modules. Nothing of it shares code with the library.
"""

import pathlib
import sys
import unicodedata

import numpy as np
import torch
from safetensors.numpy import load_file
from transformers import AutoModelForCausalLM, GPT2LMHeadModel, GPT2Tokenizer, PreTrainedTokenizerFast

import make_attn_fixtures
from make_gpt2_fixtures import to_reference
from model_directory import write_archive
from reference import ACTIVATIONS, Decoder, softmax

OUT = pathlib.Path("tests/golden/experiments")


class EditedDecoder(Decoder):
    """The reference decoder; edits {site: function of the tensor} are applied before it is read."""

    edits = {}

    def tell(self, sites, name, x):
        x = self.edits.get(name, lambda x: x)(x)
        sites[name] = x
        return x

    def block(self, x, layer, sites):
        c, b = self.config, f"blocks.{layer}."
        x = self.tell(sites, b + "hook_resid_pre", x)
        z = self.attention(self.norm(x, b + "ln1"), layer, sites)
        attn_out = sum(self.head_out(layer, h, z[:, h]) for h in range(c["n_head"]))
        attn_out = attn_out + self.weights.get(b + "attn.b_O", 0)
        x = x + self.tell(sites, b + "hook_attn_out", attn_out)
        if c["d_mlp"]:
            x = self.tell(sites, b + "hook_resid_mid", x)
            w = self.weights
            pre = self.norm(x, b + "ln2") @ w[b + "mlp.W_in"] + w.get(b + "mlp.b_in", 0)
            post = self.tell(sites, b + "mlp.hook_post", ACTIVATIONS[c["act_fn"]](pre))
            out = post @ w[b + "mlp.W_out"] + w.get(b + "mlp.b_out", 0)
            x = x + self.tell(sites, b + "hook_mlp_out", out)
        return self.tell(sites, b + "hook_resid_post", x)

    def attention(self, x, layer, sites):
        c, b = self.config, f"blocks.{layer}.attn."
        q, k, v = (self.tell(sites, b + "hook_" + n, self.project(x, b, n.upper())) for n in "qkv")
        group, n_head = c["n_head"] // c["n_kv_head"], c["n_head"]
        divisor = np.sqrt(q.shape[2]) if c["scale"] else 1.0
        pattern = np.zeros((n_head, len(x), len(x)))
        for h in range(n_head):
            for i in range(len(x)):
                scores = k[: i + 1, h // group] @ q[i, h] / divisor * c["factors"][layer]
                pattern[h, i, : i + 1] = softmax(scores)
        pattern = self.tell(sites, b + "hook_pattern", pattern)
        z = np.stack([pattern[h] @ v[:, h // group] for h in range(n_head)], 1)
        return self.tell(sites, b + "hook_z", z)

    def head_out(self, layer, head, z):
        return z @ self.weights[f"blocks.{layer}.attn.W_O"][head]


class OfDecoder:
    """A model that reference.py runs."""

    behind = None

    def __init__(self, decoder):
        c, w = decoder.config, decoder.weights
        self.decoder = EditedDecoder(c, w)
        self.n_layer, self.n_head, self.has_mlp = c["n_layer"], c["n_head"], bool(c["d_mlp"])
        self.has_norm, self.is_rms = c["norm"] != "none", False
        self.eps = c["eps"]
        self.unembed = w["embed.W_E"].T if c["output"] == "tied" else w["unembed.W_U"]
        self.unembed_bias = w.get("unembed.b_U")
        self.norm_weight, self.norm_bias = w.get("ln_final.w"), w.get("ln_final.b")

    def run(self, ids, edits={}):
        self.decoder.edits = edits
        return self.decoder.run(ids)

    def read(self, h):
        """The logits of stream vectors h."""
        x = self.decoder.norm(h, "ln_final") if self.has_norm else h
        return x @ self.unembed + (0 if self.unembed_bias is None else self.unembed_bias)

    def position(self, ids, at):
        c, w = self.decoder.config, self.decoder.weights
        return w["pos_embed.W_pos"][at] if c["positions"] == "learned" else None

    def head_out(self, layer, head, z):
        return self.decoder.head_out(layer, head, z)

    def attn_bias(self, layer):
        return self.decoder.weights.get(f"blocks.{layer}.attn.b_O")


class OfTransformers:
    """A model that transformers runs, in float64."""

    def __init__(self, directory):
        self.model = AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float64,
                                                          attn_implementation="eager").eval()
        c = self.model.config
        self.is_neox = c.model_type == "gpt_neox"
        base = self.model.gpt_neox if self.is_neox else self.model.model
        self.layers = base.layers
        self.n_layer, self.n_head, self.has_mlp = c.num_hidden_layers, c.num_attention_heads, True
        self.final = base.final_layer_norm if self.is_neox else base.norm
        self.has_norm, self.is_rms = True, not self.is_neox
        plus = 1 if c.model_type.startswith("gemma") else 0
        self.norm_weight = array(self.final.weight) + plus
        self.norm_bias = array(self.final.bias) if self.is_neox else None
        self.eps = self.final.eps if self.is_neox else c.rms_norm_eps
        head = self.model.get_output_embeddings()
        self.unembed, self.unembed_bias = array(head.weight).T, None
        self.cap = getattr(c, "final_logit_softcapping", None)
        self.behind = None
        if c.model_type in ("gemma2", "olmo2"):
            self.behind = [array(layer.post_attention_layernorm.weight) + plus
                           for layer in self.layers]

    def outs(self, layer):
        attention = layer.attention if self.is_neox else layer.self_attn
        return attention.dense if self.is_neox else attention.o_proj

    def modules(self, i):
        """(site, module, whether it is the module's input)"""
        layer, b = self.layers[i], f"blocks.{i}."
        has_behind = self.behind is not None
        mlp_in = layer.mlp.dense_4h_to_h if self.is_neox else layer.mlp.down_proj
        attn_out = layer.post_attention_layernorm if has_behind else self.outs(layer)
        mlp_out = layer.post_feedforward_layernorm if has_behind else layer.mlp
        yield b + "hook_resid_pre", layer, True
        yield b + "attn.hook_z", self.outs(layer), True
        yield b + "hook_attn_out", attn_out, False
        yield b + "mlp.hook_post", mlp_in, True
        yield b + "hook_mlp_out", mlp_out, False
        yield b + "hook_resid_post", layer, False
        if not self.is_neox:
            for n in "qkv":
                yield f"{b}attn.hook_{n}", getattr(layer.self_attn, n + "_proj"), False
        else:
            yield b + "attn.hook_qkv", layer.attention.query_key_value, False

    def run(self, ids, edits={}):
        sites, hooks = {}, []

        def told(name, x):
            heads = x[0].detach().numpy()
            if name.split("_")[-1] in "qkvz":
                width = self.outs(self.layers[0]).in_features // self.n_head
                heads = heads.reshape(len(ids), -1, width)
            if name in edits:
                heads = edits[name](heads)
                x = torch.tensor(heads.reshape(len(ids), -1))[None]
            sites[name] = heads
            return x

        def hook(name, module, is_input):
            def before(module, args, kwargs):
                rest = args[1:] if args else ()
                x = args[0] if args else kwargs["hidden_states"]
                if args:
                    return (told(name, x), *rest), kwargs
                return args, {**kwargs, "hidden_states": told(name, x)}

            def behind(module, args, output):
                if isinstance(output, tuple):
                    return (told(name, output[0]), *output[1:])
                return told(name, output)

            if is_input:
                return module.register_forward_pre_hook(before, with_kwargs=True)
            return module.register_forward_hook(behind)

        for i in range(self.n_layer):
            hooks += [hook(*parts) for parts in self.modules(i)]
        with torch.no_grad():
            embed = self.model.get_input_embeddings()(torch.tensor(ids)[None])
            out = self.model(torch.tensor(ids)[None], use_cache=False, output_attentions=True)
            sites["logits"] = out.logits[0].numpy()
            for i, pattern in enumerate(out.attentions):
                sites[f"blocks.{i}.attn.hook_pattern"] = pattern[0].numpy()
        for h in hooks:
            h.remove()
        sites["hook_embed"] = sites["blocks.0.hook_resid_pre"]
        return sites

    def read(self, h):
        with torch.no_grad():
            logits = self.model.get_output_embeddings()(self.final(torch.tensor(h)))
        logits = logits.numpy()
        return self.cap * np.tanh(logits / self.cap) if self.cap else logits

    def position(self, ids, at):
        return None

    def head_out(self, layer, head, z):
        width = z.shape[-1]
        w = array(self.outs(self.layers[layer]).weight)
        return z @ w[:, head * width:(head + 1) * width].T

    def attn_bias(self, layer):
        bias = self.outs(self.layers[layer]).bias
        return None if bias is None else array(bias)


def array(parameter):
    return parameter.detach().double().numpy()


def log_softmax(x):
    return x - x.max() - np.log(np.exp(x - x.max()).sum())


def rank(logits, token):
    return int(sum(logits > logits[token]) + sum(logits[:token] == logits[token])) + 1


def score(model, ids):
    logits, rows = model.run(ids)["logits"], [[np.nan] * 4]
    for i in range(1, len(ids)):
        p = log_softmax(logits[i - 1])
        rows.append([-p[ids[i]], rank(p, ids[i]), p.argmax(), np.exp(p.max())])
    return np.array(rows)


def lens(model, ids, target):
    sites = model.run(ids)
    names = [f"blocks.{i}.hook_resid_pre" for i in range(model.n_layer)]
    rows = []
    for name in names + [f"blocks.{model.n_layer - 1}.hook_resid_post"]:
        logits = model.read(sites[name][-1:])[0]
        rows.append([rank(logits, target), np.exp(log_softmax(logits)[target]), logits[target]])
    return np.array(rows)


def lens_of_heads(model, ids, target):
    sites = model.run(ids)
    return np.array([[model.read(model.head_out(i, h, sites[f"blocks.{i}.attn.hook_z"][-1:, h]))[
        0, target] for h in range(model.n_head)] for i in range(model.n_layer)])


def over_texts(values):
    """Means over the positions of each text, then mean and deviation over texts [..., 2]."""
    values = np.array([np.mean(of_text, 0) for of_text in values])
    return np.stack([values.mean(0), values.std(0, ddof=1)], -1)


def lens_of_texts(model, texts, positions, target):
    """Of the target [L + 1, 3, 2], of the three first places [L + 1, 3, 2], of the heads and the
    target [L, H, 2 (rank, logit), 2]; of each of the positions of each text."""
    targets, places, heads = [], [], []
    for text in texts:
        targets.append([]), places.append([]), heads.append([])
        for end in [len(text[:at]) + 1 if at >= 0 else len(text) for at in positions]:
            ids, sites = text[:end], model.run(text[:end])
            targets[-1].append(lens(model, ids, target))
            stream = [sites[f"blocks.{i}.hook_resid_pre"] for i in range(model.n_layer)]
            stream.append(sites[f"blocks.{model.n_layer - 1}.hook_resid_post"])
            places[-1].append([np.sort(np.exp(log_softmax(model.read(h[-1:])[0])))[:-4:-1]
                               for h in stream])
            read = [[model.read(model.head_out(i, h, sites[f"blocks.{i}.attn.hook_z"][-1:, h]))[0]
                     for h in range(model.n_head)] for i in range(model.n_layer)]
            heads[-1].append([[(rank(x, target), x[target]) for x in row] for row in read])
    return {"lens_texts": over_texts(targets), "lens_texts_places": over_texts(places),
            "lens_texts_heads": over_texts(heads)}


def frozen(model, part, stream, weight):
    """A norm of PART with the scale that it has for STREAM."""
    off = (lambda x: x) if model.is_rms else (lambda x: x - x.mean())
    return off(part) / np.sqrt((off(stream) ** 2).mean() + model.eps) * weight


def attribute(model, ids, at, target, foil):
    """The logits of all parts, and of [layer, head, key]."""
    sites = model.run(ids)
    column = model.unembed[:, target] - model.unembed[:, foil]
    stream = sites[f"blocks.{model.n_layer - 1}.hook_resid_post"][at]

    def logit(x):
        if model.has_norm:
            x = frozen(model, x, stream, model.norm_weight)
        return x @ column

    position = model.position(ids, at)
    embed = sites["blocks.0.hook_resid_pre"][at] - (0 if position is None else position)
    parts = [logit(embed)] + ([] if position is None else [logit(position)])
    for i in range(model.n_layer):
        b = f"blocks.{i}."
        z, bias = sites[b + "attn.hook_z"][at], model.attn_bias(i)
        outs = [model.head_out(i, h, z[h]) for h in range(model.n_head)]
        whole = sum(outs) + (0 if bias is None else bias)
        for out in outs:
            parts.append(logit(out if model.behind is None else
                               frozen(model, out, whole, model.behind[i])))
        if bias is not None:
            parts.append(logit(bias))
        if model.has_mlp:
            parts.append(logit(sites[b + "hook_mlp_out"][at]))
    if model.norm_bias is not None:
        parts.append(model.norm_bias @ column)
    if model.unembed_bias is not None:
        parts.append(model.unembed_bias[target] - model.unembed_bias[foil])
    return np.array(parts + [sum(parts)])


class Question:
    """What ablation and patching measure: the logit difference after the last position."""

    def __init__(self, target, foil):
        self.target, self.foil = target, foil

    def value(self, logits):
        return logits[-1, self.target] - logits[-1, self.foil]


def reply(question, logits, base):
    p, q = log_softmax(base[-1]), log_softmax(logits[-1])
    return [question.value(logits), (np.exp(p) * (p - q)).sum(),
            float(p.argmax() == q.argmax())]


def setting(heads, values):
    """An edit that sets HEADS [T, H, E] to VALUES(h) [T, E] or 0."""
    def edit(x):
        x = x.copy()
        for h in heads:
            x[:, h] = values(x, h)
        return x
    return edit


def uniform_heads(sites, layer, n_head):
    """z [T, H, E] of a layer whose heads weigh all keys alike that they see."""
    b = f"blocks.{layer}.attn."
    visible = sites[b + "hook_pattern"] > 0
    v = sites[b + "hook_v"] if b + "hook_v" in sites else sites[b + "hook_qkv"][:, 2::3]
    return np.stack([visible[h] / visible[h].sum(1, keepdims=True) @ v[:, h * v.shape[1] // n_head]
                     for h in range(n_head)], axis=1)


def ablate(model, ids, question):
    sites = model.run(ids)
    base = sites["logits"]

    def run(edits):
        return reply(question, model.run(ids, edits)["logits"], base)

    def zero(name):
        return lambda x: np.zeros_like(x)

    def mean(name):
        return lambda x: np.broadcast_to(sites[name].mean(0), x.shape).copy()

    found = {"ablate_base": np.array([question.value(base)])}
    layers = range(model.n_layer)
    z = [f"blocks.{i}.attn.hook_z" for i in layers]
    outs = {"attn": [[f"blocks.{i}.hook_attn_out"] for i in layers]}
    if model.has_mlp:
        outs["mlp"] = [[f"blocks.{i}.hook_mlp_out"] for i in layers]
        outs["layers"] = [outs["attn"][i] + outs["mlp"][i] for i in layers]
    for how, replace in (("zero", zero), ("mean", mean)):
        found[f"ablate_heads_{how}"] = np.array(
            [run({name: setting([h], lambda x, h, name=name: replace(name)(x)[:, h])})
             for name in z for h in range(model.n_head)])
        for part, names in outs.items():
            found[f"ablate_{part}_{how}"] = np.array(
                [run({name: replace(name) for name in names[i]}) for i in layers])
    uniform = {name: uniform_heads(sites, i, model.n_head) for i, name in enumerate(z)}
    found["ablate_heads_uniform"] = np.array(
        [run({name: setting([h], lambda x, h, name=name: uniform[name][:, h])})
         for name in z for h in range(model.n_head)])
    found["ablate_attn_uniform"] = np.array([run({name: lambda x, name=name: uniform[name]})
                                             for name in z])
    if model.has_mlp:
        n = sites["blocks.1.mlp.hook_post"].shape[1]
        found["ablate_neurons_zero"] = np.array(
            [run({"blocks.1.mlp.hook_post": lambda x, k=k: np.where(np.arange(n) == k, 0, x)})
             for k in range(n)])
    return found


def patch(model, clean, corrupted, question):
    """The effects of tensors of the clean run in the corrupted one."""
    kept, base = model.run(clean), model.run(corrupted)
    high, low = question.value(kept["logits"]), question.value(base["logits"])
    found = {"patch_values": np.array([high, low])}

    def effect(name, edit):
        return (question.value(model.run(corrupted, {name: edit})["logits"]) - low) / (high - low)

    def take_row(name, t):
        return lambda x: np.where(np.arange(len(x))[:, None] == t, kept[name], x)

    def take_head(name, h):
        return setting([h], lambda x, h: kept[name][:, h])

    for site in ("resid_pre", "resid_mid", "resid_post", "attn_out", "mlp_out"):
        names = [f"blocks.{i}.hook_{site}" for i in range(model.n_layer)]
        if names[0] in base:
            found["patch_" + site] = np.array(
                [[effect(name, take_row(name, t)) for t in range(len(clean))] for name in names])
    for site in ("q", "k", "v", "z"):
        names = [f"blocks.{i}.attn.hook_{site}" for i in range(model.n_layer)]
        if names[0] in base:
            found["patch_" + site] = np.array(
                [[effect(name, take_head(name, h)) for h in range(base[name].shape[1])]
                 for name in names])
    names = [f"blocks.{i}.attn.hook_pattern" for i in range(model.n_layer)]
    if isinstance(model, OfDecoder):
        found["patch_pattern"] = np.array(
            [[effect(name, lambda x, h=h: np.where(np.arange(len(x))[:, None, None] == h,
                                                   kept[name], x))
              for h in range(model.n_head)] for name in names])
    return found


def diff(model, a, b):
    """[layer and head, 4]: tv_mean, tv_max, at, js of the rows from the first difference on."""
    first = int(np.flatnonzero(a != b)[0])
    one, two = model.run(a), model.run(b)
    rows = []
    for i in range(model.n_layer):
        name = f"blocks.{i}.attn.hook_pattern"
        for p, q in zip(one[name][:, first:], two[name][:, first:]):
            m = (p + q) / 2
            with np.errstate(divide="ignore", invalid="ignore"):
                js = np.nansum(p * np.log(p / m) + q * np.log(q / m), 1) / 2
            tv = np.abs(p - q).sum(1) / 2
            rows.append([tv.mean(), tv.max(), first + tv.argmax(), js.mean()])
    return np.array(rows)


def mean(values):
    return np.mean(values) if len(values) else np.nan


def survey(model, ids, own):
    """[layer and head, 16]: entropy, entropy_norm, max, distance, self, previous, first, duplicate,
    induction, far, n_duplicate, n_induction; mul and abs of the pattern OWN; weight and percentile
    from position 6 to 2, each token a word."""
    sites, t, rows = model.run(ids), len(ids), []
    for i in range(model.n_layer):
        for a in sites[f"blocks.{i}.attn.hook_pattern"]:
            h = [-sum(x * np.log(x) for x in row if x > 0) for row in a]
            keys = [k for k in (sum(row > 0) for row in a)]
            far = [max(a[q, 1:q - 1]) for q in range(3, t)]
            same = [[k for k in range(q) if ids[k] == ids[q]] for q in range(t)]
            after = [[k for k in range(1, q + 1) if ids[k - 1] == ids[q]] for q in range(t)]
            pairs = [a[q, k] for q in range(t) for k in range(q)]
            rows.append([
                mean(h), mean([h[q] / np.log(keys[q]) for q in range(t) if keys[q] > 1]),
                mean(a.max(1)), sum(a[q, k] * (q - k) for q in range(t) for k in range(t)) / a.sum(),
                mean(a.diagonal()), mean(a.diagonal(-1)), mean(a[1:, 0]),
                mean([a[q, same[q]].sum() for q in range(t) if same[q]]),
                mean([a[q, after[q]].sum() for q in range(t) if after[q]]), mean(far),
                sum(map(bool, same)), sum(map(bool, after)),
                (a * own).sum() / a.sum(), 1 - t * np.abs(a - own).mean(),
                a[6, 2], mean([x < a[6, 2] for x in pairs])])
    return np.array(rows)


def punctuation(model, ids, marks):
    """[layer and head, 2]: the mean weight on the keys MARKS of the rows that see one, and how many
    rows these are."""
    sites, rows = model.run(ids), []
    for i in range(model.n_layer):
        for a in sites[f"blocks.{i}.attn.hook_pattern"]:
            on = [a[q, [k for k in marks if k <= q]].sum() for q in range(min(marks), len(ids))]
            rows.append([mean(on), len(on)])
    return np.array(rows)


def zeroing(x, key, is_joined):
    """Values x [T, heads, E] without those of a key; of q, k, v side by side every third head."""
    x = x.copy()
    x[key, 2 if is_joined else 0::3 if is_joined else 1] = 0
    return x


def derived(model, ids):
    """rollout [L, T, T], weighted_pattern [L, H, T, T], value_zeroing [L, T, T]"""
    sites, t = model.run(ids), len(ids)
    rollouts, weighted, zeroed, rolled = [], [], [], np.eye(t)
    for i in range(model.n_layer):
        b = f"blocks.{i}."
        pattern, out = sites[b + "attn.hook_pattern"], sites[b + "hook_resid_post"]
        mixed = pattern.mean(0) + np.eye(t)
        rolled = mixed / mixed.sum(1, keepdims=True) @ rolled
        rollouts.append(rolled)
        name = b + ("attn.hook_v" if b + "attn.hook_v" in sites else "attn.hook_qkv")
        is_joined = name.endswith("qkv")
        v = sites[name][:, 2::3] if is_joined else sites[name]
        group = model.n_head // v.shape[1]
        weighted.append([pattern[h] * np.linalg.norm(model.head_out(i, h, v[:, h // group]), axis=1)
                         for h in range(model.n_head)])
        changed = np.zeros((t, t))
        for key in range(t):
            without = model.run(ids, {name: lambda x: zeroing(x, key, is_joined)})
            y = without[b + "hook_resid_post"]
            changed[:, key] = 1 - (out * y).sum(1) / np.linalg.norm(out, axis=1) / np.linalg.norm(
                y, axis=1)
        changed = np.tril(changed)
        zeroed.append(changed / changed.sum(1, keepdims=True))
    return {"rollout": np.array(rollouts), "weighted_pattern": np.array(weighted),
            "value_zeroing": np.array(zeroed)}


def open_model(name):
    if name.startswith("family-"):
        return OfTransformers(f"tests/fixtures/{name}")
    if name == "tiny-gpt2":
        return OfDecoder(to_reference(GPT2LMHeadModel.from_pretrained(f"models/{name}")))
    weights = load_file(f"tests/fixtures/{name}/model.safetensors")
    config = make_attn_fixtures.complete(make_attn_fixtures.MODELS[name])
    return OfDecoder(Decoder(config, weights))


MODELS = {"tiny-gpt2": 499, "attn-grouped": 19, "attn-mlp": 17, "family-gpt-neox-parallel": 97,
          "family-gemma2": 95, "family-qwen3": 93, "family-olmo2": 81}


# Of which tokenizers make words, parts of words and bytes.
PUNCTUATED = ["tiny-gpt2", "family-whole-tinyllama", "family-whole-smollm2"]
TEXT = "Hi, (I) + b. “\n"


def tokenizer_of(name):
    if name.startswith("family-"):
        return PreTrainedTokenizerFast(tokenizer_file=f"tests/fixtures/{name}/tokenizer.json")
    return GPT2Tokenizer(f"models/{name}/vocab.json", f"models/{name}/merges.txt")


def write_punctuation():
    arrays = {}
    for name in PUNCTUATED:
        tokenizer = tokenizer_of(name)
        ids = tokenizer.encode(TEXT)
        texts = [tokenizer.convert_ids_to_tokens(i).replace("▁", " ") for i in ids]
        if not name.endswith("tinyllama"):
            texts = [tokenizer.decode([i]) for i in ids]
        texts = [text.strip() for text in texts]
        marks = [k for k, text in enumerate(texts)
                 if text and all(unicodedata.category(c)[0] == "P" for c in text)]
        arrays[name] = punctuation(open_model(name), np.array(ids), marks)
        print(name, [texts[k] for k in marks], texts)
    write_archive(OUT / "punctuation.npz", arrays)


def main():
    if not sys.argv[1:] or "punctuation" in sys.argv:
        write_punctuation()
    names = [name for name in sys.argv[1:] or MODELS if name != "punctuation"]
    OUT.mkdir(parents=True, exist_ok=True)
    for name in names:
        model = open_model(name)
        n_vocab = model.unembed.shape[1]
        random = np.random.default_rng(7)
        ids = random.integers(3, n_vocab, 9)
        ids[6] = ids[2]
        corrupted = ids.copy()
        corrupted[[2, 5]] = random.integers(3, n_vocab, 2)
        target, foil = 4, 9
        question = Question(target, foil)
        arrays = {"ids": ids, "corrupted": corrupted, "answer": np.array([target, foil]),
                  "score": score(model, ids), "lens": lens(model, ids, target),
                  "lens_of_heads": lens_of_heads(model, ids, target),
                  "attribute": attribute(model, ids, len(ids) - 1, target, foil)}
        arrays |= ablate(model, ids, question)
        arrays |= lens_of_texts(model, [ids, corrupted[:6]], [1, -1], target)
        own = np.tril(random.random((len(ids), len(ids)))).astype(np.float32)
        arrays |= {"own": own, "survey": survey(model, ids, own.astype(np.float64))}
        arrays["diff"] = diff(model, ids, corrupted)
        arrays |= patch(model, ids, corrupted, question)
        arrays |= derived(model, ids)
        write_archive(OUT / f"{name}.npz", arrays)
        print(name, {k: v.shape for k, v in arrays.items()})


if __name__ == "__main__":
    main()
